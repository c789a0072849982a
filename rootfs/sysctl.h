// SPDX-License-Identifier: Apache-2.0
/*
 * sysctl.h - one kernel setting by its name, as sysctl(8) reads names.
 *
 * Owns: nothing. Called by: early_settings.c for the machine, pod's sandbox child for the
 * namespaces that it has just made.
 */
#ifndef ROOTFS_SYSCTL_H
#define ROOTFS_SYSCTL_H

#include "base/util.h"

/* sys_fd: /proc/sys. 0, -EINVAL: no name of a setting; another -errno. */
int sysctl_write(int sys_fd, const char *name, const char *value);

#endif
