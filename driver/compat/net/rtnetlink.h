/* SPDX-License-Identifier: GPL-2.0 */
#include_next <net/rtnetlink.h>

#ifndef CMPTUN_COMPAT_NET_RTNETLINK_H
#define CMPTUN_COMPAT_NET_RTNETLINK_H

/* The arguments of newlink() are a struct since 6.15. Before, an adapter named
 * by RTNL_COMPAT_NEWLINK_OP() makes one.
 */
#ifdef CMPTUN_HAS_NEWLINK_PARAMS

#define RTNL_COMPAT_NEWLINK(fn)		static_assert(true)
#define RTNL_COMPAT_NEWLINK_OP(fn)	fn

#else

struct rtnl_newlink_params {
	struct net *src_net;
	struct nlattr **tb;
	struct nlattr **data;
};

static inline struct net *
rtnl_newlink_link_net(struct rtnl_newlink_params *params)
{
	return params->src_net;
}

#define RTNL_COMPAT_NEWLINK(fn)						\
static int fn##_compat(struct net *src_net, struct net_device *dev,	\
		       struct nlattr *tb[], struct nlattr *data[],	\
		       struct netlink_ext_ack *extack)			\
{									\
	struct rtnl_newlink_params params = {				\
		.src_net = src_net, .tb = tb, .data = data,		\
	};								\
									\
	return fn(dev, &params, extack);				\
}									\
static_assert(true)

#define RTNL_COMPAT_NEWLINK_OP(fn)	fn##_compat

#endif

#endif
