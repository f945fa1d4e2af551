// SPDX-License-Identifier: GPL-2.0
/*
 * cmptun_print.c - "ip -d link show", as text and as JSON
 *
 * The text is in the words of the command line. Everything goes through the
 * print calls of ip(8), which know whether JSON was asked for: anything else
 * would make the JSON invalid. %IFLA_CMPTUN_PRIVATE_KEY and the preshared
 * key are not looked for; the kernel never sends them.
 */
#include <netdb.h>
#include <string.h>
#include <time.h>
#include <arpa/inet.h>

#include "link_cmptun.h"

/* "[", address, "%", name of an interface, "]:", port, 0 */
#define CMPTUN_ENDPOINT_SIZE	(INET6_ADDRSTRLEN + 32)

static void cmptun_print_string(const char *key, const char *fmt,
				const char *value)
{
	print_color_string(PRINT_ANY, COLOR_NONE, key, fmt, value);
}

static void cmptun_print_text(const char *fmt, const char *value)
{
	print_color_string(PRINT_FP, COLOR_NONE, NULL, fmt, value);
}

static void cmptun_print_uint(const char *key, const char *fmt, __u32 value)
{
	print_color_uint(PRINT_ANY, COLOR_NONE, key, fmt, value);
}

static void cmptun_print_u64_json(const char *key, __u64 value)
{
	print_color_u64(PRINT_JSON, COLOR_NONE, key, NULL, value);
}

/* @fmt has %s: the letters for a uint64_t are not the same everywhere */
static void cmptun_print_u64_text(const char *fmt, __u64 value)
{
	char text[sizeof("18446744073709551615")];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	cmptun_print_text(fmt, text);
}

/*
 * print_color_0xhex() takes an unsigned int in some releases of ip(8) and an
 * unsigned long long in others.
 */
static void cmptun_print_hex(const char *key, const char *fmt, __u32 value)
{
	char text[sizeof("0x01234567")];

	snprintf(text, sizeof(text), "0x%x", value);
	cmptun_print_string(key, fmt, text);
}

/*
 * An integer attribute; 64-bit ones are aligned to 4 bytes only. False, and
 * 0, when there is none or it is not of this size.
 */
static bool cmptun_get(const struct rtattr *rta, void *value, size_t size)
{
	bool there = rta && RTA_PAYLOAD(rta) == size;

	memset(value, 0, size);
	if (there)
		memcpy(value, RTA_DATA(rta), size);
	return there;
}

static void cmptun_parse_nested(struct rtattr *tb[], int max,
				struct rtattr *rta)
{
	parse_rtattr_flags(tb, max, RTA_DATA(rta), RTA_PAYLOAD(rta),
			   NLA_F_NESTED);
}

static void cmptun_print_mode(const struct rtattr *rta)
{
	static const char * const names[] = {
		[CMPTUN_MODE_IPIP] = "ipip",
		[CMPTUN_MODE_WG] = "wg",
	};
	__u8 mode;

	if (!cmptun_get(rta, &mode, sizeof(mode)))
		return;
	/* a mode newer than this plugin is a number */
	if (mode < ARRAY_SIZE(names) && names[mode])
		cmptun_print_string("mode", "mode %s ", names[mode]);
	else
		cmptun_print_uint("mode", "mode %u ", mode);
}

static void cmptun_print_addr(const char *key, const struct rtattr *rta4,
			      const struct rtattr *rta6)
{
	static const __u8 any[16];
	char text[INET6_ADDRSTRLEN];
	__u8 addr[16];
	int family;

	if (cmptun_get(rta6, addr, 16))
		family = AF_INET6;
	else if (cmptun_get(rta4, addr, 4))
		family = AF_INET;
	else
		return;

	cmptun_print_text("%s ", key);
	if (!memcmp(addr, any, family == AF_INET6 ? 16 : 4)) {
		cmptun_print_text("%s ", "any");
		return;
	}
	inet_ntop(family, addr, text, sizeof(text));
	cmptun_print_string(key, "%s ", text);
}

static void cmptun_print_link(const struct rtattr *rta)
{
	__u32 link;

	if (cmptun_get(rta, &link, sizeof(link)) && link)
		cmptun_print_string("link", "dev %s ", ll_index_to_name(link));
}

/* ttl, tos and pmtudisc as "ip -d link" prints them of an ipip device */
static void cmptun_print_header(struct rtattr *tb[])
{
	__u8 value;

	if (cmptun_get(tb[IFLA_CMPTUN_TTL], &value, sizeof(value))) {
		if (value || is_json_context())
			cmptun_print_uint("ttl", "ttl %u ", value);
		else
			cmptun_print_text("ttl %s ", "inherit");
	}
	if (cmptun_get(tb[IFLA_CMPTUN_TOS], &value, sizeof(value)) && value) {
		if (value != 1 || is_json_context())
			cmptun_print_hex("tos", "tos %s ", value);
		else
			cmptun_print_text("tos %s ", "inherit");
	}
	if (cmptun_get(tb[IFLA_CMPTUN_PMTUDISC], &value, sizeof(value)))
		print_color_bool(PRINT_ANY, COLOR_NONE, "pmtudisc",
				 value ? "pmtudisc " : "nopmtudisc ", value);
}

static void cmptun_print_key(const char *key, const char *fmt,
			     const struct rtattr *rta)
{
	char text[CMPTUN_KEY_B64_SIZE];
	__u8 bytes[CMPTUN_KEY_LEN];

	if (!cmptun_get(rta, bytes, sizeof(bytes)))
		return;
	cmptun_key_encode(text, bytes);
	cmptun_print_string(key, fmt, text);
}

static void cmptun_print_endpoint(const struct rtattr *rta)
{
	char text[CMPTUN_ENDPOINT_SIZE];
	char host[CMPTUN_ENDPOINT_SIZE];
	struct sockaddr_in6 sin6;
	struct sockaddr_in sin;

	if (cmptun_get(rta, &sin, sizeof(sin))) {
		inet_ntop(AF_INET, &sin.sin_addr, host, sizeof(host));
		snprintf(text, sizeof(text), "%.*s:%u", INET6_ADDRSTRLEN, host,
			 ntohs(sin.sin_port));
	} else if (cmptun_get(rta, &sin6, sizeof(sin6))) {
		/* and not inet_ntop(), for the scope of link-local ones */
		if (getnameinfo((struct sockaddr *)&sin6, sizeof(sin6), host,
				sizeof(host), NULL, 0, NI_NUMERICHOST))
			return;
		snprintf(text, sizeof(text), "[%.*s]:%u",
			 CMPTUN_ENDPOINT_SIZE - 10, host,
			 ntohs(sin6.sin6_port));
	} else {
		return;
	}
	cmptun_print_string("endpoint", "endpoint %s ", text);
}

/* @sep: what goes before it in the text */
static void cmptun_print_allowed_ip(struct rtattr *rta, const char *sep)
{
	struct rtattr *tb[CMPTUN_ALLOWED_IP_A_MAX + 1];
	char text[INET6_ADDRSTRLEN + sizeof("/128")];
	char addr[INET6_ADDRSTRLEN];
	__u8 bytes[16];
	__u16 family;
	__u8 cidr;

	cmptun_parse_nested(tb, CMPTUN_ALLOWED_IP_A_MAX, rta);
	cmptun_get(tb[CMPTUN_ALLOWED_IP_A_FAMILY], &family, sizeof(family));
	cmptun_get(tb[CMPTUN_ALLOWED_IP_A_CIDR], &cidr, sizeof(cidr));
	if (!cmptun_get(tb[CMPTUN_ALLOWED_IP_A_ADDR], bytes,
			family == AF_INET6 ? 16 : 4))
		return;
	if (!inet_ntop(family, bytes, addr, sizeof(addr)))
		return;
	snprintf(text, sizeof(text), "%s/%u", addr, cidr);
	cmptun_print_text("%s", sep);
	cmptun_print_string(NULL, "%s", text);
}

/* in JSON there is always an array, in the text an empty one has no word */
static void cmptun_print_allowed_ips(const struct rtattr *list)
{
	int len = list ? (int)RTA_PAYLOAD(list) : 0;
	const char *sep = "allowed-ips ";
	struct rtattr *rta;

	open_json_array(PRINT_JSON, "allowed_ips");
	for (rta = list ? RTA_DATA(list) : NULL; len && RTA_OK(rta, len);
	     rta = RTA_NEXT(rta, len)) {
		cmptun_print_allowed_ip(rta, sep);
		sep = ",";
	}
	close_json_array(PRINT_JSON, NULL);
	if (*sep == ',')
		cmptun_print_text("%s", " ");
}

/* a point in time for programs, an age for people */
static void cmptun_print_handshake(const struct rtattr *rta)
{
	struct { __s64 sec, nsec; } last;
	__s64 age;

	cmptun_get(rta, &last, sizeof(last));
	cmptun_print_u64_json("latest_handshake", last.sec);
	if (!last.sec) {
		cmptun_print_text("latest-handshake %s ", "never");
		return;
	}
	age = time(NULL) - last.sec;
	cmptun_print_u64_text("latest-handshake %s seconds ago ",
			      age > 0 ? age : 0);
}

static void cmptun_print_transfer(struct rtattr *tb[])
{
	__u64 rx, tx;

	cmptun_get(tb[CMPTUN_PEER_A_RX_BYTES], &rx, sizeof(rx));
	cmptun_get(tb[CMPTUN_PEER_A_TX_BYTES], &tx, sizeof(tx));
	cmptun_print_u64_json("rx_bytes", rx);
	cmptun_print_u64_text("transfer rx %s ", rx);
	cmptun_print_u64_json("tx_bytes", tx);
	cmptun_print_u64_text("tx %s ", tx);
}

static void cmptun_print_keepalive(const struct rtattr *rta)
{
	__u16 seconds;

	cmptun_get(rta, &seconds, sizeof(seconds));
	if (seconds || is_json_context())
		cmptun_print_uint("persistent_keepalive",
				  "persistent-keepalive %u ", seconds);
	else
		cmptun_print_text("persistent-keepalive %s ", "off");
}

static void cmptun_print_peer(struct rtattr *rta)
{
	struct rtattr *tb[CMPTUN_PEER_A_MAX + 1];
	bool preshared;
	__u32 flags;

	cmptun_parse_nested(tb, CMPTUN_PEER_A_MAX, rta);
	cmptun_get(tb[CMPTUN_PEER_A_FLAGS], &flags, sizeof(flags));
	preshared = flags & CMPTUN_PEER_F_HAS_PRESHARED_KEY;

	open_json_object(NULL);
	cmptun_print_key("public_key", "peer %s ",
			 tb[CMPTUN_PEER_A_PUBLIC_KEY]);
	print_color_bool(PRINT_JSON, COLOR_NONE, "preshared_key", NULL,
			 preshared);
	if (preshared)
		cmptun_print_text("preshared-key %s ", "(hidden)");
	cmptun_print_endpoint(tb[CMPTUN_PEER_A_ENDPOINT]);
	cmptun_print_allowed_ips(tb[CMPTUN_PEER_A_ALLOWED_IPS]);
	cmptun_print_handshake(tb[CMPTUN_PEER_A_LAST_HANDSHAKE]);
	cmptun_print_transfer(tb);
	cmptun_print_keepalive(tb[CMPTUN_PEER_A_PERSISTENT_KEEPALIVE]);
	close_json_object();
}

/**
 * cmptun_print_opt() - print IFLA_INFO_DATA of a cmptun link
 * @lu: cmptun_link_util
 * @f: standard output; the print calls know it already
 * @tb: IFLA_CMPTUN_MAX + 1 attributes, or NULL when the kernel sent none
 */
void cmptun_print_opt(struct link_util *lu __maybe_unused,
		      FILE *f __maybe_unused, struct rtattr *tb[])
{
	__u16 port;
	__u32 mark;

	if (!tb)
		return;

	cmptun_print_mode(tb[IFLA_CMPTUN_MODE]);
	cmptun_print_addr("local", tb[IFLA_CMPTUN_LOCAL],
			  tb[IFLA_CMPTUN_LOCAL6]);
	cmptun_print_addr("remote", tb[IFLA_CMPTUN_REMOTE],
			  tb[IFLA_CMPTUN_REMOTE6]);
	cmptun_print_link(tb[IFLA_CMPTUN_LINK]);
	cmptun_print_header(tb);
	if (cmptun_get(tb[IFLA_CMPTUN_LISTEN_PORT], &port, sizeof(port)))
		cmptun_print_uint("listen_port", "listen-port %u ", port);
	if (cmptun_get(tb[IFLA_CMPTUN_FWMARK], &mark, sizeof(mark)) && mark)
		cmptun_print_hex("fwmark", "fwmark %s ", mark);
	cmptun_print_key("public_key", "public-key %s ",
			 tb[IFLA_CMPTUN_PUBLIC_KEY]);

	open_json_array(PRINT_JSON, "peers");
	if (tb[IFLA_CMPTUN_PEER])
		cmptun_print_peer(tb[IFLA_CMPTUN_PEER]);
	close_json_array(PRINT_JSON, NULL);
}
