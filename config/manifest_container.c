// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_container.c - one container or initContainer of a Pod.
 *
 * Source: core/v1 types.go (Container and its parts), core/validation. The tables name
 * every field of the API; see docs/manifest.md for what becomes of them.
 */
#include <arpa/inet.h>
#include <json-c/json.h>
#include <string.h>

#include "config/manifest_parts.h"
#include "config/name_check.h"

#define ID_MAX   2147483647 /* of runAsUser and runAsGroup */
#define PORT_MAX 65535

/* What the fields' readers fill, with what they need of their surroundings. */
struct container_read {
	struct container_spec spec;
	struct pod_spec *pod;
	bool privileged, deny_escalation;
};

struct port_read {
	const char *name;
	int64_t host_port, container_port;
};

static const char *const pull_words[] = {
	[PULL_ALWAYS] = "Always",
	[PULL_IF_NOT_PRESENT] = "IfNotPresent",
	[PULL_NEVER] = "Never",
	NULL,
};
static const char *const restart_words[] = { "Always", "OnFailure", "Never", NULL };
static const char *const message_words[] = { "File", "FallbackToLogsOnError", NULL };
static const char *const protocol_words[] = { "TCP", "UDP", "SCTP", NULL };
static const char *const proc_mount_words[] = { "Default", "Unmasked", NULL };

_Static_assert(sizeof(enum pull_policy) == sizeof(int), "enum as int");

bool manifest_check_length(struct json_reader *r, const struct json_at *at, size_t most)
{
	if (json_length(at) <= most)
		return true;
	json_fault(r, at, DIAG_LIMIT, "%zu entries; at most %zu are read",
		   json_length(at), most);
	return false;
}

static void read_working_dir(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;
	const char *text = json_text(at);

	if (*text == '/')
		c->spec.working_dir = json_keep(r, text);
	else if (*text)
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must be an absolute path", text);
}

/* An empty list is the same as none: the image's is used. */
static void read_strings(struct json_reader *r, const struct json_at *at,
			 const char ***place)
{
	static const struct field element = { .type = FIELD_STRINGS,
					      .check = name_check_argument };

	if (json_length(at) > 0)
		json_store_strings(r, at, &element, place);
}

static void read_command(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	read_strings(r, at, &c->spec.command);
}

static void read_args(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	read_strings(r, at, &c->spec.args);
}

static const struct field env_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct spec_env, name, .check = name_check_env,
		 .required = true),
	FIELD_AT("value", FIELD_STRING, struct spec_env, value,
		 .check = name_check_argument),
	FIELD_REFUSE("valueFrom", FIELD_OBJECT, NULL),
	FIELD_TABLE_END,
};

static void read_env_entry(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_spec *c = out;
	struct spec_env env = { .value = "" };

	json_fields_read(r, at, env_fields, &env);
	c->env[c->n_env++] = env;
}

static void read_env(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	if (!manifest_check_length(r, at, MANIFEST_ENV))
		return;
	c->spec.env = json_keep_array(r, json_length(at), sizeof(*c->spec.env));
	if (c->spec.env)
		json_list_read(r, at, read_env_entry, &c->spec);
}

static void check_host_ip(struct json_reader *r, const struct json_at *at, void *out)
{
	const char *text = json_text(at);
	struct in6_addr address;

	(void)out;
	if (*text && inet_pton(AF_INET, text, &address) != 1 &&
	    inet_pton(AF_INET6, text, &address) != 1)
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must be an IP address", text);
}

static const struct field port_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct port_read, name, .check = name_check_port),
	FIELD_AT("containerPort", FIELD_INT, struct port_read, container_port, .min = 1,
		 .max = PORT_MAX, .required = true),
	FIELD_AT("hostPort", FIELD_INT, struct port_read, host_port, .min = 0,
		 .max = PORT_MAX),
	FIELD_CALL("hostIP", FIELD_STRING, check_host_ip),
	FIELD_IGNORE("protocol", FIELD_WORD, .words = protocol_words),
	FIELD_TABLE_END,
};

static void check_host_port(struct json_reader *r, const struct json_at *port,
			    const struct pod_spec *pod, const struct port_read *read)
{
	struct json_at at = json_member(port, "hostPort");

	if (read->host_port == 0)
		return;
	if (!pod->host_network)
		json_refuse(r, &at);
	else if (read->host_port != read->container_port)
		json_fault(r, &at, DIAG_VALUE,
			   "hostPort %lld must match containerPort %lld, because "
			   "hostNetwork is true",
			   (long long)read->host_port, (long long)read->container_port);
}

void manifest_check_ports(struct json_reader *r, const struct json_at *at,
			  const struct pod_spec *pod)
{
	const char *names[MANIFEST_PORTS];
	size_t n = 0, i, k;

	if (!manifest_check_length(r, at, MANIFEST_PORTS))
		return;
	for (i = 0; i < json_length(at); i++) {
		struct json_at item = json_element(at, i), name;
		struct port_read port = { .name = NULL };

		if (!json_expect_object(r, &item))
			continue;
		json_fields_read(r, &item, port_fields, &port);
		check_host_port(r, &item, pod, &port);
		if (!port.name)
			continue;
		for (k = 0; k < n && strcmp(names[k], port.name) != 0; k++)
			;
		name = json_member(&item, "name");
		if (k < n)
			json_fault(r, &name, DIAG_DUPLICATE, "duplicate port name \"%s\"",
				   port.name);
		else
			names[n++] = port.name;
	}
}

static void read_ports(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	manifest_check_ports(r, at, c->pod);
}

static void read_mounts(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	manifest_read_mounts(r, at, c->pod, &c->spec);
}

/* Probes and lifecycle. A plain init container may have none, whatever we support. */
static void read_hook(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;
	struct json_at policy = json_member(at->parent, "restartPolicy");

	if (strcmp(at->key, "lifecycle") == 0 && json_length(at) == 0)
		return;
	if (c->spec.init && strcmp(json_text(&policy), "Always") != 0)
		json_fault(r, at, DIAG_VALUE,
			   "%s is not allowed in an init container unless its "
			   "restartPolicy is Always",
			   at->key);
	else
		json_refuse(r, at);
}

static const struct field apparmor_fields[] = {
	FIELD_REFUSE("type", FIELD_STRING, "RuntimeDefault Unconfined", .required = true),
	FIELD_REFUSE("localhostProfile", FIELD_STRING, NULL),
	FIELD_TABLE_END,
};

void manifest_check_apparmor(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, apparmor_fields, out);
}

static void read_privileged(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	c->privileged = json_object_get_boolean(at->value);
	if (c->privileged)
		json_refuse(r, at);
}

static void read_escalation(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	c->spec.no_new_privs = !json_object_get_boolean(at->value);
	if (c->spec.no_new_privs && c->privileged)
		json_fault(
			r, at, DIAG_VALUE,
			"allowPrivilegeEscalation must not be false when privileged is "
			"true");
}

static const struct field security_fields[] = {
	FIELD_AT("runAsUser", FIELD_INT, struct container_read, spec.user.uid, .min = 0,
		 .max = ID_MAX),
	FIELD_AT("runAsGroup", FIELD_INT, struct container_read, spec.user.gid, .min = 0,
		 .max = ID_MAX),
	FIELD_REFUSE("runAsNonRoot", FIELD_BOOL, "false"),
	FIELD_CALL("privileged", FIELD_BOOL, read_privileged),
	FIELD_CALL("allowPrivilegeEscalation", FIELD_BOOL, read_escalation),
	FIELD_REFUSE("readOnlyRootFilesystem", FIELD_BOOL, "false"),
	FIELD_REFUSE("capabilities", FIELD_OBJECT, "{}"),
	FIELD_REFUSE("procMount", FIELD_WORD, "Default", .words = proc_mount_words),
	FIELD_REFUSE("seccompProfile", FIELD_OBJECT, NULL),
	FIELD_CALL("appArmorProfile", FIELD_OBJECT, manifest_check_apparmor),
	FIELD_IGNORE("seLinuxOptions", FIELD_OBJECT, .harmless = "{}",
		     .note = "there is no SELinux policy"),
	FIELD_REFUSE("windowsOptions", FIELD_OBJECT, NULL),
	FIELD_TABLE_END,
};

static void read_security(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, security_fields, out);
}

static const struct field container_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct container_read, spec.name,
		 .check = name_check_label, .required = true),
	FIELD_AT("image", FIELD_STRING, struct container_read, spec.image,
		 .check = name_check_image, .required = true),
	FIELD_AT("imagePullPolicy", FIELD_WORD, struct container_read, spec.pull,
		 .words = pull_words),
	FIELD_CALL("command", FIELD_LIST, read_command),
	FIELD_CALL("args", FIELD_LIST, read_args),
	FIELD_CALL("workingDir", FIELD_STRING, read_working_dir),
	FIELD_CALL("ports", FIELD_LIST, read_ports),
	FIELD_CALL("env", FIELD_LIST, read_env),
	FIELD_REFUSE("envFrom", FIELD_LIST, "[]"),
	FIELD_REFUSE("resources", FIELD_OBJECT, "{}"),
	FIELD_REFUSE("resizePolicy", FIELD_LIST, "[]"),
	FIELD_REFUSE("restartPolicy", FIELD_WORD, NULL, .words = restart_words),
	FIELD_REFUSE("restartPolicyRules", FIELD_LIST, "[]"),
	FIELD_CALL("volumeMounts", FIELD_LIST, read_mounts),
	FIELD_REFUSE("volumeDevices", FIELD_LIST, "[]"),
	FIELD_CALL("livenessProbe", FIELD_OBJECT, read_hook),
	FIELD_CALL("readinessProbe", FIELD_OBJECT, read_hook),
	FIELD_CALL("startupProbe", FIELD_OBJECT, read_hook),
	FIELD_CALL("lifecycle", FIELD_OBJECT, read_hook),
	FIELD_REFUSE("terminationMessagePath", FIELD_STRING, "/dev/termination-log"),
	FIELD_REFUSE("terminationMessagePolicy", FIELD_WORD, "File",
		     .words = message_words),
	FIELD_CALL("securityContext", FIELD_OBJECT, read_security),
	FIELD_AT("stdin", FIELD_BOOL, struct container_read, spec.stdin_open),
	FIELD_AT("stdinOnce", FIELD_BOOL, struct container_read, spec.stdin_once),
	FIELD_AT("tty", FIELD_BOOL, struct container_read, spec.tty),
	FIELD_TABLE_END,
};

/* Always for "latest", said or meant; a digest names one image for ever. */
static enum pull_policy default_pull(const char *image)
{
	static const char latest[] = ":latest";
	size_t len = strcspn(image, "@");
	const char *slash = memrchr(image, '/', len);
	const char *base = slash ? slash + 1 : image, *end = image + len;
	const char *tag = memrchr(base, ':', (size_t)(end - base));

	if (tag)
		return (size_t)(end - tag) == strlen(latest) &&
				       memcmp(tag, latest, strlen(latest)) == 0 ?
			       PULL_ALWAYS :
			       PULL_IF_NOT_PRESENT;
	return *end == '@' ? PULL_IF_NOT_PRESENT : PULL_ALWAYS;
}

static void read_container(struct json_reader *r, const struct json_at *at,
			   struct pod_spec *pod, bool init)
{
	struct container_read c = { .pod = pod,
				    .spec = { .init = init, .user = { -1, -1 } } };
	struct json_at name = json_member(at, "name"), pull;
	size_t i;

	json_fields_read(r, at, container_fields, &c);
	pull = json_member(at, "imagePullPolicy");
	if (!pull.value && c.spec.image)
		c.spec.pull = default_pull(c.spec.image);
	for (i = 0; c.spec.name && i < pod->n_members; i++) {
		if (!pod->members[i].name ||
		    strcmp(pod->members[i].name, c.spec.name) != 0)
			continue;
		json_fault(r, &name, DIAG_DUPLICATE,
			   "duplicate container name \"%s\": names are unique over "
			   "containers and initContainers",
			   c.spec.name);
		break;
	}
	pod->members[pod->n_members++] = c.spec;
	pod->n_init += init;
}

void manifest_read_init_container(struct json_reader *r, const struct json_at *at,
				  void *out)
{
	read_container(r, at, out, true);
}

void manifest_read_container(struct json_reader *r, const struct json_at *at, void *out)
{
	read_container(r, at, out, false);
}
