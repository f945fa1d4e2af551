#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ipip mode: what is on the wire, what comes out of it, and the company of the
# kernel's own ipip and sit.
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip ping tcpdump nft ethtool iperf3 nsenter
require_modules ipip sit
load_module
setup_work
net_pair

ROLES=("cmptun cmptun" "cmptun kernel" "kernel cmptun")
OUTER='ip proto 4 or ip proto 41'

both_up()
{
	ipip_up A "$1" && ipip_up B "$2"
}

# The kernel's ipip counts inner bytes, nothing of the outer header
check_counters()
{
	local roles=$1 node name

	for node in A B; do
		counts "$node" t0
		for name in rx_bytes tx_bytes; do
			check_eq "$roles: $node $name" "${C[$name]}" 252
		done
		for name in rx_packets tx_packets; do
			check_eq "$roles: $node $name" "${C[$name]}" 3
		done
		for name in rx_errors tx_errors rx_dropped tx_dropped; do
			check_eq "$roles: $node $name" "${C[$name]}" 0
		done
	done
}

case_interop()
{
	local roles

	for roles in "${ROLES[@]}"; do
		NO6=1
		check "set up $roles" eval "both_up $roles"
		NO6=
		check "$roles: ping from A" ping_ok A -c 2 -i 0.01 "${I4[B]}"
		check "$roles: ping from B" ping_ok B "${I4[A]}"
		check_counters "$roles"
		if [ "$roles" = "${ROLES[0]}" ]; then
			check_estat A ipip_tx_packets -eq 3
			check_estat B ipip_rx_packets -eq 3
			check_estat A wg_tx_packets -eq 0
		fi
		check "$roles: TCP" iperf A B "${I4[B]}" -n 1M
		tun_down A B
	done
}
add_case case_interop "interop with ipip both ways, exact counters"

case_interop6()
{
	local roles

	for roles in "${ROLES[@]}"; do
		check "set up $roles" eval "both_up $roles"
		check "$roles: ping from A" ping_ok A "${I6[B]}"
		check "$roles: ping from B" ping_ok B "${I6[A]}"
		check "$roles: IPv4 beside it" ping_ok B "${I4[A]}"
		[ "$roles" = "${ROLES[0]}" ] ||
			check "$roles: TCP" iperf B A "${I6[A]}" -n 1M
		tun_down A B
	done
}
add_case case_interop6 "interop with sit, inner IPv6, both ways"

# cmptun towards .3, the kernel's own towards .4, both on B
case_beside()
{
	local own=ipip

	[ -n "$ORACLE" ] || own="cmptun mode ipip"
	ipn B addr add 172.21.0.4/24 dev u0
	NO6=1
	ipip_up A cmptun
	ipip_up B kernel
	ipb A <<- EOF
	link add k0 type ipip local 172.21.0.2 remote 172.21.0.4
	addr add 10.101.0.1/30 dev k0
	link set k0 up
	link set tunl0 up
	link set sit0 up
	EOF
	ipb B <<- EOF
	link add k0 type ipip local 172.21.0.4 remote 172.21.0.2
	addr add 10.101.0.2/30 dev k0
	link set k0 up
	EOF

	check "own peer" ping_ok B "${I4[A]}"
	check "peer of the kernel's tunnel" ping_ok B 10.101.0.1
	check_eq "received by t0" "$(count A t0 rx packets)" 1
	check_eq "received by k0" "$(count A k0 rx packets)" 1
	check_eq "received by tunl0" "$(count A tunl0 rx packets)" 0

	# Down, it must leave the packets to whoever comes next
	ipn A link set t0 down
	check "silence" ping_no B "${I4[A]}"
	check_eq "received by tunl0 now" "$(count A tunl0 rx packets)" 1
	ipn A link set t0 up
	check "own peer again" ping_ok B "${I4[A]}"
	check_eq "received by tunl0 still" "$(count A tunl0 rx packets)" 1

	# The same peers twice: a pair belongs to one of them, which keeps it
	# shellcheck disable=SC2086 # words
	refuse "second tunnel of a kind to the same peer" ipn A link add t9 \
		type $own local 172.21.0.2 remote 172.21.0.3 2> /dev/null

	ipb A <<- EOF
	link set tunl0 down
	link set sit0 down
	link del k0
	EOF
	ipn B link del k0
	ipn B addr del 172.21.0.4/24 dev u0
	tun_down A B
	NO6=
}
add_case case_beside "beside ipip and sit with their fallback devices up"

# A stranger's proto 4 and 41 packets get the answer they get without cmptun
case_stranger()
{
	ipip_up A cmptun
	ipn B addr add 172.21.0.9/24 dev u0
	ipb B <<- EOF
	link add t0 type ipip local 172.21.0.9 remote 172.21.0.2
	link add t6 type sit local 172.21.0.9 remote 172.21.0.2
	link set t0 up
	link set t6 up
	addr add ${I4[B]}/30 dev t0
	addr add ${I6[B]}/64 dev t6 nodad
	EOF
	cap_start icmp B u0 "icmp[0] = 3 and icmp[1] = 3"
	check "no answer through the tunnel" ping_no B "${I4[A]}"
	check "port unreachable for proto 4" wait_for 3 cap_has icmp 1
	check "no answer through the tunnel" ping_no B "${I6[A]}"
	check "port unreachable for proto 41" wait_for 3 cap_has icmp 2
	cap_stop icmp
	check_eq "received" "$(count A t0 rx packets)" 0
	ipn B addr del 172.21.0.9/24 dev u0
	tun_down A B
}
add_case case_stranger "strangers' packets are answered by ICMP"

# Outer packets are told apart by the length of what they carry:
# "probe LENGTH ARGUMENT of ping..." sends one, outer_is looks at it once the
# capture has ended.
probe()
{
	local len=$1 hdr=28

	shift
	[[ "${*: -1}" != *:* ]] || hdr=48
	check "ping $*" ping_ok A -s $((len - hdr)) "$@"
}

# outer_is LENGTH REGEX - of what tcpdump -v says about the outer header
outer_is()
{
	local line

	line=$(grep -E "proto (IPIP|IPv6) \((4|41)\), length $(($1 + 20))\)" \
		<<< "$OUTER_SEEN")
	check_match "outer header of packet $1" "$line" "$2"
}

case_ttl_tos()
{
	both_up cmptun kernel
	cap_start outer A u0 "src 172.21.0.2 and ($OUTER)"
	probe 100 -t 33 -Q 0xb8 "${I4[B]}"
	probe 200 -t 33 -Q 0xb8 "${I6[B]}"
	ipip_set A ttl 7 tos 0x40
	probe 101 -t 33 -Q 0xb8 "${I4[B]}"
	probe 102 -t 33 -Q 0xba "${I4[B]}"
	probe 201 -t 33 -Q 0xb9 "${I6[B]}"
	ipip_set A ttl inherit tos inherit
	probe 103 -t 34 -Q 0xba "${I4[B]}"
	probe 203 -t 35 -Q 0xba "${I6[B]}"
	wait_for 3 cap_has outer 7
	cap_stop outer
	OUTER_SEEN=$(cap_show outer -v)
	outer_is 100 "tos 0x0, ttl 33,"
	[ -n "$ORACLE" ] || outer_is 200 "tos 0x0, ttl 33,"
	outer_is 101 "tos 0x40, ttl 7,"
	# Congestion marks are copied whatever the rest says
	outer_is 102 "tos 0x42,ECT\(0\), ttl 7,"
	outer_is 201 "tos 0x41,ECT\(1\), ttl 7,"
	outer_is 103 "tos 0xba,ECT\(0\), ttl 34,"
	outer_is 203 "tos 0xba,ECT\(0\), ttl 35,"
	tun_down A B
}
add_case case_ttl_tos "TTL and TOS, given and inherited"

case_df()
{
	NO6=1
	both_up cmptun kernel
	cap_start outer A u0 "src 172.21.0.2 and ($OUTER)"
	probe 100 -M "dont" "${I4[B]}"
	ipn A link del t0
	ipip_up A cmptun nopmtudisc
	probe 101 -M "dont" "${I4[B]}"
	probe 102 -M "do" "${I4[B]}"
	# Too big for the underlay: the outer packet is cut, not the inner
	ipn A link set t0 mtu 1500
	probe 1500 -M "dont" "${I4[B]}"
	wait_for 3 cap_has outer 5
	cap_stop outer
	OUTER_SEEN=$(cap_show outer -v)
	outer_is 100 "flags \\[DF\\]"
	outer_is 101 "flags \\[none\\]"
	outer_is 102 "flags \\[DF\\]"
	check_eq "outer fragments" \
		"$(cap_count outer "ip[6:2] & 0x3fff != 0")" 2
	tun_down A B
	NO6=
}
add_case case_df "the don't fragment bit"

# ecn_row BASE WANTED... - what came of inner 0 to 3, for both families; "drop"
# never arrives. The size of the payload says which packet it is.
ecn_row()
{
	local base=$1 ecn=0 want field field6

	shift
	for want in "$@"; do
		field="length $((base + ecn + 28))\\)"
		field6="payload length: $((base + ecn + 8))\\)"
		if [ "$want" = drop ]; then
			! grep -qE "$field" <<< "$SEEN4" ||
				fail "IPv4 $base: $ecn was delivered"
			! grep -qE "$field6" <<< "$SEEN6" ||
				fail "IPv6 $base: $ecn was delivered"
		else
			grep -qE "tos 0x$want,.*$field" <<< "$SEEN4" ||
				fail "IPv4 $base: $ecn is not $want"
			[ "$want" = 0 ] && want="\\((flowlabel|hlim)" ||
				want="class 0x0$want,"
			grep -qE "$want.*$field6" <<< "$SEEN6" ||
				fail "IPv6 $base: $ecn is not $want"
		fi
		ecn=$((ecn + 1))
	done
}

case_ecn()
{
	local dev6=t0 base sizes=() errors=2

	[ -z "$ORACLE" ] || { dev6=t6; errors=1; }
	both_up cmptun cmptun
	check "IPv6 is settled" ping_ok A "${I6[B]}"
	# What a router on the way might do to the outer field, by the length
	# of the packet
	on A nft -f - <<- EOF
	table ip e { chain o { type filter hook output priority 0;
		ip protocol { 4, 41 } ip length 200-299 ip ecn set ce
		ip protocol { 4, 41 } ip length 300-399 ip ecn set not-ect
		ip protocol { 4, 41 } ip length 400-499 ip ecn set ect1
	}; }
	EOF
	cap_start ecn4 B t0 "ip proto 17"
	cap_start ecn6 B "$dev6" "ip6 proto 17"
	for base in 60 160 260 360; do
		sizes+=($((base + 0)):0 $((base + 1)):1 $((base + 2)):2
			$((base + 3)):3)
	done
	on A "$PYTHON" "$SELF_DIR/udp_send.py" "${I4[B]}" 9 "${sizes[@]}"
	on A "$PYTHON" "$SELF_DIR/udp_send.py" "${I6[B]}" 9 "${sizes[@]}"
	wait_for 3 cap_has ecn6 15
	cap_stop ecn4
	cap_stop ecn6
	check_eq "frame errors for Not-ECT with CE outside" \
		"$(count B t0 rx frame_errors)" "$errors"
	check_estat B rx_drop_ecn -eq 2
	SEEN4=$(cap_show ecn4 -v)
	SEEN6=$(cap_show ecn6 -v)
	ecn_row 60 0 1 2 3
	ecn_row 160 drop 3 3 3
	ecn_row 260 0 1 2 3
	ecn_row 360 0 1 1 3
	on A nft delete table ip e
	tun_down A B
}
add_case case_ecn "congestion marks follow RFC 6040"

case_fwmark()
{
	cmptun_only || return
	NO6=1
	both_up cmptun cmptun
	on A nft -f - <<- EOF
	table ip m {
		counter seven { }; counter eight { }; counter other { }
		chain o { type filter hook output priority 0;
			ip protocol 4 meta mark 7 counter name seven
			ip protocol 4 meta mark 8 counter name eight
			ip protocol 4 meta mark != { 7, 8 } counter name other
		}
	}
	EOF
	on B nft -f - <<- EOF
	table ip m { counter inside { }; chain i { type filter hook input priority 0;
		iifname t0 meta mark != 0 counter name inside; }; }
	EOF
	marked()
	{
		on "$1" nft list counter ip m "$2" |
			sed -n 's/.*packets \([0-9]*\).*/\1/p'
	}
	check "no mark" ping_ok A "${I4[B]}"
	check_eq "unmarked" "$(marked A other)" 1
	ipip_set A fwmark 7
	check "fwmark 7" ping_ok A -c 3 -i 0.01 "${I4[B]}"
	check_eq "marked 7" "$(marked A seven)" 3
	# At once, not when some cached route expires
	ipip_set A fwmark 8
	check "fwmark 8" ping_ok A "${I4[B]}"
	check_eq "marked 8" "$(marked A eight)" 1
	check_eq "still marked 7" "$(marked A seven)" 3
	check_eq "still unmarked" "$(marked A other)" 1
	check_eq "marked inside" "$(marked B inside)" 0
	on A nft delete table ip m
	on B nft delete table ip m
	tun_down A B
	NO6=
}
add_case case_fwmark "each outer packet has the mark, none inside has"

# Everything into the tunnel except for what the tunnel sends, as wg-quick
# does it; and a firewall that changes marks of what goes in.
case_policy_route()
{
	NO6=1
	ipip_up A cmptun fwmark 51820
	ipip_up B kernel
	ipb A <<- EOF
	route add default dev t0 table 51820
	rule add not fwmark 51820 table 51820
	rule add table main suppress_prefixlength 0
	EOF
	ipn B addr add 10.77.0.1/32 dev lo
	check "default route through the tunnel" ping_ok A -f -c 100 10.77.0.1
	ipb A <<- EOF
	rule del not fwmark 51820 table 51820
	rule del table main suppress_prefixlength 0
	EOF
	on A nft -f - <<- EOF
	table ip m { chain o { type route hook output priority mangle;
		meta mark set 1; }; }
	EOF
	check "marks that change on the way" ping_ok A -c 3 -i 0.01 -I t0 \
		"${I4[B]}"
	on A nft delete table ip m
	ipn B addr del 10.77.0.1/32 dev lo
	tun_down A B
	NO6=
}
add_case case_policy_route "policy routing by mark does not loop"

case_dev()
{
	both_up cmptun kernel
	ipb A <<- EOF
	link add d0 type dummy
	link set d0 up
	route add 172.21.0.3/32 dev d0
	EOF
	check "the better route leads astray" ping_no A "${I4[B]}"
	ipip_set A dev u0
	check "bound to the right device" ping_ok A "${I4[B]}"
	ipn A link del d0
	tun_down A B
}
add_case case_dev "dev binds to a device"

bytes_agree()
{
	local tx rx

	counts A t0
	tx=${C[tx_bytes]} rx=${C[rx_bytes]}
	counts B t0
	[ "$tx" = "${C[rx_bytes]}" ] && [ "$rx" = "${C[tx_bytes]}" ]
}

# gso_run WHAT ADDRESS [PACKETS] - at most so many for 2 MB
gso_run()
{
	local before

	before=$(count A t0 tx packets)
	check "$1: TCP" iperf A B "$2" -n 2M
	# The last acknowledgements may still be under way
	check "$1: bytes sent and received" wait_for 5 bytes_agree
	[ -z "${3:-}" ] || check_num "$1: super-packets" \
		$(($(count A t0 tx packets) - before)) -lt "$3"
}

offload()
{
	on "$1" ethtool -K "${@:2}" > /dev/null
}

case_gso()
{
	NO6=1
	both_up cmptun cmptun
	gso_run "all on" "${I4[B]}" 500
	offload A t0 tso off gso off
	gso_run "no gso on the tunnel" "${I4[B]}"
	offload A t0 gso on tx off
	gso_run "no checksum offload" "${I4[B]}"
	tun_down A B
	NO6=

	# Cut further down the counters differ, as each piece has a header
	both_up cmptun cmptun
	offload A u0 tso off gso off
	check "no gso on the underlay" iperf A B "${I4[B]}" -n 2M
	offload A u0 tx off
	check "nothing on the underlay" iperf A B "${I6[B]}" -n 1M
	offload A u0 tx on tso on gso on
	offload B u0 gro on
	check "gro on the underlay" iperf A B "${I4[B]}" -n 2M
	offload B u0 gro off
	if [ -z "$ORACLE" ]; then
		gso_run6=$(count A t0 tx packets)
		check "inner IPv6" iperf A B "${I6[B]}" -n 2M
		check_num "inner IPv6: super-packets" \
			$(($(count A t0 tx packets) - gso_run6)) -lt 500
	fi
	tun_down A B
}
add_case case_gso "segmentation offloads, on and off"

case_no_remote()
{
	cmptun_only || return
	NO6=1
	check "bare device" ipn A link add t0 type cmptun
	_address A t0 up
	check_eq "mode" "$(link A t0 mode)" ipip
	ping_no A "${I4[B]}" || fail "an answer from nowhere"
	check_estat A tx_drop_no_remote -ge 1
	check_num "carrier errors" "$(count A t0 tx carrier_errors)" -ge 1
	ipip_set A remote 172.21.0.3
	ipip_up B kernel
	check "remote set later" ping_ok A "${I4[B]}"
	tun_down A B
	NO6=
}
add_case case_no_remote "without a remote packets are dropped and counted"

case_loop()
{
	cmptun_only || return
	# The way to the remote leads into the tunnel
	ipb A <<- EOF
	link add t0 type cmptun mode ipip local 172.21.0.2 remote 172.21.9.9
	addr add 10.100.0.1/30 dev t0
	link set t0 up
	route add 172.21.9.9/32 dev t0
	EOF
	check "no answer" ping_no A "${I4[B]}"
	check_estat A tx_drop_loop -ge 1
	check_num "collisions" "$(count A t0 tx collisions)" -ge 1
	tun_down A
}
add_case case_loop "a tunnel routed into itself drops"

case_policy()
{
	both_up cmptun kernel
	check "without a policy" ping_ok B "${I4[A]}"
	ipn A xfrm policy add src 172.21.0.3 dst 172.21.0.2 dir in action block
	check "blocked" ping_no B "${I4[A]}"
	check_estat A rx_drop_policy -ge 1
	ipn A xfrm policy del src 172.21.0.3 dst 172.21.0.2 dir in
	check "unblocked" ping_ok B "${I4[A]}"
	tun_down A B
}
add_case case_policy "xfrm policy is checked on receive"

run_cases "$@"
