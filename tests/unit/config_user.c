// SPDX-License-Identifier: Apache-2.0
/*
 * config_user.c - users and groups out of an image, also out of broken files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/user_db.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
			     "# comment\n"
			     "\n"
			     "broken:x:1\n"
			     "minus:x:-1:0::/:\n"
			     "far:x:99999999999999999999:0::/:\n"
			     "nogid:x:5::::\n"
			     "app:x:1000:100:App:/home/app:/bin/sh\n"
			     "app:x:1001:101:again:/other:\n"
			     "42:x:7:7:a name of digits:/n:\n"
			     "rel:x:8:8::home:\n"
			     "last:x:9:9::/last:";
static const char group[] = "root:x:0:\n"
			    "wheel:x:10:root,app\n"
			    "bad:x:x:app\n"
			    "users:x:100:other,app\n"
			    "app2:x:200:app2\n"
			    "dup:x:10:app\n"
			    "video:x:44:app";

struct row {
	int64_t uid, gid;
	const char *user;
	uid_t expect_uid;
	gid_t expect_gid;
	const char *home;
	size_t n_groups;
	gid_t groups[4];
};

static void test_rows(void **state)
{
	static const struct row rows[] = {
		{ -1, -1, "", 0, 0, "/root", 2, { 0, 10 } },
		{ -1, -1, "root", 0, 0, "/root", 2, { 0, 10 } },
		{ -1, -1, "app", 1000, 100, "/home/app", 3, { 100, 10, 44 } },
		{ -1, -1, "1000", 1000, 100, "/home/app", 3, { 100, 10, 44 } },
		{ -1, -1, "app:", 1000, 100, "/home/app", 3, { 100, 10, 44 } },
		{ -1, -1, "app:wheel", 1000, 10, "/home/app", 3, { 10, 100, 44 } },
		{ -1, -1, "app:77", 1000, 77, "/home/app", 4, { 77, 10, 100, 44 } },
		{ -1, -1, "500:600", 500, 600, "", 1, { 600 } },
		{ -1, -1, "500", 500, 0, "", 1, { 0 } },
		{ -1, -1, ":100", 0, 100, "/root", 2, { 100, 10 } },
		{ -1, -1, "42", 42, 0, "", 1, { 0 } }, /* a number, not the name */
		{ -1, -1, "rel", 8, 8, "", 1, { 8 } },
		{ -1, -1, "last", 9, 9, "/last", 1, { 9 } },
		{ 1000, -1, "root", 1000, 100, "/home/app", 3, { 100, 10, 44 } },
		{ 1000, 5, "root", 1000, 5, "/home/app", 4, { 5, 10, 100, 44 } },
		{ 4000, -1, "app:wheel", 4000, 0, "", 1, { 0 } },
		{ 0, -1, "nobody", 0, 0, "/root", 2, { 0, 10 } },
		{ -1, 9, "app:nosuch", 1000, 9, "/home/app", 4, { 9, 10, 100, 44 } },
		{ 2147483647,
		  2147483647,
		  "",
		  2147483647,
		  2147483647,
		  "",
		  1,
		  { 2147483647 } },
	};
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct user_ids ids;
		struct err e = { .code = 0 };

		if (user_resolve(row->uid, row->gid, row->user, passwd, group, true, &ids,
				 &e) < 0)
			fail_msg("row %zu: %s", i, e.text);
		if (ids.uid != row->expect_uid || ids.gid != row->expect_gid ||
		    strcmp(ids.home, row->home) != 0 || ids.n_groups != row->n_groups)
			fail_msg("row %zu: %u:%u %s, %zu groups", i, ids.uid, ids.gid,
				 ids.home, ids.n_groups);
		for (k = 0; k < row->n_groups; k++)
			assert_int_equal(ids.groups[k], row->groups[k]);
	}
}

static void refuse(const char *user, const char *text)
{
	struct user_ids ids = { .uid = 12345 };
	struct err e = { .code = 0 };

	assert_int_equal(user_resolve(-1, -1, user, passwd, group, true, &ids, &e),
			 -EINVAL);
	if (!strstr(e.text, text))
		fail_msg("%s: %s", user, e.text);
	assert_int_equal(e.stage, STAGE_USER);
	assert_int_equal(ids.uid, 12345); /* written on success only */
}

static void test_refusals(void **state)
{
	(void)state;
	refuse("nobody", "no user \"nobody\"");
	refuse("minus", "no user");
	refuse("far", "no user");
	refuse("nogid", "no user");
	refuse("app:nosuch", "no group \"nosuch\"");
	refuse("app:bad", "no group");
	refuse("-1", "no user \"-1\"");
	refuse("2147483648", "past 2147483647");
	refuse("99999999999999999999999999", "past");
	refuse("0:4294967296", "past");
	refuse("ap", "no user");
	refuse("app ", "no user");
}

static void test_without_files(void **state)
{
	struct user_ids ids;
	struct err e;

	(void)state;
	assert_int_equal(user_resolve(-1, -1, "", NULL, NULL, true, &ids, &e), 0);
	assert_int_equal(ids.uid, 0);
	assert_int_equal(ids.gid, 0);
	assert_int_equal(ids.n_groups, 1);
	assert_string_equal(ids.home, "");
	assert_int_equal(user_resolve(-1, -1, "1:2", NULL, NULL, true, &ids, &e), 0);
	assert_int_equal(user_resolve(-1, -1, "root", NULL, NULL, true, &ids, &e),
			 -EINVAL);
	assert_int_equal(user_resolve(-1, -1, "0:root", NULL, NULL, true, &ids, NULL),
			 -EINVAL);
}

/* Lines of any length, and more groups than a process is given. */
static void test_sizes(void **state)
{
	size_t size = 4u << 20, i;
	char *text = malloc(size), many[8192] = "";
	struct user_ids ids;
	struct err e;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', size);
	memcpy(text, "big:x:5:", 8);
	memcpy(text + size - 8, ",app\na:\n", 8);
	text[size - 1] = '\0';
	assert_int_equal(user_resolve(1000, -1, "", passwd, text, true, &ids, &e), 0);
	assert_int_equal(ids.n_groups, 2);
	assert_int_equal(ids.groups[1], 5);
	memset(text, ':', size - 1);
	assert_int_equal(user_resolve(-1, -1, "app", text, text, true, &ids, &e),
			 -EINVAL);
	memcpy(text, "app:x:1:1::/", 12);
	memset(text + 12, 'h', size - 13);
	assert_int_equal(user_resolve(-1, -1, "app", text, NULL, true, &ids, &e), 0);
	assert_string_equal(ids.home, "");
	free(text);

	for (i = 0; i < USER_GROUPS_MAX - 1; i++)
		(void)snprintf(many + strlen(many), sizeof(many) - strlen(many),
			       "g%zu::%zu:app\n", i, 1000 + i);
	assert_int_equal(user_resolve(-1, -1, "app", passwd, many, true, &ids, &e), 0);
	assert_int_equal(ids.n_groups, USER_GROUPS_MAX);
	strcat(many, "more::1:app\n");
	assert_int_equal(user_resolve(-1, -1, "app", passwd, many, true, &ids, &e),
			 -EINVAL);
	assert_non_null(strstr(e.text, "more than 64 groups"));
}

/* supplementalGroupsPolicy Strict, what is added by number, whom a name hides. */
static void test_more_groups(void **state)
{
	static const char groups[] = "wheel:x:10:app\n";
	static const char *const by_name[] = { "app", "app:0", "root", "0x0", "-1" };
	static const char *const by_number[] = { "", "0", "1000", "1000:app", ":app" };
	struct user_ids ids;
	struct err e;

	(void)state;
	assert_int_equal(user_resolve(-1, -1, "app", passwd, groups, false, &ids, &e), 0);
	assert_int_equal(ids.n_groups, 1);
	assert_int_equal(ids.groups[0], ids.gid);
	assert_int_equal(user_add_group(&ids, ids.gid), 0);
	assert_int_equal(ids.n_groups, 1);
	for (gid_t g = 2000; ids.n_groups < USER_GROUPS_MAX; g++)
		assert_int_equal(user_add_group(&ids, g), 0);
	assert_int_equal(user_add_group(&ids, 2000), 0);
	assert_int_equal(user_add_group(&ids, 9), -E2BIG);
	assert_int_equal(ids.n_groups, USER_GROUPS_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(by_name); i++)
		if (!user_is_name(by_name[i]))
			fail_msg("%s is no name", by_name[i]);
	for (size_t i = 0; i < ARRAY_SIZE(by_number); i++)
		if (user_is_name(by_number[i]))
			fail_msg("%s is a name", by_number[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),          cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_without_files), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_more_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
