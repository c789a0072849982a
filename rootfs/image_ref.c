// SPDX-License-Identifier: Apache-2.0
/*
 * image_ref.c - see image_ref.h.
 *
 * Never allocates. Whatever passes is safe as a path below the store: no part is empty,
 * "." or "..", and no part holds a slash.
 */
#include "rootfs/image_ref.h"

#include <errno.h>
#include <string.h>

#define LOWER          "abcdefghijklmnopqrstuvwxyz"
#define UPPER          "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS         "0123456789"
#define HEX            DIGITS "abcdef"
#define TAG_MAX        128
#define NAME_MAX_BYTES 255

static const struct {
	const char *name;
	size_t hex_len;
} digest_kinds[] = { { "sha256", 64 }, { "sha384", 96 }, { "sha512", 128 } };

struct span {
	const char *at;
	size_t len;
};

static bool span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static bool span_only(struct span s, const char *set)
{
	for (size_t i = 0; i < s.len; i++)
		if (!s.at[i] || !strchr(set, s.at[i]))
			return false;
	return true;
}

static bool span_has(struct span s, char c)
{
	return memchr(s.at, c, s.len) != NULL;
}

/* Cuts s at the first c: returns the part before it and leaves the rest in s. */
static struct span span_cut(struct span *s, char c)
{
	const char *found = memchr(s->at, c, s->len);
	struct span head = { s->at, found ? (size_t)(found - s->at) : s->len };

	s->len -= head.len + (found != NULL);
	s->at += head.len + (found != NULL);
	return head;
}

/* [a-z0-9]+ joined by one of ".", "_", "__" or any number of "-". */
static bool part_valid(struct span s)
{
	size_t i = 0;

	for (;;) {
		size_t word = i;

		while (i < s.len && strchr(LOWER DIGITS, s.at[i]))
			i++;
		if (i == word)
			return false;
		if (i == s.len)
			return true;
		if (s.at[i] == '-') {
			while (i < s.len && s.at[i] == '-')
				i++;
		} else if (s.at[i] == '.') {
			i++;
		} else if (s.at[i] == '_') {
			i += i + 1 < s.len && s.at[i + 1] == '_' ? 2 : 1;
		} else {
			return false;
		}
	}
}

/* Host name labels, or an IPv6 address in brackets, and a port. */
static bool domain_valid(struct span s)
{
	struct span host = s;

	if (s.len && s.at[0] == '[') {
		host.at++;
		host.len--;
		s = host;
		host = span_cut(&s, ']');
		if (!host.len || !span_only(host, HEX "ABCDEF:"))
			return false;
		if (!s.len)
			return host.at[host.len] == ']';
		if (s.at[0] != ':')
			return false;
		s.at++;
		s.len--;
		return s.len && span_only(s, DIGITS);
	}
	host = span_cut(&s, ':');
	if (host.at[host.len] == ':' && (!s.len || !span_only(s, DIGITS)))
		return false;
	if (!host.len || host.at[host.len - 1] == '.')
		return false;
	while (host.len) {
		struct span label = span_cut(&host, '.');

		if (!label.len || !span_only(label, LOWER UPPER DIGITS "-") ||
		    label.at[0] == '-' || label.at[label.len - 1] == '-')
			return false;
	}
	return true;
}

/* The first part is a registry when it cannot be a repository: it has a dot, a port or
 * upper case, or is "localhost". */
static bool is_domain(struct span s)
{
	return span_has(s, '.') || span_has(s, ':') || span_is(s, "localhost") ||
	       strcspn(s.at, UPPER) < s.len;
}

static int digest_parse(const char *text, struct image_ref *ref, const char **ret_why)
{
	struct span hex = { text, strlen(text) };
	struct span kind = span_cut(&hex, ':');

	for (size_t i = 0; i < ARRAY_SIZE(digest_kinds); i++) {
		if (!span_is(kind, digest_kinds[i].name))
			continue;
		if (hex.len != digest_kinds[i].hex_len || !span_only(hex, HEX))
			break;
		memcpy(ref->tag, kind.at, kind.len);
		ref->tag[kind.len] = '-';
		memcpy(ref->tag + kind.len + 1, hex.at, hex.len + 1);
		ref->digest = true;
		return 0;
	}
	*ret_why = "its digest is not sha256:, sha384: or sha512: with lower-case hex "
		   "digits";
	return -EINVAL;
}

static int tag_parse(struct span tag, struct image_ref *ref, const char **ret_why)
{
	if (!tag.len || tag.len > TAG_MAX || !span_only(tag, LOWER UPPER DIGITS "_.-") ||
	    strchr(".-", tag.at[0])) {
		*ret_why = "its tag is not 1 to 128 of letters, digits, '_', '.' and '-'";
		return -EINVAL;
	}
	memcpy(ref->tag, tag.at, tag.len);
	ref->tag[tag.len] = '\0';
	return 0;
}

static int name_parse(struct span name, struct image_ref *ref, const char **ret_why)
{
	struct span rest = name, kept;
	struct span first = span_cut(&rest, '/');
	bool domain = first.len < name.len && is_domain(first);

	*ret_why = "its name is empty or longer than 255 bytes";
	if (!name.len || name.len > NAME_MAX_BYTES)
		return -EINVAL;
	*ret_why = "its registry is not a host name";
	if (domain && !domain_valid(first))
		return -EINVAL;
	kept = name;
	if (domain &&
	    (span_is(first, "docker.io") || span_is(first, "index.docker.io"))) {
		kept = rest;
		domain = false;
	}
	if (!domain && kept.len > 8 && memcmp(kept.at, "library/", 8) == 0 &&
	    !memchr(kept.at + 8, '/', kept.len - 8)) {
		kept.at += 8;
		kept.len -= 8;
	}
	rest = kept;
	if (domain)
		(void)span_cut(&rest, '/');
	*ret_why = "64 hex digits are an image id, not a name";
	if (!domain && rest.len == 64 && span_only(rest, HEX))
		return -EINVAL;
	do {
		struct span part = span_cut(&rest, '/');

		*ret_why = span_only(part, LOWER DIGITS "._-") ?
				   "separators in its name are misplaced" :
				   "its name may hold only lower case, digits, '.', "
				   "'_', '-'";
		if (!part_valid(part))
			return -EINVAL;
	} while (rest.len || rest.at[-1] == '/');
	memcpy(ref->name, kept.at, kept.len);
	ref->name[kept.len] = '\0';
	return 0;
}

int image_ref_parse(const char *reference, struct image_ref *ret, const char **ret_why)
{
	struct image_ref ref = { .tag = "latest" };
	const char *at = strchr(reference, '@');
	struct span name = { reference,
			     at ? (size_t)(at - reference) : strlen(reference) };
	const char *slash = memrchr(name.at, '/', name.len);
	const char *last = slash ? slash + 1 : name.at;
	const char *colon = memchr(last, ':', name.len - (size_t)(last - name.at));
	int r = 0;

	if (colon) {
		struct span tag = { colon + 1, name.len - (size_t)(colon + 1 - name.at) };

		name.len = (size_t)(colon - name.at);
		r = tag_parse(tag, &ref, ret_why);
	}
	if (r == 0 && at)
		r = digest_parse(at + 1, &ref, ret_why);
	if (r == 0)
		r = name_parse(name, &ref, ret_why);
	if (r < 0)
		return r;
	*ret = ref;
	return 0;
}
