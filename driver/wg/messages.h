/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The WireGuard protocol on the wire, and its constants: sections 5.4 and 6
 * of the paper, to be laid beside it.
 */
#ifndef CMPTUN_WG_MESSAGES_H
#define CMPTUN_WG_MESSAGES_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/types.h>

#define CMPTUN_WG_KEY_LEN	32
#define CMPTUN_WG_TAG_LEN	16
#define CMPTUN_WG_MAC_LEN	16
#define CMPTUN_WG_TIMESTAMP_LEN	12
#define CMPTUN_WG_NONCE_LEN	24
#define CMPTUN_WG_COOKIE_LEN	16
#define CMPTUN_WG_PADDING	16

#define CMPTUN_WG_CONSTRUCTION	"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s"
#define CMPTUN_WG_IDENTIFIER	"WireGuard v1 zx2c4 Jason@zx2c4.com"
#define CMPTUN_WG_LABEL_MAC1	"mac1----"
#define CMPTUN_WG_LABEL_COOKIE	"cookie--"

#define CMPTUN_WG_DEFAULT_PORT	51820

/* Section 6.1. Times in seconds unless the name says jiffies. */
#define CMPTUN_WG_REPLAY_WINDOW		8192
#define CMPTUN_WG_REKEY_AFTER_MESSAGES	BIT_ULL(60)
#define CMPTUN_WG_REJECT_AFTER_MESSAGES	(U64_MAX - CMPTUN_WG_REPLAY_WINDOW)
#define CMPTUN_WG_REKEY_AFTER_TIME	120
#define CMPTUN_WG_REJECT_AFTER_TIME	180
#define CMPTUN_WG_REKEY_ATTEMPT_TIME	90
#define CMPTUN_WG_REKEY_TIMEOUT		5
#define CMPTUN_WG_KEEPALIVE_TIMEOUT	10
#define CMPTUN_WG_JITTER_MAX_JIFFIES	(HZ / 3)

/* Retransmissions that fit into REKEY_ATTEMPT_TIME */
#define CMPTUN_WG_HANDSHAKE_RETRIES \
	(CMPTUN_WG_REKEY_ATTEMPT_TIME / CMPTUN_WG_REKEY_TIMEOUT)

/* Initiations taken from one peer, and thereby the resolution of the
 * timestamp: finer would tell more of our clock than is needed.
 */
#define CMPTUN_WG_INITIATIONS_PER_SECOND 50

/* DSCP AF41 with ECN 0, so that handshakes survive congestion */
#define CMPTUN_WG_HANDSHAKE_DS		0x88

enum cmptun_wg_message_type {
	CMPTUN_WG_INITIATION = 1,
	CMPTUN_WG_RESPONSE = 2,
	CMPTUN_WG_COOKIE = 3,
	CMPTUN_WG_DATA = 4,
};

/**
 * struct cmptun_wg_macs - last fields of a handshake message
 * @mac1: keyed with the receiver's public key
 * @mac2: keyed with a cookie, zeroes without one
 */
struct cmptun_wg_macs {
	u8 mac1[CMPTUN_WG_MAC_LEN];
	u8 mac2[CMPTUN_WG_MAC_LEN];
};

/**
 * struct cmptun_wg_initiation - first message, section 5.4.2
 * @type: %CMPTUN_WG_INITIATION; three of the four bytes are reserved zeroes
 * @sender: index the responder shall answer to
 * @ephemeral: initiator's ephemeral public key, in the clear
 * @static_key: initiator's public key, encrypted
 * @timestamp: TAI64N, encrypted
 * @macs: see there
 */
struct cmptun_wg_initiation {
	__le32 type;
	__le32 sender;
	u8 ephemeral[CMPTUN_WG_KEY_LEN];
	u8 static_key[CMPTUN_WG_KEY_LEN + CMPTUN_WG_TAG_LEN];
	u8 timestamp[CMPTUN_WG_TIMESTAMP_LEN + CMPTUN_WG_TAG_LEN];
	struct cmptun_wg_macs macs;
};

/**
 * struct cmptun_wg_response - second message, section 5.4.3
 * @type: %CMPTUN_WG_RESPONSE
 * @sender: index the initiator shall send data to
 * @receiver: the initiation's @sender
 * @ephemeral: responder's ephemeral public key, in the clear
 * @empty: tag of nothing, encrypted
 * @macs: see there
 */
struct cmptun_wg_response {
	__le32 type;
	__le32 sender;
	__le32 receiver;
	u8 ephemeral[CMPTUN_WG_KEY_LEN];
	u8 empty[CMPTUN_WG_TAG_LEN];
	struct cmptun_wg_macs macs;
};

/**
 * struct cmptun_wg_cookie_reply - sent instead of an answer, section 5.4.7
 * @type: %CMPTUN_WG_COOKIE
 * @receiver: the @sender of the message it answers
 * @nonce: for XChaCha20-Poly1305
 * @cookie: encrypted
 */
struct cmptun_wg_cookie_reply {
	__le32 type;
	__le32 receiver;
	u8 nonce[CMPTUN_WG_NONCE_LEN];
	u8 cookie[CMPTUN_WG_COOKIE_LEN + CMPTUN_WG_TAG_LEN];
};

/**
 * struct cmptun_wg_data - transport data message, section 5.4.6
 * @type: %CMPTUN_WG_DATA
 * @receiver: index of the receiver's session
 * @counter: nonce
 * @encrypted: padded packet and tag; a keepalive is the tag alone
 */
struct cmptun_wg_data {
	__le32 type;
	__le32 receiver;
	__le64 counter;
	u8 encrypted[];
};

static_assert(sizeof(struct cmptun_wg_initiation) == 148);
static_assert(sizeof(struct cmptun_wg_response) == 92);
static_assert(sizeof(struct cmptun_wg_cookie_reply) == 64);
static_assert(sizeof(struct cmptun_wg_data) == 16);

#endif /* CMPTUN_WG_MESSAGES_H */
