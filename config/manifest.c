// SPDX-License-Identifier: Apache-2.0
/*
 * manifest.c - one document: a v1 Pod or a v1 List of Pods, and a Pod's metadata.
 *
 * Called by: init for files, control for pod-create, podctl check. Each pod gets its own
 * arena and its own range of errors, so that a bad one does not touch its neighbours.
 * Never: does a system call but for memory.
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
#define POD_ARENA_BYTES   (32u << 20)

/* Keys and values together; TotalAnnotationSizeLimitB of apimachinery. */
#define ANNOTATIONS_BYTES (256 * 1024)

_Static_assert(POD_SPEC_DEPTH == JSON_DOC_DEPTH, "one depth for all documents");

/* One document on its way. */
struct manifest_read {
	struct diag *diag;
	struct diag flaws; /* of the text, until it is known whose they are */
	struct json_at root;
	bool list;
};

/* ---- metadata -----------------------------------------------------------------------
 */

/* labels and annotations differ in their checks and limits only. */
static void read_pairs(struct json_reader *r, const struct json_at *at,
		       const char *(*check_key)(const char *),
		       const char *(*check_value)(const char *), struct spec_pair **pairs,
		       size_t *n_pairs)
{
	*pairs = json_keep_array(r, json_length(at), sizeof(**pairs));
	if (!*pairs)
		return;
	json_object_object_foreach(at->value, key, value) {
		struct json_at member = { .parent = at, .key = key, .value = value };
		const char *wrong = check_key(key), *text;

		if (wrong)
			json_fault(r, &member, DIAG_VALUE, "\"%.64s\" must be %s", key,
				   wrong);
		text = value ? json_expect_string(r, &member) : NULL;
		if (!text)
			continue;
		wrong = check_value ? check_value(text) : NULL;
		if (wrong)
			json_fault(r, &member, DIAG_VALUE, "\"%.64s\" must be %s", text,
				   wrong);
		(*pairs)[(*n_pairs)++] = (struct spec_pair){ json_keep(r, key),
							     json_keep(r, text) };
	}
}

static void read_labels(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;

	read_pairs(r, at, name_check_key, name_check_label_value, &pod->labels,
		   &pod->n_labels);
}

static void read_annotations(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;
	size_t total = 0;

	read_pairs(r, at, name_check_annotation_key, NULL, &pod->annotations,
		   &pod->n_annotations);
	json_object_object_foreach(at->value, key, value) {
		total += strlen(key) + (size_t)json_object_get_string_len(value);
	}
	if (total > ANNOTATIONS_BYTES)
		json_fault(r, at, DIAG_LIMIT,
			   "%zu bytes of annotations; at most %d are allowed", total,
			   ANNOTATIONS_BYTES);
}

static void read_uid(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;
	const char *text = json_text(at), *wrong = name_check_uid(text);

	if (*text && wrong)
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must be %s", text, wrong);
	else if (*text)
		pod->uid = json_keep(r, text);
}

static const struct field metadata_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct pod_spec, name,
		 .check = name_check_subdomain, .required = true),
	FIELD_AT("namespace", FIELD_STRING, struct pod_spec, namespace,
		 .check = name_check_label),
	FIELD_CALL("uid", FIELD_STRING, read_uid),
	FIELD_CALL("labels", FIELD_OBJECT, read_labels),
	FIELD_CALL("annotations", FIELD_OBJECT, read_annotations),
	FIELD_IGNORE("creationTimestamp", FIELD_STRING),
	FIELD_IGNORE("deletionGracePeriodSeconds", FIELD_INT),
	FIELD_IGNORE("deletionTimestamp", FIELD_STRING),
	FIELD_IGNORE("finalizers", FIELD_LIST),
	FIELD_IGNORE("generateName", FIELD_STRING),
	FIELD_IGNORE("generation", FIELD_INT),
	FIELD_IGNORE("managedFields", FIELD_LIST),
	FIELD_IGNORE("ownerReferences", FIELD_LIST),
	FIELD_IGNORE("resourceVersion", FIELD_STRING),
	FIELD_IGNORE("selfLink", FIELD_STRING),
	FIELD_TABLE_END,
};

static void read_metadata(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, metadata_fields, out);
}

static const struct field pod_fields[] = {
	FIELD_IGNORE("apiVersion", FIELD_STRING), /* read by check_kind() */
	FIELD_IGNORE("kind", FIELD_STRING),
	FIELD_CALL("metadata", FIELD_OBJECT, read_metadata, .required = true),
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

static void fault_kind(struct json_reader *r, const struct json_at *at, const char *kind,
		       const char *wanted)
{
	static const char *const known[] = { "Pod", "List" };
	const char *near = str_nearest(kind, known, ARRAY_SIZE(known));

	if (near && strcmp(near, kind) != 0)
		json_fault(r, at, DIAG_VALUE,
			   "unknown kind \"%.64s\"; did you mean \"%s\"?", kind, near);
	else
		json_fault(r, at, DIAG_UNSUPPORTED,
			   "kind \"%.64s\" is not supported by podinit yet; it reads %s",
			   kind, wanted);
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

/* Is at a v1 object of this kind (or of other, when that is not NULL)? */
static bool check_kind(struct json_reader *r, const struct json_at *at, const char *kind,
		       const char *other, const char *wanted)
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
	else if ((text = json_expect_string(r, &type)) && strcmp(text, kind) != 0 &&
		 (!other || strcmp(text, other) != 0))
		fault_kind(r, &type, text, wanted);
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

/* ---- pods ----------------------------------------------------------------------------
 */

/* For people to tell refused pods apart: only names that are fit to be shown and used. */
static void read_names(const struct json_at *at, struct manifest_pod *ret)
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

/* Reads the Pod at into ret, spec NULL when it has errors. 0 or -ENOMEM. */
static int read_pod(struct manifest_read *m, const struct json_at *at, size_t index,
		    struct manifest_pod *ret)
{
	struct json_reader reader = { .diag = m->diag, .empty_is_absent = true };
	size_t errors = m->diag->errors;
	struct pod_spec *spec;

	ret->first_diag = m->diag->n;
	take_flaws(m, index);
	if (!json_expect_object(&reader, at) ||
	    !check_kind(&reader, at, "Pod", NULL, "Pods in a List"))
		goto out;
	read_names(at, ret);
	spec = calloc(1, sizeof(*spec));
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
out:
	ret->n_diag = m->diag->n - ret->first_diag;
	return reader.out_of_memory ? -ENOMEM : 0;
}

/* A name twice in a List: the first keeps it. */
static void refuse_duplicate(struct manifest_read *m, const struct manifest *manifest,
			     const struct json_at *at, struct manifest_pod *pod)
{
	struct json_reader reader = { .diag = m->diag };
	struct json_at metadata = json_member(at, "metadata");
	struct json_at name = json_member(&metadata, "name");
	size_t i;

	for (i = 0; pod->spec && i < manifest->n_pods; i++) {
		const struct pod_spec *other = manifest->pods[i].spec;

		if (!other || strcmp(other->name, pod->spec->name) != 0 ||
		    strcmp(other->namespace, pod->spec->namespace) != 0)
			continue;
		json_fault(&reader, &name, DIAG_DUPLICATE,
			   "duplicate pod \"%.100s\" in namespace \"%s\"", other->name,
			   other->namespace);
		pod->n_diag = m->diag->n - pod->first_diag;
		pod_spec_free(ptr_steal(&pod->spec));
	}
}

static int read_items(struct manifest_read *m, const struct json_at *items,
		      struct manifest *ret)
{
	size_t n = json_length(items), i;
	int r;

	ret->pods = calloc(n ? n : 1, sizeof(*ret->pods));
	if (!ret->pods)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		struct json_at item = json_element(items, i);

		r = read_pod(m, &item, i, &ret->pods[i]);
		if (r < 0)
			return r;
		refuse_duplicate(m, ret, &item, &ret->pods[i]);
		ret->n_pods = i + 1;
	}
	return 0;
}

static int read_list(struct manifest_read *m, struct manifest *ret)
{
	struct json_reader reader = { .diag = m->diag };
	struct json_at items = json_member(&m->root, "items");
	size_t errors = m->diag->errors;

	take_flaws(m, SIZE_MAX);
	json_fields_read(&reader, &m->root, list_fields, NULL);
	if (json_length(&items) > POD_SPEC_MANIFEST_PODS)
		json_fault(&reader, &items, DIAG_LIMIT, "%zu items; at most %d are read",
			   json_length(&items), POD_SPEC_MANIFEST_PODS);
	/* Of flaws past what is kept nobody can say whose they are. */
	if (m->diag->errors > errors || m->flaws.dropped)
		return -EINVAL;
	return read_items(m, &items, ret);
}

static int read_document(struct manifest_read *m, struct manifest *ret)
{
	struct json_reader reader = { .diag = m->diag };
	struct json_at kind = json_member(&m->root, "kind");

	if (!check_kind(&reader, &m->root, "Pod", "List", "a Pod or a List of Pods")) {
		take_flaws(m, 0);
		return -EINVAL;
	}
	m->list = strcmp(json_text(&kind), "List") == 0;
	if (m->list)
		return read_list(m, ret);
	ret->pods = calloc(1, sizeof(*ret->pods));
	if (!ret->pods)
		return -ENOMEM;
	ret->n_pods = 1;
	return read_pod(m, &m->root, 0, &ret->pods[0]);
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
