// SPDX-License-Identifier: Apache-2.0
/*
 * init_cmdline.c - options on the kernel's command line, and what is no option.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "init/cmdline.h"

static struct cmdline c;
static char logged[LOG_RING_BYTES + 1];

/* Parses text alone; logged is what was said about it since the last call. */
static void parse(const char *text)
{
	char copy[1024];
	static size_t seen;
	size_t n;

	cmdline_init(&c);
	(void)snprintf(copy, sizeof(copy), "%s", text);
	cmdline_parse(&c, copy);
	n = log_ring_read(logged, LOG_RING_BYTES);
	logged[n] = '\0';
	memmove(logged, logged + seen, n - seen + 1);
	seen = n;
}

static void assert_nothing_given(void)
{
	assert_string_equal(c.machine, "");
	assert_string_equal(c.manifests, "");
	assert_int_equal(c.log_level, LOG_LEVEL_MAX);
	assert_int_equal(c.on_pods_done, END_MAX);
	assert_int_equal(c.on_boot_failed, END_MAX);
}

static void each_option_is_taken(void **state)
{
	(void)state;
	parse("BOOT_IMAGE=/vmlinuz console=ttyS0 podinit.log=debug panic=-1 "
	      "podinit.machine=/etc/m.json podinit.manifests=/pods "
	      "podinit.on_pods_done=stay podinit.on_boot_failed=reboot quiet\n");
	assert_int_equal(c.log_level, LOG_DEBUG);
	assert_string_equal(c.machine, "/etc/m.json");
	assert_string_equal(c.manifests, "/pods");
	assert_int_equal(c.on_pods_done, END_STAY);
	assert_int_equal(c.on_boot_failed, END_REBOOT);
	assert_string_equal(logged, "");
}

static void the_kernels_own_habits_hold(void **state)
{
	(void)state;
	parse("podinit.on-pods-done=halt podinit.log=warn podinit.log=error");
	assert_int_equal(c.on_pods_done, END_HALT);
	assert_int_equal(c.log_level, LOG_ERROR);
	parse("podinit.manifests=\"/my pods\" \"podinit.machine=/a b\" "
	      "x=\"podinit.log=debug");
	assert_string_equal(c.manifests, "/my pods");
	assert_string_equal(c.machine, "/a b");
	assert_int_equal(c.log_level, LOG_LEVEL_MAX);
	assert_string_equal(logged, "");
}

static void other_words_are_not_looked_at(void **state)
{
	(void)state;
	parse("");
	assert_nothing_given();
	parse("  \n\t ");
	assert_nothing_given();
	parse("podinit podinit= xpodinit.log=debug log=debug \" \"\"");
	assert_nothing_given();
	assert_string_equal(logged, "");
}

static void errors_are_named_and_have_no_effect(void **state)
{
	const struct {
		const char *text, *say;
	} table[] = {
		{ "podinit.logs=debug", "did you mean podinit.log?" },
		{ "podinit.xyzzy=1", "no option podinit.xyzzy" },
		{ "podinit.", "no option podinit." },
		{ "podinit.log", "podinit.log needs a value" },
		{ "podinit.log=", "podinit.log: bad value" },
		{ "podinit.log=loud", "bad value \"loud\"" },
		{ "podinit.machine=relative", "podinit.machine: bad value" },
		{ "podinit.on_pods_done=explode", "podinit.on_pods_done: bad value" },
		{ "podinit.on_boot_failed=explode", "podinit.on_boot_failed: bad value" },
		{ "podinit.averyveryveryverylongkeythatdoesnotfitanywhere=1",
		  "no option podinit.avery" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		parse(table[i].text);
		assert_nothing_given();
		assert_non_null(strstr(logged, table[i].say));
	}
}

static void a_path_that_does_not_fit_is_refused_whole(void **state)
{
	char text[600] = "podinit.manifests=/";

	(void)state;
	memset(text + strlen(text), 'a', CMDLINE_PATH_BYTES);
	parse(text);
	assert_nothing_given();
	assert_non_null(strstr(logged, "podinit.manifests: bad value"));
}

static void the_command_line_wins(void **state)
{
	struct machine m;

	(void)state;
	assert_int_equal(machine_defaults(&m), 0);
	parse("quiet");
	cmdline_apply(&c, &m);
	assert_int_equal(m.on_pods_done, END_POWER_OFF);
	assert_string_equal(m.manifest_dir, "/etc/podinit/pods");
	parse("podinit.manifests=/p podinit.log=debug podinit.on_pods_done=stay "
	      "podinit.on_boot_failed=halt");
	cmdline_apply(&c, &m);
	assert_string_equal(m.manifest_dir, "/p");
	assert_int_equal(m.log_level, LOG_DEBUG);
	assert_int_equal(m.on_pods_done, END_STAY);
	assert_int_equal(m.on_boot_failed, END_HALT);
	machine_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_option_is_taken),
		cmocka_unit_test(the_kernels_own_habits_hold),
		cmocka_unit_test(other_words_are_not_looked_at),
		cmocka_unit_test(errors_are_named_and_have_no_effect),
		cmocka_unit_test(a_path_that_does_not_fit_is_refused_whole),
		cmocka_unit_test(the_command_line_wins),
	};

	return cmocka_run_group_tests_name("init cmdline", tests, NULL, NULL);
}
