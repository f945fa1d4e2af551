#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loading and unloading, with devices and traffic, and beside the modules that
# want the same packets.
# check: timeout 900
# shellcheck source-path=SCRIPTDIR source=lib_net.sh
. "$(dirname "$(readlink -f "$0")")/lib_net.sh"

require ip wg ping nsenter rmmod modinfo
load_module
setup_work
net_pair
make_keys

# Alone with the module, or other scripts would lose theirs
flock -n -x "$_lockfd" || skip_all "other selftests use the module"

loaded()
{
	insmod_cmptun && module_loaded
}

unloaded()
{
	rmmod cmptun && ! module_loaded && ! ipn A link show t0 2> /dev/null
}

case_alias()
{
	check_match "alias" "$(modinfo -F alias "$KO")" "rtnl-link-cmptun"
	check_match "license" "$(modinfo -F license "$KO")" "GPL"
}
add_case case_alias "ip link add finds the module"

case_loop()
{
	local i

	for ((i = 0; i < 20; i++)); do
		check "unload $i" rmmod cmptun
		check "load $i" loaded || return
	done
}
add_case case_loop "20 times in and out"

case_in_use()
{
	local mode

	for mode in ipip wg; do
		if [ $mode = ipip ]; then
			ipip_up A cmptun && ipip_up B cmptun
		else
			wg_up A cmptun && wg_up B cmptun
		fi
		check "$mode: ping" ping_ok A "${I4[B]}"
		bg on A ping -q -i 0.01 "${I4[B]}" > /dev/null 2>&1
		nap 0.3
		check "$mode: unload under traffic" unloaded
		bg_stop "$BG"
		check "$mode: load again" loaded || return
	done

	# Nobody answers: an initiation is out, a packet waits, timers run
	wg_up A cmptun
	ping_no A "${I4[B]}"
	check "unload in a handshake" unloaded
	check "the port is free" refuse_port A
	check "load again" loaded || return

	ip netns add "${P}Z"
	wg_up A cmptun
	ipn A link set t0 netns "${P}Z"
	check "unload, device elsewhere" rmmod cmptun
	ip netns del "${P}Z"
	check "load again" loaded
}
add_case case_in_use "out under traffic, in a handshake, with a moved device"

refuse_port()
{
	! on "$1" grep -q ":CA6C " /proc/net/udp
}

NEIGHBOURS=(ipip sit ip6_tunnel ip_vti ip6_vti xfrm4_tunnel xfrm6_tunnel
	    xfrm_interface)

case_neighbours()
{
	local mod there=()

	for mod in "${NEIGHBOURS[@]}"; do
		! modprobe -q "$mod" || there+=("$mod")
	done
	check_num "neighbours" ${#there[@]} -ge 4
	check "unload after them" rmmod cmptun
	check "load after them" loaded || return
	ipip_up A cmptun && ipip_up B cmptun
	check "works after them" ping_ok A "${I4[B]}"
	tun_down A B
	for mod in "${there[@]}"; do
		modprobe -qr "$mod" 2> /dev/null
		modprobe -q "$mod"
		[ -d "/sys/module/$mod" ] || fail "$mod does not load after us"
	done
	ipip_up A cmptun && ipip_up B cmptun
	check "works before them" ping_ok A "${I4[B]}"
	tun_down A B
}
add_case case_neighbours "beside ipip, sit and their kin, in either order"

run_cases "$@"
