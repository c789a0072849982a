// SPDX-License-Identifier: Apache-2.0
/*
 * known.c - see known.h. With the kernel's default pid_max of 32,768 all bits lie in one
 * page, with the largest one in 128 pages of which only those in use exist.
 */
#include "base/known.h"

#define KNOWN_PIDS (4 * 1024 * 1024) /* proc_sys_kernel(5): the limit of pid_max */
#define WORD_BITS  64

static uint64_t known_bits[KNOWN_PIDS / WORD_BITS];

static struct {
	void (*fn)(pid_t pid, void *arg);
	void *arg;
} watcher;

static bool in_range(pid_t pid)
{
	return pid > 0 && pid < KNOWN_PIDS;
}

void known_add(pid_t pid)
{
	if (in_range(pid))
		known_bits[pid / WORD_BITS] |= UINT64_C(1) << (pid % WORD_BITS);
}

void known_remove(pid_t pid)
{
	if (!known_has(pid))
		return;
	known_bits[pid / WORD_BITS] &= ~(UINT64_C(1) << (pid % WORD_BITS));
	if (watcher.fn)
		watcher.fn(pid, watcher.arg);
}

bool known_has(pid_t pid)
{
	return in_range(pid) &&
	       (known_bits[pid / WORD_BITS] >> (pid % WORD_BITS) & 1) != 0;
}

void known_watch(void (*fn)(pid_t pid, void *arg), void *arg)
{
	watcher.fn = fn;
	watcher.arg = arg;
}
