// SPDX-License-Identifier: Apache-2.0
/*
 * status_json.c - a pod as Kubernetes prints it.
 *
 * Owns: nothing; every function returns a new reference. Called by: control.
 */
#include <stdio.h>
#include <string.h>

#include "pod/json_put.h"
#include "pod/launch.h"
#include "pod/network.h"
#include "pod/pod.h"
#include "pod/resources.h"

static void put_container_id(json *o, const struct member *m, const struct attempt *a)
{
	char id[POD_UID_BYTES + 96];

	(void)snprintf(id, sizeof(id), "podinit://%s/%s/%u", m->pod->uid, m->spec->name,
		       a->number);
	put_string(o, "containerID", id);
}

static json *terminated_json(const struct member *m, const struct attempt *a)
{
	json *state = json_object_new_object(), *t = json_object_new_object();

	put_int(t, "exitCode", a->exit_code);
	if (a->exit.by_signal)
		put_int(t, "signal", a->exit.status);
	put_string(t, "reason", a->reason);
	if (a->message[0])
		put_string(t, "message", a->message);
	put_time(t, "startedAt", a->started_wall_ns);
	put_time(t, "finishedAt", a->finished_wall_ns);
	put_container_id(t, m, a);
	put(state, "terminated", t);
	return state;
}

static json *waiting_json(const struct member *m)
{
	json *state = json_object_new_object(), *w = json_object_new_object();

	put_string(w, "reason", m->wait_reason);
	if (m->wait_message[0])
		put_string(w, "message", m->wait_message);
	put(state, "waiting", w);
	return state;
}

static json *running_json(const struct attempt *a)
{
	json *state = json_object_new_object(), *r = json_object_new_object();

	put_time(r, "startedAt", a->started_wall_ns);
	put(state, "running", r);
	return state;
}

/* state and lastState: the running or ended attempt, and the one before it. */
static void put_states(json *o, const struct member *m)
{
	const struct attempt *last = m->ran_twice ? &m->last : NULL;

	if (member_alive(m) && m->committed) {
		put(o, "state", running_json(&m->now));
	} else if (m->state == MEMBER_ENDED && m->ran) {
		put(o, "state", terminated_json(m, &m->now));
	} else {
		put(o, "state", waiting_json(m));
		last = m->ran ? &m->now : NULL;
	}
	put(o, "lastState", last ? terminated_json(m, last) : json_object_new_object());
}

static void put_user(json *o, const struct member *m)
{
	json *user = json_object_new_object(), *linux_user = json_object_new_object();
	json *groups = json_object_new_array();
	const struct user_ids *ids = &m->plan->user;

	put_int(linux_user, "uid", ids->uid);
	put_int(linux_user, "gid", ids->gid);
	for (size_t i = 0; i < ids->n_groups; i++)
		(void)json_object_array_add(groups,
					    json_object_new_int64(ids->groups[i]));
	put(linux_user, "supplementalGroups", groups);
	put(user, "linux", linux_user);
	put(o, "user", user);
}

/* VolumeMountStatus of core/v1; a kernel that lets podinit run can do it recursively. */
static void put_mounts(json *o, const struct member *m)
{
	json *list = json_object_new_array();

	for (size_t i = 0; list && i < m->spec->n_mounts; i++) {
		const struct spec_mount *mount = &m->spec->mounts[i];
		json *entry = json_object_new_object();

		put_string(entry, "name", m->pod->spec->volumes[mount->volume].name);
		put_string(entry, "mountPath", mount->path);
		if (mount->read_only) {
			put_bool(entry, "readOnly", true);
			put_string(entry, "recursiveReadOnly",
				   mount->recursive == RECURSIVE_DISABLED ? "Disabled" :
									    "Enabled");
		}
		(void)json_object_array_add(list, entry);
	}
	put(o, "volumeMounts", list);
}

static json *member_json(const struct member *m)
{
	json *o = json_object_new_object();

	put_string(o, "name", m->spec->name);
	put_states(o, m);
	put_bool(o, "ready",
		 m->spec->init ? member_succeeded(m) : m->state == MEMBER_RUNNING);
	put_bool(o, "started", member_started(m));
	put_int(o, "restartCount", m->restarts);
	put_string(o, "image", m->spec->image);
	put_string(o, "imageID", m->plan ? m->plan->image_id : "");
	if (m->ran)
		put_container_id(o, m, &m->now);
	if (m->plan)
		put_user(o, m);
	if (m->spec->n_mounts)
		put_mounts(o, m);
	return o;
}

/* "containers with unready status: [a b]": the same texts as the kubelet's. */
static void put_names(json *o, const struct pod *pod, enum pod_condition which)
{
	bool init = which == CONDITION_INITIALIZED;
	size_t from = init ? 0 : pod->spec->n_init;
	size_t to = init ? pod->spec->n_init : pod->n_members;
	char text[1024];
	int len = snprintf(text, sizeof(text), "containers with %s status: [",
			   init ? "incomplete" : "unready");
	const char *space = "";

	for (size_t i = from; i < to; i++) {
		const struct member *m = &pod->members[i];
		size_t left = sizeof(text) - (size_t)len;
		int n;

		if (init ? member_succeeded(m) : m->state == MEMBER_RUNNING)
			continue;
		n = snprintf(text + len, left, "%s%s", space, m->spec->name);
		if (n < 0 || (size_t)n + 2 > left)
			break; /* 128 members with long names: the first ones will do */
		len += n;
		space = " ";
	}
	(void)snprintf(text + len, sizeof(text) - (size_t)len, "]");
	put_string(o, "message", text);
}

static json *conditions_json(const struct pod *pod)
{
	json *list = json_object_new_array();

	for (size_t i = 0; i < CONDITION_MAX; i++) {
		const struct condition *c = &pod->conditions[i];
		json *o;

		if (i == CONDITION_NETWORK && !pod->net.plan)
			continue; /* it has none of its own */
		o = json_object_new_object();
		put_string(o, "type", pod_condition_name(i));
		put_string(o, "status", c->is_true ? "True" : "False");
		put_time(o, "lastTransitionTime", c->since_wall_ns);
		put_string(o, "reason", c->reason);
		if (c->reason && (!strcmp(c->reason, "ContainersNotReady") ||
				  !strcmp(c->reason, "ContainersNotInitialized")))
			put_names(o, pod, i);
		if (i == CONDITION_NETWORK && pod->net.watch.wrong)
			put_string(o, "message", pod->net.watch.text);
		(void)json_object_array_add(list, o);
	}
	return list;
}

static json *members_json(const struct pod *pod, size_t from, size_t to)
{
	json *list = json_object_new_array();

	for (size_t i = from; i < to; i++)
		(void)json_object_array_add(list, member_json(&pod->members[i]));
	return list;
}

static json *ip_json(const struct inet *ip)
{
	char text[INET_TEXT_BYTES];
	json *o = json_object_new_object();

	put_string(o, "ip", inet_format(ip, text));
	return o;
}

/* podIP and hostIP are the first of the lists (core/v1 PodStatus). */
static void put_ips(json *o, const struct inet *ips, size_t n, const char *one,
		    const char *all)
{
	char text[INET_TEXT_BYTES];
	json *list;

	if (n == 0)
		return;
	put_string(o, one, inet_format(&ips[0], text));
	list = json_object_new_array();
	for (size_t i = 0; i < n; i++)
		(void)json_object_array_add(list, ip_json(&ips[i]));
	put(o, all, list);
}

static void put_addresses(json *o, const struct pod *pod)
{
	struct inet ips[UPLINK_ADDRS_MAX];

	put_ips(o, ips, network_host_ips(pod->pods, ips, ARRAY_SIZE(ips)), "hostIP",
		"hostIPs");
	if (pod->sandbox.made || pod->state > POD_CREATED)
		put_ips(o, ips, network_ips(pod, ips, ARRAY_SIZE(ips)), "podIP",
			"podIPs");
}

static json *status_json(const struct pod *pod)
{
	json *o = json_object_new_object();

	put_string(o, "phase", pod->phase);
	put_string(o, "lifecycle", pod_lifecycle_name(pod));
	put_string(o, "reason", pod->reason);
	put_string(o, "message", pod->message);
	put_time(o, "startTime", pod->created_wall_ns);
	if (!pod->spec)
		return o;
	put_addresses(o, pod);
	put_string(o, "qosClass", resources_qos_name(resources_qos(pod->spec)));
	put(o, "conditions", conditions_json(pod));
	if (pod->spec->n_init)
		put(o, "initContainerStatuses", members_json(pod, 0, pod->spec->n_init));
	put(o, "containerStatuses", members_json(pod, pod->spec->n_init, pod->n_members));
	return o;
}

static json *pairs_json(const struct spec_pair *pairs, size_t n)
{
	json *o = json_object_new_object();

	for (size_t i = 0; i < n; i++)
		put_string(o, pairs[i].key, pairs[i].value);
	return o;
}

json *pod_json(const struct pod *pod)
{
	json *o = json_object_new_object(), *meta = json_object_new_object();

	put_string(o, "apiVersion", "v1");
	put_string(o, "kind", "Pod");
	put_string(meta, "name", pod->name);
	put_string(meta, "namespace", pod->namespace);
	put_string(meta, "uid", pod->uid);
	put_time(meta, "creationTimestamp", pod->created_wall_ns);
	if (pod->spec && pod->spec->n_labels)
		put(meta, "labels", pairs_json(pod->spec->labels, pod->spec->n_labels));
	if (pod->spec && pod->spec->n_annotations)
		put(meta, "annotations",
		    pairs_json(pod->spec->annotations, pod->spec->n_annotations));
	put(o, "metadata", meta);
	put(o, "status", status_json(pod));
	return o;
}
