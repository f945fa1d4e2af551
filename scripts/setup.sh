#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Brings a bare Debian 12, Debian 13 or Ubuntu machine to the point where
# `make check` and `make demo` run:
#
#   scripts/setup.sh [--no-kselftest] [KERNEL...]      default: 6.12
#
# Tools are installed from the machine's own archive. Kernels are only
# downloaded and unpacked below build/kernels/: the boot loader, /boot,
# /lib/modules and the apt sources of the machine stay as they are. Says nothing
# when there is nothing to do.
#
#   build/kernels/6.12/vmlinuz   image to boot
#   build/kernels/6.12/kdir      headers: make -C build/kernels/6.12/kdir M=...
#   build/kernels/6.12/release   release string
#   build/vng                    virtme-ng
#   build/kselftest/             kselftest framework, laid out as in the kernel
#   build/src/                   tarball of the kernel source it came from
#
# The kernel 6.12-debug is built from that source, see debug-kernel.sh.
#
# DEBIAN_MIRROR and DEBIAN_SECURITY_MIRROR override the mirrors, which are
# otherwise read from the machine's apt sources.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Raised whenever the layout below build/ changes, so that old trees are redone.
LAYOUT=3

APT=$BUILD/apt
KERNELS=()
KSELFTEST=y

# Package that provides each command or file the flow needs.
TOOLS=(
	make:make gcc:gcc gcc-12:gcc-12 bc:bc xz:xz-utils zstd:zstd cpio:cpio
	rsync:rsync file:file perl:perl python3:python3 kmod:kmod ip:iproute2
	sparse:sparse shellcheck:shellcheck
	qemu-system-x86_64:qemu-system-x86 busybox:busybox-static
	iperf3:iperf3 tcpdump:tcpdump wg:wireguard-tools nft:nftables
	ping:iputils-ping ethtool:ethtool flock:util-linux setsid:util-linux
)

# Where a kernel series is found, best first.
kernel_suites()
{
	case $1 in
	6.12) echo bookworm-backports trixie ;;
	6.1) echo bookworm-security bookworm ;;
	7.2) echo sid ;;
	6.12-debug) ;;
	*) die "no kernel $1; there are 6.12, 6.1, 7.2 and 6.12-debug" ;;
	esac
}

wants()
{
	[[ " ${KERNELS[*]} " == *" $1 "* ]]
}

# 7.2's headers insist on a compiler that no stable release has.
needs_chroot()
{
	[ "$1" = 7.2 ]
}

# ---- tools of the machine ---------------------------------------------------

missing_tools()
{
	local t

	for t in "${TOOLS[@]}"; do
		PATH=$PATH:/usr/sbin:/sbin command -v "${t%%:*}" >/dev/null ||
			echo "${t#*:}"
	done
	# /usr/bin/python3 by name: a python of the user's own elsewhere in
	# PATH does not see the distribution's modules.
	/usr/bin/python3 -c 'import argcomplete' 2>/dev/null || echo python3-argcomplete
	/usr/bin/python3 -c 'import requests' 2>/dev/null || echo python3-requests
	/usr/bin/python3 -c 'import pkg_resources' 2>/dev/null || echo python3-pkg-resources
	[ -e /usr/include/stdio.h ] || echo libc6-dev
	! wants 7.2 || command -v mmdebstrap >/dev/null || echo mmdebstrap
	if wants 6.12-debug; then
		command -v flex >/dev/null || echo flex
		command -v bison >/dev/null || echo bison
		[ -e /usr/include/libelf.h ] || echo libelf-dev
	fi
	# objtool and modpost of the fetched headers are linked with these.
	ldconfig_has libelf.so.1 || echo libelf1
	ldconfig_has libssl.so.3 || echo libssl3
}

ldconfig_has()
{
	# Not through "grep -q": it leaves early, and pipefail then takes the
	# broken pipe for a no.
	[[ $(PATH=$PATH:/usr/sbin:/sbin ldconfig -p) == *"$1 "* ]]
}

install_tools()
{
	local want

	mapfile -t want < <(missing_tools | sort -u)
	[ ${#want[@]} -gt 0 ] || return 0

	command -v apt-get >/dev/null ||
		die "not a Debian or Ubuntu machine; please install: ${want[*]}"
	say "setup: installing ${want[*]}"
	as_root apt-get -qq update
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 \
		install --no-install-recommends "${want[@]}" >"$BUILD/apt-install.log" 2>&1 || {
		tail -n 20 "$BUILD/apt-install.log" >&2
		die "apt-get could not install the packages"
	}
	mapfile -t want < <(missing_tools | sort -u)
	[ ${#want[@]} -eq 0 ] || die "still missing after installation: ${want[*]}"
}

# ---- a private apt, so that the machine's own is left alone --------------------

# Prints "main" and "security" with the addresses the machine itself uses.
machine_mirrors()
{
	# shellcheck disable=SC2016  # apt's own placeholders
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 2>/dev/null |
	awk '$3 != "main" { next }
	     $2 ~ /-security$/ || $2 ~ /\/updates$/ { if (!s) s = $1; next }
	     $2 ~ /^(bookworm|trixie|forky|sid|stable|testing|unstable)$/ { if (!m) m = $1 }
	     END { if (m) print "main", m; if (s) print "security", s }'
}

apt_setup()
{
	local mirrors main security key ubuntu=n suite

	[ -e "$APT/ready.$LAYOUT" ] && return 0

	# shellcheck disable=SC1091
	[ "$(. /etc/os-release && echo "$ID")" = ubuntu ] && ubuntu=y
	mirrors=$(machine_mirrors)
	main=${DEBIAN_MIRROR:-$(awk '$1 == "main" { print $2 }' <<<"$mirrors")}
	security=${DEBIAN_SECURITY_MIRROR:-$(awk '$1 == "security" { print $2 }' <<<"$mirrors")}

	if [ "$ubuntu" = y ]; then
		# Ubuntu's archive has none of these packages. debootstrap knows
		# the address of Debian's and its keys come with it.
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y install \
			--no-install-recommends debootstrap debian-archive-keyring >/dev/null
		main=${DEBIAN_MIRROR:-$(sed -n 's/^default_mirror[[:space:]]*//p' \
			/usr/share/debootstrap/scripts/sid | head -n 1)}
		security=${DEBIAN_SECURITY_MIRROR:-}
	fi
	[ -n "$main" ] || die "no Debian mirror in the apt sources; set DEBIAN_MIRROR"

	for key in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
		[ -e "$key" ] && break
	done
	[ -e "$key" ] || die "the package debian-archive-keyring is missing"

	rm -rf "$APT"
	mkdir -p "$APT"/{lists/partial,cache/archives/partial,etc/preferences.d,debs}
	for suite in bookworm bookworm-backports trixie sid; do
		echo "deb [signed-by=$key] $main $suite main"
	done >"$APT/etc/sources.list"
	[ -z "$security" ] ||
		echo "deb [signed-by=$key] $security bookworm-security main" \
			>>"$APT/etc/sources.list"

	# Check-Valid-Until: backports of an old release are no longer signed anew.
	cat >"$APT/apt.conf" <<-END
	Dir::State "$APT";
	Dir::State::status "/dev/null";
	Dir::Cache "$APT/cache";
	Dir::Etc "$APT/etc";
	Dir::Etc::parts "/dev/null";
	Acquire::Check-Valid-Until "false";
	Acquire::Languages "none";
	Acquire::Retries "3";
	APT::Architecture "amd64";
	APT::Architectures { "amd64"; };
	APT::Sandbox::User "";
	END
	say "setup: reading the package lists of bookworm, bookworm-backports, trixie and sid"
	private_apt apt-get -qq update || die "apt-get update failed"
	touch "$APT/ready.$LAYOUT"
}

private_apt()
{
	APT_CONFIG=$APT/apt.conf "$@"
}

# Version of package $1 in the first of the suites that follow, if its version
# starts with $2.
package_version()
{
	local package=$1 prefix=$2 suite v

	shift 2
	for suite; do
		v=$(private_apt apt-cache madison "$package" |
			awk -F' *[|] *' -v s=" $suite/main" -v p="$prefix" '
				index($3, s) && index($2, p) == 1 { print $2; exit }')
		[ -z "$v" ] || { echo "$v"; return 0; }
	done
	return 1
}

# Names in the Depends field of package $1, first alternative only.
depends()
{
	private_apt apt-cache show "$1" | sed -n 's/^Depends: //p' | head -n 1 |
		tr ',' '\n' | sed 's/[|].*//; s/(.*//; s/[[:space:]]//g'
}

# Downloads packages, each PACKAGE or PACKAGE=VERSION, into an empty directory.
download()
{
	local dir=$1

	shift
	rm -rf "$dir"
	mkdir -p "$dir"
	(cd "$dir" && private_apt apt-get -qq download "$@") ||
		{ # The lists may be older than the archive.
		  private_apt apt-get -qq update
		  (cd "$dir" && private_apt apt-get -qq download "$@"); } ||
		die "could not download $*"
}

# ---- kernels ---------------------------------------------------------------------

kernel_ready()
{
	[ "$(cat "$BUILD/kernels/$1/layout" 2>/dev/null)" = "$LAYOUT" ]
}

kernel_fetch()
{
	local series=$1 suites version release tree=$BUILD/kernels/$1

	case $series in
	*-debug) kselftest_fetch; "$ROOT/scripts/debug-kernel.sh"; return ;;
	esac
	kernel_ready "$series" && return 0
	suites=$(kernel_suites "$series")
	apt_setup

	# The metapackage leads to the newest release of a suite.
	# shellcheck disable=SC2086  # a list
	version=$(package_version linux-headers-amd64 "$series." $suites) ||
		die "the mirror has no kernel $series in: $suites"
	release=$(depends "linux-headers-amd64=$version" |
		sed -n 's/^linux-headers-\([0-9]\)/\1/p')
	[ -n "$release" ] || die "cannot tell the release of kernel $series"

	as_root rm -rf "$tree"
	mkdir -p "$tree/tree"
	kernel_unpack "$series" "$release"
	! needs_chroot "$series" || "$ROOT/scripts/chroot-kernel.sh" fetch "$series" \
		"$release" "$(awk '/ sid main$/ { print $(NF - 2) }' "$APT/etc/sources.list")"

	if ! [ -e "$tree/vmlinuz" ] || ! [ -e "$tree/kdir/.config" ]; then
		die "kernel $release was not laid out as expected below $tree"
	fi
	echo "$release" >"$tree/release"
	echo "$LAYOUT" >"$tree/layout"
}

# Image and modules, and the headers unless they are for a chroot
kernel_packages()
{
	local series=$1 release=$2 image=linux-image-$2

	if needs_chroot "$series"; then
		echo "linux-binary-$release" "linux-modules-$release"
		return
	fi
	private_apt apt-cache show "$image-unsigned" >/dev/null 2>&1 &&
		image=$image-unsigned
	echo "$image" "linux-headers-$release"
	depends "linux-headers-$release" | grep -E '^linux-(headers|kbuild|compiler)-'
}

kernel_unpack()
{
	local series=$1 release=$2 deb image tree=$BUILD/kernels/$1

	say "setup: kernel $release: downloading (about 120 MB)"
	# shellcheck disable=SC2046  # a list
	download "$APT/debs/$series" $(kernel_packages "$series" "$release")

	say "setup: kernel $release: unpacking"
	for deb in "$APT/debs/$series"/*.deb; do
		dpkg-deb -x "$deb" "$tree/tree"
	done
	rm -rf "$APT/debs/$series"

	# Where /usr is merged the modules are in there, and so is the image.
	[ -e "$tree/tree/lib" ] || ln -s usr/lib "$tree/tree/lib"
	for image in "boot/vmlinuz-$release" "usr/lib/modules/$release/vmlinuz"; do
		[ ! -e "$tree/tree/$image" ] || ln -sfn "tree/$image" "$tree/vmlinuz"
	done
	depmod -a -b "$tree/tree" "$release" 2>/dev/null ||
		/sbin/depmod -a -b "$tree/tree" "$release"

	needs_chroot "$series" && return
	headers_relocate "$tree/tree" "$release"
	ln -s "tree/usr/src/linux-headers-$release" "$tree/kdir"
}

# Debian's header packages name each other by absolute path. Make them find each
# other wherever the tree is.
headers_relocate()
{
	local tree=$1 release=$2 link to
	local headers=$tree/usr/src/linux-headers-$release

	sed -i "s,^include /usr/src/,include \$(dir \$(realpath \$(lastword \$(MAKEFILE_LIST))))../," \
		"$headers/Makefile"
	grep -rlI "/usr/src/linux-headers" "$headers" --include=Makefile >&2 &&
		die "absolute paths are left in the headers of $release"

	find "$tree" -type l -lname '/*' | while read -r link; do
		to=$(readlink "$link")
		[ -e "$tree$to" ] || continue
		ln -sfnr "$tree$to" "$link"
	done
}

# ---- virtme-ng -------------------------------------------------------------------

# Debian 12 has no virtme-ng; trixie's is arch-independent and runs there.
vng_fetch()
{
	local version init=$BUILD/virtme-ng/usr/lib/python3/dist-packages/virtme/guest/virtme-init

	[ "$(cat "$BUILD/virtme-ng/layout" 2>/dev/null)" = "$LAYOUT" ] && return 0
	apt_setup
	version=$(package_version virtme-ng "" trixie) || die "the mirror has no virtme-ng"
	say "setup: virtme-ng $version"
	download "$APT/debs/vng" "virtme-ng=$version"
	rm -rf "$BUILD/virtme-ng"
	mkdir -p "$BUILD/virtme-ng"
	dpkg-deb -x "$APT/debs/vng"/*.deb "$BUILD/virtme-ng"
	rm -rf "$APT/debs/vng"

	# Without KVM, udev's cold plug takes a third of the boot, and a bare
	# machine may have no udev at all. All it does for us is to name the
	# ports the guest's output goes through.
	# shellcheck disable=SC2016  # for the guest to expand
	sed -i '/^# Find udevd/,/^fi$/c\
modprobe -qa virtio_console virtio_rng 2>/dev/null\
mkdir -p /dev/virtio-ports\
for port in /sys/class/virtio-ports/*; do\
    ln -sf "../${port##*/}" "/dev/virtio-ports/$(< "$port/name")"\
done\
udevd=' "$init"
	sed -i 's/^if command -v systemd-tmpfiles .*/if false; then/' "$init"
	if ! bash -n "$init" || ! grep -q '^udevd=$' "$init" || ! grep -q '^if false' "$init"; then
		die "virtme-ng $version has another init than expected"
	fi

	cat >"$BUILD/vng" <<-'END'
	#!/bin/bash
	# Made by scripts/setup.sh: runs the unpacked virtme-ng.
	here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd -P)/virtme-ng
	export PYTHONPATH=$here/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
	export PATH=$here/usr/bin:$PATH:/usr/sbin:/sbin
	exec /usr/bin/python3 "$here/usr/bin/vng" "$@"
	END
	chmod +x "$BUILD/vng"
	echo "$LAYOUT" >"$BUILD/virtme-ng/layout"
}

# ---- kselftest -------------------------------------------------------------------

# The framework is part of the kernel source and packaged nowhere else. 6.12's is
# taken for every kernel: 6.1's has no KTAP helpers. Its runner exits with 0
# whatever happens, so check.sh reads the result lines.
kselftest_fetch()
{
	local version top dir=$BUILD/kselftest src=$BUILD/src t=tools/testing/selftests

	[ "$(cat "$dir/layout" 2>/dev/null)" = "$LAYOUT" ] && return 0
	apt_setup
	# shellcheck disable=SC2046  # a list
	version=$(package_version linux-source-6.12 6.12. $(kernel_suites 6.12)) ||
		die "the mirror has no linux-source-6.12"
	if [ "$(cat "$src/version" 2>/dev/null)" != "$version" ]; then
		say "setup: downloading the kernel source for kselftest (about 140 MB)"
		download "$APT/debs/source" "linux-source-6.12=$version"
		rm -rf "$src"
		mkdir -p "$src"
		dpkg-deb --fsys-tarfile "$APT/debs/source"/*.deb |
			tar -x -C "$src" --strip-components=3 --wildcards '*.tar.xz'
		rm -rf "$APT/debs/source"
		[ -e "$src/linux-source-6.12.tar.xz" ] || die "no tarball in linux-source-6.12"
		echo "$version" >"$src/version"
	fi

	say "setup: unpacking kselftest and the style checkers"
	rm -rf "$dir"
	mkdir -p "$dir"
	top=linux-source-6.12
	xz -dc -T0 "$src/$top.tar.xz" | tar -x -C "$dir" --strip-components=1 \
		"$top/$t/lib.mk" "$top/$t/run_kselftest.sh" "$top/$t/kselftest_install.sh" \
		"$top/$t/kselftest.h" "$top/$t/kselftest_harness.h" "$top/$t/kselftest" \
		"$top/$t/net/lib.sh" "$top/scripts/subarch.include" \
		"$top/scripts/checkpatch.pl" "$top/scripts/spelling.txt" \
		"$top/scripts/const_structs.checkpatch" "$top/scripts/kernel-doc" \
		"$top/scripts/faddr2line"
	[ -e "$dir/$t/kselftest/ktap_helpers.sh" ] || die "kselftest is incomplete"
	echo "$LAYOUT" >"$dir/layout"
}

# ------------------------------------------------------------------------------------

while [ $# -gt 0 ]; do
	case $1 in
	--no-kselftest) KSELFTEST=n ;;
	-h | --help) sed -n '4,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
	-*) die "unknown option $1" ;;
	*) KERNELS+=("$1") ;;
	esac
	shift
done
[ ${#KERNELS[@]} -gt 0 ] || KERNELS=("$DEFAULT_KERNEL")
for kernel in "${KERNELS[@]}"; do
	kernel_suites "$kernel" >/dev/null
done
[ "$(uname -m)" = x86_64 ] || die "only x86_64 machines are supported"

mkdir -p "$BUILD"
# Two set-ups at a time would unpack over each other.
if command -v flock >/dev/null; then
	exec 9>"$BUILD/.setup.lock"
	flock -n 9 || { say "setup: waiting for another set-up to finish"; flock 9; }
fi
install_tools
for kernel in "${KERNELS[@]}"; do
	kernel_fetch "$kernel"
done
vng_fetch
[ "$KSELFTEST" = n ] || kselftest_fetch
