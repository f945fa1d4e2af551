/* SPDX-License-Identifier: GPL-2.0 */
#include_next <net/ip_tunnels.h>

#ifndef CMPTUN_COMPAT_NET_IP_TUNNELS_H
#define CMPTUN_COMPAT_NET_IP_TUNNELS_H

/* One more argument since 6.17 */
#ifndef CMPTUN_HAS_IPCB_FLAGS
#define iptunnel_xmit(sk, rt, skb, src, dst, proto, tos, ttl, df, xnet,	\
		      ipcb_flags)					\
	iptunnel_xmit(sk, rt, skb, src, dst, proto, tos, ttl, df, xnet)
#endif

#endif
