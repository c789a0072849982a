// SPDX-License-Identifier: Apache-2.0
/*
 * unmount.h - the end of the machine's file systems.
 *
 * Runs in helper children with deadlines (umount and sync block on dead storage).
 */
#ifndef ROOTFS_UNMOUNT_H
#define ROOTFS_UNMOUNT_H

/* child.run: sync(2). arg unused. */
int unmount_sync_run(void *arg);

/* child.run: unmounts every mount that holds data on a device or the network, newest
 * first, remounts what is busy read-only, leaves pseudo file systems alone. Says on
 * stderr what stayed writable; exit code = how many (at most 100). arg unused. */
int unmount_all_run(void *arg);

#endif
