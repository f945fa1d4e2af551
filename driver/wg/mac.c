// SPDX-License-Identifier: GPL-2.0
/*
 * The MACs at the end of handshake messages, section 5.4.4.
 *
 * mac1 proves that the sender knows whom it talks to: who does not gets no
 * answer, and no public key operation is spent on it.
 */
#include <crypto/blake2s.h>
#include <crypto/utils.h>
#include <linux/string.h>

#include "mac.h"

/**
 * cmptun_wg_mac1_key - key for the mac1 of messages to someone
 * @key: out
 * @public_key: of who receives them
 */
void cmptun_wg_mac1_key(u8 key[CMPTUN_WG_KEY_LEN],
			const u8 public_key[CMPTUN_WG_KEY_LEN])
{
	struct blake2s_ctx ctx;

	blake2s_init(&ctx, BLAKE2S_HASH_SIZE);
	blake2s_update(&ctx, CMPTUN_WG_LABEL_MAC1,
		       strlen(CMPTUN_WG_LABEL_MAC1));
	blake2s_update(&ctx, public_key, CMPTUN_WG_KEY_LEN);
	blake2s_final(&ctx, key);
}

static void cmptun_wg_mac1(u8 mac[CMPTUN_WG_MAC_LEN], const void *message,
			   size_t len, const u8 mac1_key[CMPTUN_WG_KEY_LEN])
{
	size_t covered = len - sizeof(struct cmptun_wg_macs);
	struct blake2s_ctx ctx;

	blake2s_init_key(&ctx, CMPTUN_WG_MAC_LEN, mac1_key, CMPTUN_WG_KEY_LEN);
	blake2s_update(&ctx, message, covered);
	blake2s_final(&ctx, mac);
}

/**
 * cmptun_wg_mac_add - complete a handshake message
 * @message: initiation or response
 * @len: its length in bytes
 * @mac1_key: of the receiver
 *
 * mac2 is left zero: it is asked for by a cookie reply alone.
 */
void cmptun_wg_mac_add(void *message, size_t len,
		       const u8 mac1_key[CMPTUN_WG_KEY_LEN])
{
	struct cmptun_wg_macs *macs = message + len - sizeof(*macs);

	cmptun_wg_mac1(macs->mac1, message, len, mac1_key);
	memset(macs->mac2, 0, sizeof(macs->mac2));
}

/**
 * cmptun_wg_mac1_valid - does the sender know our public key?
 * @message: initiation or response
 * @len: its length in bytes
 * @mac1_key: ours
 *
 * Return: true if so.
 */
bool cmptun_wg_mac1_valid(const void *message, size_t len,
			  const u8 mac1_key[CMPTUN_WG_KEY_LEN])
{
	const struct cmptun_wg_macs *macs = message + len - sizeof(*macs);
	u8 mac[CMPTUN_WG_MAC_LEN];

	cmptun_wg_mac1(mac, message, len, mac1_key);
	return !crypto_memneq(mac, macs->mac1, sizeof(mac));
}
