// SPDX-License-Identifier: Apache-2.0
/*
 * image.h - the image store, read side: a reference becomes a root directory and a
 * config.
 *
 * Store layout: DIR/NAME/TAG/rootfs/ and DIR/NAME/TAG/config.json (OCI image config,
 * optional). "docker.io/" and "library/" are dropped from a reference, other parts stay
 * as folders; no tag = "latest"; "@sha256:HEX" = TAG "sha256-HEX".
 * Called by: pod when a pod is created. Reads a few small files; a store on a disk that
 * hangs would hang the caller, so pod calls it once a pod, never on the exit path.
 */
#ifndef ROOTFS_IMAGE_H
#define ROOTFS_IMAGE_H

#include "base/err.h"
#include "config/image_config.h"

#define IMAGE_PATH_BYTES 1024

struct image {
	char root[IMAGE_PATH_BYTES]; /* absolute path of rootfs/ */
	char id[IMAGE_PATH_BYTES];   /* "NAME:TAG" in normal form, for status.imageID */
	struct image_config config;
	char *passwd, *group; /* texts of the image's /etc files, NULL = none; owned */
};

/* 0; -EINVAL: no valid reference (InvalidImageName); -ENOENT: not in the store
 * (ErrImageNeverPull / ErrImagePull); -EBADMSG: its config is broken; other -errno.
 * The image's files are opened below its root (openat2 RESOLVE_IN_ROOT): a symlink in an
 * image never leads out of it. */
int image_open(const char *store, const char *reference, struct image *ret,
	       struct err *e);
void image_free(struct image *image);

#endif
