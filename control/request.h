// SPDX-License-Identifier: Apache-2.0
/*
 * request.h - one request: {"execute": NAME, "arguments": {...}, "id": ANY}.
 *
 * Owns: the parsed tree. Called by: client.c. Never runs anything.
 */
#ifndef CONTROL_REQUEST_H
#define CONTROL_REQUEST_H

#include "base/util.h"

struct json_object;

#define REQUEST_DESC_BYTES 512
#define REQUEST_ID_BYTES   4096 /* echoed in every answer, so not without a limit */

struct request {
	struct json_object *root; /* owned */
	const char *execute;
	struct json_object *arguments; /* borrowed from root; NULL when absent */
	bool has_id;
	struct json_object *id; /* borrowed from root; NULL is JSON's null */
	bool answer;            /* it is an answer or an event: our own words echoed */
};

/* 0, or -EINVAL with a sentence in desc; the id is set as far as it could be read.
 * request_free() in both cases. */
int request_parse(const char *text, size_t len, struct request *ret,
		  char desc[static REQUEST_DESC_BYTES]);
void request_free(struct request *r);

#endif
