// SPDX-License-Identifier: GPL-2.0
/*
 * cmptun - a tunnel device that switches between IPIP and WireGuard.
 *
 * Start reading here: each line below is a file.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "ipip.h"
#include "mode.h"
#include "netns.h"
#include "rtnl.h"
#include "wg/selftest.h"
#include "wg/wg.h"

static int __init cmptun_init(void)
{
	int err;

	err = cmptun_modes_check();
	if (err)
		return err;

	err = cmptun_wg_selftest();
	if (err)
		return err;

	err = cmptun_wg_init();
	if (err)
		return err;

	err = cmptun_netns_init();
	if (err)
		goto err_wg;

	err = cmptun_ipip_init();
	if (err)
		goto err_netns;

	err = cmptun_rtnl_init();
	if (err)
		goto err_ipip;

	return 0;

err_ipip:
	cmptun_ipip_exit();
err_netns:
	cmptun_netns_exit();
err_wg:
	cmptun_wg_exit();
	return err;
}

static void __exit cmptun_exit(void)
{
	cmptun_rtnl_exit();
	cmptun_ipip_exit();
	cmptun_netns_exit();
	cmptun_wg_exit();
	/* Peers and sessions are freed by RCU callbacks of ours. */
	rcu_barrier();
}

module_init(cmptun_init);
module_exit(cmptun_exit);

MODULE_DESCRIPTION("Tunnel that switches between IPIP and WireGuard");
MODULE_LICENSE("GPL");
MODULE_VERSION(CMPTUN_VERSION);
