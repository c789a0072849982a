// SPDX-License-Identifier: Apache-2.0
/*
 * mount_table.h - the mounts of the own namespace, read from /proc/self/mountinfo
 * (proc(5)).
 *
 * Owns: a copy of the table, of bounded size. Called by: rootfs/unmount.c, in a helper.
 * Blocks only as long as the kernel's locks do; asks no file system anything.
 */
#ifndef ROOTFS_MOUNT_TABLE_H
#define ROOTFS_MOUNT_TABLE_H

#include "base/util.h"

struct mount_entry {
	unsigned long id, parent;
	uint64_t device;    /* of the super block: major << 32 | minor */
	char *point, *type; /* in the text of the table */
	bool read_only;     /* the super block is */
	bool pinned;        /* a mount with data lies below: goes with it */
	bool pseudo;        /* nothing of it reaches a device or a server */
	bool gone;          /* for the caller's notes */
};

struct mount_table {
	char *text;
	struct mount_entry *entries; /* the oldest first, as far as nothing was moved */
	size_t n;
};

/* 0 or -errno. What is beyond the bounds is left out. */
int mount_table_read(struct mount_table *ret);

void mount_table_free(struct mount_table *table);

#endif
