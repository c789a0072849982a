// SPDX-License-Identifier: Apache-2.0
/*
 * member_device.c - every device of the machine in a privileged member's /dev.
 *
 * Owns: nothing that outlives the member's mount namespace. Called by: member_system.c,
 * with the member's own /dev mounted and its six nodes made. The machine's /dev is read
 * as it is now: a device that comes later is not in it, as with the OCI runtimes.
 */
#include "rootfs/member_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define DEPTH_MAX 8
#define NODES_MAX 8192

/* Of the member alone, or made by the runtime. */
static const char *const own_names[] = { "pts",   "shm",     "mqueue",  "fd",
					 "stdin", "stdout",  "stderr",  "ptmx",
					 "core",  "console", "podinit", "hugepages" };

/* getdents64(2); readdir(3) allocates. */
struct entry {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char type;
	char name[];
};

struct walk {
	bool bind; /* nodes cannot be made in a user namespace */
	size_t nodes;
	struct step *s;
	char path[PATH_MAX]; /* of what is looked at, for messages */
};

static int failed(struct walk *w, const char *verb)
{
	return step_fail(w->s, STAGE_MOUNT, errno, verb, w->path);
}

static bool is_own(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_names); i++)
		if (!strcmp(own_names[i], name))
			return true;
	return false;
}

static int bind_node(struct walk *w, int from_fd, int to_fd, const char *name)
{
	_cleanup_close_ int tree_fd = -1;
	int fd;

	fd = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? 0 : failed(w, "make file");
	fd_close(&fd);
	tree_fd = open_tree(from_fd, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree_fd < 0 ||
	    move_mount(tree_fd, "", to_fd, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return failed(w, "bind the machine's device on");
	return 0;
}

static int make_node(struct walk *w, int to_fd, const char *name, const struct stat *st)
{
	if (mknodat(to_fd, name, st->st_mode & (S_IFMT | 07777), st->st_rdev) < 0)
		return errno == EEXIST ? 0 : failed(w, "make device");
	if (fchownat(to_fd, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(w, "give away device");
	return 0;
}

static int copy_link(struct walk *w, int from_fd, int to_fd, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from_fd, name, target, sizeof(target) - 1);

	if (n < 0)
		return errno == ENOENT ? 0 : failed(w, "read link");
	target[n] = '\0';
	return symlinkat(target, to_fd, name) < 0 && errno != EEXIST ?
		       failed(w, "make symlink") :
		       0;
}

static int copy_directory(struct walk *w, int from_fd, int to_fd, int depth);

static int enter_directory(struct walk *w, int from_fd, int to_fd, const char *name,
			   int depth)
{
	_cleanup_close_ int from = -1, to = -1;

	if (mkdirat(to_fd, name, 0755) < 0 && errno != EEXIST)
		return failed(w, "make directory");
	from = openat(from_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return errno == ENOENT ? 0 : failed(w, "open");
	to = openat(to_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return failed(w, "open the new");
	return copy_directory(w, from, to, depth + 1);
}

static int copy_entry(struct walk *w, int from_fd, int to_fd, const char *name, int depth)
{
	struct stat st;

	if (fstatat(from_fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return errno == ENOENT ? 0 : failed(w, "look at");
	switch (st.st_mode & S_IFMT) {
	case S_IFCHR:
	case S_IFBLK:
		if (++w->nodes > NODES_MAX)
			return step_fail(w->s, STAGE_MOUNT, E2BIG, "copy devices of",
					 "/dev");
		return w->bind ? bind_node(w, from_fd, to_fd, name) :
				 make_node(w, to_fd, name, &st);
	case S_IFLNK:
		return copy_link(w, from_fd, to_fd, name);
	case S_IFDIR:
		return depth < DEPTH_MAX ?
			       enter_directory(w, from_fd, to_fd, name, depth) :
			       0;
	default:
		return 0; /* sockets and files there are services', no devices */
	}
}

static int copy_directory(struct walk *w, int from_fd, int to_fd, int depth)
{
	_Alignas(struct entry) char buf[2048];
	size_t base = strlen(w->path);
	int r = 0;

	while (r == 0) {
		long n = syscall(SYS_getdents64, from_fd, buf, sizeof(buf));

		if (n < 0)
			return failed(w, "read");
		if (n == 0)
			break;
		for (long at = 0; r == 0 && at < n;) {
			const struct entry *e = (const struct entry *)(buf + at);
			size_t len = strlen(e->name);

			at += e->size;
			if (!strcmp(e->name, ".") || !strcmp(e->name, "..") ||
			    (depth == 0 && is_own(e->name)) ||
			    base + len + 2 > sizeof(w->path))
				continue;
			w->path[base] = '/';
			memcpy(w->path + base + 1, e->name, len + 1);
			r = copy_entry(w, from_fd, to_fd, e->name, depth);
			w->path[base] = '\0';
		}
	}
	return r;
}

int member_devices_copy(const struct member_root *root, struct step *s)
{
	struct walk w = { .bind = root->user_ns, .s = s, .path = "/dev" };
	_cleanup_close_ int from = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int to = open("dev",
				      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (from < 0 || to < 0)
		return failed(&w, "open");
	return copy_directory(&w, from, to, 0);
}
