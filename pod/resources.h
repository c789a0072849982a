// SPDX-License-Identifier: Apache-2.0
/*
 * resources.h - from requests and limits to what the kernel is told.
 *
 * Owns: nothing; pure functions of the spec. Called by: pods.c and member.c for cgroups,
 * launch.c for the OOM score, status_json.c. The formulas are the kubelet's: qos.go,
 * pkg/kubelet/qos/policy.go, pkg/kubelet/cm/helpers_linux.go; the weight is runc's since
 * 1.3.2 and crun's since 1.23.
 */
#ifndef POD_RESOURCES_H
#define POD_RESOURCES_H

#include "config/pod_spec.h"
#include "pod/cgroup.h"

enum qos_class { QOS_GUARANTEED, QOS_BURSTABLE, QOS_BEST_EFFORT };

/* Of cpu and memory of all containers, initContainers too. */
enum qos_class resources_qos(const struct pod_spec *pod);
const char *resources_qos_name(enum qos_class qos); /* "Guaranteed", ... */

/* oom_score_adj of a container on a machine of so many bytes. */
int resources_oom_score(const struct pod_spec *pod, const struct container_spec *c,
			uint64_t machine_bytes);

struct cgroup_limits resources_of_container(const struct container_spec *c);
/* Sums; a limit only where every container has one. initContainers run one after the
 * other, and before the containers. */
struct cgroup_limits resources_of_pod(const struct pod_spec *pod);

/* cpu.weight of thousandths of a cpu; 0 = none: the least. */
uint32_t resources_cpu_weight(int64_t milli_cpu);

#endif
