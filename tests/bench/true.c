// SPDX-License-Identifier: Apache-2.0
/*
 * true.c - the smallest member: ends at once with 0. Linked without start-up files, so
 * that what the benchmarks measure is the start, not a C library.
 */
#include <unistd.h>

_Noreturn void _start(void);

_Noreturn void _start(void)
{
	_exit(0);
}
