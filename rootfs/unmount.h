// SPDX-License-Identifier: Apache-2.0
/*
 * unmount.h - the end of the machine's file systems.
 *
 * Runs in helper children with deadlines (umount and sync block on dead storage).
 */
#ifndef ROOTFS_UNMOUNT_H
#define ROOTFS_UNMOUNT_H

/* For both: arg is a const int64_t *, the time of the helper in ns. They answer before it
 * is over, however many disks do not; processes that hang are left behind. */

/* child.run: writes back every file system, each on its own. Says on stderr what was not;
 * exit code = how many (at most 100). */
int unmount_sync_run(void *arg);

/* child.run: makes every super block with data on a device or the network read-only, all
 * at once and the root's last; unmounts their mounts, newest first; leaves pseudo file
 * systems alone. Says on stderr what stays writable, unmounted or not; exit code = how
 * many (at most 100). In a container it only unmounts. */
int unmount_all_run(void *arg);

#endif
