// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving: data messages in line, handshake messages in process context.
 *
 *   cmptun_wg_rx()              a datagram: what type, what length?
 *     cmptun_wg_rx_data()       session, tag, counter
 *       cmptun_wg_rx_packet()   may the peer send this? then GRO
 *     handshakes_work
 *       cmptun_wg_rx_handshake()
 *
 * Whoever cannot prove to know a key gets no answer.
 */
#include <crypto/chacha20poly1305.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>

#include "../cmptun.h"
#include "../mode.h"
#include "../stats.h"
#include "endpoint.h"
#include "identity.h"
#include "mac.h"
#include "peer.h"
#include "rx.h"
#include "settings.h"
#include "socket.h"
#include "timers.h"
#include "tx.h"
#include "wg.h"

/* Handshake messages that may wait, and that are worked on in one go */
#define CMPTUN_WG_HANDSHAKES_MAX	4096
#define CMPTUN_WG_HANDSHAKES_BATCH	64

/* A message that arrives this late in a session's life is the last chance to
 * renew it without a gap, for an initiator that has nothing to send.
 */
#define CMPTUN_WG_LAST_MINUTE						\
	(CMPTUN_WG_REJECT_AFTER_TIME - CMPTUN_WG_KEEPALIVE_TIMEOUT -	\
	 CMPTUN_WG_REKEY_TIMEOUT)

static struct cmptun_wg_session *cmptun_wg_rx_session(struct cmptun_wg *wg,
						      __le32 receiver)
{
	struct cmptun_wg_index_entry *entry;
	struct cmptun_wg_session *session;

	entry = cmptun_wg_index_find(&wg->index, CMPTUN_WG_INDEX_SESSION,
				     receiver);
	if (!entry)
		return NULL;

	session = container_of(entry, struct cmptun_wg_session, entry);
	return cmptun_wg_older_than(session->born,
				    CMPTUN_WG_REJECT_AFTER_TIME) ? NULL :
								    session;
}

/* Bytes that nobody else sees, in one piece: decryption writes over them, and
 * they may be shared with a capture or be pages of a file.
 */
static struct sk_buff *cmptun_wg_rx_own(struct sk_buff *skb)
{
	struct sk_buff *copy;

	if (likely(!skb_cloned(skb) && !skb_is_nonlinear(skb)))
		return skb;

	copy = skb_copy(skb, GFP_ATOMIC);
	if (copy)
		consume_skb(skb);
	return copy;
}

static u8 cmptun_wg_rx_outer_ds(const struct sk_buff *skb)
{
	return ip_hdr(skb)->version == 4 ? ipv4_get_dsfield(ip_hdr(skb)) :
					   ipv6_get_dsfield(ipv6_hdr(skb));
}

/* As the kernel's driver: what is delivered, and keepalives, by their length
 * on the wire.
 */
static void cmptun_wg_rx_count(struct cmptun_state *state, unsigned int len)
{
	dev_sw_netstats_rx_add(state->ct->dev, len);
	atomic64_add(len, &state->conf.wg.peer->rx_bytes);
}

static u8 cmptun_wg_rx_inner_ds(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IP) ?
	       ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb));
}

/* Length of the inner packet by its own header, with the headers in place.
 * Return: 0 if it is not a packet.
 */
static unsigned int cmptun_wg_inner_len(struct sk_buff *skb)
{
	unsigned int len = 0;

	skb->protocol = ip_tunnel_parse_protocol(skb);
	if (skb->protocol == htons(ETH_P_IP)) {
		len = ntohs(ip_hdr(skb)->tot_len);
		if (len < sizeof(struct iphdr))
			len = 0;
	} else if (skb->protocol == htons(ETH_P_IPV6) &&
		   skb->len >= sizeof(struct ipv6hdr)) {
		len = ntohs(ipv6_hdr(skb)->payload_len) +
		      sizeof(struct ipv6hdr);
	}

	return len <= skb->len ? len : 0;
}

/* Deliver a decrypted packet that the peer may send */
static void cmptun_wg_rx_packet(struct cmptun_state *state,
				struct sk_buff *skb, u8 outer_ds,
				unsigned int message_len)
{
	struct cmptun_dev *ct = state->ct;
	unsigned int len;

	skb_reset_network_header(skb);
	len = cmptun_wg_inner_len(skb);
	if (unlikely(!len || pskb_trim(skb, len))) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_MALFORMED);
		return;
	}

	if (unlikely(!cmptun_wg_allows_source(state->conf.wg.settings, skb))) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_ALLOWED_IPS);
		return;
	}

	/* What RFC 6040 would drop, a mark on a packet that is not capable of
	 * it, is delivered without: as WireGuard does.
	 */
	INET_ECN_decapsulate(skb, outer_ds, cmptun_wg_rx_inner_ds(skb));

	/* The tag vouches for every byte. */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->csum_level = ~0;
	skb->encapsulation = 0;
	skb_clear_hash(skb);
	skb_set_queue_mapping(skb, 0);
	skb_reset_mac_header(skb);
	skb_reset_transport_header(skb);
	skb_scrub_packet(skb, !net_eq(ct->net, dev_net(ct->dev)));
	skb->mark = 0;
	skb->dev = ct->dev;

	cmptun_wg_rx_count(state, message_len);
	cmptun_stats_inc(ct, CMPTUN_WG_RX_PACKETS);
	gro_cells_receive(&ct->gro_cells, skb);
}

/* An authentic message has arrived: what follows for session and peer */
static void cmptun_wg_rx_authentic(struct cmptun_state *state,
				   struct cmptun_wg_session *session,
				   struct sk_buff *skb)
{
	struct cmptun_wg_peer *peer = state->conf.wg.peer;
	struct cmptun_wg_endpoint *known = rcu_dereference(peer->endpoint);

	cmptun_wg_peer_move_endpoint(peer, known,
				     cmptun_wg_endpoint_of_skb(skb, known));

	if (unlikely(cmptun_wg_sessions_confirm(&peer->sessions,
						cmptun_wg_peer_index(peer),
						session))) {
		cmptun_stats_inc(state->ct, CMPTUN_WG_HANDSHAKES);
		cmptun_wg_timers_complete(peer);
		cmptun_wg_tx_staged(state);
	}

	if (unlikely(session->initiator &&
		     rcu_access_pointer(peer->sessions.current_session) ==
		     session &&
		     !READ_ONCE(peer->timers.sent_lastminute) &&
		     cmptun_wg_older_than(session->born,
					  CMPTUN_WG_LAST_MINUTE))) {
		WRITE_ONCE(peer->timers.sent_lastminute, true);
		cmptun_wg_tx_initiate(peer, false);
	}

	cmptun_wg_timers_received(state);
}

static void cmptun_wg_rx_data(struct cmptun_state *state, struct sk_buff *skb)
{
	struct cmptun_wg_session *session;
	struct cmptun_dev *ct = state->ct;
	const struct cmptun_wg_data *msg;
	unsigned int message_len, len;
	u8 *packet, outer_ds;
	struct sk_buff *own;
	u64 counter;

	own = cmptun_wg_rx_own(skb);
	if (unlikely(!own)) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_NO_MEMORY);
		return;
	}

	skb = own;
	message_len = skb->len;
	msg = (const struct cmptun_wg_data *)skb->data;
	session = cmptun_wg_rx_session(ct->wg, msg->receiver);
	if (unlikely(!session || session->entry.peer != state->conf.wg.peer)) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_NO_SESSION);
		return;
	}

	counter = le64_to_cpu(msg->counter);
	outer_ds = cmptun_wg_rx_outer_ds(skb);
	packet = skb_pull(skb, sizeof(*msg));
	len = skb->len - CMPTUN_WG_TAG_LEN;
	if (unlikely(!chacha20poly1305_decrypt(packet, packet, skb->len, NULL,
					       0, counter,
					       session->receive_key))) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_AUTH);
		return;
	}

	if (unlikely(!cmptun_wg_replay_check(&session->replay, counter))) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_REPLAY);
		return;
	}

	cmptun_wg_rx_authentic(state, session, skb);
	if (!len) {
		cmptun_wg_rx_count(state, message_len);
		consume_skb(skb);
		return;
	}

	cmptun_wg_timers_received_data(state);
	skb_trim(skb, len);
	cmptun_wg_rx_packet(state, skb, outer_ds, message_len);
}

/* Handshake messages wait for process context: what they cost must not be
 * paid by whoever's softirq it is.
 */
static void cmptun_wg_rx_queue(struct cmptun_state *state, struct sk_buff *skb)
{
	struct cmptun_wg *wg = state->ct->wg;

	if (skb_queue_len_lockless(&wg->handshakes) >=
	    CMPTUN_WG_HANDSHAKES_MAX) {
		cmptun_drop(state->ct, skb, CMPTUN_RX_DROP_QUEUE_FULL);
		return;
	}

	/* Nothing that is only good for this RCU section. */
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	skb_ext_reset(skb);
	skb_queue_tail(&wg->handshakes, skb);
	queue_work(cmptun_wg_queue, &wg->handshakes_work);
}

static bool cmptun_wg_rx_is_handshake(u32 type, unsigned int len)
{
	switch (type) {
	case CMPTUN_WG_INITIATION:
		return len == sizeof(struct cmptun_wg_initiation);
	case CMPTUN_WG_RESPONSE:
		return len == sizeof(struct cmptun_wg_response);
	default:
		return false;
	}
}

static void cmptun_wg_rx_message(struct cmptun_state *state,
				 struct sk_buff *skb)
{
	u32 type;

	if (!pskb_may_pull(skb, sizeof(struct udphdr) + sizeof(__le32)))
		goto unknown;

	skb_pull(skb, sizeof(struct udphdr));
	type = le32_to_cpup((const __le32 *)skb->data);

	if (likely(type == CMPTUN_WG_DATA &&
		   skb->len >= sizeof(struct cmptun_wg_data) +
			       CMPTUN_WG_TAG_LEN)) {
		cmptun_wg_rx_data(state, skb);
		return;
	}

	if (cmptun_wg_rx_is_handshake(type, skb->len)) {
		cmptun_wg_rx_queue(state, skb);
		return;
	}

unknown:
	cmptun_drop(state->ct, skb, CMPTUN_RX_DROP_MESSAGE);
}

/**
 * cmptun_wg_rx - take a datagram from a socket
 * @sk: the socket
 * @skb: datagram, at its UDP header; consumed
 *
 * Context: softirq, RCU.
 * Return: 0, all datagrams are ours.
 */
int cmptun_wg_rx(struct sock *sk, struct sk_buff *skb)
{
	struct cmptun_wg_sock *sock = rcu_dereference_sk_user_data(sk);
	struct cmptun_state *state;

	if (unlikely(!sock)) {
		kfree_skb_reason(skb, SKB_DROP_REASON_DEV_READY);
		return 0;
	}

	/* The socket may be about to go: only the state that runs counts. */
	state = rcu_dereference(sock->ct->state);
	if (unlikely(state->mode != &cmptun_mode_wg ||
		     state->wg.sock != sock || !state->conf.wg.peer ||
		     !state->conf.wg.identity)) {
		cmptun_drop(sock->ct, skb, CMPTUN_RX_DROP_NO_SESSION);
		return 0;
	}

	cmptun_wg_rx_message(state, skb);
	return 0;
}

/* Handshake messages */

static const u8 *cmptun_wg_psk(const struct cmptun_state *state)
{
	static const u8 none[CMPTUN_WG_KEY_LEN];

	return state->conf.wg.settings ? state->conf.wg.settings->psk : none;
}

/* A message has proved to come from the peer */
static void cmptun_wg_rx_from_peer(struct cmptun_state *state,
				   struct sk_buff *skb)
{
	struct cmptun_wg_peer *peer = state->conf.wg.peer;
	struct cmptun_wg_endpoint *known;

	rcu_read_lock_bh();
	known = rcu_dereference_bh(peer->endpoint);
	cmptun_wg_peer_move_endpoint(peer, known,
				     cmptun_wg_endpoint_of_skb(skb, known));
	cmptun_wg_rx_count(state, skb->len);
	if (cmptun_wg_peer_state(peer))
		cmptun_wg_timers_received(state);
	rcu_read_unlock_bh();
}

static bool cmptun_wg_rx_initiation(struct cmptun_state *state,
				    struct sk_buff *skb)
{
	struct cmptun_wg_peer *peer = state->conf.wg.peer;
	struct cmptun_wg_exchange ex;

	if (!cmptun_wg_initiation_consume((const void *)skb->data, peer, &ex))
		return false;

	cmptun_wg_rx_from_peer(state, skb);
	cmptun_wg_tx_response(state, &ex);
	return true;
}

static bool cmptun_wg_rx_response(struct cmptun_state *state,
				  struct sk_buff *skb)
{
	struct cmptun_wg_peer *peer = state->conf.wg.peer;

	if (!cmptun_wg_response_consume((const void *)skb->data, peer,
					cmptun_wg_psk(state)))
		return false;

	cmptun_wg_rx_from_peer(state, skb);
	cmptun_stats_inc(state->ct, CMPTUN_WG_HANDSHAKES);
	rcu_read_lock();
	if (cmptun_wg_peer_state(peer)) {
		cmptun_wg_timers_session(peer);
		cmptun_wg_timers_complete(peer);
		/* Shows the responder that we have the keys. */
		cmptun_wg_tx_keepalive(state);
	}
	rcu_read_unlock();
	return true;
}

static void cmptun_wg_rx_handshake(struct cmptun_state *state,
				   struct sk_buff *skb)
{
	struct cmptun_dev *ct = state->ct;
	bool taken;

	if (skb_linearize(skb)) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_NO_MEMORY);
		return;
	}

	if (!cmptun_wg_mac1_valid(skb->data, skb->len,
				  state->conf.wg.identity->mac1_key)) {
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_MAC1);
		return;
	}

	if (le32_to_cpup((const __le32 *)skb->data) == CMPTUN_WG_INITIATION)
		taken = cmptun_wg_rx_initiation(state, skb);
	else
		taken = cmptun_wg_rx_response(state, skb);

	if (taken)
		consume_skb(skb);
	else
		cmptun_drop(ct, skb, CMPTUN_RX_DROP_HANDSHAKE);
}

static struct cmptun_state *cmptun_wg_rx_state(struct cmptun_wg *wg)
{
	struct cmptun_state *state;

	rcu_read_lock();
	state = rcu_dereference(wg->ct->state);
	if (state->mode != &cmptun_mode_wg || !state->conf.wg.peer ||
	    !state->conf.wg.identity)
		state = NULL;
	rcu_read_unlock();
	return state;
}

/**
 * cmptun_wg_rx_handshakes_work - work on the handshake messages that wait
 * @work: &cmptun_wg.handshakes_work
 *
 * The state stays valid outside of RCU, because who takes it down waits for
 * this work; hence not all messages in one go.
 */
void cmptun_wg_rx_handshakes_work(struct work_struct *work)
{
	struct cmptun_wg *wg = container_of(work, struct cmptun_wg,
					    handshakes_work);
	struct cmptun_state *state = cmptun_wg_rx_state(wg);
	int budget = CMPTUN_WG_HANDSHAKES_BATCH;
	struct sk_buff *skb;

	while (budget-- && (skb = skb_dequeue(&wg->handshakes))) {
		if (state)
			cmptun_wg_rx_handshake(state, skb);
		else
			cmptun_drop(wg->ct, skb, CMPTUN_RX_DROP_NO_SESSION);
		cond_resched();
	}

	if (!skb_queue_empty_lockless(&wg->handshakes))
		queue_work(cmptun_wg_queue, work);
}
