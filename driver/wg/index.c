// SPDX-License-Identifier: GPL-2.0
/*
 * The 32-bit indices by which messages name a handshake or a session of ours.
 *
 * They are random, so that they tell an observer nothing and need no keyed
 * hash: nobody chooses the bucket.
 */
#include <linux/random.h>
#include <linux/rculist.h>

#include "index.h"

static struct hlist_head *cmptun_wg_index_bucket(struct cmptun_wg_index *index,
						 __le32 value)
{
	return &index->hash[(__force u32)value % HASH_SIZE(index->hash)];
}

/**
 * cmptun_wg_index_init - no names yet
 * @index: the table
 */
void cmptun_wg_index_init(struct cmptun_wg_index *index)
{
	spin_lock_init(&index->lock);
	hash_init(index->hash);
}

static struct cmptun_wg_index_entry *
cmptun_wg_index_any(struct cmptun_wg_index *index, __le32 value)
{
	struct cmptun_wg_index_entry *entry;

	hlist_for_each_entry_rcu(entry, cmptun_wg_index_bucket(index, value),
				 node, lockdep_is_held(&index->lock)) {
		if (entry->value == value)
			return entry;
	}

	return NULL;
}

/**
 * cmptun_wg_index_insert - give a new name
 * @index: the table
 * @entry: gets it; loses the one it had
 *
 * A reader that stands on @entry is led on in another bucket. That ends as
 * well, and at worst the message it looks for counts as unknown.
 *
 * Context: any.
 */
void cmptun_wg_index_insert(struct cmptun_wg_index *index,
			    struct cmptun_wg_index_entry *entry)
{
	spin_lock_bh(&index->lock);
	hlist_del_init_rcu(&entry->node);
	do {
		entry->value = (__force __le32)get_random_u32();
	} while (cmptun_wg_index_any(index, entry->value));
	hlist_add_head_rcu(&entry->node,
			   cmptun_wg_index_bucket(index, entry->value));
	spin_unlock_bh(&index->lock);
}

/**
 * cmptun_wg_index_hand_over - let a session take over its handshake's name
 * @index: the table
 * @from: of the handshake
 * @to: of the session, not yet in the table
 *
 * Context: any.
 * Return: false if @from has no name any more.
 */
bool cmptun_wg_index_hand_over(struct cmptun_wg_index *index,
			       struct cmptun_wg_index_entry *from,
			       struct cmptun_wg_index_entry *to)
{
	bool named;

	spin_lock_bh(&index->lock);
	named = !hlist_unhashed(&from->node);
	to->value = from->value;
	if (named) {
		hlist_replace_rcu(&from->node, &to->node);
		INIT_HLIST_NODE(&from->node);
	}
	spin_unlock_bh(&index->lock);
	return named;
}

/**
 * cmptun_wg_index_remove - take a name away
 * @index: the table
 * @entry: may have none
 *
 * Context: any.
 */
void cmptun_wg_index_remove(struct cmptun_wg_index *index,
			    struct cmptun_wg_index_entry *entry)
{
	spin_lock_bh(&index->lock);
	hlist_del_init_rcu(&entry->node);
	spin_unlock_bh(&index->lock);
}

/**
 * cmptun_wg_index_find - whom does a message mean?
 * @index: the table
 * @kind: what it may mean
 * @value: as received
 *
 * Context: RCU.
 * Return: the entry, or NULL.
 */
struct cmptun_wg_index_entry *
cmptun_wg_index_find(struct cmptun_wg_index *index,
		     enum cmptun_wg_index_kind kind, __le32 value)
{
	struct cmptun_wg_index_entry *entry = cmptun_wg_index_any(index, value);

	return entry && entry->kind == kind ? entry : NULL;
}
