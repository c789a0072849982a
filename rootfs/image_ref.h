// SPDX-License-Identifier: Apache-2.0
/*
 * image_ref.h - an image reference: checked and brought into one form.
 *
 * Grammar: the distribution project's reference format, as the kubelet checks it before
 * it says InvalidImageName. Pure text, no system call.
 */
#ifndef ROOTFS_IMAGE_REF_H
#define ROOTFS_IMAGE_REF_H

#include "base/util.h"

#define IMAGE_NAME_BYTES 256 /* the grammar's limit for a whole name is 255 */
#define IMAGE_TAG_BYTES  144 /* 128 for a tag; "sha512-" and 128 hex digits */

struct image_ref {
	char name[IMAGE_NAME_BYTES]; /* "busybox", "foo/bar", "ghcr.io/a/b" */
	char tag[IMAGE_TAG_BYTES];   /* folder: "latest", "1.36", "sha256-HEX" */
	bool digest;                 /* tag stands for a digest */
};

/* 0 or -EINVAL with *ret_why (static text) set to what is wrong. A digest wins over a
 * tag that stands beside it, as in every registry client. */
int image_ref_parse(const char *reference, struct image_ref *ret, const char **ret_why);

#endif
