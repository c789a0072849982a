// SPDX-License-Identifier: Apache-2.0
/*
 * base_child.c - helpers: ends, deadlines, descriptors, faults. Their output has a file
 * of its own. Replaces epoll_ctl by a version that can fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/base_child_fixture.h"

static int ctl_countdown; /* the n-th epoll_ctl() from now fails with ENOMEM */

int epoll_ctl(int fd, int op, int target, struct epoll_event *event)
{
	if (ctl_countdown && --ctl_countdown == 0) {
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, fd, op, target, event);
}

/* ---- ends ------------------------------------------------------------------------- */

static void exit_code_of_a_function(void **state)
{
	int code = 0;

	(void)state;
	child.run = return_arg;
	child.arg = &code;
	start();
	await_done();
	assert_true(child_ok(&child));

	for (code = 1; code < 256; code += 127) {
		done_calls = 0;
		start();
		await_done();
		assert_false(child_ok(&child));
		assert_int_equal(proc_exit_code(&child.exit), code);
	}
}

static void exit_code_and_output_of_a_program(void **state)
{
	char script[] = "echo to stdout; echo to stderr >&2; exit 3";

	(void)state;
	run_shell(script);
	assert_int_equal(proc_exit_code(&child.exit), 3);
	assert_false(child.exit.by_signal || child.timed_out);
	assert_string_equal(child.output, "to stdout\nto stderr\n");
	assert_string_equal(child_failure(&child), "to stdout");
}

static void signal_is_not_an_exit_code(void **state)
{
	char script[] = "kill -TERM $$";

	(void)state;
	run_shell(script);
	assert_true(child.exit.by_signal);
	assert_int_equal(child.exit.status, SIGTERM);
	assert_false(child_ok(&child));
	assert_string_equal(child_failure(&child), "killed");
}

static void failed_exec_is_127_and_says_why(void **state)
{
	char path[] = "/nonexistent/program";
	char *argv[] = { path, NULL };

	(void)state;
	child.argv = argv;
	start();
	await_done();
	assert_int_equal(proc_exit_code(&child.exit), 127);
	assert_string_equal(child.output,
			    "exec /nonexistent/program: No such file or directory\n");
}

/* ---- deadline and cancel ---------------------------------------------------------- */

static void killed_at_its_deadline(void **state)
{
	int64_t start_ns = time_boot_ns();

	(void)state;
	child.run = hang;
	child.timeout_ns = 30 * NSEC_PER_MSEC;
	start();
	await_done();
	assert_true(time_boot_ns() - start_ns >= 30 * NSEC_PER_MSEC);
	assert_true(child.timed_out && child.exit.by_signal);
	assert_int_equal(child.exit.status, SIGKILL);
	assert_false(child_ok(&child));
	assert_string_equal(child_failure(&child), "timed out");
}

static void cancelled_is_not_timed_out(void **state)
{
	(void)state;
	child_cancel(&child); /* not running: harmless */
	child.run = hang;
	start();
	child_cancel(&child);
	child_cancel(&child);
	assert_int_equal(done_calls, 0);
	await_done();
	assert_false(child.timed_out);
	assert_true(child.exit.by_signal);
	child_cancel(&child);
}

static int release_fd;

/* Runs in the turn in which the deadline is due, when the helper has not ended yet as far
 * as the loop knows: lets it end. */
static void let_it_end(struct loop_src *src, uint32_t events)
{
	struct pollfd p = { .fd = child.pidfd, .events = POLLIN };

	(void)events;
	assert_int_equal(write(release_fd, "x", 1), 1);
	assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
	loop_src_remove(src);
}

static void end_at_the_deadline_counts_as_in_time(void **state)
{
	struct loop_src src = { 0 };
	int event_fd = eventfd(1, EFD_CLOEXEC), fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	release_fd = fds[1];
	child.keep_fd = fds[0];
	child.run = wait_for_byte;
	child.timeout_ns = 1;
	assert_int_equal(
		loop_src_add(loop, &src, event_fd, EPOLLIN, LOOP_START, let_it_end), 0);
	start();
	await_done();
	assert_false(child.timed_out);
	assert_true(child_ok(&child));
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	fd_close(&event_fd);
}

/* ---- what the child starts with --------------------------------------------------- */

static int describe(void *arg)
{
	char path[32], target[64], text[4096];
	ssize_t n;

	(void)arg;
	for (int fd = 0; fd < 1024; fd++) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[MAX(n, (ssize_t)0)] = '\0';
		if (n >= 0)
			dprintf(1, "%d %.*s\n", fd, (int)strcspn(target, "["), target);
	}
	dprintf(1, "leader %d\n", getsid(0) == getpid() && getpgrp() == getpid());
	dprintf(1, "end of input %d\n", read(0, text, 1) == 0);
	dprintf(1, "keep stays open on exec %d\n", fcntl(3, F_GETFD) == 0);
	n = fd_read_file_at(AT_FDCWD, "/proc/self/status", text, sizeof(text));
	if (n > 0 && strstr(text, "SigIgn:"))
		dprintf(1, "%.*s\n", 24, strstr(text, "SigIgn:"));
	return n < 0;
}

static void child_has_only_what_it_was_given(void **state)
{
	int extra = open("/proc/self/exe", O_RDONLY); /* would be inherited */
	int keep = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	void (*old)(int) = signal(SIGTERM, SIG_IGN);

	(void)state;
	child.keep_fd = keep;
	child.run = describe;
	start();
	await_done();
	(void)signal(SIGTERM, old);
	fd_close(&extra);
	fd_close(&keep);
	assert_true(child_ok(&child));
	assert_string_equal(child.output, "0 /dev/null\n"
					  "1 pipe:\n"
					  "2 pipe:\n"
					  "3 /dev/zero\n"
					  "leader 1\n"
					  "end of input 1\n"
					  "keep stays open on exec 1\n"
					  "SigIgn:\t0000000000000000\n");
}

#define MANY 200

/* Each of the descriptors has its place in the row as its text. */
static int read_row(void *arg)
{
	(void)arg;
	for (int i = 0; i <= MANY; i++) {
		char text[16] = "";

		if (pread(3 + i, text, sizeof(text) - 1, 0) <= 0 || atoi(text) != i) {
			dprintf(1, "%d is '%s'\n", 3 + i, text);
			return 1;
		}
	}
	return fcntl(4 + MANY, F_GETFD) != -1;
}

/* Their numbers here are those of others there; what is closed after the start is there
 * all the same. */
static void further_descriptors_in_their_order(void **state)
{
	int row[1 + MANY];

	(void)state;
	for (int i = MANY; i >= 0; i--) {
		row[i] = memfd_create("row", MFD_CLOEXEC);
		assert_true(row[i] >= 0);
		assert_true(dprintf(row[i], "%d", i) > 0);
	}
	child.keep_fd = row[0];
	child.more_fds = row + 1;
	child.n_more_fds = MANY;
	child.run = read_row;
	start();
	for (int i = 0; i <= MANY; i++)
		fd_close(&row[i]);
	await_done();
	assert_string_equal(child.output, "");
	assert_true(child_ok(&child));
}

/* ---- faults ----------------------------------------------------------------------- */

static void second_start_is_refused_while_it_runs(void **state)
{
	(void)state;
	child.run = hang;
	start();
	assert_int_equal(child_start(loop, &child), -EBUSY);
	child_cancel(&child);
	await_done();
}

static void failed_start_leaves_nothing(void **state)
{
	struct rlimit old, none;
	int code = 0;
	struct loop_stats stats;

	(void)state;
	child.run = return_arg;
	child.arg = &code;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	for (rlim_t free_fds = 0; free_fds < 3; free_fds++) {
		int next = dup(0);

		assert_true(next >= 0);
		(void)close(next);
		none.rlim_cur = (rlim_t)next + free_fds;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		assert_int_equal(child_start(loop, &child), -EMFILE);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_false(child_running(&child));
		assert_int_equal(dup(0), next);
		(void)close(next);
	}
	loop_get_stats(loop, &stats);
	assert_int_equal(stats.timers_armed, 0);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(done_calls, 0);
	start();
	await_done();
	assert_true(child_ok(&child));
}

static void unwatched_child_becomes_an_orphan(void **state)
{
	int status;

	(void)state;
	child.run = hang;
	ctl_countdown = 1; /* the output */
	assert_int_equal(child_start(loop, &child), -ENOMEM);
	assert_int_equal(proc_peek_any(), -ECHILD);
	ctl_countdown = 2; /* the pidfd */
	assert_int_equal(child_start(loop, &child), -ENOMEM);
	assert_false(child_running(&child));
	assert_false(known_has(child.exit.pid));
	assert_int_equal(waitpid(child.exit.pid, &status, 0), child.exit.pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(done_calls, 0);
}

static void stolen_status_is_an_error_not_a_hang(void **state)
{
	int code = 0;

	(void)state;
	child.run = return_arg;
	child.arg = &code;
	start();
	assert_int_equal(waitpid(child.exit.pid, NULL, 0), child.exit.pid);
	await_done();
	assert_false(child_ok(&child));
	assert_int_equal(child.exit.status, 255);
}

static int restarts;

static void start_again(struct child *c)
{
	if (restarts++ < 3)
		assert_int_equal(child_start(loop, c), 0);
	else
		done_calls++;
}

static void may_start_again_in_done(void **state)
{
	int code = 0;

	(void)state;
	child.run = return_arg;
	child.arg = &code;
	child.done = start_again;
	restarts = 0;
	start();
	await_done();
	assert_int_equal(restarts, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHILD_TEST(exit_code_of_a_function),
		CHILD_TEST(exit_code_and_output_of_a_program),
		CHILD_TEST(signal_is_not_an_exit_code),
		CHILD_TEST(failed_exec_is_127_and_says_why),
		CHILD_TEST(killed_at_its_deadline),
		CHILD_TEST(cancelled_is_not_timed_out),
		CHILD_TEST(end_at_the_deadline_counts_as_in_time),
		CHILD_TEST(child_has_only_what_it_was_given),
		CHILD_TEST(further_descriptors_in_their_order),
		CHILD_TEST(second_start_is_refused_while_it_runs),
		CHILD_TEST(failed_start_leaves_nothing),
		CHILD_TEST(unwatched_child_becomes_an_orphan),
		CHILD_TEST(stolen_status_is_an_error_not_a_hang),
		CHILD_TEST(may_start_again_in_done),
	};

	return cmocka_run_group_tests_name("base_child", tests, NULL, NULL);
}
