// SPDX-License-Identifier: GPL-2.0
/*
 * cmptun_request.c - a checked command line as netlink attributes
 *
 * Only what was given is sent. Kinds that know no partial change read the
 * device back first and send everything; between the two another change may
 * be lost, and write-only attributes could not be read back at all.
 */
#include <string.h>
#include <arpa/inet.h>

#include "link_cmptun.h"

/**
 * struct cmptun_request - a message under construction
 * @n: the message of ip(8)
 * @args: where the attributes come from
 * @full: an attribute did not fit; the ones after it are not tried
 */
struct cmptun_request {
	struct nlmsghdr *n;
	const struct cmptun_args *args;
	bool full;
};

/* where the next attribute goes */
static void *cmptun_tail(struct nlmsghdr *n)
{
	return (char *)n + NLMSG_ALIGN(n->nlmsg_len);
}

/* addattr_l() checks, too, but its message is of bytes and not of networks */
static void cmptun_put(struct cmptun_request *req, int type, const void *data,
		       size_t len)
{
	if (NLMSG_ALIGN(req->n->nlmsg_len) + RTA_SPACE(len) > IP_REQUEST_MAX)
		req->full = true;
	if (!req->full)
		addattr_l(req->n, IP_REQUEST_MAX, type, data, len);
}

static void cmptun_put_u8(struct cmptun_request *req, int type, __u8 value)
{
	cmptun_put(req, type, &value, sizeof(value));
}

static void cmptun_put_u16(struct cmptun_request *req, int type, __u16 value)
{
	cmptun_put(req, type, &value, sizeof(value));
}

static void cmptun_put_u32(struct cmptun_request *req, int type, __u32 value)
{
	cmptun_put(req, type, &value, sizeof(value));
}

/* the kernel takes a nest of ours only with the flag */
static struct rtattr *cmptun_nest(struct cmptun_request *req, int type)
{
	struct rtattr *nest = cmptun_tail(req->n);

	cmptun_put(req, type | NLA_F_NESTED, NULL, 0);
	return nest;
}

static void cmptun_nest_end(struct cmptun_request *req, struct rtattr *nest)
{
	if (!req->full)
		nest->rta_len = (char *)cmptun_tail(req->n) - (char *)nest;
}

/*
 * "any" has no family of its own: it goes with the other address, so that
 * "local any remote 2001:db8::1" is a tunnel over IPv6.
 */
static void cmptun_put_addresses(struct cmptun_request *req)
{
	const struct cmptun_args *args = req->args;
	bool ip6 = args->local.family == AF_INET6 ||
		   args->remote.family == AF_INET6;
	size_t len = ip6 ? 16 : 4;

	if (cmptun_seen(args, CMPTUN_WORD_LOCAL))
		cmptun_put(req, ip6 ? IFLA_CMPTUN_LOCAL6 : IFLA_CMPTUN_LOCAL,
			   args->local.bytes, len);
	if (cmptun_seen(args, CMPTUN_WORD_REMOTE))
		cmptun_put(req, ip6 ? IFLA_CMPTUN_REMOTE6 : IFLA_CMPTUN_REMOTE,
			   args->remote.bytes, len);
}

static void cmptun_put_device(struct cmptun_request *req)
{
	const struct cmptun_args *args = req->args;

	if (cmptun_seen(args, CMPTUN_WORD_MODE))
		cmptun_put_u8(req, IFLA_CMPTUN_MODE, args->mode);
	if (cmptun_seen(args, CMPTUN_WORD_DEV))
		cmptun_put_u32(req, IFLA_CMPTUN_LINK, args->link);
	cmptun_put_addresses(req);
	if (cmptun_seen(args, CMPTUN_WORD_TTL))
		cmptun_put_u8(req, IFLA_CMPTUN_TTL, args->ttl);
	if (cmptun_seen(args, CMPTUN_WORD_TOS))
		cmptun_put_u8(req, IFLA_CMPTUN_TOS, args->tos);
	if (cmptun_seen(args, CMPTUN_WORD_PMTUDISC))
		cmptun_put_u8(req, IFLA_CMPTUN_PMTUDISC, args->pmtudisc);
	if (cmptun_seen(args, CMPTUN_WORD_FWMARK))
		cmptun_put_u32(req, IFLA_CMPTUN_FWMARK, args->fwmark);
	if (cmptun_seen(args, CMPTUN_WORD_LISTEN_PORT))
		cmptun_put_u16(req, IFLA_CMPTUN_LISTEN_PORT,
			       args->listen_port);
}

static void cmptun_put_allowed_ips(struct cmptun_request *req)
{
	const char *list = req->args->allowed_ips;
	struct rtattr *outer, *inner;
	struct cmptun_addr net;

	/* an empty list is sent as such, it removes all there were */
	outer = cmptun_nest(req, CMPTUN_PEER_A_ALLOWED_IPS);
	while (*list && !req->full) {
		list = cmptun_cidr_next(&net, list);
		inner = cmptun_nest(req, 0);
		cmptun_put_u16(req, CMPTUN_ALLOWED_IP_A_FAMILY, net.family);
		cmptun_put(req, CMPTUN_ALLOWED_IP_A_ADDR, net.bytes,
			   net.family == AF_INET ? 4 : 16);
		cmptun_put_u8(req, CMPTUN_ALLOWED_IP_A_CIDR, net.cidr);
		cmptun_nest_end(req, inner);
	}
	cmptun_nest_end(req, outer);
}

static int cmptun_put_secret(struct cmptun_request *req, int type,
			     const char *word, const char *file)
{
	__u8 key[CMPTUN_KEY_LEN];
	int err;

	if (req->full)
		return 0;
	err = cmptun_key_read(key, word, file);
	if (!err)
		cmptun_put(req, type, key, sizeof(key));
	explicit_bzero(key, sizeof(key));
	return err;
}

/* everything that may be too long goes before the secret */
static int cmptun_put_peer(struct cmptun_request *req)
{
	const struct cmptun_args *args = req->args;
	struct rtattr *nest;
	int err = 0;

	nest = cmptun_nest(req, IFLA_CMPTUN_PEER);
	cmptun_put(req, CMPTUN_PEER_A_PUBLIC_KEY, args->public_key,
		   sizeof(args->public_key));
	if (cmptun_seen(args, CMPTUN_WORD_REMOVE))
		cmptun_put_u32(req, CMPTUN_PEER_A_FLAGS,
			       CMPTUN_PEER_F_REMOVE_ME);
	if (cmptun_seen(args, CMPTUN_WORD_ENDPOINT))
		cmptun_put(req, CMPTUN_PEER_A_ENDPOINT, &args->endpoint,
			   args->endpoint.sa.sa_family == AF_INET ?
			   sizeof(args->endpoint.sin) :
			   sizeof(args->endpoint.sin6));
	if (cmptun_seen(args, CMPTUN_WORD_KEEPALIVE))
		cmptun_put_u16(req, CMPTUN_PEER_A_PERSISTENT_KEEPALIVE,
			       args->keepalive);
	if (cmptun_seen(args, CMPTUN_WORD_ALLOWED_IPS))
		cmptun_put_allowed_ips(req);
	if (cmptun_seen(args, CMPTUN_WORD_PRESHARED_KEY))
		err = cmptun_put_secret(req, CMPTUN_PEER_A_PRESHARED_KEY,
					"preshared-key", args->preshared_key);
	cmptun_nest_end(req, nest);
	return err;
}

/**
 * cmptun_request_fill() - add the attributes of a command line to a message
 * @n: the message, of %IP_REQUEST_MAX bytes
 * @args: the command line
 *
 * The copy of a key that stays in @n is out of reach from here on: ip(8)
 * sends the message after we return. See cmptun_wipe_stack().
 *
 * Return: 0, or -1 after a message; then @n is as it was, without secrets.
 */
int cmptun_request_fill(struct nlmsghdr *n, const struct cmptun_args *args)
{
	struct cmptun_request req = { .n = n, .args = args };
	__u32 start = n->nlmsg_len;
	int err = 0;

	cmptun_put_device(&req);
	if (cmptun_seen(args, CMPTUN_WORD_PEER))
		err = cmptun_put_peer(&req);
	if (!err && cmptun_seen(args, CMPTUN_WORD_PRIVATE_KEY))
		err = cmptun_put_secret(&req, IFLA_CMPTUN_PRIVATE_KEY,
					"private-key", args->private_key);
	if (!err && req.full) {
		err = -1;
		fprintf(stderr,
			"cmptun: too many %s for one ip command: it holds %u bytes\n",
			cmptun_seen(args, CMPTUN_WORD_ALLOWED_IPS) ?
			"allowed-ips" : "arguments", IP_REQUEST_MAX);
	}
	if (err) {
		explicit_bzero((char *)n + start, n->nlmsg_len - start);
		n->nlmsg_len = start;
	}
	return err;
}
