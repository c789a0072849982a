// SPDX-License-Identifier: Apache-2.0
/*
 * stamp.c - a program that says when it began: the time of the kernel's hand-over to the
 * first program, seen from that program.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	dprintf(1, "%s_ns=%lld\n", argc > 1 ? argv[1] : "program",
		(long long)now.tv_sec * 1000000000 + now.tv_nsec);
	if (argc > 2) { /* s6: a service that is run is run again */
		(void)execv(argv[2], argv + 2);
		return 127;
	}
	return 0;
}
