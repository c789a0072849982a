// SPDX-License-Identifier: Apache-2.0
/*
 * commands_pod.c - commands about pods and members.
 *
 * Owns: nothing; translates between the channel and pod/pods.h. Called by: commands.c.
 */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "base/log.h"
#include "config/diag.h"
#include "config/pod_spec.h"
#include "config/signal_name.h"
#include "control/client.h"
#include "control/commands.h"
#include "control/state.h"
#include "pod/pods.h"

int command_pod_list(struct call *call)
{
	const char *namespace = call_string(call, "namespace", NULL);
	struct json_object *all = pods_list_json(call->control->pods), *item, *name;

	if (!all)
		return call_no_memory(call);
	for (size_t i = json_object_array_length(all); namespace && i-- > 0;) {
		item = json_object_array_get_idx(all, i);
		if (json_object_object_get_ex(item, "namespace", &name) &&
		    strcmp(json_object_get_string(name), namespace) != 0)
			(void)json_object_array_del_idx(all, i, 1); /* i is in range */
	}
	call->result = all;
	return 0;
}

int command_pod_status(struct call *call)
{
	struct pod *pod = call_pod(call);

	if (!pod)
		return -ENOENT;
	call->result = pod_json(pod);
	return call->result ? 0 : call_no_memory(call);
}

int command_pod_net(struct call *call)
{
	struct pod *pod = NULL;

	if (call_has(call, "name")) {
		pod = call_pod(call);
		if (!pod)
			return -ENOENT;
	}
	return deferred_net(call, call_string(call, "namespace", NULL), pod);
}

/* -1 = the pod's own. */
static int64_t grace_ms(const struct call *call)
{
	int64_t seconds = call_int(call, "graceSeconds", -1);

	return seconds < 0 ? -1 : seconds * 1000;
}

/* Who changed something, and what: one line for each request that was carried out. The
 * names are those of a pod, which were checked when it was made. */
static void log_change(const struct call *call, const char *what)
{
	log_info("control: %s: %s %s/%s", call->client->name, what,
		 call_string(call, "namespace", "default"),
		 call_string(call, "name", ""));
}

int command_pod_stop(struct call *call)
{
	struct pod *pod = call_pod(call);

	if (!pod)
		return -ENOENT;
	log_change(call, "stop");
	pod_stop(pod, grace_ms(call));
	return 0;
}

int command_pod_delete(struct call *call)
{
	struct pod *pod = call_pod(call);

	if (!pod)
		return -ENOENT;
	log_change(call, "delete");
	pod_delete(pod, grace_ms(call));
	return 0;
}

static int signal_of(const struct call *call)
{
	struct json_object *value = call_get(call, "signal");

	if (!value)
		return signal_parse("TERM");
	if (json_object_is_type(value, json_type_int))
		return json_object_get_int(value);
	return signal_parse(json_object_get_string(value));
}

int command_member_kill(struct call *call)
{
	struct pod *pod = call_pod(call);
	const char *member = call_string(call, "member", "");
	int sig = signal_of(call), r;

	if (!pod)
		return -ENOENT;
	r = member_kill(pod, member, sig);
	if (r == 0)
		log_info("control: %s: signal %s to %s/%s/%s", call->client->name,
			 signal_name(sig), call_string(call, "namespace", "default"),
			 call_string(call, "name", ""), member);
	if (r == -ENOENT)
		return call_fail(call, "the pod has no member '%.63s'", member);
	if (r == -ESRCH)
		return call_fail(call, "member '%.63s' is not running", member);
	if (r < 0)
		return call_fail(call, "%s to '%.63s': %s", signal_name(sig), member,
				 strerror(-r));
	return 0;
}

/* ---- pod-create -------------------------------------------------------------------- */

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

/* What pod-create found out: two lists of the result. */
struct outcome {
	struct json_object *created, *refused;
};

/* Appends {"namespace","name"} to list and returns it (borrowed), or NULL. */
static struct json_object *add_pod(struct json_object *list, const struct manifest_pod *m)
{
	struct json_object *obj = json_object_new_object();

	if (obj && call_put_string(obj, "namespace", m->namespace) &&
	    call_put_string(obj, "name", m->name) &&
	    json_object_array_add(list, obj) == 0)
		return obj;
	json_object_put(obj);
	return NULL;
}

static bool refuse_pod(struct outcome *o, const struct manifest_pod *m,
		       const struct diag *d, const struct err *e)
{
	struct json_object *obj = add_pod(o->refused, m);
	struct json_object *errors = json_object_new_array();

	if (!obj || !call_put(obj, "errors", errors))
		return false;
	if (e)
		return add_error(errors, "create", "/metadata/name", e->text, NULL);
	return add_diags(errors, d, m->first_diag, m->n_diag);
}

static bool create_pod(struct call *call, struct outcome *o, struct manifest_pod *m,
		       const struct diag *d)
{
	struct json_object *obj;
	struct pod *pod;
	struct err e = { 0 };

	if (!m->spec)
		return refuse_pod(o, m, d, NULL);
	if (pods_create(call->control->pods, m->spec, &pod, &e) < 0)
		return refuse_pod(o, m, d, &e);
	m->spec = NULL; /* taken */
	log_info("control: %s: create %s/%s", call->client->name, m->namespace, m->name);
	obj = add_pod(o->created, m);
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
	struct outcome o = { json_object_new_array(), json_object_new_array() };
	struct json_object *first;

	if (!call_put(result, "created", o.created) ||
	    !call_put(result, "refused", o.refused))
		return call_no_memory(call);
	for (size_t i = 0; i < m->n_pods; i++)
		if (!create_pod(call, &o, &m->pods[i], d))
			return call_no_memory(call);
	if (json_object_array_length(o.created) || m->n_pods == 0)
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
