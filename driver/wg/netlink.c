// SPDX-License-Identifier: GPL-2.0
/*
 * The attributes of wg mode: into a configuration, and out of it.
 */
#include <crypto/utils.h>
#include <linux/err.h>
#include <net/ipv6.h>
#include <net/netlink.h>
#include <uapi/linux/if_cmptun.h>

#include "../cmptun.h"
#include "endpoint.h"
#include "identity.h"
#include "netlink.h"
#include "peer.h"
#include "settings.h"

/* Each packet is compared with all of them, and all fit into one dump. */
#define CMPTUN_WG_ALLOWED_IPS_MAX 512

static const struct nla_policy
cmptun_wg_allowed_ip_policy[CMPTUN_ALLOWED_IP_A_MAX + 1] = {
	[CMPTUN_ALLOWED_IP_A_FAMILY] = { .type = NLA_U16 },
	[CMPTUN_ALLOWED_IP_A_ADDR] = NLA_POLICY_MIN_LEN(sizeof(struct in_addr)),
	[CMPTUN_ALLOWED_IP_A_CIDR] = { .type = NLA_U8 },
};

static const struct nla_policy
cmptun_wg_peer_policy[CMPTUN_PEER_A_MAX + 1] = {
	[CMPTUN_PEER_A_PUBLIC_KEY] = NLA_POLICY_EXACT_LEN(CMPTUN_KEY_LEN),
	[CMPTUN_PEER_A_PRESHARED_KEY] = NLA_POLICY_EXACT_LEN(CMPTUN_KEY_LEN),
	[CMPTUN_PEER_A_FLAGS] = NLA_POLICY_MASK(NLA_U32,
						CMPTUN_PEER_F_REMOVE_ME),
	[CMPTUN_PEER_A_ENDPOINT] =
		NLA_POLICY_MIN_LEN(sizeof(struct sockaddr_in)),
	[CMPTUN_PEER_A_PERSISTENT_KEEPALIVE] = { .type = NLA_U16 },
	[CMPTUN_PEER_A_LAST_HANDSHAKE] = { .type = NLA_REJECT,
		.reject_message = "peer: latest-handshake is read-only" },
	[CMPTUN_PEER_A_RX_BYTES] = { .type = NLA_REJECT,
		.reject_message = "peer: transfer is read-only" },
	[CMPTUN_PEER_A_TX_BYTES] = { .type = NLA_REJECT,
		.reject_message = "peer: transfer is read-only" },
	[CMPTUN_PEER_A_ALLOWED_IPS] = { .type = NLA_NESTED },
};

static bool cmptun_wg_key_is_zero(const u8 key[CMPTUN_WG_KEY_LEN])
{
	static const u8 none[CMPTUN_WG_KEY_LEN];

	return !crypto_memneq(key, none, sizeof(none));
}

/* Drop all that is known of a peer */
static void cmptun_wg_conf_drop_peer(struct cmptun_wg_conf *wg)
{
	cmptun_wg_peer_put(wg->peer);
	cmptun_wg_settings_put(wg->settings);
	cmptun_wg_endpoint_put(wg->endpoint);
	wg->peer = NULL;
	wg->settings = NULL;
	wg->endpoint = NULL;
	wg->endpoint_is_remote = false;
}

static int cmptun_wg_check_not_self(const struct cmptun_wg_identity *identity,
				    const u8 *peer_key, struct nlattr *attr,
				    struct netlink_ext_ack *extack)
{
	if (!identity ||
	    memcmp(identity->public_key, peer_key, CMPTUN_WG_KEY_LEN))
		return 0;

	NL_SET_ERR_MSG_ATTR(extack, attr,
			    "peer: the public key is the device's own");
	return -EINVAL;
}

/* A handshake is bound to both static keys: another key pair makes another
 * peer of the same one, without sessions.
 */
static int cmptun_wg_set_identity(struct cmptun_dev *ct,
				  struct cmptun_wg_conf *wg,
				  struct cmptun_wg_identity *identity)
{
	struct cmptun_wg_peer *peer = NULL;

	if (wg->peer) {
		peer = cmptun_wg_peer_create(ct, identity,
					     wg->peer->public_key);
		if (!peer) {
			cmptun_wg_identity_put(identity);
			return -ENOMEM;
		}
		cmptun_wg_peer_inherit(peer, wg->peer);
	}

	cmptun_wg_peer_put(wg->peer);
	cmptun_wg_identity_put(wg->identity);
	wg->peer = peer;
	wg->identity = identity;
	return 0;
}

static int cmptun_wg_parse_private_key(struct cmptun_dev *ct,
				       struct cmptun_wg_conf *wg,
				       struct nlattr *attr,
				       struct netlink_ext_ack *extack)
{
	struct cmptun_wg_identity *identity = NULL;
	const u8 *key = nla_data(attr);

	if (!cmptun_wg_key_is_zero(key)) {
		identity = cmptun_wg_identity_create(key);
		if (IS_ERR(identity)) {
			NL_SET_ERR_MSG_ATTR(extack, attr,
					    "private-key: no key pair can be made of it");
			return PTR_ERR(identity);
		}
	}

	if (identity && wg->identity &&
	    !crypto_memneq(identity->private_key, wg->identity->private_key,
			   CMPTUN_WG_KEY_LEN)) {
		cmptun_wg_identity_put(identity);
		return 0;
	}

	return cmptun_wg_set_identity(ct, wg, identity);
}

static int cmptun_wg_parse_allowed_ip(struct cmptun_wg_allowed_ip *ip,
				      struct nlattr *attr,
				      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[CMPTUN_ALLOWED_IP_A_MAX + 1], *addr;
	struct in6_addr raw = {};
	unsigned int len, bits;
	int err;

	err = nla_parse_nested(tb, CMPTUN_ALLOWED_IP_A_MAX, attr,
			       cmptun_wg_allowed_ip_policy, extack);
	if (err)
		return err;

	addr = tb[CMPTUN_ALLOWED_IP_A_ADDR];
	if (!tb[CMPTUN_ALLOWED_IP_A_FAMILY] || !addr ||
	    !tb[CMPTUN_ALLOWED_IP_A_CIDR]) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "allowed-ips: family, address or prefix length missing");
		return -EINVAL;
	}

	ip->family = nla_get_u16(tb[CMPTUN_ALLOWED_IP_A_FAMILY]);
	ip->cidr = nla_get_u8(tb[CMPTUN_ALLOWED_IP_A_CIDR]);
	len = ip->family == AF_INET ? sizeof(struct in_addr) :
				      sizeof(struct in6_addr);
	bits = len * BITS_PER_BYTE;
	if ((ip->family != AF_INET && ip->family != AF_INET6) ||
	    nla_len(addr) != len || ip->cidr > bits) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "allowed-ips: family, address and prefix length do not fit");
		return -EINVAL;
	}

	/* Kept as it is shown: without the bits behind the prefix. */
	memcpy(&raw, nla_data(addr), len);
	ipv6_addr_prefix(&ip->addr, &raw, ip->cidr);
	return 0;
}

static unsigned int cmptun_wg_count_nested(struct nlattr *list)
{
	unsigned int count = 0;
	struct nlattr *attr;
	int rem;

	nla_for_each_nested(attr, list, rem)
		count++;

	return count;
}

static int cmptun_wg_parse_allowed_ips(struct cmptun_wg_settings *settings,
				       struct nlattr *list,
				       struct netlink_ext_ack *extack)
{
	unsigned int i = 0;
	struct nlattr *attr;
	int rem, err;

	nla_for_each_nested(attr, list, rem) {
		err = cmptun_wg_parse_allowed_ip(&settings->allowed_ips[i++],
						 attr, extack);
		if (err)
			return err;
	}

	return 0;
}

static int cmptun_wg_parse_settings(struct cmptun_wg_conf *wg,
				    struct nlattr *tb[],
				    struct netlink_ext_ack *extack)
{
	const struct cmptun_wg_settings *old = wg->settings;
	struct nlattr *list = tb[CMPTUN_PEER_A_ALLOWED_IPS];
	struct nlattr *psk = tb[CMPTUN_PEER_A_PRESHARED_KEY];
	struct cmptun_wg_settings *settings;
	unsigned int count;
	int err;

	if (!psk && !list &&
	    !tb[CMPTUN_PEER_A_PERSISTENT_KEEPALIVE])
		return 0;

	if (list && cmptun_wg_count_nested(list) > CMPTUN_WG_ALLOWED_IPS_MAX) {
		NL_SET_ERR_MSG_ATTR(extack, list,
				    "allowed-ips: more than 512 prefixes");
		return -E2BIG;
	}

	count = list ? cmptun_wg_count_nested(list) : old ? old->count : 0;
	settings = cmptun_wg_settings_create(old, count);
	if (!settings)
		return -ENOMEM;

	if (list) {
		err = cmptun_wg_parse_allowed_ips(settings, list, extack);
		if (err) {
			cmptun_wg_settings_put(settings);
			return err;
		}
	} else if (count) {
		memcpy(settings->allowed_ips, old->allowed_ips,
		       flex_array_size(settings, allowed_ips, count));
	}

	if (psk)
		cmptun_wg_settings_set_psk(settings, nla_data(psk));
	if (tb[CMPTUN_PEER_A_PERSISTENT_KEEPALIVE])
		settings->keepalive =
			nla_get_u16(tb[CMPTUN_PEER_A_PERSISTENT_KEEPALIVE]);

	cmptun_wg_settings_put(wg->settings);
	wg->settings = settings;
	return 0;
}

static bool cmptun_wg_sockaddr_valid(const union cmptun_wg_sockaddr *addr,
				     size_t len)
{
	if (addr->any.sa_family == AF_INET)
		return len == sizeof(addr->v4) && addr->v4.sin_port &&
		       addr->v4.sin_addr.s_addr &&
		       !ipv4_is_multicast(addr->v4.sin_addr.s_addr) &&
		       !ipv4_is_lbcast(addr->v4.sin_addr.s_addr);

	return addr->any.sa_family == AF_INET6 && len == sizeof(addr->v6) &&
	       addr->v6.sin6_port && !ipv6_addr_any(&addr->v6.sin6_addr) &&
	       !ipv6_addr_is_multicast(&addr->v6.sin6_addr);
}

static void cmptun_wg_replace_endpoint(struct cmptun_wg_conf *wg,
				       struct cmptun_wg_endpoint *endpoint,
				       bool is_remote)
{
	cmptun_wg_endpoint_put(wg->endpoint);
	wg->endpoint = endpoint;
	wg->endpoint_is_remote = is_remote;
}

static int cmptun_wg_parse_endpoint(struct cmptun_conf *conf,
				    struct nlattr *attr,
				    struct netlink_ext_ack *extack)
{
	union cmptun_wg_sockaddr addr = {};
	struct cmptun_wg_endpoint *endpoint;

	nla_memcpy(&addr, attr, sizeof(addr));
	if (!cmptun_wg_sockaddr_valid(&addr, nla_len(attr))) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "endpoint: not a unicast IPv4 or IPv6 address with a port");
		return -EINVAL;
	}

	endpoint = cmptun_wg_endpoint_create(&addr, &conf->local);
	if (!endpoint)
		return -ENOMEM;

	cmptun_wg_replace_endpoint(&conf->wg, endpoint, false);
	return 0;
}

/* Make sure that the configuration has the peer that @key names */
static int cmptun_wg_parse_peer_key(struct cmptun_dev *ct,
				    struct cmptun_wg_conf *wg,
				    struct nlattr *attr,
				    struct netlink_ext_ack *extack)
{
	const u8 *key = nla_data(attr);
	struct cmptun_wg_peer *peer;

	if (cmptun_wg_key_is_zero(key)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "peer: the public key is zero");
		return -EINVAL;
	}

	if (wg->peer && !memcmp(wg->peer->public_key, key, CMPTUN_WG_KEY_LEN))
		return 0;

	peer = cmptun_wg_peer_create(ct, wg->identity, key);
	if (!peer)
		return -ENOMEM;

	cmptun_wg_conf_drop_peer(wg);
	wg->peer = peer;
	return 0;
}

static int cmptun_wg_remove_peer(struct cmptun_wg_conf *wg, struct nlattr *attr,
				 struct netlink_ext_ack *extack)
{
	if (!wg->peer ||
	    memcmp(wg->peer->public_key, nla_data(attr), CMPTUN_WG_KEY_LEN)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "peer: no such peer to remove");
		return -ENOENT;
	}

	cmptun_wg_conf_drop_peer(wg);
	return 0;
}

static int cmptun_wg_parse_peer(struct cmptun_dev *ct, struct cmptun_conf *conf,
				struct nlattr *attr,
				struct netlink_ext_ack *extack)
{
	struct nlattr *tb[CMPTUN_PEER_A_MAX + 1];
	struct nlattr *key;
	int err;

	err = nla_parse_nested(tb, CMPTUN_PEER_A_MAX, attr,
			       cmptun_wg_peer_policy, extack);
	if (err)
		return err;

	key = tb[CMPTUN_PEER_A_PUBLIC_KEY];
	if (!key) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "peer: the public key is missing");
		return -EINVAL;
	}

	if (tb[CMPTUN_PEER_A_FLAGS] &&
	    nla_get_u32(tb[CMPTUN_PEER_A_FLAGS]) & CMPTUN_PEER_F_REMOVE_ME)
		return cmptun_wg_remove_peer(&conf->wg, key, extack);

	err = cmptun_wg_parse_peer_key(ct, &conf->wg, key, extack);
	if (!err)
		err = cmptun_wg_parse_settings(&conf->wg, tb, extack);
	if (!err && tb[CMPTUN_PEER_A_ENDPOINT])
		err = cmptun_wg_parse_endpoint(conf, tb[CMPTUN_PEER_A_ENDPOINT],
					       extack);
	return err;
}

/* A peer that was given no endpoint is at the device's remote; one that was
 * is reached from another address if the device's local changes.
 */
static int cmptun_wg_follow_addrs(struct cmptun_conf *conf,
				  struct nlattr *data[])
{
	bool to = data[IFLA_CMPTUN_REMOTE] || data[IFLA_CMPTUN_REMOTE6];
	bool from = data[IFLA_CMPTUN_LOCAL] || data[IFLA_CMPTUN_LOCAL6];
	struct cmptun_wg_conf *wg = &conf->wg;
	struct cmptun_wg_endpoint *endpoint;
	bool is_remote;

	if (!wg->peer)
		return 0;

	is_remote = !wg->endpoint || (wg->endpoint_is_remote && (to || from));
	if (is_remote && conf->remote.family != AF_UNSPEC)
		endpoint = cmptun_wg_endpoint_of_remote(&conf->remote,
							&conf->local);
	else if (wg->endpoint && from)
		endpoint = cmptun_wg_endpoint_create(&wg->endpoint->remote,
						     &conf->local);
	else
		return 0;

	if (!endpoint)
		return -ENOMEM;

	cmptun_wg_replace_endpoint(wg, endpoint, is_remote);
	return 0;
}

/**
 * cmptun_wg_conf_parse - &cmptun_mode.conf_parse
 * @ct: the device
 * @conf: configuration to change; its addresses are up to date
 * @data: attributes
 * @extack: gets the reason of a refusal
 *
 * Context: RTNL, may sleep.
 * Return: 0, -EINVAL, -E2BIG, -ENOENT (peer to remove), -ENOMEM.
 */
int cmptun_wg_conf_parse(struct cmptun_dev *ct, struct cmptun_conf *conf,
			 struct nlattr *data[], struct netlink_ext_ack *extack)
{
	struct cmptun_wg_conf *wg = &conf->wg;
	struct nlattr *blame;
	int err = 0;

	if (data[IFLA_CMPTUN_LISTEN_PORT])
		wg->port = nla_get_u16(data[IFLA_CMPTUN_LISTEN_PORT]);

	if (data[IFLA_CMPTUN_PRIVATE_KEY])
		err = cmptun_wg_parse_private_key(ct, wg,
						  data[IFLA_CMPTUN_PRIVATE_KEY],
						  extack);
	if (!err && data[IFLA_CMPTUN_PEER])
		err = cmptun_wg_parse_peer(ct, conf, data[IFLA_CMPTUN_PEER],
					   extack);
	if (!err)
		err = cmptun_wg_follow_addrs(conf, data);
	if (err || !wg->peer)
		return err;

	blame = data[IFLA_CMPTUN_PEER] ?: data[IFLA_CMPTUN_PRIVATE_KEY];
	return cmptun_wg_check_not_self(wg->identity, wg->peer->public_key,
					blame, extack);
}

/**
 * cmptun_wg_fill_size - &cmptun_mode.fill_size
 * @conf: configuration to be shown
 *
 * Return: upper bound in bytes.
 */
size_t cmptun_wg_fill_size(const struct cmptun_conf *conf)
{
	const struct cmptun_wg_settings *settings = conf->wg.settings;
	size_t allowed_ip = nla_total_size(0) +
			    nla_total_size(sizeof(u16)) +
			    nla_total_size(sizeof(struct in6_addr)) +
			    nla_total_size(sizeof(u8));

	return nla_total_size(CMPTUN_KEY_LEN) +		/* PUBLIC_KEY */
	       nla_total_size(sizeof(u16)) +		/* LISTEN_PORT */
	       nla_total_size(0) +			/* PEER */
	       nla_total_size(CMPTUN_KEY_LEN) +
	       nla_total_size(sizeof(u32)) +		/* FLAGS */
	       nla_total_size(sizeof(union cmptun_wg_sockaddr)) +
	       nla_total_size(sizeof(u16)) +		/* KEEPALIVE */
	       nla_total_size(2 * sizeof(s64)) +	/* LAST_HANDSHAKE */
	       nla_total_size_64bit(sizeof(u64)) * 2 +	/* RX, TX */
	       nla_total_size(0) +			/* ALLOWED_IPS */
	       allowed_ip * (settings ? settings->count : 0);
}

static int cmptun_wg_fill_allowed_ip(struct sk_buff *skb,
				     const struct cmptun_wg_allowed_ip *ip)
{
	size_t len = ip->family == AF_INET ? sizeof(struct in_addr) :
					     sizeof(struct in6_addr);
	struct nlattr *nest = nla_nest_start(skb, 0);

	if (!nest ||
	    nla_put_u16(skb, CMPTUN_ALLOWED_IP_A_FAMILY, ip->family) ||
	    nla_put(skb, CMPTUN_ALLOWED_IP_A_ADDR, len, &ip->addr) ||
	    nla_put_u8(skb, CMPTUN_ALLOWED_IP_A_CIDR, ip->cidr))
		return -EMSGSIZE;

	nla_nest_end(skb, nest);
	return 0;
}

static int cmptun_wg_fill_settings(struct sk_buff *skb,
				   const struct cmptun_wg_settings *settings)
{
	struct nlattr *list;
	unsigned int i;

	if (!settings)
		return 0;

	if (nla_put_u32(skb, CMPTUN_PEER_A_FLAGS, settings->has_psk ?
			CMPTUN_PEER_F_HAS_PRESHARED_KEY : 0) ||
	    nla_put_u16(skb, CMPTUN_PEER_A_PERSISTENT_KEEPALIVE,
			settings->keepalive))
		return -EMSGSIZE;

	list = nla_nest_start(skb, CMPTUN_PEER_A_ALLOWED_IPS);
	if (!list)
		return -EMSGSIZE;

	for (i = 0; i < settings->count; i++) {
		if (cmptun_wg_fill_allowed_ip(skb, &settings->allowed_ips[i]))
			return -EMSGSIZE;
	}

	nla_nest_end(skb, list);
	return 0;
}

static int cmptun_wg_fill_endpoint(struct sk_buff *skb,
				   const struct cmptun_wg_peer *peer)
{
	const struct cmptun_wg_endpoint *endpoint;
	int err = 0;

	rcu_read_lock();
	endpoint = rcu_dereference(peer->endpoint);
	if (endpoint)
		err = nla_put(skb, CMPTUN_PEER_A_ENDPOINT,
			      endpoint->remote.any.sa_family == AF_INET ?
			      sizeof(endpoint->remote.v4) :
			      sizeof(endpoint->remote.v6), &endpoint->remote);
	rcu_read_unlock();
	return err;
}

static int cmptun_wg_fill_peer(struct sk_buff *skb,
			       const struct cmptun_wg_conf *wg)
{
	const struct cmptun_wg_peer *peer = wg->peer;
	u64 last = atomic64_read(&peer->last_handshake);
	struct timespec64 ts = ns_to_timespec64(last);
	s64 when[2] = { ts.tv_sec, ts.tv_nsec };

	if (nla_put(skb, CMPTUN_PEER_A_PUBLIC_KEY, CMPTUN_KEY_LEN,
		    peer->public_key) ||
	    cmptun_wg_fill_endpoint(skb, peer) ||
	    nla_put(skb, CMPTUN_PEER_A_LAST_HANDSHAKE, sizeof(when), when) ||
	    nla_put_u64_64bit(skb, CMPTUN_PEER_A_RX_BYTES,
			      atomic64_read(&peer->rx_bytes),
			      CMPTUN_PEER_A_UNSPEC) ||
	    nla_put_u64_64bit(skb, CMPTUN_PEER_A_TX_BYTES,
			      atomic64_read(&peer->tx_bytes),
			      CMPTUN_PEER_A_UNSPEC) ||
	    cmptun_wg_fill_settings(skb, wg->settings))
		return -EMSGSIZE;

	return 0;
}

/**
 * cmptun_wg_fill - &cmptun_mode.fill
 * @skb: where to
 * @conf: configuration to be shown
 *
 * Private and preshared keys stay here: anyone may read this.
 *
 * Return: 0 or -EMSGSIZE.
 */
int cmptun_wg_fill(struct sk_buff *skb, const struct cmptun_conf *conf)
{
	const struct cmptun_wg_conf *wg = &conf->wg;
	struct nlattr *nest;

	if (nla_put_u16(skb, IFLA_CMPTUN_LISTEN_PORT, wg->port))
		return -EMSGSIZE;

	if (wg->identity && nla_put(skb, IFLA_CMPTUN_PUBLIC_KEY, CMPTUN_KEY_LEN,
				    wg->identity->public_key))
		return -EMSGSIZE;

	if (!wg->peer)
		return 0;

	nest = nla_nest_start(skb, IFLA_CMPTUN_PEER);
	if (!nest || cmptun_wg_fill_peer(skb, wg))
		return -EMSGSIZE;

	nla_nest_end(skb, nest);
	return 0;
}
