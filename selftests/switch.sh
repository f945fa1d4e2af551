#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The live switch: what stays, what is announced, what a failed one leaves, and
# that nothing is sent or accepted in the wrong form.
#
# The rule tested (Documentation/switch.rst): from the moment the call that
# switches an end has returned, that end sends and accepts nothing in the form
# of the mode left. While the call lasts either form may be seen.
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ping tcpdump nft ethtool iperf3 nsenter
[ -z "$ORACLE" ] || skip_all "no other driver can switch"
load_module
setup_work
net_pair
make_keys
NO6=1

# Both modes configured, ipip running
both_up()
{
	local node peer

	for node in A B; do
		peer=${PEER_OF[$node]}
		ipn "$node" link add t0 type cmptun mode ipip \
			local "${U4[$node]}" remote "${U4[$peer]}" \
			private-key "$KEYS/$node.key" listen-port 51820 \
			peer "${PUB[$peer]}" endpoint "${U4[$peer]}:51820" ||
			return 1
		_address "$node" t0 up
	done
}

# What a switch must leave alone, one thing a line
state_of()
{
	ipn A -o addr show dev t0 | sed 's/^[0-9]*: //'
	ipn A route show dev t0
	ipn A -6 route show dev t0
	ipn A rule show
	ipn A -o link show t0 | sed -n 's/^\([0-9]*\): t0: \(<[^>]*>\).*/\1 \2/p'
}

case_keeps()
{
	local before after i news

	NO6=
	both_up
	NO6=1
	ipb A <<- EOF
	route add 10.50.0.0/16 dev t0
	route add 10.51.0.0/16 via 10.100.0.2 dev t0 mtu lock 1300
	route add fd50::/32 dev t0
	rule add iif t0 table 77 pref 99
	EOF
	before=$(state_of)
	check "before" ping_ok A "${I4[B]}"
	bg ipn A -o monitor link > "$WORK/monitor"
	# Ready once it shows a change that we make
	wait_for 10 monitor_sees
	for i in 1 2; do
		: > "$WORK/monitor"
		set_mode A wg
		set_mode B wg
		check_eq "what an admin has set up, in wg" "$(state_of)" \
			"$before"
		check_eq "MTU in wg" "$(link A t0 mtu)" 1420
		check "ping in wg" ping_ok A "${I4[B]}"
		check "IPv6 in wg" ping_ok A "${I6[B]}"
		news=$(grep -c ': t0' "$WORK/monitor")
		check_eq "notices of the switch to wg" "$news" 1
		check "notice with the new MTU" \
			grep -q ' mtu 1420 ' "$WORK/monitor"
		: > "$WORK/monitor"
		set_mode B ipip
		set_mode A ipip
		check "ping in ipip" ping_ok A "${I4[B]}"
		check "IPv6 in ipip" ping_ok A "${I6[B]}"
		check_eq "MTU in ipip" "$(link A t0 mtu)" 1480
		check_eq "notices of the switch to ipip" \
			"$(grep -c ': t0' "$WORK/monitor")" 1
	done
	bg_stop "$BG"
	after=$(state_of)
	check_eq "what an admin has set up" "$after" "$before"
	ipn A rule del iif t0 table 77 pref 99
	tun_down A B
}

monitor_sees()
{
	ipn A link set u0 txqueuelen "$((RANDOM % 900 + 100))"
	grep -q ': u0' "$WORK/monitor"
}
add_case case_keeps "addresses, routes and flags stay, one notice a switch"

# Mode, MTU and everything configured, as ip shows it, without what counts
dump_of()
{
	ipn A -d -j link show t0 |
		sed -E 's/"(rx_bytes|tx_bytes|latest_handshake)":[0-9]+//g'
}

case_config_kept()
{
	local before

	both_up
	ipn A link set t0 type cmptun ttl 9 tos 0x20 fwmark 0 \
		peer "${PUB[B]}" persistent-keepalive 25 preshared-key "$KEYS/psk" \
		allowed-ips 10.100.0.0/24,fd10::/64
	before=$(dump_of)
	set_mode A wg
	refuse "the same dump in another mode" [ "$(dump_of)" = "$before" ]
	set_mode A ipip
	check_eq "there and back" "$(dump_of)" "$before"
	# With the device down it is a matter of configuration alone
	ipn A link set t0 down
	before=$(dump_of)
	set_mode A wg
	set_mode A ipip
	check_eq "there and back while down" "$(dump_of)" "$before"
	tun_down A B
}
add_case case_config_kept "the configuration of the mode left is kept"

case_new_session()
{
	both_up
	set_mode A wg
	set_mode B wg
	check "ping" ping_ok A "${I4[B]}"
	cap_start wire B u0 "src 172.21.0.3 and udp port 51820"
	check "ping" ping_ok A -c 3 -i 0.01 "${I4[B]}"
	wait_for 3 cap_has wire 3
	cap_stop wire
	check_eq "handshakes" "$(estat A wg_handshakes)" 1
	set_mode A ipip
	set_mode A wg
	# Keys that are gone open nothing
	on B "$PYTHON" "$SELF_DIR/packets.py" resend "$WORK/wire.pcap" 4 \
		> /dev/null
	check "messages of the old session" wait_for 3 \
		estat_ge A rx_drop_no_session 3
	check "ping at once" ping_ok A -W 2 "${I4[B]}"
	check_eq "handshakes" "$(estat A wg_handshakes)" 2
	check_eq "ipip_tx_packets" "$(estat A ipip_tx_packets)" 0

	# To and fro within the 5 s that a handshake may take to be repeated
	set_mode A ipip
	set_mode B ipip
	check "ping in ipip" ping_ok A "${I4[B]}"
	set_mode B wg
	set_mode A wg
	check "ping in wg again" ping_ok A -W 2 "${I4[B]}"
	tun_down A B
}
add_case case_new_session "session keys die with the mode, a new session comes"

# (a) of the field report: what waits for a session must not leave in the clear
case_staged()
{
	local n

	both_up
	ipn B link set t0 down
	set_mode A wg
	cap_start wire A u0 "ip proto 4 or ip proto 41 or udp port 51820"
	mapfile -t n < <(printf '200:0\n%.0s' {1..50})
	on A "$PYTHON" "$SELF_DIR/udp_send.py" "${I4[B]}" 9 "${n[@]}"
	set_mode A ipip
	check_eq "thrown away by the switch" "$(estat A tx_drop_flushed)" 50
	ipn B link set t0 up
	check "plain afterwards" ping_ok A "${I4[B]}"
	wait_for 3 cap_has wire 2 "ip proto 4"
	cap_stop wire
	check_eq "plain packets but for the ping" \
		"$(cap_count wire "src 172.21.0.2 and ip proto 4")" 1
	check_eq "tx_dropped" "$(count A t0 tx dropped)" 50
	tun_down A B
}
add_case case_staged "packets waiting in wg are dropped, not sent as ipip"

# (b): each end at its own time; between the two nothing is taken
case_one_end()
{
	local before

	both_up
	check "before" ping_ok B "${I4[A]}"
	set_mode A wg
	counts A t0
	before=${C[rx_packets]}
	ping_no B "${I4[A]}" || fail "plain was accepted in wg"
	counts A t0
	check_eq "packets received" "${C[rx_packets]}" "$before"
	check_eq "ipip_rx_packets" "$(estat A ipip_rx_packets)" 1

	# The other way round: A is back in ipip, B speaks wg
	set_mode A ipip
	set_mode B wg
	ping_no B "${I4[A]}" || fail "wg was accepted in ipip"
	counts A t0
	check_eq "packets received" "${C[rx_packets]}" "$before"
	set_mode B ipip
	check "after" ping_ok B "${I4[A]}"
	tun_down A B
}
add_case case_one_end "with the ends in different modes nothing is accepted"

# (d) and (e): without keys wg is closed, not open
case_no_key()
{
	ipip_up A cmptun && ipip_up B cmptun
	cap_start wire A u0 "src 172.21.0.2 and
		(ip proto 4 or ip proto 41 or udp port 51820)"
	set_mode A wg
	ping_no A -c 3 -i 0.05 "${I4[B]}" || fail "an answer without a key"
	check "dropped with a cause" [ -n "$(drops A)" ]
	tun_down A B

	both_up
	set_mode A wg
	set_mode B wg
	check "with keys" ping_ok A "${I4[B]}"
	head -c 32 /dev/zero | base64 > "$KEYS/zero"
	check "key removed" ipn A link set t0 type cmptun \
		private-key "$KEYS/zero"
	ping_no A -c 3 -i 0.05 "${I4[B]}" || fail "an answer with the key gone"
	check_num "tx_drop_no_key" "$(estat A tx_drop_no_key)" -ge 1
	cap_stop wire
	check_eq "packets in the clear" "$(cap_count wire "not udp")" 0
	tun_down A B
}
add_case case_no_key "without a key wg sends nothing"

# (c): flows that a flowtable carries past the forwarding path
case_flowtable()
{
	local server client

	both_up
	add_nodes L
	ipn L link add u0 type veth peer name la netns "${P}A"
	ipb L <<- EOF
	addr add 10.9.3.3/24 dev u0
	link set u0 up
	route add default via 10.9.3.254
	EOF
	ipb A <<- EOF
	addr add 10.9.3.254/24 dev la
	link set la up
	EOF
	ipn B route add 10.9.3.0/24 dev t0
	sysctl_on A net.ipv4.ip_forward=1
	if ! on A nft -f - <<- EOF 2> "$WORK/err"
	table ip f {
		flowtable ft { hook ingress priority 0; devices = { la, t0 }; }
		counter slow { }
		chain pass { type filter hook forward priority 0;
			ip protocol tcp flow add @ft
			ip protocol tcp counter name slow
		}
	}
	EOF
	then
		case_skip "no flowtable: $(head -n 1 "$WORK/err")"
		tun_down A B
		return
	fi
	cap_start wire A u0 -s 400 "src 172.21.0.2 and ip proto 4"
	iperf_server B "${I4[B]}"
	server=$BG
	bg on L iperf3 -c "${I4[B]}" -p "$_iperf_port" -n 3M -b 3M \
		--repeating-payload > "$WORK/iperf" 2>&1
	client=$BG
	wait_for 10 cap_has wire 50
	# What the flowtable carries does not pass the chain
	check_num "packets that went the slow way" "$(on A nft list counter ip f \
		slow | sed -n 's/.*packets \([0-9]*\).*/\1/p')" -lt 30
	set_mode A wg
	wait_for 3 cap_settled wire
	CAP_SETTLED=$(cap_count wire)
	set_mode B wg
	check "the flow ends normally" bg_wait "$client"
	bg_wait "$server"
	cap_stop wire
	check_eq "plain packets after the switch" "$(cap_count wire)" \
		"$CAP_SETTLED"
	check_num "wg packets" "$(estat A wg_tx_packets)" -gt 50
	on A nft delete table ip f
	tun_down A B
}

# The capture has seen everything that was sent before now
CAP_SETTLED=
cap_settled()
{
	local n

	n=$(cap_count "$1")
	[ "$n" = "$CAP_SETTLED" ] && return
	CAP_SETTLED=$n
	return 1
}
add_case case_flowtable "an offloaded flow follows the switch"

still_ipip()
{
	check_eq "$1: mode" "$(link B t0 mode)" ipip
	check_eq "$1: MTU" "$(link B t0 mtu)" 1480
	check_eq "$1: port" "$(link B t0 listen_port)" 51820
	check "$1: traffic" ping_ok A "${I4[B]}"
}

# Everything that is still the peer's, and what went wrong, in words
refused()
{
	local what=$1 words=$2

	shift 2
	if ipn B "$@" 2> "$WORK/err"; then
		fail "$what: accepted"
	fi
	check_match "$what: message" "$(cat "$WORK/err")" "$words"
}

case_failed()
{
	local holder holder6 before

	both_up
	bg on B "$PYTHON" "$SELF_DIR/hold_port.py" 0.0.0.0 6000 > "$WORK/held"
	holder=$BG
	bg on B "$PYTHON" "$SELF_DIR/hold_port.py" :: 6006 > "$WORK/held6"
	holder6=$BG
	wait_for 10 grep -q held "$WORK/held"
	wait_for 10 grep -q held "$WORK/held6"

	before=$(ipn B -d link show t0)
	refused "port taken" "listen-port|port" link set t0 type cmptun \
		mode wg listen-port 6000
	still_ipip "port taken"
	refused "port taken for IPv6" "listen-port|port" link set t0 type cmptun \
		mode wg listen-port 6006
	still_ipip "port taken for IPv6"
	refused "MTU too large with a good mode" . link set t0 mtu 70000 \
		type cmptun mode wg
	still_ipip "MTU too large"
	check_eq "nothing has changed" "$(ipn B -d link show t0)" "$before"

	# In wg: the running socket and session stay
	set_mode A wg
	set_mode B wg
	check "session" ping_ok A "${I4[B]}"
	refused "port taken, in wg" "listen-port|port" link set t0 type cmptun \
		listen-port 6000
	check "traffic goes on" ping_ok A "${I4[B]}"
	check_eq "port" "$(link B t0 listen_port)" 51820
	check "the same port again" ipn B link set t0 type cmptun \
		listen-port 51820
	check "traffic goes on" ping_ok A "${I4[B]}"
	check_eq "handshakes" "$(estat A wg_handshakes)" 1
	check "another port" ipn B link set t0 type cmptun listen-port 6001
	check "the peer hears from it" ping_ok B "${I4[A]}"
	check_eq "the peer follows" "$(link A t0 endpoint)" 172.21.0.3:6001
	bg_stop "$holder"
	bg_stop "$holder6"
	tun_down A B
}
add_case case_failed "a failed switch leaves everything as it was"

# storm WHAT SCHEDULE ROUNDS HOLD - switches while LOAD runs, and the verdict
storm()
{
	local what=$1

	check "$what: switches" "$PYTHON" "$SELF_DIR/switcher.py" run \
		"${P}A,${P}B" "${@:2}" > "$WORK/switches"
}

verdict()
{
	local line rc=0

	"$PYTHON" "$SELF_DIR/switcher.py" judge "$WORK/wire.pcap" \
		"$WORK/switches" 172.21.0.2,172.21.0.3 "$2" \
		> "$WORK/verdict" || rc=1
	while read -r line; do
		msg "$1: $line"
	done < "$WORK/verdict"
	[ "$rc" = 0 ] || fail "$1: something left in the wrong form"
}

# The end that sends enters wg first and leaves it last, so that there is no
# byte of the payload on the wire while either end is in wg.
case_storm_tcp()
{
	local server client

	both_up
	# The head of a packet shows its form, and the pattern if it is there
	cap_start wire A u0 -s 400 --time-stamp-precision=nano \
		"ip proto 4 or udp port 51820"
	iperf_server B "${I4[B]}"
	server=$BG
	bg on A iperf3 -c "${I4[B]}" -p "$_iperf_port" -n 3M -b 2M \
		--repeating-payload > "$WORK/iperf" 2>&1
	client=$BG
	wait_for 10 cap_has wire 20
	storm tcp nested 50 20
	check_eq "switches of A" "$(grep -c '^0 ' "$WORK/switches")" 100
	check_eq "switches of B" "$(grep -c '^1 ' "$WORK/switches")" 100
	check "the TCP flow ends normally" bg_wait "$client"
	check "the server as well" bg_wait "$server"
	cap_stop wire
	verdict tcp 0123456789
	check "what was lost on the way is counted" \
		[ -n "$(drops A)$(drops B)" ]
	check "ping afterwards" ping_ok A "${I4[B]}"
	tun_down A B
}
add_case case_storm_tcp "100 switches at both ends under TCP load"

case_storm_udp()
{
	local flood=() node seed=$RANDOM

	both_up
	msg "seed $seed"
	cap_start wire A u0 -s 400 --time-stamp-precision=nano \
		"ip proto 4 or udp port 51820"
	for node in A B; do
		bg on "$node" ping -q -i 0.01 -p deadbeef \
			"${I4[${PEER_OF[$node]}]}" > /dev/null
		flood+=("$BG")
	done
	wait_for 10 cap_has wire 20
	storm udp random 60 30 "$seed"
	for node in "${flood[@]}"; do
		bg_stop "$node" || :
	done
	cap_stop wire
	verdict udp $'\xde\xad\xbe\xef\xde\xad\xbe\xef'
	check "ping afterwards" ping_ok A "${I4[B]}"
	tun_down A B
}
add_case case_storm_udp "random switches under load from both ends"

# How long nothing comes through, as a ping every 5 ms sees it
case_gap()
{
	local pinger

	both_up
	bg on A ping -D -i 0.005 "${I4[B]}" > "$WORK/gap"
	pinger=$BG
	wait_for 10 grep -q icmp_seq=20 "$WORK/gap"
	# Shorter than it takes to repeat a handshake: the first try of the end
	# that goes first comes too early for the peer, which must make its own
	"$PYTHON" "$SELF_DIR/switcher.py" run "${P}A,${P}B" nested 1 2000 \
		> "$WORK/switches"
	nap 0.5
	bg_stop "$pinger"
	awk '
	FNR == NR { if ($1 == 1) { to[++n] = $2; at[n] = $4 / 1e9 } next }
	/^\[/ {
		t = substr($1, 2) + 0
		for (i = 1; i <= n; i++)
			if (!(i in first) && t >= at[i] &&
			    (i == n || t < at[i + 1]))
				first[i] = t
	}
	END {
		for (i = 1; i <= n; i++)
			if (i in first) {
				seen++
				printf "# to %s: first answer %.1f ms after the peer switched\n",
				       to[i], (first[i] - at[i]) * 1000
			}
		exit seen < 2
	}' "$WORK/switches" "$WORK/gap" || fail "no answer after a switch"
	tun_down A B
}
add_case case_gap "traffic comes back after a switch"

run_cases "$@"
