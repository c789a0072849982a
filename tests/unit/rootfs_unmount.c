// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_unmount.c - the end of file systems, in a mount namespace that holds nothing of
 * the machine that runs the test: its root is a tmpfs and the old root is detached. What
 * makes it a machine or a container, and what hangs, is said by the test.
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

#include "base/time.h"
#include "rootfs/early.h"
#include "rootfs/unmount.h"
#include "tests/unit/rootfs_fixture.h"

static void (*check)(void);
static bool is_machine, slow_hangs, sync_hangs, stacked;
static int64_t timeout_ns = 20 * NSEC_PER_SEC;

/* ---- before the library's and the room's own -------------------------------------- */

bool early_initial_pid_ns(void)
{
	return is_machine;
}

/* A disk at /slow may never answer. */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
	  const void *data)
{
	while (slow_hangs && flags == (MS_REMOUNT | MS_RDONLY) &&
	       strcmp(target, "/slow") == 0)
		(void)pause();
	return (int)syscall(SYS_mount, source, target, type, flags, data);
}

/* Waits for every disk, and one of them may never answer. */
void sync(void)
{
	while (sync_hangs)
		(void)pause();
}

int syncfs(int fd)
{
	(void)__atomic_add_fetch(&fixture_report->data[0], 1, __ATOMIC_RELAXED);
	return (int)syscall(SYS_syncfs, fd);
}

/* ---- the machine ------------------------------------------------------------------ */

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

#define IMAGE_FD 3 /* of the disk, for what is on it while it is mounted */

/* A loop device over an ext4 image in the fixture; freed with its last mount. */
static void loop_open(const char *image, int megabytes, char device[static 32])
{
	char command[256];
	int control, number, fd, backing;

	(void)snprintf(command, sizeof(command),
		       "truncate -s %dM '%s' && mkfs.ext4 -q '%s'", megabytes,
		       fixture(image), fixture(image));
	CHECK(system(command) == 0);
	control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	CHECK(control >= 0);
	number = ioctl(control, LOOP_CTL_GET_FREE);
	CHECK(number >= 0);
	(void)snprintf(device, 32, "/dev/loop%d", number);
	fd = open(device, O_RDWR | O_CLOEXEC);
	backing = open(fixture(image), O_RDWR | O_CLOEXEC);
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
	char device[32], slow[32], inner[32];
	int image;

	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	loop_open("disk", 16, device);
	loop_open("slow-disk", 4, slow);
	image = open(fixture("disk"), O_RDONLY | O_CLOEXEC);
	CHECK(image >= 0);
	fixture_mkdir("root");
	CHECK(mount("root", fixture("root"), "tmpfs", 0, NULL) == 0);
	fixture_mkdir("root/proc");
	fixture_mkdir("root/disk a"); /* a blank: \040 in the table */
	fixture_mkdir("root/bind");
	fixture_mkdir("root/slow");
	CHECK(mount("proc", fixture("root/proc"), "proc", 0, NULL) == 0);
	CHECK(mount(device, fixture("root/disk a"), "ext4", 0, NULL) == 0);
	CHECK(mount(slow, fixture("root/slow"), "ext4", 0, NULL) == 0);
	if (stacked) {
		loop_open("root/disk a/image", 4, inner);
		fixture_mkdir("root/inner");
		CHECK(mount(inner, fixture("root/inner"), "ext4", 0, NULL) == 0);
	}
	CHECK(chdir(fixture("root")) == 0 && syscall(SYS_pivot_root, ".", ".") == 0);
	CHECK(umount2(".", MNT_DETACH) == 0);
	/* Nothing of the host may be in reach of the code under test. */
	CHECK(statfs("/", &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
	      access("/tmp", F_OK) < 0);
	CHECK(mkdir("/disk a/pseudo", 0755) == 0 && mkdir("/disk a/deep", 0755) == 0);
	CHECK(mount("/disk a", "/bind", NULL, MS_BIND, NULL) == 0);
	CHECK(mount("t", "/disk a/pseudo", "tmpfs", 0, NULL) == 0);
	CHECK(mkdir("/disk a/pseudo/again", 0755) == 0);
	CHECK(mount("/bind/deep", "/disk a/pseudo/again", NULL, MS_BIND, NULL) == 0);
	CHECK(dup2(image, IMAGE_FD) == IMAGE_FD);
	(void)close_range(IMAGE_FD + 1, ~0u, 0);
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
	CHECK(unmount_all_run(&timeout_ns) == 0);
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
	CHECK(unmount_all_run(&timeout_ns) == 0);
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

/* Clean means for the next mount: no journal to be replayed (ext4: s_feature_incompat,
 * EXT4_FEATURE_INCOMPAT_RECOVER). */
static bool disk_is_clean(void)
{
	uint32_t features = 0;

	CHECK(pread(IMAGE_FD, &features, 4, 1024 + 0x60) == 4);
	return !(features & 4);
}

/* What the code has to say from now on. */
static void stderr_to_file(void)
{
	int fd = open("/said", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	(void)close(fd);
}

static void check_all_clean(void)
{
	is_machine = true;
	CHECK(!disk_is_clean());
	check_all_go();
	CHECK(disk_is_clean());
}

static void a_machine_leaves_its_disks_clean(void **state)
{
	(void)state;
	in_new_root(check_all_clean);
}

/* A process that cannot be killed, say, with a copy of all mounts and an open file. */
static void check_copy(void)
{
	int ready[2];
	char byte;

	is_machine = true;
	stderr_to_file();
	CHECK(pipe(ready) == 0);
	if (fork() == 0) {
		int fd = -1;

		if (unshare(CLONE_NEWNS) == 0)
			fd = open("/disk a/file", O_WRONLY | O_CREAT, 0644);
		CHECK(fd >= 0 && write(ready[1], "x", 1) == 1);
		for (;;)
			(void)pause();
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	CHECK(unmount_all_run(&timeout_ns) == 1);
	CHECK(!strstr(slurp("/proc/self/mountinfo"), "ext4"));
	CHECK(strstr(slurp("/said"), "(ext4) stays writable: Device or resource busy\n"));
	CHECK(!disk_is_clean());
}

static void a_copy_of_a_mount_keeps_it_writable(void **state)
{
	(void)state;
	in_new_root(check_copy);
}

static void check_slow(void)
{
	int64_t start_ns = time_boot_ns();

	is_machine = slow_hangs = true;
	stderr_to_file();
	timeout_ns = 2 * NSEC_PER_SEC;
	CHECK(unmount_all_run(&timeout_ns) == 1);
	CHECK(time_boot_ns() - start_ns < timeout_ns);
	CHECK(strcmp(slurp("/said"), "/slow (ext4) stays writable: no answer\n") == 0);
	CHECK(strstr(slurp("/proc/self/mountinfo"), " /slow "));
	CHECK(!strstr(slurp("/proc/self/mountinfo"), "/disk\\040a"));
	CHECK(disk_is_clean());
}

static void a_dead_disk_holds_no_other(void **state)
{
	(void)state;
	in_new_root(check_slow);
}

/* Other mounts on its mount points: a remount by path would hit those. */
static void check_hidden(void)
{
	is_machine = true;
	CHECK(mount("cover", "/bind", "tmpfs", 0, NULL) == 0);
	CHECK(mount("cover", "/disk a", "tmpfs", 0, NULL) == 0);
	CHECK(unmount_all_run(&timeout_ns) == 0);
	CHECK(disk_is_clean());
}

static void a_hidden_mount_is_found(void **state)
{
	(void)state;
	in_new_root(check_hidden);
}

static void a_disk_below_another_is_clean_too(void **state)
{
	(void)state;
	stacked = true; /* the file of the inner one keeps the outer one busy */
	in_new_root(check_all_clean);
	stacked = false;
}

static void check_sync(void)
{
	stderr_to_file();
	CHECK(unmount_sync_run(&timeout_ns) == 0);
	CHECK(fixture_report->data[0] == 2); /* of each disk once */
	sync_hangs = true;
	timeout_ns = NSEC_PER_SEC;
	CHECK(unmount_sync_run(&timeout_ns) == 1);
	CHECK(fixture_report->data[0] == 4);
	CHECK(strcmp(slurp("/said"), "all (sync) is not synced: no answer\n") == 0);
}

static void each_disk_is_synced_on_its_own(void **state)
{
	(void)state;
	in_new_root(check_sync);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(data_goes_pseudo_stays),
		CASE(container_remounts_nothing),
		CASE(a_machine_leaves_its_disks_clean),
		CASE(a_copy_of_a_mount_keeps_it_writable),
		CASE(a_dead_disk_holds_no_other),
		CASE(a_hidden_mount_is_found),
		CASE(a_disk_below_another_is_clean_too),
		CASE(each_disk_is_synced_on_its_own),
	};

	fixture_report = mmap(NULL, sizeof(*fixture_report), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fixture_report == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests_name("rootfs unmount", tests, NULL, NULL);
}
