// SPDX-License-Identifier: Apache-2.0
/*
 * diag.h - all the errors of one file, each with its JSON pointer.
 *
 * Owns: its texts (fixed size, no heap). Called by: the parsers in config/; read by
 * init (console), pod (status of a refused pod), control (answer, podctl check).
 */
#ifndef CONFIG_DIAG_H
#define CONFIG_DIAG_H

#include "base/util.h"

#define DIAG_MAX     32
#define DIAG_POINTER 160
#define DIAG_TEXT    200

enum diag_kind {
	DIAG_SYNTAX,  /* not JSON; line and column are set */
	DIAG_TYPE,    /* wrong JSON type */
	DIAG_VALUE,   /* right type, refused value */
	DIAG_MISSING, /* required field absent */
	DIAG_DUPLICATE,
	DIAG_UNKNOWN, /* no such field in Kubernetes; may carry a near-miss suggestion */
	DIAG_UNSUPPORTED, /* a Kubernetes field that podinit does not support */
	DIAG_LIMIT,       /* too deep, too long, too many */
	DIAG_KIND_MAX
};

struct diag_item {
	enum diag_kind kind;
	bool warning;     /* accepted without effect; does not refuse the file */
	int line, column; /* 1-based, 0 when unknown */
	char pointer[DIAG_POINTER]; /* RFC 6901, "" = the whole document */
	char text[DIAG_TEXT];
};

struct diag {
	char file[128]; /* "" for input from a channel */
	size_t n;       /* items kept */
	size_t dropped; /* errors past DIAG_MAX, counted only */
	size_t errors;  /* without warnings, with the dropped ones */
	struct diag_item items[DIAG_MAX];
};

void diag_init(struct diag *d, const char *file);

/* pointer is copied and cut in the middle when too long. */
void diag_add(struct diag *d, enum diag_kind kind, const char *pointer, const char *fmt,
	      ...) PRINTF_LIKE(4, 5);
void diag_warn(struct diag *d, const char *pointer, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* "pods.json:3:7: text" or "pods.json: /spec/containers/0/image: text". Returns the
 * length as snprintf does. */
int diag_format(const struct diag *d, const struct diag_item *item, char *buf,
		size_t size);

/* "type", "unknown-field", ... for JSON output. */
const char *diag_kind_name(enum diag_kind kind);

#endif
