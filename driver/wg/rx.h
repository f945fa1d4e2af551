/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_RX_H
#define CMPTUN_WG_RX_H

struct sk_buff;
struct sock;
struct work_struct;

int cmptun_wg_rx(struct sock *sk, struct sk_buff *skb);
void cmptun_wg_rx_handshakes_work(struct work_struct *work);

#endif /* CMPTUN_WG_RX_H */
