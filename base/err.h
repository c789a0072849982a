// SPDX-License-Identifier: Apache-2.0
/*
 * err.h - an error as a person needs it: stage, errno and a sentence.
 *
 * Owns: nothing; a struct err is a fixed-size value, no heap.
 * Called by: everything that talks to people (config, start of a pod, control).
 * Low layers return 0 or -errno; the edge adds the sentence here, once.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/util.h"

/* Where something failed. The order is the order of a member's start; names are in
 * err.c and appear in status and logs, so they are part of the interface. */
enum stage {
	STAGE_NONE,
	STAGE_CONFIG,    /* manifest or machine file */
	STAGE_IMAGE,     /* image look-up, image config */
	STAGE_VOLUME,    /* what a volume holds, hostPath */
	STAGE_SUBPATH,   /* subPath of a volume */
	STAGE_SANDBOX,   /* the pod's uts, ipc and net namespaces */
	STAGE_CGROUP,    /* making or limiting the member's cgroup */
	STAGE_LOG,       /* pipes, log files, pty */
	STAGE_CLONE,     /* clone3 itself */
	STAGE_NAMESPACE, /* setns, unshare in the child */
	STAGE_MOUNT,     /* root overlay, /proc, /sys, /dev, volumes, masked paths */
	STAGE_PIVOT,     /* pivot_root */
	STAGE_STDIO,     /* descriptors 0..2, controlling terminal, close_range */
	STAGE_USER,      /* groups, uid, gid */
	STAGE_CAPS,      /* capability sets, no_new_privs */
	STAGE_CHDIR,     /* workingDir */
	STAGE_EXEC,      /* execve */
	STAGE_BOOT,      /* mounts and set-up of the machine */
	STAGE_MODULES,
	STAGE_CONTROL,
	STAGE_SHUTDOWN,
	STAGE_MAX
};

struct err {
	int code; /* positive errno, 0 = no error */
	enum stage stage;
	char text[256]; /* one sentence without a full stop; cut, never overrun */
};

/* Fills e (may be NULL) and returns -code, so a failing line is `return err_set(...)`.
 * code is a positive errno. ": STRERROR" is appended when code is not 0. */
int err_set(struct err *e, enum stage stage, int code, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* The same without the errno's text, for errors whose sentence says it all. */
int err_setx(struct err *e, enum stage stage, int code, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* "exec", "mount", ...; "?" for a value out of range (a child may send anything). */
const char *err_stage_name(enum stage stage);

#endif
