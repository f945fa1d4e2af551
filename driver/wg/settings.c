// SPDX-License-Identifier: GPL-2.0
/*
 * What the user set for a peer, and whether that allows a packet.
 *
 * The list is walked: a point-to-point tunnel has a handful of ranges.
 */
#include <crypto/utils.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/skbuff.h>
#include <net/ipv6.h>

#include "settings.h"

/**
 * cmptun_wg_settings_create - settings to be filled in
 * @from: taken over, except for the allowed IPs; NULL for the defaults
 * @count: allowed IPs to make room for
 *
 * Context: may sleep.
 * Return: a reference, or NULL without memory.
 */
struct cmptun_wg_settings *
cmptun_wg_settings_create(const struct cmptun_wg_settings *from,
			  unsigned int count)
{
	struct cmptun_wg_settings *settings;

	settings = kzalloc(struct_size(settings, allowed_ips, count),
			   GFP_KERNEL);
	if (!settings)
		return NULL;

	kref_init(&settings->ref);
	settings->count = count;
	if (from) {
		memcpy(settings->psk, from->psk, sizeof(settings->psk));
		settings->has_psk = from->has_psk;
		settings->keepalive = from->keepalive;
	}

	return settings;
}

/**
 * cmptun_wg_settings_get - take a reference
 * @settings: may be NULL
 *
 * Return: @settings.
 */
struct cmptun_wg_settings *
cmptun_wg_settings_get(struct cmptun_wg_settings *settings)
{
	if (settings)
		kref_get(&settings->ref);

	return settings;
}

static void cmptun_wg_settings_release(struct kref *ref)
{
	struct cmptun_wg_settings *settings =
		container_of(ref, struct cmptun_wg_settings, ref);

	kfree_sensitive(settings);
}

/**
 * cmptun_wg_settings_put - drop a reference, and wipe the key with the last
 * @settings: may be NULL
 */
void cmptun_wg_settings_put(struct cmptun_wg_settings *settings)
{
	if (settings)
		kref_put(&settings->ref, cmptun_wg_settings_release);
}

/**
 * cmptun_wg_settings_set_psk - set the preshared key
 * @settings: not yet in use
 * @psk: zeroes for none
 */
void cmptun_wg_settings_set_psk(struct cmptun_wg_settings *settings,
				const u8 psk[CMPTUN_WG_KEY_LEN])
{
	static const u8 none[CMPTUN_WG_KEY_LEN];

	memcpy(settings->psk, psk, sizeof(settings->psk));
	settings->has_psk = crypto_memneq(psk, none, sizeof(none));
}

static bool cmptun_wg_allows(const struct cmptun_wg_settings *settings,
			     sa_family_t family, const struct in6_addr *addr)
{
	unsigned int i;

	if (!settings || !settings->count)
		return true;

	for (i = 0; i < settings->count; i++) {
		const struct cmptun_wg_allowed_ip *ip =
			&settings->allowed_ips[i];

		if (ip->family == family &&
		    ipv6_prefix_equal(addr, &ip->addr, ip->cidr))
			return true;
	}

	return false;
}

static bool cmptun_wg_allows_v4(const struct cmptun_wg_settings *settings,
				__be32 addr)
{
	struct in6_addr padded = { .s6_addr32 = { addr } };

	return cmptun_wg_allows(settings, AF_INET, &padded);
}

/**
 * cmptun_wg_allows_source - may the peer send this packet?
 * @settings: the peer's
 * @skb: inner IPv4 or IPv6 packet, headers pulled
 *
 * Return: true if so.
 */
bool cmptun_wg_allows_source(const struct cmptun_wg_settings *settings,
			     const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP))
		return cmptun_wg_allows_v4(settings, ip_hdr(skb)->saddr);

	return cmptun_wg_allows(settings, AF_INET6, &ipv6_hdr(skb)->saddr);
}

/**
 * cmptun_wg_allows_destination - is this packet for the peer?
 * @settings: the peer's
 * @skb: inner IPv4 or IPv6 packet, headers pulled
 *
 * Return: true if so.
 */
bool cmptun_wg_allows_destination(const struct cmptun_wg_settings *settings,
				  const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP))
		return cmptun_wg_allows_v4(settings, ip_hdr(skb)->daddr);

	return cmptun_wg_allows(settings, AF_INET6, &ipv6_hdr(skb)->daddr);
}
