// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: where a peer is, and where we reach it from.
 */
#include <linux/err.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/ipv6.h>

#include "../cmptun.h"
#include "endpoint.h"
#include "messages.h"

static struct cmptun_wg_endpoint *cmptun_wg_endpoint_alloc(gfp_t gfp)
{
	struct cmptun_wg_endpoint *endpoint;

	endpoint = kzalloc(sizeof(*endpoint), gfp);
	if (!endpoint)
		return NULL;

	if (dst_cache_init(&endpoint->dst_cache, gfp)) {
		kfree(endpoint);
		return NULL;
	}

	kref_init(&endpoint->ref);
	return endpoint;
}

/**
 * cmptun_wg_endpoint_create - an endpoint as the user gave it
 * @remote: address and port
 * @local: preferred source address, used if of the same family
 *
 * Context: may sleep.
 * Return: a reference, or NULL without memory.
 */
struct cmptun_wg_endpoint *
cmptun_wg_endpoint_create(const union cmptun_wg_sockaddr *remote,
			  const struct cmptun_addr *local)
{
	struct cmptun_wg_endpoint *endpoint;

	endpoint = cmptun_wg_endpoint_alloc(GFP_KERNEL);
	if (!endpoint)
		return NULL;

	endpoint->remote = *remote;
	if (local->family != remote->any.sa_family)
		return endpoint;

	if (local->family == AF_INET)
		endpoint->local.v4 = local->v4;
	else if (local->family == AF_INET6)
		endpoint->local.v6 = local->v6;
	return endpoint;
}

/**
 * cmptun_wg_endpoint_of_remote - the default for a device with a remote
 * @remote: the device's remote, not "any"
 * @local: the device's local
 *
 * Context: may sleep.
 * Return: a reference to the remote at the default port, or NULL without
 * memory.
 */
struct cmptun_wg_endpoint *
cmptun_wg_endpoint_of_remote(const struct cmptun_addr *remote,
			     const struct cmptun_addr *local)
{
	union cmptun_wg_sockaddr addr = {};

	addr.any.sa_family = remote->family;
	if (remote->family == AF_INET) {
		addr.v4.sin_addr.s_addr = remote->v4;
		addr.v4.sin_port = htons(CMPTUN_WG_DEFAULT_PORT);
	} else {
		addr.v6.sin6_addr = remote->v6;
		addr.v6.sin6_port = htons(CMPTUN_WG_DEFAULT_PORT);
	}

	return cmptun_wg_endpoint_create(&addr, local);
}

/**
 * cmptun_wg_endpoint_addr - address of an endpoint, without its port
 * @endpoint: the endpoint
 *
 * Return: the address.
 */
struct cmptun_addr
cmptun_wg_endpoint_addr(const struct cmptun_wg_endpoint *endpoint)
{
	struct cmptun_addr addr = {
		.family = endpoint->remote.any.sa_family,
	};

	if (addr.family == AF_INET)
		addr.v4 = endpoint->remote.v4.sin_addr.s_addr;
	else
		addr.v6 = endpoint->remote.v6.sin6_addr;
	return addr;
}

static bool cmptun_wg_endpoint_same4(const struct cmptun_wg_endpoint *endpoint,
				     const struct sk_buff *skb)
{
	return endpoint->remote.any.sa_family == AF_INET &&
	       endpoint->remote.v4.sin_addr.s_addr == ip_hdr(skb)->saddr &&
	       endpoint->remote.v4.sin_port == udp_hdr(skb)->source &&
	       endpoint->local.v4 == ip_hdr(skb)->daddr &&
	       endpoint->local_ifindex == skb->skb_iif;
}

static bool cmptun_wg_endpoint_same6(const struct cmptun_wg_endpoint *endpoint,
				     const struct sk_buff *skb)
{
	return endpoint->remote.any.sa_family == AF_INET6 &&
	       ipv6_addr_equal(&endpoint->remote.v6.sin6_addr,
			       &ipv6_hdr(skb)->saddr) &&
	       endpoint->remote.v6.sin6_port == udp_hdr(skb)->source &&
	       endpoint->remote.v6.sin6_scope_id ==
			ipv6_iface_scope_id(&ipv6_hdr(skb)->saddr,
					    skb->skb_iif) &&
	       ipv6_addr_equal(&endpoint->local.v6, &ipv6_hdr(skb)->daddr);
}

/**
 * cmptun_wg_endpoint_of_skb - where an authenticated message came from
 * @skb: with outer IP and UDP headers
 * @current_one: what is known up to now, or NULL
 *
 * Context: any.
 * Return: a reference to a new endpoint, or NULL if nothing has changed or
 * there is no memory (the next message will do as well).
 */
struct cmptun_wg_endpoint *
cmptun_wg_endpoint_of_skb(const struct sk_buff *skb,
			  const struct cmptun_wg_endpoint *current_one)
{
	struct cmptun_wg_endpoint *endpoint;
	bool v4 = ip_hdr(skb)->version == 4;

	if (likely(current_one &&
		   (v4 ? cmptun_wg_endpoint_same4(current_one, skb) :
			 cmptun_wg_endpoint_same6(current_one, skb))))
		return NULL;

	endpoint = cmptun_wg_endpoint_alloc(GFP_ATOMIC);
	if (!endpoint)
		return NULL;

	endpoint->local_ifindex = skb->skb_iif;
	if (v4) {
		endpoint->remote.v4.sin_family = AF_INET;
		endpoint->remote.v4.sin_addr.s_addr = ip_hdr(skb)->saddr;
		endpoint->remote.v4.sin_port = udp_hdr(skb)->source;
		endpoint->local.v4 = ip_hdr(skb)->daddr;
	} else {
		endpoint->remote.v6.sin6_family = AF_INET6;
		endpoint->remote.v6.sin6_addr = ipv6_hdr(skb)->saddr;
		endpoint->remote.v6.sin6_port = udp_hdr(skb)->source;
		endpoint->remote.v6.sin6_scope_id =
			ipv6_iface_scope_id(&ipv6_hdr(skb)->saddr,
					    skb->skb_iif);
		endpoint->local.v6 = ipv6_hdr(skb)->daddr;
	}

	return endpoint;
}

/**
 * cmptun_wg_endpoint_without_local - the same peer, reached from any address
 * @endpoint: where it was last heard of
 *
 * Context: any.
 * Return: a reference to a new endpoint, or NULL if there is nothing to
 * change or no memory.
 */
struct cmptun_wg_endpoint *
cmptun_wg_endpoint_without_local(const struct cmptun_wg_endpoint *endpoint)
{
	struct cmptun_wg_endpoint *copy;

	if (ipv6_addr_any(&endpoint->local.v6) && !endpoint->local_ifindex)
		return NULL;

	copy = cmptun_wg_endpoint_alloc(GFP_ATOMIC);
	if (copy)
		copy->remote = endpoint->remote;
	return copy;
}

/**
 * cmptun_wg_endpoint_drop_route - give back the routes that are cached
 * @endpoint: nobody sends to it meanwhile; may be NULL
 *
 * Context: process or RCU.
 */
void cmptun_wg_endpoint_drop_route(struct cmptun_wg_endpoint *endpoint)
{
	if (endpoint)
		dst_cache_reset_now(&endpoint->dst_cache);
}

/**
 * cmptun_wg_endpoint_get - take a reference
 * @endpoint: may be NULL
 *
 * Return: @endpoint.
 */
struct cmptun_wg_endpoint *
cmptun_wg_endpoint_get(struct cmptun_wg_endpoint *endpoint)
{
	if (endpoint)
		kref_get(&endpoint->ref);

	return endpoint;
}

static void cmptun_wg_endpoint_free_rcu(struct rcu_head *rcu)
{
	struct cmptun_wg_endpoint *endpoint =
		container_of(rcu, struct cmptun_wg_endpoint, rcu);

	dst_cache_destroy(&endpoint->dst_cache);
	kfree(endpoint);
}

static void cmptun_wg_endpoint_release(struct kref *ref)
{
	struct cmptun_wg_endpoint *endpoint =
		container_of(ref, struct cmptun_wg_endpoint, ref);

	call_rcu(&endpoint->rcu, cmptun_wg_endpoint_free_rcu);
}

/**
 * cmptun_wg_endpoint_put - drop a reference
 * @endpoint: may be NULL
 *
 * Context: any.
 */
void cmptun_wg_endpoint_put(struct cmptun_wg_endpoint *endpoint)
{
	if (endpoint)
		kref_put(&endpoint->ref, cmptun_wg_endpoint_release);
}
