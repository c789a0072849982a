// SPDX-License-Identifier: Apache-2.0
/*
 * member_volume.c - the volumes of a member: source checked, target made, mounted.
 *
 * Owns: one detached mount tree at a time. Called by: member_root.c.
 * A target may lie inside a volume that a running member of the same pod writes to, so
 * it is opened once, below the new root, and mounted on by descriptor: no second look-up
 * that somebody could win.
 */
#include "rootfs/member_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "rootfs/in_root.h"
#include "rootfs/tree.h"

/* What each hostPath type asks of the source, and what it makes when it is missing. */
enum host_make { MAKE_NOTHING, MAKE_DIRECTORY, MAKE_FILE };

static const struct {
	mode_t format; /* S_IFMT part, 0 = any */
	enum host_make make;
	int code; /* errno for a source of another kind */
	const char *complaint;
} host_types[] = {
	/* Without a type the runtimes make a missing source a directory. */
	[HOST_PATH_ANY] = { 0, MAKE_DIRECTORY, 0, NULL },
	[HOST_PATH_DIRECTORY_OR_CREATE] = { S_IFDIR, MAKE_DIRECTORY, ENOTDIR,
					    "is not a Directory" },
	[HOST_PATH_DIRECTORY] = { S_IFDIR, MAKE_NOTHING, ENOTDIR, "is not a Directory" },
	[HOST_PATH_FILE_OR_CREATE] = { S_IFREG, MAKE_FILE, EINVAL, "is not a File" },
	[HOST_PATH_FILE] = { S_IFREG, MAKE_NOTHING, EINVAL, "is not a File" },
	[HOST_PATH_SOCKET] = { S_IFSOCK, MAKE_NOTHING, ENOTSOCK, "is not a Socket" },
	[HOST_PATH_CHAR_DEVICE] = { S_IFCHR, MAKE_NOTHING, ENODEV,
				    "is not a CharDevice" },
	[HOST_PATH_BLOCK_DEVICE] = { S_IFBLK, MAKE_NOTHING, ENOTBLK,
				     "is not a BlockDevice" },
};

/* "PATH TEXT", cut in the path so that the text survives. */
static void sentence(char out[static STEP_WHAT_BYTES], const char *path, const char *text)
{
	size_t text_len = strlen(text);
	size_t len = MIN(strlen(path), STEP_WHAT_BYTES - 16 - text_len);

	memcpy(out, path, len);
	out[len] = ' ';
	memcpy(out + len + 1, text, text_len + 1);
}

static int source_make(const struct root_mount *m, struct step *s)
{
	int r = -ENOENT, fd;

	switch (host_types[m->host_type].make) {
	case MAKE_DIRECTORY:
		r = tree_make(m->source, 0755);
		break;
	case MAKE_FILE:
		fd = open(m->source, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC,
			  0644);
		/* Another member of the pod may have made it just now. */
		r = fd >= 0 || errno == EEXIST ? 0 : -errno;
		fd_close(&fd);
		break;
	case MAKE_NOTHING:
		break;
	}
	if (r < 0)
		return step_fail(s, STAGE_VOLUME, -r, "open hostPath", m->source);
	return 0;
}

/* The source itself, checked through the descriptor that will be mounted. Owned, O_PATH.
 */
static int source_open(const struct root_mount *m, struct step *s, struct stat *ret)
{
	mode_t format = m->is_host_path ? host_types[m->host_type].format : 0;
	_cleanup_close_ int fd = open(m->source, O_PATH | O_CLOEXEC);
	char what[STEP_WHAT_BYTES];

	if (fd < 0 && errno == ENOENT && m->is_host_path) {
		int r = source_make(m, s);

		if (r < 0)
			return r;
		fd = open(m->source, O_PATH | O_CLOEXEC);
	}
	if (fd < 0 || fstat(fd, ret) < 0)
		return step_fail(s, STAGE_VOLUME, errno,
				 m->is_host_path ? "open hostPath" : "open volume source",
				 m->source);
	if (format && (ret->st_mode & S_IFMT) != format) {
		sentence(what, m->source, host_types[m->host_type].complaint);
		return step_fail(s, STAGE_VOLUME, host_types[m->host_type].code,
				 "hostPath", what);
	}
	return fd_steal(&fd);
}

/* Directories of a subPath that are missing, as the kubelet makes them: with the mode of
 * the volume, whose setgid for an fsGroup goes on. */
static int sub_path_make(int root_fd, const char *path, mode_t mode)
{
	_cleanup_close_ int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	char prefix[PATH_MAX];
	size_t start, end = 0;

	while (fd >= 0 && path[start = end + strspn(path + end, "/")]) {
		int next;

		end = start + strcspn(path + start, "/");
		memcpy(prefix, path, end);
		prefix[end] = '\0';
		next = in_root_open_beneath(root_fd, prefix, O_PATH | O_DIRECTORY);
		if (next == -ENOENT) {
			if (mkdirat(fd, prefix + start, mode) < 0 && errno != EEXIST)
				return -errno;
			next = in_root_open_beneath(root_fd, prefix,
						    O_PATH | O_DIRECTORY);
		}
		if (next < 0)
			return next;
		fd_close(&fd);
		fd = next;
	}
	return fd < 0 ? -errno : 0;
}

/* The part of the source that is to be mounted takes its place in fd and st. */
static int sub_path_enter(const struct root_mount *m, struct step *s, int *fd,
			  struct stat *st)
{
	_cleanup_close_ int root_fd = *fd;
	char what[STEP_WHAT_BYTES];
	int r = 0, sub = in_root_open_beneath(root_fd, m->sub_path, O_PATH);

	*fd = -1;
	if (sub == -ENOENT && m->may_make && S_ISDIR(st->st_mode)) {
		r = sub_path_make(root_fd, m->sub_path, st->st_mode & 07777);
		sub = r < 0 ? r : in_root_open_beneath(root_fd, m->sub_path, O_PATH);
	}
	if (sub == -EXDEV || sub == -ELOOP) {
		sentence(what, m->sub_path, "leads out of the volume");
		return step_fail(s, STAGE_SUBPATH, EACCES, "subPath", what);
	}
	if (sub >= 0 && fstat(sub, st) < 0) {
		r = -errno;
		fd_close(&sub);
		sub = r;
	}
	if (sub < 0)
		return step_fail(s, STAGE_SUBPATH, -sub, "open subPath", m->sub_path);
	*fd = sub;
	return 0;
}

/* What is mounted, as a detached tree with all the mounts below it (the kubelet asks the
 * runtimes for rbind). */
static int source_clone(const struct root_mount *m, struct step *s, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int tree_fd, r = 0;

	fd = source_open(m, s, &st);
	if (fd < 0)
		return fd;
	if (m->sub_path)
		r = sub_path_enter(m, s, &fd, &st);
	if (r < 0)
		return r;
	tree_fd = open_tree(fd, "",
			    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
				    AT_EMPTY_PATH);
	if (tree_fd < 0)
		return step_fail(s, STAGE_VOLUME, errno, "clone the mounts of",
				 m->source);
	*ret_fd = tree_fd;
	return 0;
}

/* The kernel's EINVAL for a directory on a file, or a file on a directory, says too
 * little. */
static int mount_code(int code, mode_t source_mode, int target_fd)
{
	struct stat st;

	if (code != EINVAL || fstat(target_fd, &st) < 0 ||
	    S_ISDIR(st.st_mode) == S_ISDIR(source_mode))
		return code;
	return S_ISDIR(st.st_mode) ? EISDIR : ENOTDIR;
}

static int set_propagation(const struct root_mount *m, int tree_fd, struct step *s)
{
	struct mount_attr attr = { .propagation = MS_SLAVE };

	if (m->propagation == PROPAGATION_FROM_HOST &&
	    mount_setattr(tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
			  sizeof(attr)) < 0)
		return step_fail(s, STAGE_MOUNT, errno,
				 "set propagation of the volume at", m->target);
	return 0;
}

int member_volume_open(const struct member_root *root, int *trees, struct step *s)
{
	int r = 0;

	for (size_t i = 0; i < root->n_mounts; i++)
		trees[i] = -1;
	for (size_t i = 0; r == 0 && i < root->n_mounts; i++) {
		const struct root_mount *m = &root->mounts[i];

		if (m->propagation == PROPAGATION_NONE)
			continue;
		r = source_clone(m, s, &trees[i]);
		if (r == 0)
			r = set_propagation(m, trees[i], s);
	}
	return r;
}

/* tree_fd: of member_volume_open(), or -1. */
static int volume_mount(const struct root_mount *m, int root_fd, int opened_fd,
			struct step *s)
{
	struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
	_cleanup_close_ int own_fd = -1;
	_cleanup_close_ int target_fd = -1;
	int tree_fd = opened_fd;
	struct stat st;

	if (tree_fd < 0) {
		int r = source_clone(m, s, &own_fd);

		if (r < 0)
			return r;
		tree_fd = own_fd;
	}
	if (fstat(tree_fd, &st) < 0)
		return step_fail(s, STAGE_VOLUME, errno, "look at the volume for",
				 m->target);
	/* readOnly alone leaves the mounts below as they are (KEP 3857). */
	if (m->read_only && mount_setattr(tree_fd, "",
					  m->recursive == RECURSIVE_DISABLED ?
						  AT_EMPTY_PATH :
						  AT_EMPTY_PATH | AT_RECURSIVE,
					  &read_only, sizeof(read_only)) < 0)
		return step_fail(s, STAGE_MOUNT, errno, "make read-only the volume at",
				 m->target);
	target_fd = in_root_make(root_fd, m->target, S_ISDIR(st.st_mode));
	if (target_fd < 0)
		return step_fail(s, STAGE_MOUNT, -target_fd, "open volume target",
				 m->target);
	if (move_mount(tree_fd, "", target_fd, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return step_fail(s, STAGE_MOUNT, mount_code(errno, st.st_mode, target_fd),
				 "mount volume on", m->target);
	return 0;
}

int member_volume_mount(const struct member_root *root, int root_fd, const int *trees,
			struct step *s)
{
	for (size_t i = 0; i < root->n_mounts; i++) {
		int r = volume_mount(&root->mounts[i], root_fd, trees[i], s);

		if (r < 0)
			return r;
	}
	return 0;
}
