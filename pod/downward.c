// SPDX-License-Identifier: Apache-2.0
/*
 * downward.c - see downward.h.
 */
#include "pod/downward.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "pod/pod.h"

/* ---- maps ---- */

/* strconv.Quote() escapes what does not print. Of letters that are no control characters
 * all are taken to print. */
static int put_quoted(struct buf *out, const char *text)
{
	static const char named[] = "\a\b\f\n\r\t\v\"\\", letters[] = "abfnrtv\"\\";
	size_t left = strlen(text);
	int r = buf_append(out, "\"", 1);

	while (r == 0 && left > 0) {
		size_t len = str_utf8_len(text, left);
		const char *at = strchr(named, *text);
		unsigned char c = (unsigned char)*text;

		if (at)
			r = buf_printf(out, "\\%c", letters[at - named]);
		else if (len == 0 || (len == 1 && str_is_control(text, 1)))
			r = buf_printf(out, "\\x%02x", c);
		else if (str_is_control(text, len))
			r = buf_printf(out, "\\u%04x",
				       (c & 0x1fU) << 6 |
					       ((unsigned char)text[1] & 0x3fU));
		else
			r = buf_append(out, text, len);
		len = MAX(len, (size_t)1);
		text += len;
		left -= len;
	}
	return r < 0 ? r : buf_append(out, "\"", 1);
}

static int pair_compare(const void *a, const void *b)
{
	const struct spec_pair *x = a, *y = b;

	return strcmp(x->key, y->key);
}

int downward_map(const struct spec_pair *pairs, size_t n, struct buf *out)
{
	_cleanup_free_ struct spec_pair *sorted = calloc(n ? n : 1, sizeof(*sorted));
	int r = sorted ? 0 : -ENOMEM;

	if (sorted && n)
		memcpy(sorted, pairs, n * sizeof(*sorted));
	if (sorted)
		qsort(sorted, n, sizeof(*sorted), pair_compare);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = buf_printf(out, "%s%s=", i ? "\n" : "", sorted[i].key);
		if (r == 0)
			r = put_quoted(out, sorted[i].value);
	}
	return r;
}

/* ---- resources ---- */

static const struct container_spec *container_of_name(const struct pod_spec *spec,
						      const char *name)
{
	for (size_t i = 0; i < spec->n_members; i++)
		if (!strcmp(spec->members[i].name, name))
			return &spec->members[i];
	return NULL;
}

/* What is not limited may use the machine; what asks for nothing gets nothing. */
static uint64_t quantity_of(const struct pods *pods, const struct container_spec *c,
			    const struct spec_resource_ref *ref)
{
	const struct spec_resources *r = &c->resources;
	int64_t v = ref->limit ? (ref->memory ? r->memory_limit : r->cpu_limit) :
				 (ref->memory ? r->memory_request : r->cpu_request);

	if (v > 0)
		return (uint64_t)v;
	if (!ref->limit)
		return 0;
	return ref->memory ? pods->memory_bytes : pods->cpus * 1000;
}

static int put_resource(const struct pod *pod, const struct container_spec *own,
			const struct spec_env *value, struct buf *out, struct err *e)
{
	const struct container_spec *c =
		value->value[0] ? container_of_name(pod->spec, value->value) : own;
	uint64_t v, divisor = value->resource.divisor;

	if (!c)
		return err_setx(e, STAGE_CONFIG, ENOENT,
				"resourceFieldRef: container %.63s not found",
				value->value);
	v = quantity_of(pod->pods, c, &value->resource);
	return buf_printf(out, "%llu",
			  (unsigned long long)(v / divisor + (v % divisor != 0)));
}

/* ---- fields ---- */

static const char *pair_value(const struct spec_pair *pairs, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(pairs[i].key, key))
			return pairs[i].value;
	return "";
}

static int put_text(struct buf *out, const char *text)
{
	return buf_append(out, text, strlen(text));
}

int downward_text(const struct pod *pod, const struct container_spec *own,
		  const struct spec_env *value, struct buf *out, struct err *e)
{
	const struct pod_spec *s = pod->spec;

	switch (value->source) {
	case ENV_POD_NAME:
		return put_text(out, pod->name);
	case ENV_POD_NAMESPACE:
		return put_text(out, pod->namespace);
	case ENV_POD_UID:
		return put_text(out, pod->uid);
	case ENV_POD_LABEL:
		return put_text(out, pair_value(s->labels, s->n_labels, value->value));
	case ENV_POD_ANNOTATION:
		return put_text(
			out, pair_value(s->annotations, s->n_annotations, value->value));
	case ENV_POD_LABELS:
		return downward_map(s->labels, s->n_labels, out);
	case ENV_POD_ANNOTATIONS:
		return downward_map(s->annotations, s->n_annotations, out);
	case ENV_SERVICE_ACCOUNT:
		return put_text(out, s->service_account ? s->service_account : "default");
	case ENV_RESOURCE:
		return put_resource(pod, own, value, out, e);
	case ENV_VALUE:
	case ENV_NODE_NAME:
	case ENV_HOST_IP:
	case ENV_HOST_IPS:
	case ENV_POD_IP:
	case ENV_POD_IPS:
	case ENV_OBJECT:
	case ENV_SOURCE_MAX:
		break;
	}
	return 0;
}
