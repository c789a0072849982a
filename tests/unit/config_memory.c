// SPDX-License-Identifier: Apache-2.0
/*
 * config_memory.c - every allocation of the readers fails once: -ENOMEM, never a crash,
 * never half a result.
 *
 * malloc and its kin are ours here, in front of glibc's. A sanitizer has its own, so
 * there the test is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/diag.h"
#include "config/image_config.h"
#include "config/machine.h"
#include "config/pod_spec.h"

#ifndef __SANITIZE_ADDRESS__

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static long fail_at = -1; /* -1: none */
static bool fail_once;
static long calls;

static bool fails(void)
{
	if (fail_at < 0)
		return false;
	calls++;
	return fail_once ? calls - 1 == fail_at : calls - 1 >= fail_at;
}

void *malloc(size_t size)
{
	errno = ENOMEM;
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	errno = ENOMEM;
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	errno = ENOMEM;
	return fails() ? NULL : __libc_realloc(p, size);
}

static const char pod[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\","
	"\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"uid\":\"a\",\"labels\":{\"a\":"
	"\"b\"},"
	"\"annotations\":{\"a\":\"b\",\"c\":\"d\"}},\"spec\":{\"volumes\":[{\"name\":"
	"\"v\","
	"\"hostPath\":{\"path\":\"/"
	"a\"}}],\"containers\":[{\"name\":\"c\",\"image\":\"i\","
	"\"command\":[\"a\",\"b\"],\"workingDir\":\"/"
	"\",\"env\":[{\"name\":\"A\",\"value\":"
	"\"b\"}],\"ports\":[{\"name\":\"a\",\"containerPort\":1}],\"volumeMounts\":[{"
	"\"name\":"
	"\"v\",\"mountPath\":\"/"
	"m\"}],\"tty\":true}]}},{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
	"\"metadata\":{\"name\":\"q\"},\"spec\":{\"grace\":1.5,\"containers\":[{\"name\":"
	"\"c\","
	"\"image\":\"i\"}]}}]}";
static const char machine[] =
	"{\"hostname\":\"h\",\"modules\":[\"a\"],\"sysctls\":{\"a.b\":1,\"c\":\"x\"},"
	"\"logs\":{\"dir\":\"/l\"},\"control\":{\"ports\":[\"p\",\"q\"]}}";
static const char image[] = "{\"config\":{\"Entrypoint\":[\"a\"],\"Cmd\":[\"b\"],\"Env\":"
			    "[\"A=b\"],\"User\":\"u\","
			    "\"WorkingDir\":\"/w\",\"StopSignal\":\"TERM\"}}";

static int read_pods(struct diag *d)
{
	struct manifest m;
	int r = manifest_parse(pod, strlen(pod), d, &m);

	if (r < 0)
		return r;
	fail_at = -1;
	assert_int_equal(m.n_pods, 2);
	assert_non_null(m.pods[0].spec);
	assert_null(m.pods[1].spec);
	manifest_free(&m);
	return 0;
}

static int read_machine(struct diag *d)
{
	struct machine m;
	int r = machine_parse(machine, strlen(machine), d, &m);

	if (r < 0)
		return r;
	fail_at = -1;
	assert_string_equal(m.sysctls[0].value, "1");
	assert_string_equal(m.control_ports[1], "q");
	machine_free(&m);
	return 0;
}

static int read_image(struct diag *d)
{
	struct image_config c;
	int r = image_config_parse(image, strlen(image), d, &c);

	if (r < 0)
		return r;
	fail_at = -1;
	assert_string_equal(c.env[0], "A=b");
	assert_string_equal(c.user, "u");
	image_config_free(&c);
	return 0;
}

/* Until a run does not reach the allocation that is to fail. */
static void fail_each(int (*read)(struct diag *d), bool once)
{
	static struct diag d;
	long at, used, failed = 0;
	int r;

	fail_once = once;
	for (at = 0;; at++) {
		diag_init(&d, "");
		calls = 0;
		fail_at = at;
		r = read(&d);
		used = calls;
		fail_at = -1;
		if (used <= at)
			break;
		/* glibc's qsort sorts in place when it gets no memory. */
		if (r != 0)
			assert_int_equal(r, -ENOMEM);
		failed += r != 0;
	}
	assert_int_equal(r, 0);
	assert_true(failed > 20);
}

static void test_every_allocation(void **state)
{
	(void)state;
	fail_each(read_pods, true);
	fail_each(read_pods, false);
	fail_each(read_machine, true);
	fail_each(read_machine, false);
	fail_each(read_image, true);
	fail_each(read_image, false);
}

#else

static void test_every_allocation(void **state)
{
	(void)state;
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_allocation) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
