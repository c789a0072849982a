// SPDX-License-Identifier: Apache-2.0
/*
 * log_file.h - the log files of one member: where they lie, how large, how many.
 *
 * Owns: the descriptor of the live file. Called by: pod/member_log.c where the files are
 * in memory, pod/log_writer.c where a disk can stall. Blocks as long as the disk does.
 * Layout and names are the kubelet's: DIR/NS_POD_UID/MEMBER/ATTEMPT.log, when full
 * renamed to ATTEMPT.log.YYYYMMDD-HHMMSS. The last max_files attempts are kept with
 * max_files files each, so a member never takes more than max_files * max_files *
 * max_bytes. Never: follows a symbolic link below DIR, writes to what is not a regular
 * file, leaves a part of a line behind when the disk is full.
 */
#ifndef POD_LOG_FILE_H
#define POD_LOG_FILE_H

#include <limits.h>

#include "base/util.h"

struct log_limits {
	const char *dir; /* made when it is not there, whenever it is not there */
	int64_t max_bytes;
	int64_t max_files; /* with the live one, at least 1 */
};

/* Where a write stands, in case that its process is killed: `done` bytes of the buffer
 * are in files; the next one goes to offset `size` of the file with that inode. */
struct log_mark {
	uint64_t done;
	uint64_t inode;
	int64_t size;
};

struct log_file;
typedef void (*log_mark_fn)(struct log_file *file, const struct log_mark *mark);

struct log_file {
	const struct log_limits *limits; /* borrowed, as the strings */
	const char *pod_dir, *member;
	uint32_t attempt;
	log_mark_fn mark; /* NULL, or called before and after each write */

	int fd; /* -1 = to be opened by the next write */
	uint64_t inode;
	int64_t size;
	int code;            /* positive errno of the last write, 0 when it went well */
	uint64_t lost_bytes; /* not written, ever */
};

/* Opens the log directory and makes it, with its parents, if it is not there. The
 * descriptor or -errno. */
int log_dir_open(const char *path);

/* "NS_POD_UID"; the pod's name is cut where the whole would not be a file name. */
void log_file_pod_dir(char dir[static NAME_MAX + 1], const char *namespace,
		      const char *pod, const char *uid);

void log_file_init(struct log_file *file, const struct log_limits *limits,
		   const char *pod_dir, const char *member, uint32_t attempt);

/* Makes directories and file, and removes what older attempts left too many. 0 or
 * -errno, which the next write tries to mend. */
int log_file_open(struct log_file *file);

/* Appends whole lines, rotating between lines. What cannot be written is added to
 * lost_bytes, the reason is put into code; both are also the result, 0 or -errno. */
int log_file_write(struct log_file *file, const char *lines, size_t len);

/* How many of the len bytes at `lines` a killed predecessor has written already. */
size_t log_file_resume(struct log_file *file, const struct log_mark *mark, size_t len);

void log_file_close(struct log_file *file);

#endif
