// SPDX-License-Identifier: Apache-2.0
/*
 * time.h - two clocks: one that timers use, one that people read.
 *
 * Deadlines are CLOCK_BOOTTIME nanoseconds: a step of the wall clock changes no timer,
 * and time in suspend counts. The wall clock is only for texts.
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include "base/util.h"

#define NSEC_PER_SEC   1000000000LL
#define NSEC_PER_MSEC  1000000LL
#define TIME_NEVER     INT64_MAX

/* RFC 3339 in UTC with nanoseconds: "2024-01-02T03:04:05.123456789Z" and the NUL. */
#define TIME_TEXT_SIZE 31

/* CLOCK_BOOTTIME in ns. Cannot fail. */
int64_t time_boot_ns(void);

/* CLOCK_REALTIME in ns since 1970. Cannot fail. */
int64_t time_wall_ns(void);

/* now + delta, held at TIME_NEVER instead of overflowing; delta must be >= 0. */
int64_t time_add(int64_t now_ns, int64_t delta_ns);

/* Times before 1970 are shown as 1970, which is where a machine without a clock begins.
 *
 * wall_ns as RFC 3339 with 9 digits of fraction, as the CRI log format has it. */
void time_text_nano(int64_t wall_ns, char text[static TIME_TEXT_SIZE]);

/* wall_ns as RFC 3339 with whole seconds, as metav1.Time has it. */
void time_text_sec(int64_t wall_ns, char text[static TIME_TEXT_SIZE]);

#endif
