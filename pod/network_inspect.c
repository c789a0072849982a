// SPDX-License-Identifier: Apache-2.0
/*
 * network_inspect.c - the pods' network as the kernel has it, for people: see pods.h.
 *
 * Owns: struct pods_net_job: a child that asks the kernel and writes JSON into a memfd.
 * PID 1 hands that on as it is and never parses it. A cancelled job lives until its child
 * has been collected.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "netlink/inspect.h"
#include "netlink/nl.h"
#include "pod/host_ports.h"
#include "pod/network_private.h"
#include "pod/pod.h"

#define JOBS_MAX   4
#define TIMEOUT_NS (8 * NSEC_PER_SEC) /* before the asker's patience ends (10 s) */
#define NETNS_DIR  "/run/netns/"

struct pods_net_job {
	struct pods *pods;
	struct pods_net_query *query; /* NULL: cancelled */
	struct child child;
	int fd; /* memfd for the answer */
	bool machine;
	size_t n, n_netns;
	int *netns;             /* of the pods that have one, in their order; borrowed */
	const struct pod *of[]; /* n pods, for the child's copy only */
};

/* ---- in the child ---- */

#define ANSWER      3 /* child.keep_fd */
#define FIRST_NETNS 4 /* child.more_fds */

static void put(struct json_object *o, const char *key, struct json_object *value)
{
	if (value && json_object_object_add(o, key, value) < 0)
		json_object_put(value);
}

static void put_text(struct json_object *o, const char *key, const char *text)
{
	put(o, key, json_object_new_string(text));
}

static void append(struct json_object *list, struct json_object *value)
{
	if (value && json_object_array_add(list, value) < 0)
		json_object_put(value);
}

struct port_list {
	struct json_object *list;
	bool active;
};

static int put_port(void *arg, const char *member, const struct nft_port *port)
{
	static const char *const protocols[] = {
		[NFT_TCP] = "TCP",
		[NFT_UDP] = "UDP",
		[NFT_SCTP] = "SCTP",
	};
	const struct port_list *ports = arg;
	struct json_object *o = json_object_new_object();
	char text[INET_TEXT_BYTES];

	put_text(o, "member", member);
	put_text(o, "protocol", protocols[port->protocol]);
	if (port->host.family)
		put_text(o, "hostIP", inet_format(&port->host, text));
	put(o, "hostPort", json_object_new_int(port->host_port));
	put_text(o, "podIP", inet_format(&port->pod, text));
	put(o, "podPort", json_object_new_int(port->pod_port));
	put(o, "active", json_object_new_boolean(ports->active));
	append(ports->list, o);
	return 0;
}

/* What the plan knows of a link: the other end and the bridge, or the NIC it is on. */
static void add_plan(const struct pod *pod, struct json_object *link)
{
	const struct net_plan *plan = pod->net.plan;
	struct json_object *name;

	if (!json_object_object_get_ex(link, "name", &name))
		return;
	for (size_t n = 0; n < plan->n_ifs; n++) {
		const struct net_if *i = &plan->ifs[n];

		if (strcmp(i->name, json_object_get_string(name)) != 0)
			continue;
		if (i->kind == NET_VETH) {
			put_text(link, "hostInterface", i->host_name);
			put_text(link, "bridge", i->parent);
		} else {
			put_text(link, "parent", i->parent);
		}
	}
}

static void look_inside(const struct pod *pod, int netns, struct json_object *o)
{
	struct json_object *links = NULL;
	struct nl *inside = NULL;
	struct err e = { 0 };

	if (nl_open_in(netns, &inside, &e) < 0 || net_inspect(inside, o, &e) < 0)
		put_text(o, "error", e.text);
	nl_disconnect(inside);
	(void)json_object_object_get_ex(o, "links", &links);
	for (size_t i = 0; links && i < json_object_array_length(links); i++)
		add_plan(pod, json_object_array_get_idx(links, i));
}

static struct json_object *describe(const struct pod *pod, int netns)
{
	const struct condition *c = &pod->conditions[CONDITION_NETWORK];
	struct json_object *o = json_object_new_object(), *ips = json_object_new_array();
	struct port_list ports = { json_object_new_array(), pod->net.rules == RULES_IN };
	char path[sizeof(NETNS_DIR) + sizeof(pod->name) + sizeof(pod->namespace)],
		text[INET_TEXT_BYTES];
	struct inet found[2];
	size_t n = network_ips(pod, found, ARRAY_SIZE(found));
	bool own = pod->net.plan;

	put_text(o, "namespace", pod->namespace);
	put_text(o, "name", pod->name);
	put(o, "hostNetwork", json_object_new_boolean(!own));
	put(o, "ready", json_object_new_boolean(own ? c->is_true : !pod_ended(pod)));
	if (own && !c->is_true && c->reason)
		put_text(o, "reason", c->reason);
	if (pod->net.watch.wrong)
		put_text(o, "message", pod->net.watch.text);
	for (size_t i = 0; i < n; i++)
		append(ips, json_object_new_string(inet_format(&found[i], text)));
	put(o, "ips", ips);
	if (own)
		(void)host_ports_each(pod, put_port, &ports); /* put_port() is 0 */
	put(o, "ports", ports.list);
	if (!own || !pod->net.made)
		return o;
	memcpy(path, NETNS_DIR, sizeof(NETNS_DIR));
	network_netns_name(pod, path + strlen(NETNS_DIR),
			   sizeof(path) - strlen(NETNS_DIR));
	put_text(o, "netns", path);
	look_inside(pod, netns, o);
	return o;
}

static int write_answer(struct json_object *answer)
{
	size_t len = 0;
	const char *text = json_object_to_json_string_length(
		answer, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);

	return text ? fd_write_full(ANSWER, text, len) : -ENOMEM;
}

static int inspect_run(void *arg)
{
	const struct pods_net_job *job = arg;
	struct json_object *answer = json_object_new_object();
	struct json_object *machine = json_object_new_object();
	struct json_object *pods = json_object_new_array();
	int netns = FIRST_NETNS, r = 0;
	struct nl *nl = NULL;
	struct err e = { 0 };

	if (job->machine) {
		r = nl_open(&nl, &e);
		if (r == 0)
			r = net_inspect(nl, machine, &e);
		nl_disconnect(nl);
		put(answer, "machine", machine);
	} else {
		json_object_put(machine);
	}
	for (size_t i = 0; r == 0 && i < job->n; i++)
		append(pods, describe(job->of[i], job->of[i]->net.made ? netns++ : -1));
	put(answer, "pods", pods);
	if (r == 0) {
		r = write_answer(answer);
		if (r < 0)
			(void)err_set(&e, STAGE_CONTROL, -r, "write the answer");
	}
	if (r < 0)
		(void)dprintf(STDERR_FILENO, "%s", e.text);
	return r < 0; /* the tree goes with the process */
}

/* ---- in PID 1 ---- */

static void job_free(struct pods_net_job *job)
{
	job->pods->n_net_jobs--;
	fd_close(&job->fd);
	free(job->netns);
	free(job);
}

static void answer(struct pods_net_query *q, int fd)
{
	struct err e = { 0 };
	struct stat st;
	void *text;

	if (fstat(fd, &st) < 0 || st.st_size <= 0) {
		(void)err_setx(&e, STAGE_CONTROL, EIO, "there is no answer");
		q->done(q, NULL, 0, &e);
		return;
	}
	if (st.st_size > PODS_NET_BYTES) {
		(void)err_setx(&e, STAGE_CONTROL, EFBIG,
			       "the answer is too long: ask for one namespace or pod");
		q->done(q, NULL, 0, &e);
		return;
	}
	/* The child has ended: nobody writes to it any more. */
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED) {
		(void)err_set(&e, STAGE_CONTROL, errno, "read the answer");
		q->done(q, NULL, 0, &e);
		return;
	}
	q->done(q, text, (size_t)st.st_size, NULL);
	(void)munmap(text, (size_t)st.st_size);
}

static void inspect_done(struct child *child)
{
	struct pods_net_job *job = container_of(child, struct pods_net_job, child);
	struct pods_net_query *q = job->query;
	_cleanup_close_ int fd = fd_steal(&job->fd);
	char why[200] = "";
	struct err e = { 0 };
	int code = child->timed_out ? ETIMEDOUT : EIO;

	if (!child_ok(child))
		(void)snprintf(why, sizeof(why), "%.180s", child_failure(child));
	job_free(job);
	if (!q)
		return;
	q->job = NULL;
	if (!*why) {
		answer(q, fd);
		return;
	}
	(void)err_setx(&e, STAGE_CONTROL, code, "asking the kernel: %s", why);
	q->done(q, NULL, 0, &e);
}

static bool is_wanted(const struct pod *pod, const char *namespace)
{
	return pod->spec && (!namespace || strcmp(pod->namespace, namespace) == 0);
}

static void add_pod(struct pods_net_job *job, const struct pod *pod)
{
	job->of[job->n++] = pod;
	if (pod->net.made)
		job->netns[job->n_netns++] = pod->sandbox.net_fd;
}

static struct pods_net_job *job_new(struct pods *pods, const char *namespace,
				    const struct pod *pod)
{
	size_t max = pod ? 1 : pods->count + 1;
	struct pods_net_job *job = calloc(1, sizeof(*job) + max * sizeof(job->of[0]));

	if (!job)
		return NULL;
	job->netns = calloc(max, sizeof(job->netns[0]));
	if (!job->netns) {
		free(job);
		return NULL;
	}
	pods->n_net_jobs++;
	job->pods = pods;
	job->machine = !pod && !namespace;
	if (pod)
		add_pod(job, pod);
	list_for_each(node, &pods->list) {
		const struct pod *each = list_entry(node, struct pod, node);

		if (!pod && is_wanted(each, namespace) && job->n < max)
			add_pod(job, each);
	}
	return job;
}

int pods_net_ask(struct pods *pods, const char *namespace, const struct pod *pod,
		 struct pods_net_query *q)
{
	struct pods_net_job *job;
	int r;

	if (pods->stopping)
		return -ESHUTDOWN;
	if (pod && !pod->spec)
		return -EINVAL;
	if (pods->n_net_jobs >= JOBS_MAX)
		return -EAGAIN;
	job = job_new(pods, namespace, pod);
	if (!job)
		return -ENOMEM;
	child_init(&job->child);
	job->fd = memfd_create("network", MFD_CLOEXEC);
	job->child.name = "network-inspect";
	job->child.run = inspect_run;
	job->child.arg = job;
	job->child.timeout_ns = TIMEOUT_NS;
	job->child.keep_fd = job->fd;
	job->child.more_fds = job->netns;
	job->child.n_more_fds = job->n_netns;
	job->child.done = inspect_done;
	r = job->fd < 0 ? -errno : child_start(pods->loop, &job->child);
	if (r < 0) {
		job_free(job);
		return r;
	}
	job->query = q;
	q->job = job;
	return 0;
}

void pods_net_cancel(struct pods_net_query *q)
{
	if (!q->job)
		return;
	q->job->query = NULL;
	child_cancel(&q->job->child);
	q->job = NULL;
}
