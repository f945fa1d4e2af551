#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What goes wrong on the way must reach the one who sent: path MTU, TTL,
# unreachable hosts; here, and at a host that is forwarded for.
#
#	L ---(10.9.3.3, 10.9.3.254)--- A --- R --- B
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ping tcpdump nft iperf3 nsenter
require_modules ipip sit wireguard
load_module
setup_work
net_routed
make_keys

add_nodes L
ipn L link add u0 type veth peer name la netns "${P}A" || bail "no veth"
ipb L << EOF
addr add 10.9.3.3/24 dev u0
addr add fd09:3::3/64 dev u0 nodad
link set u0 up
route add default via 10.9.3.254
route add default via fd09:3::fe
EOF
ipb A << EOF
addr add 10.9.3.254/24 dev la
addr add fd09:3::fe/64 dev la nodad
link set la up
EOF
sysctl_on A net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
	net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0
sysctl_on R net.ipv4.icmp_ratelimit=0

# narrow MTU - of the link between R and B
narrow()
{
	ipn R link set rb mtu "$1"
	ipn B link set u0 mtu "$1"
}

forget_routes()
{
	local node

	for node in A L; do
		ipn "$node" route flush cache
		ipn "$node" -6 route flush cache
	done
}

# To the networks behind A
back_routes()
{
	ipb B <<- EOF
	route add 10.9.3.0/24 dev t0
	route add fd09:3::/64 dev t6
	EOF
}

case_pmtu()
{
	local route

	ipip_up A cmptun && ipip_up B kernel
	back_routes
	check "narrow nowhere" ping_ok A -M "do" -s 1452 "${I4[B]}"
	narrow 1400
	# Our own packet is lost, what R says about it is kept for the next
	check "one that is too large" ping_says A "mtu ?[:=] ?1380" -c 3 -i 0.3 \
		-M "do" -s 1430 "${I4[B]}"
	check_match "path MTU inside" "$(ipn A route get "${I4[B]}")" "mtu 1380"
	check_match "path MTU outside" "$(ipn A route get 10.9.2.2)" "mtu 1400"
	check_num "tx_errors" "$(count A t0 tx errors)" -ge 1
	check "what fits" ping_ok A -M "do" -s 1352 "${I4[B]}"
	check "one byte more" ping_says A "mtu ?[:=] ?1380" -M "do" -s 1353 \
		"${I4[B]}"
	check "TCP" iperf A B "${I4[B]}" -n 1M

	# A host behind A is told by A, the router it knows
	check "a host behind" ping_says L \
		"From 10.9.3.254.* Frag needed.*mtu = 1380" -M "do" -s 1430 \
		"${I4[B]}"
	check "a host behind, what fits" ping_ok L -M "do" -s 1352 "${I4[B]}"
	check "a host behind, TCP" iperf L B "${I4[B]}" -n 512K

	# Both modes on one way: what was learned was about the other one
	if [ -z "$ORACLE" ]; then
		set_mode A wg
		set_mode A ipip
		route=$(ipn A route get "${I4[B]}")
		[[ $route != *mtu\ 1380* ]] ||
			fail "path MTU outlives a switch: $route"
	fi
	tun_down A B
	forget_routes
	narrow 1500
}
add_case case_pmtu "path MTU: 1400 outside is 1380 inside"

case_pmtu6()
{
	ipip_up A cmptun && ipip_up B kernel
	back_routes
	check "IPv6 is settled" ping_ok A "${I6[B]}"
	narrow 1400
	check "inner IPv6, too large" ping_says A "mtu ?[:=] ?1380" -c 3 \
		-i 0.3 -M "do" -s 1400 "${I6[B]}"
	check "inner IPv6, what fits" ping_ok A -M "do" -s 1332 "${I6[B]}"
	check "a host behind" ping_says L \
		"From fd09:3::fe.* Packet too big: mtu=1380" -M "do" -s 1400 \
		"${I6[B]}"
	tun_down A B
	forget_routes

	# IPv6 must always get 1280 through: outside it is cut up
	ipip_up A cmptun && ipip_up B kernel
	narrow 1290
	# The first may be lost until R has told about the way
	ping_ok A -M "do" -s 1232 "${I6[B]}"
	check "1280 bytes over 1290" ping_ok A -M "do" -s 1232 "${I6[B]}"
	tun_down A B
	forget_routes
	narrow 1500
}
add_case case_pmtu6 "path MTU of inner IPv6, and its floor of 1280"

case_nopmtudisc()
{
	ipip_up A cmptun nopmtudisc && ipip_up B kernel nopmtudisc
	narrow 1400
	check "cut up on the way" ping_ok A -M "dont" -s 1430 "${I4[B]}"
	check "cut up on the way again" ping_ok A -M "dont" -s 1430 "${I4[B]}"
	tun_down A B
	forget_routes
	narrow 1500
}
add_case case_nopmtudisc "nopmtudisc: the way may cut packets up"

# What the route out of A itself says is known before anything is sent
case_local_underlay()
{
	ipip_up A cmptun && ipip_up B kernel
	ipn A link set u0 mtu 1400
	check "refused at once" ping_says A "mtu ?[:=] ?1380" -c 2 -i 0.3 \
		-M "do" -s 1430 "${I4[B]}"
	check "what fits" ping_ok A -M "do" -s 1352 "${I4[B]}"
	ipn A link set u0 mtu 1500
	tun_down A B
	forget_routes
}
add_case case_local_underlay "the underlay of the sender shrinks"

# wg has no path MTU discovery of its own: what is outside may be cut up
case_wg_narrow()
{
	wg_up A cmptun && wg_up B kernel
	narrow 1400
	check "full size over 1400" ping_ok A -M "do" -s 1392 "${I4[B]}"
	check "and back" ping_ok B -M "do" -s 1392 "${I4[A]}"
	check "TCP" iperf A B "${I4[B]}" -n 256K
	tun_down A B
	forget_routes
	narrow 1500
}
add_case case_wg_narrow "wg over a narrow path"

# Only what quotes our own packets is believed
case_forged()
{
	ipip_up A cmptun && ipip_up B kernel
	check "before" ping_ok A -M "do" -s 1400 "${I4[B]}"
	on R "$PYTHON" "$SELF_DIR/icmp_forge.py" 10.9.1.254 10.9.1.1 600 \
		10.9.1.1 10.9.2.77 4
	on R "$PYTHON" "$SELF_DIR/icmp_forge.py" 10.9.1.254 10.9.1.1 600 \
		10.9.1.77 10.9.2.2 4
	check "a quote of others" ping_ok A -M "do" -s 1400 "${I4[B]}"
	check_eq "tx_errors" "$(count A t0 tx errors)" 0
	tun_down A B
	forget_routes
}
add_case case_forged "ICMP about other tunnels is not believed"

# ping_told NODE REGEX ARGUMENT... - within a few seconds: the first packet
# is lost, what is heard of it is told to those that follow
ping_told()
{
	local node=$1 regex=$2

	shift 2
	on "$node" ping -c 4 -i 0.3 -W 1 "$@" > "$WORK/ping" 2>&1 &&
		{ msg "answered"; return 1; }
	grep -qE "$regex" "$WORK/ping" || { sed 's/^/# /' "$WORK/ping"; return 1; }
}

case_unreachable()
{
	ipip_up A cmptun ttl 64 && ipip_up B kernel
	back_routes
	check "before" ping_ok A "${I4[B]}"
	# Five times at most, then R says it once a second
	ipn R route add unreachable 10.9.2.2/32
	# sit passes it on with a source that does not get anywhere
	[ -n "$ORACLE" ] || check "a host behind hears of inner IPv6" ping_told L \
		"From fd09:3::fe.*Address unreachable" "${I6[B]}"
	ipn R route del unreachable 10.9.2.2/32
	# As often as we ask, but for proto 41, whose checksum it mistrusts
	on R nft -f - <<- EOF
	table ip u { chain f { type filter hook forward priority 0;
		ip daddr 10.9.2.2 reject with icmp type host-unreachable; }; }
	EOF
	check "host unreachable" ping_told A "Destination Host Unreachable" \
		"${I4[B]}"
	check "a host behind hears of it" ping_told L \
		"From 10.9.3.254.*Destination Host Unreachable" "${I4[B]}"
	on R nft delete table ip u
	tun_down A B

	# The outer TTL ends at R
	ipip_up A cmptun ttl 1 && ipip_up B kernel
	check "TTL exceeded outside" ping_told A \
		"Destination Host Unreachable" "${I4[B]}"
	tun_down A B
}
add_case case_unreachable "ICMP errors from the way reach the sender"

case_no_route()
{
	ipip_up A cmptun && ipip_up B kernel
	check "before" ping_ok A "${I4[B]}"
	ipn A route del default via 10.9.1.254
	# The kernel's ipip drops without a word
	[ -n "$ORACLE" ] || check "no route outside" ping_told A \
		"Destination Host Unreachable" "${I4[B]}"
	ping_no A "${I4[B]}" || fail "an answer without a route"
	check_estat A tx_drop_no_route -ge 1
	check_num "carrier errors" "$(count A t0 tx carrier_errors)" -ge 1
	ipn A route add default via 10.9.1.254
	check "after" ping_ok A "${I4[B]}"
	tun_down A B
}
add_case case_no_route "no route outside is a host unreachable inside"

# A host behind A, with SNAT: the answer must be to what it sent, from the
# address of A that it knows
case_wg_behind()
{
	wg_up A cmptun allowed=10.100.0.0/30
	wg_up B kernel
	ipn A route add 10.77.0.0/24 dev t0
	on A nft -f - <<- EOF
	table ip n { chain p { type nat hook postrouting priority 100;
		oifname t0 masquerade; }; }
	EOF
	check "through the tunnel" ping_ok L "${I4[B]}"
	check "no peer for it" ping_says L \
		"From 10.9.3.254.*Destination Host Unreachable" 10.77.0.1
	check "too large" ping_says L \
		"From 10.9.3.254.*Frag needed.*mtu = 1420" -M "do" -s 1400 \
		"${I4[B]}"
	check_estat A tx_drop_no_peer -ge 1
	on A nft delete table ip n
	tun_down A B
}
add_case case_wg_behind "a host behind wg, with NAT, is told why"

run_cases "$@"
