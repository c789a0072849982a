// SPDX-License-Identifier: Apache-2.0
/*
 * member_etc.c - /etc/hostname, /etc/hosts and /etc/resolv.conf of a member.
 *
 * Owns: what it puts into the writable layer, and the bind of the pod's names at
 * /dev/podinit. Called by: member_root.c, before and after the volumes. Hosts and
 * resolv.conf are symbolic links to /dev/podinit, where PID 1's helper replaces them by
 * rename: a file that is bound itself could only be rewritten in place, and a reader
 * would see half of it. Never writes through anything that the image or a volume brought.
 */
#include "rootfs/member_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "rootfs/in_root.h"

#define NAMES_POINT "/dev/podinit"
/* A member of the pod may have made its hosts file as large as it liked. */
#define COPY_BYTES  (1u << 20)

static const struct etc_name {
	const char *name, *path, *target;
} etc_names[] = {
	{ "hosts", "/etc/hosts", NAMES_POINT "/hosts" },
	{ "resolv.conf", "/etc/resolv.conf", NAMES_POINT "/resolv.conf" },
};

static bool path_covers(const char *above, const char *path)
{
	size_t len = strlen(above);

	if (!strcmp(above, "/"))
		return true;
	return !strncmp(above, path, len) && (path[len] == '\0' || path[len] == '/');
}

/* A volume at the path, above it or below it: then it is the manifest's. */
static bool volume_takes(const struct member_root *root, const char *path)
{
	for (size_t i = 0; i < root->n_mounts; i++)
		if (path_covers(root->mounts[i].target, path) ||
		    path_covers(path, root->mounts[i].target))
			return true;
	return false;
}

/* What stands there goes, a symlink itself and not what it leads to. */
static int name_remove(int etc_fd, const struct etc_name *n, struct step *s)
{
	if (unlinkat(etc_fd, n->name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno == EISDIR && unlinkat(etc_fd, n->name, AT_REMOVEDIR) == 0)
		return 0;
	return step_fail(s, STAGE_MOUNT, errno, "replace", n->path);
}

/* A file made anew is neither a fifo that blocks us nor a device of the image's. */
static int name_make(int etc_fd, const struct etc_name *n, struct step *s)
{
	int fd, r = name_remove(etc_fd, n, s);

	if (r < 0)
		return r;
	fd = in_root_open(etc_fd, n->name,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, 0644);
	return fd < 0 ? step_fail(s, STAGE_MOUNT, -fd, "make file", n->path) : fd;
}

static int name_write(int fd, const char *data, size_t len, const char *path,
		      struct step *s)
{
	ssize_t n = write(fd, data, len);

	if (n != (ssize_t)len)
		return step_fail(s, STAGE_MOUNT, n < 0 ? errno : ENOSPC, "write", path);
	return 0;
}

static int hostname_write(const char *hostname, int etc_fd, struct step *s)
{
	static const struct etc_name name = { "hostname", "/etc/hostname", NULL };
	_cleanup_close_ int fd = -1;
	char line[66]; /* 64 bytes of HOST_NAME_MAX, newline, NUL */
	size_t len = strlen(hostname);

	if (len > sizeof(line) - 2)
		return step_fail(s, STAGE_MOUNT, ENAMETOOLONG, "write", name.path);
	memcpy(line, hostname, len);
	line[len++] = '\n';
	fd = name_make(etc_fd, &name, s);
	return fd < 0 ? fd : name_write(fd, line, len, name.path, s);
}

/* By descriptor, so that it does not matter what /dev holds by now. */
static int names_bind(const struct member_root *root, struct step *s)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
	};
	_cleanup_close_ int tree_fd = open_tree(AT_FDCWD, root->names_dir,
						OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
							AT_SYMLINK_NOFOLLOW);

	if (tree_fd < 0)
		return step_fail(s, STAGE_MOUNT, errno, "open", root->names_dir);
	if (mount_setattr(tree_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return step_fail(s, STAGE_MOUNT, errno, "set flags of", NAMES_POINT);
	if (mkdir(NAMES_POINT + 1, 0755) < 0)
		return step_fail(s, STAGE_MOUNT, errno, "make directory", NAMES_POINT);
	if (move_mount(tree_fd, "", AT_FDCWD, NAMES_POINT + 1, MOVE_MOUNT_F_EMPTY_PATH) <
	    0)
		return step_fail(s, STAGE_MOUNT, errno, "bind the names on", NAMES_POINT);
	return 0;
}

int member_etc_prepare(const struct member_root *root, int root_fd, struct step *s)
{
	_cleanup_close_ int etc_fd = -1;
	int r = 0;

	if (!root->hostname && !root->names_dir)
		return 0;
	/* Before any volume: the path leads into this member's own layer only. */
	etc_fd = in_root_make(root_fd, "/etc", true);
	if (etc_fd < 0)
		return step_fail(s, STAGE_MOUNT, -etc_fd, "open", "/etc");
	if (root->hostname)
		r = hostname_write(root->hostname, etc_fd, s);
	if (r == 0 && root->names_dir && !volume_takes(root, NAMES_POINT))
		r = names_bind(root, s);
	return r;
}

/* Which mount the descriptor is on; 0 = not known. */
static uint64_t mount_of(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0)
		return 0;
	return st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
}

static bool is_mount_point(int dir_fd, const char *name)
{
	struct statx st;

	return statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &st) == 0 &&
	       (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* As it is now and for good: /dev/podinit belongs to a volume. The source lies where the
 * pod's other members can write, so it is no link of theirs that is followed. */
static int name_copy(const struct member_root *root, int etc_fd, const struct etc_name *n,
		     struct step *s)
{
	_cleanup_close_ int dir_fd = -1, from_fd = -1, to_fd = -1;
	size_t left = COPY_BYTES;
	char data[4096];
	struct stat st;

	dir_fd = open(root->names_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return step_fail(s, STAGE_MOUNT, errno, "open", root->names_dir);
	from_fd = openat(dir_fd, n->name,
			 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (from_fd < 0 || fstat(from_fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0; /* they took it away: the image's own stays */
	to_fd = name_make(etc_fd, n, s);
	if (to_fd < 0)
		return to_fd;
	while (left > 0) {
		ssize_t len = read(from_fd, data, MIN(left, sizeof(data)));

		if (len < 0)
			return step_fail(s, STAGE_MOUNT, errno, "read the names for",
					 n->path);
		if (len == 0)
			break;
		if (name_write(to_fd, data, (size_t)len, n->path, s) < 0)
			return -s->code;
		left -= (size_t)len;
	}
	return 0;
}

static int name_link(int etc_fd, const struct etc_name *n, struct step *s)
{
	int r = name_remove(etc_fd, n, s);

	if (r == 0 && symlinkat(n->target, etc_fd, n->name) < 0)
		r = step_fail(s, STAGE_MOUNT, errno, "make symlink", n->path);
	return r;
}

int member_etc_link(const struct member_root *root, int root_fd, struct step *s)
{
	bool bound = !volume_takes(root, NAMES_POINT);
	_cleanup_close_ int etc_fd = -1;

	if (!root->names_dir)
		return 0;
	/* The paths of the manifest do not tell all: with an image's /etc -> /config a
	 * volume at /config is one at /etc. So the kernel is asked too. */
	etc_fd = in_root_open(root_fd, "/etc", O_PATH | O_DIRECTORY, 0);
	if (etc_fd < 0 || mount_of(etc_fd) != mount_of(root_fd))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(etc_names); i++) {
		const struct etc_name *n = &etc_names[i];
		int r;

		if (volume_takes(root, n->path) || is_mount_point(etc_fd, n->name))
			continue;
		r = bound ? name_link(etc_fd, n, s) : name_copy(root, etc_fd, n, s);
		if (r < 0)
			return r;
	}
	return 0;
}
