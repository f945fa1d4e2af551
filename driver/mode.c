// SPDX-License-Identifier: GPL-2.0
/*
 * The table of modes, and what concerns all of them.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <uapi/linux/if_cmptun.h>

#include "cmptun.h"
#include "mode.h"

const struct cmptun_mode *const cmptun_modes[] = {
	&cmptun_mode_ipip,
	&cmptun_mode_wg,
	NULL
};

#define CMPTUN_MODES_COUNT (ARRAY_SIZE(cmptun_modes) - 1)

static bool cmptun_mode_complete(const struct cmptun_mode *mode)
{
	return mode->name && mode->dev_init && mode->dev_uninit &&
	       mode->conf_init && mode->conf_get && mode->conf_put &&
	       mode->conf_parse && mode->conf_check && mode->conf_apply &&
	       mode->fill_size && mode->fill && mode->overhead &&
	       mode->destination && mode->prepare && mode->start &&
	       mode->stop && mode->release && mode->xmit;
}

/**
 * cmptun_modes_check - refuse a table with a hole
 *
 * The packet path calls operations without asking whether they are there;
 * this is where they are asked for, once, when the module is loaded.
 *
 * Return: 0, or -EINVAL if a mode lacks an operation or a number is not its
 * own.
 */
int cmptun_modes_check(void)
{
	const struct cmptun_mode *const *mode;

	BUILD_BUG_ON(CMPTUN_MODES_COUNT != CMPTUN_MODE_MAX);

	cmptun_for_each_mode(mode) {
		if (WARN_ON(!cmptun_mode_complete(*mode) ||
			    cmptun_mode_by_id((*mode)->id) != *mode))
			return -EINVAL;
	}

	return 0;
}

/**
 * cmptun_mode_by_id - look a mode up
 * @id: enum cmptun_mode_id, as received
 *
 * Return: the mode, or NULL if there is none with this number.
 */
const struct cmptun_mode *cmptun_mode_by_id(u8 id)
{
	if (!id || id > CMPTUN_MODES_COUNT)
		return NULL;

	return cmptun_modes[id - 1];
}

/**
 * cmptun_conf_init - a configuration as it is before anything was set
 * @conf: where to
 */
void cmptun_conf_init(struct cmptun_conf *conf)
{
	const struct cmptun_mode *const *mode;

	memset(conf, 0, sizeof(*conf));
	conf->mode = cmptun_modes[0];
	cmptun_for_each_mode(mode)
		(*mode)->conf_init(conf);
}

/**
 * cmptun_conf_copy - copy a configuration, with references of its own
 * @to: where to; give back with cmptun_conf_put()
 * @from: where from
 */
void cmptun_conf_copy(struct cmptun_conf *to, const struct cmptun_conf *from)
{
	const struct cmptun_mode *const *mode;

	*to = *from;
	cmptun_for_each_mode(mode)
		(*mode)->conf_get(to);
}

/**
 * cmptun_conf_apply - a configuration has become the device's
 * @conf: the device's; RTNL
 */
void cmptun_conf_apply(struct cmptun_conf *conf)
{
	const struct cmptun_mode *const *mode;

	cmptun_for_each_mode(mode)
		(*mode)->conf_apply(conf);
}

/**
 * cmptun_conf_put - drop the references of a configuration
 * @conf: not to be used afterwards
 */
void cmptun_conf_put(struct cmptun_conf *conf)
{
	const struct cmptun_mode *const *mode;

	cmptun_for_each_mode(mode)
		(*mode)->conf_put(conf);
}
