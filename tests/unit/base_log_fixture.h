// SPDX-License-Identifier: Apache-2.0
/*
 * base_log_fixture.h - a log whose console is a pipe of one page.
 *
 * Owns: "console" and "loop", made anew for each test.
 */
#ifndef TESTS_UNIT_BASE_LOG_FIXTURE_H
#define TESTS_UNIT_BASE_LOG_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"

#define CONSOLE_BYTES 4096
#define LINES         2000

static int console[2]; /* a pipe: [0] is the terminal's side */
static struct loop *loop;

static inline int setup(void **state)
{
	(void)state;
	log_enter_child(-1); /* forgets what the test before left */
	log_set_level(LOG_INFO);
	if (pipe2(console, O_CLOEXEC | O_NONBLOCK) < 0 ||
	    fcntl(console[1], F_SETPIPE_SZ, CONSOLE_BYTES) < 0)
		return -1;
	log_open(console[1]);
	return loop_init(&loop);
}

static inline int teardown(void **state)
{
	(void)state;
	log_attach(NULL);
	log_open(-1);
	loop_free(loop);
	fd_close(&console[0]);
	fd_close(&console[1]);
	return 0;
}

/* What the console shows now. */
static inline size_t show(char *text, size_t size)
{
	ssize_t n = read(console[0], text, size - 1);

	n = MAX(n, (ssize_t)0);
	text[n] = '\0';
	return (size_t)n;
}

static inline void assert_shown(const char *want)
{
	char text[CONSOLE_BYTES + 1];

	show(text, sizeof(text));
	assert_string_equal(text, want);
}

static inline void send_lines(int from, int to)
{
	char line[16];

	for (int i = from; i < to; i++) {
		int n = snprintf(line, sizeof(line), "%d", i);

		log_console_line("m: ", line, (size_t)n);
	}
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
