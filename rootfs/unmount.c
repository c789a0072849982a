// SPDX-License-Identifier: Apache-2.0
/*
 * unmount.c - see unmount.h.
 *
 * What makes a disk clean is the read-only remount of its super block: an unmount only
 * takes a mount away, and a copy of it in the namespace of a process that cannot be
 * killed keeps the super block alive. Each call that a dead disk can hold for ever is
 * made in a process for that disk alone, so that no disk waits for another. Called by:
 * base/child, in a helper that has a deadline. Never: changes a super block unless the
 * whole machine is ours; in a container the same super block is the host's.
 */
#include "rootfs/unmount.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "rootfs/early.h"
#include "rootfs/mount_table.h"

#define EXIT_CODE_MAX  100
/* At a time; the next ones start when some have come back. */
#define PROCESSES_MAX  64
/* No device of a mount has this number: stands for sync(2), which takes them all. */
#define EVERYTHING     UINT64_MAX
/* Nobody has answered yet. */
#define CODE_NO_ANSWER (-1)

/* One super block with data. */
struct disk {
	uint64_t device;
	const struct mount_entry *newest; /* NULL for EVERYTHING */
	bool root;
	pid_t pid; /* at work for it, 0 = nobody */
	int code;  /* the last answer: errno, 0 when it is done; CODE_NO_ANSWER */
};

struct disks {
	struct mount_table table;
	struct disk *list;
	size_t n;
};

/* In a process of its own. Its errno. */
typedef int (*disk_fn)(const struct disks *disks, const struct disk *disk);

/* ---- the list --------------------------------------------------------------------- */

static struct disk *disk_find(const struct disks *disks, uint64_t device)
{
	for (size_t i = 0; i < disks->n; i++)
		if (disks->list[i].device == device)
			return &disks->list[i];
	return NULL;
}

static void disks_free(struct disks *disks)
{
	free(disks->list);
	mount_table_free(&disks->table);
}

/* The newest mount first. Without those that are read-only, which have nothing to lose.
 */
static int disks_read(struct disks *ret)
{
	struct disks disks = { 0 };
	int r = mount_table_read(&disks.table);

	if (r < 0)
		return r;
	disks.list = calloc(disks.table.n + 1, sizeof(*disks.list));
	if (!disks.list) {
		disks_free(&disks);
		return -ENOMEM;
	}
	for (size_t i = disks.table.n; i-- > 0;) {
		const struct mount_entry *m = &disks.table.entries[i];
		struct disk *disk = disk_find(&disks, m->device);

		if (m->pseudo || m->read_only)
			continue;
		if (!disk) {
			disk = &disks.list[disks.n++];
			*disk = (struct disk){ .device = m->device,
					       .newest = m,
					       .code = CODE_NO_ANSWER };
		}
		disk->root |= strcmp(m->point, "/") == 0;
	}
	*ret = disks;
	return 0;
}

/* ---- a process for each ----------------------------------------------------------- */

/* Takes the answers there are. Returns how many are still awaited. */
static size_t disks_collect(struct disks *disks)
{
	size_t busy = 0;

	for (size_t i = 0; i < disks->n; i++) {
		struct disk *disk = &disks->list[i];
		siginfo_t si = { 0 };

		if (!disk->pid)
			continue;
		if (waitid(P_PID, (id_t)disk->pid, &si, WEXITED | WNOHANG) == 0 &&
		    !si.si_pid) {
			busy++;
			continue;
		}
		disk->pid = 0;
		/* Unmounted since the last answer, which then stays true. */
		if (si.si_code == CLD_EXITED && si.si_status == ENOENT && disk->code > 0)
			continue;
		disk->code = si.si_code == CLD_EXITED ? si.si_status : EINTR;
	}
	return busy;
}

static void disk_start(const struct disks *disks, struct disk *disk, disk_fn fn)
{
	disk->pid = fork();
	if (disk->pid == 0) {
		/* Who waits for the end of our output must not wait for this one. */
		(void)close(STDOUT_FILENO);
		(void)close(STDERR_FILENO);
		_exit(fn(disks, disk));
	}
	if (disk->pid < 0) {
		disk->code = errno;
		disk->pid = 0;
	}
}

/* Calls fn for the disks that are not done yet, roots or others, until all have answered
 * or the time is over. Who does not answer is left at work: it may still succeed. */
static void disks_run(struct disks *disks, disk_fn fn, bool root, int64_t end_ns)
{
	size_t next = 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		size_t busy = disks_collect(disks);
		int64_t left_ns = end_ns - time_boot_ns();
		struct timespec left = { .tv_sec = left_ns / NSEC_PER_SEC,
					 .tv_nsec = left_ns % NSEC_PER_SEC };

		for (; next < disks->n && busy < PROCESSES_MAX; next++) {
			struct disk *disk = &disks->list[next];

			if (disk->root != root || disk->pid || !disk->code)
				continue;
			disk_start(disks, disk, fn);
			busy += disk->pid > 0;
		}
		if (!busy || left_ns <= 0)
			return;
		(void)sigtimedwait(&set, NULL, &left);
	}
}

/* Calls fn with a path that leads to the disk; another mount may lie on its mount points.
 */
static int at_disk(const struct disks *disks, const struct disk *disk,
		   int (*fn)(const char *point))
{
	for (size_t i = disks->table.n; i-- > 0;) {
		const struct mount_entry *m = &disks->table.entries[i];
		const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
				  AT_STATX_DONT_SYNC;
		struct statx stx;

		if (m->device != disk->device || m->gone)
			continue;
		if (statx(AT_FDCWD, m->point, flags, STATX_MNT_ID, &stx) < 0)
			continue;
		/* Linux 5.8 and later tell. */
		if (!(stx.stx_mask & STATX_MNT_ID) || stx.stx_mnt_id == m->id)
			return fn(m->point);
	}
	return ENOENT;
}

/* ---- sync ------------------------------------------------------------------------- */

static int sync_point(const char *point)
{
	int fd = open(point, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 || syncfs(fd) < 0 ? errno : 0;
}

static int disk_sync(const struct disks *disks, const struct disk *disk)
{
	if (disk->device != EVERYTHING)
		return at_disk(disks, disk, sync_point);
	sync();
	return 0;
}

/* Says what is not done, and returns how many that are. */
static int report(const struct disks *disks, const char *what)
{
	int n = 0;

	for (size_t i = 0; i < disks->n; i++) {
		const struct disk *disk = &disks->list[i];

		if (!disk->code)
			continue;
		(void)fprintf(stderr, "%s (%s) %s: %s\n",
			      disk->newest ? disk->newest->point : "all",
			      disk->newest ? disk->newest->type : "sync", what,
			      disk->code == CODE_NO_ANSWER ? "no answer" :
							     strerror(disk->code));
		n++;
	}
	return MIN(n, EXIT_CODE_MAX);
}

int unmount_sync_run(void *arg)
{
	const int64_t *timeout_ns = arg;
	int64_t end_ns = time_add(time_boot_ns(), *timeout_ns / 8 * 7);
	struct disks disks;
	int r = disks_read(&disks);

	if (r < 0) {
		(void)fprintf(stderr, "cannot read the mount table: %s\n", strerror(-r));
		sync();
		return 1;
	}
	for (size_t i = 0; i < disks.n; i++)
		disks.list[i].root = false; /* none has to be the last one */
	disks.list[disks.n++] = (struct disk){ .device = EVERYTHING,
					       .code = CODE_NO_ANSWER };
	disks_run(&disks, disk_sync, false, end_ns);
	r = report(&disks, "is not synced");
	disks_free(&disks);
	return r;
}

/* ---- unmount ---------------------------------------------------------------------- */

static int remount_point(const char *point)
{
	return mount(NULL, point, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0 ? errno : 0;
}

static int disk_remount(const struct disks *disks, const struct disk *disk)
{
	return at_disk(disks, disk, remount_point);
}

/* Those that did not answer would hold us; those that are still written wait until
 * `busy_too`, as what keeps them busy may go first: a loop device on them. */
static bool may_unmount(const struct disks *disks, const struct mount_entry *m,
			bool busy_too)
{
	const struct disk *disk = disk_find(disks, m->device);

	if (m->gone || strcmp(m->point, "/") == 0 || (m->pseudo && !m->pinned))
		return false;
	if (m->pseudo || !disk || !disk->code)
		return true;
	return busy_too && !disk->pid;
}

/* Newest first; again as long as one went, as each may have kept another busy. Returns
 * whether any went. */
static bool unmount_rounds(const struct disks *disks, bool busy_too)
{
	bool moved, any = false;

	do {
		moved = false;
		for (size_t i = disks->table.n; i-- > 0;) {
			struct mount_entry *m = &disks->table.entries[i];

			if (!may_unmount(disks, m, busy_too))
				continue;
			m->gone = umount2(m->point, UMOUNT_NOFOLLOW) == 0;
			moved |= m->gone;
		}
		any |= moved;
	} while (moved);
	return any;
}

/* All super blocks at once, then their mounts, and once more as long as that makes others
 * idle; the root at the end. */
static void clean_disks(struct disks *disks, int64_t timeout_ns)
{
	int64_t start_ns = time_boot_ns();
	bool busy_too = false;

	for (;;) {
		disks_run(disks, disk_remount, false, time_add(start_ns, timeout_ns / 2));
		if (unmount_rounds(disks, busy_too))
			continue;
		if (busy_too)
			break;
		busy_too = true;
	}
	disks_run(disks, disk_remount, true, time_add(start_ns, timeout_ns / 4 * 3));
}

int unmount_all_run(void *arg)
{
	const int64_t *timeout_ns = arg;
	struct disks disks;
	int r = disks_read(&disks);

	if (r < 0) {
		(void)fprintf(stderr, "cannot read the mount table: %s\n", strerror(-r));
		return 1;
	}
	if (early_initial_pid_ns()) {
		clean_disks(&disks, *timeout_ns);
		r = report(&disks, "stays writable");
	} else {
		disks.n = 0; /* nothing of theirs is ours to change */
		(void)unmount_rounds(&disks, true);
	}
	disks_free(&disks);
	return r;
}
