#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds a kernel that notices mistakes (KASAN, lockdep, kmemleak, ...) from the
# distribution's kernel source, and lays it out like those that setup.sh fetches:
#
#   scripts/debug-kernel.sh          build/kernels/6.12-debug/
#
# It takes about half an hour on two CPUs, once: what was built is kept until
# scripts/debug.config or the source changes. Called by setup.sh.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

NAME=6.12-debug
TREE=$BUILD/kernels/$NAME
FRAGMENT=$ROOT/scripts/debug.config
TARBALL=$BUILD/src/linux-source-6.12.tar.xz
SOURCE=$TREE/source

stamp()
{
	cat "$FRAGMENT" "$BUILD/src/version" | sha256sum
}

# Every line of the fragment must have made it: an option whose dependency is
# missing is dropped in silence.
check_config()
{
	local line lost=n

	while read -r line; do
		case $line in
		CONFIG_*=n) ! grep -q "^${line%=n}=" "$SOURCE/.config" || lost=y ;;
		CONFIG_*) grep -qx "$line" "$SOURCE/.config" || lost=y ;;
		*) continue ;;
		esac
		[ "$lost" = n ] || die "the debug kernel would not have $line"
	done <"$FRAGMENT"
}

configure()
{
	make -s -C "$SOURCE" KCONFIG_ALLCONFIG="$FRAGMENT" allnoconfig
	check_config
}

# The number of objects, for who watches: make itself does not know it.
build()
{
	local log=$TREE/build.log pid rc=0 start=$SECONDS

	make -C "$SOURCE" -j "$(nproc)" bzImage modules >"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 15
		say "debug kernel: $(grep -c '^  CC ' "$log") objects of about 1470," \
			"$(((SECONDS - start) / 60)) min"
	done
	wait "$pid" || rc=$?
	[ "$rc" -eq 0 ] || { tail -n 20 "$log" >&2; die "the debug kernel did not build"; }
}

install_tree()
{
	local release

	release=$(make -s -C "$SOURCE" kernelrelease)
	rm -rf "$TREE/tree"
	mkdir -p "$TREE/tree/boot"
	make -s -C "$SOURCE" modules_install INSTALL_MOD_PATH="$TREE/tree" >/dev/null
	cp "$SOURCE/arch/x86/boot/bzImage" "$TREE/tree/boot/vmlinuz-$release"
	ln -sfn "tree/boot/vmlinuz-$release" "$TREE/vmlinuz"
	ln -sfn source "$TREE/kdir"
	ln -sfn source/.config "$TREE/config"
	echo "$release" >"$TREE/release"
}

if [ "$(cat "$TREE/built" 2>/dev/null)" = "$(stamp)" ]; then
	exit 0
fi
[ -e "$TARBALL" ] || die "no ${TARBALL#"$ROOT/"}; scripts/setup.sh fetches it"
rm -f "$TREE/built"
if ! [ -e "$SOURCE/Makefile" ]; then
	say "debug kernel: unpacking the source"
	rm -rf "$SOURCE.new"
	mkdir -p "$SOURCE.new"
	xz -dc -T0 "$TARBALL" | tar -x -C "$SOURCE.new" --strip-components=1
	rm -rf "$SOURCE"
	mv "$SOURCE.new" "$SOURCE"
fi
say "debug kernel: configuring"
configure
build
install_tree
stamp >"$TREE/built"
