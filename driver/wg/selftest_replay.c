// SPDX-License-Identifier: GPL-2.0
/*
 * What the replay window must take and what it must refuse. Only in builds
 * with CMPTUN_SELFTEST=y.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "messages.h"
#include "replay.h"
#include "selftest.h"

/* How far a counter may be behind the newest one, which is itself the last of
 * the window.
 */
#define CMPTUN_TEST_BEHIND	((u64)CMPTUN_WG_REPLAY_WINDOW - 1)

/* What a counter jumps by: around a word, a window and two, and far. */
static const u64 cmptun_test_jumps[] __initconst = {
	1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129,
	CMPTUN_TEST_BEHIND - 64, CMPTUN_TEST_BEHIND - 63,
	CMPTUN_TEST_BEHIND - 1, CMPTUN_TEST_BEHIND, CMPTUN_TEST_BEHIND + 1,
	CMPTUN_TEST_BEHIND + 2, CMPTUN_TEST_BEHIND + 65,
	CMPTUN_TEST_BEHIND + 66, 2 * CMPTUN_TEST_BEHIND,
	2 * CMPTUN_TEST_BEHIND + 130, BIT_ULL(32),
	BIT_ULL(32) + CMPTUN_TEST_BEHIND, BIT_ULL(63),
};

/* Does each counter from @first to @last give @expect? */
static bool __init cmptun_test_range(struct cmptun_wg_replay *r, u64 first,
				     u64 last, u64 step, bool expect)
{
	u64 counter;

	for (counter = first; counter <= last; counter += step) {
		if (cmptun_wg_replay_check(r, counter) != expect)
			return false;
	}

	return true;
}

static const char *__init cmptun_test_replay_order(struct cmptun_wg_replay *r)
{
	const u64 w = CMPTUN_TEST_BEHIND;
	u64 i;

	cmptun_wg_replay_init(r);
	for (i = 0; i <= 3 * w + 1; i++) {
		if (!cmptun_wg_replay_check(r, i) ||
		    cmptun_wg_replay_check(r, i))
			return "in order, each twice";
	}
	if (!cmptun_test_range(r, 0, 3 * w + 1, 1, false))
		return "all again";

	cmptun_wg_replay_init(r);
	for (i = w + 1; i--;) {
		if (!cmptun_wg_replay_check(r, i))
			return "in reverse";
	}
	if (!cmptun_test_range(r, 0, w, 1, false))
		return "in reverse, again";

	cmptun_wg_replay_init(r);
	if (!cmptun_test_range(r, 0, 2 * w, 2, true) ||
	    !cmptun_test_range(r, w | 1, 2 * w, 2, true) ||
	    !cmptun_test_range(r, 0, 2 * w, 1, false))
		return "even before odd";

	return NULL;
}

static const char *__init cmptun_test_replay_edge(struct cmptun_wg_replay *r)
{
	const u64 w = CMPTUN_TEST_BEHIND;
	u64 newest;

	/* With the newest at each place of a word. */
	for (newest = w + 1; newest <= w + 130; newest++) {
		cmptun_wg_replay_init(r);
		if (!cmptun_wg_replay_check(r, newest) ||
		    cmptun_wg_replay_check(r, newest - w - 1) ||
		    !cmptun_wg_replay_check(r, newest - w) ||
		    cmptun_wg_replay_check(r, newest - w) ||
		    cmptun_wg_replay_check(r, newest) ||
		    !cmptun_wg_replay_check(r, newest - 1) ||
		    !cmptun_wg_replay_check(r, newest + 1) ||
		    cmptun_wg_replay_check(r, newest - w) ||
		    !cmptun_wg_replay_check(r, newest - w + 1) ||
		    !cmptun_wg_replay_check(r, newest + 3) ||
		    cmptun_wg_replay_check(r, newest - w + 2) ||
		    !cmptun_wg_replay_check(r, newest - w + 3) ||
		    !cmptun_wg_replay_check(r, newest + 2))
			return "edge of the window";
	}

	return NULL;
}

static const char *__init cmptun_test_replay_jump(struct cmptun_wg_replay *r)
{
	const u64 w = CMPTUN_TEST_BEHIND;
	u64 newest = w, fresh;
	size_t i;

	/* Before and after each round all of the window has been seen. */
	cmptun_wg_replay_init(r);
	if (!cmptun_test_range(r, 0, w, 1, true))
		return "in order";

	for (i = 0; i < ARRAY_SIZE(cmptun_test_jumps); i++) {
		newest += cmptun_test_jumps[i];
		fresh = min(cmptun_test_jumps[i], w + 1);

		if (!cmptun_wg_replay_check(r, newest) ||
		    !cmptun_test_range(r, newest - w, newest - fresh, 1,
				       false) ||
		    !cmptun_test_range(r, newest - fresh + 1, newest - 1, 1,
				       true) ||
		    !cmptun_test_range(r, newest - w - 1, newest, 1, false))
			return "jump";
	}

	return NULL;
}

static const char *__init cmptun_test_replay_limit(struct cmptun_wg_replay *r)
{
	const u64 reject = CMPTUN_WG_REJECT_AFTER_MESSAGES;
	const u64 w = CMPTUN_TEST_BEHIND;

	BUILD_BUG_ON(CMPTUN_WG_REJECT_AFTER_MESSAGES !=
		     U64_MAX - BIT_ULL(13));

	/* What is refused must not move the window either. */
	cmptun_wg_replay_init(r);
	if (cmptun_wg_replay_check(r, reject) ||
	    cmptun_wg_replay_check(r, reject + 1) ||
	    cmptun_wg_replay_check(r, U64_MAX) ||
	    !cmptun_wg_replay_check(r, 0) ||
	    !cmptun_wg_replay_check(r, reject - 1) ||
	    cmptun_wg_replay_check(r, reject - 1) ||
	    !cmptun_wg_replay_check(r, reject - 2) ||
	    cmptun_wg_replay_check(r, reject) ||
	    cmptun_wg_replay_check(r, U64_MAX) ||
	    cmptun_wg_replay_check(r, reject - 1 - w - 1) ||
	    !cmptun_wg_replay_check(r, reject - 1 - w) ||
	    cmptun_wg_replay_check(r, 0))
		return "limit of a key's messages";

	return NULL;
}

typedef const char *(*cmptun_test_replay_fn)(struct cmptun_wg_replay *r);

static const cmptun_test_replay_fn cmptun_test_replays[] __initconst = {
	cmptun_test_replay_order,
	cmptun_test_replay_edge,
	cmptun_test_replay_jump,
	cmptun_test_replay_limit,
};

/**
 * cmptun_wg_selftest_replay - check the replay window
 *
 * Return: NULL, or what failed.
 */
const char *__init cmptun_wg_selftest_replay(void)
{
	const char *what = NULL;
	struct cmptun_wg_replay *r;
	size_t i;

	r = kmalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return "no memory";

	for (i = 0; !what && i < ARRAY_SIZE(cmptun_test_replays); i++)
		what = cmptun_test_replays[i](r);

	kfree(r);
	return what;
}
