// SPDX-License-Identifier: GPL-2.0
/*
 * The UDP sockets of a device, and the way out through them.
 */
#include <linux/err.h>
#include <linux/inetdevice.h>
#include <linux/netlink.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/udp_tunnel.h>

#include "../cmptun.h"
#include "../stats.h"
#include "endpoint.h"
#include "peer.h"
#include "rx.h"
#include "socket.h"

/* A random port must be free for IPv4 and IPv6 alike */
#define CMPTUN_WG_RANDOM_PORT_TRIES 100

static int cmptun_wg_sock_bind_v6(struct net *net, u16 port,
				  struct socket **v6)
{
	struct udp_port_cfg cfg = {
		.family = AF_INET6,
		.local_ip6 = IN6ADDR_ANY_INIT,
		.local_udp_port = htons(port),
		.use_udp6_tx_checksums = true,
		.use_udp6_rx_checksums = true,
		.ipv6_v6only = true,
	};

	if (!ipv6_mod_enabled())
		return 0;

	return udp_sock_create(net, &cfg, v6);
}

static int cmptun_wg_sock_bind(struct cmptun_wg_sock *sock, u16 port)
{
	struct udp_port_cfg cfg = {
		.family = AF_INET,
		.local_ip.s_addr = htonl(INADDR_ANY),
		.local_udp_port = htons(port),
		.use_udp_checksums = true,
	};
	struct net *net = sock->ct->net;
	int err;

	err = udp_sock_create(net, &cfg, &sock->v4);
	if (err)
		return err;

	sock->port = ntohs(inet_sk(sock->v4->sk)->inet_sport);
	err = cmptun_wg_sock_bind_v6(net, sock->port, &sock->v6);
	if (err) {
		udp_tunnel_sock_release(sock->v4->sk);
		sock->v4 = NULL;
	}

	return err;
}

static void cmptun_wg_sock_listen(struct cmptun_wg_sock *sock,
				  struct socket *socket)
{
	struct udp_tunnel_sock_cfg cfg = {
		.sk_user_data = sock,
		.encap_type = 1,
		.encap_rcv = cmptun_wg_rx,
	};

	/* What is sent is not charged to the socket. */
	socket->sk->sk_sndbuf = INT_MAX;
	setup_udp_tunnel_sock(sock->ct->net, socket->sk, &cfg);
}

/**
 * cmptun_wg_sock_open - listen on a port, for IPv4 and IPv6
 * @ct: the device
 * @port: port number, or 0 for any that is free
 * @extack: gets the reason of a refusal
 *
 * Context: RTNL, may sleep.
 * Return: the sockets, or an error pointer: -EADDRINUSE, -ENOMEM, ...
 */
struct cmptun_wg_sock *cmptun_wg_sock_open(struct cmptun_dev *ct, u16 port,
					   struct netlink_ext_ack *extack)
{
	int tries = port ? 1 : CMPTUN_WG_RANDOM_PORT_TRIES;
	struct cmptun_wg_sock *sock;
	int err;

	sock = kzalloc(sizeof(*sock), GFP_KERNEL);
	if (!sock)
		return ERR_PTR(-ENOMEM);

	sock->ct = ct;
	do {
		err = cmptun_wg_sock_bind(sock, port);
	} while (err == -EADDRINUSE && --tries);

	if (err) {
		if (err == -EADDRINUSE)
			NL_SET_ERR_MSG(extack,
				       "listen-port: the UDP port is in use");
		else
			NL_SET_ERR_MSG(extack,
				       "listen-port: cannot open the UDP socket");
		kfree(sock);
		return ERR_PTR(err);
	}

	cmptun_wg_sock_listen(sock, sock->v4);
	if (sock->v6)
		cmptun_wg_sock_listen(sock, sock->v6);
	return sock;
}

/**
 * cmptun_wg_sock_close - listen no more
 * @sock: of no running state
 *
 * Context: may sleep for a grace period, after which no message is received.
 */
void cmptun_wg_sock_close(struct cmptun_wg_sock *sock)
{
	if (sock->v6)
		udp_tunnel_sock_release(sock->v6->sk);
	udp_tunnel_sock_release(sock->v4->sk);
	/* A reader may have taken it from the socket just before. */
	synchronize_net();
	kfree(sock);
}

/* The source address that the peer last wrote to is kept, as long as it is
 * ours and the way to the peer is by the same device; else the routes decide.
 */
static struct rtable *cmptun_wg_route_v4(const struct cmptun_state *state,
					 struct cmptun_wg_endpoint *endpoint,
					 struct flowi4 *fl4)
{
	struct sock *sk = state->wg.sock->v4->sk;
	struct net *net = state->ct->net;
	struct rtable *rt;

	fl4->saddr = endpoint->local.v4;
	if (fl4->saddr && !inet_confirm_addr(net, NULL, 0, fl4->saddr,
					     RT_SCOPE_HOST))
		fl4->saddr = 0;

	security_sk_classify_flow(sk, flowi4_to_flowi_common(fl4));
	rt = ip_route_output_flow(net, fl4, sk);
	if (!endpoint->local.v4)
		return rt;

	if (IS_ERR(rt) || (endpoint->local_ifindex &&
			   rt->dst.dev->ifindex != endpoint->local_ifindex)) {
		if (!IS_ERR(rt))
			ip_rt_put(rt);
		fl4->saddr = 0;
		rt = ip_route_output_flow(net, fl4, sk);
	}

	return rt;
}

static int cmptun_wg_send_v4(struct cmptun_state *state,
			     struct cmptun_wg_endpoint *endpoint,
			     struct sk_buff *skb, u8 ds)
{
	const struct sockaddr_in *to = &endpoint->remote.v4;
	struct cmptun_wg_sock *sock = state->wg.sock;
	struct flowi4 fl4 = {
		.daddr = to->sin_addr.s_addr,
		.fl4_dport = to->sin_port,
		.fl4_sport = htons(sock->port),
		.flowi4_mark = state->conf.fwmark,
		.flowi4_oif = state->conf.link,
		.flowi4_proto = IPPROTO_UDP,
	};
	struct rtable *rt;

	rt = dst_cache_get_ip4(&endpoint->dst_cache, &fl4.saddr);
	if (!rt) {
		rt = cmptun_wg_route_v4(state, endpoint, &fl4);
		if (IS_ERR(rt))
			return PTR_ERR(rt);
		dst_cache_set_ip4(&endpoint->dst_cache, &rt->dst, fl4.saddr);
	}

	if (unlikely(rt->dst.dev == state->ct->dev)) {
		ip_rt_put(rt);
		return -ELOOP;
	}

	udp_tunnel_xmit_skb(rt, sock->v4->sk, skb, fl4.saddr, fl4.daddr, ds,
			    ip4_dst_hoplimit(&rt->dst), 0, fl4.fl4_sport,
			    fl4.fl4_dport, false, false, 0);
	return 0;
}

static struct dst_entry *
cmptun_wg_route_v6(const struct cmptun_state *state,
		   struct cmptun_wg_endpoint *endpoint, struct flowi6 *fl6)
{
	struct sock *sk = state->wg.sock->v6->sk;
	struct net *net = state->ct->net;

	fl6->saddr = endpoint->local.v6;
	if (!ipv6_addr_any(&fl6->saddr) &&
	    !ipv6_chk_addr(net, &fl6->saddr, NULL, 0))
		fl6->saddr = in6addr_any;

	security_sk_classify_flow(sk, flowi6_to_flowi_common(fl6));
	return ip6_dst_lookup_flow(net, sk, fl6, NULL);
}

static int cmptun_wg_send_v6(struct cmptun_state *state,
			     struct cmptun_wg_endpoint *endpoint,
			     struct sk_buff *skb, u8 ds)
{
	const struct sockaddr_in6 *to = &endpoint->remote.v6;
	struct cmptun_wg_sock *sock = state->wg.sock;
	struct flowi6 fl6 = {
		.daddr = to->sin6_addr,
		.fl6_dport = to->sin6_port,
		.fl6_sport = htons(sock->port),
		.flowi6_mark = state->conf.fwmark,
		.flowi6_oif = to->sin6_scope_id ?: state->conf.link,
		.flowi6_proto = IPPROTO_UDP,
	};
	struct dst_entry *dst;

	if (unlikely(!sock->v6))
		return -EAFNOSUPPORT;

	dst = dst_cache_get_ip6(&endpoint->dst_cache, &fl6.saddr);
	if (!dst) {
		dst = cmptun_wg_route_v6(state, endpoint, &fl6);
		if (IS_ERR(dst))
			return PTR_ERR(dst);
		dst_cache_set_ip6(&endpoint->dst_cache, dst, &fl6.saddr);
	}

	if (unlikely(dst->dev == state->ct->dev)) {
		dst_release(dst);
		return -ELOOP;
	}

	/* A message that is longer than the path takes is cut up outside. */
	skb->ignore_df = 1;
	udp_tunnel6_xmit_skb(dst, sock->v6->sk, skb, state->ct->dev,
			     &fl6.saddr, &fl6.daddr, ds,
			     ip6_dst_hoplimit(dst), 0, fl6.fl6_sport,
			     fl6.fl6_dport, false, 0);
	return 0;
}

static int cmptun_wg_send(struct cmptun_state *state, struct sk_buff *skb,
			  u8 ds)
{
	struct cmptun_wg_endpoint *endpoint =
		rcu_dereference_check(state->conf.wg.peer->endpoint,
				      rcu_read_lock_bh_held());

	if (!endpoint)
		return -EDESTADDRREQ;

	if (endpoint->remote.any.sa_family == AF_INET)
		return cmptun_wg_send_v4(state, endpoint, skb, ds);

	return cmptun_wg_send_v6(state, endpoint, skb, ds);
}

/**
 * cmptun_wg_sock_send - send a message to the peer
 * @state: running, with a peer
 * @skb: the message; consumed. With room for the outer headers
 * @ds: outer DSCP and ECN
 *
 * Context: RCU, bottom halves disabled.
 * Return: 0 or a negative errno, with the drop counted.
 */
int cmptun_wg_sock_send(struct cmptun_state *state, struct sk_buff *skb, u8 ds)
{
	struct cmptun_wg_peer *peer = state->conf.wg.peer;
	struct cmptun_dev *ct = state->ct;
	unsigned int len = skb->len;
	int err;

	skb_scrub_packet(skb, !net_eq(ct->net, dev_net(ct->dev)));
	skb->dev = ct->dev;
	skb->mark = state->conf.fwmark;
	/* What the device counts is the message: see iptunnel_xmit_stats(). */
	skb_reset_inner_network_header(skb);

	err = cmptun_wg_send(state, skb, ds);
	if (unlikely(err)) {
		cmptun_drop(ct, skb, err == -ELOOP ? CMPTUN_TX_DROP_LOOP :
				     err == -EDESTADDRREQ ?
						     CMPTUN_TX_DROP_NO_ENDPOINT :
						     CMPTUN_TX_DROP_NO_ROUTE);
		return err;
	}

	atomic64_add(len, &peer->tx_bytes);
	return 0;
}
