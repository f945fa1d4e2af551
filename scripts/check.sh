#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the module and the plugin for a fetched kernel, runs the selftests on it
# in virtual machines, and says how they went:
#
#   scripts/check.sh [OPTION...] [TEST...]     default: all of selftests/
#
#   --kernel VERSION  6.12 (default), 6.1, 7.2, or 6.12-debug, which notices mistakes:
#                     there, scripts get four times as long, and memory that
#                     kmemleak finds lost afterwards counts as a failure
#   --jobs N          virtual machines at a time; default: one for each CPU of
#                     this machine, at most 2
#   --cpus N          CPUs in each; default: as many as the machine has for it,
#                     at most 2
#   --timeout SEC     for each script, instead of what it says itself
#   --self-check      instead of the selftests, run scripts whose verdict is known
#                     (failing, crashing the kernel, hanging, ...) and see that
#                     this is the verdict they get
#
# A TEST is the name of a script, with or without .sh. The last line is
# "N passed, N failed, N skipped", counting the cases in the scripts; the exit
# status is 0 only if none failed. Logs stay in build/check/VERSION/result/.
#
# A script may declare, in comments at its top:
#   # check: timeout SECONDS
#   # check: icount            needs vm.sh --icount, where idle time is free
#   # check: allow-dmesg REGEX  a kernel warning that it provokes

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

KERNEL=$DEFAULT_KERNEL
JOBS=
CPUS=
OVERRIDE_TIMEOUT=
SELF=n
WANTED=()
CLASSES=(plain icount)

# Seconds a guest gets to come up, and a script to end after its time ran out.
BOOT_TIME=400
GRACE=120

while [ $# -gt 0 ]; do
	case $1 in
	--kernel) KERNEL=$2; shift ;;
	--jobs) JOBS=$2; shift ;;
	--cpus) CPUS=$2; shift ;;
	--timeout) OVERRIDE_TIMEOUT=$2; shift ;;
	--self-check) SELF=y ;;
	-h | --help) sed -n '4,/^$/s/^# \{0,1\}//p' "$0"; exit 0 ;;
	-*) die "unknown option $1" ;;
	*) WANTED+=("${1%.sh}.sh") ;;
	esac
	shift
done
if [ -z "$JOBS" ]; then
	JOBS=$(nproc)
	[ "$JOBS" -le 2 ] || JOBS=2
fi
# More would only take turns, and what waits for the other then takes longer.
if [ -z "$CPUS" ]; then
	CPUS=$(($(nproc) / JOBS))
	[ "$CPUS" -le 2 ] || CPUS=2
	[ "$CPUS" -ge 1 ] || CPUS=1
fi

# Times as long as on a stock kernel.
SLOW=1
[[ $KERNEL != *-debug ]] || SLOW=4

RUN=$BUILD/check/$KERNEL
SOURCE=$ROOT/selftests
if [ "$SELF" = y ]; then
	RUN=$BUILD/check/self
	SOURCE=$RUN/source
	OVERRIDE_TIMEOUT=${OVERRIDE_TIMEOUT:-20}
	JOBS=1
	GRACE=40
fi

PASSED=0
FAILED=0
SKIPPED=0
FINISHED=n
SLOTS=()

# ---- the end, whatever led to it ------------------------------------------------

# shellcheck disable=SC2317  # called by trap
cleanup()
{
	local rc=$? pid

	for pid in "${SLOTS[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	[ ${#SLOTS[@]} -eq 0 ] || wait "${SLOTS[@]}" 2>/dev/null || true
	# Whoever reads only the last line must not take silence for success.
	[ "$FINISHED" = y ] ||
		printf '%d passed, %d failed, %d skipped\n' "$PASSED" $((FAILED + 1)) "$SKIPPED"
	exit "$rc"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

finish()
{
	# The guests use the files of this machine.
	if [ "$FAILED" -gt 0 ] && [ /var/lib/dpkg/status -nt "$RUN/started" ]; then
		warn "packages were installed meanwhile; programs in the guests may have crashed"
	fi
	FINISHED=y
	printf '%d passed, %d failed, %d skipped\n' "$PASSED" "$FAILED" "$SKIPPED"
	[ "$FAILED" -eq 0 ] || exit 1
	exit 0
}

row()
{
	printf '%-24s %6s %6s %6s %7s  %s\n' "$@"
}

# ---- building --------------------------------------------------------------------

# sparse is not for kernels that need a chroot: their headers lack what calls it.
compile()
{
	local dir=$1 args=(-j "$(nproc)" SELFTEST=1 W=1 KCFLAGS=-g)

	if [ -d "$BUILD/kernels/$KERNEL/root" ]; then
		"$ROOT/scripts/chroot-kernel.sh" make "$KERNEL" "$dir" "${args[@]}" modules &&
			make -C "$dir" plugin
	else
		make -C "$dir" "${args[@]}" C=1 CF=-D__CHECK_ENDIAN__ \
			KDIR="$BUILD/kernels/$KERNEL/kdir"
	fi
}

# In a copy: kernels must not trample on each other's objects, and a full build
# is the only one that shows all warnings. Through the Makefile, as users do.
build()
{
	local dir=$BUILD/module/$KERNEL log=$RUN/build.log start=$SECONDS rc=0 odd

	rm -rf "$dir"
	mkdir -p "$dir"
	cp -r "$ROOT"/{Kbuild,Makefile,driver,uapi} "$dir"
	compile "$dir" >"$log" 2>&1 </dev/null || rc=$?

	odd=$(grep -E '(warning|error|Error)\b' "$log" |
		grep -v 'the compiler differs from the one used' || true)
	if [ "$rc" -ne 0 ]; then
		tail -n 40 "$log" >&2
		odd=${odd:-make failed}
	fi
	if [ -n "$odd" ]; then
		row "(build)" 0 1 0 $((SECONDS - start)) "see ${log#"$ROOT/"}"
		head -n 20 <<<"$odd" | sed 's/^/    /'
		FAILED=$((FAILED + 1))
	else
		row "(build W=1 C=1)" 1 0 0 $((SECONDS - start)) ""
		PASSED=$((PASSED + 1))
	fi
	[ "$rc" -eq 0 ] || finish
	cp "$dir/cmptun.ko" "$RUN/cmptun.ko"
	cp -r "$dir/build/ip" "$RUN/ip"
	[[ $(modinfo -F vermagic "$RUN/cmptun.ko") == "$(kernel_release "$KERNEL") "* ]] ||
		die "the module is not for kernel $KERNEL: $(modinfo -F vermagic "$RUN/cmptun.ko")"
}

# ---- staging ---------------------------------------------------------------------

# The framework finds itself and "settings" only in the layout it has in the
# kernel, so the scripts are put into a copy of that and installed from there.
stage()
{
	local tree=$RUN/selftests make_args

	mkdir -p "$tree"
	cp -r "$BUILD/kselftest/tools/testing/selftests/." "$tree"
	cp -r "$SOURCE" "$tree/cmptun"
	make_args=(-s --no-print-directory -C "$tree/cmptun" OUTPUT="$tree/cmptun"
		   SRC_PATH="$tree" OBJ_PATH="$RUN/install")

	mkdir -p "$RUN/install/kselftest"
	cp "$tree"/kselftest/* "$RUN/install/kselftest"
	cp "$tree/run_kselftest.sh" "$RUN/install"
	make "${make_args[@]}" INSTALL_PATH="$RUN/install/cmptun" install >"$RUN/stage.log" 2>&1 || {
		cat "$RUN/stage.log" >&2
		die "the selftests could not be staged"
	}
	make "${make_args[@]}" COLLECTION=cmptun emit_tests >"$RUN/install/kselftest-list.txt"
}

# A script that nobody lists is never run, and nobody would notice.
check_listed()
{
	local path name

	for path in "$SOURCE"/*.sh; do
		name=${path##*/}
		case $name in
		lib*.sh) continue ;;
		esac
		grep -qx "cmptun:$name" "$RUN/install/kselftest-list.txt" && continue
		row "$name" 0 1 0 0 "not in TEST_PROGS of selftests/Makefile"
		FAILED=$((FAILED + 1))
	done
}

declared()
{
	sed -n "s/^# check: $2 *//p" "$RUN/install/cmptun/$1"
}

script_timeout()
{
	local own

	own=$(declared "$1" timeout)
	[ -n "$own" ] || own=$(sed -n 's/^timeout=//p' "$RUN/install/cmptun/settings" 2>/dev/null)
	echo "${OVERRIDE_TIMEOUT:-$((SLOW * ${own:-45}))}"
}

make_queues()
{
	local name class

	mapfile -t TESTS < <(sed 's/^cmptun://' "$RUN/install/kselftest-list.txt")
	for name in "${WANTED[@]}"; do
		[[ " ${TESTS[*]} " == *" $name "* ]] ||
			die "no test $name; there are: ${TESTS[*]%.sh}"
	done
	[ ${#WANTED[@]} -eq 0 ] || TESTS=("${WANTED[@]}")

	mkdir -p "$RUN"/{claim,result}
	for class in "${CLASSES[@]}"; do
		: >"$RUN/queue.$class"
	done
	for name in "${TESTS[@]}"; do
		class=plain
		! grep -q '^# check: icount' "$RUN/install/cmptun/$name" || class=icount
		echo "$name" >>"$RUN/queue.$class"
	done
	{
		echo "export CMPTUN_KO=$RUN/cmptun.ko IP_LIB_DIR=$RUN/ip"
		# shellcheck disable=SC2016  # for the guest
		echo '[ "$VM_ACCEL" != icount ] || export CMPTUN_ICOUNT=1'
		for name in "${TESTS[@]}"; do
			echo "TIMEOUT[$name]=$(script_timeout "$name")"
		done
		echo "export CMPTUN_PATIENCE=$SLOW"
	} >"$RUN/env"
}

# ---- virtual machines ------------------------------------------------------------

unclaimed()
{
	local name

	while read -r name; do
		[ -e "$RUN/claim/$name" ] || echo "$name"
	done <"$RUN/queue.$1"
}

# The script that the guest of slot $1 is at, if any.
at_work()
{
	local claim name

	for claim in "$RUN"/claim/*; do
		name=${claim##*/}
		[ "$(cat "$claim/slot" 2>/dev/null)" = "$1" ] || continue
		[ -e "$RUN/result/$name.done" ] || [ -e "$RUN/result/$name.died" ] ||
			echo "$name"
	done
}

# One guest at a time, as long as there are scripts that nobody took. A guest
# that died takes only the script it was at with it.
slot()
{
	local n=$1 class id boots=0 idle vm name rc started count
	local -a order=("${CLASSES[@]}") options

	vm=
	trap '[ -z "$vm" ] || { kill "$vm"; wait "$vm"; } 2>/dev/null; exit 143' TERM INT HUP
	# The second slot begins at the other end.
	[ $((n % 2)) -eq 0 ] || order=(icount plain)

	idle=0
	for class in "${order[@]}"; do
		while [ -n "$(unclaimed "$class")" ]; do
			boots=$((boots + 1))
			id=$n.$boots
			options=(--kernel "$KERNEL" --rwdir "$RUN" --console "$RUN/console.$id"
				 --timeout 86400)
			if [ "$class" = icount ]; then
				options+=(--icount)
			else
				options+=(--cpus "$CPUS")
			fi
			count=$(find "$RUN/claim" -mindepth 1 -maxdepth 1 | wc -l)
			"$ROOT/scripts/vm.sh" "${options[@]}" -- \
				"$ROOT/scripts/check-guest.sh" "$RUN" "$class" "$id" \
				>"$RUN/vm.$id.log" 2>&1 &
			vm=$!
			started=$SECONDS
			watch_guest "$vm" "$id" "$started"
			rc=0
			wait "$vm" || rc=$?
			vm=

			name=$(at_work "$id")
			if [ -n "$name" ]; then
				console_of "$id" >"$RUN/result/$name.console"
				[ -e "$RUN/hung.$id" ] ||
					echo "the guest died (status $rc)" >"$RUN/hung.$id"
				mv "$RUN/hung.$id" "$RUN/result/$name.died"
				idle=0
			elif [ -e "$RUN/end.$id" ]; then
				idle=0
			elif [ "$(find "$RUN/claim" -mindepth 1 -maxdepth 1 | wc -l)" = "$count" ]; then
				# It may not be our fault, but not twice.
				idle=$((idle + 1))
				[ "$idle" -lt 2 ] || return 1
			fi
		done
	done
}

# Ends a guest that does not come up, or whose script is long out of time.
watch_guest()
{
	local vm=$1 id=$2 started=$3 name last=$3

	while kill -0 "$vm" 2>/dev/null; do
		sleep 1
		name=$(at_work "$id")
		if [ -z "$name" ]; then
			[ $((SECONDS - last)) -gt "$BOOT_TIME" ] || continue
			echo "the guest does not answer" >"$RUN/hung.$id"
		else
			last=$SECONDS
			started=$(stat -c %Y "$RUN/claim/$name")
			[ $(($(date +%s) - started)) -gt $(($(script_timeout "$name") + GRACE)) ] ||
				continue
			echo "the guest hung" >"$RUN/hung.$id"
		fi
		kill "$vm" 2>/dev/null || true
		return 0
	done
}

# What the console said since the last script began.
console_of()
{
	awk '/cmptun check: .* starts/ { text = "" } { text = text $0 "\n" }
	     END { printf "%s", text }' "$RUN/console.$1" | tail -n 80
}

# ---- judging ---------------------------------------------------------------------

# Reads a script's log and prints "passed N", "failed WHAT" and "skipped WHAT"
# lines. Trusts nothing by itself: the plan, the lines, and the script's exit
# status, which the runner put into the last line, all have to agree.
judge_log()
{
	awk -v name="$1" '
	function result(what, text) { print what, text }
	# Lines of the script come prefixed by the runner.
	/^# 1\.\.[0-9]+/ && !planned {
		planned = 1
		plan = substr($2, 4) + 0
		if (plan == 0 && match($0, /# SKIP.*/) > 2)
			whole = substr($0, RSTART + 7)
		next
	}
	/^# # [Ss]kipped: / { reason = $0; sub(/^# # [Ss]kipped: */, "", reason); next }
	/^# ok [0-9]+/ {
		seen++
		text = $0
		sub(/^# ok [0-9]+ *(- )?/, "", text)
		if (match(text, /# SKIP/)) {
			own = substr(text, RSTART + 6)
			sub(/ *# SKIP.*/, "", text)
			sub(/^ +/, "", own)
			if (own != "")
				reason = own
			if (reason == "")
				result("failed", text ": skipped without a reason")
			else
				result("skipped", text ": " reason)
		} else {
			good++
		}
		reason = ""
		next
	}
	/^# not ok [0-9]+/ {
		seen++
		bad++
		text = $0
		sub(/^# not ok [0-9]+ *(- )?/, "", text)
		result("failed", text)
		reason = ""
		next
	}
	/^# Bail out!/ { result("failed", substr($0, 3)); bad++; next }
	/^ok [0-9]+ selftests: cmptun: / { verdict = "ok" }
	/^ok [0-9]+ selftests: cmptun: .*# SKIP/ { verdict = "skip" }
	/^not ok [0-9]+ selftests: cmptun: / {
		verdict = "not ok"
		why = $0
		if (!sub(/.*# /, "", why))
			why = "failed"
	}
	END {
		if (verdict == "") {
			result("failed", "no verdict: the script did not end")
		} else if (verdict == "skip") {
			if (seen == 0 && whole == "")
				result("failed", "skipped without a reason")
			else if (seen == 0)
				result("skipped", "all: " whole)
		} else if (verdict == "not ok" && !bad) {
			result("failed", "the script: " why)
		} else if (verdict == "not ok" && why ~ /TIMEOUT/) {
			result("failed", "the script: " why)
		}
		if (verdict == "ok" && seen == 0)
			good++
		if (verdict != "" && seen > 0 && !planned)
			result("failed", "no plan")
		if (planned && seen != plan)
			result("failed", plan " cases planned, " seen + 0 " seen")
		print "passed", good + 0
	}' "$2"
}

# Prints the row of script $1, and what is worth knowing of it.
judge()
{
	local name=$1 base=$RUN/result/$1 verdicts=$RUN/result/$1.verdicts
	local pass fail skip seconds=- rc=

	if [ -e "$base.done" ]; then
		read -r rc seconds <"$base.done"
		judge_log "$name" "$base.log" >"$verdicts"
		[ "$rc" = 0 ] || echo "failed the runner exited with $rc" >>"$verdicts"
		[ ! -s "$base.dmesg" ] ||
			echo "failed the kernel log has new warnings" >>"$verdicts"
		[ ! -s "$base.leaks" ] ||
			echo "failed memory was lost: $(grep -c ^unreferenced "$base.leaks") objects" >>"$verdicts"
		[ ! -s "$base.left" ] ||
			echo "failed something was left behind: $(paste -sd ';' "$base.left")" >>"$verdicts"
	else
		{ judge_log "$name" "$base.log" 2>/dev/null || true; } |
			grep -v '^failed.* did not end$\|^failed.*cases planned' >"$verdicts" || true
		echo "failed $(cat "$base.died")" >>"$verdicts"
	fi

	pass=$(awk '$1 == "passed" { n += $2 } END { print n + 0 }' "$verdicts")
	fail=$(grep -c '^failed' "$verdicts" || true)
	skip=$(grep -c '^skipped' "$verdicts" || true)
	row "${name%.sh}" "$pass" "$fail" "$skip" "$seconds" ""
	sed -n 's/^skipped /    skipped: /p; s/^failed /    FAILED: /p' "$verdicts"
	# In a self-check, failing is as it should be.
	if [ "$fail" -gt 0 ] && [ "$SELF" = n ]; then
		show "log, last 60 lines of ${base#"$ROOT/"}.log" "$base.log" 60
		show "kernel" "$base.dmesg" 80
		show "lost memory" "$base.leaks" 80
		show "console" "$base.console" 60
	fi
	PASSED=$((PASSED + pass))
	FAILED=$((FAILED + fail))
	SKIPPED=$((SKIPPED + skip))
}

show()
{
	[ -s "$2" ] || return 0
	echo "    ---- $1:"
	tail -n "$3" "$2" | decode | sed 's/^/    | /'
}

# Puts file and line behind each place in the module that the kernel names.
decode()
{
	local line place='([a-zA-Z0-9_.]+\+0x[0-9a-f]+/0x[0-9a-f]+) \[cmptun\]'

	while IFS= read -r line; do
		printf '%s\n' "$line"
		[[ $line =~ $place ]] || continue
		"$BUILD/kselftest/scripts/faddr2line" "$RUN/cmptun.ko" "${BASH_REMATCH[1]}" \
			2>/dev/null | sed -n 's/^[^+]* at / at /p; s/^ *(inlined/ &/p' | tail -n 8
	done
}

# Starts the slots and prints rows as scripts end.
run_all()
{
	local n name pid alive
	local -A shown=()

	row script passed failed skipped seconds ""
	for ((n = 0; n < JOBS; n++)); do
		slot "$n" 8>&- &
		SLOTS+=($!)
	done
	while :; do
		alive=n
		for pid in "${SLOTS[@]}"; do
			! kill -0 "$pid" 2>/dev/null || alive=y
		done
		for name in "${TESTS[@]}"; do
			[ -z "${shown[$name]:-}" ] || continue
			[ -e "$RUN/result/$name.done" ] || [ -e "$RUN/result/$name.died" ] || continue
			shown[$name]=y
			judge "$name"
		done
		[ "$alive" = y ] || break
		sleep 1
	done
	for name in "${TESTS[@]}"; do
		[ -z "${shown[$name]:-}" ] || continue
		echo "was not run: the guests did not come up" >"$RUN/result/$name.died"
		judge "$name"
		tail -n 20 "$RUN"/vm.*.log | sed 's/^/    | /'
	done
}

# ---- does the judge judge? -------------------------------------------------------

self_script()
{
	{
		echo '#!/bin/bash'
		echo '# SPDX-License-Identifier: GPL-2.0'
		cat
	} >"$SOURCE/$1.sh"
	chmod +x "$SOURCE/$1.sh"
	EXPECT[$1]="$2 $3 $4"
}

# Each with the passed, failed and skipped it must get.
self_scripts()
{
	declare -gA EXPECT=()

	mkdir -p "$SOURCE"
	self_script a_good 2 0 0 <<-'END'
	echo 1..2; echo ok 1 one; echo ok 2 two
	END
	self_script b_case_fails 1 1 0 <<-'END'
	echo 1..2; echo not ok 1 one; echo ok 2 two
	exit 0 # a liar
	END
	self_script c_exit_status 1 1 0 <<-'END'
	echo 1..1; echo ok 1 one
	exit 1
	END
	self_script d_stops_early 1 1 0 <<-'END'
	echo 1..3; echo ok 1 one
	END
	self_script e_panics 1 1 0 <<-'END'
	echo 1..2; echo ok 1 one
	sleep 1
	echo c >/proc/sysrq-trigger
	END
	self_script f_hangs 1 2 0 <<-'END'
	echo 1..2; echo ok 1 one
	sleep 1000
	END
	self_script g_warns 1 1 0 <<-'END'
	echo 1..1; echo '<4>self-check: something is odd' >/dev/kmsg; echo ok 1 one
	END
	self_script h_leaves_things 1 1 0 <<-'END'
	echo 1..1; echo ok 1 one
	ip netns add forgotten
	sleep 1000 >/dev/null 2>&1 &
	END
	self_script i_skips 1 0 1 <<-'END'
	echo 1..2; echo ok 1 one; echo "ok 2 two # SKIP no such thing here"
	END
	self_script j_skips_all 0 0 1 <<-'END'
	echo "1..0 # SKIP needs a tool"
	exit 4
	END
	self_script k_skips_silently 0 1 0 <<-'END'
	exit 4
	END
	self_script l_hangs_the_guest 1 1 0 <<-'END'
	echo 1..2; echo ok 1 one
	sleep 1
	# Whoever could end it in time is stopped.
	for p in /proc/[0-9]*; do
		[ "$p" = "/proc/$$" ] || [ -z "$(tr -d '\0' <"$p/cmdline")" ] || kill -STOP "${p#/proc/}"
	done
	sleep 1000
	END
	self_script m_holds_the_pipe 1 1 0 <<-'END'
	echo 1..1; echo ok 1 one
	sleep 1000 &
	END
	# shellcheck disable=SC2016  # for make
	printf '%s\n' '# SPDX-License-Identifier: GPL-2.0' \
		'TEST_PROGS := $(sort $(wildcard *.sh))' 'include ../lib.mk' >"$SOURCE/Makefile"
	echo "timeout=$OVERRIDE_TIMEOUT" >"$SOURCE/settings"
}

self_verdict()
{
	local name got verdicts good=0 bad=0

	echo
	for name in "${!EXPECT[@]}"; do
		verdicts=$RUN/result/$name.sh.verdicts
		got="$(awk '$1 == "passed" { n += $2 } END { print n + 0 }' "$verdicts") \
$(grep -c ^failed "$verdicts" || true) $(grep -c ^skipped "$verdicts" || true)"
		if [ "$got" = "${EXPECT[$name]}" ]; then
			good=$((good + 1))
		else
			bad=$((bad + 1))
			echo "self-check: $name got $got (passed, failed, skipped) instead of ${EXPECT[$name]}"
		fi
	done
	PASSED=$good
	FAILED=$bad
	SKIPPED=0
}

# ----------------------------------------------------------------------------------

"$ROOT/scripts/setup.sh" "$KERNEL"

# Two runs on one kernel would take each other's files away.
mkdir -p "$BUILD/check"
exec 8>"$RUN.lock"
flock -n 8 || die "another check is running in ${RUN#"$ROOT/"}"
rm -rf "$RUN"
mkdir -p "$RUN"
touch "$RUN/started"

echo "cmptun check: kernel $(kernel_release "$KERNEL"), $JOBS virtual machine(s) at a time"
if [ "$SELF" = y ]; then
	self_scripts
else
	build
fi
stage
[ "$SELF" = y ] || [ ${#WANTED[@]} -gt 0 ] || check_listed
make_queues
run_all
if [ "$SELF" = y ]; then
	self_verdict
fi
finish
