/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_SESSION_H
#define CMPTUN_WG_SESSION_H

#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/types.h>

#include "index.h"
#include "messages.h"
#include "replay.h"

/**
 * struct cmptun_wg_session - transport keys of one handshake
 * @entry: its name; see there
 * @rcu: for freeing
 * @send_key: encrypts
 * @receive_key: decrypts
 * @born: coarse boot time in ns
 * @initiator: we made the first message, and are the one to renew it in time
 * @remote_index: the peer's name for it
 * @counter: next nonce to send
 * @replay: counters received
 *
 * All but @counter and @replay is immutable. Found through an RCU pointer or
 * the index table; freed, and wiped, after a grace period.
 */
struct cmptun_wg_session {
	struct cmptun_wg_index_entry entry;
	struct rcu_head rcu;
	u8 send_key[CMPTUN_WG_KEY_LEN];
	u8 receive_key[CMPTUN_WG_KEY_LEN];
	u64 born;
	bool initiator;
	__le32 remote_index;
	atomic64_t counter;
	struct cmptun_wg_replay replay;
};

/**
 * struct cmptun_wg_sessions - the sessions of a peer, section 6.3
 * @elder: of both ends we are the one whose handshake counts, should both
 *	begin at once; set once
 * @lock: guards the pointers, which are read under RCU
 * @current_session: in use for sending
 * @previous: for what is still on its way
 * @next: ours as responder, until the initiator has shown that it has it
 */
struct cmptun_wg_sessions {
	bool elder;
	/* guards the pointers */
	spinlock_t lock;
	struct cmptun_wg_session __rcu *current_session;
	struct cmptun_wg_session __rcu *previous;
	struct cmptun_wg_session __rcu *next;
};

void cmptun_wg_sessions_init(struct cmptun_wg_sessions *sessions, bool elder);
struct cmptun_wg_session *
cmptun_wg_session_alloc(struct cmptun_wg_peer *peer, bool initiator);
void cmptun_wg_session_free(struct cmptun_wg_session *session);
void cmptun_wg_sessions_add(struct cmptun_wg_sessions *sessions,
			    struct cmptun_wg_index *index,
			    struct cmptun_wg_session *session);
bool cmptun_wg_sessions_confirm(struct cmptun_wg_sessions *sessions,
				struct cmptun_wg_index *index,
				struct cmptun_wg_session *session);
void cmptun_wg_sessions_clear(struct cmptun_wg_sessions *sessions,
			      struct cmptun_wg_index *index);

/**
 * cmptun_wg_older_than - has a moment passed long enough ago?
 * @birth: coarse boot time in ns
 * @seconds: how long
 *
 * Return: true if so.
 */
static inline bool cmptun_wg_older_than(u64 birth, unsigned int seconds)
{
	return (s64)(birth + seconds * (u64)NSEC_PER_SEC) <=
	       (s64)ktime_get_coarse_boottime_ns();
}

#endif /* CMPTUN_WG_SESSION_H */
