// SPDX-License-Identifier: GPL-2.0
/*
 * Sending: packets as data messages, in line while there is a session; and
 * handshake messages, from process context.
 *
 *   cmptun_wg_tx()            checks, cuts GSO packets up
 *     cmptun_wg_tx_packet()   session? else stage and start a handshake
 *       cmptun_wg_encrypt()   pad, encrypt, put the header in front
 *       cmptun_wg_sock_send()
 */
#include <crypto/chacha20poly1305.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/netdevice.h>
#include <net/dst_metadata.h>
#include <net/gso.h>
#include <net/icmp.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>

#include "../cmptun.h"
#include "../stats.h"
#include "endpoint.h"
#include "peer.h"
#include "settings.h"
#include "socket.h"
#include "timers.h"
#include "tx.h"
#include "wg.h"

/* Packets that may wait for a handshake; older ones give way */
#define CMPTUN_WG_STAGED_MAX 128

/* In front of a packet: our header, UDP, IPv6 and a link layer */
#define CMPTUN_WG_HEADROOM (CMPTUN_HEADROOM + LL_MAX_HEADER)

/**
 * struct cmptun_wg_cb - what is kept of a packet that waits
 * @mtu: limit of padding, in bytes
 * @ds: outer DSCP and ECN
 */
struct cmptun_wg_cb {
	unsigned int mtu;
	u8 ds;
};

static struct cmptun_wg_cb *cmptun_wg_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct cmptun_wg_cb) > sizeof(skb->cb));

	return (struct cmptun_wg_cb *)skb->cb;
}

/* Section 5.4.6: pad to 16 bytes, but never above the MTU, which the length
 * of a packet says nothing of if it is longer than that.
 */
static unsigned int cmptun_wg_padding(const struct sk_buff *skb,
				      unsigned int mtu)
{
	unsigned int last = skb->len;

	if (!mtu)
		return ALIGN(last, CMPTUN_WG_PADDING) - last;

	if (last > mtu)
		last %= mtu;

	return min_t(unsigned int, mtu, ALIGN(last, CMPTUN_WG_PADDING)) - last;
}

/* Bytes that nobody else sees, in one piece and with room around: encryption
 * writes over them, and they may be a file's pages or a clone's data.
 */
static struct sk_buff *cmptun_wg_own(struct sk_buff *skb, unsigned int tail)
{
	struct sk_buff *copy;

	if (likely(!skb_cloned(skb) && !skb_is_nonlinear(skb) &&
		   skb_headroom(skb) >= CMPTUN_HEADROOM &&
		   skb_tailroom(skb) >= tail))
		return skb;

	copy = skb_copy_expand(skb, CMPTUN_WG_HEADROOM, tail, GFP_ATOMIC);
	if (copy)
		consume_skb(skb);
	return copy;
}

/* Return: the message, or NULL with @skb left to the caller */
static struct sk_buff *cmptun_wg_encrypt(struct sk_buff *skb,
					 const struct cmptun_wg_session *session,
					 u64 counter)
{
	unsigned int padding = cmptun_wg_padding(skb, cmptun_wg_cb(skb)->mtu);
	struct cmptun_wg_data *msg;
	unsigned int len;

	if (skb->ip_summed == CHECKSUM_PARTIAL && skb_checksum_help(skb))
		return NULL;

	skb = cmptun_wg_own(skb, padding + CMPTUN_WG_TAG_LEN);
	if (unlikely(!skb))
		return NULL;

	if (padding)
		skb_put_zero(skb, padding);
	len = skb->len;
	skb_put(skb, CMPTUN_WG_TAG_LEN);
	chacha20poly1305_encrypt(skb->data, skb->data, len, NULL, 0, counter,
				 session->send_key);

	msg = skb_push(skb, sizeof(*msg));
	msg->type = cpu_to_le32(CMPTUN_WG_DATA);
	msg->receiver = session->remote_index;
	msg->counter = cpu_to_le64(counter);

	/* From here on it is an opaque datagram. */
	skb->ip_summed = CHECKSUM_NONE;
	skb->encapsulation = 0;
	skb->remcsum_offload = 0;
	skb_reset_csum_not_inet(skb);
	return skb;
}

static bool cmptun_wg_session_sends(const struct cmptun_wg_session *session)
{
	return session && !cmptun_wg_older_than(session->born,
						CMPTUN_WG_REJECT_AFTER_TIME);
}

/* Renew a session in time: it is the initiator who does, by age */
static void cmptun_wg_tx_keep_fresh(struct cmptun_wg_peer *peer,
				    const struct cmptun_wg_session *session,
				    u64 counter)
{
	if (unlikely(counter > CMPTUN_WG_REKEY_AFTER_MESSAGES ||
		     (session->initiator &&
		      cmptun_wg_older_than(session->born,
					   CMPTUN_WG_REKEY_AFTER_TIME))))
		cmptun_wg_tx_initiate(peer, false);
}

/* Send one packet with a session.
 * Return: false if the session has no number left for it; @skb is untouched.
 */
static bool cmptun_wg_tx_one(struct cmptun_state *state,
			     struct cmptun_wg_session *session,
			     struct sk_buff *skb)
{
	u64 counter = atomic64_inc_return(&session->counter) - 1;
	struct cmptun_dev *ct = state->ct;
	bool data = skb->len;
	struct sk_buff *msg;
	u8 ds;

	if (unlikely(counter >= CMPTUN_WG_REJECT_AFTER_MESSAGES)) {
		/* Must not wrap, ever: a nonce is used once. */
		atomic64_set(&session->counter,
			     CMPTUN_WG_REJECT_AFTER_MESSAGES);
		return false;
	}

	ds = cmptun_wg_cb(skb)->ds;
	msg = cmptun_wg_encrypt(skb, session, counter);
	if (unlikely(!msg)) {
		cmptun_drop(ct, skb, CMPTUN_TX_DROP_NO_MEMORY);
		return true;
	}

	cmptun_wg_timers_sent(state, data);
	if (!cmptun_wg_sock_send(state, msg, ds) && data)
		cmptun_stats_inc(ct, CMPTUN_WG_TX_PACKETS);
	cmptun_wg_tx_keep_fresh(state->conf.wg.peer, session, counter);
	return true;
}

static void cmptun_wg_stage(struct cmptun_wg_peer *peer, struct sk_buff *skb)
{
	struct sk_buff *old = NULL;

	/* It may wait for long, and its socket must not wait with it: the
	 * next packet is what starts the next handshake.
	 */
	skb_orphan(skb);

	spin_lock_bh(&peer->staged.lock);
	if (skb_queue_len(&peer->staged) >= CMPTUN_WG_STAGED_MAX)
		old = __skb_dequeue(&peer->staged);
	__skb_queue_tail(&peer->staged, skb);
	spin_unlock_bh(&peer->staged.lock);

	if (old)
		cmptun_drop(peer->ct, old, CMPTUN_TX_DROP_QUEUE_FULL);
}

static struct cmptun_wg_session *
cmptun_wg_session_to_send(const struct cmptun_wg_peer *peer)
{
	struct cmptun_wg_session *session;

	session = rcu_dereference_check(peer->sessions.current_session,
					rcu_read_lock_bh_held());

	return cmptun_wg_session_sends(session) ? session : NULL;
}

/**
 * cmptun_wg_tx_staged - send what waits, or start a handshake for it
 * @state: running, with a peer
 *
 * Context: RCU, bottom halves disabled.
 */
void cmptun_wg_tx_staged(struct cmptun_state *state)
{
	struct cmptun_wg_peer *peer = state->conf.wg.peer;
	struct cmptun_wg_session *session;
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&peer->staged))) {
		session = cmptun_wg_session_to_send(peer);
		if (session && cmptun_wg_tx_one(state, session, skb))
			continue;

		skb_queue_head(&peer->staged, skb);
		cmptun_wg_tx_initiate(peer, false);
		return;
	}
}

static void cmptun_wg_tx_packet(struct cmptun_state *state,
				struct sk_buff *skb)
{
	struct cmptun_wg_peer *peer = state->conf.wg.peer;
	struct cmptun_wg_session *session;

	/* What waits goes first. */
	if (likely(skb_queue_empty_lockless(&peer->staged))) {
		session = cmptun_wg_session_to_send(peer);
		if (likely(session && cmptun_wg_tx_one(state, session, skb)))
			return;
	}

	cmptun_wg_stage(peer, skb);
	cmptun_wg_tx_staged(state);
}

/* Tell the sender in the tunnel's words that its packet goes nowhere */
static int cmptun_wg_refuse(struct cmptun_dev *ct, struct sk_buff *skb,
			    enum cmptun_stat cause, int err)
{
	if (skb->protocol == htons(ETH_P_IP))
		icmp_ndo_send(skb, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, 0);
	else if (skb->protocol == htons(ETH_P_IPV6))
		icmpv6_ndo_send(skb, ICMPV6_DEST_UNREACH, ICMPV6_ADDR_UNREACH,
				0);

	cmptun_drop(ct, skb, cause);
	return err;
}

static u8 cmptun_wg_outer_ds(const struct sk_buff *skb)
{
	u8 inner = skb->protocol == htons(ETH_P_IP) ?
		   ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb));

	/* The DSCP is part of the secret, congestion is everyone's matter. */
	return INET_ECN_encapsulate(0, inner);
}

/* Cut a GSO packet up.
 * Return: a list, or NULL with @skb dropped.
 */
static struct sk_buff *cmptun_wg_segment(struct cmptun_dev *ct,
					 struct sk_buff *skb)
{
	struct sk_buff *segments;

	if (!skb_is_gso(skb)) {
		skb_mark_not_on_list(skb);
		return skb;
	}

	segments = skb_gso_segment(skb, 0);
	if (IS_ERR_OR_NULL(segments)) {
		cmptun_drop(ct, skb, CMPTUN_TX_DROP_NO_MEMORY);
		return NULL;
	}

	consume_skb(skb);
	return segments;
}

/**
 * cmptun_wg_tx - send a packet to the peer
 * @skb: IPv4 or IPv6 packet; consumed
 * @state: running
 *
 * Context: RCU, bottom halves disabled.
 * Return: NETDEV_TX_OK, or -ENOKEY (no key pair, no peer for the address),
 * -EDESTADDRREQ (no endpoint), -EPROTONOSUPPORT, -ENOMEM.
 */
int cmptun_wg_tx(struct sk_buff *skb, struct cmptun_state *state)
{
	const struct cmptun_wg_conf *conf = &state->conf.wg;
	struct cmptun_dev *ct = state->ct;
	__be16 protocol = ip_tunnel_parse_protocol(skb);
	struct sk_buff *next;
	struct cmptun_wg_cb cb;

	/* Without ICMP: there is nobody to be told in a header like this. */
	if (!protocol || skb->protocol != protocol ||
	    !pskb_inet_may_pull(skb)) {
		cmptun_drop(ct, skb, CMPTUN_TX_DROP_MALFORMED);
		return -EPROTONOSUPPORT;
	}
	if (!conf->identity)
		return cmptun_wg_refuse(ct, skb, CMPTUN_TX_DROP_NO_KEY,
					-ENOKEY);
	if (!conf->peer || !cmptun_wg_allows_destination(conf->settings, skb))
		return cmptun_wg_refuse(ct, skb, CMPTUN_TX_DROP_NO_PEER,
					-ENOKEY);
	if (!rcu_access_pointer(conf->peer->endpoint))
		return cmptun_wg_refuse(ct, skb, CMPTUN_TX_DROP_NO_ENDPOINT,
					-EDESTADDRREQ);

	cb.mtu = skb_valid_dst(skb) ? dst_mtu(skb_dst(skb)) : ct->dev->mtu;
	cb.ds = cmptun_wg_outer_ds(skb);

	skb = cmptun_wg_segment(ct, skb);
	if (!skb)
		return -ENOMEM;

	skb_list_walk_safe(skb, skb, next) {
		skb_mark_not_on_list(skb);
		skb = skb_share_check(skb, GFP_ATOMIC);
		if (unlikely(!skb)) {
			cmptun_stats_drop(ct, CMPTUN_TX_DROP_NO_MEMORY);
			continue;
		}
		/* Only the MTU was needed, and a route must not wait. */
		skb_dst_drop(skb);
		*cmptun_wg_cb(skb) = cb;
		cmptun_wg_tx_packet(state, skb);
	}

	return NETDEV_TX_OK;
}

/**
 * cmptun_wg_tx_keepalive - send an empty packet, unless others wait
 * @state: running, with a peer
 *
 * Context: RCU.
 */
void cmptun_wg_tx_keepalive(struct cmptun_state *state)
{
	struct cmptun_wg_peer *peer = state->conf.wg.peer;
	struct sk_buff *skb;

	local_bh_disable();
	if (skb_queue_empty_lockless(&peer->staged)) {
		skb = alloc_skb(CMPTUN_WG_HEADROOM + CMPTUN_TAILROOM,
				GFP_ATOMIC);
		if (skb) {
			skb_reserve(skb, CMPTUN_WG_HEADROOM);
			skb->dev = state->ct->dev;
			*cmptun_wg_cb(skb) = (struct cmptun_wg_cb){};
			cmptun_wg_stage(peer, skb);
		}
	}
	cmptun_wg_tx_staged(state);
	local_bh_enable();
}

/* Handshake messages */

static bool cmptun_wg_tx_message(struct cmptun_state *state, const void *msg,
				 size_t len)
{
	struct sk_buff *skb;
	int err;

	skb = alloc_skb(CMPTUN_WG_HEADROOM + len, GFP_ATOMIC);
	if (!skb) {
		cmptun_stats_drop(state->ct, CMPTUN_TX_DROP_NO_MEMORY);
		return false;
	}

	skb_reserve(skb, CMPTUN_WG_HEADROOM);
	skb_put_data(skb, msg, len);

	local_bh_disable();
	cmptun_wg_timers_sent(state, false);
	err = cmptun_wg_sock_send(state, skb, CMPTUN_WG_HANDSHAKE_DS);
	local_bh_enable();
	return !err;
}

static bool cmptun_wg_may_initiate(const struct cmptun_wg_peer *peer)
{
	return cmptun_wg_older_than(atomic64_read(&peer->last_sent_handshake),
				    CMPTUN_WG_REKEY_TIMEOUT);
}

/**
 * cmptun_wg_tx_initiate - have an initiation sent, not too often
 * @peer: of a running state
 * @retry: the last one was not answered
 *
 * Context: RCU.
 * Return: false if it is too early for another one.
 */
bool cmptun_wg_tx_initiate(struct cmptun_wg_peer *peer, bool retry)
{
	if (!retry)
		peer->timers.attempts = 0;

	if (!cmptun_wg_may_initiate(peer))
		return false;

	queue_work(cmptun_wg_queue, &peer->handshake_work);
	return true;
}

/* A handshake message went out between a retry's being due and its work: the
 * retry is due again, as long as it is waited for an answer.
 */
static void cmptun_wg_tx_later(struct cmptun_wg_peer *peer)
{
	rcu_read_lock();
	if (cmptun_wg_peer_state(peer) && READ_ONCE(peer->handshake.waiting))
		cmptun_wg_timers_initiated(peer);
	rcu_read_unlock();
}

/**
 * cmptun_wg_tx_initiation_work - send an initiation
 * @work: &cmptun_wg_peer.handshake_work
 *
 * The state stays valid outside of RCU: who takes it down waits for us.
 */
void cmptun_wg_tx_initiation_work(struct work_struct *work)
{
	struct cmptun_wg_peer *peer =
		container_of(work, struct cmptun_wg_peer, handshake_work);
	struct cmptun_wg_initiation msg;

	if (!peer->identity)
		return;
	if (!cmptun_wg_may_initiate(peer)) {
		cmptun_wg_tx_later(peer);
		return;
	}

	atomic64_set(&peer->last_sent_handshake,
		     ktime_get_coarse_boottime_ns());
	if (!cmptun_wg_initiation_create(&msg, peer))
		return;

	rcu_read_lock();
	if (cmptun_wg_peer_state(peer)) {
		cmptun_wg_tx_message(cmptun_wg_peer_state(peer), &msg,
				     sizeof(msg));
		cmptun_wg_timers_initiated(peer);
	}
	rcu_read_unlock();
}

/**
 * cmptun_wg_tx_response - answer an initiation
 * @state: running, with a peer
 * @ex: the exchange that the initiation has begun; wiped
 *
 * Context: process, may sleep.
 */
void cmptun_wg_tx_response(struct cmptun_state *state,
			   struct cmptun_wg_exchange *ex)
{
	static const u8 none[CMPTUN_WG_KEY_LEN];
	const struct cmptun_wg_settings *settings = state->conf.wg.settings;
	struct cmptun_wg_peer *peer = state->conf.wg.peer;
	struct cmptun_wg_response msg;

	atomic64_set(&peer->last_sent_handshake,
		     ktime_get_coarse_boottime_ns());
	if (!cmptun_wg_response_create(&msg, peer, ex,
				       settings ? settings->psk : none)) {
		cmptun_stats_drop(state->ct, CMPTUN_TX_DROP_NO_MEMORY);
		return;
	}

	rcu_read_lock();
	/* Maybe another state by now, with the same peer. */
	state = cmptun_wg_peer_state(peer);
	if (state) {
		cmptun_wg_timers_session(peer);
		cmptun_wg_tx_message(state, &msg, sizeof(msg));
	}
	rcu_read_unlock();
}

/**
 * cmptun_wg_tx_forget_local - let the routes choose the way again
 * @peer: one that does not answer
 *
 * Context: RCU.
 */
void cmptun_wg_tx_forget_local(struct cmptun_wg_peer *peer)
{
	struct cmptun_wg_endpoint *endpoint = rcu_dereference(peer->endpoint);

	if (!endpoint)
		return;

	dst_cache_reset(&endpoint->dst_cache);
	cmptun_wg_peer_move_endpoint(peer, endpoint,
				     cmptun_wg_endpoint_without_local(endpoint));
}
