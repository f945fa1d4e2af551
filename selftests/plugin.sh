#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The words of "ip link ... type cmptun": what is taken, what is refused and
# how, what is shown as text and as JSON, and that keys stay where they belong.
# What the kernel itself refuses is in netlink.sh.
#
# check: timeout 900
#
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg python3
[ -z "$ORACLE" ] || skip_all "the kernel's own devices have plugins of their own"
load_module
setup_work
net_pair
make_keys

BPUB=${PUB[B]}
SECRET=$(< "$KEYS/A.key")
PSK=$(< "$KEYS/psk")

# Exit status of ip: its own word on an argument, the plugin's, the kernel's
WRONG=255
REFUSED=1
KERNEL=2

# ipc ARGUMENT... - "ip link" in A; what it says is in $SAID, its status in $RC
ipc()
{
	SAID=$(ipn A link "$@" 2>&1)
	RC=$?
}

new()
{
	ipc add t0 type cmptun "$@"
	[ "$RC" -eq 0 ] || fail "add $* ($SAID)"
}

set0()
{
	ipc set t0 type cmptun "$@"
	[ "$RC" -eq 0 ] || fail "set $* ($SAID)"
}

# check_has WHAT TEXT PART - keys would be odd as regular expressions
check_has()
{
	[[ $2 = *"$3"* ]] || fail "$1: '$2' has no '$3'"
}

# From "cmptun" up to what the core adds
text()
{
	ipn A -d -o link show "${1:-t0}" |
		sed -nE 's/.*[\\ ] +(cmptun .*) addrgenmode .*/\1/p'
}

# info EXPRESSION [DEVICE] - of the device's info_data, which is d
info()
{
	ipn A -d -j link show "${2:-t0}" | "$PYTHON" -c "
import json, sys
d = [l for l in json.load(sys.stdin) if l][0]['linkinfo']['info_data']
print($1)"
}

# --- what is taken ------------------------------------------------------------

case_bare()
{
	local dev

	ipc add type cmptun mode wg
	check_eq "status of a bare one ($SAID)" "$RC" 0
	dev=$(ipn A -o link show type cmptun | sed -E 's/^[0-9]+: ([^:@]*).*/\1/')
	check_eq "how many" "$(wc -w <<< "$dev")" 1
	check_match "MTU" "$(ipn A link show "$dev")" "mtu 1420 "
	check_match "text" "$(text "$dev")" "^cmptun mode wg "
	ipn A link del "$dev"

	ipc add t0 type cmptun
	check_eq "status without a word ($SAID)" "$RC" 0
	check_match "text" "$(text)" "^cmptun mode ipip "
	tun_down A
}
add_case case_bare "a device without options"

ACCEPTED="
mode ipip
mode wg
local 172.21.0.2
local any
remote any
local 172.21.0.2 remote 172.21.0.3
mode wg local fd21::2 remote fd21::3
mode wg local any remote fd21::3
mode wg local fd21::2 remote any
ttl 1
ttl 255
ttl 0x40
ttl inherit nopmtudisc
hoplimit 64
hlim 64
tos 0x10
tos inherit
dsfield 0x10
tclass 0x10
pmtudisc
nopmtudisc
ttl 64 pmtudisc
dev u0
dev any
fwmark 0
fwmark off
fwmark 17
fwmark 0xffffffff
listen-port 0
listen-port 65535
private-key $KEYS/A.key
private-key /dev/null
peer $BPUB
peer $BPUB preshared-key $KEYS/psk
peer $BPUB preshared-key /dev/null
peer $BPUB endpoint 172.21.0.3:1
peer $BPUB endpoint 172.21.0.3:65535
peer $BPUB endpoint [fd21::3]:51820
peer $BPUB endpoint [fe80::3%u0]:51820
peer $BPUB allowed-ips 0.0.0.0/0
peer $BPUB allowed-ips 0.0.0.0/0,::/0
peer $BPUB allowed-ips 10.0.0.1,fd10::1
peer $BPUB persistent-keepalive 0
peer $BPUB persistent-keepalive off
peer $BPUB persistent-keepalive 65535
peer $BPUB endpoint 172.21.0.3:1 fwmark 1 mode wg
mode ipip listen-port 1 private-key $KEYS/A.key peer $BPUB
mode wg local 172.21.0.2 remote 172.21.0.3 ttl 5 tos 0x10 dev u0
"

# In one batch, which stops and says where at the first line that is refused
case_accept()
{
	local words

	while read -r words; do
		[ -z "$words" ] || printf 'link add t0 type cmptun %s\n%s\n' \
			"$words" "link del t0"
	done <<< "$ACCEPTED" > "$WORK/batch"
	check_num "lines" "$(wc -l < "$WORK/batch")" -gt 80
	SAID=$(ipn A -batch "$WORK/batch" 2>&1) || fail "$SAID" \
		"($(sed -n "${SAID##*:}p" "$WORK/batch"))"
	check_eq "words" "$SAID" ""
	tun_down A

	new peer "$BPUB" allowed-ips ""
	check_eq "an empty list" "$RC $SAID" "0 "
	tun_down A
}
add_case case_accept "every word, alone and with others"

# --- what is refused ----------------------------------------------------------

# STATUS TEXT | WORDS
REFUSALS="
$WRONG mode must be ipip or wg | mode gre
$WRONG mode must be ipip or wg | mode ipi
$WRONG Command line is not complete | mode
$WRONG Command line is not complete | peer $BPUB endpoint
$WRONG duplicate \"mode\": \"wg\" | mode ipip mode wg
$WRONG duplicate \"local\" | local any local any
$WRONG duplicate \"hlim\" | ttl 1 hlim 1
$WRONG duplicate \"pmtudisc\" | nopmtudisc pmtudisc
$WRONG duplicate \"peer\" | peer $BPUB peer $BPUB
$WRONG duplicate \"endpoint\" | peer $BPUB endpoint 1.2.3.4:1 endpoint 1.2.3.4:1
$WRONG duplicate \"private-key\" | private-key $KEYS/A.key private-key $KEYS/A.key
$REFUSED cmptun: unknown option \"bogus\"?*Usage: | mode ipip bogus
$REFUSED cmptun: unknown option \"mod\"?*Usage: | mod ipip
$WRONG local must be an IP address or any | local 172.21.0
$WRONG local must be an IP address or any | local 172.21.0.2/24
$WRONG remote must be an IP address or any | remote example.org
$REFUSED local and remote must be of the same family | local 172.21.0.2 remote fd21::3
$REFUSED local and remote must be of the same family | remote 172.21.0.3 local fd21::2
$WRONG ttl must be 1..255 or inherit | ttl 256
$WRONG ttl must be 1..255 or inherit | ttl -1
$WRONG tos must be 0x0..0xff or inherit | tos 0x100
$REFUSED ttl != 0 and nopmtudisc are incompatible | ttl 64 nopmtudisc
$WRONG no such device | dev nosuch
$WRONG fwmark must be 0x0..0xffffffff or off | fwmark 0x100000000
$WRONG fwmark must be 0x0..0xffffffff or off | fwmark no
$WRONG listen-port must be 0..65535 | listen-port 65536
$WRONG listen-port must be 0..65535 | listen-port -1
$WRONG peer must be a public key of 32 bytes in base64 | peer abc
$REFUSED \"peer KEY\" must come before it | endpoint 172.21.0.3:1
$REFUSED \"peer KEY\" must come before it | allowed-ips 0.0.0.0/0
$REFUSED \"peer KEY\" must come before it | preshared-key $KEYS/psk peer $BPUB
$REFUSED \"peer KEY\" must come before it | persistent-keepalive 1
$REFUSED \"peer KEY\" must come before it | remove
$WRONG endpoint must be IP:PORT or [[]IPV6]:PORT | peer $BPUB endpoint 172.21.0.3
$WRONG endpoint must be IP:PORT or [[]IPV6]:PORT | peer $BPUB endpoint 172.21.0.3:0
$WRONG endpoint must be IP:PORT or [[]IPV6]:PORT | peer $BPUB endpoint 172.21.0.3:65536
$WRONG endpoint must be IP:PORT or [[]IPV6]:PORT | peer $BPUB endpoint fd21::3:51820
$WRONG endpoint must be IP:PORT or [[]IPV6]:PORT | peer $BPUB endpoint [172.21.0.3]:51820
$WRONG endpoint must be IP:PORT or [[]IPV6]:PORT | peer $BPUB endpoint [fd21::3]
$WRONG allowed-ips must be networks separated by commas | peer $BPUB allowed-ips 10.0.0.0/33
$WRONG allowed-ips must be networks separated by commas | peer $BPUB allowed-ips fd10::/129
$WRONG allowed-ips must be networks separated by commas | peer $BPUB allowed-ips 10.0.0.0/8,
$WRONG allowed-ips must be networks separated by commas | peer $BPUB allowed-ips 10.0.0.0/
$WRONG allowed-ips must be networks separated by commas | peer $BPUB allowed-ips 10.0.0.0/255.0.0.0
$WRONG persistent-keepalive must be 0..65535 seconds or off | peer $BPUB persistent-keepalive 65536
$REFUSED both be read from standard input | private-key - peer $BPUB preshared-key -
$REFUSED private-key: cannot open $WORK/none: No such file | private-key $WORK/none
$REFUSED private-key: $WORK: Is a directory | private-key $WORK
$REFUSED preshared-key: cannot open $WORK/none | peer $BPUB preshared-key $WORK/none
"

case_refuse()
{
	local line status want words

	while IFS= read -r line; do
		[ -n "$line" ] || continue
		status=${line%% *}
		want=${line#* }
		words=${want#* | }
		want=${want% | *}
		# shellcheck disable=SC2086 # words
		ipc add t0 type cmptun $words
		check_eq "status of: $words" "$RC" "$status"
		# shellcheck disable=SC2053 # a pattern
		[[ $SAID = *$want* ]] || fail "$words: '$SAID'"
	done <<< "$REFUSALS"
	check_eq "devices after all that" \
		"$(ipn A -o link show type cmptun)" ""

	# On a device that exists nothing is half set either
	new mode wg local 172.21.0.2
	line=$(text)
	ipc set t0 type cmptun mode ipip local any bogus
	check_eq "status" "$RC" "$REFUSED"
	ipc set t0 type cmptun mode ipip private-key "$WORK/none"
	check_eq "status" "$RC" "$REFUSED"
	ipc set t0 type cmptun mode ipip remote fd21::3
	check_eq "status of what only the kernel knows" "$RC" "$KERNEL"
	check_match "its words" "$SAID" "local, remote: address families differ"
	check_eq "the device" "$(text)" "$line"
	tun_down A
}
add_case case_refuse "what is wrong is refused, with a reason"

# A request of ip has 1024 bytes
case_long()
{
	local few many

	few=$(seq -s , -f 10.1.%g.0/24 0 26)
	many=$(seq -s , -f 10.1.%g.0/24 0 39)
	new mode wg private-key "$KEYS/A.key" peer "$BPUB" \
		preshared-key "$KEYS/psk" allowed-ips "$few"
	check_eq "networks" "$(info "len(d['peers'][0]['allowed_ips'])")" 27
	ipc set t0 type cmptun peer "$BPUB" allowed-ips "$many"
	check_eq "status of too many" "$RC" "$REFUSED"
	check_match "words" "$SAID" "too many allowed-ips for one ip command"
	check_eq "networks afterwards" \
		"$(info "len(d['peers'][0]['allowed_ips'])")" 27
	tun_down A
}
add_case case_long "as many allowed-ips as a request holds"

case_help()
{
	local all word

	all=$(ip link help cmptun 2> /dev/null)
	check_eq "status of: ip link help cmptun" "$?" 0
	check_match "words" "$all" "^Usage: \.\.\. cmptun \[ mode"
	for word in local remote ttl tos pmtudisc dev fwmark private-key \
		    listen-port peer remove preshared-key endpoint \
		    allowed-ips persistent-keepalive; do
		check_match "help" "$all" "[^a-z]${word}[^a-z]"
	done
	# In parse_opt, usage is an error, as for all other kinds
	ipc add type cmptun help
	check_eq "ip link add type cmptun help" "$RC $SAID" "$REFUSED $all"
	ipc add t0 type cmptun mode wg help
	check_eq "help after a word" "$RC $SAID" "$REFUSED $all"
	check_eq "devices" "$(ipn A -o link show type cmptun)" ""
}
add_case case_help "help, both ways"

# --- what is shown ------------------------------------------------------------

FULL=(mode wg local 172.21.0.2 remote 172.21.0.3 dev u0 ttl 33 tos 0x10
      pmtudisc listen-port 5000 fwmark 0x20 private-key "$KEYS/A.key"
      peer "$BPUB" preshared-key "$KEYS/psk" endpoint 172.21.0.3:5001
      allowed-ips "10.0.0.0/8,10.1.2.3/32,fd00::/64"
      persistent-keepalive 25)

case_text()
{
	new "${FULL[@]}"
	check_eq "text" "$(text)" \
"cmptun mode wg local 172.21.0.2 remote 172.21.0.3 dev u0 ttl 33 tos 0x10 \
pmtudisc listen-port 5000 fwmark 0x20 public-key ${PUB[A]} peer $BPUB \
preshared-key (hidden) endpoint 172.21.0.3:5001 \
allowed-ips 10.0.0.0/8,10.1.2.3/32,fd00::/64 latest-handshake never \
transfer rx 0 tx 0 persistent-keepalive 25"
	check_eq "lines with -o" "$(ipn A -d -o link show t0 | wc -l)" 1
	check_eq "without -d" "$(ipn A link show t0 | grep -c cmptun)" 0

	set0 ttl inherit tos inherit nopmtudisc fwmark off dev any \
		local any remote fd21::3 peer "$BPUB" preshared-key /dev/null \
		endpoint "[fd21::3]:5001" allowed-ips "" \
		persistent-keepalive off
	check_eq "text of the rest" "$(text)" \
"cmptun mode wg remote fd21::3 ttl inherit tos inherit nopmtudisc \
listen-port 5000 public-key ${PUB[A]} peer $BPUB endpoint [fd21::3]:5001 \
latest-handshake never transfer rx 0 tx 0 persistent-keepalive off"
	tun_down A
}
add_case case_text "text, in the words of the command line"

# The line is typed again, without what is hidden or only for reading
case_retype()
{
	local line words

	new "${FULL[@]}"
	line=$(text)
	words=$(sed -E -e 's/^cmptun //' -e 's/ preshared-key .hidden.//' \
		-e 's/ public-key [^ ]*//' -e 's/ latest-handshake never//' \
		-e 's/ transfer rx 0 tx 0//' <<< "$line")
	# shellcheck disable=SC2086 # words
	ipc add t1 type cmptun $words private-key "$KEYS/A.key"
	check_eq "typed again" "$RC $SAID" "0 "
	check_eq "the second device" "$(text t1)" \
		"${line/ preshared-key (hidden)/}"
	tun_down A
}
add_case case_retype "text, typed again"

JSON_FULL="{'mode': 'wg', 'local': '172.21.0.2', 'remote': '172.21.0.3', \
'link': 'u0', 'ttl': 33, 'tos': '0x10', 'pmtudisc': True, \
'listen_port': 5000, 'fwmark': '0x20', 'public_key': '${PUB[A]}', \
'peers': [{'public_key': '$BPUB', 'preshared_key': True, \
'endpoint': '172.21.0.3:5001', \
'allowed_ips': ['10.0.0.0/8', '10.1.2.3/32', 'fd00::/64'], \
'latest_handshake': 0, 'rx_bytes': 0, 'tx_bytes': 0, \
'persistent_keepalive': 25}]}"

case_json()
{
	new "${FULL[@]}"
	check_eq "info_data" "$(info d)" "$JSON_FULL"
	check_eq "-p" "$(ipn A -d -j -p link show t0 |
			 "$PYTHON" -m json.tool --no-indent | wc -l)" 1
	check_eq "all devices" "$(ipn A -d -j link show |
				  "$PYTHON" -m json.tool --no-indent | wc -l)" 1
	tun_down A

	new
	check_eq "info_data of the plainest" "$(info d)" \
"{'mode': 'ipip', 'ttl': 0, 'pmtudisc': True, 'listen_port': 0, 'peers': []}"
	tun_down A
}
add_case case_json "JSON, valid and complete"

# PATH VALUE | WORDS: on the device of before, that field and no other changes.
# Values are JSON, null is "not there", "" is an empty argument.
STEPS='
mode "ipip" | mode ipip
mode "wg" | mode wg
local "172.21.0.9" | local 172.21.0.9
remote "172.21.0.10" | remote 172.21.0.10
remote null | remote any
local null | local any
local "fd21::9" | local fd21::9
remote "fd21::10" | remote fd21::10
ttl 7 | ttl 7
ttl 0 | ttl inherit
pmtudisc false | nopmtudisc
pmtudisc true | pmtudisc
tos "0x1" | tos inherit
tos "0xfc" | tos 0xfc
tos null | tos 0
link "lo" | dev lo
link null | dev any
fwmark "0xffffffff" | fwmark 4294967295
fwmark null | fwmark off
listen_port 65535 | listen-port 65535
listen_port 0 | listen-port 0
peer.persistent_keepalive 65535 | peer KEY persistent-keepalive 65535
peer.persistent_keepalive 0 | peer KEY persistent-keepalive off
peer.endpoint "172.21.0.9:65535" | peer KEY endpoint 172.21.0.9:65535
peer.endpoint "[fd21::9]:1" | peer KEY endpoint [fd21::9]:1
peer.endpoint "[fe80::9%u0]:1" | peer KEY endpoint [fe80::9%u0]:1
peer.allowed_ips ["10.0.0.1/32"] | peer KEY allowed-ips 10.0.0.1
peer.allowed_ips ["fd10::/64"] | peer KEY allowed-ips fd10::/64
peer.allowed_ips [] | peer KEY allowed-ips ""
peer.preshared_key false | peer KEY preshared-key /dev/null
peer.preshared_key true | peer KEY preshared-key KEYS/psk
public_key null | private-key /dev/null
public_key "PUBA" | private-key KEYS/A.key
peer null | peer KEY remove
'

# compare_steps STEPS ANSWERS
compare_steps()
{
	"$PYTHON" - "$@" << 'EOF'
import json, sys

def answers(text):
    while text:
        links, end = json.JSONDecoder().raw_decode(text)
        text = text[end:].lstrip()
        data = [link for link in links if link][0]["linkinfo"]["info_data"]
        for peer in data.pop("peers"):
            data["peer"] = peer["public_key"]
            data.update(("peer." + key, peer[key]) for key in peer)
        yield data

steps = [step for step in open(sys.argv[1]).read().split("\n") if step]
before, *rest = answers(open(sys.argv[2]).read())
if len(rest) != len(steps):
    print(f"{len(rest)} answers to {len(steps)} steps")
for step, after in zip(steps, rest):
    path, value = step.split(" | ")[0].split(" ", 1)
    changed = [key for key in sorted({**before, **after})
               if before.get(key) != after.get(key)]
    if path == "peer":
        changed = [key for key in changed if not key.startswith("peer.")]
    if changed != [path] or after.get(path) != json.loads(value):
        print(f"{step}: changed {changed}, now {after.get(path)!r}")
    before = after
EOF
}

case_round_trip()
{
	local show="link show t0"

	sed -e "s, KEY , $BPUB ,g" -e "s, KEYS, $KEYS,g" \
		-e "s,PUBA,${PUB[A]}," <<< "$STEPS" > "$WORK/steps"
	sed -n "s,.* | \(.*\),link set t0 type cmptun \1\n$show,p" \
		"$WORK/steps" | sed "1i $show" > "$WORK/batch"
	check_num "lines" "$(wc -l < "$WORK/batch")" -gt 60

	new "${FULL[@]}"
	SAID=$(ipn A -d -j -batch "$WORK/batch" 2>&1 > "$WORK/out") ||
		fail "$SAID ($(sed -n "${SAID##*:}p" "$WORK/batch"))"
	check_eq "what did not come back" \
		"$(compare_steps "$WORK/steps" "$WORK/out" 2>&1)" ""
	tun_down A
}
add_case case_round_trip "each option comes back and leaves the others alone"

case_session()
{
	local since

	since=$(date +%s)
	wg_up A cmptun && wg_up B cmptun
	check "ping" ping_ok A "${I4[B]}"
	check_num "latest_handshake" "$(link A t0 latest_handshake)" -ge "$since"
	check_num "rx_bytes" "$(link A t0 rx_bytes)" -ge 220
	check_num "tx_bytes" "$(link A t0 tx_bytes)" -ge 276
	check_match "text" "$(text)" \
" latest-handshake [0-9]+ seconds ago transfer rx [0-9]+ tx [0-9]+ persistent"
	tun_down A B
}
add_case case_session "a peer after the handshake"

# --- keys ---------------------------------------------------------------------

# takes_key WHAT PUBLIC_KEY FILE, standard input as given
takes_key()
{
	set0 private-key "$3"
	check_eq "$1" "$(link A t0 public_key)" "$2"
	set0 private-key /dev/null
	check_eq "$1, removed" "$(link A t0 public_key)" ""
}

case_key_files()
{
	local own=${PUB[A]}

	new mode wg
	takes_key "a file" "$own" "$KEYS/A.key"
	printf %s "$SECRET" > "$WORK/key"
	takes_key "no newline" "$own" "$WORK/key"
	printf '%s \t\n\n' "$SECRET" > "$WORK/key"
	takes_key "white space after it" "$own" "$WORK/key"
	takes_key "a pipe" "$own" <(cat "$KEYS/A.key")
	takes_key "standard input, a file" "$own" - < "$KEYS/A.key"
	takes_key "standard input, a pipe" "$own" - < <(cat "$KEYS/A.key")
	takes_key "in two parts" "$own" - < \
		<(printf %s "${SECRET:0:9}"; nap 0.2; echo "${SECRET:9}")
	takes_key "/dev/stdin" "$own" /dev/stdin < "$KEYS/A.key"

	set0 private-key "$KEYS/A.key" peer "$BPUB" preshared-key - < "$KEYS/psk"
	check_eq "preshared key" "$(link A t0 preshared_key)" true
	wg genkey > "$WORK/key"
	set0 private-key - peer "$BPUB" preshared-key "$KEYS/none" \
		< "$WORK/key"
	check_eq "preshared key" "$(link A t0 preshared_key)" false
	check_eq "its own key" "$(link A t0 public_key)" \
		"$(wg pubkey < "$WORK/key")"
	tun_down A
}
add_case case_key_files "keys from files, pipes and standard input"

case_key_refused()
{
	local bad

	new mode wg private-key "$KEYS/A.key"
	for bad in x "${SECRET%?}" "${SECRET}A" "$SECRET$SECRET" \
		   "${SECRET%??}==" "$SECRET#" " $SECRET" "#${SECRET#?}" \
		   "${SECRET:0:42}B=" $'\n'; do
		printf %s "$bad" > "$WORK/key"
		ipc set t0 type cmptun private-key "$WORK/key"
		check_eq "status of '${bad@Q}'" "$RC" "$REFUSED"
		check_match "words" "$SAID" \
			"not a key of 32 bytes in base64|something follows the key"
		[[ $SAID != *"${SECRET:8:20}"* ]] || fail "shows it: $SAID"
	done
	check_eq "public key" "$(link A t0 public_key)" "${PUB[A]}"

	cp "$KEYS/A.key" "$WORK/key"
	chmod 604 "$WORK/key"
	ipc set t0 type cmptun private-key "$WORK/key"
	check_eq "status of a readable one" "$RC" 0
	check_match "words" "$SAID" "^Warning: .*/key' is world accessible$"
	tun_down A
}
add_case case_key_refused "files that are no keys"

# Whoever types a key where a file belongs has shown it to all already; it must
# not go into logs as well
case_key_typed()
{
	local typed words

	for typed in "$SECRET" "${SECRET%?}" \
		     "$(base64 -d "$KEYS/A.key" | od -An -v -tx1 | tr -d ' \n')"; do
		for words in "private-key" "peer $BPUB preshared-key"; do
			# shellcheck disable=SC2086 # words
			ipc add t0 type cmptun $words "$typed"
			check_eq "status of: $words" "$RC" "$REFUSED"
			check_match "words" "$SAID" "keys come from files, never"
			[[ $SAID != *"${typed:8:20}"* ]] || fail "shown: $SAID"
		done
		for words in "" "mode" "private-key $KEYS/A.key" \
			     "private-key $KEYS/A.key private-key"; do
			# shellcheck disable=SC2086 # words
			ipc add t0 type cmptun $words "$typed"
			check_num "status of: $words" "$RC" -ne 0
			[[ $SAID != *"${typed:8:20}"* ]] || fail "shown: $SAID"
		done
	done
	check_eq "devices" "$(ipn A -o link show type cmptun)" ""
}
add_case case_key_typed "keys in the place of files"

monitor_says()
{
	ipn A link set lo txqueuelen "$((RANDOM % 1000 + 1))"
	[ -s "$1" ]
}

case_key_shown()
{
	local key

	bg on A ip -d monitor link > "$WORK/shown" 2>&1
	check "ip monitor" wait_for 10 monitor_says "$WORK/shown"
	new "${FULL[@]}"
	{
		ipn A -d link show t0
		ipn A -d -o -s link show t0
		ipn A -d -j -p link show t0
	} >> "$WORK/shown2" 2>&1
	set0 mode ipip
	set0 mode wg private-key "$KEYS/A.key" peer "$BPUB" \
		preshared-key "$KEYS/psk"
	tun_down A
	check "a notice" wait_for 5 grep -q "^Deleted.* t0" "$WORK/shown"
	bg_stop "$BG"
	check "public key in the notices" grep -qF "$BPUB" "$WORK/shown"
	check "public key in the answers" grep -qF "$BPUB" "$WORK/shown2"
	for key in "$SECRET" "$PSK"; do
		refuse "a secret shown" grep -F "${key%=}" "$WORK/shown" \
			"$WORK/shown2"
	done
}
add_case case_key_shown "no secret in what ip shows"

# --- ip ----------------------------------------------------------------------

case_batch()
{
	ipn A -batch - > "$WORK/out" 2>&1 <<- EOF
	link add t0 type cmptun mode wg private-key $KEYS/A.key
	link set t0 type cmptun listen-port 7 peer $BPUB
	link set t0 type cmptun peer $BPUB preshared-key $KEYS/psk
	EOF
	check_eq "status and words" "$? $(< "$WORK/out")" "0 "
	check_has "text" "$(text)" " listen-port 7 public-key ${PUB[A]} peer "
	check_has "text" "$(text)" " peer $BPUB preshared-key "

	# There standard input is the batch
	ipn A -batch - > "$WORK/out" 2>&1 <<- EOF
	link set t0 type cmptun listen-port 8 private-key -
	$(< "$KEYS/B.key")
	EOF
	check_num "status" "$?" -ne 0
	check "words" grep -q "standard input is the batch" "$WORK/out"
	check_has "text" "$(text)" " listen-port 7 public-key ${PUB[A]} "
	tun_down A
}
add_case case_batch "in a batch"

# Where the plugin is missing the devices are there all the same
case_absent()
{
	local -x IP_LIB_DIR=$WORK/empty

	mkdir -p "$IP_LIB_DIR"
	ipc add t0 type cmptun mode wg
	check_num "status" "$RC" -ne 0
	check_match "words" "$SAID" "Garbage instead of arguments \"mode "
	ipc add t0 type cmptun
	check_eq "without words" "$RC $SAID" "0 "
	check_match "the kind" "$(ipn A -d -o link show t0)" " cmptun addrgenmode "
	check_eq "JSON" "$(ipn A -d -j link show t0 | "$PYTHON" -c "
import json, sys; print(json.load(sys.stdin)[0]['linkinfo'])")" \
		"{'info_kind': 'cmptun'}"
	check_eq "by kind" "$(ipn A -o link show type cmptun | wc -l)" 1
	tun_down A
}
add_case case_absent "ip without the plugin"

run_cases "$@"
