// SPDX-License-Identifier: Apache-2.0
/*
 * quantity.c - see quantity.h.
 */
#include "config/quantity.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 18 /* of the mantissa; no quantity needs more */

/* The number is mantissa * factor / 10^decimals: all of them far from the end of 128
 * bits. */
struct parts {
	uint64_t mantissa, factor;
	int decimals;
};

/* Decimal and binary suffixes, and exponents. */
static bool suffix_parse(const char *s, struct parts *q)
{
	static const char decimal[] = "kMGTPE", binary[] = "KMGTPE", small[] = "mun";
	const char *at;
	char *end;
	long exponent;

	if (!*s)
		return true;
	if (s[1] == 'i' && !s[2] && (at = strchr(binary, *s))) {
		q->factor <<= 10 * (at - binary + 1);
		return true;
	}
	if (!s[1] && (at = strchr(decimal, *s))) {
		for (ptrdiff_t i = 0; i <= at - decimal; i++)
			q->factor *= 1000;
		return true;
	}
	if (!s[1] && (at = strchr(small, *s))) {
		q->decimals += 3 * (int)(at - small + 1);
		return true;
	}
	if ((*s != 'e' && *s != 'E') || !s[1] || s[1] == ' ')
		return false;
	exponent = strtol(s + 1, &end, 10);
	if (*end || exponent < -DIGITS_MAX || exponent > DIGITS_MAX)
		return false;
	for (; exponent > 0; exponent--)
		q->factor *= 10;
	q->decimals -= (int)exponent;
	return true;
}

/* What is above every max stops there: the product has to fit. */
static unsigned __int128 scaled(const struct parts *q, unsigned int scale)
{
	unsigned __int128 value = (unsigned __int128)q->mantissa * q->factor, divisor = 1;
	int decimals = q->decimals - (int)scale;

	for (; decimals < 0 && value >> 96 == 0; decimals++)
		value *= 10;
	for (; decimals > 0; decimals--)
		divisor *= 10;
	return value / divisor + (value % divisor != 0);
}

bool quantity_parse(const char *text, unsigned int scale, uint64_t max, uint64_t *ret)
{
	struct parts q = { .factor = 1 };
	unsigned __int128 value;
	int digits = 0;
	bool point = false;

	text += *text == '+';
	for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		if (++digits > DIGITS_MAX)
			return false;
		q.mantissa = q.mantissa * 10 + (uint64_t)(*text - '0');
		q.decimals += point;
	}
	if (digits == 0 || !suffix_parse(text, &q))
		return false;
	value = scaled(&q, scale);
	*ret = value > max ? max + 1 : (uint64_t)value;
	return true;
}
