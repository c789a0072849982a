// SPDX-License-Identifier: Apache-2.0
/*
 * podctl_net.c - podctl net: the pods' network as tables.
 *
 * Owns: nothing. Called by: podctl.c. The machine is a row of its own name, "-".
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "control/podctl.h"

#define POD_BYTES (254 + 64 + 2)

/* The texts of a list, "A, B"; cut when they do not fit. */
static void join(struct json_object *list, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < list_len(list) && len < size; i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		int n = snprintf(buf + len, size - len, "%s%s", i ? ", " : "",
				 json_object_get_string(item));

		len += n > 0 ? (size_t)n : 0;
	}
}

static void pod_of(struct json_object *pod, char buf[static POD_BYTES])
{
	if (get(pod, "name"))
		(void)snprintf(buf, POD_BYTES, "%s/%s",
			       get_string(pod, "namespace", "default"),
			       get_string(pod, "name", ""));
	else
		(void)snprintf(buf, POD_BYTES, "-");
}

/* "3.4M": bytes in powers of 1024. */
static void bytes_text(int64_t bytes, char *buf, size_t size)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	size_t u = 0;

	if (bytes < 1024) {
		(void)snprintf(buf, size, "%" PRId64, bytes);
		return;
	}
	for (value /= 1024; value >= 1024 && u + 2 < sizeof(units); value /= 1024)
		u++;
	(void)snprintf(buf, size, "%.1f%c", value, units[u]);
}

/* "1.2M", and what is wrong: "1.2M, 3 errors, 7 dropped". */
static void traffic(struct json_object *link, const char *way, char *buf, size_t size)
{
	char key[24], bytes[24], errors[40] = "", dropped[40] = "";
	int64_t n;

	(void)snprintf(key, sizeof(key), "%sBytes", way);
	bytes_text(get_int(link, key, 0), bytes, sizeof(bytes));
	(void)snprintf(key, sizeof(key), "%sErrors", way);
	n = get_int(link, key, 0);
	if (n)
		(void)snprintf(errors, sizeof(errors), ", %" PRId64 " errors", n);
	(void)snprintf(key, sizeof(key), "%sDropped", way);
	n = get_int(link, key, 0);
	if (n)
		(void)snprintf(dropped, sizeof(dropped), ", %" PRId64 " dropped", n);
	(void)snprintf(buf, size, "%s%s%s", bytes, errors, dropped);
}

/* ---- the tables ---- */

static void link_row(struct table *t, const char *pod, struct json_object *link)
{
	char addresses[512], where[48], mtu[24], rx[96], tx[96];
	const char *kind = get_string(link, "kind", ""), *host, *on;
	const char *cells[] = { pod,   get_string(link, "name", ""),
				where, get_string(link, "state", ""),
				mtu,   addresses,
				rx,    tx };

	host = get_string(link, "hostInterface", NULL);
	on = get_string(link, "bridge",
			get_string(link, "parent", get_string(link, "master", "")));
	if (host)
		(void)snprintf(where, sizeof(where), "%.16s@%.16s", host, on);
	else
		(void)snprintf(where, sizeof(where), "%.16s%s%.16s", kind, *on ? "@" : "",
			       on);
	(void)snprintf(mtu, sizeof(mtu), "%" PRId64, get_int(link, "mtu", 0));
	join(get(link, "addresses"), addresses, sizeof(addresses));
	traffic(link, "rx", rx, sizeof(rx));
	traffic(link, "tx", tx, sizeof(tx));
	table_row(t, cells);
}

/* The machine's ends of the pods' links stand with the pods. */
static bool is_shown(struct json_object *link, bool machine)
{
	const char *name = get_string(link, "name", "");

	if (strcmp(get_string(link, "kind", ""), "loopback") == 0)
		return false;
	return !machine || strcmp(get_string(link, "kind", ""), "veth") != 0 ||
	       strncmp(name, "pv", 2) != 0;
}

static void put_links(struct table *t, struct json_object *of, bool machine)
{
	struct json_object *links = get(of, "links");
	char pod[POD_BYTES];

	pod_of(of, pod);
	for (size_t i = 0; i < list_len(links); i++)
		if (is_shown(json_object_array_get_idx(links, i), machine))
			link_row(t, pod, json_object_array_get_idx(links, i));
}

static void put_routes(struct table *t, struct json_object *of)
{
	struct json_object *routes = get(of, "routes");
	char pod[POD_BYTES];

	pod_of(of, pod);
	for (size_t i = 0; i < list_len(routes); i++) {
		struct json_object *r = json_object_array_get_idx(routes, i);
		char metric[24] = "";
		const char *cells[] = { pod,
					get_string(r, "destination", ""),
					get_string(r, "gateway", ""),
					get_string(r, "interface", ""),
					get_string(r, "source", ""),
					metric };

		if (get(r, "metric"))
			(void)snprintf(metric, sizeof(metric), "%" PRId64,
				       get_int(r, "metric", 0));
		table_row(t, cells);
	}
}

/* "192.0.2.1:8080", "[2001:db8::1]:80", "*:8080". */
static void end_text(const char *ip, int64_t port, char *buf, size_t size)
{
	(void)snprintf(buf, size, strchr(ip, ':') ? "[%s]:%" PRId64 : "%s:%" PRId64, ip,
		       port);
}

static void put_ports(struct table *t, struct json_object *of)
{
	struct json_object *ports = get(of, "ports");
	char pod[POD_BYTES];

	pod_of(of, pod);
	for (size_t i = 0; i < list_len(ports); i++) {
		struct json_object *o = json_object_array_get_idx(ports, i);
		char host[80], to[80];
		const char *cells[] = { pod,
					get_string(o, "member", ""),
					get_string(o, "protocol", ""),
					host,
					to,
					json_object_get_boolean(get(o, "active")) ?
						"active" :
						"waiting" };

		end_text(get_string(o, "hostIP", "*"), get_int(o, "hostPort", 0), host,
			 sizeof(host));
		end_text(get_string(o, "podIP", ""), get_int(o, "podPort", 0), to,
			 sizeof(to));
		table_row(t, cells);
	}
}

/* ---- the whole ---- */

static void put_uplink(struct json_object *info)
{
	struct json_object *uplink = get(info, "uplink");
	const char *reason = get_string(uplink, "reason", "");
	char addresses[512], gateways[160];

	join(get(uplink, "addresses"), addresses, sizeof(addresses));
	join(get(uplink, "gateways"), gateways, sizeof(gateways));
	(void)printf(
		"uplink %s: %s%s%s%s%s%s%s\n\n", get_string(uplink, "interface", "-"),
		get_string(uplink, "state", "none"), *addresses ? ", " : "", addresses,
		*gateways ? ", by " : "", gateways, *reason ? ": " : "", reason);
}

static void put_troubles(struct json_object *pods)
{
	for (size_t i = 0; i < list_len(pods); i++) {
		struct json_object *pod = json_object_array_get_idx(pods, i);
		const char *why = get_string(pod, "message",
					     get_string(pod, "reason", ""));
		const char *error = get_string(pod, "error", NULL);
		char name[POD_BYTES];

		pod_of(pod, name);
		if (json_object_get_boolean(get(pod, "hostNetwork")))
			(void)printf("%s has the machine's network\n", name);
		else if (!json_object_get_boolean(get(pod, "ready")) && *why)
			(void)printf("%s: not ready: %s\n", name, why);
		if (error)
			(void)printf("%s: %s\n", name, error);
	}
}

static void put_tables(struct json_object *machine, struct json_object *pods)
{
	static const char *const links[] = { "POD", "INTERFACE", "ON", "STATE",
					     "MTU", "ADDRESSES", "RX", "TX" };
	static const char *const routes[] = { "POD",       "DESTINATION", "GATEWAY",
					      "INTERFACE", "SOURCE",      "METRIC" };
	static const char *const ports[] = { "POD",  "MEMBER", "PROTOCOL",
					     "HOST", "POD",    "RULES" };
	struct table t;
	size_t n = 0;

	table_begin(&t, ARRAY_SIZE(links), links);
	put_links(&t, machine, true);
	for (size_t i = 0; i < list_len(pods); i++)
		put_links(&t, json_object_array_get_idx(pods, i), false);
	table_end(&t);
	(void)putchar('\n');
	table_begin(&t, ARRAY_SIZE(routes), routes);
	put_routes(&t, machine);
	for (size_t i = 0; i < list_len(pods); i++)
		put_routes(&t, json_object_array_get_idx(pods, i));
	table_end(&t);
	for (size_t i = 0; i < list_len(pods); i++)
		n += list_len(get(json_object_array_get_idx(pods, i), "ports"));
	if (n == 0)
		return;
	(void)putchar('\n');
	table_begin(&t, ARRAY_SIZE(ports), ports);
	for (size_t i = 0; i < list_len(pods); i++)
		put_ports(&t, json_object_array_get_idx(pods, i));
	table_end(&t);
}

int podctl_net(struct podctl *p)
{
	struct json_object *args = NULL, *net = NULL, *info = NULL;
	int r = 0;

	if (p->n_args && p->namespace)
		return say(PODCTL_USAGE, "give -n or a pod, not both");
	if (p->n_args) {
		args = pod_arguments(p->args[0]);
		if (!args)
			return PODCTL_USAGE;
	} else if (p->namespace) {
		args = json_object_new_object();
		(void)json_object_object_add(args, "namespace",
					     json_object_new_string(p->namespace));
	}
	if (!args && !p->json)
		r = conn_call(p, "podinit-info", NULL, &info);
	if (r == 0)
		r = conn_call(p, "pod-net", args, &net);
	else
		json_object_put(args);
	if (r == 0 && p->json) {
		put_json(net);
	} else if (r == 0) {
		if (info)
			put_uplink(info);
		put_tables(get(net, "machine"), get(net, "pods"));
		put_troubles(get(net, "pods"));
	}
	json_object_put(info);
	json_object_put(net);
	return r;
}
