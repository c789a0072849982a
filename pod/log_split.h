// SPDX-License-Identifier: Apache-2.0
/*
 * log_split.h - from bytes as they come to lines, and from a line to its CRI form.
 *
 * Owns: nothing; the memory of an unfinished line is lent by the caller. Pure: no system
 * calls, no clock. Called by: pod/member_log.c, the fuzzer.
 * The form is kubernetes.io's CRI logging proposal, "TIME STREAM TAG TEXT\n": tag F ends
 * a line, tag P does not. What follows the last newline at end of file is tagged P, as
 * containerd does: readers print a P line without a newline, so the text comes out as the
 * member wrote it.
 */
#ifndef POD_LOG_SPLIT_H
#define POD_LOG_SPLIT_H

#include <string.h>

#include "pod/member_log.h"

/* text is valid during the call only; it may hold any byte but a newline. */
typedef void (*log_split_fn)(void *arg, const char *text, size_t len, bool partial);

struct log_split {
	char *rest; /* lent: LOG_LINE_MAX bytes, touched only as far as needed */
	size_t rest_len;
	bool drop_cr; /* a terminal's line discipline makes "\r\n" of the member's "\n" */
};

/* Calls fn for each line that ends in data, and for each LOG_LINE_MAX bytes of a longer
 * one as soon as it is known that more follows. Keeps the rest. */
void log_split_feed(struct log_split *s, const char *data, size_t len, log_split_fn fn,
		    void *arg);

/* End of file: an unfinished line is handed out as partial. s is then as new. */
void log_split_end(struct log_split *s, log_split_fn fn, void *arg);

/* "2024-01-02T03:04:05.123456789Z stdout F " */
#define LOG_HEAD_BYTES   40

/* A line of n bytes of text takes this many in a file. */
#define LOG_CRI_BYTES(n) (LOG_HEAD_BYTES + (n) + 1)

/* The head of the lines that were read at once; log_line_write() sets the tag. */
void log_head_make(char head[static LOG_HEAD_BYTES], int64_t wall_ns,
		   enum log_stream stream);

/* Writes a line to out, which has LOG_CRI_BYTES(len) bytes, and returns its end. Inline:
 * a flood is millions of these a second. */
static inline char *log_line_write(char *out, const char head[static LOG_HEAD_BYTES],
				   bool partial, const char *text, size_t len)
{
	memcpy(out, head, LOG_HEAD_BYTES);
	if (partial)
		out[LOG_HEAD_BYTES - 2] = 'P';
	memcpy(out + LOG_HEAD_BYTES, text, len);
	out[LOG_HEAD_BYTES + len] = '\n';
	return out + LOG_CRI_BYTES(len);
}

#endif
