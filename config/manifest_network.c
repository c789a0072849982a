// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_network.c - what the annotations podinit/networks and podinit/network-policy
 * hold.
 *
 * Called by: manifest_annotation.c, with the JSON inside of them. The keys are those of
 * the older pod formats' interfaces and white lists, in Kubernetes' spelling.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "config/manifest_parts.h"
#include "config/net_check.h"

#define POLICY_NETWORKS 256

static const char *const kind_words[] = {
	[SPEC_NET_POD] = "pod",         [SPEC_NET_BRIDGE] = "bridge",
	[SPEC_NET_MACVLAN] = "macvlan", [SPEC_NET_IPVLAN] = "ipvlan",
	[SPEC_NET_DEVICE] = "device",   [SPEC_NET_KIND_MAX] = NULL,
};
_Static_assert(sizeof(enum spec_net_kind) == sizeof(int), "enum as int");

static const char *const macvlan_modes[] = { "bridge", "private", "vepa", "passthru",
					     NULL };
static const char *const ipvlan_modes[] = { "l2", "l3", "l3s", NULL };
static const char *const no_modes[] = { NULL };

static const char *check_interface(const char *s)
{
	return strcmp(s, "lo") ? net_check_interface(s) : "another name than \"lo\"";
}

static void read_ips(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_network *n = out;

	for (size_t i = 0; i < json_length(at); i++) {
		struct json_at item = json_element(at, i);
		struct inet a;

		if (!net_read_address(r, &item, n->kind != SPEC_NET_POD, &a))
			continue;
		if (n->n_ips == SPEC_NET_ADDRS) {
			json_fault(r, &item, DIAG_LIMIT, "at most %d addresses",
				   SPEC_NET_ADDRS);
			return;
		}
		for (size_t k = 0; k < n->n_ips; k++)
			if (inet_same(&n->ips[k], &a))
				json_fault(r, &item, DIAG_DUPLICATE,
					   "the address stands in the list twice");
			else if (n->kind == SPEC_NET_POD && n->ips[k].family == a.family)
				json_fault(r, &item, DIAG_VALUE,
					   "the pod network gives one address a family");
		n->ips[n->n_ips++] = a;
	}
}

static void read_gateway(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_network *n = out;

	net_read_gateway(r, at, n->gateway);
}

static void read_mac(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_network *n = out;

	n->has_mac = net_read_mac(r, at, n->mac);
}

static void read_mtu(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_network *n = out;
	int64_t mtu = json_object_get_int64(at->value);

	if (json_check_range(r, at, mtu, NET_MTU_MIN, NET_MTU_MAX))
		n->mtu = (uint32_t)mtu;
}

static void read_egress(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_network *n = out;

	(void)manifest_read_bandwidth(r, at, &n->egress_bits);
}

static void read_ingress(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_network *n = out;

	(void)manifest_read_bandwidth(r, at, &n->ingress_bits);
}

/* The parent has a name of its own in each kind: what it is can be read off the key. */
static const struct field network_fields[] = {
	FIELD_AT("type", FIELD_WORD, struct spec_network, kind, .words = kind_words,
		 .required = true),
	FIELD_AT("interface", FIELD_STRING, struct spec_network, interface,
		 .check = check_interface),
	FIELD_AT("bridge", FIELD_STRING, struct spec_network, parent,
		 .check = net_check_interface),
	FIELD_AT("parent", FIELD_STRING, struct spec_network, parent,
		 .check = net_check_interface),
	FIELD_AT("device", FIELD_STRING, struct spec_network, parent,
		 .check = net_check_interface),
	FIELD_AT("mode", FIELD_STRING, struct spec_network, mode),
	FIELD_CALL("ips", FIELD_LIST, read_ips),
	FIELD_CALL("gateway", FIELD_ANY, read_gateway),
	FIELD_CALL("mac", FIELD_STRING, read_mac),
	FIELD_CALL("mtu", FIELD_INT, read_mtu),
	FIELD_CALL("egress", FIELD_STRING, read_egress),
	FIELD_CALL("ingress", FIELD_STRING, read_ingress),
	FIELD_TABLE_END,
};

static void only_in(struct json_reader *r, const struct json_at *at, const char *key,
		    bool allowed, enum spec_net_kind kind)
{
	struct json_at member = json_member(at, key);

	if (member.value && !allowed)
		json_fault(r, &member, DIAG_VALUE,
			   "%s has no meaning in a network of type \"%s\"", key,
			   kind_words[kind]);
}

static void check_mode(struct json_reader *r, const struct json_at *at,
		       const struct spec_network *n)
{
	const char *const *words = n->kind == SPEC_NET_MACVLAN ? macvlan_modes :
				   n->kind == SPEC_NET_IPVLAN  ? ipvlan_modes :
								 no_modes;
	struct json_at mode = json_member(at, "mode");
	char list[80];

	only_in(r, at, "mode", words[0] != NULL, n->kind);
	if (!n->mode || !words[0])
		return;
	for (size_t i = 0; words[i]; i++)
		if (!strcmp(words[i], n->mode))
			return;
	json_join_words(words, list, sizeof(list));
	json_fault(r, &mode, DIAG_VALUE, "unsupported value \"%.32s\"; must be %s",
		   n->mode, list);
}

static void check_gateway(struct json_reader *r, const struct json_at *at,
			  const struct spec_network *n, const struct inet *gateway)
{
	struct json_at member = json_member(at, "gateway"), ips = json_member(at, "ips");
	struct json_at place = net_gateway_at(&member, gateway);
	char text[INET_TEXT_BYTES];
	bool family = false, own = false;

	/* With an address refused nothing certain can be said of the gateway. */
	if (!gateway->family || n->n_ips == 0 || n->n_ips != json_length(&ips))
		return;
	for (size_t i = 0; i < n->n_ips; i++) {
		family |= n->ips[i].family == gateway->family;
		own |= inet_same(&n->ips[i], gateway);
	}
	inet_format(gateway, text);
	if (own)
		json_fault(r, &place, DIAG_VALUE,
			   "gateway %s is the interface's own address", text);
	else if (inet_link_local(gateway))
		return;
	else if (!family)
		json_fault(r, &place, DIAG_VALUE,
			   "gateway %s without an address of its family in ips", text);
	else if (!inet_on_link(n->ips, n->n_ips, gateway))
		json_warn(r, &place,
			  "gateway %s is in none of the networks of ips; it is taken to "
			  "be on the link",
			  text);
}

static void check_network(struct json_reader *r, const struct json_at *at,
			  const struct spec_network *n)
{
	static const char *const parents[SPEC_NET_KIND_MAX] = {
		[SPEC_NET_BRIDGE] = "bridge",
		[SPEC_NET_MACVLAN] = "parent",
		[SPEC_NET_IPVLAN] = "parent",
		[SPEC_NET_DEVICE] = "device",
	};
	bool limited = n->kind == SPEC_NET_POD || n->kind == SPEC_NET_BRIDGE;
	const char *wanted = parents[n->kind];

	only_in(r, at, "bridge", n->kind == SPEC_NET_BRIDGE, n->kind);
	only_in(r, at, "parent", wanted && !strcmp(wanted, "parent"), n->kind);
	only_in(r, at, "device", n->kind == SPEC_NET_DEVICE, n->kind);
	only_in(r, at, "gateway", n->kind != SPEC_NET_POD, n->kind);
	/* An ipvlan has its parent's address, and TBF of the pod's side sees what leaves.
	 */
	only_in(r, at, "mac", n->kind != SPEC_NET_IPVLAN, n->kind);
	only_in(r, at, "ingress", limited, n->kind);
	if (wanted && !json_member(at, wanted).value)
		json_fault(r, at, DIAG_MISSING, "a network of type \"%s\" needs \"%s\"",
			   kind_words[n->kind], wanted);
	check_mode(r, at, n);
	for (size_t i = 0; i < 2; i++)
		check_gateway(r, at, n, &n->gateway[i]);
	for (size_t i = 0; i < 2; i++)
		if (n->gateway[i].family && !json_member(at, "ips").value) {
			json_fault(r, at, DIAG_VALUE, "a gateway needs ips");
			break;
		}
}

/* What one network may not have because another one has it. */
static void check_others(struct json_reader *r, const struct json_at *at,
			 const struct pod_spec *pod, const struct spec_network *n,
			 size_t skip)
{
	struct json_at mac = json_member(at, "mac");

	for (size_t i = 0; i < pod->n_networks; i++) {
		const struct spec_network *other = &pod->networks[i];

		if (i == skip)
			continue;
		if (!strcmp(other->interface, n->interface))
			json_fault(r, at, DIAG_DUPLICATE,
				   "a second interface \"%s\" in the pod", n->interface);
		if (n->kind == SPEC_NET_DEVICE && other->kind == SPEC_NET_DEVICE &&
		    n->parent && other->parent && !strcmp(n->parent, other->parent))
			json_fault(r, at, DIAG_DUPLICATE,
				   "device \"%s\" stands here twice", n->parent);
		if (n->has_mac && other->has_mac &&
		    !memcmp(n->mac, other->mac, MAC_BYTES))
			json_fault(r, &mac, DIAG_DUPLICATE,
				   "a MAC address that the pod has on \"%s\"",
				   other->interface);
		for (size_t k = 0; k < 2; k++)
			if (n->gateway[k].family && other->gateway[k].family)
				json_fault(r, at, DIAG_DUPLICATE,
					   "a second gateway for IPv%d in the pod: only "
					   "one network may have it",
					   k ? 6 : 4);
		for (size_t k = 0; k < n->n_ips; k++)
			for (size_t l = 0; l < other->n_ips; l++)
				if (inet_same(&n->ips[k], &other->ips[l]))
					json_fault(
						r, at, DIAG_DUPLICATE,
						"an address that the pod has on \"%s\"",
						other->interface);
	}
}

static const char *default_name(struct json_reader *r, size_t number)
{
	char name[8];

	(void)snprintf(name, sizeof(name), "net%zu", number);
	return json_keep(r, name);
}

/* An entry before this one is the pod's own network already. */
static bool is_second(const struct json_at *at)
{
	for (size_t i = 0; i < at->index; i++) {
		struct json_at item = json_element(at->parent, i);
		struct json_at type = json_member(&item, "type");

		if (!strcmp(json_text(&type), kind_words[SPEC_NET_POD]))
			return true;
	}
	return false;
}

static void read_network(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;
	struct spec_network n = { .kind = SPEC_NET_KIND_MAX };
	struct json_at type = json_member(at, "type");
	size_t place = pod->n_networks;

	json_fields_read(r, at, network_fields, &n);
	if (n.kind == SPEC_NET_KIND_MAX)
		return; /* without a type nothing else can be said */
	check_network(r, at, &n);
	if (n.kind == SPEC_NET_POD) {
		place = 0;
		if (is_second(at))
			json_fault(r, &type, DIAG_DUPLICATE,
				   "a second network of type \"pod\"");
		if (n.interface && strcmp(n.interface, "eth0"))
			json_fault(r, at, DIAG_VALUE,
				   "the pod network's interface is \"eth0\"");
		n.interface = "eth0";
	} else if (place == SPEC_NETWORKS) {
		json_fault(r, at, DIAG_LIMIT, "a pod has at most %d interfaces",
			   SPEC_NETWORKS);
		return;
	} else if (!n.interface) {
		n.interface = default_name(r, place);
	}
	if (!n.interface)
		return;
	check_others(r, at, pod, &n, place);
	pod->networks[place] = n;
	pod->n_networks += place != 0;
}

void manifest_read_network_list(struct json_reader *r, const struct json_at *at,
				struct pod_spec *pod)
{
	if (pod->host_network)
		json_fault(r, at, DIAG_VALUE,
			   "a pod with hostNetwork has the machine's interfaces");
	else
		json_list_read(r, at, read_network, pod);
}

/* ---- policy ---- */

static void read_policy_list(struct json_reader *r, const struct json_at *at,
			     struct inet **ret, size_t *ret_n)
{
	if (!manifest_check_length(r, at, POLICY_NETWORKS))
		return;
	*ret = json_keep_array(r, json_length(at), sizeof(**ret));
	for (size_t i = 0; *ret && i < json_length(at); i++) {
		struct json_at item = json_element(at, i);

		if (net_read_network(r, &item, &(*ret)[*ret_n]))
			(*ret_n)++;
	}
}

static void read_internal(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_net_policy *p = out;

	read_policy_list(r, at, &p->internal, &p->n_internal);
}

static void read_external(struct json_reader *r, const struct json_at *at, void *out)
{
	struct spec_net_policy *p = out;

	read_policy_list(r, at, &p->external, &p->n_external);
}

static const struct field policy_fields[] = {
	FIELD_CALL("internalNetworks", FIELD_LIST, read_internal),
	FIELD_CALL("externalNetworks", FIELD_LIST, read_external),
	FIELD_TABLE_END,
};

void manifest_read_network_policy(struct json_reader *r, const struct json_at *at,
				  struct pod_spec *pod)
{
	if (pod->host_network)
		json_fault(r, at, DIAG_VALUE,
			   "a pod with hostNetwork has no network of its own to filter");
	else
		json_fields_read(r, at, policy_fields, &pod->net_policy);
}
