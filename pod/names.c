// SPDX-License-Identifier: Apache-2.0
/*
 * names.c - a pod's host name, and when the pods' files are written again.
 *
 * Owns: struct names, one a machine: the child that rewrites, and its timer. Called by:
 * sandbox.c, lifecycle.c, pods.c. PID 1 does not touch the files; see names_write.c.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "config/machine.h"
#include "pod/names_parts.h"

#define REWRITE_TIMEOUT_NS (60 * NSEC_PER_SEC) /* 0.1 s with a thousand pods */
/* A pod that comes rarely comes alone, and its members are started first. */
#define COLLECT_NS         (10 * NSEC_PER_MSEC)
/* How much longer than it took a rewrite stays away: a tenth of one cpu at most. */
#define REST_FACTOR        10

struct names {
	struct pods *pods;
	struct child child;
	struct loop_timer due;
	struct backoff backoff;
	int64_t started_ns, not_before_ns;
	bool changed; /* since the child was started */
};

/* ---- the host name ---- */

bool names_fqdn(const struct pod *pod, char *ret, size_t size)
{
	const struct pod_spec *spec = pod->spec;
	int n;

	if (!spec->subdomain || spec->hostname_override)
		return false;
	n = snprintf(ret, size, "%s.%s.%s.svc.%s", spec->hostname, spec->subdomain,
		     pod->namespace, pod->pods->machine->network.cluster_domain);
	return n > 0 && (size_t)n < size;
}

int names_hostname(const struct pod *pod, char *ret, size_t size)
{
	const struct pod_spec *spec = pod->spec;
	const char *name = spec->hostname;
	char text[512];

	if (spec->host_network) {
		/* It shares the machine's uts namespace, whoever named that. */
		if (gethostname(text, sizeof(text)) < 0)
			return -errno;
		name = text;
	} else if (spec->hostname_override) {
		name = spec->hostname_override;
	} else if (spec->hostname_is_fqdn && names_fqdn(pod, text, sizeof(text))) {
		name = text;
	}
	if (strlen(name) > HOST_NAME_MAX || strlen(name) >= size)
		return -ENAMETOOLONG;
	memcpy(ret, name, strlen(name) + 1);
	return 0;
}

/* ---- when to write ---- */

bool names_pod_wants(const struct pod *pod)
{
	return pod->spec && sandbox_ready(pod) && pod->state != POD_ENDED;
}

static void arm(struct names *n)
{
	int64_t at = time_add(loop_now(n->pods->loop), COLLECT_NS);

	if (loop_timer_set(n->pods->loop, &n->due, MAX(at, n->not_before_ns)) < 0)
		log_error("names: no timer; the pods' hosts files are not renewed");
}

static void relay_lines(struct child *child)
{
	char *rest = child->output, *line;

	while ((line = strsep(&rest, "\n")))
		if (line[0])
			log_warn("names: %s", line);
}

static void rewrite_done(struct child *child)
{
	struct names *n = container_of(child, struct names, child);
	int64_t now = time_boot_ns(), rest = (now - n->started_ns) * REST_FACTOR;

	relay_lines(child);
	if (child_ok(child)) {
		n->backoff.failures = 0;
	} else {
		rest = MAX(rest, backoff_next(&n->backoff, &n->pods->backoff, 0));
		log_warn("names: hosts files not renewed%s; next try in %lld ms",
			 child->timed_out ? " in time" : "",
			 (long long)(rest / NSEC_PER_MSEC));
		n->changed = true;
	}
	n->not_before_ns = time_add(now, rest);
	if (n->changed && !n->pods->stopping)
		arm(n);
}

static void rewrite_start(struct loop_timer *timer)
{
	struct names *n = container_of(timer, struct names, due);
	bool wanted = false;
	int r;

	list_for_each(node, &n->pods->list)
		wanted = wanted || names_pod_wants(list_entry(node, struct pod, node));
	if (!wanted || n->pods->stopping)
		return;
	n->changed = false;
	n->started_ns = time_boot_ns();
	r = child_start(n->pods->loop, &n->child);
	if (r < 0) {
		n->not_before_ns = time_add(
			n->started_ns, backoff_next(&n->backoff, &n->pods->backoff, 0));
		log_warn("names: %s; hosts files are renewed later", strerror(-r));
		arm(n);
		return;
	}
	/* The child complains of what it sees now; once is enough. */
	list_for_each(node, &n->pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		pod->names_told = pod->names_told || names_pod_wants(pod);
	}
}

static struct names *names_new(struct pods *pods)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->pods = pods;
	n->due.fn = rewrite_start;
	child_init(&n->child);
	n->child.name = "names";
	n->child.run = names_rewrite_run;
	n->child.arg = pods;
	n->child.timeout_ns = REWRITE_TIMEOUT_NS;
	n->child.done = rewrite_done;
	return n;
}

void names_changed(struct pods *pods)
{
	if (pods->stopping)
		return;
	if (!pods->names)
		pods->names = names_new(pods);
	if (!pods->names) {
		log_error("names: no memory; the pods' hosts files are not renewed");
		return;
	}
	if (child_running(&pods->names->child))
		pods->names->changed = true;
	else if (!pods->names->due.loop)
		arm(pods->names);
}
