// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_parts.h - the readers of a v1 Pod's parts, private to manifest*.c.
 *
 * Each has the shape of struct field's read: at has the right JSON type, out is a
 * struct pod_spec. All they keep is in the spec's arena.
 */
#ifndef CONFIG_MANIFEST_PARTS_H
#define CONFIG_MANIFEST_PARTS_H

#include "config/json_field.h"
#include "config/pod_spec.h"

/* Lists are searched and compared pairwise, on the loop's time: none may be long. */
#define MANIFEST_VOLUMES 256
#define MANIFEST_MOUNTS  256 /* of one container */
#define MANIFEST_ENV     1024
#define MANIFEST_PORTS   256

/* .spec; out->name is read already. */
void manifest_read_spec(struct json_reader *r, const struct json_at *at, void *out);

/* .spec.volumes */
void manifest_read_volumes(struct json_reader *r, const struct json_at *at, void *out);

/* .spec.initContainers, .spec.containers: out->members has room, volumes are read. */
void manifest_read_init_container(struct json_reader *r, const struct json_at *at,
				  void *out);
void manifest_read_container(struct json_reader *r, const struct json_at *at, void *out);

/* .volumeMounts of a container into c. */
void manifest_read_mounts(struct json_reader *r, const struct json_at *at,
			  const struct pod_spec *pod, struct container_spec *c);

/* .ports of a container: checked only. */
void manifest_check_ports(struct json_reader *r, const struct json_at *at,
			  const struct pod_spec *pod);

/* seLinuxOptions and appArmorProfile are the same for pods and containers. */
void manifest_check_apparmor(struct json_reader *r, const struct json_at *at, void *out);

/* False, with an error at at, when the list is longer than most. */
bool manifest_check_length(struct json_reader *r, const struct json_at *at, size_t most);

#endif
