// SPDX-License-Identifier: Apache-2.0
/*
 * pod_member_log.c - a member's output from its descriptors to file, tail, journal and
 * console, with real processes and the real loop; files are in memory (/dev/shm).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/log.h"
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

static void on_grew(void *arg)
{
	(void)arg;
	grown++;
}

static int setup_with(bool console)
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

static int setup(void **state)
{
	(void)state;
	return setup_with(false);
}

static int setup_console(void **state)
{
	(void)state;
	return setup_with(true);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	log_service_free(service);
	journal_free(&lines);
	loop_free(loop);
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

static struct member_log *log_new(const char *member)
{
	struct log_owner owner = {
		.namespace = "ns", .pod = "pod", .uid = "uid", .member = member
	};
	struct member_log *log = member_log_new(service, &owner);

	assert_non_null(log);
	return log;
}

/* Starts fn in a child with the ends as its 1 and 2. */
static pid_t start(struct member_log *log, uint32_t attempt, bool tty, void (*fn)(void))
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

static void await(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void say(int fd, const char *text)
{
	(void)!write(fd, text, strlen(text));
}

/* The file without its time stamps; the caller frees. */
static char *file_text(const char *member, uint32_t attempt)
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

static void assert_file(const char *member, uint32_t attempt, const char *expect)
{
	_cleanup_free_ char *text = file_text(member, attempt);

	assert_string_equal(text, expect);
}

/* ---- the ways of a line ----------------------------------------------------------- */

static void say_both(void)
{
	say(1, "hello\nwor");
	say(2, "oops\n");
	say(1, "ld\nno end");
}

static void tail_join(void *arg, int64_t wall_ns, uint32_t attempt,
		      enum log_stream stream, bool partial, const char *text, size_t len)
{
	char *out = arg;

	assert_true(wall_ns > 1600000000 * NSEC_PER_SEC);
	sprintf(out + strlen(out), "%u %s %c %.*s\n", attempt,
		stream == LOG_STDERR ? "err" : "out", partial ? 'P' : 'F', (int)len,
		text);
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

static void say_attempt(void)
{
	say(1, "again\n");
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
		cmocka_unit_test_setup_teardown(test_everywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_attempts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_console, setup_console, teardown),
		cmocka_unit_test_setup_teardown(test_last_words, setup, teardown),
		cmocka_unit_test_setup_teardown(test_grandchild, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fairness, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tty_grandchild, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_idle_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
