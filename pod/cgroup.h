// SPDX-License-Identifier: Apache-2.0
/*
 * cgroup.h - the cgroup v2 tree of the machine: one leaf for PID 1, one group a pod, one
 * leaf a member.
 *
 *   /sys/fs/cgroup/init          PID 1 and its helpers
 *   /sys/fs/cgroup/pods          controllers enabled for what is below
 *   /sys/fs/cgroup/pods/UID/NAME one member; processes live only in these leaves
 *
 * Owns: nothing; the descriptor of "pods" belongs to the caller. Called by: pod only.
 * The tree is opened by path below that descriptor when it is needed, so a member costs
 * no descriptor. None of it blocks: cgroupfs is memory.
 */
#ifndef POD_CGROUP_H
#define POD_CGROUP_H

#include "base/err.h"

#define CGROUP_PATH_BYTES 128 /* "UID/NAME" and the NUL */

/* Moves the caller into the leaf, makes "pods", enables every controller that the kernel
 * offers (a refused one is logged), kills and removes what an earlier life left there.
 * *ret_fd is owned by the caller. */
int cgroup_setup(int *ret_fd, struct err *e);

struct cgroup_limits {
	uint32_t cpu_weight;  /* 1 to 10000 */
	int64_t cpu_quota_us; /* of each CGROUP_CPU_PERIOD_US; -1 = none */
	int64_t memory_max;   /* bytes; -1 = none */
	bool is_leaf;         /* of processes: no swap, and they die together */
};
#define CGROUP_CPU_PERIOD_US 100000

/* Makes the group of a pod, with the controllers enabled below it. Existing is fine: then
 * the limits are its own already. -EOPNOTSUPP: there is no controller for a limit (a
 * weight that cannot be set is none the worse). */
int cgroup_make_pod(int pods_fd, const char *path, const struct cgroup_limits *limits,
		    struct err *e);
/* Makes a member's leaf; as cgroup_make_pod(). -EAGAIN: it is frozen (T54: a clone into
 * it would hang). */
int cgroup_make_leaf(int pods_fd, const char *path, const struct cgroup_limits *limits,
		     struct err *e);

/* Kills everything below path, recursively (cgroup.kill, 5.14). 0 or -errno; -ENOENT when
 * there is no such group. */
int cgroup_kill(int pods_fd, const char *path);

/* 1 = some process lives below path, 0 = none or no such group, -errno. */
int cgroup_populated(int pods_fd, const char *path);

/* Sum of oom_kill of memory.events of path; 0 when the controller is absent. */
uint64_t cgroup_oom_kills(int pods_fd, const char *path);

/* rmdir of the leaf or the pod's group, children first. -EBUSY while populated. */
int cgroup_remove(int pods_fd, const char *path);

#endif
