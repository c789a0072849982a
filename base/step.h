// SPDX-License-Identifier: Apache-2.0
/*
 * step.h - how a child between clone and exec says which step failed.
 *
 * Owns: nothing; a struct step is one fixed-size message on a close-on-exec pipe,
 * smaller than PIPE_BUF so that it arrives whole. End of file without a message means
 * that exec worked.
 * Called by: rootfs (mounts of a member) and pod (launch). Async-signal-safe throughout.
 */
#ifndef BASE_STEP_H
#define BASE_STEP_H

#include "base/err.h"

#define STEP_WHAT_BYTES 224

struct step {
	int32_t stage;              /* enum stage; checked by the reader */
	int32_t code;               /* positive errno */
	char what[STEP_WHAT_BYTES]; /* "mount proc on /proc", NUL-terminated */
};

/* Fills s with "verb object" (object may be NULL) and returns -code. */
int step_fail(struct step *s, enum stage stage, int code, const char *verb,
	      const char *object);

/* Turns a received message of len bytes into an error for people; never trusts it. */
void step_to_err(const void *message, size_t len, struct err *ret);

#endif
