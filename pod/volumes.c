// SPDX-License-Identifier: Apache-2.0
/*
 * volumes.c - see volumes.h.
 */
#include "pod/volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "pod/network.h"
#include "pod/pod.h"
#include "pod/resources.h"
#include "rootfs/tree.h"

#define UPDATE_TIMEOUT_NS (60 * NSEC_PER_SEC)
/* An update of several objects comes as one. */
#define COLLECT_NS        (10 * NSEC_PER_MSEC)
#define PATH_BYTES        (sizeof(((struct pod *)0)->run_dir) + 80)

/* One a machine: the child that writes what has changed. */
struct volumes {
	struct pods *pods;
	struct child child;
	struct loop_timer due;
	struct backoff backoff;
};

static void volume_path(const struct pod *pod, size_t n, char path[static PATH_BYTES])
{
	/* A volume's name is a DNS label. */
	(void)snprintf(path, PATH_BYTES, "%s/volumes/%s", pod->run_dir,
		       pod->spec->volumes[n].name);
}

/* ---- in children: making them ---- */

/* What is made in it belongs to the group, too (volume/volume_linux.go,
 * SetVolumeOwnership). */
static int give_to_group(const char *path, int64_t group)
{
	if (group < 0)
		return 0;
	if (lchown(path, (uid_t)-1, (gid_t)group) < 0 || chmod(path, 02777) < 0)
		return -errno;
	return 0;
}

static bool is_mount_point(const char *path)
{
	struct statx st;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &st) ==
		       0 &&
	       (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* medium Memory or a limit: a tmpfs of its own. What no limit is given for may fill what
 * the pod may use (KEP 1967), or half of the machine, as any tmpfs. */
static bool wants_tmpfs(const struct spec_volume *v)
{
	return v->kind == VOLUME_EMPTY_DIR && (v->memory || v->size_limit);
}

static int mount_tmpfs(const struct pod *pod, const struct spec_volume *v,
		       const char *path)
{
	int64_t memory = resources_of_pod(pod->spec).memory_max;
	uint64_t size = v->size_limit;
	char options[64];
	int len = snprintf(options, sizeof(options), "mode=0777");

	if (is_mount_point(path))
		return 0; /* an earlier try */
	if (memory > 0 && (!size || size > (uint64_t)memory))
		size = (uint64_t)memory;
	if (size)
		(void)snprintf(options + len, sizeof(options) - (size_t)len, ",size=%llu",
			       (unsigned long long)size);
	return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0 ? -errno :
										  0;
}

static int make_empty_dir(const struct pod *pod, const struct spec_volume *v,
			  const char *path)
{
	int r = tree_make(path, 0777); /* C302: whatever the umask */

	if (r == 0 && wants_tmpfs(v))
		r = mount_tmpfs(pod, v, path);
	return r < 0 ? r : give_to_group(path, pod->spec->fs_group);
}

static int make_volume(const struct pod *pod, size_t n, struct err *e)
{
	const struct spec_volume *v = &pod->spec->volumes[n];
	char path[PATH_BYTES];
	int r = 0;

	volume_path(pod, n, path);
	switch (v->kind) {
	case VOLUME_EMPTY_DIR:
		r = make_empty_dir(pod, v, path);
		break;
	case VOLUME_PROJECTED:
		r = tree_make(path, 0755);
		if (r == 0)
			return volume_files_write(pod, n, path, e);
		break;
	case VOLUME_HOST_PATH:
	case VOLUME_IMAGE:
		break;
	}
	return r < 0 ? err_set(e, STAGE_VOLUME, -r, "volume \"%s\"", v->name) : 0;
}

int volumes_make(const struct pod *pod, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < pod->spec->n_volumes; i++)
		r = make_volume(pod, i, e);
	return r;
}

int volumes_unmount(const struct pod *pod, struct err *e)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < pod->spec->n_volumes; i++) {
		if (!wants_tmpfs(&pod->spec->volumes[i]))
			continue;
		volume_path(pod, i, path);
		/* Nobody uses it; a helper's copy of the mounts may for a moment. */
		if (is_mount_point(path) && umount2(path, MNT_DETACH) < 0)
			return err_set(e, STAGE_VOLUME, errno, "unmount %s", path);
	}
	return 0;
}

/* ---- in PID 1 ---- */

int volumes_check(const struct pod *pod, struct err *e)
{
	for (size_t i = 0; i < pod->spec->n_volumes; i++) {
		const struct spec_volume *v = &pod->spec->volumes[i];
		struct err why = { 0 };
		int r = v->kind == VOLUME_PROJECTED ? volume_files_check(pod, i, &why) :
						      0;

		if (r < 0)
			return err_setx(e, STAGE_VOLUME, -r,
					"MountVolume.SetUp failed for volume \"%s\": %s",
					v->name, why.text);
	}
	return 0;
}

static bool is_dirty(const struct pod *pod, size_t n)
{
	return pod->volumes_dirty[n / 64] >> n % 64 & 1;
}

/* In the child: the pods' volumes that were dirty at the fork. What is missing now was
 * there before: readers keep what they have, as with the kubelet. */
static int update_run(void *arg)
{
	const struct volumes *vs = arg;
	int failed = 0;

	list_for_each(node, &vs->pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);
		char path[PATH_BYTES];

		if (!pod->spec || !pod->sandbox.made || pod_ended(pod))
			continue;
		for (size_t i = 0; i < pod->spec->n_volumes; i++) {
			struct err e = { 0 };
			int r;

			if (!is_dirty(pod, i))
				continue;
			volume_path(pod, i, path);
			r = volume_files_write(pod, i, path, &e);
			if (r < 0)
				(void)dprintf(STDERR_FILENO, "pod %s/%s: %s\n",
					      pod->namespace, pod->name, e.text);
			/* Without its directory the pod has ended since the fork. */
			if (r < 0 && e.code != ENOENT)
				failed = 1;
		}
	}
	return failed;
}

static void arm(struct volumes *vs, int64_t delay_ns)
{
	if (child_running(&vs->child) || vs->due.loop)
		return; /* looked at again when it is over */
	if (loop_timer_set(vs->pods->loop, &vs->due,
			   time_add(loop_now(vs->pods->loop), delay_ns)) < 0)
		log_error("volumes: no timer; changed objects are not written");
}

/* Bits that are to be written: all of them, of pods that can be. */
static bool any_dirty(const struct volumes *vs)
{
	list_for_each(node, &vs->pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		if (!pod->spec || !pod->sandbox.made || pod_ended(pod))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(pod->volumes_dirty); i++)
			if (pod->volumes_dirty[i])
				return true;
	}
	return false;
}

/* What the child has taken is no longer dirty; if it fails, it is again. */
static void move_dirty(const struct volumes *vs, bool back)
{
	list_for_each(node, &vs->pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if (!pod->spec || !pod->sandbox.made)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(pod->volumes_dirty); i++) {
			if (back)
				pod->volumes_dirty[i] |= pod->volumes_writing[i];
			pod->volumes_writing[i] = back ? 0 : pod->volumes_dirty[i];
			if (!back)
				pod->volumes_dirty[i] = 0;
		}
	}
}

static void update_done(struct child *child)
{
	struct volumes *vs = container_of(child, struct volumes, child);
	char *rest = child->output, *line;
	int64_t delay = COLLECT_NS;

	while ((line = strsep(&rest, "\n")))
		if (line[0])
			log_warn("volumes: %s", line);
	if (child_ok(child)) {
		vs->backoff.failures = 0;
	} else {
		delay = backoff_next(&vs->backoff, &vs->pods->backoff, 0);
		delay = MAX(delay, (int64_t)COLLECT_NS);
		log_warn("volumes: changed objects not written%s; next try in %lld ms",
			 child->timed_out ? " in time" : "",
			 (long long)(delay / NSEC_PER_MSEC));
		move_dirty(vs, true);
	}
	if (!vs->pods->stopping && any_dirty(vs))
		arm(vs, delay);
}

static void update_start(struct loop_timer *timer)
{
	struct volumes *vs = container_of(timer, struct volumes, due);
	int r;

	if (vs->pods->stopping || !any_dirty(vs))
		return;
	r = child_start(vs->pods->loop, &vs->child);
	if (r == 0) {
		move_dirty(vs, false);
		return;
	}
	log_warn("volumes: %s; changed objects are written later", strerror(-r));
	arm(vs, backoff_next(&vs->backoff, &vs->pods->backoff, 0));
}

static struct volumes *volumes_of(struct pods *pods)
{
	struct volumes *vs = pods->volumes;

	if (vs)
		return vs;
	vs = calloc(1, sizeof(*vs));
	if (!vs) {
		log_error("volumes: no memory; changed objects are not written");
		return NULL;
	}
	vs->pods = pods;
	vs->due.fn = update_start;
	child_init(&vs->child);
	vs->child.name = "volumes";
	vs->child.run = update_run;
	vs->child.arg = vs;
	vs->child.timeout_ns = UPDATE_TIMEOUT_NS;
	vs->child.done = update_done;
	pods->volumes = vs;
	return vs;
}

void volumes_changed(struct pod *pod, size_t n)
{
	pod->volumes_dirty[n / 64] |= UINT64_C(1) << n % 64;
	if (pod->state == POD_CREATED && !pod->sandbox.made)
		sandbox_start(pod);
	else
		volumes_ready(pod);
}

void volumes_ready(struct pod *pod)
{
	struct volumes *vs;

	for (size_t i = 0; i < ARRAY_SIZE(pod->volumes_dirty); i++) {
		if (!pod->volumes_dirty[i])
			continue;
		vs = volumes_of(pod->pods);
		if (vs)
			arm(vs, COLLECT_NS);
		return;
	}
}
