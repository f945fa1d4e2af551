/* SPDX-License-Identifier: GPL-2.0 */
/*
 * link_cmptun.h - what the files of the cmptun plugin share
 */
#ifndef _LINK_CMPTUN_H
#define _LINK_CMPTUN_H

#include <stdbool.h>
#include <stddef.h>
#include <netinet/in.h>
#include <linux/types.h>
#include <linux/if_cmptun.h>

#include "iproute2.h"

#define __maybe_unused	__attribute__((__unused__))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* a key in base64, without and with the terminating 0 */
#define CMPTUN_KEY_B64_LEN	44
#define CMPTUN_KEY_B64_SIZE	(CMPTUN_KEY_B64_LEN + 1)

/* names of the command line; aliases share one */
enum cmptun_word {
	CMPTUN_WORD_MODE,
	CMPTUN_WORD_LOCAL,
	CMPTUN_WORD_REMOTE,
	CMPTUN_WORD_TTL,
	CMPTUN_WORD_TOS,
	CMPTUN_WORD_PMTUDISC,
	CMPTUN_WORD_DEV,
	CMPTUN_WORD_FWMARK,
	CMPTUN_WORD_PRIVATE_KEY,
	CMPTUN_WORD_LISTEN_PORT,
	CMPTUN_WORD_PEER,
	CMPTUN_WORD_REMOVE,
	CMPTUN_WORD_PRESHARED_KEY,
	CMPTUN_WORD_ENDPOINT,
	CMPTUN_WORD_ALLOWED_IPS,
	CMPTUN_WORD_KEEPALIVE,
};

/**
 * struct cmptun_addr - an address, or a network
 * @family: AF_INET or AF_INET6; AF_UNSPEC is "any", of whichever family
 * @cidr: length of the prefix
 * @bytes: the address in network order, all zeroes for "any"
 */
struct cmptun_addr {
	__u16 family;
	__u8 cidr;
	__u8 bytes[16];
};

/**
 * struct cmptun_args - a command line, checked and converted
 * @seen: one bit per &enum cmptun_word that was given. A member counts only
 *	with its bit: what was not given must not be sent, so that the kernel
 *	keeps it.
 * @mode: &enum cmptun_mode_id
 * @ttl: 0 is "inherit"
 * @tos: 1 is "inherit"
 * @pmtudisc: 0 or 1
 * @listen_port: 0 is "any"
 * @link: ifindex, 0 is "any"
 * @fwmark: 0 is "off"
 * @local: outer source
 * @remote: outer destination
 * @private_key: a file name. No key is read while parsing: a command that is
 *	refused then has none in memory.
 * @public_key: of the peer
 * @preshared_key: a file name
 * @endpoint: of the peer
 * @allowed_ips: the list as typed, known to be well formed
 * @keepalive: seconds, 0 is "off"
 */
struct cmptun_args {
	__u32 seen;
	__u8 mode;
	__u8 ttl;
	__u8 tos;
	__u8 pmtudisc;
	__u16 listen_port;
	__u32 link;
	__u32 fwmark;
	struct cmptun_addr local;
	struct cmptun_addr remote;
	const char *private_key;
	__u8 public_key[CMPTUN_KEY_LEN];
	const char *preshared_key;
	union {
		struct sockaddr sa;
		struct sockaddr_in sin;
		struct sockaddr_in6 sin6;
	} endpoint;
	const char *allowed_ips;
	__u16 keepalive;
};

static inline bool cmptun_seen(const struct cmptun_args *args,
			       enum cmptun_word word)
{
	return args->seen & (1U << word);
}

/* ip(8) is to see cmptun_link_util and nothing else */
#pragma GCC visibility push(hidden)

/* cmptun_addr.c */
bool cmptun_addr_parse(struct cmptun_addr *addr, const char *text);
const char *cmptun_cidr_next(struct cmptun_addr *net, const char *list);
bool cmptun_endpoint_parse(struct cmptun_args *args, const char *text);
bool cmptun_number(__u32 *value, const char *text, __u32 max);

/* cmptun_key.c */
bool cmptun_key_decode(__u8 *key, const char *text, size_t len);
void cmptun_key_encode(char *text, const __u8 *key);
bool cmptun_key_suspect(const char *arg);
const char *cmptun_key_shown(const char *arg);
int cmptun_key_read(__u8 *key, const char *word, const char *file);

/* cmptun_request.c */
int cmptun_request_fill(struct nlmsghdr *n, const struct cmptun_args *args);

/* cmptun_print.c */
void cmptun_print_opt(struct link_util *lu, FILE *f, struct rtattr *tb[]);

#pragma GCC visibility pop

#endif /* _LINK_CMPTUN_H */
