// SPDX-License-Identifier: Apache-2.0
/*
 * pod_hosts_file.c - the text of /etc/hosts, to the byte: own lines, neighbours, aliases,
 * and the same text out of a view that many pods share.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/pod_names_fixture.h"

#define HEAD                                          \
	"# Kubernetes-managed hosts file.\n"          \
	"127.0.0.1\tlocalhost\n"                      \
	"::1\tlocalhost ip6-localhost ip6-loopback\n" \
	"fe00::0\tip6-localnet\n"                     \
	"fe00::0\tip6-mcastprefix\n"                  \
	"fe00::1\tip6-allnodes\n"                     \
	"fe00::2\tip6-allrouters\n"

static const char *hosts(const struct pod *pod, const char *machine_hosts)
{
	struct buf b;

	buf_init(&b, NAMES_HOSTS_BYTES);
	assert_int_equal(names_hosts_text(pod, machine_hosts, &b), 0);
	return text_of(&b);
}

static void alone(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);

	(void)state;
	assert_string_equal(hosts(pod, "never used\n"), HEAD "10.88.0.2\tweb\n");
	assert_int_equal(inet_parse("fd9c::2", &pod->net.ip6), 0);
	assert_string_equal(hosts(pod, NULL), HEAD "10.88.0.2\tweb\nfd9c::2\tweb\n");
	pod->net.ip4.family = 0;
	assert_string_equal(hosts(pod, NULL), HEAD "fd9c::2\tweb\n");
}

static void own_names(void **state)
{
	struct pod *pod = add_pod("space", "web", "10.88.0.2", "fd9c::2");

	(void)state;
	pod->spec->hostname = "myhost";
	assert_string_equal(hosts(pod, NULL),
			    HEAD "10.88.0.2\tmyhost\nfd9c::2\tmyhost\n");
	pod->spec->subdomain = "sub";
	assert_string_equal(hosts(pod, NULL),
			    HEAD "10.88.0.2\tmyhost.sub.space.svc.cluster.local\tmyhost\n"
				 "fd9c::2\tmyhost.sub.space.svc.cluster.local\tmyhost\n");
	/* Of the name that uname(2) shows the file says nothing. */
	pod->spec->hostname_is_fqdn = true;
	machine.network.cluster_domain = "lan";
	assert_string_equal(hosts(pod, NULL),
			    HEAD "10.88.0.2\tmyhost.sub.space.svc.lan\tmyhost\n"
				 "fd9c::2\tmyhost.sub.space.svc.lan\tmyhost\n");
	pod->spec->hostname_override = "xx.yy.zz";
	assert_string_equal(hosts(pod, NULL),
			    HEAD "10.88.0.2\txx.yy.zz\nfd9c::2\txx.yy.zz\n");
}

static void aliases(void **state)
{
	const char *names[] = { "foo", "bar.example" };
	struct spec_host_alias list[] = { { "192.0.2.7", 2, names },
					  { "2001:db8::7", 1, names } };
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);

	(void)state;
	pod->spec->n_aliases = 2;
	pod->spec->aliases = list;
	(void)add_pod("default", "other", "10.88.0.3", NULL);
	assert_string_equal(hosts(pod, NULL), HEAD "10.88.0.2\tweb\n"
						   "10.88.0.3\tother.default\tother\n"
						   "\n# Entries added by HostAliases.\n"
						   "192.0.2.7\tfoo\tbar.example\n"
						   "2001:db8::7\tfoo\n");
}

static void host_network(void **state)
{
	const char *names[] = { "foo" };
	struct spec_host_alias alias = { "192.0.2.7", 1, names };
	struct pod *pod = add_pod("default", "agent", NULL, NULL);

	(void)state;
	pod->spec->host_network = true;
	pod->net.made = false;
#define HEAD_HOST "# Kubernetes-managed hosts file (host network).\n"
	assert_string_equal(hosts(pod, NULL), HEAD_HOST);
	assert_string_equal(hosts(pod, ""), HEAD_HOST);
	assert_string_equal(hosts(pod, "127.0.0.1 box\n"), HEAD_HOST "127.0.0.1 box\n");
	(void)add_pod("default", "web", "10.88.0.2", NULL);
	pod->spec->n_aliases = 1;
	pod->spec->aliases = &alias;
	assert_string_equal(hosts(pod, "127.0.0.1 box"),
			    HEAD_HOST "127.0.0.1 box\n10.88.0.2\tweb.default\tweb\n"
				      "\n# Entries added by HostAliases.\n"
				      "192.0.2.7\tfoo\n");
}

static void neighbours(void **state)
{
	struct pod *web = add_pod("default", "web", "10.88.0.2", "fd9c::2");
	struct pod *db = add_pod("default", "db", "10.88.0.3", "fd9c::3");
	struct pod *far = add_pod("prod", "db", "10.88.0.4", NULL);
	struct pod *sub = add_pod("prod", "api", "10.88.0.5", NULL);

	(void)state;
	db->spec->hostname = "postgres";
	sub->spec->subdomain = "front";
	sub->spec->hostname = "one";
	assert_string_equal(hosts(web, NULL), HEAD
			    "10.88.0.2\tweb\nfd9c::2\tweb\n"
			    "10.88.0.3\tdb.default\tdb postgres\n"
			    "fd9c::3\tdb.default\tdb postgres\n"
			    "10.88.0.4\tdb.prod\n"
			    "10.88.0.5\tapi.prod\tone.front.prod.svc.cluster.local\n");
	assert_string_equal(
		hosts(far, NULL),
		HEAD "10.88.0.4\tdb\n"
		     "10.88.0.2\tweb.default\nfd9c::2\tweb.default\n"
		     "10.88.0.3\tdb.default\nfd9c::3\tdb.default\n"
		     "10.88.0.5\tapi.prod\tapi one\tone.front.prod.svc.cluster.local\n");
}

static void only_pods_that_can_be_reached(void **state)
{
	struct pod *web = add_pod("default", "web", "10.88.0.2", NULL);
	struct pod *early = add_pod("default", "early", "10.88.0.3", NULL);
	struct pod *ended = add_pod("default", "ended", "10.88.0.4", NULL);
	struct pod *host = add_pod("default", "host", NULL, NULL);
	struct pod *stopping = add_pod("default", "stopping", "10.88.0.5", NULL);
	struct pod *refused = add_pod("default", "refused", NULL, NULL);

	(void)state;
	early->net.made = false;
	ended->state = POD_ENDED;
	host->spec->host_network = true;
	stopping->state = POD_STOPPING;
	refused->state = POD_REFUSED;
	refused->spec = NULL;
	assert_string_equal(hosts(web, NULL), HEAD
			    "10.88.0.2\tweb\n10.88.0.5\tstopping.default\tstopping\n");
}

/* A neighbour's name must not be joined with the loopback's or the reader's own. */
static void names_that_are_taken(void **state)
{
	struct pod *web = add_pod("default", "web", "10.88.0.2", NULL);
	struct pod *bad = add_pod("default", "localhost", "10.88.0.3", NULL);
	struct pod *twin = add_pod("default", "twin", "10.88.0.4", NULL);

	(void)state;
	twin->spec->hostname = "web";
	bad->spec->hostname = "ip6-allnodes";
	assert_string_equal(hosts(web, NULL), HEAD "10.88.0.2\tweb\n"
						   "10.88.0.3\tlocalhost.default\n"
						   "10.88.0.4\ttwin.default\ttwin\n");
	assert_string_equal(hosts(bad, NULL), HEAD "10.88.0.3\tip6-allnodes\n"
						   "10.88.0.2\tweb.default\tweb\n"
						   "10.88.0.4\ttwin.default\ttwin web\n");
}

/* Whatever the mixture, the quick way gives what the plain way gives. */
static void views_give_the_same(void **state)
{
	static const char *const spaces[] = { "default", "prod" };
	char plain[8192], names[12][8], ip[32];

	(void)state;
	for (unsigned int i = 0; i < 12; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "p%u", i);
		(void)snprintf(ip, sizeof(ip), "10.88.0.%u", i + 2);
		(void)add_pod(spaces[i % 2], names[i], ip, i % 3 ? NULL : "fd9c::9");
	}
	all[0].net.made = false; /* at the very begin and end, too */
	all[4].spec->hostname = "p6";
	all[5].spec->host_network = true;
	all[7].spec->subdomain = "sub";
	all[8].state = POD_ENDED;
	for (size_t s = 0; s < ARRAY_SIZE(spaces); s++) {
		struct hosts_view view;

		assert_int_equal(hosts_view_make(&pods, spaces[s], &view), 0);
		for (size_t i = s; i < n_all; i += 2) {
			struct buf b;

			(void)snprintf(plain, sizeof(plain), "%s", hosts(&all[i], "m"));
			buf_init(&b, NAMES_HOSTS_BYTES);
			assert_int_equal(hosts_text_from_view(&all[i], i, &view, "m", &b),
					 0);
			assert_string_equal(text_of(&b), plain);
		}
		hosts_view_free(&view);
		hosts_view_free(&view);
	}
}

static void too_small_a_buffer(void **state)
{
	struct pod *web = add_pod("default", "web", "10.88.0.2", NULL);
	const char *names[] = { "foo" };
	struct spec_host_alias alias = { "192.0.2.7", 1, names };
	struct buf b;
	size_t whole;

	(void)state;
	(void)add_pod("default", "db", "10.88.0.3", NULL);
	web->spec->n_aliases = 1;
	web->spec->aliases = &alias;
	whole = strlen(hosts(web, NULL));
	for (size_t max = 0; max < whole; max++) {
		buf_init(&b, max);
		assert_int_equal(names_hosts_text(web, NULL, &b), -ENOBUFS);
		buf_free(&b);
	}
	buf_init(&b, whole);
	assert_int_equal(names_hosts_text(web, NULL, &b), 0);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NAMES_CASE(alone),
		NAMES_CASE(own_names),
		NAMES_CASE(aliases),
		NAMES_CASE(host_network),
		NAMES_CASE(neighbours),
		NAMES_CASE(only_pods_that_can_be_reached),
		NAMES_CASE(names_that_are_taken),
		NAMES_CASE(views_give_the_same),
		NAMES_CASE(too_small_a_buffer),
	};

	return cmocka_run_group_tests_name("pod hosts_file", tests, NULL, NULL);
}
