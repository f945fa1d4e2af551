// SPDX-License-Identifier: GPL-2.0
/*
 * cmptun_key.c - keys: base64, and the files that secret ones come from
 *
 * The arguments of a process can be read by everyone, so a secret key is
 * never one of them. What holds a secret here is on the stack and wiped
 * before it is left; stdio is not used, its buffers would keep a copy.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "link_cmptun.h"

/* groups of 4 letters, 3 bytes each; the last has but 3 letters, 2 bytes */
#define CMPTUN_KEY_GROUPS	(CMPTUN_KEY_B64_LEN / 4)

/* a key with a letter lost is still to be known as one */
#define CMPTUN_KEY_SUSPECT_LEN	40

/* the 64 letters by value, and the filler */
static const char cmptun_base64[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

/*
 * The value of one letter, or -1. Always looks at the whole alphabet: an
 * index or an early exit would leave a trace of the key in the cache.
 */
static int cmptun_base64_value(char letter)
{
	int value = -1;
	int i;

	for (i = 0; i < 64; i++)
		value += (i + 1) & -(cmptun_base64[i] == letter);
	return value;
}

/**
 * cmptun_key_decode() - turn base64 into a key
 * @key: CMPTUN_KEY_LEN bytes, meaningful only on success
 * @text: the base64
 * @len: its length
 *
 * Return: false when @text is not the one base64 form of a key.
 */
bool cmptun_key_decode(__u8 *key, const char *text, size_t len)
{
	const char *end = text + CMPTUN_KEY_B64_LEN - 1;
	__u32 bits = 0;
	int bad = 0;
	int value;
	int i, j;

	if (len != CMPTUN_KEY_B64_LEN || *end != '=')
		return false;

	for (i = 0; i < CMPTUN_KEY_GROUPS; i++) {
		for (j = 0; j < 4; j++, text++) {
			value = text == end ? 0 : cmptun_base64_value(*text);
			bad |= value;
			bits = bits << 6 | (value & 63);
		}
		*key++ = bits >> 16;
		*key++ = bits >> 8;
		if (text < end)
			*key++ = bits;
	}
	/* the last byte has no place in the key: 2 bits that mean nothing */
	return bad >= 0 && !(bits & 0xff);
}

/**
 * cmptun_key_encode() - turn a key into base64
 * @text: CMPTUN_KEY_B64_SIZE bytes
 * @key: CMPTUN_KEY_LEN bytes; public, for the letters are looked up by them
 */
void cmptun_key_encode(char *text, const __u8 *key)
{
	__u32 bits;
	int i, j;

	for (i = 0; i < CMPTUN_KEY_GROUPS; i++, key += 3) {
		bits = key[0] << 16 | key[1] << 8;
		if (i < CMPTUN_KEY_GROUPS - 1)
			bits |= key[2];
		for (j = 18; j >= 0; j -= 6)
			*text++ = cmptun_base64[bits >> j & 63];
	}
	text[-1] = '=';
	text[0] = '\0';
}

/**
 * cmptun_key_suspect() - may this argument be a key, typed by mistake?
 * @arg: any argument
 *
 * Return: true for what may be one, hexadecimal or mistyped ones included.
 * A long path may be taken for one as well, so this is a reason not to show
 * an argument, but none to refuse it.
 */
bool cmptun_key_suspect(const char *arg)
{
	size_t len = strspn(arg, cmptun_base64);

	return len >= CMPTUN_KEY_SUSPECT_LEN && !arg[len];
}

/**
 * cmptun_key_shown() - what to print for an argument in a message
 * @arg: any argument
 *
 * Messages end in logs, where a key is as readable as in the arguments.
 *
 * Return: @arg, or a word that stands for it.
 */
const char *cmptun_key_shown(const char *arg)
{
	return cmptun_key_suspect(arg) ? "(not shown)" : arg;
}

/* read() until @size bytes or the end; what a pipe gives may come in parts */
static ssize_t cmptun_key_read_full(int fd, char *buf, size_t size)
{
	size_t done = 0;
	ssize_t len;

	while (done < size) {
		len = read(fd, buf + done, size - done);
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return -1;
		if (!len)
			break;
		done += len;
	}
	return done;
}

/*
 * What wg(8) takes: a key in base64 with nothing but white space after it,
 * or nothing at all (/dev/null), which removes the key. NULL, or the reason
 * why the contents are refused.
 */
static const char *cmptun_key_read_fd(__u8 *key, int fd)
{
	char text[CMPTUN_KEY_B64_LEN];
	const char *fault = NULL;
	ssize_t len;
	char after;

	len = cmptun_key_read_full(fd, text, sizeof(text));
	if (len < 0)
		fault = strerror(errno);
	else if (!len)
		memset(key, 0, CMPTUN_KEY_LEN);
	else if (!cmptun_key_decode(key, text, len))
		fault = "not a key of 32 bytes in base64";
	explicit_bzero(text, sizeof(text));

	while (!fault && len) {
		len = cmptun_key_read_full(fd, &after, 1);
		if (len < 0)
			fault = strerror(errno);
		else if (len && !isspace((unsigned char)after))
			fault = "something follows the key";
	}
	return fault;
}

/* Only a warning, as in wg-quick(8): there are places where it is meant so */
static void cmptun_key_warn(int fd, const char *file)
{
	struct stat st;

	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_mode & 0007)
		fprintf(stderr, "Warning: `%s' is world accessible\n", file);
}

static int cmptun_key_open(const char *word, const char *file)
{
	int fd;

	if (strcmp(file, "-") == 0)
		return STDIN_FILENO;

	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0) {
		cmptun_key_warn(fd, file);
		return fd;
	}
	fprintf(stderr, "cmptun: %s: cannot open %s: %s%s\n", word,
		cmptun_key_shown(file), strerror(errno),
		cmptun_key_suspect(file) ?
		"; keys come from files, never from the command line" : "");
	return -1;
}

/**
 * cmptun_key_read() - read a secret key from a file
 * @key: CMPTUN_KEY_LEN bytes, to be wiped by the caller; wiped on failure
 * @word: the option that the file belongs to, for the message
 * @file: its name, "-" for standard input
 *
 * Return: 0, or -1 after a message.
 */
int cmptun_key_read(__u8 *key, const char *word, const char *file)
{
	int fd = cmptun_key_open(word, file);
	const char *fault;

	if (fd < 0)
		return -1;
	fault = cmptun_key_read_fd(key, fd);
	if (fd != STDIN_FILENO)
		close(fd);
	if (!fault)
		return 0;

	explicit_bzero(key, CMPTUN_KEY_LEN);
	fprintf(stderr, "cmptun: %s: %s: %s\n", word,
		strcmp(file, "-") ? cmptun_key_shown(file) : "standard input",
		fault);
	return -1;
}

/*
 * The message with the keys was on the stack of functions that returned long
 * ago, and nothing but this still runs. Twice what they need.
 */
static void __attribute__((__destructor__)) cmptun_wipe_stack(void)
{
	char dead[16384];

	explicit_bzero(dead, sizeof(dead));
}
