// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_early.c - PID 1's own mounts, as PID 1 of new namespaces. The part that needs a
 * machine of its own (initramfs, devtmpfs) is tested in tests/vm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/log.h"
#include "config/machine.h"
#include "rootfs/early.h"
#include "rootfs/member_root.h"
#include "tests/unit/rootfs_fixture.h"

#define NEW_ALL                                                                    \
	(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

static int setup(void **state)
{
	(void)state;
	fixture_up();
	fixture_mkdir("image");
	memset(fixture_report, 0, sizeof(*fixture_report));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_down();
	return 0;
}

static bool with_user_ns;

static int pid_one(void *inside)
{
	CHECK(!with_user_ns || fixture_map_root());
	log_open(-1);
	(*(void (**)(void))inside)();
	return 0;
}

static void as_pid_one(bool user_ns, void (*inside)(void))
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	int flags = NEW_ALL | SIGCHLD | (user_ns ? CLONE_NEWUSER : 0), code;
	pid_t pid;

	with_user_ns = user_ns;
	pid = clone(pid_one, stack + sizeof(stack), flags, &inside);
	assert_true(pid > 0);
	code = fixture_wait(pid);
	if (code != 0)
		fail_msg("exit code %d: %s", code, fixture_report->text);
}

static bool is_type(const char *path, long magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == magic;
}

static bool mode_is(const char *path, mode_t mode)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_mode == mode;
}

static struct sandbox_kind detect(void)
{
	struct sandbox_kind kind = { 0 };
	struct err e = { 0 };

	CHECK(early_detect(&kind, &e) == 0);
	CHECK(!kind.initial_pid_ns && kind.user_ns == with_user_ns && !kind.initramfs);
	return kind;
}

static void boot(void)
{
	struct sandbox_kind kind = detect();
	struct err e = { 0 };
	int r = early_leave_rootfs(&kind, &e);

	if (r == 0)
		r = early_mounts(&kind, &e);
	errno = -r;
	if (r < 0)
		(void)strcpy(fixture_report->data, e.text);
	CHECK(r == 0);
}

static void check_machine(void)
{
	struct stat st;
	char self[16] = "";

	boot();
	CHECK(readlink("/proc/self", self, sizeof(self)) == 1 && self[0] == '1');
	CHECK(is_type("/proc", PROC_SUPER_MAGIC) && is_type("/sys", SYSFS_MAGIC));
	CHECK(is_type("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC));
	CHECK(is_type("/dev", TMPFS_MAGIC) && is_type("/dev/pts", DEVPTS_SUPER_MAGIC));
	CHECK(is_type("/run", TMPFS_MAGIC) && is_type("/dev/shm", TMPFS_MAGIC));
	CHECK(is_type("/dev/mqueue", 0x19800202));
	CHECK(stat("/dev/null", &st) == 0 && st.st_rdev == makedev(1, 3));
	CHECK(open("/dev/null", O_WRONLY | O_CLOEXEC) >= 0);
	CHECK(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0);
	CHECK(access("/dev/pts/0", F_OK) == 0);
	CHECK(access("/dev/fd/0", F_OK) == 0);
	CHECK(access("/dev/loop0", F_OK) < 0); /* the host's devices stay out */
	CHECK(mode_is(RUN_DIR, S_IFDIR | 0700) && mode_is(PODS_DIR, S_IFDIR | 0755));
	CHECK(mode_is(SCRATCH_DIR, S_IFDIR | 0700));
	CHECK(mode_is("/dev/shm", S_IFDIR | 01777) && mode_is("/run", S_IFDIR | 0755));
	CHECK(!strstr(slurp("/proc/self/mountinfo"), "shared:"));
	CHECK(access(fixture_dir, F_OK) == 0); /* /tmp is the sandbox maker's */
}

static void mounts_in_namespaces(void **state)
{
	(void)state;
	as_pid_one(true, check_machine);
	as_pid_one(false, check_machine);
	assert_false(access(RUN_DIR, F_OK) == 0 && access(SCRATCH_DIR, F_OK) == 0);
}

static int member_main(void *plan)
{
	struct step s;

	if (member_root_enter(plan, &s) == 0)
		return 0;
	(void)snprintf(fixture_report->text, sizeof(fixture_report->text), "%s: %s",
		       s.what, strerror(s.code));
	return 1;
}

static void start_member(const char *lower)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	struct member_root plan = { .lower = lower,
				    .scratch = SCRATCH_DIR,
				    .user_ns = with_user_ns,
				    .own_net = true,
				    .tty_fd = -1,
				    .hostname = "m" };
	pid_t pid = clone(member_main, stack + sizeof(stack), NEW_ALL | SIGCHLD, &plan);

	if (pid < 0 || fixture_wait(pid) != 0)
		_exit(7);
}

static void check_member(void)
{
	boot();
	start_member(fixture("image"));
}

/* The whole way: what the early mounts leave is what a member needs. */
static void members_can_pivot(void **state)
{
	(void)state;
	as_pid_one(true, check_member);
	as_pid_one(false, check_member);
}

static void check_chroot(void)
{
	/* Members of a chroot into a plain directory could not pivot. */
	for (size_t i = 0; i < 4; i++) {
		static const char *const dirs[] = { "proc", "sys", "dev", "run" };
		char path[32];

		(void)snprintf(path, sizeof(path), "root/%s", dirs[i]);
		fixture_mkdir(path);
	}
	fixture_mkdir("root/tmp");
	fixture_mkdir("root/img/etc");
	CHECK(mount("/proc", fixture("root/proc"), NULL, MS_BIND | MS_REC, NULL) == 0);
	CHECK(mount("/sys", fixture("root/sys"), NULL, MS_BIND | MS_REC, NULL) == 0);
	CHECK(mount("/dev", fixture("root/dev"), NULL, MS_BIND | MS_REC, NULL) == 0);
	CHECK(chroot(fixture("root")) == 0 && chdir("/") == 0);
	CHECK(syscall(SYS_pivot_root, "/proc", "/proc") < 0 && errno == EINVAL);
	boot();
	start_member("/img");
	/* After a re-exec "/" is a mount of its own already: nothing is stacked on it. */
	{
		struct sandbox_kind kind = detect();
		struct err e = { 0 };
		struct stat before, after;

		CHECK(stat("/run/podinit", &before) == 0);
		CHECK(early_leave_rootfs(&kind, &e) == 0);
		CHECK(stat("/run/podinit", &after) == 0 && before.st_ino == after.st_ino);
	}
}

static void chroot_becomes_a_mount(void **state)
{
	(void)state;
	as_pid_one(false, check_chroot);
	as_pid_one(true, check_chroot);
}

static void check_fault(void)
{
	struct sandbox_kind kind = detect();
	struct err e = { 0 };

	/* A file system where nothing can be made: /run is mandatory. */
	fixture_mkdir("root");
	CHECK(mount("t", fixture("root"), "tmpfs", 0, NULL) == 0);
	fixture_mkdir("root/proc");
	fixture_mkdir("root/dev");
	fixture_mkdir("root/sys");
	CHECK(mount("/proc", fixture("root/proc"), NULL, MS_BIND | MS_REC, NULL) == 0);
	CHECK(mount("/sys", fixture("root/sys"), NULL, MS_BIND | MS_REC, NULL) == 0);
	CHECK(mount(NULL, fixture("root"), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY,
		    NULL) == 0);
	CHECK(chroot(fixture("root")) == 0 && chdir("/") == 0);
	CHECK(early_mounts(&kind, &e) == -EROFS);
	CHECK(strcmp(e.text, "mount tmpfs on /run: Read-only file system") == 0);
	CHECK(e.stage == STAGE_BOOT);
}

static void mandatory_mount_fails(void **state)
{
	(void)state;
	as_pid_one(false, check_fault);
}

static void check_settings(void)
{
	struct machine_sysctl good[] = {
		{ "net.ipv4.ip_forward", "1" },
		{ "net/ipv4/conf/lo/forwarding", "0" },
		{ "net.ipv4.conf.lo.accept_local", "1" },
	};
	struct machine_sysctl bad[] = {
		{ "", "1" },
		{ "net.ipv4..ip_forward", "1" },
		{ "net/ipv4/../ipv4/ip_forward", "0" },
		{ "../../tmp/x", "1" },
		{ "/net/ipv4/ip_forward", "0" },
		{ "net/./ipv4/ip_forward", "0" },
		{ "net/ipv4/ip_forward/", "0" },
		{ "net.ipv4.no_such_thing", "1" },
		{ "net.ipv4.ip_forward", "many" },
	};
	struct machine machine = { .hostname = "guest-1", .sysctls = good };
	char name[65];

	boot();
	machine.n_sysctls = ARRAY_SIZE(good);
	CHECK(early_settings(&machine) == 0);
	CHECK(gethostname(name, sizeof(name)) == 0 && strcmp(name, "guest-1") == 0);
	CHECK(strcmp(slurp("/proc/sys/net/ipv4/ip_forward"), "1\n") == 0);
	CHECK(strcmp(slurp("/proc/sys/net/ipv4/conf/lo/accept_local"), "1\n") == 0);
	machine.sysctls = bad;
	machine.n_sysctls = ARRAY_SIZE(bad);
	machine.hostname =
		"a-name-that-is-longer-than-the-sixty-four-bytes-that-the-kernel-has";
	CHECK(early_settings(&machine) == (int)ARRAY_SIZE(bad) + 1);
	CHECK(strcmp(slurp("/proc/sys/net/ipv4/ip_forward"), "1\n") == 0);
}

static void settings_and_their_faults(void **state)
{
	(void)state;
	as_pid_one(true, check_settings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(mounts_in_namespaces),      CASE(members_can_pivot),
		CASE(chroot_becomes_a_mount),    CASE(mandatory_mount_fails),
		CASE(settings_and_their_faults),
	};

	fixture_report = mmap(NULL, sizeof(*fixture_report), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fixture_report == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests_name("rootfs early", tests, NULL, NULL);
}
