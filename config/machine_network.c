// SPDX-License-Identifier: Apache-2.0
/*
 * machine_network.c - the section "network" of machine.json: tables and what must hold
 * between its values.
 *
 * docs/machine.md says the same for people.
 */
#include "config/machine_network.h"

#include <json-c/json.h>
#include <string.h>
#include <sys/socket.h>

#include "config/name_check.h"
#include "config/net_check.h"

#define DAY_MS            (24 * 3600 * 1000)
#define VLAN_LAST         4094 /* IEEE 802.1Q: 0 and 4095 are reserved */
#define DNS_SERVERS_MAX   3    /* MAXNS of resolv.h */
#define DNS_WORDS_MAX     32
/* Network, gateway, one pod, and for IPv4 the broadcast address. */
#define RANGE4_PREFIX_MAX 30
#define RANGE6_PREFIX_MAX 126
/* The further bridges are "NAME.1" to "NAME.9". */
#define BRIDGE_BYTES      13

static const char *const mode_words[] = {
	[UPLINK_MODE_NONE] = "none",
	[UPLINK_MODE_STATIC] = "static",
	[UPLINK_MODE_DHCP] = "dhcp",
	[UPLINK_MODE_KERNEL] = "kernel",
	NULL,
};
_Static_assert(sizeof(enum uplink_mode) == sizeof(int), "enum as int");

/* Documentation/networking/bonding.rst, "mode". */
static const char *const bond_modes[] = { "balance-rr",  "active-backup",
					  "balance-xor", "broadcast",
					  "802.3ad",     "balance-tlb",
					  "balance-alb", NULL };

static const char *check_bond_mode(const char *s)
{
	for (const char *const *mode = bond_modes; *mode; mode++)
		if (!strcmp(*mode, s))
			return NULL;
	return "one of balance-rr, active-backup, balance-xor, broadcast, 802.3ad, "
	       "balance-tlb, balance-alb";
}

static const char *check_bridge(const char *s)
{
	if (strlen(s) > BRIDGE_BYTES)
		return "at most 13 bytes";
	if (!strcmp(s, "lo"))
		return "another name than \"lo\"";
	return net_check_interface(s);
}

static const char *check_dns_option(const char *s)
{
	return *s && !s[strcspn(s, " \t\n\r")] ? NULL : "one word, such as \"ndots:2\"";
}

/* ---- match ---- */

static void read_match_mac(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_match *m = out;

	m->has_mac = net_read_mac(r, at, m->mac);
}

static const struct field match_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct machine_match, name,
		 .check = net_check_interface),
	FIELD_AT("driver", FIELD_STRING, struct machine_match, driver,
		 .check = net_check_interface),
	FIELD_CALL("mac", FIELD_STRING, read_match_mac),
	FIELD_TABLE_END,
};

static void read_match(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_uplink *u = out;

	json_fields_read(r, at, match_fields, &u->match);
}

/* ---- bond ---- */

static void read_bond_port(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_uplink *u = out;
	struct machine_match m = { 0 };

	json_fields_read(r, at, match_fields, &m);
	if (!m.name && !m.driver && !m.has_mac)
		json_fault(r, at, DIAG_MISSING,
			   "a port of a bond needs a name, a mac or a driver");
	if (u->n_bond_ports == MACHINE_BOND_PORTS)
		json_fault(r, at, DIAG_LIMIT, "a bond has at most %d ports",
			   MACHINE_BOND_PORTS);
	else
		u->bond_ports[u->n_bond_ports++] = m;
}

static void read_bond_ports(struct json_reader *r, const struct json_at *at, void *out)
{
	if (json_length(at) == 0)
		json_fault(r, at, DIAG_MISSING, "a bond needs at least one port");
	json_list_read(r, at, read_bond_port, out);
}

static const struct field bond_fields[] = {
	FIELD_AT("mode", FIELD_STRING, struct machine_uplink, bond_mode,
		 .check = check_bond_mode),
	FIELD_CALL("ports", FIELD_LIST, read_bond_ports, .required = true),
	FIELD_TABLE_END,
};

static void read_bond(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_uplink *u = out;

	u->bond_mode = "active-backup";
	json_fields_read(r, at, bond_fields, u);
}

/* ---- uplink ---- */

static void read_addresses(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_uplink *u = out;

	for (size_t i = 0; i < json_length(at); i++) {
		struct json_at item = json_element(at, i);
		struct inet a;

		if (!net_read_address(r, &item, true, &a))
			continue;
		if (u->n_addresses == MACHINE_UPLINK_ADDRS) {
			json_fault(r, &item, DIAG_LIMIT, "at most %d addresses",
				   MACHINE_UPLINK_ADDRS);
			return;
		}
		u->addresses[u->n_addresses++] = a;
	}
}

static void read_gateway(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_uplink *u = out;

	net_read_gateway(r, at, u->gateway);
}

static const struct field uplink_fields[] = {
	FIELD_AT("mode", FIELD_WORD, struct machine_uplink, mode, .words = mode_words,
		 .required = true),
	FIELD_CALL("match", FIELD_OBJECT, read_match),
	FIELD_CALL("addresses", FIELD_LIST, read_addresses),
	FIELD_CALL("gateway", FIELD_ANY, read_gateway),
	FIELD_AT("mtu", FIELD_INT, struct machine_uplink, mtu, .min = NET_MTU_MIN,
		 .max = NET_MTU_MAX),
	FIELD_AT("vlan", FIELD_INT, struct machine_uplink, vlan_id, .min = 1,
		 .max = VLAN_LAST),
	FIELD_CALL("bond", FIELD_OBJECT, read_bond),
	FIELD_AT("timeoutMs", FIELD_INT, struct machine_uplink, timeout_ms, .min = 0,
		 .max = DAY_MS),
	FIELD_TABLE_END,
};

static void check_gateways(struct json_reader *r, const struct json_at *at,
			   const struct machine_uplink *u)
{
	struct json_at gateway = json_member(at, "gateway");
	char text[INET_TEXT_BYTES];

	for (size_t i = 0; i < 2; i++) {
		const struct inet *g = &u->gateway[i];
		bool family = false;

		if (!g->family || inet_link_local(g))
			continue;
		for (size_t k = 0; k < u->n_addresses; k++)
			family |= u->addresses[k].family == g->family;
		if (!family)
			json_fault(r, &gateway, DIAG_VALUE,
				   "gateway %s without an address of its family",
				   inet_format(g, text));
		else if (!inet_on_link(u->addresses, u->n_addresses, g))
			json_warn(r, &gateway,
				  "gateway %s is in none of the addresses' networks; it "
				  "is taken to be on the link",
				  inet_format(g, text));
	}
}

static void only_with(struct json_reader *r, const struct json_at *at, const char *key,
		      const char *mode)
{
	struct json_at member = json_member(at, key);

	if (member.value)
		json_fault(r, &member, DIAG_VALUE, "%s goes with mode \"%s\" only", key,
			   mode);
}

static void read_uplink(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_network *n = out;
	struct machine_uplink *u = &n->uplink;
	static const char *const link_keys[] = { "match", "mtu", "vlan", "bond" };
	struct json_at match = json_member(at, "match");
	struct json_at addresses = json_member(at, "addresses");

	json_fields_read(r, at, uplink_fields, u);
	if (u->mode != UPLINK_MODE_STATIC) {
		only_with(r, at, "addresses", "static");
		only_with(r, at, "gateway", "static");
	} else {
		if (json_length(&addresses) == 0)
			json_fault(r, at, DIAG_MISSING,
				   "mode \"static\" needs at least one address");
		check_gateways(r, at, u);
	}
	if (u->match.name && !strcmp(u->match.name, n->bridge))
		json_fault(r, &match, DIAG_VALUE, "\"%s\" is the pods' bridge",
			   n->bridge);
	if (u->mode == UPLINK_MODE_NONE)
		for (size_t i = 0; i < ARRAY_SIZE(link_keys); i++)
			only_with(r, at, link_keys[i], "static\", \"dhcp\" or \"kernel");
	if (u->n_bond_ports && match.value)
		json_fault(r, &match, DIAG_VALUE,
			   "with a bond the interfaces are matched by bond.ports");
}

/* ---- pods' ranges ---- */

static bool range_fits(struct json_reader *r, const struct json_at *at,
		       const struct inet *range)
{
	unsigned int most = range->family == AF_INET ? RANGE4_PREFIX_MAX :
						       RANGE6_PREFIX_MAX;

	if (range->prefix > most) {
		json_fault(r, at, DIAG_VALUE,
			   "/%u is too small: the gateway takes the first address; the "
			   "longest prefix is /%u",
			   range->prefix, most);
		return false;
	}
	if (range->prefix < 8) {
		json_fault(r, at, DIAG_VALUE,
			   "/%u is too large; the shortest prefix is /8", range->prefix);
		return false;
	}
	return true;
}

/* By what it holds, not by its first address. */
static bool range_usable(struct json_reader *r, const struct json_at *at,
			 const struct inet *range)
{
	static const char *const reserved[] = { "0.0.0.0/8",      "127.0.0.0/8",
						"169.254.0.0/16", "224.0.0.0/3",
						"::/8",           "fe80::/10",
						"ff00::/8" };

	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		struct inet other;

		(void)inet_parse_cidr(reserved[i], &other);
		if (!inet_overlap(range, &other))
			continue;
		json_fault(r, at, DIAG_VALUE,
			   "%.64s holds %s, which is loopback, link-local, multicast or "
			   "reserved",
			   json_text(at), reserved[i]);
		return false;
	}
	return true;
}

static void read_ranges(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_network *n = out;

	/* The list says all: with one family in it the pods have only that one. */
	n->pod_range4 = n->pod_range6 = (struct inet){ 0 };
	if (json_length(at) == 0)
		json_fault(r, at, DIAG_MISSING, "at least one range is needed");
	for (size_t i = 0; i < json_length(at); i++) {
		struct json_at item = json_element(at, i);
		struct inet range, *place;

		if (!net_read_network(r, &item, &range) ||
		    !range_fits(r, &item, &range) || !range_usable(r, &item, &range))
			continue;
		place = range.family == AF_INET ? &n->pod_range4 : &n->pod_range6;
		if (place->family)
			json_fault(r, &item, DIAG_DUPLICATE, "a second range for %s",
				   range.family == AF_INET ? "IPv4" : "IPv6");
		else
			*place = range;
	}
}

/* ---- dns ---- */

static const struct field dns_fields[] = {
	FIELD_AT("nameservers", FIELD_STRINGS, struct machine_network, dns_servers,
		 .check = net_check_address),
	FIELD_AT("searches", FIELD_STRINGS, struct machine_network, dns_searches,
		 .check = name_check_subdomain),
	FIELD_AT("options", FIELD_STRINGS, struct machine_network, dns_options,
		 .check = check_dns_option),
	FIELD_TABLE_END,
};

static void check_count(struct json_reader *r, const struct json_at *at, const char *key,
			size_t most)
{
	struct json_at list = json_member(at, key);

	if (list.value && json_object_is_type(list.value, json_type_array) &&
	    json_length(&list) > most)
		json_fault(r, &list, DIAG_LIMIT, "at most %zu are used by resolvers",
			   most);
}

static void read_dns(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, dns_fields, out);
	check_count(r, at, "nameservers", DNS_SERVERS_MAX);
	check_count(r, at, "searches", DNS_WORDS_MAX);
	check_count(r, at, "options", DNS_WORDS_MAX);
}

/* ---- the section ---- */

static const struct field network_fields[] = {
	FIELD_AT("bridge", FIELD_STRING, struct machine_network, bridge,
		 .check = check_bridge),
	FIELD_CALL("uplink", FIELD_OBJECT, read_uplink),
	FIELD_CALL("podCidrs", FIELD_LIST, read_ranges),
	FIELD_AT("mtu", FIELD_INT, struct machine_network, mtu, .min = NET_MTU_MIN,
		 .max = NET_MTU_MAX),
	FIELD_CALL("dns", FIELD_OBJECT, read_dns),
	FIELD_AT("clusterDomain", FIELD_STRING, struct machine_network, cluster_domain,
		 .check = name_check_subdomain),
	FIELD_AT("repair", FIELD_BOOL, struct machine_network, repair),
	FIELD_TABLE_END,
};

void machine_network_defaults(struct machine_network *n)
{
	*n = (struct machine_network){
		.uplink = { .mode = UPLINK_MODE_KERNEL, .timeout_ms = 10 * 1000 },
		.bridge = "pod0",
		.cluster_domain = "cluster.local",
	};
	(void)inet_parse_cidr("10.88.0.0/16", &n->pod_range4);
	/* A unique local prefix (RFC 4193). It never leaves the machine untranslated. */
	(void)inet_parse_cidr("fd9c:70d1:8f2e::/64", &n->pod_range6);
}

static void check_overlap(struct json_reader *r, const struct json_at *at,
			  const struct machine_network *n)
{
	const struct inet *ranges[] = { &n->pod_range4, &n->pod_range6 };
	struct json_at cidrs = json_member(at, "podCidrs");
	char a[INET_TEXT_BYTES], b[INET_TEXT_BYTES];

	for (size_t i = 0; i < n->uplink.n_addresses; i++)
		for (size_t k = 0; k < ARRAY_SIZE(ranges); k++) {
			if (!ranges[k]->family ||
			    !inet_overlap(ranges[k], &n->uplink.addresses[i]))
				continue;
			json_fault(r, cidrs.value ? &cidrs : at, DIAG_VALUE,
				   "the pods' range %s overlaps the uplink's %s; set "
				   "podCidrs",
				   inet_format_cidr(ranges[k], a),
				   inet_format_cidr(&n->uplink.addresses[i], b));
		}
}

void machine_read_network(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine *m = out;
	struct machine_network *n = &m->network;
	struct json_at mtu = json_member(at, "mtu");

	json_fields_read(r, at, network_fields, n);
	check_overlap(r, at, n);
	if (n->mtu && n->pod_range6.family && n->mtu < NET_MTU6_MIN)
		json_fault(r, &mtu, DIAG_VALUE, "IPv6 needs an mtu of at least %d",
			   NET_MTU6_MIN);
}
