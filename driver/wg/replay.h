/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_REPLAY_H
#define CMPTUN_WG_REPLAY_H

#include <linux/bitmap.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "messages.h"

/* The word being filled is cleared as a whole, so one more than the window
 * is kept (RFC 6479).
 */
#define CMPTUN_WG_REPLAY_BITS (CMPTUN_WG_REPLAY_WINDOW + BITS_PER_LONG)

/**
 * struct cmptun_wg_replay - counters that were seen
 * @lock: guards all of it
 * @next: one more than the highest counter seen
 * @seen: ring of bits, counter modulo its length
 */
struct cmptun_wg_replay {
	/* guards all of it */
	spinlock_t lock;
	u64 next;
	DECLARE_BITMAP(seen, CMPTUN_WG_REPLAY_BITS);
};

void cmptun_wg_replay_init(struct cmptun_wg_replay *r);
bool cmptun_wg_replay_check(struct cmptun_wg_replay *r, u64 counter);

#endif /* CMPTUN_WG_REPLAY_H */
