// SPDX-License-Identifier: Apache-2.0
/*
 * projected.c - see projected.h.
 */
#include "rootfs/projected.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "rootfs/tree.h"

#define DATA        "..data"
#define DATA_NEXT   "..data_tmp"
/* fsGroup of a read-only volume: it may read, and enter directories (kubernetes
 * pkg/volume/volume_linux.go). */
#define GROUP_READ  0440
#define GROUP_ENTER 02550

struct projected {
	const char *dir;
	int dir_fd;
	int64_t gid;
	char name[64]; /* of the new files' directory */
};

/* Through the descriptor: the mode is meant as written, whatever the umask. */
static int set_owner(int fd, int64_t gid, mode_t mode)
{
	if (gid >= 0 && fchown(fd, (uid_t)-1, (gid_t)gid) < 0)
		return -errno;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int set_directory(const struct projected *p, int fd)
{
	return set_owner(fd, p->gid, p->gid >= 0 ? 0755 | GROUP_ENTER : 0755);
}

/* The directory that path's file stands in, made below from_fd; owned. */
static int open_parent(const struct projected *p, int from_fd, const char *path,
		       const char **ret_name)
{
	int fd = fcntl(from_fd, F_DUPFD_CLOEXEC, 0), next, r;
	const char *slash;
	char part[NAME_MAX + 1];

	while (fd >= 0 && (slash = strchr(path, '/'))) {
		size_t len = (size_t)(slash - path);

		path = slash + 1;
		if (len == 0)
			continue;
		if (len >= sizeof(part)) {
			fd_close(&fd);
			return -ENAMETOOLONG;
		}
		memcpy(part, slash - len, len);
		part[len] = '\0';
		r = mkdirat(fd, part, 0755) < 0 && errno != EEXIST ? -errno : 0;
		next = r < 0 ? r :
			       openat(fd, part,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0 && r == 0)
			r = -errno;
		fd_close(&fd);
		if (r == 0)
			r = set_directory(p, next);
		if (r < 0) {
			fd_close(&next);
			return r;
		}
		fd = next;
	}
	*ret_name = path;
	return fd < 0 ? -errno : fd;
}

static int write_file(const struct projected *p, int data_fd,
		      const struct projected_file *f)
{
	_cleanup_close_ int parent_fd = -1, fd = -1;
	const char *name = NULL;
	int r;

	parent_fd = open_parent(p, data_fd, f->path, &name);
	if (parent_fd < 0)
		return parent_fd;
	fd = openat(parent_fd, name,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_full(fd, f->data, f->len);
	return r < 0 ? r :
		       set_owner(fd, p->gid,
				 p->gid >= 0 ? f->mode | GROUP_READ : f->mode);
}

static int write_files(struct projected *p, const struct projected_file *files, size_t n)
{
	_cleanup_close_ int data_fd = -1;
	int r;

	if (mkdirat(p->dir_fd, p->name, 0755) < 0)
		return -errno;
	data_fd = openat(p->dir_fd, p->name,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = data_fd < 0 ? -errno : set_directory(p, data_fd);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = write_file(p, data_fd, &files[i]);
	return r;
}

/* The first part of a path. */
static int head_of(const char *path, char head[static NAME_MAX + 1])
{
	size_t len = strcspn(path, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(head, path, len);
	head[len] = '\0';
	return 0;
}

static int link_names(const struct projected *p, const struct projected_file *files,
		      size_t n)
{
	char head[NAME_MAX + 1], target[NAME_MAX + sizeof(DATA) + 2];

	for (size_t i = 0; i < n; i++) {
		int r = head_of(files[i].path, head);

		if (r < 0)
			return r;
		(void)snprintf(target, sizeof(target), "%s/%s", DATA, head);
		if (symlinkat(target, p->dir_fd, head) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static bool is_used(const char *name, const struct projected_file *files, size_t n)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (strncmp(files[i].path, name, len) == 0 &&
		    (files[i].path[len] == '\0' || files[i].path[len] == '/'))
			return true;
	return false;
}

/* Names that are no longer there, and directories of earlier files. What cannot be
 * removed is tried again at the next change. */
static void remove_old(const struct projected *p, const struct projected_file *files,
		       size_t n)
{
	int list_fd = fcntl(p->dir_fd, F_DUPFD_CLOEXEC, 0);
	DIR *d = list_fd < 0 ? NULL : fdopendir(list_fd);
	struct dirent *entry;
	char path[PATH_MAX];

	if (!d) {
		fd_close(&list_fd);
		return;
	}
	rewinddir(d);
	while ((entry = readdir(d))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, DATA) ||
		    !strcmp(name, p->name))
			continue;
		if (strncmp(name, "..", 2) != 0) {
			if (!is_used(name, files, n))
				(void)unlinkat(p->dir_fd, name, 0);
		} else if ((size_t)snprintf(path, sizeof(path), "%s/%s", p->dir, name) <
			   sizeof(path)) {
			(void)tree_remove(path);
		}
	}
	(void)closedir(d);
}

/* "..2026_12_01_13_05_06.123456789": two of one volume never share it. */
static void name_data(struct projected *p)
{
	struct timespec now;
	struct tm tm = { 0 };
	size_t len;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
	(void)gmtime_r(&now.tv_sec, &tm);
	len = strftime(p->name, sizeof(p->name), "..%Y_%m_%d_%H_%M_%S.", &tm);
	(void)snprintf(p->name + len, sizeof(p->name) - len, "%09ld", now.tv_nsec);
}

static int replace(struct projected *p, const struct projected_file *files, size_t n)
{
	int r = write_files(p, files, n);

	if (r == 0 && unlinkat(p->dir_fd, DATA_NEXT, 0) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0 && symlinkat(p->name, p->dir_fd, DATA_NEXT) < 0)
		r = -errno;
	if (r == 0 && renameat(p->dir_fd, DATA_NEXT, p->dir_fd, DATA) < 0)
		r = -errno;
	return r;
}

int projected_write(const char *dir, const struct projected_file *files, size_t n,
		    int64_t gid)
{
	_cleanup_close_ int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						       O_CLOEXEC);
	struct projected p = { .dir = dir, .dir_fd = dir_fd, .gid = gid };
	char path[PATH_MAX];
	int r;

	if (dir_fd < 0)
		return -errno;
	name_data(&p);
	r = set_directory(&p, dir_fd);
	if (r < 0)
		return r;
	r = replace(&p, files, n);
	if (r < 0) {
		/* Nobody has seen it yet. */
		if (path_join(path, sizeof(path), dir, p.name) > 0)
			(void)tree_remove(path);
		return r;
	}
	r = link_names(&p, files, n);
	if (r == 0)
		remove_old(&p, files, n);
	return r;
}
