// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_member_root.c - a member's root, seen from inside: system mounts, the layer that
 * takes its writes, working directory, console, faults of the set-up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pty.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "rootfs/tree.h"
#include "tests/unit/rootfs_member_fixture.h"

static bool mount_has(const char *point, const char *options, const char *type)
{
	const char *line = mount_line(point);
	char have[256] = "", what[32] = "", want[64];

	if (!line)
		return false;
	(void)sscanf(line, "%*s %*s %*s %*s %*s %255s", have);
	(void)sscanf(strstr(line, " - ") + 3, "%31s", what);
	(void)snprintf(want, sizeof(want), "%s", options);
	if (strcmp(what, type) != 0)
		return false;
	for (char *rest = want, *one; (one = strsep(&rest, " "));) {
		char padded[300], key[64];

		(void)snprintf(padded, sizeof(padded), ",%s,", have);
		(void)snprintf(key, sizeof(key), ",%s,", one);
		if (*one && !strstr(padded, key))
			return false;
	}
	return true;
}

static bool refused(const char *path, int code)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)close(fd);
	return fd < 0 && errno == code;
}

static bool is_empty_dir(const char *path)
{
	/* A directory of a tmpfs has two links and what is in it. */
	struct statfs fs;
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_nlink == 2 &&
	       statfs(path, &fs) == 0 && fs.f_type == 0x01021994;
}

static bool is_device(const char *path, unsigned int want_major, unsigned int want_minor)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == makedev(want_major, want_minor) &&
	       (st.st_mode & 0666) == 0666;
}

static bool link_is(const char *path, const char *target)
{
	char text[256];
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	text[MAX(n, 0)] = '\0';
	return n > 0 && strcmp(text, target) == 0;
}

/* ---- what every member gets ---------------------------------------------------------
 */

static void check_system(void)
{
	static const char *const ours[] = { "/", "/proc", "/sys", "/dev" };
	char line[1024], point[512];
	FILE *file;

	CHECK(mount_has("/", "rw", "overlay"));
	CHECK(mount_has("/proc", "rw nosuid nodev noexec", "proc"));
	CHECK(mount_has("/sys", "ro nosuid nodev noexec", "sysfs"));
	CHECK(mount_has("/sys/fs/cgroup", "ro nosuid nodev noexec", "cgroup2"));
	CHECK(mount_has("/dev", "rw nosuid", "tmpfs"));
	CHECK(mount_has("/dev/pts", "rw nosuid noexec", "devpts"));
	CHECK(mount_has("/dev/shm", "rw nosuid nodev noexec", "tmpfs"));
	CHECK(mount_has("/dev/mqueue", "rw nosuid nodev noexec", "mqueue"));
	file = fopen("/proc/self/mountinfo", "re");
	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		bool known = false;

		CHECK(sscanf(line, "%*s %*s %*s %*s %511s", point) == 1);
		for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
			size_t len = strlen(ours[i]);

			known |= strncmp(point, ours[i], len) == 0 &&
				 (point[len] == '\0' || point[len] == '/');
		}
		CHECK(known);
		CHECK(!strstr(line, fixture_dir) || strstr(line, "lowerdir="));
		CHECK(!strstr(line, "shared:") && !strstr(line, "master:"));
	}
	(void)fclose(file);
	CHECK(link_is("/proc/self", "1"));
	CHECK(is_device("/dev/null", 1, 3) && is_device("/dev/zero", 1, 5));
	CHECK(is_device("/dev/full", 1, 7) && is_device("/dev/tty", 5, 0));
	CHECK(is_device("/dev/random", 1, 8) && is_device("/dev/urandom", 1, 9));
	CHECK(write_to("/dev/null", "x"));
	CHECK(link_is("/dev/fd", "/proc/self/fd") && link_is("/dev/ptmx", "pts/ptmx"));
	CHECK(link_is("/dev/stdin", "/proc/self/fd/0"));
	CHECK(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0);
	CHECK(access("/dev/pts/0", F_OK) == 0 && access("/dev/console", F_OK) < 0);
	CHECK(umask(0) == 022);
}

static void check_pivoted(void)
{
	struct stat root, above;
	char cwd[64];

	CHECK(getcwd(cwd, sizeof(cwd)) && strcmp(cwd, "/") == 0);
	CHECK(stat("/", &root) == 0 && stat("/../..", &above) == 0);
	CHECK(root.st_ino == above.st_ino && root.st_dev == above.st_dev);
	CHECK((root.st_mode & 07777) == 0755);
	CHECK(access(fixture_dir, F_OK) < 0 && errno == ENOENT);
	CHECK(strcmp(slurp("/etc/motd"), "image") == 0);
	CHECK(strcmp(slurp("/etc/hostname"), "box\n") == 0);
}

static void check_masks(void)
{
	char byte;
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);

	if (access("/proc/kcore", F_OK) == 0) {
		CHECK(fd >= 0 && read(fd, &byte, 1) == 0);
		CHECK(is_device("/proc/kcore", 1, 3));
	}
	CHECK(strlen(slurp("/proc/keys")) == 0 && strlen(slurp("/proc/timer_list")) == 0);
	if (access("/proc/acpi", F_OK) == 0)
		CHECK(is_empty_dir("/proc/acpi"));
	CHECK(is_empty_dir("/sys/firmware"));
	CHECK(mkdir("/sys/firmware/x", 0755) < 0 && errno == EROFS);
	CHECK(refused("/proc/sys/kernel/hostname", EROFS));
	if (access("/proc/sysrq-trigger", F_OK) == 0) /* CONFIG_MAGIC_SYSRQ */
		CHECK(refused("/proc/sysrq-trigger", EROFS));
	CHECK(refused("/sys/fs/cgroup/cgroup.procs", EROFS));
	CHECK(mkdir("/proc/fs/x", 0755) < 0);
	CHECK(write_to("/proc/self/comm", "renamed"));
}

static void system_mounts(void **state)
{
	(void)state;
	expect_inside(check_system);
	expect_inside(check_pivoted);
	expect_inside(check_masks);
}

static void system_mounts_in_user_ns(void **state)
{
	(void)state;
	plan.user_ns = true;
	expect_inside(check_system);
	expect_inside(check_pivoted);
	expect_inside(check_masks);
}

static void directories_missing_in_image(void **state)
{
	(void)state;
	assert_int_equal(rmdir(fixture("image/proc")), 0);
	assert_int_equal(rmdir(fixture("image/sys")), 0);
	assert_int_equal(rmdir(fixture("image/dev")), 0);
	expect_inside(check_system);
	assert_false(fixture_exists("image/proc"));
}

static void check_shared_sys(void)
{
	CHECK(mount_has("/sys", "ro nosuid nodev noexec", "sysfs"));
	CHECK(mount_has("/sys/fs/cgroup", "ro", "cgroup2"));
	CHECK(!mount_line("/sys/kernel/tracing") &&
	      !mount_line("/sys/fs/cgroup/unified"));
}

static void check_locked_sys(void)
{
	CHECK(mount_has("/sys", "ro nosuid nodev noexec", "sysfs"));
	CHECK(mount_has("/sys/fs/cgroup", "ro nosuid nodev noexec", "cgroup2"));
	CHECK(refused("/sys/fs/cgroup/cgroup.procs", EROFS));
	/* Its own group is the root of what it sees. */
	CHECK(strcmp(slurp("/proc/self/cgroup"), "0::/\n") == 0 ||
	      strstr(slurp("/proc/self/cgroup"), "\n0::/\n"));
}

static void sys_bound_without_own_net(void **state)
{
	(void)state;
	plan.own_net = false;
	expect_inside(check_shared_sys);
}

/* Mounts below the inherited /sys are locked: the whole tree comes, and with it perhaps
 * the machine's cgroup2 where the member's own has to go. */
static void sys_bound_in_user_ns(void **state)
{
	pid_t pid = fork();
	void (*inside)(void) = check_locked_sys;

	(void)state;
	plan.own_net = false;
	plan.user_ns = true;
	if (pid == 0) {
		CHECK(unshare(CLONE_NEWNS) == 0);
		CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
		CHECK(mount("c", "/sys/fs/cgroup", "cgroup2", 0, NULL) == 0 ||
		      errno == EBUSY); /* there is one already */
		CHECK(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && fixture_map_root());
		_exit(member_start(&inside));
	}
	if (fixture_wait(pid) != 0)
		fail_msg("%s %s", shared->report.text, shared->step.what);
}

/* ---- the writable layer -------------------------------------------------------------
 */

static void change_everything(void)
{
	CHECK(strcmp(slurp("/etc/motd"), "image") == 0); /* not the other member's */
	CHECK(write_to("/etc/motd", "changed") && write_to("/new", "new"));
	CHECK(mkdir("/etc/sub", 0755) == 0 && unlink("/etc/hostname") == 0);
}

static void writes_stay_in_the_upper_layer(void **state)
{
	(void)state;
	expect_inside(change_everything);
	expect_inside(change_everything);
	plan.user_ns = true;
	expect_inside(change_everything);
	assert_string_equal(slurp(fixture("image/etc/motd")), "image");
	assert_false(fixture_exists("image/new"));
	assert_false(fixture_exists("image/etc/sub"));
	assert_false(fixture_exists("image/etc/hostname"));
}

static void fill_layer(void)
{
	static const char block[65536];
	int fd = open("/big", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ssize_t n, total = 0;

	while (total < (4 << 20) && (n = write(fd, block, sizeof(block))) > 0)
		total += n;
	CHECK(total > 0 && total < (1 << 20) && errno == ENOSPC);
}

static void upper_layer_is_bounded(void **state)
{
	(void)state;
	plan.upper_bytes = 1 << 20;
	expect_inside(fill_layer);
}

static void odd_image_paths(void **state)
{
	static const char *const names[] = { "a:b", "a,b", "a\\b", ":,\\,:", "a b\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *lower = plan.lower;
		char path[FIXTURE_PATH];

		(void)strcpy(path, fixture(names[i]));
		assert_int_equal(rename(lower, path), 0);
		plan.lower = path;
		expect_inside(check_pivoted);
		assert_int_equal(rename(path, lower), 0);
		plan.lower = lower;
	}
}

/* ---- the rest -----------------------------------------------------------------------
 */

static void check_working_dir(void)
{
	struct stat st;

	CHECK(stat("/srv/app/deep", &st) == 0 && st.st_mode == (S_IFDIR | 0755));
}

static void working_dir_is_made(void **state)
{
	char vol[FIXTURE_PATH];

	(void)state;
	plan.working_dir = "/srv/app/deep";
	expect_inside(check_working_dir);
	plan.working_dir = "/";
	expect_inside(NULL);
	(void)strcpy(vol, fixture("vol"));
	add_mount(vol, "/srv", true);
	plan.working_dir = "/srv/app";
	expect_failure(STAGE_CHDIR, EROFS, "make working directory /srv/app");
	plan.working_dir = "/srv/file";
	plan.n_mounts = 0;
	plan.working_dir = "/etc/motd/x";
	expect_failure(STAGE_CHDIR, ENOTDIR, "make working directory /etc/motd/x");
}

static void check_console(void)
{
	struct stat console, tty;
	int fd = open("/dev/console", O_RDWR | O_NOCTTY | O_CLOEXEC);

	CHECK(fd >= 0 && isatty(fd));
	CHECK(fstat(fd, &console) == 0 && fstat(plan.tty_fd, &tty) == 0);
	CHECK(console.st_ino == tty.st_ino && console.st_dev == tty.st_dev);
}

static void console_is_the_members_terminal(void **state)
{
	int master, slave;

	(void)state;
	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	plan.tty_fd = slave;
	expect_inside(check_console);
	plan.user_ns = true;
	expect_inside(check_console);
	(void)close(slave);
	plan.tty_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	expect_failure(STAGE_MOUNT, ENOTTY, "bind the terminal on /dev/console");
	(void)close(plan.tty_fd);
	(void)close(master);
}

static void set_up_faults(void **state)
{
	const char *lower = plan.lower, *scratch = plan.scratch;
	static char long_lower[4200];
	char what[FIXTURE_PATH + 64], path[FIXTURE_PATH];

	(void)state;
	(void)strcpy(path, fixture("nowhere"));
	plan.lower = path;
	(void)snprintf(what, sizeof(what), "open image root %s", path);
	expect_failure(STAGE_MOUNT, ENOENT, what);
	(void)strcpy(path, fixture("vol/file"));
	plan.lower = path;
	(void)snprintf(what, sizeof(what), "mount overlay on %s/root", scratch);
	assert_int_equal(run_in(false, NULL), 3);
	assert_string_equal(shared->step.what, what);
	memset(long_lower, 'x', sizeof(long_lower) - 1);
	long_lower[0] = '/';
	plan.lower = long_lower;
	assert_int_equal(run_in(false, NULL), 3);
	assert_int_equal(shared->step.code, ENAMETOOLONG);
	plan.lower = lower;
	(void)strcpy(path, fixture("nowhere"));
	plan.scratch = path;
	(void)snprintf(what, sizeof(what), "mount tmpfs on %s", path);
	expect_failure(STAGE_MOUNT, ENOENT, what);
	plan.scratch = scratch;
	(void)snprintf(what, sizeof(what), "open volume source %s", path);
	add_mount(path, "/data", false);
	expect_failure(STAGE_VOLUME, ENOENT, what);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(system_mounts),
		CASE(system_mounts_in_user_ns),
		CASE(directories_missing_in_image),
		CASE(sys_bound_without_own_net),
		CASE(sys_bound_in_user_ns),
		CASE(writes_stay_in_the_upper_layer),
		CASE(upper_layer_is_bounded),
		CASE(odd_image_paths),
		CASE(working_dir_is_made),
		CASE(console_is_the_members_terminal),
		CASE(set_up_faults),
	};

	return cmocka_run_group_tests_name("rootfs member_root", tests, setup_shared,
					   NULL);
}
