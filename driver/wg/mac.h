/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_MAC_H
#define CMPTUN_WG_MAC_H

#include <linux/types.h>

#include "messages.h"

void cmptun_wg_mac1_key(u8 key[CMPTUN_WG_KEY_LEN],
			const u8 public_key[CMPTUN_WG_KEY_LEN]);
void cmptun_wg_mac_add(void *message, size_t len,
		       const u8 mac1_key[CMPTUN_WG_KEY_LEN]);
bool cmptun_wg_mac1_valid(const void *message, size_t len,
			  const u8 mac1_key[CMPTUN_WG_KEY_LEN]);

#endif /* CMPTUN_WG_MAC_H */
