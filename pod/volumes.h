// SPDX-License-Identifier: Apache-2.0
/*
 * volumes.h - the volumes of a pod: made with its sandbox, kept up to date, given back.
 *
 * Owns: what is below RUN_DIR/volumes, and the child that writes changes. Called by:
 * sandbox.c, objects.c, lifecycle.c. PID 1 never touches the files: children do, who have
 * the objects as they were at their fork.
 */
#ifndef POD_VOLUMES_H
#define POD_VOLUMES_H

#include "base/err.h"

struct pod;

/* ---- in PID 1 ---- */

/* Is what the volumes are to hold known? 0, or -ENOENT with e as the kubelet's event
 * FailedMount says it. Looks into memory only. */
int volumes_check(const struct pod *pod, struct err *e);

/* An object that volume number n shows has changed: written anew soon, or, if the pod
 * waits for it, made at last. */
void volumes_changed(struct pod *pod, size_t n);

/* The sandbox stands: what changed while it was made follows. */
void volumes_ready(struct pod *pod);

/* ---- in children ---- */

/* Makes them all; may be called again after a failure. 0 or -errno with e. */
int volumes_make(const struct pod *pod, struct err *e);

/* Takes their mounts away, so that the directories can be removed. */
int volumes_unmount(const struct pod *pod, struct err *e);

/* For both: writes volume number n, a VOLUME_PROJECTED. -ENOENT: something it needs is
 * not there (volume_files.c). */
int volume_files_write(const struct pod *pod, size_t n, const char *dir, struct err *e);
int volume_files_check(const struct pod *pod, size_t n, struct err *e);

#endif
