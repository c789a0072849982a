// SPDX-License-Identifier: Apache-2.0
/*
 * manifest.c - one document: a v1 Pod, ConfigMap or Secret, or a v1 List of them.
 *
 * Called by: init for files, control for pod-create and apply, podctl check. Each item
 * gets its own arena and its own range of errors, so that a bad one does not touch its
 * neighbours. Never: does a system call but for memory.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "config/json_doc.h"
#include "config/manifest_parts.h"
#include "config/name_check.h"

/* Everything that a file of POD_SPEC_FILE_BYTES with JSON_SCAN_VALUES values can hold,
 * twice over; an arena past this is a mistake of ours. */
#define POD_ARENA_BYTES (32u << 20)

#define KINDS_WORDS     "Pods, ConfigMaps and Secrets"

_Static_assert(POD_SPEC_DEPTH == JSON_DOC_DEPTH, "one depth for all documents");

/* One document on its way. */
struct manifest_read {
	struct diag *diag;
	struct diag flaws; /* of the text, until it is known whose they are */
	struct json_at root;
	bool list;
};

static const struct field pod_fields[] = {
	FIELD_IGNORE("apiVersion", FIELD_STRING), /* read by check_kind() */
	FIELD_IGNORE("kind", FIELD_STRING),
	FIELD_CALL("metadata", FIELD_OBJECT, manifest_read_metadata, .required = true),
	FIELD_CALL("spec", FIELD_OBJECT, manifest_read_spec, .required = true),
	FIELD_IGNORE("status", FIELD_OBJECT),
	FIELD_TABLE_END,
};

static const struct field list_fields[] = {
	FIELD_IGNORE("apiVersion", FIELD_STRING),
	FIELD_IGNORE("kind", FIELD_STRING),
	FIELD_IGNORE("metadata", FIELD_OBJECT),
	FIELD_IGNORE("items", FIELD_LIST, .required = true),
	FIELD_TABLE_END,
};

/* ---- what the document is ------------------------------------------------------------
 */

static const char *const item_kinds[] = { "Pod", "ConfigMap", "Secret", NULL };
static const char *const document_kinds[] = { "Pod", "ConfigMap", "Secret", "List",
					      NULL };

static void fault_kind(struct json_reader *r, const struct json_at *at, const char *kind,
		       const char *const *kinds)
{
	size_t n = 0;
	const char *near;

	while (kinds[n])
		n++;
	near = str_nearest(kind, kinds, n);
	if (near && strcmp(near, kind) != 0)
		json_fault(r, at, DIAG_VALUE,
			   "unknown kind \"%.64s\"; did you mean \"%s\"?", kind, near);
	else
		json_fault(r, at, DIAG_UNSUPPORTED,
			   "kind \"%.64s\" is not supported by podinit; it reads "
			   "%s%s",
			   kind, KINDS_WORDS,
			   kinds == item_kinds ? " in a List" : ", and Lists of them");
}

/* Two older formats that people bring along; they are told apart by their shape. */
static bool fault_older_format(struct json_reader *r, const struct json_at *at)
{
	static const char *const bcs_kinds[] = { "application", "deployment", "process" };
	struct json_at version = json_member(at, "apiVersion");
	struct json_at kind = json_member(at, "kind");
	struct json_at containers = json_member(at, "containers");
	size_t i;

	if (!version.value && !kind.value && containers.value) {
		json_fault(
			r, at, DIAG_UNSUPPORTED,
			"looks like a hyper pod file, which is not supported by podinit "
			"yet; a Kubernetes v1 Pod is");
		return true;
	}
	for (i = 0; i < ARRAY_SIZE(bcs_kinds); i++) {
		if (strcmp(json_text(&kind), bcs_kinds[i]) != 0 ||
		    strcmp(json_text(&version), "v1") == 0)
			continue;
		json_fault(
			r, at, DIAG_UNSUPPORTED,
			"looks like a BCS %s, which is not supported by podinit yet; a "
			"Kubernetes v1 Pod is",
			bcs_kinds[i]);
		return true;
	}
	return false;
}

static bool kind_is(const char *text, const char *const *kinds)
{
	for (; *kinds; kinds++)
		if (strcmp(text, *kinds) == 0)
			return true;
	return false;
}

/* Is at a v1 object of one of these kinds? */
static bool check_kind(struct json_reader *r, const struct json_at *at,
		       const char *const *kinds)
{
	struct json_at version = json_member(at, "apiVersion");
	struct json_at type = json_member(at, "kind");
	size_t errors = r->diag->errors;
	const char *text;

	if (fault_older_format(r, at))
		return false;
	if (!type.value)
		json_fault(r, &type, DIAG_MISSING,
			   "the required field \"kind\" is missing");
	else if ((text = json_expect_string(r, &type)) && !kind_is(text, kinds))
		fault_kind(r, &type, text, kinds);
	/* The version of a kind that we do not read is not worth a second error. */
	if (r->diag->errors > errors && type.value)
		return false;
	if (!version.value)
		json_fault(r, &version, DIAG_MISSING,
			   "the required field \"apiVersion\" is missing");
	else if ((text = json_expect_string(r, &version)) && strcmp(text, "v1") != 0)
		json_fault(r, &version, DIAG_VALUE,
			   "unsupported apiVersion \"%.64s\"; must be \"v1\"", text);
	return r->diag->errors == errors;
}

/* ---- flaws of the text ---------------------------------------------------------------
 */

/* The pod that a flaw belongs to; SIZE_MAX: the document around them. */
static size_t flaw_owner(const struct manifest_read *m, const struct diag_item *flaw)
{
	const char *p = flaw->pointer;
	size_t index = 0;

	if (!m->list)
		return 0;
	if (strncmp(p, "/items/", 7) != 0)
		return SIZE_MAX;
	for (p += 7; *p >= '0' && *p <= '9' && index < POD_SPEC_MANIFEST_PODS; p++)
		index = index * 10 + (size_t)(*p - '0');
	return index;
}

static void take_flaws(struct manifest_read *m, size_t owner)
{
	size_t i;

	for (i = 0; i < m->flaws.n; i++) {
		const struct diag_item *flaw = &m->flaws.items[i];
		size_t before = m->diag->n;

		if (flaw_owner(m, flaw) != owner)
			continue;
		diag_add(m->diag, flaw->kind, flaw->pointer, "%s", flaw->text);
		if (m->diag->n == before)
			continue;
		m->diag->items[before].line = flaw->line;
		m->diag->items[before].column = flaw->column;
	}
}

/* ---- items ---------------------------------------------------------------------------
 */

/* For people to tell refused items apart: only names that are fit to be shown and used.
 */
static void read_names(const struct json_at *at, struct manifest_id *ret)
{
	struct json_at metadata = json_member(at, "metadata");
	struct json_at name = json_member(&metadata, "name");
	struct json_at namespace = json_member(&metadata, "namespace");

	if (!json_object_is_type(metadata.value, json_type_object))
		return;
	if (!name_check_subdomain(json_text(&name)))
		(void)snprintf(ret->name, sizeof(ret->name), "%s", json_text(&name));
	if (!namespace.value)
		(void)snprintf(ret->namespace, sizeof(ret->namespace), "default");
	else if (!name_check_label(json_text(&namespace)))
		(void)snprintf(ret->namespace, sizeof(ret->namespace), "%s",
			       json_text(&namespace));
}

/* Reads the Pod at into ret, spec NULL when there are more errors than those before its
 * text. 0 or -ENOMEM. */
static int read_pod(struct manifest_read *m, const struct json_at *at, size_t errors,
		    struct manifest_pod *ret)
{
	struct json_reader reader = { .diag = m->diag, .empty_is_absent = true };
	struct pod_spec *spec = calloc(1, sizeof(*spec));

	if (!spec)
		return -ENOMEM;
	arena_init(&spec->arena, POD_ARENA_BYTES);
	reader.arena = &spec->arena;
	spec->namespace = "default";
	json_fields_read(&reader, at, pod_fields, spec);
	if (m->diag->errors == errors && !reader.out_of_memory)
		ret->spec = spec;
	else
		pod_spec_free(spec);
	return reader.out_of_memory ? -ENOMEM : 0;
}

static int read_object(struct manifest_read *m, const struct json_at *at, size_t errors,
		       struct manifest_object *ret)
{
	struct json_reader reader = { .diag = m->diag, .empty_is_absent = true };
	struct object_spec *spec = calloc(1, sizeof(*spec));

	if (!spec)
		return -ENOMEM;
	arena_init(&spec->arena, POD_ARENA_BYTES);
	reader.arena = &spec->arena;
	spec->namespace = "default";
	spec->kind = ret->kind;
	manifest_read_object(&reader, at, spec);
	if (m->diag->errors == errors && !reader.out_of_memory)
		ret->spec = spec;
	else
		object_spec_free(spec);
	return reader.out_of_memory ? -ENOMEM : 0;
}

/* A name twice in a List: the first keeps it. */
static void fault_duplicate(struct manifest_read *m, const struct json_at *at,
			    const char *kind, const char *namespace, const char *name)
{
	struct json_reader reader = { .diag = m->diag };
	struct json_at metadata = json_member(at, "metadata");
	struct json_at name_at = json_member(&metadata, "name");

	json_fault(&reader, &name_at, DIAG_DUPLICATE,
		   "duplicate %s \"%.100s\" in namespace \"%s\"", kind, name, namespace);
}

static void refuse_duplicate_pod(struct manifest_read *m, const struct manifest *manifest,
				 const struct json_at *at, struct manifest_pod *pod)
{
	for (size_t i = 0; pod->spec && i < manifest->n_pods; i++) {
		const struct pod_spec *other = manifest->pods[i].spec;

		if (!other || strcmp(other->name, pod->spec->name) != 0 ||
		    strcmp(other->namespace, pod->spec->namespace) != 0)
			continue;
		fault_duplicate(m, at, "pod", other->namespace, other->name);
		pod_spec_free(ptr_steal(&pod->spec));
	}
}

static void refuse_duplicate_object(struct manifest_read *m,
				    const struct manifest *manifest,
				    const struct json_at *at,
				    struct manifest_object *object)
{
	for (size_t i = 0; object->spec && i < manifest->n_objects; i++) {
		const struct object_spec *other = manifest->objects[i].spec;

		if (!other || other->kind != object->kind ||
		    strcmp(other->name, object->spec->name) != 0 ||
		    strcmp(other->namespace, object->spec->namespace) != 0)
			continue;
		fault_duplicate(m, at, object_kind_name(other->kind), other->namespace,
				other->name);
		object_spec_free(ptr_steal(&object->spec));
	}
}

/* What cannot be told to be an object is refused as a pod. */
static int read_item(struct manifest_read *m, const struct json_at *at, size_t index,
		     struct manifest *ret)
{
	struct json_reader reader = { .diag = m->diag };
	struct manifest_object *object = &ret->objects[ret->n_objects];
	struct manifest_pod *pod = &ret->pods[ret->n_pods];
	struct manifest_id id = { .first_diag = m->diag->n };
	size_t errors = m->diag->errors;
	struct json_at kind;
	bool is_object = false;
	int r = 0;

	take_flaws(m, index);
	if (json_expect_object(&reader, at)) {
		kind = json_member(at, "kind");
		is_object = object_kind_parse(json_text(&kind), &object->kind);
		if (check_kind(&reader, at, item_kinds)) {
			read_names(at, &id);
			r = is_object ? read_object(m, at, errors, object) :
					read_pod(m, at, errors, pod);
		}
	}
	if (r < 0)
		return r;
	if (is_object) {
		refuse_duplicate_object(m, ret, at, object);
		ret->n_objects++;
	} else {
		refuse_duplicate_pod(m, ret, at, pod);
		ret->n_pods++;
	}
	id.n_diag = m->diag->n - id.first_diag;
	*(is_object ? &object->id : &pod->id) = id;
	return 0;
}

static int make_room(struct manifest *ret, size_t n)
{
	ret->pods = calloc(n ? n : 1, sizeof(*ret->pods));
	ret->objects = calloc(n ? n : 1, sizeof(*ret->objects));
	return ret->pods && ret->objects ? 0 : -ENOMEM;
}

static int read_list(struct manifest_read *m, struct manifest *ret)
{
	struct json_reader reader = { .diag = m->diag };
	struct json_at items = json_member(&m->root, "items");
	size_t errors = m->diag->errors, n = json_length(&items);
	int r;

	take_flaws(m, SIZE_MAX);
	json_fields_read(&reader, &m->root, list_fields, NULL);
	if (n > POD_SPEC_MANIFEST_PODS)
		json_fault(&reader, &items, DIAG_LIMIT, "%zu items; at most %d are read",
			   n, POD_SPEC_MANIFEST_PODS);
	/* Of flaws past what is kept nobody can say whose they are. */
	if (m->diag->errors > errors || m->flaws.dropped)
		return -EINVAL;
	r = make_room(ret, n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct json_at item = json_element(&items, i);

		r = read_item(m, &item, i, ret);
	}
	return r;
}

static int read_document(struct manifest_read *m, struct manifest *ret)
{
	struct json_reader reader = { .diag = m->diag };
	struct json_at kind = json_member(&m->root, "kind");
	int r;

	if (!check_kind(&reader, &m->root, document_kinds)) {
		take_flaws(m, 0);
		return -EINVAL;
	}
	m->list = strcmp(json_text(&kind), "List") == 0;
	if (m->list)
		return read_list(m, ret);
	r = make_room(ret, 1);
	return r < 0 ? r : read_item(m, &m->root, 0, ret);
}

int manifest_parse(const char *text, size_t len, struct diag *diag, struct manifest *ret)
{
	struct manifest_read m = { .diag = diag };
	struct manifest manifest = { .n_pods = 0 };
	size_t first = diag->n;
	int r;

	r = json_doc_parse(text, len, POD_SPEC_FILE_BYTES, diag, &m.flaws, &m.root.value);
	if (r == 0) {
		r = read_document(&m, &manifest);
		json_object_put(m.root.value);
	} else {
		take_flaws(&m, 0);
	}
	diag->errors += m.flaws.dropped;
	diag->dropped += m.flaws.dropped;
	if (r != -ENOMEM)
		json_doc_locate(text, len, diag, first);
	if (r < 0)
		manifest_free(&manifest);
	else
		*ret = manifest;
	return r;
}
