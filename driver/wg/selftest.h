/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Known answers, asked for when the module is loaded.
 */
#ifndef CMPTUN_WG_SELFTEST_H
#define CMPTUN_WG_SELFTEST_H

#include <linux/init.h>

#ifdef CMPTUN_SELFTEST
int __init cmptun_wg_selftest(void);
const char *__init cmptun_wg_selftest_replay(void);
#else
static inline int cmptun_wg_selftest(void)
{
	return 0;
}
#endif

#endif /* CMPTUN_WG_SELFTEST_H */
