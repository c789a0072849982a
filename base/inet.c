// SPDX-License-Identifier: Apache-2.0
/*
 * inet.c - see inet.h.
 */
#include "base/inet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BITS4 32
#define BITS6 128

static unsigned int bits_of(int family)
{
	return family == AF_INET ? BITS4 : BITS6;
}

static int prefix_parse(const char *text, unsigned int most, unsigned int *ret)
{
	unsigned int n = 0;
	size_t len = strlen(text);

	if (len < 1 || len > 3 || (len > 1 && text[0] == '0'))
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		n = n * 10 + (unsigned int)(*text - '0');
	}
	if (n > most)
		return -EINVAL;
	*ret = n;
	return 0;
}

int inet_parse(const char *text, struct inet *ret)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char address[INET6_ADDRSTRLEN];
	struct inet a = { 0 };

	if (len >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, len);
	address[len] = '\0';
	if (inet_pton(AF_INET, address, a.bytes) == 1)
		a.family = AF_INET;
	else if (inet_pton(AF_INET6, address, a.bytes) == 1)
		a.family = AF_INET6;
	else
		return -EINVAL;
	a.prefix = bits_of(a.family);
	if (slash && prefix_parse(slash + 1, a.prefix, &a.prefix) < 0)
		return -EINVAL;
	*ret = a;
	return 0;
}

int inet_parse_cidr(const char *text, struct inet *ret)
{
	return strchr(text, '/') ? inet_parse(text, ret) : -EINVAL;
}

int inet_parse_address(const char *text, struct inet *ret)
{
	return strchr(text, '/') ? -EINVAL : inet_parse(text, ret);
}

const char *inet_format(const struct inet *a, char buf[static INET_TEXT_BYTES])
{
	if (!inet_ntop(a->family, a->bytes, buf, INET_TEXT_BYTES))
		(void)snprintf(buf, INET_TEXT_BYTES, "none");
	return buf;
}

const char *inet_format_cidr(const struct inet *a, char buf[static INET_TEXT_BYTES])
{
	size_t len;

	(void)inet_format(a, buf);
	len = strlen(buf);
	if (a->family)
		(void)snprintf(buf + len, INET_TEXT_BYTES - len, "/%u", a->prefix);
	return buf;
}

size_t inet_length(const struct inet *a)
{
	return a->family ? bits_of(a->family) / 8 : 0;
}

struct inet inet_masked(const struct inet *a)
{
	struct inet net = *a;

	for (size_t i = 0; i < inet_length(a); i++) {
		unsigned int first = (unsigned int)i * 8;

		if (first >= a->prefix)
			net.bytes[i] = 0;
		else if (first + 8 > a->prefix)
			net.bytes[i] &= (uint8_t)(0xff << (first + 8 - a->prefix));
	}
	return net;
}

bool inet_same(const struct inet *a, const struct inet *b)
{
	return a->family == b->family && !memcmp(a->bytes, b->bytes, inet_length(a));
}

bool inet_contains(const struct inet *net, const struct inet *a)
{
	struct inet cut = *a;

	if (!net->family || net->family != a->family)
		return false;
	cut.prefix = net->prefix;
	return !memcmp(inet_masked(&cut).bytes, inet_masked(net).bytes, inet_length(net));
}

bool inet_link_local(const struct inet *a)
{
	return a->family == AF_INET6 && a->bytes[0] == 0xfe &&
	       (a->bytes[1] & 0xc0) == 0x80;
}

bool inet_on_link(const struct inet *addrs, size_t n, const struct inet *a)
{
	if (inet_link_local(a))
		return true;
	for (size_t i = 0; i < n; i++)
		if (inet_contains(&addrs[i], a))
			return true;
	return false;
}

bool inet_overlap(const struct inet *a, const struct inet *b)
{
	const struct inet *wide = a->prefix <= b->prefix ? a : b;

	return inet_contains(wide, wide == a ? b : a);
}

uint64_t inet_size(const struct inet *net)
{
	unsigned int free_bits = net->family ? bits_of(net->family) - net->prefix : 0;

	return free_bits >= 64 ? UINT64_MAX : (uint64_t)1 << free_bits;
}

struct inet inet_nth(const struct inet *net, uint64_t n)
{
	struct inet a = inet_masked(net);
	uint64_t size = inet_size(net);

	if (size != UINT64_MAX && n >= size)
		return (struct inet){ 0 };
	for (size_t i = inet_length(&a); n && i > 0; i--, n >>= 8)
		a.bytes[i - 1] |= (uint8_t)n; /* the host bits are clear */
	return a;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int mac_parse(const char *text, uint8_t ret[static MAC_BYTES])
{
	uint8_t mac[MAC_BYTES];

	if (strlen(text) != MAC_TEXT_BYTES - 1)
		return -EINVAL;
	for (size_t i = 0; i < MAC_BYTES; i++, text += 3) {
		int high = hex_digit(text[0]), low = hex_digit(text[1]);

		if (high < 0 || low < 0 || (i < MAC_BYTES - 1 && text[2] != ':'))
			return -EINVAL;
		mac[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(ret, mac, MAC_BYTES);
	return 0;
}

const char *mac_format(const uint8_t mac[static MAC_BYTES],
		       char buf[static MAC_TEXT_BYTES])
{
	(void)snprintf(buf, MAC_TEXT_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
		       mac[1], mac[2], mac[3], mac[4], mac[5]);
	return buf;
}
