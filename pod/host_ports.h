// SPDX-License-Identifier: Apache-2.0
/*
 * host_ports.h - which pod has which port of the machine.
 *
 * Owns: nothing; who has a port stands in struct pod (net.ports_held and the spec).
 * Called by: network.c at creation, network_ports.c for what a port is translated
 * to.
 */
#ifndef POD_HOST_PORTS_H
#define POD_HOST_PORTS_H

#include "base/err.h"
#include "netlink/nft.h"

struct pod;
struct pods;

/* Compares pod's host ports with those of every other pod that holds its own. A port for
 * every address meets one for a single address, as Kubernetes' scheduler has it
 * (framework HostPortInfo). 0, or -EADDRINUSE with e naming port, pods and members. */
int host_ports_check(const struct pods *pods, const struct pod *pod, struct err *e);

bool host_ports_any(const struct pod *pod);

/* The translations of one port of one member: one for each family of the pod that its
 * hostIP allows. Their number, at most 2. */
struct spec_port;
size_t host_ports_expand(const struct pod *pod, const struct spec_port *port,
			 struct nft_port ret[static 2]);

/* Calls fn for every translation of the pod. An init container's is left out where a
 * container has the same port of the machine: they do not run together, and the table
 * has one entry for it. fn returns 0 or -errno, which ends the call. */
typedef int (*host_port_fn)(void *arg, const char *member, const struct nft_port *port);
int host_ports_each(const struct pod *pod, host_port_fn fn, void *arg);

#endif
