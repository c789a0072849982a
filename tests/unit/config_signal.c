// SPDX-License-Identifier: Apache-2.0
/*
 * config_signal.c - names of signals, both ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/util.h"
#include "config/signal_name.h"

static void test_parse(void **state)
{
	static const struct {
		const char *name;
		int sig;
	} rows[] = {
		{ "SIGTERM", SIGTERM },   { "TERM", SIGTERM },   { "sigterm", SIGTERM },
		{ "Term", SIGTERM },      { "15", SIGTERM },     { "1", SIGHUP },
		{ "SIGRTMIN", 34 },       { "RTMIN+3", 37 },     { "SIGRTMIN+0", 34 },
		{ "sigrtmin+15", 49 },    { "SIGRTMAX", 64 },    { "SIGRTMAX-14", 50 },
		{ "SIGRTMIN+30", 64 },    { "SIGRTMAX-30", 34 }, { "64", 64 },
		{ "SIGCLD", SIGCHLD },    { "IOT", SIGABRT },    { "POLL", SIGIO },
		{ "SIGWINCH", SIGWINCH },
	};
	static const char *const bad[] = {
		"",         "0",        "65",      "-1",          "+9",
		"9 ",       "999",      "SIG",     "SIGSIGTERM",  "SIGFOO",
		"SIGTERM ", "SIG15",    "RTMIN+",  "SIGRTMIN+31", "SIGRTMAX-31",
		"RTMIN-1",  "RTMIN+-1", "RTMAX+1", "RTMIN+1x",    "99999999999",
		"0x9",
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (signal_parse(rows[i].name) != rows[i].sig)
			fail_msg("%s: %d", rows[i].name, signal_parse(rows[i].name));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (signal_parse(bad[i]) != -EINVAL)
			fail_msg("%s: %d", bad[i], signal_parse(bad[i]));
}

static void test_every_number_comes_back(void **state)
{
	int sig;

	(void)state;
	for (sig = 1; sig <= 64; sig++)
		assert_int_equal(signal_parse(signal_name(sig)), sig);
	assert_string_equal(signal_name(SIGTERM), "SIGTERM");
	assert_string_equal(signal_name(SIGABRT), "SIGABRT");
	assert_string_equal(signal_name(37), "SIGRTMIN+3");
	assert_string_equal(signal_name(1000), "1000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_every_number_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
