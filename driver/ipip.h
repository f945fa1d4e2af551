/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IP in IP: RFC 2003 and RFC 4213 over IPv4, RFC 2473 over IPv6.
 *
 * ipip.c has what does not depend on the outer family, ipip4.c and ipip6.c
 * have the rest: routes, headers and hooks.
 */
#ifndef CMPTUN_IPIP_H
#define CMPTUN_IPIP_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/types.h>
#include <net/dst_cache.h>

#include "stats.h"

struct cmptun_conf;
struct cmptun_state;
struct net;
struct sk_buff;

/* Asked before the kernel's own ipip (1), sit (2) and ip6tnl (1), which take
 * whatever matches none of their tunnels once their fallback device is up.
 */
#define CMPTUN_IPIP_PRIORITY -1

/**
 * struct cmptun_ipip_conf - what only ipip uses
 * @ttl: outer TTL or hop limit; 0 copies the inner one
 * @tos: outer TOS or traffic class; 1 copies the inner one
 * @pmtudisc: do not fragment outside, report the path MTU inside
 */
struct cmptun_ipip_conf {
	u8 ttl;
	u8 tos;
	bool pmtudisc;
};

/**
 * struct cmptun_ipip_run - resources of a running ipip state
 * @node: link in &cmptun_net.ipip4 or &cmptun_net.ipip6; written under RTNL,
 *	read under RCU
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

/**
 * struct cmptun_ipip_outer - outer header fields that follow from a packet
 * @proto: protocol or next header
 * @ds: TOS or traffic class
 * @ttl: TTL or hop limit
 * @df: not to be cut up on the way
 */
struct cmptun_ipip_outer {
	u8 proto;
	u8 ds;
	u8 ttl;
	bool df;
};

int cmptun_ipip_init(void);
void cmptun_ipip_exit(void);

void cmptun_ipip_rcv(struct cmptun_state *state, struct sk_buff *skb,
		     __be16 protocol, u8 outer_ds);
void cmptun_ipip_remember(struct cmptun_state *state);

bool cmptun_ipip_route_cached(const struct cmptun_conf *conf);
bool cmptun_ipip_fits(struct sk_buff *skb, const struct cmptun_state *state,
		      unsigned int path_mtu, struct cmptun_ipip_outer *outer);
bool cmptun_ipip_wrap(struct sk_buff *skb, struct cmptun_state *state,
		      const struct dst_entry *dst, unsigned int header_len,
		      int gso_type, u8 proto);
int cmptun_ipip_refuse(struct cmptun_state *state, struct sk_buff *skb,
		       enum cmptun_stat cause, int err);

int cmptun_ipip4_init(void);
void cmptun_ipip4_exit(void);
struct hlist_head *cmptun_ipip4_bucket(const struct net *net, __be32 remote,
				       __be32 local);
int cmptun_ipip4_xmit(struct sk_buff *skb, struct cmptun_state *state,
		      struct cmptun_ipip_outer *outer);

int cmptun_ipip6_init(void);
void cmptun_ipip6_exit(void);
struct hlist_head *cmptun_ipip6_bucket(const struct net *net,
				       const struct in6_addr *remote,
				       const struct in6_addr *local);
int cmptun_ipip6_xmit(struct sk_buff *skb, struct cmptun_state *state,
		      struct cmptun_ipip_outer *outer);

#endif /* CMPTUN_IPIP_H */
