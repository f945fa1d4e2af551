/* SPDX-License-Identifier: GPL-2.0 */
#include_next <net/route.h>

#ifndef CMPTUN_COMPAT_NET_ROUTE_H
#define CMPTUN_COMPAT_NET_ROUTE_H

#include <net/inet_dscp.h>

/* A plain byte until 6.18, a type of its own since */
static inline void flowi4_compat_set_tos(struct flowi4 *fl4, u8 tos)
{
#ifdef CMPTUN_HAS_FLOWI4_DSCP
	fl4->flowi4_dscp = inet_dsfield_to_dscp(tos);
#else
	fl4->flowi4_tos = RT_TOS(tos);
#endif
}

#endif
