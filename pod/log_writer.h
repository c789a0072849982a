// SPDX-License-Identifier: Apache-2.0
/*
 * log_writer.h - the process that writes log files where a disk can stall.
 *
 * Owns: every log file. Called by: pod/log_service.c, in a fresh child. May block as long
 * as the disk does; PID 1 never waits for it.
 */
#ifndef POD_LOG_WRITER_H
#define POD_LOG_WRITER_H

#include "pod/log_ring.h"

/* What the writer says, each in one write(2) to a pipe (smaller than PIPE_BUF). */
struct log_report {
	uint64_t log_id;     /* 0 = there is room in the ring again */
	uint64_t lost_bytes; /* more than before */
	int32_t code;        /* positive errno, 0 = writing goes well again */
	uint32_t unused;
};

/* In the child: takes messages until LOG_MESSAGE_FINISH. Returns the exit code. report_fd
 * and the ring's eventfd are all that stays open. */
int log_writer_run(struct log_ring *ring, const struct log_limits *limits, int report_fd);

#endif
