// SPDX-License-Identifier: Apache-2.0
/*
 * pod_member_log_fixture.h - a log service in memory (/dev/shm), and members of one
 * process that write to it.
 *
 * Owns: the service, its loop and its directory, made anew for each test.
 */
#ifndef TESTS_UNIT_POD_MEMBER_LOG_FIXTURE_H
#define TESTS_UNIT_POD_MEMBER_LOG_FIXTURE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"
#include "base/time.h"
#include "pod/log_service.h"
#include "pod/member_log.h"

/* Generous: only a broken test waits that long. */
#define DEADLINE_MS 10000

static char dir[64];
static struct loop *loop;
static struct journal lines;
static struct log_service *service;
static int grown;

static inline void on_grew(void *arg)
{
	(void)arg;
	grown++;
}

static inline int setup_with(bool console)
{
	struct log_config config = {
		.dir = dir,
		.max_bytes = 64 << 20,
		.max_files = 3,
		.tail_bytes = 65536,
		.console = console,
		.grew = on_grew,
	};

	strcpy(dir, "/dev/shm/podinit-test-XXXXXX");
	grown = 0;
	if (!mkdtemp(dir) || loop_init(&loop) < 0 || journal_init(&lines, 1 << 20) < 0)
		return -1;
	return log_service_init(&service, loop, &config, &lines, NULL);
}

static inline int setup(void **state)
{
	(void)state;
	return setup_with(false);
}

static inline int setup_console(void **state)
{
	(void)state;
	return setup_with(true);
}

static inline int remove_one(const char *path, const struct stat *st, int type,
			     struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int teardown(void **state)
{
	(void)state;
	log_service_free(service);
	journal_free(&lines);
	loop_free(loop);
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

static inline struct member_log *log_new(const char *member)
{
	struct log_owner owner = {
		.namespace = "ns", .pod = "pod", .uid = "uid", .member = member
	};
	struct member_log *log = member_log_new(service, &owner);

	assert_non_null(log);
	return log;
}

/* Starts fn in a child with the ends as its 1 and 2. */
static inline pid_t start(struct member_log *log, uint32_t attempt, bool tty,
			  void (*fn)(void))
{
	struct log_ends ends;
	struct err e = { 0 };
	pid_t pid;

	if (member_log_open(log, attempt, tty, &ends, &e) < 0)
		fail_msg("%s", e.text);
	pid = fork();
	if (pid == 0) {
		dup2(tty ? ends.tty : ends.out, 1);
		dup2(tty ? ends.tty : ends.err, 2);
		(void)proc_close_from(3);
		fn();
		_exit(0);
	}
	assert_true(pid > 0);
	fd_close(&ends.out);
	fd_close(&ends.err);
	fd_close(&ends.tty);
	return pid;
}

static inline void await(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static inline void say(int fd, const char *text)
{
	(void)!write(fd, text, strlen(text));
}

/* The file without its time stamps; the caller frees. */
static inline char *file_text(const char *member, uint32_t attempt)
{
	char path[256], *text, *to, *whole;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/ns_pod_uid/%s/%u.log", dir, member, attempt);
	n = fd_read_whole_at(AT_FDCWD, path, 64 << 20, &whole);
	assert_true(n >= 0);
	text = to = calloc(1, (size_t)n + 1);
	for (char *at = whole; *at;) {
		char *end = strchr(at, '\n');

		assert_non_null(end);
		assert_true(end - at >= 40 && at[29] == 'Z' && at[30] == ' ');
		memcpy(to, at + 31, (size_t)(end - at) - 30);
		to += end - at - 30;
		at = end + 1;
	}
	free(whole);
	return text;
}

static inline void assert_file(const char *member, uint32_t attempt, const char *expect)
{
	_cleanup_free_ char *text = file_text(member, attempt);

	assert_string_equal(text, expect);
}

static inline void tail_join(void *arg, int64_t wall_ns, uint32_t attempt,
			     enum log_stream stream, bool partial, const char *text,
			     size_t len)
{
	char *out = arg;

	assert_true(wall_ns > 1600000000 * NSEC_PER_SEC);
	sprintf(out + strlen(out), "%u %s %c %.*s\n", attempt,
		stream == LOG_STDERR ? "err" : "out", partial ? 'P' : 'F', (int)len,
		text);
}

static inline void say_attempt(void)
{
	say(1, "again\n");
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
