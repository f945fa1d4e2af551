#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# wg mode against those who have no key, or the wrong one, or say things twice;
# and against a peer that says what it may not.
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ping tcpdump ethtool nsenter
require_modules wireguard
load_module
setup_work
net_pair
make_keys
NO6=1

# all_drops NODE - of packets received, added up
all_drops()
{
	local n

	n=$(on "$1" ethtool -S t0 |
	    sed -n 's/^ *rx_drop_[^:]*: \(.*\)/\1/p' | paste -sd+)
	echo $((n))
}

case_allowed_in()
{
	wg_up A cmptun allowed=10.100.0.2/32,fd10::/64
	wg_up B kernel
	ipn B addr add 10.100.9.9/32 dev lo
	check "allowed source" ping_ok B "${I4[A]}"
	check "another source" ping_no B -I 10.100.9.9 "${I4[A]}"
	check_num "rx_frame_errors" "$(count A t0 rx frame_errors)" -ge 1
	check_estat A rx_drop_allowed_ips -eq 1
	check "the session goes on" ping_ok B "${I4[A]}"

	# The list is replaced as a whole
	if [ -n "$ORACLE" ]; then
		on A wg set t0 peer "${PUB[B]}" \
			allowed-ips 10.100.0.2/32,10.100.9.0/24
	else
		ipn A link set t0 type cmptun peer "${PUB[B]}" \
			allowed-ips 10.100.0.2/32,10.100.9.0/24
	fi
	ipn A route add 10.100.9.0/24 dev t0
	check "allowed now" ping_ok B -I 10.100.9.9 "${I4[A]}"
	check "still allowed" ping_ok B "${I4[A]}"
	ipn B addr del 10.100.9.9/32 dev lo
	tun_down A B
}
add_case case_allowed_in "a peer may send from its allowed IPs only"

case_allowed_out()
{
	wg_up A cmptun allowed=10.100.0.2/32
	wg_up B kernel
	ipn A route add 10.100.9.0/24 dev t0
	check "allowed destination" ping_ok A "${I4[B]}"
	check "errno of another" ping_says A "Required key not available" \
		10.100.9.9
	check "ICMP of another" grep -q "Destination Host Unreachable" \
		"$WORK/ping"
	check_estat A tx_drop_no_peer -ge 1
	check_num "tx_errors" "$(count A t0 tx errors)" -ge 1
	tun_down A B
}
add_case case_allowed_out "only allowed destinations are sent to: ENOKEY"

case_wrong_psk()
{
	wg_up A cmptun psk="$KEYS/psk"
	wg_up B cmptun
	check "no answer" ping_no A "${I4[B]}"
	check "no session at A" no_session A
	check "no session at B" no_session B
	check_estat A rx_drop_handshake -ge 1
	check_estat A wg_handshakes -eq 0
	tun_down A B

	wg genpsk > "$KEYS/psk2"
	wg_up A cmptun psk="$KEYS/psk"
	wg_up B kernel psk="$KEYS/psk2"
	check "no answer" ping_no B "${I4[A]}"
	check "no session at A" no_session A
	tun_down A B
}
add_case case_wrong_psk "no session with different preshared keys"

case_wrong_key()
{
	local other

	wg genkey > "$KEYS/other"
	other=$(wg pubkey < "$KEYS/other")

	# Who does not know B's key cannot make a mac1 that B looks at
	wg_up B cmptun
	wg_up A cmptun peer="$other"
	check "wrong public key: no answer" ping_no A "${I4[B]}"
	check_estat B rx_drop_mac1 -ge 1
	check_eq "B says nothing" "$(count B t0 tx packets)" 0
	ipn A link del t0

	# Whom B does not know gets no answer either
	wg_up A kernel key="$KEYS/other"
	check "unknown peer: no answer" ping_no A "${I4[B]}"
	check_estat B rx_drop_handshake -ge 1
	check_eq "B says nothing" "$(count B t0 tx packets)" 0
	check "no session" no_session B
	ipn A link del t0

	# And yet the right one comes in
	wg_up A kernel
	check "the right peer" ping_ok A "${I4[B]}"
	tun_down A B
}
add_case case_wrong_key "strangers get no answer, not even a refusal"

# In each kind of peer: A's messages are sent to B again
case_replay()
{
	local kind before sent

	for kind in cmptun kernel; do
		cap_start wire A u0 "src 172.21.0.2 and udp port 51820"
		wg_up A "$kind"
		wg_up B cmptun
		check "$kind: pings" ping_ok A -c 5 -i 0.01 "${I4[B]}"
		wait_for 3 cap_has wire 6
		cap_stop wire

		counts B t0
		before=${C[tx_packets]}
		sent=$(on A "$PYTHON" "$SELF_DIR/packets.py" resend \
		       "$WORK/wire.pcap" 4 2)
		check_eq "$kind: data sent again" "$sent" 10
		[ -n "$ORACLE" ] ||
			check "$kind: dropped as replays" \
				wait_for 3 estat_is B rx_drop_replay 10
		check_estat B wg_rx_packets -eq 5

		sent=$(on A "$PYTHON" "$SELF_DIR/packets.py" resend \
		       "$WORK/wire.pcap" 1 3)
		check_eq "$kind: initiations sent again" "$sent" 3
		[ -n "$ORACLE" ] ||
			check "$kind: initiations dropped" \
				wait_for 3 estat_is B rx_drop_handshake 3
		check_eq "$kind: nothing was answered" \
			"$(count B t0 tx packets)" "$before"
		check "$kind: the session goes on" ping_ok A "${I4[B]}"
		check_estat B wg_handshakes -eq 1
		tun_down A B
	done
}
add_case case_replay "replayed data and initiations are dropped"

# What was said to an identity stays said when we come back to it
case_replay_identity()
{
	local before

	cmptun_only || return
	cap_start wire A u0 "src 172.21.0.2 and udp port 51820"
	wg_up A cmptun
	wg_up B cmptun
	check "ping" ping_ok A "${I4[B]}"
	wait_for 3 cap_has wire 2
	cap_stop wire
	tun_down A
	wg genkey > "$KEYS/other.key"
	check "another identity" ipn B link set t0 type cmptun \
		private-key "$KEYS/other.key"
	check "the first one again" ipn B link set t0 type cmptun \
		private-key "$KEYS/B.key"
	before=$(count B t0 tx packets)
	on A "$PYTHON" "$SELF_DIR/packets.py" resend "$WORK/wire.pcap" 1 \
		> /dev/null
	check "dropped" wait_for 3 estat_is B rx_drop_handshake 1
	check_eq "answers" "$(count B t0 tx packets)" "$before"
	tun_down B
}
add_case case_replay_identity "an initiation is old whatever identity came between"

# Frames without an IP header, written to the device itself
case_no_ip()
{
	wg_up A cmptun
	cap_start wire A u0 "udp port 51820"
	on A "$PYTHON" - <<- EOF
	import socket
	sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
	sock.bind(("t0", 0))
	for frame in b"\\0", b"\\x1f" * 20, b"\\xf0" * 60, b"\\x45", b"\\x60" * 39:
	    try:
	        sock.send(frame)
	    except OSError:
	        pass
	EOF
	check_estat A tx_drop_malformed -eq 5
	nap 0.3
	cap_stop wire
	check_eq "packets outside" "$(cap_count wire)" 0
	tun_down A
}
add_case case_no_ip "what is no IP packet is not sent"

case_garbage()
{
	local before sent drops=0

	cap_start wire A u0 "udp port 51820"
	wg_up A kernel
	wg_up B cmptun
	check "ping" ping_ok A "${I4[B]}"
	wait_for 3 cap_has wire 4
	cap_stop wire
	counts B t0
	before="${C[rx_packets]} ${C[tx_packets]} ${C[rx_bytes]}"
	[ -n "$ORACLE" ] || drops=$(all_drops B)

	# Those of B go to A, the kernel's, which is not looked at
	sent=$(tcpdump -n -r "$WORK/wire.pcap" -w "$WORK/to_b.pcap" \
		"dst 172.21.0.3" 2> /dev/null
	       on A "$PYTHON" "$SELF_DIR/packets.py" garbage "$WORK/to_b.pcap")
	check_num "sent" "$sent" -gt 50
	[ -n "$ORACLE" ] || wait_for 3 drops_are B $((drops + sent)) ||
		fail "$(all_drops B) drops instead of $((drops + sent))"
	check "the session goes on" ping_ok A "${I4[B]}"
	check_estat B wg_handshakes -eq 1
	counts B t0
	check_eq "packets and bytes, one ping more" \
		"${C[rx_packets]} ${C[tx_packets]} ${C[rx_bytes]}" \
		"$((${before%% *} + 1)) $(($(cut -d' ' -f2 <<< "$before") + 1)) \
$((${before##* } + 128))"
	tun_down A B

	# The same to a device without keys, and to one with a peer but no key
	[ -z "$ORACLE" ] || return
	ipn B link add t0 type cmptun mode wg listen-port 51820
	ipn B link set t0 up
	sent=$(on A "$PYTHON" "$SELF_DIR/packets.py" garbage "$WORK/to_b.pcap")
	wait_for 3 drops_are B "$sent" || fail "drops without keys: $(drops B)"
	check_eq "nothing was answered" "$(count B t0 tx packets)" 0
	tun_down B
}

drops_are()
{
	[ "$(all_drops "$1")" = "$2" ]
}
add_case case_garbage "damaged messages are dropped, counted, not answered"

# Handshake messages of others for as long as it lasts; ours must get through
case_between()
{
	local i

	cap_start wire A u0 "src 172.21.0.2 and udp port 51820"
	wg_up A cmptun
	wg_up B cmptun
	check "ping" ping_ok A "${I4[B]}"
	wait_for 3 cap_has wire 2
	cap_stop wire
	ipn B link set t0 down
	ipn B link set t0 up
	for i in 1 2 3; do
		on A "$PYTHON" "$SELF_DIR/packets.py" resend \
			"$WORK/wire.pcap" 1 20 > /dev/null
	done
	check "initiation by B among replays" ping_ok B "${I4[A]}"
	check "session" has_session B
	tun_down A B
}
add_case case_between "a handshake succeeds among replayed ones"

# A peer that was told to go has no session left
case_remove_peer()
{
	cmptun_only || return
	wg_up A cmptun
	wg_up B kernel
	check "before" ping_ok B "${I4[A]}"
	wg genkey > "$KEYS/other"
	check "another peer" ipn A link set t0 type cmptun \
		peer "$(wg pubkey < "$KEYS/other")"
	check "the old one gets nothing through" ping_no B "${I4[A]}"
	check_estat A rx_drop_no_session -ge 1
	check_num "no session" "$(handshaken A)" -eq 0
	tun_down A B
}
add_case case_remove_peer "replacing the peer ends the old one's session"

run_cases "$@"
