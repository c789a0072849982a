// SPDX-License-Identifier: Apache-2.0
/*
 * time.c - see time.h.
 */
#include "base/time.h"

#include <stdio.h>
#include <time.h>

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts); /* fails only for a bad clock or pointer */
	return (int64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int64_t time_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

int64_t time_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t time_add(int64_t now_ns, int64_t delta_ns)
{
	return delta_ns > TIME_NEVER - now_ns ? TIME_NEVER : now_ns + delta_ns;
}

/* The date part of a log line changes once a second at most: the caller formats
 * thousands of lines a second, and gmtime_r is most of the cost. */
static void text_seconds(time_t sec, char text[static TIME_TEXT_SIZE])
{
	static time_t cached_sec = -1;
	static char cached[20];
	struct tm tm;

	if (sec != cached_sec && gmtime_r(&sec, &tm) && tm.tm_year < 8100) {
		if (strftime(cached, sizeof(cached), "%Y-%m-%dT%H:%M:%S", &tm))
			cached_sec = sec;
	}
	for (size_t i = 0; i < sizeof(cached); i++)
		text[i] = cached[i];
}

void time_text_nano(int64_t wall_ns, char text[static TIME_TEXT_SIZE])
{
	int64_t frac = wall_ns % NSEC_PER_SEC;

	text_seconds((time_t)(wall_ns / NSEC_PER_SEC), text);
	text[19] = '.';
	for (int i = 28; i >= 20; i--) {
		text[i] = (char)('0' + frac % 10);
		frac /= 10;
	}
	text[29] = 'Z';
	text[30] = '\0';
}

void time_text_sec(int64_t wall_ns, char text[static TIME_TEXT_SIZE])
{
	text_seconds((time_t)(wall_ns / NSEC_PER_SEC), text);
	text[19] = 'Z';
	text[20] = '\0';
}
