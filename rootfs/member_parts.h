// SPDX-License-Identifier: Apache-2.0
/*
 * member_parts.h - the step groups of member_root_enter(), for member_root.c alone.
 *
 * All run in the launch child between clone and exec, with the new root as working
 * directory and umask 0, before pivot_root: the machine's paths are absolute, the
 * member's relative. Async-signal-safe; 0 or -errno with s filled.
 */
#ifndef ROOTFS_MEMBER_PARTS_H
#define ROOTFS_MEMBER_PARTS_H

#include "rootfs/member_root.h"

/* /proc /sys /sys/fs/cgroup /dev and what is in it, masked and read-only paths. */
int member_system_mount(const struct member_root *root, struct step *s);

/* The machine's devices into the member's /dev, which is mounted. */
int member_devices_copy(const struct member_root *root, struct step *s);

/* Before the volumes: /etc/hostname, and the pod's names at /dev/podinit. */
int member_etc_prepare(const struct member_root *root, int root_fd, struct step *s);

/* After them, so that they win: /etc/hosts and /etc/resolv.conf lead to the names. */
int member_etc_link(const struct member_root *root, int root_fd, struct step *s);

/* Volumes whose mounts come through from the machine: their sources are opened while the
 * machine's mounts are as they were, before they are made private. trees: for each of the
 * mounts a descriptor, owned by the caller also on failure, or -1. */
int member_volume_open(const struct member_root *root, int *trees, struct step *s);

/* The volumes, in their order. root_fd: the new root; trees: as above. */
int member_volume_mount(const struct member_root *root, int root_fd, const int *trees,
			struct step *s);

#endif
