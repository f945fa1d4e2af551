// SPDX-License-Identifier: GPL-2.0
/*
 * cmptun_addr.c - numbers, addresses, networks and endpoints as typed
 *
 * Everything is numeric. A name would have to be resolved, and a tunnel is
 * the last thing that should wait for a name server.
 */
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include "link_cmptun.h"

/* the longest address getaddrinfo() is given, scope and all, with its 0 */
#define CMPTUN_HOST_SIZE	(INET6_ADDRSTRLEN + 16)

/**
 * cmptun_number() - read an unsigned number, decimal, 0x hex or 0 octal
 * @value: filled on success
 * @text: the whole of it must be the number
 * @max: largest value allowed
 *
 * strtoul() alone takes blanks and a sign, and "-1" wraps round.
 *
 * Return: false when @text is not such a number.
 */
bool cmptun_number(__u32 *value, const char *text, __u32 max)
{
	unsigned long number;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	number = strtoul(text, &end, 0);
	if (*end || errno || number > max)
		return false;
	*value = number;
	return true;
}

/* the same for what is never written in hex or octal: "010" is ten */
static bool cmptun_decimal(__u32 *value, const char *text, __u32 max)
{
	__u32 number = 0;
	size_t i;

	for (i = 0; isdigit((unsigned char)text[i]); i++) {
		number = number * 10 + (text[i] - '0');
		if (number > max)
			return false;
	}
	*value = number;
	return i && !text[i];
}

static bool cmptun_addr_numeric(struct cmptun_addr *addr, const char *text)
{
	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, text, addr->bytes) == 1) {
		addr->family = AF_INET;
		addr->cidr = 32;
		return true;
	}
	if (inet_pton(AF_INET6, text, addr->bytes) == 1) {
		addr->family = AF_INET6;
		addr->cidr = 128;
		return true;
	}
	return false;
}

/**
 * cmptun_addr_parse() - read an outer address, or "any"
 * @addr: filled on success
 * @text: the argument
 *
 * Return: false when @text is neither.
 */
bool cmptun_addr_parse(struct cmptun_addr *addr, const char *text)
{
	if (strcmp(text, "any") == 0) {
		memset(addr, 0, sizeof(*addr));
		return true;
	}
	return cmptun_addr_numeric(addr, text);
}

/**
 * cmptun_cidr_next() - read one network of a list separated by commas
 * @net: filled on success; an address without a mask is a host
 * @list: where the network starts
 *
 * Return: the start of the next one, the terminating 0 after the last, or
 * NULL when this one is malformed. A comma at the end is malformed, too.
 */
const char *cmptun_cidr_next(struct cmptun_addr *net, const char *list)
{
	char item[INET6_ADDRSTRLEN + sizeof("/128")];
	size_t len = strcspn(list, ",");
	char *mask;
	__u32 cidr;

	if (len >= sizeof(item) || (list[len] && !list[len + 1]))
		return NULL;
	memcpy(item, list, len);
	item[len] = '\0';

	mask = strchr(item, '/');
	if (mask)
		*mask++ = '\0';
	if (!cmptun_addr_numeric(net, item))
		return NULL;
	if (mask) {
		/* the length of a host is the longest of its family */
		if (!cmptun_decimal(&cidr, mask, net->cidr))
			return NULL;
		net->cidr = cidr;
	}
	return list[len] ? list + len + 1 : list + len;
}

/*
 * getaddrinfo() and not inet_pton(), for the sake of the scope of a
 * link-local address ("fe80::1%eth0").
 */
static bool cmptun_endpoint_inet6(struct sockaddr_in6 *sin6, const char *host)
{
	struct addrinfo hints = {
		.ai_family = AF_INET6,
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = AI_NUMERICHOST,
	};
	struct addrinfo *found;

	if (getaddrinfo(host, NULL, &hints, &found))
		return false;
	memcpy(sin6, found->ai_addr, sizeof(*sin6));
	freeaddrinfo(found);
	return true;
}

/**
 * cmptun_endpoint_parse() - read IP:PORT or [IPV6]:PORT
 * @args: the endpoint is filled on success
 * @text: the argument
 *
 * Return: false when @text is neither.
 */
bool cmptun_endpoint_parse(struct cmptun_args *args, const char *text)
{
	const char *colon = strrchr(text, ':');
	char host[CMPTUN_HOST_SIZE];
	__u32 port;
	size_t len;

	if (!colon || !cmptun_decimal(&port, colon + 1, 65535) || !port)
		return false;
	len = colon - text;
	if (len >= sizeof(host))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';

	if (len > 1 && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		if (!cmptun_endpoint_inet6(&args->endpoint.sin6, host + 1))
			return false;
		args->endpoint.sin6.sin6_port = htons(port);
		return true;
	}

	memset(&args->endpoint.sin, 0, sizeof(args->endpoint.sin));
	if (inet_pton(AF_INET, host, &args->endpoint.sin.sin_addr) != 1)
		return false;
	args->endpoint.sin.sin_family = AF_INET;
	args->endpoint.sin.sin_port = htons(port);
	return true;
}
