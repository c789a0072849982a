// SPDX-License-Identifier: Apache-2.0
/*
 * uplink_ip.c - the kernel's ip= parameter; see uplink_parts.h.
 *
 * Source: Documentation/admin-guide/nfs/nfsroot.rst:
 * ip=CLIENT:SERVER:GATEWAY:NETMASK:HOSTNAME:DEVICE:AUTOCONF:DNS0:DNS1:NTP0, or
 * ip=AUTOCONF. The server's address is for a root on NFS, and the NTP server for nobody
 * here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "config/net_check.h"
#include "netlink/uplink_parts.h"

enum ip_field {
	IP_CLIENT,
	IP_SERVER,
	IP_GATEWAY,
	IP_NETMASK,
	IP_HOSTNAME,
	IP_DEVICE,
	IP_AUTOCONF,
	IP_DNS0,
	IP_DNS1,
	IP_NTP0,
	IP_FIELDS
};

struct word {
	const char *name;
	enum uplink_mode mode;
};

/* bootp and rarp are older ways to what DHCP does; "on" and "any" leave it to the kernel
 * which one is tried. */
static const struct word autoconf[] = {
	{ "off", UPLINK_MODE_NONE },  { "none", UPLINK_MODE_NONE },
	{ "on", UPLINK_MODE_DHCP },   { "any", UPLINK_MODE_DHCP },
	{ "dhcp", UPLINK_MODE_DHCP }, { "both", UPLINK_MODE_DHCP },
};

static int bad(struct err *e, const char *what, const char *text)
{
	return err_setx(e, STAGE_CONFIG, EINVAL, "ip=: %s \"%.64s\"", what, text);
}

static int autoconf_mode(const char *text, enum uplink_mode *ret, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(autoconf); i++)
		if (!strcmp(autoconf[i].name, text)) {
			*ret = autoconf[i].mode;
			return 0;
		}
	return bad(e, "unsupported autoconfiguration", text);
}

static int address4(const char *what, const char *text, struct inet *ret, struct err *e)
{
	if (inet_parse_address(text, ret) < 0 || ret->family != AF_INET)
		return bad(e, what, text);
	return 0;
}

/* A mask's ones must be on its left. */
static int prefix_of(const struct inet *mask, unsigned int *ret)
{
	uint32_t bits = (uint32_t)mask->bytes[0] << 24 | (uint32_t)mask->bytes[1] << 16 |
			(uint32_t)mask->bytes[2] << 8 | mask->bytes[3];

	if (~bits & (~bits + 1))
		return -EINVAL;
	*ret = (unsigned int)__builtin_popcount(bits);
	return 0;
}

/* The mask of the address's old class, as the kernel takes it (ipconfig.c). */
static unsigned int class_prefix(const struct inet *a)
{
	if (a->bytes[0] < 128)
		return 8;
	return a->bytes[0] < 192 ? 16 : 24;
}

static int set_client(char *const *f, struct uplink_settings *s, struct err *e)
{
	struct inet client, mask;
	int r = address4("client address", f[IP_CLIENT], &client, e);

	if (r < 0)
		return r;
	client.prefix = class_prefix(&client);
	if (*f[IP_NETMASK] && (address4("netmask", f[IP_NETMASK], &mask, NULL) < 0 ||
			       prefix_of(&mask, &client.prefix) < 0))
		return bad(e, "netmask", f[IP_NETMASK]);
	s->addrs[s->n_addrs++] = client;
	if (*f[IP_GATEWAY])
		return address4("gateway", f[IP_GATEWAY], &s->gateway[0], e);
	return 0;
}

static int set_servers(char *const *f, struct uplink_settings *s, struct err *e)
{
	for (int i = IP_DNS0; i <= IP_DNS1; i++) {
		int r;

		if (!*f[i])
			continue;
		r = address4("name server", f[i], &s->servers[s->n_servers], e);
		if (r < 0)
			return r;
		s->n_servers++;
	}
	return 0;
}

static size_t split(char *text, char *fields[IP_FIELDS])
{
	static char empty[1];
	size_t n = 0;

	for (size_t i = 0; i < IP_FIELDS; i++)
		fields[i] = empty;
	while (text && n < IP_FIELDS)
		fields[n++] = strsep(&text, ":");
	return text ? IP_FIELDS + 1 : n;
}

int uplink_ip_parse(const char *text, struct uplink_ip *ret, struct err *e)
{
	struct uplink_ip ip = { .mode = UPLINK_MODE_DHCP };
	char buf[256], *f[IP_FIELDS];
	size_t n;
	int r = 0;

	if (strlen(text) >= sizeof(buf))
		return bad(e, "too long", text);
	(void)strcpy(buf, text);
	n = split(buf, f);
	if (n > IP_FIELDS)
		return bad(e, "too many fields in", text);
	if (n == 1 && inet_parse_address(f[0], &(struct inet){ 0 }) < 0) {
		r = autoconf_mode(f[0], &ip.mode, e);
		if (r == 0)
			*ret = ip;
		return r;
	}
	if (*f[IP_DEVICE] && net_check_interface(f[IP_DEVICE]))
		return bad(e, "interface", f[IP_DEVICE]);
	(void)snprintf(ip.device, sizeof(ip.device), "%s", f[IP_DEVICE]);
	(void)snprintf(ip.hostname, sizeof(ip.hostname), "%s", f[IP_HOSTNAME]);
	if (*f[IP_AUTOCONF])
		r = autoconf_mode(f[IP_AUTOCONF], &ip.mode, e);
	if (r == 0)
		r = set_servers(f, &ip.settings, e);
	if (r == 0 && *f[IP_CLIENT]) {
		ip.mode = UPLINK_MODE_STATIC; /* what is given is not asked for */
		r = set_client(f, &ip.settings, e);
	}
	if (r == 0)
		*ret = ip;
	return r;
}
