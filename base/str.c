// SPDX-License-Identifier: Apache-2.0
/*
 * str.c - see str.h.
 */
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DISTANCE_BYTES 64

size_t str_utf8_len(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	if (!len)
		return 0;
	if (s[0] < 0x80)
		return 1;
	/* 0xc0 and 0xc1 begin overlong forms, 0xf5 and up what is above U+10FFFF. */
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* The second byte tells the other overlong forms, surrogates, and the upper end.
	 */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

bool str_is_control(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;

	if (len == 1)
		return s[0] < 0x20 || s[0] == 0x7f;
	return len == 2 && s[0] == 0xc2 && s[1] < 0xa0;
}

size_t str_distance(const char *a, const char *b, size_t max)
{
	/* The row being made and the two above it: a swap looks two rows back. */
	size_t rows[3][DISTANCE_BYTES + 1];
	size_t a_len = strnlen(a, DISTANCE_BYTES + 1);
	size_t b_len = strnlen(b, DISTANCE_BYTES + 1);

	if (a_len > DISTANCE_BYTES || b_len > DISTANCE_BYTES)
		return max + 1;
	for (size_t k = 0; k <= b_len; k++)
		rows[0][k] = k;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *row = rows[i % 3];
		const size_t *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
		size_t least = i;

		row[0] = i;
		for (size_t k = 1; k <= b_len; k++) {
			size_t cost = up[k - 1] + (a[i - 1] != b[k - 1]);

			cost = MIN(cost, MIN(up[k], row[k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				cost = MIN(cost, up2[k - 2] + 1);
			row[k] = cost;
			least = MIN(least, cost);
		}
		/* Rows grow by at most one, so a swap from the row before is no way out.
		 */
		if (least > max)
			return max + 1;
	}
	return MIN(rows[a_len % 3][b_len], max + 1);
}

const char *str_nearest(const char *name, const char *const *list, size_t n)
{
	size_t len = strnlen(name, DISTANCE_BYTES);
	size_t limit = len >= 6 ? 2 : len >= 3 ? 1 : 0;
	const char *best = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d;

		if (strcasecmp(name, list[i]) == 0)
			return list[i];
		d = str_distance(name, list[i], limit);
		if (d > limit)
			continue;
		best = list[i];
		if (d == 0)
			break;
		limit = d - 1; /* only a nearer one replaces it */
	}
	return best;
}

int path_join(char *buf, size_t size, const char *dir, const char *name)
{
	size_t dir_len = strlen(dir), name_len;
	bool slash;

	while (*name == '/' && dir_len)
		name++;
	while (dir_len > 1 && dir[dir_len - 1] == '/')
		dir_len--;
	name_len = strlen(name);
	slash = dir_len && name_len && dir[dir_len - 1] != '/';
	if (dir_len >= size || name_len + slash >= size - dir_len) {
		if (size)
			buf[0] = '\0';
		return -ENAMETOOLONG;
	}
	memcpy(buf, dir, dir_len);
	if (slash)
		buf[dir_len++] = '/';
	memcpy(buf + dir_len, name, name_len + 1);
	return (int)(dir_len + name_len);
}

/* One character of JSON text into out, NUL-terminated; n is its length in s, 0 for a byte
 * that is not UTF-8. */
static void json_char(char out[static 8], const char *s, size_t n)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	const char *p = n == 1 ? strchr(plain, *s) : NULL;

	if (!n)
		(void)snprintf(out, 8, "\\ufffd");
	else if (p)
		(void)snprintf(out, 8, "\\%c", letter[p - plain]);
	else if (str_is_control(s, n))
		(void)snprintf(out, 8, "\\u%04x", (unsigned char)s[n - 1]);
	else
		(void)snprintf(out, 8, "%.*s", (int)n, s);
}

static bool json_put(char *buf, size_t size, size_t *used, const char *part)
{
	size_t len = strlen(part);

	if (*used >= size || len >= size - *used)
		return false;
	memcpy(buf + *used, part, len + 1);
	*used += len;
	return true;
}

int str_json_escape(char *buf, size_t size, const char *s)
{
	size_t left = strlen(s), used = 0;
	bool fits = json_put(buf, size, &used, "\"");

	while (fits && left) {
		size_t n = str_utf8_len(s, left), step = MAX(n, (size_t)1);
		char part[8];

		json_char(part, s, n);
		fits = json_put(buf, size, &used, part);
		s += step;
		left -= step;
	}
	if (fits && json_put(buf, size, &used, "\""))
		return (int)used;
	if (size)
		buf[0] = '\0';
	return -ENOBUFS;
}
