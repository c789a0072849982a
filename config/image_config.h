// SPDX-License-Identifier: Apache-2.0
/*
 * image_config.h - an OCI image config as far as a start needs it.
 *
 * Shape: OCI image-spec config.md, {"config": {"Entrypoint", "Cmd", "Env", "User",
 * "WorkingDir", "StopSignal", "Labels", ...}}. Fields we do not use are ignored: the
 * file is made by other people's builders. Wrong types of fields we use are errors.
 */
#ifndef CONFIG_IMAGE_CONFIG_H
#define CONFIG_IMAGE_CONFIG_H

#include "base/arena.h"

struct diag;

#define IMAGE_CONFIG_BYTES (1u << 20)

struct image_config {
	struct arena arena;
	const char **entrypoint, **cmd; /* NULL-terminated; NULL = absent */
	const char **env;               /* NULL-terminated "NAME=value"; never NULL */
	const char *user;               /* "", "1000", "name", "name:group", "1:2" */
	const char *working_dir;        /* "" = not set */
	int stop_signal;                /* 0 = not set */
};

/* 0, -EINVAL with reasons in diag, -ENOMEM. */
int image_config_parse(const char *text, size_t len, struct diag *diag,
		       struct image_config *ret);
void image_config_free(struct image_config *c);

#endif
