// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_tree.c - making directories, and removing trees that do not want to go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "rootfs/tree.h"
#include "tests/unit/rootfs_fixture.h"

static int setup(void **state)
{
	(void)state;
	fixture_up();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_down();
	return 0;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(fixture(path), &st) == 0 ? st.st_mode : 0;
}

static void make_with_parents(void **state)
{
	mode_t mask = umask(077);

	(void)state;
	assert_int_equal(tree_make(fixture("a/b//c/"), 0777), 0);
	(void)umask(mask);
	assert_int_equal(mode_of("a/b/c"), S_IFDIR | 0777);
	assert_int_equal(mode_of("a"), S_IFDIR | 0700); /* parents: 0755 and the umask */
	assert_int_equal(tree_make(fixture("a/b/c"), 0700), 0);
	assert_int_equal(mode_of("a/b/c"), S_IFDIR | 0777); /* existing: as it was */
	assert_int_equal(tree_make("/", 0700), 0);
}

static void make_faults(void **state)
{
	char path[5000];

	(void)state;
	fixture_write("file", "");
	assert_int_equal(tree_make(fixture("file"), 0755), -ENOTDIR);
	assert_int_equal(tree_make(fixture("file/x"), 0755), -ENOTDIR);
	assert_int_equal(tree_make("", 0755), -ENOENT);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(tree_make(path, 0755), -ENAMETOOLONG);
	assert_int_equal(tree_make("/proc/none/x", 0755), -ENOENT);
}

static void remove_simple(void **state)
{
	(void)state;
	assert_int_equal(tree_remove(fixture("none")), 0);
	fixture_write("file", "x");
	assert_int_equal(tree_remove(fixture("file")), 0);
	fixture_mkdir("empty");
	assert_int_equal(tree_remove(fixture("empty")), 0);
	fixture_mkdir("t/a/b");
	fixture_mkdir("t/c");
	fixture_mkdir("t/.removed-0/x"); /* the name we would take */
	fixture_write("t/.removed-1", "");
	fixture_write("t/a/b/f", "x");
	assert_int_equal(mkfifo(fixture("t/a/fifo"), 0), 0);
	assert_int_equal(chmod(fixture("t/a"), 0), 0);
	assert_int_equal(tree_remove(fixture("t")), 0);
	assert_false(fixture_exists("t"));
}

static void remove_follows_no_symlink(void **state)
{
	(void)state;
	fixture_mkdir("keep/dir");
	fixture_write("keep/dir/f", "x");
	fixture_mkdir("t/a");
	fixture_symlink("../keep", "t/rel");
	fixture_symlink(fixture("keep/dir"), "t/a/abs");
	assert_int_equal(tree_remove(fixture("t")), 0);
	assert_false(fixture_exists("t"));
	fixture_symlink("keep", "link");
	assert_int_equal(tree_remove(fixture("link")), 0);
	assert_true(fixture_exists("keep/dir/f"));
	assert_false(fixture_exists("link"));
}

/* 10,000 levels, each with a file and a side branch, with few descriptors to spare. */
static void remove_deep(void **state)
{
	struct rlimit old, few;
	int fd;

	(void)state;
	fixture_mkdir("deep");
	fd = open(fixture("deep"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 10000; i++) {
		int file, next;

		assert_int_equal(mkdirat(fd, "d", 0755), 0);
		assert_int_equal(mkdirat(fd, "e", 0755), 0);
		assert_int_equal(mkdirat(fd, "e/e", 0755), 0);
		file = openat(fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(file >= 0 && next >= 0);
		(void)close(file);
		(void)close(fd);
		fd = next;
	}
	(void)close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){ 8, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(tree_remove(fixture("deep")), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_false(fixture_exists("deep"));
}

static void remove_wide(void **state)
{
	char path[64];

	(void)state;
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(path, sizeof(path), "wide/d%d/x", i);
		fixture_mkdir(path);
		(void)snprintf(path, sizeof(path), "wide/f%d", i);
		fixture_write(path, "");
	}
	assert_int_equal(tree_remove(fixture("wide")), 0);
	assert_false(fixture_exists("wide"));
}

static void in_own_mounts(void (*check)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		CHECK(unshare(CLONE_NEWNS) == 0);
		CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
		check();
		_exit(0);
	}
	if (fixture_wait(pid) != 0)
		fail_msg("%s", fixture_report->text);
}

static void check_mounts_are_kept(void)
{
	fixture_mkdir("t/a/m");
	fixture_mkdir("t/b");
	fixture_write("t/f", "");
	CHECK(mount("t", fixture("t/a/m"), "tmpfs", 0, NULL) == 0);
	fixture_write("t/a/m/keep", "");
	CHECK(mount(fixture("t/a/m/keep"), fixture("t/f"), NULL, MS_BIND, NULL) == 0);
	CHECK(tree_remove(fixture("t/a/m")) == -EBUSY);
	CHECK(tree_remove(fixture("t")) == -EBUSY);
	CHECK(!fixture_exists("t/b"));
	/* What held the mount may have been moved, the mount's files are all there. */
	CHECK(umount2(fixture("t/f"), MNT_DETACH) == 0);
	CHECK(tree_remove_run((void *)(uintptr_t)fixture("t")) == 1);
}

static void remove_crosses_no_mount(void **state)
{
	(void)state;
	in_own_mounts(check_mounts_are_kept);
}

/* Every inode is taken by directories: none is left for the staging directory. */
static void check_full(void)
{
	char path[64];
	int i = 0;

	CHECK(mkdir(fixture("full"), 0755) == 0);
	CHECK(mount("t", fixture("full"), "tmpfs", 0, "nr_inodes=64") == 0);
	CHECK(mkdir(fixture("full/t"), 0755) == 0);
	for (;; i++) {
		(void)snprintf(path, sizeof(path), "full/t/%d", i / 3);
		if (i % 3 > 0)
			(void)strcat(path, "/1");
		if (i % 3 > 1)
			(void)strcat(path, "/2");
		if (mkdir(fixture(path), 0755) < 0)
			break;
	}
	CHECK(i > 10 && errno == ENOSPC);
	CHECK(tree_remove(fixture("full/t")) == 0);
	CHECK(!fixture_exists("full/t"));
}

static void remove_on_full_file_system(void **state)
{
	(void)state;
	in_own_mounts(check_full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(make_with_parents),
		CASE(make_faults),
		CASE(remove_simple),
		CASE(remove_follows_no_symlink),
		CASE(remove_deep),
		CASE(remove_wide),
		CASE(remove_crosses_no_mount),
		CASE(remove_on_full_file_system),
	};

	fixture_report = mmap(NULL, sizeof(*fixture_report), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fixture_report == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests_name("rootfs tree", tests, NULL, NULL);
}
