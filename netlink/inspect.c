// SPDX-License-Identifier: Apache-2.0
/*
 * inspect.c - see inspect.h. Without memory json-c's functions give NULL or do nothing:
 * something is then missing in the answer, in a child that has nothing else to do.
 */
#include "netlink/inspect.h"

#include <errno.h>
#include <json-c/json.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <sys/socket.h>

#include "netlink/address.h"
#include "netlink/link.h"
#include "netlink/nl.h"
#include "netlink/qdisc.h"
#include "netlink/route.h"

struct inspect {
	struct json_object *links;    /* array */
	struct json_object *by_index; /* the same ones; "7": {...} */
	struct json_object *routes;
	size_t links_omitted, routes_omitted;
};

static void put(struct json_object *o, const char *key, struct json_object *value)
{
	if (value && json_object_object_add(o, key, value) < 0)
		json_object_put(value);
}

static void put_text(struct json_object *o, const char *key, const char *text)
{
	put(o, key, json_object_new_string(text));
}

static void put_number(struct json_object *o, const char *key, uint64_t number)
{
	put(o, key, json_object_new_uint64(number));
}

/* Into the list, unless an equal one is there: a dump may have been taken twice. */
static void add_once(struct json_object *list, struct json_object *value)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (json_object_equal(json_object_array_get_idx(list, i), value)) {
			json_object_put(value);
			return;
		}
	if (json_object_array_add(list, value) < 0)
		json_object_put(value);
}

static struct json_object *find_link(const struct inspect *in, int index)
{
	struct json_object *link = NULL;
	char key[12];

	(void)snprintf(key, sizeof(key), "%d", index);
	(void)json_object_object_get_ex(in->by_index, key, &link);
	return link;
}

/* Of a link that was seen, else "". */
static const char *link_name(const struct inspect *in, int index)
{
	struct json_object *name = NULL;

	(void)json_object_object_get_ex(find_link(in, index), "name", &name);
	return name ? json_object_get_string(name) : "";
}

/* ---- links ---- */

static const char *state_name(uint8_t operstate)
{
	static const char *const names[] = {
		[IF_OPER_UNKNOWN] = "unknown",
		[IF_OPER_NOTPRESENT] = "notpresent",
		[IF_OPER_DOWN] = "down",
		[IF_OPER_LOWERLAYERDOWN] = "lowerlayerdown",
		[IF_OPER_TESTING] = "testing",
		[IF_OPER_DORMANT] = "dormant",
		[IF_OPER_UP] = "up",
	};

	return operstate < ARRAY_SIZE(names) ? names[operstate] : "unknown";
}

static void put_counters(struct json_object *o, const struct link_counters *c)
{
	put_number(o, "rxBytes", c->rx_bytes);
	put_number(o, "rxPackets", c->rx_packets);
	put_number(o, "rxErrors", c->rx_errors);
	put_number(o, "rxDropped", c->rx_dropped);
	put_number(o, "txBytes", c->tx_bytes);
	put_number(o, "txPackets", c->tx_packets);
	put_number(o, "txErrors", c->tx_errors);
	put_number(o, "txDropped", c->tx_dropped);
}

static int on_link(void *arg, const struct link_info *link)
{
	struct inspect *in = arg;
	struct json_object *o;
	char key[12], mac[MAC_TEXT_BYTES];

	if (find_link(in, link->index))
		return 0;
	if (json_object_array_length(in->links) >= INSPECT_LINKS_MAX) {
		in->links_omitted++;
		return 0;
	}
	o = json_object_new_object();
	put_text(o, "name", link->name);
	put_number(o, "index", (uint64_t)link->index);
	put_text(o, "kind",
		 *link->kind                ? link->kind :
		 link->flags & IFF_LOOPBACK ? "loopback" :
					      "device");
	/* A loopback has no carrier to speak of, and is never more than "unknown". */
	put_text(o, "state", link->flags & IFF_UP ? state_name(link->operstate) : "down");
	put(o, "carrier", json_object_new_boolean((link->flags & IFF_LOWER_UP) != 0));
	put_number(o, "mtu", link->mtu);
	if (link->has_mac)
		put_text(o, "mac", mac_format(link->mac, mac));
	if (link->master)
		put_number(o, "master", (uint64_t)link->master); /* see name_masters() */
	put(o, "addresses", json_object_new_array());
	put_counters(o, &link->counters);
	(void)snprintf(key, sizeof(key), "%d", link->index);
	put(in->by_index, key, json_object_get(o));
	if (json_object_array_add(in->links, o) < 0)
		json_object_put(o);
	return 0;
}

/* A bridge may come after its ports. */
static void name_masters(const struct inspect *in)
{
	for (size_t i = 0; i < json_object_array_length(in->links); i++) {
		struct json_object *o = json_object_array_get_idx(in->links, i), *index;
		const char *name = "";

		if (!json_object_object_get_ex(o, "master", &index))
			continue;
		name = link_name(in, json_object_get_int(index));
		if (*name)
			put_text(o, "master", name);
		else
			json_object_object_del(o, "master");
	}
}

static int on_address(void *arg, const struct address_info *a)
{
	struct json_object *link = find_link(arg, a->index), *list = NULL;
	char text[INET_TEXT_BYTES];

	if (link && json_object_object_get_ex(link, "addresses", &list))
		add_once(list, json_object_new_string(inet_format_cidr(&a->addr, text)));
	return 0;
}

static int on_limit(void *arg, int index, uint64_t rate_bits)
{
	struct json_object *link = find_link(arg, index);

	if (link)
		put_number(link, "egressBits", rate_bits);
	return 0;
}

/* ---- routes ---- */

static int on_route(void *arg, const struct route_info *route)
{
	struct inspect *in = arg;
	struct json_object *o;
	char text[INET_TEXT_BYTES];

	if (json_object_array_length(in->routes) >= INSPECT_ROUTES_MAX) {
		in->routes_omitted++;
		return 0;
	}
	o = json_object_new_object();
	put_text(o, "destination",
		 route->to.prefix ? inet_format_cidr(&route->to, text) : "default");
	if (route->gateway.family)
		put_text(o, "gateway", inet_format(&route->gateway, text));
	put_text(o, "interface", link_name(in, route->index));
	if (route->source.family)
		put_text(o, "source", inet_format(&route->source, text));
	if (route->metric)
		put_number(o, "metric", route->metric);
	add_once(in->routes, o);
	return 0;
}

/* ---- the whole ---- */

static int collect(struct nl *nl, struct inspect *in)
{
	int r = link_each(nl, on_link, in);

	if (r == 0)
		r = address_each(nl, 0, on_address, in);
	if (r == 0)
		r = qdisc_each_limit(nl, on_limit, in);
	if (r == 0)
		r = route_each(nl, AF_INET, on_route, in);
	if (r == 0 && nl_has_ipv6())
		r = route_each(nl, AF_INET6, on_route, in);
	name_masters(in);
	return r;
}

int net_inspect(struct nl *nl, struct json_object *o, struct err *e)
{
	struct inspect in = { .links = json_object_new_array(),
			      .by_index = json_object_new_object(),
			      .routes = json_object_new_array() };
	int r = in.links && in.by_index && in.routes ? collect(nl, &in) : -ENOMEM;

	put(o, "links", in.links);
	put(o, "routes", in.routes);
	if (in.links_omitted)
		put_number(o, "linksOmitted", in.links_omitted);
	if (in.routes_omitted)
		put_number(o, "routesOmitted", in.routes_omitted);
	json_object_put(in.by_index);
	return r < 0 ? err_set(e, STAGE_SANDBOX, -r, "read links and routes") : 0;
}
