// SPDX-License-Identifier: Apache-2.0
/*
 * pod_spec.h - a pod as it was asked for: checked, defaulted, immutable.
 *
 * Owns: everything below it, in one arena; freed by manifest_free() or pod_spec_free().
 * Called by: pod (launch, status), rootfs takes plain strings out of it.
 * After a successful parse every rule of Kubernetes' validation that concerns the
 * fields here holds, so no later code checks them again.
 */
#ifndef CONFIG_POD_SPEC_H
#define CONFIG_POD_SPEC_H

#include "base/arena.h"
#include "base/inet.h"
#include "base/util.h"
#include "config/object_spec.h"

struct diag;

/* Limits of one document; past them it is refused (DIAG_LIMIT). */
#define POD_SPEC_FILE_BYTES    (4u << 20)
#define POD_SPEC_DEPTH         32
#define POD_SPEC_MEMBERS       128 /* containers and initContainers of one pod, together */
#define POD_SPEC_MANIFEST_PODS 1024
#define POD_SPEC_VOLUMES       256
#define POD_SPEC_MOUNTS        256 /* of one container */

enum restart_policy { RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER };
enum pull_policy { PULL_ALWAYS, PULL_IF_NOT_PRESENT, PULL_NEVER };
enum volume_kind {
	VOLUME_EMPTY_DIR,
	VOLUME_HOST_PATH,
	VOLUME_PROJECTED, /* configMap, secret, downwardAPI, projected */
	VOLUME_IMAGE
};
enum host_path_type {
	HOST_PATH_ANY, /* "": no check */
	HOST_PATH_DIRECTORY_OR_CREATE,
	HOST_PATH_DIRECTORY,
	HOST_PATH_FILE_OR_CREATE,
	HOST_PATH_FILE,
	HOST_PATH_SOCKET,
	HOST_PATH_CHAR_DEVICE,
	HOST_PATH_BLOCK_DEVICE
};

struct spec_pair { /* labels, annotations */
	const char *key, *value;
};

/* Where a value of the environment, or a file of a downwardAPI volume, comes from. */
enum env_source {
	ENV_VALUE,
	ENV_POD_NAME,
	ENV_POD_NAMESPACE,
	ENV_POD_UID,
	ENV_POD_LABEL,       /* value: the label's key */
	ENV_POD_ANNOTATION,  /* value: the annotation's key */
	ENV_POD_LABELS,      /* all of them, a line each; volumes only */
	ENV_POD_ANNOTATIONS, /* the same */
	ENV_NODE_NAME,
	ENV_SERVICE_ACCOUNT,
	ENV_HOST_IP,
	ENV_HOST_IPS, /* comma between them */
	ENV_POD_IP,
	ENV_POD_IPS,
	ENV_RESOURCE, /* value: the container's name, "" = this one */
	ENV_OBJECT,   /* value: the key in it */
	ENV_SOURCE_MAX
};

struct spec_object_ref { /* a ConfigMap or Secret of the pod's namespace */
	enum object_kind kind;
	const char *name;
	bool optional;
};

struct spec_resource_ref {
	bool limit, memory; /* else the request, and cpu */
	uint64_t divisor;   /* thousandths of a cpu, or bytes; never 0 */
};

struct spec_env { /* value is not expanded yet: see config/expand.h */
	const char *name, *value;
	enum env_source source;
	struct spec_object_ref object;     /* ENV_OBJECT */
	struct spec_resource_ref resource; /* ENV_RESOURCE */
};

struct spec_env_from {
	const char *prefix; /* "" = none */
	struct spec_object_ref object;
};

enum port_protocol { PORT_TCP, PORT_UDP, PORT_SCTP, PORT_PROTOCOL_MAX };

struct spec_port {
	const char *name; /* NULL = none */
	enum port_protocol protocol;
	uint16_t container_port;
	uint16_t host_port;  /* 0 = none; with hostNetwork it is the containerPort */
	struct inet host_ip; /* family 0 = every address of the machine */
};

enum dns_policy {
	DNS_CLUSTER_FIRST, /* no cluster DNS here: as Default */
	DNS_CLUSTER_FIRST_WITH_HOST_NET,
	DNS_DEFAULT,
	DNS_NONE
};

struct spec_dns_option {
	const char *name, *value; /* value NULL = none */
};

/* dnsPolicy and dnsConfig; kubernetes-pod.md 1 and 12. */
struct spec_dns {
	enum dns_policy policy;
	size_t n_servers, n_searches, n_options;
	const char **servers; /* IP addresses; at most 3 */
	const char **searches;
	struct spec_dns_option *options;
};

struct spec_host_alias {
	const char *ip;
	size_t n_names;
	const char **names;
};

/* One entry of the annotation podinit/networks, or the default network (networks[0],
 * kind SPEC_NET_POD, always there but with hostNetwork). */
enum spec_net_kind {
	SPEC_NET_POD, /* the machine's pod network: fixed ips, mac, limits of eth0 */
	SPEC_NET_BRIDGE,
	SPEC_NET_MACVLAN,
	SPEC_NET_IPVLAN,
	SPEC_NET_DEVICE,
	SPEC_NET_KIND_MAX
};

#define SPEC_NETWORKS  8 /* of one pod, eth0 included */
#define SPEC_NET_ADDRS 4

struct spec_network {
	enum spec_net_kind kind;
	const char *interface; /* name in the pod; default eth0, then net1, net2, ... */
	const char *parent;    /* bridge or NIC; NULL for SPEC_NET_POD */
	const char *mode;      /* NULL = default; "bridge", "private", "vepa", "passthru";
				  "l2", "l3", "l3s" */
	size_t n_ips;
	struct inet ips[SPEC_NET_ADDRS]; /* SPEC_NET_POD: single addresses, one a family;
					    else with their prefix */
	struct inet gateway[2];          /* IPv4, IPv6; family 0 = none */
	bool has_mac;
	uint8_t mac[MAC_BYTES];
	uint32_t mtu;                       /* 0 = the parent's */
	uint64_t egress_bits, ingress_bits; /* a second; 0 = no limit */
};

/* Annotation podinit/network-policy: the ancestor's port-mapping white lists. */
struct spec_net_policy {
	size_t n_internal, n_external;
	struct inet *internal, *external;
};

enum mount_recursive { RECURSIVE_DISABLED, RECURSIVE_IF_POSSIBLE, RECURSIVE_ENABLED };

enum mount_propagation { PROPAGATION_NONE, PROPAGATION_FROM_HOST, PROPAGATION_BOTH };

struct spec_mount {
	size_t volume;    /* index into pod_spec.volumes */
	const char *path; /* absolute, normalised: no "..", no "//", no trailing "/" */
	bool read_only;
	enum mount_propagation propagation;
	enum mount_recursive recursive; /* recursiveReadOnly: the mounts below, too */
	const char
		*sub_path;  /* relative, no "..": what to mount of the volume; NULL = all
			     */
	bool sub_path_expr; /* sub_path is to be expanded */
};

/* One file of a VOLUME_PROJECTED. */
struct spec_item {
	const char *path;      /* relative, no ".." */
	const char *key;       /* of an object; NULL: value says what */
	struct spec_env value; /* of a downwardAPI */
	int64_t mode;          /* -1 = the volume's */
};

struct spec_projection {
	bool downward; /* downwardAPI; else object */
	struct spec_object_ref object;
	size_t n_items; /* of an object 0 = all its keys */
	struct spec_item *items;
};

struct spec_volume {
	const char *name;
	enum volume_kind kind;
	const char *host_path; /* VOLUME_HOST_PATH: absolute */
	enum host_path_type host_type;
	bool memory; /* emptyDir medium Memory; here disk and memory are both under /run
		      */
	uint64_t size_limit;  /* of an emptyDir, bytes; 0 = none */
	int64_t default_mode; /* VOLUME_PROJECTED */
	const char *image;    /* VOLUME_IMAGE: as a container's */
	enum pull_policy image_pull;
	size_t n_sources;
	struct spec_projection *sources;
};

struct spec_user { /* securityContext; -1 = not set */
	int64_t uid, gid;
	int non_root; /* runAsNonRoot */
};

/* capabilities; bit n is capability n of capabilities(7) */
struct spec_caps {
	bool add_all, drop_all; /* "ALL" */
	uint64_t add, drop;
};

/* resources; -1 = not set. A limit without a request is the request, too. */
struct spec_resources {
	int64_t cpu_request, cpu_limit;       /* thousandths of a cpu */
	int64_t memory_request, memory_limit; /* bytes */
};

struct container_spec {
	const char *name;
	const char *image; /* as written: "busybox", "busybox:1.36",
			      "reg.io/a/b@sha256:..." */
	enum pull_policy pull;
	bool init; /* an initContainer */

	const char **command; /* NULL-terminated; NULL = the image's Entrypoint */
	const char **args; /* NULL-terminated; NULL = the image's Cmd (unless command) */
	size_t n_env, n_env_from;
	struct spec_env *env;
	struct spec_env_from *env_from;
	const char *working_dir; /* NULL = the image's */
	bool tty, stdin_open, stdin_once;

	struct spec_user user; /* the pod's securityContext is merged in */
	bool no_new_privs;     /* allowPrivilegeEscalation: false */
	bool privileged;       /* every capability and device, nothing masked */
	bool read_only_root;   /* readOnlyRootFilesystem */
	struct spec_caps caps;
	struct spec_resources resources;

	size_t n_ports;
	struct spec_port *ports;

	size_t n_mounts;
	struct spec_mount *mounts; /* sorted, parents before children */
};

struct pod_spec {
	struct arena arena;

	const char *name;      /* DNS subdomain, never NULL in an accepted pod */
	const char *namespace; /* default "default" */
	const char *uid;       /* metadata.uid, or NULL: the pod is given one */
	size_t n_labels, n_annotations;
	struct spec_pair *labels, *annotations;

	enum restart_policy restart;
	int64_t grace_seconds;         /* terminationGracePeriodSeconds, default 30 */
	const char *hostname;          /* never NULL: hostname, else the name cut to 63 */
	const char *subdomain;         /* NULL = none */
	const char *hostname_override; /* NULL = none; wins over the two above */
	bool hostname_is_fqdn;         /* setHostnameAsFQDN */
	const char *service_account;   /* NULL = none; text of a fieldRef only */
	bool host_network, host_pid, host_ipc;
	bool share_pid; /* shareProcessNamespace */
	size_t n_aliases;
	struct spec_host_alias *aliases;
	struct spec_dns dns;
	size_t n_networks; /* 0 with hostNetwork */
	struct spec_network *networks;
	struct spec_net_policy net_policy;

	size_t n_groups; /* supplementalGroups */
	uint32_t *groups;
	bool own_groups_only; /* supplementalGroupsPolicy Strict: not those of the image
			       */
	int64_t fs_group;     /* -1 = none */
	size_t n_sysctls;
	struct spec_pair *sysctls; /* dots between the parts */

	size_t n_volumes;
	struct spec_volume *volumes;

	/* initContainers first, in order, then containers, in order. */
	size_t n_members, n_init;
	struct container_spec *members;
};

/* An item of a document, as far as it could be read; "" = unknown. */
struct manifest_id {
	char name[254];
	char namespace[64];
	size_t first_diag, n_diag; /* its errors in the diag handed to manifest_parse() */
};

/* One pod of a document: a spec, or the reasons why there is none. */
struct manifest_pod {
	struct pod_spec *spec; /* owned; NULL = refused */
	struct manifest_id id;
};

struct manifest_object { /* the same of a ConfigMap or a Secret */
	struct object_spec *spec;
	enum object_kind kind;
	struct manifest_id id;
};

struct manifest {
	size_t n_pods, n_objects;
	struct manifest_pod *pods;
	struct manifest_object *objects;
};

/*
 * Parses one document: a v1 Pod, ConfigMap or Secret, or a v1 List of them. text need not
 * be NUL-terminated. Returns 0 when the document could be read as such: items may still
 * be refused one by one (spec NULL), because a bad pod must not stop its neighbours.
 * -EINVAL when it is no document at all (syntax, wrong kind, over a limit), with the
 * reasons in diag; -ENOMEM. Does no system call. Source of the rules: the Kubernetes v1
 * API (types.go, validation).
 */
int manifest_parse(const char *text, size_t len, struct diag *diag, struct manifest *ret);
void manifest_free(struct manifest *m); /* frees the specs that were not taken */

void pod_spec_free(struct pod_spec *spec); /* NULL allowed */

const char *port_protocol_name(enum port_protocol p); /* "TCP", ... */

#endif
