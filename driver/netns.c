// SPDX-License-Identifier: GPL-2.0
/*
 * Network namespaces: a device keeps its outer side in the namespace it was
 * made in, wherever it is moved, without keeping that namespace alive.
 */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "cmptun.h"
#include "netns.h"
#include "state.h"

static unsigned int cmptun_net_id __read_mostly;

/**
 * cmptun_net - cmptun's part of a namespace
 * @net: the namespace, alive
 *
 * Return: never NULL.
 */
struct cmptun_net *cmptun_net(const struct net *net)
{
	return net_generic(net, cmptun_net_id);
}

static int __net_init cmptun_net_init(struct net *net)
{
	struct cmptun_net *cn = cmptun_net(net);
	int i;

	INIT_LIST_HEAD(&cn->devs);
	for (i = 0; i < ARRAY_SIZE(cn->ipip4); i++) {
		INIT_HLIST_HEAD(&cn->ipip4[i]);
		INIT_HLIST_HEAD(&cn->ipip6[i]);
	}

	return 0;
}

/* The underlay dies. Devices that were moved elsewhere live on, as
 * WireGuard's do, but have nothing to send by: their sockets and hash entries
 * go before the namespace's stack does.
 */
static void __net_exit cmptun_net_pre_exit(struct net *net)
{
	struct cmptun_net *cn = cmptun_net(net);
	struct cmptun_dev *ct, *next;

	rtnl_lock();
	list_for_each_entry_safe(ct, next, &cn->devs, list) {
		cmptun_state_down_dev(ct);
		netif_carrier_off(ct->dev);
		list_del_init(&ct->list);
		WRITE_ONCE(ct->net, NULL);
	}
	rtnl_unlock();
}

static struct pernet_operations cmptun_net_ops = {
	.init = cmptun_net_init,
	.pre_exit = cmptun_net_pre_exit,
	.id = &cmptun_net_id,
	.size = sizeof(struct cmptun_net),
};

/**
 * cmptun_netns_init - have a &struct cmptun_net in every namespace
 *
 * Return: 0 or a negative errno.
 */
int cmptun_netns_init(void)
{
	return register_pernet_device(&cmptun_net_ops);
}

/**
 * cmptun_netns_exit - undo cmptun_netns_init()
 */
void cmptun_netns_exit(void)
{
	unregister_pernet_device(&cmptun_net_ops);
}
