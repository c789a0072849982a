// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_member_hostile.c - images and volumes that want out: links, magic links, odd
 * files where directories belong, and a race on a shared volume.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/rootfs_member_fixture.h"

static void check_links_stay_inside(void)
{
	CHECK(strcmp(slurp("/etc/file"), "volume") == 0);
	CHECK(strcmp(slurp("/x/file"), "volume") == 0);
	CHECK(strcmp(slurp("/run/late/file"), "volume") == 0);
	CHECK(strcmp(slurp("/loop1/../made/by/link/file"), "") == 0);
}

static void volume_targets_cannot_escape(void **state)
{
	char outside[FIXTURE_PATH];
	const char *vol = strdup(fixture("vol"));

	(void)state;
	(void)snprintf(outside, sizeof(outside), "%s", fixture("outside"));
	fixture_symlink("/etc", "image/data");
	fixture_symlink("../../../../../../../..", "image/up");
	fixture_symlink(outside, "image/abs");
	fixture_mkdir("image/var");
	fixture_symlink("/run", "image/var/run");
	add_mount(vol, "/data", false);
	add_mount(vol, "/up/x", false);
	add_mount(vol, "/abs", false);
	add_mount(vol, "/abs/more", false);
	add_mount(vol, "/var/run/late", false);
	for (int user_ns = 0; user_ns < 2; user_ns++) {
		plan.user_ns = user_ns;
		expect_inside(check_links_stay_inside);
		assert_int_equal(rmdir(fixture("outside")), 0); /* still empty */
		fixture_mkdir("outside");
		assert_false(fixture_exists("image/x"));
	}
	free((char *)(uintptr_t)vol);
}

static void volume_target_faults(void **state)
{
	char vol[FIXTURE_PATH], file[FIXTURE_PATH];

	(void)state;
	(void)strcpy(vol, fixture("vol"));
	(void)strcpy(file, fixture("vol/file"));
	fixture_symlink("/proc/self/root/etc", "image/magic");
	fixture_symlink("loop2", "image/loop1");
	fixture_symlink("loop1", "image/loop2");
	add_mount(vol, "/magic", false);
	expect_failure(STAGE_MOUNT, ELOOP, "open volume target /magic");
	mounts[0].target = "/loop1/x";
	expect_failure(STAGE_MOUNT, ELOOP, "open volume target /loop1/x");
	mounts[0].target = "/etc/motd/x";
	expect_failure(STAGE_MOUNT, ENOTDIR, "open volume target /etc/motd/x");
	mounts[0].target = "/etc/motd"; /* a directory on a file */
	expect_failure(STAGE_MOUNT, ENOTDIR, "mount volume on /etc/motd");
	mounts[0].source = file;
	mounts[0].target = "/etc"; /* and a file on a directory */
	expect_failure(STAGE_MOUNT, EISDIR, "mount volume on /etc");
	mounts[0].source = vol;
	mounts[0].target = "/ro";
	mounts[0].read_only = true;
	add_mount(vol, "/ro/sub", false);
	expect_failure(STAGE_MOUNT, EROFS, "open volume target /ro/sub");
}

static void system_paths_must_be_directories(void **state)
{
	static const char *const names[] = { "proc", "sys", "dev" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[64], what[64];

		(void)snprintf(path, sizeof(path), "image/%s", names[i]);
		(void)snprintf(what, sizeof(what), "use the image's /%s", names[i]);
		assert_int_equal(rmdir(fixture(path)), 0);
		fixture_symlink("/etc", path);
		expect_failure(STAGE_MOUNT, ENOTDIR, what);
		assert_int_equal(unlink(fixture(path)), 0);
		fixture_write(path, "");
		expect_failure(STAGE_MOUNT, ENOTDIR, what);
		assert_int_equal(unlink(fixture(path)), 0);
	}
}

static void check_hostname(void)
{
	struct stat st;

	CHECK(lstat("/etc/hostname", &st) == 0 && S_ISREG(st.st_mode));
	CHECK((st.st_mode & 07777) == 0644);
	CHECK(strcmp(slurp("/etc/hostname"), "box\n") == 0);
}

static void hostname_replaces_what_is_there(void **state)
{
	char secret[FIXTURE_PATH];

	(void)state;
	fixture_write("outside/secret", "secret");
	(void)strcpy(secret, fixture("outside/secret"));
	fixture_write("image/etc/hostname", "a much longer name");
	expect_inside(check_hostname);
	assert_int_equal(unlink(fixture("image/etc/hostname")), 0);
	fixture_symlink(secret, "image/etc/hostname");
	expect_inside(check_hostname);
	assert_int_equal(unlink(fixture("image/etc/hostname")), 0);
	assert_int_equal(mkfifo(fixture("image/etc/hostname"), 0666), 0);
	expect_inside(check_hostname);
	assert_int_equal(unlink(fixture("image/etc/hostname")), 0);
	fixture_mkdir("image/etc/hostname/full");
	expect_failure(STAGE_MOUNT, ENOTEMPTY, "replace /etc/hostname");
	assert_int_equal(rmdir(fixture("image/etc/hostname/full")), 0);
	expect_inside(check_hostname);
	assert_int_equal(rmdir(fixture("image/etc/hostname")), 0);
	assert_int_equal(unlink(fixture("image/etc/motd")), 0);
	assert_int_equal(rmdir(fixture("image/etc")), 0);
	expect_inside(check_hostname);
	(void)strcpy(strrchr(secret, '/'), "");
	fixture_symlink(secret, "image/etc");
	expect_inside(check_hostname);
	assert_string_equal(slurp(fixture("outside/secret")), "secret");
	assert_false(fixture_exists("outside/hostname"));
}

/* A running member of the pod swaps a directory of a shared volume for a link while the
 * next member is set up with a volume below it. */
static void shared_volume_race(void **state)
{
	char vol[FIXTURE_PATH], outside[FIXTURE_PATH];
	pid_t pid;

	(void)state;
	(void)strcpy(vol, fixture("vol"));
	(void)strcpy(outside, fixture("outside"));
	fixture_mkdir("vol/a");
	fixture_symlink(outside, "vol/b");
	pid = fork();
	if (pid == 0) {
		CHECK(chdir(vol) == 0);
		for (;;)
			(void)renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE);
	}
	add_mount(vol, "/shared", false);
	add_mount(vol, "/shared/a/sub", false);
	for (int i = 0; i < 100; i++) {
		int code = run_in(false, NULL);

		assert_true(code == 0 || code == 3);
	}
	(void)kill(pid, SIGKILL);
	(void)fixture_wait(pid);
	assert_int_equal(rmdir(fixture("outside")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(volume_targets_cannot_escape),
		CASE(volume_target_faults),
		CASE(system_paths_must_be_directories),
		CASE(hostname_replaces_what_is_there),
		CASE(shared_volume_race),
	};

	return cmocka_run_group_tests_name("rootfs member_hostile", tests, setup_shared,
					   NULL);
}
