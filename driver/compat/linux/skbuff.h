/* SPDX-License-Identifier: GPL-2.0 */
#include_next <linux/skbuff.h>

#ifndef CMPTUN_COMPAT_LINUX_SKBUFF_H
#define CMPTUN_COMPAT_LINUX_SKBUFF_H

/* The bit is always there until 6.2, and with SCTP only since */
#ifndef CMPTUN_HAS_RESET_CSUM_NOT_INET
static inline void skb_reset_csum_not_inet(struct sk_buff *skb)
{
	skb->ip_summed = CHECKSUM_NONE;
	skb->csum_not_inet = 0;
}
#endif

#endif
