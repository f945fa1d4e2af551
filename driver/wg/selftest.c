// SPDX-License-Identifier: GPL-2.0
/*
 * Known answers, asked for when the module is loaded. Only in builds with
 * CMPTUN_SELFTEST=y.
 *
 * The keys below are published test vectors; none of them protects anything.
 */
#include <crypto/chacha20poly1305.h>
#include <crypto/curve25519.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mac.h"
#include "messages.h"
#include "noise.h"
#include "selftest.h"

#define CMPTUN_TEST_TAG		CHACHA20POLY1305_AUTHTAG_SIZE
#define CMPTUN_TEST_MAX		sizeof(struct cmptun_wg_initiation)

/* The vectors are in hexadecimal, as published. */
struct cmptun_test_kdf {
	const char *chaining_key;
	const char *data;
	const char *out[3];
};

/* @header and @mac1 are what WireGuard puts around @message. */
struct cmptun_test_message {
	const char *payload;
	const char *message;
	const char *header;
	const char *mac1;
};

/* @keys are the preshared key, then the private static and the private
 * ephemeral key of the initiator, then those of the responder. @transport is
 * sent in turns, first by the initiator. What is NULL was not published.
 */
struct cmptun_test_noise {
	const char *name;
	const char *prologue;
	const char *keys;
	const char *hash;
	struct cmptun_test_message handshake[2];
	struct cmptun_test_message transport[4];
};

/* WireGuard/wireguard-go, device/kdf_test.go. The chaining keys there are
 * shorter than 32 bytes; HMAC pads a key with zeros, and so do we.
 */
static const struct cmptun_test_kdf cmptun_test_kdfs[] __initconst = { {
	"746573742d6b6579", "746573742d696e707574", {
	"6f0e5ad38daba1bea8a0d213688736f19763239305e0f58aba697f9ffc41c633",
	"df1194df20802a4fe594cde27e92991c8cae66c366e8106aaa937a55fa371e8a",
	"fac6e2745a325f5dc5d11a5b165aad08b0ada28e7b4e666b7c077934a4d76c24" }
}, {
	"776972656775617264", "776972656775617264", {
	"491d43bbfdaa8750aaf535e334ecbfe5129967cd64635101c566d4caefda96e8",
	"1e71a379baefd8a79aa4662212fcafe19a23e2b609a3db7d6bcba8f560e3d25f",
	"31e1ae48bddfbe5de38f295e5452b1909a1b4e38e183926af3780b0c1e1f0160" }
}, {
	"", "", {
	"8387b46bf43eccfcf349552a095d8315c4055beb90208fb1be23b894bc2ed5d0",
	"58a0e5f6faefccf4807bff1f05fa8a9217945762040bcec2f4b4a62bdfe0e86e",
	"0ce6ea98ec548f8e281e93e32db65621c45eb18dc6f0a7ad94178610a2f7338e" }
} };

static const struct cmptun_test_noise cmptun_test_noises[] __initconst = { {
	/* Cacophony's, from mcginty/snow, tests/vectors/cacophony.txt. */
	.name = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s",
	.prologue = "4a6f686e2047616c74",
	.keys =
	"54686973206973206d7920417573747269616e20706572737065637469766521e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b",
	.hash =
	"f5191b875290abcd41347ac3622d9679688a7e980229cb937ef748336cfde0e5",
	.handshake = { {
	"4c756477696720766f6e204d69736573",
	"ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944001e21de9f98ddd8e2ad57527207feb56253c9c94a9e496782ecfcb2a75fbcaf1b52948cc48daefe660c62119ab5000980c84831215f2441eba616548e832985464cf17e51ee93109008399a21f7e13f" }, {
	"4d757272617920526f746862617264",
	"95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843cb765f2caef0751b8f007572dab0322217755c0632f365717edbf34d33e87a" } },
	.transport = { {
	"462e20412e20486179656b",
	"8153ca9833bc3c1b91a7e66e5f4d4f5b59bf9e64c2f20d15f0bba7" }, {
	"4361726c204d656e676572",
	"07af0c9c86e1b4e80f36b04ff7688d51141af3debd0332f0a705ef" }, {
	"4a65616e2d426170746973746520536179",
	"6ab1467c0448cc78394494abaaf23afce0e234315d6e2624dcbfa8a21c1c4d073d" }, {
	"457567656e2042f6686d20766f6e2042617765726b",
	"dfc346c0d2296ae6cf1acf6f12b8456a1dba228cf8d8b774aacf1c47fc53aa80ebc7a4c292" } },
}, {
	/* stacksjs/localtunnels, packages/vpn-core/src/vectors.zig. The first
	 * payload is the TAI64N of 1700000000 s and 42 ns; after the handshake
	 * come data with its padding, and a keepalive.
	 */
	.name = "WireGuard v1",
	.prologue =	/* "WireGuard v1 zx2c4 Jason@zx2c4.com" */
	"576972654775617264207631207a78326334204a61736f6e407a783263342e636f6d",
	.keys =
	"55555555555555555555555555555555555555555555555555555555555555551111111111111111111111111111111111111111111111111111111111111111333333333333333333333333333333333333333333333333333333333333333322222222222222222222222222222222222222222222222222222222222222224444444444444444444444444444444444444444444444444444444444444444",
	.handshake = { {
	"400000006553f10a0000002a",
	"7b0d47d93427f8311160781c7c733fd89f88970aef490d8aa0ee19a4cb8a1b1481e498317da959fba46669572516a5e6c021bfa620bb6c56ca0082e1feae14988c2c64d024c617734a263f76a008df04d0f94bad8ee75ec8e1c2697fa182811f564c843ddb4513a21d8d5af4",
	"0100000004030201",
	"b07fa685e5343b0427212030e0de1e61" }, {
	"",
	"ff2ee45601ec1b67310c7790404585ae697331eee1c1f8cf2419731c1fff3e6bcb8edaa29bd1262cc9d09bbd6f6473b0",
	"020000000d0c0b0a04030201",
	"5258104e4c52f2783addcc73afd9df5b" } },
	.transport = { {
	"70696e672d66726f6d2d696e69746961746f7221000000000000000000000000",
	"7c3924f9324b9da2d0706f221e65422c6b218482c97a8d49d501917cb576355356a7e2473ca4dd2ea312f843419f5597" }, {
	"",
	"4546b4bebf67c6c95055c71188ff8c4e" } },
} };

/* The points of small order in 255 bits: 0, 1, the two of order 8, p - 1, and
 * 0 and 1 once more as p and p + 1.
 */
static const char *const cmptun_test_low_order[] __initconst = {
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};

struct cmptun_test_pair {
	u8 priv[CMPTUN_NOISE_KEY_LEN];
	u8 pub[CMPTUN_NOISE_KEY_LEN];
};

/* One end of a handshake. */
struct cmptun_test_end {
	struct cmptun_noise_symmetric s;
	u8 key[CMPTUN_NOISE_KEY_LEN];
};

/* Too much for the stack. */
struct cmptun_test {
	struct cmptun_test_end init, resp, bad;
	u8 keys[5][CMPTUN_NOISE_KEY_LEN];
	struct cmptun_test_pair init_static, init_ephemeral;
	struct cmptun_test_pair resp_static, resp_ephemeral;
	u8 split[2][2][CMPTUN_NOISE_KEY_LEN];
	u8 payload[CMPTUN_TEST_MAX];
	u8 message[CMPTUN_TEST_MAX];
	u8 out[CMPTUN_TEST_MAX];
};

static size_t __init cmptun_test_len(const char *hex)
{
	return strlen(hex) / 2;
}

static int __init cmptun_test_digit(char digit)
{
	return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/* Not hex2bin(), the header of which is another one since Linux 7.0. */
static bool __init cmptun_test_load(u8 *dst, size_t size, const char *hex)
{
	if (cmptun_test_len(hex) > size)
		return false;

	for (; hex[0] && hex[1]; hex += 2)
		*dst++ = cmptun_test_digit(hex[0]) << 4 |
			 cmptun_test_digit(hex[1]);

	return true;
}

/* Load a message that has @extra bytes more than its payload. */
static bool __init cmptun_test_load_message(struct cmptun_test *t,
					    const struct cmptun_test_message *v,
					    size_t extra)
{
	return cmptun_test_load(t->payload, sizeof(t->payload), v->payload) &&
	       cmptun_test_load(t->message, sizeof(t->message), v->message) &&
	       cmptun_test_len(v->message) ==
	       cmptun_test_len(v->payload) + extra;
}

/* From here on: NULL, or what went wrong. */
static const char *__init cmptun_test_kdf(struct cmptun_test *t,
					  const struct cmptun_test_kdf *v)
{
	static const char *const names[] = { "KDF1", "KDF2", "KDF3" };
	u8 (*const got)[CMPTUN_NOISE_KEY_LEN] = t->keys;
	u8 ck[CMPTUN_NOISE_KEY_LEN] = {};
	int i;

	if (!cmptun_test_load(ck, sizeof(ck), v->chaining_key) ||
	    !cmptun_test_load(t->payload, sizeof(t->payload), v->data))
		return "malformed vector";

	for (i = 0; i < 3; i++) {
		if (!cmptun_test_load(t->message + i * CMPTUN_NOISE_KEY_LEN,
				      CMPTUN_NOISE_KEY_LEN, v->out[i]))
			return "malformed vector";

		memset(t->keys, 0, sizeof(t->keys));
		cmptun_noise_kdf(got[0], i > 0 ? got[1] : NULL,
				 i > 1 ? got[2] : NULL, t->payload,
				 cmptun_test_len(v->data), ck);
		if (memcmp(got, t->message, (i + 1) * CMPTUN_NOISE_KEY_LEN))
			return names[i];
	}

	return NULL;
}

/* A token es, ee, se or ss, at both ends. */
static bool __init cmptun_test_mix_dh(struct cmptun_test *t, bool keep,
				      const struct cmptun_test_pair *init,
				      const struct cmptun_test_pair *resp)
{
	return cmptun_noise_mix_dh(&t->init.s, keep ? t->init.key : NULL,
				   init->priv, resp->pub) &&
	       cmptun_noise_mix_dh(&t->resp.s, keep ? t->resp.key : NULL,
				   resp->priv, init->pub);
}

static bool __init cmptun_test_refused(struct cmptun_test *t,
				       const u8 *ciphertext, size_t len)
{
	return !cmptun_noise_decrypt_and_hash(&t->bad.s, t->out, ciphertext,
					      len, t->bad.key);
}

/* @from encrypts @src to exactly @dst, and @to decrypts that, but not with
 * any byte changed, nor with another key or another hash.
 */
static bool __init cmptun_test_pass(struct cmptun_test *t,
				    struct cmptun_test_end *from,
				    struct cmptun_test_end *to,
				    const u8 *src, size_t len, u8 *dst)
{
	const size_t sealed = len + CMPTUN_TEST_TAG;
	size_t i;

	cmptun_noise_encrypt_and_hash(&from->s, t->out, src, len, from->key);
	if (memcmp(t->out, dst, sealed))
		return false;

	for (i = 0; i < sealed; i++) {
		t->bad = *to;
		dst[i] ^= BIT(i % 8);
		if (!cmptun_test_refused(t, dst, sealed))
			return false;
		dst[i] ^= BIT(i % 8);
	}

	t->bad = *to;
	t->bad.key[31] ^= 0x80;
	if (!cmptun_test_refused(t, dst, sealed))
		return false;

	t->bad = *to;
	t->bad.s.hash[0] ^= 1;
	if (!cmptun_test_refused(t, dst, sealed))
		return false;

	return cmptun_noise_decrypt_and_hash(&to->s, t->out, dst, sealed,
					     to->key) &&
	       !memcmp(t->out, src, len);
}

static bool __init cmptun_test_pair(struct cmptun_test_pair *pair,
				    const u8 priv[CMPTUN_NOISE_KEY_LEN])
{
	memcpy(pair->priv, priv, sizeof(pair->priv));
	return curve25519_generate_public(pair->pub, pair->priv);
}

static const char *__init cmptun_test_start(struct cmptun_test *t,
					    const struct cmptun_test_noise *v)
{
	if (cmptun_test_len(v->keys) != sizeof(t->keys) ||
	    !cmptun_test_load(t->keys[0], sizeof(t->keys), v->keys) ||
	    !cmptun_test_load(t->payload, sizeof(t->payload), v->prologue))
		return "malformed vector";

	if (!cmptun_test_pair(&t->init_static, t->keys[1]) ||
	    !cmptun_test_pair(&t->init_ephemeral, t->keys[2]) ||
	    !cmptun_test_pair(&t->resp_static, t->keys[3]) ||
	    !cmptun_test_pair(&t->resp_ephemeral, t->keys[4]))
		return "public key";

	cmptun_noise_init(&t->init.s, t->payload, cmptun_test_len(v->prologue));
	cmptun_noise_mix_hash(&t->init.s, t->resp_static.pub, 32);
	t->resp.s = t->init.s;
	return NULL;
}

/* -> e, es, s, ss */
static const char *__init cmptun_test_first(struct cmptun_test *t,
					    const struct cmptun_test_message *v)
{
	if (!cmptun_test_load_message(t, v, 32 + 48 + CMPTUN_TEST_TAG))
		return "malformed vector";

	if (memcmp(t->init_ephemeral.pub, t->message, 32))
		return "first message: e";
	cmptun_noise_mix_ephemeral(&t->init.s, t->message);
	cmptun_noise_mix_ephemeral(&t->resp.s, t->message);
	if (!cmptun_test_mix_dh(t, true, &t->init_ephemeral, &t->resp_static))
		return "first message: es";
	if (!cmptun_test_pass(t, &t->init, &t->resp, t->init_static.pub, 32,
			      t->message + 32))
		return "first message: s";
	if (!cmptun_test_mix_dh(t, true, &t->init_static, &t->resp_static))
		return "first message: ss";
	if (!cmptun_test_pass(t, &t->init, &t->resp, t->payload,
			      cmptun_test_len(v->payload), t->message + 80))
		return "first message: payload";

	return NULL;
}

/* <- e, ee, se, psk */
static const char *__init
cmptun_test_second(struct cmptun_test *t, const struct cmptun_test_message *v)
{
	const size_t len = cmptun_test_len(v->payload);

	if (!cmptun_test_load_message(t, v, 32 + CMPTUN_TEST_TAG))
		return "malformed vector";

	if (memcmp(t->resp_ephemeral.pub, t->message, 32))
		return "second message: e";
	cmptun_noise_mix_ephemeral(&t->init.s, t->message);
	cmptun_noise_mix_ephemeral(&t->resp.s, t->message);
	if (!cmptun_test_mix_dh(t, false, &t->init_ephemeral,
				&t->resp_ephemeral))
		return "second message: ee";
	if (!cmptun_test_mix_dh(t, false, &t->init_static, &t->resp_ephemeral))
		return "second message: se";

	t->bad = t->init;
	t->keys[0][0] ^= 1;
	cmptun_noise_mix_psk(&t->bad.s, t->bad.key, t->keys[0]);
	t->keys[0][0] ^= 1;
	if (!cmptun_test_refused(t, t->message + 32, len + CMPTUN_TEST_TAG))
		return "second message: wrong psk";

	cmptun_noise_mix_psk(&t->init.s, t->init.key, t->keys[0]);
	cmptun_noise_mix_psk(&t->resp.s, t->resp.key, t->keys[0]);
	if (!cmptun_test_pass(t, &t->resp, &t->init, t->payload, len,
			      t->message + 32))
		return "second message: payload";

	return NULL;
}

/* mac1 of a message to @to: made, taken, and refused if any byte differs. */
static const char *__init cmptun_test_mac1(struct cmptun_test *t,
					   const struct cmptun_test_message *v,
					   const struct cmptun_test_pair *to)
{
	struct cmptun_wg_macs *macs;
	size_t header, len, i;

	if (!v->mac1)
		return NULL;

	header = cmptun_test_len(v->header);
	len = header + cmptun_test_len(v->message) + sizeof(*macs);
	if (len > sizeof(t->message) ||
	    !cmptun_test_load(t->message, sizeof(t->message), v->header) ||
	    !cmptun_test_load(t->message + header, len - header, v->message) ||
	    !cmptun_test_load(t->out, sizeof(macs->mac1), v->mac1))
		return "malformed vector";

	cmptun_wg_mac1_key(t->bad.key, to->pub);
	cmptun_wg_mac_add(t->message, len, t->bad.key);
	macs = (void *)t->message + len - sizeof(*macs);
	if (memcmp(macs->mac1, t->out, sizeof(macs->mac1)))
		return "mac1";

	for (i = 0; i < len - sizeof(macs->mac2); i++) {
		t->message[i] ^= BIT(i % 8);
		if (cmptun_wg_mac1_valid(t->message, len, t->bad.key))
			return "wrong mac1 accepted";
		t->message[i] ^= BIT(i % 8);
	}
	if (!cmptun_wg_mac1_valid(t->message, len, t->bad.key))
		return "mac1 refused";

	return NULL;
}

static const char *__init cmptun_test_noise(struct cmptun_test *t,
					    const struct cmptun_test_noise *v)
{
	const char *what;
	size_t i, len;

	what = cmptun_test_start(t, v);
	if (!what)
		what = cmptun_test_first(t, &v->handshake[0]);
	if (!what)
		what = cmptun_test_second(t, &v->handshake[1]);
	if (!what)
		what = cmptun_test_mac1(t, &v->handshake[0], &t->resp_static);
	if (!what)
		what = cmptun_test_mac1(t, &v->handshake[1], &t->init_static);
	if (what)
		return what;

	if (v->hash && !cmptun_test_load(t->out, sizeof(t->out), v->hash))
		return "malformed vector";
	if (memcmp(&t->init.s, &t->resp.s, sizeof(t->init.s)) ||
	    (v->hash && memcmp(t->init.s.hash, t->out, 32)))
		return "handshake hash";

	cmptun_noise_split(&t->init.s, t->split[0][0], t->split[0][1]);
	cmptun_noise_split(&t->resp.s, t->split[1][0], t->split[1][1]);
	if (memcmp(t->split[0], t->split[1], sizeof(t->split[0])))
		return "transport keys";

	for (i = 0; i < ARRAY_SIZE(v->transport); i++) {
		if (!v->transport[i].message)
			break;
		if (!cmptun_test_load_message(t, &v->transport[i],
					      CMPTUN_TEST_TAG))
			return "malformed vector";

		len = cmptun_test_len(v->transport[i].payload);
		chacha20poly1305_encrypt(t->out, t->payload, len, NULL, 0,
					 i / 2, t->split[0][i % 2]);
		if (memcmp(t->out, t->message, len + CMPTUN_TEST_TAG))
			return "transport message";
	}

	return NULL;
}

static const char *__init cmptun_test_dh(struct cmptun_test *t, const char *hex)
{
	struct cmptun_test_pair *pair = &t->init_static;

	memset(&t->init, 0, sizeof(t->init));
	memset(pair->priv, 0x77, sizeof(pair->priv));
	if (!cmptun_test_load(pair->pub, sizeof(pair->pub), hex))
		return "malformed vector";

	if (cmptun_noise_mix_dh(&t->init.s, t->init.key, pair->priv,
				pair->pub) ||
	    cmptun_noise_mix_dh(&t->init.s, NULL, pair->priv, pair->pub))
		return "accepted";

	return NULL;
}

static int __init cmptun_test_result(const char *name, size_t i,
				     const char *what)
{
	if (!what)
		return 0;

	pr_err(KBUILD_MODNAME ": selftest: %s, vector %zu: %s\n", name, i,
	       what);
	return -EIO;
}

/**
 * cmptun_wg_selftest - check the handshake and the replay window
 *
 * Return: 0, -ENOMEM, or -EIO after telling the log what failed.
 */
int __init cmptun_wg_selftest(void)
{
	const char *what;
	struct cmptun_test *t;
	int err = 0;
	size_t i;

	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;

	for (i = 0; !err && i < ARRAY_SIZE(cmptun_test_kdfs); i++) {
		what = cmptun_test_kdf(t, &cmptun_test_kdfs[i]);
		err = cmptun_test_result("HKDF", i, what);
	}
	for (i = 0; !err && i < ARRAY_SIZE(cmptun_test_noises); i++) {
		what = cmptun_test_noise(t, &cmptun_test_noises[i]);
		err = cmptun_test_result(cmptun_test_noises[i].name, i, what);
	}
	for (i = 0; !err && i < ARRAY_SIZE(cmptun_test_low_order); i++) {
		what = cmptun_test_dh(t, cmptun_test_low_order[i]);
		err = cmptun_test_result("point of small order", i, what);
	}
	if (!err)
		err = cmptun_test_result("replay window", 0,
					 cmptun_wg_selftest_replay());

	kfree(t);
	return err;
}
