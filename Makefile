# SPDX-License-Identifier: Apache-2.0
# podinit: one Makefile, no recursion, output only below build/. `make help` lists targets.

all: programs ## build podinit and podctl

CC       ?= gcc
AR       ?= ar
PYTHON   ?= python3
prefix   ?= /usr/local
sbindir  ?= $(prefix)/sbin
bindir   ?= $(prefix)/bin
mandir   ?= $(prefix)/share/man
DESTDIR  ?=
BUILD    ?= build
CFLAGS   ?= -O2 -g
WERROR   ?= $(if $(CI),-Werror,)
V        ?= 0

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

ifeq ($(V),1)
msg =
Q   =
else
msg = @printf '  %-7s %s\n' "$(1)" "$(2)";
Q   = @
endif

VERSION := 0.1.0

WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes \
            -Wpointer-arith -Wformat=2 -Wswitch-enum -Wvla -Wundef -Wwrite-strings
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -DPODINIT_VERSION='"$(VERSION)"' -I. \
             $(WARNINGS) $(WERROR) $(CFLAGS) $(SANITIZE) $(PKG_CFLAGS) -MMD -MP

# Static programs need no PIE and must not drag in what they do not call.
SECTIONS  := -ffunction-sections -fdata-sections
GC        := -Wl,--gc-sections
# libnl can look up names of hosts and protocols; the linker warns of it in a static
# program, for ever, although nothing here reaches it. Its --no-warnings would also let
# undefined symbols pass.
define link_static
$(CC) $(CFLAGS) $(SANITIZE) $(if $(SANITIZE),,-static) $(GC) -o $@ $^ $(LIBS) 2>$@.said || \
	{ cat $@.said >&2; rm -f $@.said; exit 1; }; \
	grep -v -e 'in statically linked applications' -e 'in function `nl_' $@.said >&2; \
	rm -f $@.said
endef

# Everything but these needs the packages of deps.txt. deps.mk is made after they are
# installed and make starts anew with it: flags are never asked of packages not there yet.
ifneq ($(filter-out clean help deps,$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/deps.mk
endif
LIBS       := -lnl-route-3 -lnl-3 -ljson-c -lcap -lresolv -lm -lpthread

# ---- sources, one folder a room, one file a line --------------------------------------

SRC_base := \
	base/arena.c \
	base/buf.c \
	base/child.c \
	base/err.c \
	base/fd.c \
	base/inet.c \
	base/journal.c \
	base/known.c \
	base/log.c \
	base/loop.c \
	base/proc.c \
	base/step.c \
	base/str.c \
	base/time.c \
	#

SRC_config := \
	config/base64.c \
	config/capability_name.c \
	config/diag.c \
	config/expand.c \
	config/image_config.c \
	config/json_at.c \
	config/json_doc.c \
	config/json_field.c \
	config/json_locate.c \
	config/json_scan.c \
	config/json_string.c \
	config/json_tree.c \
	config/machine.c \
	config/machine_network.c \
	config/machine_uplink.c \
	config/manifest.c \
	config/manifest_annotation.c \
	config/manifest_container.c \
	config/manifest_dns.c \
	config/manifest_env.c \
	config/manifest_meta.c \
	config/manifest_network.c \
	config/manifest_object.c \
	config/manifest_port.c \
	config/manifest_projected.c \
	config/manifest_resources.c \
	config/manifest_security.c \
	config/manifest_source.c \
	config/manifest_spec.c \
	config/manifest_volume.c \
	config/name_check.c \
	config/net_check.c \
	config/object_spec.c \
	config/pod_spec.c \
	config/quantity.c \
	config/signal_name.c \
	config/user_db.c \
	#

SRC_netlink := \
	netlink/address.c \
	netlink/inspect.c \
	netlink/link.c \
	netlink/link_read.c \
	netlink/monitor.c \
	netlink/nft_request.c \
	netlink/nl.c \
	netlink/nl_batch.c \
	netlink/plan_apply.c \
	netlink/plan_check.c \
	netlink/plan_configure.c \
	netlink/plan_device.c \
	netlink/plan_machine.c \
	netlink/plan_remove.c \
	netlink/plan_repair.c \
	netlink/qdisc.c \
	netlink/route.c \
	netlink/uplink.c \
	netlink/uplink_client.c \
	netlink/uplink_ip.c \
	netlink/uplink_job.c \
	netlink/uplink_json.c \
	netlink/uplink_lease.c \
	netlink/uplink_match.c \
	#

SRC_bpf := \
	bpf/feature.c \
	#

SRC_rootfs := \
	rootfs/early.c \
	rootfs/early_dev.c \
	rootfs/early_settings.c \
	rootfs/image.c \
	rootfs/image_ref.c \
	rootfs/in_root.c \
	rootfs/member_device.c \
	rootfs/member_etc.c \
	rootfs/member_root.c \
	rootfs/member_system.c \
	rootfs/member_volume.c \
	rootfs/modules.c \
	rootfs/mount_table.c \
	rootfs/projected.c \
	rootfs/sysctl.c \
	rootfs/tree.c \
	rootfs/unmount.c \
	#

SRC_pod := \
	pod/backoff.c \
	pod/caps.c \
	pod/cgroup.c \
	pod/downward.c \
	pod/event.c \
	pod/host_ports.c \
	pod/hosts_file.c \
	pod/launch.c \
	pod/launch_child.c \
	pod/launch_env.c \
	pod/launch_mounts.c \
	pod/lifecycle.c \
	pod/log_file.c \
	pod/log_ring.c \
	pod/log_service.c \
	pod/log_split.c \
	pod/log_tail.c \
	pod/log_writer.c \
	pod/member.c \
	pod/member_log.c \
	pod/member_state.c \
	pod/names.c \
	pod/names_write.c \
	pod/network.c \
	pod/network_plan.c \
	pod/network_doubt.c \
	pod/network_inspect.c \
	pod/network_ports.c \
	pod/network_watch.c \
	pod/number_pool.c \
	pod/objects.c \
	pod/pause.c \
	pod/pods.c \
	pod/resolv_file.c \
	pod/resources.c \
	pod/sandbox.c \
	pod/sysctls.c \
	pod/status.c \
	pod/status_json.c \
	pod/status_lists.c \
	pod/volume_files.c \
	pod/volumes.c \
	pod/watch.c \
	#

SRC_control := \
	control/client.c \
	control/commands.c \
	control/commands_log.c \
	control/commands_machine.c \
	control/commands_manifest.c \
	control/commands_pod.c \
	control/control.c \
	control/deferred.c \
	control/grammar.c \
	control/json_text.c \
	control/listener.c \
	control/request.c \
	control/subscription.c \
	control/transport_port.c \
	control/transport_unix.c \
	control/transport_vsock.c \
	#

# All but main(), so that unit tests can link it.
SRC_init := \
	init/boot.c \
	init/cmdline.c \
	init/end.c \
	init/helpers.c \
	init/machine_file.c \
	init/manifests.c \
	init/network.c \
	init/outcome.c \
	init/panic.c \
	init/power.c \
	init/reap.c \
	init/shutdown.c \
	init/signals.c \
	init/timeline.c \
	#

SRC_podctl := \
	control/podctl.c \
	control/podctl_check.c \
	control/podctl_conn.c \
	control/podctl_create.c \
	control/podctl_events.c \
	control/podctl_logs.c \
	control/podctl_machine.c \
	control/podctl_net.c \
	control/podctl_pods.c \
	control/podctl_text.c \
	control/podctl_wait.c \
	#

# A program of its own: libmnl and libnftnl stay out of PID 1.
SRC_nft := \
	netlink/nft_batch.c \
	netlink/nft_conntrack.c \
	netlink/nft_elements.c \
	netlink/nft_filter.c \
	netlink/nft_main.c \
	netlink/nft_parse.c \
	netlink/nft_rule.c \
	netlink/nft_send.c \
	netlink/nft_table.c \
	#

# Unit tests: tests/unit/ROOM_NOUN.c is linked with ROOM and what lies below it.
UNIT_TESTS := \
	tests/unit/base_arena.c \
	tests/unit/base_buf.c \
	tests/unit/base_child.c \
	tests/unit/base_child_output.c \
	tests/unit/base_err.c \
	tests/unit/base_fd.c \
	tests/unit/base_inet.c \
	tests/unit/base_journal.c \
	tests/unit/base_list.c \
	tests/unit/base_log.c \
	tests/unit/base_log_console.c \
	tests/unit/base_loop.c \
	tests/unit/base_loop_change.c \
	tests/unit/base_proc.c \
	tests/unit/base_step.c \
	tests/unit/base_str.c \
	tests/unit/base_time.c \
	tests/unit/base_timer.c \
	tests/unit/bpf_feature.c \
	tests/unit/config_diag.c \
	tests/unit/config_expand.c \
	tests/unit/config_image.c \
	tests/unit/config_machine.c \
	tests/unit/config_machine_network.c \
	tests/unit/config_manifest.c \
	tests/unit/config_memory.c \
	tests/unit/config_network.c \
	tests/unit/config_object.c \
	tests/unit/config_quantity.c \
	tests/unit/config_refusal.c \
	tests/unit/config_security.c \
	tests/unit/config_signal.c \
	tests/unit/config_user.c \
	tests/unit/control_client.c \
	tests/unit/control_commands.c \
	tests/unit/control_deferred.c \
	tests/unit/control_grammar.c \
	tests/unit/control_podctl.c \
	tests/unit/control_transport.c \
	tests/unit/init_cmdline.c \
	tests/unit/init_end.c \
	tests/unit/init_machine_file.c \
	tests/unit/init_manifests.c \
	tests/unit/init_outcome.c \
	tests/unit/init_panic.c \
	tests/unit/init_reap.c \
	tests/unit/init_shutdown.c \
	tests/unit/init_signals.c \
	tests/unit/netlink_link.c \
	tests/unit/netlink_nft.c \
	tests/unit/netlink_nl.c \
	tests/unit/netlink_plan.c \
	tests/unit/netlink_plan_bridge.c \
	tests/unit/netlink_plan_check.c \
	tests/unit/netlink_plan_nic.c \
	tests/unit/netlink_uplink.c \
	tests/unit/pod_backoff.c \
	tests/unit/pod_caps.c \
	tests/unit/pod_cgroup.c \
	tests/unit/pod_host_ports.c \
	tests/unit/pod_hosts_file.c \
	tests/unit/pod_launch_env.c \
	tests/unit/pod_log_file.c \
	tests/unit/pod_log_ring.c \
	tests/unit/pod_log_split.c \
	tests/unit/pod_log_tail.c \
	tests/unit/pod_log_writer.c \
	tests/unit/pod_member_log.c \
	tests/unit/pod_member_log_limits.c \
	tests/unit/pod_member_state.c \
	tests/unit/pod_names.c \
	tests/unit/pod_number_pool.c \
	tests/unit/pod_resolv_file.c \
	tests/unit/pod_resources.c \
	tests/unit/rootfs_early.c \
	tests/unit/rootfs_image.c \
	tests/unit/rootfs_member_etc.c \
	tests/unit/rootfs_member_hostile.c \
	tests/unit/rootfs_member_root.c \
	tests/unit/rootfs_member_volume.c \
	tests/unit/rootfs_modules.c \
	tests/unit/rootfs_projected.c \
	tests/unit/rootfs_tree.c \
	tests/unit/rootfs_unmount.c \
	#

# ---- rooms: the linker sees the same arrows as the design -----------------------------

ROOMS_base    := base
ROOMS_config  := config base
ROOMS_netlink := netlink config base
ROOMS_bpf     := bpf base
ROOMS_rootfs  := rootfs config base
ROOMS_pod     := pod netlink bpf rootfs config base
ROOMS_control := control pod netlink bpf rootfs config base
ROOMS_init    := init control pod netlink bpf rootfs config base

ROOM_NAMES := base config netlink bpf rootfs pod control init

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
archives = $(foreach r,$(ROOMS_$(1)),$(BUILD)/lib/$(r).a)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call msg,CC,$<)$(CC) $(ALL_CFLAGS) $(SECTIONS) -c -o $@ $<

define room_rule
$(BUILD)/lib/$(1).a: $$(call objects,$$(SRC_$(1)))
	@mkdir -p $$(@D)
	$$(call msg,AR,$$@)rm -f $$@ && $(AR) rcs $$@ $$^
endef
$(foreach r,$(ROOM_NAMES),$(eval $(call room_rule,$(r))))

# ---- programs -------------------------------------------------------------------------

programs: $(BUILD)/podinit $(BUILD)/podinit-nft $(BUILD)/podctl $(BUILD)/podvm

$(BUILD)/podinit: $(call objects,init/main.c) $(call archives,init)
	$(call msg,LD,$@)$(link_static)

$(BUILD)/podctl: $(call objects,$(SRC_podctl)) $(foreach r,config base,$(BUILD)/lib/$(r).a)
	$(call msg,LD,$@)$(link_static)

$(BUILD)/podinit-nft: $(call objects,$(SRC_nft)) $(BUILD)/lib/base.a
	$(call msg,LD,$@)$(CC) $(CFLAGS) $(SANITIZE) $(GC) -o $@ $^ $(NFT_LIBS)

# ---- unit tests -----------------------------------------------------------------------

unit_name = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(1))
unit_room = $(firstword $(subst _, ,$(notdir $(basename $(1)))))

# What a test needs of programs that are in no room.
UNIT_SRC_netlink_nft  := $(filter-out netlink/nft_main.c,$(SRC_nft))
UNIT_LIBS_netlink_nft  = $(NFT_LIBS)

define unit_rule
$(call unit_name,$(1)): $(call objects,$(1) $(UNIT_SRC_$(notdir $(basename $(1))))) \
		$(call archives,$(call unit_room,$(1)))
	@mkdir -p $$(@D)
	$$(call msg,LD,$$@)$(CC) $(CFLAGS) $(SANITIZE) -o $$@ $$^ $(LIBS) \
		$$(UNIT_LIBS_$$(@F)) -lcmocka
endef
$(foreach t,$(UNIT_TESTS),$(eval $(call unit_rule,$(t))))

# This one runs the program itself.
$(BUILD)/unit/control_podctl: | $(BUILD)/podctl

unit-programs: $(foreach t,$(UNIT_TESTS),$(call unit_name,$(t)))

# ---- packages -------------------------------------------------------------------------

deps: ## install the Debian packages that are missing
	$(Q).ci/deps deps.txt

$(BUILD)/deps.mk: deps.txt .ci/deps
	@mkdir -p $(@D)
	$(Q).ci/deps deps.txt
	$(Q)flags=$$(pkg-config --cflags libnl-3.0 json-c libcap libmnl libnftnl) && \
		nft_libs=$$(pkg-config --libs libnftnl libmnl) && \
		printf 'PKG_CFLAGS := %s\nNFT_LIBS := %s\n' "$$flags" "$$nft_libs" >$@

# ---- virtual machine ------------------------------------------------------------------

MANIFESTS ?= examples/hello.json
MACHINE   ?= examples/machine.json
RUNFLAGS  ?=
BUSYBOX   := $(BUILD)/images/busybox

run: programs $(BUSYBOX)/config.json ## boot MANIFESTS (examples/hello.json) in QEMU
	$(Q)PODVM_BUILD=$(abspath $(BUILD)) $(PYTHON) rootfs/podvm run --image busybox=$(BUSYBOX) \
		--machine $(MACHINE) $(RUNFLAGS) $(MANIFESTS)

$(BUSYBOX)/config.json: rootfs/busybox-image /bin/busybox
	$(call msg,IMAGE,$(@D))$(PYTHON) rootfs/busybox-image $(@D)

$(BUILD)/podvm: rootfs/podvm $(wildcard rootfs/podvm_lib/*.py)
	@rm -rf $@.d && mkdir -p $@.d/podvm_lib
	@cp rootfs/podvm $@.d/__main__.py && cp rootfs/podvm_lib/*.py $@.d/podvm_lib/
	$(call msg,ZIP,$@)$(PYTHON) -m zipapp -p '/usr/bin/env python3' -o $@ $@.d
	@rm -rf $@.d

# ---- tests ----------------------------------------------------------------------------

TESTS = PODVM_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/run

test: programs unit-programs $(BUSYBOX)/config.json ## all tests: units, namespaces, VMs
	$(Q)$(TESTS) unit ns vm

test-unit: programs unit-programs ## quick tests of single modules
	$(Q)$(TESTS) unit

test-ns: programs $(BUSYBOX)/config.json ## podinit as PID 1 of namespaces on this host
	$(Q)$(TESTS) ns

test-vm: programs $(BUSYBOX)/config.json ## podinit on a kernel of its own, in QEMU
	$(Q)$(TESTS) vm

# The unit tests once more, built with sanitizers below build/asan.
ASAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

asan: ## the unit tests under AddressSanitizer and UBSan
	$(Q)$(MAKE) BUILD=$(BUILD)/asan SANITIZE="$(ASAN)" CFLAGS="-O1 -g" unit-programs \
		$(BUILD)/asan/podinit $(BUILD)/asan/podctl
	$(Q)ASAN=1 PODVM_BUILD=$(abspath $(BUILD))/asan $(PYTHON) tests/run unit

# ---- fuzzing: libFuzzer comes with clang; new inputs stay below build/ ----------------

FUZZ_SECONDS ?= 120
FUZZ_FLAGS   := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
FUZZERS      := control log_split manifest nft_request

FUZZ_SRC_control     := $(SRC_control)
FUZZ_SRC_log_split   := pod/log_split.c
FUZZ_SRC_manifest    :=
FUZZ_SRC_nft_request := netlink/nft_parse.c netlink/nft_request.c

define fuzz_rule
$(BUILD)/fuzz/$(1): tests/fuzz/$(1).c $(FUZZ_SRC_$(1)) $(SRC_config) $(SRC_base)
	@mkdir -p $$(@D)
	$$(call msg,FUZZ,$$@)clang -std=gnu11 -D_GNU_SOURCE \
		-DPODINIT_VERSION='"$(VERSION)"' -I. $$(PKG_CFLAGS) $(FUZZ_FLAGS) \
		-o $$@ $$(filter %.c,$$^) -ljson-c -lresolv -lcmocka

fuzz-$(1): $(BUILD)/fuzz/$(1)
	@mkdir -p $(BUILD)/fuzz/corpus/$(1)
	$(BUILD)/fuzz/$(1) -max_total_time=$(FUZZ_SECONDS) -max_len=16384 -timeout=10 \
		-artifact_prefix=$(BUILD)/fuzz/ $(BUILD)/fuzz/corpus/$(1) tests/fuzz/corpus/$(1)

.PHONY: fuzz-$(1)
endef
$(foreach f,$(FUZZERS),$(eval $(call fuzz_rule,$(f))))

fuzz: $(FUZZERS:%=fuzz-%) ## each parser for FUZZ_SECONDS (120) with random input

# ---- checks of the text ---------------------------------------------------------------

C_FILES = $(shell git ls-files '*.c' '*.h')

lint: $(BUILD)/deps.mk ## formatting, arrows between the folders, cppcheck, man pages
	$(Q)$(PYTHON) tests/lint/arrows
	$(Q)clang-format --dry-run -Werror $(C_FILES)
	$(Q)cppcheck --quiet --error-exitcode=1 --std=c11 -I. -D_GNU_SOURCE \
		--enable=warning,portability --inline-suppr \
		--suppress=missingIncludeSystem --suppress=memleak $(filter-out tests/%,$(filter %.c,$(C_FILES)))
	$(Q)for page in docs/*.[18]; do mandoc -T lint -W warning $$page || exit 1; done

# ---- benchmarks -----------------------------------------------------------------------

# Rooms' code in a machine of namespaces, and plain programs that run inside of pods or VMs.
BENCH_ROOMS := $(addprefix $(BUILD)/bench/,log_path net scale start)
BENCH_PLAIN := $(addprefix $(BUILD)/bench/,bare_init idle stamp true)

$(BUILD)/bench/start: $(call objects,tests/bench/bare_start.c)
$(BUILD)/bench/start $(BUILD)/bench/scale: $(call objects,tests/bench/world.c)

$(BENCH_ROOMS): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(call archives,pod)
	@mkdir -p $(@D)
	$(call msg,LD,$@)$(CC) $(CFLAGS) $(SANITIZE) $(GC) -o $@ $(filter %.o,$^) \
		$(filter %.a,$^) $(LIBS)

$(BUILD)/bench/true: BENCH_START := -nostartfiles
$(BENCH_PLAIN): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o
	@mkdir -p $(@D)
	$(call msg,LD,$@)$(CC) $(CFLAGS) -static $(BENCH_START) $(GC) -o $@ $^

bench: programs $(BENCH_ROOMS) $(BENCH_PLAIN) ## figures, and their ratios to rivals
	$(Q)PODVM_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/bench/run $(BENCH)

# ---- installation ---------------------------------------------------------------------

install: programs $(BUILD)/podvm ## install below prefix (/usr/local), or DESTDIR
	install -D -m 755 $(BUILD)/podinit $(DESTDIR)$(sbindir)/podinit
	install -D -m 755 $(BUILD)/podinit-nft $(DESTDIR)$(sbindir)/podinit-nft
	install -D -m 755 $(BUILD)/podctl $(DESTDIR)$(bindir)/podctl
	install -D -m 755 $(BUILD)/podvm $(DESTDIR)$(bindir)/podvm
	for page in $(wildcard docs/*.[18]); do \
		install -D -m 644 $$page $(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/}; \
	done

clean: ## remove build/
	rm -rf $(BUILD)

help: ## this text
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1|/p' Makefile | \
		while IFS='|' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

.PHONY: all programs unit-programs deps run test test-unit test-ns test-vm asan fuzz bench \
	lint install clean help
