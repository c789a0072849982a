// SPDX-License-Identifier: Apache-2.0
/*
 * log_ring.h - the queue between PID 1 and the log writer: messages in shared memory.
 *
 * Owns: a memfd's mapping that both processes see, and the eventfd that wakes the writer.
 * Called by: pod/log_service.c (puts), pod/log_writer.c (takes).
 * A message stays in the ring until its lines are in the file, and each one says all
 * about its file. So a writer that was killed leaves nothing behind that only it knew:
 * the next one goes on with the same message, and the mark says how far the dead one had
 * come. One producer, one consumer. The producer never waits; it trusts the consumer's
 * offset only as far as it is one in the ring.
 */
#ifndef POD_LOG_RING_H
#define POD_LOG_RING_H

#include "pod/log_file.h"

/* A burst of lines may be put while less than LOG_RING_SOFT_BYTES are used. The rest is
 * for what must not wait, the last words of members that ended: twice what a full pipe
 * becomes in the worst case, empty lines. */
#define LOG_RING_BYTES_MAX  (8U << 20)
#define LOG_RING_SOFT_BYTES (1U << 20)

/* The longest burst of lines in one message. */
#define LOG_RING_LINES_MAX  (128U << 10)

enum log_message_kind {
	LOG_MESSAGE_JUMP,   /* the next message is at offset 0 */
	LOG_MESSAGE_LINES,  /* append; without lines: make the file */
	LOG_MESSAGE_CLOSE,  /* this attempt has ended */
	LOG_MESSAGE_REMOVE, /* the pod is gone, and its directory with it */
	LOG_MESSAGE_FINISH, /* flush to the disk and end */
};

struct log_message {
	uint32_t total; /* bytes to the next message */
	uint32_t kind;
	uint64_t number; /* grows by 1 */
	uint64_t queued; /* bytes put before this one, ever */
	uint64_t log_id;
	uint32_t attempt;
	uint32_t pod_dir_bytes, member_bytes; /* with their NULs */
	uint32_t lines_bytes;
	char bytes[]; /* pod_dir, member, lines */
};

static inline const char *log_message_member(const struct log_message *m)
{
	return m->bytes + m->pod_dir_bytes;
}

static inline const char *log_message_lines(const struct log_message *m)
{
	return m->bytes + m->pod_dir_bytes + m->member_bytes;
}

struct log_ring_shared;

struct log_ring {
	struct log_ring_shared *shared;
	int mem_fd, wake_fd;
	uint32_t write_at; /* the producer's own copies: */
	uint64_t next_number;
	uint64_t queued;
	uint64_t trimmed; /* `queued` when the pages were last given back */
};

int log_ring_init(struct log_ring *ring); /* 0 or -errno */
void log_ring_free(struct log_ring *ring);

/* ---- the producer ----------------------------------------------------------------- */

/* Copies a message in and wakes the consumer. false: no room. */
bool log_ring_put(struct log_ring *ring, enum log_message_kind kind, uint64_t log_id,
		  const struct log_file *file, const char *lines, size_t len);

/* Bytes that are not done with. */
size_t log_ring_used(const struct log_ring *ring);

/* The wish that log_ring_room_wanted() shows to the consumer when it can be granted. */
void log_ring_want_room(struct log_ring *ring);

/* ---- the consumer ----------------------------------------------------------------- */

/* The oldest message, or NULL. */
const struct log_message *log_ring_peek(const struct log_ring *ring);
void log_ring_take(struct log_ring *ring);

/* Blocks until there is a message. */
void log_ring_wait(struct log_ring *ring);

/* true once after log_ring_want_room(), when half of the soft limit is free. */
bool log_ring_room_wanted(struct log_ring *ring);

/* Where the write of this message stands. Killed at any instruction, the consumer leaves
 * a whole mark. */
void log_ring_mark(struct log_ring *ring, const struct log_message *m,
		   const struct log_mark *mark);
bool log_ring_marked(const struct log_ring *ring, const struct log_message *m,
		     struct log_mark *ret);

#endif
