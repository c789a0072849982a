// SPDX-License-Identifier: Apache-2.0
/*
 * world.c - see world.h.
 */
#include "tests/bench/world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/time.h"
#include "config/diag.h"
#include "config/pod_spec.h"
#include "pod/pod.h"
#include "rootfs/early.h"

#define STALL_MS       20000 /* longer than any single step takes */
#define MANIFEST_BYTES 65536

_Noreturn void world_fail(const char *what, int code)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(code));
	exit(1);
}

static void mounts_make(void)
{
	static const char *const dirs[] = { RUN_DIR, SCRATCH_DIR, PODS_DIR, "/run/log" };
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	WORLD_CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	WORLD_CHECK(mount("proc", "/proc", "proc", flags, NULL));
	WORLD_CHECK(mount("sysfs", "/sys", "sysfs", flags, NULL));
	WORLD_CHECK(mount("cgroup2", "/sys/fs/cgroup", "cgroup2", flags, NULL));
	WORLD_CHECK(mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"));
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		WORLD_CHECK(mkdir(dirs[i], 0755));
}

void world_init(struct world *w, const char *image_dir, int64_t backoff_ms)
{
	struct err e = { 0 };

	log_open(2);
	log_set_level(LOG_ERROR);
	mounts_make();
	if (loop_init(&w->loop) < 0 || machine_defaults(&w->machine) < 0)
		world_fail("loop and machine", ENOMEM);
	w->machine.image_dir = arena_strdup(&w->machine.arena, image_dir);
	w->machine.log_dir = "/run/log";
	w->machine.backoff_base_ms = backoff_ms;
	w->machine.backoff_max_ms = backoff_ms;
	if (pods_init(&w->pods, w->loop, &w->machine, false, NULL, &e) < 0)
		world_fail(e.text, e.code);
}

struct pod *world_pod(struct world *w, const char *fmt, ...)
{
	static char text[MANIFEST_BYTES];
	static struct diag diag;
	struct manifest manifest;
	struct pod *pod;
	struct err e = { 0 };
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	diag_init(&diag, "bench");
	if (len < 0 || (size_t)len >= sizeof(text) ||
	    manifest_parse(text, (size_t)len, &diag, &manifest) < 0 ||
	    !manifest.pods[0].spec)
		world_fail(diag.items[0].text, EINVAL);
	if (pods_create(&w->pods, manifest.pods[0].spec, &pod, &e) < 0)
		world_fail(e.text, e.code);
	manifest.pods[0].spec = NULL;
	manifest_free(&manifest);
	return pod;
}

void world_turn(struct world *w)
{
	int r = loop_turn(w->loop, STALL_MS);

	/* With a timer armed far away, no callback means that time has passed. */
	if (r <= 0)
		world_fail("nothing happens", r ? -r : ETIMEDOUT);
}

void world_delete(struct world *w, struct pod *pod)
{
	size_t left = w->pods.count - 1;

	pod_delete(pod, 0);
	while (w->pods.count > left)
		world_turn(w);
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void figures_print(const char *what, int64_t *samples_ns, size_t n)
{
	qsort(samples_ns, n, sizeof(*samples_ns), compare);
	printf("%s n=%zu min_us=%.1f median_us=%.1f p90_us=%.1f p99_us=%.1f\n", what, n,
	       (double)samples_ns[0] / 1e3, (double)samples_ns[n / 2] / 1e3,
	       (double)samples_ns[n * 9 / 10] / 1e3,
	       (double)samples_ns[n * 99 / 100] / 1e3);
	fflush(stdout);
}
