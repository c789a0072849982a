// SPDX-License-Identifier: Apache-2.0
/*
 * err.c - see err.h.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const stage_names[STAGE_MAX] = {
	[STAGE_NONE] = "none",         [STAGE_CONFIG] = "config",
	[STAGE_IMAGE] = "image",       [STAGE_VOLUME] = "volume",
	[STAGE_SUBPATH] = "subPath",   [STAGE_SANDBOX] = "sandbox",
	[STAGE_CGROUP] = "cgroup",     [STAGE_LOG] = "log",
	[STAGE_CLONE] = "clone",       [STAGE_NAMESPACE] = "namespace",
	[STAGE_MOUNT] = "mount",       [STAGE_PIVOT] = "pivot",
	[STAGE_STDIO] = "stdio",       [STAGE_USER] = "user",
	[STAGE_CAPS] = "caps",         [STAGE_CHDIR] = "chdir",
	[STAGE_EXEC] = "exec",         [STAGE_BOOT] = "boot",
	[STAGE_MODULES] = "modules",   [STAGE_CONTROL] = "control",
	[STAGE_SHUTDOWN] = "shutdown",
};

static void err_fill(struct err *e, enum stage stage, int code, bool with_errno,
		     const char *fmt, va_list ap)
{
	int n;

	e->code = code;
	e->stage = stage;
	e->text[0] = '\0'; /* a format that fails leaves what it likes */
	n = vsnprintf(e->text, sizeof(e->text), fmt, ap);
	if (with_errno && code && n >= 0 && (size_t)n < sizeof(e->text))
		(void)snprintf(e->text + n, sizeof(e->text) - (size_t)n, ": %s",
			       strerror(code));
}

int err_set(struct err *e, enum stage stage, int code, const char *fmt, ...)
{
	va_list ap;

	if (e) {
		va_start(ap, fmt);
		err_fill(e, stage, code, true, fmt, ap);
		va_end(ap);
	}
	return -code;
}

int err_setx(struct err *e, enum stage stage, int code, const char *fmt, ...)
{
	va_list ap;

	if (e) {
		va_start(ap, fmt);
		err_fill(e, stage, code, false, fmt, ap);
		va_end(ap);
	}
	return -code;
}

const char *err_stage_name(enum stage stage)
{
	/* Out of range is not an error of ours: the number may come from a child. */
	if ((unsigned int)stage >= STAGE_MAX || !stage_names[stage])
		return "?";
	return stage_names[stage];
}
