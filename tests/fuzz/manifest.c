// SPDX-License-Identifier: Apache-2.0
/*
 * manifest.c - fuzzes the JSON readers of config/: what they accept must hold together.
 *
 * One text is given to all three, as they share the scan, json-c and the table engine.
 * Checked beyond "no crash": the promises of config/pod_spec.h and config/diag.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/diag.h"
#include "config/expand.h"
#include "config/image_config.h"
#include "config/machine.h"
#include "config/pod_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a fieldRef would give; the text is not what is fuzzed. */
static const char *no_source(void *arg, const struct spec_env *env)
{
	(void)arg;
	(void)env;
	return "";
}

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_diag(const struct diag *d)
{
	char line[1024];
	size_t i;

	must(d->n <= DIAG_MAX);
	for (i = 0; i < d->n; i++) {
		must(memchr(d->items[i].text, '\0', DIAG_TEXT));
		must(memchr(d->items[i].pointer, '\0', DIAG_POINTER));
		must(d->items[i].text[0]);
		must(diag_format(d, &d->items[i], line, sizeof(line)) > 0);
	}
}

static void check_member(const struct pod_spec *pod, const struct container_spec *c)
{
	struct expand_var *vars;
	struct arena arena;
	size_t n, i;

	must(c->name && c->image);
	for (i = 0; i < c->n_mounts; i++) {
		must(c->mounts[i].volume < pod->n_volumes);
		must(c->mounts[i].path[0] == '/' && c->mounts[i].path[1]);
		must(!strstr(c->mounts[i].path, "//"));
		must(!i || strcmp(c->mounts[i - 1].path, c->mounts[i].path) < 0);
	}
	arena_init(&arena, 1 << 20);
	if (expand_env(&arena, c, no_source, NULL, &vars, &n) == 0)
		must(n <= c->n_env);
	arena_free(&arena);
}

static void check_pod(const struct pod_spec *pod)
{
	size_t i;

	must(pod->name && pod->namespace && pod->hostname);
	must(strlen(pod->hostname) > 0 && strlen(pod->hostname) <= 63);
	must(pod->n_members > pod->n_init && pod->n_members <= POD_SPEC_MEMBERS);
	must(pod->grace_seconds >= 0);
	for (i = 0; i < pod->n_members; i++) {
		must(pod->members[i].init == (i < pod->n_init));
		check_member(pod, &pod->members[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct image_config image;
	struct manifest manifest;
	struct machine machine;
	struct diag diag;
	size_t i;
	int r;

	diag_init(&diag, "fuzz.json");
	r = manifest_parse(text, size, &diag, &manifest);
	check_diag(&diag);
	must(r == 0 || diag.errors > 0 || r == -ENOMEM);
	for (i = 0; r == 0 && i < manifest.n_pods; i++) {
		must(manifest.pods[i].spec || diag.errors > 0);
		must(manifest.pods[i].first_diag + manifest.pods[i].n_diag <= diag.n);
		if (manifest.pods[i].spec)
			check_pod(manifest.pods[i].spec);
	}
	if (r == 0)
		manifest_free(&manifest);

	diag_init(&diag, NULL);
	if (machine_parse(text, size, &diag, &machine) == 0)
		machine_free(&machine);
	check_diag(&diag);

	diag_init(&diag, NULL);
	if (image_config_parse(text, size, &diag, &image) == 0)
		image_config_free(&image);
	check_diag(&diag);
	return 0;
}
