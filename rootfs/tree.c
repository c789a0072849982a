// SPDX-License-Identifier: Apache-2.0
/*
 * tree.c - see tree.h.
 *
 * Owns: the descriptors of one removal. tree_make() is async-signal-safe, tree_remove()
 * is for helper children. Never follows a symlink below the given path.
 *
 * Removal keeps at most three descriptors and no stack, whatever the depth: a directory
 * that is not empty is first renamed into one staging directory at the top, under a
 * number, and the numbers are worked off one by one. So each directory is emptied at
 * depth one, its own subdirectories joining the end of the queue.
 */
#include "rootfs/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define OPEN_DIR    (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Names of the staging directory to try before giving up: each may exist, hostile. */
#define STAGE_NAMES 1000

static int make_part(const char *path, mode_t mode, bool last)
{
	struct stat st;

	if (mkdir(path, last ? mode : 0755) == 0) {
		/* mkdir(2) takes the umask off; emptyDir's 0777 is meant as it is. */
		if (last && chmod(path, mode) < 0)
			return -errno;
		return 0;
	}
	if (errno != EEXIST)
		return -errno;
	if (last && stat(path, &st) < 0)
		return -errno;
	return last && !S_ISDIR(st.st_mode) ? -ENOTDIR : 0;
}

int tree_make(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t len = strlen(path), at = 0;

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len == 0)
		return -ENOENT;
	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	while (at < len) {
		int r;

		at += strspn(path + at, "/");
		at += strcspn(path + at, "/");
		at = MIN(at, len);
		memcpy(part, path, at);
		part[at] = '\0';
		r = make_part(part, mode, at == len);
		if (r < 0)
			return r;
	}
	return 0;
}

struct removal {
	int top_fd, stage_fd;
	char stage[32];
	uint64_t next, end; /* numbers of staged directories: [next, end) */
	uint64_t removed;   /* entries gone, to see whether another round can help */
	int error;          /* the first -errno of this round */
};

static void removal_error(struct removal *rm, int code)
{
	if (rm->error == 0)
		rm->error = -code;
}

static void removal_number(char name[static 24], uint64_t n)
{
	(void)snprintf(name, 24, "%" PRIu64, n);
}

/* One entry of the directory at fd. Linux says EISDIR where POSIX has EPERM. */
static void remove_entry(struct removal *rm, int fd, const char *name)
{
	char number[24];

	if (unlinkat(fd, name, 0) == 0) {
		rm->removed++;
		return;
	}
	if (errno == ENOENT)
		return;
	if (errno != EISDIR) {
		removal_error(rm, errno);
		return;
	}
	if (unlinkat(fd, name, AT_REMOVEDIR) == 0) {
		rm->removed++;
		return;
	}
	if (errno != ENOTEMPTY && errno != EEXIST) {
		/* EBUSY is the mount point that we must not cross. */
		removal_error(rm, errno);
		return;
	}
	removal_number(number, rm->end);
	if (renameat(fd, name, rm->stage_fd, number) < 0)
		removal_error(rm, errno);
	else
		rm->end++;
}

/* All entries of a directory but skip (may be NULL). */
static void empty_directory(struct removal *rm, int fd, const char *skip)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct dirent *entry;
	DIR *dir;

	dir = copy >= 0 ? fdopendir(copy) : NULL;
	if (!dir) {
		removal_error(rm, errno);
		fd_close(&copy);
		return;
	}
	rewinddir(dir);
	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (skip && strcmp(name, skip) == 0)
			continue;
		remove_entry(rm, fd, name);
	}
	if (errno)
		removal_error(rm, errno);
	(void)closedir(dir);
}

/* A full file system has no room for the staging directory: walks down the first
 * directories there are until something can be removed. false when nothing could. */
static bool free_something(const char *path)
{
	_cleanup_close_ int fd = open(path, OPEN_DIR);
	bool freed = false, down = true;

	while (fd >= 0 && down && !freed) {
		int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), child = -1;
		DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
		struct dirent *entry;

		if (!dir) {
			fd_close(&copy);
			break;
		}
		while (!freed && child < 0 && (entry = readdir(dir))) {
			const char *name = entry->d_name;

			if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
				continue;
			freed = unlinkat(fd, name, 0) == 0 ||
				unlinkat(fd, name, AT_REMOVEDIR) == 0;
			if (!freed && errno == ENOTEMPTY)
				child = openat(fd, name, OPEN_DIR);
		}
		(void)closedir(dir);
		down = child >= 0;
		if (down) {
			fd_close(&fd);
			fd = child;
		}
	}
	return freed;
}

static int stage_make(struct removal *rm, const char *path)
{
	int code = EEXIST;

	for (unsigned int i = 0; i < STAGE_NAMES; i++) {
		(void)snprintf(rm->stage, sizeof(rm->stage), ".removed-%u", i);
		if (mkdirat(rm->top_fd, rm->stage, 0700) == 0) {
			rm->stage_fd = openat(rm->top_fd, rm->stage, OPEN_DIR);
			return rm->stage_fd < 0 ? -errno : 0;
		}
		code = errno;
		if (code != EEXIST && code != ENOSPC && code != EDQUOT)
			break;
		if (code != EEXIST && !free_something(path))
			break;
	}
	return -code;
}

/* One round: everything that can go goes. */
static void remove_round(struct removal *rm)
{
	empty_directory(rm, rm->top_fd, rm->stage);
	for (; rm->next < rm->end; rm->next++) {
		char number[24];
		_cleanup_close_ int fd = -1;

		removal_number(number, rm->next);
		fd = openat(rm->stage_fd, number, OPEN_DIR);
		if (fd < 0) {
			if (errno != ENOENT) /* gone in an earlier round */
				removal_error(rm, errno);
			continue;
		}
		empty_directory(rm, fd, NULL);
		if (unlinkat(rm->stage_fd, number, AT_REMOVEDIR) == 0)
			rm->removed++;
		else
			removal_error(rm, errno);
	}
}

static int remove_below(struct removal *rm)
{
	uint64_t before;

	/* Some file systems skip entries while others are removed under the reader, and a
	 * rename may find no room now and find it later. */
	do {
		before = rm->removed;
		rm->error = 0;
		remove_round(rm);
		/* What a round could not remove stands in the stage under old numbers. */
		if (unlinkat(rm->top_fd, rm->stage, AT_REMOVEDIR) == 0)
			return rm->error;
		rm->next = 0;
	} while (rm->removed != before);
	return rm->error ? rm->error : -ENOTEMPTY;
}

/* true when fd is the root of a mount: its entries are not ours to remove. */
static bool is_mount_root(int fd)
{
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH, 0, &stx) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

int tree_remove(const char *path)
{
	_cleanup_close_ int top_fd = -1;
	_cleanup_close_ int stage_fd = -1;
	struct removal rm = { .stage_fd = -1 };
	int r;

	if (unlink(path) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -errno;
	if (rmdir(path) == 0)
		return 0;
	top_fd = open(path, OPEN_DIR);
	if (top_fd < 0)
		return -errno;
	if (is_mount_root(top_fd))
		return -EBUSY;
	rm.top_fd = top_fd;
	r = stage_make(&rm, path);
	stage_fd = rm.stage_fd;
	if (r < 0)
		return r;
	r = remove_below(&rm);
	if (rmdir(path) < 0 && errno != ENOENT && r == 0)
		r = -errno;
	return r;
}

int tree_remove_run(void *path)
{
	int r = tree_remove(path);

	if (r < 0)
		(void)fprintf(stderr, "cannot remove %s: %s\n", (const char *)path,
			      strerror(-r));
	return r < 0;
}
