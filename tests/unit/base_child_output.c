// SPDX-License-Identifier: Apache-2.0
/*
 * base_child_output.c - what a helper writes: its tail, its end, who else holds the pipe.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>

#include "base/log.h"
#include "tests/unit/base_child_fixture.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHILD_TEST(keeps_the_tail_of_long_output),
		CHILD_TEST(output_is_read_to_its_end_before_done),
		CHILD_TEST(grandchild_on_the_pipe_does_not_delay_the_end),
		CHILD_TEST(closed_output_is_not_the_end),
		CHILD_TEST(log_of_a_function_goes_to_its_output),
	};

	return cmocka_run_group_tests_name("base_child_output", tests, NULL, NULL);
}
