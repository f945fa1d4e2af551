/* SPDX-License-Identifier: GPL-2.0 */
#include_next <linux/netdevice.h>

#ifndef CMPTUN_COMPAT_LINUX_NETDEVICE_H
#define CMPTUN_COMPAT_LINUX_NETDEVICE_H

/* A feature until 6.12, a bit of its own since */
static inline void netdev_compat_set_lltx(struct net_device *dev)
{
#ifdef CMPTUN_HAS_LLTX_BIT
	dev->lltx = true;
#else
	dev->features |= NETIF_F_LLTX;
#endif
}

#endif
