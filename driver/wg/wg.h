/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_WG_H
#define CMPTUN_WG_WG_H

#include <linux/skbuff.h>
#include <linux/workqueue.h>

#include "index.h"

struct cmptun_dev;

/**
 * struct cmptun_wg - what wg mode keeps for the life of a device
 * @ct: the device; immutable
 * @index: names of handshakes and sessions
 * @handshakes: handshake messages received, to be worked on in process
 *	context; its own lock
 * @handshakes_work: works on them
 */
struct cmptun_wg {
	struct cmptun_dev *ct;
	struct cmptun_wg_index index;
	struct sk_buff_head handshakes;
	struct work_struct handshakes_work;
};

/* Public key operations and timers of all devices */
extern struct workqueue_struct *cmptun_wg_queue;

int cmptun_wg_init(void);
void cmptun_wg_exit(void);

#endif /* CMPTUN_WG_WG_H */
