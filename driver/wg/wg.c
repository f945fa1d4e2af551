// SPDX-License-Identifier: GPL-2.0
/*
 * wg mode: the WireGuard protocol behind the table of operations.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <uapi/linux/if_cmptun.h>

#include "../cmptun.h"
#include "../mode.h"
#include "../stats.h"
#include "endpoint.h"
#include "identity.h"
#include "netlink.h"
#include "peer.h"
#include "rx.h"
#include "settings.h"
#include "socket.h"
#include "timers.h"
#include "tx.h"
#include "wg.h"

/* Room for an IPv6 outer header whatever the endpoint,
 * as it may roam to one: IPv6, UDP, message header and tag.
 */
#define CMPTUN_WG_OVERHEAD (40 + 8 + sizeof(struct cmptun_wg_data) + \
			    CMPTUN_WG_TAG_LEN)

struct workqueue_struct *cmptun_wg_queue;

static int cmptun_wg_dev_init(struct cmptun_dev *ct)
{
	struct cmptun_wg *wg = kzalloc(sizeof(*wg), GFP_KERNEL);

	if (!wg)
		return -ENOMEM;

	wg->ct = ct;
	cmptun_wg_index_init(&wg->index);
	skb_queue_head_init(&wg->handshakes);
	INIT_WORK(&wg->handshakes_work, cmptun_wg_rx_handshakes_work);
	ct->wg = wg;
	return 0;
}

static void cmptun_wg_dev_uninit(struct cmptun_dev *ct)
{
	kfree(ct->wg);
	ct->wg = NULL;
}

static void cmptun_wg_conf_init(struct cmptun_conf *conf)
{
	/* Nothing is known: the zeroes are right. */
}

static void cmptun_wg_conf_get(struct cmptun_conf *conf)
{
	cmptun_wg_identity_get(conf->wg.identity);
	cmptun_wg_peer_get(conf->wg.peer);
	cmptun_wg_settings_get(conf->wg.settings);
	cmptun_wg_endpoint_get(conf->wg.endpoint);
}

static void cmptun_wg_conf_put(struct cmptun_conf *conf)
{
	cmptun_wg_endpoint_put(conf->wg.endpoint);
	cmptun_wg_settings_put(conf->wg.settings);
	cmptun_wg_peer_put(conf->wg.peer);
	cmptun_wg_identity_put(conf->wg.identity);
}

static int cmptun_wg_conf_check(struct cmptun_dev *ct,
				const struct cmptun_conf *conf,
				struct netlink_ext_ack *extack)
{
	/* A device without keys or peer is a device that drops packets. */
	return 0;
}

/* The peer is where the user says, from the moment that was said */
static void cmptun_wg_conf_apply(struct cmptun_conf *conf)
{
	struct cmptun_wg_peer *peer = conf->wg.peer;

	if (!peer || peer->endpoint_set == conf->wg.endpoint)
		return;

	cmptun_wg_peer_set_endpoint(peer,
				    cmptun_wg_endpoint_get(conf->wg.endpoint));
	peer->endpoint_set = conf->wg.endpoint;
}

static unsigned int cmptun_wg_overhead(const struct cmptun_conf *conf)
{
	return CMPTUN_WG_OVERHEAD;
}

static struct cmptun_addr cmptun_wg_destination(const struct cmptun_conf *conf)
{
	return conf->wg.endpoint ? cmptun_wg_endpoint_addr(conf->wg.endpoint) :
				   conf->remote;
}

static bool cmptun_wg_keeps_sock(const struct cmptun_state *state,
				 const struct cmptun_state *old)
{
	const u16 port = state->conf.wg.port;

	return old && (!port || port == old->wg.sock->port);
}

static int cmptun_wg_prepare(struct cmptun_state *state,
			     const struct cmptun_state *old,
			     struct netlink_ext_ack *extack)
{
	if (cmptun_wg_keeps_sock(state, old)) {
		state->wg.sock = old->wg.sock;
		return 0;
	}

	state->wg.sock = cmptun_wg_sock_open(state->ct, state->conf.wg.port,
					     extack);
	return PTR_ERR_OR_ZERO(state->wg.sock);
}

static void cmptun_wg_start(struct cmptun_state *state,
			    const struct cmptun_state *old)
{
	struct cmptun_wg_peer *peer = state->conf.wg.peer;

	/* A port that the kernel has chosen is kept from now on. */
	state->ct->conf.wg.port = state->wg.sock->port;

	if (!peer)
		return;

	cmptun_wg_timers_start(state);
	rcu_read_lock_bh();
	/* Traffic was flowing: whoever of both ends enters wg last finds the
	 * other one there, and must not wait for a packet to say so.
	 */
	if (old && old->mode != state->mode &&
	    rcu_access_pointer(peer->endpoint))
		cmptun_wg_tx_initiate(peer, false);
	cmptun_wg_tx_staged(state);
	rcu_read_unlock_bh();
}

static void cmptun_wg_stop(struct cmptun_state *state)
{
	/* Receive looks at the published state: there is nothing to unhook. */
}

static void cmptun_wg_flush_handshakes(struct cmptun_wg *wg)
{
	struct sk_buff *skb;

	cancel_work_sync(&wg->handshakes_work);
	while ((skb = skb_dequeue(&wg->handshakes)))
		cmptun_drop(wg->ct, skb, CMPTUN_RX_DROP_NO_SESSION);
}

/* Mark and device may have changed, and nobody is left who would fill the
 * cache by the old ones.
 */
static void cmptun_wg_refresh_route(const struct cmptun_wg_peer *peer)
{
	struct cmptun_wg_endpoint *endpoint;

	rcu_read_lock();
	endpoint = rcu_dereference(peer->endpoint);
	if (endpoint)
		dst_cache_reset(&endpoint->dst_cache);
	rcu_read_unlock();
}

static void cmptun_wg_release(struct cmptun_state *state,
			      const struct cmptun_state *next)
{
	struct cmptun_wg_peer *peer = state->conf.wg.peer;
	struct cmptun_wg *wg = state->ct->wg;

	if (next)
		flush_work(&wg->handshakes_work);
	else
		cmptun_wg_flush_handshakes(wg);

	if (peer && next && next->conf.wg.peer == peer) {
		cmptun_wg_peer_flush_works(peer);
		cmptun_wg_refresh_route(peer);
	} else if (peer) {
		cmptun_wg_peer_quiesce(peer);
		/* The peer may have roamed away from where the user said. */
		cmptun_wg_endpoint_drop_route(state->conf.wg.endpoint);
	}

	if (!next || next->wg.sock != state->wg.sock)
		cmptun_wg_sock_close(state->wg.sock);
}

/**
 * cmptun_wg_init - what all devices share
 *
 * Return: 0 or -ENOMEM.
 */
int cmptun_wg_init(void)
{
	/* Public key operations take long, and are nobody's packets. */
	cmptun_wg_queue = alloc_workqueue("cmptun", WQ_CPU_INTENSIVE |
					  WQ_FREEZABLE, 0);

	return cmptun_wg_queue ? 0 : -ENOMEM;
}

/**
 * cmptun_wg_exit - undo cmptun_wg_init()
 */
void cmptun_wg_exit(void)
{
	destroy_workqueue(cmptun_wg_queue);
}

const struct cmptun_mode cmptun_mode_wg = {
	.id = CMPTUN_MODE_WG,
	.name = "wg",
	.dev_init = cmptun_wg_dev_init,
	.dev_uninit = cmptun_wg_dev_uninit,
	.conf_init = cmptun_wg_conf_init,
	.conf_get = cmptun_wg_conf_get,
	.conf_put = cmptun_wg_conf_put,
	.conf_parse = cmptun_wg_conf_parse,
	.conf_check = cmptun_wg_conf_check,
	.conf_apply = cmptun_wg_conf_apply,
	.fill_size = cmptun_wg_fill_size,
	.fill = cmptun_wg_fill,
	.overhead = cmptun_wg_overhead,
	.destination = cmptun_wg_destination,
	.prepare = cmptun_wg_prepare,
	.start = cmptun_wg_start,
	.stop = cmptun_wg_stop,
	.release = cmptun_wg_release,
	.xmit = cmptun_wg_tx,
};
