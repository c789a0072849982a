// SPDX-License-Identifier: Apache-2.0
/*
 * name_check.h - Kubernetes' rules for names, keys and paths.
 *
 * Source: apimachinery pkg/util/validation and core/validation. Each returns NULL, or
 * what the text must be, in words that continue "must be ".
 * Owns: nothing. Called by: the tables of manifest*.c and machine.c.
 */
#ifndef CONFIG_NAME_CHECK_H
#define CONFIG_NAME_CHECK_H

#include "base/arena.h"

const char *name_check_label(const char *s);     /* RFC 1123 label, 63 */
const char *name_check_subdomain(const char *s); /* RFC 1123 subdomain, 253 */
const char *name_check_key(const char *s);       /* label key: [subdomain/]name */
const char *name_check_annotation_key(
	const char *s); /* the same, the prefix in any case */
const char *name_check_label_value(const char *s);
const char *name_check_port(const char *s); /* IANA service name */
const char *name_check_env(const char *s);
const char *name_check_uid(const char *s);      /* ours: it becomes part of file names */
const char *name_check_data_key(const char *s); /* of a ConfigMap or Secret */
/* A file below a directory: not absolute, no "..", below PATH_MAX. */
const char *name_check_relative(const char *s);
const char *name_check_image(const char *s);
const char *name_check_argument(const char *s); /* command, args, env value */
const char *name_check_path(const char *s);     /* absolute, no "..", below PATH_MAX */

/* Lexical form of a path in a root: absolute, without ".", "..", "//" and a trailing "/";
 * NULL when memory ends. What would leave the root stays in it, a relative path is taken
 * from it, as containerd does. */
char *path_clean(struct arena *a, const char *path);

#endif
