// SPDX-License-Identifier: Apache-2.0
/*
 * config_image.c - OCI image configs of other people.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "config/diag.h"
#include "config/image_config.h"

static struct diag diag;

static int parse(const char *text, struct image_config *ret)
{
	diag_init(&diag, "config.json");
	return image_config_parse(text, strlen(text), &diag, ret);
}

static void test_full(void **state)
{
	struct image_config c;

	(void)state;
	assert_int_equal(parse("{\"architecture\":\"amd64\",\"os\":\"linux\",\"rootfs\":{"
			       "},\"config\":{"
			       "\"Entrypoint\":[\"/bin/"
			       "sh\",\"-c\"],\"Cmd\":[\"x\"],\"Unknown\":[1],"
			       "\"Env\":[\"PATH=/bin\",\"E=\",\"X\",\"=y\",\"A=b=c\"],"
			       "\"User\":\"app:100\",\"WorkingDir\":\"/srv\","
			       "\"StopSignal\":\"SIGRTMIN+3\"}}",
			       &c),
			 0);
	assert_string_equal(c.entrypoint[1], "-c");
	assert_null(c.entrypoint[2]);
	assert_string_equal(c.cmd[0], "x");
	assert_string_equal(c.env[0], "PATH=/bin");
	assert_string_equal(c.env[1], "E=");
	assert_string_equal(c.env[2], "A=b=c");
	assert_null(c.env[3]);
	assert_string_equal(c.user, "app:100");
	assert_string_equal(c.working_dir, "/srv");
	assert_int_equal(c.stop_signal, SIGRTMIN + 3);
	assert_int_equal(diag.errors, 0);
	assert_int_equal(diag.n, 2); /* "X" and "=y" are left out */
	image_config_free(&c);
}

static void test_absent(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"config\":null}",
		"{\"config\":{}}",
		"{\"config\":{\"Entrypoint\":null,\"Cmd\":null,\"Env\":null,\"User\":"
		"\"\","
		"\"WorkingDir\":\"\",\"StopSignal\":\"\"}}",
	};
	struct image_config c;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(parse(texts[i], &c), 0);
		assert_null(c.entrypoint);
		assert_null(c.cmd);
		assert_non_null(c.env);
		assert_null(c.env[0]);
		assert_string_equal(c.user, "");
		assert_string_equal(c.working_dir, "");
		assert_int_equal(c.stop_signal, 0);
		image_config_free(&c);
	}
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *pointer;
	} rows[] = {
		{ "", "" },
		{ "[]", "" },
		{ "{\"config\":[]}", "/config" },
		{ "{\"config\":{\"Entrypoint\":\"sh\"}}", "/config/Entrypoint" },
		{ "{\"config\":{\"Cmd\":[1]}}", "/config/Cmd/0" },
		{ "{\"config\":{\"Env\":[\"A=b\",null]}}", "/config/Env/1" },
		{ "{\"config\":{\"Env\":{}}}", "/config/Env" },
		{ "{\"config\":{\"User\":0}}", "/config/User" },
		{ "{\"config\":{\"WorkingDir\":\"srv\"}}", "/config/WorkingDir" },
		{ "{\"config\":{\"StopSignal\":\"SIGNOPE\"}}", "/config/StopSignal" },
		{ "{\"config\":{\"StopSignal\":15}}", "/config/StopSignal" },
		{ "{\"config\":{\"User\":\"a\",\"User\":\"b\"}}", "/config/User" },
		{ "{\"config\":{\"User\":\"a\\u0000\"}}", "/config/User" },
	};
	struct image_config c = { .user = "untouched" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse(rows[i].text, &c), -EINVAL);
		assert_true(diag.errors > 0);
		assert_string_equal(diag.items[0].pointer, rows[i].pointer);
		assert_string_equal(c.user, "untouched");
	}
}

static void test_size(void **state)
{
	size_t size = IMAGE_CONFIG_BYTES + 1;
	char *text = malloc(size);
	struct image_config c;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', size);
	memcpy(text, "{}", 2);
	diag_init(&diag, "");
	assert_int_equal(image_config_parse(text, size - 1, &diag, &c), 0);
	image_config_free(&c);
	assert_int_equal(image_config_parse(text, size, &diag, &c), -EINVAL);
	assert_int_equal(diag.items[0].kind, DIAG_LIMIT);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
