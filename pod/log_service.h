// SPDX-License-Identifier: Apache-2.0
/*
 * log_service.h - what all members' logs share: struct log_service, private to
 * pod/log_*.c and pod/member_log.c.
 *
 * Owns: the two buffers of the log path, the log writer and its ring, the list of users.
 */
#ifndef POD_LOG_SERVICE_H
#define POD_LOG_SERVICE_H

#include "pod/log_ring.h"
#include "pod/member_log.h"

/* What a callback reads at most: a flood must not starve the others. As large as a pipe.
 */
#define LOG_BITE_BYTES 65536

/* One log as the service sees it. */
struct log_user {
	struct list node;
	uint64_t id;
	const char *name; /* "namespace/pod/member" */
	uint64_t lost_bytes;
	int code; /* positive errno of the last write, 0 when it went well */
};

/* A parked source. */
struct log_waiter {
	struct list node;
	struct loop_src *src;
};

struct log_service {
	struct loop *loop;
	struct log_config config;
	struct log_limits limits;
	char *dir;
	struct journal *journal;
	char *bite; /* LOG_BITE_BYTES: bytes as they were read */
	char *out;  /* LOG_RING_LINES_MAX: lines as they are written */
	struct list users, waiters;
	uint64_t last_id;

	bool direct; /* no writer */
	struct log_ring ring;
	int writer_pidfd, report_fd;
	struct loop_src writer_src, report_src;
	struct loop_timer restart;
	uint64_t death_number; /* the message at which the last writer died */
	unsigned int deaths;   /* there, in a row */

	struct loop_timer finish;
	bool finish_put;
	bool finished;
	void (*finish_done)(void *arg);
	void *finish_arg;
};

void log_service_join(struct log_service *s, struct log_user *user, const char *name);
void log_service_leave(struct log_user *user);

/* The three verbs of a file; what goes wrong is counted in user and told once. */
void log_service_open(struct log_service *s, struct log_user *user,
		      struct log_file *file);
void log_service_write(struct log_service *s, struct log_user *user,
		       struct log_file *file, const char *lines, size_t len);
void log_service_close(struct log_service *s, struct log_user *user,
		       struct log_file *file);

/* Members' pipes are not to be read now; the waiter's source is parked until they are. */
bool log_service_full(const struct log_service *s);
void log_service_wait(struct log_service *s, struct log_waiter *waiter);

#endif
