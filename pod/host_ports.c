// SPDX-License-Identifier: Apache-2.0
/*
 * host_ports.c - see host_ports.h.
 */
#include "pod/host_ports.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "pod/pod.h"

static const enum nft_protocol protocols[] = {
	[PORT_TCP] = NFT_TCP,
	[PORT_UDP] = NFT_UDP,
	[PORT_SCTP] = NFT_SCTP,
};
_Static_assert(ARRAY_SIZE(protocols) == PORT_PROTOCOL_MAX, "a protocol for each");

static bool overlap(const struct spec_port *a, const struct spec_port *b)
{
	return a->host_port && a->host_port == b->host_port &&
	       a->protocol == b->protocol &&
	       (!a->host_ip.family || !b->host_ip.family ||
		inet_same(&a->host_ip, &b->host_ip));
}

/* The first port of one pod that another one has. */
static bool find_overlap(const struct pod *a, const struct pod *b, size_t *ret_a,
			 size_t *ret_b, const struct spec_port **ret_port)
{
	for (size_t i = 0; i < a->spec->n_members; i++)
		for (size_t p = 0; p < a->spec->members[i].n_ports; p++) {
			const struct spec_port *port = &a->spec->members[i].ports[p];

			if (!port->host_port)
				continue;
			for (size_t k = 0; k < b->spec->n_members; k++)
				for (size_t q = 0; q < b->spec->members[k].n_ports; q++) {
					if (!overlap(port, &b->spec->members[k].ports[q]))
						continue;
					*ret_a = i;
					*ret_b = k;
					*ret_port = port;
					return true;
				}
		}
	return false;
}

bool host_ports_any(const struct pod *pod)
{
	for (size_t i = 0; i < pod->spec->n_members; i++)
		for (size_t p = 0; p < pod->spec->members[i].n_ports; p++)
			if (pod->spec->members[i].ports[p].host_port)
				return true;
	return false;
}

int host_ports_check(const struct pods *pods, const struct pod *pod, struct err *e)
{
	const struct spec_port *port;
	size_t mine, theirs;

	if (!host_ports_any(pod))
		return 0;
	list_for_each(node, &pods->list) {
		const struct pod *other = list_entry(node, struct pod, node);

		if (other == pod || !other->net.ports_held ||
		    !find_overlap(pod, other, &mine, &theirs, &port))
			continue;
		return err_setx(e, STAGE_CONFIG, EADDRINUSE,
				"hostPort %u/%s of %s/%s is taken by %s/%s of pod %s/%s",
				port->host_port, port_protocol_name(port->protocol),
				pod->name, pod->spec->members[mine].name, other->name,
				other->spec->members[theirs].name, other->namespace,
				other->name);
	}
	return 0;
}

size_t host_ports_expand(const struct pod *pod, const struct spec_port *port,
			 struct nft_port ret[static 2])
{
	const struct inet *ips[] = { &pod->net.ip4, &pod->net.ip6 };
	size_t n = 0;

	for (size_t i = 0; port->host_port && i < ARRAY_SIZE(ips); i++)
		if (ips[i]->family &&
		    (!port->host_ip.family || port->host_ip.family == ips[i]->family))
			ret[n++] = (struct nft_port){
				.protocol = protocols[port->protocol],
				.host = port->host_ip,
				.host_port = port->host_port,
				.pod = *ips[i],
				.pod_port = port->container_port,
			};
	return n;
}

/* An exact equal of a later member's. */
static bool hidden(const struct pod *pod, size_t member, const struct spec_port *port)
{
	for (size_t i = member + 1; i < pod->spec->n_members; i++)
		for (size_t p = 0; p < pod->spec->members[i].n_ports; p++) {
			const struct spec_port *other = &pod->spec->members[i].ports[p];

			if (other->host_port == port->host_port &&
			    other->protocol == port->protocol &&
			    inet_same(&other->host_ip, &port->host_ip))
				return true;
		}
	return false;
}

int host_ports_each(const struct pod *pod, host_port_fn fn, void *arg)
{
	for (size_t i = 0; i < pod->spec->n_members; i++) {
		const struct container_spec *c = &pod->spec->members[i];

		for (size_t p = 0; p < c->n_ports; p++) {
			struct nft_port ports[2];
			size_t n = host_ports_expand(pod, &c->ports[p], ports);

			if (n && c->init && hidden(pod, i, &c->ports[p]))
				continue;
			for (size_t k = 0; k < n; k++) {
				int r = fn(arg, c->name, &ports[k]);

				if (r < 0)
					return r;
			}
		}
	}
	return 0;
}
