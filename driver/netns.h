/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What cmptun keeps per network namespace.
 */
#ifndef CMPTUN_NETNS_H
#define CMPTUN_NETNS_H

#include <linux/list.h>
#include <linux/types.h>

struct cmptun_dev;
struct net;

#define CMPTUN_HASH_BITS 8

/**
 * struct cmptun_net - state of a namespace whose packets carry tunnels
 * @devs: devices with their outer side here; RTNL
 * @ipip4: running ipip states by outer IPv4 addresses; written under RTNL,
 *	read under RCU
 * @ipip6: as @ipip4, by outer IPv6 addresses
 */
struct cmptun_net {
	struct list_head devs;
	struct hlist_head ipip4[1 << CMPTUN_HASH_BITS];
	struct hlist_head ipip6[1 << CMPTUN_HASH_BITS];
};

struct cmptun_net *cmptun_net(const struct net *net);

int cmptun_netns_init(void);
void cmptun_netns_exit(void);

#endif /* CMPTUN_NETNS_H */
