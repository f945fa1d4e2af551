/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_SETTINGS_H
#define CMPTUN_WG_SETTINGS_H

#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/types.h>

#include "messages.h"

struct sk_buff;

/**
 * struct cmptun_wg_allowed_ip - a range of inner addresses
 * @family: AF_INET or AF_INET6
 * @cidr: length of the prefix in bits
 * @addr: the prefix; an IPv4 one in the first word, rest zero
 */
struct cmptun_wg_allowed_ip {
	sa_family_t family;
	u8 cidr;
	struct in6_addr addr;
};

/**
 * struct cmptun_wg_settings - what the user set for a peer
 * @ref: references
 * @psk: preshared key, zeroes for none; wiped with the last reference
 * @has_psk: there is one
 * @keepalive: interval of persistent keepalives in seconds, 0 for none
 * @count: length of @allowed_ips; 0 allows every address
 * @allowed_ips: inner addresses at the peer's end
 *
 * Immutable: a change makes a new one.
 */
struct cmptun_wg_settings {
	struct kref ref;
	u8 psk[CMPTUN_WG_KEY_LEN];
	bool has_psk;
	u16 keepalive;
	unsigned int count;
	struct cmptun_wg_allowed_ip allowed_ips[] __counted_by(count);
};

struct cmptun_wg_settings *
cmptun_wg_settings_create(const struct cmptun_wg_settings *from,
			  unsigned int count);
struct cmptun_wg_settings *
cmptun_wg_settings_get(struct cmptun_wg_settings *settings);
void cmptun_wg_settings_put(struct cmptun_wg_settings *settings);

void cmptun_wg_settings_set_psk(struct cmptun_wg_settings *settings,
				const u8 psk[CMPTUN_WG_KEY_LEN]);
bool cmptun_wg_allows_source(const struct cmptun_wg_settings *settings,
			     const struct sk_buff *skb);
bool cmptun_wg_allows_destination(const struct cmptun_wg_settings *settings,
				  const struct sk_buff *skb);

#endif /* CMPTUN_WG_SETTINGS_H */
