// SPDX-License-Identifier: Apache-2.0
/*
 * json_string.c - see json_string.h (RFC 8259, section 7).
 */
#include "config/json_string.h"

#include <string.h>

#define REPLACEMENT 0xfffd

int json_string_hex4(const char *s, size_t len)
{
	int v = 0, i;

	if (len < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		int c = s[i];

		if (c >= '0' && c <= '9')
			v = v * 16 + c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = v * 16 + (c | 32) - 'a' + 10;
		else
			return -1;
	}
	return v;
}

static size_t put_utf8(unsigned int c, char *to)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* \uXXXX at s, with its second half where there is one. Returns the bytes read. */
static size_t decode_unicode(const char *s, size_t len, unsigned int *ret)
{
	int c = json_string_hex4(s + 2, len - 2), low = -1;

	*ret = c < 0 || (c >= 0xd800 && c <= 0xdfff) ? REPLACEMENT : (unsigned int)c;
	if (c >= 0xd800 && c < 0xdc00 && len >= 12 && s[6] == '\\' && s[7] == 'u')
		low = json_string_hex4(s + 8, len - 8);
	if (low < 0xdc00 || low > 0xdfff)
		return 6;
	*ret = 0x10000 + (unsigned int)((c - 0xd800) << 10 | (low - 0xdc00));
	return 12;
}

size_t json_string_decode(const char *s, size_t len, char *to)
{
	static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	size_t n = 0, i = 0, run;
	unsigned int c;
	const char *p;

	while (i < len) {
		const char *escape = memchr(s + i, '\\', len - i);

		run = escape ? (size_t)(escape - s) - i : len - i;
		memcpy(to + n, s + i, run);
		n += run;
		i += run;
		if (len - i < 2)
			break;
		if (s[i + 1] == 'u') {
			i += decode_unicode(s + i, len - i, &c);
			n += put_utf8(c, to + n);
			continue;
		}
		p = strchr(plain, s[i + 1]);
		to[n++] = p ? meant[p - plain] : '?';
		i += 2;
	}
	return n;
}
