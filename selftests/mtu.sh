#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The staircase 1500, 1480, 1420: what fits to the byte, what each packet costs
# on the wire, and whose MTU it is after a switch.
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ping tcpdump iperf3 nsenter
require_modules ipip sit wireguard
load_module
setup_work
net_pair
make_keys

mtu_is()
{
	check_eq "$1" "$(link "${3:-A}" t0 mtu)" "$2"
}

# fits MTU - the largest ping passes, one byte more is refused here
fits()
{
	check "$((${1} - 28)) bytes fit" ping_ok A -M "do" -s $(($1 - 28)) \
		"${I4[B]}"
	check "$((${1} - 27)) bytes do not" ping_says A "mtu ?[:=] ?$1" -M "do" \
		-s $(($1 - 27)) "${I4[B]}"
}

fits6()
{
	check "$((${1} - 48)) bytes fit in IPv6" ping_ok A -M "do" \
		-s $(($1 - 48)) "${I6[B]}"
	check "$((${1} - 47)) bytes do not" ping_says A "mtu ?[:=] ?$1" -M "do" \
		-s $(($1 - 47)) "${I6[B]}"
}

case_staircase()
{
	check_eq "underlay" "$(link A u0 mtu)" 1500
	ipip_up A cmptun && ipip_up B kernel
	mtu_is ipip 1480
	check "1452" ping_ok A -M "do" -s 1452 "${I4[B]}"
	check "1453" ping_says A "message too long, mtu=1480" -M "do" -s 1453 \
		"${I4[B]}"
	[ -n "$ORACLE" ] || fits6 1480
	tun_down A B

	wg_up A cmptun && wg_up B kernel
	mtu_is wg 1420
	check "1392" ping_ok A -M "do" -s 1392 "${I4[B]}"
	check "1393" ping_says A "message too long, mtu=1420" -M "do" -s 1393 \
		"${I4[B]}"
	fits6 1420
	tun_down A B

	# 80 bytes are reserved so that an IPv6 header fits as well
	wg_up A cmptun outer=6 && wg_up B kernel outer=6
	mtu_is "wg over IPv6" 1420
	fits 1420
	check "TCP over IPv6 outside" iperf A B "${I4[B]}" -n 512K
	tun_down A B
}
add_case case_staircase "1500, 1480, 1420, and pings to the byte"

# on_wire SIZE - bytes that one ping of that payload has more outside than
# inside; the underlay's Ethernet header does not count
on_wire()
{
	local len

	# A keepalive, 32 bytes of payload, is due 10 s after the last case's reply
	cap_start wire A u0 \
		"src 172.21.0.2 and ip and not udp port 9 and not udp[4:2] = 40"
	check "ping of $1" ping_ok A -s "$1" "${I4[B]}"
	wait_for 3 cap_has wire 1
	cap_stop wire
	len=$(cap_show wire -v | sed -n '1s/.* length \([0-9]*\)).*/\1/p')
	echo $((len - $1 - 28)) > "$WORK/added"
}

case_overhead()
{
	NO6=1
	ipip_up A cmptun && ipip_up B kernel
	on_wire 56
	check_eq "ipip over 84 bytes" "$(cat "$WORK/added")" 20
	on_wire 1452
	check_eq "ipip over 1480 bytes" "$(cat "$WORK/added")" 20
	tun_down A B

	wg_up A cmptun && wg_up B kernel
	check "session" ping_ok A "${I4[B]}"
	# 20 + 8 + 16 + 16, and what is missing to a multiple of 16
	on_wire 68
	check_eq "wg over 96 bytes" "$(cat "$WORK/added")" 60
	on_wire 56
	check_eq "wg over 84 bytes" "$(cat "$WORK/added")" 72
	check_eq "84 bytes make a datagram of 128" \
		"$(cap_count wire "udp[4:2] = 136")" 1
	# Padding never goes past the MTU: 1420 is not a multiple of 16
	on_wire 1392
	check_eq "wg over 1420 bytes" "$(cat "$WORK/added")" 60
	on_wire 1381
	check_eq "wg over 1409 bytes" "$(cat "$WORK/added")" 71
	on_wire 1380
	check_eq "wg over 1408 bytes" "$(cat "$WORK/added")" 60
	tun_down A B
	NO6=
}
add_case case_overhead "bytes added to each packet on the wire"

case_jumbo()
{
	local node

	for node in A B; do
		ipn "$node" link set u0 mtu 9000
	done
	ipip_up A cmptun && ipip_up B kernel
	mtu_is "ipip" 8980
	ipn B link set t0 mtu 8980
	fits 8980
	tun_down A B

	if cmptun_only; then
		ipn A link add t0 type cmptun mode wg local 172.21.0.2 \
			remote 172.21.0.3 private-key "$KEYS/A.key" \
			listen-port 51820 peer "${PUB[B]}"
		_address A t0 up
		wg_up B cmptun
		mtu_is "wg" 8920
		mtu_is "wg with an endpoint alone" 8920 B
		fits 8920
		tun_down A B
	fi
	_skipped=
	for node in A B; do
		ipn "$node" link set u0 mtu 1500
	done
}
add_case case_jumbo "jumbo frames: 9000, 8980, 8920"

case_unknown()
{
	cmptun_only || return
	check "ipip" ipn A link add t0 type cmptun mode ipip
	mtu_is "ipip, no remote" 1480
	set_mode A wg
	mtu_is "wg, no remote" 1420
	# Once there is a remote its route counts
	ipn A link set u0 mtu 1400
	set_mode A ipip remote 172.21.0.3
	mtu_is "ipip, remote over 1400" 1380
	set_mode A wg
	mtu_is "wg, remote over 1400" 1320
	ipn A link set u0 mtu 1500
	tun_down A
}
add_case case_unknown "1500 counts while there is no route"

case_pinned()
{
	cmptun_only || return
	ipip_up A cmptun private-key "$KEYS/A.key" listen-port 51820 \
		peer "${PUB[B]}"
	ipn A link set t0 mtu 1300
	set_mode A wg
	mtu_is "set by the user, in wg" 1300
	set_mode A ipip
	mtu_is "set by the user, in ipip" 1300
	tun_down A

	# At creation it is the user's as well
	check "add" ipn A link add t0 mtu 1350 type cmptun mode ipip \
		local 172.21.0.2 remote 172.21.0.3
	mtu_is "given at creation" 1350
	set_mode A wg
	mtu_is "and in wg" 1350
	tun_down A

	# Nobody's: it follows the mode to and fro
	ipip_up A cmptun
	set_mode A wg
	mtu_is "of the mode, in wg" 1420
	set_mode A ipip
	mtu_is "of the mode, in ipip" 1480
	tun_down A
}
add_case case_pinned "an MTU set by the user stays over switches"

case_limits()
{
	cmptun_only || return
	log_allow 'cmptun.*: MTU'
	ipip_up A cmptun
	check "largest of ipip" ipn A link set t0 mtu 65515
	refuse "one more" ipn A link set t0 mtu 65516 2> "$WORK/err"
	# wg cannot carry it: as much as it can, and a word about it
	check "switch" set_mode A wg 2> "$WORK/err"
	mtu_is "clamped" 65455
	check_match "warning" "$(cat "$WORK/err"; log_since_start)" \
		"[Mm][Tt][Uu].*clamped|clamped.*[Mm][Tt][Uu]"
	refuse "what the mode cannot carry" ipn A link set t0 mtu 65456 \
		2> "$WORK/err"
	# What was asked for is not forgotten
	set_mode A ipip 2> "$WORK/err"
	mtu_is "restored" 65515
	check_eq "no warning" "$(cat "$WORK/err")" ""
	check "smallest" ipn A link set t0 mtu 68
	refuse "less" ipn A link set t0 mtu 67 2> "$WORK/err"
	mtu_is "smallest" 68
	tun_down A
}
add_case case_limits "clamped only to what the mode can carry, with a warning"

# IPv6 goes with an MTU below 1280, and with it what was set up: an automatic
# MTU must not fall below by a switch without need
case_ipv6_stays()
{
	cmptun_only || return
	ipip_up A cmptun
	set_mode A wg
	set_mode A ipip
	check_match "IPv6 address" "$(ipn A -o addr show dev t0)" "${I6[A]}"
	tun_down A
}
add_case case_ipv6_stays "IPv6 survives switches"

# The kernel's drivers at the other end take all that fits
case_bulk()
{
	wg_up A cmptun && wg_up B kernel
	check "UDP that fills the MTU" iperf A B "${I4[B]}" -u -b 2M \
		-n 200K -l 1392
	check "UDP that must be cut up" iperf A B "${I4[B]}" -u -b 2M \
		-n 200K -l 4000
	check "received whole" grep -qE ' 0/[0-9]+ \(0%\).*receiver' \
		"$WORK/iperf"
	check "ping that must be cut up" ping_ok B -s 5000 "${I6[A]}"
	tun_down A B
	ipip_up A cmptun && ipip_up B kernel
	check "ipip: ping that must be cut up" ping_ok A -M "dont" -s 5000 \
		"${I4[B]}"
	check "ipip: IPv6 ping that must be cut up" ping_ok B -s 5000 "${I6[A]}"
	tun_down A B
}
add_case case_bulk "packets of every size arrive whole"

run_cases "$@"
