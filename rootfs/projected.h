// SPDX-License-Identifier: Apache-2.0
/*
 * projected.h - a directory of files that change all at once.
 *
 * Owns: the content of one directory, laid out as the kubelet does it: the files stand in
 * a directory of their own, "..data" is a symlink to it, and each name that people use is
 * a symlink through "..data". So a reader sees the old files or the new ones, never a
 * mixture (kubernetes pkg/volume/util/atomic_writer.go).
 * Called by: pod's children that make and update volumes. Blocks as the disk does. The
 * directory is PID 1's: members have it read-only.
 */
#ifndef ROOTFS_PROJECTED_H
#define ROOTFS_PROJECTED_H

#include <sys/types.h>

#include "base/util.h"

struct projected_file {
	const char *path; /* relative, without "..", see name_check_relative() */
	const void *data;
	size_t len;
	mode_t mode;
};

/* Makes the files the content of dir, which exists. Two of the same path: the last one
 * counts. gid: the group of all of it, which may then read it, -1 = none. 0 or -errno,
 * and then what readers see is what it was. */
int projected_write(const char *dir, const struct projected_file *files, size_t n,
		    int64_t gid);

#endif
