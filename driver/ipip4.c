// SPDX-License-Identifier: GPL-2.0
/*
 * IP in IP over IPv4: protocols 4 (RFC 2003) and 41 (RFC 4213).
 */
#include <linux/icmp.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <net/dsfield.h>
#include <net/ip_tunnels.h>
#include <net/route.h>
#include <net/xfrm.h>

#include "cmptun.h"
#include "ipip.h"
#include "netns.h"

/**
 * cmptun_ipip4_bucket - where running states with these addresses are
 * @net: namespace of the outer packets
 * @remote: their source when they are received
 * @local: their destination then, 0 for any
 *
 * Return: a list of states, and of others with the same hash.
 */
struct hlist_head *cmptun_ipip4_bucket(const struct net *net, __be32 remote,
				       __be32 local)
{
	u32 hash = jhash_2words((__force u32)remote, (__force u32)local, 0);

	return &cmptun_net(net)->ipip4[hash >> (32 - CMPTUN_HASH_BITS)];
}

static bool cmptun_ipip4_matches(const struct cmptun_state *state,
				 __be32 remote, __be32 local)
{
	const struct cmptun_conf *conf = &state->conf;

	return conf->remote.v4 == remote && conf->local.v4 == local &&
	       rcu_access_pointer(state->ct->state) == state;
}

/* A tunnel that sends by the device a packet came in by goes before one that
 * sends by another: the way back need not be the way there.
 */
static struct cmptun_state *cmptun_ipip4_find(const struct net *net,
					      __be32 remote, __be32 local,
					      int iif)
{
	struct cmptun_state *state, *candidate = NULL;

	hlist_for_each_entry_rcu(state,
				 cmptun_ipip4_bucket(net, remote, local),
				 ipip.node) {
		if (!cmptun_ipip4_matches(state, remote, local))
			continue;
		if (!state->conf.link || state->conf.link == iif)
			return state;
		candidate = candidate ?: state;
	}

	return candidate;
}

/* The tunnel of an outer packet that came from @remote: one that is bound to
 * @local goes before one that takes any local address.
 */
static struct cmptun_state *cmptun_ipip4_lookup(const struct net *net,
						__be32 remote, __be32 local,
						int iif)
{
	return cmptun_ipip4_find(net, remote, local, iif) ?:
	       cmptun_ipip4_find(net, remote, 0, iif);
}

/* Handlers of the tunnel4 chain return non-zero for what is not theirs, with
 * the packet untouched, and the next one is asked.
 */
static int cmptun_ipip4_rcv(struct sk_buff *skb, __be16 protocol)
{
	const struct iphdr *iph = ip_hdr(skb);
	struct cmptun_state *state;

	state = cmptun_ipip4_lookup(dev_net(skb->dev), iph->saddr, iph->daddr,
				    skb->dev->ifindex);
	if (!state)
		return -ENOENT;

	if (xfrm4_policy_check(NULL, XFRM_POLICY_IN, skb))
		cmptun_ipip_rcv(state, skb, protocol, ipv4_get_dsfield(iph));
	else
		cmptun_drop(state->ct, skb, CMPTUN_RX_DROP_POLICY);
	return 0;
}

static int cmptun_ipip4_rcv_ipv4(struct sk_buff *skb)
{
	return cmptun_ipip4_rcv(skb, htons(ETH_P_IP));
}

static int cmptun_ipip4_rcv_ipv6(struct sk_buff *skb)
{
	return cmptun_ipip4_rcv(skb, htons(ETH_P_IPV6));
}

/* Only what quotes a packet of our own is believed. It may come in by any
 * device.
 */
static int cmptun_ipip4_err(struct sk_buff *skb, u32 info)
{
	const struct iphdr *outer = (const struct iphdr *)skb->data;
	const int type = icmp_hdr(skb)->type;
	const int code = icmp_hdr(skb)->code;
	struct net *net = dev_net(skb->dev);
	struct cmptun_state *state;

	state = cmptun_ipip4_lookup(net, outer->daddr, outer->saddr,
				    skb->dev->ifindex);
	if (!state)
		return -ENOENT;

	switch (type) {
	case ICMP_DEST_UNREACH:
		if (code == ICMP_FRAG_NEEDED)
			ipv4_update_pmtu(skb, net, info, state->conf.link,
					 outer->protocol);
		else if (code != ICMP_SR_FAILED)
			cmptun_ipip_remember(state);
		break;
	case ICMP_TIME_EXCEEDED:
		/* A copied TTL is the inner packet's own that ran out. */
		if (code == ICMP_EXC_TTL && state->conf.ipip.ttl)
			cmptun_ipip_remember(state);
		break;
	case ICMP_REDIRECT:
		ipv4_redirect(skb, net, state->conf.link, outer->protocol);
		break;
	}

	return 0;
}

static struct xfrm_tunnel cmptun_ipip4_ipv4 __read_mostly = {
	.handler = cmptun_ipip4_rcv_ipv4,
	.err_handler = cmptun_ipip4_err,
	.priority = CMPTUN_IPIP_PRIORITY,
};

static struct xfrm_tunnel cmptun_ipip4_ipv6 __read_mostly = {
	.handler = cmptun_ipip4_rcv_ipv6,
	.err_handler = cmptun_ipip4_err,
	.priority = CMPTUN_IPIP_PRIORITY,
};

/**
 * cmptun_ipip4_init - hook into protocols 4 and 41 over IPv4
 *
 * Return: 0 or a negative errno.
 */
int cmptun_ipip4_init(void)
{
	int err;

	err = xfrm4_tunnel_register(&cmptun_ipip4_ipv4, AF_INET);
	if (err)
		return err;

	err = xfrm4_tunnel_register(&cmptun_ipip4_ipv6, AF_INET6);
	if (err)
		xfrm4_tunnel_deregister(&cmptun_ipip4_ipv4, AF_INET);

	return err;
}

/**
 * cmptun_ipip4_exit - undo cmptun_ipip4_init()
 */
void cmptun_ipip4_exit(void)
{
	xfrm4_tunnel_deregister(&cmptun_ipip4_ipv6, AF_INET6);
	xfrm4_tunnel_deregister(&cmptun_ipip4_ipv4, AF_INET);
}

static struct rtable *cmptun_ipip4_route(struct cmptun_state *state,
					 const struct cmptun_ipip_outer *outer,
					 __be32 *saddr)
{
	const struct cmptun_conf *conf = &state->conf;
	bool cached = cmptun_ipip_route_cached(conf);
	struct flowi4 fl4 = {
		.daddr = conf->remote.v4,
		.saddr = conf->local.v4,
		.flowi4_oif = conf->link,
		.flowi4_mark = conf->fwmark,
		/* One for both protocols, as the cache is. */
		.flowi4_proto = IPPROTO_IPIP,
	};
	struct rtable *rt;

	if (cached) {
		rt = dst_cache_get_ip4(&state->ipip.dst_cache, saddr);
		if (rt)
			return rt;
	}

	flowi4_compat_set_tos(&fl4, outer->ds);
	rt = ip_route_output_key(state->ct->net, &fl4);
	if (IS_ERR(rt))
		return rt;

	*saddr = fl4.saddr;
	if (cached)
		dst_cache_set_ip4(&state->ipip.dst_cache, &rt->dst, fl4.saddr);
	return rt;
}

/**
 * cmptun_ipip4_xmit - send a packet over IPv4
 * @skb: the packet; consumed
 * @state: running, with an IPv4 remote
 * @outer: header fields
 *
 * Context: RCU, bottom halves disabled.
 * Return: NETDEV_TX_OK, or a negative errno for the sender.
 */
int cmptun_ipip4_xmit(struct sk_buff *skb, struct cmptun_state *state,
		      struct cmptun_ipip_outer *outer)
{
	const struct cmptun_conf *conf = &state->conf;
	struct rtable *rt;
	__be32 saddr = 0;
	int err;

	rt = cmptun_ipip4_route(state, outer, &saddr);
	if (IS_ERR(rt))
		return cmptun_ipip_refuse(state, skb, CMPTUN_TX_DROP_NO_ROUTE,
					  -EHOSTUNREACH);

	if (rt->dst.dev == state->ct->dev) {
		err = cmptun_ipip_refuse(state, skb, CMPTUN_TX_DROP_LOOP,
					 -ELOOP);
		goto put_route;
	}

	if (!cmptun_ipip_fits(skb, state,
			      dst_mtu(&rt->dst) - sizeof(struct iphdr),
			      outer)) {
		/* The sender learns of it by ICMP and a smaller route MTU. */
		err = cmptun_ipip_refuse(state, skb, CMPTUN_TX_DROP_TOO_BIG,
					 NETDEV_TX_OK);
		goto put_route;
	}

	if (!cmptun_ipip_wrap(skb, state, &rt->dst, sizeof(struct iphdr),
			      SKB_GSO_IPXIP4, outer->proto)) {
		err = cmptun_ipip_refuse(state, skb, CMPTUN_TX_DROP_NO_MEMORY,
					 -ENOMEM);
		goto put_route;
	}

	iptunnel_xmit(NULL, rt, skb, saddr, conf->remote.v4, outer->proto,
		      outer->ds, outer->ttl, outer->df ? htons(IP_DF) : 0,
		      false, 0);
	return NETDEV_TX_OK;

put_route:
	ip_rt_put(rt);
	return err;
}
