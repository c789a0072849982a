// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_resources.c - resources of a container: requests and limits.
 *
 * Source: core/v1 types.go (ResourceRequirements), core/validation
 * (ValidateContainerResourceRequirements), core/v1 defaults.go.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "config/manifest_parts.h"
#include "config/quantity.h"

/* Far above what there is: 1,000,000 cpus, 1 EiB. Their sums still fit. */
#define CPU_MAX    INT64_C(1000000000)
#define MEMORY_MAX (INT64_C(1) << 60)

struct resources_read {
	struct spec_resources *spec;
	bool limits; /* which of the two lists */
};

const char *manifest_number_text(const struct json_at *at)
{
	if (json_object_is_type(at->value, json_type_int) ||
	    json_object_is_type(at->value, json_type_double) ||
	    json_object_is_type(at->value, json_type_string))
		return json_object_get_string(at->value);
	return "";
}

static int64_t read_number(struct json_reader *r, const struct json_at *at,
			   unsigned int scale, int64_t max)
{
	const char *text = manifest_number_text(at);
	uint64_t number;

	if (!quantity_parse(text, scale, (uint64_t)max, &number))
		json_fault(r, at, DIAG_VALUE, "\"%.40s\" is no quantity, such as %s",
			   text, scale ? "\"250m\" or \"1.5\"" : "\"64Mi\" or \"1G\"");
	else if (number > (uint64_t)max)
		json_fault(r, at, DIAG_VALUE, "\"%.40s\" is more than any machine has",
			   text);
	else
		return (int64_t)number;
	return -1;
}

static void read_one(struct json_reader *r, const struct json_at *at,
		     const struct resources_read *read)
{
	struct spec_resources *spec = read->spec;
	const char *name = at->key;

	if (strcmp(name, "cpu") == 0)
		*(read->limits ? &spec->cpu_limit :
				 &spec->cpu_request) = read_number(r, at, 3, CPU_MAX);
	else if (strcmp(name, "memory") == 0)
		*(read->limits ? &spec->memory_limit : &spec->memory_request) =
			read_number(r, at, 0, MEMORY_MAX);
	else if (strcmp(name, "ephemeral-storage") == 0 && !read->limits)
		(void)read_number(r, at, 0, MEMORY_MAX); /* for a scheduler */
	else if (strcmp(name, "ephemeral-storage") == 0 || strchr(name, '/') ||
		 strncmp(name, "hugepages-", strlen("hugepages-")) == 0)
		json_refuse(r, at);
	else
		json_fault(r, at, DIAG_UNKNOWN,
			   "unknown resource \"%.64s\"; there are cpu and memory", name);
}

static void read_list(struct json_reader *r, const struct json_at *at,
		      const struct resources_read *read)
{
	json_object_object_foreach(at->value, key, value) {
		struct json_at member = { .parent = at, .key = key, .value = value };

		read_one(r, &member, read);
	}
}

static void read_limits(struct json_reader *r, const struct json_at *at, void *out)
{
	struct resources_read read = { .spec = out, .limits = true };

	read_list(r, at, &read);
}

static void read_requests(struct json_reader *r, const struct json_at *at, void *out)
{
	struct resources_read read = { .spec = out };

	read_list(r, at, &read);
}

static const struct field fields[] = {
	FIELD_CALL("limits", FIELD_OBJECT, read_limits),
	FIELD_CALL("requests", FIELD_OBJECT, read_requests),
	FIELD_REFUSE("claims", FIELD_LIST, "[]"),
	FIELD_TABLE_END,
};

static void check_request(struct json_reader *r, const struct json_at *at,
			  const char *name, int64_t request, int64_t limit)
{
	struct json_at requests = json_member(at, "requests");
	struct json_at limits = json_member(at, "limits");
	struct json_at mine = json_member(&requests, name),
		       most = json_member(&limits, name);

	if (limit >= 0 && request > limit)
		json_fault(r, &mine, DIAG_VALUE,
			   "must not be more than the %s limit %.40s", name,
			   manifest_number_text(&most));
}

void manifest_read_resources(struct json_reader *r, const struct json_at *at,
			     struct container_spec *c)
{
	struct spec_resources *spec = &c->resources;

	json_fields_read(r, at, fields, spec);
	check_request(r, at, "cpu", spec->cpu_request, spec->cpu_limit);
	check_request(r, at, "memory", spec->memory_request, spec->memory_limit);
	if (spec->cpu_request < 0)
		spec->cpu_request = spec->cpu_limit;
	if (spec->memory_request < 0)
		spec->memory_request = spec->memory_limit;
}
