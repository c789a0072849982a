// SPDX-License-Identifier: Apache-2.0
/*
 * machine_uplink.c - network.uplink of machine.json: tables and what must hold between
 * its values.
 *
 * Called by: machine_network.c, after it has read the bridge's name. docs/machine.md says
 * the same for people.
 */
#include <json-c/json.h>
#include <string.h>
#include <sys/socket.h>

#include "config/machine_network.h"
#include "config/net_check.h"

#define DAY_MS    (24 * 3600 * 1000)
#define VLAN_LAST 4094 /* IEEE 802.1Q: 0 and 4095 are reserved */

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

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The two would always find the same interface. */
static bool same_match(const struct machine_match *a, const struct machine_match *b)
{
	if (a->name && b->name)
		return !strcmp(a->name, b->name);
	return a->name == b->name && same_text(a->driver, b->driver) &&
	       a->has_mac == b->has_mac &&
	       (!a->has_mac || !memcmp(a->mac, b->mac, MAC_BYTES));
}

static void check_port_is_new(struct json_reader *r, const struct json_at *at,
			      const struct machine_uplink *u,
			      const struct machine_match *m)
{
	char mac[MAC_TEXT_BYTES];
	const char *what = m->name    ? m->name :
			   m->has_mac ? mac_format(m->mac, mac) :
					m->driver;

	for (size_t i = 0; i < u->n_bond_ports; i++)
		if (same_match(&u->bond_ports[i], m)) {
			json_fault(r, at, DIAG_VALUE,
				   "the port \"%.64s\" stands in the list twice", what);
			return;
		}
}

static void read_bond_port(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_uplink *u = out;
	struct machine_match m = { 0 };

	json_fields_read(r, at, match_fields, &m);
	if (!m.name && !m.driver && !m.has_mac) {
		json_fault(r, at, DIAG_MISSING,
			   "a port of a bond needs a name, a mac or a driver");
		return;
	}
	check_port_is_new(r, at, u, &m);
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

static bool has_address(const struct machine_uplink *u, const struct inet *a)
{
	for (size_t i = 0; i < u->n_addresses; i++)
		if (inet_same(&u->addresses[i], a))
			return true;
	return false;
}

static void read_addresses(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_uplink *u = out;
	char text[INET_TEXT_BYTES];

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
		if (has_address(u, &a))
			json_fault(r, &item, DIAG_VALUE,
				   "the address %s stands in the list twice",
				   inet_format(&a, text));
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

static void check_gateway(struct json_reader *r, const struct json_at *member,
			  const struct machine_uplink *u, const struct inet *g)
{
	struct json_at at = net_gateway_at(member, g);
	char text[INET_TEXT_BYTES];
	bool family = false;

	for (size_t i = 0; i < u->n_addresses; i++)
		family |= u->addresses[i].family == g->family;
	inet_format(g, text);
	if (has_address(u, g))
		json_fault(r, &at, DIAG_VALUE, "gateway %s is one of the own addresses",
			   text);
	else if (inet_link_local(g))
		return;
	else if (!family)
		json_fault(r, &at, DIAG_VALUE,
			   "gateway %s without an address of its family", text);
	else if (!inet_on_link(u->addresses, u->n_addresses, g))
		json_warn(r, &at,
			  "gateway %s is in none of the addresses' networks; it is taken "
			  "to be on the link",
			  text);
}

static void check_static(struct json_reader *r, const struct json_at *at,
			 const struct machine_uplink *u)
{
	struct json_at addresses = json_member(at, "addresses");
	struct json_at gateway = json_member(at, "gateway");

	if (json_length(&addresses) == 0)
		json_fault(r, at, DIAG_MISSING,
			   "mode \"static\" needs at least one address");
	/* With one of them refused nothing certain can be said of the gateway. */
	if (json_length(&addresses) != u->n_addresses)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(u->gateway); i++)
		if (u->gateway[i].family)
			check_gateway(r, &gateway, u, &u->gateway[i]);
}

static void check_is_no_bridge(struct json_reader *r, const struct json_at *match,
			       const char *name, const char *bridge)
{
	struct json_at at = json_member(match, "name");

	if (name && !strcmp(name, bridge))
		json_fault(r, &at, DIAG_VALUE, "\"%s\" is the pods' bridge", name);
}

static void check_names(struct json_reader *r, const struct json_at *at,
			const struct machine_network *n)
{
	struct json_at match = json_member(at, "match");
	struct json_at bond = json_member(at, "bond");
	struct json_at ports = json_member(&bond, "ports");
	bool is_list = json_object_is_type(ports.value, json_type_array);

	check_is_no_bridge(r, &match, n->uplink.match.name, n->bridge);
	if (bond.value && !strcmp(n->bridge, MACHINE_BOND_NAME))
		json_fault(r, &bond, DIAG_VALUE,
			   "the bond is called \"" MACHINE_BOND_NAME
			   "\", and so is the pods' bridge");
	for (size_t i = 0; is_list && i < json_length(&ports); i++) {
		struct json_at port = json_element(&ports, i);
		struct json_at name = json_member(&port, "name");

		check_is_no_bridge(r, &port, json_text(&name), n->bridge);
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

void machine_read_uplink(struct json_reader *r, const struct json_at *at, void *out)
{
	struct machine_network *n = out;
	struct machine_uplink *u = &n->uplink;
	static const char *const link_keys[] = { "match", "mtu", "vlan", "bond" };
	struct json_at match = json_member(at, "match");

	json_fields_read(r, at, uplink_fields, u);
	if (u->mode == UPLINK_MODE_STATIC) {
		check_static(r, at, u);
	} else {
		only_with(r, at, "addresses", "static");
		only_with(r, at, "gateway", "static");
	}
	check_names(r, at, n);
	if (u->mode == UPLINK_MODE_NONE)
		for (size_t i = 0; i < ARRAY_SIZE(link_keys); i++)
			only_with(r, at, link_keys[i], "static\", \"dhcp\" or \"kernel");
	if (u->n_bond_ports && match.value)
		json_fault(r, &match, DIAG_VALUE,
			   "with a bond the interfaces are matched by bond.ports");
}
