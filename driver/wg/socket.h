/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_SOCKET_H
#define CMPTUN_WG_SOCKET_H

#include <linux/types.h>

struct cmptun_dev;
struct cmptun_state;
struct netlink_ext_ack;
struct sk_buff;
struct socket;

/**
 * struct cmptun_wg_sock - the UDP sockets of a device
 * @ct: the device
 * @v4: IPv4 socket
 * @v6: IPv6 socket, NULL where IPv6 is disabled
 * @port: both are bound to
 *
 * Immutable; in the namespace the device was made in.
 */
struct cmptun_wg_sock {
	struct cmptun_dev *ct;
	struct socket *v4;
	struct socket *v6;
	u16 port;
};

struct cmptun_wg_sock *cmptun_wg_sock_open(struct cmptun_dev *ct, u16 port,
					   struct netlink_ext_ack *extack);
void cmptun_wg_sock_close(struct cmptun_wg_sock *sock);
int cmptun_wg_sock_send(struct cmptun_state *state, struct sk_buff *skb,
			u8 ds);

#endif /* CMPTUN_WG_SOCKET_H */
