// SPDX-License-Identifier: Apache-2.0
/*
 * init_outcome.c - the final line: a contract with host tools.
 */
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "init/outcome.h"

static void every_way_to_end(void **state)
{
	const struct {
		bool boot_failed, all_done;
		int pods_code;
		enum machine_end how;
		bool initial;
		enum outcome_kind kind;
		int code;
		const char *action;
	} table[] = {
		{ false, true, 0, END_POWER_OFF, true, OUTCOME_SUCCEEDED, 0,
		  "power-off" },
		{ false, true, 3, END_REBOOT, true, OUTCOME_FAILED, 3, "reboot" },
		{ false, true, 137, END_HALT, true, OUTCOME_FAILED, 137, "halt" },
		{ false, false, 0, END_POWER_OFF, true, OUTCOME_SHUTDOWN, 0,
		  "power-off" },
		{ false, false, 143, END_POWER_OFF, false, OUTCOME_SHUTDOWN, 143,
		  "exit" },
		{ true, false, 0, END_POWER_OFF, true, OUTCOME_BOOT_FAILED, 125,
		  "power-off" },
		{ true, true, 1, END_REBOOT, false, OUTCOME_BOOT_FAILED, 125, "exit" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct outcome o = outcome_of(table[i].boot_failed, table[i].all_done,
					      table[i].pods_code, table[i].how,
					      table[i].initial);

		assert_int_equal(o.kind, table[i].kind);
		assert_int_equal(o.exit_code, table[i].code);
		assert_string_equal(o.action, table[i].action);
	}
}

static void the_line_is_one_line_of_json(void **state)
{
	const struct outcome o = { OUTCOME_FAILED, 7, "power-off" };
	struct json_object *pods = json_tokener_parse(
		"[{\"namespace\":\"default\",\"name\":\"a\\nb\",\"phase\":\"Failed\"}]");
	char *line = outcome_line(&o, pods);
	struct json_object *got;

	(void)state;
	assert_string_equal(
		line, "podinit-final: {\"outcome\":\"failed\",\"exitCode\":7,"
		      "\"action\":\"power-off\",\"pods\":[{\"namespace\":\"default\","
		      "\"name\":\"a\\nb\",\"phase\":\"Failed\"}]}");
	assert_null(strchr(line, '\n'));
	got = json_tokener_parse(line + strlen(OUTCOME_PREFIX));
	assert_non_null(got);
	json_object_put(got);
	json_object_put(pods);
	free(line);
}

static void without_pods_both_forms_are_the_same(void **state)
{
	const char *actions[] = { "power-off", "reboot", "halt", "exit" };
	char fixed[OUTCOME_SHORT_BYTES];

	(void)state;
	for (int kind = 0; kind < OUTCOME_KIND_MAX; kind++) {
		for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
			const struct outcome o = { (enum outcome_kind)kind, -2147483647,
						   actions[i] };
			char *line = outcome_line(&o, NULL);

			assert_string_equal(outcome_short(&o, fixed), line);
			free(line);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_to_end),
		cmocka_unit_test(the_line_is_one_line_of_json),
		cmocka_unit_test(without_pods_both_forms_are_the_same),
	};

	return cmocka_run_group_tests_name("init outcome", tests, NULL, NULL);
}
