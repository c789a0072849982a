// SPDX-License-Identifier: Apache-2.0
/*
 * grammar.c - see grammar.h. One pass over the bytes; whole runs are copied, not bytes.
 */
#include "control/grammar.h"

#include <errno.h>

#define RESET_BYTE '\xFF'

void grammar_init(struct grammar *g, struct grammar_pool *pool)
{
	*g = (struct grammar){ .pool = pool };
	buf_init(&g->text, GRAMMAR_BYTES_MAX);
}

static void forget_text(struct grammar *g)
{
	buf_free(&g->text);
	g->pool->used -= g->charged;
	g->charged = 0;
	g->release = false;
}

void grammar_free(struct grammar *g)
{
	if (g->pool)
		forget_text(g);
}

void grammar_reset(struct grammar *g)
{
	forget_text(g);
	g->state = GRAMMAR_IDLE;
	g->in_string = g->escaped = false;
	g->depth = 0;
}

static enum grammar_result wrong(struct grammar *g, enum grammar_state next,
				 const char *error)
{
	/* In SKIP and RESYNC the line or object has had its error already. */
	bool told = g->state == GRAMMAR_SKIP;

	forget_text(g);
	g->state = next;
	g->error = error;
	return told ? GRAMMAR_MORE : GRAMMAR_WRONG;
}

/* Keeps the run of bytes that belongs to the object. */
static enum grammar_result keep(struct grammar *g, const char *run, size_t len)
{
	enum grammar_state next = g->depth ? GRAMMAR_SKIP : GRAMMAR_IDLE;
	int r;

	if (g->state != GRAMMAR_OBJECT || len == 0)
		return GRAMMAR_MORE;
	r = buf_append(&g->text, run, len);
	if (r == -ENOBUFS)
		return wrong(g, next, "the request is too long");
	if (r < 0)
		return wrong(g, next, "out of memory for the request");
	g->pool->used += g->text.cap - g->charged;
	g->charged = g->text.cap;
	if (g->pool->used > g->pool->max)
		return wrong(g, next, "too much unfinished input from all clients");
	return GRAMMAR_MORE;
}

static void begin(struct grammar *g)
{
	g->state = GRAMMAR_OBJECT;
	g->in_string = g->escaped = false;
	g->depth = 1;
	g->nest = 1;
	g->values = 0;
}

/* NULL, or what is wrong with this byte inside an object. */
static const char *open_bracket(struct grammar *g, bool object)
{
	if (g->depth == GRAMMAR_DEPTH_MAX)
		return "the request is nested too deeply";
	g->nest = g->nest << 1 | object;
	g->depth++;
	g->values++;
	return NULL;
}

static const char *close_bracket(struct grammar *g, bool object)
{
	if ((g->nest & 1) != object)
		return "brackets do not match";
	g->nest >>= 1;
	g->depth--;
	return NULL;
}

static const char *in_string(struct grammar *g, char c)
{
	/* A raw newline is illegal in a string: that ends a string nobody closed. */
	if ((unsigned char)c < 0x20)
		return "a control character in a string";
	if (g->escaped)
		g->escaped = false;
	else if (c == '\\')
		g->escaped = true;
	else if (c == '"')
		g->in_string = false;
	return NULL;
}

static const char *in_object(struct grammar *g, char c)
{
	if (g->in_string)
		return in_string(g, c);
	switch (c) {
	case '"':
		g->in_string = true;
		return NULL;
	case '{':
		return open_bracket(g, true);
	case '[':
		return open_bracket(g, false);
	case '}':
		return close_bracket(g, true);
	case ']':
		return close_bracket(g, false);
	case ',':
		g->values++;
		return NULL;
	default:
		return NULL;
	}
}

/* Bytes of an object from data[0] on. */
static enum grammar_result feed_object(struct grammar *g, const char *data, size_t len,
				       size_t *ret_used)
{
	size_t i = 0;
	enum grammar_result r;

	while (i < len) {
		char c = data[i];
		const char *error;

		if (c == RESET_BYTE) {
			*ret_used = i + 1;
			return wrong(g, GRAMMAR_IDLE,
				     "the request was cut off by a reset");
		}
		error = in_object(g, c);
		if (error) {
			*ret_used = i + 1;
			return wrong(g, c == '\n' ? GRAMMAR_IDLE : GRAMMAR_RESYNC, error);
		}
		i++;
		if (g->depth == 0)
			break;
		if (g->values > GRAMMAR_VALUES_MAX && g->state == GRAMMAR_OBJECT) {
			*ret_used = i;
			return wrong(g, GRAMMAR_SKIP, "the request has too many values");
		}
	}
	*ret_used = i;
	r = keep(g, data, i);
	if (r != GRAMMAR_MORE || g->depth)
		return r;
	if (g->state == GRAMMAR_OBJECT) {
		g->release = true;
		r = GRAMMAR_COMPLETE;
	}
	g->state = GRAMMAR_IDLE;
	return r;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

enum grammar_result grammar_feed(struct grammar *g, const char *data, size_t len,
				 size_t *ret_used)
{
	enum grammar_result r;
	size_t i = 0, n;

	if (g->release)
		forget_text(g);
	while (i < len) {
		char c = data[i];

		if (grammar_partial(g)) {
			r = feed_object(g, data + i, len - i, &n);
			i += n;
			if (r != GRAMMAR_MORE) {
				*ret_used = i;
				return r;
			}
			continue;
		}
		i++;
		if (g->state == GRAMMAR_RESYNC) {
			if (c == '\n' || c == RESET_BYTE)
				g->state = GRAMMAR_IDLE;
		} else if (c == '{') {
			begin(g);
			r = keep(g, &c, 1);
			if (r != GRAMMAR_MORE) {
				*ret_used = i;
				return r;
			}
		} else if (!is_space(c) && c != RESET_BYTE) {
			*ret_used = i;
			return wrong(g, GRAMMAR_RESYNC, "a request is a JSON object");
		}
	}
	*ret_used = i;
	return GRAMMAR_MORE;
}
