// SPDX-License-Identifier: Apache-2.0
/*
 * base_log.c - the log: format of the lines, the ring, the last words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

#include "base/proc.h"
#include "base/time.h"
#include "tests/unit/base_log_fixture.h"

/* Stands for a serial line: tells of the call, or never ends. It runs in a child. */
static int drained_fd;

int tcdrain(int fd)
{
	(void)fd;
	if (drained_fd < 0)
		return pause();
	return write(drained_fd, "drained", 7) == 7 ? 0 : -1;
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

/* As modprobe ends its words, which then go into a sentence. */
static void lines_of_a_helper_become_one(void **state)
{
	char text[CONSOLE_BYTES + 1], many[LOG_LINE_BYTES * 2];

	(void)state;
	log_info("modprobe: %s", "no module x\nno module y\n\n");
	show(text, sizeof(text));
	assert_non_null(strstr(text, "info: modprobe: no module x; no module y\n"));
	log_info("\n");
	show(text, sizeof(text));
	assert_non_null(strstr(text, "info: \n"));
	memset(many, '\n', sizeof(many));
	many[0] = 'x';
	many[sizeof(many) - 2] = 'y';
	many[sizeof(many) - 1] = '\0';
	log_info("%s", many);
	show(text, sizeof(text));
	assert_true(strlen(text) <= LOG_LINE_BYTES);
	assert_null(strchr(text, '?'));
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
		{ "a\rbc\x7f", "a?bc?" },
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG_TEST(line_has_time_level_and_text),
		LOG_TEST(levels_filter_and_parse),
		LOG_TEST(error_names_stage_and_errno),
		LOG_TEST(lines_of_a_helper_become_one),
		LOG_TEST(long_line_is_cut_and_says_so),
		LOG_TEST(errno_survives),
		LOG_TEST(terminal_cannot_be_steered),
		LOG_TEST(long_console_line_stays_whole),
		LOG_TEST(ring_keeps_the_newest_whole_lines),
		LOG_TEST(final_line_comes_after_the_backlog),
		LOG_TEST(final_line_gives_up_on_a_stuck_console),
		LOG_TEST(final_line_waits_for_its_transmission),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("base_log", tests, NULL, NULL);
}
