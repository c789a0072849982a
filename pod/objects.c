// SPDX-License-Identifier: Apache-2.0
/*
 * objects.c - see objects.h, and pods_apply_object() and its like in pods.h.
 */
#include "pod/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pod/json_put.h"
#include "pod/pod.h"
#include "pod/volumes.h"

/* An object's place is stable; what it holds is replaced. */
struct object {
	struct list node;
	struct object_spec *spec;
};

static struct object *find(const struct pods *pods, enum object_kind kind,
			   const char *namespace, const char *name)
{
	list_for_each(node, &pods->objects) {
		struct object *o = list_entry(node, struct object, node);

		if (o->spec->kind == kind && !strcmp(o->spec->name, name) &&
		    !strcmp(o->spec->namespace, namespace))
			return o;
	}
	return NULL;
}

const struct object_spec *objects_find(const struct pods *pods, enum object_kind kind,
				       const char *namespace, const char *name)
{
	const struct object *o = find(pods, kind, namespace, name);

	return o ? o->spec : NULL;
}

int objects_resolve(const struct pods *pods, const char *namespace,
		    const struct spec_object_ref *ref, const struct object_spec **ret,
		    struct err *e)
{
	const struct object_spec *spec = objects_find(pods, ref->kind, namespace,
						      ref->name);

	if (!spec && !ref->optional)
		return err_setx(e, STAGE_CONFIG, ENOENT, "%s \"%.100s\" not found",
				object_kind_word(ref->kind), ref->name);
	*ret = spec;
	return 0;
}

int objects_resolve_key(const char *namespace, const struct spec_object_ref *ref,
			const struct object_spec *object, const char *key,
			const struct object_entry **ret, struct err *e)
{
	const struct object_entry *entry = object ? object_find(object, key) : NULL;

	if (!entry && object && !ref->optional)
		return err_setx(e, STAGE_CONFIG, ENOENT,
				"couldn't find key %.64s in %s %s/%.100s", key,
				object_kind_name(ref->kind), namespace, ref->name);
	*ret = entry;
	return 0;
}

/* ---- changes ---- */

static bool mentions(const struct spec_object_ref *ref, const struct object_spec *spec)
{
	return ref->kind == spec->kind && !strcmp(ref->name, spec->name);
}

static bool member_uses(const struct container_spec *c, const struct object_spec *spec)
{
	for (size_t i = 0; i < c->n_env; i++)
		if (c->env[i].source == ENV_OBJECT && mentions(&c->env[i].object, spec))
			return true;
	for (size_t i = 0; i < c->n_env_from; i++)
		if (mentions(&c->env_from[i].object, spec))
			return true;
	return false;
}

static bool volume_uses(const struct spec_volume *v, const struct object_spec *spec)
{
	for (size_t i = 0; i < v->n_sources; i++)
		if (!v->sources[i].downward && mentions(&v->sources[i].object, spec))
			return true;
	return false;
}

static bool pod_uses(const struct pod *pod, const struct object_spec *spec)
{
	const struct pod_spec *p = pod->spec;

	if (!p || pod_ended(pod) || strcmp(pod->namespace, spec->namespace) != 0)
		return false;
	for (size_t i = 0; i < p->n_members; i++)
		if (member_uses(&p->members[i], spec))
			return true;
	for (size_t i = 0; i < p->n_volumes; i++)
		if (volume_uses(&p->volumes[i], spec))
			return true;
	return false;
}

/* Who waits for it goes on at once, whose files hold it gets them anew, and whoever is
 * started from now on has it in its environment. */
static void changed(struct pods *pods, const struct object_spec *spec)
{
	pods->objects_changed++;
	if (pods->stopping)
		return;
	list_for_each_safe(node, &pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if (!pod_uses(pod, spec))
			continue;
		for (size_t i = 0; i < pod->spec->n_volumes; i++)
			if (volume_uses(&pod->spec->volumes[i], spec))
				volumes_changed(pod, i);
		for (size_t i = 0; i < pod->n_members; i++)
			if (member_uses(pod->members[i].spec, spec))
				member_retry_start(&pod->members[i]);
	}
}

static int check_apply(struct pods *pods, const struct object *old,
		       const struct object_spec *spec, struct err *e)
{
	size_t bytes = pods->object_bytes - (old ? old->spec->data_bytes : 0);
	const char *kind = object_kind_word(spec->kind);

	if (pods->stopping)
		return err_setx(e, STAGE_CONFIG, ESHUTDOWN, "the machine is stopping");
	if (old && old->spec->immutable &&
	    (!spec->immutable || !object_same_data(old->spec, spec)))
		return err_setx(
			e, STAGE_CONFIG, EPERM,
			"%s %s/%.100s is immutable: it can be deleted, not changed", kind,
			spec->namespace, spec->name);
	if (!old && pods->n_objects >= OBJECTS_MAX)
		return err_setx(e, STAGE_CONFIG, ENOSPC,
				"there are %d ConfigMaps and Secrets already",
				OBJECTS_MAX);
	if (bytes + spec->data_bytes > OBJECTS_BYTES)
		return err_setx(
			e, STAGE_CONFIG, ENOSPC,
			"all ConfigMaps and Secrets together would hold more than "
			"%u MiB",
			OBJECTS_BYTES >> 20);
	return 0;
}

int pods_apply_object(struct pods *pods, struct object_spec *spec,
		      enum object_change *ret, struct err *e)
{
	struct object *o = find(pods, spec->kind, spec->namespace, spec->name);
	struct object_spec *old = o ? o->spec : NULL;
	int r = check_apply(pods, o, spec, e);

	if (r < 0)
		return r;
	*ret = !o ? OBJECT_CREATED :
	       object_same_data(old, spec) && old->immutable == spec->immutable ?
		    OBJECT_UNCHANGED :
		    OBJECT_CONFIGURED;
	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o)
			return err_set(e, STAGE_CONFIG, ENOMEM, "%s",
				       object_kind_word(spec->kind));
		list_append(&pods->objects, &o->node);
		pods->n_objects++;
	}
	pods->object_bytes += spec->data_bytes - (old ? old->data_bytes : 0);
	o->spec = spec;
	object_spec_free(old);
	if (*ret != OBJECT_UNCHANGED)
		changed(pods, spec);
	return 0;
}

int pods_delete_object(struct pods *pods, enum object_kind kind, const char *namespace,
		       const char *name)
{
	struct object *o = find(pods, kind, namespace ? namespace : "default", name);

	if (!o)
		return -ENOENT;
	list_remove(&o->node);
	pods->n_objects--;
	pods->object_bytes -= o->spec->data_bytes;
	/* As with the kubelet: what is written stays, what starts misses it. */
	pods->objects_changed++;
	object_spec_free(o->spec);
	free(o);
	return 0;
}

/* ---- for people: names and sizes, never a value ---- */

static struct json_object *object_json(const struct pods *pods,
				       const struct object_spec *spec)
{
	struct json_object *obj = json_object_new_object();
	struct json_object *keys = json_object_new_array();
	struct json_object *users = json_object_new_array();
	bool ok = obj && keys && users;

	for (size_t i = 0; ok && i < spec->n_entries; i++)
		ok = json_object_array_add(
			     keys, json_object_new_string(spec->entries[i].key)) == 0;
	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		if (ok && pod_uses(pod, spec))
			ok = json_object_array_add(
				     users, json_object_new_string(pod->name)) == 0;
	}
	if (!ok) {
		json_object_put(obj);
		json_object_put(keys);
		json_object_put(users);
		return NULL;
	}
	put_string(obj, "kind", object_kind_name(spec->kind));
	put_string(obj, "namespace", spec->namespace);
	put_string(obj, "name", spec->name);
	put_bool(obj, "immutable", spec->immutable);
	put_int(obj, "bytes", (int64_t)spec->data_bytes);
	put(obj, "keys", keys);
	put(obj, "usedBy", users);
	return obj;
}

struct json_object *pods_objects_json(const struct pods *pods, const char *namespace)
{
	struct json_object *list = json_object_new_array();

	list_for_each(node, &pods->objects) {
		const struct object *o = list_entry(node, struct object, node);
		struct json_object *obj;

		if (!list || (namespace && strcmp(o->spec->namespace, namespace) != 0))
			continue;
		obj = object_json(pods, o->spec);
		if (!obj || json_object_array_add(list, obj) < 0) {
			json_object_put(obj);
			json_object_put(list);
			return NULL;
		}
	}
	return list;
}
