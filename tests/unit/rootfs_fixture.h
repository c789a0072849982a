// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_fixture.h - a temporary directory and what the rootfs tests put into it.
 *
 * Owns: "fixture_dir", removed by fixture_down() with the system's rm, not with the code
 * under test. Everything is static: each test is a program of its own.
 */
#ifndef TESTS_UNIT_ROOTFS_FIXTURE_H
#define TESTS_UNIT_ROOTFS_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"

#define FIXTURE_PATH 1024

static char fixture_dir[64];

/* "FIXTURE_DIR/PATH"; the last 16 results stay valid. */
static inline const char *fixture(const char *path)
{
	static char paths[16][FIXTURE_PATH];
	static unsigned int next;
	char *out = paths[next++ % 16];

	(void)snprintf(out, FIXTURE_PATH, "%s/%s", fixture_dir, path);
	return out;
}

static inline void fixture_up(void)
{
	(void)strcpy(fixture_dir, "/tmp/podinit-test-XXXXXX");
	if (!mkdtemp(fixture_dir))
		abort();
	if (chmod(fixture_dir, 0755) < 0)
		abort();
}

static inline void fixture_down(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "/bin/rm -rf --one-file-system '%s'",
		       fixture_dir);
	if (system(command) != 0)
		abort();
}

/* mkdir -p below the fixture. */
static inline void fixture_mkdir(const char *path)
{
	char part[FIXTURE_PATH];

	(void)snprintf(part, sizeof(part), "%s", fixture(path));
	for (char *at = part + strlen(fixture_dir) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(part, 0755);
		*at = '/';
	}
	if (mkdir(part, 0755) < 0 && errno != EEXIST)
		abort();
}

static inline void fixture_write(const char *path, const char *text)
{
	FILE *file = fopen(fixture(path), "we");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		abort();
}

static inline void fixture_symlink(const char *target, const char *path)
{
	if (symlink(target, fixture(path)) < 0)
		abort();
}

static inline bool fixture_exists(const char *path)
{
	struct stat st;

	return lstat(fixture(path), &st) == 0;
}

/* A whole small file as text, "" when it cannot be read. Static memory. */
static inline const char *slurp(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n, len = 0;

	while (fd >= 0 && len < (ssize_t)sizeof(text) - 1 &&
	       (n = read(fd, text + len, sizeof(text) - 1 - (size_t)len)) > 0)
		len += n;
	if (fd >= 0)
		(void)close(fd);
	text[len] = '\0';
	return text;
}

/* Writes "0 ID 1" maps for a process that has just unshared its user namespace. */
static inline bool fixture_map_root(void)
{
	static const char *const files[][2] = { { "/proc/self/setgroups", "deny" },
						{ "/proc/self/uid_map", "0 0 1" },
						{ "/proc/self/gid_map", "0 0 1" } };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int fd = open(files[i][0], O_WRONLY | O_CLOEXEC);
		ssize_t len = (ssize_t)strlen(files[i][1]);
		bool ok = fd >= 0 && write(fd, files[i][1], (size_t)len) == len;

		if (fd >= 0)
			(void)close(fd);
		if (!ok)
			return false;
	}
	return true;
}

/* ---- checks in a child --------------------------------------------------------------
 */

/* What a child has to say; mapped shared. */
struct fixture_report {
	char text[512];
	char data[4096];
};

static struct fixture_report *fixture_report __attribute__((unused));

/* In a child: a failed check is written to the report and ends it. */
#define CHECK(condition)                                                                 \
	do {                                                                             \
		if (!(condition)) {                                                      \
			(void)snprintf(fixture_report->text,                             \
				       sizeof(fixture_report->text), "%s:%d: %s (%s)",   \
				       __FILE__, __LINE__, #condition, strerror(errno)); \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

/* Waits for a child of ours; its exit code, -1 for a signal. */
static inline int fixture_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
