// SPDX-License-Identifier: GPL-2.0
/*
 * link_cmptun.c - the command line of "ip link ... type cmptun"
 *
 * ip(8) finds this by the kind: it opens link_cmptun.so in its library
 * directory, or in the one that IP_LIB_DIR names, and looks up
 * cmptun_link_util. Bind lazily: only then does a helper missing from some
 * ip(8) harm no more than the command that needs it.
 */
#include <string.h>

#include "link_cmptun.h"

/* what a parse function found; after REFUSED it has printed a message */
enum cmptun_verdict {
	CMPTUN_GOOD,
	CMPTUN_WRONG,
	CMPTUN_REFUSED,
};

/**
 * struct cmptun_option - one word of the command line
 * @name: full name; nothing is abbreviated, so that words can be added
 * @word: its bit in &struct cmptun_args, common to aliases and opposites
 * @wants: what the argument must be, for the message when it is not; NULL
 *	when the word has no argument
 * @parse: takes the argument, or the word itself when it has none
 */
struct cmptun_option {
	const char *name;
	enum cmptun_word word;
	const char *wants;
	enum cmptun_verdict (*parse)(struct cmptun_args *args,
				     const char *arg);
};

static void cmptun_usage(FILE *f)
{
	fputs("Usage: ... cmptun [ mode { ipip | wg } ]\n"
	      "\t\t[ local ADDR ]\n"
	      "\t\t[ remote ADDR ]\n"
	      "\t\t[ ttl TTL ]\n"
	      "\t\t[ tos TOS ]\n"
	      "\t\t[ [no]pmtudisc ]\n"
	      "\t\t[ dev { PHYS_DEV | any } ]\n"
	      "\t\t[ fwmark { MARK | off } ]\n"
	      "\t\t[ private-key FILE ]\n"
	      "\t\t[ listen-port PORT ]\n"
	      "\t\t[ peer KEY [ PEER_OPTIONS ] ]\n"
	      "\n"
	      "Where:\tADDR := { IP_ADDRESS | any }\n"
	      "\tTTL  := { 1..255 | inherit }\n"
	      "\tTOS  := { NUMBER | inherit }\n"
	      "\tMARK := { 0x0..0xffffffff }\n"
	      "\tKEY  := public key of the peer, in base64\n"
	      "\tFILE := file with a key in base64, - for standard input;\n"
	      "\t\tan empty file (/dev/null) removes the key\n"
	      "\tPEER_OPTIONS := [ remove ]\n"
	      "\t\t[ preshared-key FILE ]\n"
	      "\t\t[ endpoint { IP:PORT | [IPV6]:PORT } ]\n"
	      "\t\t[ allowed-ips CIDR[,CIDR...] ]\n"
	      "\t\t[ persistent-keepalive { SECONDS | off } ]\n", f);
}

static enum cmptun_verdict cmptun_verdict(bool good)
{
	return good ? CMPTUN_GOOD : CMPTUN_WRONG;
}

static enum cmptun_verdict cmptun_parse_mode(struct cmptun_args *args,
					     const char *arg)
{
	if (strcmp(arg, "ipip") == 0)
		args->mode = CMPTUN_MODE_IPIP;
	else if (strcmp(arg, "wg") == 0)
		args->mode = CMPTUN_MODE_WG;
	else
		return CMPTUN_WRONG;
	return CMPTUN_GOOD;
}

static enum cmptun_verdict cmptun_parse_local(struct cmptun_args *args,
					      const char *arg)
{
	return cmptun_verdict(cmptun_addr_parse(&args->local, arg));
}

static enum cmptun_verdict cmptun_parse_remote(struct cmptun_args *args,
					       const char *arg)
{
	return cmptun_verdict(cmptun_addr_parse(&args->remote, arg));
}

static enum cmptun_verdict cmptun_parse_ttl(struct cmptun_args *args,
					    const char *arg)
{
	__u32 ttl = 0;

	if (strcmp(arg, "inherit") && !cmptun_number(&ttl, arg, 255))
		return CMPTUN_WRONG;
	args->ttl = ttl;
	return CMPTUN_GOOD;
}

/* ip(8) reads every tos as a name or as hexadecimal: "10" is 0x10 */
static enum cmptun_verdict cmptun_parse_tos(struct cmptun_args *args,
					    const char *arg)
{
	__u32 tos = 1;

	if (strcmp(arg, "inherit") && rtnl_dsfield_a2n(&tos, arg))
		return CMPTUN_WRONG;
	args->tos = tos;
	return CMPTUN_GOOD;
}

static enum cmptun_verdict cmptun_parse_pmtudisc(struct cmptun_args *args,
						 const char *arg)
{
	args->pmtudisc = strcmp(arg, "pmtudisc") == 0;
	return CMPTUN_GOOD;
}

static enum cmptun_verdict cmptun_parse_dev(struct cmptun_args *args,
					    const char *arg)
{
	args->link = 0;
	if (strcmp(arg, "any") == 0)
		return CMPTUN_GOOD;
	args->link = ll_name_to_index(arg);
	return cmptun_verdict(args->link);
}

static enum cmptun_verdict cmptun_parse_fwmark(struct cmptun_args *args,
					       const char *arg)
{
	args->fwmark = 0;
	return cmptun_verdict(strcmp(arg, "off") == 0 ||
			      cmptun_number(&args->fwmark, arg, 0xffffffff));
}

static enum cmptun_verdict cmptun_parse_listen_port(struct cmptun_args *args,
						    const char *arg)
{
	__u32 port;

	if (!cmptun_number(&port, arg, 65535))
		return CMPTUN_WRONG;
	args->listen_port = port;
	return CMPTUN_GOOD;
}

/* The file itself is read when all the rest is known to be right */
static enum cmptun_verdict cmptun_check_file(const char *word,
					     const char *file)
{
	__u8 key[CMPTUN_KEY_LEN];
	bool is_key;

	is_key = cmptun_key_decode(key, file, strlen(file));
	explicit_bzero(key, sizeof(key));
	if (is_key) {
		fprintf(stderr,
			"cmptun: %s: this is a key and not a file: keys come from files, never from the command line\n",
			word);
		return CMPTUN_REFUSED;
	}
	if (strcmp(file, "-") == 0 && &batch_mode && batch_mode) {
		fprintf(stderr,
			"cmptun: %s: standard input is the batch, give a file\n",
			word);
		return CMPTUN_REFUSED;
	}
	return CMPTUN_GOOD;
}

static enum cmptun_verdict cmptun_parse_private_key(struct cmptun_args *args,
						    const char *arg)
{
	args->private_key = arg;
	return cmptun_check_file("private-key", arg);
}

static enum cmptun_verdict cmptun_parse_peer(struct cmptun_args *args,
					     const char *arg)
{
	return cmptun_verdict(cmptun_key_decode(args->public_key, arg,
						strlen(arg)));
}

static enum cmptun_verdict
cmptun_parse_remove(struct cmptun_args *args __maybe_unused,
		    const char *arg __maybe_unused)
{
	/* its bit says it all */
	return CMPTUN_GOOD;
}

static enum cmptun_verdict cmptun_parse_preshared_key(struct cmptun_args *args,
						      const char *arg)
{
	args->preshared_key = arg;
	return cmptun_check_file("preshared-key", arg);
}

static enum cmptun_verdict cmptun_parse_endpoint(struct cmptun_args *args,
						 const char *arg)
{
	return cmptun_verdict(cmptun_endpoint_parse(args, arg));
}

static enum cmptun_verdict cmptun_parse_allowed_ips(struct cmptun_args *args,
						    const char *arg)
{
	struct cmptun_addr net;

	args->allowed_ips = arg;
	while (arg && *arg)
		arg = cmptun_cidr_next(&net, arg);
	return cmptun_verdict(arg);
}

static enum cmptun_verdict cmptun_parse_keepalive(struct cmptun_args *args,
						  const char *arg)
{
	__u32 seconds = 0;

	if (strcmp(arg, "off") && !cmptun_number(&seconds, arg, 65535))
		return CMPTUN_WRONG;
	args->keepalive = seconds;
	return CMPTUN_GOOD;
}

static const struct cmptun_option cmptun_options[] = {
	{ "mode", CMPTUN_WORD_MODE, "mode must be ipip or wg",
	  cmptun_parse_mode },
	{ "local", CMPTUN_WORD_LOCAL, "local must be an IP address or any",
	  cmptun_parse_local },
	{ "remote", CMPTUN_WORD_REMOTE, "remote must be an IP address or any",
	  cmptun_parse_remote },
	{ "ttl", CMPTUN_WORD_TTL, "ttl must be 1..255 or inherit",
	  cmptun_parse_ttl },
	{ "hoplimit", CMPTUN_WORD_TTL, "ttl must be 1..255 or inherit",
	  cmptun_parse_ttl },
	{ "hlim", CMPTUN_WORD_TTL, "ttl must be 1..255 or inherit",
	  cmptun_parse_ttl },
	{ "tos", CMPTUN_WORD_TOS, "tos must be 0x0..0xff or inherit",
	  cmptun_parse_tos },
	{ "dsfield", CMPTUN_WORD_TOS, "tos must be 0x0..0xff or inherit",
	  cmptun_parse_tos },
	{ "tclass", CMPTUN_WORD_TOS, "tos must be 0x0..0xff or inherit",
	  cmptun_parse_tos },
	{ "pmtudisc", CMPTUN_WORD_PMTUDISC, NULL, cmptun_parse_pmtudisc },
	{ "nopmtudisc", CMPTUN_WORD_PMTUDISC, NULL, cmptun_parse_pmtudisc },
	{ "dev", CMPTUN_WORD_DEV, "no such device", cmptun_parse_dev },
	{ "fwmark", CMPTUN_WORD_FWMARK,
	  "fwmark must be 0x0..0xffffffff or off", cmptun_parse_fwmark },
	{ "private-key", CMPTUN_WORD_PRIVATE_KEY, "a file",
	  cmptun_parse_private_key },
	{ "listen-port", CMPTUN_WORD_LISTEN_PORT,
	  "listen-port must be 0..65535", cmptun_parse_listen_port },
	{ "peer", CMPTUN_WORD_PEER,
	  "peer must be a public key of 32 bytes in base64",
	  cmptun_parse_peer },
	{ "remove", CMPTUN_WORD_REMOVE, NULL, cmptun_parse_remove },
	{ "preshared-key", CMPTUN_WORD_PRESHARED_KEY, "a file",
	  cmptun_parse_preshared_key },
	{ "endpoint", CMPTUN_WORD_ENDPOINT,
	  "endpoint must be IP:PORT or [IPV6]:PORT, port 1..65535",
	  cmptun_parse_endpoint },
	{ "allowed-ips", CMPTUN_WORD_ALLOWED_IPS,
	  "allowed-ips must be networks separated by commas",
	  cmptun_parse_allowed_ips },
	{ "persistent-keepalive", CMPTUN_WORD_KEEPALIVE,
	  "persistent-keepalive must be 0..65535 seconds or off",
	  cmptun_parse_keepalive },
};

static const struct cmptun_option *cmptun_option_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cmptun_options); i++) {
		if (strcmp(name, cmptun_options[i].name) == 0)
			return &cmptun_options[i];
	}
	return NULL;
}

static bool cmptun_of_peer(enum cmptun_word word)
{
	return word > CMPTUN_WORD_PEER;
}

/* one option, @arg its argument or the word itself; 0, or -1 if refused */
static int cmptun_option_take(struct cmptun_args *args,
			      const struct cmptun_option *option,
			      const char *arg)
{
	if (cmptun_of_peer(option->word) &&
	    !cmptun_seen(args, CMPTUN_WORD_PEER)) {
		fprintf(stderr,
			"cmptun: \"%s\" is of a peer, \"peer KEY\" must come before it\n",
			option->name);
		return -1;
	}
	if (cmptun_seen(args, option->word))
		duparg(option->name, cmptun_key_shown(arg));
	args->seen |= 1U << option->word;

	switch (option->parse(args, arg)) {
	case CMPTUN_GOOD:
		return 0;
	case CMPTUN_WRONG:
		invarg(option->wants, cmptun_key_shown(arg));
	default:
		return -1;
	}
}

static bool cmptun_is_stdin(const char *file)
{
	return file && strcmp(file, "-") == 0;
}

/* what no option can say by itself: 0, or -1 after a message */
static int cmptun_check_together(const struct cmptun_args *args)
{
	if (args->local.family && args->remote.family &&
	    args->local.family != args->remote.family) {
		fprintf(stderr,
			"cmptun: local and remote must be of the same family, both IPv4 or both IPv6\n");
		return -1;
	}
	/*
	 * The rule of "ip tunnel": in a loop each round adds a header with a
	 * fresh ttl, and only DF stops the fragments from multiplying.
	 */
	if (args->ttl && cmptun_seen(args, CMPTUN_WORD_PMTUDISC) &&
	    !args->pmtudisc) {
		fprintf(stderr,
			"ttl != 0 and nopmtudisc are incompatible\n");
		return -1;
	}
	if (cmptun_is_stdin(args->private_key) &&
	    cmptun_is_stdin(args->preshared_key)) {
		fprintf(stderr,
			"cmptun: private-key and preshared-key cannot both be read from standard input\n");
		return -1;
	}
	return 0;
}

static int cmptun_parse_args(struct cmptun_args *args, int argc, char **argv)
{
	const struct cmptun_option *option;

	for (; argc > 0; argc--, argv++) {
		option = cmptun_option_find(*argv);
		if (!option) {
			if (strcmp(*argv, "help"))
				fprintf(stderr,
					"cmptun: unknown option \"%s\"?\n",
					cmptun_key_shown(*argv));
			cmptun_usage(stderr);
			return -1;
		}
		if (option->wants) {
			if (argc == 1)
				incomplete_command();
			argc--;
			argv++;
		}
		if (cmptun_option_take(args, option, *argv))
			return -1;
	}
	return cmptun_check_together(args);
}

static int cmptun_parse_opt(struct link_util *lu __maybe_unused, int argc,
			    char **argv, struct nlmsghdr *n)
{
	struct cmptun_args args = { 0 };

	if (cmptun_parse_args(&args, argc, argv))
		return -1;
	return cmptun_request_fill(n, &args);
}

static void cmptun_print_help(struct link_util *lu __maybe_unused,
			      int argc __maybe_unused,
			      char **argv __maybe_unused, FILE *f)
{
	cmptun_usage(f);
}

struct link_util cmptun_link_util = {
	.id		= CMPTUN_LINK_KIND,
	.maxattr	= IFLA_CMPTUN_MAX,
	.parse_opt	= cmptun_parse_opt,
	.print_opt	= cmptun_print_opt,
	.print_help	= cmptun_print_help,
};
