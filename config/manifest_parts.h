// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_parts.h - the readers of a v1 Pod's parts, private to manifest*.c.
 *
 * Each has the shape of struct field's read: at has the right JSON type, out is a
 * struct pod_spec, if nothing else is said. All they keep is in the spec's arena.
 */
#ifndef CONFIG_MANIFEST_PARTS_H
#define CONFIG_MANIFEST_PARTS_H

#include "config/json_field.h"
#include "config/object_spec.h"
#include "config/pod_spec.h"

/* Lists are searched and compared pairwise, on the loop's time: none may be long. */
#define MANIFEST_ENV     1024
#define MANIFEST_PORTS   256
#define MANIFEST_ITEMS   1024 /* of one source of a volume */
#define MANIFEST_SYSCTLS 64
#define MANIFEST_SOURCES 64

/* What an API server adds to any .metadata. */
#define METADATA_IGNORED                                               \
	FIELD_IGNORE("creationTimestamp", FIELD_STRING),               \
		FIELD_IGNORE("deletionGracePeriodSeconds", FIELD_INT), \
		FIELD_IGNORE("deletionTimestamp", FIELD_STRING),       \
		FIELD_IGNORE("finalizers", FIELD_LIST),                \
		FIELD_IGNORE("generateName", FIELD_STRING),            \
		FIELD_IGNORE("generation", FIELD_INT),                 \
		FIELD_IGNORE("managedFields", FIELD_LIST),             \
		FIELD_IGNORE("ownerReferences", FIELD_LIST),           \
		FIELD_IGNORE("resourceVersion", FIELD_STRING),         \
		FIELD_IGNORE("selfLink", FIELD_STRING)

/* .metadata of a Pod */
void manifest_read_metadata(struct json_reader *r, const struct json_at *at, void *out);

/* A whole ConfigMap or Secret, which of the two out (a struct object_spec) says. */
#define OBJECT_KEYS 1024
void manifest_read_object(struct json_reader *r, const struct json_at *at, void *out);

/* .spec; out->name is read already. */
void manifest_read_spec(struct json_reader *r, const struct json_at *at, void *out);

/* .spec.volumes */
void manifest_read_volumes(struct json_reader *r, const struct json_at *at, void *out);

/* .spec.initContainers, .spec.containers: out->members has room, volumes are read. */
void manifest_read_init_container(struct json_reader *r, const struct json_at *at,
				  void *out);
void manifest_read_container(struct json_reader *r, const struct json_at *at, void *out);

/* imagePullPolicy: words of enum pull_policy, and what it is when nothing is said. */
extern const char *const manifest_pull_words[];
enum pull_policy manifest_default_pull(const char *image);

/* .volumeMounts of a container into c. */
void manifest_read_mounts(struct json_reader *r, const struct json_at *at,
			  const struct pod_spec *pod, struct container_spec *c);

/* .env, .envFrom and .ports of a container into c; pod's other members are read. */
void manifest_read_env_from(struct json_reader *r, const struct json_at *at,
			    struct container_spec *c);
void manifest_read_env(struct json_reader *r, const struct json_at *at,
		       struct container_spec *c);
void manifest_read_ports(struct json_reader *r, const struct json_at *at,
			 const struct pod_spec *pod, struct container_spec *c);

/* Sources of values: fieldRef (volume: the paths that a downwardAPI volume may have),
 * resourceFieldRef, configMapKeyRef or secretKeyRef into env, a reference by name. */
void manifest_read_field_ref(struct json_reader *r, const struct json_at *at, bool volume,
			     struct spec_env *env);
void manifest_read_resource_ref(struct json_reader *r, const struct json_at *at,
				struct spec_env *env);
void manifest_read_key_ref(struct json_reader *r, const struct json_at *at,
			   enum object_kind kind, struct spec_env *env);
void manifest_read_object_ref(struct json_reader *r, const struct json_at *at,
			      enum object_kind kind, struct spec_object_ref *ref);

/* Sources of a volume into v: configMap, secret, downwardAPI, projected. */
void manifest_read_config_map_volume(struct json_reader *r, const struct json_at *at,
				     struct spec_volume *v);
void manifest_read_secret_volume(struct json_reader *r, const struct json_at *at,
				 struct spec_volume *v);
void manifest_read_downward_volume(struct json_reader *r, const struct json_at *at,
				   struct spec_volume *v);
void manifest_read_projected_volume(struct json_reader *r, const struct json_at *at,
				    struct spec_volume *v);

/* The text of a quantity: YAML people write 1 for "1". "" for what is none. */
const char *manifest_number_text(const struct json_at *at);

/* .spec.dnsPolicy (words of enum dns_policy), .dnsConfig, .hostAliases */
extern const char *const manifest_dns_policies[];
void manifest_read_dns_config(struct json_reader *r, const struct json_at *at, void *out);
void manifest_read_host_aliases(struct json_reader *r, const struct json_at *at,
				void *out);
/* hostnameOverride must be this; then what must hold between the fields of .spec. */
const char *manifest_check_nodename(const char *s);
void manifest_check_names(struct json_reader *r, const struct json_at *spec,
			  const struct pod_spec *pod);

/* .metadata.annotations that mean something to podinit, after .spec was read: at is the
 * Pod. Also makes the default network. */
void manifest_read_networks(struct json_reader *r, const struct json_at *pod_at,
			    struct pod_spec *pod);
/* The texts inside of the two annotations; at is the text's JSON value. */
void manifest_read_network_list(struct json_reader *r, const struct json_at *at,
				struct pod_spec *pod);
void manifest_read_network_policy(struct json_reader *r, const struct json_at *at,
				  struct pod_spec *pod);
/* A Kubernetes quantity of bits a second, 1k to 1P (validateBandwidthIsReasonable). */
bool manifest_read_bandwidth(struct json_reader *r, const struct json_at *at,
			     uint64_t *ret_bits);

/* .resources of a container into c. */
void manifest_read_resources(struct json_reader *r, const struct json_at *at,
			     struct container_spec *c);

/* .securityContext of a container into c. */
void manifest_read_container_security(struct json_reader *r, const struct json_at *at,
				      struct container_spec *c);
/* That of the pod; out's containers are read already, what they do not say is filled. */
void manifest_read_pod_security(struct json_reader *r, const struct json_at *at,
				void *out);

/* False, with an error at at, when the list is longer than most. */
bool manifest_check_length(struct json_reader *r, const struct json_at *at, size_t most);

#endif
