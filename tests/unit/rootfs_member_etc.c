// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_member_etc.c - what a member finds at /etc/hosts, /etc/resolv.conf and
 * /dev/podinit: over images that have odd things there, under volumes that claim the same
 * paths, and while the files are replaced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/rootfs_member_fixture.h"

static int setup_names(void **state)
{
	(void)setup(state);
	fixture_mkdir("names");
	fixture_write("names/hosts", "pod hosts");
	fixture_write("names/resolv.conf", "pod dns");
	plan.names_dir = strdup(fixture("names"));
	return 0;
}

static int teardown_names(void **state)
{
	free((char *)(uintptr_t)plan.names_dir);
	return teardown(state);
}

static bool leads_to(const char *path, const char *target)
{
	char text[FIXTURE_PATH];
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	return !strcmp(text, target);
}

static bool is_regular(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void check_links(void)
{
	const char *line;

	CHECK(leads_to("/etc/hosts", "/dev/podinit/hosts"));
	CHECK(leads_to("/etc/resolv.conf", "/dev/podinit/resolv.conf"));
	CHECK(!strcmp(slurp("/etc/hosts"), "pod hosts"));
	CHECK(!strcmp(slurp("/etc/resolv.conf"), "pod dns"));
	CHECK(!strcmp(slurp("/etc/hostname"), "box\n"));
	line = mount_line("/dev/podinit");
	CHECK(line && strstr(line, " rw,nosuid,nodev,noexec"));
}

static void links_lead_to_the_names(void **state)
{
	(void)state;
	for (int user_ns = 0; user_ns < 2; user_ns++) {
		plan.user_ns = user_ns;
		expect_inside(check_links);
	}
	assert_false(fixture_exists("image/etc/hosts"));
}

static void check_writable(void)
{
	CHECK(write_to("/etc/hosts", "mine      "));
}

static void members_may_write(void **state)
{
	(void)state;
	expect_inside(check_writable);
	assert_string_equal(slurp(fixture("names/hosts")), "mine      ");
}

/* The whole reason for the links: a rename on the machine's side is seen inside. */
static void check_replaced(void)
{
	int to_parent[2], from_parent[2];
	char c;

	memcpy(to_parent, shared->report.data, sizeof(to_parent));
	memcpy(from_parent, shared->report.data + sizeof(to_parent), sizeof(from_parent));
	CHECK(!strcmp(slurp("/etc/hosts"), "pod hosts"));
	CHECK(write(to_parent[1], "r", 1) == 1);
	CHECK(read(from_parent[0], &c, 1) == 1);
	CHECK(!strcmp(slurp("/etc/hosts"), "new hosts"));
}

static void renames_are_seen_inside(void **state)
{
	int pipes[4];
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pipe(pipes + 2), 0);
	memcpy(shared->report.data, pipes, sizeof(pipes));
	pid = fork();
	if (pid == 0) {
		/* Ends by itself when the member ended without a word. */
		(void)close(pipes[1]);
		if (read(pipes[0], &c, 1) == 1) {
			fixture_write("hosts.new", "new hosts");
			(void)rename(fixture("hosts.new"), fixture("names/hosts"));
			(void)!write(pipes[3], "g", 1);
		}
		_exit(0);
	}
	(void)close(pipes[0]);
	(void)close(pipes[3]);
	/* member_start() runs in this process's children, which have all four. */
	assert_int_equal(run_in(false, check_replaced), 0);
	(void)close(pipes[1]);
	(void)close(pipes[2]);
	assert_int_equal(fixture_wait(pid), 0);
}

static void image_files_are_replaced(void **state)
{
	char secret[FIXTURE_PATH];

	(void)state;
	fixture_write("outside/secret", "secret");
	(void)strcpy(secret, fixture("outside/secret"));
	fixture_write("image/etc/hosts", "image");
	fixture_symlink(secret, "image/etc/resolv.conf");
	expect_inside(check_links);
	assert_int_equal(unlink(fixture("image/etc/hosts")), 0);
	assert_int_equal(unlink(fixture("image/etc/resolv.conf")), 0);
	assert_int_equal(mkfifo(fixture("image/etc/hosts"), 0666), 0);
	fixture_symlink("resolv.conf", "image/etc/resolv.conf");
	expect_inside(check_links);
	assert_int_equal(unlink(fixture("image/etc/hosts")), 0);
	fixture_mkdir("image/etc/hosts");
	expect_inside(check_links);
	assert_string_equal(slurp(fixture("outside/secret")), "secret");
}

static void full_directory_is_refused(void **state)
{
	(void)state;
	fixture_mkdir("image/etc/hosts/full");
	expect_failure(STAGE_MOUNT, ENOTEMPTY, "replace /etc/hosts");
}

static void etc_of_other_kinds(void **state)
{
	(void)state;
	assert_int_equal(unlink(fixture("image/etc/motd")), 0);
	assert_int_equal(rmdir(fixture("image/etc")), 0);
	expect_inside(check_links); /* absent */
	fixture_symlink("/config/here", "image/etc");
	expect_inside(check_links); /* dangling, inside */
	assert_int_equal(unlink(fixture("image/etc")), 0);
	fixture_symlink(fixture("outside"), "image/etc");
	expect_inside(check_links); /* and out of the root */
	assert_int_equal(rmdir(fixture("outside")), 0);
	fixture_mkdir("outside");
	assert_int_equal(unlink(fixture("image/etc")), 0);
	fixture_write("image/etc", "");
	expect_failure(STAGE_MOUNT, ENOTDIR, "replace /etc/hostname");
}

static void check_own_hosts(void)
{
	CHECK(!strcmp(slurp("/etc/hosts"), "volume"));
	CHECK(leads_to("/etc/resolv.conf", "/dev/podinit/resolv.conf"));
	CHECK(!strcmp(slurp("/dev/podinit/hosts"), "pod hosts"));
}

static void volume_on_the_file_wins(void **state)
{
	char file[FIXTURE_PATH];

	(void)state;
	(void)strcpy(file, fixture("vol/file"));
	add_mount(file, "/etc/hosts", false);
	expect_inside(check_own_hosts);
	fixture_write("image/etc/hosts", "image");
	expect_inside(check_own_hosts);
	assert_int_equal(unlink(fixture("image/etc/hosts")), 0);
	fixture_symlink("/elsewhere/hosts", "image/etc/hosts");
	expect_inside(check_own_hosts);
}

static void check_etc_is_volume(void)
{
	CHECK(!strcmp(slurp("/etc/file"), "volume"));
	CHECK(access("/etc/hosts", F_OK) < 0);
}

static void volume_above_wins(void **state)
{
	char vol[FIXTURE_PATH];

	(void)state;
	(void)strcpy(vol, fixture("vol"));
	add_mount(vol, "/etc", false);
	expect_inside(check_etc_is_volume);
	/* The same by another name: /etc is a link of the image's. */
	assert_int_equal(unlink(fixture("image/etc/motd")), 0);
	assert_int_equal(rmdir(fixture("image/etc")), 0);
	fixture_symlink("/config", "image/etc");
	mounts[0].target = "/config";
	expect_inside(check_etc_is_volume);
	assert_false(fixture_exists("vol/hosts"));
	assert_false(fixture_exists("vol/resolv.conf"));
}

static void check_volume_by_link(void)
{
	CHECK(!strcmp(slurp("/etc/hosts"), "volume"));
	CHECK(!strcmp(slurp("/etc/resolv.conf"), "pod dns"));
}

static void volume_by_another_name_wins(void **state)
{
	char file[FIXTURE_PATH];

	(void)state;
	(void)strcpy(file, fixture("vol/file"));
	fixture_symlink("/etc", "image/link");
	add_mount(file, "/link/hosts", false);
	expect_inside(check_volume_by_link);
	assert_string_equal(slurp(fixture("names/hosts")), "pod hosts");
}

static void check_below(void)
{
	CHECK(!strcmp(slurp("/etc/hosts/sub/file"), "volume"));
	CHECK(!strcmp(slurp("/etc/resolv.conf"), "pod dns"));
}

static void volume_below_wins(void **state)
{
	char vol[FIXTURE_PATH];

	(void)state;
	(void)strcpy(vol, fixture("vol"));
	add_mount(vol, "/etc/hosts/sub", false);
	expect_inside(check_below);
}

static void check_plain(void)
{
	CHECK(is_regular("/etc/hosts") && is_regular("/etc/resolv.conf"));
	CHECK(!strcmp(slurp("/etc/hosts"), "pod hosts"));
	CHECK(!strcmp(slurp("/etc/resolv.conf"), "pod dns"));
	CHECK(!mount_line("/dev/podinit") || strstr(mount_line("/dev/podinit"), "vol"));
}

/* Below it a later rename would take the volume off: so they do not share the place. */
static void volume_takes_the_names_place(void **state)
{
	static const char *const places[] = { "/dev/podinit", "/dev/podinit/sub",
					      "/dev/podinit/hosts" };
	char vol[FIXTURE_PATH];

	(void)state;
	(void)strcpy(vol, fixture("vol"));
	add_mount(vol, "", false);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		mounts[0].target = places[i];
		expect_inside(check_plain);
	}
	mounts[0].target = "/dev";
	fixture_mkdir("vol/pts");
	expect_inside(check_plain);
	assert_false(fixture_exists("vol/podinit"));
	assert_false(fixture_exists("names/sub"));
}

static void check_copy_took_nothing(void)
{
	CHECK(!strcmp(slurp("/etc/hosts"), "image"));
	CHECK(!strcmp(slurp("/etc/resolv.conf"), ""));
}

/* Another member of the pod put something in the place of the files. */
static void copies_follow_no_link(void **state)
{
	char vol[FIXTURE_PATH], secret[FIXTURE_PATH];

	(void)state;
	fixture_write("outside/secret", "secret");
	(void)strcpy(vol, fixture("vol"));
	(void)strcpy(secret, fixture("outside/secret"));
	fixture_write("image/etc/hosts", "image");
	assert_int_equal(unlink(fixture("names/hosts")), 0);
	assert_int_equal(unlink(fixture("names/resolv.conf")), 0);
	fixture_symlink(secret, "names/hosts");
	assert_int_equal(mkfifo(fixture("names/resolv.conf"), 0666), 0);
	add_mount(vol, "/dev/podinit", false);
	expect_inside(check_copy_took_nothing);
}

static void names_dir_faults(void **state)
{
	char what[FIXTURE_PATH];

	(void)state;
	(void)snprintf(what, sizeof(what), "open %s", fixture("gone"));
	free((char *)(uintptr_t)plan.names_dir);
	plan.names_dir = strdup(fixture("gone"));
	expect_failure(STAGE_MOUNT, ENOENT, what);
}

static void check_image_alone(void)
{
	CHECK(!strcmp(slurp("/etc/hosts"), "image"));
	CHECK(access("/etc/resolv.conf", F_OK) < 0);
	CHECK(access("/dev/podinit", F_OK) < 0);
}

static void without_names_the_image_stays(void **state)
{
	(void)state;
	fixture_write("image/etc/hosts", "image");
	free((char *)(uintptr_t)plan.names_dir);
	plan.names_dir = NULL;
	expect_inside(check_image_alone);
}

#define NAMES_CASE(name) \
	cmocka_unit_test_setup_teardown(name, setup_names, teardown_names)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NAMES_CASE(links_lead_to_the_names),
		NAMES_CASE(members_may_write),
		NAMES_CASE(renames_are_seen_inside),
		NAMES_CASE(image_files_are_replaced),
		NAMES_CASE(full_directory_is_refused),
		NAMES_CASE(etc_of_other_kinds),
		NAMES_CASE(volume_on_the_file_wins),
		NAMES_CASE(volume_above_wins),
		NAMES_CASE(volume_by_another_name_wins),
		NAMES_CASE(volume_below_wins),
		NAMES_CASE(volume_takes_the_names_place),
		NAMES_CASE(copies_follow_no_link),
		NAMES_CASE(names_dir_faults),
		NAMES_CASE(without_names_the_image_stays),
	};

	return cmocka_run_group_tests_name("rootfs member_etc", tests, setup_shared,
					   NULL);
}
