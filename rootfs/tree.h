// SPDX-License-Identifier: Apache-2.0
/*
 * tree.h - directories of volumes: making them and removing whole trees.
 */
#ifndef ROOTFS_TREE_H
#define ROOTFS_TREE_H

#include <sys/types.h>

#include "base/util.h"

/* mkdir -p with mode for the last part, 0755 for parents. Existing is fine. 0 or -errno.
 */
int tree_make(const char *path, mode_t mode);

/* Removes path and all below it: never follows a symlink, never crosses into another
 * mount, bounded stack (no recursion per level of a hostile tree: see .c). For a helper
 * child: may take long. 0 or the first -errno; goes on after errors. */
int tree_remove(const char *path);

/* child.run for tree_remove: arg is the path. Exit code 0 or 1, error text on stderr. */
int tree_remove_run(void *path);

#endif
