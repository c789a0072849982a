// SPDX-License-Identifier: Apache-2.0
/*
 * config_manifest.c - manifests that are accepted: what becomes of them; lists; limits.
 *
 * In the texts ' stands for ".
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
#include "config/pod_spec.h"

#define HEAD      "{'apiVersion':'v1','kind':'Pod',"
#define META      "'metadata':{'name':'p'},"
#define CON       "{'name':'c','image':'i'}"
#define CONS      "'containers':[" CON "]"
#define S(x)      HEAD META "'spec':{" x "," CONS "}}"
#define C(x)      HEAD META "'spec':{'containers':[{'name':'c','image':'i'," x "}]}}"

#define BIG_BYTES (POD_SPEC_FILE_BYTES + 4096)

static struct diag diag;
static char big[BIG_BYTES];

static void quote(char *text)
{
	for (; *text; text++)
		if (*text == '\'')
			*text = '"';
}

static int parse(const char *text, struct manifest *ret)
{
	(void)snprintf(big, sizeof(big), "%s", text);
	quote(big);
	diag_init(&diag, "t.json");
	return manifest_parse(big, strlen(big), &diag, ret);
}

/* The pod of a text that must be accepted; the caller frees it. */
static struct pod_spec *accept(const char *text)
{
	struct manifest m;
	struct pod_spec *spec;
	int r = parse(text, &m);

	if (r < 0 || m.n_pods != 1 || !m.pods[0].spec)
		fail_msg("refused (%d): %s\n%s: %s", r, text, diag.items[0].pointer,
			 diag.items[0].text);
	spec = ptr_steal(&m.pods[0].spec);
	manifest_free(&m);
	return spec;
}

/* Accepted, with this many warnings; null and "" count as absent. */
static const struct {
	const char *json;
	size_t warnings;
} harmless[] = {
	{ HEAD META "'spec':{" CONS "},'status':{'phase':'Running'}}", 0 },
	{ S("'hostPID':false,'hostIPC':false,'shareProcessNamespace':false"), 0 },
	{ S("'hostUsers':true,'setHostnameAsFQDN':false"), 0 },
	{ S("'dnsPolicy':'ClusterFirst'"), 0 },
	{ S("'dnsPolicy':'Default','dnsConfig':{}"), 0 },
	{ S("'dnsPolicy':'','restartPolicy':'','subdomain':'','hostname':''"), 0 },
	{ S("'volumes':null,'initContainers':null,'restartPolicy':null"), 0 },
	{ S("'volumes':[],'initContainers':[],'ephemeralContainers':[]"), 0 },
	{ S("'hostAliases':[],'readinessGates':[],'resourceClaims':[]"), 0 },
	{ S("'os':{'name':'linux'},'securityContext':{},'resources':{}"), 0 },
	{ S("'securityContext':{'runAsNonRoot':false,'supplementalGroups':[],"
	    "'supplementalGroupsPolicy':'Merge','sysctls':[],"
	    "'fsGroupChangePolicy':'Always','seLinuxOptions':{}}"),
	  0 },
	{ S("'securityContext':{'seLinuxOptions':{'level':'s0'}}"), 1 },
	{ S("'securityContext':{'appArmorProfile':{'type':'RuntimeDefault'}}"), 0 },
	{ S("'nodeName':'n','nodeSelector':{'a':'b'},'affinity':{},'tolerations':[{}],"
	    "'schedulerName':'default-scheduler','priority':0,'priorityClassName':'x',"
	    "'preemptionPolicy':'Never','topologySpreadConstraints':[],'overhead':{},"
	    "'enableServiceLinks':true,'imagePullSecrets':[{}],"
	    "'automountServiceAccountToken':true,'serviceAccount':'x'"),
	  0 },
	{ S("'serviceAccountName':'default'"), 0 },
	{ S("'serviceAccountName':'robot'"), 1 },
	{ S("'serviceAccountName':'robot','automountServiceAccountToken':false"), 0 },
	{ S("'schedulingGates':[]"), 0 },
	{ S("'schedulingGates':[{'name':'x'}]"), 1 },
	{ HEAD "'metadata':{'name':'p','creationTimestamp':null,'generateName':'p-',"
	       "'resourceVersion':'1','generation':1,'managedFields':[{}],"
	       "'ownerReferences':[{}],'finalizers':['x'],'selfLink':'',"
	       "'deletionTimestamp':'x','deletionGracePeriodSeconds':30,'uid':'',"
	       "'namespace':''},'spec':{" CONS "}}",
	  0 },
	{ C("'terminationMessagePath':'/dev/termination-log',"
	    "'terminationMessagePolicy':'File','resources':{},'envFrom':[]"),
	  0 },
	{ C("'restartPolicyRules':[],'resizePolicy':[],'volumeDevices':[]"), 0 },
	{ C("'lifecycle':{},'livenessProbe':null"), 0 },
	{ C("'securityContext':{'privileged':false,'readOnlyRootFilesystem':false,"
	    "'runAsNonRoot':false,'capabilities':{},'procMount':'Default',"
	    "'allowPrivilegeEscalation':true}"),
	  0 },
	{ C("'ports':[{'name':'http','containerPort':80,'protocol':'TCP','hostPort':0,"
	    "'hostIP':''},{'containerPort':53,'protocol':'UDP'}]"),
	  0 },
	{ HEAD META "'spec':{'hostNetwork':true,'containers':[{'name':'c','image':'i',"
		    "'ports':[{'containerPort':80,'hostPort':80}]}]}}",
	  0 },
};

static void test_harmless(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(harmless); i++) {
		pod_spec_free(accept(harmless[i].json));
		if (diag.n != harmless[i].warnings || diag.errors)
			fail_msg("%s: %zu warnings", harmless[i].json, diag.n);
	}
}

static void test_defaults(void **state)
{
	struct pod_spec *p = accept(HEAD META "'spec':{" CONS "}}");
	const struct container_spec *c = &p->members[0];

	(void)state;
	assert_string_equal(p->name, "p");
	assert_string_equal(p->namespace, "default");
	assert_string_equal(p->hostname, "p");
	assert_null(p->uid);
	assert_int_equal(p->restart, RESTART_ALWAYS);
	assert_int_equal(p->grace_seconds, 30);
	assert_false(p->host_network);
	assert_int_equal(p->n_members, 1);
	assert_int_equal(p->n_init, 0);
	assert_null(c->command);
	assert_null(c->args);
	assert_null(c->working_dir);
	assert_int_equal(c->user.uid, -1);
	assert_int_equal(c->user.gid, -1);
	assert_false(c->no_new_privs || c->tty || c->stdin_open || c->stdin_once ||
		     c->init);
	assert_true(p->n_volumes == 0 && c->n_env == 0 && c->n_mounts == 0);
	assert_int_equal(p->restart, RESTART_ALWAYS);
	pod_spec_free(p);
}

static void test_everything(void **state)
{
	struct pod_spec *p = accept(
		HEAD
		"'metadata':{'name':'web.1','namespace':'shop','uid':'0a-B',"
		"'labels':{'app':'x','a.b/c':''},'annotations':{'Podinit/k':'any "
		"\\u00e9\\n'}},'spec':{'restartPolicy':'OnFailure',"
		"'terminationGracePeriodSeconds':0,'hostname':'front',"
		"'hostNetwork':true,'securityContext':{'runAsUser':7,'runAsGroup':8},"
		"'containers':[{'name':'a','image':'i:1','command':['sh','-c',''],"
		"'args':[],'env':[{'name':'A','value':'$(B)'},{'name':'my var'}],"
		"'workingDir':'/w','tty':true,'stdin':true,'stdinOnce':true,"
		"'securityContext':{'runAsUser':0,'allowPrivilegeEscalation':false}},"
		"{'name':'b','image':'i','imagePullPolicy':'Never','args':['x']}],"
		"'initContainers':[{'name':'z','image':'i'},{'name':'y',"
		"'image':'i'}]}}");
	const struct container_spec *m = p->members;

	(void)state;
	assert_string_equal(p->name, "web.1");
	assert_string_equal(p->namespace, "shop");
	assert_string_equal(p->uid, "0a-B");
	assert_int_equal(p->n_labels, 2);
	assert_string_equal(p->annotations[0].key, "Podinit/k");
	assert_string_equal(p->annotations[0].value, "any \xc3\xa9\n");
	assert_int_equal(p->restart, RESTART_ON_FAILURE);
	assert_int_equal(p->grace_seconds, 0);
	assert_string_equal(p->hostname, "front");
	assert_true(p->host_network);
	assert_int_equal(p->n_members, 4);
	assert_int_equal(p->n_init, 2);
	assert_string_equal(m[0].name, "z");
	assert_string_equal(m[1].name, "y");
	assert_string_equal(m[2].name, "a");
	assert_string_equal(m[3].name, "b");
	assert_true(m[0].init && m[1].init && !m[2].init && !m[3].init);
	assert_string_equal(m[2].command[0], "sh");
	assert_string_equal(m[2].command[2], "");
	assert_null(m[2].command[3]);
	assert_null(m[2].args);
	assert_string_equal(m[3].args[0], "x");
	assert_int_equal(m[2].n_env, 2);
	assert_string_equal(m[2].env[0].value, "$(B)");
	assert_string_equal(m[2].env[1].name, "my var");
	assert_string_equal(m[2].env[1].value, "");
	assert_string_equal(m[2].working_dir, "/w");
	assert_true(m[2].tty && m[2].stdin_open && m[2].stdin_once && m[2].no_new_privs);
	assert_int_equal(m[2].user.uid, 0);
	assert_int_equal(m[2].user.gid, 8);
	assert_int_equal(m[0].user.uid, 7);
	assert_int_equal(m[3].user.uid, 7);
	assert_int_equal(m[3].pull, PULL_NEVER);
	pod_spec_free(p);
}

static void test_mounts_parents_first(void **state)
{
	static const char *const paths[] = { "/a", "/a/b", "/a/b/c", "/a-b", "/data" };
	struct pod_spec *p = accept(
		HEAD META
		"'spec':{'volumes':[{'name':'v'},{'name':'m','emptyDir':{'medium':"
		"'Memory'}},{'name':'h','hostPath':{'path':'/h//x','type':'File'}}],"
		"'containers':[{'name':'c','image':'i','volumeMounts':["
		"{'name':'v','mountPath':'/a/b/c'},{'name':'h','mountPath':'data/'},"
		"{'name':'v','mountPath':'/a/x/../b'},{'name':'v','mountPath':'/a-b'},"
		"{'name':'m','mountPath':'/../a','readOnly':true}]}]}}");
	const struct container_spec *c = &p->members[0];
	size_t i, k;

	(void)state;
	assert_int_equal(p->n_volumes, 3);
	assert_int_equal(p->volumes[0].kind, VOLUME_EMPTY_DIR);
	assert_false(p->volumes[0].memory);
	assert_true(p->volumes[1].memory);
	assert_int_equal(p->volumes[2].kind, VOLUME_HOST_PATH);
	assert_int_equal(p->volumes[2].host_type, HOST_PATH_FILE);
	assert_int_equal(c->n_mounts, ARRAY_SIZE(paths));
	for (i = 0; i < c->n_mounts; i++) {
		for (k = 0; strcmp(c->mounts[i].path, paths[k]) != 0; k++)
			assert_true(k + 1 < ARRAY_SIZE(paths));
		assert_int_equal(c->mounts[i].read_only, k == 0);
		assert_int_equal(c->mounts[i].volume, k == 0 ? 1 : k == 4 ? 2 : 0);
		for (k = 0; k < i; k++)
			assert_null(strstr(c->mounts[k].path, c->mounts[i].path));
	}
	pod_spec_free(p);
}

static void test_pull_defaults(void **state)
{
	static const struct {
		const char *image;
		enum pull_policy pull;
	} rows[] = {
		{ "busybox", PULL_ALWAYS },
		{ "busybox:latest", PULL_ALWAYS },
		{ "reg:5000/busybox", PULL_ALWAYS },
		{ "reg:5000/busybox:latest", PULL_ALWAYS },
		{ "a:latest@sha256:00", PULL_ALWAYS },
		{ "busybox:1.36", PULL_IF_NOT_PRESENT },
		{ "busybox:latest2", PULL_IF_NOT_PRESENT },
		{ "reg:5000/busybox:1", PULL_IF_NOT_PRESENT },
		{ "reg/a@sha256:00", PULL_IF_NOT_PRESENT },
		{ "a:1@sha256:00", PULL_IF_NOT_PRESENT },
	};
	char text[256];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_spec *p;

		(void)snprintf(text, sizeof(text),
			       HEAD META
			       "'spec':{'containers':[{'name':'c','image':'%s'}]}}",
			       rows[i].image);
		p = accept(text);
		assert_int_equal(p->members[0].pull, rows[i].pull);
		pod_spec_free(p);
	}
}

/* 63 bytes of this name end in "-", which no hostname may; so the cut goes further. */
static void test_hostname_is_cut(void **state)
{
	static const char ten[] = "a234567890";
	char text[512], name[128] = "";
	struct pod_spec *p;
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		strcat(name, ten);
	strcat(name, "b--long");
	(void)snprintf(text, sizeof(text),
		       HEAD "'metadata':{'name':'%s'},'spec':{" CONS "}}", name);
	p = accept(text);
	assert_int_equal(strlen(p->name), 67);
	assert_int_equal(strlen(p->hostname), 61);
	assert_memory_equal(p->hostname, p->name, 61);
	pod_spec_free(p);
}

static void test_list_keeps_neighbours(void **state)
{
	struct manifest m;

	(void)state;
	assert_int_equal(
		parse("{'apiVersion':'v1','kind':'List','metadata':{},'items':["
		      "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a'},'spec':"
		      "{" CONS ",'schedulingGates':[{}]}},"
		      "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'b','name':'b'}"
		      ","
		      "'spec':{'containers':[],'hostUsers':false}},"
		      "{'apiVersion':'v1','kind':'Service','metadata':{'name':'s'}},"
		      "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a'},'spec':"
		      "{" CONS "}},"
		      "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a',"
		      "'namespace':'n'},'spec':{" CONS "}}]}",
		      &m),
		0);
	assert_int_equal(m.n_pods, 5);
	assert_int_equal(diag.errors, 5);
	assert_non_null(m.pods[0].spec);
	assert_int_equal(m.pods[0].id.n_diag, 1); /* a warning */
	assert_null(m.pods[1].spec);
	assert_string_equal(m.pods[1].id.name, "b");
	assert_string_equal(m.pods[1].id.namespace, "default");
	assert_int_equal(m.pods[1].id.first_diag, 1);
	assert_int_equal(m.pods[1].id.n_diag, 3);
	assert_int_equal(diag.items[1].kind, DIAG_DUPLICATE);
	assert_string_equal(diag.items[1].pointer, "/items/1/metadata/name");
	assert_null(m.pods[2].spec);
	assert_string_equal(m.pods[2].id.name, "");
	assert_int_equal(m.pods[2].id.n_diag, 1);
	assert_null(m.pods[3].spec); /* default/a again */
	assert_string_equal(diag.items[m.pods[3].id.first_diag].pointer,
			    "/items/3/metadata/name");
	assert_non_null(m.pods[4].spec);
	manifest_free(&m);

	assert_int_equal(parse("{'apiVersion':'v1','kind':'List','items':[]}", &m), 0);
	assert_int_equal(m.n_pods, 0);
	manifest_free(&m);
}

static void test_all_errors_at_once(void **state)
{
	struct manifest m;
	size_t i;

	(void)state;
	assert_int_equal(
		parse("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'A'},\n"
		      "'spec':{'x':1,'containers':[{'name':'c','image':'',\n"
		      "  'comand':[],'tty':'y'}],'restartPolicy':'x'}}",
		      &m),
		0);
	assert_int_equal(diag.errors, 6);
	for (i = 0; i < diag.n; i++)
		if (!strcmp(diag.items[i].pointer, "/spec/containers/0/comand"))
			break;
	assert_true(i < diag.n);
	assert_int_equal(diag.items[i].line, 3);
	assert_int_equal(diag.items[i].column, 12);
	manifest_free(&m);
}

/* n times text between head and tail. */
static int parse_many(const char *head, const char *text, size_t n, const char *tail,
		      struct manifest *ret)
{
	size_t len = strlen(head), i;

	memcpy(big, head, len);
	for (i = 0; i < n; i++) {
		memcpy(big + len, text, strlen(text));
		len += strlen(text);
	}
	memcpy(big + len, tail, strlen(tail) + 1);
	quote(big);
	diag_init(&diag, "t.json");
	return manifest_parse(big, strlen(big), &diag, ret);
}

static void refuse_many(const char *head, const char *text, size_t n, const char *tail,
			enum diag_kind kind)
{
	struct manifest m = { .n_pods = 0 };
	int r = parse_many(head, text, n, tail, &m);

	if (r == 0)
		assert_null(m.pods[0].spec);
	else
		assert_int_equal(r, -EINVAL);
	assert_true(diag.n > 0);
	assert_int_equal(diag.items[0].kind, kind);
	manifest_free(&m);
}

static void test_limits(void **state)
{
	struct manifest m;

	(void)state;
	refuse_many("", " ", POD_SPEC_FILE_BYTES, "{}", DIAG_LIMIT);
	refuse_many("{'a':[0", ",[]", 70000, "]}", DIAG_LIMIT);
	refuse_many("{'a':[0", ",1", 300000, "]}", DIAG_LIMIT);
	refuse_many(HEAD META "'spec':{'containers':[" CON, "," CON, 128, "]}}",
		    DIAG_LIMIT);
	refuse_many(HEAD META "'spec':{'volumes':[{'name':'v'}", ",{'name':'v'}", 256,
		    "]," CONS "}}", DIAG_LIMIT);
	refuse_many(HEAD META "'spec':{'containers':[{'name':'c','image':'i','env':["
			      "{'name':'A'}",
		    ",{'name':'A'}", 1024, "]}]}}", DIAG_LIMIT);
	refuse_many(HEAD META "'spec':{'containers':[{'name':'c','image':'i','args':['",
		    "x", 131072, "']}]}}", DIAG_VALUE);
	refuse_many(HEAD "'metadata':{'name':'p','annotations':{'a':'", "x", 262144,
		    "'}},'spec':{" CONS "}}", DIAG_LIMIT);
	refuse_many("{'apiVersion':'v1','kind':'List','items':[0", ",0", 1024, "]}",
		    DIAG_LIMIT);

	/* More errors than are kept are counted, and unknown keys cost no search. */
	assert_int_equal(parse_many(HEAD META "'spec':{" CONS ",'volumes':[{}", ",{}", 99,
				    "]}}", &m),
			 0);
	assert_int_equal(diag.n, DIAG_MAX);
	assert_int_equal(diag.errors, 100);
	assert_int_equal(diag.dropped, 100 - DIAG_MAX);
	assert_null(m.pods[0].spec);
	manifest_free(&m);
}

/* A text that is not NUL-terminated, and every beginning of a good one. */
static void test_prefixes(void **state)
{
	static const char text[] =
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
		"{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
		"\"image\":\"i\",\"tty\":true,\"env\":null}]}}";
	struct manifest m;
	size_t len;

	(void)state;
	for (len = 0; len < sizeof(text); len++) {
		char *copy = malloc(len ? len : 1);
		int r;

		assert_non_null(copy);
		memcpy(copy, text, len);
		diag_init(&diag, "");
		r = manifest_parse(copy, len, &diag, &m);
		assert_int_equal(r, len == sizeof(text) - 1 ? 0 : -EINVAL);
		if (r == 0)
			manifest_free(&m);
		free(copy);
	}
}

/* What the document shows must be accepted. */
static void test_document(void **state)
{
	FILE *f = fopen("docs/manifest.md", "re");
	char *start, *end;
	struct manifest m;
	size_t n;

	(void)state;
	if (!f)
		fail_msg("docs/manifest.md: run this from the top of the source");
	n = fread(big, 1, sizeof(big) - 1, f);
	(void)fclose(f);
	big[n] = '\0';
	start = strstr(big, "```json\n");
	assert_non_null(start);
	start += strlen("```json\n");
	end = strstr(start, "```");
	assert_non_null(end);
	diag_init(&diag, "docs/manifest.md");
	assert_int_equal(manifest_parse(start, (size_t)(end - start), &diag, &m), 0);
	assert_int_equal(diag.n, 0);
	assert_non_null(m.pods[0].spec);
	assert_int_equal(m.pods[0].spec->n_members, 2);
	manifest_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_harmless),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_mounts_parents_first),
		cmocka_unit_test(test_pull_defaults),
		cmocka_unit_test(test_hostname_is_cut),
		cmocka_unit_test(test_list_keeps_neighbours),
		cmocka_unit_test(test_all_errors_at_once),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
