/* SPDX-License-Identifier: GPL-2.0 */
/* Moved out of asm/ in 6.12 */
#ifdef CMPTUN_HAS_UNALIGNED_H
#include_next <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif
