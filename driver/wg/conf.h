/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What wg mode adds to a configuration and to a running state.
 */
#ifndef CMPTUN_WG_CONF_H
#define CMPTUN_WG_CONF_H

#include <linux/types.h>

struct cmptun_wg_endpoint;
struct cmptun_wg_identity;
struct cmptun_wg_peer;
struct cmptun_wg_settings;
struct cmptun_wg_sock;

/**
 * struct cmptun_wg_conf - what only wg uses
 * @identity: our key pair, NULL before one was set; a reference
 * @peer: the peer with its handshake and sessions, NULL for none; a reference
 * @settings: what the user set for the peer, NULL without one; a reference
 * @endpoint: where the user says the peer is, NULL if unknown; a reference
 * @endpoint_is_remote: @endpoint was derived from the device's remote
 * @port: UDP port to listen on, 0 for any
 *
 * The peer is the only object here that changes while it is in use. All
 * others are replaced.
 */
struct cmptun_wg_conf {
	struct cmptun_wg_identity *identity;
	struct cmptun_wg_peer *peer;
	struct cmptun_wg_settings *settings;
	struct cmptun_wg_endpoint *endpoint;
	bool endpoint_is_remote;
	u16 port;
};

/**
 * struct cmptun_wg_run - resources of a running wg state
 * @sock: the sockets; shared between states with the same port
 */
struct cmptun_wg_run {
	struct cmptun_wg_sock *sock;
};

#endif /* CMPTUN_WG_CONF_H */
