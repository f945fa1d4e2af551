/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_HANDSHAKE_H
#define CMPTUN_WG_HANDSHAKE_H

#include <linux/mutex.h>
#include <linux/types.h>

#include "index.h"
#include "messages.h"
#include "noise.h"

struct cmptun_wg_peer;
struct cmptun_wg_session;

/**
 * enum cmptun_wg_handshake_state - which message was the last
 * @CMPTUN_WG_HANDSHAKE_NONE: none, or the handshake is over
 * @CMPTUN_WG_HANDSHAKE_SENT_INITIATION: we wait for a response
 * @CMPTUN_WG_HANDSHAKE_GOT_INITIATION: we are to answer
 * @CMPTUN_WG_HANDSHAKE_SENT_RESPONSE: complete, as responder
 * @CMPTUN_WG_HANDSHAKE_GOT_RESPONSE: complete, as initiator
 */
enum cmptun_wg_handshake_state {
	CMPTUN_WG_HANDSHAKE_NONE,
	CMPTUN_WG_HANDSHAKE_SENT_INITIATION,
	CMPTUN_WG_HANDSHAKE_GOT_INITIATION,
	CMPTUN_WG_HANDSHAKE_SENT_RESPONSE,
	CMPTUN_WG_HANDSHAKE_GOT_RESPONSE,
};

/**
 * struct cmptun_wg_handshake - one handshake with a peer
 * @lock: guards all but the immutable members
 * @entry: its name for the peer's answer; see there
 * @static_static: Diffie-Hellman of both static keys; immutable
 * @mac1_key: for messages to the peer; immutable
 * @state: how far it is
 * @noise: see there
 * @ephemeral: our private key of this handshake
 * @remote_ephemeral: the peer's public one
 * @remote_index: the peer's name for it
 * @latest_timestamp: greatest timestamp the peer has sent; outlives
 *	handshakes, sessions and switches
 * @last_initiation: coarse boot time in ns when one was last taken
 */
struct cmptun_wg_handshake {
	/* guards a handshake's progress against another message of it */
	struct mutex lock;
	struct cmptun_wg_index_entry entry;
	u8 static_static[CMPTUN_WG_KEY_LEN];
	u8 mac1_key[CMPTUN_WG_KEY_LEN];

	enum cmptun_wg_handshake_state state;
	struct cmptun_noise_symmetric noise;
	u8 ephemeral[CMPTUN_WG_KEY_LEN];
	u8 remote_ephemeral[CMPTUN_WG_KEY_LEN];
	__le32 remote_index;

	u8 latest_timestamp[CMPTUN_WG_TIMESTAMP_LEN];
	u64 last_initiation;
};

void cmptun_wg_handshake_init(struct cmptun_wg_peer *peer);
void cmptun_wg_handshake_clear(struct cmptun_wg_peer *peer);

bool cmptun_wg_initiation_create(struct cmptun_wg_initiation *msg,
				 struct cmptun_wg_peer *peer);
bool cmptun_wg_initiation_consume(const struct cmptun_wg_initiation *msg,
				  struct cmptun_wg_peer *peer);
bool cmptun_wg_response_create(struct cmptun_wg_response *msg,
			       struct cmptun_wg_peer *peer,
			       const u8 psk[CMPTUN_WG_KEY_LEN]);
bool cmptun_wg_response_consume(const struct cmptun_wg_response *msg,
				struct cmptun_wg_peer *peer,
				const u8 psk[CMPTUN_WG_KEY_LEN]);
bool cmptun_wg_handshake_finish(struct cmptun_wg_peer *peer);

#endif /* CMPTUN_WG_HANDSHAKE_H */
