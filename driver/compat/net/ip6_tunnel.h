/* SPDX-License-Identifier: GPL-2.0 */
#include_next <net/ip6_tunnel.h>

#ifndef CMPTUN_COMPAT_NET_IP6_TUNNEL_H
#define CMPTUN_COMPAT_NET_IP6_TUNNEL_H

/* One more argument since 6.17 */
#ifndef CMPTUN_HAS_IPCB_FLAGS
#define ip6tunnel_xmit(sk, skb, dev, ip6cb_flags) \
	ip6tunnel_xmit(sk, skb, dev)
#endif

#endif
