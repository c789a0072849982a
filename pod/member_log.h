// SPDX-License-Identifier: Apache-2.0
/*
 * member_log.h - a member's output: pipes in, lines out to file, tail, journal, console.
 *
 * Owns: the read ends of stdout and stderr (or the pty's master), the line splitters, the
 * in-memory tail, the log file of the running attempt.
 * Called by: pod/launch (open), pod/member (drain, close), the loop at LOOP_LOG.
 * Format: CRI, "TIME STREAM P|F TEXT\n" in LOG_DIR/NS_POD_UID/MEMBER/ATTEMPT.log, rotated
 * to ATTEMPT.log.TIMESTAMP as the kubelet does. A line longer than LOG_LINE_MAX is split,
 * all parts but the last tagged P.
 * Never blocks: on a memory file system (tmpfs, ramfs) files are written in place; on
 * anything else a writer child (one per machine, restarted when it dies) does it, fed
 * through a bounded ring in shared memory; while that is full, members' pipes are not
 * read (back-pressure). Errors (ENOSPC, EIO) are counted in lost_bytes, reported once by
 * log and in status, and tried again. They never keep a member from starting.
 * A line's time is when its last byte was read.
 */
#ifndef POD_MEMBER_LOG_H
#define POD_MEMBER_LOG_H

#include "base/err.h"
#include "base/journal.h"
#include "base/loop.h"

#define LOG_LINE_MAX 16384 /* bytes of text, as containerd's default */

enum log_stream { LOG_STDOUT, LOG_STDERR, LOG_STREAM_MAX };

/* One for the machine: limits, sinks, the writer child. Created by pods_init(). */
struct log_service;

struct log_config {
	const char *dir;
	int64_t max_bytes;
	int64_t max_files;
	int64_t tail_bytes;
	bool console;
	bool force_writer;       /* tests: the writer child on any file system */
	void (*grew)(void *arg); /* new records in the journal; may be NULL */
	void *arg;
};

/* config and its dir are copied, journal is borrowed (NULL: none). -ENOMEM, -EMFILE; that
 * dir cannot be made is no error yet. */
int log_service_init(struct log_service **ret, struct loop *loop,
		     const struct log_config *config, struct journal *journal,
		     struct err *e);
void log_service_free(struct log_service *s); /* after all its logs; NULL is fine */

/* Asks the writer child to fsync and end; done() from the loop when it has, or at
 * deadline_ns. For shutdown. */
void log_service_finish(struct log_service *s, int64_t deadline_ns,
			void (*done)(void *arg), void *arg);

/* Who is logging; the strings are copied. */
struct log_owner {
	const char *namespace, *pod, *uid, *member;
};

/* The pod is deleted: its log directory goes, after what is still on its way there. true:
 * the writer child sees to it; false: there is none (or no room), the caller does. */
bool log_service_remove_pod(struct log_service *s, const struct log_owner *owner);

struct member_log; /* allocated by member_log_new, one per member, over all attempts */

/* NULL when out of memory. */
struct member_log *member_log_new(struct log_service *s, const struct log_owner *owner);
void member_log_free(struct member_log *log);

/* The child's ends for one attempt; the caller closes them after clone. */
struct log_ends {
	int out, err; /* write ends; with a tty both are -1 */
	int tty;      /* the pty's slave, -1 without tty */
};

/* Opens pipes (or a pty from /dev/ptmx) and the log file of this attempt; drains an
 * earlier one that was not. 0 or -errno with e filled (-EMFILE; -ENOSPC: no more ptys).
 */
int member_log_open(struct member_log *log, uint32_t attempt, bool tty,
		    struct log_ends *ret, struct err *e);

/* Reads what the dead member left in its pipes, to end of file or to the bytes that were
 * there when called (a surviving grandchild must not keep us here), ends unterminated
 * lines, closes the pipes. After it the last line is in file, tail and journal. */
void member_log_drain(struct member_log *log);

/* The newest lines that fit, oldest first, calling fn for each. text is borrowed. */
typedef void (*log_line_fn)(void *arg, int64_t wall_ns, uint32_t attempt,
			    enum log_stream stream, bool partial, const char *text,
			    size_t len);
void member_log_tail(const struct member_log *log, size_t max_lines, log_line_fn fn,
		     void *arg);

struct log_stats {
	uint64_t bytes[LOG_STREAM_MAX]; /* read in the running or last attempt */
	uint64_t lines;                 /* of it, parts not counted */
	uint64_t lost_bytes; /* of the file's lines, not written, over all attempts */
	int code;            /* positive errno while the file cannot be written, else 0 */
};
void member_log_stats(const struct member_log *log, struct log_stats *ret);

/* Record in the log journal: kind = LOG_STREAM * 2 + partial; head is this struct
 * followed by "namespace\0pod\0member\0"; body is the text. */
struct log_record_head {
	uint32_t attempt;
	uint32_t name_bytes; /* of the three strings together */
	char names[];
};

#endif
