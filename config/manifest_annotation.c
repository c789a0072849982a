// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_annotation.c - the annotations that mean something to podinit.
 *
 * Two of them hold JSON of their own: it is read like the rest of the manifest, and an
 * error in it has the annotation's pointer, prolonged by the one inside. Also reads
 * kubernetes.io/egress-bandwidth and its sister (the bandwidth plugin's annotations).
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "config/json_scan.h"
#include "config/json_tree.h"
#include "config/manifest_parts.h"
#include "config/quantity.h"

#define OUR_PREFIX "podinit/"
#define TEXT_DEPTH 8 /* of the JSON inside of an annotation */

#define BITS_MIN   1000ull             /* 1k */
#define BITS_MAX   1000000000000000ull /* 1P */

struct annotation {
	const char *key;
	enum json_type type; /* of the JSON inside */
	void (*read)(struct json_reader *r, const struct json_at *at,
		     struct pod_spec *pod);
};

static const struct annotation known[] = {
	{ "podinit/networks", json_type_array, manifest_read_network_list },
	{ "podinit/network-policy", json_type_object, manifest_read_network_policy },
};

/* ---- bandwidth ---- */

bool manifest_read_bandwidth(struct json_reader *r, const struct json_at *at,
			     uint64_t *ret_bits)
{
	const char *text = json_text(at);
	uint64_t bits;

	if (!quantity_parse(text, 0, BITS_MAX, &bits)) {
		json_fault(r, at, DIAG_VALUE,
			   "\"%.64s\" must be a quantity of bits a second, such as "
			   "\"10M\" or \"1.5G\"",
			   text);
		return false;
	}
	if (bits < BITS_MIN || bits > BITS_MAX) {
		json_fault(r, at, DIAG_VALUE,
			   "\"%.64s\" must be between 1k and 1P bits a second", text);
		return false;
	}
	*ret_bits = bits;
	return true;
}

/* ---- JSON in an annotation ---- */

static const char *type_name(enum json_type type)
{
	return type == json_type_array ? "a list" : "an object";
}

/* The tree of an annotation's text, or NULL after the errors were told. */
static struct json_object *parse_text(struct json_reader *r, const struct json_at *at,
				      enum json_type type)
{
	const char *text = json_text(at);
	size_t len = strlen(text), start, end;
	struct json_object *root = NULL;
	struct diag *inner = calloc(1, sizeof(*inner));
	int code;

	if (!inner) {
		r->out_of_memory = true;
		return NULL;
	}
	diag_init(inner, "");
	code = json_scan(text, len, TEXT_DEPTH, inner, inner, &start, &end);
	for (size_t i = 0; i < inner->n; i++)
		json_fault(r, at, inner->items[i].kind, "%s%s%s (byte %d of its JSON)",
			   inner->items[i].pointer, *inner->items[i].pointer ? ": " : "",
			   inner->items[i].text, inner->items[i].column);
	if (code == 0 && inner->errors == 0)
		code = json_tree_build(text + start, end - start, &root);
	r->out_of_memory |= code == -ENOMEM;
	if (code == 0 && inner->errors == 0 && !json_object_is_type(root, type)) {
		json_fault(r, at, DIAG_TYPE, "must hold %s", type_name(type));
		json_object_put(root);
		root = NULL;
	}
	free(inner);
	return root;
}

static void read_known(struct json_reader *r, const struct json_at *at,
		       const struct annotation *a, struct pod_spec *pod)
{
	struct json_object *root = parse_text(r, at, a->type);
	/* The tree takes the annotation's place: pointers go on into it. */
	struct json_at inside = { .parent = at->parent, .key = at->key, .value = root };

	if (root)
		a->read(r, &inside, pod);
	json_object_put(root);
}

static void refuse_unknown(struct json_reader *r, const struct json_at *at)
{
	const char *names[ARRAY_SIZE(known)], *near;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		names[i] = known[i].key;
	near = str_nearest(at->key, names, ARRAY_SIZE(names));
	if (near)
		json_fault(r, at, DIAG_UNKNOWN,
			   "unknown annotation \"%.64s\"; did you mean \"%s\"?", at->key,
			   near);
	else
		json_fault(r, at, DIAG_UNKNOWN, "unknown annotation \"%.64s\"", at->key);
}

static void read_ours(struct json_reader *r, const struct json_at *at,
		      struct pod_spec *pod)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(at->key, known[i].key)) {
			read_known(r, at, &known[i], pod);
			return;
		}
	refuse_unknown(r, at);
}

/* ---- the pod ---- */

static void read_limit(struct json_reader *r, const struct json_at *annotations,
		       const char *key, const struct pod_spec *pod, uint64_t *place)
{
	struct json_at at = json_member(annotations, key);

	if (!at.value)
		return;
	if (pod->host_network)
		json_warn(r, &at, "has no effect with hostNetwork");
	else if (*place)
		json_fault(r, &at, DIAG_DUPLICATE,
			   "the limit of the pod's network stands in podinit/networks "
			   "too");
	else
		(void)manifest_read_bandwidth(r, &at, place);
}

void manifest_read_networks(struct json_reader *r, const struct json_at *pod_at,
			    struct pod_spec *pod)
{
	struct json_at metadata = json_member(pod_at, "metadata");
	struct json_at annotations = json_member(&metadata, "annotations");
	struct spec_network none = { 0 }, *first = &none;

	if (!pod->host_network) {
		pod->networks = json_keep_array(r, SPEC_NETWORKS, sizeof(*pod->networks));
		if (!pod->networks)
			return;
		pod->n_networks = 1;
		first = &pod->networks[0];
		*first = (struct spec_network){ .kind = SPEC_NET_POD,
						.interface = "eth0" };
	}
	if (!json_object_is_type(annotations.value, json_type_object))
		return;
	json_object_object_foreach(annotations.value, key, value) {
		struct json_at at = { .parent = &annotations,
				      .key = key,
				      .value = value };

		if (!strncmp(key, OUR_PREFIX, strlen(OUR_PREFIX)) &&
		    json_object_is_type(value, json_type_string))
			read_ours(r, &at, pod);
	}
	read_limit(r, &annotations, "kubernetes.io/egress-bandwidth", pod,
		   &first->egress_bits);
	read_limit(r, &annotations, "kubernetes.io/ingress-bandwidth", pod,
		   &first->ingress_bits);
}
