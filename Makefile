# SPDX-License-Identifier: GPL-2.0
#
# What people type. Kbuild, beside this file, is what the kernel's build system
# reads; it lists objects and nothing else.

all: modules plugin

# ---- the kernel to build for ------------------------------------------------
#
# The running kernel's headers, else the newest installed, else those that
# `make setup` fetched. An empty KDIR is explained by check-headers.

newest = $(lastword $(shell ls -d $(1) 2>/dev/null | sort -V))
KDIR ?= $(or $(wildcard /lib/modules/$(shell uname -r)/build/.), \
	     $(call newest,/lib/modules/*/build/.), \
	     $(patsubst %/.config,%/.,$(call newest,/usr/src/linux-headers-*/.config)), \
	     $(wildcard $(CURDIR)/build/kernels/6.12/kdir/.))
override KDIR := $(patsubst %/.,%,$(strip $(KDIR)))
# From what goes into vermagic: Debian's kernel.release is another number.
RELEASE = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' \
		$(KDIR)/include/generated/utsrelease.h 2>/dev/null)

# W=, C=, CF=, LLVM=, CC=, V= and -j reach the kernel's build by themselves.
KBUILD = $(MAKE) -C $(KDIR) M=$(CURDIR)

# SELFTEST=1: the module tries itself out when it is loaded.
ifneq ($(filter-out 0 n,$(SELFTEST)),)
export CMPTUN_SELFTEST := y
endif

INSTALL_MOD_DIR ?= updates
DESTDIR ?=
PREFIX ?= /usr

.PHONY: all modules plugin check-headers check-config install modules_install \
	plugin_install load unload uninstall clean distclean help setup check \
	check-debug check-self demo style

modules: check-config
	+@$(KBUILD) modules

check-headers:
	@if [ -z "$(KDIR)" ]; then \
		echo "cmptun: no kernel headers found. Install linux-headers-$$(uname -r)," >&2; \
		echo "        or run 'make setup', or name a build tree: make KDIR=..." >&2; \
		exit 1; \
	elif ! [ -e "$(KDIR)/Makefile" ]; then \
		echo "cmptun: no kernel headers in KDIR=$(KDIR)." >&2; \
		echo "        Install linux-headers-$$(uname -r), or run 'make setup'." >&2; \
		exit 1; \
	fi

# Several options that the driver needs have no prompt: they are on when
# something visible selects them. So each is listed as NEEDED:VISIBLE.
NEEDS := MODULES:MODULES INET:INET IPV6:IPV6 \
	 NET_IP_TUNNEL:NET_IPIP INET_TUNNEL:NET_IPIP GRO_CELLS:NET_IPIP \
	 INET6_TUNNEL:IPV6_TUNNEL \
	 NET_UDP_TUNNEL:WIREGUARD DST_CACHE:WIREGUARD \
	 CRYPTO_LIB_CURVE25519:WIREGUARD \
	 CRYPTO_LIB_CHACHA20POLY1305:WIREGUARD

check-config: check-headers
	@conf=; \
	for f in "$(KDIR)/include/config/auto.conf" "$(KDIR)/.config"; do \
		[ -r "$$f" ] && conf=$$f && break; \
	done; \
	[ -n "$$conf" ] || { \
		echo "cmptun: $(KDIR) is not configured: it has no .config." >&2; exit 1; }; \
	lost=; \
	for need in $(NEEDS); do \
		grep -q "^CONFIG_$${need%:*}=[ym]" "$$conf" && continue; \
		[ "$${need%:*}" = "$${need#*:}" ] && why= || why=" (for $${need%:*})"; \
		echo "cmptun: the kernel lacks CONFIG_$${need#*:}$$why" >&2; \
		lost=y; \
	done; \
	[ -z "$$lost" ] || { \
		echo "cmptun: enable the options above in the kernel of $(KDIR)" >&2; exit 1; }

# ---- the plugin of ip(8) --------------------------------------------------------

PLUGIN := build/ip/link_cmptun.so
PLUGIN_CFLAGS ?= -O2 -Wall -Wextra

plugin: $(PLUGIN)

PLUGIN_SOURCES := $(sort $(wildcard uapi/iproute2/*.c))

$(PLUGIN): $(PLUGIN_SOURCES) $(wildcard uapi/iproute2/*.h uapi/linux/*.h)
	@mkdir -p $(@D)
	$(CC) $(PLUGIN_CFLAGS) -shared -fPIC -Iuapi -o $@ $(PLUGIN_SOURCES)

# Where ip looks for plugins is compiled into it and differs between
# distributions, so ip is asked; where the C library cannot tell, its text is.
PLUGIN_DIR ?= $(or $(shell LD_DEBUG=files env -u IP_LIB_DIR ip link help cmptun 2>&1 | \
		sed -n 's,.*file=\(.*\)/link_cmptun\.so .*,\1,p' | head -n 1), \
	$(shell grep -aoE '/usr/[A-Za-z0-9_./-]*/ip' "$$(command -v ip)" 2>/dev/null | \
		grep -E '/lib[^/]*/(.*/)?ip$$' | head -n 1))

# ---- installation ---------------------------------------------------------------

install: modules_install plugin_install

# A distribution keeps the key its modules are signed with to itself.
NO_SIGNING = $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)

modules_install: check-config
	@[ -e cmptun.ko ] || { echo "cmptun: not built yet; run make first" >&2; exit 1; }
	@$(KBUILD) modules_install INSTALL_MOD_DIR=$(INSTALL_MOD_DIR) \
		$(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) $(NO_SIGNING)
	$(if $(DESTDIR),,depmod -a $(RELEASE))

plugin_install: $(PLUGIN)
	@[ -n "$(PLUGIN_DIR)" ] || { \
		echo "cmptun: cannot tell where ip looks for plugins; set PLUGIN_DIR=" >&2; \
		exit 1; }
	install -D -m 0755 $(PLUGIN) $(DESTDIR)$(PLUGIN_DIR)/link_cmptun.so
	install -D -m 0644 uapi/linux/if_cmptun.h \
		$(DESTDIR)$(PREFIX)/include/linux/if_cmptun.h

uninstall:
	rm -f $(DESTDIR)/lib/modules/$(RELEASE)/$(INSTALL_MOD_DIR)/cmptun.ko*
	$(if $(PLUGIN_DIR),rm -f $(DESTDIR)$(PLUGIN_DIR)/link_cmptun.so)
	rm -f $(DESTDIR)$(PREFIX)/include/linux/if_cmptun.h
	$(if $(DESTDIR),,depmod -a $(RELEASE))

# insmod loads no dependencies, and modprobe only knows what is installed.
load:
	@[ -e cmptun.ko ] || { echo "cmptun: not built yet; run make first" >&2; exit 1; }
	@! [ -d /sys/module/cmptun ] || { \
		echo "cmptun: already loaded; run make unload first" >&2; exit 1; }
	@for m in $$(modinfo -F depends cmptun.ko | tr , ' '); do \
		modprobe $$m || exit 1; \
	done
	insmod cmptun.ko

unload:
	@! [ -d /sys/module/cmptun ] || { set -x; rmmod cmptun; }

# ---- trying it out -----------------------------------------------------------------

KERNEL ?= 6.12

setup:
	@scripts/setup.sh $(KERNEL)

check:
	@scripts/check.sh --kernel $(firstword $(KERNEL)) $(TESTS)

check-debug:
	@scripts/check.sh --kernel 6.12-debug $(TESTS)

check-self:
	@scripts/check.sh --self-check

demo:
	@scripts/demo.sh $(KERNEL)

CHECKPATCH ?= $(firstword $(wildcard build/kselftest/scripts/checkpatch.pl \
		$(KDIR)/scripts/checkpatch.pl $(KDIR)/source/scripts/checkpatch.pl))
C_FILES = $(wildcard driver/*.[ch] driver/*/*.[ch] driver/*/*/*.[ch] uapi/*/*.[ch])
SH_FILES = $(wildcard scripts/*.sh selftests/*.sh .ci/run)

style:
	@fail=; \
	if [ -n "$(CHECKPATCH)" ]; then \
		perl $(CHECKPATCH) --no-tree --strict --terse --quiet --no-summary \
			--ignore LINUX_VERSION_CODE --file $(C_FILES) || fail=y; \
	else \
		echo "style: no checkpatch.pl here; 'make setup' fetches it"; \
	fi; \
	if command -v sparse >/dev/null; then \
		rm -rf build/style && mkdir -p build/style && \
		cp -r Kbuild driver uapi build/style && \
		$(MAKE) -s -C $(KDIR) M=$(CURDIR)/build/style W=1 C=1 \
			CF=-D__CHECK_ENDIAN__ modules 2>&1 | \
		grep -E 'warning|error' && fail=y; \
		rm -rf build/style; \
	fi; \
	shellcheck -x $(SH_FILES) || fail=y; \
	[ -z "$$fail" ]

# By hand and not through the kernel's build: it works without headers, too.
clean:
	@find . \( -path ./build -o -path ./.git \) -prune -o -type f \
		\( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		   -o -name '.*.cmd' -o -name '*.o.d' -o -name '.module-common.*' \
		   -o -name Module.symvers -o -name modules.order \) -exec rm -f {} +
	@rm -rf .tmp_versions build/ip build/module build/check build/style build/vm

distclean: clean
	@rm -rf build

help:
	@echo 'Building:'
	@echo '  make                  cmptun.ko and $(PLUGIN)'
	@echo '                        KDIR=... the kernel; W=1 C=1 LLVM=1 CC=... as in the kernel'
	@echo '                        SELFTEST=1 the module tries itself out when it is loaded'
	@echo '  make modules, plugin  one of the two'
	@echo '  make check-config     does the kernel have what the driver needs?'
	@echo '  make clean            remove what was built'
	@echo '  make distclean        remove build/ with the fetched kernels, too'
	@echo 'Using (as root):'
	@echo '  make load, unload     the module from this folder, with those it depends on'
	@echo '  make install          module and plugin; DESTDIR=, INSTALL_MOD_DIR=, PLUGIN_DIR='
	@echo '  make modules_install  the module only'
	@echo '  make uninstall'
	@echo 'Trying, in a virtual machine:'
	@echo '  make setup            fetch tools and kernel; KERNEL="6.12 6.1" (default: 6.12)'
	@echo '  make check            all selftests; TESTS="ipip switch", KERNEL=6.1'
	@echo '  make check-debug      the same on a kernel with KASAN, lockdep and kmemleak,'
	@echo '                        which is built first (half an hour, once)'
	@echo '  make check-self       does make check notice failures, crashes and hangs?'
	@echo '  make demo             compare the tunnels; writes build/results/demo/'
	@echo '  make style            checkpatch, sparse, shellcheck'
