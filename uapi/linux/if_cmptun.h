/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * if_cmptun.h - rtnetlink attributes of the "cmptun" link kind
 *
 * All integers are in host byte order unless the comment says be16/be32.
 * "both" means that the attribute is used in every mode. Every attribute may
 * be given in any mode: what the running mode does not use is kept for the
 * mode that does, so that "mode" alone is enough to switch a device later.
 *
 * Nothing marked write-only ever appears in a dump or a notification:
 * RTM_GETLINK needs no privilege and RTM_NEWLINK is multicast.
 */
#ifndef _UAPI_LINUX_IF_CMPTUN_H
#define _UAPI_LINUX_IF_CMPTUN_H

#include <linux/types.h>

#define CMPTUN_LINK_KIND	"cmptun"
#define CMPTUN_KEY_LEN		32

/**
 * enum cmptun_mode_id - values of %IFLA_CMPTUN_MODE
 * @CMPTUN_MODE_UNSPEC: never valid in a message
 * @CMPTUN_MODE_IPIP: IP in IP (RFC 2003, RFC 4213)
 * @CMPTUN_MODE_WG: the WireGuard protocol
 * @__CMPTUN_MODE_MAX: one past the last
 */
enum cmptun_mode_id {
	CMPTUN_MODE_UNSPEC,
	CMPTUN_MODE_IPIP,
	CMPTUN_MODE_WG,
	__CMPTUN_MODE_MAX,
};

#define CMPTUN_MODE_MAX (__CMPTUN_MODE_MAX - 1)

/* IFLA_INFO_DATA of a cmptun link */
enum {
	IFLA_CMPTUN_UNSPEC,
	IFLA_CMPTUN_MODE,	 /* u8, both, can change: enum cmptun_mode_id.
				  * Absent at creation: CMPTUN_MODE_IPIP.
				  */
	IFLA_CMPTUN_LINK,	 /* u32, both, can change: ifindex (in the
				  * link's namespace) that outer packets leave
				  * by; 0 is any.
				  */
	IFLA_CMPTUN_LOCAL,	 /* be32 IPv4, both, can change: outer source;
				  * 0.0.0.0 is any. In wg the first source
				  * address tried.
				  */
	IFLA_CMPTUN_REMOTE,	 /* be32 IPv4, both, can change: outer
				  * destination; 0.0.0.0 is none. In wg the
				  * endpoint of a peer that was given none.
				  */
	IFLA_CMPTUN_LOCAL6,	 /* 16 bytes IPv6; as LOCAL, one excludes the
				  * other.
				  */
	IFLA_CMPTUN_REMOTE6,	 /* 16 bytes IPv6; as REMOTE, one excludes the
				  * other.
				  */
	IFLA_CMPTUN_TTL,	 /* u8, ipip, can change: outer TTL; 0 copies
				  * the inner one.
				  */
	IFLA_CMPTUN_TOS,	 /* u8, ipip, can change: outer TOS; 1 copies
				  * the inner one.
				  */
	IFLA_CMPTUN_PMTUDISC,	 /* u8 0 or 1, ipip, can change: set DF outside
				  * and report the path MTU inside; default 1.
				  */
	IFLA_CMPTUN_FWMARK,	 /* u32, both, can change: mark of outer
				  * packets and of their route lookup; 0 is
				  * none.
				  */
	IFLA_CMPTUN_PRIVATE_KEY, /* 32 bytes, wg, can change, WRITE-ONLY: all
				  * zeroes removes the key.
				  */
	IFLA_CMPTUN_PUBLIC_KEY,	 /* 32 bytes, wg, read-only: belongs to the
				  * private key, absent without one.
				  */
	IFLA_CMPTUN_LISTEN_PORT, /* u16, wg, can change: local UDP port; 0 lets
				  * the kernel choose when the device comes up.
				  */
	IFLA_CMPTUN_PEER,	 /* nested CMPTUN_PEER_A_*, wg, can change: the
				  * peer of a point-to-point tunnel. Another
				  * public key replaces the peer.
				  */
	__IFLA_CMPTUN_MAX,
};

#define IFLA_CMPTUN_MAX (__IFLA_CMPTUN_MAX - 1)

/* IFLA_CMPTUN_PEER; numbers and meaning are those of the kernel's generic
 * netlink family "wireguard" (WGPEER_A_*).
 */
enum {
	CMPTUN_PEER_A_UNSPEC,
	CMPTUN_PEER_A_PUBLIC_KEY,	/* 32 bytes, required: names the peer */
	CMPTUN_PEER_A_PRESHARED_KEY,	/* 32 bytes, can change, WRITE-ONLY:
					 * all zeroes removes it.
					 */
	CMPTUN_PEER_A_FLAGS,		/* u32: CMPTUN_PEER_F_* */
	CMPTUN_PEER_A_ENDPOINT,		/* struct sockaddr_in or sockaddr_in6,
					 * can change; follows the peer as it
					 * roams.
					 */
	CMPTUN_PEER_A_PERSISTENT_KEEPALIVE, /* u16 seconds, can change; 0 off */
	CMPTUN_PEER_A_LAST_HANDSHAKE,	/* 16 bytes, read-only: two s64,
					 * seconds and nanoseconds since the
					 * epoch; zeroes before the first.
					 */
	CMPTUN_PEER_A_RX_BYTES,		/* u64, read-only: UDP payload */
	CMPTUN_PEER_A_TX_BYTES,		/* u64, read-only: UDP payload */
	CMPTUN_PEER_A_ALLOWED_IPS,	/* nested list of nested
					 * CMPTUN_ALLOWED_IP_A_*, can change:
					 * replaces the whole list. None (or an
					 * empty list) allows everything.
					 */
	__CMPTUN_PEER_A_MAX,
};

#define CMPTUN_PEER_A_MAX (__CMPTUN_PEER_A_MAX - 1)

/* CMPTUN_PEER_A_FLAGS */
#define CMPTUN_PEER_F_REMOVE_ME		(1U << 0) /* set: remove this peer */
#define CMPTUN_PEER_F_HAS_PRESHARED_KEY	(1U << 16) /* dump only */

/* One allowed IP; numbers of the kernel's WGALLOWEDIP_A_* */
enum {
	CMPTUN_ALLOWED_IP_A_UNSPEC,
	CMPTUN_ALLOWED_IP_A_FAMILY,	/* u16: AF_INET or AF_INET6 */
	CMPTUN_ALLOWED_IP_A_ADDR,	/* 4 or 16 bytes */
	CMPTUN_ALLOWED_IP_A_CIDR,	/* u8: 0 to 32, or to 128 */
	__CMPTUN_ALLOWED_IP_A_MAX,
};

#define CMPTUN_ALLOWED_IP_A_MAX (__CMPTUN_ALLOWED_IP_A_MAX - 1)

#endif /* _UAPI_LINUX_IF_CMPTUN_H */
