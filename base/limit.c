// SPDX-License-Identifier: Apache-2.0
/*
 * limit.c - see limit.h. Above 1,024 descriptors select(2) corrupts memory in programs
 * that use it, so members keep the kernel's default, as they would under another init.
 */
#include "base/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "base/fd.h"

static struct rlimit files_at_boot;
static bool raised;

int limit_raise(void)
{
	struct rlimit want = { .rlim_cur = LIMIT_FILES, .rlim_max = LIMIT_FILES };
	int r = 0, q;

	if (getrlimit(RLIMIT_NOFILE, &files_at_boot) < 0)
		return -errno;
	raised = true;
	want.rlim_max = MAX(want.rlim_max, files_at_boot.rlim_max);
	want.rlim_cur = MAX(want.rlim_cur, files_at_boot.rlim_cur);
	if (setrlimit(RLIMIT_NOFILE, &want) < 0) {
		r = -errno;
		want.rlim_cur = want.rlim_max = files_at_boot.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE,
				&want); /* soft to hard is always allowed */
	}
	q = fd_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "-1000");
	return r < 0 ? r : q;
}

int limit_restore(void)
{
	int r = 0, q;

	if (!raised)
		return 0;
	if (setrlimit(RLIMIT_NOFILE, &files_at_boot) < 0)
		r = -errno;
	q = fd_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "0");
	return r < 0 ? r : q;
}
