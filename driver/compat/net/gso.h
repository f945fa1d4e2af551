/* SPDX-License-Identifier: GPL-2.0 */
/* Split off netdevice.h in 6.5 */
#ifdef CMPTUN_HAS_GSO_H
#include_next <net/gso.h>
#else
#include <linux/netdevice.h>
#endif
