// SPDX-License-Identifier: Apache-2.0
/*
 * machine_file.c - see machine_file.h.
 */
#include "init/machine_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "config/diag.h"
#include "config/machine.h"

void machine_file_report(const struct diag *d)
{
	char line[sizeof(d->file) + DIAG_POINTER + DIAG_TEXT + 32];

	for (size_t i = 0; i < d->n; i++) {
		(void)diag_format(d, &d->items[i], line, sizeof(line));
		log_at(d->items[i].warning ? LOG_WARN : LOG_ERROR, "%s", line);
	}
	if (d->dropped)
		log_error("%s: and %zu more", d->file, d->dropped);
}

int machine_file_load(const char *path, struct machine *ret)
{
	static struct diag diag; /* 12 KiB: too much for a stack frame */
	const char *file = path ? path : MACHINE_FILE;
	_cleanup_free_ char *text = NULL;
	ssize_t len = fd_read_whole_at(AT_FDCWD, file, MACHINE_FILE_BYTES, &text);
	int r;

	if (len == -ENOMEM)
		return -ENOMEM;
	if (len == -ENOENT && !path)
		return machine_defaults(ret);
	diag_init(&diag, file);
	if (len < 0) {
		diag_add(&diag, DIAG_VALUE, "", "cannot be read: %s",
			 strerror((int)-len));
		r = -EINVAL;
	} else {
		r = machine_parse(text, (size_t)len, &diag, ret);
	}
	machine_file_report(&diag);
	if (r == -EINVAL && machine_defaults(ret) < 0)
		return -ENOMEM;
	return r;
}
