// SPDX-License-Identifier: Apache-2.0
/*
 * pod_member_log_limits.c - a member's log without descriptors or without a directory,
 * and what an idle one costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>

#include "tests/unit/pod_member_log_fixture.h"

/* ---- faults ----------------------------------------------------------------------- */

static void test_no_descriptors(void **state)
{
	struct member_log *log = log_new("main");
	struct log_ends ends = { .out = -7, .err = -7, .tty = -7 };
	struct rlimit all, few = { .rlim_cur = 40 };
	int held[40], n = 0, r;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few.rlim_max = all.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((held[n] = dup(0)) >= 0)
		n++;
	/* Fails at the first, second or third descriptor, and leaves none behind. */
	for (int left = 0; left < 3; left++) {
		r = member_log_open(log, 0, left % 2, &ends, &e);
		assert_int_equal(r, -EMFILE);
		assert_int_equal(e.stage, STAGE_LOG);
		assert_int_equal(ends.out, -7);
		close(held[--n]);
	}
	while (n)
		close(held[--n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_int_equal(member_log_open(log, 0, false, &ends, &e), 0);
	fd_close(&ends.out);
	fd_close(&ends.err);
	member_log_free(log);
}

/* A file that cannot be made keeps nobody from running, and is tried again. */
static void test_bad_directory(void **state)
{
	struct member_log *log = log_new("main");
	char path[128], joined[256] = "";
	struct log_stats stats;

	(void)state;
	snprintf(path, sizeof(path), "%s/ns_pod_uid", dir);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	await(start(log, 0, false, say_attempt));
	member_log_drain(log);
	member_log_stats(log, &stats);
	assert_int_equal(stats.lost_bytes, 40 + 6);
	assert_int_equal(stats.code, ENOTDIR);
	member_log_tail(log, 9, tail_join, joined);
	assert_string_equal(joined, "0 out F again\n");

	assert_int_equal(unlink(path), 0);
	await(start(log, 1, false, say_attempt));
	member_log_drain(log);
	assert_file("main", 1, "stdout F again\n");
	member_log_stats(log, &stats);
	assert_int_equal(stats.code, 0);
	assert_int_equal(stats.lost_bytes, 46);
	member_log_free(log);
}

/* ---- memory ----------------------------------------------------------------------- */

static long resident_pages(void)
{
	long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
	fclose(f);
	return resident;
}

static void test_idle_memory(void **state)
{
	enum { LOGS = 256 };
	static struct member_log *logs[LOGS];
	static struct log_ends ends[LOGS];
	long before;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	before = resident_pages();
	for (int i = 0; i < LOGS; i++) {
		char name[16];

		sprintf(name, "m%d", i);
		logs[i] = log_new(name);
		assert_int_equal(member_log_open(logs[i], 0, false, &ends[i], NULL), 0);
	}
	/* A third of a page each is the struct itself. */
	assert_true(resident_pages() - before <= LOGS / 2);
	for (int i = 0; i < LOGS; i++) {
		fd_close(&ends[i].out);
		fd_close(&ends[i].err);
		member_log_free(logs[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG_TEST(test_no_descriptors),
		LOG_TEST(test_bad_directory),
		LOG_TEST(test_idle_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
