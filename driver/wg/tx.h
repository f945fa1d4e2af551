/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_TX_H
#define CMPTUN_WG_TX_H

#include <linux/types.h>

struct cmptun_state;
struct cmptun_wg_exchange;
struct cmptun_wg_peer;
struct sk_buff;
struct work_struct;

int cmptun_wg_tx(struct sk_buff *skb, struct cmptun_state *state);
void cmptun_wg_tx_staged(struct cmptun_state *state);
void cmptun_wg_tx_keepalive(struct cmptun_state *state);

bool cmptun_wg_tx_initiate(struct cmptun_wg_peer *peer, bool retry);
void cmptun_wg_tx_initiation_work(struct work_struct *work);
void cmptun_wg_tx_response(struct cmptun_state *state,
			   struct cmptun_wg_exchange *ex);
void cmptun_wg_tx_forget_local(struct cmptun_wg_peer *peer);

#endif /* CMPTUN_WG_TX_H */
