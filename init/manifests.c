// SPDX-License-Identifier: Apache-2.0
/*
 * manifests.c - see manifests.h.
 */
#include "init/manifests.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "init/machine_file.h"
#include "pod/pods.h"

#define SUFFIX      ".json"
/* A name made from a file's is one DNS label (RFC 1123). */
#define LABEL_BYTES 63

/* ---- the list --------------------------------------------------------------------- */

static bool is_manifest(const char *name)
{
	size_t len = strlen(name), suffix = strlen(SUFFIX);

	return name[0] != '.' && len > suffix && strcmp(name + len - suffix, SUFFIX) == 0;
}

static int add_name(struct manifests *m, const char *name)
{
	char **names = reallocarray(m->names, m->n_names + 1, sizeof(char *));

	if (!names)
		return -ENOMEM;
	m->names = names;
	names[m->n_names] = strdup(name);
	if (!names[m->n_names])
		return -ENOMEM;
	m->n_names++;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_files(struct manifests *m, DIR *d)
{
	size_t left_out = 0;
	int r = 0;

	while (r == 0) {
		struct dirent *entry;

		errno = 0;
		entry = readdir(d);
		if (!entry) {
			r = -errno;
			break;
		}
		if (!is_manifest(entry->d_name))
			continue;
		if (m->n_names == MANIFESTS_FILES_MAX)
			left_out++;
		else
			r = add_name(m, entry->d_name);
	}
	if (left_out)
		log_error("manifests: more than %d files, %zu are left out",
			  MANIFESTS_FILES_MAX, left_out);
	if (m->n_names)
		qsort(m->names, m->n_names, sizeof(char *), by_bytes);
	return r;
}

static int open_folder(struct manifests *m, const char *dir)
{
	_cleanup_close_ int list_fd = -1;
	DIR *d;
	int r;

	m->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->dir_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	list_fd = fcntl(m->dir_fd, F_DUPFD_CLOEXEC, 0);
	if (list_fd < 0)
		return -errno;
	d = fdopendir(list_fd);
	if (!d)
		return -errno;
	(void)fd_steal(&list_fd); /* closedir() closes it */
	r = list_files(m, d);
	(void)closedir(d);
	return r;
}

/* ---- one pod ---------------------------------------------------------------------- */

/* "My Pod.json" -> "my-pod": the record of a refused pod needs a name to be found by. */
static void name_from_file(struct manifest_pod *pod, const char *file, size_t index)
{
	size_t len = strlen(file) - strlen(SUFFIX), n = 0;
	char label[LABEL_BYTES + 1];

	for (size_t i = 0; i < len && n < LABEL_BYTES; i++) {
		unsigned char c = (unsigned char)file[i];

		if (isalnum(c))
			label[n++] = (char)tolower(c);
		else if (n && label[n - 1] != '-')
			label[n++] = '-';
	}
	while (n && label[n - 1] == '-')
		n--;
	label[n] = '\0';
	if (index)
		(void)snprintf(pod->id.name, sizeof(pod->id.name), "%s-%zu",
			       n ? label : "manifest", index);
	else
		(void)snprintf(pod->id.name, sizeof(pod->id.name), "%s",
			       n ? label : "manifest");
}

static void refuse(struct manifests *m, struct manifest_pod *pod, size_t index)
{
	const char *file = m->names[m->next_name - 1];
	struct err e = { 0 };

	m->refused++;
	if (!pod->id.name[0])
		name_from_file(pod, file, index);
	if (!pod->id.namespace[0])
		(void)snprintf(pod->id.namespace, sizeof(pod->id.namespace), "default");
	if (pods_refuse(m->pods, pod, &m->diag, &e) < 0)
		log_err(LOG_ERROR, file, &e);
}

/* The document itself is in error: all reasons belong to the one pod it may have been. */
static void refuse_file(struct manifests *m)
{
	struct manifest_pod pod = { .id.n_diag = m->diag.n };

	refuse(m, &pod, 0);
}

static void create_pod(struct manifests *m)
{
	size_t index = m->next_pod++;
	struct manifest_pod *pod = &m->current.pods[index];
	struct pod *created;
	struct err e = { 0 };

	if (!pod->spec) {
		refuse(m, pod, index);
		return;
	}
	if (pods_create(m->pods, pod->spec, &created, &e) < 0) {
		log_err(LOG_ERROR, m->names[m->next_name - 1], &e);
		m->refused++;
		return;
	}
	pod->spec = NULL; /* taken */
	m->created++;
}

static void apply_object(struct manifests *m)
{
	struct manifest_object *object = &m->current.objects[m->next_object++];
	enum object_change change;
	struct err e = { 0 };

	if (!object->spec)
		return; /* reported with the file */
	if (pods_apply_object(m->pods, object->spec, &change, &e) < 0)
		log_err(LOG_ERROR, m->names[m->next_name - 1], &e);
	else
		object->spec = NULL; /* taken */
}

/* ---- one file --------------------------------------------------------------------- */

static void open_file(struct manifests *m)
{
	const char *name = m->names[m->next_name++];
	_cleanup_free_ char *text = NULL;
	ssize_t len = fd_read_whole_at(m->dir_fd, name, POD_SPEC_FILE_BYTES, &text);
	int r = (int)MIN(len, (ssize_t)0);

	diag_init(&m->diag, name);
	if (r == -EINVAL)
		diag_add(&m->diag, DIAG_VALUE, "", "is not a regular file");
	else if (r == -EFBIG)
		diag_add(&m->diag, DIAG_LIMIT, "", "is larger than %u bytes",
			 POD_SPEC_FILE_BYTES);
	else if (r < 0)
		diag_add(&m->diag, DIAG_VALUE, "", "cannot be read: %s", strerror(-r));
	else
		r = manifest_parse(text, (size_t)len, &m->diag, &m->current);
	if (r == -ENOMEM && !m->diag.n)
		diag_add(&m->diag, DIAG_LIMIT, "", "memory is out");
	machine_file_report(&m->diag);
	if (r < 0) {
		refuse_file(m);
		return;
	}
	m->in_file = true;
	m->next_object = m->next_pod = 0;
}

static void close_file(struct manifests *m)
{
	if (m->in_file)
		manifest_free(&m->current);
	m->in_file = false;
}

static void release(struct manifests *m)
{
	close_file(m);
	for (size_t i = 0; i < m->n_names; i++)
		free(m->names[i]);
	free(m->names);
	m->names = NULL;
	m->n_names = 0;
	fd_close(&m->dir_fd);
}

/* One bite; false when there is none left. */
static bool advance(struct manifests *m)
{
	if (m->in_file && m->next_object < m->current.n_objects) {
		apply_object(m);
		return true;
	}
	if (m->in_file && m->next_pod < m->current.n_pods) {
		create_pod(m);
		return true;
	}
	close_file(m);
	if (m->next_name == m->n_names)
		return false;
	open_file(m);
	return true;
}

static void on_turn(struct loop_timer *timer)
{
	struct manifests *m = container_of(timer, struct manifests, timer);

	/* Without memory for the timer the rest is done in this turn instead. */
	while (advance(m))
		if (loop_timer_set(m->loop, &m->timer, loop_now(m->loop)) == 0)
			return;
	release(m);
	m->done(m->arg);
}

int manifests_start(struct manifests *m, struct loop *loop, struct pods *pods,
		    const char *dir, void (*done)(void *arg), void *arg)
{
	int r;

	*m = (struct manifests){
		.loop = loop,
		.pods = pods,
		.done = done,
		.arg = arg,
		.timer.fn = on_turn,
	};
	r = open_folder(m, dir);
	if (r == 0)
		r = loop_timer_set(loop, &m->timer, loop_now(loop));
	if (r < 0)
		release(m);
	return r;
}

void manifests_stop(struct manifests *m)
{
	loop_timer_cancel(&m->timer);
	release(m);
}
