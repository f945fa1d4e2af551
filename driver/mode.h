/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a mode implements. A third mode is one file with such a table, its
 * line in cmptun_modes[] and its configuration in struct cmptun_conf.
 */
#ifndef CMPTUN_MODE_H
#define CMPTUN_MODE_H

#include <linux/types.h>

struct cmptun_addr;
struct cmptun_conf;
struct cmptun_dev;
struct cmptun_state;
struct net_device;
struct netlink_ext_ack;
struct nlattr;
struct sk_buff;

/**
 * struct cmptun_mode - operations of one way to carry packets
 * @id: enum cmptun_mode_id
 * @name: what the user types
 * @dev_init: allocate what the mode keeps for the life of a device. RTNL.
 *	Return: 0 or -ENOMEM
 * @dev_uninit: free it again, also after a @dev_init that never ran
 * @conf_init: set defaults
 * @conf_get: take the references that a copy of the configuration needs
 * @conf_put: drop them
 * @conf_parse: take over the mode's own attributes from @data, whichever mode
 *	is selected. RTNL, may sleep. Touches nothing but @conf.
 *	Return: 0 or a negative errno with @extack set
 * @conf_check: can the mode run with @conf? Called after all of @conf_parse,
 *	for the selected mode only. RTNL. Return: as @conf_parse
 * @conf_apply: the configuration has become the device's: tell objects that
 *	live on about it, whichever mode runs. RTNL. Cannot fail
 * @fill_size: bytes of netlink attributes that @fill may add
 * @fill: add the mode's attributes, no secrets. RTNL.
 *	Return: 0 or -EMSGSIZE
 * @overhead: bytes the mode adds to a packet
 * @destination: where outer packets would go, as far as is known
 * @prepare: acquire everything @state needs to run, sharing what it can with
 *	@old (NULL if another mode or nothing ran). RTNL, may sleep. Changes
 *	nothing that @old uses. Return: 0 or a negative errno with @extack set
 * @start: called once @state is published; hook into receive. @old is what
 *	ran before, of whichever mode, NULL if the device was down. Cannot fail
 * @stop: called once @state is no longer published; unhook from receive
 * @release: give back what @prepare got, except for what @next (NULL if
 *	another mode or nothing follows) shares. RTNL, after a grace period;
 *	also for a @state that was never published
 * @xmit: send @skb, which is consumed. RCU, bottom halves disabled.
 *	Return: NETDEV_TX_OK or the negative errno that the sender shall see
 */
struct cmptun_mode {
	u8 id;
	const char *name;

	int (*dev_init)(struct cmptun_dev *ct);
	void (*dev_uninit)(struct cmptun_dev *ct);

	void (*conf_init)(struct cmptun_conf *conf);
	void (*conf_get)(struct cmptun_conf *conf);
	void (*conf_put)(struct cmptun_conf *conf);
	int (*conf_parse)(struct cmptun_dev *ct, struct cmptun_conf *conf,
			  struct nlattr *data[],
			  struct netlink_ext_ack *extack);
	int (*conf_check)(struct cmptun_dev *ct,
			  const struct cmptun_conf *conf,
			  struct netlink_ext_ack *extack);
	void (*conf_apply)(struct cmptun_conf *conf);
	size_t (*fill_size)(const struct cmptun_conf *conf);
	int (*fill)(struct sk_buff *skb, const struct cmptun_conf *conf);
	unsigned int (*overhead)(const struct cmptun_conf *conf);
	struct cmptun_addr (*destination)(const struct cmptun_conf *conf);

	int (*prepare)(struct cmptun_state *state,
		       const struct cmptun_state *old,
		       struct netlink_ext_ack *extack);
	void (*start)(struct cmptun_state *state,
		      const struct cmptun_state *old);
	void (*stop)(struct cmptun_state *state);
	void (*release)(struct cmptun_state *state,
			const struct cmptun_state *next);
	int (*xmit)(struct sk_buff *skb, struct cmptun_state *state);
};

extern const struct cmptun_mode cmptun_mode_ipip;
extern const struct cmptun_mode cmptun_mode_wg;

/* Every mode there is, in the order of their numbers, and NULL */
extern const struct cmptun_mode *const cmptun_modes[];

/* Walks cmptun_modes[], which ends with NULL; @pos is a plain variable */
#define cmptun_for_each_mode(pos) \
	for (pos = cmptun_modes; *pos; pos++)

int cmptun_modes_check(void);
const struct cmptun_mode *cmptun_mode_by_id(u8 id);

void cmptun_conf_init(struct cmptun_conf *conf);
void cmptun_conf_copy(struct cmptun_conf *to, const struct cmptun_conf *from);
void cmptun_conf_apply(struct cmptun_conf *conf);
void cmptun_conf_put(struct cmptun_conf *conf);

#endif /* CMPTUN_MODE_H */
