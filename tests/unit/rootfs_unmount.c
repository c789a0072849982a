// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_unmount.c - the end of file systems, in a mount namespace that holds nothing of
 * the machine that runs the test: its root is a tmpfs, the old root is detached, and a
 * pid namespace of its own keeps the code from remounting anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/loop.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "rootfs/early.h"
#include "rootfs/unmount.h"
#include "tests/unit/rootfs_fixture.h"

static void (*check)(void);

static int setup(void **state)
{
	(void)state;
	fixture_up();
	memset(fixture_report, 0, sizeof(*fixture_report));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_down();
	return 0;
}

/* A loop device over an ext4 image in the fixture; freed with its last mount. */
static void loop_open(char device[static 32])
{
	char command[256];
	int control, number, fd, backing;

	(void)snprintf(command, sizeof(command), "truncate -s 4M %s && mkfs.ext4 -q %s",
		       fixture("disk"), fixture("disk"));
	CHECK(system(command) == 0);
	control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	CHECK(control >= 0);
	number = ioctl(control, LOOP_CTL_GET_FREE);
	CHECK(number >= 0);
	(void)snprintf(device, 32, "/dev/loop%d", number);
	fd = open(device, O_RDWR | O_CLOEXEC);
	backing = open(fixture("disk"), O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && backing >= 0 && ioctl(fd, LOOP_SET_FD, backing) == 0);
	CHECK(ioctl(fd, LOOP_SET_STATUS64,
		    &(struct loop_info64){ .lo_flags = LO_FLAGS_AUTOCLEAR }) == 0);
	(void)close(control);
	(void)close(backing);
	/* fd stays open until the mounts hold the device. */
}

static void new_root(void)
{
	struct statfs fs;
	char device[32];

	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	loop_open(device);
	fixture_mkdir("root");
	CHECK(mount("root", fixture("root"), "tmpfs", 0, NULL) == 0);
	fixture_mkdir("root/proc");
	fixture_mkdir("root/disk a"); /* a blank: \040 in the table */
	fixture_mkdir("root/bind");
	CHECK(mount("proc", fixture("root/proc"), "proc", 0, NULL) == 0);
	CHECK(mount(device, fixture("root/disk a"), "ext4", 0, NULL) == 0);
	CHECK(chdir(fixture("root")) == 0 && syscall(SYS_pivot_root, ".", ".") == 0);
	CHECK(umount2(".", MNT_DETACH) == 0);
	/* Nothing of the host may be in reach of the code under test. */
	CHECK(!early_initial_pid_ns());
	CHECK(statfs("/", &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
	      access("/tmp", F_OK) < 0);
	CHECK(mkdir("/disk a/pseudo", 0755) == 0 && mkdir("/disk a/deep", 0755) == 0);
	CHECK(mount("/disk a", "/bind", NULL, MS_BIND, NULL) == 0);
	CHECK(mount("t", "/disk a/pseudo", "tmpfs", 0, NULL) == 0);
	CHECK(mkdir("/disk a/pseudo/again", 0755) == 0);
	CHECK(mount("/bind/deep", "/disk a/pseudo/again", NULL, MS_BIND, NULL) == 0);
	(void)close_range(3, ~0u, 0);
}

static int first_process(void *arg)
{
	(void)arg;
	new_root();
	check();
	return 0;
}

static void in_new_root(void (*inside)(void))
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	pid_t pid;

	check = inside;
	pid = clone(first_process, stack + sizeof(stack),
		    CLONE_NEWNS | CLONE_NEWPID | SIGCHLD, NULL);
	assert_true(pid > 0);
	if (fixture_wait(pid) != 0)
		fail_msg("%s", fixture_report->text);
}

static void check_all_go(void)
{
	CHECK(strstr(slurp("/proc/self/mountinfo"), "/disk\\040a"));
	CHECK(unmount_all_run(NULL) == 0);
	CHECK(!strstr(slurp("/proc/self/mountinfo"), "ext4"));
	/* A pseudo file system on top of data goes too, one beside it stays. */
	CHECK(!strstr(slurp("/proc/self/mountinfo"), "pseudo"));
	CHECK(strstr(slurp("/proc/self/mountinfo"), " /proc "));
}

static void data_goes_pseudo_stays(void **state)
{
	(void)state;
	in_new_root(check_all_go);
}

static void check_busy(void)
{
	int fd = open("/disk a/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	CHECK(fd >= 0);
	CHECK(unmount_all_run(NULL) == 0);
	CHECK(strstr(slurp("/proc/self/mountinfo"), "/disk\\040a "));
	CHECK(!strstr(slurp("/proc/self/mountinfo"), "/bind "));
	/* In a container the super block stays as it is: it may be the host's. */
	CHECK(write(fd, "x", 1) == 1);
}

static void container_remounts_nothing(void **state)
{
	(void)state;
	in_new_root(check_busy);
}

static void sync_succeeds(void **state)
{
	(void)state;
	assert_int_equal(unmount_sync_run(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(data_goes_pseudo_stays),
		CASE(container_remounts_nothing),
		CASE(sync_succeeds),
	};

	fixture_report = mmap(NULL, sizeof(*fixture_report), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fixture_report == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests_name("rootfs unmount", tests, NULL, NULL);
}
