// SPDX-License-Identifier: Apache-2.0
/*
 * step.c - see step.h.
 */
#include "base/step.h"

#include <errno.h>
#include <string.h>

static size_t step_append(struct step *s, size_t at, const char *text)
{
	while (*text && at < sizeof(s->what) - 1)
		s->what[at++] = *text++;
	s->what[at] = '\0';
	return at;
}

int step_fail(struct step *s, enum stage stage, int code, const char *verb,
	      const char *object)
{
	size_t at;

	s->stage = stage;
	s->code = code;
	at = step_append(s, 0, verb);
	if (object) {
		at = step_append(s, at, " ");
		(void)step_append(s, at, object);
	}
	return -code;
}

void step_to_err(const void *message, size_t len, struct err *ret)
{
	struct step s;

	if (len != sizeof(s)) {
		(void)err_setx(ret, STAGE_CLONE, EPROTO,
			       "set-up child sent %zu bytes instead of a step", len);
		return;
	}
	memcpy(&s, message, sizeof(s));
	s.what[sizeof(s.what) - 1] = '\0';
	if (s.code <= 0 || s.code > 4095 || s.stage <= STAGE_NONE ||
	    s.stage >= STAGE_MAX) {
		(void)err_setx(ret, STAGE_CLONE, EPROTO,
			       "set-up child sent a step out of range");
		return;
	}
	(void)err_set(ret, (enum stage)s.stage, s.code, "%s", s.what);
}
