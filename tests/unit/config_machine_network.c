// SPDX-License-Identifier: Apache-2.0
/*
 * config_machine_network.c - the section network of machine.json: what is read, and what
 * is refused where and in which words.
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
#include <sys/socket.h>

#include "config/diag.h"
#include "config/machine.h"

static struct diag diag;

static int parse_machine(const char *text, struct machine *ret)
{
	char json[4096], *p;

	(void)snprintf(json, sizeof(json), "%s", text);
	for (p = json; *p; p++)
		if (*p == '\'')
			*p = '"';
	diag_init(&diag, "machine.json");
	return machine_parse(json, strlen(json), &diag, ret);
}

static void assert_inet(const struct inet *a, const char *cidr)
{
	char text[INET_TEXT_BYTES];

	assert_string_equal(inet_format_cidr(a, text), cidr);
}

static void test_machine_defaults(void **state)
{
	struct machine m;

	(void)state;
	assert_int_equal(parse_machine("{}", &m), 0);
	assert_int_equal(m.network.uplink.mode, UPLINK_MODE_KERNEL);
	assert_int_equal(m.network.uplink.timeout_ms, 10000);
	assert_inet(&m.network.pod_range4, "10.88.0.0/16");
	assert_inet(&m.network.pod_range6, "fd9c:70d1:8f2e::/64");
	assert_string_equal(m.network.bridge, "pod0");
	assert_string_equal(m.network.cluster_domain, "cluster.local");
	assert_null(m.network.dns_servers);
	machine_free(&m);
}

static void test_machine_network(void **state)
{
	struct machine m;
	const struct machine_uplink *u = &m.network.uplink;

	(void)state;
	assert_int_equal(
		parse_machine(
			"{'network':{'uplink':{'mode':'static','vlan':7,'bond':{"
			"'ports':[{'name':'eth0'},{'mac':'02:00:00:00:00:01'}]},"
			"'addresses':['192.0.2.2/24','2001:db8::2/64'],'gateway':"
			"['192.0.2.1','fe80::1'],'mtu':9000,'timeoutMs':0},"
			"'podCidrs':['10.9.0.0/24'],'bridge':'pods','mtu':1400,"
			"'dns':{'nameservers':['192.0.2.3'],'searches':['a.example'],"
			"'options':['ndots:2']},'clusterDomain':'k.test',"
			"'repair':true}}",
			&m),
		0);
	assert_int_equal(u->mode, UPLINK_MODE_STATIC);
	assert_int_equal(u->n_addresses, 2);
	assert_inet(&u->addresses[0], "192.0.2.2/24");
	assert_int_equal(u->gateway[1].family, AF_INET6);
	assert_int_equal(u->vlan_id, 7);
	assert_int_equal(u->n_bond_ports, 2);
	assert_string_equal(u->bond_mode, "active-backup");
	assert_true(u->bond_ports[1].has_mac);
	assert_int_equal(u->mtu, 9000);
	assert_int_equal(u->timeout_ms, 0);
	assert_inet(&m.network.pod_range4, "10.9.0.0/24");
	assert_int_equal(m.network.pod_range6.family, 0);
	assert_string_equal(m.network.bridge, "pods");
	assert_string_equal(m.network.dns_options[0], "ndots:2");
	machine_free(&m);
}

struct row {
	const char *text;
	enum diag_kind kind;
	const char *pointer, *words;
};

#define N(x) "{'network':{" x "}}"
#define U(x) N("'uplink':{" x "}")
#define UP   "/network/uplink"

static const struct row bad_machines[] = {
	{ N("'podcidrs':[]"), DIAG_UNKNOWN, "/network/podcidrs", "\"podCidrs\"?" },
	{ N("'podCidrs':[]"), DIAG_MISSING, "/network/podCidrs", "at least one" },
	{ N("'podCidrs':['10.1.2.3/16']"), DIAG_VALUE, "/network/podCidrs/0",
	  "10.1.0.0/16" },
	{ N("'podCidrs':['10.0.0.0']"), DIAG_VALUE, "/network/podCidrs/0", "network" },
	{ N("'podCidrs':['10.1.0.0/31']"), DIAG_VALUE, "/network/podCidrs/0",
	  "too small: it holds 2 addresses, and at least 4" },
	{ N("'podCidrs':['10.1.0.0/32']"), DIAG_VALUE, "/network/podCidrs/0",
	  "it holds 1 address, and" },
	{ N("'podCidrs':['fd00::/127']"), DIAG_VALUE, "/network/podCidrs/0",
	  "too small: it holds 2 addresses" },
	{ N("'podCidrs':['10.0.0.0/7']"), DIAG_VALUE, "/network/podCidrs/0",
	  "too large" },
	{ N("'podCidrs':['127.0.0.0/8']"), DIAG_VALUE, "/network/podCidrs/0",
	  "loopback" },
	{ N("'podCidrs':['fe80::/64']"), DIAG_VALUE, "/network/podCidrs/0",
	  "link-local" },
	{ N("'podCidrs':['10.1.0.0/16','10.2.0.0/16']"), DIAG_DUPLICATE,
	  "/network/podCidrs/1", "IPv4" },
	{ N("'bridge':'a-long-bridge0'"), DIAG_VALUE, "/network/bridge", "13" },
	{ N("'bridge':'lo'"), DIAG_VALUE, "/network/bridge", "another name" },
	{ N("'bridge':'up','uplink':{'mode':'dhcp','match':{'name':'up'}}"), DIAG_VALUE,
	  UP "/match/name", "\"up\" is the pods' bridge" },
	{ U("'mode':'dhcp','match':{'name':'pod0'}"), DIAG_VALUE, UP "/match/name",
	  "\"pod0\" is the pods' bridge" },
	{ U("'mode':'dhcp','bond':{'ports':[{'name':'a'},{'name':'pod0'}]}"), DIAG_VALUE,
	  UP "/bond/ports/1/name", "\"pod0\" is the pods' bridge" },
	{ U("'mode':'dhcp','bond':{'ports':{'name':'pod0'}}"), DIAG_TYPE,
	  UP "/bond/ports", "a list" },
	{ N("'bridge':'uplink0','uplink':{'mode':'dhcp','bond':{'ports':[{'name':'a'}]}"
	    "}"),
	  DIAG_VALUE, UP "/bond", "so is the pods' bridge" },
	{ N("'bridge':'a/b'"), DIAG_VALUE, "/network/bridge", "interface" },
	{ N("'mtu':1000"), DIAG_VALUE, "/network/mtu", "1280" },
	{ N("'mtu':60"), DIAG_VALUE, "/network/mtu", "68" },
	{ N("'dns':{'nameservers':['x']}"), DIAG_VALUE, "/network/dns/nameservers/0",
	  "IP address" },
	{ N("'dns':{'nameservers':['1.1.1.1','1.1.1.2','1.1.1.3','1.1.1.4']}"),
	  DIAG_LIMIT, "/network/dns/nameservers", "at most 3" },
	{ N("'dns':{'options':['a b']}"), DIAG_VALUE, "/network/dns/options/0", "word" },
	{ U(""), DIAG_MISSING, UP "/mode", "mode" },
	{ U("'mode':'auto'"), DIAG_VALUE, UP "/mode", "dhcp" },
	{ U("'mode':'static'"), DIAG_MISSING, UP, "at least one address" },
	{ U("'mode':'dhcp','addresses':['192.0.2.2/24']"), DIAG_VALUE, UP "/addresses",
	  "static" },
	{ U("'mode':'dhcp','gateway':'192.0.2.1'"), DIAG_VALUE, UP "/gateway", "static" },
	{ U("'mode':'none','mtu':1500"), DIAG_VALUE, UP "/mtu", "goes with" },
	{ U("'mode':'static','addresses':['192.0.2.2']"), DIAG_VALUE, UP "/addresses/0",
	  "prefix" },
	{ U("'mode':'static','addresses':['192.0.2.2/24','2001:db8::2/64',"
	    "'192.0.2.2/28']"),
	  DIAG_VALUE, UP "/addresses/2", "192.0.2.2 stands in the list twice" },
	{ U("'mode':'static','addresses':['2001:db8::2/64','2001:db8:0::2/64']"),
	  DIAG_VALUE, UP "/addresses/1", "2001:db8::2 stands in the list twice" },
	{ U("'mode':'static','addresses':['192.0.2.2/24','198.51.100.64/26'],"
	    "'gateway':'198.51.100.65'"),
	  DIAG_VALUE, UP "/addresses/1", "198.51.100.64/26 is the network's own" },
	{ U("'mode':'static','addresses':['198.51.100.127/26']"), DIAG_VALUE,
	  UP "/addresses/0", "198.51.100.127/26 is the broadcast" },
	{ U("'mode':'static','addresses':['192.0.2.4/30']"), DIAG_VALUE,
	  UP "/addresses/0", "192.0.2.4/30 is the network's own" },
	{ U("'mode':'static','addresses':['192.0.2.2/24'],'gateway':'192.0.2.2'"),
	  DIAG_VALUE, UP "/gateway", "192.0.2.2 is one of the own addresses" },
	{ U("'mode':'static','addresses':['192.0.2.2/24','fe80::2/64'],'gateway':["
	    "'192.0.2.1','fe80::2']"),
	  DIAG_VALUE, UP "/gateway/1", "fe80::2 is one of the own addresses" },
	{ U("'mode':'static','addresses':['192.0.2.2/24'],'gateway':'fd00::1'"),
	  DIAG_VALUE, UP "/gateway", "family" },
	{ U("'mode':'static','addresses':['192.0.2.2/24'],'gateway':['192.0.2.1',"
	    "'192.0.2.3']"),
	  DIAG_DUPLICATE, UP "/gateway/1", "IPv4" },
	{ U("'mode':'static','addresses':['10.88.3.2/24']"), DIAG_VALUE, "/network",
	  "overlaps" },
	{ U("'mode':'dhcp','vlan':4095"), DIAG_VALUE, UP "/vlan", "4094" },
	{ U("'mode':'dhcp','match':{'mac':'zz'}"), DIAG_VALUE, UP "/match/mac", "MAC" },
	{ U("'mode':'dhcp','match':{'nam':'x'}"), DIAG_UNKNOWN, UP "/match/nam", "name" },
	{ U("'mode':'dhcp','bond':{'ports':[]}"), DIAG_MISSING, UP "/bond/ports",
	  "at least one" },
	{ U("'mode':'dhcp','bond':{'ports':[{}]}"), DIAG_MISSING, UP "/bond/ports/0",
	  "needs a name" },
	{ U("'mode':'dhcp','bond':{'ports':[{'name':'a'},{'name':'b'},{'name':'a',"
	    "'driver':'e1000'}]}"),
	  DIAG_VALUE, UP "/bond/ports/2", "\"a\" stands in the list twice" },
	{ U("'mode':'dhcp','bond':{'ports':[{'mac':'02:00:00:00:00:0a'},"
	    "{'mac':'02:00:00:00:00:0A'}]}"),
	  DIAG_VALUE, UP "/bond/ports/1", "\"02:00:00:00:00:0a\" stands" },
	{ U("'mode':'dhcp','bond':{'ports':[{'driver':'e1000'},{'driver':'e1000'}]}"),
	  DIAG_VALUE, UP "/bond/ports/1", "\"e1000\" stands" },
	{ U("'mode':'dhcp','bond':{'mode':'lacp','ports':[{'name':'a'}]}"), DIAG_VALUE,
	  UP "/bond/mode", "802.3ad" },
	{ U("'mode':'dhcp','match':{'name':'a'},'bond':{'ports':[{'name':'a'}]}"),
	  DIAG_VALUE, UP "/match", "bond.ports" },
};

static void test_bad_machines(void **state)
{
	struct machine m;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad_machines); i++) {
		const struct row *b = &bad_machines[i];

		if (parse_machine(b->text, &m) != -EINVAL || diag.errors != 1 ||
		    diag.items[0].kind != b->kind ||
		    strcmp(diag.items[0].pointer, b->pointer) != 0 ||
		    !strstr(diag.items[0].text, b->words))
			fail_msg("%s: %zu errors, %s: %s", b->text, diag.errors,
				 diag.items[0].pointer, diag.items[0].text);
	}
}

/* What looks like one of the above and is none. */
static void test_good_machines(void **state)
{
	static const char *const texts[] = {
		U("'mode':'static','addresses':['192.0.2.2/31','192.0.2.3/31']"),
		U("'mode':'static','addresses':['192.0.2.0/32','192.0.2.255/32']"),
		U("'mode':'static','addresses':['192.0.2.127/24','192.0.2.128/24']"),
		U("'mode':'static','addresses':['2001:db8::/64','2001:db8::ffff:ffff:"
		  "ffff:ffff/64']"),
		U("'mode':'static','addresses':['192.0.2.2/24','fe80::2/64'],'gateway':["
		  "'192.0.2.1','fe80::1']"),
		U("'mode':'dhcp','bond':{'ports':[{'name':'a','driver':'e1000'},"
		  "{'name':'b','driver':'e1000'},{'mac':'02:00:00:00:00:01'},"
		  "{'mac':'02:00:00:00:00:02'},{'driver':'igb'},{'driver':'ixgbe'}]}"),
		N("'bridge':'pods','uplink':{'mode':'dhcp','match':{'name':'pod0'}}"),
	};
	struct machine m;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (parse_machine(texts[i], &m) < 0 || diag.n != 0)
			fail_msg("%s: %s: %s", texts[i], diag.items[0].pointer,
				 diag.items[0].text);
		machine_free(&m);
	}
}

static void test_gateway_beyond(void **state)
{
	struct machine m;

	(void)state;
	assert_int_equal(
		parse_machine(U("'mode':'static','addresses':['192.0.2.2/24','fd00::2/64'"
				"],'gateway':['198.51.100.1','fd00::1']"),
			      &m),
		0);
	assert_int_equal(diag.n, 1);
	assert_true(diag.items[0].warning);
	assert_string_equal(diag.items[0].pointer, UP "/gateway/0");
	assert_non_null(strstr(diag.items[0].text, "198.51.100.1 is in none"));
	machine_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machine_defaults),
		cmocka_unit_test(test_machine_network),
		cmocka_unit_test(test_bad_machines),
		cmocka_unit_test(test_good_machines),
		cmocka_unit_test(test_gateway_beyond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
