// SPDX-License-Identifier: Apache-2.0
/*
 * init_machine_file.c - the machine file that is there, absent, broken, unreadable.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "config/machine.h"
#include "init/machine_file.h"

static char path[] = "/tmp/init-machine-XXXXXX";
static char logged[LOG_RING_BYTES + 1];

static void write_file(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static bool said(const char *text)
{
	logged[log_ring_read(logged, LOG_RING_BYTES)] = '\0';
	return strstr(logged, text) != NULL;
}

static void assert_defaults(struct machine *m)
{
	assert_string_equal(m->hostname, "podinit");
	assert_int_equal(m->on_boot_failed, END_POWER_OFF);
	assert_null(m->modules[0]);
	machine_free(m);
}

static void a_good_file_is_taken(void **state)
{
	struct machine m;

	(void)state;
	write_file("{\"hostname\": \"node-7\", \"onPodsDone\": \"stay\"}");
	assert_int_equal(machine_file_load(path, &m), 0);
	assert_string_equal(m.hostname, "node-7");
	assert_int_equal(m.on_pods_done, END_STAY);
	machine_free(&m);
}

static void every_error_is_said_and_defaults_are_left(void **state)
{
	struct machine m;

	(void)state;
	write_file("{\"hostname\": 7, \"onPodsDone\": \"explode\", \"xyzzy\": true}");
	assert_int_equal(machine_file_load(path, &m), -EINVAL);
	assert_defaults(&m);
	assert_true(said(path));
	assert_true(said("/hostname"));
	assert_true(said("/onPodsDone"));
	assert_true(said("xyzzy"));
}

static void broken_files_are_refused(void **state)
{
	static const char *const texts[] = { "", "{", "[]", "null", "{}{}", "\xff\xfe" };
	struct machine m;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_file(texts[i]);
		assert_int_equal(machine_file_load(path, &m), -EINVAL);
		assert_defaults(&m);
	}
}

static void what_was_asked_for_must_be_there(void **state)
{
	struct machine m;

	(void)state;
	assert_int_equal(machine_file_load("/nonexistent/machine.json", &m), -EINVAL);
	assert_defaults(&m);
	assert_true(said("/nonexistent/machine.json"));
	assert_true(said("No such file"));
	/* The usual place may be empty, on a machine without podinit it is. */
	if (access(MACHINE_FILE, F_OK) < 0) {
		assert_int_equal(machine_file_load(NULL, &m), 0);
		assert_defaults(&m);
	}
}

static void what_is_no_file_cannot_hang_the_boot(void **state)
{
	struct machine m;

	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(machine_file_load(path, &m), -EINVAL);
	assert_defaults(&m);
	assert_int_equal(machine_file_load("/dev", &m), -EINVAL);
	assert_defaults(&m);
}

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_file_is_taken),
		cmocka_unit_test(every_error_is_said_and_defaults_are_left),
		cmocka_unit_test(broken_files_are_refused),
		cmocka_unit_test(what_was_asked_for_must_be_there),
		cmocka_unit_test(what_is_no_file_cannot_hang_the_boot),
	};

	return cmocka_run_group_tests_name("init machine_file", tests, set_up, tear_down);
}
