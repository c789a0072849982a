// SPDX-License-Identifier: Apache-2.0
/*
 * name_check.c - see name_check.h. Classes of ASCII only: no locale may change a rule.
 */
#include "config/name_check.h"

#include <limits.h>
#include <string.h>

#define LABEL_BYTES     63
#define SUBDOMAIN_BYTES 253
#define PORT_NAME_BYTES 15
#define UID_BYTES       64

/* Of one argument or "NAME=value" with its NUL; longer ones fail execve with E2BIG
 * (MAX_ARG_STRLEN, include/uapi/linux/binfmts.h: 32 pages of 4 KiB). */
#define ARGUMENT_BYTES  (128 * 1024)

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z') || is_digit(c);
}

static bool is_label(const char *s, size_t n)
{
	size_t i;

	if (n == 0 || n > LABEL_BYTES || s[0] == '-' || s[n - 1] == '-')
		return false;
	for (i = 0; i < n; i++)
		if (!is_lower(s[i]) && !is_digit(s[i]) && s[i] != '-')
			return false;
	return true;
}

static bool is_subdomain(const char *s, size_t n)
{
	size_t start = 0, i;

	if (n == 0 || n > SUBDOMAIN_BYTES)
		return false;
	for (i = 0; i <= n; i++) {
		if (i < n && s[i] != '.')
			continue;
		/* A part of a subdomain may be longer than 63: only the whole is bounded.
		 */
		if (i == start || s[start] == '-' || s[i - 1] == '-')
			return false;
		start = i + 1;
	}
	for (i = 0; i < n; i++)
		if (!is_lower(s[i]) && !is_digit(s[i]) && s[i] != '-' && s[i] != '.')
			return false;
	return true;
}

/* The name of a key, and a label's value: [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])? */
static bool is_key_name(const char *s)
{
	size_t n = strlen(s), i;

	if (n == 0 || n > LABEL_BYTES || !is_alnum(s[0]) || !is_alnum(s[n - 1]))
		return false;
	for (i = 0; i < n; i++)
		if (!is_alnum(s[i]) && !strchr("-_.", s[i]))
			return false;
	return true;
}

const char *name_check_label(const char *s)
{
	return is_label(s, strlen(s)) ?
		       NULL :
		       "a DNS label: at most 63 of a-z, 0-9 and '-', not starting or "
		       "ending with '-'";
}

const char *name_check_subdomain(const char *s)
{
	return is_subdomain(s, strlen(s)) ? NULL :
					    "a DNS subdomain: at most 253 of a-z, 0-9, "
					    "'-' and '.', each part "
					    "starting and ending with a letter or digit";
}

static const char *key_check(const char *s, bool fold_prefix)
{
	static const char rule[] =
		"a key: an optional DNS subdomain and '/', then at most "
		"63 of A-Z, a-z, 0-9, '-', '_', '.'";
	const char *slash = strchr(s, '/');
	char prefix[SUBDOMAIN_BYTES + 1];
	size_t n, i;

	if (!slash)
		return is_key_name(s) ? NULL : rule;
	n = (size_t)(slash - s);
	if (n > SUBDOMAIN_BYTES || !is_key_name(slash + 1))
		return rule;
	for (i = 0; i < n; i++)
		prefix[i] = (char)(fold_prefix && s[i] >= 'A' && s[i] <= 'Z' ? s[i] | 32 :
									       s[i]);
	return is_subdomain(prefix, n) ? NULL : rule;
}

const char *name_check_key(const char *s)
{
	return key_check(s, false);
}

const char *name_check_annotation_key(const char *s)
{
	return key_check(s, true);
}

const char *name_check_label_value(const char *s)
{
	return !*s || is_key_name(s) ? NULL :
				       "empty or at most 63 of A-Z, a-z, 0-9, '-', '_', "
				       "'.', starting and "
				       "ending with a letter or digit";
}

const char *name_check_port(const char *s)
{
	static const char rule[] = "a port name: at most 15 of a-z, 0-9 and '-', with a "
				   "letter, no '--', no '-' at an end";
	size_t n = strlen(s), i;
	bool letter = false;

	if (n == 0 || n > PORT_NAME_BYTES || s[0] == '-' || s[n - 1] == '-')
		return rule;
	for (i = 0; i < n; i++) {
		letter |= is_lower(s[i]);
		if (!is_lower(s[i]) && !is_digit(s[i]) && s[i] != '-')
			return rule;
		if (s[i] == '-' && s[i + 1] == '-')
			return rule;
	}
	return letter ? NULL : rule;
}

const char *name_check_env(const char *s)
{
	static const char rule[] = "a variable's name: printable ASCII without '='";

	if (!*s)
		return rule;
	for (; *s; s++)
		if (*s < 0x20 || *s > 0x7e || *s == '=')
			return rule;
	return NULL;
}

const char *name_check_uid(const char *s)
{
	size_t n = strlen(s), i;

	for (i = 0; i < n; i++)
		if (!is_alnum(s[i]) && s[i] != '-')
			break;
	return n > 0 && n <= UID_BYTES && i == n ? NULL :
						   "at most 64 of A-Z, a-z, 0-9 and '-'";
}

const char *name_check_image(const char *s)
{
	static const char blanks[] = " \t\n\v\f\r";
	size_t n = strlen(s);

	return n > 0 && n < PATH_MAX && !strchr(blanks, s[0]) &&
			       !strchr(blanks, s[n - 1]) ?
		       NULL :
		       "an image's name, without blanks around it";
}

const char *name_check_argument(const char *s)
{
	return strlen(s) < ARGUMENT_BYTES ? NULL :
					    "shorter than the 128 KiB that the kernel "
					    "takes for one argument";
}

const char *name_check_path(const char *s)
{
	const char *p;

	if (s[0] != '/' || strlen(s) >= PATH_MAX)
		return "an absolute path of less than 4096 bytes";
	for (p = s; (p = strstr(p, "/..")); p += 3)
		if (p[3] == '/' || p[3] == '\0')
			return "a path without \"..\"";
	return NULL;
}

char *path_clean(struct arena *a, const char *path)
{
	char *out = arena_alloc(a, strlen(path) + 2);
	size_t n = 0, part;

	if (!out)
		return NULL;
	for (; *path; path += part) {
		path += strspn(path, "/");
		part = strcspn(path, "/");
		if (part == 0 || (part == 1 && path[0] == '.'))
			continue;
		if (part == 2 && path[0] == '.' && path[1] == '.') {
			while (n > 0 && out[--n] != '/')
				;
			continue;
		}
		out[n++] = '/';
		memcpy(out + n, path, part);
		n += part;
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return out;
}

const char *name_check_data_key(const char *s)
{
	size_t len = strlen(s);

	if (len == 0 || len > 253 ||
	    strspn(s,
		   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") !=
		    len)
		return "1 to 253 letters, digits, '-', '_' or '.'";
	if (strcmp(s, ".") == 0 || strncmp(s, "..", 2) == 0)
		return "neither \".\" nor begin with \"..\"";
	return NULL;
}

const char *name_check_relative(const char *s)
{
	const char *p = s;

	if (s[0] == '/' || s[0] == '\0' || strlen(s) >= PATH_MAX)
		return "a relative path of less than 4096 bytes";
	while ((p = strstr(p, ".."))) {
		if ((p == s || p[-1] == '/') && (p[2] == '/' || p[2] == '\0'))
			return "a path without \"..\"";
		p += 2;
	}
	return NULL;
}
