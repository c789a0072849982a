// SPDX-License-Identifier: Apache-2.0
/*
 * pod_launch_env.c - variables that are looked up, and when a plan that holds the
 * machine's addresses is out of date.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "config/expand.h"
#include "pod/launch_parts.h"
#include "pod/network_private.h"
#include "tests/unit/pod_names_fixture.h"

static struct launch_plan plan;
static struct container_spec container;
static struct member member;
static struct spec_env env[16];
static struct network network; /* of which the gateways are looked at */
static struct net_plan net_plan;

static int up(void **state)
{
	if (names_up(state) < 0)
		return -1;
	memset(&plan, 0, sizeof(plan));
	arena_init(&plan.arena, 1 << 20);
	container = (struct container_spec){ .name = "main", .env = env };
	member = (struct member){ .spec = &container, .plan = &plan };
	member.pod = add_pod("space", "web", "10.88.0.2", "fd9c::2");
	member.pod->net.plan = &net_plan;
	pods.network = &network;
	(void)inet_parse("10.88.0.1", &network.machine.gateway4);
	return 0;
}

static int down(void **state)
{
	arena_free(&plan.arena);
	return names_down(state);
}

static void ask(const char *name, enum env_source source, const char *value)
{
	env[container.n_env++] =
		(struct spec_env){ .name = name, .value = value, .source = source };
}

static const char *value_of(const char *name)
{
	struct expand_env e;
	struct err why = { 0 };

	if (launch_env_expand(&plan, &member, &e, &why) < 0)
		fail_msg("%s", why.text);
	for (size_t i = 0; i < e.n; i++)
		if (!strcmp(e.vars[i].name, name))
			return e.vars[i].value;
	return NULL;
}

static void set_host(size_t i, const char *ip)
{
	assert_int_equal(inet_parse_cidr(ip, &pods.uplink.addrs[i]), 0);
	pods.uplink.n_addrs = MAX(pods.uplink.n_addrs, i + 1);
}

static void fields(void **state)
{
	struct spec_pair labels[] = { { "app", "x$(NAME)" } };
	struct spec_pair notes[] = { { "note", "text" } };
	char machine_name[128];

	(void)state;
	(void)strcpy(member.pod->uid, "1-2-3");
	member.pod->spec->n_labels = member.pod->spec->n_annotations = 1;
	member.pod->spec->labels = labels;
	member.pod->spec->annotations = notes;
	ask("NAME", ENV_POD_NAME, NULL);
	ask("SPACE", ENV_POD_NAMESPACE, NULL);
	ask("ID", ENV_POD_UID, NULL);
	ask("APP", ENV_POD_LABEL, "app");
	ask("NONE", ENV_POD_LABEL, "note");
	ask("NOTE", ENV_POD_ANNOTATION, "note");
	ask("NODE", ENV_NODE_NAME, NULL);
	ask("ACCOUNT", ENV_SERVICE_ACCOUNT, NULL);
	ask("IP", ENV_POD_IP, NULL);
	ask("IPS", ENV_POD_IPS, NULL);
	ask("URL", ENV_VALUE, "http://$(IP)/$(NAME)");
	assert_string_equal(value_of("NAME"), "web");
	assert_string_equal(value_of("SPACE"), "space");
	assert_string_equal(value_of("ID"), "1-2-3");
	assert_string_equal(value_of("APP"), "x$(NAME)"); /* not expanded any further */
	assert_string_equal(value_of("NONE"), "");
	assert_string_equal(value_of("NOTE"), "text");
	assert_int_equal(gethostname(machine_name, sizeof(machine_name)), 0);
	assert_string_equal(value_of("NODE"), machine_name);
	assert_string_equal(value_of("ACCOUNT"), "default");
	assert_string_equal(value_of("IP"), "10.88.0.2");
	assert_string_equal(value_of("IPS"), "10.88.0.2,fd9c::2");
	assert_string_equal(value_of("URL"), "http://10.88.0.2/web");
	assert_false(launch_plan_stale(&member));
	member.pod->net.ip4.family = 0;
	assert_string_equal(value_of("IP"), "fd9c::2");
}

static void host_ips_one_a_family(void **state)
{
	(void)state;
	set_host(0, "192.0.2.7/24");
	set_host(1, "192.0.2.8/24");
	set_host(2, "2001:db8::7/64");
	ask("IP", ENV_HOST_IP, NULL);
	ask("IPS", ENV_HOST_IPS, NULL);
	assert_string_equal(value_of("IP"), "192.0.2.7");
	assert_string_equal(value_of("IPS"), "192.0.2.7,2001:db8::7");
}

static void host_network_has_the_machines(void **state)
{
	(void)state;
	set_host(0, "192.0.2.7/24");
	member.pod->spec->host_network = true;
	member.pod->net.plan = NULL;
	ask("IP", ENV_POD_IP, NULL);
	assert_string_equal(value_of("IP"), "192.0.2.7");
	set_host(0, "192.0.2.9/24");
	assert_true(launch_plan_stale(&member));
}

static void plans_that_are_out_of_date(void **state)
{
	(void)state;
	set_host(0, "192.0.2.7/24");
	ask("NAME", ENV_POD_NAME, NULL);
	ask("IP", ENV_POD_IP, NULL);
	assert_string_equal(value_of("NAME"), "web");
	set_host(0, "192.0.2.9/24");
	assert_false(launch_plan_stale(&member)); /* it holds nothing of the machine's */
	ask("HOST", ENV_HOST_IP, NULL);
	assert_string_equal(value_of("HOST"), "192.0.2.9");
	assert_false(launch_plan_stale(&member));
	set_host(1, "192.0.2.10/24"); /* a second of the family is not shown */
	assert_false(launch_plan_stale(&member));
	set_host(0, "192.0.2.11/24");
	assert_true(launch_plan_stale(&member));
	set_host(0, "192.0.2.9/24");
	set_host(1, "2001:db8::7/64");
	assert_true(launch_plan_stale(&member));
	pods.uplink.n_addrs = 1;
	assert_false(launch_plan_stale(&member));
	pods.uplink.n_addrs = 0; /* the gateways stand in */
	assert_true(launch_plan_stale(&member));
}

#define ENV_CASE(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_CASE(fields),
		ENV_CASE(host_ips_one_a_family),
		ENV_CASE(host_network_has_the_machines),
		ENV_CASE(plans_that_are_out_of_date),
	};

	return cmocka_run_group_tests_name("pod launch_env", tests, NULL, NULL);
}
