// SPDX-License-Identifier: Apache-2.0
/*
 * log_split.c - fuzzer of the line splitter: any bytes, cut anywhere.
 *
 * Built by clang with -fsanitize=fuzzer; corpus in tests/fuzz/corpus/log_split/. The
 * first two bytes are the size of the pieces, a byte from 0xf0 stands for a long run of
 * text, so that short inputs reach the limit of a line. Checks beside the sanitizers':
 * the lines put together are the input, no line holds a newline or is too long, and a
 * part that is not the last has exactly the limit.
 */
#include <stdlib.h>
#include <string.h>

#include "pod/log_split.h"

#define STREAM_BYTES (1 << 20)
#define RUN_FIRST    0xf0
#define RUN_STEP     1031

struct check {
	const char *at, *end; /* what has to come yet */
	bool ended;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void on_line(void *arg, const char *text, size_t len, bool partial)
{
	struct check *c = arg;

	must(len <= LOG_LINE_MAX && len + !partial <= (size_t)(c->end - c->at));
	must(!len || memcmp(c->at, text, len) == 0);
	must(!memchr(text, '\n', len));
	c->at += len;
	must(!partial || len == LOG_LINE_MAX || c->ended);
	must(partial || *c->at == '\n');
	c->at += !partial;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char stream[STREAM_BYTES], rest[LOG_LINE_MAX];
	struct log_split s = { .rest = rest };
	struct check c = { .at = stream };
	size_t len = 0, step;

	if (size < 2)
		return 0;
	step = 1 + (size_t)data[0] * 256 + data[1];
	for (size_t i = 2; i < size; i++) {
		size_t n = data[i] < RUN_FIRST ? 1 :
						 (data[i] - RUN_FIRST + 1U) * RUN_STEP;

		n = MIN(n, sizeof(stream) - len);
		memset(stream + len, data[i], n);
		len += n;
	}
	c.end = stream + len;
	for (size_t at = 0; at < len; at += step)
		log_split_feed(&s, stream + at, MIN(step, len - at), on_line, &c);
	c.ended = true;
	log_split_end(&s, on_line, &c);
	must(c.at == c.end && !s.rest_len);
	return 0;
}
