// SPDX-License-Identifier: Apache-2.0
/*
 * early.c - where we run, and the machine's mounts in the order they depend on another.
 *
 * Owns: nothing. Called by: init, once, before the loop exists. See early.h.
 * In a container ("sandbox") the machine below is somebody else's: nothing is written to
 * its devtmpfs, no super block is changed, and what was inherited stays where a fresh
 * mount is refused.
 */
#include "rootfs/early.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "rootfs/early_dev.h"

/* Inode numbers that the first namespaces have since 3.8 (include/linux/proc_ns.h). */
#define PID_NS_INITIAL_INODE  0xEFFFFFFCu
#define USER_NS_INITIAL_INODE 0xEFFFFFFDu

#define MOUNTINFO_LINE_BYTES  4096

enum {
	MANDATORY = 1,   /* no boot without it */
	SANDBOX_OWN = 2, /* an inherited one shows the host's namespaces: cover it */
	SANDBOX_NOT = 4, /* whoever made the sandbox has decided about it */
};

#define NO_EXTRAS    (MS_NOSUID | MS_NODEV | MS_NOEXEC)
/* ipc/mqueue.c has it; linux/magic.h has not. */
#define MQUEUE_MAGIC 0x19800202

static const struct early_mount {
	const char *path, *type;
	unsigned long flags;
	const char *options;
	long magic; /* statfs(2) f_type of what is there when it is there */
	mode_t mode;
	unsigned int rules;
} mounts[] = {
	{ "/proc", "proc", NO_EXTRAS, NULL, PROC_SUPER_MAGIC, 0555, MANDATORY },
	{ "/sys", "sysfs", NO_EXTRAS, NULL, SYSFS_MAGIC, 0555, SANDBOX_OWN },
	{ "/dev", "devtmpfs", MS_NOSUID, "mode=0755", TMPFS_MAGIC, 0755,
	  MANDATORY | SANDBOX_NOT },
	{ "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
	  "newinstance,ptmxmode=0666,mode=0620", DEVPTS_SUPER_MAGIC, 0755, SANDBOX_OWN },
	{ "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777", TMPFS_MAGIC, 01777,
	  SANDBOX_OWN },
	{ "/dev/mqueue", "mqueue", NO_EXTRAS, NULL, MQUEUE_MAGIC, 01777, SANDBOX_OWN },
	{ "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755", TMPFS_MAGIC, 0755,
	  MANDATORY | SANDBOX_OWN },
	{ "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777", TMPFS_MAGIC, 01777,
	  SANDBOX_NOT },
	{ "/sys/fs/cgroup", "cgroup2", NO_EXTRAS, "nsdelegate,memory_recursiveprot",
	  CGROUP2_SUPER_MAGIC, 0555, MANDATORY | SANDBOX_OWN },
	{ "/sys/kernel/tracing", "tracefs", NO_EXTRAS, NULL, TRACEFS_MAGIC, 0700, 0 },
	{ "/sys/fs/bpf", "bpf", NO_EXTRAS, "mode=0700", BPF_FS_MAGIC, 0700, 0 },
};

static bool is_initial_ns(const char *path, ino_t inode)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == inode;
}

bool early_initial_pid_ns(void)
{
	return is_initial_ns("/proc/self/ns/pid", PID_NS_INITIAL_INODE);
}

/* A /proc inherited from another pid namespace has another idea of who we are. */
static bool proc_is_ours(void)
{
	char link[24], self[24];
	ssize_t n = readlink("/proc/self", link, sizeof(link) - 1);

	if (n < 0)
		return false;
	link[n] = '\0';
	(void)snprintf(self, sizeof(self), "%ld", (long)getpid());
	return strcmp(link, self) == 0;
}

struct root_facts {
	bool rootfs;   /* the kernel's own, or a copy of its mount */
	bool attached; /* "/" is the root of a mount that hangs on another one */
};

/* proc(5), mountinfo: id, parent, ..., the fifth field is the mount point, the type
 * follows a lone "-". The last mount on a point is the one on top; the kernel's rootfs is
 * its own parent; no line at all means a chroot to a plain directory. */
static struct root_facts root_look(void)
{
	char line[MOUNTINFO_LINE_BYTES], point[8], type[16];
	struct root_facts facts = { 0 };
	unsigned int id, parent;
	FILE *file = fopen("/proc/self/mountinfo", "re");

	if (!file)
		return facts;
	while (fgets(line, sizeof(line), file)) {
		const char *after = strstr(line, " - ");

		if (!after || sscanf(after + 3, "%15s", type) != 1 ||
		    sscanf(line, "%u %u %*s %*s %7s", &id, &parent, point) != 3 ||
		    strcmp(point, "/") != 0)
			continue;
		facts.rootfs = strcmp(type, "rootfs") == 0;
		facts.attached = id != parent;
	}
	(void)fclose(file);
	return facts;
}

int early_detect(struct sandbox_kind *ret, struct err *e)
{
	if (!proc_is_ours()) {
		/* The namespace's maker may have left "/" shared with the host. */
		(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
		if (mkdir("/proc", 0555) < 0 && errno != EEXIST)
			return err_set(e, STAGE_BOOT, errno, "make directory /proc");
		if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
			  NULL) < 0)
			return err_set(e, STAGE_BOOT, errno, "mount proc on /proc");
	}
	ret->initial_pid_ns = early_initial_pid_ns();
	ret->user_ns = !is_initial_ns("/proc/self/ns/user", USER_NS_INITIAL_INODE);
	ret->initramfs = root_look().rootfs;
	return 0;
}

static bool is_mount_root(const char *path)
{
	struct statx stx;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &stx) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

int early_leave_rootfs(const struct sandbox_kind *kind, struct err *e)
{
	_cleanup_close_ int tree_fd = -1;

	/* pivot_root(2) wants the caller's root to be a mount that hangs on another one:
	 * neither rootfs, which hangs on nothing, nor a chroot into a plain directory. */
	if (!kind->initramfs && is_mount_root("/"))
		return 0;
	tree_fd = open_tree(AT_FDCWD, "/",
			    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree_fd < 0)
		return err_set(e, STAGE_BOOT, errno, "copy the mount of /");
	/* The copy has its own; one less for every member's namespace to copy. */
	(void)umount2("/proc", MNT_DETACH);
	if (move_mount(tree_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_set(e, STAGE_BOOT, errno, "mount / on itself");
	/* "/" is looked up by our root, not by what lies on it: step onto the new mount.
	 * As it covers the namespace's root, this is no chroot to the kernel
	 * (current_chrooted()), and user namespaces stay possible. */
	if (fchdir(tree_fd) < 0 || chroot(".") < 0)
		return err_set(e, STAGE_BOOT, errno, "change root to the mount on /");
	return 0;
}

static bool is_mounted(const struct early_mount *m)
{
	struct statfs fs;

	if (strcmp(m->path, "/proc") == 0)
		return proc_is_ours();
	return is_mount_root(m->path) && statfs(m->path, &fs) == 0 &&
	       fs.f_type == m->magic;
}

static int mount_one(const struct early_mount *m, const struct sandbox_kind *kind,
		     struct err *e)
{
	bool there = is_mounted(m);
	bool sandbox = !kind->initial_pid_ns;
	int code;

	if (sandbox && (m->rules & SANDBOX_NOT))
		return 0;
	if (there && !(sandbox && (m->rules & SANDBOX_OWN)))
		return 0;
	if (mkdir(m->path, m->mode) < 0 && errno != EEXIST)
		code = errno;
	else if (mount(m->type, m->path, m->type, m->flags, m->options) == 0)
		return 0;
	else
		code = errno;
	/* Options of a newer kernel are not worth a boot. */
	if (code == EINVAL && m->options &&
	    mount(m->type, m->path, m->type, m->flags, NULL) == 0) {
		log_warn("mounted %s on %s without its options %s", m->type, m->path,
			 m->options);
		return 0;
	}
	if ((m->rules & MANDATORY) && !there)
		return err_set(e, STAGE_BOOT, code, "mount %s on %s", m->type, m->path);
	log_warn("cannot mount %s on %s: %s%s", m->type, m->path, strerror(code),
		 there ? ", keeping the inherited one" : "");
	return 0;
}

static int make_run_dirs(struct err *e)
{
	static const struct {
		const char *path;
		mode_t mode;
	} dirs[] = { { RUN_DIR, 0700 }, { SCRATCH_DIR, 0700 }, { PODS_DIR, 0755 } };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (mkdir(dirs[i].path, dirs[i].mode) < 0 && errno != EEXIST)
			return err_set(e, STAGE_BOOT, errno, "make directory %s",
				       dirs[i].path);
		if (chmod(dirs[i].path, dirs[i].mode) < 0)
			return err_set(e, STAGE_BOOT, errno, "set the mode of %s",
				       dirs[i].path);
	}
	return 0;
}

int early_mounts(const struct sandbox_kind *kind, struct err *e)
{
	mode_t mask = umask(0);
	int r = 0;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		r = err_set(e, STAGE_BOOT, errno, "make / private");
	/* Before the loop: the table's /dev is the machine's, this one the sandbox's. */
	if (r == 0 && !kind->initial_pid_ns)
		r = early_dev_mount(e);
	for (size_t i = 0; i < ARRAY_SIZE(mounts) && r == 0; i++)
		r = mount_one(&mounts[i], kind, e);
	if (r == 0) {
		early_dev_link();
		r = make_run_dirs(e);
	}
	(void)umask(mask);
	return r;
}
