#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Fetches a kernel whose headers insist on a compiler newer than the machine's,
# and a chroot of the suite it is from to build modules in:
#
#   scripts/chroot-kernel.sh fetch SERIES RELEASE MIRROR
#   scripts/chroot-kernel.sh make SERIES DIR [ARG...]    make ARG... in DIR
#
#   build/kernels/SERIES/root     chroot: compiler and headers, nothing else
#   build/kernels/SERIES/kdir     its headers
#   build/kernels/SERIES/tree     image and modules
#
# The image is fetched by setup.sh, which calls this. The chroot's packages come
# from the machine's mirror; nothing runs in it but make.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fetch()
{
	local series=$1 release=$2 mirror=$3 root=$BUILD/kernels/$1/root

	say "setup: kernel $release: a chroot to build in (about 500 MB)"
	as_root rm -rf "$root"
	mkdir -p "${root%/*}"
	as_root mmdebstrap --quiet --variant=apt \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--include="make,sparse,linux-headers-$release" \
		sid "$root" "deb $mirror sid main" >"$root.log" 2>&1 || {
		tail -n 20 "$root.log" >&2
		die "mmdebstrap could not make $root"
	}
	as_root mkdir -p "$root/build"
	ln -sfn "root/usr/src/linux-headers-$release" "$BUILD/kernels/$series/kdir"
}

# Mounts go with the mount namespace. /proc is for objtool.
run_make()
{
	local series=$1 dir=$2 root=$BUILD/kernels/$1/root release

	shift 2
	release=$(kernel_release "$series")
	# shellcheck disable=SC2016  # for the inner shell
	as_root unshare --mount bash -c '
		set -e
		root=$1 dir=$2 release=$3
		shift 3
		mount -t proc proc "$root/proc"
		mount --bind "$dir" "$root/build"
		exec chroot "$root" make -C /build \
			KDIR="/usr/src/linux-headers-$release" "$@"
	' make "$root" "$dir" "$release" "$@"
	[ "$(id -u)" -eq 0 ] || as_root chown -R "$(id -u):$(id -g)" "$dir"
}

case ${1:-} in
fetch) [ $# -eq 4 ] || die "usage: fetch SERIES RELEASE MIRROR"; fetch "$2" "$3" "$4" ;;
make) [ $# -ge 3 ] || die "usage: make SERIES DIR [ARG...]"; shift; run_make "$@" ;;
*) sed -n '4,/^$/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
