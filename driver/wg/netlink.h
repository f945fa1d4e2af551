/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_NETLINK_H
#define CMPTUN_WG_NETLINK_H

#include <linux/types.h>

struct cmptun_conf;
struct cmptun_dev;
struct netlink_ext_ack;
struct nlattr;
struct sk_buff;

int cmptun_wg_conf_parse(struct cmptun_dev *ct, struct cmptun_conf *conf,
			 struct nlattr *data[],
			 struct netlink_ext_ack *extack);
size_t cmptun_wg_fill_size(const struct cmptun_conf *conf);
int cmptun_wg_fill(struct sk_buff *skb, const struct cmptun_conf *conf);

#endif /* CMPTUN_WG_NETLINK_H */
