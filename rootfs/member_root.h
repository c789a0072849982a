// SPDX-License-Identifier: Apache-2.0
/*
 * member_root.h - from PID 1's view of the file system to the member's own.
 *
 * Called by: pod's launch child, inside its new mount namespace (and, for sysfs, inside
 * the pod's network namespace; for proc, inside its own pid namespace), between clone
 * and exec: async-signal-safe, no heap, data prepared by the parent.
 * Nothing it makes outlives the mount namespace: the writable layer is a tmpfs that only
 * the member's namespace holds, so a dead member leaves nothing to clean up.
 */
#ifndef ROOTFS_MEMBER_ROOT_H
#define ROOTFS_MEMBER_ROOT_H

#include "base/step.h"
#include "config/pod_spec.h"

struct root_mount {
	const char *source; /* absolute, in PID 1's view */
	const char *target; /* absolute, in the member's view */
	bool read_only;
	/* What of the source: relative; a symlink that leaves the source is refused. NULL
	 * = all of it. Missing directories are made if may_make. */
	const char *sub_path;
	bool may_make;
	enum mount_propagation propagation; /* of mounts between source and target */
	enum mount_recursive recursive;     /* read_only for the mounts below, too */
	bool is_host_path; /* source is checked and made by host_type before the mount */
	enum host_path_type host_type;
};

struct member_root {
	const char *lower;    /* the image's rootfs; never written to */
	const char *scratch;  /* SCRATCH_DIR */
	uint64_t upper_bytes; /* size of the writable layer, 0 = tmpfs' default */
	bool user_ns;         /* overlay option userxattr; device nodes bound, not made */
	bool read_only;       /* readOnlyRootFilesystem: when all is in its place */
	bool privileged; /* nothing masked, /sys writable, all devices of the machine */
	bool own_net;    /* false: /sys is bound from the machine, read-only */
	int tty_fd;      /* >= 0: the pty's slave, bound on /dev/console */
	size_t n_mounts; /* sorted, parents first */
	const struct root_mount *mounts;
	const char *working_dir; /* made when missing, as runc does; NULL or "/" = none */
	const char *hostname;    /* written to /etc/hostname of the writable layer */
	/* Directory with "hosts" and "resolv.conf", in PID 1's view: bound at
	 * /dev/podinit (writable, as Kubernetes' hosts file is; what a member adds stays
	 * until the next rewrite), /etc/hosts and /etc/resolv.conf lead there. A volume
	 * at, above or below one of the two wins; with one at /dev or /dev/podinit they
	 * are plain files, as they were at the member's start. NULL = the image's own
	 * files. */
	const char *names_dir;
};

/*
 * Mounts the overlay, proc (nosuid,nodev,noexec), sys (read-only), cgroup (read-only,
 * own cgroup namespace), dev (tmpfs: null zero full random urandom tty, fd links, pts
 * (newinstance, ptmxmode 0666), shm, mqueue), the volumes (target made when missing,
 * resolved below the new root: openat2 RESOLVE_IN_ROOT, so that an image's symlink never
 * leads out), the names of the pod, then pivots, detaches the old root, masks and makes
 * read-only the paths of the OCI default (kubernetes-pod.md, procMount Default). 0 or
 * -errno with s filled.
 */
int member_root_enter(const struct member_root *root, struct step *s);

#endif
