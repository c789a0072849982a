// SPDX-License-Identifier: Apache-2.0
/*
 * net_check.c - see net_check.h.
 */
#include "config/net_check.h"

#include <json-c/json.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

const char *net_check_interface(const char *s)
{
	static const char rule[] = "the name of an interface: 1 to 15 bytes without "
				   "blanks, '/' and ':', and neither \".\" nor \"..\"";
	size_t n = strlen(s);

	if (n == 0 || n >= IFNAMSIZ || !strcmp(s, ".") || !strcmp(s, ".."))
		return rule;
	/* Folders of /proc/sys/net that stand for all of them
	 * (__devinet_sysctl_register). */
	if (!strcmp(s, "all") || !strcmp(s, "default"))
		return "another name than \"all\" and \"default\", which the kernel "
		       "keeps";
	for (; *s; s++)
		if (*s <= ' ' || *s > '~' || *s == '/' || *s == ':' || *s == '%')
			return rule;
	return NULL;
}

const char *net_check_address(const char *s)
{
	struct inet a;

	return inet_parse_address(s, &a) == 0 ? NULL : "an IP address";
}

/* The two addresses of an IPv4 network that are nobody's (RFC 1122 3.2.1.3), but for
 * links with two ends (RFC 3021). */
static const char *reserved_in_network(const struct inet *a)
{
	struct inet first = inet_masked(a), last = inet_nth(a, inet_size(a) - 1);

	if (a->prefix > 30)
		return NULL;
	if (inet_same(a, &first))
		return "the network's own address, no interface's";
	return inet_same(a, &last) ? "the broadcast address of its network" : NULL;
}

/* What cannot be one interface's own address (RFC 1122 3.2.1.3, RFC 4291 2.5). */
static const char *unusable(const struct inet *a)
{
	static const uint8_t zero[16];

	if (!memcmp(a->bytes, zero, inet_length(a)))
		return "the unspecified address";
	if (a->family == AF_INET) {
		if (a->bytes[0] == 127)
			return "a loopback address";
		if (a->bytes[0] >= 224)
			return "a multicast or reserved address";
		return a->bytes[0] == 0 ? "an address of 0.0.0.0/8" :
					  reserved_in_network(a);
	}
	if (a->bytes[0] == 0xff)
		return "a multicast address";
	if (!memcmp(a->bytes, zero, 15) && a->bytes[15] == 1)
		return "the loopback address";
	return NULL;
}

bool net_read_address(struct json_reader *r, const struct json_at *at, bool with_prefix,
		      struct inet *ret)
{
	const char *text = json_expect_string(r, at), *wrong;
	struct inet a;

	if (!text)
		return false;
	if ((with_prefix ? inet_parse_cidr(text, &a) : inet_parse_address(text, &a)) <
	    0) {
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must be %s", text,
			   with_prefix ? "an IP address with its prefix, such as "
					 "\"192.0.2.10/24\"" :
					 "an IP address without a prefix");
		return false;
	}
	wrong = unusable(&a);
	if (wrong) {
		json_fault(r, at, DIAG_VALUE, "%.64s is %s", text, wrong);
		return false;
	}
	*ret = a;
	return true;
}

bool net_read_network(struct json_reader *r, const struct json_at *at, struct inet *ret)
{
	const char *text = json_expect_string(r, at);
	char meant[INET_TEXT_BYTES];
	struct inet a, net;

	if (!text)
		return false;
	if (inet_parse_cidr(text, &a) < 0) {
		json_fault(r, at, DIAG_VALUE,
			   "\"%.64s\" must be a network such as \"10.1.0.0/16\"", text);
		return false;
	}
	net = inet_masked(&a);
	if (!inet_same(&net, &a)) {
		json_fault(r, at, DIAG_VALUE,
			   "\"%.64s\" has bits behind its prefix; the network is %s",
			   text, inet_format_cidr(&net, meant));
		return false;
	}
	*ret = a;
	return true;
}

static void read_one_gateway(struct json_reader *r, const struct json_at *at,
			     struct inet ret[static 2])
{
	struct inet a;
	size_t slot;

	if (!net_read_address(r, at, false, &a))
		return;
	slot = a.family == AF_INET6;
	if (ret[slot].family)
		json_fault(r, at, DIAG_DUPLICATE, "a second gateway for %s",
			   slot ? "IPv6" : "IPv4");
	else
		ret[slot] = a;
}

void net_read_gateway(struct json_reader *r, const struct json_at *at,
		      struct inet ret[static 2])
{
	if (!json_object_is_type(at->value, json_type_array)) {
		read_one_gateway(r, at, ret);
		return;
	}
	for (size_t i = 0; i < json_length(at); i++) {
		struct json_at item = json_element(at, i);

		read_one_gateway(r, &item, ret);
	}
}

struct json_at net_gateway_at(const struct json_at *member, const struct inet *g)
{
	bool is_list = json_object_is_type(member->value, json_type_array);

	for (size_t i = 0; is_list && i < json_length(member); i++) {
		struct json_at item = json_element(member, i);
		struct inet a;

		if (inet_parse_address(json_text(&item), &a) == 0 && inet_same(&a, g))
			return item;
	}
	return *member;
}

bool net_read_mac(struct json_reader *r, const struct json_at *at,
		  uint8_t ret[static MAC_BYTES])
{
	static const uint8_t zero[MAC_BYTES];
	const char *text = json_text(at);

	/* The lowest bit of the first byte marks a group (IEEE 802). */
	if (mac_parse(text, ret) == 0 && !(ret[0] & 1) && memcmp(ret, zero, MAC_BYTES))
		return true;
	json_fault(r, at, DIAG_VALUE,
		   "\"%.64s\" must be the MAC address of one interface, such as "
		   "\"02:00:00:00:00:01\"",
		   text);
	return false;
}
