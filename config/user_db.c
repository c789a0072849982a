// SPDX-License-Identifier: Apache-2.0
/*
 * user_db.c - see user_db.h.
 *
 * The texts come out of an image: any length of line, any bytes. Nothing is copied; a
 * line that is not of the form is passed over, as libc does. Format: passwd(5), group(5).
 */
#include "config/user_db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of an image's USER; the engines have the same limit (runc libcontainer/user). */
#define USER_ID_MAX 2147483647

/* Of a database; the last value means "no id" to the kernel. */
#define DB_ID_MAX   4294967294

/* A piece of a text that is not ours, without NUL at its end. */
struct slice {
	const char *s;
	size_t len;
};

struct user_line {
	struct slice name;
	int64_t uid, gid;
	struct slice home;
};

/* Cuts *text at the first sep; what follows it stays in *text. */
static struct slice slice_cut(struct slice *text, char sep)
{
	const char *end = memchr(text->s, sep, text->len);
	struct slice part = { text->s, end ? (size_t)(end - text->s) : text->len };
	size_t used = part.len + (end ? 1 : 0);

	text->s += used;
	text->len -= used;
	return part;
}

static bool slice_is(struct slice a, struct slice b)
{
	return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

static bool slice_is_number(struct slice text)
{
	size_t i;

	for (i = 0; i < text.len; i++)
		if (text.s[i] < '0' || text.s[i] > '9')
			return false;
	return text.len > 0;
}

/* A decimal number up to max, or -1. */
static int64_t slice_id(struct slice text, int64_t max)
{
	int64_t v = 0;
	size_t i;

	if (!slice_is_number(text))
		return -1;
	for (i = 0; i < text.len; i++) {
		v = v * 10 + text.s[i] - '0';
		if (v > max)
			return -1;
	}
	return v;
}

/* The next well-formed line of a passwd text; false at its end. */
static bool user_next(struct slice *passwd, struct user_line *ret)
{
	while (passwd->len > 0) {
		struct slice line = slice_cut(passwd, '\n');

		ret->name = slice_cut(&line, ':');
		(void)slice_cut(&line, ':'); /* password */
		ret->uid = slice_id(slice_cut(&line, ':'), DB_ID_MAX);
		ret->gid = slice_id(slice_cut(&line, ':'), DB_ID_MAX);
		(void)slice_cut(&line, ':'); /* comment */
		ret->home = slice_cut(&line, ':');
		if (ret->name.len > 0 && ret->uid >= 0 && ret->gid >= 0)
			return true;
	}
	return false;
}

struct group_line {
	struct slice name;
	int64_t gid;
	struct slice members;
};

static bool group_next(struct slice *group, struct group_line *ret)
{
	while (group->len > 0) {
		struct slice line = slice_cut(group, '\n');

		ret->name = slice_cut(&line, ':');
		(void)slice_cut(&line, ':'); /* password */
		ret->gid = slice_id(slice_cut(&line, ':'), DB_ID_MAX);
		ret->members = line;
		if (ret->name.len > 0 && ret->gid >= 0)
			return true;
	}
	return false;
}

static bool group_has(const struct group_line *g, struct slice user)
{
	struct slice members = g->members;

	while (members.len > 0)
		if (slice_is(slice_cut(&members, ','), user))
			return true;
	return false;
}

/* By name when name is not NULL, else by number; the first line wins. */
static bool user_find(const char *passwd, const struct slice *name, int64_t uid,
		      struct user_line *ret)
{
	struct slice text = { passwd ? passwd : "", passwd ? strlen(passwd) : 0 };

	while (user_next(&text, ret))
		if (name ? slice_is(ret->name, *name) : ret->uid == uid)
			return true;
	return false;
}

static int user_find_group(const char *group, struct slice name, int64_t *ret_gid,
			   struct err *e)
{
	struct slice text = { group ? group : "", group ? strlen(group) : 0 };
	struct group_line line;

	if (slice_is_number(name)) {
		*ret_gid = slice_id(name, USER_ID_MAX);
		return *ret_gid >= 0 ?
			       0 :
			       err_setx(e, STAGE_USER, EINVAL, "group id %.*s is past %d",
					(int)MIN(name.len, (size_t)64), name.s,
					USER_ID_MAX);
	}
	while (group_next(&text, &line)) {
		if (!slice_is(line.name, name))
			continue;
		*ret_gid = line.gid;
		return 0;
	}
	return err_setx(e, STAGE_USER, EINVAL,
			"no group \"%.*s\" in the image's /etc/group",
			(int)MIN(name.len, (size_t)64), name.s);
}

int user_add_group(struct user_ids *ids, gid_t gid)
{
	for (size_t i = 0; i < ids->n_groups; i++)
		if (ids->groups[i] == gid)
			return 0;
	if (ids->n_groups == USER_GROUPS_MAX)
		return -E2BIG;
	ids->groups[ids->n_groups++] = gid;
	return 0;
}

bool user_is_name(const char *image_user)
{
	struct slice text = { image_user, strlen(image_user) };
	struct slice user = slice_cut(&text, ':');

	return user.len > 0 && !slice_is_number(user);
}

static int user_add_groups(const char *group, struct slice user, struct user_ids *ids,
			   struct err *e)
{
	struct slice text = { group ? group : "", group ? strlen(group) : 0 };
	struct group_line line;

	while (group_next(&text, &line)) {
		if (!group_has(&line, user))
			continue;
		/* Dropping one silently could open what the group is kept out of. */
		if (user_add_group(ids, (gid_t)line.gid) < 0)
			return err_setx(e, STAGE_USER, EINVAL,
					"user \"%.*s\" is in more than %d groups",
					(int)MIN(user.len, (size_t)64), user.s,
					USER_GROUPS_MAX);
	}
	return 0;
}

/* Who the image's USER names. *ret_found tells whether line is filled. */
static int user_find_image(const char *passwd, struct slice user, int64_t *ret_uid,
			   struct user_line *line, bool *ret_found, struct err *e)
{
	if (user.len == 0 || slice_is_number(user)) {
		*ret_uid = user.len ? slice_id(user, USER_ID_MAX) : 0;
		if (*ret_uid < 0)
			return err_setx(e, STAGE_USER, EINVAL, "user id %.*s is past %d",
					(int)MIN(user.len, (size_t)64), user.s,
					USER_ID_MAX);
		*ret_found = user_find(passwd, NULL, *ret_uid, line);
		return 0;
	}
	*ret_found = user_find(passwd, &user, -1, line);
	if (!*ret_found)
		return err_setx(e, STAGE_USER, EINVAL,
				"no user \"%.*s\" in the image's /etc/passwd",
				(int)MIN(user.len, (size_t)64), user.s);
	*ret_uid = line->uid;
	return 0;
}

int user_resolve(int64_t uid, int64_t gid, const char *image_user, const char *passwd,
		 const char *group, bool merge, struct user_ids *ret, struct err *e)
{
	struct slice text = { image_user, strlen(image_user) };
	struct slice user = slice_cut(&text, ':'), group_name = text;
	struct user_ids ids = { .n_groups = 0 };
	struct user_line line = { .gid = 0 };
	bool found;
	int r;

	if (uid >= 0) {
		/* runAsUser takes the place of USER as a whole, its group too. */
		group_name.len = 0;
		found = user_find(passwd, NULL, uid, &line);
	} else {
		r = user_find_image(passwd, user, &uid, &line, &found, e);
		if (r < 0)
			return r;
	}
	if (gid < 0 && group_name.len > 0) {
		r = user_find_group(group, group_name, &gid, e);
		if (r < 0)
			return r;
	}
	ids.uid = (uid_t)uid;
	ids.gid = (gid_t)(gid >= 0 ? gid : found ? line.gid : 0);
	/* The primary group is in the list too, so that a set-gid program cannot shed it
	 * (CVE-2022-36109). */
	ids.groups[ids.n_groups++] = ids.gid;
	if (found && merge) {
		r = user_add_groups(group, line.name, &ids, e);
		if (r < 0)
			return r;
	}
	if (found) {
		if (line.home.len < sizeof(ids.home) && line.home.len > 0 &&
		    line.home.s[0] == '/')
			memcpy(ids.home, line.home.s, line.home.len);
	}
	*ret = ids;
	return 0;
}
