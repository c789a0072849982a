// SPDX-License-Identifier: Apache-2.0
/*
 * base_log_console.c - consoles that are stuck, slow, broken or none: each line arrives
 * or is counted as lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/base_log_fixture.h"

/* Reads the console as it moves again, with the loop if there is one, and checks that
 * each line that was written is either there, in order, or in a loss count. */
static void account_for_lines(int sent, bool with_loop, int *ret_lost)
{
	static char text[LINES * 64];
	size_t len = 0, n;
	int next = 0, lost = 0;

	for (;;) {
		n = show(text + len, sizeof(text) - len);
		len += n;
		if (n)
			continue;
		if (with_loop ? loop_turn(loop, 0) <= 0 : true)
			break;
	}
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *told = strstr(line, "stuck, ");
		int number;

		if (told) {
			number = atoi(told + 7);
			assert_true(number > 0);
			lost += number;
			next += number;
			continue;
		}
		assert_int_equal(sscanf(line, "m: %d", &number), 1);
		assert_int_equal(number, next);
		next++;
	}
	assert_int_equal(next, sent);
	*ret_lost = lost;
}

static void backlog_drains_by_the_loop_without_loss(void **state)
{
	int lost;

	(void)state;
	assert_int_equal(log_attach(loop), 0);
	send_lines(0, LINES); /* some 15 KiB: more than the pipe, less than the backlog */
	account_for_lines(LINES, true, &lost);
	assert_int_equal(lost, 0);
	assert_int_equal(loop_turn(loop, 20), 0); /* not watched any more */
}

static void loss_is_counted_in_its_place(void **state)
{
	int lost;

	(void)state;
	assert_int_equal(log_attach(loop), 0);
	send_lines(0, 4 * LINES);
	account_for_lines(4 * LINES, true, &lost);
	assert_true(lost > 0 && lost < 4 * LINES);
}

static void slow_console_gets_runs_of_lines(void **state)
{
	static char text[16 * CONSOLE_BYTES];
	size_t len = 0;
	int reports = 0, i = 0;

	(void)state;
	send_lines(0, 4 * LINES); /* all is full */
	while (len < sizeof(text) - CONSOLE_BYTES) {
		len += show(text + len, 64);
		send_lines(i, i + 10);
		i += 10;
	}
	for (char *p = text; (p = strstr(p, "stuck, ")); p++)
		reports++;
	/* One for each half of the backlog that was read, and the first. */
	assert_in_range(reports, 1, sizeof(text) / 8192 + 1);
}

static void works_without_a_loop(void **state)
{
	char text[CONSOLE_BYTES + 1];
	int lost;

	(void)state;
	send_lines(0, 1000);
	show(text, sizeof(text));
	assert_memory_equal(text, "m: 0\nm: 1\n", 10);
	/* The next line takes the old ones along. */
	send_lines(1000, 1001);
	assert_int_equal(log_attach(loop), 0); /* and so does the loop, later */
	for (int i = 0; i < 5; i++)
		show(text, sizeof(text)), loop_turn(loop, 0);
	send_lines(0, 3);
	account_for_lines(3, true, &lost);
	assert_int_equal(lost, 0);
}

static void broken_console_neither_spins_nor_forgets_the_count(void **state)
{
	char text[CONSOLE_BYTES + 1], *told;
	int fds[2];

	(void)state;
	assert_int_equal(log_attach(loop), 0);
	send_lines(0, 1000); /* part of it waits for room */
	fd_close(&console[0]);
	loop_turn(loop, 0);
	assert_int_equal(loop_turn(loop, 20), 0);
	send_lines(0, 10);
	assert_int_equal(loop_turn(loop, 20), 0);

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	log_open(fds[1]);
	fd_close(&console[1]);
	console[0] = fds[0];
	console[1] = fds[1];
	send_lines(0, 1);
	show(text, sizeof(text));
	told = strstr(text, "stuck, ");
	assert_non_null(told);
	assert_in_range(atoi(told + 7), 300, 1010);
	assert_non_null(strstr(told, "lost\nm: 0\n"));
}

static void regular_file_is_a_console(void **state)
{
	char path[] = "/tmp/podinit-log-XXXXXX", text[64] = "";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0 && unlink(path) == 0);
	log_open(fd);
	assert_int_equal(log_attach(loop), 0);
	send_lines(0, LINES);
	assert_int_equal(pread(fd, text, 15, 0), 15);
	assert_string_equal(text, "m: 0\nm: 1\nm: 2\n");
	assert_int_equal(lseek(fd, 0, SEEK_END), 10 * 5 + 90 * 6 + 900 * 7 + 1000 * 8);
	log_open(-1);
	fd_close(&fd);
}

static void no_console_keeps_the_ring(void **state)
{
	char text[LOG_RING_BYTES];
	size_t n;

	(void)state;
	log_open(-1);
	assert_int_equal(log_attach(loop), 0);
	log_info("only in memory");
	log_console_line("m: ", "nowhere", 7);
	log_final_line("nowhere", 1000);
	n = log_ring_read(text, sizeof(text));
	assert_true(n > 15);
	assert_memory_equal(text + n - 15, "only in memory\n", 15);
	log_open(12345); /* not a descriptor: no console */
	log_info("still alive");
	log_open(-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG_TEST(backlog_drains_by_the_loop_without_loss),
		LOG_TEST(loss_is_counted_in_its_place),
		LOG_TEST(slow_console_gets_runs_of_lines),
		LOG_TEST(works_without_a_loop),
		LOG_TEST(broken_console_neither_spins_nor_forgets_the_count),
		LOG_TEST(regular_file_is_a_console),
		LOG_TEST(no_console_keeps_the_ring),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("base_log_console", tests, NULL, NULL);
}
