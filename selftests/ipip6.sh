#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ipip mode over IPv6 (RFC 2473): what is on the wire, the company of ip6tnl,
# path MTU, and a switch to wg and back.
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ping tcpdump nft ethtool iperf3 nsenter
require_modules ip6_tunnel
load_module
setup_work
net_routed
make_keys
sysctl_on R net.ipv6.icmp.ratelimit=0
sysctl_on A net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0

ROLES=("cmptun cmptun" "cmptun kernel" "kernel cmptun")

# v6_up NODE KIND [ARGUMENT of ip link...]
v6_up()
{
	local node=$1 kind addrs=(local "${U6[$1]}" remote "${U6[${PEER_OF[$1]}]}")

	kind=$(kind_of "$2")
	shift 2
	if [ "$kind" = cmptun ]; then
		ipn "$node" link add t0 type cmptun mode ipip "${addrs[@]}" "$@"
	else
		ipn "$node" link add t0 type ip6tnl mode any "${addrs[@]}" \
			encaplimit none "$@"
	fi || return 1
	_address "$node" t0 up
}

both_up()
{
	v6_up A "${1% *}" && v6_up B "${1#* }"
}

# narrow MTU - of the link between R and B
narrow()
{
	ipn R link set rb mtu "$1"
	ipn B link set u0 mtu "$1"
}

case_interop()
{
	local roles node

	for roles in "${ROLES[@]}"; do
		NO6=1
		check "set up $roles" both_up "$roles"
		check "$roles: inner IPv4" ping_ok A -c 2 -i 0.01 "${I4[B]}"
		check "$roles: from B" ping_ok B "${I4[A]}"
		for node in A B; do
			counts "$node" t0
			check_eq "$roles: $node bytes" \
				"${C[rx_bytes]} ${C[tx_bytes]}" "252 252"
			check_eq "$roles: $node packets" \
				"${C[rx_packets]} ${C[tx_packets]}" "3 3"
			ipn "$node" addr add "${I6[$node]}/64" dev t0 nodad
		done
		NO6=
		check "$roles: inner IPv6" ping_ok A "${I6[B]}"
		check "$roles: TCP over IPv4" iperf A B "${I4[B]}" -n 1M
		check "$roles: TCP over IPv6" iperf B A "${I6[A]}" -n 1M
		tun_down A B
	done
}
add_case case_interop "interop with ip6tnl both ways, exact counters"

case_mtu()
{
	both_up "cmptun cmptun"
	[ -n "$ORACLE" ] || check_eq "MTU" "$(link A t0 mtu)" 1460
	check "largest ping" ping_ok A -M "do" -s 1432 "${I4[B]}"
	check "one byte more" ping_says A "mtu ?[:=] ?1460" -M "do" -s 1433 \
		"${I4[B]}"
	check "largest ping, IPv6" ping_ok A -M "do" -s 1412 "${I6[B]}"
	refuse "one byte more, IPv6" ping_ok A -M "do" -s 1413 "${I6[B]}"
	tun_down A B
}
add_case case_mtu "MTU 1460"

case_header()
{
	local seen

	both_up "cmptun cmptun"
	cap_start outer A u0 "ip6 src ${U6[A]} and (ip6 proto 4 or ip6 proto 41)"
	check "copied" ping_ok A -s 72 -t 33 -Q 0xba "${I4[B]}"
	check "copied, IPv6" ping_ok A -s 152 -t 34 -Q 0xb9 "${I6[B]}"
	[ -n "$ORACLE" ] ||
		check "given" ipn A link set t0 type cmptun ttl 7 tos 0x40
	check "given" ping_ok A -s 73 -t 33 -Q 0xba "${I4[B]}"
	[ -n "$ORACLE" ] ||
		check "inherited" ipn A link set t0 type cmptun tos inherit ttl inherit
	check "inherited" ping_ok A -s 74 -t 35 -Q 0xba "${I4[B]}"
	wait_for 3 cap_has outer 4
	cap_stop outer
	seen=$(cap_show outer -v)
	[ -n "$ORACLE" ] || {
		check_match "copied: mark only" "$seen" \
			"class 0x02, (flowlabel 0x[0-9a-f]+, )?hlim 33, next-header IPIP \(4\) payload length: 100"
		check_match "copied, IPv6" "$seen" \
			"class 0x01, (flowlabel 0x[0-9a-f]+, )?hlim 34, next-header IPv6 \(41\) payload length: 200"
		check_match "given" "$seen" \
			"class 0x42, (flowlabel 0x[0-9a-f]+, )?hlim 7, next-header IPIP \(4\) payload length: 101"
		check_match "inherited" "$seen" \
			"class 0xba, (flowlabel 0x[0-9a-f]+, )?hlim 35, next-header IPIP \(4\) payload length: 102"
	}
	tun_down A B
}
add_case case_header "hop limit and traffic class, given and inherited"

case_ecn()
{
	NO6=1
	both_up "cmptun cmptun"
	on A nft -f - <<- EOF
	table ip6 e { chain o { type filter hook output priority 0;
		ip6 nexthdr 4 ip6 ecn set ce
	}; }
	EOF
	cap_start inner B t0 "ip proto 17"
	on A "$PYTHON" "$SELF_DIR/udp_send.py" "${I4[B]}" 9 100:0 101:1 102:2 103:3
	wait_for 3 cap_has inner 3
	cap_stop inner
	check_eq "ECN capable ones" "$(cap_count inner "ip[1] & 3 = 3")" 3
	check_eq "all" "$(cap_count inner)" 3
	check_eq "frame errors" "$(count B t0 rx frame_errors)" 1
	on A nft delete table ip6 e
	tun_down A B
	NO6=
}
add_case case_ecn "congestion marks follow RFC 6040"

case_pmtu()
{
	both_up "cmptun kernel"
	check "IPv6 is settled" ping_ok A "${I6[B]}"
	narrow 1400
	check "too large" ping_says A "mtu ?[:=] ?1360" -c 3 -i 0.3 -M "do" \
		-s 1400 "${I4[B]}"
	check "what fits" ping_ok A -M "do" -s 1332 "${I4[B]}"
	check "one byte more" ping_says A "mtu ?[:=] ?1360" -M "do" -s 1333 \
		"${I4[B]}"
	check "too large, IPv6" ping_says A "mtu ?[:=] ?1360" -c 3 -i 0.3 \
		-M "do" -s 1400 "${I6[B]}"
	check "TCP" iperf A B "${I4[B]}" -n 512K
	tun_down A B

	# 1280 bytes inside are 1320 outside: cut up there, which ip6tnl does
	# not do with its answer
	both_up "cmptun cmptun"
	narrow 1300
	ping_ok A -M "do" -s 1232 "${I6[B]}"
	check "1280 bytes over 1300" ping_ok A -M "do" -s 1232 "${I6[B]}"
	narrow 1500
	tun_down A B
	ipn A -6 route flush cache
	ipn A route flush cache
}
add_case case_pmtu "path MTU: 1400 outside is 1360 inside"

# What is heard of an unreachable host is told to the packets that follow
case_unreachable()
{
	both_up "cmptun kernel"
	check "before" ping_ok A "${I4[B]}"
	ipn R -6 route add unreachable "${U6[B]}/128" metric 1
	check "host unreachable" ping_says A "Destination Host Unreachable" \
		-c 4 -i 0.3 "${I4[B]}"
	ipn R -6 route del unreachable "${U6[B]}/128" metric 1
	# Each error that was remembered ends a ping
	check "after" wait_for 10 ping_ok A "${I4[B]}"
	tun_down A B
}
add_case case_unreachable "ICMPv6 errors from the way reach the sender"

case_beside()
{
	NO6=1
	v6_up A cmptun
	v6_up B kernel
	ipn B addr add fd09:2::9/64 dev u0 nodad
	ipb B <<- EOF
	link add k0 type ip6tnl mode any local fd09:2::9 remote ${U6[A]} encaplimit none
	addr add 10.101.0.2/30 dev k0
	link set k0 addrgenmode none
	link set k0 up
	EOF
	ipb A <<- EOF
	link add k0 type ip6tnl mode any local ${U6[A]} remote fd09:2::9 encaplimit none
	addr add 10.101.0.1/30 dev k0
	link set k0 addrgenmode none
	link set k0 up
	link set ip6tnl0 up
	EOF
	check "own peer" ping_ok B "${I4[A]}"
	check "peer of the kernel's tunnel" ping_ok B 10.101.0.1
	check_eq "received by t0" "$(count A t0 rx packets)" 1
	check_eq "received by k0" "$(count A k0 rx packets)" 1
	check_eq "received by ip6tnl0" "$(count A ip6tnl0 rx packets)" 0
	ipb A <<- EOF
	link set ip6tnl0 down
	link del k0
	EOF
	ipn B link del k0
	ipn B addr del fd09:2::9/64 dev u0
	tun_down A B
	NO6=
}
add_case case_beside "beside ip6tnl with its fallback device up"

case_switch()
{
	local node peer

	cmptun_only || return
	for node in A B; do
		peer=${PEER_OF[$node]}
		check "set up" v6_up "$node" cmptun \
			private-key "$KEYS/$node.key" listen-port 51820 \
			peer "${PUB[$peer]}"
	done
	check "ipip" ping_ok A "${I4[B]}"
	set_mode A wg
	set_mode B wg
	# Without an endpoint it is the remote at the port's default
	check_eq "endpoint" "$(link A t0 endpoint)" "[${U6[B]}]:51820"
	check_eq "MTU" "$(link A t0 mtu)" 1420
	check "wg" ping_ok A "${I4[B]}"
	set_mode A ipip
	ping_no B "${I4[A]}" || fail "wg was accepted in ipip"
	set_mode B ipip
	check_eq "MTU" "$(link A t0 mtu)" 1460
	check "ipip again" ping_ok B "${I4[A]}"
	# From IPv6 to IPv4 and back on a live device
	for node in A B; do
		check "IPv4 outside" ipn "$node" link set t0 type cmptun \
			local "${U4[$node]}" remote "${U4[${PEER_OF[$node]}]}"
	done
	check_eq "MTU" "$(link A t0 mtu)" 1480
	check "over IPv4" ping_ok A "${I6[B]}"
	check "families" says_mixed
	tun_down A B
}

says_mixed()
{
	! ipn A link set t0 type cmptun local 10.9.1.1 remote "${U6[B]}" \
		2> "$WORK/ip" && grep -qE "same family|families differ" "$WORK/ip"
}
add_case case_switch "a switch to wg and back, and another family outside"

run_cases "$@"
