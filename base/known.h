// SPDX-License-Identifier: Apache-2.0
/*
 * known.h - which children are somebody's: their owner collects them by pidfd.
 *
 * Owns: one bit for each possible pid (pages that were never touched cost nothing).
 * Called by: base/proc, which adds at clone and removes at collection, so that no owner
 * can forget; asked by init/reap, which takes only strangers (orphans given to PID 1).
 * Never: allocates, fails, or does a system call. A forked copy has a copy of the bits.
 */
#ifndef BASE_KNOWN_H
#define BASE_KNOWN_H

#include <sys/types.h>

#include "base/util.h"

void known_add(pid_t pid);
void known_remove(pid_t pid);
bool known_has(pid_t pid);

/* fn is called after each removal, from within proc_collect(): it may only take note.
 * One watcher in the process; NULL ends it. */
void known_watch(void (*fn)(pid_t pid, void *arg), void *arg);

#endif
