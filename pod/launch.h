// SPDX-License-Identifier: Apache-2.0
/*
 * launch.h - from a container's spec to a running process.
 *
 * Two halves. The plan is made in PID 1, once a member: the image is found, user,
 * environment, command and mounts are resolved into one arena. Then PID 1 clones; the
 * child (launch_child.c) only makes system calls on what the plan holds. Called by:
 * pod/member.c. Does not block but for reading the image's small files once.
 */
#ifndef POD_LAUNCH_H
#define POD_LAUNCH_H

#include "base/arena.h"
#include "base/inet.h"
#include "base/step.h"
#include "config/user_db.h"
#include "pod/member_log.h"
#include "rootfs/member_root.h"

struct member;

#define LAUNCH_IPS 2 /* one a family, IPv4 first */

struct launch_plan {
	struct arena arena;
	size_t *total_bytes;     /* pods.plan_bytes, once counted there */
	const char *const *argv; /* NULL-terminated */
	const char *const *envp;
	const char *const *paths; /* what to exec, first to last: argv[0] along PATH */
	const char *working_dir;  /* absolute, in the member */
	struct user_ids user;
	uint64_t caps;
	char oom_score[8]; /* of oom_score_adj */
	bool no_new_privs;
	bool tty;
	struct member_root root;
	int stop_signal;
	const char *image_id;             /* "NAME:TAG" */
	bool uses_host_ips;               /* the environment holds status.hostIP(s) */
	bool uses_objects;                /* it holds values of ConfigMaps or Secrets */
	uint64_t objects_changed;         /* pods.objects_changed then */
	struct inet host_ips[LAUNCH_IPS]; /* as they were then */
};

/* Starts the member: its plan, if there is none or what it holds is out of date, its
 * group, its log, its process. On success it has pidfd, start_fd, stdin_fd and pid; on
 * failure nothing runs. 0 or -errno with e, and *ret_reason (static) as Kubernetes names
 * it in state.waiting: InvalidImageName, ErrImageNeverPull, ErrImagePull,
 * ImageInspectError, CreateContainerConfigError, CreateContainerError. */
int launch_member(struct member *m, const char **ret_reason, struct err *e);
void launch_plan_free(struct launch_plan *plan);

/* The machine's addresses or an object have changed and the environment holds the old
 * ones: the plan is to be made anew. As with the kubelet a process keeps what it was
 * started with, its restart sees what is. The pod's own addresses never change. */
bool launch_plan_stale(const struct member *m);

/* ---- the child's side ---- */

struct launch_child {
	const struct launch_plan *plan;
	int uts_fd, ipc_fd, net_fd; /* -1 = stay */
	int stdin_fd;               /* -1 = /dev/null of the member */
	struct log_ends ends;
	int report_fd; /* start pipe, close-on-exec */
};

/* Does not return: execs, or reports the step that failed and exits with 126, 127 (as a
 * shell for exec) or 128. */
_Noreturn void launch_child_main(const struct launch_child *c);

#endif
