// SPDX-License-Identifier: Apache-2.0
/*
 * config_object.c - ConfigMaps and Secrets, and what in a pod refers to them.
 *
 * In the texts ' stands for ".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/diag.h"
#include "config/pod_spec.h"

#define CM(x)     "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'o'}," x "}"
#define SECRET(x) "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'o'}," x "}"
#define POD(x, y)                                                            \
	"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':{" x \
	"'containers':[{'name':'c','image':'i'" y "}]}}"
#define ENV(x)      POD("", ",'env':[{'name':'A','valueFrom':{" x "}}]")
#define FROM(x)     POD("", ",'envFrom':[{" x "}]")
#define V(x)        POD("'volumes':[{'name':'v'," x "}],", "")
#define DOWNWARD(x) V("'downwardAPI':{'items':[{'path':'a'," x "}]}")

static struct diag diag;
static char text[2u << 20];

static int parse(const char *json, struct manifest *ret)
{
	(void)snprintf(text, sizeof(text), "%s", json);
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	diag_init(&diag, "t.json");
	return manifest_parse(text, strlen(text), &diag, ret);
}

/* The object of a text that must be accepted; the caller frees it. */
static struct object_spec *accept(const char *json)
{
	struct object_spec *spec;
	struct manifest m;

	if (parse(json, &m) < 0 || m.n_objects != 1 || !m.objects[0].spec)
		fail_msg("%s: %s: %s", json, diag.items[0].pointer, diag.items[0].text);
	assert_int_equal(m.n_pods, 0);
	spec = ptr_steal(&m.objects[0].spec);
	manifest_free(&m);
	return spec;
}

static void assert_entry(const struct object_spec *spec, const char *key,
			 const void *data, size_t len, bool binary)
{
	const struct object_entry *entry = object_find(spec, key);

	assert_non_null(entry);
	assert_int_equal(entry->len, len);
	assert_memory_equal(entry->data, data, len);
	assert_int_equal(entry->data[len], 0);
	assert_int_equal(entry->binary, binary);
}

static void test_config_map(void **state)
{
	struct object_spec *o = accept(
		CM("'immutable':true,'data':{'z':'','a.b-C_1':'x\\ny','k':'v'},"
		   "'binaryData':{'bin':'AAEC\\n/w==','none':''}"));

	(void)state;
	assert_int_equal(o->kind, OBJECT_CONFIG_MAP);
	assert_string_equal(o->namespace, "default");
	assert_true(o->immutable);
	assert_int_equal(o->n_entries, 5);
	assert_entry(o, "z", "", 0, false);
	assert_entry(o, "a.b-C_1", "x\ny", 3, false);
	assert_entry(o, "bin", "\x00\x01\x02\xff", 4, true);
	assert_entry(o, "none", "", 0, true);
	assert_null(object_find(o, "x"));
	for (size_t i = 1; i < o->n_entries; i++)
		assert_true(strcmp(o->entries[i - 1].key, o->entries[i].key) < 0);
	object_spec_free(o);
	o = accept(CM("'data':null"));
	assert_int_equal(o->n_entries, 0);
	assert_null(object_find(o, "x"));
	object_spec_free(o);
}

static void test_secret(void **state)
{
	struct object_spec *a = accept(SECRET("'type':'Opaque','data':{'p':'czNjcmV0',"
					      "'q':'eA=='},'stringData':{'q':'text'}"));
	struct object_spec *b = accept(SECRET("'stringData':{'q':'text','p':'s3cret'}"));

	(void)state;
	assert_int_equal(a->kind, OBJECT_SECRET);
	assert_entry(a, "p", "s3cret", 6, false);
	assert_entry(a, "q", "text", 4, false);
	assert_int_equal(a->data_bytes, 12);
	assert_true(object_same_data(a, b));
	object_spec_free(b);
	b = accept(SECRET("'stringData':{'q':'text','p':'s3creT'}"));
	assert_false(object_same_data(a, b));
	object_spec_free(b);
	object_spec_free(a);
}

static void test_list(void **state)
{
	struct manifest m;

	(void)state;
	assert_int_equal(
		parse("{'apiVersion':'v1','kind':'List','items':[" POD("", "") "," CM(
			      "'d"
			      "at"
			      "a'"
			      ":{"
			      "'a"
			      "':"
			      "'1"
			      "'"
			      "}") "," SECRET("'data':{'a':'MQ=='}") "," CM("'data':{'a':"
									    "'2'}") "," CM("'"
											   "d"
											   "a"
											   "t"
											   "a"
											   "'"
											   ":"
											   "{"
											   "'"
											   "/"
											   "'"
											   ":"
											   "'"
											   "2"
											   "'"
											   "}") "]}",
		      &m),
		0);
	assert_int_equal(m.n_pods, 1);
	assert_int_equal(m.n_objects, 4);
	assert_non_null(m.pods[0].spec);
	assert_non_null(m.objects[0].spec);
	assert_non_null(m.objects[1].spec); /* another kind, so another name */
	assert_null(m.objects[2].spec);
	assert_string_equal(diag.items[m.objects[2].id.first_diag].pointer,
			    "/items/3/metadata/name");
	assert_null(m.objects[3].spec);
	assert_string_equal(m.objects[3].id.name, "o");
	assert_int_equal(m.objects[3].id.n_diag, 1);
	assert_string_equal(diag.items[m.objects[3].id.first_diag].pointer,
			    "/items/4/data/~1");
	manifest_free(&m);
}

static void test_references(void **state)
{
	struct manifest m;
	const struct container_spec *c;
	const struct spec_volume *v;

	(void)state;
	assert_int_equal(
		parse(POD("'volumes':[{'name':'a','configMap':{'name':'cm','optional':"
			  "true,'defaultMode':256,'items':[{'key':'k','path':'x/y','mode'"
			  ":7}]}},{'name':'b','projected':{'sources':[{'secret':{'name':"
			  "'s'}},{'downwardAPI':{'items':[{'path':'l','fieldRef':{"
			  "'fieldPath':'metadata.labels'}}]}}]}}],",
			  ",'env':[{'name':'A','valueFrom':{'resourceFieldRef':{'"
			  "resource'"
			  ":'limits.memory','divisor':'1Mi'}}},{'name':'B','valueFrom':{"
			  "'resourceFieldRef':{'resource':'requests.cpu'}}}],'envFrom':[{"
			  "'prefix':'P_','secretRef':{'name':'s','optional':true}}]"),
		      &m),
		0);
	if (!m.pods[0].spec)
		fail_msg("%s: %s", diag.items[0].pointer, diag.items[0].text);
	c = &m.pods[0].spec->members[0];
	assert_int_equal(c->env[0].resource.divisor, 1 << 20);
	assert_true(c->env[0].resource.limit && c->env[0].resource.memory);
	assert_int_equal(c->env[1].resource.divisor, 1000);
	assert_string_equal(c->env_from[0].prefix, "P_");
	assert_int_equal(c->env_from[0].object.kind, OBJECT_SECRET);
	assert_true(c->env_from[0].object.optional);
	v = &m.pods[0].spec->volumes[0];
	assert_int_equal(v->kind, VOLUME_PROJECTED);
	assert_int_equal(v->default_mode, 256);
	assert_true(v->sources[0].object.optional);
	assert_string_equal(v->sources[0].items[0].path, "x/y");
	assert_int_equal(v->sources[0].items[0].mode, 7);
	v = &m.pods[0].spec->volumes[1];
	assert_int_equal(v->default_mode, 0644);
	assert_int_equal(v->n_sources, 2);
	assert_int_equal(v->sources[0].n_items, 0);
	assert_true(v->sources[1].downward);
	assert_int_equal(v->sources[1].items[0].value.source, ENV_POD_LABELS);
	assert_int_equal(v->sources[1].items[0].mode, -1);
	manifest_free(&m);
}

/* Refused, with this one error. */
static const struct {
	const char *json;
	enum diag_kind kind;
	const char *pointer, *words;
} rows[] = {
	{ CM("'data':{'':'x'}"), DIAG_VALUE, "/data/", "1 to 253" },
	{ CM("'data':{'a b':'x'}"), DIAG_VALUE, "/data/a b", "letters" },
	{ CM("'data':{'..':'x'}"), DIAG_VALUE, "/data/..", "\"..\"" },
	{ CM("'data':{'..a':'x'}"), DIAG_VALUE, "/data/..a", "\"..\"" },
	{ CM("'data':{'.':'x'}"), DIAG_VALUE, "/data/.", "\".\"" },
	{ CM("'data':{'a':1}"), DIAG_TYPE, "/data/a", "a string" },
	{ CM("'data':{'a':null}"), DIAG_TYPE, "/data/a", "a string" },
	{ CM("'data':{'a':'x'},'binaryData':{'a':'eA=='}"), DIAG_DUPLICATE,
	  "/binaryData/a", "in data, too" },
	{ CM("'binaryData':{'a':'?'}"), DIAG_VALUE, "/binaryData/a", "base64" },
	{ CM("'binaryData':{'a':'eA='}"), DIAG_VALUE, "/binaryData/a", "base64" },
	{ CM("'stringData':{}"), DIAG_UNKNOWN, "/stringData", "unknown field" },
	{ SECRET("'data':{'a':'x y'}"), DIAG_VALUE, "/data/a", "base64" },
	{ SECRET("'binaryData':{}"), DIAG_UNKNOWN, "/binaryData", "unknown field" },
	{ SECRET("'immutable':'yes'"), DIAG_TYPE, "/immutable", "a boolean" },
	{ "{'apiVersion':'v1','kind':'Secret','metadata':{}}", DIAG_MISSING,
	  "/metadata/name", "name" },

	{ ENV("'configMapKeyRef':{'name':'a'}"), DIAG_MISSING,
	  "/spec/containers/0/env/0/valueFrom/configMapKeyRef/key", "key" },
	{ ENV("'secretKeyRef':{'name':'A_','key':'k'}"), DIAG_VALUE,
	  "/spec/containers/0/env/0/valueFrom/secretKeyRef/name", "subdomain" },
	{ ENV("'secretKeyRef':{'name':'a','key':'k'},'fieldRef':{'fieldPath':"
	      "'metadata.name'}"),
	  DIAG_VALUE, "/spec/containers/0/env/0/valueFrom", "exactly one" },
	{ ENV("'resourceFieldRef':{'resource':'limits.gpu'}"), DIAG_VALUE,
	  "/spec/containers/0/env/0/valueFrom/resourceFieldRef/resource", "limits.cpu" },
	{ ENV("'resourceFieldRef':{'resource':'limits.cpu','divisor':'1k'}"), DIAG_VALUE,
	  "/spec/containers/0/env/0/valueFrom/resourceFieldRef/divisor", "\"1m\"" },
	{ ENV("'resourceFieldRef':{'resource':'limits.memory','divisor':'3'}"),
	  DIAG_VALUE, "/spec/containers/0/env/0/valueFrom/resourceFieldRef/divisor",
	  "\"1Mi\"" },
	{ ENV("'resourceFieldRef':{'resource':'limits.ephemeral-storage'}"),
	  DIAG_UNSUPPORTED,
	  "/spec/containers/0/env/0/valueFrom/resourceFieldRef/resource", "yet" },
	{ ENV("'fieldRef':{'fieldPath':'metadata.labels'}"), DIAG_VALUE,
	  "/spec/containers/0/env/0/valueFrom/fieldRef/fieldPath", "unsupported" },
	{ FROM("'configMapRef':{'name':'a'},'secretRef':{'name':'a'}"), DIAG_VALUE,
	  "/spec/containers/0/envFrom/0", "one of" },
	{ FROM("'prefix':'a=','secretRef':{'name':'a'}"), DIAG_VALUE,
	  "/spec/containers/0/envFrom/0/prefix", "without '='" },
	{ FROM("'secretRef':{}"), DIAG_MISSING,
	  "/spec/containers/0/envFrom/0/secretRef/name", "name" },

	{ V("'configMap':{}"), DIAG_MISSING, "/spec/volumes/0/configMap/name", "name" },
	{ V("'secret':{'name':'a','secretName':'a'}"), DIAG_UNKNOWN,
	  "/spec/volumes/0/secret/name", "unknown" },
	{ V("'configMap':{'name':'a','defaultMode':512}"), DIAG_VALUE,
	  "/spec/volumes/0/configMap/defaultMode", "between 0 and 511" },
	{ V("'configMap':{'name':'a','items':[{'key':'k','path':'/a'}]}"), DIAG_VALUE,
	  "/spec/volumes/0/configMap/items/0/path", "relative" },
	{ V("'configMap':{'name':'a','items':[{'key':'k','path':'a/../../b'}]}"),
	  DIAG_VALUE, "/spec/volumes/0/configMap/items/0/path", "\"..\"" },
	{ V("'configMap':{'name':'a','items':[{'key':'k','path':'..data'}]}"), DIAG_VALUE,
	  "/spec/volumes/0/configMap/items/0/path", "begin with" },
	{ V("'configMap':{'name':'a','items':[{'key':'k','path':'x','mode':-1}]}"),
	  DIAG_VALUE, "/spec/volumes/0/configMap/items/0/mode", "between" },
	{ V("'configMap':{'name':'a'},'secret':{'secretName':'a'}"), DIAG_VALUE,
	  "/spec/volumes/0", "one source only" },
	{ V("'projected':{'sources':[{'serviceAccountToken':{'path':'t'}}]}"),
	  DIAG_UNSUPPORTED, "/spec/volumes/0/projected/sources/0/serviceAccountToken",
	  "serviceAccountToken" },
	{ V("'image':{}"), DIAG_MISSING, "/spec/volumes/0/image/reference", "reference" },
	{ V("'image':{'reference':'a','pullPolicy':'Often'}"), DIAG_VALUE,
	  "/spec/volumes/0/image/pullPolicy", "IfNotPresent" },
	{ V("'projected':{'sources':[{}]}"), DIAG_VALUE,
	  "/spec/volumes/0/projected/sources/0", "exactly one" },
	{ V("'projected':{'sources':[{'configMap':{'name':'a','items':[{'key':'k','path':"
	    "'x'}]}},{'secret':{'name':'a','items':[{'key':'k','path':'x'}]}}]}"),
	  DIAG_DUPLICATE, "/spec/volumes/0/projected", "conflicting path \"x\"" },
	{ DOWNWARD("'mode':1"), DIAG_VALUE, "/spec/volumes/0/downwardAPI/items/0",
	  "one of fieldRef" },
	{ DOWNWARD("'fieldRef':{'fieldPath':'status.podIP'}"), DIAG_VALUE,
	  "/spec/volumes/0/downwardAPI/items/0/fieldRef/fieldPath", "of a volume" },
	{ DOWNWARD("'resourceFieldRef':{'resource':'limits.cpu'}"), DIAG_MISSING,
	  "/spec/volumes/0/downwardAPI/items/0/resourceFieldRef/containerName",
	  "containerName" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct manifest m = { 0 };
		bool accepted;

		(void)parse(rows[i].json, &m);
		accepted = (m.n_pods && m.pods[0].spec) ||
			   (m.n_objects && m.objects[0].spec);
		if (accepted || diag.errors != 1 || diag.items[0].kind != rows[i].kind ||
		    strcmp(diag.items[0].pointer, rows[i].pointer) != 0 ||
		    !strstr(diag.items[0].text, rows[i].words))
			fail_msg("%s: %zu errors, %s: %s", rows[i].json, diag.errors,
				 diag.n ? diag.items[0].pointer : "-",
				 diag.n ? diag.items[0].text : "-");
		manifest_free(&m);
	}
}

static void test_limits(void **state)
{
	size_t len = (1u << 20) + 1, at;
	char *json = malloc(len + 4096);
	struct manifest m = { 0 };

	(void)state;
	assert_non_null(json);
	at = (size_t)sprintf(json, "%s",
			     "{'apiVersion':'v1','kind':'ConfigMap','metadata':{"
			     "'name':'o'},'data':{'k':'");
	memset(json + at, 'x', len);
	(void)strcpy(json + at + len, "'}}");
	(void)parse(json, &m);
	assert_int_equal(m.n_objects, 1);
	assert_null(m.objects[0].spec);
	assert_int_equal(diag.items[0].kind, DIAG_LIMIT);
	/* The value is in no message. */
	assert_null(strstr(diag.items[0].text, "xxxx"));
	manifest_free(&m);

	at = (size_t)sprintf(json, "%s",
			     "{'apiVersion':'v1','kind':'ConfigMap','metadata':{"
			     "'name':'o'},'data':{");
	for (int i = 0; i <= 1024; i++)
		at += (size_t)sprintf(json + at, "%s'k%d':''", i ? "," : "", i);
	(void)strcpy(json + at, "}}");
	(void)parse(json, &m);
	assert_int_equal(diag.items[0].kind, DIAG_LIMIT);
	manifest_free(&m);
	free(json);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *word;
		bool known;
		enum object_kind kind;
	} words[] = {
		{ "ConfigMap", true, OBJECT_CONFIG_MAP },
		{ "cm", true, OBJECT_CONFIG_MAP },
		{ "configmaps", true, OBJECT_CONFIG_MAP },
		{ "secret", true, OBJECT_SECRET },
		{ "SECRETS", true, OBJECT_SECRET },
		{ "pod", false, OBJECT_KIND_MAX },
		{ "", false, OBJECT_KIND_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		enum object_kind kind = OBJECT_KIND_MAX;

		assert_int_equal(object_kind_parse(words[i].word, &kind), words[i].known);
		assert_int_equal(kind, words[i].kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config_map), cmocka_unit_test(test_secret),
		cmocka_unit_test(test_list),       cmocka_unit_test(test_references),
		cmocka_unit_test(test_refused),    cmocka_unit_test(test_limits),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests_name("config object", tests, NULL, NULL);
}
