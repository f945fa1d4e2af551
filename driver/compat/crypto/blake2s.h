/* SPDX-License-Identifier: GPL-2.0 */
#include_next <crypto/blake2s.h>

#ifndef CMPTUN_COMPAT_CRYPTO_BLAKE2S_H
#define CMPTUN_COMPAT_CRYPTO_BLAKE2S_H

/* Renamed in 6.19 */
#ifndef CMPTUN_HAS_BLAKE2S_CTX
#define blake2s_ctx blake2s_state
#endif

#endif
