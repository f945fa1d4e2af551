/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device, its configuration and its running state.
 *
 * Documentation/locking.rst has the table of who may touch what;
 * Documentation/switch.rst tells how one state replaces another.
 */
#ifndef CMPTUN_CMPTUN_H
#define CMPTUN_CMPTUN_H

#include <linux/in6.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <net/gro_cells.h>
#include <net/net_namespace.h>

#include "ipip.h"
#include "wg/conf.h"

struct cmptun_mode;
struct cmptun_state;
struct cmptun_stats;
struct cmptun_wg;

/**
 * struct cmptun_addr - an outer address, or none
 * @family: AF_INET, AF_INET6, or AF_UNSPEC for "any"
 * @v4: the address if @family is AF_INET
 * @v6: the address if @family is AF_INET6
 */
struct cmptun_addr {
	sa_family_t family;
	union {
		__be32 v4;
		struct in6_addr v6;
	};
};

/**
 * struct cmptun_conf - what the user asked for, for every mode
 * @mode: the mode to run
 * @local: outer source address
 * @remote: outer destination address
 * @fwmark: mark of outer packets; 0 is none
 * @link: ifindex that outer packets leave by; 0 is any
 * @ipip: what only ipip uses
 * @wg: what only wg uses; holds references, see cmptun_conf_copy()
 *
 * A value: copied, changed and then either applied whole or thrown away.
 * The device's own copy is guarded by RTNL, the one in a running state never
 * changes.
 */
struct cmptun_conf {
	const struct cmptun_mode *mode;
	struct cmptun_addr local;
	struct cmptun_addr remote;
	u32 fwmark;
	int link;
	struct cmptun_ipip_conf ipip;
	struct cmptun_wg_conf wg;
};

/**
 * struct cmptun_state - a running snapshot, published behind an RCU pointer
 * @mode: operations of the mode that runs
 * @ct: the device
 * @conf: what it runs with
 * @ipip: resources of ipip mode
 * @wg: resources of wg mode
 *
 * Immutable once published, except for what @ipip and @wg point to and guard
 * themselves. Readers hold the RCU read lock; works of a mode may keep using
 * it without, because &cmptun_mode.release waits for them.
 */
struct cmptun_state {
	const struct cmptun_mode *mode;
	struct cmptun_dev *ct;
	struct cmptun_conf conf;
	union {
		struct cmptun_ipip_run ipip;
		struct cmptun_wg_run wg;
	};
};

/**
 * struct cmptun_dev - private part of a cmptun net_device
 * @state: what runs; never NULL, &cmptun_state_down while the device is down.
 *	Written under RTNL, read under RCU
 * @dev: the device; immutable
 * @stats: per-CPU counters behind ethtool -S; immutable pointer
 * @gro_cells: where both modes hand over received packets
 * @wg: what wg mode keeps for the life of the device; immutable pointer
 * @net: namespace of the outer packets, NULL after that namespace died;
 *	written under RTNL
 * @conf: configuration of all modes; RTNL
 * @mtu: MTU the user asked for, 0 for the mode's own; RTNL
 * @list: link in &cmptun_net.devs of @net; RTNL
 */
struct cmptun_dev {
	struct cmptun_state __rcu *state;
	struct net_device *dev;
	struct cmptun_stats __percpu *stats;
	struct gro_cells gro_cells;
	struct cmptun_wg *wg;

	struct net *net;
	struct cmptun_conf conf;
	unsigned int mtu;
	struct list_head list;
};

/* Outer bytes that any mode may need in front of a packet (IPv6, UDP, the
 * data message header) and behind it (padding to 16 and the tag): reserved in
 * every mode, so that an skb made before a switch fits after it.
 */
#define CMPTUN_HEADROOM	(40 + 8 + 16)
#define CMPTUN_TAILROOM	(15 + 16)

#endif /* CMPTUN_CMPTUN_H */
