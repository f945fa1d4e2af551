/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The symmetric state of a Noise handshake with BLAKE2s, ChaCha20-Poly1305
 * and X25519: the Noise Protocol Framework, revision 34, sections 4 and 5.
 */
#ifndef CMPTUN_WG_NOISE_H
#define CMPTUN_WG_NOISE_H

#include <linux/types.h>

#define CMPTUN_NOISE_HASH_LEN	32
#define CMPTUN_NOISE_KEY_LEN	32

/**
 * struct cmptun_noise_symmetric - what both sides agree on so far
 * @hash: of all that was said
 * @chaining_key: from which the next keys derive
 */
struct cmptun_noise_symmetric {
	u8 hash[CMPTUN_NOISE_HASH_LEN];
	u8 chaining_key[CMPTUN_NOISE_HASH_LEN];
};

void cmptun_noise_kdf(u8 *first, u8 *second, u8 *third, const u8 *data,
		      size_t data_len,
		      const u8 chaining_key[CMPTUN_NOISE_HASH_LEN]);

void cmptun_noise_init(struct cmptun_noise_symmetric *s, const u8 *prologue,
		       size_t prologue_len);
void cmptun_noise_mix_hash(struct cmptun_noise_symmetric *s, const u8 *data,
			   size_t len);
void cmptun_noise_mix_key(struct cmptun_noise_symmetric *s, u8 *key,
			  const u8 *ikm, size_t len);
bool __must_check cmptun_noise_mix_dh(struct cmptun_noise_symmetric *s,
				      u8 *key,
				      const u8 priv[CMPTUN_NOISE_KEY_LEN],
				      const u8 pub[CMPTUN_NOISE_KEY_LEN]);
void cmptun_noise_mix_psk(struct cmptun_noise_symmetric *s, u8 *key,
			  const u8 psk[CMPTUN_NOISE_KEY_LEN]);
void cmptun_noise_mix_ephemeral(struct cmptun_noise_symmetric *s,
				const u8 pub[CMPTUN_NOISE_KEY_LEN]);
void cmptun_noise_encrypt_and_hash(struct cmptun_noise_symmetric *s, u8 *dst,
				   const u8 *src, size_t len,
				   const u8 key[CMPTUN_NOISE_KEY_LEN]);
bool __must_check
cmptun_noise_decrypt_and_hash(struct cmptun_noise_symmetric *s, u8 *dst,
			      const u8 *src, size_t len,
			      const u8 key[CMPTUN_NOISE_KEY_LEN]);
void cmptun_noise_split(const struct cmptun_noise_symmetric *s,
			u8 first[CMPTUN_NOISE_KEY_LEN],
			u8 second[CMPTUN_NOISE_KEY_LEN]);

#endif /* CMPTUN_WG_NOISE_H */
