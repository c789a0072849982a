// SPDX-License-Identifier: Apache-2.0
/*
 * log_tail.h - the newest lines of one member, in memory, over all its attempts.
 *
 * Owns: a ring whose pages exist only where lines were put: a silent member costs none.
 * Called by: pod/member_log.c. Never allocates, blocks or fails after log_tail_init().
 */
#ifndef POD_LOG_TAIL_H
#define POD_LOG_TAIL_H

#include "pod/member_log.h"

struct log_tail {
	struct journal ring;
};

/* Holds about size_bytes (brought to the next power of two). 0 or -ENOMEM. */
int log_tail_init(struct log_tail *tail, int64_t size_bytes);
void log_tail_free(struct log_tail *tail);

/* A run of lines that were read at once, with the newlines between them but not after the
 * last; partial: the last one is not ended. What is too long for the ring is kept in
 * parts. One record a run: a flood costs a copy, not a call for each line. */
#define LOG_TAIL_RUN_BYTES 4096 /* a longer run would crowd out too much at once */
void log_tail_append(struct log_tail *tail, int64_t wall_ns, uint32_t attempt,
		     enum log_stream stream, bool partial, const char *run, size_t len);

/* The newest max_lines, oldest first; text is valid during the call of fn only. */
void log_tail_read(const struct log_tail *tail, size_t max_lines, log_line_fn fn,
		   void *arg);

#endif
