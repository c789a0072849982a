// SPDX-License-Identifier: Apache-2.0
/*
 * network.h - the pods' network as a whole: bridge, addresses, ports, and who has what.
 *
 * Owns: struct network (one a machine): the address pool, the slots, the host ports in
 * use, the queue to podinit-nft, the child that sets the machine's side up. Called by:
 * pods.c (creation, deletion), sandbox.c and lifecycle.c (start and end of a pod).
 * Nothing here blocks: bridge, interfaces and rules are made in children with a deadline;
 * pod_advance() follows when something is done. The machine's side is made when the first
 * pod needs it: a machine of hostNetwork pods has no bridge, no table and pays nothing.
 */
#ifndef POD_NETWORK_H
#define POD_NETWORK_H

#include "base/err.h"
#include "base/inet.h"

struct network;
struct pod;
struct pods;

/* 0 or -errno. */
int network_init(struct network **ret, struct pods *pods, struct err *e);

/*
 * At creation: takes a slot and the lowest free address of each family (or the fixed ones
 * asked for), checks host ports against every pod that has not given them back, and makes
 * pod->net.plan. The address stays the pod's until network_forget(), however often its
 * members or its sandbox are started. 0, or -EADDRINUSE (e names the port or address and
 * both holders), -ENOSPC (e names the range), -EINVAL (a fixed address outside of the
 * range), -ENOMEM.
 */
int network_assign(struct pod *pod, struct err *e);
/* At deletion: gives slot and addresses back. Harmless when nothing was assigned. */
void network_forget(struct pod *pod);

/* Whether the machine's side stands; starts making it when nobody did. False: the pods
 * that wait are started when it does, or learn by pod->reason why it does not. */
bool network_ready(struct pod *pod);
/* The uplink's mtu may be another than the bridge's. */
void network_uplink_changed(struct network *net);

/* The interfaces stand: the namespace gets its name, the rules of the host ports and the
 * filter are asked for. pod_advance() follows when network_up(). */
void network_made(struct pod *pod);
/* Interfaces and rules are as the pod needs them before its first member starts. */
bool network_up(const struct pod *pod);
/* At the pod's end. The ports can be taken by another pod at once: its rules come later
 * in the same queue. pod_advance() follows when network_down(). */
void network_end(struct pod *pod);
/* Nothing of the pod is in the kernel's rules, and no helper works for it. */
bool network_down(const struct pod *pod);

/* Both run in a helper child, with struct pod as it was at the fork. 0 or -errno with e.
 * network_make(): in the pod's new namespace; machine was opened before. netns_fd: the
 * pod's, -1 = it is gone or never was. */
struct nl;
int network_make(const struct pod *pod, struct nl *machine, struct err *e);
int network_remove(const struct pod *pod, int netns_fd, struct err *e);

/* The pod's addresses, IPv4 first; with hostNetwork the machine's. At most max. */
size_t network_ips(const struct pod *pod, struct inet *ret, size_t max);
/* The machine's: of the uplink, else the gateways'. */
size_t network_host_ips(const struct pods *pods, struct inet *ret, size_t max);

/* /run/netns/NAME: "POD" in namespace default, else "NAMESPACE_POD". */
void network_netns_name(const struct pod *pod, char *buf, size_t size);

#endif
