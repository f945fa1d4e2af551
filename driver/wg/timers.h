/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_TIMERS_H
#define CMPTUN_WG_TIMERS_H

struct cmptun_state;
struct cmptun_wg_peer;

void cmptun_wg_timers_init(struct cmptun_wg_peer *peer);
void cmptun_wg_timers_start(struct cmptun_state *state);
void cmptun_wg_timers_stop(struct cmptun_wg_peer *peer);

void cmptun_wg_timers_sent(struct cmptun_state *state, bool data);
void cmptun_wg_timers_received(struct cmptun_state *state);
void cmptun_wg_timers_received_data(struct cmptun_state *state);
void cmptun_wg_timers_initiated(struct cmptun_wg_peer *peer);
void cmptun_wg_timers_session(struct cmptun_wg_peer *peer);
void cmptun_wg_timers_complete(struct cmptun_wg_peer *peer);

#endif /* CMPTUN_WG_TIMERS_H */
