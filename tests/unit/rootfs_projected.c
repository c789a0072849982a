// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_projected.c - files that change all at once, in a directory below /tmp.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rootfs/projected.h"
#include "rootfs/tree.h"

static char dir[64];

static int up(void **state)
{
	(void)state;
	(void)strcpy(dir, "/tmp/rootfs-projected-XXXXXX");
	return !mkdtemp(dir);
}

static int down(void **state)
{
	(void)state;
	return tree_remove(dir);
}

static struct projected_file file(const char *path, const char *text, mode_t mode)
{
	return (struct projected_file){ path, text, strlen(text), mode };
}

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void assert_file(const char *name, const char *text, mode_t mode, gid_t gid)
{
	char is[4096];
	FILE *f = fopen(path_of(name), "r");
	struct stat st;
	size_t n;

	if (!f)
		fail_msg("%s: %s", name, strerror(errno));
	n = fread(is, 1, sizeof(is) - 1, f);
	is[n] = '\0';
	assert_string_equal(is, text);
	assert_int_equal(fstat(fileno(f), &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
	assert_int_equal(st.st_gid, gid);
	assert_int_equal(fclose(f), 0);
}

static size_t count(void)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n - 2; /* "." and ".." */
}

static void names_lead_through_one_link(void **state)
{
	const struct projected_file files[] = {
		file("plain", "p", 0644),
		file("deep/er/file", "d", 0400),
		file("deep/other", "o", 0640),
		file("empty", "", 0),
	};
	char link[256];
	ssize_t n;

	(void)state;
	assert_int_equal(projected_write(dir, files, ARRAY_SIZE(files) - 1, -1), 0);
	assert_file("plain", "p", 0644, 0);
	assert_file("deep/er/file", "d", 0400, 0);
	assert_file("deep/other", "o", 0640, 0);
	n = readlink(path_of("deep"), link, sizeof(link) - 1);
	assert_true(n > 0);
	link[n] = '\0';
	assert_string_equal(link, "..data/deep");
	assert_int_equal(count(), 4); /* plain, deep, ..data and what it leads to */
	assert_int_equal(projected_write(dir, &files[3], 1, -1), 0);
	assert_file("empty", "", 0, 0);
	assert_int_equal(count(), 3);
	assert_int_equal(projected_write(dir, NULL, 0, -1), 0);
	assert_int_equal(count(), 2);
}

static void a_group_may_read(void **state)
{
	const struct projected_file files[] = { file("a/b", "x", 0400) };
	struct stat st;

	(void)state;
	assert_int_equal(projected_write(dir, files, 1, 1234), 0);
	assert_file("a/b", "x", 0440, 1234);
	assert_int_equal(stat(path_of("a"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 02755);
	assert_int_equal(st.st_gid, 1234);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_gid, 1234);
}

static void the_last_of_a_path_counts(void **state)
{
	const struct projected_file files[] = { file("a", "longer", 0644),
						file("a", "2", 0600) };

	(void)state;
	assert_int_equal(projected_write(dir, files, 2, -1), 0);
	assert_file("a", "2", 0600, 0);
}

/* Whoever reads sees all of the old or all of the new: a reader opens ..data once. */
static void readers_see_one_state(void **state)
{
	char texts[2][3] = { "0", "0" };
	pid_t reader;
	int status;

	(void)state;
	struct projected_file files[] = { file("a", texts[0], 0644),
					  file("b", texts[1], 0644) };
	assert_int_equal(projected_write(dir, files, 2, -1), 0);
	reader = fork();
	if (reader == 0) {
		for (;;) {
			char a[4] = "", b[4] = "";
			int data = open(path_of("..data"), O_PATH | O_DIRECTORY);
			int fa = openat(data, "a", O_RDONLY);
			int fb = openat(data, "b", O_RDONLY);

			/* Its directory may be gone in between, never half there. */
			if (data >= 0 && fa >= 0 && fb >= 0) {
				if (read(fa, a, 3) < 1 || read(fb, b, 3) < 1 ||
				    strcmp(a, b) != 0)
					_exit(1);
				if (!strcmp(a, "99"))
					_exit(0);
			} else if (data < 0) {
				_exit(2); /* ..data always leads somewhere */
			}
			(void)close(fa);
			(void)close(fb);
			(void)close(data);
		}
	}
	for (int i = 1; i < 100; i++) {
		(void)snprintf(texts[0], sizeof(texts[0]), "%d", i);
		(void)strcpy(texts[1], texts[0]);
		files[0].len = files[1].len = strlen(texts[0]);
		assert_int_equal(projected_write(dir, files, 2, -1), 0);
	}
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(count(), 4);
}

/* No space half way: what readers see is what it was, and nothing half written stays. */
static void a_failure_changes_nothing(void **state)
{
	static char big[4096];
	const struct projected_file first[] = { file("a", "old", 0644) };
	struct projected_file next[] = { file("a", "new", 0644), file("b", big, 0644) };
	const struct projected_file clash[] = { file("x", "1", 0644),
						file("x/y", "2", 0644) };
	int status;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	next[1].len = sizeof(big) - 1;
	assert_int_equal(projected_write(dir, first, 1, -1), 0);
	if (fork() == 0) {
		struct rlimit limit = { 100, 100 };

		(void)signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
			_exit(3);
		_exit(projected_write(dir, next, 2, -1) == -EFBIG ? 0 : 1);
	}
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	assert_file("a", "old", 0644, 0);
	assert_int_equal(count(), 3);
	assert_true(projected_write(dir, clash, 2, -1) < 0);
	assert_file("a", "old", 0644, 0);
	assert_int_equal(count(), 3);
	assert_int_equal(projected_write("/nonexistent/x", first, 1, -1), -ENOENT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(names_lead_through_one_link), CASE(a_group_may_read),
		CASE(the_last_of_a_path_counts),   CASE(readers_see_one_state),
		CASE(a_failure_changes_nothing),
	};

	return cmocka_run_group_tests_name("rootfs projected", tests, NULL, NULL);
}
