// SPDX-License-Identifier: GPL-2.0
/*
 * When something is due: sections 6.1 to 6.5 of the paper.
 *
 * A timer is armed only by who is in an RCU section and has the peer's
 * running state, and does nothing once that state is gone; so after a grace
 * period cmptun_wg_timers_stop() has the last word.
 */
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/timer.h>

#include "../cmptun.h"
#include "peer.h"
#include "settings.h"
#include "timers.h"
#include "tx.h"
#include "wg.h"

static unsigned long cmptun_wg_jitter(void)
{
	return get_random_u32() % CMPTUN_WG_JITTER_MAX_JIFFIES;
}

static void cmptun_wg_arm(struct timer_list *timer, unsigned int seconds,
			  unsigned long jitter)
{
	mod_timer(timer, jiffies + seconds * HZ + jitter);
}

static void cmptun_wg_give_up(struct cmptun_wg_peer *peer)
{
	timer_delete(&peer->timers.send_keepalive);
	cmptun_wg_peer_flush_staged(peer);
	/* What keys there are shall not wait for a peer that is gone. */
	if (!timer_pending(&peer->timers.zero_keys))
		cmptun_wg_arm(&peer->timers.zero_keys,
			      CMPTUN_WG_REJECT_AFTER_TIME * 3, 0);
}

static void cmptun_wg_retransmit_expired(struct timer_list *timer)
{
	struct cmptun_wg_peer *peer =
		timer_container_of(peer, timer, timers.retransmit);

	rcu_read_lock();
	if (cmptun_wg_peer_state(peer)) {
		if (peer->timers.attempts > CMPTUN_WG_HANDSHAKE_RETRIES) {
			cmptun_wg_give_up(peer);
		} else {
			peer->timers.attempts++;
			cmptun_wg_tx_forget_local(peer);
			/* Too early if we have answered the peer's meanwhile:
			 * both have begun at once, and both answers are void.
			 */
			if (!cmptun_wg_tx_initiate(peer, true))
				cmptun_wg_timers_initiated(peer);
		}
	}
	rcu_read_unlock();
}

static void cmptun_wg_send_keepalive_expired(struct timer_list *timer)
{
	struct cmptun_wg_peer *peer =
		timer_container_of(peer, timer, timers.send_keepalive);
	struct cmptun_state *state;

	rcu_read_lock();
	state = cmptun_wg_peer_state(peer);
	if (state) {
		cmptun_wg_tx_keepalive(state);
		if (READ_ONCE(peer->timers.another_keepalive)) {
			WRITE_ONCE(peer->timers.another_keepalive, false);
			cmptun_wg_arm(&peer->timers.send_keepalive,
				      CMPTUN_WG_KEEPALIVE_TIMEOUT, 0);
		}
	}
	rcu_read_unlock();
}

static void cmptun_wg_new_handshake_expired(struct timer_list *timer)
{
	struct cmptun_wg_peer *peer =
		timer_container_of(peer, timer, timers.new_handshake);

	rcu_read_lock();
	if (cmptun_wg_peer_state(peer)) {
		cmptun_wg_tx_forget_local(peer);
		cmptun_wg_tx_initiate(peer, false);
	}
	rcu_read_unlock();
}

static void cmptun_wg_zero_keys_expired(struct timer_list *timer)
{
	struct cmptun_wg_peer *peer =
		timer_container_of(peer, timer, timers.zero_keys);

	rcu_read_lock();
	if (cmptun_wg_peer_state(peer))
		queue_work(cmptun_wg_queue, &peer->wipe_work);
	rcu_read_unlock();
}

static void cmptun_wg_persistent_expired(struct timer_list *timer)
{
	struct cmptun_wg_peer *peer =
		timer_container_of(peer, timer, timers.persistent_keepalive);
	struct cmptun_state *state;

	rcu_read_lock();
	state = cmptun_wg_peer_state(peer);
	if (state && state->conf.wg.settings &&
	    state->conf.wg.settings->keepalive)
		cmptun_wg_tx_keepalive(state);
	rcu_read_unlock();
}

/**
 * cmptun_wg_timers_init - set a peer's timers up
 * @peer: not yet in use
 */
void cmptun_wg_timers_init(struct cmptun_wg_peer *peer)
{
	struct cmptun_wg_timers *timers = &peer->timers;

	timer_setup(&timers->retransmit, cmptun_wg_retransmit_expired, 0);
	timer_setup(&timers->send_keepalive, cmptun_wg_send_keepalive_expired,
		    0);
	timer_setup(&timers->new_handshake, cmptun_wg_new_handshake_expired, 0);
	timer_setup(&timers->zero_keys, cmptun_wg_zero_keys_expired, 0);
	timer_setup(&timers->persistent_keepalive,
		    cmptun_wg_persistent_expired, 0);
}

/**
 * cmptun_wg_timers_start - a state has begun to run, or was changed
 * @state: running, with a peer
 *
 * A persistent keepalive is due at once, so that a peer behind NAT can be
 * reached from the start.
 *
 * Context: RTNL.
 */
void cmptun_wg_timers_start(struct cmptun_state *state)
{
	struct cmptun_wg_settings *settings = state->conf.wg.settings;
	struct timer_list *timer =
		&state->conf.wg.peer->timers.persistent_keepalive;

	if (settings && settings->keepalive && !timer_pending(timer))
		mod_timer(timer, jiffies);
}

/**
 * cmptun_wg_timers_stop - stop all timers, for now
 * @peer: see cmptun_wg_peer_quiesce()
 *
 * Context: may sleep.
 */
void cmptun_wg_timers_stop(struct cmptun_wg_peer *peer)
{
	struct cmptun_wg_timers *timers = &peer->timers;

	timer_delete_sync(&timers->retransmit);
	timer_delete_sync(&timers->send_keepalive);
	timer_delete_sync(&timers->new_handshake);
	timer_delete_sync(&timers->zero_keys);
	timer_delete_sync(&timers->persistent_keepalive);
	timers->attempts = 0;
	timers->another_keepalive = false;
	timers->sent_lastminute = false;
}

/* Any authenticated message, in either direction, postpones the persistent
 * keepalive.
 */
static void cmptun_wg_timers_traversal(struct cmptun_state *state)
{
	const struct cmptun_wg_settings *settings = state->conf.wg.settings;

	if (settings && settings->keepalive)
		cmptun_wg_arm(&state->conf.wg.peer->timers.persistent_keepalive,
			      settings->keepalive, 0);
}

/**
 * cmptun_wg_timers_sent - an authenticated message was sent
 * @state: the peer's running state
 * @data: it carried a packet, so an answer is to be expected
 *
 * Context: RCU.
 */
void cmptun_wg_timers_sent(struct cmptun_state *state, bool data)
{
	struct cmptun_wg_timers *timers = &state->conf.wg.peer->timers;

	if (timer_pending(&timers->send_keepalive))
		timer_delete(&timers->send_keepalive);

	if (data && !timer_pending(&timers->new_handshake))
		cmptun_wg_arm(&timers->new_handshake,
			      CMPTUN_WG_KEEPALIVE_TIMEOUT +
			      CMPTUN_WG_REKEY_TIMEOUT, cmptun_wg_jitter());

	cmptun_wg_timers_traversal(state);
}

/**
 * cmptun_wg_timers_received - an authenticated message was received
 * @state: the peer's running state
 *
 * Context: RCU.
 */
void cmptun_wg_timers_received(struct cmptun_state *state)
{
	struct cmptun_wg_timers *timers = &state->conf.wg.peer->timers;

	if (timer_pending(&timers->new_handshake))
		timer_delete(&timers->new_handshake);

	cmptun_wg_timers_traversal(state);
}

/**
 * cmptun_wg_timers_received_data - a packet was received
 * @state: the peer's running state
 *
 * Context: RCU.
 */
void cmptun_wg_timers_received_data(struct cmptun_state *state)
{
	struct cmptun_wg_timers *timers = &state->conf.wg.peer->timers;

	if (!timer_pending(&timers->send_keepalive))
		cmptun_wg_arm(&timers->send_keepalive,
			      CMPTUN_WG_KEEPALIVE_TIMEOUT, 0);
	else if (!READ_ONCE(timers->another_keepalive))
		WRITE_ONCE(timers->another_keepalive, true);
}

/**
 * cmptun_wg_timers_initiated - an initiation was sent
 * @peer: of a running state
 *
 * Context: RCU.
 */
void cmptun_wg_timers_initiated(struct cmptun_wg_peer *peer)
{
	cmptun_wg_arm(&peer->timers.retransmit, CMPTUN_WG_REKEY_TIMEOUT,
		      cmptun_wg_jitter());
}

/**
 * cmptun_wg_timers_session - there are new keys, to be wiped some day
 * @peer: of a running state
 *
 * Context: RCU.
 */
void cmptun_wg_timers_session(struct cmptun_wg_peer *peer)
{
	cmptun_wg_arm(&peer->timers.zero_keys, CMPTUN_WG_REJECT_AFTER_TIME * 3,
		      0);
}

/**
 * cmptun_wg_timers_complete - both sides are known to have the keys
 * @peer: of a running state
 *
 * Context: RCU.
 */
void cmptun_wg_timers_complete(struct cmptun_wg_peer *peer)
{
	timer_delete(&peer->timers.retransmit);
	peer->timers.attempts = 0;
	WRITE_ONCE(peer->timers.sent_lastminute, false);
	atomic64_set(&peer->last_handshake, ktime_get_real_ns());
}
