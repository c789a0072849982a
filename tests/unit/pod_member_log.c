// SPDX-License-Identifier: Apache-2.0
/*
 * pod_member_log.c - a member's output from its descriptors to file, tail, journal and
 * console, with real processes and the real loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "base/log.h"
#include "tests/unit/pod_member_log_fixture.h"

/* ---- the ways of a line ----------------------------------------------------------- */

static void say_both(void)
{
	say(1, "hello\nwor");
	say(2, "oops\n");
	say(1, "ld\nno end");
}

static void test_everywhere(void **state)
{
	struct member_log *log = log_new("main");
	struct journal_cursor c = { 0 };
	struct journal_record r;
	char joined[512] = "";
	struct log_stats stats;
	uint64_t lost;
	pid_t pid;

	(void)state;
	pid = start(log, 4, false, say_both);
	await(pid);
	while (loop_turn(loop, 0) > 0)
		;
	member_log_drain(log);
	assert_true(grown > 0);
	/* Streams are read in turn, and the unfinished line comes last. */
	_cleanup_free_ char *text = file_text("main", 4);
	assert_non_null(strstr(text, "stderr F oops\n"));
	assert_non_null(strstr(text, "stdout F hello\nstdout F world\n"));
	assert_non_null(strstr(text, "stdout P no end\n"));

	member_log_tail(log, 100, tail_join, joined);
	assert_non_null(strstr(joined, "4 out F hello\n4 out F world\n"));
	assert_non_null(strstr(joined, "4 out P no end\n"));
	assert_non_null(strstr(joined, "4 err F oops\n"));

	assert_true(journal_next(&lines, &c, &r, &lost));
	const struct log_record_head *head = r.head;
	assert_int_equal(head->attempt, 4);
	assert_int_equal(head->name_bytes, sizeof("ns\0pod\0main"));
	assert_memory_equal(head->names, "ns\0pod\0main", head->name_bytes);
	assert_int_equal(r.head_len, sizeof(*head) + head->name_bytes);
	assert_int_equal(r.kind, LOG_STDOUT * 2);
	assert_int_equal(r.body_len, 5);
	assert_memory_equal(r.body, "hello", 5);

	member_log_stats(log, &stats);
	assert_int_equal(stats.bytes[LOG_STDOUT], strlen("hello\nworld\nno end"));
	assert_int_equal(stats.bytes[LOG_STDERR], strlen("oops\n"));
	assert_int_equal(stats.lines, 3);
	assert_int_equal(stats.lost_bytes, 0);
	member_log_free(log);
}

static void test_attempts(void **state)
{
	struct member_log *log = log_new("main");
	char joined[512] = "";
	struct log_stats stats;

	(void)state;
	for (uint32_t attempt = 0; attempt < 3; attempt++) {
		await(start(log, attempt, false, say_attempt));
		member_log_drain(log);
		member_log_drain(log); /* harmless */
		assert_file("main", attempt, "stdout F again\n");
	}
	member_log_tail(log, 2, tail_join, joined);
	assert_string_equal(joined, "1 out F again\n2 out F again\n");
	member_log_stats(log, &stats);
	assert_int_equal(stats.lines, 1);
	member_log_free(log);
}

static void test_silent(void **state)
{
	struct member_log *log = log_new("main");
	struct log_ends ends;

	(void)state;
	assert_int_equal(member_log_open(log, 0, false, &ends, NULL), 0);
	assert_file("main", 0, "");
	fd_close(&ends.out);
	fd_close(&ends.err);
	while (loop_turn(loop, 0) > 0)
		;
	assert_file("main", 0, "");
	member_log_free(log); /* without a drain */
}

static void test_console(void **state)
{
	struct member_log *log = log_new("main");
	char text[256] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	log_open(fds[1]);
	await(start(log, 0, false, say_attempt));
	member_log_drain(log);
	assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "ns/pod/main"));
	assert_non_null(strstr(text, "again\n"));
	log_open(-1);
	close(fds[0]);
	close(fds[1]);
	member_log_free(log);
}

/* ---- the end ---------------------------------------------------------------------- */

static void say_pipeful(void)
{
	char line[65];

	for (int i = 0; i < 1023; i++) {
		snprintf(line, sizeof(line), "%063d\n", i);
		say(1, line);
	}
	say(1, "the last words");
}

/* Dead before anybody looked: all of it is still in the pipe. */
static void test_last_words(void **state)
{
	struct member_log *log = log_new("main");
	char joined[8192] = "";
	struct log_stats stats;

	(void)state;
	await(start(log, 0, false, say_pipeful));
	member_log_drain(log);
	member_log_stats(log, &stats);
	assert_int_equal(stats.bytes[LOG_STDOUT], 1023 * 64 + 14);
	assert_int_equal(stats.lines, 1023);
	member_log_tail(log, 1, tail_join, joined);
	assert_string_equal(joined, "0 out P the last words\n");
	_cleanup_free_ char *text = file_text("main", 0);
	assert_non_null(strstr(text, "1022\nstdout P the last words\n"));
	member_log_free(log);
}

/* Ends when nobody reads any more: nobody else would stop it. */
static void flood_for_ever(void)
{
	static char line[4096];

	memset(line, 'f', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\n';
	while (write(1, line, sizeof(line)) > 0)
		;
	_exit(0);
}

static void leave_grandchild(void)
{
	signal(SIGPIPE, SIG_DFL);
	if (fork() == 0)
		flood_for_ever();
}

static void test_grandchild(void **state)
{
	struct member_log *log = log_new("main");
	int64_t begin;
	struct log_stats stats;

	(void)state;
	await(start(log, 0, false, leave_grandchild));
	begin = time_boot_ns();
	for (int i = 0; i < 20; i++)
		loop_turn(loop, 0);
	member_log_drain(log);
	assert_true(time_boot_ns() - begin < DEADLINE_MS * NSEC_PER_MSEC);
	member_log_stats(log, &stats);
	assert_true(stats.bytes[LOG_STDOUT] <= 20 * LOG_BITE_BYTES + (1 << 20));
	assert_int_equal(loop_turn(loop, 0), 0); /* nothing is watched any more */
	member_log_free(log);
}

/* ---- the loop --------------------------------------------------------------------- */

static void test_fairness(void **state)
{
	struct member_log *loud = log_new("loud"), *quiet = log_new("quiet");
	struct log_ends ends;
	struct log_stats stats;
	pid_t pid = start(loud, 0, false, flood_for_ever);

	(void)state;
	assert_int_equal(member_log_open(quiet, 0, false, &ends, NULL), 0);
	for (int i = 0; i < 50; i++) {
		struct log_stats before;

		loop_turn(loop, 100);
		member_log_stats(loud, &before);
		say(ends.out, "a word\n");
		loop_turn(loop, 100);
		member_log_stats(quiet, &stats);
		assert_int_equal(stats.lines, i + 1);
		/* And the loud one had one bite meanwhile at most. */
		member_log_stats(loud, &stats);
		assert_true(stats.bytes[0] - before.bytes[0] <= LOG_BITE_BYTES);
	}
	kill(pid, SIGKILL);
	await(pid);
	fd_close(&ends.out);
	fd_close(&ends.err);
	member_log_free(loud);
	member_log_free(quiet);
}

/* ---- terminals -------------------------------------------------------------------- */

static void say_tty(void)
{
	say(1, isatty(1) && isatty(2) ? "a terminal\n" : "no terminal\n");
	say(2, "to the same\n");
	say(1, "end");
}

static void test_tty(void **state)
{
	struct member_log *log = log_new("main");

	(void)state;
	if (access("/dev/ptmx", R_OK | W_OK) < 0)
		skip();
	await(start(log, 0, true, say_tty));
	/* All its descriptors are closed, and the loop does not spin on the hang-up. */
	for (int i = 0; i < 10; i++)
		loop_turn(loop, 0);
	assert_int_equal(loop_turn(loop, 0), 0);
	member_log_drain(log);
	assert_file("main", 0,
		    "stdout F a terminal\nstdout F to the same\nstdout P end\n");
	await(start(log, 1, true, say_tty));
	member_log_drain(log);
	assert_file("main", 1,
		    "stdout F a terminal\nstdout F to the same\nstdout P end\n");
	member_log_free(log);
}

static void test_tty_grandchild(void **state)
{
	struct member_log *log = log_new("main");
	int64_t begin = time_boot_ns();

	(void)state;
	if (access("/dev/ptmx", R_OK | W_OK) < 0)
		skip();
	signal(SIGHUP, SIG_DFL);
	await(start(log, 0, true, leave_grandchild));
	for (int i = 0; i < 20; i++)
		loop_turn(loop, 0);
	member_log_drain(log);
	assert_true(time_boot_ns() - begin < DEADLINE_MS * NSEC_PER_MSEC);
	member_log_free(log);
	/* With the master closed its writes fail; the process ends with the test. */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG_TEST(test_everywhere),
		LOG_TEST(test_attempts),
		LOG_TEST(test_silent),
		cmocka_unit_test_setup_teardown(test_console, setup_console, teardown),
		LOG_TEST(test_last_words),
		LOG_TEST(test_grandchild),
		LOG_TEST(test_fairness),
		LOG_TEST(test_tty),
		LOG_TEST(test_tty_grandchild),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
