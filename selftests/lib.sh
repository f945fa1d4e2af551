# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Common part of the cmptun selftests: the module, cases, waiting and cleaning
# up here; lib_net.sh has the networks, tunnels, captures and counters.
#
# A script sources this file, registers cases with add_case and ends with
# run_cases. Each can be run by itself, any number of times, also beside
# itself, as root:
#
#	CMPTUN_KO=cmptun.ko IP_LIB_DIR=build/ip bash selftests/ipip.sh [CASE...]
#
# Environment:
#	CMPTUN_KO	the module; default: cmptun.ko above this directory
#	IP_LIB_DIR	where ip finds link_cmptun.so
#	CMPTUN_ORACLE	if set, the kernel's own ipip, sit and wireguard stand in
#			for cmptun, to see that a case asks for what they do.
#			Cases that only cmptun can pass are skipped.
#	CMPTUN_ICOUNT	set by the runner in a machine whose clock counts
#			instructions and where idle time passes at once
#	CMPTUN_PATIENCE	set by the runner: how many times as long to wait for things
#	PAUSE_ON_FAIL	if set, wait for a key when a check fails
set -u
export LC_ALL=C

SELF_DIR=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
SELF_NAME=$(basename "$0" .sh)
ORACLE=${CMPTUN_ORACLE:-}
# shellcheck disable=SC2034 # for the scripts
ICOUNT=${CMPTUN_ICOUNT:-}
PATIENCE=${CMPTUN_PATIENCE:-1}
[ -z "$ICOUNT" ] || PATIENCE=30

# run_kselftest.sh and make run_tests have the helpers beside the collection;
# a script started from the source tree takes what "make setup" fetched.
for _dir in "$SELF_DIR/.." \
	    "$SELF_DIR/../build/kselftest/tools/testing/selftests"; do
	[ -r "$_dir/kselftest/ktap_helpers.sh" ] && break
done
if [ ! -r "$_dir/kselftest/ktap_helpers.sh" ]; then
	echo "Bail out! kselftest/ktap_helpers.sh is not here, run make setup"
	exit 1
fi
# shellcheck source=/dev/null
. "$_dir/kselftest/ktap_helpers.sh"

PYTHON=/usr/bin/python3
[ -x "$PYTHON" ] || PYTHON=python3

# A descriptor that never has data: "read -t" on it sleeps without a fork,
# which counts where a fork takes 40 ms.
exec {_nodata}<> <(:)
nap()
{
	read -rt "$1" -u "$_nodata" _ || :
}

msg()
{
	# ktap_print_msg expands its arguments unquoted
	printf '# %s\n' "$*"
}

now_ms()
{
	local t=$EPOCHREALTIME

	echo $((${t%.*} * 1000 + 10#${t#*.} / 1000))
}

# wait_for SECONDS COMMAND... - until the command succeeds. A debug kernel is
# slower, and where idle time passes at once, a program that is being read from
# disk takes many seconds.
wait_for()
{
	local end=$((SECONDS + $1 * PATIENCE + 1))

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		nap 0.1
	done
}

# --- what a script needs ------------------------------------------------------

skip_all()
{
	ktap_print_header
	ktap_skip_all "$@"
	exit "$KSFT_SKIP"
}

bail()
{
	echo "Bail out! $*"
	exit "$KSFT_FAIL"
}

require()
{
	local tool

	[ "$(id -u)" = 0 ] || skip_all "needs root"
	for tool in "$@"; do
		command -v "$tool" > /dev/null || skip_all "needs $tool"
	done
	"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
		skip_all "needs python3 3.9 or later"
}

# Modules of the kernel that a case compares with; no error if built in
require_modules()
{
	local mod

	for mod in "$@"; do
		modprobe -q "$mod" || [ -e "/sys/module/$mod" ] ||
			skip_all "needs the kernel's $mod"
	done
}

# --- the module ---------------------------------------------------------------

_loaded_here=
_lock=/run/lock
[ -d "$_lock" ] || _lock=/tmp
exec {_lockfd}> "$_lock/cmptun-selftests.lock"

module_loaded()
{
	[ -d /sys/module/cmptun ]
}

# What modprobe would do for a module that is not installed
insmod_cmptun()
{
	local deps dep

	deps=$(modinfo -F depends "$KO") || return 1
	for dep in ${deps//,/ }; do
		modprobe "$dep" || return 1
	done
	insmod "$KO"
}

# Everyone who uses the module holds the lock shared; who unloads it must
# have it alone, or one script would take another's devices away.
load_module()
{
	flock -s "$_lockfd"
	[ -z "$ORACLE" ] || return 0

	KO=${CMPTUN_KO:-$SELF_DIR/../cmptun.ko}
	[ -r "$KO" ] || KO=$SELF_DIR/../../cmptun.ko
	if ! module_loaded; then
		[ -r "$KO" ] || bail "no module: set CMPTUN_KO"
		if insmod_cmptun; then
			_loaded_here=1
		else
			module_loaded || bail "cannot load $KO"
		fi
	fi
	if [ -z "${IP_LIB_DIR:-}" ]; then
		for _dir in "$SELF_DIR/../build/ip" "$SELF_DIR/../../ip"; do
			[ ! -e "$_dir/link_cmptun.so" ] || export IP_LIB_DIR=$_dir
		done
	fi
	ip link help cmptun > /dev/null 2>&1 || [ $? -ne 255 ] ||
		bail "ip does not know cmptun: set IP_LIB_DIR"
}

_unload_module()
{
	[ -n "$_loaded_here" ] || return 0
	flock -n -x "$_lockfd" || return 0
	! module_loaded || rmmod cmptun
}

# --- the kernel log -----------------------------------------------------------

_log_mark=
_log_allowed=
_log_bad='BUG|WARN|Oops|KASAN|lockdep|unregister_netdevice|Call Trace|cmptun'

log_start()
{
	_log_mark="selftest $SELF_NAME $$ $RANDOM starts"
	echo "$_log_mark" > /dev/kmsg
}

# log_allow REGEX - a line that this script provokes
log_allow()
{
	_log_allowed=${_log_allowed:+$_log_allowed|}$1
}

log_since_start()
{
	dmesg | sed "1,/$_log_mark/d"
}

# The loader's own words about modules from elsewhere are no fault of ours
log_is_clean()
{
	local new

	new=$(log_since_start | grep -E "$_log_bad" |
	      grep -vE 'cmptun: (loading out-of-tree|module verification)' |
	      grep -vE "${_log_allowed:-^\$}")
	[ -z "$new" ] && return
	while read -r line; do
		msg "log: $line"
	done <<< "$new"
	return 1
}

# --- cases --------------------------------------------------------------------

_cases=()
_descs=()
_failed=0
_skipped=

# add_case FUNCTION DESCRIPTION (no glob characters in it)
add_case()
{
	_cases+=("$1")
	_descs+=("$2")
}

fail()
{
	_failed=$((_failed + 1))
	msg "FAILED: $*"
	[ -z "${PAUSE_ON_FAIL:-}" ] || read -r -p "# any key" _ < /dev/tty
	return 1
}

# case_skip REASON - for use as "case_skip ...; return"
case_skip()
{
	_skipped=$*
}

# cmptun_only - for use as "cmptun_only || return"
cmptun_only()
{
	[ -z "$ORACLE" ] || { case_skip "only cmptun can do this"; return 1; }
}

# check WHAT COMMAND... - the command must succeed
check()
{
	local what=$1

	shift
	"$@" || fail "$what ($*)"
}

# refuse WHAT COMMAND... - the command must fail
refuse()
{
	local what=$1

	shift
	! "$@" || fail "$what ($* succeeded)"
}

check_eq()
{
	[ "$2" = "$3" ] || fail "$1: '$2' instead of '$3'"
}

# check_num WHAT NUMBER OPERATOR NUMBER
check_num()
{
	[[ $2 =~ ^-?[0-9]+$ && $4 =~ ^-?[0-9]+$ ]] && test "$2" "$3" "$4" ||
		fail "$1: '$2' is not $3 '$4'"
}

check_match()
{
	[[ $2 =~ $3 ]] || fail "$1: '$2' does not match '$3'"
}

# --- cleaning up --------------------------------------------------------------

WORK=
_bg=()
_on_exit=()

# at_exit COMMAND - run it when the script ends, however it ends
at_exit()
{
	_on_exit=("$1" "${_on_exit[@]}")
}

# bg COMMAND... - in the background, ended with the script; the id is in $BG
# and is that of the program itself, not of a shell around it
_exec=
bg()
{
	{ _exec='exec'; "$@"; } &
	BG=$!
	_bg+=("$BG")
}

# bg_stop PID - end it and give back its status. Not by SIGINT, which the
# shell has its background commands ignore.
bg_stop()
{
	kill "$1" 2> /dev/null
	bg_wait "$1"
}

bg_wait()
{
	local i

	for i in "${!_bg[@]}"; do
		[ "${_bg[i]}" != "$1" ] || unset "_bg[i]"
	done
	wait "$1"
}

_cleanup()
{
	local pid cmd

	trap - EXIT INT TERM HUP
	for pid in "${_bg[@]}"; do
		kill "$pid" 2> /dev/null
	done
	for pid in "${_bg[@]}"; do
		wait "$pid" 2> /dev/null
	done
	for cmd in "${_on_exit[@]}"; do
		$cmd
	done
	_unload_module
	[ -z "$WORK" ] || rm -rf "$WORK"
}

# Keys and captures stay in memory, where nobody else can read them
setup_work()
{
	local dir

	for dir in /dev/shm /run /tmp; do
		[ "$(stat -f -c %T "$dir" 2> /dev/null)" = tmpfs ] && break
	done
	umask 077
	WORK=$(mktemp -d "$dir/cmptun.XXXXXX") || bail "no work directory"
	export TMPDIR=$WORK
	trap _cleanup EXIT
	trap 'exit 130' INT TERM HUP
}

# --- running ------------------------------------------------------------------

_run_case()
{
	local start

	_failed=0
	_skipped=
	start=$(now_ms)
	"$1"
	msg "$1: $(($(now_ms) - start)) ms"
	if [ "$_failed" -ne 0 ]; then
		ktap_test_fail "$2"
	elif [ -n "$_skipped" ]; then
		msg "skipped: $_skipped"
		ktap_test_skip "$2"
	else
		ktap_test_pass "$2"
	fi
}

case_kernel_log()
{
	check "the kernel log" log_is_clean
}

# run_cases [CASE...] - all that were added, or those named, then end
run_cases()
{
	local i want=" $* "

	for i in "${!_cases[@]}"; do
		[ $# -eq 0 ] || [[ $want = *" ${_cases[i]#case_} "* ]] ||
			unset "_cases[i]" "_descs[i]"
	done
	[ ${#_cases[@]} -gt 0 ] || bail "no such case: $*"

	ktap_print_header
	ktap_set_plan $((${#_cases[@]} + 1))
	log_start
	for i in "${!_cases[@]}"; do
		_run_case "${_cases[i]}" "${_descs[i]}"
	done
	_run_case case_kernel_log "nothing in the kernel log"

	# A script that could try nothing has not passed
	if [ "$KTAP_CNT_SKIP" -eq ${#_cases[@]} ]; then
		ktap_print_totals
		exit "$KSFT_SKIP"
	fi
	ktap_finished
}
