/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_HANDSHAKE_H
#define CMPTUN_WG_HANDSHAKE_H

#include <linux/mutex.h>
#include <linux/types.h>

#include "index.h"
#include "messages.h"
#include "noise.h"

struct cmptun_wg_peer;

/**
 * struct cmptun_wg_exchange - what a handshake has come to
 * @noise: see there
 * @ephemeral: our private key of it
 * @remote_ephemeral: the peer's public one
 * @remote_index: the peer's name for it
 */
struct cmptun_wg_exchange {
	struct cmptun_noise_symmetric noise;
	u8 ephemeral[CMPTUN_WG_KEY_LEN];
	u8 remote_ephemeral[CMPTUN_WG_KEY_LEN];
	__le32 remote_index;
};

/**
 * struct cmptun_wg_handshake - handshakes with a peer
 * @lock: guards all but the immutable members
 * @static_static: Diffie-Hellman of both static keys; immutable
 * @mac1_key: for messages to the peer; immutable
 * @entry: name of our initiation; see there
 * @waiting: an initiation was sent and not answered yet
 * @exchange: how far that one is
 * @latest_timestamp: greatest timestamp the peer has sent; outlives
 *	handshakes, sessions and switches
 * @last_initiation: coarse boot time in ns when one was last taken
 *
 * Only the initiator has to wait and to remember. A responder answers in one
 * go, with an exchange of its own, so that two ends that begin at once do not
 * undo each other's handshake.
 */
struct cmptun_wg_handshake {
	/* guards progress against another message */
	struct mutex lock;
	u8 static_static[CMPTUN_WG_KEY_LEN];
	u8 mac1_key[CMPTUN_WG_KEY_LEN];

	struct cmptun_wg_index_entry entry;
	bool waiting;
	struct cmptun_wg_exchange exchange;

	u8 latest_timestamp[CMPTUN_WG_TIMESTAMP_LEN];
	u64 last_initiation;
};

void cmptun_wg_handshake_init(struct cmptun_wg_peer *peer);
void cmptun_wg_handshake_clear(struct cmptun_wg_peer *peer);

bool cmptun_wg_initiation_create(struct cmptun_wg_initiation *msg,
				 struct cmptun_wg_peer *peer);
bool cmptun_wg_initiation_consume(const struct cmptun_wg_initiation *msg,
				  struct cmptun_wg_peer *peer,
				  struct cmptun_wg_exchange *ex);
bool cmptun_wg_response_create(struct cmptun_wg_response *msg,
			       struct cmptun_wg_peer *peer,
			       struct cmptun_wg_exchange *ex,
			       const u8 psk[CMPTUN_WG_KEY_LEN]);
bool cmptun_wg_response_consume(const struct cmptun_wg_response *msg,
				struct cmptun_wg_peer *peer,
				const u8 psk[CMPTUN_WG_KEY_LEN]);

#endif /* CMPTUN_WG_HANDSHAKE_H */
