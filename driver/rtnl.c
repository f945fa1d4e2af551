// SPDX-License-Identifier: GPL-2.0
/*
 * rtnetlink: RTM_NEWLINK, RTM_DELLINK and the answer to RTM_GETLINK.
 *
 * A message is parsed into a copy of the configuration, which is either
 * applied whole or thrown away.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <net/netlink.h>
#include <net/rtnetlink.h>
#include <uapi/linux/if_cmptun.h>

#include "cmptun.h"
#include "mode.h"
#include "netdev.h"
#include "rtnl.h"
#include "state.h"

static const struct nla_policy cmptun_policy[IFLA_CMPTUN_MAX + 1] = {
	[IFLA_CMPTUN_UNSPEC] = { .strict_start_type = IFLA_CMPTUN_MODE },
	[IFLA_CMPTUN_MODE] = NLA_POLICY_RANGE(NLA_U8, CMPTUN_MODE_UNSPEC + 1,
					      CMPTUN_MODE_MAX),
	[IFLA_CMPTUN_LINK] = { .type = NLA_U32 },
	[IFLA_CMPTUN_LOCAL] = NLA_POLICY_EXACT_LEN(sizeof(struct in_addr)),
	[IFLA_CMPTUN_REMOTE] = NLA_POLICY_EXACT_LEN(sizeof(struct in_addr)),
	[IFLA_CMPTUN_LOCAL6] = NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)),
	[IFLA_CMPTUN_REMOTE6] = NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)),
	[IFLA_CMPTUN_TTL] = { .type = NLA_U8 },
	[IFLA_CMPTUN_TOS] = { .type = NLA_U8 },
	[IFLA_CMPTUN_PMTUDISC] = NLA_POLICY_MAX(NLA_U8, 1),
	[IFLA_CMPTUN_FWMARK] = { .type = NLA_U32 },
	[IFLA_CMPTUN_PRIVATE_KEY] = NLA_POLICY_EXACT_LEN(CMPTUN_KEY_LEN),
	[IFLA_CMPTUN_PUBLIC_KEY] = { .type = NLA_REJECT,
		.reject_message = "public-key: read-only, it follows from the private key" },
	[IFLA_CMPTUN_LISTEN_PORT] = { .type = NLA_U16 },
	[IFLA_CMPTUN_PEER] = { .type = NLA_NESTED },
};

/* Take over one outer address, given by either of two attributes.
 * Return: the attribute used, NULL for none, or an error.
 */
static struct nlattr *cmptun_parse_addr(struct cmptun_addr *addr,
					struct nlattr *v4, struct nlattr *v6,
					struct netlink_ext_ack *extack)
{
	struct cmptun_addr new = {};

	if (v4 && v6) {
		NL_SET_ERR_MSG_ATTR(extack, v6,
				    "local, remote: an IPv4 and an IPv6 address given for one end");
		return ERR_PTR(-EINVAL);
	}

	if (v4) {
		new.v4 = nla_get_in_addr(v4);
		new.family = new.v4 ? AF_INET : AF_UNSPEC;
		if (ipv4_is_multicast(new.v4) || ipv4_is_lbcast(new.v4)) {
			NL_SET_ERR_MSG_ATTR(extack, v4,
					    "local, remote: not a unicast address");
			return ERR_PTR(-EINVAL);
		}
	} else if (v6) {
		new.v6 = nla_get_in6_addr(v6);
		new.family = ipv6_addr_any(&new.v6) ? AF_UNSPEC : AF_INET6;
		if (ipv6_addr_is_multicast(&new.v6)) {
			NL_SET_ERR_MSG_ATTR(extack, v6,
					    "local, remote: not a unicast address");
			return ERR_PTR(-EINVAL);
		}
	} else {
		return NULL;
	}

	*addr = new;
	return v4 ?: v6;
}

static int cmptun_parse_addrs(struct cmptun_conf *conf, struct nlattr *data[],
			      struct netlink_ext_ack *extack)
{
	struct nlattr *local, *remote;

	local = cmptun_parse_addr(&conf->local, data[IFLA_CMPTUN_LOCAL],
				  data[IFLA_CMPTUN_LOCAL6], extack);
	if (IS_ERR(local))
		return PTR_ERR(local);

	remote = cmptun_parse_addr(&conf->remote, data[IFLA_CMPTUN_REMOTE],
				   data[IFLA_CMPTUN_REMOTE6], extack);
	if (IS_ERR(remote))
		return PTR_ERR(remote);

	if (conf->local.family && conf->remote.family &&
	    conf->local.family != conf->remote.family) {
		NL_SET_ERR_MSG_ATTR(extack, remote ?: local,
				    "local, remote: address families differ");
		return -EINVAL;
	}

	return 0;
}

static int cmptun_parse_link(struct cmptun_dev *ct, struct cmptun_conf *conf,
			     struct nlattr *attr,
			     struct netlink_ext_ack *extack)
{
	int link = nla_get_u32(attr);

	if (link && (link < 0 || !ct->net || !__dev_get_by_index(ct->net, link))) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "dev: no such device in the namespace of the outer packets");
		return -ENODEV;
	}

	if (link && link == ct->dev->ifindex &&
	    net_eq(ct->net, dev_net(ct->dev))) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "dev: a tunnel cannot send through itself");
		return -ELOOP;
	}

	conf->link = link;
	return 0;
}

/* Take over what all modes use, then let each take its own */
static int cmptun_parse(struct cmptun_dev *ct, struct cmptun_conf *conf,
			struct nlattr *data[], struct netlink_ext_ack *extack)
{
	const struct cmptun_mode *const *mode;
	int err;

	if (!data)
		return conf->mode->conf_check(ct, conf, extack);

	if (data[IFLA_CMPTUN_MODE])
		conf->mode = cmptun_mode_by_id(nla_get_u8(data[IFLA_CMPTUN_MODE]));

	err = cmptun_parse_addrs(conf, data, extack);
	if (err)
		return err;

	if (data[IFLA_CMPTUN_LINK]) {
		err = cmptun_parse_link(ct, conf, data[IFLA_CMPTUN_LINK],
					extack);
		if (err)
			return err;
	}

	if (data[IFLA_CMPTUN_FWMARK])
		conf->fwmark = nla_get_u32(data[IFLA_CMPTUN_FWMARK]);

	cmptun_for_each_mode(mode) {
		err = (*mode)->conf_parse(ct, conf, data, extack);
		if (err)
			return err;
	}

	return conf->mode->conf_check(ct, conf, extack);
}

/* Wipe the attributes of one type in a nest */
static void cmptun_wipe_nested(struct nlattr *nest, int type)
{
	struct nlattr *attr;
	int rem;

	nla_for_each_nested(attr, nest, rem) {
		if (nla_type(attr) == type)
			memzero_explicit(nla_data(attr), nla_len(attr));
	}
}

/* The message outlives the request in freed memory, and a multicast of it is
 * only an accident away: take the secrets out of it. Not by what was parsed,
 * which of an attribute that is there twice has only the last.
 */
static void cmptun_wipe_secrets(struct nlattr *tb[])
{
	struct nlattr *data, *attr;
	int data_rem, rem;

	if (!tb[IFLA_LINKINFO])
		return;

	nla_for_each_nested(data, tb[IFLA_LINKINFO], data_rem) {
		if (nla_type(data) != IFLA_INFO_DATA)
			continue;

		cmptun_wipe_nested(data, IFLA_CMPTUN_PRIVATE_KEY);
		nla_for_each_nested(attr, data, rem) {
			if (nla_type(attr) == IFLA_CMPTUN_PEER)
				cmptun_wipe_nested(attr,
						   CMPTUN_PEER_A_PRESHARED_KEY);
		}
	}
}

/* Outer packets leave in @net: who configures them must have a say there */
static bool cmptun_capable(const struct net_device *dev, struct net *net)
{
	return net_eq(dev_net(dev), net) ||
	       ns_capable(net->user_ns, CAP_NET_ADMIN);
}

static int cmptun_new(struct net_device *dev, struct net *net,
		      struct nlattr *tb[], struct nlattr *data[],
		      struct netlink_ext_ack *extack)
{
	struct cmptun_dev *ct = netdev_priv(dev);
	int err;

	err = cmptun_netdev_alloc(dev, net);
	if (err)
		goto free;

	err = cmptun_parse(ct, &ct->conf, data, extack);
	if (err)
		goto free;

	cmptun_conf_apply(&ct->conf);
	if (tb[IFLA_MTU])
		ct->mtu = nla_get_u32(tb[IFLA_MTU]);
	dev->mtu = cmptun_mtu(ct, &ct->conf);
	dev->max_mtu = cmptun_mtu_max(&ct->conf);
	if (ct->mtu > dev->max_mtu)
		NL_SET_ERR_MSG(extack,
			       "mtu: clamped to what the mode can carry");

	err = cmptun_netdev_register(dev);
	if (err)
		goto free;

	return 0;

free:
	cmptun_netdev_free(dev);
	return err;
}

/* Return: 0 or -EPERM or what cmptun_new() returns */
static int cmptun_newlink(struct net_device *dev,
			  struct rtnl_newlink_params *params,
			  struct netlink_ext_ack *extack)
{
	struct net *net = rtnl_newlink_link_net(params);
	int err = -EPERM;

	if (cmptun_capable(dev, net))
		err = cmptun_new(dev, net, params->tb, params->data, extack);
	else
		NL_SET_ERR_MSG(extack,
			       "link-netns: not permitted in that namespace");

	cmptun_wipe_secrets(params->tb);
	return err;
}

RTNL_COMPAT_NEWLINK(cmptun_newlink);

/* The MTU is set by the core, after the rest is in force: look beforehand
 * whether it will do.
 */
static int cmptun_check_mtu(const struct cmptun_conf *conf, struct nlattr *attr,
			    struct netlink_ext_ack *extack)
{
	if (!attr)
		return 0;

	if (nla_get_u32(attr) < ETH_MIN_MTU ||
	    nla_get_u32(attr) > cmptun_mtu_max(conf)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "mtu: out of the range that the mode can carry");
		return -EINVAL;
	}

	return 0;
}

static int cmptun_change(struct cmptun_dev *ct, struct nlattr *tb[],
			 struct nlattr *data[], struct netlink_ext_ack *extack)
{
	struct cmptun_conf conf;
	int err;

	cmptun_conf_copy(&conf, &ct->conf);

	err = cmptun_parse(ct, &conf, data, extack);
	if (!err)
		err = cmptun_check_mtu(&conf, tb[IFLA_MTU], extack);
	if (!err)
		err = cmptun_state_change(ct, &conf, extack);
	/* The core does not tell of one that is the current one already. */
	if (!err && tb[IFLA_MTU])
		ct->mtu = nla_get_u32(tb[IFLA_MTU]);

	cmptun_conf_put(&conf);
	return err;
}

static int cmptun_changelink(struct net_device *dev, struct nlattr *tb[],
			     struct nlattr *data[],
			     struct netlink_ext_ack *extack)
{
	struct cmptun_dev *ct = netdev_priv(dev);
	int err;

	if (ct->net && !cmptun_capable(dev, ct->net)) {
		NL_SET_ERR_MSG(extack,
			       "not permitted in the namespace of the outer packets");
		err = -EPERM;
	} else {
		err = cmptun_change(ct, tb, data, extack);
	}

	/* The core announces a change of a device that is up. */
	if (!err && !(dev->flags & IFF_UP))
		call_netdevice_notifiers(NETDEV_CHANGEINFODATA, dev);

	cmptun_wipe_secrets(tb);
	return err;
}

static size_t cmptun_get_size(const struct net_device *dev)
{
	const struct cmptun_dev *ct = netdev_priv(dev);
	const struct cmptun_mode *const *mode;
	size_t size;

	size = nla_total_size(sizeof(u8)) +		   /* MODE */
	       nla_total_size(sizeof(u32)) +		   /* LINK */
	       nla_total_size(sizeof(struct in6_addr)) * 2 + /* addresses */
	       nla_total_size(sizeof(u32));		   /* FWMARK */

	cmptun_for_each_mode(mode)
		size += (*mode)->fill_size(&ct->conf);

	return size;
}

static int cmptun_fill_addr(struct sk_buff *skb, int v4, int v6,
			    const struct cmptun_addr *addr)
{
	switch (addr->family) {
	case AF_INET:
		return nla_put_in_addr(skb, v4, addr->v4);
	case AF_INET6:
		return nla_put_in6_addr(skb, v6, &addr->v6);
	default:
		return 0;
	}
}

static int cmptun_fill_info(struct sk_buff *skb, const struct net_device *dev)
{
	const struct cmptun_dev *ct = netdev_priv(dev);
	const struct cmptun_conf *conf = &ct->conf;
	const struct cmptun_mode *const *mode;

	if (nla_put_u8(skb, IFLA_CMPTUN_MODE, conf->mode->id) ||
	    nla_put_u32(skb, IFLA_CMPTUN_LINK, conf->link) ||
	    cmptun_fill_addr(skb, IFLA_CMPTUN_LOCAL, IFLA_CMPTUN_LOCAL6,
			     &conf->local) ||
	    cmptun_fill_addr(skb, IFLA_CMPTUN_REMOTE, IFLA_CMPTUN_REMOTE6,
			     &conf->remote) ||
	    nla_put_u32(skb, IFLA_CMPTUN_FWMARK, conf->fwmark))
		return -EMSGSIZE;

	cmptun_for_each_mode(mode) {
		if ((*mode)->fill(skb, conf))
			return -EMSGSIZE;
	}

	return 0;
}

static struct net *cmptun_get_link_net(const struct net_device *dev)
{
	const struct cmptun_dev *ct = netdev_priv(dev);

	return READ_ONCE(ct->net) ?: dev_net(dev);
}

static struct rtnl_link_ops cmptun_link_ops __read_mostly = {
	.kind = CMPTUN_LINK_KIND,
	.priv_size = sizeof(struct cmptun_dev),
	.setup = cmptun_netdev_setup,
	.maxtype = IFLA_CMPTUN_MAX,
	.policy = cmptun_policy,
	.newlink = RTNL_COMPAT_NEWLINK_OP(cmptun_newlink),
	.changelink = cmptun_changelink,
	.get_size = cmptun_get_size,
	.fill_info = cmptun_fill_info,
	.get_link_net = cmptun_get_link_net,
};

/**
 * cmptun_rtnl_init - register the link kind
 *
 * Return: 0 or a negative errno.
 */
int cmptun_rtnl_init(void)
{
	return rtnl_link_register(&cmptun_link_ops);
}

/**
 * cmptun_rtnl_exit - unregister the link kind, and delete all its devices
 */
void cmptun_rtnl_exit(void)
{
	rtnl_link_unregister(&cmptun_link_ops);
}

MODULE_ALIAS_RTNL_LINK(CMPTUN_LINK_KIND);
