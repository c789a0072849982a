// SPDX-License-Identifier: Apache-2.0
/*
 * names_write.c - hosts and resolv.conf of the pods on disk: the children's side.
 *
 * Owns: the files in RUN_DIR/etc, and RUN_DIR/resolv.conf, which says what was written
 * last. Called by: sandbox.c for one pod, names.c for all, both in a child. The members
 * can write to RUN_DIR/etc, so nothing there is opened or followed: a file is made beside
 * that directory, where they do not come, and renamed over whatever bears its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "pod/names_parts.h"
#include "rootfs/tree.h"

struct names_dir {
	const struct pod *pod;
	int run_fd, etc_fd;
};

/* The machine's own files, NULL = none that can be used. */
struct machine_files {
	char *hosts, *resolv;
};

static void machine_files_read(struct machine_files *f)
{
	*f = (struct machine_files){ 0 };
	if (fd_read_whole_at(AT_FDCWD, "/etc/hosts", NAMES_MACHINE_BYTES, &f->hosts) < 0)
		f->hosts = NULL;
	if (fd_read_whole_at(AT_FDCWD, "/etc/resolv.conf", NAMES_MACHINE_BYTES,
			     &f->resolv) < 0)
		f->resolv = NULL;
}

static void machine_files_free(struct machine_files *f)
{
	free(f->hosts);
	free(f->resolv);
}

static void names_dir_close(struct names_dir *d)
{
	fd_close(&d->run_fd);
	fd_close(&d->etc_fd);
}

static int names_dir_open(const struct pod *pod, struct names_dir *ret)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct names_dir d = { .pod = pod, .etc_fd = -1 };
	int code;

	d.run_fd = open(pod->run_dir, flags);
	if (d.run_fd >= 0)
		d.etc_fd = openat(d.run_fd, "etc", flags);
	if (d.etc_fd < 0) {
		code = errno;
		names_dir_close(&d);
		return -code;
	}
	*ret = d;
	return 0;
}

/* The number of the process is in the name, so one that exists is of a dead one. */
static int temporary_make(int run_fd, const char *name, const struct buf *text)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	_cleanup_close_ int fd = openat(run_fd, name, flags, 0644);
	int r;

	if (fd < 0 && errno == EEXIST && unlinkat(run_fd, name, 0) == 0)
		fd = openat(run_fd, name, flags, 0644);
	if (fd < 0)
		return -errno;
	r = fchmod(fd, 0644) < 0 ? -errno : fd_write_full(fd, buf_head(text), text->len);
	if (r < 0)
		(void)unlinkat(run_fd, name, 0);
	return r;
}

/* A member made a directory of that name: out with it. */
static int replace_directory(const struct names_dir *d, const char *temporary,
			     const char *name)
{
	char path[sizeof(d->pod->run_dir) + 64];

	if (renameat2(d->run_fd, temporary, d->etc_fd, name, RENAME_EXCHANGE) < 0)
		return -errno;
	if (path_join(path, sizeof(path), d->pod->run_dir, temporary) < 0)
		return -ENAMETOOLONG;
	return tree_remove(path);
}

/* to_fd: where it is to stand, one of the two directories. */
static int file_put(const struct names_dir *d, int to_fd, const char *name,
		    const struct buf *text)
{
	char temporary[48];
	int r;

	(void)snprintf(temporary, sizeof(temporary), "%s.%d", name, getpid());
	r = temporary_make(d->run_fd, temporary, text);
	if (r < 0)
		return r;
	r = renameat(d->run_fd, temporary, to_fd, name) < 0 ? -errno : 0;
	if (r == -EISDIR)
		r = replace_directory(d, temporary, name);
	if (r < 0)
		(void)unlinkat(d->run_fd, temporary, 0);
	return r;
}

/* Whether this is what was written last: a member may have changed its own since. */
static bool resolv_is_current(const struct names_dir *d, const struct buf *text)
{
	char *last = NULL;
	ssize_t n = fd_read_whole_at(d->run_fd, "resolv.conf", NAMES_RESOLV_BYTES, &last);
	bool same = n >= 0 && (size_t)n == text->len &&
		    (!n || !memcmp(last, buf_head(text), text->len));

	if (n >= 0)
		free(last);
	return same;
}

static void tell_limits(const struct pod *pod)
{
	if (!pod->names_told)
		(void)dprintf(STDERR_FILENO,
			      "pod %s/%s: its DNS has more than 3 servers or 32 searches "
			      "(2048 bytes); the last ones are left out\n",
			      pod->namespace, pod->name);
}

static int resolv_write(const struct names_dir *d, const char *machine_resolv)
{
	struct buf text;
	int r;

	buf_init(&text, NAMES_RESOLV_BYTES);
	r = names_resolv_text(d->pod, machine_resolv, &text);
	if (r > 0)
		tell_limits(d->pod);
	if (r >= 0 && resolv_is_current(d, &text))
		r = 0;
	else if (r >= 0) {
		r = file_put(d, d->etc_fd, "resolv.conf", &text);
		if (r == 0)
			r = file_put(d, d->run_fd, "resolv.conf", &text);
	}
	buf_free(&text);
	return r;
}

/* view NULL: it is the only pod that is written. */
static int hosts_write(const struct names_dir *d, size_t index,
		       const struct hosts_view *view, const char *machine_hosts)
{
	struct buf text;
	int r;

	buf_init(&text, NAMES_HOSTS_BYTES);
	r = view ? hosts_text_from_view(d->pod, index, view, machine_hosts, &text) :
		   names_hosts_text(d->pod, machine_hosts, &text);
	if (r == 0)
		r = file_put(d, d->etc_fd, "hosts", &text);
	buf_free(&text);
	return r;
}

int names_write(const struct pod *pod)
{
	char path[sizeof(pod->run_dir) + 8];
	struct machine_files machine;
	struct names_dir d;
	int r;

	(void)snprintf(path, sizeof(path), "%s/etc", pod->run_dir);
	r = tree_make(path, 0755);
	if (r == 0)
		r = names_dir_open(pod, &d);
	if (r < 0)
		return r;
	machine_files_read(&machine);
	r = hosts_write(&d, 0, NULL, machine.hosts);
	if (r == 0)
		r = resolv_write(&d, machine.resolv);
	machine_files_free(&machine);
	names_dir_close(&d);
	return r;
}

/* ---- all of them ---- */

static int rewrite_pod(const struct pod *pod, size_t index, const struct hosts_view *view,
		       const struct machine_files *machine)
{
	struct names_dir d;
	int r = names_dir_open(pod, &d);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* it ended since the fork */
	r = hosts_write(&d, index, view, machine->hosts);
	if (r == 0)
		r = resolv_write(&d, machine->resolv);
	names_dir_close(&d);
	/* The same a moment later. */
	return r == -ENOENT ? 0 : r;
}

/* All pods of the namespace that first is in; done[] by number in the list. */
static int rewrite_namespace(const struct pods *pods, const char *namespace,
			     const struct machine_files *machine, bool *done)
{
	struct hosts_view view = { 0 };
	size_t index = 0;
	int r = hosts_view_make(pods, namespace, &view), failed = r;

	if (r < 0)
		(void)dprintf(STDERR_FILENO, "namespace %s: %s\n", namespace,
			      strerror(-r));
	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);
		size_t at = index++;

		if (strcmp(pod->namespace, namespace) != 0)
			continue;
		done[at] = true;
		if (!view.at)
			continue;
		r = names_pod_wants(pod) ? rewrite_pod(pod, at, &view, machine) : 0;
		if (r < 0) {
			(void)dprintf(STDERR_FILENO, "pod %s/%s: %s\n", pod->namespace,
				      pod->name, strerror(-r));
			failed = r;
		}
	}
	hosts_view_free(&view);
	return failed;
}

int names_rewrite_run(void *arg)
{
	const struct pods *pods = arg;
	bool *done = calloc(pods->count + 1, sizeof(*done));
	struct machine_files machine;
	size_t index = 0;
	int r, failed = 0;

	if (!done)
		return 1;
	machine_files_read(&machine);
	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		if (index >= pods->count)
			break;
		if (!done[index++] && names_pod_wants(pod)) {
			r = rewrite_namespace(pods, pod->namespace, &machine, done);
			failed = r < 0 ? r : failed;
		}
	}
	machine_files_free(&machine);
	free(done);
	return failed < 0 ? 1 : 0;
}
