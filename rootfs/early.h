// SPDX-License-Identifier: Apache-2.0
/*
 * early.h - the machine's own mounts, the first thing PID 1 does.
 *
 * Owns: nothing after it returns. Called by: init, once, above the marked line of main.
 * May block: only as long as the kernel takes for pseudo file systems.
 */
#ifndef ROOTFS_EARLY_H
#define ROOTFS_EARLY_H

#include "base/err.h"

struct sandbox_kind {
	bool initial_pid_ns; /* PID 1 of the machine, not of a container: reboot(2) is
				ours */
	bool user_ns;        /* not the initial user namespace: no mknod, no devtmpfs */
	bool initramfs;      /* "/" was the kernel's rootfs */
};

/* Are we in the kernel's first pid namespace: on a machine, not in a container? What
 * would reach past a container (super blocks, kernel settings) asks this first. */
bool early_initial_pid_ns(void);

/* Finds out where we run. Needs /proc; mounts it when it is not there. */
int early_detect(struct sandbox_kind *ret, struct err *e);

/* pivot_root(2) refuses when "/" is the initial ramfs: binds "/" onto itself, moves it
 * over "/" and chroots there, so that members can pivot. No-op when already a real mount.
 */
int early_leave_rootfs(const struct sandbox_kind *kind, struct err *e);

/*
 * Mounts what is not mounted yet: /proc /sys /dev (devtmpfs, or a tmpfs with the nodes
 * bound from the old /dev in a container) /dev/pts /dev/shm /dev/mqueue /run /tmp
 * /sys/fs/cgroup (cgroup2) /sys/kernel/tracing /sys/fs/bpf. The mandatory ones are /proc,
 * /dev, /run and cgroup2; a failure of the others is a warning in the log. Makes
 * /run/podinit (0700) and what the other modules expect below it, the /dev/fd links,
 * and makes "/" private (mount_namespaces(7)).
 */
int early_mounts(const struct sandbox_kind *kind, struct err *e);

/* Hostname, kernel.printk_devkmsg=on, the machine's sysctls ("a.b" or "a/b" form, no
 * "..": refused). Each failure is logged with its name; returns how many failed. */
struct machine;
int early_settings(const struct machine *machine);

/* Paths that other rooms rely on. */
#define RUN_DIR     "/run/podinit"
#define SCRATCH_DIR "/run/podinit/scratch" /* empty; members mount their overlay here */
#define PODS_DIR    "/run/podinit/pods"    /* PODS_DIR/UID/volumes/NAME */

#endif
