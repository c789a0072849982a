// SPDX-License-Identifier: Apache-2.0
/*
 * pod_names_fixture.h - pods made by hand, in a list, as the writers of names see them.
 *
 * Owns: "pods", "machine" and up to 16 pods; made anew by names_up() for each test.
 */
#ifndef TESTS_UNIT_POD_NAMES_FIXTURE_H
#define TESTS_UNIT_POD_NAMES_FIXTURE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/machine.h"
#include "base/log.h"
#include "pod/names_parts.h"

static struct machine machine;
static struct pods pods;
static struct pod all[16];
static struct pod_spec specs[16];
static size_t n_all;

static inline int names_up(void **state)
{
	(void)state;
	memset(&pods, 0, sizeof(pods));
	memset(all, 0, sizeof(all));
	memset(specs, 0, sizeof(specs));
	n_all = 0;
	pods.machine = &machine;
	list_init(&pods.list);
	if (machine_defaults(&machine) < 0)
		return -1;
	machine.network.cluster_domain = "cluster.local";
	return 0;
}

static inline int names_down(void **state)
{
	(void)state;
	machine_free(&machine);
	return 0;
}

/* A running pod with its network made; ip NULL = none of that family. */
static inline struct pod *add_pod(const char *namespace, const char *name,
				  const char *ip4, const char *ip6)
{
	struct pod *pod = &all[n_all];
	struct pod_spec *spec = &specs[n_all++];

	pod->spec = spec;
	pod->pods = &pods;
	pod->state = POD_RUNNING;
	pod->net.made = true;
	sandbox_init(&pod->sandbox);
	(void)snprintf(pod->name, sizeof(pod->name), "%s", name);
	(void)snprintf(pod->namespace, sizeof(pod->namespace), "%s", namespace);
	spec->name = spec->hostname = name;
	spec->namespace = namespace;
	if ((ip4 && inet_parse(ip4, &pod->net.ip4) < 0) ||
	    (ip6 && inet_parse(ip6, &pod->net.ip6) < 0))
		abort();
	list_append(&pods.list, &pod->node);
	pods.count++;
	return pod;
}

/* Static memory. */
static inline const char *text_of(struct buf *b)
{
	static char text[1 << 20];

	(void)snprintf(text, sizeof(text), "%.*s", (int)b->len,
		       b->len ? buf_head(b) : "");
	buf_free(b);
	return text;
}

#define NAMES_CASE(name) cmocka_unit_test_setup_teardown(name, names_up, names_down)

#endif
