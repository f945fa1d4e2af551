// SPDX-License-Identifier: GPL-2.0
/*
 * The symmetric state of a Noise handshake.
 *
 * Nothing here knows of peers or messages; each function is one line of the
 * paper's section 5.4, and selftest.c holds them to published vectors.
 */
#include <crypto/blake2s.h>
#include <crypto/chacha20poly1305.h>
#include <crypto/curve25519.h>
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "messages.h"
#include "noise.h"

/* HMAC (RFC 2104) with BLAKE2s; @key is one hash long, less than a block */
static void cmptun_noise_hmac(u8 out[CMPTUN_NOISE_HASH_LEN],
			      const u8 key[CMPTUN_NOISE_HASH_LEN],
			      const u8 *data, size_t len)
{
	u8 pad[BLAKE2S_BLOCK_SIZE] __aligned(sizeof(long));
	u8 inner[CMPTUN_NOISE_HASH_LEN];
	struct blake2s_ctx ctx;
	int i;

	memset(pad, 0x36, sizeof(pad));
	for (i = 0; i < CMPTUN_NOISE_HASH_LEN; i++)
		pad[i] ^= key[i];
	blake2s_init(&ctx, BLAKE2S_HASH_SIZE);
	blake2s_update(&ctx, pad, sizeof(pad));
	blake2s_update(&ctx, data, len);
	blake2s_final(&ctx, inner);

	for (i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36 ^ 0x5c;
	blake2s_init(&ctx, BLAKE2S_HASH_SIZE);
	blake2s_update(&ctx, pad, sizeof(pad));
	blake2s_update(&ctx, inner, sizeof(inner));
	blake2s_final(&ctx, out);

	memzero_explicit(pad, sizeof(pad));
	memzero_explicit(inner, sizeof(inner));
}

/**
 * cmptun_noise_kdf - HKDF (RFC 5869) with BLAKE2s, up to three outputs
 * @first: 32 bytes out, or NULL
 * @second: 32 bytes out, or NULL; wants @first
 * @third: 32 bytes out, or NULL; wants @second
 * @data: input key material
 * @data_len: its length in bytes
 * @chaining_key: salt; may be the same memory as @first
 */
void cmptun_noise_kdf(u8 *first, u8 *second, u8 *third, const u8 *data,
		      size_t data_len,
		      const u8 chaining_key[CMPTUN_NOISE_HASH_LEN])
{
	u8 *const outputs[] = { first, second, third };
	u8 block[CMPTUN_NOISE_HASH_LEN + 1];
	u8 secret[CMPTUN_NOISE_HASH_LEN];
	size_t used = 0;
	int i;

	cmptun_noise_hmac(secret, chaining_key, data, data_len);

	for (i = 0; i < ARRAY_SIZE(outputs) && outputs[i]; i++) {
		block[used] = i + 1;
		cmptun_noise_hmac(block, secret, block, used + 1);
		used = CMPTUN_NOISE_HASH_LEN;
		memcpy(outputs[i], block, CMPTUN_NOISE_HASH_LEN);
	}

	memzero_explicit(block, sizeof(block));
	memzero_explicit(secret, sizeof(secret));
}

/**
 * cmptun_noise_init - start a handshake
 * @s: out
 * @prologue: what both sides must know beforehand
 * @prologue_len: its length in bytes
 */
void cmptun_noise_init(struct cmptun_noise_symmetric *s, const u8 *prologue,
		       size_t prologue_len)
{
	struct blake2s_ctx ctx;

	blake2s_init(&ctx, BLAKE2S_HASH_SIZE);
	blake2s_update(&ctx, CMPTUN_WG_CONSTRUCTION,
		       strlen(CMPTUN_WG_CONSTRUCTION));
	blake2s_final(&ctx, s->chaining_key);

	memcpy(s->hash, s->chaining_key, sizeof(s->hash));
	cmptun_noise_mix_hash(s, prologue, prologue_len);
}

/**
 * cmptun_noise_mix_hash - MixHash(): add to what was said
 * @s: handshake
 * @data: what is said
 * @len: its length in bytes
 */
void cmptun_noise_mix_hash(struct cmptun_noise_symmetric *s, const u8 *data,
			   size_t len)
{
	struct blake2s_ctx ctx;

	blake2s_init(&ctx, BLAKE2S_HASH_SIZE);
	blake2s_update(&ctx, s->hash, sizeof(s->hash));
	blake2s_update(&ctx, data, len);
	blake2s_final(&ctx, s->hash);
}

/**
 * cmptun_noise_mix_key - MixKey(): add secret material
 * @s: handshake
 * @key: gets the next key, 32 bytes; NULL if none is wanted
 * @ikm: the material
 * @len: its length in bytes
 */
void cmptun_noise_mix_key(struct cmptun_noise_symmetric *s, u8 *key,
			  const u8 *ikm, size_t len)
{
	cmptun_noise_kdf(s->chaining_key, key, NULL, ikm, len,
			 s->chaining_key);
}

/**
 * cmptun_noise_mix_dh - MixKey(DH())
 * @s: handshake
 * @key: gets the next key, 32 bytes; NULL if none is wanted
 * @priv: our private key
 * @pub: their public key
 *
 * Return: false if @pub is of low order, which would make the result known
 * to everyone.
 */
bool cmptun_noise_mix_dh(struct cmptun_noise_symmetric *s, u8 *key,
			 const u8 priv[CMPTUN_NOISE_KEY_LEN],
			 const u8 pub[CMPTUN_NOISE_KEY_LEN])
{
	u8 shared[CMPTUN_NOISE_KEY_LEN];

	if (!curve25519(shared, priv, pub))
		return false;

	cmptun_noise_mix_key(s, key, shared, sizeof(shared));
	memzero_explicit(shared, sizeof(shared));
	return true;
}

/**
 * cmptun_noise_mix_psk - MixKeyAndHash(psk)
 * @s: handshake
 * @key: gets the next key, 32 bytes
 * @psk: preshared key, zeroes for none
 */
void cmptun_noise_mix_psk(struct cmptun_noise_symmetric *s, u8 *key,
			  const u8 psk[CMPTUN_NOISE_KEY_LEN])
{
	u8 tau[CMPTUN_NOISE_HASH_LEN];

	cmptun_noise_kdf(s->chaining_key, tau, key, psk, CMPTUN_NOISE_KEY_LEN,
			 s->chaining_key);
	cmptun_noise_mix_hash(s, tau, sizeof(tau));
	memzero_explicit(tau, sizeof(tau));
}

/**
 * cmptun_noise_mix_ephemeral - token "e" of a handshake with a preshared key
 * @s: handshake
 * @pub: the ephemeral public key, as it is on the wire
 */
void cmptun_noise_mix_ephemeral(struct cmptun_noise_symmetric *s,
				const u8 pub[CMPTUN_NOISE_KEY_LEN])
{
	cmptun_noise_mix_hash(s, pub, CMPTUN_NOISE_KEY_LEN);
	cmptun_noise_mix_key(s, NULL, pub, CMPTUN_NOISE_KEY_LEN);
}

/**
 * cmptun_noise_encrypt_and_hash - EncryptAndHash()
 * @s: handshake
 * @dst: @len bytes and a tag
 * @src: plaintext
 * @len: its length in bytes
 * @key: used for this message alone, so the nonce is 0
 */
void cmptun_noise_encrypt_and_hash(struct cmptun_noise_symmetric *s, u8 *dst,
				   const u8 *src, size_t len,
				   const u8 key[CMPTUN_NOISE_KEY_LEN])
{
	chacha20poly1305_encrypt(dst, src, len, s->hash, sizeof(s->hash), 0,
				 key);
	cmptun_noise_mix_hash(s, dst, len + CMPTUN_WG_TAG_LEN);
}

/**
 * cmptun_noise_decrypt_and_hash - DecryptAndHash()
 * @s: handshake
 * @dst: @len bytes less the tag
 * @src: ciphertext and tag
 * @len: length of both in bytes
 * @key: used for this message alone, so the nonce is 0
 *
 * Return: false if it was not encrypted with @key in this handshake.
 */
bool cmptun_noise_decrypt_and_hash(struct cmptun_noise_symmetric *s, u8 *dst,
				   const u8 *src, size_t len,
				   const u8 key[CMPTUN_NOISE_KEY_LEN])
{
	if (!chacha20poly1305_decrypt(dst, src, len, s->hash, sizeof(s->hash),
				      0, key))
		return false;

	cmptun_noise_mix_hash(s, src, len);
	return true;
}

/**
 * cmptun_noise_split - Split(): the transport keys
 * @s: handshake, complete
 * @first: key from initiator to responder
 * @second: key from responder to initiator
 */
void cmptun_noise_split(const struct cmptun_noise_symmetric *s,
			u8 first[CMPTUN_NOISE_KEY_LEN],
			u8 second[CMPTUN_NOISE_KEY_LEN])
{
	cmptun_noise_kdf(first, second, NULL, NULL, 0, s->chaining_key);
}
