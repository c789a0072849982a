// SPDX-License-Identifier: Apache-2.0
/*
 * resources.c - see resources.h.
 */
#include "pod/resources.h"

#include <math.h>

#define SHARES_MIN 2
#define SHARES_MAX 262144
#define QUOTA_MIN  1000 /* us: the kernel takes no less (kernel/sched/core.c) */

enum {
	OOM_GUARANTEED = -997,
	OOM_BURSTABLE_MIN = 3,
	OOM_BURSTABLE_MAX = 999,
	OOM_BEST_EFFORT = 1000
};

/* ---- QoS ---- */

/* What is set and more than nothing. */
struct sums {
	int64_t cpu, memory;
	bool all; /* every container has both */
};

static void add(struct sums *s, int64_t cpu, int64_t memory)
{
	s->cpu += MAX(cpu, INT64_C(0));
	s->memory += MAX(memory, INT64_C(0));
	s->all &= cpu > 0 && memory > 0;
}

enum qos_class resources_qos(const struct pod_spec *pod)
{
	struct sums requests = { .all = true }, limits = { .all = true };

	for (size_t i = 0; i < pod->n_members; i++) {
		const struct spec_resources *r = &pod->members[i].resources;

		add(&requests, r->cpu_request, r->memory_request);
		add(&limits, r->cpu_limit, r->memory_limit);
	}
	if (!requests.cpu && !requests.memory && !limits.cpu && !limits.memory)
		return QOS_BEST_EFFORT;
	if (limits.all && requests.cpu == limits.cpu && requests.memory == limits.memory)
		return QOS_GUARANTEED;
	return QOS_BURSTABLE;
}

const char *resources_qos_name(enum qos_class qos)
{
	static const char *const names[] = {
		[QOS_GUARANTEED] = "Guaranteed",
		[QOS_BURSTABLE] = "Burstable",
		[QOS_BEST_EFFORT] = "BestEffort",
	};

	return names[qos];
}

int resources_oom_score(const struct pod_spec *pod, const struct container_spec *c,
			uint64_t machine_bytes)
{
	int64_t request = MAX(c->resources.memory_request, INT64_C(0)), score;

	switch (resources_qos(pod)) {
	case QOS_GUARANTEED:
		return OOM_GUARANTEED;
	case QOS_BEST_EFFORT:
		return OOM_BEST_EFFORT;
	case QOS_BURSTABLE:
		break;
	}
	/* 1000 * request fits: MEMORY_MAX of manifest_resources.c is 2^60. */
	score = OOM_BEST_EFFORT -
		(int64_t)((unsigned __int128)request * 1000 / MAX(machine_bytes, 1));
	return (int)MIN(MAX(score, (int64_t)OOM_BURSTABLE_MIN),
			(int64_t)OOM_BURSTABLE_MAX);
}

/* ---- cgroups ---- */

uint32_t resources_cpu_weight(int64_t milli_cpu)
{
	double shares = (double)MAX(milli_cpu, INT64_C(0)) * 1024 / 1000, l;

	shares = floor(MIN(MAX(shares, (double)SHARES_MIN), (double)SHARES_MAX));
	if (shares <= SHARES_MIN)
		return 1;
	if (shares >= SHARES_MAX)
		return 10000;
	l = log2(shares);
	return (uint32_t)ceil(pow(10, (l * l + 125 * l) / 612 - 7.0 / 34));
}

static struct cgroup_limits limits_of(int64_t cpu_request, int64_t cpu_limit,
				      int64_t memory_limit)
{
	return (struct cgroup_limits){
		.cpu_weight = resources_cpu_weight(cpu_request),
		.cpu_quota_us = cpu_limit > 0 ? MAX(cpu_limit * 100, (int64_t)QUOTA_MIN) :
						-1,
		.memory_max = memory_limit > 0 ? memory_limit : -1,
	};
}

struct cgroup_limits resources_of_container(const struct container_spec *c)
{
	const struct spec_resources *r = &c->resources;
	struct cgroup_limits limits = limits_of(r->cpu_request, r->cpu_limit,
						r->memory_limit);

	limits.is_leaf = true;
	return limits;
}

/* The greater of the containers' sum and any one initContainer; -1 when one of them has
 * none and all must. */
static int64_t of_pod(const struct pod_spec *pod, size_t offset, bool all)
{
	int64_t sum = 0, most = 0;

	for (size_t i = 0; i < pod->n_members; i++) {
		const struct container_spec *c = &pod->members[i];
		int64_t v = *(const int64_t *)((const char *)&c->resources + offset);

		if (v <= 0 && all)
			return -1;
		if (c->init)
			most = MAX(most, v);
		else
			sum += MAX(v, INT64_C(0));
	}
	return MAX(sum, most);
}

struct cgroup_limits resources_of_pod(const struct pod_spec *pod)
{
	return limits_of(
		of_pod(pod, offsetof(struct spec_resources, cpu_request), false),
		of_pod(pod, offsetof(struct spec_resources, cpu_limit), true),
		of_pod(pod, offsetof(struct spec_resources, memory_limit), true));
}
