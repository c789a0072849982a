// SPDX-License-Identifier: Apache-2.0
/*
 * pod_resolv_file.c - the text of /etc/resolv.conf: whose servers, the pod's additions,
 * the kubelet's limits, and files of the machine in odd shapes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/pod_names_fixture.h"

static int result;

static const char *resolv(const struct pod *pod, const char *file)
{
	struct buf b;

	buf_init(&b, NAMES_RESOLV_BYTES);
	result = names_resolv_text(pod, file, &b);
	assert_true(result >= 0);
	return text_of(&b);
}

static void machine_file_is_taken_over(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);
	static const char file[] = "# comment\n"
				   "; another\n"
				   "domain dropped.example\n"
				   "search old.example\n"
				   "nameserver 192.0.2.1\n"
				   "  nameserver\t2001:db8::1  trailing\r\n"
				   "nameserver 192.0.2.1\n"
				   "nameserver\n"
				   "options ndots:2 timeout:1\n"
				   "options ndots:3 rotate\n"
				   "\n"
				   "search a.example. b.example . a.example\n"
				   "unknown words";
	static const char text[] = "search a.example b.example .\n"
				   "nameserver 192.0.2.1\n"
				   "nameserver 2001:db8::1\n"
				   "options ndots:3 timeout:1 rotate\n";
	static const enum dns_policy policies[] = { DNS_DEFAULT, DNS_CLUSTER_FIRST,
						    DNS_CLUSTER_FIRST_WITH_HOST_NET };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		pod->spec->dns.policy = policies[i];
		assert_string_equal(resolv(pod, file), text);
		assert_int_equal(result, 0);
	}
	assert_string_equal(resolv(pod, NULL), "");
	assert_string_equal(resolv(pod, ""), "");
	assert_string_equal(resolv(pod, "nameserver 192.0.2.9"),
			    "nameserver 192.0.2.9\n");
}

static void uplink_comes_before_the_file(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);
	static const char file[] = "nameserver 192.0.2.1\nsearch file.example\n"
				   "options rotate\n";

	(void)state;
	pods.uplink.n_servers = 2;
	assert_int_equal(inet_parse("198.51.100.1", &pods.uplink.servers[0]), 0);
	assert_int_equal(inet_parse("2001:db8::53", &pods.uplink.servers[1]), 0);
	assert_string_equal(resolv(pod, file),
			    "search file.example\nnameserver 198.51.100.1\n"
			    "nameserver 2001:db8::53\noptions rotate\n");
	(void)strcpy(pods.uplink.search, "lease.example  two.example");
	assert_string_equal(resolv(pod, file),
			    "search lease.example two.example\n"
			    "nameserver 198.51.100.1\nnameserver 2001:db8::53\n"
			    "options rotate\n");
}

static void machine_json_comes_first(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);
	const char *servers[] = { "203.0.113.1", NULL };
	const char *searches[] = { "json.example", NULL };
	const char *options[] = { "ndots:1", NULL }, *none[] = { NULL };
	static const char file[] = "nameserver 192.0.2.1\nsearch file.example\n"
				   "options rotate\n";

	(void)state;
	pods.uplink.n_servers = 1;
	assert_int_equal(inet_parse("198.51.100.1", &pods.uplink.servers[0]), 0);
	(void)strcpy(pods.uplink.search, "lease.example");
	machine.network.dns_servers = servers;
	assert_string_equal(resolv(pod, file),
			    "search lease.example\nnameserver 203.0.113.1\n"
			    "options rotate\n");
	machine.network.dns_searches = searches;
	machine.network.dns_options = options;
	assert_string_equal(resolv(pod, file),
			    "search json.example\nnameserver 203.0.113.1\n"
			    "options ndots:1\n");
	machine.network.dns_searches = none; /* none is what was asked for */
	assert_string_equal(resolv(pod, file),
			    "nameserver 203.0.113.1\noptions ndots:1\n");
}

static void pod_adds_and_replaces(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);
	const char *servers[] = { "192.0.2.1", "2001:db8::2" };
	const char *searches[] = { "pod.example", "file.example" };
	struct spec_dns_option options[] = { { "ndots", "5" },
					     { "edns0", NULL },
					     { "rotate", "" } };
	static const char file[] = "nameserver 192.0.2.1\nsearch file.example\n"
				   "options ndots:1 timeout:3 rotate:x\n";

	(void)state;
	pod->spec->dns = (struct spec_dns){ DNS_DEFAULT, 2,        2,      3,
					    servers,     searches, options };
	assert_string_equal(resolv(pod, file),
			    "search file.example pod.example\n"
			    "nameserver 192.0.2.1\nnameserver 2001:db8::2\n"
			    "options ndots:5 timeout:3 rotate edns0\n");
	assert_int_equal(result, 0);
	pod->spec->dns.policy = DNS_NONE;
	machine.network.dns_options = (const char *[]){ "never", NULL };
	assert_string_equal(resolv(pod, file),
			    "search pod.example file.example\n"
			    "nameserver 192.0.2.1\nnameserver 2001:db8::2\n"
			    "options ndots:5 edns0 rotate\n");
}

/* "ndots" and "ndotsx" are two options. */
static void option_names_are_whole(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);

	(void)state;
	assert_string_equal(resolv(pod, "options ndots:1 ndot:2 ndotsx:3 ndots\n"),
			    "options ndots ndot:2 ndotsx:3\n");
}

static void server_limit(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);
	static const char file[] = "nameserver 192.0.2.1\nnameserver 192.0.2.2\n"
				   "nameserver 192.0.2.3\n";
	const char *more[] = { "192.0.2.4" }, *same[] = { "192.0.2.2" };

	(void)state;
	assert_string_equal(resolv(pod, file), file);
	assert_int_equal(result, 0);
	pod->spec->dns = (struct spec_dns){ .n_servers = 1, .servers = more };
	assert_string_equal(resolv(pod, file), file);
	assert_int_equal(result, 1);
	pod->spec->dns.servers = same;
	assert_string_equal(resolv(pod, file), file);
	assert_int_equal(result, 0);
}

static void search_limits(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);
	char names[40][260], line[16384] = "", label[200];
	const char *searches[40];

	(void)state;
	for (unsigned int i = 0; i < 33; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "s%u.example", i);
		searches[i] = names[i];
	}
	pod->spec->dns = (struct spec_dns){ .policy = DNS_NONE,
					    .n_searches = 32,
					    .searches = searches };
	(void)resolv(pod, NULL);
	assert_int_equal(result, 0);
	pod->spec->dns.n_searches = 33;
	assert_null(strstr(resolv(pod, NULL), "s32.example"));
	assert_int_equal(result, 1);
	/* 2048 bytes with the blanks between them are allowed, one more is not. */
	memset(label, 'x', sizeof(label));
	for (unsigned int i = 0; i < 11; i++)
		(void)snprintf(names[i], sizeof(names[i]), "%02u%.*s", i,
			       i < 10 ? 184 : 185, label);
	pod->spec->dns.n_searches = 11; /* 10 * 186 + 187 + 10 = 2057 */
	assert_null(strstr(resolv(pod, NULL), " 10x"));
	assert_int_equal(result, 1);
	(void)snprintf(names[10], sizeof(names[10]), "10%.*s", 176, label); /* 2048 */
	assert_non_null(strstr(resolv(pod, NULL), " 10x"));
	assert_int_equal(result, 0);
	(void)snprintf(names[10], sizeof(names[10]), "10%.*s", 177, label);
	assert_null(strstr(resolv(pod, NULL), " 10x"));
	assert_int_equal(result, 1);
	/* And one that is too long by itself goes alone. */
	(void)snprintf(line, sizeof(line), "search %.*s%.*s ok.example\n", 190, label, 64,
		       label);
	pod->spec->dns = (struct spec_dns){ 0 };
	assert_string_equal(resolv(pod, line), "search ok.example\n");
	assert_int_equal(result, 1);
}

/* Far more than anybody needs: bounded, and said so. */
static void huge_machine_file(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);
	size_t size = NAMES_MACHINE_BYTES, len = 0;
	char *file = calloc(1, size);

	(void)state;
	while (len < size - 64)
		len += (size_t)snprintf(file + len, size - len,
					"nameserver 10.%zu.%zu.1\noptions o%zu\n",
					len / 250 % 250, len % 250, len);
	(void)resolv(pod, file);
	assert_int_equal(result, 1);
	memset(file, ' ', size - 1);
	memcpy(file, "search", 6);
	assert_string_equal(resolv(pod, file), "");
	memset(file, '\n', size - 1);
	assert_string_equal(resolv(pod, file), "");
	free(file);
}

static void too_small_a_buffer(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);
	static const char file[] = "search a\nnameserver 192.0.2.1\noptions rotate\n";
	struct buf b;

	(void)state;
	for (size_t max = 0; max < strlen(file); max++) {
		buf_init(&b, max);
		assert_int_equal(names_resolv_text(pod, file, &b), -ENOBUFS);
		buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NAMES_CASE(machine_file_is_taken_over),
		NAMES_CASE(uplink_comes_before_the_file),
		NAMES_CASE(machine_json_comes_first),
		NAMES_CASE(pod_adds_and_replaces),
		NAMES_CASE(option_names_are_whole),
		NAMES_CASE(server_limit),
		NAMES_CASE(search_limits),
		NAMES_CASE(huge_machine_file),
		NAMES_CASE(too_small_a_buffer),
	};

	return cmocka_run_group_tests_name("pod resolv_file", tests, NULL, NULL);
}
