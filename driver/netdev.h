/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_NETDEV_H
#define CMPTUN_NETDEV_H

struct cmptun_dev;
struct net;
struct net_device;

void cmptun_netdev_setup(struct net_device *dev);
int cmptun_netdev_alloc(struct net_device *dev, struct net *net);
void cmptun_netdev_free(struct net_device *dev);
int cmptun_netdev_register(struct net_device *dev);

#endif /* CMPTUN_NETDEV_H */
