// SPDX-License-Identifier: Apache-2.0
/*
 * early_dev.h - the part of the machine's /dev that devtmpfs does not bring.
 *
 * Called by: early.c alone.
 */
#ifndef ROOTFS_EARLY_DEV_H
#define ROOTFS_EARLY_DEV_H

#include "base/err.h"

/* In a container: a tmpfs on /dev with the usual nodes bound from the /dev below it, as
 * neither mknod nor devtmpfs is to be had there, and the host's is not to be written to.
 */
int early_dev_mount(struct err *e);

/* /dev/fd, stdin, stdout, stderr. A failure is a warning in the log. */
void early_dev_link(void);

#endif
