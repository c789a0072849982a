// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_container.c - one container or initContainer of a Pod.
 *
 * Source: core/v1 types.go (Container and its parts), core/validation. The tables name
 * every field of the API; see docs/manifest.md for what becomes of them.
 */
#include <json-c/json.h>
#include <string.h>

#include "config/manifest_parts.h"
#include "config/name_check.h"

/* What the fields' readers fill, with what they need of their surroundings. */
struct container_read {
	struct container_spec spec;
	struct pod_spec *pod;
};

const char *const manifest_pull_words[] = {
	[PULL_ALWAYS] = "Always",
	[PULL_IF_NOT_PRESENT] = "IfNotPresent",
	[PULL_NEVER] = "Never",
	NULL,
};
static const char *const restart_words[] = { "Always", "OnFailure", "Never", NULL };
static const char *const message_words[] = { "File", "FallbackToLogsOnError", NULL };

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

static void read_env(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	manifest_read_env(r, at, &c->spec);
}

static void read_env_from(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	manifest_read_env_from(r, at, &c->spec);
}

static void read_ports(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	manifest_read_ports(r, at, c->pod, &c->spec);
}

static void read_mounts(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	manifest_read_mounts(r, at, c->pod, &c->spec);
}

static void read_resources(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	manifest_read_resources(r, at, &c->spec);
}

static void read_security(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	manifest_read_container_security(r, at, &c->spec);
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

static const struct field container_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct container_read, spec.name,
		 .check = name_check_label, .required = true),
	FIELD_AT("image", FIELD_STRING, struct container_read, spec.image,
		 .check = name_check_image, .required = true),
	FIELD_AT("imagePullPolicy", FIELD_WORD, struct container_read, spec.pull,
		 .words = manifest_pull_words),
	FIELD_CALL("command", FIELD_LIST, read_command),
	FIELD_CALL("args", FIELD_LIST, read_args),
	FIELD_CALL("workingDir", FIELD_STRING, read_working_dir),
	FIELD_CALL("ports", FIELD_LIST, read_ports),
	FIELD_CALL("env", FIELD_LIST, read_env),
	FIELD_CALL("envFrom", FIELD_LIST, read_env_from),
	FIELD_CALL("resources", FIELD_OBJECT, read_resources),
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
enum pull_policy manifest_default_pull(const char *image)
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

static void check_propagation(struct json_reader *r, const struct json_at *at,
			      const struct container_spec *c)
{
	struct json_at mounts = json_member(at, "volumeMounts");

	for (size_t i = 0; i < c->n_mounts; i++)
		if (c->mounts[i].propagation == PROPAGATION_BOTH && !c->privileged) {
			json_fault(r, &mounts, DIAG_VALUE,
				   "%.64s: Bidirectional mount propagation is available "
				   "only to privileged containers",
				   c->mounts[i].path);
			break;
		}
}

static void read_container(struct json_reader *r, const struct json_at *at,
			   struct pod_spec *pod, bool init)
{
	struct container_read c = { .pod = pod,
				    .spec = { .init = init,
					      .user = { -1, -1, -1 },
					      .resources = { -1, -1, -1, -1 } } };
	struct json_at name = json_member(at, "name"), pull;
	size_t i;

	json_fields_read(r, at, container_fields, &c);
	check_propagation(r, at, &c.spec);
	pull = json_member(at, "imagePullPolicy");
	if (!pull.value && c.spec.image)
		c.spec.pull = manifest_default_pull(c.spec.image);
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
