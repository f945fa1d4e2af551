// SPDX-License-Identifier: GPL-2.0
/*
 * Who is at the other end: life of a peer, and what it has that changes.
 */
#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../cmptun.h"
#include "../mode.h"
#include "../stats.h"
#include "endpoint.h"
#include "identity.h"
#include "peer.h"
#include "timers.h"
#include "tx.h"
#include "wg.h"

static void cmptun_wg_peer_wipe_work(struct work_struct *work)
{
	struct cmptun_wg_peer *peer =
		container_of(work, struct cmptun_wg_peer, wipe_work);

	cmptun_wg_handshake_clear(peer);
	cmptun_wg_sessions_clear(&peer->sessions, cmptun_wg_peer_index(peer));
}

/* Let the next initiation go out at once */
static void cmptun_wg_peer_forget_initiation(struct cmptun_wg_peer *peer)
{
	const u64 long_ago = (CMPTUN_WG_REKEY_TIMEOUT + 1) * (u64)NSEC_PER_SEC;

	atomic64_set(&peer->last_sent_handshake,
		     ktime_get_coarse_boottime_ns() - long_ago);
}

/**
 * cmptun_wg_peer_create - a peer that nothing was heard of yet
 * @ct: the device
 * @identity: our key pair, may be NULL
 * @public_key: the peer's
 *
 * Context: may sleep.
 * Return: a reference, or NULL without memory.
 */
struct cmptun_wg_peer *
cmptun_wg_peer_create(struct cmptun_dev *ct,
		      struct cmptun_wg_identity *identity,
		      const u8 public_key[CMPTUN_WG_KEY_LEN])
{
	struct cmptun_wg_peer *peer;

	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return NULL;

	kref_init(&peer->ref);
	peer->ct = ct;
	peer->identity = cmptun_wg_identity_get(identity);
	memcpy(peer->public_key, public_key, CMPTUN_WG_KEY_LEN);
	cmptun_wg_handshake_init(peer);
	cmptun_wg_sessions_init(&peer->sessions, identity &&
				memcmp(identity->public_key, public_key,
				       CMPTUN_WG_KEY_LEN) > 0);
	spin_lock_init(&peer->endpoint_lock);
	skb_queue_head_init(&peer->staged);
	cmptun_wg_timers_init(peer);
	INIT_WORK(&peer->handshake_work, cmptun_wg_tx_initiation_work);
	INIT_WORK(&peer->wipe_work, cmptun_wg_peer_wipe_work);
	cmptun_wg_peer_forget_initiation(peer);
	return peer;
}

static struct cmptun_wg_endpoint *
cmptun_wg_peer_endpoint_locked(struct cmptun_wg_peer *peer)
{
	return rcu_dereference_protected(peer->endpoint,
					 lockdep_is_held(&peer->endpoint_lock));
}

/**
 * cmptun_wg_peer_inherit - take over what is known of the same peer
 * @peer: new, with another identity of ours
 * @from: the one it replaces; not changed
 *
 * Context: RTNL.
 */
void cmptun_wg_peer_inherit(struct cmptun_wg_peer *peer,
			    struct cmptun_wg_peer *from)
{
	struct cmptun_wg_endpoint *endpoint;

	spin_lock_bh(&from->endpoint_lock);
	endpoint = cmptun_wg_peer_endpoint_locked(from);
	RCU_INIT_POINTER(peer->endpoint, cmptun_wg_endpoint_get(endpoint));
	spin_unlock_bh(&from->endpoint_lock);

	peer->endpoint_set = from->endpoint_set;
	atomic64_set(&peer->rx_bytes, atomic64_read(&from->rx_bytes));
	atomic64_set(&peer->tx_bytes, atomic64_read(&from->tx_bytes));
	atomic64_set(&peer->last_handshake,
		     atomic64_read(&from->last_handshake));

	/* Its initiations of the past stay in the past, should we go back to
	 * the identity they were made for.
	 */
	mutex_lock(&from->handshake.lock);
	memcpy(peer->handshake.latest_timestamp,
	       from->handshake.latest_timestamp,
	       sizeof(peer->handshake.latest_timestamp));
	peer->handshake.last_initiation = from->handshake.last_initiation;
	mutex_unlock(&from->handshake.lock);
}

/**
 * cmptun_wg_peer_get - take a reference
 * @peer: may be NULL
 *
 * Return: @peer.
 */
struct cmptun_wg_peer *cmptun_wg_peer_get(struct cmptun_wg_peer *peer)
{
	if (peer)
		kref_get(&peer->ref);

	return peer;
}

static void cmptun_wg_peer_free_rcu(struct rcu_head *rcu)
{
	struct cmptun_wg_peer *peer =
		container_of(rcu, struct cmptun_wg_peer, rcu);

	cmptun_wg_identity_put(peer->identity);
	kfree_sensitive(peer);
}

static void cmptun_wg_peer_release(struct kref *ref)
{
	struct cmptun_wg_peer *peer =
		container_of(ref, struct cmptun_wg_peer, ref);

	mutex_destroy(&peer->handshake.lock);
	/* Readers may still have the endpoint; it waits for them by itself. */
	cmptun_wg_endpoint_put(rcu_dereference_protected(peer->endpoint, true));
	call_rcu(&peer->rcu, cmptun_wg_peer_free_rcu);
}

/**
 * cmptun_wg_peer_put - drop a reference
 * @peer: may be NULL; quiescent before the last one is dropped
 */
void cmptun_wg_peer_put(struct cmptun_wg_peer *peer)
{
	if (peer)
		kref_put(&peer->ref, cmptun_wg_peer_release);
}

/**
 * cmptun_wg_peer_state - the running state that the peer is part of
 * @peer: the peer
 *
 * Context: RCU.
 * Return: the state, or NULL if it runs no more. As long as the caller stays
 * in the same RCU section, cmptun_wg_peer_quiesce() has yet to come.
 */
struct cmptun_state *cmptun_wg_peer_state(const struct cmptun_wg_peer *peer)
{
	struct cmptun_state *state;

	state = rcu_dereference_check(peer->ct->state, rcu_read_lock_bh_held());
	return state->mode == &cmptun_mode_wg &&
	       state->conf.wg.peer == peer ? state : NULL;
}

/**
 * cmptun_wg_peer_index - where the peer's handshakes and sessions are named
 * @peer: the peer
 *
 * Return: the device's table.
 */
struct cmptun_wg_index *cmptun_wg_peer_index(const struct cmptun_wg_peer *peer)
{
	return &peer->ct->wg->index;
}

/**
 * cmptun_wg_peer_set_endpoint - the peer is somewhere else now
 * @peer: the peer
 * @endpoint: a reference that is handed over; NULL changes nothing
 *
 * Context: any.
 */
void cmptun_wg_peer_set_endpoint(struct cmptun_wg_peer *peer,
				 struct cmptun_wg_endpoint *endpoint)
{
	struct cmptun_wg_endpoint *old;

	if (!endpoint)
		return;

	spin_lock_bh(&peer->endpoint_lock);
	old = cmptun_wg_peer_endpoint_locked(peer);
	rcu_assign_pointer(peer->endpoint, endpoint);
	spin_unlock_bh(&peer->endpoint_lock);
	cmptun_wg_endpoint_put(old);
}

/**
 * cmptun_wg_peer_move_endpoint - the peer is no more where it was
 * @peer: the peer
 * @from: where it was when @endpoint was made of it, NULL if unknown
 * @endpoint: a reference that is handed over; NULL changes nothing
 *
 * Does nothing if someone else has moved it meanwhile: what a user says must
 * not be undone by a message that was on its way.
 *
 * Context: RCU.
 */
void cmptun_wg_peer_move_endpoint(struct cmptun_wg_peer *peer,
				  const struct cmptun_wg_endpoint *from,
				  struct cmptun_wg_endpoint *endpoint)
{
	struct cmptun_wg_endpoint *gone = endpoint;

	if (!endpoint)
		return;

	spin_lock_bh(&peer->endpoint_lock);
	if (rcu_access_pointer(peer->endpoint) == from) {
		gone = cmptun_wg_peer_endpoint_locked(peer);
		rcu_assign_pointer(peer->endpoint, endpoint);
	}
	spin_unlock_bh(&peer->endpoint_lock);
	cmptun_wg_endpoint_put(gone);
}

/**
 * cmptun_wg_peer_flush_staged - throw waiting packets away, counted
 * @peer: the peer
 *
 * Context: any.
 */
void cmptun_wg_peer_flush_staged(struct cmptun_wg_peer *peer)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&peer->staged)))
		cmptun_drop(peer->ct, skb, CMPTUN_TX_DROP_FLUSHED);
}

/**
 * cmptun_wg_peer_flush_works - wait for works that began with an older state
 * @peer: the peer
 *
 * Context: may sleep.
 */
void cmptun_wg_peer_flush_works(struct cmptun_wg_peer *peer)
{
	flush_work(&peer->handshake_work);
	flush_work(&peer->wipe_work);
}

/**
 * cmptun_wg_peer_quiesce - take keys, packets and timers away
 * @peer: of no running state, and a grace period has passed since; so
 *	nothing arms a timer, queues a work or stages a packet any more
 *
 * Context: RTNL, may sleep.
 */
void cmptun_wg_peer_quiesce(struct cmptun_wg_peer *peer)
{
	cmptun_wg_timers_stop(peer);
	cancel_work_sync(&peer->handshake_work);
	cancel_work_sync(&peer->wipe_work);
	cmptun_wg_peer_flush_staged(peer);
	cmptun_wg_handshake_clear(peer);
	cmptun_wg_sessions_clear(&peer->sessions, cmptun_wg_peer_index(peer));
	cmptun_wg_peer_forget_initiation(peer);

	/* A route belongs to a namespace, which may be about to end. */
	rcu_read_lock();
	cmptun_wg_endpoint_drop_route(rcu_dereference(peer->endpoint));
	rcu_read_unlock();
}
