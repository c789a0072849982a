// SPDX-License-Identifier: Apache-2.0
/*
 * in_root.c - see in_root.h.
 *
 * Never resolves a path by itself: it only decides which part to make, the kernel says
 * where that part lies.
 */
#include "rootfs/in_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* openat2(2): a rename somewhere in the system during a walk over ".." gives EAGAIN. */
#define EAGAIN_TRIES 32

static int open_resolved(int dir_fd, const char *path, struct open_how *how)
{
	for (int i = 0; i < EAGAIN_TRIES; i++) {
		long fd = syscall(SYS_openat2, dir_fd, path, how, sizeof(*how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

int in_root_open(int root_fd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC,
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return open_resolved(root_fd, path, &how);
}

int in_root_open_beneath(int dir_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	return open_resolved(dir_fd, path, &how);
}

static int make_one(int parent_fd, const char *name, bool directory)
{
	int fd;

	if (directory)
		return mkdirat(parent_fd, name, 0755) < 0 ? -errno : 0;
	fd = openat(parent_fd, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
		    0644);
	if (fd < 0)
		return -errno;
	fd_close(&fd);
	return 0;
}

/* Puts the text of the symlink name in parent_fd where path[start..end) stands. */
static int splice_link(int parent_fd, const char *name, char path[static PATH_MAX],
		       size_t start, size_t end)
{
	char link[PATH_MAX];
	ssize_t n = readlinkat(parent_fd, name, link, sizeof(link));
	size_t len, rest = strlen(path + end) + 1;

	if (n < 0)
		return -errno;
	len = (size_t)n;
	if (len > 0 && link[0] == '/')
		start = 0;
	if (start + len + rest > PATH_MAX)
		return -ENAMETOOLONG;
	memmove(path + start + len, path + end, rest);
	memcpy(path + start, link, len);
	return 0;
}

/* Walks path from the root, part by part, making what is missing. 0 with *ret_fd, 1 when
 * path was rewritten by a dangling symlink and must be walked again, or -errno. */
static int make_walk(int root_fd, char path[static PATH_MAX], bool directory, int *ret_fd)
{
	_cleanup_close_ int parent_fd = in_root_open(root_fd, "/", O_PATH | O_DIRECTORY,
						     0);
	char name[NAME_MAX + 1];
	size_t start, end = 0;

	if (parent_fd < 0)
		return parent_fd;
	for (;;) {
		char after;
		int fd, r;

		start = end + strspn(path + end, "/");
		end = start + strcspn(path + start, "/");
		if (start == end)
			break;
		if (end - start > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path + start, end - start);
		name[end - start] = '\0';
		after = path[end];
		path[end] = '\0';
		fd = in_root_open(root_fd, path, O_PATH, 0);
		if (fd == -ENOENT) {
			bool last = path[end + (after != '\0')] == '\0';

			r = make_one(parent_fd, name, directory || !last);
			if (r == 0 || r == -EEXIST)
				fd = in_root_open(root_fd, path, O_PATH, 0);
			else
				fd = r;
		}
		path[end] = after;
		if (fd == -ENOENT) {
			r = splice_link(parent_fd, name, path, start, end);
			return r < 0 ? r : 1;
		}
		if (fd < 0)
			return fd;
		fd_close(&parent_fd);
		parent_fd = fd;
	}
	*ret_fd = fd_steal(&parent_fd);
	return 0;
}

int in_root_make(int root_fd, const char *path, bool directory)
{
	char copy[PATH_MAX];
	size_t len = strlen(path);
	int fd = in_root_open(root_fd, path, O_PATH, 0);

	if (fd != -ENOENT)
		return fd;
	if (len >= sizeof(copy))
		return -ENAMETOOLONG;
	/* Trailing slashes would hide from make_walk() which part is the last. */
	while (len > 1 && path[len - 1] == '/')
		len--;
	memcpy(copy, path, len);
	copy[len] = '\0';
	for (int i = 0; i <= IN_ROOT_LINKS; i++) {
		int r = make_walk(root_fd, copy, directory, &fd);

		if (r == 0)
			return fd;
		if (r < 0)
			return r;
	}
	return -ELOOP;
}
