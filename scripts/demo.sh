#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What encapsulation costs, by one command: sets the machine up, builds cmptun,
# boots a virtual machine, joins two nodes in it by each of five paths in turn
# (none, ipip, wireguard, cmptun-ipip, cmptun-wg), and prints what was measured:
#
#   scripts/demo.sh [KERNEL] [-- OPTION...]
#
#   KERNEL     6.12 (default) or 6.1
#   OPTION...  for demo-guest.py, e.g. --runs 5 or --paths none cmptun-wg
#
# DEMO_CLOCK in the environment is icount (time counted in instructions) or wall;
# by default wall where KVM works and icount elsewhere. CMPTUN_KO names a module,
# and IP_LIB_DIR the folder of the plugin for it, to take instead of building them.
#
# Leaves build/results/demo/: results.json, report.md and the captures. They
# replace those of an earlier run only when the experiment went through to its
# end; what one that died on the way had measured goes to build/results/demo.died/.
#
# Exit status: 0 when every path was measured, 1 when one was not (the others are
# kept and shown), 2 and above when there is nothing to show.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

KERNEL=$DEFAULT_KERNEL
RESULTS=$BUILD/results
# Real time, boot included. Ten minutes are what it may take; a machine that is
# busy with other things gets more before we call it hung.
TIMEOUT=2400

WORK=
VM=
STAMP=

usage()
{
	sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
}

# Progress, with the time since the start.
step()
{
	printf '[%4d s] %s\n' "$SECONDS" "$*"
}

# shellcheck disable=SC2317  # called by trap
cleanup()
{
	# make and timeout say it twice, and the second would end us here.
	trap '' INT TERM HUP
	# vm.sh takes its virtual machine down with it.
	if [ -n "$VM" ]; then
		kill -s TERM "$VM" 2>/dev/null || true
		wait "$VM" 2>/dev/null || true
	fi
	[ -z "$STAMP" ] || wait "$STAMP" 2>/dev/null || true
	[ -z "$WORK" ] || rm -rf "$WORK"
}

# Two at a time would put their results over each other.
lock()
{
	mkdir -p "$RESULTS"
	exec 8>"$RESULTS/.demo.lock"
	flock -n 8 || die "another demo is running"
	# Left by one that was killed outright.
	rm -rf "$RESULTS"/.demo.work.*
}

# Names the module in KO, or leaves it empty: the kernel's own paths do without.
# In a copy, so that what `make` built for another kernel stays as it is, and
# apart from that of check.sh, which may be running.
build()
{
	local dir=$BUILD/module/demo-$KERNEL target

	PLUGIN=$dir/build/ip
	KO=$dir/cmptun.ko
	rm -rf "$dir"
	mkdir -p "$PLUGIN"
	if [ -n "${CMPTUN_KO:-}" ]; then
		cp "$CMPTUN_KO" "$KO"
		cp "${IP_LIB_DIR:-$BUILD/ip}/link_cmptun.so" "$PLUGIN"
		return
	fi
	step "building cmptun for $(kernel_release "$KERNEL")"
	cp -r "$ROOT"/{Kbuild,Makefile,driver,uapi} "$dir"
	for target in modules plugin; do
		make -C "$dir" -j "$(nproc)" KDIR="$BUILD/kernels/$KERNEL/kdir" \
			"$target" >"$dir/$target.log" 2>&1 </dev/null && continue
		tail -n 40 "$dir/$target.log" >&2
		warn "make $target failed; the paths of cmptun will be missing"
	done
	[ -e "$KO" ] || KO=
	# Most of the file is of no use to the guest, which reads it many times.
	[ -z "$KO" ] || strip --strip-debug "$KO"
}

# Sets CLOCK, which is the wall clock only where the virtual machine is as fast
# as the machine.
choose_clock()
{
	CLOCK=${DEMO_CLOCK:-}
	[ -z "$CLOCK" ] || return 0
	CLOCK=icount
	if [ -w /dev/kvm ] && grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo; then
		step "trying KVM"
		# shellcheck disable=SC2016  # for the guest to expand
		if "$ROOT/scripts/vm.sh" --quiet --kernel "$KERNEL" \
			bash -c '[ "$VM_ACCEL" = kvm ]' >/dev/null 2>&1; then
			CLOCK=wall
		fi
	fi
}

# What the guest cannot know about the run, for the environment it records.
facts()
{
	local commit version

	commit=$(git -C "$ROOT" describe --always --dirty --abbrev=12 2>/dev/null) ||
		commit=n/a
	version=
	[ -z "$KO" ] || version=$(modinfo -F version "$KO")
	FACTS=(
		--set "cmptun_commit=$commit"
		--set "cmptun_version=${version:-n/a}"
		--set "host_cpu_model=$(sed -n 's/^model name[[:space:]]*: //p' \
			/proc/cpuinfo | head -n 1), $(nproc) CPU"
		--set "qemu=$(qemu-system-x86_64 --version | head -n 1)"
		--set "date=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
	)
}

# Puts the time before each line that comes from the guest.
stamp()
{
	local line

	while IFS= read -r line; do
		step "$line"
	done
}

# Runs the experiment; returns what it returned. In the background, because a
# shell that waits for a child in the foreground does not hear a signal.
experiment()
{
	local fd rc=0
	local -a options=()

	[ "$CLOCK" = wall ] || options+=(--icount)
	step "booting Linux $(kernel_release "$KERNEL"), clock: $CLOCK"
	exec {fd}> >(trap '' INT; stamp)
	STAMP=$!
	# In a session of its own: a signal to the group is ours to pass on, once.
	setsid "$ROOT/scripts/vm.sh" --quiet --kernel "$KERNEL" \
		--timeout "$TIMEOUT" --rwdir "$WORK" "${options[@]}" -- \
		env "IP_LIB_DIR=$PLUGIN" PYTHONDONTWRITEBYTECODE=1 \
		/usr/bin/python3 "$ROOT/scripts/demo-guest.py" --out "$WORK" \
		${KO:+--module "$KO"} "${FACTS[@]}" "$@" >&"$fd" 2>&1 &
	VM=$!
	exec {fd}>&-
	wait "$VM" || rc=$?
	VM=
	wait "$STAMP" || true
	return "$rc"
}

# Puts the finished work in the place of the old: publish NAME
publish()
{
	local old=$RESULTS/.demo.work.old

	trap '' INT TERM HUP
	rm -rf "$old" "$RESULTS/demo.died" "$WORK/results.part.json"
	[ ! -e "$RESULTS/$1" ] || mv "$RESULTS/$1" "$old"
	chmod 755 "$WORK"
	mv "$WORK" "$RESULTS/$1"
	WORK=
	rm -rf "$old"
}

# Shows and keeps the results: present NAME
present()
{
	"$ROOT/scripts/report.py" --markdown "$WORK/report.md" "$WORK/results.json"
	publish "$1"
	echo
	"$ROOT/scripts/report.py" "$RESULTS/$1/results.json"
	echo
	echo "results.json, report.md and the captures are in ${RESULTS#"$PWD"/}/$1/"
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
[0-9]*) KERNEL=$1; shift ;;
esac
case ${1:-} in
'') ;;
--) shift ;;
[0-9]*) die "one kernel at a time, please" ;;
*) usage >&2; exit 2 ;;
esac

trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

step "setting up for kernel $KERNEL"
"$ROOT/scripts/setup.sh" --no-kselftest "$KERNEL"
lock
WORK=$(mktemp -d "$RESULTS/.demo.work.XXXXXX")
build
choose_clock
facts
rc=0
experiment "$@" || rc=$?
if [ -e "$WORK/results.json" ]; then
	step "done"
	present demo
	[ "$rc" -ne 0 ] || exit 0
	say "demo: NOT COMPLETE (status $rc), see above"
	exit 1
fi
if [ -e "$WORK/results.part.json" ]; then
	step "the experiment died; this is how far it came"
	mv "$WORK/results.part.json" "$WORK/results.json"
	present demo.died
fi
say "demo: the experiment did not go through (status $rc); results of earlier runs are untouched"
exit $((rc > 1 ? rc : 2))
