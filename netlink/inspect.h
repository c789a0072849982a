// SPDX-License-Identifier: Apache-2.0
/*
 * inspect.h - a network namespace's links, addresses, routes and counters as JSON.
 *
 * Owns: nothing. Called by: pod's inspect child. Blocks: asks the kernel. What is said is
 * what was there at some moment of the call; it is no snapshot.
 */
#ifndef NETLINK_INSPECT_H
#define NETLINK_INSPECT_H

#include "base/err.h"

struct json_object;
struct nl;

#define INSPECT_LINKS_MAX  8192 /* further ones are counted in "linksOmitted" */
#define INSPECT_ROUTES_MAX 256  /* "routesOmitted" */

/*
 * Adds to o, in the order of the kernel's indexes:
 * "links": [{"name", "index", "kind" ("device" for hardware), "state": "up|down|unknown|
 *   ..." (RFC 2863 as ip(8) has it), "carrier": bool, "mtu", "mac", "master" (name),
 *   "addresses": ["10.88.0.2/16", ...], "egressBits" (of a token bucket),
 *   "rxBytes", "rxPackets", "rxErrors", "rxDropped", "txBytes", ...}],
 * "routes": [{"destination": "default" or a CIDR, "gateway", "interface", "source",
 *   "metric"}]: unicast routes of the main table, IPv4 first.
 * What does not apply is left out. 0 or -errno with e.
 */
int net_inspect(struct nl *nl, struct json_object *o, struct err *e);

#endif
