// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_security.c - securityContext, of a Pod and of a container.
 *
 * Source: core/v1 types.go (PodSecurityContext, SecurityContext), core/validation.
 */
#include <json-c/json.h>
#include <string.h>
#include <strings.h>

#include "config/capability_name.h"
#include "config/manifest_parts.h"

#define ID_MAX       2147483647 /* ValidateUserID(), ValidateGroupID() */
#define GROUPS_MAX   32         /* supplementalGroups */
#define SYSCTL_BYTES 253

static const char *const proc_mount_words[] = { "Default", "Unmasked", NULL };
static const char *const groups_words[] = { "Merge", "Strict", NULL };

/* ---- what both have ---- */

static const struct field apparmor_fields[] = {
	FIELD_REFUSE("type", FIELD_STRING, "RuntimeDefault Unconfined", .required = true),
	FIELD_REFUSE("localhostProfile", FIELD_STRING, NULL),
	FIELD_TABLE_END,
};

static void read_apparmor(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, apparmor_fields, out);
}

/* ---- of a container ---- */

struct container_read {
	struct container_spec *spec;
	bool asks_sys_admin; /* "CAP_SYS_ADMIN", written like that */
};

static void read_uid(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;
	int64_t id = json_object_get_int64(at->value);

	if (json_check_range(r, at, id, 0, ID_MAX))
		c->spec->user.uid = id;
}

static void read_gid(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;
	int64_t id = json_object_get_int64(at->value);

	if (json_check_range(r, at, id, 0, ID_MAX))
		c->spec->user.gid = id;
}

static void read_non_root(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	(void)r;
	c->spec->user.non_root = json_object_get_boolean(at->value);
}

static void read_read_only(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	(void)r;
	c->spec->read_only_root = json_object_get_boolean(at->value);
}

/* The names of a list as bits; "ALL" apart. */
static void read_names(struct json_reader *r, const struct json_at *at, uint64_t *ret,
		       bool *ret_all)
{
	for (size_t i = 0; i < json_length(at); i++) {
		struct json_at element = json_element(at, i);
		const char *name = json_expect_string(r, &element), *near;
		int number;

		if (!name)
			continue;
		if (strcasecmp(name, "ALL") == 0) {
			*ret_all = true;
			continue;
		}
		number = capability_parse(name);
		if (number >= 0) {
			*ret |= UINT64_C(1) << number;
			continue;
		}
		near = capability_nearest(name);
		json_fault(r, &element, DIAG_VALUE, "unknown capability \"%.40s\"%s%s%s",
			   name, near ? "; did you mean \"" : "", near ? near : "",
			   near ? "\"?" : "");
	}
}

static void read_add(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	read_names(r, at, &c->spec->caps.add, &c->spec->caps.add_all);
	for (size_t i = 0; i < json_length(at); i++) {
		struct json_at element = json_element(at, i);

		c->asks_sys_admin |= strcmp(json_text(&element), "CAP_SYS_ADMIN") == 0;
	}
}

static void read_drop(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	read_names(r, at, &c->spec->caps.drop, &c->spec->caps.drop_all);
}

static const struct field capability_fields[] = {
	FIELD_CALL("add", FIELD_LIST, read_add),
	FIELD_CALL("drop", FIELD_LIST, read_drop),
	FIELD_TABLE_END,
};

static void read_capabilities(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, capability_fields, out);
}

static void read_privileged(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	(void)r;
	c->spec->privileged = json_object_get_boolean(at->value);
}

static void read_escalation(struct json_reader *r, const struct json_at *at, void *out)
{
	struct container_read *c = out;

	c->spec->no_new_privs = !json_object_get_boolean(at->value);
	if (c->spec->no_new_privs && c->spec->privileged)
		json_fault(r, at, DIAG_VALUE,
			   "allowPrivilegeEscalation must not be false when privileged "
			   "is true");
	/* ValidateSecurityContext() knows this one spelling of it. */
	if (c->spec->no_new_privs && c->asks_sys_admin)
		json_fault(
			r, at, DIAG_VALUE,
			"allowPrivilegeEscalation must not be false when CAP_SYS_ADMIN "
			"is added");
}

static const struct field container_fields[] = {
	FIELD_CALL("runAsUser", FIELD_INT, read_uid),
	FIELD_CALL("runAsGroup", FIELD_INT, read_gid),
	FIELD_CALL("runAsNonRoot", FIELD_BOOL, read_non_root),
	FIELD_CALL("privileged", FIELD_BOOL, read_privileged),
	FIELD_CALL("capabilities", FIELD_OBJECT, read_capabilities),
	FIELD_CALL("allowPrivilegeEscalation", FIELD_BOOL, read_escalation),
	FIELD_CALL("readOnlyRootFilesystem", FIELD_BOOL, read_read_only),
	FIELD_REFUSE("procMount", FIELD_WORD, "Default", .words = proc_mount_words),
	FIELD_REFUSE("seccompProfile", FIELD_OBJECT, NULL),
	FIELD_CALL("appArmorProfile", FIELD_OBJECT, read_apparmor),
	FIELD_IGNORE("seLinuxOptions", FIELD_OBJECT, .harmless = "{}",
		     .note = "there is no SELinux policy"),
	FIELD_REFUSE("windowsOptions", FIELD_OBJECT, NULL),
	FIELD_TABLE_END,
};

void manifest_read_container_security(struct json_reader *r, const struct json_at *at,
				      struct container_spec *c)
{
	struct container_read read = { .spec = c };

	json_fields_read(r, at, container_fields, &read);
}

/* ---- of the pod ---- */

struct pod_read {
	struct pod_spec *spec;
	struct spec_user user; /* for containers that have none of their own */
	bool non_root;
	int policy;
};

static void read_groups(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_read *p = out;
	size_t n = json_length(at);

	if (!manifest_check_length(r, at, GROUPS_MAX) || n == 0)
		return;
	p->spec->groups = json_keep_array(r, n, sizeof(p->spec->groups[0]));
	for (size_t i = 0; p->spec->groups && i < n; i++) {
		struct json_at element = json_element(at, i);
		int64_t id = json_object_get_int64(element.value);

		if (!json_object_is_type(element.value, json_type_int))
			json_fault(r, &element, DIAG_TYPE, "must be a whole number");
		else if (json_check_range(r, &element, id, 0, ID_MAX))
			p->spec->groups[p->spec->n_groups++] = (uint32_t)id;
	}
}

static void read_fs_group(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_read *p = out;
	int64_t id = json_object_get_int64(at->value);

	if (json_check_range(r, at, id, 0, ID_MAX))
		p->spec->fs_group = id;
}

/* SysctlFmt of core/validation: parts of a-z, 0-9, '-' and '_', with '.' or '/' between;
 * they are kept with dots between the parts. */
static const char *check_sysctl(const char *s)
{
	static const char rule[] = "a sysctl's name such as \"net.ipv4.tcp_syncookies\"";
	size_t len = strlen(s);

	if (len == 0 || len > SYSCTL_BYTES ||
	    strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-_./") != len)
		return rule;
	for (size_t i = 0; i <= len; i++) {
		bool edge = i == 0 || i == len || strchr("./", s[i - 1]) ||
			    strchr("./", s[i]);

		/* Each part begins and ends with a letter or a digit. */
		if (edge &&
		    ((i > 0 && !strchr("./", s[i - 1]) && strchr("-_", s[i - 1])) ||
		     (i < len && strchr("-_", s[i])) ||
		     (i > 0 && i < len && strchr("./", s[i - 1]) && strchr("./", s[i]))))
			return rule;
	}
	return strchr("./", s[0]) || strchr("./", s[len - 1]) ? rule : NULL;
}

static const struct field sysctl_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct spec_pair, key, .check = check_sysctl,
		 .required = true),
	FIELD_AT("value", FIELD_STRING, struct spec_pair, value, .required = true),
	FIELD_TABLE_END,
};

static void read_sysctl(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *spec = out;
	struct json_at name = json_member(at, "name");
	struct spec_pair pair = { NULL, "" };
	char *dotted;

	json_fields_read(r, at, sysctl_fields, &pair);
	dotted = pair.key ? json_keep(r, pair.key) : NULL;
	if (!dotted)
		return;
	/* "net/ipv4/conf/eth0.1/x" and "net.ipv4.conf.eth0/1.x" are the same one. */
	if (dotted[strcspn(dotted, "./")] == '/')
		for (char *p = dotted; *p; p++)
			*p = *p == '/' ? '.' : *p == '.' ? '/' : *p;
	for (size_t i = 0; i < spec->n_sysctls; i++)
		if (strcmp(spec->sysctls[i].key, dotted) == 0)
			json_fault(r, &name, DIAG_DUPLICATE, "duplicate sysctl \"%s\"",
				   dotted);
	spec->sysctls[spec->n_sysctls++] = (struct spec_pair){ .key = dotted,
							       .value = pair.value };
}

static void read_sysctls(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_read *p = out;

	if (!manifest_check_length(r, at, MANIFEST_SYSCTLS))
		return;
	p->spec->sysctls = json_keep_array(r, json_length(at), sizeof(*p->spec->sysctls));
	if (p->spec->sysctls)
		json_list_read(r, at, read_sysctl, p->spec);
}

static const struct field pod_fields[] = {
	FIELD_AT("runAsUser", FIELD_INT, struct pod_read, user.uid, .min = 0,
		 .max = ID_MAX),
	FIELD_AT("runAsGroup", FIELD_INT, struct pod_read, user.gid, .min = 0,
		 .max = ID_MAX),
	FIELD_AT("runAsNonRoot", FIELD_BOOL, struct pod_read, non_root),
	FIELD_CALL("supplementalGroups", FIELD_LIST, read_groups),
	FIELD_AT("supplementalGroupsPolicy", FIELD_WORD, struct pod_read, policy,
		 .words = groups_words),
	FIELD_CALL("fsGroup", FIELD_INT, read_fs_group),
	FIELD_IGNORE("fsGroupChangePolicy", FIELD_STRING),
	FIELD_CALL("sysctls", FIELD_LIST, read_sysctls),
	FIELD_REFUSE("seccompProfile", FIELD_OBJECT, NULL),
	FIELD_CALL("appArmorProfile", FIELD_OBJECT, read_apparmor),
	FIELD_IGNORE("seLinuxOptions", FIELD_OBJECT, .harmless = "{}",
		     .note = "there is no SELinux policy"),
	FIELD_IGNORE("seLinuxChangePolicy", FIELD_STRING),
	FIELD_REFUSE("windowsOptions", FIELD_OBJECT, NULL),
	FIELD_TABLE_END,
};

/* A container's own value wins over the pod's. */
void manifest_read_pod_security(struct json_reader *r, const struct json_at *at,
				void *out)
{
	struct pod_spec *pod = out;
	struct pod_read read = { .spec = pod, .user = { -1, -1, -1 } };

	json_fields_read(r, at, pod_fields, &read);
	pod->own_groups_only = read.policy == 1;
	for (size_t i = 0; i < pod->n_members; i++) {
		struct spec_user *member = &pod->members[i].user;

		member->uid = member->uid >= 0 ? member->uid : read.user.uid;
		member->gid = member->gid >= 0 ? member->gid : read.user.gid;
		member->non_root = member->non_root >= 0 ? member->non_root :
							   read.non_root;
	}
}
