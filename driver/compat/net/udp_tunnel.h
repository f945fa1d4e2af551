/* SPDX-License-Identifier: GPL-2.0 */
#include_next <net/udp_tunnel.h>

#ifndef CMPTUN_COMPAT_NET_UDP_TUNNEL_H
#define CMPTUN_COMPAT_NET_UDP_TUNNEL_H

/* One more argument since 6.17 */
#ifndef CMPTUN_HAS_IPCB_FLAGS
#define udp_tunnel_xmit_skb(rt, sk, skb, src, dst, tos, ttl, df, sport,	\
			    dport, xnet, nocheck, ipcb_flags)		\
	udp_tunnel_xmit_skb(rt, sk, skb, src, dst, tos, ttl, df, sport,	\
			    dport, xnet, nocheck)
#define udp_tunnel6_xmit_skb(dst, sk, skb, dev, saddr, daddr, prio, ttl, \
			     label, sport, dport, nocheck, ip6cb_flags)	\
	udp_tunnel6_xmit_skb(dst, sk, skb, dev, saddr, daddr, prio, ttl, \
			     label, sport, dport, nocheck)
#endif

/* A struct socket until 7.1 */
#ifndef CMPTUN_HAS_UDP_TUNNEL_SK
#define setup_udp_tunnel_sock(net, sk, cfg) \
	setup_udp_tunnel_sock(net, (sk)->sk_socket, cfg)
#define udp_tunnel_sock_release(sk) \
	udp_tunnel_sock_release((sk)->sk_socket)
#endif

#endif
