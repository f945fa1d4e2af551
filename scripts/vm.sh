#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boots a fetched kernel under virtme-ng and runs one command in it as root, in
# the project's top folder:
#
#   scripts/vm.sh [OPTION...] [--] COMMAND [ARG...]
#
#   --kernel VERSION  6.12 (default), 6.1, ... as fetched by setup.sh
#   --cpus N          default: all of the machine's, at most 2; 1 with --icount
#   --memory SIZE     default: 1G
#   --icount          virtual clock that advances 1 ns an instruction (one CPU,
#                     never KVM): what the guest measures is instructions
#   --rwdir DIR       make a directory of the host writable, at the same path;
#                     may be repeated. Everything else the guest writes is lost
#   --timeout SEC     of real time, boot included; default: 900
#   --console FILE    keep the guest kernel's console messages here
#   --tag TEXT        put before each line of output, to tell parallel guests apart
#   --quiet           do not print the vng command
#
# The guest sees the machine's files read-only, an empty /tmp, and the modules of
# its own kernel. VM_ACCEL in its environment is kvm, tcg or icount.
#
# Exit status: that of COMMAND; 124 when the time ran out; 255 when the guest
# died, in which case the end of its console is shown.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

KERNEL=$DEFAULT_KERNEL
CPUS=
MEMORY=1G
ICOUNT=n
TIMEOUT=900
CONSOLE=
TAG=
QUIET=n
RWDIRS=()

# Haswell: the default CPU has only SSE2 and makes ciphers four times too dear.
# Without ERMS: with it, `rep movsb` counts an instruction for each byte. The
# others are what TCG does not have and would warn about.
CPU=Haswell,-erms,-pcid,-tsc-deadline,-hle,-invpcid,-rtm,-x2apic

usage()
{
	sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
}

while [ $# -gt 0 ]; do
	case $1 in
	--kernel) KERNEL=$2; shift ;;
	--cpus) CPUS=$2; shift ;;
	--memory) MEMORY=$2; shift ;;
	--icount) ICOUNT=y ;;
	--rwdir) RWDIRS+=("$(realpath -e "$2")"); shift ;;
	--timeout) TIMEOUT=$2; shift ;;
	--console) CONSOLE=$2; shift ;;
	--tag) TAG=$2; shift ;;
	--quiet) QUIET=y ;;
	-h | --help) usage; exit 0 ;;
	--) shift; break ;;
	-*) usage >&2; exit 2 ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || { usage >&2; exit 2; }

kernel_release "$KERNEL" >/dev/null
[ -x "$BUILD/vng" ] || die "virtme-ng is not here yet; run: scripts/setup.sh"

if [ -z "$CPUS" ]; then
	CPUS=$(nproc)
	[ "$CPUS" -le 2 ] || CPUS=2
	[ "$ICOUNT" = n ] || CPUS=1
fi
[ "$ICOUNT" = n ] || [ "$CPUS" = 1 ] || die "--icount works with one CPU only"

# /dev/kvm may exist and not work for a stock kernel, so it is tried out, once
# for each boot of the machine.
kvm_works()
{
	local cache answer
	cache=$BUILD/.kvm.$(cut -c1-8 /proc/sys/kernel/random/boot_id)

	grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo && [ -w /dev/kvm ] || return 1
	if [ ! -e "$cache" ]; then
		answer=no
		VM_PROBE=y "$0" --quiet --kernel "$KERNEL" --timeout 60 true \
			>/dev/null 2>&1 && answer=yes
		echo "$answer" >"$cache"
	fi
	[ "$(cat "$cache")" = yes ]
}

# What the console said after the start-up.
console_tail()
{
	grep -v '^\[    0\.000000\]' "$CONSOLE" | tail -n 60 | sed "s|^|${TAG//|/}|" >&2
}

ACCEL=tcg
if [ "$ICOUNT" = y ]; then
	ACCEL=icount
elif [ -n "${VM_PROBE:-}" ] || kvm_works; then
	ACCEL=kvm
fi

# ---- the job: what the guest runs, and where it says how that went -------------

mkdir -p "$BUILD/vm"
JOB=$(mktemp -d "$BUILD/vm/job.XXXXXX")
CONSOLE=${CONSOLE:-$JOB/console}
: >"$CONSOLE"
CONSOLE=$(realpath "$CONSOLE")
VM=

# shellcheck disable=SC2317  # called by trap
cleanup()
{
	[ -z "$VM" ] || session_kill "$VM"
	rm -rf "$JOB"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

{
	echo '#!/bin/bash'
	printf 'ROOT=%q JOB=%q ACCEL=%q\n' "$ROOT" "$JOB" "$ACCEL"
	printf 'COMMAND=('
	printf ' %q' "$@"
	printf ' )\nKEEP=('
	for dir in "$ROOT" "$JOB" "${RWDIRS[@]}"; do
		case $dir in
		/tmp/*) printf ' %q' "$dir" ;;
		esac
	done
	printf ' )\n'
	cat <<-'END'
	export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	export VM_ACCEL=$ACCEL HOME=/root LC_ALL=C.UTF-8 TMPDIR=/tmp

	# An empty /tmp in memory, with what was asked for put back into it.
	n=0
	for dir in "${KEEP[@]}"; do
		mkdir -p /run/keep/$n
		mount --rbind "$dir" /run/keep/$n
		n=$((n + 1))
	done
	mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs /tmp
	n=0
	for dir in "${KEEP[@]}"; do
		mkdir -p "$dir"
		mount --rbind /run/keep/$n "$dir"
		n=$((n + 1))
	done
	[ -d /var/run ] || ln -sfn /run /var/run
	mkdir -p /run/netns /run/lock

	# Output goes through a pipe: a virtio port takes one writer only, and
	# /dev/stdout must be the standard output of whoever opens it. The end
	# of the pipe is not waited for for ever, for the command may leave
	# something running that has it open.
	exec 3>&1 4>&2
	exec > >(exec cat >&3)
	out=$!
	exec 2> >(exec cat >&4)
	err=$!
	ln -sfn /proc/self/fd/1 /dev/stdout
	ln -sfn /proc/self/fd/2 /dev/stderr

	# What the kernel says from here on is wanted, should it die.
	echo 5 >/proc/sys/kernel/printk
	cd "$ROOT" || exit 255
	"${COMMAND[@]}" </dev/null 3>&- 4>&-
	rc=$?
	exec >&- 2>&-
	for i in {1..50}; do
		kill -0 $out || kill -0 $err || break
		sleep 0.1
	done 2>/dev/null
	echo $rc >"$JOB/rc"
	exit $rc
	END
} >"$JOB/run"

VNG=(
	"$BUILD/vng" --run "$(readlink -f "$BUILD/kernels/$KERNEL/vmlinuz")"
	--user root --force-9p --cpus "$CPUS" --memory "$MEMORY" --cwd "$ROOT"
	--rwdir "$JOB=$JOB"
)
for dir in "${RWDIRS[@]}"; do
	VNG+=(--rwdir "$dir=$dir")
done
# vng throws the console away; have it in a file instead.
qemu="-device virtio-rng-pci -set chardev.console.path=$CONSOLE"
case $ACCEL in
tcg) VNG+=(--disable-kvm); qemu="-cpu $CPU $qemu" ;;
icount) VNG+=(--disable-kvm); qemu="-cpu $CPU -icount shift=0,sleep=off $qemu" ;;
esac
VNG+=("--qemu-opts=$qemu" --exec "bash $JOB/run")

if [ "$QUIET" = n ]; then
	printf '+ timeout %s' "$TIMEOUT" >&2
	printf ' %q' "${VNG[@]}" >&2
	printf '   # %s\n' "$*" >&2
fi

# Through a pipe: QEMU truncates a regular file and loses what was in it.
# In a session of its own, so that all of it can be ended at once.
# shellcheck disable=SC2016  # for the inner shell to expand
setsid bash -c '
	set -o pipefail
	tag=$1
	shift
	"$@" 2>&1 </dev/null | sed -u "s|^|${tag//|/}|"
' vm "$TAG" timeout -k 10 "$TIMEOUT" "${VNG[@]}" &
VM=$!
rc=0
wait "$VM" || rc=$?
# After a time-out something may be left of it.
session_kill "$VM"
VM=

if [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then
	say "${TAG}vm: out of time after $TIMEOUT s; the console ended with:"
	console_tail
	exit 124
fi
if [ "$(cat "$JOB/rc" 2>/dev/null)" != "$rc" ]; then
	say "${TAG}vm: the guest died (vng exit status $rc); its console ended with:"
	console_tail
	exit 255
fi
exit "$rc"
