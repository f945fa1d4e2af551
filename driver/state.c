// SPDX-License-Identifier: GPL-2.0
/*
 * Replacing what runs.
 *
 * A running device points to one immutable snapshot. A change prepares the
 * next one completely, and only when nothing can fail any more publishes it,
 * waits for readers, and takes the last one down.
 */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/net_namespace.h>
#include <net/route.h>

#include "cmptun.h"
#include "mode.h"
#include "state.h"
#include "stats.h"

static int cmptun_down_xmit(struct sk_buff *skb, struct cmptun_state *state)
{
	struct cmptun_dev *ct = netdev_priv(skb->dev);

	cmptun_drop(ct, skb, CMPTUN_TX_DROP_DOWN);
	return -ENETDOWN;
}

static const struct cmptun_mode cmptun_mode_down = {
	.name = "down",
	.xmit = cmptun_down_xmit,
};

/* What a device that is down points to. It is shared by all devices and never
 * prepared or released, so that taking one down needs no memory and cannot
 * fail.
 */
struct cmptun_state cmptun_state_down = {
	.mode = &cmptun_mode_down,
};

static struct cmptun_state *cmptun_state_rtnl(struct cmptun_dev *ct)
{
	return rtnl_dereference(ct->state);
}

static void cmptun_state_free(struct cmptun_state *state)
{
	cmptun_conf_put(&state->conf);
	kfree(state);
}

/* Snapshot of @old if @state can share resources with it */
static struct cmptun_state *cmptun_state_same_mode(struct cmptun_state *old,
						   struct cmptun_state *state)
{
	return old->mode == state->mode ? old : NULL;
}

static struct cmptun_state *
cmptun_state_prepare(struct cmptun_dev *ct, const struct cmptun_conf *conf,
		     struct netlink_ext_ack *extack)
{
	struct cmptun_state *state;
	int err;

	state = kzalloc(sizeof(*state), GFP_KERNEL);
	if (!state)
		return ERR_PTR(-ENOMEM);

	state->mode = conf->mode;
	state->ct = ct;
	cmptun_conf_copy(&state->conf, conf);

	err = state->mode->prepare(state,
				   cmptun_state_same_mode(cmptun_state_rtnl(ct),
							  state),
				   extack);
	if (err) {
		cmptun_state_free(state);
		return ERR_PTR(err);
	}

	return state;
}

/* Make @state the running one and take its predecessor down. After this has
 * returned no packet is sent or accepted in the way of the predecessor.
 */
static void cmptun_state_publish(struct cmptun_dev *ct,
				 struct cmptun_state *state)
{
	struct cmptun_state *old = cmptun_state_rtnl(ct);
	struct cmptun_state *shared;

	rcu_assign_pointer(ct->state, state);
	if (state != &cmptun_state_down)
		state->mode->start(state,
				   old == &cmptun_state_down ? NULL : old);

	if (old == &cmptun_state_down)
		return;

	shared = cmptun_state_same_mode(state, old);
	old->mode->stop(old);
	synchronize_net();
	old->mode->release(old, shared);
	cmptun_state_free(old);
}

/* MTU of the route to where outer packets go, 1500 while there is none */
static unsigned int cmptun_path_mtu(const struct cmptun_dev *ct,
				    const struct cmptun_conf *conf)
{
	const struct cmptun_addr to = conf->mode->destination(conf);
	unsigned int mtu = ETH_DATA_LEN;

	if (!ct->net)
		return mtu;

	if (to.family == AF_INET) {
		struct flowi4 fl4 = {
			.daddr = to.v4,
			.flowi4_mark = conf->fwmark,
			.flowi4_oif = conf->link,
		};
		struct rtable *rt = ip_route_output_key(ct->net, &fl4);

		if (!IS_ERR(rt)) {
			if (rt->dst.dev != ct->dev)
				mtu = dst_mtu(&rt->dst);
			ip_rt_put(rt);
		}
	} else if (to.family == AF_INET6 && ipv6_mod_enabled()) {
		struct flowi6 fl6 = {
			.daddr = to.v6,
			.flowi6_mark = conf->fwmark,
			.flowi6_oif = conf->link,
		};
		struct dst_entry *dst = ip6_route_output(ct->net, NULL, &fl6);

		if (!dst->error && dst->dev != ct->dev)
			mtu = dst_mtu(dst);
		dst_release(dst);
	}

	return mtu;
}

/**
 * cmptun_mtu_max - largest MTU that the selected mode can carry
 * @conf: a configuration
 *
 * Return: what is left of a 65,535-byte outer packet.
 */
unsigned int cmptun_mtu_max(const struct cmptun_conf *conf)
{
	return IP_MAX_MTU - conf->mode->overhead(conf);
}

/**
 * cmptun_mtu - MTU that a device has with a configuration
 * @ct: the device; RTNL
 * @conf: the configuration
 *
 * Return: what the user asked for, if the mode can carry it, else the MTU of
 * the route less the overhead of the mode.
 */
unsigned int cmptun_mtu(const struct cmptun_dev *ct,
			const struct cmptun_conf *conf)
{
	unsigned int max = cmptun_mtu_max(conf);
	unsigned int mtu = ct->mtu;

	if (!mtu) {
		mtu = cmptun_path_mtu(ct, conf);
		mtu -= min(mtu, conf->mode->overhead(conf));
		mtu = max_t(unsigned int, mtu, ETH_MIN_MTU);
	}

	return min(mtu, max);
}

/* Set the MTU without NETDEV_CHANGEMTU, as ip_tunnel does: its announcement
 * would come on top of the one that follows a change. What IPv4 and IPv6 keep
 * of the old MTU and of the old path is seen to here; the path MTUs that IPv4
 * has learned are forgotten in the whole namespace, for they have no device.
 */
static void cmptun_mtu_set(struct net_device *dev, unsigned int mtu)
{
	struct inet6_dev *in6_dev = __in6_dev_get(dev);
	unsigned int old = dev->mtu;

	WRITE_ONCE(dev->mtu, mtu);
	if (in6_dev && mtu >= IPV6_MIN_MTU)
		WRITE_ONCE(in6_dev->cnf.mtu6, mtu);

	rt_genid_bump_ipv4(dev_net(dev));
	fnhe_genid_bump(dev_net(dev));

	/* Where IPv6 comes or goes there is no way around it. */
	if (old < IPV6_MIN_MTU || mtu < IPV6_MIN_MTU)
		call_netdevice_notifiers(NETDEV_CHANGEMTU, dev);
}

static void cmptun_mtu_follow(struct cmptun_dev *ct,
			      const struct cmptun_conf *conf,
			      struct netlink_ext_ack *extack)
{
	unsigned int max = cmptun_mtu_max(conf);
	unsigned int mtu = cmptun_mtu(ct, conf);

	ct->dev->max_mtu = max;
	if (mtu != ct->dev->mtu || conf->mode != ct->conf.mode)
		cmptun_mtu_set(ct->dev, mtu);

	if (ct->mtu > max)
		NL_SET_ERR_MSG(extack,
			       "mtu: clamped to what the mode can carry");
}

/**
 * cmptun_state_change - put a new configuration in force
 * @ct: the device; RTNL
 * @conf: checked by its mode; copied
 * @extack: gets the reason of a refusal
 *
 * Context: process, may sleep for a grace period.
 * Return: 0, or a negative errno with everything left as it was.
 */
int cmptun_state_change(struct cmptun_dev *ct, const struct cmptun_conf *conf,
			struct netlink_ext_ack *extack)
{
	bool up = cmptun_state_rtnl(ct) != &cmptun_state_down;
	struct cmptun_state *state = NULL;
	struct cmptun_conf old;

	if (up) {
		state = cmptun_state_prepare(ct, conf, extack);
		if (IS_ERR(state))
			return PTR_ERR(state);
	}

	/* Nothing can fail any more. */
	cmptun_mtu_follow(ct, conf, extack);
	old = ct->conf;
	cmptun_conf_copy(&ct->conf, conf);
	cmptun_conf_apply(&ct->conf);
	if (state)
		cmptun_state_publish(ct, state);
	cmptun_conf_put(&old);
	return 0;
}

/**
 * cmptun_state_up - start to run with the device's configuration
 * @ct: the device, down; RTNL
 *
 * Return: 0 or a negative errno, for example -EADDRINUSE.
 */
int cmptun_state_up(struct cmptun_dev *ct)
{
	struct cmptun_state *state;

	if (!ct->net)
		return -ENETUNREACH;

	state = cmptun_state_prepare(ct, &ct->conf, NULL);
	if (IS_ERR(state))
		return PTR_ERR(state);

	cmptun_state_publish(ct, state);
	return 0;
}

/**
 * cmptun_state_down_dev - stop to run
 * @ct: the device; RTNL
 */
void cmptun_state_down_dev(struct cmptun_dev *ct)
{
	cmptun_state_publish(ct, &cmptun_state_down);
}
