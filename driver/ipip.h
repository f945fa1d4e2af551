/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IP in IP over IPv4: RFC 2003 for inner IPv4, RFC 4213 for inner IPv6.
 */
#ifndef CMPTUN_IPIP_H
#define CMPTUN_IPIP_H

#include <linux/list.h>
#include <linux/types.h>
#include <net/dst_cache.h>

/**
 * struct cmptun_ipip_conf - what only ipip uses
 * @ttl: outer TTL; 0 copies the inner one
 * @tos: outer TOS; 1 copies the inner one
 * @pmtudisc: set DF outside and report the path MTU inside
 */
struct cmptun_ipip_conf {
	u8 ttl;
	u8 tos;
	bool pmtudisc;
};

/**
 * struct cmptun_ipip_run - resources of a running ipip state
 * @node: link in &cmptun_net.ipip; written under RTNL, read under RCU
 * @dst_cache: route to the remote; per CPU, own locking
 * @err_count: ICMP errors not yet passed on to senders; a hint, unlocked
 * @err_time: jiffies of the last of them; as @err_count
 */
struct cmptun_ipip_run {
	struct hlist_node node;
	struct dst_cache dst_cache;
	int err_count;
	unsigned long err_time;
};

int cmptun_ipip_init(void);
void cmptun_ipip_exit(void);

#endif /* CMPTUN_IPIP_H */
