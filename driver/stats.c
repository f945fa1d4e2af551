// SPDX-License-Identifier: GPL-2.0
/*
 * Counters per mode and per drop cause.
 *
 * Each drop is counted three times, for three readers: by its cause for
 * ethtool -S, in the standard counter that comparable drivers would use, and
 * with a core skb drop reason for whoever traces kfree_skb.
 */
#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include "cmptun.h"
#include "stats.h"

/* Standard counters that a drop may show up in */
enum cmptun_dev_stat {
	CMPTUN_DEV_NONE,
	CMPTUN_DEV_TX_ERRORS,
	CMPTUN_DEV_TX_CARRIER,
	CMPTUN_DEV_TX_COLLISIONS,
	CMPTUN_DEV_TX_DROPPED,
	CMPTUN_DEV_RX_ERRORS,
	CMPTUN_DEV_RX_FRAME,
	CMPTUN_DEV_RX_LENGTH,
	CMPTUN_DEV_RX_DROPPED,
};

/**
 * struct cmptun_stat_info - what is known of a counter beforehand
 * @name: name in ethtool -S
 * @dev: standard counter that goes with it
 * @reason: core drop reason
 */
struct cmptun_stat_info {
	char name[ETH_GSTRING_LEN];
	enum cmptun_dev_stat dev;
	enum skb_drop_reason reason;
};

#define CMPTUN_COUNT(stat, text)					\
	[CMPTUN_##stat] = { .name = text }
#define CMPTUN_CAUSE(stat, text, dev_stat, why)				\
	[CMPTUN_##stat] = { .name = text,				\
			    .dev = CMPTUN_DEV_##dev_stat,		\
			    .reason = SKB_DROP_REASON_##why }

static const struct cmptun_stat_info cmptun_stat_info[CMPTUN_STAT_COUNT] = {
	CMPTUN_COUNT(IPIP_TX_PACKETS, "ipip_tx_packets"),
	CMPTUN_COUNT(IPIP_RX_PACKETS, "ipip_rx_packets"),
	CMPTUN_COUNT(WG_TX_PACKETS, "wg_tx_packets"),
	CMPTUN_COUNT(WG_RX_PACKETS, "wg_rx_packets"),
	CMPTUN_COUNT(WG_HANDSHAKES, "wg_handshakes"),

	CMPTUN_CAUSE(TX_DROP_MALFORMED, "tx_drop_malformed",
		     TX_ERRORS, IP_INHDR),
	CMPTUN_CAUSE(TX_DROP_NO_REMOTE, "tx_drop_no_remote",
		     TX_CARRIER, IP_INADDRERRORS),
	CMPTUN_CAUSE(TX_DROP_NO_KEY, "tx_drop_no_key",
		     TX_ERRORS, DEV_READY),
	CMPTUN_CAUSE(TX_DROP_NO_PEER, "tx_drop_no_peer",
		     TX_ERRORS, IP_OUTNOROUTES),
	CMPTUN_CAUSE(TX_DROP_NO_ENDPOINT, "tx_drop_no_endpoint",
		     TX_ERRORS, IP_INADDRERRORS),
	CMPTUN_CAUSE(TX_DROP_NO_ROUTE, "tx_drop_no_route",
		     TX_CARRIER, IP_OUTNOROUTES),
	CMPTUN_CAUSE(TX_DROP_LOOP, "tx_drop_loop",
		     TX_COLLISIONS, IP_OUTNOROUTES),
	CMPTUN_CAUSE(TX_DROP_TOO_BIG, "tx_drop_too_big",
		     TX_ERRORS, PKT_TOO_BIG),
	CMPTUN_CAUSE(TX_DROP_QUEUE_FULL, "tx_drop_queue_full",
		     TX_DROPPED, FULL_RING),
	CMPTUN_CAUSE(TX_DROP_FLUSHED, "tx_drop_flushed",
		     TX_DROPPED, DEV_READY),
	CMPTUN_CAUSE(TX_DROP_NO_MEMORY, "tx_drop_no_memory",
		     TX_DROPPED, NOMEM),
	CMPTUN_CAUSE(TX_DROP_DOWN, "tx_drop_down",
		     TX_DROPPED, DEV_READY),

	CMPTUN_CAUSE(RX_DROP_MALFORMED, "rx_drop_malformed",
		     RX_LENGTH, HDR_TRUNC),
	CMPTUN_CAUSE(RX_DROP_MESSAGE, "rx_drop_message",
		     NONE, HDR_TRUNC),
	CMPTUN_CAUSE(RX_DROP_ECN, "rx_drop_ecn",
		     RX_FRAME, IP_INHDR),
	CMPTUN_CAUSE(RX_DROP_POLICY, "rx_drop_policy",
		     RX_DROPPED, XFRM_POLICY),
	CMPTUN_CAUSE(RX_DROP_NO_SESSION, "rx_drop_no_session",
		     NONE, NO_SOCKET),
	CMPTUN_CAUSE(RX_DROP_AUTH, "rx_drop_auth",
		     RX_ERRORS, SKB_CSUM),
	CMPTUN_CAUSE(RX_DROP_REPLAY, "rx_drop_replay",
		     RX_ERRORS, SOCKET_FILTER),
	CMPTUN_CAUSE(RX_DROP_ALLOWED_IPS, "rx_drop_allowed_ips",
		     RX_FRAME, IP_RPFILTER),
	CMPTUN_CAUSE(RX_DROP_MAC1, "rx_drop_mac1",
		     NONE, SKB_CSUM),
	CMPTUN_CAUSE(RX_DROP_HANDSHAKE, "rx_drop_handshake",
		     NONE, SOCKET_FILTER),
	CMPTUN_CAUSE(RX_DROP_QUEUE_FULL, "rx_drop_queue_full",
		     RX_DROPPED, FULL_RING),
	CMPTUN_CAUSE(RX_DROP_NO_MEMORY, "rx_drop_no_memory",
		     RX_DROPPED, NOMEM),
};

/**
 * cmptun_stats_init - allocate a device's counters
 * @ct: the device
 *
 * Return: 0 or -ENOMEM.
 */
int cmptun_stats_init(struct cmptun_dev *ct)
{
	ct->stats = netdev_alloc_pcpu_stats(struct cmptun_stats);

	return ct->stats ? 0 : -ENOMEM;
}

/**
 * cmptun_stats_uninit - free a device's counters
 * @ct: the device; nothing counts any more
 */
void cmptun_stats_uninit(struct cmptun_dev *ct)
{
	free_percpu(ct->stats);
	ct->stats = NULL;
}

/**
 * cmptun_stats_inc - count one
 * @ct: the device
 * @stat: what
 *
 * Context: any, hard interrupts excepted.
 */
void cmptun_stats_inc(struct cmptun_dev *ct, enum cmptun_stat stat)
{
	struct cmptun_stats *stats;

	local_bh_disable();
	stats = this_cpu_ptr(ct->stats);
	u64_stats_update_begin(&stats->syncp);
	u64_stats_inc(&stats->value[stat]);
	u64_stats_update_end(&stats->syncp);
	local_bh_enable();
}

static void cmptun_dev_stat_inc(struct net_device *dev,
				enum cmptun_dev_stat stat)
{
	switch (stat) {
	case CMPTUN_DEV_NONE:
		break;
	case CMPTUN_DEV_TX_COLLISIONS:
		DEV_STATS_INC(dev, collisions);
		DEV_STATS_INC(dev, tx_errors);
		break;
	case CMPTUN_DEV_TX_CARRIER:
		DEV_STATS_INC(dev, tx_carrier_errors);
		fallthrough;
	case CMPTUN_DEV_TX_ERRORS:
		DEV_STATS_INC(dev, tx_errors);
		break;
	case CMPTUN_DEV_TX_DROPPED:
		DEV_STATS_INC(dev, tx_dropped);
		break;
	case CMPTUN_DEV_RX_FRAME:
		DEV_STATS_INC(dev, rx_frame_errors);
		DEV_STATS_INC(dev, rx_errors);
		break;
	case CMPTUN_DEV_RX_LENGTH:
		DEV_STATS_INC(dev, rx_length_errors);
		fallthrough;
	case CMPTUN_DEV_RX_ERRORS:
		DEV_STATS_INC(dev, rx_errors);
		break;
	case CMPTUN_DEV_RX_DROPPED:
		DEV_STATS_INC(dev, rx_dropped);
		break;
	}
}

/**
 * cmptun_stats_drop - count a drop of what is gone, or was never there
 * @ct: the device
 * @cause: a counter from %CMPTUN_TX_DROP_FIRST on
 *
 * Context: any, hard interrupts excepted.
 */
void cmptun_stats_drop(struct cmptun_dev *ct, enum cmptun_stat cause)
{
	cmptun_stats_inc(ct, cause);
	cmptun_dev_stat_inc(ct->dev, cmptun_stat_info[cause].dev);
}

/**
 * cmptun_drop - throw a packet away and say why
 * @ct: the device
 * @skb: the packet; consumed
 * @cause: a counter from %CMPTUN_TX_DROP_FIRST on
 *
 * Context: any, hard interrupts excepted.
 */
void cmptun_drop(struct cmptun_dev *ct, struct sk_buff *skb,
		 enum cmptun_stat cause)
{
	cmptun_stats_drop(ct, cause);
	kfree_skb_reason(skb, cmptun_stat_info[cause].reason);
}

/**
 * cmptun_stats_strings - names for ETHTOOL_GSTRINGS
 * @data: room for CMPTUN_STAT_COUNT names
 */
void cmptun_stats_strings(u8 *data)
{
	int i;

	for (i = 0; i < CMPTUN_STAT_COUNT; i++)
		memcpy(data + i * ETH_GSTRING_LEN, cmptun_stat_info[i].name,
		       ETH_GSTRING_LEN);
}

/**
 * cmptun_stats_read - add the counters of all CPUs up
 * @ct: the device
 * @data: room for CMPTUN_STAT_COUNT values
 */
void cmptun_stats_read(struct cmptun_dev *ct, u64 *data)
{
	int cpu, i;

	memset(data, 0, CMPTUN_STAT_COUNT * sizeof(*data));
	for_each_possible_cpu(cpu) {
		const struct cmptun_stats *stats = per_cpu_ptr(ct->stats, cpu);
		u64 value[CMPTUN_STAT_COUNT];
		unsigned int start;

		do {
			start = u64_stats_fetch_begin(&stats->syncp);
			for (i = 0; i < CMPTUN_STAT_COUNT; i++)
				value[i] = u64_stats_read(&stats->value[i]);
		} while (u64_stats_fetch_retry(&stats->syncp, start));

		for (i = 0; i < CMPTUN_STAT_COUNT; i++)
			data[i] += value[i];
	}
}
