// SPDX-License-Identifier: Apache-2.0
/*
 * pod_resources.c - the kubelet's formulas, against figures that its own tests and
 * cgroups of a real node show.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "pod/resources.h"

#define GiB (UINT64_C(1) << 30)
#define MiB (INT64_C(1) << 20)
#define NONE                   \
	{                      \
		-1, -1, -1, -1 \
	}

/* cpu request and limit in thousandths, memory request and limit in bytes; the first
 * n_init are initContainers. */
static struct pod_spec pod_of(struct container_spec *members, size_t n, size_t n_init,
			      const struct spec_resources *r)
{
	memset(members, 0, n * sizeof(*members));
	for (size_t i = 0; i < n; i++) {
		members[i].resources = r[i];
		members[i].init = i < n_init;
	}
	return (struct pod_spec){ .n_members = n, .n_init = n_init, .members = members };
}

/* kubernetes-pod.md 7; the ends of the scale. */
static void weights(void **state)
{
	static const struct {
		int64_t milli;
		uint32_t weight;
	} rows[] = {
		{ -1, 1 },     { 0, 1 },          { 1, 1 },
		{ 2, 1 },      { 100, 17 },       { 500, 59 },
		{ 1000, 100 }, { 256000, 10000 }, { INT64_C(1000000000), 10000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (resources_cpu_weight(rows[i].milli) != rows[i].weight)
			fail_msg("%lld: %u", (long long)rows[i].milli,
				 resources_cpu_weight(rows[i].milli));
	for (int64_t m = 1; m < 300000; m++)
		assert_true(resources_cpu_weight(m) <= resources_cpu_weight(m + 1));
}

static void quality_of_service(void **state)
{
	static const struct {
		enum qos_class want;
		size_t n, n_init;
		struct spec_resources r[2];
	} rows[] = {
		{ QOS_BEST_EFFORT, 1, 0, { NONE } },
		{ QOS_BEST_EFFORT, 1, 0, { { 0, 0, 0, 0 } } },
		{ QOS_GUARANTEED, 1, 0, { { 100, 100, MiB, MiB } } },
		{ QOS_BURSTABLE, 1, 0, { { 50, 100, MiB, MiB } } },
		{ QOS_BURSTABLE, 1, 0, { { 100, 100, -1, -1 } } },
		{ QOS_BURSTABLE, 2, 0, { { 100, 100, MiB, MiB }, NONE } },
		{ QOS_BURSTABLE, 2, 1, { NONE, { 100, 100, MiB, MiB } } },
		{ QOS_GUARANTEED, 2, 1, { { 1, 1, 1, 1 }, { 100, 100, MiB, MiB } } },
		{ QOS_BURSTABLE, 1, 0, { { -1, -1, MiB, -1 } } },
	};
	struct container_spec members[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_spec pod = pod_of(members, rows[i].n, rows[i].n_init,
					     rows[i].r);

		if (resources_qos(&pod) != rows[i].want)
			fail_msg("row %zu: %s", i,
				 resources_qos_name(resources_qos(&pod)));
	}
}

static void oom_scores(void **state)
{
	static const struct spec_resources guaranteed[] = { { 1, 1, MiB, MiB } };
	static const struct spec_resources none[] = { NONE };
	static const struct spec_resources two[] = { { -1, -1, 256 * MiB, 512 * MiB },
						     NONE };
	static const struct spec_resources all[] = { { -1, -1, 8ll << 30, -1 } };
	struct container_spec members[2];
	struct pod_spec pod = pod_of(members, 1, 0, guaranteed);

	(void)state;
	assert_int_equal(resources_oom_score(&pod, members, 4 * GiB), -997);
	pod = pod_of(members, 1, 0, none);
	assert_int_equal(resources_oom_score(&pod, members, 4 * GiB), 1000);
	pod = pod_of(members, 2, 0, two);
	/* 1000 - 1000 * 256 MiB / 4 GiB = 937.5, the division rounds down. */
	assert_int_equal(resources_oom_score(&pod, members, 4 * GiB), 938);
	assert_int_equal(resources_oom_score(&pod, members + 1, 4 * GiB), 999);
	pod = pod_of(members, 1, 0, all);
	assert_int_equal(resources_oom_score(&pod, members, 4 * GiB), 3);
}

static void container_groups(void **state)
{
	struct container_spec c = { .resources = { 500, 1500, -1, 64 * MiB } };
	struct cgroup_limits l = resources_of_container(&c);

	(void)state;
	assert_int_equal(l.cpu_weight, 59);
	assert_int_equal(l.cpu_quota_us, 150000);
	assert_true(l.memory_max == 64 * MiB);
	assert_true(l.is_leaf);
	c.resources = (struct spec_resources){ -1, 5, -1, 0 };
	l = resources_of_container(&c);
	assert_int_equal(l.cpu_weight, 1);
	assert_int_equal(l.cpu_quota_us, 1000); /* the least */
	assert_int_equal(l.memory_max, -1);     /* 0 is no limit */
	c.resources = (struct spec_resources)NONE;
	assert_int_equal(resources_of_container(&c).cpu_quota_us, -1);
}

static void pod_groups(void **state)
{
	static const struct spec_resources two[] = { { 100, 100, -1, 32 * MiB },
						     { 200, 200, -1, 64 * MiB } };
	static const struct spec_resources lacking[] = { { 100, 100, -1, 32 * MiB },
							 NONE };
	static const struct spec_resources first[] = { { 900, 1000, -1, 32 * MiB },
						       { 300, 400, -1, 64 * MiB } };
	struct container_spec members[2];
	struct pod_spec pod = pod_of(members, 2, 0, two);
	struct cgroup_limits l = resources_of_pod(&pod);

	(void)state;
	assert_int_equal(l.cpu_quota_us, 30000);
	assert_true(l.memory_max == 96 * MiB);
	assert_int_equal(l.cpu_weight, resources_cpu_weight(300));
	assert_false(l.is_leaf);
	pod = pod_of(members, 2, 0, lacking);
	l = resources_of_pod(&pod);
	assert_true(l.cpu_quota_us == -1 && l.memory_max == -1);
	assert_int_equal(l.cpu_weight, resources_cpu_weight(100));
	/* The initContainer needs more cpu, the container more memory. */
	pod = pod_of(members, 2, 1, first);
	l = resources_of_pod(&pod);
	assert_int_equal(l.cpu_quota_us, 100000);
	assert_true(l.memory_max == 64 * MiB);
	assert_int_equal(l.cpu_weight, resources_cpu_weight(900));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights),    cmocka_unit_test(quality_of_service),
		cmocka_unit_test(oom_scores), cmocka_unit_test(container_groups),
		cmocka_unit_test(pod_groups),
	};

	return cmocka_run_group_tests_name("pod resources", tests, NULL, NULL);
}
