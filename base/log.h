// SPDX-License-Identifier: Apache-2.0
/*
 * log.h - podinit's own words: to the console and to a ring kept in memory.
 *
 * Owns: the console descriptor (non-blocking), a bounded backlog for a slow console,
 * the ring of the last LOG_RING_BYTES for the `podinit-log` command.
 * Never: blocks, allocates, or fails; what a stuck console cannot take is counted and
 * the count is printed when it moves again.
 * One line is "podinit: [  12.345678] level: text", cut at LOG_LINE_BYTES with "...".
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"
#include "base/util.h"

struct loop;

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_LEVEL_MAX };

#define LOG_RING_BYTES 32768
#define LOG_LINE_BYTES 512

/* Takes fd (borrowed, made non-blocking) as console; -1 keeps only the ring. */
void log_open(int console_fd);
/* Lets the loop drain the backlog when the console becomes writable; NULL detaches
 * (before loop_free()). Without a loop each line tries to write what is left. */
int log_attach(struct loop *loop);
/* In a forked child: leaves the parent's console, backlog and loop alone and writes to fd
 * as it is, blocking or not; -1 for nowhere. child_start() does it for its helpers. */
void log_enter_child(int fd);
void log_set_level(enum log_level level);
bool log_level_parse(const char *name, enum log_level *ret);

void log_at(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

/* "what: text (stage S, errno E)" of an error that is handled here and now. */
void log_err(enum log_level level, const char *what, const struct err *e);

/* A raw line (a member's output) to the console only; a newline is added. Control bytes
 * but tab and what is not UTF-8 become '?', so that a member cannot steer the terminal;
 * log_at() treats its text the same way. */
void log_console_line(const char *prefix, const char *text, size_t len);

/* The final status line, as it is, behind the backlog. BLOCKS up to timeout_ms for the
 * console to take and, on a terminal, to transmit it; only for the very last words. */
void log_final_line(const char *text, int timeout_ms);

/* Copies the newest whole lines of the ring, oldest first; returns the length. */
size_t log_ring_read(char *buf, size_t size);

#endif
