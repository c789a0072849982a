// SPDX-License-Identifier: Apache-2.0
/*
 * config_network.c - networks in manifests: what is read, and what is refused where and
 * in which words.
 *
 * In the texts ' stands for ", and ` for \" inside of an annotation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "config/diag.h"
#include "config/pod_spec.h"

#define POD(annotations, spec)                                                  \
	"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','annotations':" \
	"{" annotations "}},'spec':{" spec "'containers':[{'name':'c','image':'i'}]}}"
#define NETS(list)  POD("'podinit/networks':'" list "'", "")
#define POLICY(obj) POD("'podinit/network-policy':'" obj "'", "")
#define AT          "/metadata/annotations/podinit~1networks"
#define AT_POLICY   "/metadata/annotations/podinit~1network-policy"

static struct diag diag;

static size_t to_json(const char *text, char *ret, size_t size)
{
	size_t n = 0;

	for (; *text; text++) {
		assert_true(n + 3 < size);
		if (*text == '`')
			ret[n++] = '\\';
		ret[n++] = *text == '\'' || *text == '`' ? '"' : *text;
	}
	ret[n] = '\0';
	return n;
}

static struct pod_spec *parse_pod(const char *text)
{
	struct manifest m;
	struct pod_spec *spec;
	char json[4096];
	size_t len = to_json(text, json, sizeof(json));

	diag_init(&diag, "pod.json");
	if (manifest_parse(json, len, &diag, &m) < 0)
		return NULL;
	assert_int_equal(m.n_pods, 1);
	spec = m.pods[0].spec;
	m.pods[0].spec = NULL;
	manifest_free(&m);
	return spec;
}

static struct pod_spec *expect_pod(const char *text)
{
	struct pod_spec *spec = parse_pod(text);

	if (!spec)
		fail_msg("%s: %s", diag.items[0].pointer, diag.items[0].text);
	return spec;
}

static void assert_inet(const struct inet *a, const char *cidr)
{
	char text[INET_TEXT_BYTES];

	assert_string_equal(inet_format_cidr(a, text), cidr);
}

/* ---- pods ---- */

static void test_default_network(void **state)
{
	struct pod_spec *p = expect_pod(POD("", ""));

	(void)state;
	assert_int_equal(p->n_networks, 1);
	assert_int_equal(p->networks[0].kind, SPEC_NET_POD);
	assert_string_equal(p->networks[0].interface, "eth0");
	assert_int_equal(p->networks[0].egress_bits, 0);
	pod_spec_free(p);
	p = expect_pod(POD("", "'hostNetwork':true,"));
	assert_int_equal(p->n_networks, 0);
	pod_spec_free(p);
}

static void test_networks(void **state)
{
	struct pod_spec *p = expect_pod(NETS(
		"[{`type`:`pod`,`ips`:[`10.88.0.9`,`fd9c:70d1:8f2e::9`],"
		"`mac`:`02:00:00:00:00:09`,`egress`:`10M`,`ingress`:`1.5G`,`mtu`:1400},"
		"{`type`:`bridge`,`bridge`:`br-lan`,`ips`:[`192.168.7.5/24`],"
		"`gateway`:[`192.168.7.1`,`fe80::1`]},"
		"{`type`:`macvlan`,`parent`:`eth1`,`mode`:`private`,`interface`:`lan`},"
		"{`type`:`ipvlan`,`parent`:`eth1`,`mode`:`l3`},"
		"{`type`:`device`,`device`:`eth2`,`egress`:`1Ki`}]"));
	const struct spec_network *n = p->networks;

	(void)state;
	assert_int_equal(p->n_networks, 5);
	assert_int_equal(n[0].n_ips, 2);
	assert_inet(&n[0].ips[0], "10.88.0.9/32");
	assert_true(n[0].has_mac);
	assert_int_equal(n[0].mac[5], 9);
	assert_int_equal(n[0].egress_bits, 10000000);
	assert_int_equal(n[0].ingress_bits, 1500000000);
	assert_int_equal(n[0].mtu, 1400);
	assert_int_equal(n[1].kind, SPEC_NET_BRIDGE);
	assert_string_equal(n[1].interface, "net1");
	assert_string_equal(n[1].parent, "br-lan");
	assert_inet(&n[1].ips[0], "192.168.7.5/24");
	assert_int_equal(n[1].gateway[0].family, AF_INET);
	assert_int_equal(n[1].gateway[1].family, AF_INET6);
	assert_string_equal(n[2].interface, "lan");
	assert_string_equal(n[2].mode, "private");
	assert_string_equal(n[3].interface, "net3");
	assert_int_equal(n[3].kind, SPEC_NET_IPVLAN);
	assert_string_equal(n[4].parent, "eth2");
	assert_int_equal(n[4].egress_bits, 1024);
	pod_spec_free(p);
}

/* Routers of hosting networks are often reached so: allowed, but it may be an error. */
static void test_gateway_beyond(void **state)
{
	struct pod_spec *p = expect_pod(
		NETS("[{`type`:`bridge`,`bridge`:`b`,`ips`:[`192.0.2.5/32`],"
		     "`gateway`:[`198.51.100.1`,`fe80::1`]}]"));

	(void)state;
	assert_int_equal(diag.n, 1);
	assert_true(diag.items[0].warning);
	assert_string_equal(diag.items[0].pointer, AT "/0/gateway/0");
	assert_non_null(strstr(diag.items[0].text, "198.51.100.1 is in none"));
	assert_non_null(strstr(diag.items[0].text, "taken to be on the link"));
	pod_spec_free(p);
	p = expect_pod(NETS("[{`type`:`device`,`device`:`e`,`ips`:[`192.0.2.5/24`,"
			    "`192.0.2.2/31`],`gateway`:`192.0.2.1`}]"));
	assert_int_equal(diag.n, 0);
	pod_spec_free(p);
}

static void test_bandwidth(void **state)
{
	static const struct {
		const char *text;
		uint64_t bits;
	} quantities[] = {
		{ "1.2345M", 1234500 },
		{ "1.0001G", 1000100000 },
		{ "0.0001E", 100000000000000 },
		{ "1e6", 1000000 },
		{ "1.5E9", 1500000000 },
		{ "1500000m", 1500 },
		{ "+10M", 10000000 },
		{ "1000.0001", 1001 },
		{ "2Mi", 2097152 },
	};
	struct pod_spec *p = expect_pod(POD("'kubernetes.io/egress-bandwidth':'0.5M',"
					    "'kubernetes.io/ingress-bandwidth':'1P'",
					    ""));

	(void)state;
	assert_int_equal(p->networks[0].egress_bits, 500000);
	assert_int_equal(p->networks[0].ingress_bits, 1000000000000000);
	pod_spec_free(p);
	for (size_t i = 0; i < ARRAY_SIZE(quantities); i++) {
		char text[512];

		(void)snprintf(text, sizeof(text),
			       POD("'kubernetes.io/egress-bandwidth':'%s'", ""),
			       quantities[i].text);
		p = expect_pod(text);
		assert_int_equal(p->networks[0].egress_bits, quantities[i].bits);
		pod_spec_free(p);
	}
	p = expect_pod(
		POD("'kubernetes.io/egress-bandwidth':'1M'", "'hostNetwork':true,"));
	assert_int_equal(diag.n, 1); /* a warning: it runs, and nobody limits it */
	assert_true(diag.items[0].warning);
	pod_spec_free(p);
}

static void test_policy(void **state)
{
	struct pod_spec *p = expect_pod(
		POLICY("{`internalNetworks`:[`10.0.0.0/8`],"
		       "`externalNetworks`:[`::/0`,`192.0.2.1/32`]}"));

	(void)state;
	assert_int_equal(p->net_policy.n_internal, 1);
	assert_int_equal(p->net_policy.n_external, 2);
	assert_inet(&p->net_policy.external[1], "192.0.2.1/32");
	pod_spec_free(p);
}

static void test_names(void **state)
{
	struct pod_spec *p = expect_pod(POD(
		"",
		"'subdomain':'sub','setHostnameAsFQDN':true,'dnsPolicy':'None',"
		"'dnsConfig':{'nameservers':['1.1.1.1','::1'],'searches':['a.b','_x.y.'],"
		"'options':[{'name':'ndots','value':'2'},{'name':'rotate'}]},"
		"'hostAliases':[{'ip':'192.0.2.7','hostnames':['foo','bar.x']}],"
		"'serviceAccountName':'sa','automountServiceAccountToken':false,"));

	(void)state;
	assert_string_equal(p->subdomain, "sub");
	assert_true(p->hostname_is_fqdn);
	assert_int_equal(p->dns.policy, DNS_NONE);
	assert_int_equal(p->dns.n_servers, 2);
	assert_int_equal(p->dns.n_searches, 2);
	assert_int_equal(p->dns.n_options, 2);
	assert_string_equal(p->dns.options[0].value, "2");
	assert_null(p->dns.options[1].value);
	assert_int_equal(p->n_aliases, 1);
	assert_int_equal(p->aliases[0].n_names, 2);
	assert_string_equal(p->aliases[0].names[1], "bar.x");
	assert_string_equal(p->service_account, "sa");
	pod_spec_free(p);
}

static void test_ports_and_env(void **state)
{
	struct pod_spec *p = expect_pod(
		"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':{"
		"'initContainers':[{'name':'i','image':'i','ports':[{'containerPort':1,"
		"'hostPort':80}]}],'containers':[{'name':'c','image':'i','ports':["
		"{'name':'web','containerPort':8080,'hostPort':80,'hostIP':'0.0.0.0'},"
		"{'containerPort':53,'hostPort':80,'protocol':'UDP','hostIP':'::1'}],"
		"'env':[{'name':'IP','valueFrom':{'fieldRef':{'fieldPath':'status.podIP'}"
		"}},"
		"{'name':'L','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':"
		"'metadata.labels[\\u0027a.b/c\\u0027]'}}}]}]}}");
	const struct container_spec *c = &p->members[1];

	(void)state;
	assert_int_equal(p->members[0].n_ports, 1);
	assert_int_equal(c->n_ports, 2);
	assert_string_equal(c->ports[0].name, "web");
	assert_int_equal(c->ports[0].host_ip.family, 0);
	assert_int_equal(c->ports[0].host_port, 80);
	assert_int_equal(c->ports[0].container_port, 8080);
	assert_int_equal(c->ports[1].protocol, PORT_UDP);
	assert_int_equal(c->ports[1].host_ip.family, AF_INET6);
	assert_int_equal(c->env[0].source, ENV_POD_IP);
	assert_int_equal(c->env[1].source, ENV_POD_LABEL);
	assert_string_equal(c->env[1].value, "a.b/c");
	pod_spec_free(p);
}

/* The annotation that docs/manifest.md shows must be accepted. */
static void test_document(void **state)
{
	static const char start[] = "\"annotations\": {\n  \"podinit/networks\":";
	FILE *f = fopen("docs/manifest.md", "re");
	char text[65536], json[1024], *example;
	struct manifest m;
	size_t n;

	(void)state;
	if (!f)
		fail_msg("docs/manifest.md: run this from the top of the source");
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	example = strstr(text, start);
	assert_non_null(example);
	assert_non_null(strstr(example, "```"));
	*strstr(example, "```") = '\0';
	(void)snprintf(json, sizeof(json),
		       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"
		       "\"name\":\"p\",%s},\"spec\":{\"containers\":[{"
		       "\"name\":\"c\",\"image\":\"i\"}]}}",
		       example);
	diag_init(&diag, "docs/manifest.md");
	assert_int_equal(manifest_parse(json, strlen(json), &diag, &m), 0);
	if (diag.n != 0)
		fail_msg("%s: %s", diag.items[0].pointer, diag.items[0].text);
	assert_int_equal(m.pods[0].spec->n_networks, 2);
	assert_string_equal(m.pods[0].spec->networks[1].parent, "br-lan");
	assert_inet(&m.pods[0].spec->networks[1].ips[0], "192.168.7.5/24");
	manifest_free(&m);
}

struct row {
	const char *text;
	enum diag_kind kind;
	const char *pointer, *words;
};

static const struct row bad_pods[] = {
	{ POD("'podinit/network':'x'", ""), DIAG_UNKNOWN,
	  "/metadata/annotations/podinit~1network", "\"podinit/networks\"?" },
	{ POD("'podinit/zzz':'x'", ""), DIAG_UNKNOWN,
	  "/metadata/annotations/podinit~1zzz", "unknown annotation" },
	{ NETS("["), DIAG_SYNTAX, AT, "byte 2" },
	{ NETS("{}"), DIAG_TYPE, AT, "a list" },
	{ NETS("[1]"), DIAG_TYPE, AT "/0", "object" },
	{ NETS("[{}]"), DIAG_MISSING, AT "/0/type", "type" },
	{ NETS("[{`type`:`bride`}]"), DIAG_VALUE, AT "/0/type", "bridge" },
	{ NETS("[{`type`:`bridge`}]"), DIAG_MISSING, AT "/0", "needs \"bridge\"" },
	{ NETS("[{`type`:`bridge`,`bridge`:`a b`}]"), DIAG_VALUE, AT "/0/bridge",
	  "interface" },
	{ NETS("[{`type`:`bridge`,`bridge`:`0123456789abcdef`}]"), DIAG_VALUE,
	  AT "/0/bridge", "15" },
	{ NETS("[{`type`:`macvlan`,`parent`:`e`,`mode`:`l2`}]"), DIAG_VALUE, AT "/0/mode",
	  "vepa" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`mode`:`l2`}]"), DIAG_VALUE, AT "/0/mode",
	  "no meaning" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`ips`:[`10.0.0.1`]}]"), DIAG_VALUE,
	  AT "/0/ips/0", "prefix" },
	{ NETS("[{`type`:`pod`,`ips`:[`10.88.0.1/16`]}]"), DIAG_VALUE, AT "/0/ips/0",
	  "without a prefix" },
	{ NETS("[{`type`:`pod`,`ips`:[`10.88.0.2`,`10.88.0.3`]}]"), DIAG_VALUE,
	  AT "/0/ips/1", "one address a family" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`ips`:[`127.0.0.1/8`]}]"), DIAG_VALUE,
	  AT "/0/ips/0", "loopback" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`ips`:[`ff02::1/64`]}]"), DIAG_VALUE,
	  AT "/0/ips/0", "multicast" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`ips`:[`10.0.0.0/8`],"
	       "`gateway`:`10.0.0.1`}]"),
	  DIAG_VALUE, AT "/0/ips/0", "10.0.0.0/8 is the network's own" },
	{ NETS("[{`type`:`device`,`device`:`e`,`ips`:[`10.1.0.255/24`]}]"), DIAG_VALUE,
	  AT "/0/ips/0", "10.1.0.255/24 is the broadcast" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`gateway`:`10.0.0.1`}]"), DIAG_VALUE,
	  AT "/0", "needs ips" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`mac`:`01:00:00:00:00:01`}]"), DIAG_VALUE,
	  AT "/0/mac", "MAC" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`mtu`:67}]"), DIAG_VALUE, AT "/0/mtu",
	  "between" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`egress`:`fast`}]"), DIAG_VALUE,
	  AT "/0/egress", "quantity" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`egress`:`999`}]"), DIAG_VALUE,
	  AT "/0/egress", "1k" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`egress`:`9999E`}]"), DIAG_VALUE,
	  AT "/0/egress", "1P" },
	{ NETS("[{`type`:`device`,`device`:`e`,`ingress`:`1M`}]"), DIAG_VALUE,
	  AT "/0/ingress", "no meaning" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`interface`:`all`}]"), DIAG_VALUE,
	  AT "/0/interface", "which the kernel keeps" },
	{ NETS("[{`type`:`bridge`,`bridge`:`default`}]"), DIAG_VALUE, AT "/0/bridge",
	  "which the kernel keeps" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`interface`:`lo`}]"), DIAG_VALUE,
	  AT "/0/interface", "lo" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`interface`:`eth0`}]"), DIAG_DUPLICATE,
	  AT "/0", "eth0" },
	{ NETS("[{`type`:`pod`,`mtu`:1400},{`type`:`pod`}]"), DIAG_DUPLICATE,
	  AT "/1/type", "second network" },
	{ NETS("[{`type`:`device`,`device`:`e`},{`type`:`device`,`device`:`e`}]"),
	  DIAG_DUPLICATE, AT "/1", "twice" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`ips`:[`10.0.0.2/"
	       "8`],`gateway`:`10.0.0.1`},"
	       "{`type`:`bridge`,`bridge`:`c`,`ips`:[`11.0.0.2/"
	       "8`],`gateway`:`11.0.0.1`}]"),
	  DIAG_DUPLICATE, AT "/1", "second gateway for IPv4" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`mac`:`02:00:00:00:00:0a`},"
	       "{`type`:`macvlan`,`parent`:`e`,`mac`:`02:00:00:00:00:0A`}]"),
	  DIAG_DUPLICATE, AT "/1/mac", "has on \"net1\"" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`mac`:`02:00:00:00:00:01`},"
	       "{`type`:`pod`,`mac`:`02:00:00:00:00:01`}]"),
	  DIAG_DUPLICATE, AT "/1/mac", "has on \"net1\"" },
	{ NETS("[{`type`:`pod`},{`type`:`pod`}]"), DIAG_DUPLICATE, AT "/1/type",
	  "second network" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`ips`:[`10.0.0.1/"
	       "8`],`gateway`:`10.0.0.1`}]"),
	  DIAG_VALUE, AT "/0/gateway", "own address" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`ips`:[`10.0.0.1/"
	       "8`],`gateway`:`fd00::1`}]"),
	  DIAG_VALUE, AT "/0/gateway", "family" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`ips`:[`10.0.0.2/8`,`fe80::2/64`],"
	       "`gateway`:[`10.0.0.1`,`fe80::2`]}]"),
	  DIAG_VALUE, AT "/0/gateway/1", "own address" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`egress`:`1e99`}]"), DIAG_VALUE,
	  AT "/0/egress", "quantity" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`egress`:`1.2.3M`}]"), DIAG_VALUE,
	  AT "/0/egress", "quantity" },
	{ NETS("[{`type`:`bridge`,`bridge`:`b`,`vlan`:1}]"), DIAG_UNKNOWN, AT "/0/vlan",
	  "unknown" },
	{ NETS("[{`type`:`bridge`,`type`:`bridge`,`bridge`:`b`}]"), DIAG_DUPLICATE, AT,
	  "/0/type" },
	{ POD("'podinit/networks':'[]'", "'hostNetwork':true,"), DIAG_VALUE, AT,
	  "hostNetwork" },
	{ POLICY("[]"), DIAG_TYPE, AT_POLICY, "an object" },
	{ POLICY("{`internalNetworks`:[`10.0.0.1/8`]}"), DIAG_VALUE,
	  AT_POLICY "/internalNetworks/0", "10.0.0.0/8" },
	{ POLICY("{`externalNetworks`:[`any`]}"), DIAG_VALUE,
	  AT_POLICY "/externalNetworks/0", "network" },
	{ POLICY("{`internal`:[]}"), DIAG_UNKNOWN, AT_POLICY "/internal", "unknown" },
	{ POD("'kubernetes.io/egress-bandwidth':'x'", ""), DIAG_VALUE,
	  "/metadata/annotations/kubernetes.io~1egress-bandwidth", "quantity" },
	{ POD("'kubernetes.io/egress-bandwidth':'1M',"
	      "'podinit/networks':'[{`type`:`pod`,`egress`:`1M`}]'",
	      ""),
	  DIAG_DUPLICATE, "/metadata/annotations/kubernetes.io~1egress-bandwidth",
	  "podinit/networks" },
};

static void test_bad_pods(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad_pods); i++) {
		const struct row *b = &bad_pods[i];
		struct pod_spec *p = parse_pod(b->text);

		if (p || diag.errors != 1 || diag.items[0].kind != b->kind ||
		    strcmp(diag.items[0].pointer, b->pointer) != 0 ||
		    !strstr(diag.items[0].text, b->words))
			fail_msg("%s: %zu errors, %s: %s", b->text, diag.errors,
				 diag.items[0].pointer, diag.items[0].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_network), cmocka_unit_test(test_networks),
		cmocka_unit_test(test_gateway_beyond),  cmocka_unit_test(test_bandwidth),
		cmocka_unit_test(test_policy),          cmocka_unit_test(test_names),
		cmocka_unit_test(test_ports_and_env),   cmocka_unit_test(test_document),
		cmocka_unit_test(test_bad_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
