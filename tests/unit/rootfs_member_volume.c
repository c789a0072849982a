// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_member_volume.c - volumes and host paths in a member's root: where they stand,
 * who may write, which kinds of source are taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "tests/unit/rootfs_member_fixture.h"

static void check_volumes(void)
{
	CHECK(strcmp(slurp("/data/file"), "volume") == 0);
	CHECK(write_to("/data/out", "out"));
	CHECK(strcmp(slurp("/a/b/c/file"), "volume") == 0);
	CHECK(!write_to("/a/b/c/no", "no") && errno == EROFS);
	CHECK(strcmp(slurp("/etc/one"), "volume") == 0);
	CHECK(strcmp(slurp("/data/nested/file"), "volume") == 0);
	CHECK(write_to("/dev/shm/x", "x"));
}

static void volumes_are_mounted(void **state)
{
	(void)state;
	fixture_mkdir("shm");
	add_mount(strdup(fixture("vol")), "/data", false);
	add_mount(strdup(fixture("shm")), "/dev/shm", false);
	add_mount(strdup(fixture("vol/file")), "/etc/one", false);
	add_mount(strdup(fixture("vol")), "/a/b/c", true);
	add_mount(strdup(fixture("vol")), "/data/nested", false);
	for (int user_ns = 0; user_ns < 2; user_ns++) {
		plan.user_ns = user_ns;
		expect_inside(check_volumes);
		assert_string_equal(slurp(fixture("vol/out")), "out");
		assert_true(fixture_exists("vol/nested"));
		assert_true(fixture_exists("shm/x"));
		assert_false(fixture_exists("image/data"));
		assert_false(fixture_exists("image/etc/one"));
	}
	for (size_t i = 0; i < plan.n_mounts; i++)
		free((char *)(uintptr_t)mounts[i].source);
}

static void check_deep(void)
{
	CHECK(!write_to("/data/x", "x") && errno == EROFS);
	CHECK(write_to("/data/below/x", "x"));
}

/* A mount below a read-only volume comes along and stays writable. */
static void read_only_is_not_recursive(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		void (*inside)(void) = check_deep;

		CHECK(unshare(CLONE_NEWNS) == 0);
		CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
		CHECK(mkdir(fixture("vol/below"), 0755) == 0);
		CHECK(mount("t", fixture("vol/below"), "tmpfs", 0, NULL) == 0);
		add_mount(fixture("vol"), "/data", true);
		_exit(member_start(&inside));
	}
	if (fixture_wait(pid) != 0)
		fail_msg("%s %s", shared->report.text, shared->step.what);
}

static void check_no_scratch(void)
{
	CHECK(access("/host/scratch", F_OK) == 0);
	CHECK(access("/host/scratch/upper", F_OK) < 0 && errno == ENOENT);
	CHECK(!mount_line("/host/scratch") && !mount_line("/host/scratch/root"));
}

static void own_layer_is_not_in_a_host_path(void **state)
{
	(void)state;
	add_host_path(fixture_dir, "/host", HOST_PATH_DIRECTORY);
	expect_inside(check_no_scratch);
}

static void host_path_types(void **state)
{
	static const char *const paths[] = {
		[S_IFDIR >> 12] = "vol",   [S_IFREG >> 12] = "vol/file",
		[S_IFSOCK >> 12] = "sock", [S_IFCHR >> 12] = "char",
		[S_IFBLK >> 12] = "block",
	};
	static const struct {
		enum host_path_type type;
		mode_t fits;
		int code;
		const char *name;
	} rows[] = {
		{ HOST_PATH_DIRECTORY, S_IFDIR, ENOTDIR, "Directory" },
		{ HOST_PATH_DIRECTORY_OR_CREATE, S_IFDIR, ENOTDIR, "Directory" },
		{ HOST_PATH_FILE, S_IFREG, EINVAL, "File" },
		{ HOST_PATH_FILE_OR_CREATE, S_IFREG, EINVAL, "File" },
		{ HOST_PATH_SOCKET, S_IFSOCK, ENOTSOCK, "Socket" },
		{ HOST_PATH_CHAR_DEVICE, S_IFCHR, ENODEV, "CharDevice" },
		{ HOST_PATH_BLOCK_DEVICE, S_IFBLK, ENOTBLK, "BlockDevice" },
	};
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char what[FIXTURE_PATH + 64], source[FIXTURE_PATH];

	(void)state;
	(void)strcpy(address.sun_path, fixture("sock"));
	assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(mknod(fixture("char"), S_IFCHR | 0600, makedev(1, 3)), 0);
	assert_int_equal(mknod(fixture("block"), S_IFBLK | 0600, makedev(7, 0)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t k = 0; k < ARRAY_SIZE(paths); k++) {
			if (!paths[k])
				continue;
			(void)strcpy(source, fixture(paths[k]));
			plan.n_mounts = 0;
			add_host_path(source, "/target", rows[i].type);
			if (k == rows[i].fits >> 12) {
				expect_inside(NULL);
				continue;
			}
			(void)snprintf(what, sizeof(what), "hostPath %s is not a %s",
				       source, rows[i].name);
			expect_failure(STAGE_VOLUME, rows[i].code, what);
		}
	(void)close(sock);
}

static void host_path_made_or_missing(void **state)
{
	char source[FIXTURE_PATH], what[FIXTURE_PATH + 64];
	struct stat st;

	(void)state;
	(void)strcpy(source, fixture("new/deep"));
	(void)snprintf(what, sizeof(what), "open hostPath %s", source);
	add_host_path(source, "/target", HOST_PATH_DIRECTORY);
	expect_failure(STAGE_VOLUME, ENOENT, what);
	mounts[0].host_type =
		HOST_PATH_FILE_OR_CREATE; /* only into an existing directory */
	expect_failure(STAGE_VOLUME, ENOENT, what);
	assert_false(fixture_exists("new"));
	mounts[0].host_type = HOST_PATH_DIRECTORY_OR_CREATE;
	expect_inside(NULL);
	assert_int_equal(stat(source, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0755);
	(void)strcpy(source, fixture("new/file"));
	mounts[0].host_type = HOST_PATH_FILE_OR_CREATE;
	expect_inside(NULL);
	assert_int_equal(stat(source, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	(void)strcpy(source, fixture("new/any"));
	mounts[0].host_type = HOST_PATH_ANY;
	expect_inside(NULL);
	assert_true(fixture_exists("new/any"));
	/* The machine's own links are followed. */
	fixture_symlink("vol", "link");
	(void)strcpy(source, fixture("link"));
	mounts[0].host_type = HOST_PATH_DIRECTORY;
	expect_inside(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(volumes_are_mounted),
		CASE(read_only_is_not_recursive),
		CASE(own_layer_is_not_in_a_host_path),
		CASE(host_path_types),
		CASE(host_path_made_or_missing),
	};

	return cmocka_run_group_tests_name("rootfs member_volume", tests, setup_shared,
					   NULL);
}
