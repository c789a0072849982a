// SPDX-License-Identifier: Apache-2.0
/*
 * commands_manifest.c - commands that take a manifest, and those about the ConfigMaps and
 * Secrets that came in one.
 *
 * Owns: nothing. Called by: commands.c. Never: answers with a value of an object.
 */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "base/log.h"
#include "config/diag.h"
#include "config/pod_spec.h"
#include "control/client.h"
#include "control/commands.h"
#include "control/state.h"
#include "pod/pods.h"

static bool add_error(struct json_object *errors, const char *kind, const char *pointer,
		      const char *text, const struct diag_item *item)
{
	struct json_object *obj = json_object_new_object();
	bool ok = obj && call_put_string(obj, "kind", kind) &&
		  call_put_string(obj, "pointer", pointer) &&
		  call_put_string(obj, "message", text);

	if (ok && item && item->line)
		ok = call_put_int(obj, "line", item->line) &&
		     call_put_int(obj, "column", item->column);
	if (ok && item && item->warning)
		ok = call_put(obj, "warning", json_object_new_boolean(1));
	if (ok && json_object_array_add(errors, obj) == 0)
		return true;
	json_object_put(obj);
	return false;
}

static bool add_diags(struct json_object *errors, const struct diag *d, size_t first,
		      size_t n)
{
	for (size_t i = first; i < d->n && i < first + n; i++)
		if (!add_error(errors, diag_kind_name(d->items[i].kind),
			       d->items[i].pointer, d->items[i].text, &d->items[i]))
			return false;
	return true;
}

/* What pod-create found out: lists of the result. */
struct outcome {
	struct json_object *created, *refused, *applied;
};

/* Appends {"kind","namespace","name"} to list and returns it (borrowed), or NULL. */
static struct json_object *add_item(struct json_object *list, const char *kind,
				    const struct manifest_id *id)
{
	struct json_object *obj = json_object_new_object();

	if (obj && (!kind || call_put_string(obj, "kind", kind)) &&
	    call_put_string(obj, "namespace", id->namespace) &&
	    call_put_string(obj, "name", id->name) &&
	    json_object_array_add(list, obj) == 0)
		return obj;
	json_object_put(obj);
	return NULL;
}

/* kind NULL: a pod. */
static bool refuse_item(struct outcome *o, const char *kind, const struct manifest_id *id,
			const struct diag *d, const struct err *e)
{
	struct json_object *obj = add_item(o->refused, kind, id);
	struct json_object *errors = json_object_new_array();

	if (!obj || !call_put(obj, "errors", errors))
		return false;
	if (e)
		return add_error(errors, "create", "/metadata/name", e->text, NULL);
	return add_diags(errors, d, id->first_diag, id->n_diag);
}

static bool apply_object(struct call *call, struct outcome *o, struct manifest_object *m,
			 const struct diag *d)
{
	static const char *const changes[] = {
		[OBJECT_CREATED] = "created",
		[OBJECT_CONFIGURED] = "configured",
		[OBJECT_UNCHANGED] = "unchanged",
	};
	const char *kind = object_kind_name(m->kind);
	enum object_change change;
	struct json_object *obj;
	struct err e = { 0 };

	if (!m->spec)
		return refuse_item(o, kind, &m->id, d, NULL);
	if (pods_apply_object(call->control->pods, m->spec, &change, &e) < 0)
		return refuse_item(o, kind, &m->id, d, &e);
	m->spec = NULL; /* taken */
	log_info("control: %s: %s %s/%s %s", call->client->name, kind, m->id.namespace,
		 m->id.name, changes[change]);
	obj = add_item(o->applied, kind, &m->id);
	return obj && call_put_string(obj, "change", changes[change]);
}

static bool create_pod(struct call *call, struct outcome *o, struct manifest_pod *m,
		       const struct diag *d)
{
	struct json_object *obj;
	struct pod *pod;
	struct err e = { 0 };

	if (!m->spec)
		return refuse_item(o, NULL, &m->id, d, NULL);
	if (pods_create(call->control->pods, m->spec, &pod, &e) < 0)
		return refuse_item(o, NULL, &m->id, d, &e);
	m->spec = NULL; /* taken */
	log_info("control: %s: create %s/%s", call->client->name, m->id.namespace,
		 m->id.name);
	obj = add_item(o->created, NULL, &m->id);
	return obj && call_put_string(obj, "uid", pod_uid(pod));
}

/* The first thing that is wrong, for people who see only the sentence. */
static int refused_sentence(struct call *call, const struct diag *d)
{
	char text[REQUEST_DESC_BYTES - 64];

	for (size_t i = 0; i < d->n; i++) {
		if (d->items[i].warning)
			continue;
		(void)diag_format(d, &d->items[i], text, sizeof(text));
		if (d->errors > 1)
			return call_fail(call, "%s (and %zu more)", text, d->errors - 1);
		return call_fail(call, "%s", text);
	}
	return call_fail(call, "the manifest is refused");
}

static int create_all(struct call *call, struct manifest *m, const struct diag *d,
		      struct json_object *result)
{
	struct outcome o = { json_object_new_array(), json_object_new_array(),
			     json_object_new_array() };
	struct json_object *first;
	bool ok = call_put(result, "created", o.created);

	/* Each is the result's, or freed. */
	ok &= call_put(result, "refused", o.refused);
	ok &= call_put(result, "applied", o.applied);
	if (!ok)
		return call_no_memory(call);
	for (size_t i = 0; i < m->n_objects; i++)
		if (!apply_object(call, &o, &m->objects[i], d))
			return call_no_memory(call);
	for (size_t i = 0; i < m->n_pods; i++)
		if (!create_pod(call, &o, &m->pods[i], d))
			return call_no_memory(call);
	if (json_object_array_length(o.created) || json_object_array_length(o.applied) ||
	    json_object_array_length(o.refused) == 0)
		return 0;
	if (d->errors)
		return refused_sentence(call, d);
	/* Readable and correct, but there is no place for it. */
	first = json_object_array_get_idx(o.refused, 0);
	first = json_object_object_get(first, "errors");
	first = json_object_object_get(json_object_array_get_idx(first, 0), "message");
	return call_fail(call, "%s", json_object_get_string(first));
}

static int create_from_text(struct call *call, const char *text, size_t len,
			    struct diag *d)
{
	struct json_object *result = json_object_new_object();
	struct json_object *errors;
	struct manifest m = { 0 };
	int r = manifest_parse(text, len, d, &m);

	if (!result) {
		r = call_no_memory(call);
	} else if (r == -EINVAL) {
		errors = json_object_new_array();
		if (call_put(result, "errors", errors))
			(void)add_diags(errors, d, 0, d->n); /* the sentence remains */
		r = refused_sentence(call, d);
	} else if (r < 0) {
		r = call_no_memory(call);
	} else {
		r = create_all(call, &m, d, result);
	}
	manifest_free(&m);
	if (r == 0)
		call->result = result;
	else
		call->data = result;
	return r;
}

int command_pod_create(struct call *call)
{
	struct json_object *manifest = call_get(call, "manifest");
	struct json_object *text = call_get(call, "text");
	_cleanup_free_ struct diag *d = malloc(
		sizeof(*d)); /* 12 KiB: not for the stack */
	const char *bytes;
	size_t len = 0;

	if (!d)
		return call_no_memory(call);
	if (!manifest == !text)
		return call_fail(call, "give one of 'manifest' and 'text'");
	diag_init(d, "");
	if (text) {
		bytes = json_object_get_string(text);
		len = (size_t)json_object_get_string_len(text);
	} else {
		bytes = json_object_to_json_string_length(manifest,
							  JSON_C_TO_STRING_PLAIN, &len);
	}
	return bytes ? create_from_text(call, bytes, len, d) : call_no_memory(call);
}

/* ---- objects ------------------------------------------------------------------------
 */

int command_object_list(struct call *call)
{
	call->result = pods_objects_json(call->control->pods,
					 call_string(call, "namespace", NULL));
	return call->result ? 0 : call_no_memory(call);
}

int command_object_delete(struct call *call)
{
	const char *kind_text = call_string(call, "kind", "");
	const char *namespace = call_string(call, "namespace", "default");
	const char *name = call_string(call, "name", "");
	enum object_kind kind;

	if (!object_kind_parse(kind_text, &kind))
		return call_fail(call, "kind '%.40s' is neither ConfigMap nor Secret",
				 kind_text);
	if (pods_delete_object(call->control->pods, kind, namespace, name) < 0)
		return call_fail(call, "there is no %s %.63s/%.100s",
				 object_kind_name(kind), namespace, name);
	log_info("control: %s: delete %s %s/%s", call->client->name,
		 object_kind_name(kind), namespace, name);
	return 0;
}
