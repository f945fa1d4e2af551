/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iproute2.h - the part of ip(8) that a link plugin talks to
 *
 * ip(8) is linked with -export-dynamic so that plugins can call its helpers,
 * but no distribution ships the headers. These are our own declarations of
 * the few we use; each has had this form in every release from 5.4 on (see
 * ip/ip_common.h, include/libnetlink.h, include/utils.h, include/color.h and
 * include/json_print.h of iproute2). struct link_util carries no version: a
 * new helper goes in here only when the oldest supported ip(8) exports it,
 * since a missing one ends ip(8) at the first call.
 */
#ifndef _CMPTUN_IPROUTE2_H
#define _CMPTUN_IPROUTE2_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <linux/types.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#ifndef __noreturn
#define __noreturn	__attribute__((__noreturn__))
#endif

/*
 * ip(8) keeps a request in a struct of the two headers and 1024 bytes, and
 * every link kind counts the 1024 from the start of the message.
 */
#define IP_REQUEST_MAX	1024

/* NULL stands for "ip(8) has a default", or "this kind has no such thing" */
struct link_util {
	struct link_util *next;		/* owned by ip(8) */
	const char *id;
	int maxattr;
	int (*parse_opt)(struct link_util *lu, int argc, char **argv,
			 struct nlmsghdr *n);
	void (*print_opt)(struct link_util *lu, FILE *f, struct rtattr *tb[]);
	void (*print_xstats)(struct link_util *lu, FILE *f,
			     struct rtattr *xstats);
	void (*print_help)(struct link_util *lu, int argc, char **argv,
			   FILE *f);
	int (*parse_ifla_xstats)(struct link_util *lu, int argc, char **argv);
	int (*print_ifla_xstats)(struct nlmsghdr *n, void *arg);
};

enum output_type {
	PRINT_FP = 1,
	PRINT_JSON = 2,
	PRINT_ANY = 4,
};

enum color_attr {
	COLOR_IFNAME,
	COLOR_MAC,
	COLOR_INET,
	COLOR_INET6,
	COLOR_OPERSTATE_UP,
	COLOR_OPERSTATE_DOWN,
	COLOR_NONE,
};

/*
 * Not 0 under -batch, where standard input is the batch file. Weak: data is
 * not bound lazily, and the plugin is to load without it.
 */
extern int batch_mode __attribute__((__weak__));

/* building and reading messages */
int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen);
int parse_rtattr_flags(struct rtattr *tb[], int max, struct rtattr *rta,
		       int len, unsigned short flags);

/* arguments; the first three print a message and exit(-1) */
void incomplete_command(void) __noreturn;
void invarg(const char *msg, const char *arg) __noreturn;
void duparg(const char *key, const char *arg) __noreturn;
int rtnl_dsfield_a2n(__u32 *id, const char *arg);
unsigned int ll_name_to_index(const char *name);
const char *ll_index_to_name(unsigned int idx);

/* text or JSON, whichever ip(8) was asked for */
int print_color_string(enum output_type t, enum color_attr color,
		       const char *key, const char *fmt, const char *value);
int print_color_uint(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, unsigned int value);
int print_color_u64(enum output_type t, enum color_attr color,
		    const char *key, const char *fmt, uint64_t value);
int print_color_bool(enum output_type t, enum color_attr color,
		     const char *key, const char *fmt, bool value);
void open_json_object(const char *key);
void close_json_object(void);
void open_json_array(enum output_type t, const char *key);
void close_json_array(enum output_type t, const char *delim);
bool is_json_context(void);

#endif /* _CMPTUN_IPROUTE2_H */
