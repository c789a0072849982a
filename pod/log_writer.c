// SPDX-License-Identifier: Apache-2.0
/*
 * log_writer.c - see log_writer.h. The table of open files is only a cache, as each
 * message names its file: a slot is taken over by whoever needs it, and a fresh writer
 * starts with none.
 */
#include "pod/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/str.h"
#include "rootfs/tree.h"

/* Descriptors at most; numbers of logs are dense, so few share a slot. */
#define SLOTS      512
#define NAME_BYTES 64 /* a member's name is a DNS label */

struct slot {
	uint64_t log_id; /* 0 = unused */
	struct log_file file;
	char pod_dir[NAME_MAX + 1];
	char member[NAME_BYTES];
};

struct writer {
	struct log_ring *ring;
	const struct log_limits *limits;
	int report_fd;
	const struct log_message *now; /* being written */
	size_t skipped;                /* bytes of it that a predecessor wrote */
	struct slot *slots;
};

/* One writer in a process; log_file's mark has no other way to it. */
static struct writer writer;

static void on_mark(struct log_file *file, const struct log_mark *mark)
{
	struct log_mark m = *mark;

	(void)file;
	m.done += writer.skipped;
	log_ring_mark(writer.ring, writer.now, &m);
}

/* A reader that is gone has died, and we are about to. */
static void report(uint64_t log_id, uint64_t lost_bytes, int code)
{
	struct log_report r = { .log_id = log_id,
				.lost_bytes = lost_bytes,
				.code = code };

	(void)!write(writer.report_fd, &r, sizeof(r));
}

static struct slot *slot_get(const struct log_message *m)
{
	struct slot *slot = &writer.slots[m->log_id % SLOTS];

	if (slot->log_id == m->log_id && slot->file.attempt == m->attempt)
		return slot;
	if (slot->log_id)
		log_file_close(&slot->file);
	slot->log_id = m->log_id;
	(void)snprintf(slot->pod_dir, sizeof(slot->pod_dir), "%s", m->bytes);
	(void)snprintf(slot->member, sizeof(slot->member), "%s", log_message_member(m));
	log_file_init(&slot->file, writer.limits, slot->pod_dir, slot->member,
		      m->attempt);
	slot->file.mark = on_mark;
	return slot;
}

static void lines_write(const struct log_message *m)
{
	struct log_file *file = &slot_get(m)->file;
	const char *lines = log_message_lines(m);
	uint64_t lost = file->lost_bytes;
	int code = file->code, r;
	struct log_mark mark;

	writer.now = m;
	writer.skipped = 0;
	if (log_ring_marked(writer.ring, m, &mark))
		writer.skipped = log_file_resume(file, &mark, m->lines_bytes);
	if (!m->lines_bytes) {
		r = log_file_open(file);
		file->code = -r;
	} else {
		r = log_file_write(file, lines + writer.skipped,
				   m->lines_bytes - writer.skipped);
	}
	if (file->lost_bytes != lost || -r != code)
		report(m->log_id, file->lost_bytes - lost, -r);
}

static void file_close(const struct log_message *m)
{
	struct slot *slot = &writer.slots[m->log_id % SLOTS];

	if (slot->log_id != m->log_id)
		return;
	log_file_close(&slot->file);
	slot->log_id = 0;
}

/* In its turn: whatever the pod said comes before, nothing after. */
static void pod_remove(const struct log_message *m)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &writer.slots[i];

		if (!slot->log_id || strcmp(slot->pod_dir, m->bytes) != 0)
			continue;
		log_file_close(&slot->file);
		slot->log_id = 0;
	}
	if (path_join(path, sizeof(path), writer.limits->dir, m->bytes) > 0)
		(void)tree_remove(
			path); /* what cannot be removed now stays for a person */
}

/* One call for all files, also those that were closed long ago. */
static int finish(void)
{
	int fd = open(writer.limits->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : 1; /* nothing was ever logged */
	return syncfs(fd) < 0 ? 1 : 0;
}

/* Leaves only what is named, at any numbers below the limit. */
static void close_others(int a, int b)
{
	unsigned int low = (unsigned int)MIN(a, b), high = (unsigned int)MAX(a, b);

	if (low)
		(void)close_range(0, low - 1, 0);
	if (high > low + 1)
		(void)close_range(low + 1, high - 1, 0);
	(void)close_range(high + 1, ~0U, 0);
}

static void child_prepare(void)
{
	proc_reset_signals();
	/* A member's pipe is not ours to die of, and a dead PID 1 is the end in any case.
	 */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "podinit-log");
	(void)setsid();
	(void)umask(022);
	close_others(writer.ring->wake_fd, writer.report_fd);
}

int log_writer_run(struct log_ring *ring, const struct log_limits *limits, int report_fd)
{
	writer =
		(struct writer){ .ring = ring, .limits = limits, .report_fd = report_fd };
	child_prepare();
	writer.slots = mmap(NULL, SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (writer.slots == MAP_FAILED)
		return 1;
	for (;;) {
		const struct log_message *m = log_ring_peek(ring);

		if (log_ring_room_wanted(ring))
			report(0, 0, 0);
		if (!m) {
			log_ring_wait(ring);
			continue;
		}
		if (m->kind == LOG_MESSAGE_LINES)
			lines_write(m);
		else if (m->kind == LOG_MESSAGE_CLOSE)
			file_close(m);
		else if (m->kind == LOG_MESSAGE_REMOVE)
			pod_remove(m);
		else if (m->kind == LOG_MESSAGE_FINISH)
			break;
		log_ring_take(ring);
	}
	return finish();
}
