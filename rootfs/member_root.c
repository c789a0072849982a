// SPDX-License-Identifier: Apache-2.0
/*
 * member_root.c - the order in which a member's root comes to be, and the pivot.
 *
 * Owns: nothing; every mount belongs to the mount namespace of the calling child.
 * Called by: pod's launch child. Never allocates, never returns with the old root still
 * reachable. Everything is mounted while the machine's mounts are still visible, because
 * proc and sysfs in a user namespace need a fully visible instance to copy from
 * (mount_too_revealing() in fs/namespace.c); paths of the image are therefore resolved
 * with care, see member_system.c and in_root.h.
 */
#include "rootfs/member_root.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "rootfs/in_root.h"
#include "rootfs/member_parts.h"

/* The kernel takes at most a page of mount options. */
#define OPTIONS_BYTES 4096

struct text {
	size_t len;
	bool overflow;
	char data[OPTIONS_BYTES];
};

static void text_add(struct text *t, const char *more)
{
	size_t len = strlen(more);

	if (t->overflow || len >= sizeof(t->data) - t->len) {
		t->overflow = true;
		return;
	}
	memcpy(t->data + t->len, more, len + 1);
	t->len += len;
}

/* ',' ends an option, ':' a layer, and '\\' quotes both (overlayfs.rst). A registry with
 * a port ("localhost:5000/x") brings ':' into every path below it. */
static void text_add_layer(struct text *t, const char *path)
{
	for (; *path; path++) {
		char quoted[3] = { '\\', *path, '\0' };

		text_add(t, strchr(":,\\", *path) ? quoted : quoted + 1);
	}
}

static int scratch_failed(const struct member_root *root, struct step *s,
			  const char *verb, const char *below)
{
	int code = errno;
	struct text path = { 0 };

	text_add(&path, root->scratch);
	text_add(&path, below);
	return step_fail(s, STAGE_MOUNT, code, verb, path.data);
}

/* A tmpfs for the writable layer. */
static int scratch_mount(const struct member_root *root, struct step *s)
{
	static const char *const dirs[] = { "/upper", "/work", "/root" };
	char options[48] = "mode=0755";
	size_t at = strlen(options);

	if (root->upper_bytes) {
		char digits[24];
		size_t n = 0;
		uint64_t v = root->upper_bytes;

		memcpy(options + at, ",size=", 6);
		at += 6;
		for (; v; v /= 10)
			digits[n++] = (char)('0' + v % 10);
		while (n)
			options[at++] = digits[--n];
		options[at] = '\0';
	}
	/* Whatever the caller's namespace was copied from: nothing below may travel back.
	 */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return step_fail(s, STAGE_MOUNT, errno, "make private", "/");
	if (mount("tmpfs", root->scratch, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return scratch_failed(root, s, "mount tmpfs on", "");
	if (chdir(root->scratch) < 0)
		return scratch_failed(root, s, "enter", "");
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (mkdir(dirs[i] + 1, 0755) < 0)
			return scratch_failed(root, s, "make directory", dirs[i]);
	return 0;
}

/* In the scratch directory: the upper layer is named relative to it, which keeps the
 * machine's paths out of the member's mountinfo as far as we can. */
static int overlay_mount(const struct member_root *root, struct step *s)
{
	struct text options = { 0 };

	text_add(&options, "upperdir=upper,workdir=work,");
	if (root->user_ns)
		text_add(&options, "userxattr,");
	text_add(&options, "lowerdir=");
	text_add_layer(&options, root->lower);
	if (options.overflow)
		return step_fail(s, STAGE_MOUNT, ENAMETOOLONG, "open image root",
				 root->lower);
	if (mount("overlay", "root", "overlay", root->privileged ? 0 : MS_NODEV,
		  options.data) < 0) {
		int code = errno;

		/* The kernel's ENOENT does not tell which directory it means. */
		if (access(root->lower, F_OK) < 0)
			return step_fail(s, STAGE_MOUNT, errno, "open image root",
					 root->lower);
		errno = code;
		return scratch_failed(root, s, "mount overlay on", "/root");
	}
	/* A hostPath volume of "/" or "/run" must not bring the member's own layer into
	 * the member. Not earlier: overlayfs clones the mount of its upper layer. */
	if (mount(NULL, root->scratch, NULL, MS_UNBINDABLE, NULL) < 0)
		return scratch_failed(root, s, "make unbindable", "");
	return 0;
}

static int working_dir_make(const char *path, int root_fd, struct step *s)
{
	int fd = in_root_make(root_fd, path, true);

	if (fd < 0)
		return step_fail(s, STAGE_CHDIR, -fd, "make working directory", path);
	fd_close(&fd);
	return 0;
}

/* pivot_root(2), NOTES: with "." twice the old root ends up on top of the new one, and
 * the umount takes it off; no directory in the image is needed for it. */
static int root_pivot(int root_fd, struct step *s)
{
	if (fchdir(root_fd) < 0)
		return step_fail(s, STAGE_PIVOT, errno, "enter", "the new root");
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return step_fail(s, STAGE_PIVOT, errno, "pivot_root to", "the new root");
	if (umount2(".", MNT_DETACH) < 0)
		return step_fail(s, STAGE_PIVOT, errno, "detach", "the old root");
	return 0;
}

/* The root alone: volumes, /dev and the names stay as they are mounted. */
static int root_protect(struct step *s)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0U, &attr, sizeof(attr)) < 0)
		return step_fail(s, STAGE_MOUNT, errno, "make read-only", "/");
	return 0;
}

static int root_build(const struct member_root *root, const int *trees, struct step *s)
{
	_cleanup_close_ int root_fd = -1;
	int r = scratch_mount(root, s);

	if (r == 0)
		r = overlay_mount(root, s);
	if (r < 0)
		return r;
	root_fd = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || fchdir(root_fd) < 0)
		return scratch_failed(root, s, "enter", "/root");
	r = member_system_mount(root, s);
	if (r == 0)
		r = member_etc_prepare(root, root_fd, s);
	if (r == 0)
		r = member_volume_mount(root, root_fd, trees, s);
	if (r == 0)
		r = member_etc_link(root, root_fd, s);
	if (r == 0 && root->working_dir && strcmp(root->working_dir, "/") != 0)
		r = working_dir_make(root->working_dir, root_fd, s);
	if (r == 0)
		r = root_pivot(root_fd, s);
	if (r == 0 && root->read_only)
		r = root_protect(s);
	return r;
}

int member_root_enter(const struct member_root *root, struct step *s)
{
	/* Modes here are meant as written; the program starts with what it came with. */
	mode_t mask = umask(0);
	int trees[POD_SPEC_MOUNTS]; /* the manifest has no more of them */
	int r = member_volume_open(root, trees, s);

	if (r == 0)
		r = root_build(root, trees, s);
	for (size_t i = 0; i < root->n_mounts; i++)
		fd_close(&trees[i]);
	(void)umask(mask);
	return r;
}
