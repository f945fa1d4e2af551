#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Private and preshared keys are never shown: not in a dump, not in a notice,
# not to root either.
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ethtool nsenter base64 od
load_module
setup_work
net_pair
make_keys

hex()
{
	od -An -v -tx1 | tr -d ' \n'
	echo
}

# needles KEYFILE - the key as it may look: raw in hexadecimal, and base64,
# itself and in hexadecimal
needles()
{
	base64 -d < "$1" | hex
	tr -d '\n' < "$1"
	echo
	tr -d '\n' < "$1" | hex
}

# without_secrets FILE - and with the public key, or we would find nothing
without_secrets()
{
	local key

	for key in "$KEYS/A.key" "$KEYS/psk" "$KEYS/new"; do
		! needles "$key" | grep -qFf - "$1" ||
			{ msg "$(basename "$key") is in $1"; return 1; }
	done
	needles "$WORK/A.pub" | grep -qFf - "$1" ||
		{ msg "not even the public key is in $1"; return 1; }
}

# Does everything that makes the kernel or ip speak of the device
stir()
{
	ipn A link set t0 type cmptun private-key "$KEYS/new"
	ipn A link set t0 type cmptun private-key "$KEYS/A.key"
	ipn A link set t0 type cmptun peer "${PUB[B]}" \
		preshared-key "$KEYS/psk"
	ipn A link set t0 down
	ipn A link set t0 type cmptun private-key - < "$KEYS/A.key"
	set_mode A ipip
	ipn A link set t0 up
	set_mode A wg
	ipn A link set t0 mtu 1400
	ping_ok A "${I4[B]}"
	ipn A link set t0 down name t2
	ipn A link set t2 name t0 up
}

prepare()
{
	wg genkey > "$KEYS/new"
	printf '%s\n' "${PUB[A]}" > "$WORK/A.pub"
	wg_up B cmptun psk="$KEYS/psk"
	wg_up A cmptun psk="$KEYS/psk"
}

case_dump()
{
	prepare
	stir
	check "a session, so there are session keys" has_session A
	on A "$PYTHON" "$SELF_DIR/rtnl.py" dump t0 > "$WORK/dump"
	check "raw dump" without_secrets "$WORK/dump"
	AS_NOBODY=1 on A "$PYTHON" "$SELF_DIR/rtnl.py" dump t0 > "$WORK/nobody"
	check "raw dump to nobody" without_secrets "$WORK/nobody"
	{ ipn A -d link show t0; ipn A -d -j link show t0
	  on A ethtool -S t0; dmesg; } > "$WORK/text"
	check "what tools show" without_secrets "$WORK/text"
	tun_down A B
}
add_case case_dump "no secret in a dump"

case_notice()
{
	prepare
	AS_NOBODY=1 bg on A "$PYTHON" "$SELF_DIR/rtnl.py" listen 60 \
		> "$WORK/notices"
	check "listener" wait_for 10 grep -q listening "$WORK/notices"
	stir
	tun_down A
	nap 0.5
	bg_stop "$BG"
	check_num "notices" "$(wc -l < "$WORK/notices")" -gt 8
	check "notices" without_secrets "$WORK/notices"
	tun_down B
}
add_case case_notice "no secret in a notice"

# The key is in a file; what ps shows of ip is its name
case_cmdline()
{
	local fifo=$WORK/fifo

	prepare
	mkfifo "$fifo"
	bg on A ip link set t0 type cmptun private-key "$fifo"
	exec {keyfd}> "$fifo"
	tr '\0' ' ' < "/proc/$BG/cmdline" > "$WORK/cmdline"
	cat "$KEYS/A.key" >&"$keyfd"
	exec {keyfd}>&-
	check "the key came by the pipe" bg_wait "$BG"
	check "command line seen" grep -q private-key "$WORK/cmdline"
	refuse "key in the command line" \
		grep -qF "$(cat "$KEYS/A.key")" "$WORK/cmdline"
	refuse "key as an argument" ipn A link set t0 type cmptun \
		private-key "$(cat "$KEYS/new")" > "$WORK/refused" 2>&1
	refuse "key in the error" grep -qF "$(cat "$KEYS/new")" "$WORK/refused"
	tun_down A B
}
add_case case_cmdline "no secret in a command line"

run_cases "$@"
