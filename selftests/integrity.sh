#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Bytes that belong to someone else stay what they are, and bytes that are sent
# are those that arrive: files sent without a copy, packets that a capture or a
# mirror holds as well, and GSO in all its forms.
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ping tcpdump nft tc ethtool iperf3 nsenter sha256sum
require_modules ipip wireguard dummy
load_module
setup_work
net_pair
make_keys
NO6=1

FILE=$WORK/file
head -c 1500000 /dev/urandom > "$FILE"
SUM=$(sha256sum < "$FILE")
SUM=${SUM%% *}

# both_up MODE KIND KIND
both_up()
{
	"${1}_up" A "$2" && "${1}_up" B "$3"
}

sum_is()
{
	local sum

	sum=$(sha256sum < "$2")
	check_eq "$1" "${sum%% *}" "$SUM"
}

bytes_agree()
{
	local tx rx

	counts A t0
	tx=${C[tx_bytes]} rx=${C[rx_bytes]}
	counts B t0
	[ "$tx" = "${C[rx_bytes]}" ] && [ "$rx" = "${C[tx_bytes]}" ]
}

# What iperf3 receives this way is not the file: it sends pages that it has
# overwritten since. case_zerocopy below compares both ends.
case_file()
{
	local mode

	for mode in ipip wg; do
		both_up "$mode" cmptun cmptun
		check "$mode: iperf3 -Z -F" iperf A B "${I4[B]}" -Z -F "$FILE"
		sum_is "$mode: the file" "$FILE"
		check "$mode: bytes sent and received" wait_for 5 bytes_agree
		tun_down A B
	done
}
add_case case_file "a file sent with zero copies stays what it is"

case_zerocopy()
{
	local mode server line n

	for mode in ipip wg; do
		both_up "$mode" cmptun kernel
		bg on B "$PYTHON" "$SELF_DIR/zerocopy.py" recv "${I4[B]}" 7000 3 \
			> "$WORK/sums"
		server=$BG
		wait_for 15 grep -q listening "$WORK/sums"
		check "$mode: send" on A "$PYTHON" "$SELF_DIR/zerocopy.py" \
			send "${I4[B]}" 7000 "$FILE" zerocopy sendfile splice
		check "$mode: receive" bg_wait "$server"
		n=0
		while read -r line; do
			[ "$line" != listening ] || continue
			n=$((n + 1))
			check_eq "$mode: received, way $n" "$line" "$SUM"
		done < "$WORK/sums"
		check_eq "$mode: ways" "$n" 3
		sum_is "$mode: the file sent" "$FILE"
		tun_down A B
	done
}
add_case case_zerocopy "MSG_ZEROCOPY, sendfile and splice"

# A data message whose pages are those of a file: it must be decrypted
# elsewhere. B has not seen it, as it was taken out on the way.
case_splice_in()
{
	local sum before

	both_up wg kernel cmptun
	check "session" ping_ok A "${I4[B]}"
	on B nft -f - <<- EOF
	table ip d { chain p { type filter hook prerouting priority -300;
		udp dport 51820 udp length > 1000 drop; }; }
	EOF
	cap_start wire A u0 "src 172.21.0.2 and udp port 51820 and greater 1000"
	ping_no A -s 1200 "${I4[B]}" || fail "the message came through"
	wait_for 3 cap_has wire 1
	cap_stop wire
	on B nft delete table ip d
	"$PYTHON" "$SELF_DIR/packets.py" extract "$WORK/wire.pcap" 4 \
		"$WORK/message"
	sum=$(sha256sum < "$WORK/message")
	before=$(count B t0 rx packets)
	check "splice into a socket" on B "$PYTHON" "$SELF_DIR/zerocopy.py" \
		splice 172.21.0.3 51820 "$WORK/message"
	check_eq "taken" "$(count B t0 rx packets)" $((before + 1))
	check_eq "the file" "$(sha256sum < "$WORK/message")" "$sum"

	# And once more from the same pages: as genuine as before, and a replay
	on B "$PYTHON" "$SELF_DIR/zerocopy.py" splice 172.21.0.3 51820 \
		"$WORK/message"
	check_estat B rx_drop_replay -eq 1
	check_eq "the file" "$(sha256sum < "$WORK/message")" "$sum"
	tun_down A B
}
add_case case_splice_in "pages of a file are not decrypted in place"

# transfer WHAT [ARGUMENT of iperf3...] - and the bytes of both ends
transfer()
{
	check "$1: TCP" iperf A B "${I4[B]}" -n 2M "${@:2}"
	check "$1: bytes sent and received" wait_for 5 bytes_agree
	check_eq "$1: receive errors" "$(count B t0 rx errors)" 0
}

case_shared()
{
	local mode

	for mode in ipip wg; do
		both_up "$mode" cmptun cmptun
		cap_start t0a A t0 -s 100
		cap_start u0a A u0 -s 100
		cap_start t0b B t0 -s 100
		transfer "$mode with captures"
		# Not whether they kept up, but that they shared the packets
		bg_stop "${CAPTURE[t0a]}"
		bg_stop "${CAPTURE[u0a]}"
		bg_stop "${CAPTURE[t0b]}"
		check_num "$mode: packets seen before" "$(cap_count t0a)" -gt 20
		check_num "$mode: packets seen behind" "$(cap_count t0b)" -gt 20
		tun_down A B
	done
}
add_case case_shared "captures attached while GSO packets are sent"

case_mirror()
{
	local mode

	ipn A link add d0 type dummy
	ipn A link set d0 up
	for mode in ipip wg; do
		both_up "$mode" cmptun kernel
		on A tc qdisc add dev t0 clsact
		if ! on A tc filter add dev t0 egress matchall action mirred \
				egress mirror dev d0 2> "$WORK/err"; then
			case_skip "$(head -n 1 "$WORK/err")"
			tun_down A B
			break
		fi
		transfer "$mode with a mirror"
		check_num "$mode: mirrored" "$(count A d0 tx packets)" -gt 20
		tun_down A B
	done
	ipn A link del d0
}
add_case case_mirror "packets mirrored to another device"

offload()
{
	on "$1" ethtool -K "${@:2}" > /dev/null
}

# wg counts what is outside, so both ends count the same whatever is cut where
case_offloads()
{
	both_up wg cmptun cmptun
	transfer "all on"
	offload A t0 tso off gso off
	transfer "no gso on the tunnel"
	offload A t0 gso on tx off
	transfer "no checksum offload on the tunnel"
	offload A t0 tx on tso on
	offload A u0 tso off gso off tx off
	transfer "nothing on the underlay" -R
	offload A u0 tx on tso on gso on
	offload B u0 gro on
	transfer "gro on the underlay"
	offload B u0 gro off
	tun_down A B
}
add_case case_offloads "wg with segmentation offloads on and off"

run_cases "$@"
