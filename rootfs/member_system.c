// SPDX-License-Identifier: Apache-2.0
/*
 * member_system.c - the pseudo file systems of a member: /proc, /sys, /dev.
 *
 * Owns: nothing that outlives the member's mount namespace.
 * Called by: member_root.c, before any volume is mounted: so far the root holds only the
 * image and this member's own layer, nobody else can change it, and plain relative paths
 * are safe once their first part is known to be a real directory.
 * Masks come before volumes too: no volume target can move them away.
 */
#include "rootfs/member_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"

#define SECURE           (MS_NOSUID | MS_NODEV | MS_NOEXEC)

/* The group "tty" of Debian and most distributions owns terminals (grantpt(3)). */
#define PTS_OPTIONS      "newinstance,ptmxmode=0666,mode=0620"
#define PTS_GROUP        ",gid=5"
/* Sizes as the OCI runtimes have them: programs count on a /dev/shm of 64 MiB. */
#define DEV_OPTIONS      "mode=755,size=65536k"
#define SHM_OPTIONS      "mode=1777,size=65536k"
#define UNIX98_PTY_MAJOR 136

/* Bound from the machine's /dev, never made: so the member's own /dev and root can be
 * nodev, and a device node that it makes (mknod is in the default capabilities) opens
 * nothing of the machine's. */
static const char *const dev_nodes[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					 "/dev/random", "/dev/urandom", "/dev/tty" };

static const struct {
	const char *path, *target;
} dev_links[] = {
	{ "dev/fd", "/proc/self/fd" },       { "dev/stdin", "/proc/self/fd/0" },
	{ "dev/stdout", "/proc/self/fd/1" }, { "dev/stderr", "/proc/self/fd/2" },
	{ "dev/ptmx", "pts/ptmx" },
};

/* OCI runtime-spec defaults as containerd sets them (procMount: Default). */
static const struct {
	const char *path;
	bool directory; /* a guess that saves a call; the kernel has the last word */
} masked_paths[] = {
	{ "/proc/acpi", true },           { "/proc/asound", true },
	{ "/proc/kcore", false },         { "/proc/keys", false },
	{ "/proc/latency_stats", false }, { "/proc/sched_debug", false },
	{ "/proc/scsi", true },           { "/proc/timer_list", false },
	{ "/proc/timer_stats", false },   { "/sys/devices/virtual/powercap", true },
	{ "/sys/firmware", true },
};

static const char *const read_only_paths[] = {
	"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
};

/* The tables hold absolute paths, for messages; the working directory is the new root. */
static const char *relative(const char *path)
{
	return path + 1;
}

static int mount_failed(struct step *s, const char *verb, const char *path)
{
	return step_fail(s, STAGE_MOUNT, errno, verb, path);
}

/* A symlink here would put the pseudo file system elsewhere and leave, say, /proc to the
 * image, with all the paths we mask (runc has been caught by that more than once). */
static int own_directory(const char *path, struct step *s)
{
	struct stat st;

	if (mkdir(relative(path), 0755) == 0)
		return 0;
	if (errno != EEXIST)
		return mount_failed(s, "make directory", path);
	if (fstatat(AT_FDCWD, relative(path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return mount_failed(s, "look at", path);
	if (!S_ISDIR(st.st_mode))
		return step_fail(s, STAGE_MOUNT, ENOTDIR, "use the image's", path);
	return 0;
}

static int proc_mount(struct step *s)
{
	if (own_directory("/proc", s) < 0)
		return -s->code;
	if (mount("proc", "proc", "proc", SECURE, NULL) < 0)
		return mount_failed(s, "mount proc on", "/proc");
	return 0;
}

static int read_only_at(const char *path, struct step *s)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (mount_setattr(AT_FDCWD, relative(path), 0, &attr, sizeof(attr)) < 0)
		return mount_failed(s, "make read-only", path);
	return 0;
}

/* Without a network namespace of its own the member gets the machine's sysfs. It is
 * bound alone, so that tracefs and the rest below it stay out; where mounts below are
 * locked (user_namespaces) the kernel only gives the whole tree. */
static int sys_bind(const struct member_root *root, struct step *s)
{
	struct mount_attr attr = {
		.attr_set = (root->privileged ? 0 : MOUNT_ATTR_RDONLY) |
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
	};
	unsigned int deep = 0;
	_cleanup_close_ int tree_fd = open_tree(AT_FDCWD, "/sys",
						OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree_fd < 0 && errno == EINVAL) {
		deep = AT_RECURSIVE;
		tree_fd = open_tree(AT_FDCWD, "/sys",
				    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | deep);
	}
	if (tree_fd < 0)
		return mount_failed(s, "open the machine's", "/sys");
	if (mount_setattr(tree_fd, "", AT_EMPTY_PATH | deep, &attr, sizeof(attr)) < 0)
		return mount_failed(s, "make read-only", "/sys");
	if (move_mount(tree_fd, "", AT_FDCWD, "sys", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return mount_failed(s, "bind the machine's", "/sys");
	return 0;
}

/* mount(2) refuses a file system on a mount of the same one, which a /sys bound with all
 * that is below it may bring; move_mount(2) does not ask. */
static int cgroup_cover(bool writable)
{
	const unsigned int attrs = (writable ? 0 : MOUNT_ATTR_RDONLY) |
				   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				   MOUNT_ATTR_NOEXEC;
	_cleanup_close_ int context_fd = fsopen("cgroup2", FSOPEN_CLOEXEC);
	_cleanup_close_ int mount_fd = -1;

	if (context_fd < 0 ||
	    fsconfig(context_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	mount_fd = fsmount(context_fd, FSMOUNT_CLOEXEC, attrs);
	if (mount_fd < 0)
		return -1;
	return move_mount(mount_fd, "", AT_FDCWD, "sys/fs/cgroup",
			  MOVE_MOUNT_F_EMPTY_PATH);
}

static int cgroup_mount(const struct member_root *root, struct step *s)
{
	int r = mount("cgroup", "sys/fs/cgroup", "cgroup2",
		      root->privileged ? SECURE : SECURE | MS_RDONLY, NULL);

	if (r < 0 && errno == EBUSY)
		r = cgroup_cover(root->privileged);
	return r < 0 ? mount_failed(s, "mount cgroup2 on", "/sys/fs/cgroup") : 0;
}

static int sys_mount(const struct member_root *root, struct step *s)
{
	int r = own_directory("/sys", s);

	if (r < 0)
		return r;
	if (!root->own_net) {
		r = sys_bind(root, s);
	} else if (mount("sysfs", "sys", "sysfs", SECURE, NULL) < 0) {
		r = mount_failed(s, "mount sysfs on", "/sys");
	} else if (!root->privileged) {
		/* Read-only by mount, not by MS_RDONLY at birth: the super block belongs
		 * to all who share the network namespace. */
		r = read_only_at("/sys", s);
	}
	return r < 0 ? r : cgroup_mount(root, s);
}

/* An empty file to bind a device or a terminal on. */
static int bind_on_new_file(const char *source, const char *path, struct step *s)
{
	if (mknod(relative(path), S_IFREG | 0666, 0) < 0)
		return mount_failed(s, "make file", path);
	if (mount(source, relative(path), NULL, MS_BIND, NULL) < 0)
		return mount_failed(s, "bind the machine's device on", path);
	return 0;
}

/* Decimal digits of n at text, which has room. */
static void put_number(char *text, unsigned int n)
{
	char digits[12];
	size_t len = 0;

	do {
		digits[len++] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	while (len)
		*text++ = digits[--len];
	*text = '\0';
}

/* The descriptor was opened through PID 1's mounts, and a mount of another namespace
 * cannot be bound; so the same terminal is looked up among our copy of the mounts. */
static int dev_console(int tty_fd, struct step *s)
{
	char path[32] = "/dev/pts/";
	struct stat want, found;

	if (fstat(tty_fd, &want) < 0)
		return mount_failed(s, "look at the terminal for", "/dev/console");
	if (!S_ISCHR(want.st_mode) || major(want.st_rdev) != UNIX98_PTY_MAJOR)
		return step_fail(s, STAGE_MOUNT, ENOTTY, "bind the terminal on",
				 "/dev/console");
	put_number(path + strlen(path), minor(want.st_rdev));
	if (stat(path, &found) < 0)
		return mount_failed(s, "find the terminal", path);
	if (found.st_dev != want.st_dev || found.st_ino != want.st_ino)
		return step_fail(s, STAGE_MOUNT, ENXIO, "find the terminal", path);
	return bind_on_new_file(path, "/dev/console", s);
}

static const struct dev_mount {
	const char *path, *type;
	unsigned long flags;
	const char *options,
		*machine_options; /* the latter outside of a user namespace */
	const char *verb;
} dev_mounts[] = {
	/* In a user namespace group 5 may have no mapping, and devpts then refuses it. */
	{ "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, PTS_OPTIONS, PTS_OPTIONS PTS_GROUP,
	  "mount devpts on" },
	{ "/dev/shm", "tmpfs", SECURE, SHM_OPTIONS, SHM_OPTIONS, "mount tmpfs on" },
	{ "/dev/mqueue", "mqueue", SECURE, NULL, NULL, "mount mqueue on" },
};

static int dev_mount(const struct member_root *root, struct step *s)
{
	int r = own_directory("/dev", s);

	if (r < 0)
		return r;
	if (mount("tmpfs", "dev", "tmpfs",
		  MS_NOSUID | MS_STRICTATIME | (root->privileged ? 0 : MS_NODEV),
		  DEV_OPTIONS) < 0)
		return mount_failed(s, "mount tmpfs on", "/dev");
	for (size_t i = 0; i < ARRAY_SIZE(dev_nodes); i++) {
		r = bind_on_new_file(dev_nodes[i], dev_nodes[i], s);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(dev_links); i++)
		if (symlink(dev_links[i].target, dev_links[i].path) < 0)
			return mount_failed(s, "make symlink", dev_links[i].path);
	for (size_t i = 0; i < ARRAY_SIZE(dev_mounts); i++) {
		const struct dev_mount *m = &dev_mounts[i];

		if (mkdir(relative(m->path), 0755) < 0)
			return mount_failed(s, "make directory", m->path);
		if (mount(m->type, relative(m->path), m->type, m->flags,
			  root->user_ns ? m->options : m->machine_options) < 0)
			return mount_failed(s, m->verb, m->path);
	}
	return root->tty_fd >= 0 ? dev_console(root->tty_fd, s) : 0;
}

/* Covers a directory with an empty read-only tmpfs: the first that is found gets one,
 * the others a bind of it, which is far cheaper than a super block each. */
static int mask_directory(const char *path, const char **empty)
{
	if (*empty)
		return mount(*empty, relative(path), NULL, MS_BIND, NULL);
	if (mount("tmpfs", relative(path), "tmpfs", SECURE | MS_RDONLY,
		  "size=4k,mode=555") < 0)
		return -1;
	*empty = relative(path);
	return 0;
}

static int mask_file(const char *path)
{
	return mount(relative("/dev/null"), relative(path), NULL, MS_BIND, NULL);
}

static int mask_paths(struct step *s)
{
	const char *empty = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(masked_paths); i++) {
		const char *path = masked_paths[i].path;
		bool directory = masked_paths[i].directory;
		int r = directory ? mask_directory(path, &empty) : mask_file(path);

		if (r < 0 && errno == ENOTDIR)
			r = directory ? mask_file(path) : mask_directory(path, &empty);
		if (r < 0 && errno != ENOENT)
			return mount_failed(s, "mask", path);
	}
	return 0;
}

static int protect_paths(struct step *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(read_only_paths); i++) {
		const char *path = read_only_paths[i];
		int r;

		if (mount(relative(path), relative(path), NULL, MS_BIND, NULL) < 0) {
			if (errno == ENOENT)
				continue;
			return mount_failed(s, "bind on itself", path);
		}
		r = read_only_at(path, s);
		if (r < 0)
			return r;
	}
	return 0;
}

int member_system_mount(const struct member_root *root, struct step *s)
{
	int r = proc_mount(s);

	if (r == 0)
		r = sys_mount(root, s);
	if (r == 0)
		r = dev_mount(root, s);
	if (root->privileged)
		return r < 0 ? r : member_devices_copy(root, s);
	if (r == 0)
		r = mask_paths(s);
	if (r == 0)
		r = protect_paths(s);
	return r;
}
