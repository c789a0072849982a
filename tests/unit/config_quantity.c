// SPDX-License-Identifier: Apache-2.0
/*
 * config_quantity.c - Kubernetes' numbers, and what resources make of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "config/diag.h"
#include "config/pod_spec.h"
#include "config/quantity.h"

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		unsigned int scale;
		uint64_t want;
	} rows[] = {
		{ "0", 0, 0 },
		{ "1", 3, 1000 },
		{ "1.0", 3, 1000 },
		{ "250m", 3, 250 },
		{ "0.5", 3, 500 },
		{ "0.1m", 3, 1 },
		{ "0.0001", 3, 1 },
		{ "1500u", 3, 2 },
		{ "100n", 0, 1 },
		{ "129e6", 0, 129000000 },
		{ "129E6", 0, 129000000 },
		{ "1.5e3", 0, 1500 },
		{ "15e-1", 0, 2 },
		{ "65536Ki", 0, 67108864 },
		{ "1.5Gi", 0, 1610612736 },
		{ "64M", 0, 64000000 },
		{ "+3k", 0, 3000 },
		{ ".5Ki", 0, 512 },
		{ "5.", 0, 5 },
		{ "1Ei", 0, UINT64_C(1) << 60 },
		{ "0.00000000000000001", 0, 1 },
		{ "0.00000000000000001e-18", 3, 1 },
		{ "999999999999999999E", 3, UINT64_MAX }, /* max + 1 */
		{ "999999999999999999Ei", 9, UINT64_MAX },
		{ "1e18", 9, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t n = 77;

		if (!quantity_parse(rows[i].text, rows[i].scale, UINT64_MAX - 1, &n) ||
		    n != rows[i].want)
			fail_msg("%s: %llu", rows[i].text, (unsigned long long)n);
	}
}

static void test_no_numbers(void **state)
{
	static const char *const rows[] = {
		"",     "-1",  "64 MB", "1mi",  "1KI",  "Ki",
		"1ki",  "1e",  "1e1.5", "1e19", "e6",   "1..2",
		"0x10", "1k5", " 1",    "1 ",   "1Kib", "1234567890123456789",
		"NaN"
	};
	uint64_t n = 77;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (quantity_parse(rows[i], 0, UINT64_MAX - 1, &n))
			fail_msg("'%s' is %llu", rows[i], (unsigned long long)n);
	assert_int_equal(n, 77);
}

static void test_resources(void **state)
{
	static const char json[] =
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},"
		"\"spec\":{\"containers\":["
		"{\"name\":\"a\",\"image\":\"i\",\"resources\":{\"limits\":{\"cpu\":1,"
		"\"memory\":\"64Mi\"},\"requests\":{\"cpu\":0.25,"
		"\"ephemeral-storage\":\"1Gi\"}}},"
		"{\"name\":\"b\",\"image\":\"i\",\"resources\":{\"requests\":"
		"{\"memory\":129000000}}},"
		"{\"name\":\"c\",\"image\":\"i\"}]}}";
	static struct diag diag;
	const struct spec_resources *a, *b, *c;
	struct manifest m;

	(void)state;
	diag_init(&diag, "t.json");
	assert_int_equal(manifest_parse(json, sizeof(json) - 1, &diag, &m), 0);
	assert_int_equal(diag.n, 0);
	a = &m.pods[0].spec->members[0].resources;
	b = &m.pods[0].spec->members[1].resources;
	c = &m.pods[0].spec->members[2].resources;
	assert_int_equal(a->cpu_limit, 1000);
	assert_int_equal(a->cpu_request, 250);
	assert_int_equal(a->memory_limit, 67108864);
	assert_int_equal(a->memory_request, 67108864); /* defaults.go: the limit */
	assert_int_equal(b->memory_request, 129000000);
	assert_int_equal(b->memory_limit, -1);
	assert_true(c->cpu_limit == -1 && c->cpu_request == -1 && c->memory_limit == -1 &&
		    c->memory_request == -1);
	manifest_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_no_numbers),
		cmocka_unit_test(test_resources),
	};

	return cmocka_run_group_tests_name("config quantity", tests, NULL, NULL);
}
