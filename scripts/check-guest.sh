#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The part of check.sh that runs in the guest: takes scripts from the queue that
# all guests share until none is left, and writes down what came of each.
#
#   scripts/check-guest.sh RUN CLASS SLOT
#
# RUN is a folder of the host:
#   install/        kselftest installation, see check.sh
#   queue.CLASS     scripts to run, in order
#   env             settings for the scripts
#   claim/NAME      made by the guest that takes the script; holds its slot
#   result/NAME.*   log (KTAP), dmesg (new warnings), leaks (memory lost), left
#                   (what was not tidied up), and at last done
#
# Everything is written as it comes, so that a guest that dies loses nothing.

set -uo pipefail

RUN=$1
CLASS=$2
SLOT=$3
RESULT=$RUN/result
GROUP=/sys/fs/cgroup/selftest

# What a slow virtual machine makes the kernel say, and what it says of any
# module from elsewhere.
NOISE='clocksource|hrtimer: interrupt took|hogged CPU for|perf: interrupt took'
NOISE+='|[Tt][Ss][Cc] |loading out-of-tree module|module verification failed'
NOISE+='|not responding, timed out|random: crng|kselftest: Running tests in|selftest [a-z0-9_]* [0-9 ]* starts'

KMEMLEAK=/sys/kernel/debug/kmemleak

declare -A TIMEOUT
# shellcheck source=/dev/null
. "$RUN/env"

# Scripts may declare, in a comment: "check: KEY VALUE".
declared()
{
	sed -n "s/^# check: $2 *//p" "$RUN/install/cmptun/$1"
}

# What the kernel complained of since the script began.
new_warnings()
{
	local allow

	allow=$(declared "$1" allow-dmesg | paste -sd '|')
	dmesg --level=emerg,alert,crit,err,warn |
		awk -v mark="cmptun check: $1 starts" '
			{ all = all $0 "\n" }
			index($0, mark) { all = "" }
			END { printf "%s", all }' |
		grep -vE "$NOISE${allow:+|$allow}"
}

# Less those that the kernel's tunnel modules make when they are loaded.
links()
{
	ip -o link show | awk -F'[:@] *' '{ print $2 }' |
		grep -vE '^(tunl|sit|ip6tnl|gre|gretap|erspan|ip6gre|ip_vti|ip6_vti)0$' |
		sort
}

# Where the kernel can tell. What is younger than five seconds it does not
# report, and one scan alone may miss what a CPU was just working on.
lost_memory()
{
	[ -w $KMEMLEAK ] || return 0
	sleep 6
	echo scan >$KMEMLEAK
	echo scan >$KMEMLEAK
	cat $KMEMLEAK
	echo clear >$KMEMLEAK
}

left_behind()
{
	local pid

	while read -r pid; do
		echo "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -c1-100)"
	done <"$GROUP/cgroup.procs"
	ip netns list | sed 's/^/network namespace /'
	links | comm -13 "$RUN/links.$SLOT" - | sed 's/^/device /'
}

# What a script leaves running may hold the pipe that the runner reads, which
# would then wait for ever. Long after the script's time it is ended, and named.
end_leftovers()
{
	sleep "$1"
	left_behind >"$2"
	echo 1 >$GROUP/cgroup.kill
}

run_one()
{
	local name=$1 rc watchdog start=$EPOCHREALTIME timeout=${TIMEOUT[$1]}

	# As an error, so that it is on the console and among the warnings.
	echo "<3>cmptun check: $name starts" >/dev/kmsg

	# In a control group, for nothing that the script starts can leave it.
	# Piped, because the runner both appends to /dev/stdout and writes to it.
	mkdir -p $GROUP
	end_leftovers $((timeout + 30)) "$RESULT/$name.held" &
	watchdog=$!
	(
		echo "$BASHPID" >$GROUP/cgroup.procs
		cd "$RUN/install" || exit 1
		exec bash ./run_kselftest.sh -o "$timeout" -t "cmptun:$name"
	) > >(exec cat >"$RESULT/$name.log") 2>&1
	rc=$?
	kill $watchdog 2>/dev/null
	# Let what was just told to end do so, and the pipe run dry.
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ -s $GROUP/cgroup.procs ] || [ -n "$(ip netns list)" ] || break
		sleep 0.2
	done
	left_behind >"$RESULT/$name.left"
	[ ! -e "$RESULT/$name.held" ] || mv "$RESULT/$name.held" "$RESULT/$name.left"
	echo 1 2>/dev/null >$GROUP/cgroup.kill
	ip -all netns delete 2>/dev/null
	! grep -q ^cmptun /proc/modules || [ "$(cat /sys/module/cmptun/refcnt)" != 0 ] ||
		rmmod cmptun
	wait

	lost_memory >"$RESULT/$name.leaks"
	new_warnings "$name" >"$RESULT/$name.dmesg"
	echo "$rc $(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print int(b - a + .5) }')" \
		>"$RESULT/$name.end"
	mv "$RESULT/$name.end" "$RESULT/$name.done"
}

links >"$RUN/links.$SLOT"
lost_memory >/dev/null
while read -r name; do
	mkdir "$RUN/claim/$name" 2>/dev/null || continue
	echo "$SLOT" >"$RUN/claim/$name/slot"
	run_one "$name"
done <"$RUN/queue.$CLASS"
echo finished >"$RUN/end.$SLOT"
