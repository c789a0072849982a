// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_dns.c - how a pod's members find names: dnsPolicy, dnsConfig, hostAliases, and
 * the pod's own names.
 *
 * Source: core/v1 types.go (PodDNSConfig, HostAlias), core/validation
 * (validatePodDNSConfig, ValidateHostAliases); KEP-4762 for hostnameOverride.
 */
#include <json-c/json.h>
#include <string.h>

#include "config/manifest_parts.h"
#include "config/name_check.h"
#include "config/net_check.h"

#define SERVERS_MAX    3
#define SEARCHES_MAX   32
#define SEARCHES_BYTES 2048
#define OPTIONS_MAX    64
#define ALIASES_MAX    1024
#define NODENAME_BYTES 64 /* __NEW_UTS_LEN */

const char *const manifest_dns_policies[] = {
	[DNS_CLUSTER_FIRST] = "ClusterFirst",
	[DNS_CLUSTER_FIRST_WITH_HOST_NET] = "ClusterFirstWithHostNet",
	[DNS_DEFAULT] = "Default",
	[DNS_NONE] = "None",
	NULL,
};
_Static_assert(sizeof(enum dns_policy) == sizeof(int), "enum as int");

/* "." alone is the root, and a name may end in one (dns/validation). */
static const char *check_search(const char *s)
{
	size_t n = strlen(s);
	char name[256];

	if (!strcmp(s, "."))
		return NULL;
	if (n == 0 || n >= sizeof(name))
		return "a DNS domain";
	memcpy(name, s, n + 1);
	if (name[n - 1] == '.')
		name[n - 1] = '\0';
	/* Underscores are allowed in searches since Kubernetes 1.32. */
	for (char *c = name; *c; c++)
		if (*c == '_')
			*c = 'x';
	return name_check_subdomain(name);
}

static const char *check_option(const char *s)
{
	return s[strcspn(s, " \t\r\n#;")] ? "one word without blanks, '#' and ';'" : NULL;
}

static const struct field option_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct spec_dns_option, name,
		 .check = check_option, .required = true),
	FIELD_AT("value", FIELD_STRING, struct spec_dns_option, value,
		 .check = check_option),
	FIELD_TABLE_END,
};

static void read_option(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_dns *dns = out;
	struct spec_dns_option option = { 0 };

	json_fields_read(r, at, option_fields, &option);
	dns->options[dns->n_options++] = option;
}

static void read_options(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_dns *dns = out;

	if (!manifest_check_length(r, at, OPTIONS_MAX))
		return;
	dns->options = json_keep_array(r, json_length(at), sizeof(*dns->options));
	if (dns->options)
		json_list_read(r, at, read_option, dns);
}

static size_t count_strings(const char **list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static const struct field config_fields[] = {
	FIELD_AT("nameservers", FIELD_STRINGS, struct spec_dns, servers,
		 .check = net_check_address),
	FIELD_AT("searches", FIELD_STRINGS, struct spec_dns, searches,
		 .check = check_search),
	FIELD_CALL("options", FIELD_LIST, read_options),
	FIELD_TABLE_END,
};

void manifest_read_dns_config(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;
	struct spec_dns *dns = &pod->dns;
	struct json_at searches = json_member(at, "searches");
	struct json_at servers = json_member(at, "nameservers");
	size_t bytes = 0;

	json_fields_read(r, at, config_fields, dns);
	dns->n_servers = count_strings(dns->servers);
	dns->n_searches = count_strings(dns->searches);
	if (dns->n_servers > SERVERS_MAX)
		json_fault(r, &servers, DIAG_LIMIT, "at most %d nameservers",
			   SERVERS_MAX);
	if (dns->n_searches > SEARCHES_MAX)
		json_fault(r, &searches, DIAG_LIMIT, "at most %d searches", SEARCHES_MAX);
	for (size_t i = 0; i < dns->n_searches; i++)
		bytes += strlen(dns->searches[i]) + 1;
	if (bytes > SEARCHES_BYTES + 1)
		json_fault(r, &searches, DIAG_LIMIT,
			   "%zu characters of searches; at most %d", bytes - 1,
			   SEARCHES_BYTES);
}

/* ---- hostAliases ---- */

static const struct field alias_fields[] = {
	FIELD_AT("ip", FIELD_STRING, struct spec_host_alias, ip,
		 .check = net_check_address, .required = true),
	FIELD_AT("hostnames", FIELD_STRINGS, struct spec_host_alias, names,
		 .check = name_check_subdomain),
	FIELD_TABLE_END,
};

static void read_alias(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;
	struct spec_host_alias alias = { 0 };

	json_fields_read(r, at, alias_fields, &alias);
	alias.n_names = count_strings(alias.names);
	pod->aliases[pod->n_aliases++] = alias;
}

void manifest_read_host_aliases(struct json_reader *r, const struct json_at *at,
				void *out)
{
	struct pod_spec *pod = out;

	if (!manifest_check_length(r, at, ALIASES_MAX))
		return;
	pod->aliases = json_keep_array(r, json_length(at), sizeof(*pod->aliases));
	if (pod->aliases)
		json_list_read(r, at, read_alias, pod);
}

/* ---- what must hold between the fields ---- */

const char *manifest_check_nodename(const char *s)
{
	if (strlen(s) > NODENAME_BYTES)
		return "at most 64 bytes, the kernel's limit for a host name";
	return name_check_subdomain(s);
}

void manifest_check_names(struct json_reader *r, const struct json_at *spec,
			  const struct pod_spec *pod)
{
	struct json_at override = json_member(spec, "hostnameOverride");
	struct json_at policy = json_member(spec, "dnsPolicy");

	if (pod->dns.policy == DNS_NONE && pod->dns.n_servers == 0)
		json_fault(r, &policy, DIAG_MISSING,
			   "dnsPolicy None needs at least one of dnsConfig.nameservers");
	if (!pod->hostname_override)
		return;
	if (pod->hostname_is_fqdn)
		json_fault(r, &override, DIAG_VALUE,
			   "hostnameOverride may not be given when setHostnameAsFQDN is "
			   "true");
	if (pod->host_network)
		json_fault(r, &override, DIAG_VALUE,
			   "hostnameOverride may not be given when hostNetwork is true");
}
