// SPDX-License-Identifier: Apache-2.0
/*
 * time.c - see time.h.
 */
#include "base/time.h"

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
	int64_t sum_ns;

	return __builtin_add_overflow(now_ns, delta_ns, &sum_ns) ? TIME_NEVER : sum_ns;
}

/* Writes n as so many decimal digits and returns the place behind them. */
static char *put_digits(char *text, int64_t n, int digits)
{
	for (int i = digits - 1; i >= 0; i--) {
		text[i] = (char)('0' + n % 10);
		n /= 10;
	}
	return text + digits;
}

struct date {
	int64_t year;
	int month, day;
};

/* The Gregorian calendar without gmtime_r(), which reads /etc/localtime on its first call
 * and takes memory for it. Years are counted from March, so that the leap day is the last
 * of a year and the months before it follow 31-30-31-30-31, which (153 m + 2) / 5 counts.
 */
static struct date date_of_day(int64_t days_since_1970)
{
	const int64_t days_400_years = 146097, march_0000_to_1970 = 719468;
	int64_t day = days_since_1970 + march_0000_to_1970;
	int64_t era = day / days_400_years;
	int64_t year, month;

	day %= days_400_years;
	/* Takes out the leap days, but for the missing ones of full centuries. */
	year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	return (struct date){
		.year = era * 400 + year + (month >= 10),
		.month = (int)(month < 10 ? month + 3 : month - 9),
		.day = (int)(day - (153 * month + 2) / 5 + 1),
	};
}

/* "2024-01-02T03:04:05"; returns the place behind it. */
static char *put_seconds(char *text, int64_t sec)
{
	struct date d = date_of_day(sec / 86400);
	int64_t in_day = sec % 86400;

	text = put_digits(text, d.year, 4);
	*text++ = '-';
	text = put_digits(text, d.month, 2);
	*text++ = '-';
	text = put_digits(text, d.day, 2);
	*text++ = 'T';
	text = put_digits(text, in_day / 3600, 2);
	*text++ = ':';
	text = put_digits(text, in_day / 60 % 60, 2);
	*text++ = ':';
	return put_digits(text, in_day % 60, 2);
}

void time_text_nano(int64_t wall_ns, char text[static TIME_TEXT_SIZE])
{
	char *p;

	wall_ns = MAX(wall_ns, (int64_t)0);
	p = put_seconds(text, wall_ns / NSEC_PER_SEC);
	*p++ = '.';
	p = put_digits(p, wall_ns % NSEC_PER_SEC, 9);
	*p++ = 'Z';
	*p = '\0';
}

void time_text_sec(int64_t wall_ns, char text[static TIME_TEXT_SIZE])
{
	char *p = put_seconds(text, MAX(wall_ns, (int64_t)0) / NSEC_PER_SEC);

	*p++ = 'Z';
	*p = '\0';
}
