/* SPDX-License-Identifier: GPL-2.0 */
/* Split off algapi.h in 6.4 */
#ifdef CMPTUN_HAS_CRYPTO_UTILS_H
#include_next <crypto/utils.h>
#else
#include <crypto/algapi.h>
#endif
