/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters per mode and per drop cause, shown by ethtool -S.
 */
#ifndef CMPTUN_STATS_H
#define CMPTUN_STATS_H

#include <linux/types.h>
#include <linux/u64_stats_sync.h>

struct cmptun_dev;
struct sk_buff;

/**
 * enum cmptun_stat - index of a counter
 *
 * The meaning of each stands in Documentation/statistics.rst. Everything from
 * %CMPTUN_TX_DROP_FIRST on is the cause of a drop.
 */
enum cmptun_stat {
	CMPTUN_IPIP_TX_PACKETS,
	CMPTUN_IPIP_RX_PACKETS,
	CMPTUN_WG_TX_PACKETS,
	CMPTUN_WG_RX_PACKETS,
	CMPTUN_WG_HANDSHAKES,

	CMPTUN_TX_DROP_FIRST,
	CMPTUN_TX_DROP_MALFORMED = CMPTUN_TX_DROP_FIRST,
	CMPTUN_TX_DROP_NO_REMOTE,
	CMPTUN_TX_DROP_NO_KEY,
	CMPTUN_TX_DROP_NO_PEER,
	CMPTUN_TX_DROP_NO_ENDPOINT,
	CMPTUN_TX_DROP_NO_ROUTE,
	CMPTUN_TX_DROP_LOOP,
	CMPTUN_TX_DROP_TOO_BIG,
	CMPTUN_TX_DROP_QUEUE_FULL,
	CMPTUN_TX_DROP_FLUSHED,
	CMPTUN_TX_DROP_NO_MEMORY,
	CMPTUN_TX_DROP_DOWN,

	CMPTUN_RX_DROP_MALFORMED,
	CMPTUN_RX_DROP_MESSAGE,
	CMPTUN_RX_DROP_ECN,
	CMPTUN_RX_DROP_POLICY,
	CMPTUN_RX_DROP_NO_SESSION,
	CMPTUN_RX_DROP_AUTH,
	CMPTUN_RX_DROP_REPLAY,
	CMPTUN_RX_DROP_ALLOWED_IPS,
	CMPTUN_RX_DROP_MAC1,
	CMPTUN_RX_DROP_HANDSHAKE,
	CMPTUN_RX_DROP_QUEUE_FULL,
	CMPTUN_RX_DROP_NO_MEMORY,

	CMPTUN_STAT_COUNT,
};

/**
 * struct cmptun_stats - one CPU's counters
 * @syncp: lets 32-bit readers see whole values; written with bottom halves
 *	disabled
 * @value: by &enum cmptun_stat
 */
struct cmptun_stats {
	struct u64_stats_sync syncp;
	u64_stats_t value[CMPTUN_STAT_COUNT];
};

int cmptun_stats_init(struct cmptun_dev *ct);
void cmptun_stats_uninit(struct cmptun_dev *ct);
void cmptun_stats_inc(struct cmptun_dev *ct, enum cmptun_stat stat);
void cmptun_stats_drop(struct cmptun_dev *ct, enum cmptun_stat cause);
void cmptun_drop(struct cmptun_dev *ct, struct sk_buff *skb,
		 enum cmptun_stat cause);

void cmptun_stats_strings(u8 *data);
void cmptun_stats_read(struct cmptun_dev *ct, u64 *data);

#endif /* CMPTUN_STATS_H */
