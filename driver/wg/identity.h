/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_IDENTITY_H
#define CMPTUN_WG_IDENTITY_H

#include <linux/kref.h>
#include <linux/types.h>

#include "messages.h"

/**
 * struct cmptun_wg_identity - our static key pair
 * @ref: references
 * @private_key: wiped with the last reference
 * @public_key: goes with it
 * @mac1_key: for the mac1 of messages to us, section 5.4.4
 *
 * Immutable.
 */
struct cmptun_wg_identity {
	struct kref ref;
	u8 private_key[CMPTUN_WG_KEY_LEN];
	u8 public_key[CMPTUN_WG_KEY_LEN];
	u8 mac1_key[CMPTUN_WG_KEY_LEN];
};

struct cmptun_wg_identity *
cmptun_wg_identity_create(const u8 private_key[CMPTUN_WG_KEY_LEN]);
struct cmptun_wg_identity *
cmptun_wg_identity_get(struct cmptun_wg_identity *identity);
void cmptun_wg_identity_put(struct cmptun_wg_identity *identity);

#endif /* CMPTUN_WG_IDENTITY_H */
