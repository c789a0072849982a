// SPDX-License-Identifier: Apache-2.0
/*
 * early_dev.c - see early_dev.h.
 *
 * Owns: for a moment, one detached mount for each node.
 */
#include "rootfs/early_dev.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

static const char *const nodes[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
};

static int node_attach(int tree_fd, const char *path, struct err *e)
{
	if (mknod(path, S_IFREG | 0666, 0) < 0 ||
	    move_mount(tree_fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_set(e, STAGE_BOOT, errno, "bind the device %s", path);
	return 0;
}

int early_dev_mount(struct err *e)
{
	int trees[ARRAY_SIZE(nodes)], r = 0;

	/* All are opened before the tmpfs covers them. */
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		trees[i] = open_tree(AT_FDCWD, nodes[i],
				     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (trees[i] < 0)
			log_warn("cannot bind the device %s: %s", nodes[i],
				 strerror(errno));
	}
	if (mkdir("/dev", 0755) < 0 && errno != EEXIST)
		r = err_set(e, STAGE_BOOT, errno, "make directory /dev");
	else if (mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=0755,size=1m") < 0)
		r = err_set(e, STAGE_BOOT, errno, "mount tmpfs on /dev");
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		if (r == 0 && trees[i] >= 0)
			r = node_attach(trees[i], nodes[i], e);
		fd_close(&trees[i]);
	}
	if (r == 0 && symlink("pts/ptmx", "/dev/ptmx") < 0)
		r = err_set(e, STAGE_BOOT, errno, "make symlink /dev/ptmx");
	return r;
}

void early_dev_link(void)
{
	static const struct {
		const char *path, *target;
	} links[] = {
		{ "/dev/fd", "/proc/self/fd" },
		{ "/dev/stdin", "/proc/self/fd/0" },
		{ "/dev/stdout", "/proc/self/fd/1" },
		{ "/dev/stderr", "/proc/self/fd/2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (symlink(links[i].target, links[i].path) < 0 && errno != EEXIST)
			log_warn("cannot make symlink %s: %s", links[i].path,
				 strerror(errno));
}
