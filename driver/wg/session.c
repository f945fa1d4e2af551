// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: the keys a handshake leaves behind, and how one follows another.
 */
#include <linux/slab.h>

#include "session.h"

/**
 * cmptun_wg_sessions_init - no sessions yet
 * @sessions: of a peer
 * @elder: of both ends we are the one whose handshake counts, should both
 *	begin at once
 */
void cmptun_wg_sessions_init(struct cmptun_wg_sessions *sessions, bool elder)
{
	sessions->elder = elder;
	spin_lock_init(&sessions->lock);
}

/**
 * cmptun_wg_session_alloc - a session without keys or name
 * @peer: whose
 * @initiator: we made the first message
 *
 * Context: may sleep.
 * Return: the session, or NULL.
 */
struct cmptun_wg_session *
cmptun_wg_session_alloc(struct cmptun_wg_peer *peer, bool initiator)
{
	struct cmptun_wg_session *session;

	session = kzalloc(sizeof(*session), GFP_KERNEL);
	if (!session)
		return NULL;

	session->entry.kind = CMPTUN_WG_INDEX_SESSION;
	session->entry.peer = peer;
	session->initiator = initiator;
	session->born = ktime_get_coarse_boottime_ns();
	cmptun_wg_replay_init(&session->replay);
	return session;
}

/**
 * cmptun_wg_session_free - wipe and free a session at once
 * @session: one that was never added; may be NULL
 */
void cmptun_wg_session_free(struct cmptun_wg_session *session)
{
	kfree_sensitive(session);
}

static void cmptun_wg_session_free_rcu(struct rcu_head *rcu)
{
	kfree_sensitive(container_of(rcu, struct cmptun_wg_session, rcu));
}

/* Take a session out of use. Its keys go once no reader has them. */
static void cmptun_wg_session_retire(struct cmptun_wg_session *session,
				     struct cmptun_wg_index *index)
{
	if (!session)
		return;

	cmptun_wg_index_remove(index, &session->entry);
	call_rcu(&session->rcu, cmptun_wg_session_free_rcu);
}

static struct cmptun_wg_session *
cmptun_wg_sessions_replace(struct cmptun_wg_sessions *sessions,
			   struct cmptun_wg_session __rcu **slot,
			   struct cmptun_wg_session *session)
{
	return rcu_replace_pointer(*slot, session,
				   lockdep_is_held(&sessions->lock));
}

/**
 * cmptun_wg_sessions_add - take a new session into use
 * @sessions: of a peer
 * @index: where they are named
 * @session: with keys and name; owned by @sessions from now on
 *
 * The initiator may use it at once, because the response has proved that the
 * responder has the keys. The responder waits, in @next, for a message.
 *
 * Context: any.
 */
void cmptun_wg_sessions_add(struct cmptun_wg_sessions *sessions,
			    struct cmptun_wg_index *index,
			    struct cmptun_wg_session *session)
{
	struct cmptun_wg_session *last, *gone = NULL;

	spin_lock_bh(&sessions->lock);
	if (session->initiator) {
		last = cmptun_wg_sessions_replace(sessions,
						  &sessions->current_session,
						  session);
		/* Both have begun at once. The elder sends by its own from
		 * now on, and the other one by the same as soon as it hears
		 * of it, in @next. What the other one sends until then may
		 * come by its own: worth more than what was used up to now.
		 */
		if (sessions->elder && rcu_access_pointer(sessions->next)) {
			gone = last;
			last = cmptun_wg_sessions_replace(sessions,
							  &sessions->next,
							  NULL);
		}
		last = cmptun_wg_sessions_replace(sessions, &sessions->previous,
						  last);
		cmptun_wg_session_retire(last, index);
	} else {
		gone = cmptun_wg_sessions_replace(sessions, &sessions->next,
						  session);
	}
	cmptun_wg_session_retire(gone, index);
	spin_unlock_bh(&sessions->lock);
}

/**
 * cmptun_wg_sessions_confirm - a message was received with a session
 * @sessions: of a peer
 * @index: where they are named
 * @session: the one it came by
 *
 * Context: RCU, any.
 * Return: true if that was the first message of a session that waited in
 * @next, and which is the current one now.
 */
bool cmptun_wg_sessions_confirm(struct cmptun_wg_sessions *sessions,
				struct cmptun_wg_index *index,
				struct cmptun_wg_session *session)
{
	struct cmptun_wg_session *last;
	bool confirmed;

	if (likely(rcu_access_pointer(sessions->next) != session))
		return false;

	spin_lock_bh(&sessions->lock);
	confirmed = rcu_access_pointer(sessions->next) == session;
	if (confirmed) {
		RCU_INIT_POINTER(sessions->next, NULL);
		last = cmptun_wg_sessions_replace(sessions,
						  &sessions->current_session,
						  session);
		last = cmptun_wg_sessions_replace(sessions,
						  &sessions->previous, last);
		cmptun_wg_session_retire(last, index);
	}
	spin_unlock_bh(&sessions->lock);
	return confirmed;
}

/**
 * cmptun_wg_sessions_clear - forget all sessions, and wipe their keys
 * @sessions: of a peer
 * @index: where they are named
 *
 * Context: any.
 */
void cmptun_wg_sessions_clear(struct cmptun_wg_sessions *sessions,
			      struct cmptun_wg_index *index)
{
	struct cmptun_wg_session *session;

	spin_lock_bh(&sessions->lock);
	session = cmptun_wg_sessions_replace(sessions, &sessions->next, NULL);
	cmptun_wg_session_retire(session, index);
	session = cmptun_wg_sessions_replace(sessions,
					     &sessions->current_session, NULL);
	cmptun_wg_session_retire(session, index);
	session = cmptun_wg_sessions_replace(sessions, &sessions->previous,
					     NULL);
	cmptun_wg_session_retire(session, index);
	spin_unlock_bh(&sessions->lock);
}
