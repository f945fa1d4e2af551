# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Networks, tunnels, captures and counters of the cmptun selftests.
#
# net_pair:	 A ---u0 172.21.0.2/24 ======== 172.21.0.3/24 u0--- B
#		      fd21::2/64			fd21::3/64
#
# net_routed:	 A ---u0 10.9.1.1/24 == ra R rb == 10.9.2.2/24 u0--- B
#		      fd09:1::1/64		   fd09:2::2/64
#
# The tunnel is t0 at both ends, 10.100.0.1/30 and fd10::1/64 in A and .2 and
# ::2 in B, of whatever kind: "cmptun", or "kernel" for ipip (and sit, as t6,
# for what ipip cannot carry) or wireguard. So each case can be told who stands
# at which end.
#
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

declare -A U4 U6 PEER_OF=([A]=B [B]=A)
declare -A I4=([A]=10.100.0.1 [B]=10.100.0.2)
declare -A I6=([A]=fd10::1 [B]=fd10::2)
declare -A PUB
P=ct$$
_nets=()

# For cases that count every packet: no IPv6 on t0, which speaks unasked
NO6=

# --- namespaces ---------------------------------------------------------------

# on NODE COMMAND... - like "ip netns exec", less work and the same process id
on()
{
	local ns=$P$1

	shift
	$_exec nsenter --net="/run/netns/$ns" -- "$@"
}

# ipn NODE ARGUMENT... - ip in that namespace
ipn()
{
	local ns=$P$1

	shift
	$_exec ip -n "$ns" "$@"
}

# ipb NODE - a batch of ip commands from standard input
ipb()
{
	ip -n "$P$1" -batch -
}

# sysctl_on NODE NAME=VALUE...
sysctl_on()
{
	local node=$1

	shift
	on "$node" sysctl -qw "$@"
}

add_nodes()
{
	local node

	for node in "$@"; do
		ip netns add "$P$node" || bail "cannot make namespaces"
		_nets+=("$P$node")
		ipn "$node" link set lo up
	done
}

del_nodes()
{
	local ns

	for ns in "${_nets[@]}"; do
		[ ! -e "/run/netns/$ns" ] || ip netns del "$ns"
	done
	_nets=()
}
at_exit del_nodes

net_pair()
{
	add_nodes A B
	U4=([A]=172.21.0.2 [B]=172.21.0.3)
	U6=([A]=fd21::2 [B]=fd21::3)
	ipn A link add u0 type veth peer name u0 netns "${P}B" ||
		bail "cannot make a veth"
	ipb A <<- EOF
	addr add 172.21.0.2/24 dev u0
	addr add fd21::2/64 dev u0 nodad
	link set u0 up
	EOF
	ipb B <<- EOF
	addr add 172.21.0.3/24 dev u0
	addr add fd21::3/64 dev u0 nodad
	link set u0 up
	EOF
}

net_routed()
{
	add_nodes A R B
	U4=([A]=10.9.1.1 [B]=10.9.2.2)
	U6=([A]=fd09:1::1 [B]=fd09:2::2)
	ipn A link add u0 type veth peer name ra netns "${P}R" ||
		bail "cannot make a veth"
	ipn B link add u0 type veth peer name rb netns "${P}R"
	sysctl_on R net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	ipb R <<- EOF
	addr add 10.9.1.254/24 dev ra
	addr add 10.9.2.254/24 dev rb
	addr add fd09:1::fe/64 dev ra nodad
	addr add fd09:2::fe/64 dev rb nodad
	link set ra up
	link set rb up
	EOF
	ipb A <<- EOF
	addr add 10.9.1.1/24 dev u0
	addr add fd09:1::1/64 dev u0 nodad
	link set u0 up
	route add default via 10.9.1.254
	route add default via fd09:1::fe
	EOF
	ipb B <<- EOF
	addr add 10.9.2.2/24 dev u0
	addr add fd09:2::2/64 dev u0 nodad
	link set u0 up
	route add default via 10.9.2.254
	route add default via fd09:2::fe
	EOF
}

# --- tunnels ------------------------------------------------------------------

# Who really stands for cmptun in a run that tries the cases themselves
kind_of()
{
	[ -z "$ORACLE" ] || [ "$1" != cmptun ] || { echo kernel; return; }
	echo "$1"
}

# ipip_up NODE KIND [ARGUMENT of ip link...]
ipip_up()
{
	local node=$1 kind dev6=t0 add=() peer=${PEER_OF[$1]}

	kind=$(kind_of "$2")
	shift 2
	add=(local "${U4[$node]}" remote "${U4[$peer]}" "$@")
	if [ "$kind" = cmptun ]; then
		ipn "$node" link add t0 type cmptun mode ipip "${add[@]}" ||
			return 1
	elif [ -n "$NO6" ]; then
		ipn "$node" link add t0 type ipip "${add[@]}" || return 1
	else
		dev6=t6
		ipb "$node" <<- EOF || return 1
		link add t0 type ipip ${add[*]}
		link add t6 type sit ${add[*]}
		link set t6 up
		EOF
	fi
	_address "$node" "$dev6" up
}

_address()
{
	local node=$1 dev6=$2 state=$3

	ipb "$node" <<- EOF
	${NO6:+link set t0 addrgenmode none}
	addr add ${I4[$node]}/30 dev t0
	${NO6:+#} addr add ${I6[$node]}/64 dev $dev6 nodad
	link set t0 $state
	EOF
}

# Keys of A and B and a preshared one, as files and in PUB
make_keys()
{
	local node

	KEYS=$WORK/keys
	mkdir -p "$KEYS"
	# Before the pool is ready the keys would be late, not weak
	head -c 1 /dev/random > /dev/null
	for node in A B; do
		wg genkey > "$KEYS/$node.key" || bail "wg genkey"
		PUB[$node]=$(wg pubkey < "$KEYS/$node.key") || bail "wg pubkey"
	done
	wg genpsk > "$KEYS/psk"
	: > "$KEYS/none"
}

hostport()
{
	[[ $1 = *:* ]] && echo "[$1]:$2" || echo "$1:$2"
}

# wg_up NODE KIND [NAME=VALUE...] - names: outer (4 or 6), key, port, peer,
# psk, endpoint ("none": not given), allowed, keepalive, fwmark, up (no)
wg_up()
{
	local node=$1 kind peer=${PEER_OF[$1]} word set=() add=()
	local -A o=([outer]=4 [key]=$KEYS/$1.key [port]=51820
		    [peer]=${PUB[${PEER_OF[$1]}]} [allowed]="0.0.0.0/0,::/0"
		    [psk]='' [endpoint]='' [keepalive]='' [fwmark]='' [up]=up)

	kind=$(kind_of "$2")
	shift 2
	for word in "$@"; do
		o[${word%%=*}]=${word#*=}
	done
	if [ -z "${o[endpoint]}" ]; then
		if [ "${o[outer]}" = 6 ]; then
			o[endpoint]=$(hostport "${U6[$peer]}" 51820)
		else
			o[endpoint]=$(hostport "${U4[$peer]}" 51820)
		fi
	fi
	set=(peer "${o[peer]}" allowed-ips "${o[allowed]}")
	[ -z "${o[psk]}" ] || set+=(preshared-key "${o[psk]}")
	[ "${o[endpoint]}" = none ] || set+=(endpoint "${o[endpoint]}")
	[ -z "${o[keepalive]}" ] ||
		set+=(persistent-keepalive "${o[keepalive]}")
	add=(private-key "${o[key]}" listen-port "${o[port]}")
	[ -z "${o[fwmark]}" ] || add+=(fwmark "${o[fwmark]}")

	if [ "$kind" = cmptun ]; then
		ipn "$node" link add t0 type cmptun mode wg "${add[@]}" \
			"${set[@]}" || return 1
	else
		ipn "$node" link add t0 type wireguard || return 1
		on "$node" wg set t0 "${add[@]}" "${set[@]}" || return 1
	fi
	_address "$node" t0 "${o[up]/no/down}"
}

# ipip_set NODE ARGUMENT... - change options of a running ipip tunnel
ipip_set()
{
	local node=$1 kind=ipip

	shift
	[ "$(kind_of cmptun)" = kernel ] || kind=cmptun
	ipn "$node" link set t0 type "$kind" "$@" || return 1
	# What ipip_up made of sit goes along
	[ "$kind" = cmptun ] || [ -n "$NO6" ] ||
		ipn "$node" link set t6 type sit "$@"
}

# tun_down NODE... - remove the tunnels of a case
tun_down()
{
	local node dev

	for node in "$@"; do
		for dev in $(ipn "$node" -o link |
			     sed -nE 's/^[0-9]+: (t[0-9])[@:].*/\1/p'); do
			ipn "$node" link del "$dev"
		done
	done
}

# set_mode NODE MODE [ARGUMENT...]
set_mode()
{
	local node=$1 mode=$2

	shift 2
	ipn "$node" link set t0 type cmptun mode "$mode" "$@"
}

# --- asking -------------------------------------------------------------------

# json KEY - first number, string or word of that name from standard input
json()
{
	local text

	text=$(cat)
	[[ $text =~ \"$1\":\"?([^\",}]*) ]] && echo "${BASH_REMATCH[1]}"
}

# link NODE DEVICE KEY - a field of "ip -d -j link"
link()
{
	ipn "$1" -d -j link show "$2" | json "$3"
}

# count NODE DEVICE DIRECTION FIELD - from the device's own counters, e.g.
# "count A t0 rx frame_errors"
count()
{
	local text dir=$3

	text=$(ipn "$1" -s -s -j link show "$2") || return 1
	text=${text#*\"stats64\":}
	text=${text#*\"$dir\":\{}
	text=${text%%\}*}
	[[ $text =~ \"$4\":([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}

# counts NODE DEVICE - all of them at once into C, as C[tx_bytes]
# shellcheck disable=SC2034 # for the scripts
declare -A C
counts()
{
	local text dir part

	text=$(ipn "$1" -s -s -j link show "$2") || return 1
	text=${text#*\"stats64\":}
	for dir in rx tx; do
		part=${text#*\"$dir\":\{}
		part=${part%%\}*}
		while [[ $part =~ ^,?\"([a-z_]+)\":([0-9]+) ]]; do
			# shellcheck disable=SC2034
			C[${dir}_${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
			part=${part#"${BASH_REMATCH[0]}"}
		done
	done
}

# estat NODE NAME - one of cmptun's counters
estat()
{
	local text

	text=$(on "$1" ethtool -S t0) || return 1
	[[ $text =~ [[:space:]]$2:\ ([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}

# drops NODE - every drop counter of cmptun that is not 0, one a line
drops()
{
	on "$1" ethtool -S t0 | sed -n 's/^ *\([rt]x_drop_[^:]*: [1-9].*\)/\1/p'
}

# estat_is NODE NAME NUMBER - for wait_for
estat_is()
{
	[ "$(estat "$1" "$2")" = "$3" ]
}

estat_ge()
{
	[ "$(estat "$1" "$2")" -ge "$3" ]
}

# check_estat NODE NAME OPERATOR NUMBER - true where the kernel stands in
check_estat()
{
	[ -n "$ORACLE" ] || check_num "$2 of $1" "$(estat "$1" "$2")" "$3" "$4"
}

# handshaken NODE - seconds since the epoch of the last one, 0 if none
handshaken()
{
	local t

	if t=$(link "$1" t0 latest_handshake); then
		echo "$t"
	else
		t=$(on "$1" wg show t0 latest-handshakes)
		echo "${t##*[[:space:]]}"
	fi
}

has_session()
{
	[ "$(handshaken "$1")" != 0 ]
}

no_session()
{
	[ "$(handshaken "$1")" = 0 ]
}

# --- traffic ------------------------------------------------------------------

# ping_ok NODE [ARGUMENT...] - all answered; to the other end unless a
# destination is among the arguments
ping_ok()
{
	on "$1" ping -q -c 1 -W $((3 * PATIENCE)) "${@:2}" > "$WORK/ping" 2>&1
}

# ping_no NODE ARGUMENT... - nothing comes back; what was said is in $WORK/ping
ping_no()
{
	on "$1" ping -c 1 -W 1 "${@:2}" > "$WORK/ping" 2>&1 && return 1
	return 0
}

# ping_says NODE REGEX ARGUMENT...
ping_says()
{
	local node=$1 regex=$2

	shift 2
	on "$node" ping -c 1 -W 1 "$@" > "$WORK/ping" 2>&1
	grep -qE "$regex" "$WORK/ping" || { sed 's/^/# /' "$WORK/ping"; return 1; }
}

_iperf_port=5200

# iperf FROM TO ADDRESS [ARGUMENT...] - one run; the client's words are in
# $WORK/iperf, fails if either end does
iperf()
{
	local from=$1 to=$2 addr=$3 server

	shift 3
	iperf_server "$to" "$addr" || return 1
	server=$BG
	if ! on "$from" iperf3 -c "$addr" -p "$_iperf_port" "$@" \
			> "$WORK/iperf" 2>&1; then
		sed 's/^/# /' "$WORK/iperf"
		bg_stop "$server"
		return 1
	fi
	bg_wait "$server"
}

# iperf_server NODE ADDRESS - serves one run on $_iperf_port, as $BG
iperf_server()
{
	_iperf_port=$((_iperf_port + 1))
	bg on "$1" iperf3 -s -1 --forceflush -B "$2" -p "$_iperf_port" \
		> "$WORK/iperf.server" 2>&1
	wait_for 10 grep -q 'Server listening' "$WORK/iperf.server"
}

# --- captures -----------------------------------------------------------------

declare -A CAPTURE

# cap_start NAME NODE DEVICE [ARGUMENT of tcpdump...] - into $WORK/NAME.pcap,
# running once this returns
cap_start()
{
	local name=$1 node=$2 dev=$3

	shift 3
	rm -f "$WORK/$name.pcap" "$WORK/$name.err"
	# -p: "entered promiscuous mode" is nothing for the kernel log.
	# Super-packets count as one, so the ring must hold 64 kB ones.
	bg on "$node" tcpdump -n -U -p --immediate-mode -B 16384 \
		-i "$dev" -w "$WORK/$name.pcap" "$@" 2> "$WORK/$name.err"
	CAPTURE[$name]=$BG
	wait_for 20 grep -q 'listening on' "$WORK/$name.err" ||
		{ fail "tcpdump did not start: $(cat "$WORK/$name.err")"; return 1; }
}

# cap_stop NAME - ended, and nothing was lost
cap_stop()
{
	bg_stop "${CAPTURE[$1]}"
	grep -q '^0 packets dropped by kernel' "$WORK/$1.err" ||
		fail "capture $1 lost packets: $(tail -n 1 "$WORK/$1.err")"
}

# cap_count NAME [FILTER...] - packets so far
cap_count()
{
	local n

	n=$(tcpdump -n -r "$WORK/$1.pcap" "${@:2}" 2> /dev/null | wc -l)
	echo "$n"
}

# cap_has NAME NUMBER [FILTER...] - at least that many, for wait_for
cap_has()
{
	[ "$(cap_count "$1" "${@:3}")" -ge "$2" ]
}

# cap_show NAME [ARGUMENT of tcpdump...]
cap_show()
{
	tcpdump -n -r "$WORK/$1.pcap" "${@:2}" 2> /dev/null
}
