// SPDX-License-Identifier: Apache-2.0
/*
 * bare_start.c - see bare_start.h. The same namespaces, mounts, masks, capabilities and
 * output pipes as a member of podinit has, in straight lines: no configuration, no
 * messages, no records, no supervision.
 */
#include "tests/bench/bare_start.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "pod/caps.h"

#define SECURE (MS_NOSUID | MS_NODEV | MS_NOEXEC)

/* In the child; its exit code says that something failed, a debugger says what. */
#define MUST(call)                                  \
	do {                                        \
		if ((call) < 0)                     \
			_exit(__LINE__ & 127 ?: 1); \
	} while (0)

static void namespaces(const struct bare_start *b)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (b->net_fd >= 0) {
		MUST(setns(b->uts_fd, CLONE_NEWUTS));
		MUST(setns(b->ipc_fd, CLONE_NEWIPC));
		MUST(setns(b->net_fd, CLONE_NEWNET));
	} else {
		int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		MUST(sethostname("bare", 4));
		MUST(ioctl(sock, SIOCSIFFLAGS, &lo));
	}
	MUST(unshare(CLONE_NEWCGROUP));
}

static void devices(void)
{
	static const struct {
		const char *path;
		unsigned int major, minor;
	} nodes[] = {
		{ "dev/null", 1, 3 },   { "dev/zero", 1, 5 },    { "dev/full", 1, 7 },
		{ "dev/random", 1, 8 }, { "dev/urandom", 1, 9 }, { "dev/tty", 5, 0 },
	};
	static const char *const links[][2] = {
		{ "/proc/self/fd", "dev/fd" },       { "/proc/self/fd/0", "dev/stdin" },
		{ "/proc/self/fd/1", "dev/stdout" }, { "/proc/self/fd/2", "dev/stderr" },
		{ "pts/ptmx", "dev/ptmx" },
	};

	MUST(mount("tmpfs", "dev", "tmpfs", MS_NOSUID | MS_STRICTATIME,
		   "mode=755,size=65536k"));
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
		MUST(mknod(nodes[i].path, S_IFCHR | 0666,
			   makedev(nodes[i].major, nodes[i].minor)));
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		MUST(symlink(links[i][0], links[i][1]));
	MUST(mkdir("dev/pts", 0755));
	MUST(mkdir("dev/shm", 0755));
	MUST(mkdir("dev/mqueue", 0755));
	MUST(mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		   "newinstance,ptmxmode=0666,mode=0620,gid=5"));
	MUST(mount("tmpfs", "dev/shm", "tmpfs", SECURE, "mode=1777,size=65536k"));
	MUST(mount("mqueue", "dev/mqueue", "mqueue", SECURE, NULL));
}

static void masks(void)
{
	static const char *const files[] = { "proc/kcore",         "proc/keys",
					     "proc/latency_stats", "proc/sched_debug",
					     "proc/timer_list",    "proc/timer_stats" };
	static const char *const dirs[] = { "proc/acpi", "proc/asound", "proc/scsi",
					    "sys/devices/virtual/powercap",
					    "sys/firmware" };
	static const char *const fixed[] = { "proc/bus", "proc/fs", "proc/irq",
					     "proc/sys", "proc/sysrq-trigger" };
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	const char *empty = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) /* not all kernels have all */
		(void)mount("dev/null", files[i], NULL, MS_BIND, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (empty)
			(void)mount(empty, dirs[i], NULL, MS_BIND, NULL);
		else if (mount("tmpfs", dirs[i], "tmpfs", SECURE | MS_RDONLY,
			       "size=4k,mode=555") == 0)
			empty = dirs[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (mount(fixed[i], fixed[i], NULL, MS_BIND, NULL) == 0)
			MUST(mount_setattr(AT_FDCWD, fixed[i], 0, &attr, sizeof(attr)));
}

static void root(const struct bare_start *b)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	char options[512];

	(void)snprintf(options, sizeof(options),
		       "upperdir=upper,workdir=work,lowerdir=%s", b->lower);
	MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	MUST(mount("tmpfs", b->scratch, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"));
	MUST(chdir(b->scratch));
	MUST(mkdir("upper", 0755));
	MUST(mkdir("work", 0755));
	MUST(mkdir("root", 0755));
	MUST(mount("overlay", "root", "overlay", 0, options));
	MUST(chdir("root"));
	MUST(mount("proc", "proc", "proc", SECURE, NULL));
	MUST(mount("sysfs", "sys", "sysfs", SECURE, NULL));
	MUST(mount_setattr(AT_FDCWD, "sys", 0, &attr, sizeof(attr)));
	MUST(mount("cgroup", "sys/fs/cgroup", "cgroup2", SECURE | MS_RDONLY, NULL));
	devices();
	masks();
	MUST(syscall(SYS_pivot_root, ".", "."));
	MUST(umount2(".", MNT_DETACH));
}

static void privileges(void)
{
	const uint64_t keep = caps_default();
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { { (uint32_t)keep, (uint32_t)keep, 0 },
						  { (uint32_t)(keep >> 32),
						    (uint32_t)(keep >> 32), 0 } };
	struct rlimit nofile = { 1024, 524288 };

	(void)setrlimit(RLIMIT_NOFILE, &nofile); /* the host may allow less */
	MUST(chdir("/"));
	MUST(caps_limit_bounding(keep));
	MUST(setgroups(0, NULL));
	MUST(setresgid(0, 0, 0));
	MUST(setresuid(0, 0, 0));
	MUST(syscall(SYS_capset, &header, data));
}

static _Noreturn void child(const struct bare_start *b, int out, int err)
{
	char *const argv[] = { (char *)b->program, NULL };
	char *const envp[] = { NULL };
	int in;

	namespaces(b);
	root(b);
	MUST(setsid());
	in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	MUST(dup2(in, 0));
	MUST(dup2(out, 1));
	MUST(dup2(err, 2));
	MUST(syscall(SYS_close_range, 3U, ~0U, 1U << 2));
	privileges();
	(void)execve(b->program, argv, envp);
	_exit(127);
}

static int wait_end(int out, int err, int pidfd)
{
	char buf[4096];
	siginfo_t info = { 0 };

	while (read(out, buf, sizeof(buf)) > 0)
		;
	while (read(err, buf, sizeof(buf)) > 0)
		;
	if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0)
		return -1;
	return info.si_code == CLD_EXITED ? info.si_status : -1;
}

int bare_start(const struct bare_start *b)
{
	int out[2], err[2], pidfd = -1, code = -1;
	const uint64_t own = b->net_fd >= 0 ? 0 :
					      CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC;
	struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_INTO_CGROUP | CLONE_NEWNS | CLONE_NEWPID |
			 own,
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)b->cgroup_fd,
	};
	long pid;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		return -1;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		child(b, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	if (pid > 0) {
		code = wait_end(out[0], err[0], pidfd);
		close(pidfd);
	}
	close(out[0]);
	close(err[0]);
	return code;
}
