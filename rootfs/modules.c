// SPDX-License-Identifier: Apache-2.0
/*
 * modules.c - see modules.h.
 *
 * Owns: a bounded list of modaliases and the modprobe it waits for.
 * Called by: base/child, in a helper with a deadline. Never: reads a module itself; the
 * system's modprobe knows the dependencies, the blacklist and the formats.
 */
#include "rootfs/modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define DEVICES_DIR "/sys/devices"

/* sysfs nests a device some 15 deep behind bridges and hubs. */
#define DEPTH_MAX   48
#define ALIASES_MAX 8192
#define ALIAS_BYTES 4096 /* a sysfs attribute is at most a page */
/* Far below the 128 KiB that one exec takes at the very least (execve(2)). */
#define BATCH_BYTES 65536
#define BATCH_MAX   1024
/* A bus driver brings new devices: PCI, then virtio, then what hangs on it. */
#define ROUNDS_MAX  6

struct alias {
	char *text;
	bool tried;
};

struct alias_list {
	struct alias *items;
	size_t n, size;
	bool full;
};

static void list_free(struct alias_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].text);
	free(list->items);
}

static void list_add(struct alias_list *list, const char *text)
{
	if (list->n == list->size) {
		size_t size = list->size ? 2 * list->size : 256;
		struct alias *items = NULL;

		if (size <= ALIASES_MAX)
			items = reallocarray(list->items, size, sizeof(*items));
		if (!items) {
			list->full = true;
			return;
		}
		list->items = items;
		list->size = size;
	}
	list->items[list->n].text = strdup(text);
	list->items[list->n].tried = false;
	if (list->items[list->n].text)
		list->n++;
}

/* Tried ones first among equals, so that they are the ones that are kept. */
static int alias_compare(const void *a, const void *b)
{
	const struct alias *left = a, *right = b;
	int r = strcmp(left->text, right->text);

	return r ? r : (int)right->tried - (int)left->tried;
}

static void list_sort(struct alias_list *list)
{
	size_t kept = 0;

	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items), alias_compare);
	for (size_t i = 0; i < list->n; i++) {
		if (kept && strcmp(list->items[kept - 1].text, list->items[i].text) == 0)
			free(list->items[i].text);
		else
			list->items[kept++] = list->items[i];
	}
	list->n = kept;
}

static void add_modalias(struct alias_list *list, int dir_fd)
{
	char text[ALIAS_BYTES + 1];
	ssize_t len = fd_read_file_at(dir_fd, "modalias", text, sizeof(text));

	if (len <= 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	/* What began with '-' would be an option to modprobe. */
	if (text[0] && text[0] != '-')
		list_add(list, text);
}

/* Takes dir_fd. Links are not followed, so that every device is met once. */
static void walk(struct alias_list *list, int dir_fd, int depth)
{
	DIR *dir = fdopendir(dir_fd);
	struct dirent *entry;

	if (!dir) {
		fd_close(&dir_fd);
		return;
	}
	while ((entry = readdir(dir)) && !list->full) {
		int child;

		if (entry->d_type == DT_REG && strcmp(entry->d_name, "modalias") == 0)
			add_modalias(list, dirfd(dir));
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    depth >= DEPTH_MAX)
			continue;
		child = openat(dirfd(dir), entry->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child >= 0)
			walk(list, child, depth + 1);
	}
	(void)closedir(dir);
}

static const char *find_modprobe(void)
{
	static const char *const paths[] = { "/sbin/modprobe", "/usr/sbin/modprobe",
					     "/bin/modprobe", "/usr/bin/modprobe" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (access(paths[i], X_OK) == 0)
			return paths[i];
	return NULL;
}

static bool have_modules(void)
{
	char path[sizeof(struct utsname) + 32];
	struct utsname u;

	if (uname(&u) < 0)
		return false;
	(void)snprintf(path, sizeof(path), "/lib/modules/%s", u.release);
	return access(path, F_OK) == 0;
}

/* Exit code of the program, 128 and more for a signal, or -errno. It dies with us: when
 * our deadline has passed nobody waits for it any more. */
static int run_program(const char *const *argv)
{
	pid_t parent = getpid(), pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			(void)execv(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Loaded or built in: the kernel then shows it under its name with '_' for '-'. */
static bool is_loaded(const char *name)
{
	char path[PATH_MAX] = "/sys/module/";
	size_t at = strlen(path), len = strlen(name);

	if (len == 0 || at + len >= sizeof(path) || strchr(name, '/'))
		return false;
	for (size_t i = 0; i <= len; i++)
		path[at + i] = name[i] == '-' ? '_' : name[i];
	return access(path, F_OK) == 0;
}

/* One by one, so that the failing one is named. Returns how many failed. */
static int load_named(const char *modprobe, const char *const *names)
{
	int failed = 0;

	for (; *names; names++) {
		const char *argv[] = { modprobe, *names, NULL };
		int r = -ENOENT;

		if (is_loaded(*names))
			continue;
		if (modprobe && (*names)[0] != '-')
			r = run_program(argv);
		if (r == 0)
			continue;
		if (r < 0)
			(void)fprintf(stderr, "module %s: %s\n", *names,
				      modprobe ? strerror(-r) :
						 "cannot be loaded and does not show as "
						 "built in");
		else
			(void)fprintf(stderr, "module %s: modprobe failed with %d\n",
				      *names, r);
		failed++;
	}
	return failed;
}

/* -a: many names; -b: names obey the blacklist as aliases do; -q: silent about an alias
 * that no module has. kmod and busybox agree on these three. */
static void load_aliases(const char *modprobe, struct alias_list *list)
{
	const char *argv[4 + BATCH_MAX + 1] = { modprobe, "-a", "-b", "-q" };
	size_t n = 4, bytes = 0;

	for (size_t i = 0; i <= list->n; i++) {
		size_t len = i < list->n ? strlen(list->items[i].text) + 1 : 0;

		if (n > 4 &&
		    (i == list->n || n == 4 + BATCH_MAX || bytes + len > BATCH_BYTES)) {
			argv[n] = NULL;
			/* Most aliases have no module: the exit code says nothing. */
			(void)run_program(argv);
			n = 4;
			bytes = 0;
		}
		if (i == list->n || list->items[i].tried)
			continue;
		list->items[i].tried = true;
		argv[n++] = list->items[i].text;
		bytes += len;
	}
}

static void coldplug(const char *modprobe)
{
	struct alias_list list = { 0 };

	for (int round = 0; round < ROUNDS_MAX; round++) {
		int fd = open(DEVICES_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		bool fresh = false;

		if (fd < 0) {
			(void)fprintf(stderr, "cannot open " DEVICES_DIR ": %s\n",
				      strerror(errno));
			break;
		}
		walk(&list, fd, 0);
		list_sort(&list);
		for (size_t i = 0; i < list.n && !fresh; i++)
			fresh = !list.items[i].tried;
		if (!fresh)
			break;
		load_aliases(modprobe, &list);
	}
	if (list.full)
		(void)fprintf(stderr,
			      "more than %zu device aliases, some were left out\n",
			      list.n);
	list_free(&list);
}

int modules_run(void *arg)
{
	const struct modules_job *job = arg;
	const char *modprobe = find_modprobe();
	int failed;

	if (!modprobe || !have_modules()) {
		if (job->names[0] || job->coldplug)
			(void)fprintf(stderr, modprobe ? "no modules for this kernel\n" :
							 "no modprobe on this machine\n");
		modprobe = NULL;
	}
	failed = load_named(modprobe, job->names);
	if (job->coldplug && modprobe)
		coldplug(modprobe);
	return failed > 0;
}
