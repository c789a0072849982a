// SPDX-License-Identifier: Apache-2.0
/*
 * grammar.h - JSON objects cut out of a stream of bytes.
 *
 * Owns: the text of the object that is being received. Called by: client.c.
 * Framing only: it finds where an object ends (strings and brackets), whether or not a
 * newline follows; what is inside is checked by request.c. Rules of the byte stream are
 * those of QEMU's guest agent: objects may follow each other without a newline, and the
 * byte 0xFF, which is in no UTF-8 text, throws away what was half received.
 * Bounded: bytes, depth and values of one object, and bytes of all clients together.
 */
#ifndef CONTROL_GRAMMAR_H
#define CONTROL_GRAMMAR_H

#include "base/buf.h"
#include "config/pod_spec.h"

/* A manifest of the greatest legal size as a JSON string: each newline and quote takes
 * two bytes there. Memory grows only as bytes arrive. */
#define GRAMMAR_BYTES_MAX  (2 * POD_SPEC_FILE_BYTES + 65536)
/* The request, its arguments, and a manifest in them. */
#define GRAMMAR_DEPTH_MAX  (POD_SPEC_DEPTH + 4)
/* A parsed value costs about 100 bytes, whatever its text: "[]," would be 30 times its
 * length. This bounds it to some 13 MiB. */
#define GRAMMAR_VALUES_MAX 131072
/* Received but unfinished text of all clients together. */
#define GRAMMAR_POOL_BYTES (16u << 20)

struct grammar_pool {
	size_t used, max; /* bytes of memory */
};

enum grammar_state {
	GRAMMAR_IDLE,   /* between objects */
	GRAMMAR_OBJECT, /* inside one, kept */
	GRAMMAR_SKIP,   /* inside one that was refused: its end is looked for */
	GRAMMAR_RESYNC  /* after garbage: up to the next newline or 0xFF */
};

enum grammar_result { GRAMMAR_MORE, GRAMMAR_COMPLETE, GRAMMAR_WRONG };

struct grammar {
	struct buf text;
	struct grammar_pool *pool; /* borrowed */
	size_t charged;
	enum grammar_state state;
	bool in_string, escaped, release;
	unsigned int depth;
	uint64_t nest; /* one bit a level: 1 = object, 0 = array */
	size_t values;
	const char *error;
};

_Static_assert(GRAMMAR_DEPTH_MAX <= 64, "nest holds one bit a level");

void grammar_init(struct grammar *g, struct grammar_pool *pool);
void grammar_free(struct grammar *g); /* gives its bytes back to the pool */

/* Eats bytes until an object is complete or something is wrong; *ret_used of them are
 * eaten. COMPLETE: the object is g->text until the next call. WRONG: g->error is a
 * static sentence; reported once per object or line of garbage. */
enum grammar_result grammar_feed(struct grammar *g, const char *data, size_t len,
				 size_t *ret_used);

/* Forgets what was half received. */
void grammar_reset(struct grammar *g);

/* An object has begun and is not complete. */
static inline bool grammar_partial(const struct grammar *g)
{
	return g->state == GRAMMAR_OBJECT || g->state == GRAMMAR_SKIP;
}

#endif
