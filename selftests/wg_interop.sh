#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# wg mode with the kernel's own wireguard and with itself: both roles, IPv4 and
# IPv6 outside, and what is counted.
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ping tcpdump nft tc ethtool iperf3 nsenter
require_modules wireguard sch_netem
load_module
setup_work
net_pair
make_keys

ROLES=("cmptun cmptun" "cmptun kernel" "kernel cmptun")

# both_up ROLES [NAME=VALUE...] - of wg_up
both_up()
{
	local roles=$1

	shift
	wg_up A "${roles% *}" "$@" && wg_up B "${roles#* }" "$@"
}

# A sends first, so that each end is initiator and responder in some row
case_interop()
{
	local roles outer psk

	for roles in "${ROLES[@]}"; do
		for outer in 4 6; do
			psk=
			[ "$outer$roles" != "4cmptun kernel" ] &&
				[ "$outer$roles" != "6kernel cmptun" ] ||
				psk=$KEYS/psk
			check "set up $roles over IPv$outer" both_up "$roles" \
				outer=$outer psk=$psk
			check "$roles over IPv$outer: ping" \
				ping_ok A "${I4[B]}"
			check "$roles over IPv$outer: inner IPv6" \
				ping_ok B "${I6[A]}"
			check "$roles over IPv$outer: session" has_session A
			[ "$outer" = 4 ] || check "$roles over IPv$outer: TCP" \
				iperf A B "${I4[B]}" -n 512K
			tun_down A B
		done
	done
	check "set up with a preshared key" both_up "cmptun cmptun" psk="$KEYS/psk"
	check "ping with a preshared key" ping_ok B "${I4[A]}"
	tun_down A B
}
add_case case_interop "interop in both roles, IPv4 and IPv6 outside"

# The kernel counts UDP payload: 148 + 128 one way, 92 + 128 the other
case_counters()
{
	local roles

	NO6=1
	for roles in "${ROLES[@]}"; do
		both_up "$roles"
		check "$roles: ping" ping_ok A "${I4[B]}"
		counts A t0
		check_eq "$roles: A sent" "${C[tx_bytes]}" 276
		check_eq "$roles: A received" "${C[rx_bytes]}" 220
		check_eq "$roles: A packets" "${C[tx_packets]} ${C[rx_packets]}" \
			"2 2"
		counts B t0
		check_eq "$roles: B sent" "${C[tx_bytes]}" 220
		check_eq "$roles: B received" "${C[rx_bytes]}" 276
		if [ "$roles" = "cmptun cmptun" ] && [ -z "$ORACLE" ]; then
			check_eq "peer's tx_bytes" "$(link A t0 tx_bytes)" 276
			check_eq "peer's rx_bytes" "$(link A t0 rx_bytes)" 220
			check_estat A wg_tx_packets -eq 1
			check_estat A wg_rx_packets -eq 1
			check_estat A wg_handshakes -eq 1
			check_estat B wg_handshakes -eq 1
			check_estat A ipip_tx_packets -eq 0
			check_eq "drops" "$(drops A)$(drops B)" ""
		fi
		tun_down A B
	done
	NO6=
}
add_case case_counters "exact counters of packets and bytes"

run_cases "$@"
