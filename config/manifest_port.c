// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_port.c - .ports of a container: ContainerPort of core/v1.
 *
 * Source: core/validation (validateContainerPorts, checkHostPortConflicts): containers
 * share the machine's ports, init containers run one after the other and each is checked
 * on its own.
 */
#include <json-c/json.h>
#include <string.h>

#include "config/manifest_parts.h"
#include "config/name_check.h"

#define PORT_LAST 65535

struct port_read {
	const char *name;
	int64_t host_port, container_port;
	enum port_protocol protocol;
	struct inet host_ip;
};

static const char *const protocol_words[] = {
	[PORT_TCP] = "TCP",
	[PORT_UDP] = "UDP",
	[PORT_SCTP] = "SCTP",
	[PORT_PROTOCOL_MAX] = NULL,
};
_Static_assert(sizeof(enum port_protocol) == sizeof(int), "enum as int");

const char *port_protocol_name(enum port_protocol p)
{
	return (unsigned int)p < PORT_PROTOCOL_MAX ? protocol_words[p] : "?";
}

/* 0.0.0.0 and :: are written for "every address", as kubelets understand them. */
static void read_host_ip(struct json_reader *r, const struct json_at *at, void *out)
{
	static const uint8_t any[16];
	struct port_read *p = out;
	const char *text = json_text(at);
	struct inet a;

	if (!*text)
		return;
	if (inet_parse_address(text, &a) < 0)
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must be an IP address", text);
	else if (memcmp(a.bytes, any, inet_length(&a)) != 0)
		p->host_ip = a;
}

static const struct field port_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct port_read, name, .check = name_check_port),
	FIELD_AT("containerPort", FIELD_INT, struct port_read, container_port, .min = 1,
		 .max = PORT_LAST, .required = true),
	FIELD_AT("hostPort", FIELD_INT, struct port_read, host_port, .min = 0,
		 .max = PORT_LAST),
	FIELD_CALL("hostIP", FIELD_STRING, read_host_ip),
	FIELD_AT("protocol", FIELD_WORD, struct port_read, protocol,
		 .words = protocol_words),
	FIELD_TABLE_END,
};

/* hostPort defaults to containerPort with hostNetwork (SetDefaults_PodSpec). */
static void settle_host_port(struct json_reader *r, const struct json_at *port,
			     bool host_network, struct port_read *p)
{
	struct json_at at = json_member(port, "hostPort");

	if (!host_network)
		return;
	if (p->host_port == 0)
		p->host_port = p->container_port;
	else if (p->host_port != p->container_port)
		json_fault(r, &at, DIAG_VALUE,
			   "hostPort %lld must match containerPort %lld, because "
			   "hostNetwork is true",
			   (long long)p->host_port, (long long)p->container_port);
}

static bool same_host_port(const struct spec_port *a, const struct spec_port *b)
{
	return a->host_port && a->host_port == b->host_port &&
	       a->protocol == b->protocol && inet_same(&a->host_ip, &b->host_ip);
}

static void check_conflicts(struct json_reader *r, const struct json_at *port,
			    const struct pod_spec *pod, const struct container_spec *c,
			    const struct spec_port *p)
{
	struct json_at at = json_member(port, "hostPort");
	const char *holder = NULL;

	/* With hostNetwork it may be the default of a port that says nothing. */
	if (!at.value)
		at = json_member(port, "containerPort");
	for (size_t i = 0; i < c->n_ports && !holder; i++)
		if (same_host_port(&c->ports[i], p))
			holder = "this container";
	for (size_t i = pod->n_init; !c->init && i < pod->n_members && !holder; i++)
		for (size_t k = 0; k < pod->members[i].n_ports; k++)
			if (same_host_port(&pod->members[i].ports[k], p))
				holder = pod->members[i].name;
	if (holder)
		json_fault(r, &at, DIAG_DUPLICATE,
			   "duplicate hostPort %u/%s: it is %s%.64s's already",
			   p->host_port, port_protocol_name(p->protocol),
			   strchr(holder, ' ') ? "" : "container ", holder);
}

static void check_name(struct json_reader *r, const struct json_at *port,
		       const struct container_spec *c, const char *name)
{
	struct json_at at = json_member(port, "name");

	for (size_t i = 0; i < c->n_ports; i++)
		if (c->ports[i].name && !strcmp(c->ports[i].name, name)) {
			json_fault(r, &at, DIAG_DUPLICATE, "duplicate port name \"%s\"",
				   name);
			return;
		}
}

void manifest_read_ports(struct json_reader *r, const struct json_at *at,
			 const struct pod_spec *pod, struct container_spec *c)
{
	if (!manifest_check_length(r, at, MANIFEST_PORTS))
		return;
	c->ports = json_keep_array(r, json_length(at), sizeof(*c->ports));
	for (size_t i = 0; c->ports && i < json_length(at); i++) {
		struct json_at item = json_element(at, i);
		struct port_read read = { .protocol = PORT_TCP };
		struct spec_port port;

		if (!json_expect_object(r, &item))
			continue;
		json_fields_read(r, &item, port_fields, &read);
		settle_host_port(r, &item, pod->host_network, &read);
		port = (struct spec_port){
			.name = read.name,
			.protocol = read.protocol,
			.container_port = (uint16_t)read.container_port,
			.host_port = (uint16_t)read.host_port,
			.host_ip = read.host_ip,
		};
		if (port.name)
			check_name(r, &item, c, port.name);
		check_conflicts(r, &item, pod, c, &port);
		c->ports[c->n_ports++] = port;
	}
}
