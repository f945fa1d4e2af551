// SPDX-License-Identifier: GPL-2.0
/*
 * IP in IP, whatever is outside: the mode behind the table of operations, what
 * becomes of a packet from outside, and what an outer header owes to the inner
 * one. ECN is as RFC 6040 has it.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <net/dst_metadata.h>
#include <net/icmp.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <uapi/linux/if_cmptun.h>

#include "cmptun.h"
#include "ipip.h"
#include "mode.h"
#include "netns.h"
#include "stats.h"

static u8 cmptun_ipip_inner_ds(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IP) ?
	       ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb));
}

/* Receive */

/**
 * cmptun_ipip_rcv - take the outer header off, and deliver
 * @state: the tunnel it came by
 * @skb: at the inner header; consumed
 * @protocol: of the inner packet, as the outer header has it
 * @outer_ds: outer TOS or traffic class
 *
 * Context: softirq, RCU.
 */
void cmptun_ipip_rcv(struct cmptun_state *state, struct sk_buff *skb,
		     __be16 protocol, u8 outer_ds)
{
	struct cmptun_dev *ct = state->ct;
	struct net_device *dev = ct->dev;

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

	if (INET_ECN_decapsulate(skb, outer_ds,
				 cmptun_ipip_inner_ds(skb)) > 1) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_ECN);
		return;
	}

	dev_sw_netstats_rx_add(dev, skb->len);
	cmptun_stats_inc(ct, CMPTUN_IPIP_RX_PACKETS);
	gro_cells_receive(&ct->gro_cells, skb);
}

/**
 * cmptun_ipip_remember - keep an error for the next packets
 * @state: the tunnel
 *
 * ICMP quotes too little of an inner packet to tell its sender right away.
 *
 * Context: any.
 */
void cmptun_ipip_remember(struct cmptun_state *state)
{
	struct cmptun_ipip_run *run = &state->ipip;
	bool fresh = time_before(jiffies, READ_ONCE(run->err_time) +
				 IPTUNNEL_ERR_TIMEO);

	WRITE_ONCE(run->err_count, fresh ? READ_ONCE(run->err_count) + 1 : 1);
	WRITE_ONCE(run->err_time, jiffies);
}

/* Transmit */

/**
 * cmptun_ipip_route_cached - is there one route for all packets?
 * @conf: the configuration
 *
 * Return: false if the route may depend on a TOS that is inherited.
 */
bool cmptun_ipip_route_cached(const struct cmptun_conf *conf)
{
	return !(conf->ipip.tos & 1);
}

/**
 * cmptun_ipip_fits - tell the sender what fits through the tunnel
 * @skb: the packet
 * @state: the tunnel
 * @path_mtu: of the outer route, less the outer header
 * @outer: its @df is taken away where the packet has to be cut up outside
 *
 * Return: false if @skb does not fit, and its sender was told.
 */
bool cmptun_ipip_fits(struct sk_buff *skb, const struct cmptun_state *state,
		      unsigned int path_mtu, struct cmptun_ipip_outer *outer)
{
	unsigned int mtu = path_mtu;

	if (!outer->df)
		mtu = skb_valid_dst(skb) ? dst_mtu(skb_dst(skb)) :
					   state->ct->dev->mtu;

	/* IPv6 cannot be told of less than its minimum: fragment outside. */
	if (skb->protocol == htons(ETH_P_IPV6) && mtu < IPV6_MIN_MTU) {
		mtu = IPV6_MIN_MTU;
		outer->df = false;
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

/**
 * cmptun_ipip_wrap - make a packet ready for an outer header
 * @skb: the packet; its sender is told of errors that earlier ones have met
 * @state: the tunnel
 * @dst: where it goes
 * @header_len: of the outer header
 * @gso_type: SKB_GSO_IPXIP4 or SKB_GSO_IPXIP6
 * @proto: of the inner packet
 *
 * Return: false if there is no memory; @skb is left to the caller.
 */
bool cmptun_ipip_wrap(struct sk_buff *skb, struct cmptun_state *state,
		      const struct dst_entry *dst, unsigned int header_len,
		      int gso_type, u8 proto)
{
	const struct cmptun_dev *ct = state->ct;

	cmptun_ipip_report(&state->ipip, skb);

	if (skb_cow_head(skb, LL_RESERVED_SPACE(dst->dev) + dst->header_len +
			 header_len) ||
	    iptunnel_handle_offloads(skb, gso_type))
		return false;

	skb_set_inner_ipproto(skb, proto);
	/* Scrubbed here and not below, where it would take the mark off. */
	skb_scrub_packet(skb, !net_eq(ct->net, dev_net(ct->dev)));
	if (state->conf.fwmark)
		skb->mark = state->conf.fwmark;

	cmptun_stats_inc(state->ct, CMPTUN_IPIP_TX_PACKETS);
	return true;
}

/**
 * cmptun_ipip_refuse - do not send a packet
 * @state: the tunnel
 * @skb: the packet; consumed
 * @cause: why, for the counters
 * @err: why, for the sender
 *
 * Return: @err.
 */
int cmptun_ipip_refuse(struct cmptun_state *state, struct sk_buff *skb,
		       enum cmptun_stat cause, int err)
{
	if (err == -EHOSTUNREACH)
		dst_link_failure(skb);
	cmptun_drop(state->ct, skb, cause);
	return err;
}

/* Return: false if @skb is no IP packet */
static bool cmptun_ipip_outer(struct sk_buff *skb,
			      const struct cmptun_ipip_conf *conf,
			      struct cmptun_ipip_outer *outer)
{
	u8 inner_ds;

	outer->ttl = conf->ttl;
	outer->df = conf->pmtudisc;
	if (!pskb_inet_may_pull(skb))
		return false;

	switch (skb->protocol) {
	case htons(ETH_P_IP):
		outer->proto = IPPROTO_IPIP;
		outer->ttl = conf->ttl ?: ip_hdr(skb)->ttl;
		outer->df |= !!(ip_hdr(skb)->frag_off & htons(IP_DF));
		break;
	case htons(ETH_P_IPV6):
		outer->proto = IPPROTO_IPV6;
		outer->ttl = conf->ttl ?: ipv6_hdr(skb)->hop_limit;
		break;
	default:
		return false;
	}

	inner_ds = cmptun_ipip_inner_ds(skb);
	outer->ds = INET_ECN_encapsulate(conf->tos & 1 ? inner_ds : conf->tos,
					 inner_ds);
	return true;
}

static int cmptun_ipip_xmit(struct sk_buff *skb, struct cmptun_state *state)
{
	struct cmptun_ipip_outer outer;

	if (!cmptun_ipip_outer(skb, &state->conf.ipip, &outer))
		return cmptun_ipip_refuse(state, skb, CMPTUN_TX_DROP_MALFORMED,
					  -EPROTONOSUPPORT);

	switch (state->conf.remote.family) {
	case AF_INET:
		return cmptun_ipip4_xmit(skb, state, &outer);
	case AF_INET6:
		return cmptun_ipip6_xmit(skb, state, &outer);
	default:
		return cmptun_ipip_refuse(state, skb, CMPTUN_TX_DROP_NO_REMOTE,
					  -EDESTADDRREQ);
	}
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

static bool cmptun_ipip_same_addr(const struct cmptun_addr *a,
				  const struct cmptun_addr *b)
{
	if (a->family != b->family)
		return false;

	return a->family == AF_INET ? a->v4 == b->v4 :
				      ipv6_addr_equal(&a->v6, &b->v6);
}

static bool cmptun_ipip_same_tunnel(const struct cmptun_conf *a,
				    const struct cmptun_conf *b)
{
	return a->mode == b->mode && a->link == b->link &&
	       cmptun_ipip_same_addr(&a->remote, &b->remote) &&
	       cmptun_ipip_same_addr(&a->local, &b->local);
}

static int cmptun_ipip_conf_check(struct cmptun_dev *ct,
				  const struct cmptun_conf *conf,
				  struct netlink_ext_ack *extack)
{
	struct cmptun_dev *other;

	if (conf->remote.family == AF_INET6 && !ipv6_mod_enabled()) {
		NL_SET_ERR_MSG(extack, "remote: IPv6 is disabled");
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
	bool v6 = conf->remote.family == AF_INET6 ||
		  conf->local.family == AF_INET6;

	return v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
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
	const struct net *net = state->ct->net;
	struct hlist_head *bucket;

	if (conf->remote.family == AF_INET)
		bucket = cmptun_ipip4_bucket(net, conf->remote.v4,
					     conf->local.v4);
	else if (conf->remote.family == AF_INET6)
		bucket = cmptun_ipip6_bucket(net, &conf->remote.v6,
					     &conf->local.v6);
	else
		return;

	hlist_add_head_rcu(&state->ipip.node, bucket);
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

/**
 * cmptun_ipip_init - hook into the protocols, over IPv4 and IPv6
 *
 * The hooks stay for the life of the module; what runs decides, packet by
 * packet, whether one is ours.
 *
 * Return: 0 or a negative errno.
 */
int cmptun_ipip_init(void)
{
	int err;

	err = cmptun_ipip4_init();
	if (err)
		return err;

	err = cmptun_ipip6_init();
	if (err)
		cmptun_ipip4_exit();

	return err;
}

/**
 * cmptun_ipip_exit - undo cmptun_ipip_init()
 */
void cmptun_ipip_exit(void)
{
	cmptun_ipip6_exit();
	cmptun_ipip4_exit();
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
