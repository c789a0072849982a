// SPDX-License-Identifier: Apache-2.0
/*
 * names.h - what a pod's members find in /etc/hosts and /etc/resolv.conf.
 *
 * Owns: the files "hosts" and "resolv.conf" in pod->run_dir/etc, and the child that
 * rewrites them when a pod came or went. Called by: sandbox.c (first writing, in the
 * sandbox child), lifecycle.c and network (changes). PID 1 itself writes nothing: the
 * child writes each file beside and renames it, so that a reader sees the old or the new
 * one. Members see the directory at /dev/podinit, and /etc/hosts and /etc/resolv.conf are
 * symbolic links into it in their own writable layer: a file that is bound could not be
 * replaced as a whole.
 * Changes are collected: the next rewrite begins at the earliest ten times as long after
 * the last one as that one took, so that a thousand pods being made cost a tenth of a
 * cpu. Source: kubelet_pods.go (managedHostsFileContent), dns.go; kubernetes-pod.md 12.
 */
#ifndef POD_NAMES_H
#define POD_NAMES_H

#include "base/buf.h"

struct names; /* pods.names: the rewriting child and its timer */
struct pod;
struct pods;

/* Pure writers; 0, -ENOBUFS or -ENOMEM. machine_hosts / machine_resolv: text of the
 * machine's files, NULL = none (used for hostNetwork pods, dnsPolicy Default and
 * ClusterFirst). names_resolv_text() gives 1 when it left out what is over the kubelet's
 * limits (3 servers, 32 searches, 2048 bytes of searches). */
int names_hosts_text(const struct pod *pod, const char *machine_hosts, struct buf *ret);
int names_resolv_text(const struct pod *pod, const char *machine_resolv, struct buf *ret);

/* The name that uname(2) gives (setHostnameAsFQDN, hostnameOverride): 0, or -ENAMETOOLONG
 * when it is over 64 bytes (C285: the sandbox is refused, the pod stays Pending). */
int names_hostname(const struct pod *pod, char *ret, size_t size);
/* "hostname.subdomain.namespace.svc.DOMAIN", or false: it has none. */
bool names_fqdn(const struct pod *pod, char *ret, size_t size);

/* In the sandbox child: makes the directory and both files. 0 or -errno. */
int names_write(const struct pod *pod);

/* In PID 1: somebody came or went, or the machine's DNS changed. hosts is written for
 * each pod, resolv.conf only where its text is another than the last one: what a member
 * adds to its files stays until then. */
void names_changed(struct pods *pods);

#endif
