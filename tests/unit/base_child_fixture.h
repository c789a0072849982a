// SPDX-License-Identifier: Apache-2.0
/*
 * base_child_fixture.h - one helper in one loop, and the ways to await its end.
 *
 * Owns: "loop" and "child", made anew for each test; teardown() fails when a process is
 * left.
 */
#ifndef TESTS_UNIT_BASE_CHILD_FIXTURE_H
#define TESTS_UNIT_BASE_CHILD_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/known.h"
#include "base/time.h"

#define LONG_NS     (20 * NSEC_PER_SEC)
#define DEADLINE_MS 20000

static struct loop *loop;
static struct child child;
static int done_calls;

static inline void on_done(struct child *c)
{
	assert_ptr_equal(c, &child);
	assert_false(child_running(c));
	assert_false(known_has(c->exit.pid));
	done_calls++;
}

static inline int setup(void **state)
{
	(void)state;
	done_calls = 0;
	child_init(&child);
	child.name = "helper";
	child.timeout_ns = LONG_NS;
	child.done = on_done;
	return loop_init(&loop);
}

static inline int teardown(void **state)
{
	(void)state;
	loop_free(loop);
	return proc_peek_any() == -ECHILD ? 0 : -1; /* nothing is left behind */
}

static inline void start(void)
{
	assert_int_equal(child_start(loop, &child), 0);
	assert_true(child_running(&child));
	assert_true(known_has(child.exit.pid));
	assert_int_equal(done_calls, 0);
}

static inline void await_done(void)
{
	int64_t end_ns = time_add(time_boot_ns(), DEADLINE_MS * NSEC_PER_MSEC);

	while (!done_calls && time_boot_ns() < end_ns)
		assert_true(loop_turn(loop, DEADLINE_MS) >= 0);
	assert_int_equal(done_calls, 1);
	assert_int_equal(loop_turn(loop, 0), 0); /* nothing is left in the loop */
}

static char shell[] = "/bin/sh", shell_c[] = "-c";

static inline void run_shell(char *script)
{
	char *argv[] = { shell, shell_c, script, NULL };

	child.argv = argv;
	start();
	child.argv = NULL;
	await_done();
}

static inline int return_arg(void *arg)
{
	return *(int *)arg;
}

static inline int hang(void *arg)
{
	(void)arg;
	while (pause() < 0)
		;
	return 0;
}

static inline int wait_for_byte(void *arg)
{
	char c;

	(void)arg;
	return read(3, &c, 1) == 1 ? 0 : 1;
}

#define CHILD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
