/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_PEER_H
#define CMPTUN_WG_PEER_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "handshake.h"
#include "session.h"

struct cmptun_dev;
struct cmptun_state;
struct cmptun_wg_endpoint;
struct cmptun_wg_identity;

/**
 * struct cmptun_wg_timers - when something is due, section 6
 * @retransmit: an initiation was not answered
 * @send_keepalive: data was received and none sent since
 * @new_handshake: data was sent and nothing received since
 * @zero_keys: the keys are too old even for an old message
 * @persistent_keepalive: the user wants one
 * @attempts: initiations sent without an answer
 * @another_keepalive: data was received while @send_keepalive ran
 * @sent_lastminute: an initiation was sent because a session was about to
 *	end while we only received
 *
 * The flags are hints that are read and written without a lock.
 */
struct cmptun_wg_timers {
	struct timer_list retransmit;
	struct timer_list send_keepalive;
	struct timer_list new_handshake;
	struct timer_list zero_keys;
	struct timer_list persistent_keepalive;
	unsigned int attempts;
	bool another_keepalive;
	bool sent_lastminute;
};

/**
 * struct cmptun_wg_peer - who is at the other end
 * @ref: one from each configuration and running state
 * @rcu: for freeing
 * @ct: the device; immutable
 * @identity: our key pair that it knows us by, NULL before there is one;
 *	immutable, a reference
 * @public_key: the peer's static key; immutable
 * @handshake: see there
 * @sessions: see there
 * @endpoint_lock: guards replacement of @endpoint
 * @endpoint: where it was last heard of, NULL if unknown; read under RCU
 * @endpoint_set: the endpoint that the user last set, only compared; RTNL
 * @staged: packets that wait for a session; its own lock
 * @timers: see there
 * @handshake_work: sends an initiation
 * @wipe_work: wipes handshake and sessions
 * @last_sent_handshake: coarse boot time in ns
 * @last_handshake: wall clock in ns of the last completed one, 0 for none
 * @rx_bytes: UDP payload received from it, authenticated
 * @tx_bytes: UDP payload sent to it
 *
 * It survives switches of mode: the configuration holds on to it, while
 * cmptun_wg_peer_quiesce() takes keys, packets and timers away.
 */
struct cmptun_wg_peer {
	struct kref ref;
	struct rcu_head rcu;
	struct cmptun_dev *ct;
	struct cmptun_wg_identity *identity;
	u8 public_key[CMPTUN_WG_KEY_LEN];

	struct cmptun_wg_handshake handshake;
	struct cmptun_wg_sessions sessions;

	/* guards replacement of the endpoint */
	spinlock_t endpoint_lock;
	struct cmptun_wg_endpoint __rcu *endpoint;
	struct cmptun_wg_endpoint *endpoint_set;

	struct sk_buff_head staged;
	struct cmptun_wg_timers timers;
	struct work_struct handshake_work;
	struct work_struct wipe_work;

	atomic64_t last_sent_handshake;
	atomic64_t last_handshake;
	atomic64_t rx_bytes;
	atomic64_t tx_bytes;
};

struct cmptun_wg_peer *
cmptun_wg_peer_create(struct cmptun_dev *ct,
		      struct cmptun_wg_identity *identity,
		      const u8 public_key[CMPTUN_WG_KEY_LEN]);
void cmptun_wg_peer_inherit(struct cmptun_wg_peer *peer,
			    struct cmptun_wg_peer *from);
struct cmptun_wg_peer *cmptun_wg_peer_get(struct cmptun_wg_peer *peer);
void cmptun_wg_peer_put(struct cmptun_wg_peer *peer);

void cmptun_wg_peer_set_endpoint(struct cmptun_wg_peer *peer,
				 struct cmptun_wg_endpoint *endpoint);
void cmptun_wg_peer_move_endpoint(struct cmptun_wg_peer *peer,
				  const struct cmptun_wg_endpoint *from,
				  struct cmptun_wg_endpoint *endpoint);
void cmptun_wg_peer_quiesce(struct cmptun_wg_peer *peer);
void cmptun_wg_peer_flush_works(struct cmptun_wg_peer *peer);
void cmptun_wg_peer_flush_staged(struct cmptun_wg_peer *peer);

struct cmptun_state *cmptun_wg_peer_state(const struct cmptun_wg_peer *peer);
struct cmptun_wg_index *cmptun_wg_peer_index(const struct cmptun_wg_peer *peer);

#endif /* CMPTUN_WG_PEER_H */
