// SPDX-License-Identifier: GPL-2.0
/*
 * The net_device: what the stack and ethtool ask of it.
 */
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ip_tunnels.h>
#include <uapi/linux/if_cmptun.h>

#include "cmptun.h"
#include "mode.h"
#include "netdev.h"
#include "netns.h"
#include "state.h"
#include "stats.h"

/* One set fits both modes, so that a switch announces nothing but itself:
 * ipip hands GSO packets on whole, wg cuts them up before it encrypts.
 */
#define CMPTUN_FEATURES (NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HIGHDMA | \
			 NETIF_F_GSO_SOFTWARE | NETIF_F_HW_CSUM)

static int cmptun_ndo_init(struct net_device *dev)
{
	struct cmptun_dev *ct = netdev_priv(dev);
	int err;

	err = gro_cells_init(&ct->gro_cells, dev);
	if (err)
		return err;

	list_add_tail(&ct->list, &cmptun_net(ct->net)->devs);
	return 0;
}

static void cmptun_ndo_uninit(struct net_device *dev)
{
	struct cmptun_dev *ct = netdev_priv(dev);

	list_del_init(&ct->list);
	gro_cells_destroy(&ct->gro_cells);
}

/* Each time, because a move to another namespace makes a new inet6_dev. */
static int cmptun_ndo_open(struct net_device *dev)
{
	struct inet6_dev *in6_dev = __in6_dev_get(dev);

	/* A tunnel between two addresses has no link-local one, as
	 * WireGuard's devices have none: nothing is sent unasked.
	 */
	if (in6_dev)
		in6_dev->cnf.addr_gen_mode = IN6_ADDR_GEN_MODE_NONE;

	return cmptun_state_up(netdev_priv(dev));
}

static int cmptun_ndo_stop(struct net_device *dev)
{
	cmptun_state_down_dev(netdev_priv(dev));
	return 0;
}

/* A negative errno is a packet consumed (dev_xmit_complete()); it reaches
 * the sender, who learns from it what a counter would only tell the admin.
 */
static netdev_tx_t cmptun_ndo_start_xmit(struct sk_buff *skb,
					 struct net_device *dev)
{
	struct cmptun_dev *ct = netdev_priv(dev);
	struct cmptun_state *state = rcu_dereference_bh(ct->state);

	return (__force netdev_tx_t)state->mode->xmit(skb, state);
}

static int cmptun_ndo_change_mtu(struct net_device *dev, int mtu)
{
	struct cmptun_dev *ct = netdev_priv(dev);

	ct->mtu = mtu;
	WRITE_ONCE(dev->mtu, mtu);
	return 0;
}

static const struct net_device_ops cmptun_netdev_ops = {
	.ndo_init = cmptun_ndo_init,
	.ndo_uninit = cmptun_ndo_uninit,
	.ndo_open = cmptun_ndo_open,
	.ndo_stop = cmptun_ndo_stop,
	.ndo_start_xmit = cmptun_ndo_start_xmit,
	.ndo_change_mtu = cmptun_ndo_change_mtu,
	.ndo_get_stats64 = dev_get_tstats64,
};

static void cmptun_get_drvinfo(struct net_device *dev,
			       struct ethtool_drvinfo *info)
{
	strscpy(info->driver, CMPTUN_LINK_KIND, sizeof(info->driver));
	strscpy(info->version, CMPTUN_VERSION, sizeof(info->version));
}

static int cmptun_get_sset_count(struct net_device *dev, int sset)
{
	return sset == ETH_SS_STATS ? CMPTUN_STAT_COUNT : -EOPNOTSUPP;
}

static void cmptun_get_strings(struct net_device *dev, u32 sset, u8 *data)
{
	if (sset == ETH_SS_STATS)
		cmptun_stats_strings(data);
}

static void cmptun_get_ethtool_stats(struct net_device *dev,
				     struct ethtool_stats *stats, u64 *data)
{
	cmptun_stats_read(netdev_priv(dev), data);
}

static const struct ethtool_ops cmptun_ethtool_ops = {
	.get_drvinfo = cmptun_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_sset_count = cmptun_get_sset_count,
	.get_strings = cmptun_get_strings,
	.get_ethtool_stats = cmptun_get_ethtool_stats,
};

static const struct device_type cmptun_device_type = {
	.name = CMPTUN_LINK_KIND,
};

/**
 * cmptun_netdev_setup - fill in a fresh net_device
 * @dev: the device
 *
 * The link type is the same in both modes, because it cannot change once
 * addresses and sockets hang on it: a packet on the device is an IP packet.
 */
void cmptun_netdev_setup(struct net_device *dev)
{
	dev->netdev_ops = &cmptun_netdev_ops;
	dev->ethtool_ops = &cmptun_ethtool_ops;
	dev->header_ops = &ip_tunnel_header_ops;
	SET_NETDEV_DEVTYPE(dev, &cmptun_device_type);

	dev->type = ARPHRD_NONE;
	dev->flags = IFF_POINTOPOINT | IFF_NOARP;
	dev->addr_len = 0;
	dev->hard_header_len = 0;
	dev->needed_headroom = LL_MAX_HEADER + CMPTUN_HEADROOM;
	dev->needed_tailroom = CMPTUN_TAILROOM;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = IP_MAX_MTU - sizeof(struct iphdr);
	dev->mtu = ETH_DATA_LEN - sizeof(struct iphdr);

	dev->features |= CMPTUN_FEATURES | NETIF_F_RXCSUM;
	dev->hw_features |= CMPTUN_FEATURES | NETIF_F_RXCSUM;
	dev->hw_enc_features |= CMPTUN_FEATURES;
	netdev_compat_set_lltx(dev);
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	dev->needs_free_netdev = true;
	netif_keep_dst(dev);
}

/**
 * cmptun_netdev_alloc - allocate what lives as long as the device
 * @dev: set up, not yet registered; RTNL
 * @net: namespace of its outer side
 *
 * Return: 0 or -ENOMEM. cmptun_netdev_free() is due in either case.
 */
int cmptun_netdev_alloc(struct net_device *dev, struct net *net)
{
	struct cmptun_dev *ct = netdev_priv(dev);
	const struct cmptun_mode *const *mode;
	int err;

	ct->dev = dev;
	ct->net = net;
	INIT_LIST_HEAD(&ct->list);
	RCU_INIT_POINTER(ct->state, &cmptun_state_down);
	cmptun_conf_init(&ct->conf);

	err = cmptun_stats_init(ct);
	if (err)
		return err;

	cmptun_for_each_mode(mode) {
		err = (*mode)->dev_init(ct);
		if (err)
			return err;
	}

	return 0;
}

/**
 * cmptun_netdev_free - free what cmptun_netdev_alloc() allocated
 * @dev: the device, down and out of reach
 */
void cmptun_netdev_free(struct net_device *dev)
{
	struct cmptun_dev *ct = netdev_priv(dev);
	const struct cmptun_mode *const *mode;

	cmptun_conf_put(&ct->conf);
	cmptun_for_each_mode(mode)
		(*mode)->dev_uninit(ct);
	cmptun_stats_uninit(ct);
}

/**
 * cmptun_netdev_register - make the device visible
 * @dev: configured; RTNL
 *
 * Return: 0 or a negative errno.
 */
int cmptun_netdev_register(struct net_device *dev)
{
	int err;

	err = register_netdevice(dev);
	if (err)
		return err;

	/* Only now: a failed registration would call it as well as we do. */
	dev->priv_destructor = cmptun_netdev_free;
	return 0;
}
