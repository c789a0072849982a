// SPDX-License-Identifier: Apache-2.0
/*
 * pod_cgroup.c - groups of pods and members in a subtree of this machine's cgroup2, and
 * the kernel's files in odd shapes in a plain directory.
 *
 * The groups stand below "podinit-unit-cgroup-PID" and are gone after each test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "pod/cgroup.h"

#define DEADLINE_MS 20000

static char top[256];
static int pods_fd = -1; /* -1: no cgroup2 that we may write */

static const struct cgroup_limits none = { .cpu_weight = 100,
					   .cpu_quota_us = -1,
					   .memory_max = -1 };

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	/* A file of cgroupfs goes with its group. */
	return type == FTW_DP ? rmdir(path) : 0;
}

static int setup(void **state)
{
	static const char *const roots[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(roots) && pods_fd < 0; i++) {
		(void)snprintf(top, sizeof(top), "%s/cgroup.procs", roots[i]);
		if (access(top, W_OK) < 0)
			continue;
		(void)snprintf(top, sizeof(top), "%s/podinit-unit-cgroup-%d", roots[i],
			       getpid());
		if (mkdir(top, 0755) == 0)
			pods_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return 0;
}

static int teardown(void **state)
{
	int r = 0;

	(void)state;
	if (pods_fd >= 0) {
		(void)fd_write_file_at(pods_fd, "cgroup.kill", "1");
		while (waitpid(-1, NULL, 0) > 0)
			;
		r = nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
	fd_close(&pods_fd);
	return r;
}

#define NEEDS_CGROUP2()          \
	do {                     \
		if (pods_fd < 0) \
			skip();  \
	} while (0)

static void make_member(const char *pod, const char *leaf)
{
	struct err e = { 0 };

	if (cgroup_make_pod(pods_fd, pod, &none, &e) < 0 ||
	    cgroup_make_leaf(pods_fd, leaf, &none, &e) < 0)
		fail_msg("%s", e.text);
}

static void make_group(const char *path)
{
	assert_int_equal(mkdirat(pods_fd, path, 0755), 0);
}

/* A process that only SIGKILL ends, in the group. */
static pid_t start_in(const char *path)
{
	char file[256], text[16];
	sigset_t all;
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)sigfillset(&all);
		(void)sigprocmask(SIG_SETMASK, &all, NULL);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	(void)snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	(void)snprintf(text, sizeof(text), "%d", pid);
	assert_int_equal(fd_write_file_at(pods_fd, file, text), 0);
	return pid;
}

static void await_killed(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A group is empty a moment after its last process has ended, and says so by an event. */
static void await_empty(const char *path)
{
	char file[256], text[256];
	struct pollfd p = { .events = POLLPRI };

	(void)snprintf(file, sizeof(file), "%s/cgroup.events", path);
	p.fd = openat(pods_fd, file, O_RDONLY | O_CLOEXEC);
	assert_true(p.fd >= 0);
	for (;;) {
		assert_true(pread(p.fd, text, sizeof(text), 0) > 0);
		if (cgroup_populated(pods_fd, path) == 0)
			break;
		assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
	}
	fd_close(&p.fd);
}

/* ---- making ----------------------------------------------------------------------- */

static void made_twice_is_fine(void **state)
{
	(void)state;
	NEEDS_CGROUP2();
	make_member("uid", "uid/main");
	make_member("uid", "uid/main");
	assert_int_equal(cgroup_populated(pods_fd, "uid"), 0);
	assert_int_equal(cgroup_populated(pods_fd, "uid/main"), 0);
}

static void leaf_needs_its_pod(void **state)
{
	struct err e = { 0 };

	(void)state;
	NEEDS_CGROUP2();
	assert_int_equal(cgroup_make_leaf(pods_fd, "uid/main", &none, &e), -ENOENT);
	assert_int_equal(e.stage, STAGE_CGROUP);
	assert_int_equal(e.code, ENOENT);
	assert_non_null(strstr(e.text, "uid/main"));
	assert_int_equal(cgroup_make_pod(-1, "uid", &none, &e), -EBADF);
}

static void frozen_leaf_is_refused(void **state)
{
	struct err e = { 0 };
	pid_t pid;

	(void)state;
	NEEDS_CGROUP2();
	make_member("uid", "uid/main");
	assert_int_equal(fd_write_file_at(pods_fd, "uid/main/cgroup.freeze", "1"), 0);
	assert_int_equal(cgroup_make_leaf(pods_fd, "uid/main", &none, &e), -EAGAIN);
	assert_int_equal(e.stage, STAGE_CGROUP);
	assert_int_equal(e.code, EAGAIN);
	assert_int_equal(fd_write_file_at(pods_fd, "uid/main/cgroup.freeze", "0"), 0);
	assert_int_equal(cgroup_make_leaf(pods_fd, "uid/main", &none, &e), 0);
	/* So is one below a frozen pod. */
	assert_int_equal(fd_write_file_at(pods_fd, "uid/cgroup.freeze", "1"), 0);
	assert_int_equal(cgroup_make_leaf(pods_fd, "uid/main", &none, &e), -EAGAIN);
	/* And whoever is frozen can still be killed. */
	pid = start_in("uid/main");
	assert_int_equal(cgroup_kill(pods_fd, "uid/main"), 0);
	await_killed(pid);
}

/* ---- populated and kill ----------------------------------------------------------- */

static void populated_counts_what_lives_below(void **state)
{
	pid_t pid;

	(void)state;
	NEEDS_CGROUP2();
	assert_int_equal(cgroup_populated(pods_fd, "uid"), 0); /* no such group */
	make_member("uid", "uid/main");
	make_member("uid", "uid/other");
	make_group("uid/main/own");
	pid = start_in("uid/main/own");
	assert_int_equal(cgroup_populated(pods_fd, "uid/main"), 1);
	assert_int_equal(cgroup_populated(pods_fd, "uid"), 1);
	assert_int_equal(cgroup_populated(pods_fd, "uid/other"), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	await_empty("uid");
	assert_int_equal(cgroup_populated(pods_fd, "uid/main"), 0);
	await_killed(pid);
}

static void kill_is_recursive_and_stays_inside(void **state)
{
	pid_t pids[3], other;
	int status;

	(void)state;
	NEEDS_CGROUP2();
	assert_int_equal(cgroup_kill(pods_fd, "uid"), -ENOENT);
	make_member("uid", "uid/main");
	make_member("uid", "uid/other");
	make_group("uid/main/own");
	make_group("uid/main/own/deep");
	assert_int_equal(cgroup_kill(pods_fd, "uid/main"), 0); /* nobody there */
	pids[0] = start_in("uid/main");
	pids[1] = start_in("uid/main/own");
	pids[2] = start_in("uid/main/own/deep");
	other = start_in("uid/other");
	assert_int_equal(cgroup_kill(pods_fd, "uid/main"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		await_killed(pids[i]);
	await_empty("uid/main");
	assert_int_equal(waitpid(other, &status, WNOHANG), 0);
	assert_int_equal(cgroup_populated(pods_fd, "uid"), 1);
	assert_int_equal(cgroup_kill(pods_fd, "uid"), 0);
	await_killed(other);
	await_empty("uid");
}

/* ---- removing --------------------------------------------------------------------- */

static void removed_with_all_below(void **state)
{
	(void)state;
	NEEDS_CGROUP2();
	assert_int_equal(cgroup_remove(pods_fd, "uid"), 0); /* no such group */
	make_member("uid", "uid/main");
	make_member("uid", "uid/other");
	make_group("uid/main/a");
	make_group("uid/main/a/b");
	make_group("uid/main/a/c");
	make_group("uid/main/d");
	assert_int_equal(cgroup_remove(pods_fd, "uid/main"), 0);
	assert_int_equal(faccessat(pods_fd, "uid/main", F_OK, 0), -1);
	assert_int_equal(faccessat(pods_fd, "uid/other", F_OK, 0), 0);
	assert_int_equal(cgroup_remove(pods_fd, "uid"), 0);
	assert_int_equal(faccessat(pods_fd, "uid", F_OK, 0), -1);
}

static void busy_while_somebody_lives_there(void **state)
{
	pid_t pid;

	(void)state;
	NEEDS_CGROUP2();
	make_member("uid", "uid/main");
	make_group("uid/main/empty");
	pid = start_in("uid/main");
	assert_int_equal(cgroup_remove(pods_fd, "uid/main"), -EBUSY);
	assert_int_equal(cgroup_remove(pods_fd, "uid"), -EBUSY);
	assert_int_equal(cgroup_populated(pods_fd, "uid/main"), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	await_killed(pid);
	await_empty("uid");
	assert_int_equal(cgroup_remove(pods_fd, "uid"), 0);
}

/* A member may nest without end: an error, and no descriptor and no stack for each. */
static void depth_is_bounded(void **state)
{
	char path[256] = "uid/main";

	(void)state;
	NEEDS_CGROUP2();
	make_member("uid", "uid/main");
	for (int i = 0; i < 40; i++) {
		(void)strcat(path, "/x");
		make_group(path);
	}
	assert_int_equal(cgroup_remove(pods_fd, "uid"), -EBUSY);
	assert_int_equal(faccessat(pods_fd, path, F_OK, 0), 0);
	while (strlen(path) > strlen("uid/main") + 20) {
		assert_int_equal(unlinkat(pods_fd, path, AT_REMOVEDIR), 0);
		*strrchr(path, '/') = '\0';
	}
	assert_int_equal(cgroup_remove(pods_fd, "uid"), 0);
}

/* ---- what the files say ----------------------------------------------------------- */

static int write_fake(int dir_fd, const char *file, const char *text)
{
	int fd = openat(dir_fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t len = (ssize_t)strlen(text);
	bool ok = fd >= 0 && write(fd, text, (size_t)len) == len;

	fd_close(&fd);
	return ok ? 0 : -1;
}

static int open_fake(char *dir)
{
	int fd;

	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(mkdirat(fd, "g", 0700), 0);
	return fd;
}

static void close_fake(int fd, const char *dir)
{
	(void)unlinkat(fd, "g/memory.events", 0);
	(void)unlinkat(fd, "g/cgroup.events", 0);
	(void)unlinkat(fd, "g", AT_REMOVEDIR);
	(void)rmdir(dir);
	fd_close(&fd);
}

static void oom_kills_are_counted(void **state)
{
	static const struct {
		const char *text;
		uint64_t kills;
	} rows[] = {
		{ "low 0\nhigh 0\nmax 7\noom 5\noom_kill 2\noom_group_kill 1\n", 2 },
		{ "oom_kill 3", 3 },
		{ "oom 5\noom_group_kill 1\n", 0 },
		{ "xoom_kill 9\noom_kills 9\noom_kill 4\n", 4 },
		{ "oom_kill 18446744073709551615\n", UINT64_MAX },
		{ "oom_kill\noom_kill \n", 0 },
		{ "\n\n\noom_kill 1\n", 1 },
		{ "", 0 },
	};
	char dir[] = "/tmp/podinit-cgroup-XXXXXX";
	int fd = open_fake(dir);

	(void)state;
	assert_true(cgroup_oom_kills(fd, "g") == 0); /* no memory controller */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(write_fake(fd, "g/memory.events", rows[i].text), 0);
		if (cgroup_oom_kills(fd, "g") != rows[i].kills)
			fail_msg("row %zu: %s", i, rows[i].text);
	}
	assert_true(cgroup_oom_kills(fd, "nowhere") == 0);
	assert_true(cgroup_oom_kills(-1, "g") == 0);
	close_fake(fd, dir);
}

static void populated_does_not_guess(void **state)
{
	static const struct {
		const char *text;
		int result;
	} rows[] = {
		{ "populated 1\nfrozen 0\n", 1 }, { "frozen 1\npopulated 0\n", 0 },
		{ "frozen 1\n", -EIO },           { "", -EIO },
		{ "unpopulated 1\n", -EIO },
	};
	char dir[] = "/tmp/podinit-cgroup-XXXXXX", big[CGROUP_PATH_BYTES + 80];
	int fd = open_fake(dir);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(write_fake(fd, "g/cgroup.events", rows[i].text), 0);
		assert_int_equal(cgroup_populated(fd, "g"), rows[i].result);
	}
	assert_int_equal(cgroup_populated(-1, "g"), -EBADF);
	/* A path is never cut to one of somebody else. */
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(cgroup_populated(fd, big), -ENAMETOOLONG);
	assert_int_equal(cgroup_kill(fd, big), -ENAMETOOLONG);
	close_fake(fd, dir);
}

/* A plain directory has no files: a kernel without controllers. */
static void a_limit_without_its_controller(void **state)
{
	char dir[] = "/tmp/podinit-cgroup-XXXXXX";
	struct cgroup_limits l = none;
	struct err e = { 0 };
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	l.is_leaf = true;
	assert_int_equal(cgroup_make_pod(fd, "plain", &l, &e), 0);
	assert_int_equal(unlinkat(fd, "plain", AT_REMOVEDIR), 0);
	l.memory_max = 1 << 20;
	assert_int_equal(cgroup_make_leaf(fd, "limited", &l, &e), -EOPNOTSUPP);
	assert_string_equal(e.text, "the kernel has no cgroup controller for memory.max");
	assert_int_equal(faccessat(fd, "limited", F_OK, 0), -1); /* nothing is left */
	l.cpu_quota_us = 1000;
	assert_int_equal(cgroup_make_pod(fd, "limited", &l, &e), -EOPNOTSUPP);
	assert_non_null(strstr(e.text, "cpu.max"));
	fd_close(&fd);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(made_twice_is_fine),
		CASE(leaf_needs_its_pod),
		CASE(frozen_leaf_is_refused),
		CASE(populated_counts_what_lives_below),
		CASE(kill_is_recursive_and_stays_inside),
		CASE(removed_with_all_below),
		CASE(busy_while_somebody_lives_there),
		CASE(depth_is_bounded),
		cmocka_unit_test(a_limit_without_its_controller),
		cmocka_unit_test(oom_kills_are_counted),
		cmocka_unit_test(populated_does_not_guess),
	};

	return cmocka_run_group_tests_name("pod_cgroup", tests, NULL, NULL);
}
