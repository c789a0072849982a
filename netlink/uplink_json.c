// SPDX-License-Identifier: Apache-2.0
/*
 * uplink_json.c - the uplink for podinit-info; see uplink.h.
 */
#include <json-c/json.h>

#include "netlink/uplink_private.h"

static const char *const mode_names[] = {
	[UPLINK_MODE_NONE] = "none",
	[UPLINK_MODE_STATIC] = "static",
	[UPLINK_MODE_DHCP] = "dhcp",
	[UPLINK_MODE_KERNEL] = "kernel",
};

static void put(struct json_object *o, const char *key, struct json_object *value)
{
	if (value && json_object_object_add(o, key, value) < 0)
		json_object_put(value);
}

static struct json_object *list(const struct inet *a, size_t n, bool prefix)
{
	struct json_object *l = json_object_new_array();
	char text[INET_TEXT_BYTES];

	for (size_t i = 0; l && i < n; i++) {
		struct json_object *s = json_object_new_string(
			prefix ? inet_format_cidr(&a[i], text) :
				 inet_format(&a[i], text));

		if (!a[i].family || json_object_array_add(l, s) < 0)
			json_object_put(s);
	}
	return l;
}

struct json_object *uplink_json(const struct uplink *u)
{
	const struct uplink_info *info = &u->info;
	struct json_object *o = json_object_new_object();

	if (!o)
		return NULL;
	put(o, "mode", json_object_new_string(mode_names[u->mode]));
	put(o, "state", json_object_new_string(uplink_state_name(info->state)));
	if (info->state == UPLINK_NONE)
		return o;
	put(o, "interface", json_object_new_string(info->name));
	put(o, "mtu", json_object_new_int64(info->mtu));
	put(o, "carrier", json_object_new_boolean(u->carrier));
	put(o, "addresses", list(info->addrs, info->n_addrs, true));
	put(o, "gateways", list(u->now.gateway, 2, false));
	put(o, "servers", list(info->servers, info->n_servers, false));
	if (info->search[0])
		put(o, "search", json_object_new_string(info->search));
	if (info->reason[0])
		put(o, "reason", json_object_new_string(info->reason));
	if (u->now.lease_seconds)
		put(o, "leaseSeconds", json_object_new_int64(u->now.lease_seconds));
	return o;
}
