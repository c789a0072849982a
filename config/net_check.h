// SPDX-License-Identifier: Apache-2.0
/*
 * net_check.h - rules for addresses and interface names that people write.
 *
 * Called by: the tables of machine_network.c and manifest_net*.c. Those of the first kind
 * return NULL, or words that continue "must be "; the readers add the error themselves.
 */
#ifndef CONFIG_NET_CHECK_H
#define CONFIG_NET_CHECK_H

#include "base/inet.h"
#include "config/json_field.h"

#define NET_MTU_MIN  68   /* RFC 791 */
#define NET_MTU6_MIN 1280 /* RFC 8200 */
#define NET_MTU_MAX  65535

const char *net_check_interface(const char *s); /* dev_valid_name(), net/core/dev.c */
const char *net_check_address(const char *s);   /* an IP address without a prefix */

/* A unicast address that an interface can have: not loopback, multicast, unspecified or
 * the IPv4 broadcast address; nor, with a prefix, the first or last of an IPv4 network
 * (of /31 and /32 all are usable, RFC 3021). False after an error was added at at. */
bool net_read_address(struct json_reader *r, const struct json_at *at, bool with_prefix,
		      struct inet *ret);
/* A network: the bits behind the prefix must be 0, and the error names what was meant. */
bool net_read_network(struct json_reader *r, const struct json_at *at, struct inet *ret);
/* "gateway": one address, or a list of one a family. ret[0] IPv4, ret[1] IPv6. */
void net_read_gateway(struct json_reader *r, const struct json_at *at,
		      struct inet ret[static 2]);
/* Where net_read_gateway() found g: an element of the list, or member itself, which must
 * outlive the answer. */
struct json_at net_gateway_at(const struct json_at *member, const struct inet *g);
bool net_read_mac(struct json_reader *r, const struct json_at *at,
		  uint8_t ret[static MAC_BYTES]);

#endif
