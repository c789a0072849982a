// SPDX-License-Identifier: Apache-2.0
/*
 * bare_start.h - a start of an isolated process with nothing but the system calls that
 * the isolation needs: the measure for podinit's member start.
 */
#ifndef BENCH_BARE_START_H
#define BENCH_BARE_START_H

struct bare_start {
	const char *lower;   /* the image's root, below an overlay */
	const char *scratch; /* empty directory for the writable layer */
	const char *program;
	int uts_fd, ipc_fd, net_fd; /* to join; -1 = new ones */
	int cgroup_fd;
};

/* Starts the program and returns 0 when it has ended with 0. */
int bare_start(const struct bare_start *b);

#endif
