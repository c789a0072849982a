// SPDX-License-Identifier: Apache-2.0
/*
 * base_child.c - helpers: ends, deadlines, output, descriptors, faults.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/known.h"
#include "base/log.h"
#include "base/time.h"

#define LONG_NS     (20 * NSEC_PER_SEC)
#define DEADLINE_MS 20000

static int ctl_countdown; /* the n-th epoll_ctl() from now fails with ENOMEM */

int epoll_ctl(int fd, int op, int target, struct epoll_event *event)
{
	if (ctl_countdown && --ctl_countdown == 0) {
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, fd, op, target, event);
}

static struct loop *loop;
static struct child child;
static int done_calls;

static void on_done(struct child *c)
{
	assert_ptr_equal(c, &child);
	assert_false(child_running(c));
	assert_false(known_has(c->exit.pid));
	done_calls++;
}

static int setup(void **state)
{
	(void)state;
	done_calls = 0;
	child_init(&child);
	child.name = "helper";
	child.timeout_ns = LONG_NS;
	child.done = on_done;
	return loop_init(&loop);
}

static int teardown(void **state)
{
	(void)state;
	loop_free(loop);
	return proc_peek_any() == -ECHILD ? 0 : -1; /* nothing is left behind */
}

static void start(void)
{
	assert_int_equal(child_start(loop, &child), 0);
	assert_true(child_running(&child));
	assert_true(known_has(child.exit.pid));
	assert_int_equal(done_calls, 0);
}

static void await_done(void)
{
	int64_t end_ns = time_add(time_boot_ns(), DEADLINE_MS * NSEC_PER_MSEC);

	while (!done_calls && time_boot_ns() < end_ns)
		assert_true(loop_turn(loop, DEADLINE_MS) >= 0);
	assert_int_equal(done_calls, 1);
	assert_int_equal(loop_turn(loop, 0), 0); /* nothing is left in the loop */
}

static char shell[] = "/bin/sh", shell_c[] = "-c";

static void run_shell(char *script)
{
	char *argv[] = { shell, shell_c, script, NULL };

	child.argv = argv;
	start();
	child.argv = NULL;
	await_done();
}

static int return_arg(void *arg)
{
	return *(int *)arg;
}

static int hang(void *arg)
{
	(void)arg;
	while (pause() < 0)
		;
	return 0;
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
}

static void signal_is_not_an_exit_code(void **state)
{
	char script[] = "kill -TERM $$";

	(void)state;
	run_shell(script);
	assert_true(child.exit.by_signal);
	assert_int_equal(child.exit.status, SIGTERM);
	assert_false(child_ok(&child));
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

static int wait_for_byte(void *arg)
{
	char c;

	(void)arg;
	return read(3, &c, 1) == 1 ? 0 : 1;
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

/* ---- output ----------------------------------------------------------------------- */

static int write_numbers(void *arg)
{
	char line[16];

	for (int i = 0; i < *(int *)arg; i++) {
		int n = snprintf(line, sizeof(line), "%06d\n", i);

		if (write(1, line, (size_t)n) != n)
			return 1;
	}
	return 0;
}

/* 700 kB: more than the pipe holds, and a tail that does not begin with a line. */
static void keeps_the_tail_of_long_output(void **state)
{
	int lines = 100000;

	(void)state;
	child.run = write_numbers;
	child.arg = &lines;
	start();
	await_done();
	assert_true(child_ok(&child));
	assert_int_equal(child.output_len, CHILD_OUTPUT_BYTES);
	assert_int_equal(strlen(child.output), CHILD_OUTPUT_BYTES);
	assert_string_equal(child.output + CHILD_OUTPUT_BYTES - 14, "099998\n099999\n");
	assert_memory_equal(child.output, "707\n099708\n", 11);
}

/* All of it is in the pipe when the process is gone, more than one event takes. */
static void output_is_read_to_its_end_before_done(void **state)
{
	struct pollfd p = { .events = POLLIN };
	int lines = 9000;

	(void)state;
	child.run = write_numbers;
	child.arg = &lines;
	start();
	p.fd = child.pidfd;
	assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
	await_done();
	assert_string_equal(child.output + child.output_len - 7, "008999\n");
}

static int orphan_on_the_pipe(void *arg)
{
	char c;

	if (fork() == 0) /* ends when the test closes the other end of descriptor 3 */
		_exit(read(3, &c, 1) != 0);
	return write_numbers(arg);
}

static void grandchild_on_the_pipe_does_not_delay_the_end(void **state)
{
	int fds[2], lines = 20;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	child.keep_fd = fds[0];
	child.run = orphan_on_the_pipe;
	child.arg = &lines;
	start();
	await_done();
	assert_true(child_ok(&child));
	assert_int_equal(child.output_len, 140);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
}

static int close_output_and_wait(void *arg)
{
	if (write(1, "bye\n", 4) != 4)
		return 1;
	(void)close(1);
	(void)close(2);
	return wait_for_byte(arg);
}

static void closed_output_is_not_the_end(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	child.keep_fd = fds[0];
	child.run = close_output_and_wait;
	start();
	while (child.out_fd >= 0)
		assert_true(loop_turn(loop, DEADLINE_MS) > 0);
	assert_int_equal(loop_turn(loop, 20), 0); /* the hang-up does not spin */
	assert_int_equal(done_calls, 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	await_done();
	assert_true(child_ok(&child));
	assert_string_equal(child.output, "bye\n");
	fd_close(&fds[0]);
	fd_close(&fds[1]);
}

static int log_a_line(void *arg)
{
	(void)arg;
	log_warn("from the %s", "child");
	return 0;
}

static void log_of_a_function_goes_to_its_output(void **state)
{
	char text[64];
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	log_open(fds[1]);
	child.run = log_a_line;
	start();
	await_done();
	assert_non_null(strstr(child.output, "warn: from the child\n"));
	assert_int_equal(read(fds[0], text, sizeof(text)), -1);
	log_open(-1);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
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

#define CHILD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
		CHILD_TEST(keeps_the_tail_of_long_output),
		CHILD_TEST(output_is_read_to_its_end_before_done),
		CHILD_TEST(grandchild_on_the_pipe_does_not_delay_the_end),
		CHILD_TEST(closed_output_is_not_the_end),
		CHILD_TEST(log_of_a_function_goes_to_its_output),
		CHILD_TEST(child_has_only_what_it_was_given),
		CHILD_TEST(second_start_is_refused_while_it_runs),
		CHILD_TEST(failed_start_leaves_nothing),
		CHILD_TEST(unwatched_child_becomes_an_orphan),
		CHILD_TEST(stolen_status_is_an_error_not_a_hang),
		CHILD_TEST(may_start_again_in_done),
	};

	return cmocka_run_group_tests_name("base_child", tests, NULL, NULL);
}
