// SPDX-License-Identifier: Apache-2.0
/*
 * config_expand.c - $(VAR) as Kubernetes reads it, and env lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "config/expand.h"
#include "config/pod_spec.h"

static const struct expand_var vars[] = {
	{ "A", "a" }, { "B", "$(A)" }, { "E", "" }, { "my var", "m" }, { "A", "a2" },
};

static void test_text(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "$(A)", "a2" },
		{ "x$(A)y$(A)", "xa2ya2" },
		{ "$(E)", "" },
		{ "$(my var)", "m" },
		{ "$(NOPE)", "$(NOPE)" },
		{ "$()", "$()" },
		{ "$(a)", "$(a)" },
		{ "$(A )", "$(A )" },
		{ "$", "$" },
		{ "x$", "x$" },
		{ "$A", "$A" },
		{ "${A}", "${A}" },
		{ "$$", "$" },
		{ "$$$", "$$" },
		{ "$$$$", "$$" },
		{ "$$(A)", "$(A)" },
		{ "$$$(A)", "$a2" },
		{ "$$$$(A)", "$$(A)" },
		{ "$(A", "$(A" },
		{ "$(A$$", "$(A$" },
		{ "$(", "$(" },
		{ "$($(A)", "$($(A)" }, /* the name is "$(A" */
		{ "$($(A))", "$($(A))" },
		{ "$(B)", "$(A)" }, /* not scanned again */
		{ "$x$(A)", "$xa2" },
		{ "(A)", "(A)" },
		{ "\xc3\xa9$\xc3\xa9", "\xc3\xa9$\xc3\xa9" },
	};
	struct arena a;
	size_t i;

	(void)state;
	arena_init(&a, 1 << 16);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(expand_text(&a, rows[i].text, vars, ARRAY_SIZE(vars)),
				    rows[i].expected);
	assert_string_equal(expand_text(&a, "$(A)", NULL, 0), "$(A)");
	arena_free(&a);
}

static void test_env_order(void **state)
{
	struct spec_env env[] = {
		{ "FORWARD", "$(A)", ENV_VALUE }, { "A", "1", ENV_VALUE },
		{ "B", "$(A)2", ENV_VALUE },      { "A", "$(A)+", ENV_VALUE },
		{ "C", "$(A)$(B)", ENV_VALUE },   { "EMPTY", "", ENV_VALUE },
	};
	struct container_spec spec = { .env = env, .n_env = ARRAY_SIZE(env) };
	static const struct expand_var expected[] = {
		{ "FORWARD", "$(A)" }, { "B", "12" },   { "A", "1+" },
		{ "C", "1+12" },       { "EMPTY", "" },
	};
	struct expand_var *ret;
	struct arena a;
	size_t n, i;

	(void)state;
	arena_init(&a, 1 << 16);
	assert_int_equal(expand_env(&a, &spec, NULL, NULL, &ret, &n), 0);
	assert_int_equal(n, ARRAY_SIZE(expected));
	for (i = 0; i < n; i++) {
		assert_string_equal(ret[i].name, expected[i].name);
		assert_string_equal(ret[i].value, expected[i].value);
	}
	spec.n_env = 0;
	assert_int_equal(expand_env(&a, &spec, NULL, NULL, &ret, &n), 0);
	assert_int_equal(n, 0);
	arena_free(&a);
}

/* Each variable is twice the one before: the arena's limit ends it, not the machine. */
static void test_growth_is_bounded(void **state)
{
	static const char *const names[] = { "A", "B" };
	static const char *const values[] = { "$(A)$(A)$(A)$(A)", "$(B)$(B)$(B)$(B)" };
	struct spec_env env[64];
	struct container_spec spec = { .env = env, .n_env = ARRAY_SIZE(env) };
	struct expand_var *ret;
	struct arena a;
	size_t n, i;

	(void)state;
	env[0] = (struct spec_env){ .name = "A", .value = "0123456789abcdef" };
	for (i = 1; i < ARRAY_SIZE(env); i++)
		env[i] = (struct spec_env){ .name = names[i % 2],
					    .value = values[(i + 1) % 2] };
	arena_init(&a, 1 << 20);
	assert_int_equal(expand_env(&a, &spec, NULL, NULL, &ret, &n), -ENOMEM);
	assert_true(a.used_bytes <= a.limit_bytes);
	arena_free(&a);
}

/* Many openings and no close must not cost the square of the length. */
static void test_unclosed_is_linear(void **state)
{
	size_t len = 4u << 20, i;
	char *text = malloc(len + 1), *out;
	struct arena a;

	(void)state;
	assert_non_null(text);
	for (i = 0; i < len; i++)
		text[i] = i % 2 ? '(' : '$';
	text[len] = '\0';
	arena_init(&a, 8u << 20);
	out = expand_text(&a, text, vars, ARRAY_SIZE(vars));
	assert_non_null(out);
	assert_memory_equal(out, text, len + 1);
	arena_free(&a);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_env_order),
		cmocka_unit_test(test_growth_is_bounded),
		cmocka_unit_test(test_unclosed_is_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
