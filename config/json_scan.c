// SPDX-License-Identifier: Apache-2.0
/*
 * json_scan.c - see json_scan.h.
 *
 * A recursive walk over the text, its depth bounded by the caller. Keys of the objects
 * that are open are kept decoded on a stack, so that "a" and "\u0061" are the same key.
 */
#include "config/json_scan.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "config/diag.h"
#include "config/json_string.h"

/* Pointers longer than this are cut at their end; diag.c cuts them anyway. */
#define SCAN_POINTER_BYTES 512

struct scan_key {
	size_t at;        /* offset of the key in the text */
	size_t name, len; /* decoded, in scan.names */
};

/* The way to the value at hand, for pointers. */
struct scan_path {
	const struct scan_path *parent;
	bool object;
	size_t index; /* in a list; in an object the index of its key in scan.keys */
};

struct scan {
	const unsigned char *text;
	size_t len, pos;
	unsigned int depth, max_depth;
	size_t nests, values;
	struct diag *diag, *flaws;

	char *names; /* decoded keys of the open objects; never longer than the text */
	size_t names_len;
	struct scan_key *keys;
	size_t n_keys, keys_size;
};

static size_t scan_pointer(const struct scan *s, const struct scan_path *path, char *buf,
			   size_t size)
{
	const struct scan_key *key;
	size_t n, i;

	if (!path)
		return 0;
	n = scan_pointer(s, path->parent, buf, size);
	if (!path->object)
		return MIN(n + (size_t)snprintf(buf + n, size - n, "/%zu", path->index),
			   size - 1);
	key = &s->keys[path->index];
	for (i = 0; i <= key->len && n + 3 < size; i++) {
		char c = i ? s->names[key->name + i - 1] : '\0';

		if (c == '~' || (c == '/' && i))
			buf[n++] = '~';
		buf[n++] = i == 0 ? '/' : c == '~' ? '0' : c == '/' ? '1' : c;
	}
	buf[n] = '\0';
	return n;
}

static void scan_report(struct scan *s, struct diag *d, enum diag_kind kind,
			const struct scan_path *path, size_t at, const char *fmt, ...)
	PRINTF_LIKE(6, 7);

static void scan_report(struct scan *s, struct diag *d, enum diag_kind kind,
			const struct scan_path *path, size_t at, const char *fmt, ...)
{
	char pointer[SCAN_POINTER_BYTES] = "", text[DIAG_TEXT] = "";
	size_t before = d->n;
	va_list ap;

	if (before < DIAG_MAX) {
		va_start(ap, fmt);
		(void)vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		(void)scan_pointer(s, path, pointer, sizeof(pointer));
	}
	diag_add(d, kind, pointer, "%s", text);
	if (d->n > before)
		json_scan_position((const char *)s->text, at, &d->items[before].line,
				   &d->items[before].column);
}

/* A syntax error has a place but no pointer: the text is no tree yet. */
static int scan_syntax(struct scan *s, size_t at, const char *what)
{
	if (at >= s->len)
		scan_report(s, s->diag, DIAG_SYNTAX, NULL, s->len,
			    "the text ends here; expected %s", what);
	else if (s->text[at] < 0x20 || s->text[at] >= 0x7f)
		scan_report(s, s->diag, DIAG_SYNTAX, NULL, at,
			    "byte 0x%02x here; expected %s", s->text[at], what);
	else
		scan_report(s, s->diag, DIAG_SYNTAX, NULL, at, "'%c' here; expected %s",
			    s->text[at], what);
	return -EINVAL;
}

static int scan_peek(const struct scan *s)
{
	return s->pos < s->len ? s->text[s->pos] : -1;
}

static void scan_space(struct scan *s)
{
	while (s->pos < s->len && strchr(" \t\r\n", s->text[s->pos]) && s->text[s->pos])
		s->pos++;
}

static int scan_hex4(const struct scan *s, size_t pos)
{
	return pos < s->len ?
		       json_string_hex4((const char *)s->text + pos, s->len - pos) :
		       -1;
}

/* At the 'u' of \uXXXX, with the second half of a pair. */
static int scan_unicode(struct scan *s, const struct scan_path *path)
{
	int c = scan_hex4(s, s->pos + 1), low = -1;
	size_t escape = s->pos - 1;

	if (c < 0)
		return scan_syntax(s, s->pos + 1, "four hexadecimal digits after \\u");
	s->pos += 5;
	if (c == 0)
		scan_report(s, s->flaws, DIAG_VALUE, path, escape,
			    "\\u0000 is not allowed in a string");
	if (c < 0xd800 || c > 0xdfff)
		return 0;
	if (c < 0xdc00 && s->len - s->pos >= 6 && memcmp(s->text + s->pos, "\\u", 2) == 0)
		low = scan_hex4(s, s->pos + 2);
	if (low >= 0xdc00 && low <= 0xdfff)
		s->pos += 6;
	else
		scan_report(s, s->flaws, DIAG_VALUE, path, escape,
			    "half of a surrogate pair in a string");
	return 0;
}

static int scan_string(struct scan *s, const struct scan_path *path)
{
	size_t n;
	int c, r;

	for (s->pos++; (c = scan_peek(s)) != '"';) {
		if (c < 0x20)
			return scan_syntax(s, s->pos,
					   "the rest of a string and its closing quote");
		if (c != '\\') {
			n = str_utf8_len((const char *)s->text + s->pos, s->len - s->pos);
			if (!n)
				return scan_syntax(s, s->pos, "UTF-8");
			s->pos += n;
			continue;
		}
		s->pos++;
		c = scan_peek(s);
		if (c == 'u') {
			r = scan_unicode(s, path);
			if (r < 0)
				return r;
		} else if (c > 0 && strchr("\"\\/bfnrt", c)) {
			s->pos++;
		} else {
			return scan_syntax(s, s->pos, "an escape: one of \"\\/bfnrtu");
		}
	}
	s->pos++;
	return 0;
}

static int scan_digits(struct scan *s)
{
	size_t start = s->pos;

	while (s->pos < s->len && s->text[s->pos] >= '0' && s->text[s->pos] <= '9')
		s->pos++;
	return s->pos > start ? 0 : scan_syntax(s, s->pos, "a digit");
}

static bool scan_fits(const struct scan *s, size_t start)
{
	bool minus = s->text[start] == '-';
	int64_t v = 0;
	size_t i;

	for (i = start + minus; i < s->pos; i++) {
		int digit = s->text[i] - '0';

		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, minus ? -digit : digit, &v))
			return false;
	}
	return true;
}

static int scan_number(struct scan *s, const struct scan_path *path)
{
	size_t start = s->pos;
	bool whole = true;
	int r;

	if (scan_peek(s) == '-')
		s->pos++;
	if (scan_peek(s) == '0') {
		s->pos++;
		if (scan_peek(s) >= '0' && scan_peek(s) <= '9')
			return scan_syntax(s, s->pos, "no digit after a leading 0");
	} else {
		r = scan_digits(s);
		if (r < 0)
			return r;
	}
	if (scan_peek(s) == '.') {
		whole = false;
		s->pos++;
		r = scan_digits(s);
		if (r < 0)
			return r;
	}
	if (scan_peek(s) == 'e' || scan_peek(s) == 'E') {
		whole = false;
		s->pos++;
		if (scan_peek(s) == '+' || scan_peek(s) == '-')
			s->pos++;
		r = scan_digits(s);
		if (r < 0)
			return r;
	}
	if (whole && !scan_fits(s, start))
		scan_report(s, s->flaws, DIAG_VALUE, path, start,
			    "the number does not fit into 64 bits");
	return 0;
}

static int scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if (s->len - s->pos < n || memcmp(s->text + s->pos, word, n) != 0)
		return scan_syntax(s, s->pos, word);
	s->pos += n;
	return 0;
}

static int scan_key_compare(const void *pa, const void *pb, void *names)
{
	const struct scan_key *a = pa, *b = pb;
	int r = memcmp((char *)names + a->name, (char *)names + b->name,
		       MIN(a->len, b->len));

	if (r)
		return r;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* The keys from first on belong to the object that ends. */
static void scan_find_duplicates(struct scan *s, const struct scan_path *parent,
				 size_t first)
{
	struct scan_path path = { .parent = parent, .object = true };
	size_t i;

	qsort_r(s->keys + first, s->n_keys - first, sizeof(*s->keys), scan_key_compare,
		s->names);
	for (i = first + 1; i < s->n_keys; i++) {
		const struct scan_key *a = &s->keys[i - 1], *b = &s->keys[i];

		if (a->len != b->len ||
		    memcmp(s->names + a->name, s->names + b->name, a->len) != 0)
			continue;
		path.index = i;
		scan_report(s, s->flaws, DIAG_DUPLICATE, &path, b->at,
			    "duplicate key \"%.*s\" in one object",
			    (int)MIN(b->len, (size_t)64), s->names + b->name);
	}
}

static int scan_push_key(struct scan *s)
{
	struct scan_key key = { .at = s->pos, .name = s->names_len };
	int r;

	if (scan_peek(s) != '"')
		return scan_syntax(s, s->pos, "a key in double quotes");
	if (s->n_keys == s->keys_size) {
		size_t size = s->keys_size ? 2 * s->keys_size : 64;
		void *p = reallocarray(s->keys, size, sizeof(*s->keys));

		if (!p)
			return -ENOMEM;
		s->keys = p;
		s->keys_size = size;
	}
	r = scan_string(s, NULL);
	if (r < 0)
		return r;
	key.len = json_string_decode((const char *)s->text + key.at + 1,
				     s->pos - key.at - 2, s->names + key.name);
	s->names_len += key.len;
	s->keys[s->n_keys++] = key;
	return 0;
}

static int scan_value(struct scan *s, const struct scan_path *path);

static int scan_object(struct scan *s, const struct scan_path *parent)
{
	struct scan_path path = { .parent = parent, .object = true };
	size_t first = s->n_keys, names_len = s->names_len;
	int r;

	s->pos++;
	scan_space(s);
	if (scan_peek(s) == '}') {
		s->pos++;
		return 0;
	}
	for (;;) {
		scan_space(s);
		r = scan_push_key(s);
		if (r < 0)
			return r;
		scan_space(s);
		if (scan_peek(s) != ':')
			return scan_syntax(s, s->pos, "':' after a key");
		s->pos++;
		path.index = s->n_keys - 1;
		r = scan_value(s, &path);
		if (r < 0)
			return r;
		scan_space(s);
		if (scan_peek(s) == '}')
			break;
		if (scan_peek(s) != ',')
			return scan_syntax(s, s->pos, "',' or '}' after a value");
		s->pos++;
	}
	s->pos++;
	scan_find_duplicates(s, parent, first);
	s->n_keys = first;
	s->names_len = names_len;
	return 0;
}

static int scan_list(struct scan *s, const struct scan_path *parent)
{
	struct scan_path path = { .parent = parent };
	int r;

	s->pos++;
	scan_space(s);
	if (scan_peek(s) == ']') {
		s->pos++;
		return 0;
	}
	for (;; path.index++) {
		r = scan_value(s, &path);
		if (r < 0)
			return r;
		scan_space(s);
		if (scan_peek(s) == ']')
			break;
		if (scan_peek(s) != ',')
			return scan_syntax(s, s->pos, "',' or ']' after a value");
		s->pos++;
	}
	s->pos++;
	return 0;
}

static int scan_nest(struct scan *s, const struct scan_path *path, bool object)
{
	int r;

	if (s->depth == s->max_depth || s->nests == JSON_SCAN_NESTS) {
		if (s->depth == s->max_depth)
			scan_report(s, s->diag, DIAG_LIMIT, path, s->pos,
				    "nested deeper than %u levels", s->max_depth);
		else
			scan_report(s, s->diag, DIAG_LIMIT, path, s->pos,
				    "more than %d objects and lists", JSON_SCAN_NESTS);
		return -EINVAL;
	}
	s->depth++;
	s->nests++;
	r = object ? scan_object(s, path) : scan_list(s, path);
	s->depth--;
	return r;
}

static int scan_value(struct scan *s, const struct scan_path *path)
{
	scan_space(s);
	if (s->values++ == JSON_SCAN_VALUES) {
		scan_report(s, s->diag, DIAG_LIMIT, path, s->pos, "more than %d values",
			    JSON_SCAN_VALUES);
		return -EINVAL;
	}
	switch (scan_peek(s)) {
	case '{':
		return scan_nest(s, path, true);
	case '[':
		return scan_nest(s, path, false);
	case '"':
		return scan_string(s, path);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	case '-':
	case '0' ... '9':
		return scan_number(s, path);
	default:
		return scan_syntax(s, s->pos, "a JSON value");
	}
}

int json_scan(const char *text, size_t len, unsigned int max_depth, struct diag *diag,
	      struct diag *flaws, size_t *ret_start, size_t *ret_end)
{
	struct scan s = { .text = (const unsigned char *)text,
			  .len = len,
			  .max_depth = max_depth,
			  .diag = diag,
			  .flaws = flaws,
			  .names = malloc(len + 1) };
	size_t start, end;
	int r;

	if (!s.names)
		return -ENOMEM;
	scan_space(&s);
	start = s.pos;
	r = scan_value(&s, NULL);
	end = s.pos;
	scan_space(&s);
	if (r == 0 && s.pos < len)
		r = scan_syntax(&s, s.pos, "nothing after the document");
	free(s.names);
	free(s.keys);
	if (r < 0)
		return r;
	*ret_start = start;
	*ret_end = end;
	return 0;
}
