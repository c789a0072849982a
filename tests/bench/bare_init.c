// SPDX-License-Identifier: Apache-2.0
/*
 * bare_init.c - the least that can be PID 1: forks and executes the program of its
 * argument, /bin/stamp, on the console that the kernel gave it. Prints when it began.
 */
#include <stdio.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct timespec now;
	pid_t pid;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	pid = fork();
	if (pid == 0) {
		(void)execl("/bin/stamp", "stamp", NULL);
		_exit(127);
	}
	(void)waitpid(pid, NULL, 0);
	printf("handoff_ns=%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	fflush(stdout);
	(void)reboot(RB_POWER_OFF);
	return 1;
}
