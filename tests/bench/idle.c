// SPDX-License-Identifier: Apache-2.0
/*
 * idle.c - a member that waits for SIGTERM. With a file as argument it writes the time of
 * its end there, CLOCK_BOOTTIME in nanoseconds, as its last act but _exit().
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	volatile int64_t *stamp = NULL;
	struct timespec now;
	sigset_t set;
	int sig;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	if (argc > 1) {
		int fd = open(argv[1], O_RDWR | O_CLOEXEC);

		stamp = mmap(NULL, sizeof(*stamp), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     0);
		if (stamp == MAP_FAILED)
			return 1;
		(void)*stamp; /* no page fault when it matters */
	}
	if (sigwait(&set, &sig) != 0)
		return 1;
	if (stamp) {
		(void)clock_gettime(CLOCK_BOOTTIME, &now);
		*stamp = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	}
	_exit(0);
}
