// SPDX-License-Identifier: Apache-2.0
/*
 * pod_log_writer.c - the writer child: killed, stopped, slow, poisoned. Whatever happens
 * to it, no byte is lost without a count and none is written twice, the loop goes on, and
 * a member waits rather than loses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/proc.h"
#include "base/time.h"
#include "pod/log_service.h"
#include "pod/member_log.h"

/* Generous: only a broken test waits that long. */
#define DEADLINE_NS (60 * NSEC_PER_SEC)

static char dir[64];
static struct loop *loop;
static struct log_service *service;
static struct member_log *log_;
static struct log_config config;
static bool finished;

static int setup(void **state)
{
	struct log_owner owner = { "ns", "pod", "uid", "main" };

	(void)state;
	strcpy(dir, "/tmp/podinit-test-XXXXXX");
	if (!mkdtemp(dir) || loop_init(&loop) < 0)
		return -1;
	/* Many files: rotation takes part in every test, and all of the text is kept. */
	config = (struct log_config){
		.dir = dir,
		.max_bytes = 100000,
		.max_files = 100000,
		.tail_bytes = 65536,
		.force_writer = true,
	};
	finished = false;
	if (log_service_init(&service, loop, &config, NULL, NULL) < 0)
		return -1;
	log_ = member_log_new(service, &owner);
	return log_ ? 0 : -1;
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
	member_log_free(log_);
	log_service_free(service);
	loop_free(loop);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

static size_t count; /* lines of the flood */

/* "0000001 xxxx...\n", of many lengths, in bursts; says at its end what it had to say. */
static void flood(void)
{
	static char burst[8192];
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		len += (size_t)sprintf(
			burst + len, "%07zu %.*s\n", i, (int)(i * 7 % 120),
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			"xxxxxxxxxxxxxxxx");
		if (len > sizeof(burst) - 200 || i + 1 == count) {
			for (size_t at = 0; at < len;) {
				ssize_t n = write(1, burst + at, len - at);

				if (n <= 0)
					_exit(1);
				at += (size_t)n;
			}
			len = 0;
		}
	}
	_exit(0);
}

static pid_t start(size_t lines)
{
	struct log_ends ends;
	pid_t pid;

	assert_int_equal(member_log_open(log_, 0, false, &ends, NULL), 0);
	count = lines;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends.out, 1);
		(void)proc_close_from(3);
		flood();
	}
	assert_true(pid > 0);
	fd_close(&ends.out);
	fd_close(&ends.err);
	return pid;
}

static uint64_t lines_read(void)
{
	struct log_stats stats;

	member_log_stats(log_, &stats);
	return stats.lines;
}

static void on_done(void *arg)
{
	(void)arg;
	finished = true;
}

static void finish(void)
{
	log_service_finish(service, time_boot_ns() + DEADLINE_NS, on_done, NULL);
	assert_false(finished); /* from the loop only */
	while (!finished)
		assert_true(loop_turn(loop, 1000) >= 0);
}

/* Reads all files in the order of their names, the live one last, and checks that the
 * flood's lines are there: each, once, in order. */
static void check_files(size_t lines)
{
	char command[256], line[512];
	size_t next = 0;
	FILE *p;

	snprintf(command, sizeof(command),
		 "cd %s/ns_pod_uid/main && cat $(ls -1 0.log.* 2>/dev/null) 0.log", dir);
	p = popen(command, "r");
	assert_non_null(p);
	while (fgets(line, sizeof(line), p)) {
		size_t len = strlen(line), number;

		assert_true(len > 48 && line[len - 1] == '\n' && line[29] == 'Z');
		assert_memory_equal(line + 30, " stdout F ", 10);
		assert_int_equal(sscanf(line + 40, "%zu ", &number), 1);
		assert_int_equal(number, next);
		assert_int_equal(len, 40 + 8 + next * 7 % 120 + 1);
		next++;
	}
	assert_int_equal(pclose(p), 0);
	assert_int_equal(next, lines);
}

static void await_member(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	member_log_drain(log_);
}

static void turns_until_read(size_t lines)
{
	int64_t end_ns = time_boot_ns() + DEADLINE_NS;

	while (lines_read() < lines && time_boot_ns() < end_ns)
		assert_true(loop_turn(loop, 1000) >= 0);
	assert_int_equal(lines_read(), lines);
}

/* ---- */

static void test_plain(void **state)
{
	struct log_stats stats;
	pid_t pid;

	(void)state;
	assert_true(service->writer_pidfd >= 0);
	pid = start(50000);
	turns_until_read(50000);
	await_member(pid);
	finish();
	check_files(50000);
	member_log_stats(log_, &stats);
	assert_int_equal(stats.lost_bytes, 0);
	assert_int_equal(stats.code, 0);
}

/* Killed again and again in the middle of a flood. */
static void test_killed(void **state)
{
	enum { LINES = 200000 };
	int64_t end_ns = time_boot_ns() + DEADLINE_NS;
	int kills = 0, turn = 0;
	pid_t pid;

	(void)state;
	pid = start(LINES);
	while (lines_read() < LINES && time_boot_ns() < end_ns) {
		assert_true(loop_turn(loop, 1000) >= 0);
		if (++turn % 11 == 0 && service->writer_pidfd >= 0) {
			assert_int_equal(proc_signal(service->writer_pidfd, SIGKILL), 0);
			kills++;
		}
	}
	await_member(pid);
	assert_true(kills > 10);
	finish();
	check_files(LINES);
}

/* Killed while it is stopped with work before it, and while it is idle. */
static void test_killed_stopped(void **state)
{
	pid_t pid;

	(void)state;
	assert_int_equal(proc_signal(service->writer_pidfd, SIGSTOP), 0);
	pid = start(3000);
	turns_until_read(3000);
	await_member(pid);
	assert_int_equal(proc_signal(service->writer_pidfd, SIGKILL), 0);
	while (log_ring_used(&service->ring))
		assert_true(loop_turn(loop, 100) >= 0);
	assert_int_equal(proc_signal(service->writer_pidfd, SIGKILL), 0);
	while (loop_turn(loop, 200) > 0)
		;
	finish();
	check_files(3000);
}

/* A disk that does not answer: the member waits, the loop does not. */
static void test_stalled(void **state)
{
	enum { LINES = 100000 };
	struct log_stats stats;
	uint64_t before;
	pid_t pid;

	(void)state;
	assert_int_equal(proc_signal(service->writer_pidfd, SIGSTOP), 0);
	pid = start(LINES);
	/* Until nothing happens any more: no turn does anything, without spinning. */
	while (loop_turn(loop, 300) > 0)
		;
	before = lines_read();
	assert_in_range(before, 1000, LINES / 2);
	assert_in_range(log_ring_used(&service->ring), LOG_RING_SOFT_BYTES,
			LOG_RING_SOFT_BYTES + 3 * LOG_BITE_BYTES);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);

	assert_int_equal(proc_signal(service->writer_pidfd, SIGCONT), 0);
	turns_until_read(LINES);
	await_member(pid);
	finish();
	check_files(LINES);
	member_log_stats(log_, &stats);
	assert_int_equal(stats.lost_bytes, 0);
}

/* The member ends while its source is parked: its last words do not wait for the disk. */
static void test_drain_while_stalled(void **state)
{
	uint64_t before;
	pid_t pid;

	(void)state;
	assert_int_equal(proc_signal(service->writer_pidfd, SIGSTOP), 0);
	pid = start(100000);
	while (loop_turn(loop, 300) > 0)
		;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	before = lines_read();
	member_log_drain(log_);
	assert_true(lines_read() > before);

	/* Shutdown does not wait either. */
	log_service_finish(service, time_boot_ns() + 50 * NSEC_PER_MSEC, on_done, NULL);
	while (!finished)
		assert_true(loop_turn(loop, 1000) >= 0);
	/* The one that was given up is killed, and gets no successor. */
	while (service->writer_pidfd >= 0)
		assert_true(loop_turn(loop, 1000) >= 0);
	assert_null(service->restart.loop);
	assert_int_equal(loop_turn(loop, 0), 0);
}

/* A message that kills whoever writes it is given up after a few tries, with a count. */
static void test_poison(void **state)
{
	struct rlimit all, few = { 0 };
	struct log_stats stats;
	pid_t pid;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	few.rlim_max = all.rlim_max;
	few.rlim_cur = 1000; /* SIGXFSZ past it, also in the writers to come */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	assert_int_equal(proc_signal(service->writer_pidfd, SIGKILL), 0);
	pid = start(100);
	turns_until_read(100);
	do {
		assert_true(loop_turn(loop, 1000) >= 0);
		member_log_stats(log_, &stats);
	} while (!stats.lost_bytes);
	assert_int_equal(stats.code, EIO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	await_member(pid);
	finish();
}

/* What goes wrong in the writer is known in PID 1. */
static void test_error_report(void **state)
{
	struct log_stats stats;
	char path[128];
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/ns_pod_uid", dir);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	pid = start(10);
	turns_until_read(10);
	await_member(pid);
	do {
		assert_true(loop_turn(loop, 1000) >= 0);
		member_log_stats(log_, &stats);
	} while (!stats.lost_bytes);
	assert_int_equal(stats.code, ENOTDIR);
	assert_int_equal(stats.lost_bytes, 10 * 49 + 7 * 45);
	assert_int_equal(unlink(path), 0);
	await_member(start(10));
	finish();
	check_files(10);
	member_log_stats(log_, &stats);
	assert_int_equal(stats.code, 0);
}

/* The writer keeps nothing of PID 1's open. */
static void test_descriptors(void **state)
{
	char command[64], text[256] = "";
	FILE *f;
	pid_t pid;

	(void)state;
	/* The pid as the kernel shows it for the pidfd. */
	snprintf(command, sizeof(command), "/proc/self/fdinfo/%d", service->writer_pidfd);
	f = fopen(command, "re");
	assert_non_null(f);
	pid = 0;
	while (fgets(text, sizeof(text), f))
		(void)sscanf(text, "Pid: %d", &pid);
	fclose(f);
	assert_true(pid > 0);
	/* It has begun to wait when it has done its set-up. */
	while (!*((volatile uint32_t *)service->ring.shared + 2))
		;
	snprintf(command, sizeof(command), "ls /proc/%d/fd | wc -l", pid);
	f = popen(command, "r");
	assert_non_null(fgets(text, sizeof(text), f));
	pclose(f);
	assert_int_equal(atoi(text), 2);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stalled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drain_while_stalled, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_poison, setup, teardown),
		cmocka_unit_test_setup_teardown(test_error_report, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
