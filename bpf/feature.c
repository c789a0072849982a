// SPDX-License-Identifier: Apache-2.0
/*
 * feature.c - see feature.h.
 *
 * Owns: one descriptor at a time. Called by: base/child, in a helper of PID 1.
 * Speaks bpf(2) itself: three small calls do not need a loader, and the answer decides
 * whether the loader is started at all.
 */
#include "bpf/feature.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define BTF_PATH  "/sys/kernel/btf/vmlinux"

/* The verifier's words end well before; a shorter buffer would fail with ENOSPC. */
#define LOG_BYTES 4096

struct features {
	bool btf, ringbuf, tracing;
	char reason[160];
};

static void reason_add(struct features *f, const char *what, int code)
{
	size_t at = strlen(f->reason);

	(void)snprintf(f->reason + at, sizeof(f->reason) - at, "%s%s: %s", at ? "; " : "",
		       what, strerror(code));
}

static int sys_bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	long r = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

static void probe_btf(struct features *f)
{
	f->btf = access(BTF_PATH, R_OK) == 0;
	if (!f->btf)
		reason_add(f, BTF_PATH, errno);
}

static void probe_ringbuf(struct features *f)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_RINGBUF,
		.max_entries = 65536, /* bytes: a multiple of every page size we meet */
	};
	_cleanup_close_ int fd = sys_bpf(BPF_MAP_CREATE, &attr);

	f->ringbuf = fd >= 0;
	if (fd < 0)
		reason_add(f, "ring buffer", -fd);
}

/* Type 1 of the kernel's BTF is an integer, no function: a kernel that gets as far as to
 * say so has the program type, the right to load it and a BTF to attach by. */
static void probe_tracing(struct features *f)
{
	struct bpf_insn body[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	char log[LOG_BYTES] = "";
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = BPF_TRACE_FENTRY,
		.attach_btf_id = 1,
		.insn_cnt = ARRAY_SIZE(body),
		.insns = (uint64_t)(uintptr_t)body,
		.license = (uint64_t)(uintptr_t) "GPL",
		.log_buf = (uint64_t)(uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	_cleanup_close_ int fd = sys_bpf(BPF_PROG_LOAD, &attr);

	f->tracing = fd >= 0 || (fd == -EINVAL && strstr(log, "is not a function"));
	if (!f->tracing)
		reason_add(f, "tracing program", -fd);
}

int bpf_feature_run(void *arg)
{
	struct features f = { 0 };

	(void)arg;
	probe_btf(&f);
	probe_ringbuf(&f);
	probe_tracing(&f);
	/* The reason holds our words and strerror's: nothing that JSON would quote. */
	(void)printf("{\"btf\":%s,\"ringbuf\":%s,\"tracing\":%s,\"reason\":\"%s\"}\n",
		     f.btf ? "true" : "false", f.ringbuf ? "true" : "false",
		     f.tracing ? "true" : "false", f.reason);
	(void)fflush(stdout); /* a helper ends with _exit() */
	return 0;
}
