/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replacing what runs. See Documentation/switch.rst.
 */
#ifndef CMPTUN_STATE_H
#define CMPTUN_STATE_H

struct cmptun_conf;
struct cmptun_dev;
struct cmptun_state;
struct netlink_ext_ack;

extern struct cmptun_state cmptun_state_down;

int cmptun_state_change(struct cmptun_dev *ct, const struct cmptun_conf *conf,
			struct netlink_ext_ack *extack);
int cmptun_state_up(struct cmptun_dev *ct);
void cmptun_state_down_dev(struct cmptun_dev *ct);

unsigned int cmptun_mtu(const struct cmptun_dev *ct,
			const struct cmptun_conf *conf);
unsigned int cmptun_mtu_max(const struct cmptun_conf *conf);

#endif /* CMPTUN_STATE_H */
