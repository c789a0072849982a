// SPDX-License-Identifier: Apache-2.0
/*
 * cgroup.c - see cgroup.h. Source of the rules: Documentation/admin-guide/cgroup-v2.rst.
 */
#include "pod/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

static int file_path(char *buf, size_t size, const char *dir, const char *file)
{
	int n = snprintf(buf, size, "%s/%s", dir, file);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static ssize_t group_read(int dir_fd, const char *path, const char *file, char *buf,
			  size_t size)
{
	char name[CGROUP_PATH_BYTES + 64];
	int r = file_path(name, sizeof(name), path, file);

	return r < 0 ? r : fd_read_file_at(dir_fd, name, buf, size);
}

static int group_write(int dir_fd, const char *path, const char *file, const char *text)
{
	char name[CGROUP_PATH_BYTES + 64];
	int r = file_path(name, sizeof(name), path, file);

	return r < 0 ? r : fd_write_file_at(dir_fd, name, text);
}

/* Value of "key N" in a flat-keyed file; false when the key is absent. */
static bool flat_key(const char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);

	for (const char *line = text; line && *line;) {
		if (!strncmp(line, key, len) && line[len] == ' ') {
			*ret = strtoull(line + len + 1, NULL, 10);
			return true;
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return false;
}

static void enable_one_by_one(int dir_fd, const char *path, char *names)
{
	char *save = NULL;

	for (char *name = strtok_r(names, " ", &save); name;
	     name = strtok_r(NULL, " ", &save)) {
		int r = group_write(dir_fd, path, "cgroup.subtree_control", name);

		if (r < 0)
			log_warn("cgroup: controller %s is not available below %s: %s",
				 name + 1, path, strerror(-r));
	}
}

/* Enables below path what path itself was given: all in one write, and one by one when
 * the kernel refuses that (cpu while real-time tasks run, say), so that a single one does
 * not take the others with it. */
static void enable_controllers(int dir_fd, const char *path)
{
	char have[512], want[512], *save = NULL;
	size_t len = 0;

	if (group_read(dir_fd, path, "cgroup.controllers", have, sizeof(have)) < 0)
		return;
	for (char *name = strtok_r(have, " \n", &save); name;
	     name = strtok_r(NULL, " \n", &save)) {
		int n = snprintf(want + len, sizeof(want) - len, "%s+%s", len ? " " : "",
				 name);

		if (n < 0 || (size_t)n >= sizeof(want) - len)
			return; /* the kernel knows a dozen short names */
		len += (size_t)n;
	}
	if (len && group_write(dir_fd, path, "cgroup.subtree_control", want) < 0)
		enable_one_by_one(dir_fd, path, want);
}

static int make_dir(int dir_fd, const char *path)
{
	if (mkdirat(dir_fd, path, 0755) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static void sweep(int pods_fd)
{
	_cleanup_close_ int fd = openat(pods_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir)
		return;
	fd = -1; /* the stream owns it now */
	while ((d = readdir(dir))) {
		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		(void)cgroup_kill(pods_fd, d->d_name); /* rmdir tells whether it helped */
		if (cgroup_remove(pods_fd, d->d_name) < 0)
			log_warn("cgroup: left over group pods/%s is still busy",
				 d->d_name);
	}
	(void)closedir(dir);
}

int cgroup_setup(int *ret_fd, struct err *e)
{
	_cleanup_close_ int root = open(CGROUP_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int pods = -1;
	int r;

	if (root < 0)
		return err_set(e, STAGE_CGROUP, errno, "open %s", CGROUP_ROOT);
	r = make_dir(root, "init");
	if (r == 0)
		r = fd_write_file_at(root, "init/cgroup.procs", "0");
	if (r < 0)
		return err_set(e, STAGE_CGROUP, -r,
			       "move PID 1 into " CGROUP_ROOT "/init");
	enable_controllers(root, ".");
	r = make_dir(root, "pods");
	if (r < 0)
		return err_set(e, STAGE_CGROUP, -r, "mkdir " CGROUP_ROOT "/pods");
	enable_controllers(root, "pods");
	pods = openat(root, "pods", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (pods < 0)
		return err_set(e, STAGE_CGROUP, errno, "open " CGROUP_ROOT "/pods");
	sweep(pods);
	*ret_fd = fd_steal(&pods);
	return 0;
}

/* wanted: somebody asked for it; else its absence is no failure. */
static int set_limit(int dir_fd, const char *path, const char *file, const char *value,
		     bool wanted, struct err *e)
{
	int r = group_write(dir_fd, path, file, value);

	if (r == 0 || (!wanted && (r == -ENOENT || r == -EACCES)))
		return 0;
	if (r == -ENOENT || r == -EACCES) /* cgroupfs lets nobody make a file */
		return err_setx(e, STAGE_CGROUP, EOPNOTSUPP,
				"the kernel has no cgroup controller for %s", file);
	return err_set(e, STAGE_CGROUP, -r, "write %s to %s/%s", value, path, file);
}

static int set_limits(int dir_fd, const char *path, const struct cgroup_limits *l,
		      struct err *e)
{
	char weight[16], max[48] = "max", bytes[24];
	int r;

	(void)snprintf(weight, sizeof(weight), "%u", l->cpu_weight);
	(void)snprintf(bytes, sizeof(bytes), "%lld", (long long)l->memory_max);
	if (l->cpu_quota_us >= 0)
		(void)snprintf(max, sizeof(max), "%lld %d", (long long)l->cpu_quota_us,
			       CGROUP_CPU_PERIOD_US);
	r = set_limit(dir_fd, path, "cpu.weight", weight, false, e);
	if (r == 0 && l->cpu_quota_us >= 0)
		r = set_limit(dir_fd, path, "cpu.max", max, true, e);
	if (r == 0 && l->memory_max >= 0)
		r = set_limit(dir_fd, path, "memory.max", bytes, true, e);
	if (r == 0 && l->is_leaf)
		r = set_limit(dir_fd, path, "memory.swap.max", "0", false, e);
	/* One process that the kernel picks would leave the others in an unknown state.
	 */
	if (r == 0 && l->is_leaf)
		r = set_limit(dir_fd, path, "memory.oom.group", "1", false, e);
	return r;
}

/* 1: made just now. */
static int make_group(int pods_fd, const char *path, const struct cgroup_limits *limits,
		      struct err *e)
{
	int r;

	if (mkdirat(pods_fd, path, 0755) < 0)
		return errno == EEXIST ?
			       0 :
			       err_set(e, STAGE_CGROUP, errno, "mkdir cgroup %s", path);
	r = set_limits(pods_fd, path, limits, e);
	if (r < 0)
		(void)unlinkat(pods_fd, path, AT_REMOVEDIR); /* the next try sets them */
	return r < 0 ? r : 1;
}

int cgroup_make_pod(int pods_fd, const char *path, const struct cgroup_limits *limits,
		    struct err *e)
{
	int r = make_group(pods_fd, path, limits, e);

	if (r > 0)
		enable_controllers(pods_fd, path);
	return r < 0 ? r : 0;
}

int cgroup_make_leaf(int pods_fd, const char *path, const struct cgroup_limits *limits,
		     struct err *e)
{
	char text[256];
	uint64_t frozen = 0;
	int r = make_group(pods_fd, path, limits, e);

	if (r < 0)
		return r;
	if (group_read(pods_fd, path, "cgroup.events", text, sizeof(text)) > 0 &&
	    flat_key(text, "frozen", &frozen) && frozen)
		return err_setx(e, STAGE_CGROUP, EAGAIN, "cgroup %s is frozen", path);
	return 0;
}

int cgroup_kill(int pods_fd, const char *path)
{
	return group_write(pods_fd, path, "cgroup.kill", "1");
}

int cgroup_populated(int pods_fd, const char *path)
{
	char text[256];
	uint64_t populated = 0;
	ssize_t n = group_read(pods_fd, path, "cgroup.events", text, sizeof(text));

	if (n == -ENOENT || n == -ENODEV)
		return 0;
	if (n < 0)
		return (int)n;
	return flat_key(text, "populated", &populated) ? populated != 0 : -EIO;
}

uint64_t cgroup_oom_kills(int pods_fd, const char *path)
{
	char text[512];
	uint64_t kills = 0;

	/* oom_kill, not oom: the latter counts allocations that failed (T28). */
	if (group_read(pods_fd, path, "memory.events", text, sizeof(text)) > 0)
		(void)flat_key(text, "oom_kill", &kills);
	return kills;
}

/* Depth of what a member may have made below its leaf; more is left to the kernel. */
#define CGROUP_DEPTH_MAX 16

static int remove_below(int dir_fd, const char *name, int depth)
{
	_cleanup_close_ int fd = -1;
	DIR *dir;
	struct dirent *d;

	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != EBUSY || depth == 0)
		return -errno;
	/* Busy may mean "has children": a member with cgroup rights makes groups too. */
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return -errno;
	while ((d = readdir(dir)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			(void)remove_below(fd, d->d_name,
					   depth - 1); /* rmdir below judges */
	fd = -1;
	(void)closedir(dir);
	return unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

int cgroup_remove(int pods_fd, const char *path)
{
	return remove_below(pods_fd, path, CGROUP_DEPTH_MAX);
}
