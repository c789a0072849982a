// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_spec.c - .spec of a Pod, but for its volumes and containers.
 *
 * Source: core/v1 types.go (PodSpec, PodSecurityContext, PodOS), core/validation. The
 * table holds all fields of the API; see docs/manifest.md for what becomes of them.
 */
#include <json-c/json.h>
#include <string.h>

#include "config/manifest_parts.h"
#include "config/name_check.h"

#define SECONDS_MAX    2147483647 /* 68 years, and still no overflow in milliseconds */

#define HOSTNAME_BYTES 63 /* a DNS label; the name of a pod may be longer */

static const char *const restart_words[] = {
	[RESTART_ALWAYS] = "Always",
	[RESTART_ON_FAILURE] = "OnFailure",
	[RESTART_NEVER] = "Never",
	NULL,
};

_Static_assert(sizeof(enum restart_policy) == sizeof(int), "enum as int");

/* One array for initContainers and containers, made when the first of them is read. */
static bool spec_reserve_members(struct json_reader *r, const struct json_at *spec,
				 struct pod_spec *pod)
{
	struct json_at init = json_member(spec, "initContainers");
	struct json_at main = json_member(spec, "containers");
	size_t n = json_length(&init) + json_length(&main);

	if (pod->members)
		return true;
	if (n > POD_SPEC_MEMBERS)
		return false;
	pod->members = json_keep_array(r, n, sizeof(*pod->members));
	return pod->members;
}

static void read_init_containers(struct json_reader *r, const struct json_at *at,
				 void *out)
{
	if (spec_reserve_members(r, at->parent, out))
		json_list_read(r, at, manifest_read_init_container, out);
}

static void read_containers(struct json_reader *r, const struct json_at *at, void *out)
{
	if (json_length(at) == 0)
		json_fault(r, at, DIAG_MISSING,
			   "containers must have at least one entry");
	else if (spec_reserve_members(r, at->parent, out))
		json_list_read(r, at, manifest_read_container, out);
	else if (!r->out_of_memory)
		json_fault(r, at, DIAG_LIMIT,
			   "more than %d containers and initContainers in one pod",
			   POD_SPEC_MEMBERS);
}

static void read_os_name(struct json_reader *r, const struct json_at *at, void *out)
{
	const char *text = json_text(at);

	(void)out;
	if (strcmp(text, "windows") == 0)
		json_fault(r, at, DIAG_UNSUPPORTED,
			   "os \"windows\": podinit runs linux pods only");
	else if (strcmp(text, "linux") != 0)
		json_fault(r, at, DIAG_VALUE,
			   "unsupported value \"%.40s\"; must be \"linux\"", text);
}

static const struct field os_fields[] = {
	FIELD_CALL("name", FIELD_STRING, read_os_name, .required = true),
	FIELD_TABLE_END,
};

static void read_os(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, os_fields, out);
}

/* Warned about only when a program may miss the token. */
static void read_service_account(struct json_reader *r, const struct json_at *at,
				 void *out)
{
	struct json_at mount = json_member(at->parent, "automountServiceAccountToken");
	const char *text = json_text(at);
	struct pod_spec *pod = out;

	if (*text)
		pod->service_account = json_keep(r, text);
	if (*text && strcmp(text, "default") != 0 &&
	    (!mount.value || json_object_get_boolean(mount.value)))
		json_warn(r, at,
			  "\"%s\" has no effect: there is no API server, and no token "
			  "is mounted",
			  at->key);
}

static void read_share_pid(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;

	pod->share_pid = json_object_get_boolean(at->value);
	if (pod->share_pid && pod->host_pid)
		json_fault(r, at, DIAG_VALUE,
			   "shareProcessNamespace and hostPID must not both be true");
}

/* Fields that others depend on come first, what is merged into containers last. */
static const struct field spec_fields[] = {
	FIELD_AT("hostNetwork", FIELD_BOOL, struct pod_spec, host_network),
	FIELD_AT("hostPID", FIELD_BOOL, struct pod_spec, host_pid),
	FIELD_AT("hostIPC", FIELD_BOOL, struct pod_spec, host_ipc),
	FIELD_CALL("shareProcessNamespace", FIELD_BOOL, read_share_pid),
	FIELD_AT("restartPolicy", FIELD_WORD, struct pod_spec, restart,
		 .words = restart_words),
	FIELD_AT("terminationGracePeriodSeconds", FIELD_INT, struct pod_spec,
		 grace_seconds, .min = 0, .max = SECONDS_MAX),
	FIELD_AT("hostname", FIELD_STRING, struct pod_spec, hostname,
		 .check = name_check_label),
	FIELD_AT("subdomain", FIELD_STRING, struct pod_spec, subdomain,
		 .check = name_check_label),
	FIELD_AT("setHostnameAsFQDN", FIELD_BOOL, struct pod_spec, hostname_is_fqdn),
	FIELD_AT("hostnameOverride", FIELD_STRING, struct pod_spec, hostname_override,
		 .check = manifest_check_nodename),
	FIELD_CALL("hostAliases", FIELD_LIST, manifest_read_host_aliases),
	FIELD_AT("dnsPolicy", FIELD_WORD, struct pod_spec, dns.policy,
		 .words = manifest_dns_policies),
	FIELD_CALL("dnsConfig", FIELD_OBJECT, manifest_read_dns_config),
	FIELD_CALL("volumes", FIELD_LIST, manifest_read_volumes),
	FIELD_CALL("initContainers", FIELD_LIST, read_init_containers),
	FIELD_CALL("containers", FIELD_LIST, read_containers, .required = true),
	FIELD_CALL("securityContext", FIELD_OBJECT, manifest_read_pod_security),
	FIELD_CALL("os", FIELD_OBJECT, read_os),

	FIELD_REFUSE("activeDeadlineSeconds", FIELD_INT, NULL, .min = 1,
		     .max = SECONDS_MAX),
	FIELD_REFUSE("ephemeralContainers", FIELD_LIST, "[]"),
	FIELD_REFUSE("hostUsers", FIELD_BOOL, "true"),
	FIELD_REFUSE("readinessGates", FIELD_LIST, "[]"),
	FIELD_REFUSE("resourceClaims", FIELD_LIST, "[]"),
	FIELD_REFUSE("resources", FIELD_OBJECT, "{}"),
	FIELD_REFUSE("runtimeClassName", FIELD_STRING, NULL),

	FIELD_CALL("serviceAccountName", FIELD_STRING, read_service_account),
	FIELD_IGNORE("serviceAccount", FIELD_STRING),
	FIELD_IGNORE("automountServiceAccountToken", FIELD_BOOL),
	FIELD_IGNORE("affinity", FIELD_OBJECT),
	FIELD_IGNORE("enableServiceLinks", FIELD_BOOL),
	FIELD_IGNORE("evictionResponders", FIELD_LIST),
	FIELD_IGNORE("imagePullSecrets", FIELD_LIST),
	FIELD_IGNORE("nodeName", FIELD_STRING),
	FIELD_IGNORE("nodeSelector", FIELD_OBJECT),
	FIELD_IGNORE("overhead", FIELD_OBJECT),
	FIELD_IGNORE("preemptionPolicy", FIELD_STRING),
	FIELD_IGNORE("priority", FIELD_INT),
	FIELD_IGNORE("priorityClassName", FIELD_STRING),
	FIELD_IGNORE("schedulerName", FIELD_STRING),
	FIELD_IGNORE("schedulingGates", FIELD_LIST, .harmless = "[]",
		     .note = "there is no scheduler, the pod is started"),
	FIELD_IGNORE("schedulingGroup", FIELD_ANY),
	FIELD_IGNORE("tolerations", FIELD_LIST),
	FIELD_IGNORE("topologySpreadConstraints", FIELD_LIST),
	FIELD_TABLE_END,
};

/* The kubelet's way: cut, and then no '-' or '.' at the end. */
static const char *default_hostname(struct json_reader *r, const char *name)
{
	char *hostname = json_keep(r, name);
	size_t n;

	if (!hostname)
		return NULL;
	n = MIN(strlen(hostname), (size_t)HOSTNAME_BYTES);
	while (n > 0 && strchr("-.", hostname[n - 1]))
		n--;
	hostname[n] = '\0';
	return hostname;
}

void manifest_read_spec(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;

	pod->restart = RESTART_ALWAYS;
	pod->grace_seconds = 30;
	pod->fs_group = -1;
	pod->dns.policy = DNS_CLUSTER_FIRST;
	json_fields_read(r, at, spec_fields, pod);
	if (!pod->hostname && pod->name)
		pod->hostname = default_hostname(r, pod->name);
	manifest_check_names(r, at, pod);
	manifest_read_networks(r, at->parent, pod);
}
