// SPDX-License-Identifier: Apache-2.0
/*
 * in_root.h - paths inside a root directory that somebody else filled.
 *
 * An image and a shared volume may hold any symlink, and a running member may swap one
 * while we look. So every path below a foreign root is resolved by the kernel as if that
 * root were "/": openat2(2) with RESOLVE_IN_ROOT, and without magic links, so that
 * /proc/self/fd/N leads nowhere either.
 * Owns: nothing. Called by: member_root, member_volume, image. Async-signal-safe.
 */
#ifndef ROOTFS_IN_ROOT_H
#define ROOTFS_IN_ROOT_H

#include <sys/types.h>

#include "base/util.h"

/* Opens path as a process chrooted to root_fd would. flags as for open(2); O_CLOEXEC is
 * added; mode only with O_CREAT. Returns an owned descriptor or -errno. */
int in_root_open(int root_fd, const char *path, int flags, mode_t mode);

/* Opens path below dir_fd as long as no ".." and no symlink leads out of it: then, and
 * for an absolute symlink, -EXDEV (RESOLVE_BENEATH). */
int in_root_open_beneath(int dir_fd, const char *path, int flags);

/* The same as in_root_open() with O_PATH, and what is missing is made: directories 0755,
 * the last part an empty file (0644) when directory is false. A dangling symlink is
 * completed inside the root, as if its target had been asked for (/var/run -> /run
 * without /run). Returns an owned O_PATH descriptor or -errno; -ELOOP after IN_ROOT_LINKS
 * dangling links. */
#define IN_ROOT_LINKS 16
int in_root_make(int root_fd, const char *path, bool directory);

#endif
