// SPDX-License-Identifier: Apache-2.0
/*
 * base_log.c - the log: format, stuck and broken consoles, loss counts, the ring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/proc.h"
#include "base/time.h"

#define CONSOLE_BYTES 4096
#define LINES         2000

/* Stands for a serial line: tells of the call, or never ends. It runs in a child. */
static int drained_fd;

int tcdrain(int fd)
{
	(void)fd;
	if (drained_fd < 0)
		return pause();
	return write(drained_fd, "drained", 7) == 7 ? 0 : -1;
}

static int console[2]; /* a pipe: [0] is the terminal's side */
static struct loop *loop;

static int setup(void **state)
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

static int teardown(void **state)
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
static size_t show(char *text, size_t size)
{
	ssize_t n = read(console[0], text, size - 1);

	n = MAX(n, (ssize_t)0);
	text[n] = '\0';
	return (size_t)n;
}

static void assert_shown(const char *want)
{
	char text[CONSOLE_BYTES + 1];

	show(text, sizeof(text));
	assert_string_equal(text, want);
}

/* ---- lines ------------------------------------------------------------------------ */

static void line_has_time_level_and_text(void **state)
{
	char text[256], level[16], rest[64];
	long long seconds, micros;
	int at = 0;

	(void)state;
	log_warn("%s is %d", "answer", 42);
	show(text, sizeof(text));
	assert_int_equal(sscanf(text, "podinit: [%lld.%6lld] %15[^:]: %n", &seconds,
				&micros, level, &at),
			 3);
	assert_string_equal(level, "warn");
	assert_string_equal(text + at, "answer is 42\n");
	assert_true(seconds <= time_boot_ns() / NSEC_PER_SEC);
	(void)snprintf(rest, sizeof(rest), "podinit: [%4lld.%06lld] warn: ", seconds,
		       micros);
	assert_memory_equal(text, rest, strlen(rest));
}

static void levels_filter_and_parse(void **state)
{
	enum log_level level = LOG_ERROR;
	char text[256];

	(void)state;
	log_debug("hidden");
	assert_shown("");
	assert_true(log_level_parse("debug", &level));
	assert_int_equal(level, LOG_DEBUG);
	log_set_level(level);
	log_debug("seen");
	assert_true(show(text, sizeof(text)) > 0);
	log_set_level(LOG_ERROR);
	log_warn("hidden");
	assert_shown("");
	assert_false(log_level_parse("loud", &level));
	assert_false(log_level_parse("", &level));
	assert_int_equal(level, LOG_DEBUG);
}

static void error_names_stage_and_errno(void **state)
{
	struct err e;
	char text[512];

	(void)state;
	(void)err_set(&e, STAGE_MOUNT, ENOENT, "mount %s", "/proc");
	log_err(LOG_ERROR, "pod a", &e);
	show(text, sizeof(text));
	assert_non_null(strstr(text,
			       "error: pod a: mount /proc: No such file or directory "
			       "(stage mount, errno ENOENT)\n"));
	(void)err_set(&e, STAGE_EXEC, 4000, "odd");
	log_err(LOG_ERROR, "x", &e);
	show(text, sizeof(text));
	assert_non_null(strstr(text, "(stage exec, errno 4000)\n"));
	(void)err_setx(&e, STAGE_BOOT, 0, "fine");
	log_err(LOG_ERROR, "x", &e);
	show(text, sizeof(text));
	assert_non_null(strstr(text, "x: fine (stage boot)\n"));
}

static void long_line_is_cut_and_says_so(void **state)
{
	char big[2000], text[CONSOLE_BYTES + 1];
	size_t n;

	(void)state;
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	log_info("%s", big);
	n = show(text, sizeof(text));
	assert_int_equal(n, LOG_LINE_BYTES);
	assert_string_equal(text + n - 5, "x...\n");
}

static void errno_survives(void **state)
{
	(void)state;
	fd_close(&console[0]);
	errno = ENOTTY;
	log_info("to nobody");
	log_console_line("p: ", "x", 1);
	assert_int_equal(errno, ENOTTY);
}

static void terminal_cannot_be_steered(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "plain\ttab", "plain\ttab" },
		{ "\x1b[2J", "?[2J" },
		{ "a\rb\nc\x7f", "a?b?c?" },
		{ "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
		  "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xc2\x9b"
		  "2J",
		  "??2J" }, /* U+009B is a control sequence introducer */
		{ "\xc2\xa0", "\xc2\xa0" },
		{ "\xc0\x8a \xe0\x80\x8a \xf0\x80\x80\x8a",
		  "?? ??? ????" },              /* overlong */
		{ "\xed\xa0\x80", "???" },      /* surrogate */
		{ "\xf4\x90\x80\x80", "????" }, /* above U+10FFFF */
		{ "\x80\xff\xfe", "???" },
		{ "cut \xe2\x82", "cut ??" },
		{ "", "" },
	};
	char want[128], text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		log_console_line("m: ", cases[i].in, strlen(cases[i].in));
		(void)snprintf(want, sizeof(want), "m: %s\n", cases[i].out);
		assert_shown(want);
		log_info("%s", cases[i].in);
		show(text, sizeof(text));
		(void)snprintf(want, sizeof(want), "info: %s\n", cases[i].out);
		assert_non_null(strstr(text, want));
	}
	log_console_line("", "a\0b", 3);
	assert_shown("a?b\n");
}

/* Multi-byte characters stand at every place where the line is taken in pieces. */
static void long_console_line_stays_whole(void **state)
{
	char in[3 * 1200], text[CONSOLE_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(in); i += 3)
		memcpy(in + i, "\xe2\x82\xac", 3);
	log_console_line("m: ", in, sizeof(in));
	assert_int_equal(show(text, sizeof(text)), 3 + sizeof(in) + 1);
	assert_memory_equal(text + 3, in, sizeof(in));
	assert_string_equal(text + 3 + sizeof(in), "\n");
}

/* ---- stuck and broken consoles ---------------------------------------------------- */

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

static void send_lines(int from, int to)
{
	char line[16];

	for (int i = from; i < to; i++) {
		int n = snprintf(line, sizeof(line), "%d", i);

		log_console_line("m: ", line, (size_t)n);
	}
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

/* ---- the ring --------------------------------------------------------------------- */

static void ring_keeps_the_newest_whole_lines(void **state)
{
	static char text[LOG_RING_BYTES + 10];
	char small[100];
	size_t n;

	(void)state;
	log_open(-1);
	for (int i = 0; i < LINES; i++)
		log_info("line %d", i);
	n = log_ring_read(text, sizeof(text));
	assert_in_range(n, LOG_RING_BYTES - 100, LOG_RING_BYTES);
	assert_memory_equal(text, "podinit: [", 10);
	assert_memory_equal(text + n - 10, "line 1999\n", 10);
	/* Consecutive to the end. */
	text[n] = '\0';
	for (int i = LINES - 1; i > LINES - 500; i--) {
		(void)snprintf(small, sizeof(small), "line %d\n", i);
		assert_non_null(strstr(text, small));
	}

	n = log_ring_read(small, sizeof(small));
	assert_in_range(n, 1, sizeof(small));
	assert_memory_equal(small, "podinit: [", 10);
	assert_memory_equal(small + n - 10, "line 1999\n", 10);
	/* A line that fits exactly is not left out. */
	assert_int_equal(log_ring_read(text, n), n);
	assert_memory_equal(text, small, n);
	assert_int_equal(log_ring_read(small, 5), 0);
	assert_int_equal(log_ring_read(small, 0), 0);
}

/* ---- the last words --------------------------------------------------------------- */

static void final_line_comes_after_the_backlog(void **state)
{
	char text[CONSOLE_BYTES + 1];

	(void)state;
	send_lines(0, 3);
	log_final_line("{\"phase\":\"Succeeded\"}", 1000);
	show(text, sizeof(text));
	assert_string_equal(text, "m: 0\nm: 1\nm: 2\n{\"phase\":\"Succeeded\"}\n");
}

static void final_line_gives_up_on_a_stuck_console(void **state)
{
	int64_t start_ns = time_boot_ns(), took_ns;

	(void)state;
	send_lines(0, LINES);
	log_final_line("never", 30);
	took_ns = time_boot_ns() - start_ns;
	assert_true(took_ns >= 30 * NSEC_PER_MSEC && took_ns < 10 * NSEC_PER_SEC);
}

static int open_terminal(int *ret_master)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), unlock = 0;

	assert_true(master >= 0);
	assert_int_equal(ioctl(master, TIOCSPTLCK, &unlock), 0);
	*ret_master = master;
	return ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static void final_line_waits_for_its_transmission(void **state)
{
	int master, slave = open_terminal(&master);
	char text[64] = "";
	int64_t start_ns;

	(void)state;
	assert_true(slave >= 0);
	log_open(slave);
	drained_fd = console[1];
	log_final_line("the end", 5000);
	assert_true(read(master, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "the end\r\n");
	assert_shown("drained");

	drained_fd = -1; /* the line is stuck */
	start_ns = time_boot_ns();
	log_final_line("the end", 30);
	assert_true(time_boot_ns() - start_ns < 10 * NSEC_PER_SEC);
	(void)waitpid(-1, NULL, 0); /* killed, if not collected yet */
	assert_int_equal(proc_peek_any(), -ECHILD);
	log_open(-1);
	fd_close(&slave);
	fd_close(&master);
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG_TEST(line_has_time_level_and_text),
		LOG_TEST(levels_filter_and_parse),
		LOG_TEST(error_names_stage_and_errno),
		LOG_TEST(long_line_is_cut_and_says_so),
		LOG_TEST(errno_survives),
		LOG_TEST(terminal_cannot_be_steered),
		LOG_TEST(long_console_line_stays_whole),
		LOG_TEST(backlog_drains_by_the_loop_without_loss),
		LOG_TEST(loss_is_counted_in_its_place),
		LOG_TEST(slow_console_gets_runs_of_lines),
		LOG_TEST(works_without_a_loop),
		LOG_TEST(broken_console_neither_spins_nor_forgets_the_count),
		LOG_TEST(regular_file_is_a_console),
		LOG_TEST(no_console_keeps_the_ring),
		LOG_TEST(ring_keeps_the_newest_whole_lines),
		LOG_TEST(final_line_comes_after_the_backlog),
		LOG_TEST(final_line_gives_up_on_a_stuck_console),
		LOG_TEST(final_line_waits_for_its_transmission),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("base_log", tests, NULL, NULL);
}
