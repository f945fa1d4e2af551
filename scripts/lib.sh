# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What setup.sh, vm.sh and check.sh share: where things are, and how to complain.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
BUILD=$ROOT/build
# shellcheck disable=SC2034  # for those who source this
DEFAULT_KERNEL=6.12

say()
{
	printf '%s\n' "$*" >&2
}

warn()
{
	say "${0##*/}: warning: $*"
}

die()
{
	say "${0##*/}: $*"
	exit 1
}

# The release string of a fetched kernel, e.g. 6.12.95+deb12-amd64.
kernel_release()
{
	cat "$BUILD/kernels/$1/release" 2>/dev/null ||
		die "kernel $1 is not here yet; run: scripts/setup.sh $1"
}

# Runs a command as root: directly, or through sudo for a plain user.
as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this needs root, and there is no sudo: $*"
	fi
}

# Ends every process of a session that we made ourselves (with setsid, which
# makes the session's number the process's), and nothing else. Not by process
# group: timeout(1) puts its command into another one.
session_kill()
{
	local sid=$1 sig pid tries

	for sig in TERM KILL; do
		for tries in 1 2 3 4 5 6 7 8 9 10; do
			[ -n "$(session_pids "$sid")" ] || return 0
			[ "$tries" != 1 ] ||
				for pid in $(session_pids "$sid"); do
					kill -s "$sig" "$pid" 2>/dev/null || true
				done
			sleep 0.2
		done
	done
}

session_pids()
{
	local sid=$1 stat

	for stat in /proc/[0-9]*/stat; do
		# PID (COMM) STATE PPID PGRP SESSION; COMM may hold anything.
		{ read -r -d '' stat <"$stat" || true; } 2>/dev/null
		# shellcheck disable=SC2086  # fields
		set -- ${stat%% *} ${stat##*) }
		[ "${5:-}" != "$sid" ] || echo "$1"
	done
}
