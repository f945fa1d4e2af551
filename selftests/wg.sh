#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# wg mode between friends: handshake, data, what is on the wire, and the
# kernel's own wireguard at the other end. What strangers and mistakes do is in
# wg_hostile.sh, what takes minutes in wg_timers.sh.
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


case_wire()
{
	local roles lens seen

	NO6=1
	for roles in "${ROLES[@]}"; do
		cap_start wire A u0 udp port 51820
		both_up "$roles"
		# Time enough for a packet that nobody asked for
		nap 0.7
		check_eq "$roles: packets before the first" "$(cap_count wire)" 0
		check "$roles: ping" ping_ok A -s 56 "${I4[B]}"
		check "$roles: ping" ping_ok A -s 57 "${I4[B]}"
		wait_for 3 cap_has wire 6
		cap_stop wire
		lens=$(cap_show wire | sed 's/.* length //' | tr '\n' ' ')
		# 84 bytes are padded to 96, and 32 are added; so are 85
		check_eq "$roles: payload lengths" "$lens" \
			"148 92 128 128 128 128 "
		check_eq "$roles: initiation from A" "$(cap_count wire \
			"src 172.21.0.2 and udp[8:4] = 0x01000000")" 1
		check_eq "$roles: response from B" "$(cap_count wire \
			"src 172.21.0.3 and udp[8:4] = 0x02000000")" 1
		check_eq "$roles: data" "$(cap_count wire \
			"udp[8:4] = 0x04000000")" 4
		check_eq "$roles: counters from 0 up" "$(cap_count wire \
			"src 172.21.0.2 and (udp[16:4] = 0 or udp[16:4] = 0x01000000) and udp[20:4] = 0")" 2
		check_eq "$roles: DSCP of handshakes" "$(cap_count wire \
			"ip[1] = 0x88 and udp[8] < 3")" 2
		check_eq "$roles: DSCP of data" "$(cap_count wire \
			"ip[1] = 0 and udp[8] = 4")" 4
		seen=$(cap_show wire -vv)
		check_match "$roles: UDP checksum" "$seen" "udp (sum ok|cksum)"
		tun_down A B
	done
	NO6=
}
add_case case_wire "148, 92, then data that starts with 04 00 00 00"

# What someone on the wire reads of a payload
eavesdrop()
{
	# Requests only: the text fills two lines of each
	cap_start wire A u0 "src 172.21.0.2 and (ip proto 4 or udp port 51820)"
	check "$1: ping" ping_ok A -c 2 -i 0.1 -p 646f746f7279656565 "${I4[B]}"
	wait_for 3 cap_has wire 4
	cap_stop wire
	check_eq "$1: lines that show it" \
		"$(cap_show wire -X | grep -c dotoryeee)" "$2"
	tun_down A B
}

case_visible()
{
	ipip_up A cmptun && ipip_up B cmptun
	eavesdrop ipip 4
	both_up "cmptun cmptun"
	eavesdrop wg 0
}
add_case case_visible "an eavesdropper reads 4 lines of ipip, none of wg"

# In wg the outer TOS tells nothing but congestion
case_tos()
{
	local n len want seen4

	NO6=1
	both_up "cmptun cmptun"
	check "session" ping_ok A "${I4[B]}"
	on A nft -f - <<- EOF
	table ip e { chain o { type filter hook output priority 0;
		udp dport 51820 ip length 300-399 ip ecn set ce
	}; }
	EOF
	cap_start outer A u0 "src 172.21.0.2 and udp port 51820"
	cap_start inner B t0 "ip proto 17"
	# 112 and 240 inner bytes make 172 and 300 outer ones
	on A "$PYTHON" "$SELF_DIR/udp_send.py" "${I4[B]}" 9 \
		84:0xb8 100:0xb9 116:0xba 132:0xbb \
		212:0 228:1 244:2 260:3
	wait_for 3 cap_has inner 8
	cap_stop outer
	cap_stop inner
	# Outside, what was marked on its way to us counts as ECT (RFC 3168)
	for n in 0 1 2 3; do
		check_eq "outer TOS over 0xb8 + $n" "$(cap_count outer \
			"ip[1] = $((n < 3 ? n : 2)) and
			 ip[2:2] = $((84 + 16 * n + 28 + 60))")" 1
	done
	seen4=$(cap_show inner -v)
	n=0
	# Not-ECT with CE outside is delivered unchanged, unlike in ipip
	for want in 0 3 3 3; do
		len=$((212 + 16 * n + 28))
		check_eq "inner TOS of $n with CE outside" \
			"$(grep -cE "tos 0x$want,.*length $len\\)" <<< "$seen4")" 1
		n=$((n + 1))
	done
	on A nft delete table ip e
	tun_down A B
	NO6=
}
add_case case_tos "outer TOS has congestion marks only, and they come in"

# Nothing is lost while a handshake takes its time
case_staged()
{
	NO6=1
	on A tc qdisc add dev u0 root netem delay 400ms
	both_up "cmptun kernel"
	check "five pings before there is a session" ping_ok A -c 5 -i 0.05 \
		-W 6 "${I4[B]}"
	tun_down A B
	both_up "kernel cmptun"
	check "the other way" ping_ok A -c 5 -i 0.05 -W 6 "${I4[B]}"
	on A tc qdisc del dev u0 root
	tun_down A B
	NO6=
}
add_case case_staged "packets wait for the handshake and are delivered"

# The queue holds 128 as the kernel's does; the oldest give way
case_queue()
{
	local n full flushed

	cmptun_only || return
	NO6=1
	wg_up A cmptun
	mapfile -t n < <(printf '100:0\n%.0s' {1..200})
	on A "$PYTHON" "$SELF_DIR/udp_send.py" "${I4[B]}" 9 "${n[@]}"
	full=$(estat A tx_drop_queue_full)
	check_eq "too many" "$full" 72
	ipn A link set t0 down
	flushed=$(estat A tx_drop_flushed)
	check_eq "thrown away when the device goes down" "$flushed" 128
	check_eq "tx_dropped" "$(count A t0 tx dropped)" 200
	tun_down A
	NO6=
}
add_case case_queue "the queue for a handshake is bounded, drops are counted"

case_no_key()
{
	cmptun_only || return
	NO6=1
	check "bare" ipn A link add t0 type cmptun mode wg
	_address A t0 up
	check_eq "mode" "$(link A t0 mode)" wg
	check_eq "MTU" "$(link A t0 mtu)" 1420
	ping_no A "${I4[B]}" || fail "an answer without a key"
	check_num "dropped" "$(drops A | grep -c tx_drop_no)" -ge 1

	# Keys in two steps; what was sent too early must not be in the way
	ipn A link set t0 type cmptun listen-port 51820 peer "${PUB[B]}" \
		endpoint 172.21.0.3:51820
	ping_no A "${I4[B]}" || fail "an answer without a private key"
	wg_up B kernel
	check "private key" ipn A link set t0 type cmptun \
		private-key "$KEYS/A.key"
	check "ping with the key" ping_ok A "${I4[B]}"
	check_eq "public key" "$(link A t0 public_key)" "${PUB[A]}"
	tun_down A B
	NO6=
}
add_case case_no_key "a bare device, keys set later"

case_no_endpoint()
{
	NO6=1
	wg_up A cmptun endpoint=none
	wg_up B kernel
	check "errno of the sender" ping_says A "Destination address required" \
		"${I4[B]}"
	check_estat A tx_drop_no_endpoint -ge 1
	# Once the peer calls, its address is known
	check "the peer calls" ping_ok B "${I4[A]}"
	check "and is answered" ping_ok A "${I4[B]}"
	[ -n "$ORACLE" ] || check_eq "endpoint" "$(link A t0 endpoint)" \
		172.21.0.3:51820
	tun_down A B
	NO6=
}
add_case case_no_endpoint "without an endpoint: EDESTADDRREQ, until one calls"

# endpoint_of NODE - where it sends to
endpoint_of()
{
	link "$1" t0 endpoint || on "$1" wg show t0 endpoints | cut -f2
}

case_roam()
{
	local roles

	NO6=1
	for roles in "cmptun kernel" "kernel cmptun"; do
		both_up "$roles"
		check "$roles: before" ping_ok B "${I4[A]}"
		ipb B <<- EOF
		addr add 172.21.0.33/24 dev u0
		addr del 172.21.0.3/24 dev u0
		addr add 172.21.0.33/24 dev u0
		EOF
		check "$roles: from a new address" ping_ok B "${I4[A]}"
		check_eq "$roles: endpoint" "$(endpoint_of A)" 172.21.0.33:51820
		check "$roles: back to it" ping_ok A "${I4[B]}"
		if [ -z "$ORACLE" ] && [ "$roles" = "kernel cmptun" ]; then
			ipn B link set t0 type cmptun listen-port 51999
		else
			on B wg set t0 listen-port 51999
		fi
		check "$roles: from a new port" ping_ok B "${I4[A]}"
		check_eq "$roles: port" "$(endpoint_of A)" 172.21.0.33:51999
		ipb B <<- EOF
		addr del 172.21.0.33/24 dev u0
		addr add 172.21.0.3/24 dev u0
		EOF
		tun_down A B
	done
	NO6=
} 2> >(grep -v 'File exists\|Command failed' >&2)
add_case case_roam "the endpoint follows a peer that moves"

# The address that was spoken to answers, whatever the route prefers
case_sticky()
{
	NO6=1
	ipn A addr add 172.21.0.22/24 dev u0
	wg_up A cmptun endpoint=none
	wg_up B kernel endpoint=172.21.0.22:51820
	check "ping to the second address" ping_ok B "${I4[A]}"
	check_eq "endpoint of B has not moved" \
		"$(on B wg show t0 endpoints | cut -f2)" 172.21.0.22:51820
	check "sent by itself" ping_ok A "${I4[B]}"
	check_eq "endpoint of B still has not moved" \
		"$(on B wg show t0 endpoints | cut -f2)" 172.21.0.22:51820
	if [ -z "$ORACLE" ]; then
		ipn A link set t0 type cmptun local 172.21.0.2 peer "${PUB[B]}" \
			endpoint 172.21.0.3:51820
		check "from the local given" ping_ok A "${I4[B]}"
		check_eq "endpoint of B" \
			"$(on B wg show t0 endpoints | cut -f2)" 172.21.0.2:51820
		# With an endpoint of its own, too
		ipn A link set t0 type cmptun local 172.21.0.22
		check "from another local" ping_ok A "${I4[B]}"
		check_eq "endpoint of B" \
			"$(on B wg show t0 endpoints | cut -f2)" 172.21.0.22:51820
	fi
	ipn A addr del 172.21.0.22/24 dev u0
	tun_down A B
	NO6=
}
add_case case_sticky "answers come from the address that was called"

case_keepalive()
{
	NO6=1
	cap_start wire A u0 "udp port 51820"
	wg_up B kernel
	wg_up A cmptun keepalive=1
	check "keepalives without traffic" wait_for 6 cap_has wire 4 \
		"src 172.21.0.2 and udp[4:2] = 40 and udp[8] = 4"
	cap_stop wire
	check "session by itself" has_session A
	[ -n "$ORACLE" ] ||
		check_eq "shown" "$(link A t0 persistent_keepalive)" 1
	check_estat A wg_tx_packets -eq 0
	tun_down A B
	NO6=
}
add_case case_keepalive "persistent keepalive"

sent_one()
{
	[ "$(count "$1" t0 tx packets)" -ge 1 ]
}

both_sessions()
{
	has_session A && has_session B
}

# Both call at once, and neither hears the other before it has called. The
# kernel's driver gives its own call up for the other's, so that two of them
# get no answer and must call again 5 s later, plus what chance adds. If these
# cross as well, then 5 s after that.
case_collision()
{
	local roles pings node start

	NO6=1
	for roles in "cmptun cmptun" "cmptun kernel"; do
		pings=()
		for node in A B; do
			on "$node" tc qdisc replace dev u0 root netem delay 1s
		done
		both_up "$roles"
		start=$(now_ms)
		for node in A B; do
			bg on "$node" ping -q -i 0.5 "${I4[${PEER_OF[$node]}]}" \
				> /dev/null
			pings+=("$BG")
		done
		for node in A B; do
			wait_for 3 sent_one "$node"
			on "$node" tc qdisc change dev u0 root netem delay 1ms
		done
		check "$roles: a session" wait_for 25 both_sessions
		msg "$roles: session after $(($(now_ms) - start)) ms"
		for node in "${pings[@]}"; do
			bg_stop "$node"
		done
		check "$roles: settled, A" ping_ok A "${I4[B]}"
		check "$roles: settled, B" ping_ok B "${I4[A]}"
		tun_down A B
	done
	on A tc qdisc del dev u0 root
	on B tc qdisc del dev u0 root
	NO6=
}
add_case case_collision "both ends initiate at once"

case_restart()
{
	NO6=1
	both_up "cmptun kernel"
	check "before" ping_ok A "${I4[B]}"
	ipb A <<- EOF
	link set t0 down
	link set t0 up
	EOF
	check "first ping after down and up" ping_ok A -W 2 "${I4[B]}"
	ipb B <<- EOF
	link set t0 down
	link set t0 up
	EOF
	check "the peer after its own" ping_ok B -W 2 "${I4[A]}"
	check "and back" ping_ok A -W 2 "${I4[B]}"
	tun_down A B
	NO6=
}
add_case case_restart "down and up, then a ping at once"

# set_peer NODE KIND ARGUMENT... - of "peer"
set_peer()
{
	local node=$1

	if [ "$(kind_of "$2")" = kernel ]; then
		on "$node" wg set t0 peer "${PUB[${PEER_OF[$node]}]}" "${@:3}"
	else
		ipn "$node" link set t0 type cmptun \
			peer "${PUB[${PEER_OF[$node]}]}" "${@:3}"
	fi
}

case_change_keys()
{
	local old=${PUB[A]}

	NO6=1
	both_up "cmptun kernel"
	check "before" ping_ok A "${I4[B]}"

	# A preshared key is for the next handshake, the session goes on
	set_peer A cmptun preshared-key "$KEYS/psk"
	check "session with one end's psk new" ping_ok A "${I4[B]}"
	set_peer B kernel preshared-key "$KEYS/psk"
	ipb A <<- EOF
	link set t0 down
	link set t0 up
	EOF
	check "with the psk" ping_ok A "${I4[B]}"

	# Another identity: who knew the old one is a stranger
	wg genkey > "$KEYS/A2.key"
	if [ -n "$ORACLE" ]; then
		on A wg set t0 private-key "$KEYS/A2.key"
	else
		ipn A link set t0 type cmptun private-key "$KEYS/A2.key"
	fi
	PUB[A]=$(wg pubkey < "$KEYS/A2.key")
	[ -n "$ORACLE" ] ||
		check_eq "public key" "$(link A t0 public_key)" "${PUB[A]}"
	on B wg set t0 peer "$old" remove peer "${PUB[A]}" \
		preshared-key "$KEYS/psk" allowed-ips 0.0.0.0/0 \
		endpoint 172.21.0.2:51820
	check "with the new private key" ping_ok A "${I4[B]}"
	PUB[A]=$old
	tun_down A B
	NO6=
}
add_case case_change_keys "new preshared and private keys on a live device"

case_fwmark()
{
	NO6=1
	wg_up A cmptun fwmark=7
	wg_up B kernel
	on A nft -f - <<- EOF
	table ip m {
		counter marked { }; counter other { }; counter nine { }
		chain o { type filter hook output priority 0;
			udp sport 51820 meta mark 7 counter name marked
			udp sport 51820 meta mark 9 counter name nine
			udp sport 51820 meta mark != { 7, 9 } counter name other
		}
	}
	EOF
	marked()
	{
		on A nft list counter ip m "$1" |
			sed -n 's/.*packets \([0-9]*\).*/\1/p'
	}
	check "ping" ping_ok A -c 3 -i 0.01 "${I4[B]}"
	check_eq "marked, with the initiation" "$(marked marked)" 4
	if [ -n "$ORACLE" ]; then
		on A wg set t0 fwmark 9
	else
		ipn A link set t0 type cmptun fwmark 9
	fi
	check "ping" ping_ok A "${I4[B]}"
	check_eq "marked anew at once" "$(marked nine)" 1
	check_eq "not marked" "$(marked other)" 0
	on A nft delete table ip m

	# As wg-quick routes everything into the tunnel
	ipb A <<- EOF
	route add default dev t0 table 51820
	rule add not fwmark 9 table 51820
	rule add table main suppress_prefixlength 0
	EOF
	ipn B addr add 10.77.0.1/32 dev lo
	check "default route through the tunnel" ping_ok A -f -c 50 10.77.0.1
	ipb A <<- EOF
	rule del not fwmark 9 table 51820
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
add_case case_fwmark "each outer packet has the mark"

# What changes while nothing runs counts when it does
case_fwmark_down()
{
	local between

	cmptun_only || return
	NO6=1
	wg_up A cmptun
	wg_up B kernel
	ipb A <<- EOF
	route add unreachable default table 55
	rule add fwmark 5 table 55 pref 55
	EOF
	for between in "link set t0 down" "link set t0 type cmptun mode ipip"; do
		check "before $between" ping_ok A "${I4[B]}"
		# shellcheck disable=SC2086 # words
		ipn A $between
		ipn A link set t0 type cmptun fwmark 5
		ipn A link set t0 type cmptun mode wg
		ipn A link set t0 up
		ping_no A "${I4[B]}" || fail "$between: by the way of before"
		ipn A link set t0 type cmptun fwmark 0
		check "after $between" ping_ok A -W 7 "${I4[B]}"
	done
	ipb A <<- EOF
	rule del fwmark 5 table 55 pref 55
	route del unreachable default table 55
	EOF
	tun_down A B
	NO6=
}
add_case case_fwmark_down "a mark set while down, or in ipip, is not forgotten"

case_port()
{
	cmptun_only || return
	NO6=1
	wg_up A cmptun port=0
	check_num "a port of the kernel's choice" "$(link A t0 listen_port)" \
		-gt 0
	wg_up B kernel endpoint=none
	check "session from it" ping_ok A "${I4[B]}"
	tun_down A B
	NO6=
}
add_case case_port "listen-port 0 is any port"

run_cases "$@"
