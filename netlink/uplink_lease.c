// SPDX-License-Identifier: Apache-2.0
/*
 * uplink_lease.c - a DHCP lease on its way from udhcpc to us; see uplink_parts.h.
 *
 * udhcpc runs a script with the lease in its environment. The script is this program
 * again: it sends what it was given to a socket of PID 1's that only root may write to (a
 * descriptor would not get there: udhcpc takes 3 and 4 for itself). What the server says
 * is not trusted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "config/name_check.h"
#include "netlink/uplink_parts.h"

#define SCRIPT_NAME "podinit-lease"
#define LEASE_BYTES 4096

static const char *const variables[] = { "ip",    "subnet",      "mask",   "router",
					 "dns",   "search",      "domain", "mtu",
					 "lease", "staticroutes" };

static const char *const events[] = {
	[LEASE_BOUND] = "bound",       [LEASE_RENEW] = "renew",
	[LEASE_DECONFIG] = "deconfig", [LEASE_FAIL] = "leasefail",
	[LEASE_NAK] = "nak",
};

/* ---- the script ---- */

static int lease_send(const char *text, size_t len)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX,
				    .sun_path = UPLINK_LEASE_SOCKET };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || sendto(fd, text, len, MSG_NOSIGNAL, (struct sockaddr *)&addr,
			     sizeof(addr)) != (ssize_t)len) {
		(void)dprintf(STDERR_FILENO, "%s: %s\n", UPLINK_LEASE_SOCKET,
			      strerror(errno));
		return 1;
	}
	return 0;
}

int uplink_lease_main(int argc, char *const *argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	char text[LEASE_BYTES];
	size_t len;

	if (argc != 2 || strcmp(slash ? slash + 1 : argv[0], SCRIPT_NAME) != 0)
		return -1;
	len = (size_t)snprintf(text, sizeof(text), "event=%.32s\n", argv[1]);
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *value = getenv(variables[i]);
		int n;

		if (!value || strchr(value, '\n'))
			continue;
		n = snprintf(text + len, sizeof(text) - len, "%s=%s\n", variables[i],
			     value);
		if (n < 0 || (size_t)n >= sizeof(text) - len)
			continue; /* more than fits is more than is used */
		len += (size_t)n;
	}
	return lease_send(text, len);
}

/* ---- what it said ---- */

static bool unicast4(const struct inet *a)
{
	return a->family == AF_INET && a->bytes[0] != 0 && a->bytes[0] != 127 &&
	       a->bytes[0] < 224;
}

static void take_servers(char *value, struct uplink_settings *s)
{
	char *word;

	while ((word = strsep(&value, " ")) && s->n_servers < UPLINK_SERVERS_MAX)
		if (inet_parse_address(word, &s->servers[s->n_servers]) == 0)
			s->n_servers++;
}

/* Names that could put another line into a resolv.conf are none. */
static void take_search(char *value, struct uplink_settings *s)
{
	char *word;
	size_t len = strlen(s->search);

	if (len)
		return; /* "search" (option 119) stands before "domain" */
	while ((word = strsep(&value, " "))) {
		size_t n = strlen(word);

		if (n == 0 || name_check_subdomain(word) ||
		    len + n + 2 > sizeof(s->search))
			continue;
		len += (size_t)snprintf(s->search + len, sizeof(s->search) - len, "%s%s",
					len ? " " : "", word);
	}
}

/* "10.0.0.0/8 192.0.2.1 0.0.0.0/0 192.0.2.9": option 121 (RFC 3442), and with it the
 * router option does not count. */
static bool take_routes(char *value, struct uplink_settings *s)
{
	char *to, *by;
	bool any = false;

	while ((to = strsep(&value, " ")) && (by = strsep(&value, " "))) {
		struct uplink_route route;

		if (inet_parse_cidr(to, &route.to) < 0 ||
		    inet_parse_address(by, &route.gateway) < 0 ||
		    route.to.family != AF_INET || route.gateway.family != AF_INET)
			continue;
		any = true;
		if (route.gateway.bytes[0] == 0)
			route.gateway = (struct inet){ 0 }; /* on the link */
		if (route.to.prefix == 0)
			s->gateway[0] = route.gateway;
		else if (s->n_routes < UPLINK_ROUTES_MAX)
			s->routes[s->n_routes++] = route;
	}
	return any;
}

static long number(const char *text, long min, long max)
{
	char *end;
	long n = strtol(text, &end, 10);

	return *text && !*end && n >= min && n <= max ? n : 0;
}

struct lease_read {
	struct inet ip, router;
	unsigned int prefix;
	bool routes;
};

static void take_value(const char *key, char *value, struct lease_read *l,
		       struct uplink_settings *s)
{
	char *first = value;

	if (!strcmp(key, "ip"))
		(void)inet_parse_address(value, &l->ip);
	else if (!strcmp(key, "mask")) /* udhcpc counts the subnet's bits for us */
		l->prefix = (unsigned int)number(value, 1, 32);
	else if (!strcmp(key, "router"))
		(void)inet_parse_address(strsep(&first, " "), &l->router);
	else if (!strcmp(key, "dns"))
		take_servers(value, s);
	else if (!strcmp(key, "search") || !strcmp(key, "domain"))
		take_search(value, s);
	else if (!strcmp(key, "mtu"))
		s->mtu = (uint32_t)number(value, 576,
					  65535); /* RFC 2132 5.1: 68 is
						     possible, and an attack */
	else if (!strcmp(key, "lease"))
		s->lease_seconds = (uint32_t)number(value, 1, 0x7fffffff);
	else if (!strcmp(key, "staticroutes"))
		l->routes = take_routes(value, s);
}

int uplink_lease_parse(char *text, enum lease_event *ret_event,
		       struct uplink_settings *ret)
{
	struct uplink_settings s = { 0 };
	struct lease_read l = { .prefix = 0 };
	int event = -1;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *value = strchr(line, '=');

		if (!value)
			continue;
		*value++ = '\0';
		if (strcmp(line, "event") != 0) {
			take_value(line, value, &l, &s);
			continue;
		}
		for (size_t i = 0; i < ARRAY_SIZE(events); i++)
			if (!strcmp(events[i], value))
				event = (int)i;
	}
	if (event < 0)
		return -EINVAL;
	if (event <= LEASE_RENEW) {
		if (!unicast4(&l.ip) || l.prefix == 0)
			return -EINVAL;
		l.ip.prefix = l.prefix;
		s.addrs[s.n_addrs++] = l.ip;
		if (!l.routes && unicast4(&l.router))
			s.gateway[0] = l.router;
	}
	*ret_event = (enum lease_event)event;
	*ret = s;
	return 0;
}
