// SPDX-License-Identifier: Apache-2.0
/*
 * config_security.c - securityContext of pods and containers, and names of capabilities.
 * What is refused stands in config_refusal.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/capability_name.h"
#include "config/diag.h"
#include "config/pod_spec.h"

#define HEAD "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},"

/* The pod of a text in which ' stands for "; the caller frees it. */
static struct pod_spec *accept(const char *text)
{
	static struct diag diag;
	char json[4096];
	struct manifest m;
	struct pod_spec *spec;

	(void)snprintf(json, sizeof(json), "%s", text);
	for (char *p = json; *p; p++)
		if (*p == '\'')
			*p = '"';
	diag_init(&diag, "t.json");
	if (manifest_parse(json, strlen(json), &diag, &m) < 0 || m.n_pods != 1 ||
	    !m.pods[0].spec)
		fail_msg("refused: %s: %s", diag.items[0].pointer, diag.items[0].text);
	spec = ptr_steal(&m.pods[0].spec);
	manifest_free(&m);
	return spec;
}

static void test_security(void **state)
{
	struct pod_spec *p = accept(
		HEAD
		"'spec':{'securityContext':{'runAsUser':7,'runAsGroup':8,'runAsNonRoot':"
		"true,'supplementalGroups':[10,11],'supplementalGroupsPolicy':'Strict',"
		"'fsGroup':12},'containers':[{'name':'c','image':'i','securityContext':{"
		"'runAsUser':9,'runAsNonRoot':false,'readOnlyRootFilesystem':true,"
		"'allowPrivilegeEscalation':false,'capabilities':{'add':['CAP_NET_ADMIN',"
		"'kill','SYS_ADMIN'],'drop':['all','CHOWN']}}},{'name':'d','image':'i',"
		"'securityContext':{'capabilities':{'add':['ALL']}}}]}}");
	const struct container_spec *c = &p->members[0], *d = &p->members[1];

	(void)state;
	assert_int_equal(p->n_groups, 2);
	assert_int_equal(p->groups[1], 11);
	assert_true(p->own_groups_only);
	assert_int_equal(p->fs_group, 12);
	assert_int_equal(c->user.uid, 9);
	assert_int_equal(c->user.gid, 8);
	assert_int_equal(c->user.non_root, 0);
	assert_true(c->read_only_root && c->no_new_privs);
	/* capabilities(7): NET_ADMIN 12, KILL 5, SYS_ADMIN 21, CHOWN 0 */
	assert_true(c->caps.add == (1U << 12 | 1U << 5 | 1U << 21));
	assert_true(c->caps.drop == 1);
	assert_true(c->caps.drop_all && !c->caps.add_all);
	assert_int_equal(d->user.uid, 7);
	assert_int_equal(d->user.non_root, 1);
	assert_true(d->caps.add_all && !d->caps.drop_all && !d->read_only_root);
	pod_spec_free(p);
	p = accept(HEAD "'spec':{'containers':[{'name':'c','image':'i'}]}}");
	assert_int_equal(p->fs_group, -1);
	assert_true(p->members[0].user.non_root <= 0 && !p->own_groups_only);
	pod_spec_free(p);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "",    "CAP_",         "ALL",
					   "NET", "CAP_CAP_KILL", "NET_ADMIN " };

	(void)state;
	assert_int_equal(capability_parse("CHOWN"), 0);
	assert_int_equal(capability_parse("cap_chown"), 0);
	assert_int_equal(capability_parse("Net_Admin"), 12);
	assert_int_equal(capability_parse("CAP_CHECKPOINT_RESTORE"), 40);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (capability_parse(bad[i]) != -EINVAL)
			fail_msg("'%s' is read", bad[i]);
	assert_string_equal(capability_nearest("cap_net_admn"), "NET_ADMIN");
	assert_null(capability_nearest("entirely-something-else-and-very-long-too"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_security),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("config security", tests, NULL, NULL);
}
