// SPDX-License-Identifier: Apache-2.0
/*
 * bpf_feature.c - what the probe prints, with and without the right to use BPF.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "bpf/feature.h"

/* Runs the probe as a helper does: stdout is a pipe, the end is _exit(). */
static struct json_object *probe(uid_t uid)
{
	char text[1024];
	size_t len = 0;
	ssize_t n;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		if (dup2(fds[1], STDOUT_FILENO) < 0 || (uid && setuid(uid) < 0))
			_exit(9);
		_exit(bpf_feature_run(NULL));
	}
	assert_true(pid > 0);
	(void)close(fds[1]);
	while ((n = read(fds[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	(void)close(fds[0]);
	text[len] = '\0';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ptr_equal(strchr(text, '\n'), text + len - 1); /* one line */
	return json_tokener_parse(text);
}

static bool feature(struct json_object *object, const char *key)
{
	struct json_object *value;

	assert_true(json_object_object_get_ex(object, key, &value));
	assert_true(json_object_is_type(value, json_type_boolean));
	return json_object_get_boolean(value);
}

static void root_finds_what_there_is(void **state)
{
	struct json_object *object = probe(0), *reason;
	bool all;

	(void)state;
	assert_non_null(object);
	assert_int_equal(feature(object, "btf"),
			 access("/sys/kernel/btf/vmlinux", R_OK) == 0);
	all = feature(object, "btf") && feature(object, "ringbuf") &&
	      feature(object, "tracing");
	assert_true(json_object_object_get_ex(object, "reason", &reason));
	/* A reason exactly when something is missing. */
	assert_int_equal(json_object_get_string_len(reason) == 0, all);
	json_object_put(object);
}

static void nobody_gets_reasons(void **state)
{
	struct json_object *object = probe(65534), *reason;

	(void)state;
	assert_non_null(object);
	assert_false(feature(object, "ringbuf"));
	assert_false(feature(object, "tracing"));
	assert_true(json_object_object_get_ex(object, "reason", &reason));
	assert_non_null(strstr(json_object_get_string(reason), "ring buffer: "));
	assert_non_null(strstr(json_object_get_string(reason), "tracing program: "));
	json_object_put(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_finds_what_there_is),
		cmocka_unit_test(nobody_gets_reasons),
	};

	return cmocka_run_group_tests_name("bpf feature", tests, NULL, NULL);
}
