// SPDX-License-Identifier: Apache-2.0
/*
 * machine_network.c - the section "network" of machine.json: tables and what must hold
 * between its values. The uplink's are in machine_uplink.c.
 *
 * docs/machine.md says the same for people.
 */
#include "config/machine_network.h"

#include <json-c/json.h>
#include <string.h>
#include <sys/socket.h>

#include "config/name_check.h"
#include "config/net_check.h"

#define DNS_SERVERS_MAX   3 /* MAXNS of resolv.h */
#define DNS_WORDS_MAX     32
/* Network, gateway, one pod, and for IPv4 the broadcast address. */
#define RANGE4_PREFIX_MAX 30
#define RANGE6_PREFIX_MAX 126
/* The further bridges are "NAME.1" to "NAME.9". */
#define BRIDGE_BYTES      13

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

/* ---- pods' ranges ---- */

static bool range_fits(struct json_reader *r, const struct json_at *at,
		       const struct inet *range)
{
	unsigned int most = range->family == AF_INET ? RANGE4_PREFIX_MAX :
						       RANGE6_PREFIX_MAX;

	if (range->prefix > most) {
		json_fault(r, at, DIAG_VALUE,
			   "/%u is too small: it holds %u address%s, and at least 4 are "
			   "needed, the first for the gateway; the longest prefix is /%u",
			   range->prefix, (unsigned int)inet_size(range),
			   inet_size(range) == 1 ? "" : "es", most);
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
	FIELD_CALL("uplink", FIELD_OBJECT, machine_read_uplink),
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
