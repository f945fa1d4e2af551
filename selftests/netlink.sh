#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The netlink interface: what is refused, what a refusal leaves alone,
# namespaces and privileges.
# check: allow-dmesg netlink: 'python3': attribute type [0-9]+ has an invalid length
# check: allow-dmesg validate_nla: [0-9]+ callbacks suppressed
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ping ethtool nsenter unshare
load_module
setup_work
net_pair
make_keys

# says NODE REGEX ARGUMENT... - ip refuses, and says so
says()
{
	local node=$1 regex=$2

	shift 2
	ipn "$node" "$@" > "$WORK/ip" 2>&1 && return 1
	grep -qE "$regex" "$WORK/ip" || { sed 's/^/# /' "$WORK/ip"; return 1; }
}

# What is configured, without what counts and without what was learned
conf()
{
	ipn "$1" -d -j link show t0 |
		sed -E 's/"(rx_bytes|tx_bytes|latest_handshake)":[0-9]+//g'
}

case_bad()
{
	local mode

	wg_up A cmptun
	for mode in wg ipip; do
		check "mode $mode" set_mode A "$mode" local "${U4[A]}" \
			remote "${U4[B]}"
		check "bad messages in mode $mode" \
			on A "$PYTHON" "$SELF_DIR/rtnl.py" bad t0
	done
	check "EEXIST, EOPNOTSUPP" on A "$PYTHON" "$SELF_DIR/rtnl.py" flags t0
	tun_down A
}
add_case case_bad "each wrong message is refused with a reason, and changes nothing"

case_bare()
{
	check "bare wg" ipn A link add t0 type cmptun mode wg
	check_eq "mode" "$(link A t0 mode)" wg
	check_eq "MTU" "$(link A t0 mtu)" 1420
	check "bare, up" ipn A link set t0 up
	check "bare, no mode" ipn A link add t1 type cmptun
	check_eq "default mode" "$(link A t1 mode)" ipip
	check_eq "default MTU" "$(link A t1 mtu)" 1480
	tun_down A
}
add_case case_bare "a device without any configuration"

case_own_key()
{
	local before

	wg_up A cmptun
	before=$(conf A)
	check "own key" says A "peer: the public key is the device's own" \
		link set t0 type cmptun peer "${PUB[A]}"
	check "key of the peer" says A "device's own" \
		link set t0 type cmptun private-key "$KEYS/B.key"
	check_eq "configuration" "$(conf A)" "$before"
	check "the same again" ipn A link set t0 type cmptun mode wg \
		private-key "$KEYS/A.key" listen-port 51820 peer "${PUB[B]}" \
		endpoint "${U4[B]}:51820" allowed-ips 0.0.0.0/0,::/0
	check_eq "configuration" "$(conf A)" "$before"
	tun_down A
}
add_case case_own_key "the device's own key is no peer; the same again is no change"

case_exists()
{
	local two=(link add t1 type cmptun local "${U4[A]}" remote "${U4[B]}")

	ipip_up A cmptun
	check "at creation" says A "another cmptun device has this local" \
		"${two[@]}"
	check "in the other mode" ipn A "${two[@]}" mode wg
	check "by a switch" says A "another cmptun device has this local" \
		link set t1 type cmptun mode ipip
	check_eq "mode" "$(link A t1 mode)" wg
	tun_down A
}
add_case case_exists "one pair of addresses, one ipip tunnel"

# sender_learns ERROR - what send(2) says
sender_learns()
{
	on A bash -c "echo > /dev/udp/${I4[B]}/9" 2> "$WORK/send"
	grep -q "$1" "$WORK/send" || { sed 's/^/# /' "$WORK/send"; return 1; }
}

case_errno()
{
	NO6=1
	ipn A link add t0 type cmptun
	_address A t0 up
	check "no remote" sender_learns "Destination address required"
	check_estat A tx_drop_no_remote -eq 1
	set_mode A wg
	check "no key" sender_learns "Required key not available"
	check_estat A tx_drop_no_key -eq 1
	ipn A link set t0 type cmptun private-key "$KEYS/A.key"
	check "no peer" sender_learns "Required key not available"
	check_estat A tx_drop_no_peer -eq 1
	ipn A link set t0 type cmptun peer "${PUB[B]}"
	check "no endpoint" sender_learns "Destination address required"
	check_estat A tx_drop_no_endpoint -eq 1
	check_eq "tx_errors" "$(count A t0 tx errors)" 4
	# In wg, as in wireguard, an ICMP error says so too
	check "ICMP" ping_says A "Destination Host Unreachable" "${I4[B]}"
	tun_down A
	NO6=
}
add_case case_errno "what is missing is counted, and the sender learns of it"

case_ethtool()
{
	local names

	ipip_up A cmptun
	check_match "driver" "$(on A ethtool -i t0)" "driver: cmptun"
	names=$(on A ethtool -S t0 | cut -d: -f1)
	ping_no A "${I4[B]}"
	check_estat A ipip_tx_packets -ge 1
	set_mode A wg
	ipn A link set t0 down
	ipn A link set t0 up
	check_eq "names" "$(on A ethtool -S t0 | cut -d: -f1)" "$names"
	check_estat A ipip_tx_packets -ge 1
	ipn A link set t0 down
	check "rename" ipn A link set t0 name t3
	check "renamed" ipn A link show t3 > /dev/null
	tun_down A
}
add_case case_ethtool "ethtool, and counters that survive down, up and switch"

case_move()
{
	local mode

	ip netns add "${P}M" && at_exit "ip netns del ${P}M"
	ip -n "${P}M" link set lo up
	for mode in ipip wg; do
		if [ $mode = ipip ]; then
			ipip_up A cmptun && ipip_up B cmptun
		else
			wg_up A cmptun && wg_up B cmptun
		fi
		check "$mode: move" ipn A link set t0 netns "${P}M"
		ipb M <<- EOF
		addr add ${I4[A]}/30 dev t0
		link set t0 up
		EOF
		check "$mode: ping from there" ping_ok M "${I4[B]}"
		check "$mode: ping to there" ping_ok B "${I4[A]}"
		check_match "$mode: where the outer side is" \
			"$(ipn M -d link show t0)" "link-netns"
		tun_down M B
	done
}
add_case case_move "a moved device sends where it was made"

case_netns_death()
{
	local order

	for order in "inner outer" "outer inner"; do
		ip netns add "${P}X"
		ip netns add "${P}Y"
		# With a route of the namespace in its cache
		ip -n "${P}X" -batch - <<- EOF
		link add d0 type dummy
		addr add fd77::1/64 dev d0 nodad
		link set d0 up
		EOF
		check "create" ip -n "${P}X" link add t0 type cmptun mode wg \
			private-key "$KEYS/A.key" peer "${PUB[B]}" \
			endpoint "[fd77::2]:51820"
		check "up" ip -n "${P}X" link set t0 up
		ip -n "${P}X" addr add 10.100.0.1/30 dev t0
		ip netns exec "${P}X" ping -q -c 1 -W 1 10.100.0.2 > /dev/null
		check "move" ip -n "${P}X" link set t0 netns "${P}Y"
		check "up there" ip -n "${P}Y" link set t0 up
		if [ "$order" = "inner outer" ]; then
			ip netns del "${P}Y"
			ip netns del "${P}X"
			continue
		fi
		ip netns del "${P}X"
		check "carrier goes" wait_for 10 grep -q 0 \
			<(ip netns exec "${P}Y" cat /sys/class/net/t0/carrier)
		ip -n "${P}Y" link set t0 down
		refuse "up without underlay" ip -n "${P}Y" link set t0 up \
			2> /dev/null
		check "still shown" ip -n "${P}Y" -d link show t0 > /dev/null
		ip netns del "${P}Y"
	done
}
add_case case_netns_death "namespaces end in either order"

# The device's own namespace is the user's, the outer one is not
case_capability()
{
	check "a user's own namespace" unshare -Urn \
		ip link add t0 type cmptun mode wg

	unshare -Urn sleep 60 &
	local pid=$!

	wait_for 5 test -e "/proc/$pid/ns/net"
	nap 0.5
	ipip_up A cmptun
	check "give away" ipn A link set t0 netns "$pid"
	check "may look" nsenter -t "$pid" -U -n --preserve-credentials \
		ip -d link show t0 > /dev/null
	nsenter -t "$pid" -U -n --preserve-credentials \
		ip link set t0 type cmptun mode wg > "$WORK/ip" 2>&1
	check_match "may not change" "$(cat "$WORK/ip")" \
		"not permitted in the namespace of the outer packets"
	kill "$pid"
	wait "$pid" 2> /dev/null
}
add_case case_capability "who changes a device has a say where it sends"

run_cases "$@"
