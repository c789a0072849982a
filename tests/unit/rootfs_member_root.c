// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_member_root.c - a member's root, seen from inside, with friendly and with
 * hostile images. Each case runs as the first process of new namespaces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/socket.h>

#include "rootfs/member_root.h"
#include "rootfs/tree.h"
#include "tests/unit/rootfs_fixture.h"

#define NEW_ALL                                                                    \
	(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

struct shared {
	struct fixture_report report;
	struct step step;
	int result;
};

static struct shared *shared;

static struct member_root plan;
static struct root_mount mounts[16];

static void add_mount(const char *source, const char *target, bool read_only)
{
	mounts[plan.n_mounts++] = (struct root_mount){ .source = source,
						       .target = target,
						       .read_only = read_only };
}

static void add_host_path(const char *source, const char *target,
			  enum host_path_type type)
{
	add_mount(source, target, false);
	mounts[plan.n_mounts - 1].is_host_path = true;
	mounts[plan.n_mounts - 1].host_type = type;
}

static int setup(void **state)
{
	(void)state;
	fixture_up();
	fixture_mkdir("image/etc");
	fixture_mkdir("image/proc");
	fixture_mkdir("image/sys");
	fixture_mkdir("image/dev");
	fixture_mkdir("image/tmp");
	fixture_write("image/etc/motd", "image");
	fixture_mkdir("scratch");
	fixture_mkdir("vol");
	fixture_write("vol/file", "volume");
	fixture_mkdir("outside");
	memset(shared, 0, sizeof(*shared));
	fixture_report = &shared->report;
	plan = (struct member_root){
		.lower = strdup(fixture("image")),
		.scratch = strdup(fixture("scratch")),
		.own_net = true,
		.tty_fd = -1,
		.mounts = mounts,
		.hostname = "box",
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	/* The member's layer lives in its own namespace only. */
	assert_int_equal(rmdir(fixture("scratch")), 0);
	fixture_down();
	free((char *)(uintptr_t)plan.lower);
	free((char *)(uintptr_t)plan.scratch);
	return 0;
}

/* In the first process of the new namespaces. */
static int member_main(void *inside)
{
	void (*check)(void) = *(void (**)(void))inside;

	(void)umask(022);
	shared->result = member_root_enter(&plan, &shared->step);
	if (shared->result < 0)
		return 3;
	if (check)
		check();
	return 0;
}

static int member_start(void *inside)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	pid_t pid = clone(member_main, stack + sizeof(stack), NEW_ALL | SIGCHLD, inside);

	return pid < 0 ? 4 : fixture_wait(pid);
}

/* 0: entered and all checks passed; 3: member_root_enter() failed; 1: see the report. */
static int run_in(bool user_ns, void (*inside)(void))
{
	pid_t pid;

	if (!user_ns)
		return member_start(&inside);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || !fixture_map_root())
			_exit(5);
		_exit(member_start(&inside));
	}
	return pid < 0 ? 4 : fixture_wait(pid);
}

static void expect_inside(void (*inside)(void))
{
	int code = run_in(plan.user_ns, inside);

	if (code == 3)
		fail_msg("stage %d, %s: %s", shared->step.stage, shared->step.what,
			 strerror(shared->step.code));
	if (code != 0)
		fail_msg("exit code %d: %s", code, shared->report.text);
}

static void expect_failure(enum stage stage, int code, const char *what)
{
	assert_int_equal(run_in(plan.user_ns, NULL), 3);
	assert_string_equal(shared->step.what, what);
	assert_int_equal(shared->step.stage, stage);
	assert_int_equal(shared->step.code, code);
	assert_int_equal(shared->result, -code);
}

/* The line of a mount point in our mountinfo, NULL when it is none. */
static const char *mount_line(const char *point)
{
	static char line[1024], found[1024];
	FILE *file = fopen("/proc/self/mountinfo", "re");
	bool have = false;
	char at[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %*s %*s %*s %511s", at) == 1 &&
		    strcmp(at, point) == 0) {
			(void)strcpy(found, line);
			have = true;
		}
	if (file)
		(void)fclose(file);
	return have ? found : NULL;
}

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

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ssize_t len = (ssize_t)strlen(text),
		n = fd < 0 ? -1 : write(fd, text, (size_t)len);

	if (fd >= 0)
		(void)close(fd);
	return n == len;
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

/* ---- volumes ------------------------------------------------------------------------
 */

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
	char what[256], source[FIXTURE_PATH];

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
	char source[FIXTURE_PATH], what[300];
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

/* ---- hostile images -----------------------------------------------------------------
 */

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
	fixture_mkdir("image/etc/hostname");
	expect_failure(STAGE_MOUNT, EISDIR, "replace /etc/hostname");
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
	char what[300], path[FIXTURE_PATH];

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
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(system_mounts),
		CASE(system_mounts_in_user_ns),
		CASE(directories_missing_in_image),
		CASE(sys_bound_without_own_net),
		CASE(sys_bound_in_user_ns),
		CASE(writes_stay_in_the_upper_layer),
		CASE(upper_layer_is_bounded),
		CASE(odd_image_paths),
		CASE(volumes_are_mounted),
		CASE(read_only_is_not_recursive),
		CASE(own_layer_is_not_in_a_host_path),
		CASE(host_path_types),
		CASE(host_path_made_or_missing),
		CASE(volume_targets_cannot_escape),
		CASE(volume_target_faults),
		CASE(system_paths_must_be_directories),
		CASE(hostname_replaces_what_is_there),
		CASE(shared_volume_race),
		CASE(working_dir_is_made),
		CASE(console_is_the_members_terminal),
		CASE(set_up_faults),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests_name("rootfs member_root", tests, NULL, NULL);
}
