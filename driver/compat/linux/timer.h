/* SPDX-License-Identifier: GPL-2.0 */
#include_next <linux/timer.h>

#ifndef CMPTUN_COMPAT_LINUX_TIMER_H
#define CMPTUN_COMPAT_LINUX_TIMER_H

/* Renamed in 6.16 */
#ifndef CMPTUN_HAS_TIMER_CONTAINER_OF
#define timer_container_of(var, callback_timer, timer_fieldname) \
	from_timer(var, callback_timer, timer_fieldname)
#endif

#endif
