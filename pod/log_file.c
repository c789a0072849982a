// SPDX-License-Identifier: Apache-2.0
/*
 * log_file.c - see log_file.h. Each way to the file starts at the log directory's path
 * and goes down by descriptors, so no descriptor but the live file's is kept, and a
 * directory that was removed is made again by the next open.
 */
#include "pod/log_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"

/* Modes as the kubelet's and containerd's. */
#define DIR_MODE        0755
#define FILE_MODE       0640

/* "4294967295.log.20240102-030405-000001" */
#define NAME_BYTES      48
#define TIME_SUFFIX_LEN 16
#define ROTATED_MAX     999999ul

void log_file_pod_dir(char dir[static NAME_MAX + 1], const char *namespace,
		      const char *pod, const char *uid)
{
	size_t rest = strlen(namespace) + strlen(uid) + 2;
	size_t room = rest < NAME_MAX ? NAME_MAX - rest : 0;

	(void)snprintf(dir, NAME_MAX + 1, "%s_%.*s_%s", namespace, (int)room, pod, uid);
}

void log_file_init(struct log_file *file, const struct log_limits *limits,
		   const char *pod_dir, const char *member, uint32_t attempt)
{
	*file = (struct log_file){
		.limits = limits,
		.pod_dir = pod_dir,
		.member = member,
		.attempt = attempt,
		.fd = -1,
	};
}

void log_file_close(struct log_file *file)
{
	fd_close(&file->fd);
}

/* ---- directories ------------------------------------------------------------------ */

/* The log directory itself may be a link of the administrator's. */
int log_dir_open(const char *path)
{
	char part[PATH_MAX];
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	strcpy(part, path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, DIR_MODE) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	if (mkdir(path, DIR_MODE) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int child_open(int dir_fd, const char *name)
{
	int fd;

	if (mkdirat(dir_fd, name, DIR_MODE) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int dir_open(const struct log_file *file)
{
	_cleanup_close_ int root = log_dir_open(file->limits->dir);
	_cleanup_close_ int pod = -1;

	if (root < 0)
		return root;
	pod = child_open(root, file->pod_dir);
	if (pod < 0)
		return pod;
	return child_open(pod, file->member);
}

typedef void (*scan_fn)(void *arg, int dir_fd, const char *name);

/* Like readdir(3), which would allocate. */
static int dir_scan(int dir_fd, scan_fn fn, void *arg)
{
	_Alignas(struct dirent64) char buf[4096];
	ssize_t n;

	if (lseek(dir_fd, 0, SEEK_SET) < 0)
		return -errno;
	while ((n = getdents64(dir_fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const struct dirent64 *)(buf + at);

			fn(arg, dir_fd, d->d_name);
			at += d->d_reclen;
		}
	}
	return n < 0 ? -errno : 0;
}

/* ---- what is removed -------------------------------------------------------------- */

/* The suffix after "ATTEMPT.log", or NULL when it is no such name. */
static const char *name_parse(const char *name, uint32_t *ret_attempt)
{
	uint64_t attempt = 0;
	const char *at = name;

	for (; *at >= '0' && *at <= '9' && attempt <= UINT32_MAX; at++)
		attempt = attempt * 10 + (uint64_t)(*at - '0');
	if (at == name || attempt > UINT32_MAX || strncmp(at, ".log", 4) != 0)
		return NULL;
	*ret_attempt = (uint32_t)attempt;
	return at + 4;
}

/* ".YYYYMMDD-HHMMSS", perhaps with "-NNNNNN": what rotated_name() makes. */
static bool is_rotated(const char *suffix)
{
	static const char pattern[] = ".dddddddd-dddddd-dddddd";
	size_t len = strlen(suffix);

	if (len != TIME_SUFFIX_LEN && len != sizeof(pattern) - 1)
		return false;
	for (size_t i = 0; i < len; i++)
		if (pattern[i] == 'd' ? suffix[i] < '0' || suffix[i] > '9' :
					suffix[i] != pattern[i])
			return false;
	return true;
}

static void scan_old_attempt(void *arg, int dir_fd, const char *name)
{
	const struct log_file *file = arg;
	uint32_t attempt;

	/* A file that cannot be removed is met again at the next start. */
	if (name_parse(name, &attempt) &&
	    attempt + file->limits->max_files <= (int64_t)file->attempt)
		(void)unlinkat(dir_fd, name, 0);
}

struct rotated {
	uint32_t attempt;
	int64_t count;
	char oldest[NAME_MAX + 1];
};

static void scan_rotated(void *arg, int dir_fd, const char *name)
{
	struct rotated *r = arg;
	uint32_t attempt;
	const char *suffix = name_parse(name, &attempt);

	(void)dir_fd;
	if (!suffix || !is_rotated(suffix) || attempt != r->attempt)
		return;
	if (!r->count || strcmp(name, r->oldest) < 0)
		(void)snprintf(r->oldest, sizeof(r->oldest), "%s", name);
	r->count++;
}

/* The times in the names sort as text. One scan for each file to remove, and that is one
 * unless the limit was lowered. */
static void rotated_prune(const struct log_file *file, int dir_fd)
{
	int64_t keep = MAX(file->limits->max_files, (int64_t)1) - 1;

	for (;;) {
		struct rotated r = { .attempt = file->attempt };

		if (dir_scan(dir_fd, scan_rotated, &r) < 0 || r.count <= keep ||
		    unlinkat(dir_fd, r.oldest, 0) < 0 || r.count == keep + 1)
			return;
	}
}

/* ---- the live file ---------------------------------------------------------------- */

static void live_name(const struct log_file *file, char name[static NAME_BYTES])
{
	(void)snprintf(name, NAME_BYTES, "%u.log", file->attempt);
}

int log_file_open(struct log_file *file)
{
	_cleanup_close_ int dir = dir_open(file);
	_cleanup_close_ int fd = -1;
	char name[NAME_BYTES];
	struct stat st;

	log_file_close(file);
	if (dir < 0)
		return dir;
	live_name(file, name);
	/* O_NONBLOCK: a fifo put there must not hold us; it is refused below. */
	fd = openat(dir, name,
		    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    FILE_MODE);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (!st.st_size)
		(void)dir_scan(dir, scan_old_attempt, file); /* tried at each start */
	file->fd = fd_steal(&fd);
	return 0;
}

struct newest {
	uint32_t attempt;
	char suffix[NAME_BYTES]; /* "" = there is none */
};

static void scan_newest(void *arg, int dir_fd, const char *name)
{
	struct newest *newest = arg;
	uint32_t attempt;
	const char *suffix = name_parse(name, &attempt);

	(void)dir_fd;
	if (suffix && attempt == newest->attempt && is_rotated(suffix) &&
	    strcmp(suffix, newest->suffix) > 0)
		strcpy(newest->suffix, suffix);
}

/* The present time, or the newest name's with the next number: names of one second are
 * numbered, and a clock that was set back does not change the order. What is in the
 * directory decides, as it outlives us and what the pruning freed is no new name. */
static int rotated_name(const struct log_file *file, int dir_fd,
			char name[static NAME_BYTES])
{
	struct newest newest = { .attempt = file->attempt };
	char t[TIME_TEXT_SIZE], now[TIME_SUFFIX_LEN + 1];
	int r = dir_scan(dir_fd, scan_newest, &newest);

	if (r < 0)
		return r;
	time_text_sec(time_wall_ns(), t);
	(void)snprintf(now, sizeof(now), ".%.4s%.2s%.2s-%.2s%.2s%.2s", t, t + 5, t + 8,
		       t + 11, t + 14, t + 17);
	if (strncmp(now, newest.suffix, TIME_SUFFIX_LEN) > 0) {
		(void)snprintf(name, NAME_BYTES, "%u.log%s", file->attempt, now);
	} else {
		unsigned long number = 0;

		if (newest.suffix[TIME_SUFFIX_LEN])
			number = strtoul(newest.suffix + TIME_SUFFIX_LEN + 1, NULL, 10);
		(void)snprintf(name, NAME_BYTES, "%u.log%.*s-%06lu", file->attempt,
			       TIME_SUFFIX_LEN, newest.suffix,
			       MIN(number + 1, ROTATED_MAX));
	}
	return 0;
}

/* Not by RENAME_NOREPLACE, which 9p refuses: nobody else makes names here. */
static int file_rotate(struct log_file *file)
{
	_cleanup_close_ int dir = dir_open(file);
	char from[NAME_BYTES], to[NAME_BYTES];
	int r;

	if (dir < 0)
		return dir;
	live_name(file, from);
	r = rotated_name(file, dir, to);
	if (r < 0)
		return r;
	/* ENOENT: somebody has moved it away, which serves as well. */
	if (renameat(dir, from, dir, to) < 0 && errno != ENOENT)
		return -errno;
	log_file_close(file);
	rotated_prune(file, dir);
	return 0;
}

/* Opens the file when it is closed or was removed, and learns its size: truncation by
 * somebody else is noticed here too. */
static int file_ready(struct log_file *file)
{
	struct stat st;

	if (file->fd >= 0) {
		if (fstat(file->fd, &st) < 0)
			return -errno;
		if (!st.st_nlink)
			log_file_close(file);
	}
	if (file->fd < 0) {
		int r = log_file_open(file);

		if (r < 0)
			return r;
		if (fstat(file->fd, &st) < 0)
			return -errno;
	}
	file->inode = st.st_ino;
	file->size = st.st_size;
	return 0;
}

/* ---- writing ---------------------------------------------------------------------- */

/* How much goes into the live file: as many whole lines as fit, at least one into an
 * empty file. 0 = rotate first. */
static size_t lines_fit(const struct log_file *file, const char *lines, size_t len)
{
	int64_t room = file->limits->max_bytes - file->size;
	const char *newline = NULL;

	if (room >= (int64_t)len)
		return len;
	if (room > 0)
		newline = memrchr(lines, '\n', (size_t)room);
	if (!newline && !file->size)
		newline = memchr(lines, '\n', len);
	if (!newline)
		return file->size ? 0 : len;
	return (size_t)(newline - lines) + 1;
}

static void file_mark(struct log_file *file, size_t done)
{
	struct log_mark mark = { .done = done, .inode = file->inode, .size = file->size };

	if (file->mark)
		file->mark(file, &mark);
}

/* Writes all of it, or takes the part of a line at its end back. *ret_kept is set in any
 * case. */
static int lines_write(struct log_file *file, const char *lines, size_t len,
		       size_t *ret_kept)
{
	const char *newline;
	size_t n = 0;
	int code = 0;

	while (n < len && !code) {
		ssize_t w = write(file->fd, lines + n, len - n);

		if (w >= 0)
			n += (size_t)w;
		else if (errno != EINTR)
			code = errno;
	}
	if (code && n) {
		newline = memrchr(lines, '\n', n);
		n = newline ? (size_t)(newline - lines) + 1 : 0;
		/* Where that fails too, the torn line stays: nothing better is left. */
		(void)!ftruncate(file->fd, file->size + (int64_t)n);
	}
	file->size += (int64_t)n;
	*ret_kept = n;
	return -code;
}

int log_file_write(struct log_file *file, const char *lines, size_t len)
{
	size_t done = 0;
	int r = 0;

	while (done < len) {
		size_t n, kept = 0;

		r = file_ready(file);
		if (r < 0)
			break;
		file_mark(file, done);
		n = lines_fit(file, lines + done, len - done);
		r = n ? lines_write(file, lines + done, n, &kept) : file_rotate(file);
		done += kept;
		if (r < 0)
			break;
		if (kept)
			file_mark(file, done);
	}
	file->lost_bytes += len - done;
	file->code = -r;
	return r;
}

size_t log_file_resume(struct log_file *file, const struct log_mark *mark, size_t len)
{
	size_t done = MIN(mark->done, len);

	/* Another file: the rotation came after the write was done. */
	if (file_ready(file) == 0 && file->inode == mark->inode &&
	    file->size > mark->size)
		done += MIN((size_t)(file->size - mark->size), len - done);
	return done;
}
