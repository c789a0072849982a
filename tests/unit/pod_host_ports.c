// SPDX-License-Identifier: Apache-2.0
/*
 * pod_host_ports.c - which pods may stand beside each other, and what each port of the
 * machine is translated to.
 *
 * The pods' specs are read from manifests, so that a wildcard or a hostNetwork's default
 * is what config makes of it. In the texts ' stands for ".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "config/diag.h"
#include "pod/host_ports.h"
#include "tests/unit/pod_names_fixture.h"

#define MEMBER(name, ports)      "{'name':'" name "','image':'i','ports':[" ports "]}"
#define ONE(name, ports)         "'containers':[" MEMBER(name, ports) "]"
/* more: further fields, each with a comma before it. */
#define PORT(inner, outer, more) "{'containerPort':" #inner ",'hostPort':" #outer more "}"
#define ON(ip)                   ",'hostIP':'" ip "'"
#define UDP                      ",'protocol':'UDP'"

static struct pod_spec *read_spec(const char *name, const char *spec)
{
	static struct diag diag;
	struct pod_spec *found;
	struct manifest m;
	char json[2048];
	int n = snprintf(json, sizeof(json),
			 "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},"
			 "'spec':{%s}}",
			 name, spec);

	assert_in_range(n, 1, sizeof(json) - 1);
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	diag_init(&diag, "pod.json");
	if (manifest_parse(json, (size_t)n, &diag, &m) < 0)
		fail_msg("%s: %s", diag.items[0].pointer, diag.items[0].text);
	assert_int_equal(m.n_pods, 1);
	found = m.pods[0].spec;
	m.pods[0].spec = NULL;
	manifest_free(&m);
	return found;
}

static struct pod *add(const char *name, const char *ip4, const char *ip6,
		       const char *spec)
{
	struct pod_spec *found = read_spec(name, spec);
	struct pod *pod = add_pod("default", name, ip4, ip6);

	pod->spec = found;
	return pod;
}

/* One that has its ports. */
static struct pod *add_holder(const char *name, const char *spec)
{
	struct pod *pod = add(name, "10.88.0.2", NULL, spec);

	pod->net.ports_held = true;
	return pod;
}

/* One that asks for them. */
static struct pod *add_asker(const char *name, const char *spec)
{
	return add(name, "10.88.0.3", NULL, spec);
}

static int down(void **state)
{
	for (size_t i = 0; i < n_all; i++)
		pod_spec_free(all[i].spec);
	return names_down(state);
}

static void assert_free(const struct pod *pod)
{
	struct err e = { 0 };

	if (host_ports_check(&pods, pod, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(e.code, 0);
}

static void assert_taken(const struct pod *pod, const char *text)
{
	struct err e = { 0 };

	assert_int_equal(host_ports_check(&pods, pod, &e), -EADDRINUSE);
	assert_string_equal(e.text, text);
	assert_int_equal(e.code, EADDRINUSE);
	assert_int_equal(e.stage, STAGE_CONFIG);
	assert_int_equal(host_ports_check(&pods, pod, NULL), -EADDRINUSE);
}

/* ---- who may stand beside whom ---- */

static void different_ports_do_not_meet(void **state)
{
	struct pod *db;

	(void)state;
	assert_free(add_asker("first", ONE("c", PORT(80, 8080, ""))));
	(void)add_holder("web", ONE("c", PORT(80, 8080, "") "," PORT(81, 8081, "")));
	db = add_asker("db", ONE("c", PORT(80, 8082, "") "," PORT(8080, 8083, "")));
	assert_free(db);
	/* Nor do its own, once it has them. */
	db->net.ports_held = true;
	assert_free(db);
}

static void same_port_is_refused_with_names(void **state)
{
	struct pod *web = add_holder(
		"web", "'initContainers':[" MEMBER("prepare", "") "]," ONE(
			       "front", PORT(80, 8079, "") "," PORT(81, 8080, "")));
	struct pod *db = add_asker("db", "'containers':[" MEMBER("main", "") "," MEMBER(
						 "stats", PORT(90, 8080, "")) "]");
	struct pod *third;

	(void)state;
	(void)snprintf(web->namespace, sizeof(web->namespace), "prod");
	assert_taken(db, "hostPort 8080/TCP of db/stats is taken by web/front of pod "
			 "prod/web");
	/* It is not the first pod of the list that has it, nor the first port. */
	(void)add_holder("far", ONE("c", PORT(1, 7000, UDP)));
	third = add_asker("third", ONE("c", PORT(1, 7001, UDP) "," PORT(2, 7000, UDP)));
	assert_taken(third, "hostPort 7000/UDP of third/c is taken by far/c of pod "
			    "default/far");
}

static void another_protocol_is_another_port(void **state)
{
	struct pod *sctp;

	(void)state;
	(void)add_holder("web", ONE("c", PORT(53, 53, "")));
	assert_free(add_asker("udp", ONE("c", PORT(53, 53, UDP))));
	sctp = add_asker("sctp", ONE("c", PORT(53, 53, ",'protocol':'SCTP'")));
	assert_free(sctp);
	sctp->net.ports_held = true;
	assert_taken(
		add_asker("again", ONE("c", PORT(1, 53, ",'protocol':'SCTP'"))),
		"hostPort 53/SCTP of again/c is taken by sctp/c of pod default/sctp");
}

static void no_host_port_is_no_conflict(void **state)
{
	struct pod *asker;

	(void)state;
	(void)add_holder("web", ONE("c", "{'containerPort':80}"));
	asker = add_asker("db", ONE("c", "{'containerPort':80}," PORT(80, 8080, "")));
	assert_free(asker);
	assert_true(host_ports_any(asker));
	assert_false(host_ports_any(&all[0]));
}

/* ---- addresses ---- */

static void a_wildcard_meets_every_address(void **state)
{
	static const char *const wildcards[] = {
		ONE("c", PORT(80, 8080, "")),
		ONE("c", PORT(80, 8080, ON("0.0.0.0"))),
		ONE("c", PORT(80, 8080, ON("::"))),
	};
	static const char *const addresses[] = {
		ONE("c", PORT(80, 8080, ON("192.0.2.1"))),
		ONE("c", PORT(80, 8080, ON("2001:db8::1"))),
	};
	static const char text[] =
		"hostPort 8080/TCP of b/c is taken by a/c of pod default/a";

	for (size_t w = 0; w < ARRAY_SIZE(wildcards); w++) {
		for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
			for (int turned = 0; turned < 2; turned++) {
				const char *one = wildcards[w], *two = addresses[i];

				(void)add_holder("a", turned ? two : one);
				assert_taken(add_asker("b", turned ? one : two), text);
				(void)down(state);
				(void)names_up(state);
			}
		(void)add_holder("a", wildcards[w]);
		assert_taken(add_asker("b", wildcards[0]), text);
		(void)down(state);
		(void)names_up(state);
	}
}

static void different_addresses_do_not_meet(void **state)
{
	(void)state;
	(void)add_holder("web", ONE("c", PORT(80, 8080, ON("192.0.2.1"))));
	(void)add_holder("six", ONE("c", PORT(80, 8080, ON("2001:db8::1"))));
	assert_free(add_asker("other", ONE("c", PORT(80, 8080, ON("192.0.2.2")))));
	assert_free(add_asker("far", ONE("c", PORT(80, 8080, ON("2001:db8::2")))));
	assert_taken(add_asker("same", ONE("c", PORT(80, 8080, ON("192.0.2.1")))),
		     "hostPort 8080/TCP of same/c is taken by web/c of pod default/web");
	/* Whatever the spelling. */
	assert_taken(add_asker("long", ONE("c", PORT(80, 8080, ON("2001:db8:0::0:1")))),
		     "hostPort 8080/TCP of long/c is taken by six/c of pod default/six");
}

/* ---- who has ports ---- */

static void what_nobody_holds_is_free(void **state)
{
	struct pod *ended = add_holder("ended", ONE("c", PORT(80, 8080, "")));
	struct pod *refused = add_pod("default", "refused", NULL, NULL), *asker;

	(void)state;
	refused->spec = NULL;
	asker = add_asker("new", ONE("c", PORT(80, 8080, "")));
	assert_taken(asker, "hostPort 8080/TCP of new/c is taken by ended/c of pod "
			    "default/ended");
	ended->net.ports_held = false;
	assert_free(asker);
	/* It is about the port, not about how far the pod is. */
	ended->state = POD_ENDED;
	ended->net.ports_held = true;
	assert_taken(asker, "hostPort 8080/TCP of new/c is taken by ended/c of pod "
			    "default/ended");
}

static void host_network_has_its_container_ports(void **state)
{
	struct pod *host = add("host", NULL, NULL,
			       "'hostNetwork':true," ONE("c", "{'containerPort':80}"));
	struct pod *second;

	(void)state;
	assert_true(host_ports_any(host));
	host->net.ports_held = true;
	assert_taken(add_asker("web", ONE("d", PORT(8080, 80, ON("192.0.2.1")))),
		     "hostPort 80/TCP of web/d is taken by host/c of pod default/host");
	second = add("second", NULL, NULL,
		     "'hostNetwork':true," ONE("c", "{'containerPort':80}"));
	assert_taken(second, "hostPort 80/TCP of second/c is taken by host/c of pod "
			     "default/host");
	assert_free(add_asker("inner", ONE("d", PORT(80, 8080, ""))));
}

/* ---- translations ---- */

/* The translations as text; stops with -EIO after "limit" of them. */
struct seen {
	char text[1024];
	size_t len, n, limit;
};

static int note(void *arg, const char *member, const struct nft_port *port)
{
	static const char *const protocols[] = { "tcp", "udp", "sctp" };
	char host[INET_TEXT_BYTES] = "*", pod[INET_TEXT_BYTES];
	struct seen *s = arg;

	if (port->host.family)
		(void)inet_format(&port->host, host);
	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len,
				   "%s %s %s %u > %s %u\n", member,
				   protocols[port->protocol], host, port->host_port,
				   inet_format(&port->pod, pod), port->pod_port);
	assert_true(s->len < sizeof(s->text));
	return ++s->n == s->limit ? -EIO : 0;
}

static void assert_each(const struct pod *pod, const char *text)
{
	struct seen s = { .len = 0 };

	assert_int_equal(host_ports_each(pod, note, &s), 0);
	assert_string_equal(s.text, text);
}

#define PAIR                                                                                 \
	"'initContainers':[" MEMBER(                                                         \
		"i",                                                                         \
		PORT(1, 7000,                                                                \
		     UDP)) "],"                                                              \
			   "'containers':[" MEMBER(                                          \
				   "b",                                                      \
				   PORT(80, 8081, ON("192.0.2.1")) "," PORT(                 \
					   81, 8080,                                         \
					   "") ","                                           \
					       "{'containerPort':82}") "," MEMBER("a",       \
										  PORT(90,   \
										       9090, \
										       ON("2001:db8::1") ",'protocol':'SCTP'")) "]"

static void each_in_the_order_of_the_manifest(void **state)
{
	struct seen s = { .limit = 2 };
	struct pod *both = add("both", "10.88.0.2", "fd9c::2", PAIR);

	(void)state;
	assert_each(both, "i udp * 7000 > 10.88.0.2 1\n"
			  "i udp * 7000 > fd9c::2 1\n"
			  "b tcp 192.0.2.1 8081 > 10.88.0.2 80\n"
			  "b tcp * 8080 > 10.88.0.2 81\n"
			  "b tcp * 8080 > fd9c::2 81\n"
			  "a sctp 2001:db8::1 9090 > fd9c::2 90\n");
	assert_int_equal(host_ports_each(both, note, &s), -EIO);
	assert_string_equal(s.text, "i udp * 7000 > 10.88.0.2 1\n"
				    "i udp * 7000 > fd9c::2 1\n");
	assert_each(add("four", "10.88.0.3", NULL, PAIR),
		    "i udp * 7000 > 10.88.0.3 1\n"
		    "b tcp 192.0.2.1 8081 > 10.88.0.3 80\n"
		    "b tcp * 8080 > 10.88.0.3 81\n");
	assert_each(add("six", NULL, "fd9c::4", PAIR),
		    "i udp * 7000 > fd9c::4 1\n"
		    "b tcp * 8080 > fd9c::4 81\n"
		    "a sctp 2001:db8::1 9090 > fd9c::4 90\n");
}

static void expanding_one_port(void **state)
{
	struct pod *pod = add("p", "10.88.0.2", "fd9c::2", PAIR);
	const struct spec_port *ports = pod->spec->members[1].ports;
	struct nft_port found[2];

	(void)state;
	assert_int_equal(host_ports_expand(pod, &ports[0], found), 1);
	assert_int_equal(found[0].pod.family, pod->net.ip4.family);
	assert_int_equal(host_ports_expand(pod, &ports[1], found), 2);
	assert_true(inet_same(&found[0].pod, &pod->net.ip4));
	assert_true(inet_same(&found[1].pod, &pod->net.ip6));
	assert_int_equal(host_ports_expand(pod, &ports[2], found), 0);
}

/* Two of one pod are no conflict with each other; an init container gives way to what
 * comes after it, in the very same place only. */
static void members_of_one_pod_share_a_port(void **state)
{
	struct pod *pod = add_asker(
		"p",
		"'initContainers':[" MEMBER("i", PORT(1, 8080, "")) "," MEMBER(
			"k",
			PORT(2, 8080, "") "," PORT(3, 8080, UDP) "," PORT(
				4, 8080,
				ON("192.0.2.1")) "," PORT(5, 8081,
							  "")) "]," ONE("c",
									PORT(80, 8080,
									     "")));

	(void)state;
	assert_free(pod);
	pod->net.ports_held = true;
	assert_free(pod);
	assert_each(pod, "k udp * 8080 > 10.88.0.3 3\n"
			 "k tcp 192.0.2.1 8080 > 10.88.0.3 4\n"
			 "k tcp * 8081 > 10.88.0.3 5\n"
			 "c tcp * 8080 > 10.88.0.3 80\n");
	/* An init container's port is held against others all the same. */
	assert_taken(add_asker("q", ONE("c", PORT(80, 8081, ""))),
		     "hostPort 8081/TCP of q/c is taken by p/k of pod default/p");
}

static void host_network_is_not_translated(void **state)
{
	(void)state;
	assert_each(add("host", NULL, NULL,
			"'hostNetwork':true," ONE("c", "{'containerPort':80}")),
		    "");
}

#define PORTS_CASE(name) cmocka_unit_test_setup_teardown(name, names_up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PORTS_CASE(different_ports_do_not_meet),
		PORTS_CASE(same_port_is_refused_with_names),
		PORTS_CASE(another_protocol_is_another_port),
		PORTS_CASE(no_host_port_is_no_conflict),
		PORTS_CASE(a_wildcard_meets_every_address),
		PORTS_CASE(different_addresses_do_not_meet),
		PORTS_CASE(what_nobody_holds_is_free),
		PORTS_CASE(host_network_has_its_container_ports),
		PORTS_CASE(each_in_the_order_of_the_manifest),
		PORTS_CASE(expanding_one_port),
		PORTS_CASE(members_of_one_pod_share_a_port),
		PORTS_CASE(host_network_is_not_translated),
	};

	return cmocka_run_group_tests_name("host ports", tests, NULL, NULL);
}
