// SPDX-License-Identifier: Apache-2.0
/*
 * world.h - what the benchmarks share: a machine for the rooms' code inside namespaces of
 * this host, pods in it, and the reduction of samples to a line of figures.
 *
 * The caller (tests/bench/run) has put the process into new mount, pid, net, uts, ipc and
 * cgroup namespaces and into a cgroup of its own. Any failure ends the process: a figure
 * that lacks its premises is none.
 */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#include "base/loop.h"
#include "config/machine.h"
#include "pod/pods.h"

struct world {
	struct loop *loop;
	struct machine machine;
	struct pods pods;
};

/* image_dir: an image store. Mounts /proc, /sys, cgroup2 and a tmpfs on /run. */
void world_init(struct world *w, const char *image_dir, int64_t backoff_ms);

/* A pod from printf-formatted JSON. */
struct pod *world_pod(struct world *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Turns the loop until the pod's record and its cgroup are gone. */
void world_delete(struct world *w, struct pod *pod);

#define WORLD_UNTIL(w, condition) \
	do                        \
		world_turn(w);    \
	while (!(condition))
void world_turn(struct world *w);

_Noreturn void world_fail(const char *what, int code);
#define WORLD_CHECK(call)                         \
	do {                                      \
		if ((call) < 0)                   \
			world_fail(#call, errno); \
	} while (0)

/* Prints "WHAT n=.. min_us=.. median_us=.. p90_us=.. p99_us=.."; sorts the samples. */
void figures_print(const char *what, int64_t *samples_ns, size_t n);

#endif
