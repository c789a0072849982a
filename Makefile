# SPDX-License-Identifier: Apache-2.0
# podinit: one Makefile, no recursion, output only below build/. `make help` lists targets.

all: programs

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

PKG_CFLAGS := $(shell pkg-config --cflags libnl-3.0 json-c libcap 2>/dev/null)
LIBS       := -lnl-route-3 -lnl-3 -ljson-c -lcap -lm -lpthread

# ---- sources, one folder a room, one file a line --------------------------------------

SRC_base := \
	base/arena.c \
	base/buf.c \
	base/child.c \
	base/err.c \
	base/fd.c \
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
	#

SRC_netlink := \
	#

SRC_bpf := \
	#

SRC_rootfs := \
	#

SRC_pod := \
	#

SRC_control := \
	#

SRC_init := \
	#

SRC_podctl := \
	#

# Unit tests: tests/unit/ROOM_NOUN.c is linked with ROOM and what lies below it.
UNIT_TESTS := \
	tests/unit/base_arena.c \
	tests/unit/base_buf.c \
	tests/unit/base_child.c \
	tests/unit/base_err.c \
	tests/unit/base_fd.c \
	tests/unit/base_journal.c \
	tests/unit/base_log.c \
	tests/unit/base_loop.c \
	tests/unit/base_proc.c \
	tests/unit/base_str.c \
	tests/unit/base_time.c \
	#

# ---- rooms: the linker sees the same arrows as the design -----------------------------

ROOMS_base    := base
ROOMS_config  := config base
ROOMS_netlink := netlink base
ROOMS_bpf     := bpf base
ROOMS_rootfs  := rootfs config base
ROOMS_pod     := pod netlink bpf rootfs config base
ROOMS_control := control pod netlink bpf rootfs config base
ROOMS_init    := init control pod netlink bpf rootfs config base

ROOM_NAMES := base config netlink bpf rootfs pod control

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

ROOMS_init_lib := $(filter-out init,$(ROOMS_init))

# ---- programs -------------------------------------------------------------------------

programs: $(BUILD)/podinit $(BUILD)/podctl

$(BUILD)/podinit: $(call objects,$(SRC_init)) $(foreach r,$(ROOMS_init_lib),$(BUILD)/lib/$(r).a)
	$(call msg,LD,$@)$(CC) $(CFLAGS) $(SANITIZE) $(if $(SANITIZE),,-static) $(GC) -o $@ $^ $(LIBS)

$(BUILD)/podctl: $(call objects,$(SRC_podctl)) $(foreach r,config base,$(BUILD)/lib/$(r).a)
	$(call msg,LD,$@)$(CC) $(CFLAGS) $(SANITIZE) $(if $(SANITIZE),,-static) $(GC) -o $@ $^ $(LIBS)

# ---- unit tests -----------------------------------------------------------------------

unit_name = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(1))
unit_room = $(firstword $(subst _, ,$(notdir $(basename $(1)))))

define unit_rule
$(call unit_name,$(1)): $(call objects,$(1)) $(call archives,$(call unit_room,$(1)))
	@mkdir -p $$(@D)
	$$(call msg,LD,$$@)$(CC) $(CFLAGS) $(SANITIZE) -o $$@ $$^ $(LIBS) -lcmocka
endef
$(foreach t,$(UNIT_TESTS),$(eval $(call unit_rule,$(t))))

unit-programs: $(foreach t,$(UNIT_TESTS),$(call unit_name,$(t)))

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

.PHONY: all programs unit-programs clean
