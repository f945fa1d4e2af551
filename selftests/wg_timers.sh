#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What wg mode does as minutes pass. In a machine where idle time passes at
# once these are seconds; elsewhere nobody would wait for them.
# check: icount
# check: timeout 9000
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ping tcpdump nft tc nsenter
[ -n "$ICOUNT" ] || skip_all "wants a clock that skips idle time (vm.sh --icount)"
require_modules wireguard sch_netem
load_module
setup_work
net_pair
make_keys
NO6=1

INITIATION='udp[8:4] = 0x01000000'
RESPONSE='udp[8:4] = 0x02000000'
KEEPALIVE='udp[8:4] = 0x04000000 and udp[4:2] = 40'

both_up()
{
	wg_up A "${1% *}" && wg_up B "${1#* }"
}

# Six minutes with a packet every four seconds
case_rekey()
{
	local roles start due

	for roles in "cmptun kernel" "kernel cmptun"; do
		both_up "$roles"
		cap_start wire A u0 udp port 51820
		start=$(now_ms)
		on A ping -q -c 100 -i 4 "${I4[B]}" > "$WORK/ping"
		cap_stop wire
		check_match "$roles: pings" "$(cat "$WORK/ping")" \
			"100 received"
		# At 0, 120, 240 and 360 s, by who began. A slow kernel may
		# make the pings last for longer.
		due=$((($(now_ms) - start) / 120000 + 1))
		check_num "$roles: rekeys" "$due" -ge 4
		check_num "$roles: initiations of A" \
			"$(cap_count wire "src ${U4[A]} and $INITIATION")" -eq "$due"
		check_eq "$roles: initiations of B" \
			"$(cap_count wire "src ${U4[B]} and $INITIATION")" 0
		check_num "$roles: responses" \
			"$(cap_count wire "$RESPONSE")" -eq "$due"
		tun_down A B
	done
}
add_case case_rekey "three rekeys with the kernel's driver, nothing lost"

case_silence()
{
	local roles

	for roles in "cmptun kernel" "kernel cmptun" "cmptun cmptun"; do
		both_up "$roles"
		cap_start wire A u0 udp port 51820
		check "$roles: ping" ping_ok A "${I4[B]}"
		sleep 600
		cap_stop wire
		# Handshake, keepalive or packet that confirms it, echo, reply,
		# and A's keepalive after B's last packet
		check_num "$roles: packets in ten minutes" \
			"$(cap_count wire)" -le 6
		check_num "$roles: keepalives" \
			"$(cap_count wire "$KEEPALIVE")" -ge 1
		tun_down A B
	done
}
add_case case_silence "a passive keepalive, then silence"

case_persistent()
{
	local n

	wg_up B kernel
	cap_start wire A u0 udp port 51820
	wg_up A cmptun keepalive=25
	sleep 240
	cap_stop wire
	n=$(cap_count wire "src ${U4[A]} and $KEEPALIVE")
	# Every 25 s from 0 to 225, and one that confirms the rekey at 125
	check_num "keepalives in 240 s" "$n" -ge 10
	check_num "keepalives in 240 s" "$n" -le 12
	check_eq "initiations" "$(cap_count wire "$INITIATION")" 2
	tun_down A B
}
add_case case_persistent "a persistent keepalive, unasked"

# Two that begin at once renew in turns, not at once for ever
case_crossing()
{
	local node pings=()

	cmptun_only || return
	for node in A B; do
		on "$node" tc qdisc add dev u0 root netem delay 1s
	done
	cap_start wire A u0 udp port 51820
	both_up "cmptun cmptun"
	for node in A B; do
		bg on "$node" ping -q -c 95 -i 3 "${I4[${PEER_OF[$node]}]}" \
			> "$WORK/ping.$node"
		pings+=("$BG")
	done
	sleep 60
	check_eq "first initiations" "$(cap_count wire "$INITIATION")" 2
	for node in "${pings[@]}"; do
		bg_wait "$node"
	done
	cap_stop wire
	# One at 120 s and one at 240 s
	check_eq "initiations" "$(cap_count wire "$INITIATION")" 4
	for node in A B; do
		check_match "pings of $node" "$(cat "$WORK/ping.$node")" \
			"95 received"
		on "$node" tc qdisc del dev u0 root
	done
	tun_down A B
}
add_case case_crossing "both begin at once, one renews, nothing is lost"

case_give_up()
{
	local n

	wg_up A cmptun
	cap_start wire A u0 udp port 51820
	ping_no A "${I4[B]}"
	sleep 200
	cap_stop wire
	# The first, and one every 5 s and a bit for 90 s
	n=$(cap_count wire "$INITIATION")
	check_num "initiations" "$n" -ge 17
	check_num "initiations" "$n" -le 20
	check_estat A tx_drop_flushed -ge 1
	cap_start late A u0 udp port 51820
	sleep 300
	cap_stop late
	check_eq "packets later" "$(cap_count late)" 0
	tun_down A
}
add_case case_give_up "a peer that does not answer is given up after 90 s"

# B never learns that A is silent, and A's keys grow too old meanwhile
case_reject()
{
	both_up "cmptun cmptun"
	check "ping" ping_ok A "${I4[B]}"
	sleep 200
	cap_start wire A u0 udp port 51820
	check "ping with a new session" ping_ok A "${I4[B]}"
	cap_stop wire
	check_num "a handshake came first" \
		"$(cap_count wire "$INITIATION")" -ge 1
	check_estat A wg_handshakes -eq 2
	tun_down A B
}
add_case case_reject "a session of 180 s is not used again"

run_cases "$@"
