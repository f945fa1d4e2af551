// SPDX-License-Identifier: GPL-2.0
/*
 * IP in IP over IPv4: RFC 2003 for inner IPv4, RFC 4213 for inner IPv6,
 * ECN as RFC 6040 has it.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <net/dst_metadata.h>
#include <net/icmp.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>
#include <net/route.h>
#include <net/xfrm.h>
#include <uapi/linux/if_cmptun.h>

#include "cmptun.h"
#include "ipip.h"
#include "mode.h"
#include "netns.h"
#include "stats.h"

/* Asked before the kernel's own ipip (1) and sit (2), which take whatever
 * matches none of their tunnels once their fallback device is up.
 */
#define CMPTUN_IPIP_PRIORITY -1

static struct hlist_head *cmptun_ipip_bucket(const struct net *net,
					     __be32 remote, __be32 local)
{
	u32 hash = jhash_2words((__force u32)remote, (__force u32)local, 0);

	return &cmptun_net(net)->ipip[hash >> (32 - CMPTUN_HASH_BITS)];
}

static bool cmptun_ipip_matches(const struct cmptun_state *state,
				__be32 remote, __be32 local)
{
	const struct cmptun_conf *conf = &state->conf;

	return conf->remote.v4 == remote && conf->local.v4 == local &&
	       rcu_access_pointer(state->ct->state) == state;
}

/* A tunnel that sends by the device a packet came in by goes before one that
 * sends by another: the way back need not be the way there.
 */
static struct cmptun_state *cmptun_ipip_find(const struct net *net,
					     __be32 remote, __be32 local,
					     int iif)
{
	struct cmptun_state *state, *candidate = NULL;

	hlist_for_each_entry_rcu(state, cmptun_ipip_bucket(net, remote, local),
				 ipip.node) {
		if (!cmptun_ipip_matches(state, remote, local))
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
static struct cmptun_state *cmptun_ipip_lookup(const struct net *net,
					       __be32 remote, __be32 local,
					       int iif)
{
	struct cmptun_state *state;

	state = cmptun_ipip_find(net, remote, local, iif);
	if (!state)
		state = cmptun_ipip_find(net, remote, 0, iif);

	return state;
}

/* Receive */

static u8 cmptun_inner_dsfield(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IP) ?
	       ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb));
}

static void cmptun_ipip_rcv(struct cmptun_state *state, struct sk_buff *skb,
			    __be16 protocol)
{
	u8 outer_tos = ip_hdr(skb)->tos;
	struct cmptun_dev *ct = state->ct;
	struct net_device *dev = ct->dev;

	if (!xfrm4_policy_check(NULL, XFRM_POLICY_IN, skb)) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_POLICY);
		return;
	}

	if (iptunnel_pull_header(skb, 0, protocol,
				 !net_eq(ct->net, dev_net(dev)))) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_NO_MEMORY);
		return;
	}

	skb_reset_network_header(skb);
	skb_reset_mac_header(skb);
	skb->dev = dev;
	/* A mark set on the outer packet says nothing of the inner one, and
	 * could send it back into a tunnel.
	 */
	skb->mark = 0;

	if (!pskb_inet_may_pull(skb)) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_MALFORMED);
		return;
	}

	if (INET_ECN_decapsulate(skb, outer_tos,
				 cmptun_inner_dsfield(skb)) > 1) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_ECN);
		return;
	}

	dev_sw_netstats_rx_add(dev, skb->len);
	cmptun_stats_inc(ct, CMPTUN_IPIP_RX_PACKETS);
	gro_cells_receive(&ct->gro_cells, skb);
}

/* Handlers of the tunnel4 chain return non-zero for what is not theirs, with
 * the packet untouched, and the next one is asked.
 */
static int cmptun_ipip_handle(struct sk_buff *skb, __be16 protocol)
{
	const struct iphdr *iph = ip_hdr(skb);
	struct cmptun_state *state;

	state = cmptun_ipip_lookup(dev_net(skb->dev), iph->saddr, iph->daddr,
				   skb->dev->ifindex);
	if (!state)
		return -ENOENT;

	cmptun_ipip_rcv(state, skb, protocol);
	return 0;
}

static int cmptun_ipip4_handler(struct sk_buff *skb)
{
	return cmptun_ipip_handle(skb, htons(ETH_P_IP));
}

static int cmptun_ipip6_handler(struct sk_buff *skb)
{
	return cmptun_ipip_handle(skb, htons(ETH_P_IPV6));
}

/* Remember an error for the next packets: ICMP quotes too little of an inner
 * packet to tell its sender right away.
 */
static void cmptun_ipip_remember(struct cmptun_ipip_run *run)
{
	bool fresh = time_before(jiffies, READ_ONCE(run->err_time) +
				 IPTUNNEL_ERR_TIMEO);

	WRITE_ONCE(run->err_count, fresh ? READ_ONCE(run->err_count) + 1 : 1);
	WRITE_ONCE(run->err_time, jiffies);
}

static int cmptun_ipip_err(struct sk_buff *skb, u32 info)
{
	const struct iphdr *outer = (const struct iphdr *)skb->data;
	const int type = icmp_hdr(skb)->type;
	const int code = icmp_hdr(skb)->code;
	struct net *net = dev_net(skb->dev);
	struct cmptun_state *state;

	/* Only what quotes a packet of our own is believed. It may come in by
	 * any device.
	 */
	state = cmptun_ipip_lookup(net, outer->daddr, outer->saddr,
				   skb->dev->ifindex);
	if (!state)
		return -ENOENT;

	switch (type) {
	case ICMP_DEST_UNREACH:
		if (code == ICMP_FRAG_NEEDED) {
			ipv4_update_pmtu(skb, net, info, state->conf.link,
					 outer->protocol);
			return 0;
		}
		if (code == ICMP_SR_FAILED)
			return 0;
		break;
	case ICMP_TIME_EXCEEDED:
		if (code != ICMP_EXC_TTL)
			return 0;
		break;
	case ICMP_REDIRECT:
		ipv4_redirect(skb, net, state->conf.link, outer->protocol);
		return 0;
	default:
		return 0;
	}

	/* With the TTL copied it is the inner packet's own that ran out. */
	if (type == ICMP_TIME_EXCEEDED && !state->conf.ipip.ttl)
		return 0;

	cmptun_ipip_remember(&state->ipip);
	return 0;
}

static struct xfrm_tunnel cmptun_ipip4_tunnel __read_mostly = {
	.handler = cmptun_ipip4_handler,
	.err_handler = cmptun_ipip_err,
	.priority = CMPTUN_IPIP_PRIORITY,
};

static struct xfrm_tunnel cmptun_ipip6_tunnel __read_mostly = {
	.handler = cmptun_ipip6_handler,
	.err_handler = cmptun_ipip_err,
	.priority = CMPTUN_IPIP_PRIORITY,
};

/**
 * cmptun_ipip_init - hook into protocols 4 and 41
 *
 * The hooks stay for the life of the module; what runs decides, packet by
 * packet, whether one is ours.
 *
 * Return: 0 or a negative errno.
 */
int cmptun_ipip_init(void)
{
	int err;

	err = xfrm4_tunnel_register(&cmptun_ipip4_tunnel, AF_INET);
	if (err)
		return err;

	err = xfrm4_tunnel_register(&cmptun_ipip6_tunnel, AF_INET6);
	if (err)
		xfrm4_tunnel_deregister(&cmptun_ipip4_tunnel, AF_INET);

	return err;
}

/**
 * cmptun_ipip_exit - undo cmptun_ipip_init()
 */
void cmptun_ipip_exit(void)
{
	xfrm4_tunnel_deregister(&cmptun_ipip6_tunnel, AF_INET6);
	xfrm4_tunnel_deregister(&cmptun_ipip4_tunnel, AF_INET);
}

/* Transmit */

static struct rtable *cmptun_ipip_route(struct cmptun_state *state, u8 tos,
					__be32 *saddr)
{
	const struct cmptun_conf *conf = &state->conf;
	/* The route may depend on the TOS, which is not the same for all
	 * packets if it is inherited.
	 */
	bool cached = !(conf->ipip.tos & 1);
	struct flowi4 fl4 = {
		.daddr = conf->remote.v4,
		.saddr = conf->local.v4,
		.flowi4_oif = conf->link,
		.flowi4_mark = conf->fwmark,
		.flowi4_proto = IPPROTO_IPIP,
	};
	struct rtable *rt;

	if (cached) {
		rt = dst_cache_get_ip4(&state->ipip.dst_cache, saddr);
		if (rt)
			return rt;
	}

	flowi4_compat_set_tos(&fl4, tos);
	rt = ip_route_output_key(state->ct->net, &fl4);
	if (IS_ERR(rt))
		return rt;

	*saddr = fl4.saddr;
	if (cached)
		dst_cache_set_ip4(&state->ipip.dst_cache, &rt->dst, fl4.saddr);
	return rt;
}

/* Tell the sender what fits through the tunnel.
 * Return: false if @skb does not, and its sender was told.
 */
static bool cmptun_ipip_fits(struct sk_buff *skb, const struct rtable *rt,
			     const struct cmptun_state *state, __be16 *df)
{
	unsigned int mtu;

	if (*df)
		mtu = dst_mtu(&rt->dst) - sizeof(struct iphdr);
	else
		mtu = skb_valid_dst(skb) ? dst_mtu(skb_dst(skb)) :
					   state->ct->dev->mtu;

	/* IPv6 cannot be told of less than its minimum: fragment outside. */
	if (skb->protocol == htons(ETH_P_IPV6) && mtu < IPV6_MIN_MTU) {
		mtu = IPV6_MIN_MTU;
		*df = 0;
	}

	if (skb_valid_dst(skb))
		skb_dst_update_pmtu_no_confirm(skb, mtu);

	if (skb->len <= mtu || skb_is_gso(skb))
		return true;

	if (skb->protocol == htons(ETH_P_IPV6)) {
		icmpv6_ndo_send(skb, ICMPV6_PKT_TOOBIG, 0, mtu);
		return false;
	}

	if (ip_hdr(skb)->frag_off & htons(IP_DF)) {
		icmp_ndo_send(skb, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED,
			      htonl(mtu));
		return false;
	}

	return true;
}

/* Pass a remembered ICMP error on to the sender of @skb */
static void cmptun_ipip_report(struct cmptun_ipip_run *run,
			       struct sk_buff *skb)
{
	int count = READ_ONCE(run->err_count);

	if (likely(!count))
		return;

	if (time_before(jiffies, READ_ONCE(run->err_time) +
			IPTUNNEL_ERR_TIMEO)) {
		WRITE_ONCE(run->err_count, count - 1);
		dst_link_failure(skb);
	} else {
		WRITE_ONCE(run->err_count, 0);
	}
}

static int cmptun_ipip_refuse(struct cmptun_dev *ct, struct sk_buff *skb,
			      enum cmptun_stat cause, int err)
{
	if (err == -EHOSTUNREACH)
		dst_link_failure(skb);
	cmptun_drop(ct, skb, cause);
	return err;
}

static int cmptun_ipip_xmit(struct sk_buff *skb, struct cmptun_state *state)
{
	const struct cmptun_conf *conf = &state->conf;
	__be16 df = conf->ipip.pmtudisc ? htons(IP_DF) : 0;
	u8 tos = conf->ipip.tos, ttl = conf->ipip.ttl;
	struct cmptun_dev *ct = state->ct;
	u8 proto = IPPROTO_IPIP;
	__be32 saddr = 0;
	struct rtable *rt;
	int err;

	if (conf->remote.family != AF_INET)
		return cmptun_ipip_refuse(ct, skb, CMPTUN_TX_DROP_NO_REMOTE,
					  -EDESTADDRREQ);

	if (!pskb_inet_may_pull(skb))
		return cmptun_ipip_refuse(ct, skb, CMPTUN_TX_DROP_MALFORMED,
					  -EINVAL);

	switch (skb->protocol) {
	case htons(ETH_P_IP):
		ttl = ttl ?: ip_hdr(skb)->ttl;
		df |= ip_hdr(skb)->frag_off & htons(IP_DF);
		break;
	case htons(ETH_P_IPV6):
		proto = IPPROTO_IPV6;
		ttl = ttl ?: ipv6_hdr(skb)->hop_limit;
		break;
	default:
		return cmptun_ipip_refuse(ct, skb, CMPTUN_TX_DROP_MALFORMED,
					  -EPROTONOSUPPORT);
	}

	if (tos & 1)
		tos = cmptun_inner_dsfield(skb);
	tos = INET_ECN_encapsulate(tos, cmptun_inner_dsfield(skb));

	rt = cmptun_ipip_route(state, tos, &saddr);
	if (IS_ERR(rt))
		return cmptun_ipip_refuse(ct, skb, CMPTUN_TX_DROP_NO_ROUTE,
					  -EHOSTUNREACH);

	if (rt->dst.dev == ct->dev) {
		err = cmptun_ipip_refuse(ct, skb, CMPTUN_TX_DROP_LOOP, -ELOOP);
		goto put_route;
	}

	if (!cmptun_ipip_fits(skb, rt, state, &df)) {
		/* The sender learns of it by ICMP and a smaller route MTU. */
		err = cmptun_ipip_refuse(ct, skb, CMPTUN_TX_DROP_TOO_BIG,
					 NETDEV_TX_OK);
		goto put_route;
	}

	cmptun_ipip_report(&state->ipip, skb);

	if (skb_cow_head(skb, LL_RESERVED_SPACE(rt->dst.dev) +
			 rt->dst.header_len + sizeof(struct iphdr)) ||
	    iptunnel_handle_offloads(skb, SKB_GSO_IPXIP4)) {
		err = cmptun_ipip_refuse(ct, skb, CMPTUN_TX_DROP_NO_MEMORY,
					 -ENOMEM);
		goto put_route;
	}

	skb_set_inner_ipproto(skb, proto);
	/* Scrubbed here and not below, where it would take the mark off. */
	skb_scrub_packet(skb, !net_eq(ct->net, dev_net(ct->dev)));
	if (conf->fwmark)
		skb->mark = conf->fwmark;

	cmptun_stats_inc(ct, CMPTUN_IPIP_TX_PACKETS);
	iptunnel_xmit(NULL, rt, skb, saddr, conf->remote.v4, proto, tos, ttl,
		      df, false, 0);
	return NETDEV_TX_OK;

put_route:
	ip_rt_put(rt);
	return err;
}

/* Configuration */

static int cmptun_ipip_dev_init(struct cmptun_dev *ct)
{
	return 0;
}

static void cmptun_ipip_dev_uninit(struct cmptun_dev *ct)
{
}

static void cmptun_ipip_conf_init(struct cmptun_conf *conf)
{
	conf->ipip.pmtudisc = true;
}

static void cmptun_ipip_conf_none(struct cmptun_conf *conf)
{
	/* Plain values: nothing to get, put or apply. */
}

static int cmptun_ipip_conf_parse(struct cmptun_dev *ct,
				  struct cmptun_conf *conf,
				  struct nlattr *data[],
				  struct netlink_ext_ack *extack)
{
	struct cmptun_ipip_conf *ipip = &conf->ipip;
	struct nlattr *blame = data[IFLA_CMPTUN_TTL];

	if (data[IFLA_CMPTUN_TTL])
		ipip->ttl = nla_get_u8(data[IFLA_CMPTUN_TTL]);
	if (data[IFLA_CMPTUN_TOS])
		ipip->tos = nla_get_u8(data[IFLA_CMPTUN_TOS]);
	if (data[IFLA_CMPTUN_PMTUDISC]) {
		blame = data[IFLA_CMPTUN_PMTUDISC];
		ipip->pmtudisc = nla_get_u8(blame);
	}

	if (ipip->ttl && !ipip->pmtudisc) {
		NL_SET_ERR_MSG_ATTR(extack, blame,
				    "ttl: a fixed ttl and nopmtudisc are incompatible");
		return -EINVAL;
	}

	return 0;
}

static bool cmptun_ipip_same_tunnel(const struct cmptun_conf *a,
				    const struct cmptun_conf *b)
{
	return a->mode == b->mode && a->link == b->link &&
	       a->remote.family == b->remote.family &&
	       a->remote.v4 == b->remote.v4 && a->local.v4 == b->local.v4;
}

static int cmptun_ipip_conf_check(struct cmptun_dev *ct,
				  const struct cmptun_conf *conf,
				  struct netlink_ext_ack *extack)
{
	struct cmptun_dev *other;

	if (conf->remote.family == AF_INET6 || conf->local.family == AF_INET6) {
		NL_SET_ERR_MSG(extack,
			       "remote: ipip mode needs IPv4 outer addresses");
		return -EAFNOSUPPORT;
	}

	if (conf->remote.family == AF_UNSPEC || !ct->net)
		return 0;

	list_for_each_entry(other, &cmptun_net(ct->net)->devs, list) {
		if (other != ct && cmptun_ipip_same_tunnel(&other->conf, conf)) {
			NL_SET_ERR_MSG(extack,
				       "remote: another cmptun device has this local and remote in ipip mode");
			return -EEXIST;
		}
	}

	return 0;
}

static size_t cmptun_ipip_fill_size(const struct cmptun_conf *conf)
{
	return nla_total_size(sizeof(u8)) * 3;
}

static int cmptun_ipip_fill(struct sk_buff *skb, const struct cmptun_conf *conf)
{
	if (nla_put_u8(skb, IFLA_CMPTUN_TTL, conf->ipip.ttl) ||
	    nla_put_u8(skb, IFLA_CMPTUN_TOS, conf->ipip.tos) ||
	    nla_put_u8(skb, IFLA_CMPTUN_PMTUDISC, conf->ipip.pmtudisc))
		return -EMSGSIZE;

	return 0;
}

static unsigned int cmptun_ipip_overhead(const struct cmptun_conf *conf)
{
	return sizeof(struct iphdr);
}

static struct cmptun_addr
cmptun_ipip_destination(const struct cmptun_conf *conf)
{
	return conf->remote;
}

/* Running */

static int cmptun_ipip_prepare(struct cmptun_state *state,
			       const struct cmptun_state *old,
			       struct netlink_ext_ack *extack)
{
	return dst_cache_init(&state->ipip.dst_cache, GFP_KERNEL);
}

static void cmptun_ipip_start(struct cmptun_state *state,
			      const struct cmptun_state *old)
{
	const struct cmptun_conf *conf = &state->conf;

	if (conf->remote.family == AF_UNSPEC)
		return;

	hlist_add_head_rcu(&state->ipip.node,
			   cmptun_ipip_bucket(state->ct->net, conf->remote.v4,
					      conf->local.v4));
}

static void cmptun_ipip_stop(struct cmptun_state *state)
{
	hlist_del_init_rcu(&state->ipip.node);
}

static void cmptun_ipip_release(struct cmptun_state *state,
				const struct cmptun_state *next)
{
	dst_cache_destroy(&state->ipip.dst_cache);
}

const struct cmptun_mode cmptun_mode_ipip = {
	.id = CMPTUN_MODE_IPIP,
	.name = "ipip",
	.dev_init = cmptun_ipip_dev_init,
	.dev_uninit = cmptun_ipip_dev_uninit,
	.conf_init = cmptun_ipip_conf_init,
	.conf_get = cmptun_ipip_conf_none,
	.conf_put = cmptun_ipip_conf_none,
	.conf_parse = cmptun_ipip_conf_parse,
	.conf_check = cmptun_ipip_conf_check,
	.conf_apply = cmptun_ipip_conf_none,
	.fill_size = cmptun_ipip_fill_size,
	.fill = cmptun_ipip_fill,
	.overhead = cmptun_ipip_overhead,
	.destination = cmptun_ipip_destination,
	.prepare = cmptun_ipip_prepare,
	.start = cmptun_ipip_start,
	.stop = cmptun_ipip_stop,
	.release = cmptun_ipip_release,
	.xmit = cmptun_ipip_xmit,
};
