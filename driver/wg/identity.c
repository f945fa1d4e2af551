// SPDX-License-Identifier: GPL-2.0
/*
 * Our static key pair.
 */
#include <crypto/curve25519.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "identity.h"
#include "mac.h"

/**
 * cmptun_wg_identity_create - make a key pair of a private key
 * @private_key: any 32 bytes but zeroes; clamped
 *
 * Return: a reference, or an error pointer: -ENOMEM, -EINVAL.
 */
struct cmptun_wg_identity *
cmptun_wg_identity_create(const u8 private_key[CMPTUN_WG_KEY_LEN])
{
	struct cmptun_wg_identity *identity;

	identity = kzalloc(sizeof(*identity), GFP_KERNEL);
	if (!identity)
		return ERR_PTR(-ENOMEM);

	kref_init(&identity->ref);
	memcpy(identity->private_key, private_key, CMPTUN_WG_KEY_LEN);
	curve25519_clamp_secret(identity->private_key);
	if (!curve25519_generate_public(identity->public_key,
					identity->private_key)) {
		cmptun_wg_identity_put(identity);
		return ERR_PTR(-EINVAL);
	}

	cmptun_wg_mac1_key(identity->mac1_key, identity->public_key);
	return identity;
}

/**
 * cmptun_wg_identity_get - take a reference
 * @identity: may be NULL
 *
 * Return: @identity.
 */
struct cmptun_wg_identity *
cmptun_wg_identity_get(struct cmptun_wg_identity *identity)
{
	if (identity)
		kref_get(&identity->ref);

	return identity;
}

static void cmptun_wg_identity_release(struct kref *ref)
{
	struct cmptun_wg_identity *identity =
		container_of(ref, struct cmptun_wg_identity, ref);

	kfree_sensitive(identity);
}

/**
 * cmptun_wg_identity_put - drop a reference, and wipe the key with the last
 * @identity: may be NULL
 */
void cmptun_wg_identity_put(struct cmptun_wg_identity *identity)
{
	if (identity)
		kref_put(&identity->ref, cmptun_wg_identity_release);
}
