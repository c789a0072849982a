// SPDX-License-Identifier: Apache-2.0
/*
 * config_expand.c - $(VAR) as Kubernetes reads it, and env lists, with the fields of the
 * pod that a manifest asks for in them.
 *
 * In the manifests ' stands for ", and ` for '.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/diag.h"
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
		{ .name = "FORWARD", .value = "$(A)" }, { .name = "A", .value = "1" },
		{ .name = "B", .value = "$(A)2" },      { .name = "A", .value = "$(A)+" },
		{ .name = "C", .value = "$(A)$(B)" },   { .name = "EMPTY", .value = "" },
	};
	struct container_spec spec = { .env = env, .n_env = ARRAY_SIZE(env) };
	static const struct expand_var expected[] = {
		{ "FORWARD", "$(A)" }, { "B", "12" },   { "A", "1+" },
		{ "C", "1+12" },       { "EMPTY", "" },
	};
	struct expand_env e;
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 16);
	assert_int_equal(expand_env_init(&e, &a, spec.n_env), 0);
	assert_int_equal(expand_env(&e, &a, &spec, NULL, NULL), 0);
	assert_int_equal(e.n, ARRAY_SIZE(expected));
	for (size_t i = 0; i < e.n; i++) {
		assert_string_equal(e.vars[i].name, expected[i].name);
		assert_string_equal(e.vars[i].value, expected[i].value);
	}
	/* On top of what envFrom brought: seen by $(NAME), and replaced by a later one.
	 */
	assert_int_equal(expand_env_init(&e, &a, spec.n_env + 2), 0);
	expand_env_put(&e, "A", "from");
	expand_env_put(&e, "Z", "kept");
	assert_int_equal(expand_env(&e, &a, &spec, NULL, NULL), 0);
	assert_int_equal(e.n, ARRAY_SIZE(expected) + 1);
	assert_string_equal(e.vars[0].name, "Z");
	assert_string_equal(e.vars[1].value, "from");
	spec.n_env = 0;
	assert_int_equal(expand_env_init(&e, &a, 0), 0);
	assert_int_equal(expand_env(&e, &a, &spec, NULL, NULL), 0);
	assert_int_equal(e.n, 0);
	arena_free(&a);
}

/* ---- fields of the pod ---- */

static struct diag diag;

/* The spec of a pod whose container has this env list, or NULL. */
static struct pod_spec *parse_env(const char *entries)
{
	struct pod_spec *spec;
	struct manifest m;
	char json[4096];

	(void)snprintf(json, sizeof(json),
		       "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':{"
		       "'containers':[{'name':'c','image':'i','env':[%s]}]}}",
		       entries);
	for (char *p = json; *p; p++)
		*p = *p == '\'' ? '"' : *p == '`' ? '\'' : *p;
	diag_init(&diag, "");
	assert_int_equal(manifest_parse(json, strlen(json), &diag, &m), 0);
	spec = m.pods[0].spec;
	m.pods[0].spec = NULL;
	manifest_free(&m);
	return spec;
}

#define FIELD(name, path) \
	"{'name':'" name "','valueFrom':{'fieldRef':{'fieldPath':'" path "'}}}"
#define VALUE(name, text) "{'name':'" name "','value':'" text "'}"
#define LIST3(a, b, c)    a "," b "," c

/* A pod that has one label and one annotation, both with the key "x". */
static int pod_text(void *arg, const struct spec_env *env, const char **ret)
{
	static const char *const texts[ENV_SOURCE_MAX] = {
		[ENV_POD_NAME] = "web",
		[ENV_POD_NAMESPACE] = "space",
		[ENV_POD_UID] = "1-2-3",
		[ENV_POD_LABEL] = "$(IP)$$",
		[ENV_POD_ANNOTATION] = "note",
		[ENV_NODE_NAME] = "machine",
		[ENV_SERVICE_ACCOUNT] = "builder",
		[ENV_HOST_IP] = "192.0.2.7",
		[ENV_HOST_IPS] = "192.0.2.7,2001:db8::7",
		[ENV_POD_IP] = "10.88.0.2",
		[ENV_POD_IPS] = "10.88.0.2,fd9c::2",
	};
	bool keyed = env->source == ENV_POD_LABEL || env->source == ENV_POD_ANNOTATION;

	++*(size_t *)arg;
	assert_true(env->source < ENV_SOURCE_MAX && texts[env->source]);
	*ret = keyed && strcmp(env->value, "x") != 0 ? "" : texts[env->source];
	return 0;
}

/* Is this list, expanded, these variables: "NAME=text" with blanks between them? */
static void assert_env(const char *entries, const char *expected, size_t n_asked)
{
	struct pod_spec *spec = parse_env(entries);
	char is[1024] = "";
	size_t asked = 0, len = 0;
	struct expand_env e;
	struct arena a;

	if (!spec)
		fail_msg("%s: %s: %s", entries, diag.items[0].pointer,
			 diag.items[0].text);
	arena_init(&a, 1 << 16);
	assert_int_equal(expand_env_init(&e, &a, spec->members[0].n_env), 0);
	assert_int_equal(expand_env(&e, &a, &spec->members[0], pod_text, &asked), 0);
	for (size_t i = 0; i < e.n; i++)
		len += (size_t)snprintf(is + len, sizeof(is) - len, "%s%s=%s",
					i ? " " : "", e.vars[i].name, e.vars[i].value);
	assert_string_equal(is, expected);
	assert_int_equal(asked, n_asked);
	arena_free(&a);
	pod_spec_free(spec);
}

static void test_fields(void **state)
{
	static const struct {
		const char *entry, *expected;
	} rows[] = {
		{ FIELD("V", "metadata.name"), "V=web" },
		{ FIELD("V", "metadata.namespace"), "V=space" },
		{ FIELD("V", "metadata.uid"), "V=1-2-3" },
		{ FIELD("V", "metadata.labels[`x`]"), "V=$(IP)$$" },
		{ FIELD("V", "metadata.labels[`none`]"), "V=" },
		{ FIELD("V", "metadata.annotations[`x`]"), "V=note" },
		{ FIELD("V", "metadata.annotations[`a.example/X`]"), "V=" },
		{ FIELD("V", "spec.nodeName"), "V=machine" },
		{ FIELD("V", "spec.serviceAccountName"), "V=builder" },
		{ FIELD("V", "status.hostIP"), "V=192.0.2.7" },
		{ FIELD("V", "status.hostIPs"), "V=192.0.2.7,2001:db8::7" },
		{ FIELD("V", "status.podIP"), "V=10.88.0.2" },
		{ FIELD("V", "status.podIPs"), "V=10.88.0.2,fd9c::2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_env(rows[i].entry, rows[i].expected, 1);
}

static void test_unknown_fields(void **state)
{
	static const struct {
		const char *entry, *words;
	} rows[] = {
		{ FIELD("V", "status.phase"), "unsupported fieldPath \"status.phase\"" },
		{ FIELD("V", "status.PodIP"), "did you mean \"status.podIP\"?" },
		{ FIELD("V", "status.podIP "), "unsupported fieldPath" },
		{ FIELD("V", "metadata.labels"), "unsupported fieldPath" },
		{ FIELD("V", "metadata.labels[x]"), "unsupported fieldPath" },
		{ FIELD("V", "metadata.labels[`x`"), "unsupported fieldPath" },
		{ FIELD("V", "metadata.labels[`"), "unsupported fieldPath" },
		{ FIELD("V", "metadata.labels[`]"), "unsupported fieldPath" },
		{ FIELD("V", "metadata.labels[``]"), "the key \"\"" },
		{ FIELD("V", "metadata.labels[`a b`]"), "the key \"a b\"" },
		{ FIELD("V", "metadata.name[`x`]"), "unsupported fieldPath" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (parse_env(rows[i].entry) || diag.errors != 1 ||
		    diag.items[0].kind != DIAG_VALUE ||
		    !strstr(diag.items[0].text, rows[i].words))
			fail_msg("%s: %zu errors: %s", rows[i].entry, diag.errors,
				 diag.items[0].text);
		assert_string_equal(diag.items[0].pointer,
				    "/spec/containers/0/env/0/valueFrom/fieldRef/"
				    "fieldPath");
	}
}

/* A field counts as any other entry does, but its own text is taken as it is. */
static void test_fields_and_order(void **state)
{
	(void)state;
	assert_env(LIST3(VALUE("EARLY", "$(IP)"), FIELD("IP", "status.podIP"),
			 VALUE("URL", "http://$(IP)/$$(IP)")),
		   "EARLY=$(IP) IP=10.88.0.2 URL=http://10.88.0.2/$(IP)", 1);
	assert_env(LIST3(FIELD("IP", "status.podIP"), FIELD("L", "metadata.labels[`x`]"),
			 VALUE("BOTH", "<$(L)>")),
		   "IP=10.88.0.2 L=$(IP)$$ BOTH=<$(IP)$$>", 2);
	assert_env(
		LIST3(VALUE("A", "1"), FIELD("A", "metadata.name"), VALUE("A", "$(A)2")),
		"A=web2", 1);
	assert_env(LIST3(FIELD("A", "metadata.name"), VALUE("B", "$(A)"),
			 FIELD("A", "metadata.uid")),
		   "B=web A=1-2-3", 2);
}

/* ---- limits ---- */

/* Each variable is twice the one before: the arena's limit ends it, not the machine. */
static void test_growth_is_bounded(void **state)
{
	static const char *const names[] = { "A", "B" };
	static const char *const values[] = { "$(A)$(A)$(A)$(A)", "$(B)$(B)$(B)$(B)" };
	struct spec_env env[64];
	struct container_spec spec = { .env = env, .n_env = ARRAY_SIZE(env) };
	struct expand_env e;
	struct arena a;
	size_t i;

	(void)state;
	env[0] = (struct spec_env){ .name = "A", .value = "0123456789abcdef" };
	for (i = 1; i < ARRAY_SIZE(env); i++)
		env[i] = (struct spec_env){ .name = names[i % 2],
					    .value = values[(i + 1) % 2] };
	arena_init(&a, 1 << 20);
	assert_int_equal(expand_env_init(&e, &a, spec.n_env), 0);
	assert_int_equal(expand_env(&e, &a, &spec, NULL, NULL), -ENOMEM);
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
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_unknown_fields),
		cmocka_unit_test(test_fields_and_order),
		cmocka_unit_test(test_growth_is_bounded),
		cmocka_unit_test(test_unclosed_is_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
