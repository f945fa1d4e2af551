// SPDX-License-Identifier: GPL-2.0
/*
 * The Noise_IKpsk2 handshake, sections 5.4.2 to 5.4.5.
 *
 *   initiator                                 responder
 *      | -- initiation: e, es, s, ss, {time} --> |
 *      | <-- response: e, ee, se, psk, {} ------ |
 *
 * A message is consumed on a copy of the exchange, which is taken over only
 * once it has proved to be genuine: forged ones change nothing.
 */
#include <crypto/curve25519.h>
#include <crypto/utils.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "handshake.h"
#include "identity.h"
#include "mac.h"
#include "peer.h"
#include "session.h"

/* TAI64 has the epoch at 2^62 + 10 (TAI was 10 s ahead in 1970). */
#define CMPTUN_TAI64_EPOCH 0x400000000000000aULL

/**
 * cmptun_wg_handshake_init - what never changes of a peer's handshakes
 * @peer: with keys, not yet in use
 *
 * If the peer's key is of low order the shared secret stays zero, and no
 * handshake with it succeeds.
 */
void cmptun_wg_handshake_init(struct cmptun_wg_peer *peer)
{
	struct cmptun_wg_handshake *hs = &peer->handshake;

	mutex_init(&hs->lock);
	hs->entry.kind = CMPTUN_WG_INDEX_HANDSHAKE;
	hs->entry.peer = peer;
	cmptun_wg_mac1_key(hs->mac1_key, peer->public_key);

	if (peer->identity &&
	    !curve25519(hs->static_static, peer->identity->private_key,
			peer->public_key))
		memzero_explicit(hs->static_static, sizeof(hs->static_static));
}

static void cmptun_wg_handshake_zero(struct cmptun_wg_handshake *hs)
{
	lockdep_assert_held(&hs->lock);

	memzero_explicit(&hs->exchange, sizeof(hs->exchange));
	hs->waiting = false;
}

/**
 * cmptun_wg_handshake_clear - forget an unfinished handshake, and wipe it
 * @peer: whose
 *
 * Context: may sleep.
 */
void cmptun_wg_handshake_clear(struct cmptun_wg_peer *peer)
{
	mutex_lock(&peer->handshake.lock);
	cmptun_wg_index_remove(cmptun_wg_peer_index(peer),
			       &peer->handshake.entry);
	cmptun_wg_handshake_zero(&peer->handshake);
	mutex_unlock(&peer->handshake.lock);
}

static void cmptun_wg_timestamp(u8 out[CMPTUN_WG_TIMESTAMP_LEN])
{
	struct timespec64 now;

	ktime_get_real_ts64(&now);
	now.tv_nsec = ALIGN_DOWN(now.tv_nsec,
				 rounddown_pow_of_two(NSEC_PER_SEC /
					CMPTUN_WG_INITIATIONS_PER_SECOND));

	put_unaligned_be64(CMPTUN_TAI64_EPOCH + now.tv_sec, out);
	put_unaligned_be32(now.tv_nsec, out + sizeof(__be64));
}

static void cmptun_wg_handshake_begin(struct cmptun_noise_symmetric *noise,
				      const u8 responder[CMPTUN_WG_KEY_LEN])
{
	cmptun_noise_init(noise, CMPTUN_WG_IDENTIFIER,
			  strlen(CMPTUN_WG_IDENTIFIER));
	cmptun_noise_mix_hash(noise, responder, CMPTUN_WG_KEY_LEN);
}

/* MixKey() with the Diffie-Hellman of both static keys */
static bool cmptun_wg_mix_static_static(struct cmptun_noise_symmetric *noise,
					u8 key[CMPTUN_WG_KEY_LEN],
					const struct cmptun_wg_peer *peer)
{
	static const u8 none[CMPTUN_WG_KEY_LEN];
	const u8 *secret = peer->handshake.static_static;

	if (!crypto_memneq(secret, none, sizeof(none)))
		return false;

	cmptun_noise_mix_key(noise, key, secret, CMPTUN_WG_KEY_LEN);
	return true;
}

/* Make an ephemeral key pair, and token "e" of it */
static bool cmptun_wg_ephemeral(struct cmptun_wg_exchange *ex,
				u8 public_key[CMPTUN_WG_KEY_LEN])
{
	curve25519_generate_secret(ex->ephemeral);
	if (!curve25519_generate_public(public_key, ex->ephemeral))
		return false;

	cmptun_noise_mix_ephemeral(&ex->noise, public_key);
	return true;
}

static bool cmptun_wg_initiation_write(struct cmptun_wg_initiation *msg,
				       struct cmptun_wg_peer *peer,
				       struct cmptun_wg_exchange *ex)
{
	u8 timestamp[CMPTUN_WG_TIMESTAMP_LEN];
	u8 key[CMPTUN_WG_KEY_LEN];
	bool done = false;

	cmptun_wg_handshake_begin(&ex->noise, peer->public_key);

	if (!cmptun_wg_ephemeral(ex, msg->ephemeral) ||
	    !cmptun_noise_mix_dh(&ex->noise, key, ex->ephemeral,
				 peer->public_key))
		goto out;

	cmptun_noise_encrypt_and_hash(&ex->noise, msg->static_key,
				      peer->identity->public_key,
				      CMPTUN_WG_KEY_LEN, key);

	if (!cmptun_wg_mix_static_static(&ex->noise, key, peer))
		goto out;

	cmptun_wg_timestamp(timestamp);
	cmptun_noise_encrypt_and_hash(&ex->noise, msg->timestamp, timestamp,
				      sizeof(timestamp), key);
	done = true;
out:
	memzero_explicit(key, sizeof(key));
	return done;
}

/**
 * cmptun_wg_initiation_create - begin a handshake
 * @msg: out
 * @peer: with an identity
 *
 * Context: may sleep.
 * Return: false if no handshake with this key is possible.
 */
bool cmptun_wg_initiation_create(struct cmptun_wg_initiation *msg,
				 struct cmptun_wg_peer *peer)
{
	struct cmptun_wg_handshake *hs = &peer->handshake;
	bool done;

	mutex_lock(&hs->lock);
	done = cmptun_wg_initiation_write(msg, peer, &hs->exchange);
	hs->waiting = done;
	if (done) {
		cmptun_wg_index_insert(cmptun_wg_peer_index(peer), &hs->entry);
		msg->type = cpu_to_le32(CMPTUN_WG_INITIATION);
		msg->sender = hs->entry.value;
		cmptun_wg_mac_add(msg, sizeof(*msg), hs->mac1_key);
	} else {
		cmptun_wg_handshake_zero(hs);
	}
	mutex_unlock(&hs->lock);
	return done;
}

/* Read a message into @noise and @timestamp, and nothing else */
static bool cmptun_wg_initiation_read(const struct cmptun_wg_initiation *msg,
				      const struct cmptun_wg_peer *peer,
				      struct cmptun_noise_symmetric *noise,
				      u8 timestamp[CMPTUN_WG_TIMESTAMP_LEN])
{
	const struct cmptun_wg_identity *identity = peer->identity;
	u8 static_key[CMPTUN_WG_KEY_LEN];
	u8 key[CMPTUN_WG_KEY_LEN];
	bool genuine;

	cmptun_wg_handshake_begin(noise, identity->public_key);
	cmptun_noise_mix_ephemeral(noise, msg->ephemeral);

	genuine = cmptun_noise_mix_dh(noise, key, identity->private_key,
				      msg->ephemeral) &&
		  cmptun_noise_decrypt_and_hash(noise, static_key,
						msg->static_key,
						sizeof(msg->static_key), key) &&
		  !crypto_memneq(static_key, peer->public_key,
				 sizeof(static_key)) &&
		  cmptun_wg_mix_static_static(noise, key, peer) &&
		  cmptun_noise_decrypt_and_hash(noise, timestamp,
						msg->timestamp,
						sizeof(msg->timestamp), key);

	memzero_explicit(key, sizeof(key));
	return genuine;
}

/**
 * cmptun_wg_initiation_consume - take the first message of a handshake
 * @msg: as received, mac1 valid
 * @peer: who may have sent it, with an identity
 * @ex: the exchange it begins, to be answered with
 *	cmptun_wg_response_create(), which wipes it
 *
 * Context: may sleep.
 * Return: false if @peer did not send it, or it is one that was seen before,
 * or they come too fast.
 */
bool cmptun_wg_initiation_consume(const struct cmptun_wg_initiation *msg,
				  struct cmptun_wg_peer *peer,
				  struct cmptun_wg_exchange *ex)
{
	const u64 interval = NSEC_PER_SEC / CMPTUN_WG_INITIATIONS_PER_SECOND;
	struct cmptun_wg_handshake *hs = &peer->handshake;
	u64 now = ktime_get_coarse_boottime_ns();
	u8 timestamp[CMPTUN_WG_TIMESTAMP_LEN];
	bool taken;

	if (!cmptun_wg_initiation_read(msg, peer, &ex->noise, timestamp)) {
		memzero_explicit(ex, sizeof(*ex));
		return false;
	}

	mutex_lock(&hs->lock);
	taken = memcmp(timestamp, hs->latest_timestamp,
		       sizeof(timestamp)) > 0 &&
		(!hs->last_initiation || now - hs->last_initiation >= interval);
	if (taken) {
		memcpy(hs->latest_timestamp, timestamp, sizeof(timestamp));
		hs->last_initiation = now;
	}
	mutex_unlock(&hs->lock);

	if (!taken) {
		memzero_explicit(ex, sizeof(*ex));
		return false;
	}

	memcpy(ex->remote_ephemeral, msg->ephemeral,
	       sizeof(ex->remote_ephemeral));
	ex->remote_index = msg->sender;
	return true;
}

static bool cmptun_wg_response_write(struct cmptun_wg_response *msg,
				     const struct cmptun_wg_peer *peer,
				     struct cmptun_wg_exchange *ex,
				     const u8 psk[CMPTUN_WG_KEY_LEN])
{
	u8 key[CMPTUN_WG_KEY_LEN];

	if (!cmptun_wg_ephemeral(ex, msg->ephemeral) ||
	    !cmptun_noise_mix_dh(&ex->noise, NULL, ex->ephemeral,
				 ex->remote_ephemeral) ||
	    !cmptun_noise_mix_dh(&ex->noise, NULL, ex->ephemeral,
				 peer->public_key))
		return false;

	cmptun_noise_mix_psk(&ex->noise, key, psk);
	cmptun_noise_encrypt_and_hash(&ex->noise, msg->empty, NULL, 0, key);
	memzero_explicit(key, sizeof(key));
	return true;
}

/* The session that a complete exchange leads to, still without a name */
static struct cmptun_wg_session *
cmptun_wg_exchange_finish(struct cmptun_wg_peer *peer,
			  const struct cmptun_wg_exchange *ex, bool initiator)
{
	struct cmptun_wg_session *session;

	session = cmptun_wg_session_alloc(peer, initiator);
	if (!session)
		return NULL;

	session->remote_index = ex->remote_index;
	cmptun_noise_split(&ex->noise,
			   initiator ? session->send_key : session->receive_key,
			   initiator ? session->receive_key : session->send_key);
	return session;
}

/**
 * cmptun_wg_response_create - answer an initiation, and have the session
 * @msg: out
 * @peer: whose initiation was consumed
 * @ex: the exchange; wiped
 * @psk: preshared key, zeroes for none
 *
 * Context: may sleep.
 * Return: false if there is no memory.
 */
bool cmptun_wg_response_create(struct cmptun_wg_response *msg,
			       struct cmptun_wg_peer *peer,
			       struct cmptun_wg_exchange *ex,
			       const u8 psk[CMPTUN_WG_KEY_LEN])
{
	struct cmptun_wg_index *index = cmptun_wg_peer_index(peer);
	struct cmptun_wg_session *session = NULL;

	if (cmptun_wg_response_write(msg, peer, ex, psk))
		session = cmptun_wg_exchange_finish(peer, ex, false);

	if (session) {
		cmptun_wg_index_insert(index, &session->entry);
		msg->type = cpu_to_le32(CMPTUN_WG_RESPONSE);
		msg->sender = session->entry.value;
		msg->receiver = ex->remote_index;
		cmptun_wg_mac_add(msg, sizeof(*msg), peer->handshake.mac1_key);
		cmptun_wg_sessions_add(&peer->sessions, index, session);
	}

	memzero_explicit(ex, sizeof(*ex));
	return session;
}

static bool cmptun_wg_response_read(const struct cmptun_wg_response *msg,
				    const struct cmptun_wg_peer *peer,
				    struct cmptun_wg_exchange *ex,
				    const u8 psk[CMPTUN_WG_KEY_LEN])
{
	u8 key[CMPTUN_WG_KEY_LEN];
	bool genuine;

	cmptun_noise_mix_ephemeral(&ex->noise, msg->ephemeral);
	if (!cmptun_noise_mix_dh(&ex->noise, NULL, ex->ephemeral,
				 msg->ephemeral) ||
	    !cmptun_noise_mix_dh(&ex->noise, NULL, peer->identity->private_key,
				 msg->ephemeral))
		return false;

	cmptun_noise_mix_psk(&ex->noise, key, psk);
	genuine = cmptun_noise_decrypt_and_hash(&ex->noise, NULL, msg->empty,
						sizeof(msg->empty), key);
	memzero_explicit(key, sizeof(key));
	ex->remote_index = msg->sender;
	return genuine;
}

/* Our initiation was answered: the session takes over its name */
static bool cmptun_wg_handshake_finish(struct cmptun_wg_peer *peer,
				       const struct cmptun_wg_exchange *ex)
{
	struct cmptun_wg_index *index = cmptun_wg_peer_index(peer);
	struct cmptun_wg_handshake *hs = &peer->handshake;
	struct cmptun_wg_session *session;

	session = cmptun_wg_exchange_finish(peer, ex, true);
	if (!session)
		return false;

	cmptun_wg_handshake_zero(hs);
	if (!cmptun_wg_index_hand_over(index, &hs->entry, &session->entry)) {
		cmptun_wg_session_free(session);
		return false;
	}

	cmptun_wg_sessions_add(&peer->sessions, index, session);
	return true;
}

/**
 * cmptun_wg_response_consume - take the second message, and have the session
 * @msg: as received, mac1 valid
 * @peer: who may have sent it
 * @psk: preshared key, zeroes for none
 *
 * Context: may sleep.
 * Return: false if it does not answer our last initiation, or there is no
 * memory.
 */
bool cmptun_wg_response_consume(const struct cmptun_wg_response *msg,
				struct cmptun_wg_peer *peer,
				const u8 psk[CMPTUN_WG_KEY_LEN])
{
	struct cmptun_wg_handshake *hs = &peer->handshake;
	struct cmptun_wg_exchange ex;
	bool taken;

	mutex_lock(&hs->lock);
	ex = hs->exchange;
	taken = hs->waiting && hs->entry.value == msg->receiver &&
		cmptun_wg_response_read(msg, peer, &ex, psk) &&
		cmptun_wg_handshake_finish(peer, &ex);
	mutex_unlock(&hs->lock);

	memzero_explicit(&ex, sizeof(ex));
	return taken;
}
