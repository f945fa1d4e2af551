/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_ENDPOINT_H
#define CMPTUN_WG_ENDPOINT_H

#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <net/dst_cache.h>

struct cmptun_addr;
struct net;
struct sk_buff;

/**
 * union cmptun_wg_sockaddr - an IPv4 or IPv6 socket address
 * @any: for its family
 * @v4: IPv4
 * @v6: IPv6
 */
union cmptun_wg_sockaddr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/**
 * struct cmptun_wg_endpoint - where a peer is, and where we reach it from
 * @ref: references
 * @rcu: for freeing
 * @remote: the peer's address
 * @local: our address that it last wrote to, zeroes for any; of the family
 *	of @remote, without port
 * @local_ifindex: device it was received by, 0 for any
 * @dst_cache: route to @remote; per CPU, own locking
 *
 * Immutable but for the cache: a peer that roams gets a new one, and with it
 * an empty cache, so that no packet goes to the new address by the old route.
 */
struct cmptun_wg_endpoint {
	struct kref ref;
	struct rcu_head rcu;
	union cmptun_wg_sockaddr remote;
	union {
		__be32 v4;
		struct in6_addr v6;
	} local;
	int local_ifindex;
	struct dst_cache dst_cache;
};

struct cmptun_wg_endpoint *
cmptun_wg_endpoint_create(const union cmptun_wg_sockaddr *remote,
			  const struct cmptun_addr *local);
struct cmptun_wg_endpoint *
cmptun_wg_endpoint_of_remote(const struct cmptun_addr *remote,
			     const struct cmptun_addr *local);
struct cmptun_addr
cmptun_wg_endpoint_addr(const struct cmptun_wg_endpoint *endpoint);
struct cmptun_wg_endpoint *
cmptun_wg_endpoint_of_skb(const struct sk_buff *skb,
			  const struct cmptun_wg_endpoint *current_one);
struct cmptun_wg_endpoint *
cmptun_wg_endpoint_without_local(const struct cmptun_wg_endpoint *endpoint);
void cmptun_wg_endpoint_drop_route(struct cmptun_wg_endpoint *endpoint);
struct cmptun_wg_endpoint *
cmptun_wg_endpoint_get(struct cmptun_wg_endpoint *endpoint);
void cmptun_wg_endpoint_put(struct cmptun_wg_endpoint *endpoint);

#endif /* CMPTUN_WG_ENDPOINT_H */
