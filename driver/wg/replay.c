// SPDX-License-Identifier: GPL-2.0
/*
 * Sliding window against replayed messages, by the method of RFC 6479: bits
 * are never shifted, words are cleared as the window moves over them.
 */
#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "replay.h"

#define CMPTUN_WG_REPLAY_WORDS BITS_TO_LONGS(CMPTUN_WG_REPLAY_BITS)

/**
 * cmptun_wg_replay_init - nothing was seen
 * @r: the window
 */
void cmptun_wg_replay_init(struct cmptun_wg_replay *r)
{
	memset(r, 0, sizeof(*r));
	spin_lock_init(&r->lock);
}

static unsigned long *cmptun_wg_replay_word(struct cmptun_wg_replay *r,
					    u64 number)
{
	u32 slot;

	div_u64_rem(number, CMPTUN_WG_REPLAY_WORDS, &slot);
	return &r->seen[slot];
}

/* Clear the words between the highest counter's and that of @counter */
static void cmptun_wg_replay_advance(struct cmptun_wg_replay *r, u64 counter)
{
	u64 to = counter / BITS_PER_LONG;
	u64 from = r->next ? (r->next - 1) / BITS_PER_LONG : 0;
	u64 words = min_t(u64, to - from, CMPTUN_WG_REPLAY_WORDS);
	u64 i;

	for (i = 1; i <= words; i++)
		*cmptun_wg_replay_word(r, from + i) = 0;

	r->next = counter + 1;
}

/**
 * cmptun_wg_replay_check - take a counter, once
 * @r: the window
 * @counter: of a message that was authenticated
 *
 * Context: any, takes @r->lock with bottom halves disabled.
 * Return: false if it was seen before, is too old to tell, or is one that no
 * sender may use.
 */
bool cmptun_wg_replay_check(struct cmptun_wg_replay *r, u64 counter)
{
	bool fresh = false;

	if (counter >= CMPTUN_WG_REJECT_AFTER_MESSAGES)
		return false;

	spin_lock_bh(&r->lock);
	if (counter + CMPTUN_WG_REPLAY_WINDOW < r->next)
		goto out;

	if (counter >= r->next)
		cmptun_wg_replay_advance(r, counter);

	fresh = !__test_and_set_bit(counter % BITS_PER_LONG,
				    cmptun_wg_replay_word(r, counter /
							     BITS_PER_LONG));
out:
	spin_unlock_bh(&r->lock);
	return fresh;
}
