// SPDX-License-Identifier: GPL-2.0
/*
 * IP in IP over IPv6 (RFC 2473): next headers 4 and 41.
 *
 * Without the tunnel encapsulation limit option, as ip6tnl has it with
 * "encaplimit none": it costs eight bytes, and a tunnel in a tunnel is ended
 * by the recursion limit of the stack here, and by the hop limit elsewhere.
 */
#include <linux/icmpv6.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <net/dsfield.h>
#include <net/ip6_route.h>
#include <net/ip6_tunnel.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>
#include <net/xfrm.h>

#include "cmptun.h"
#include "ipip.h"
#include "netns.h"

/**
 * cmptun_ipip6_bucket - where running states with these addresses are
 * @net: namespace of the outer packets
 * @remote: their source when they are received
 * @local: their destination then, "::" for any
 *
 * Return: a list of states, and of others with the same hash.
 */
struct hlist_head *cmptun_ipip6_bucket(const struct net *net,
				       const struct in6_addr *remote,
				       const struct in6_addr *local)
{
	u32 hash = jhash(local, sizeof(*local),
			 jhash(remote, sizeof(*remote), 0));

	return &cmptun_net(net)->ipip6[hash >> (32 - CMPTUN_HASH_BITS)];
}

static bool cmptun_ipip6_matches(const struct cmptun_state *state,
				 const struct in6_addr *remote,
				 const struct in6_addr *local)
{
	const struct cmptun_conf *conf = &state->conf;

	return ipv6_addr_equal(&conf->remote.v6, remote) &&
	       ipv6_addr_equal(&conf->local.v6, local) &&
	       rcu_access_pointer(state->ct->state) == state;
}

/* As cmptun_ipip4_find() */
static struct cmptun_state *cmptun_ipip6_find(const struct net *net,
					      const struct in6_addr *remote,
					      const struct in6_addr *local,
					      int iif)
{
	struct cmptun_state *state, *candidate = NULL;

	hlist_for_each_entry_rcu(state,
				 cmptun_ipip6_bucket(net, remote, local),
				 ipip.node) {
		if (!cmptun_ipip6_matches(state, remote, local))
			continue;
		if (!state->conf.link || state->conf.link == iif)
			return state;
		candidate = candidate ?: state;
	}

	return candidate;
}

static struct cmptun_state *cmptun_ipip6_lookup(const struct net *net,
						const struct in6_addr *remote,
						const struct in6_addr *local,
						int iif)
{
	return cmptun_ipip6_find(net, remote, local, iif) ?:
	       cmptun_ipip6_find(net, remote, &in6addr_any, iif);
}

static int cmptun_ipip6_rcv(struct sk_buff *skb, __be16 protocol)
{
	const struct ipv6hdr *ip6h = ipv6_hdr(skb);
	struct cmptun_state *state;

	state = cmptun_ipip6_lookup(dev_net(skb->dev), &ip6h->saddr,
				    &ip6h->daddr, skb->dev->ifindex);
	if (!state)
		return -ENOENT;

	if (xfrm6_policy_check(NULL, XFRM_POLICY_IN, skb))
		cmptun_ipip_rcv(state, skb, protocol, ipv6_get_dsfield(ip6h));
	else
		cmptun_drop(state->ct, skb, CMPTUN_RX_DROP_POLICY);
	return 0;
}

static int cmptun_ipip6_rcv_ipv4(struct sk_buff *skb)
{
	return cmptun_ipip6_rcv(skb, htons(ETH_P_IP));
}

static int cmptun_ipip6_rcv_ipv6(struct sk_buff *skb)
{
	return cmptun_ipip6_rcv(skb, htons(ETH_P_IPV6));
}

/* As cmptun_ipip4_err() */
static int cmptun_ipip6_err(struct sk_buff *skb, struct inet6_skb_parm *opt,
			    u8 type, u8 code, int offset, __be32 info)
{
	const struct ipv6hdr *outer = (const struct ipv6hdr *)skb->data;
	struct net *net = dev_net(skb->dev);
	struct cmptun_state *state;

	state = cmptun_ipip6_lookup(net, &outer->daddr, &outer->saddr,
				    skb->dev->ifindex);
	if (!state)
		return -ENOENT;

	switch (type) {
	case ICMPV6_PKT_TOOBIG:
		ip6_update_pmtu(skb, net, info, state->conf.link,
				state->conf.fwmark,
				sock_net_uid(net, NULL));
		break;
	case ICMPV6_DEST_UNREACH:
	case ICMPV6_PARAMPROB:
		cmptun_ipip_remember(state);
		break;
	case ICMPV6_TIME_EXCEED:
		if (code == ICMPV6_EXC_HOPLIMIT && state->conf.ipip.ttl)
			cmptun_ipip_remember(state);
		break;
	case NDISC_REDIRECT:
		ip6_redirect(skb, net, skb->dev->ifindex, 0,
			     sock_net_uid(net, NULL));
		break;
	}

	return 0;
}

static struct xfrm6_tunnel cmptun_ipip6_ipv4 __read_mostly = {
	.handler = cmptun_ipip6_rcv_ipv4,
	.err_handler = cmptun_ipip6_err,
	.priority = CMPTUN_IPIP_PRIORITY,
};

static struct xfrm6_tunnel cmptun_ipip6_ipv6 __read_mostly = {
	.handler = cmptun_ipip6_rcv_ipv6,
	.err_handler = cmptun_ipip6_err,
	.priority = CMPTUN_IPIP_PRIORITY,
};

/**
 * cmptun_ipip6_init - hook into next headers 4 and 41 over IPv6
 *
 * Return: 0 or a negative errno.
 */
int cmptun_ipip6_init(void)
{
	int err;

	err = xfrm6_tunnel_register(&cmptun_ipip6_ipv4, AF_INET);
	if (err)
		return err;

	err = xfrm6_tunnel_register(&cmptun_ipip6_ipv6, AF_INET6);
	if (err)
		xfrm6_tunnel_deregister(&cmptun_ipip6_ipv4, AF_INET);

	return err;
}

/**
 * cmptun_ipip6_exit - undo cmptun_ipip6_init()
 */
void cmptun_ipip6_exit(void)
{
	xfrm6_tunnel_deregister(&cmptun_ipip6_ipv6, AF_INET6);
	xfrm6_tunnel_deregister(&cmptun_ipip6_ipv4, AF_INET);
}

static struct dst_entry *
cmptun_ipip6_route(struct cmptun_state *state,
		   const struct cmptun_ipip_outer *outer, struct flowi6 *fl6)
{
	const struct cmptun_conf *conf = &state->conf;
	bool cached = cmptun_ipip_route_cached(conf);
	struct dst_entry *dst;

	fl6->daddr = conf->remote.v6;
	fl6->saddr = conf->local.v6;
	fl6->flowi6_oif = conf->link;
	fl6->flowi6_mark = conf->fwmark;
	fl6->flowi6_proto = IPPROTO_IPV6;

	if (cached) {
		dst = dst_cache_get_ip6(&state->ipip.dst_cache, &fl6->saddr);
		if (dst)
			return dst;
	}

	fl6->flowlabel = ip6_make_flowinfo(outer->ds, 0);
	dst = ip6_dst_lookup_flow(state->ct->net, NULL, fl6, NULL);
	if (!IS_ERR(dst) && cached)
		dst_cache_set_ip6(&state->ipip.dst_cache, dst, &fl6->saddr);
	return dst;
}

static void cmptun_ipip6_push(struct sk_buff *skb, struct net *net,
			      const struct cmptun_ipip_outer *outer,
			      struct flowi6 *fl6)
{
	__be32 label = ip6_make_flowlabel(net, skb, 0, true, fl6);
	struct ipv6hdr *ip6h = skb_push(skb, sizeof(*ip6h));

	skb_reset_network_header(skb);
	ip6_flow_hdr(ip6h, outer->ds, label);
	ip6h->hop_limit = outer->ttl;
	ip6h->nexthdr = outer->proto;
	ip6h->saddr = fl6->saddr;
	ip6h->daddr = fl6->daddr;
}

/**
 * cmptun_ipip6_xmit - send a packet over IPv6
 * @skb: the packet; consumed
 * @state: running, with an IPv6 remote
 * @outer: header fields
 *
 * Context: RCU, bottom halves disabled.
 * Return: NETDEV_TX_OK, or a negative errno for the sender.
 */
int cmptun_ipip6_xmit(struct sk_buff *skb, struct cmptun_state *state,
		      struct cmptun_ipip_outer *outer)
{
	struct cmptun_dev *ct = state->ct;
	struct flowi6 fl6 = {};
	struct dst_entry *dst;
	int err;

	dst = cmptun_ipip6_route(state, outer, &fl6);
	if (IS_ERR(dst))
		return cmptun_ipip_refuse(state, skb, CMPTUN_TX_DROP_NO_ROUTE,
					  -EHOSTUNREACH);

	if (dst->dev == ct->dev) {
		err = cmptun_ipip_refuse(state, skb, CMPTUN_TX_DROP_LOOP,
					 -ELOOP);
		goto put_route;
	}

	if (!cmptun_ipip_fits(skb, state,
			      dst_mtu(dst) - sizeof(struct ipv6hdr), outer)) {
		err = cmptun_ipip_refuse(state, skb, CMPTUN_TX_DROP_TOO_BIG,
					 NETDEV_TX_OK);
		goto put_route;
	}

	if (!cmptun_ipip_wrap(skb, state, dst, sizeof(struct ipv6hdr),
			      SKB_GSO_IPXIP6, outer->proto)) {
		err = cmptun_ipip_refuse(state, skb, CMPTUN_TX_DROP_NO_MEMORY,
					 -ENOMEM);
		goto put_route;
	}

	skb_dst_set(skb, dst);
	cmptun_ipip6_push(skb, ct->net, outer, &fl6);
	/* Nobody else on the way may cut it up, but we may. */
	skb->ignore_df = !outer->df;
	ip6tunnel_xmit(NULL, skb, ct->dev, 0);
	return NETDEV_TX_OK;

put_route:
	dst_release(dst);
	return err;
}
