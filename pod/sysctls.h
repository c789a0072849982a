// SPDX-License-Identifier: Apache-2.0
/*
 * sysctls.h - kernel settings of a pod's own namespaces.
 *
 * Owns: the list of those that are safe. Called by: sandbox.c. Source: kubernetes
 * pkg/kubelet/sysctl (allowlist.go, namespace.go).
 */
#ifndef POD_SYSCTLS_H
#define POD_SYSCTLS_H

#include "base/err.h"

struct machine;
struct pod_spec;

/* 0, or -EPERM with e: one that is neither safe nor allowed by machine.json, or that is
 * not the pod's own. */
int sysctls_check(const struct machine *machine, const struct pod_spec *spec,
		  struct err *e);

/* In the sandbox's child, inside of the new namespaces. 0 or -errno with e. */
int sysctls_apply(const struct pod_spec *spec, struct err *e);

#endif
