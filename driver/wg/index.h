/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CMPTUN_WG_INDEX_H
#define CMPTUN_WG_INDEX_H

#include <linux/hashtable.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct cmptun_wg_peer;

/**
 * struct cmptun_wg_index - names that we gave to handshakes and sessions
 * @lock: guards insertion and removal
 * @hash: of &struct cmptun_wg_index_entry; read under RCU
 */
struct cmptun_wg_index {
	/* guards insertion and removal */
	spinlock_t lock;
	DECLARE_HASHTABLE(hash, 6);
};

/**
 * enum cmptun_wg_index_kind - what an index names
 * @CMPTUN_WG_INDEX_HANDSHAKE: an unfinished handshake
 * @CMPTUN_WG_INDEX_SESSION: a session
 */
enum cmptun_wg_index_kind {
	CMPTUN_WG_INDEX_HANDSHAKE = 1,
	CMPTUN_WG_INDEX_SESSION = 2,
};

/**
 * struct cmptun_wg_index_entry - one name, part of what it names
 * @node: link in the hash
 * @kind: what it is part of; immutable
 * @peer: whose; immutable
 * @value: the index as on the wire; written under the index lock
 */
struct cmptun_wg_index_entry {
	struct hlist_node node;
	enum cmptun_wg_index_kind kind;
	struct cmptun_wg_peer *peer;
	__le32 value;
};

void cmptun_wg_index_init(struct cmptun_wg_index *index);
void cmptun_wg_index_insert(struct cmptun_wg_index *index,
			    struct cmptun_wg_index_entry *entry);
bool cmptun_wg_index_hand_over(struct cmptun_wg_index *index,
			       struct cmptun_wg_index_entry *from,
			       struct cmptun_wg_index_entry *to);
void cmptun_wg_index_remove(struct cmptun_wg_index *index,
			    struct cmptun_wg_index_entry *entry);
struct cmptun_wg_index_entry *
cmptun_wg_index_find(struct cmptun_wg_index *index,
		     enum cmptun_wg_index_kind kind, __le32 value);

#endif /* CMPTUN_WG_INDEX_H */
