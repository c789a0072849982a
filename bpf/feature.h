// SPDX-License-Identifier: Apache-2.0
/*
 * feature.h - what this kernel's BPF can do for us, probed once, by trying.
 *
 * Called by: init after boot, in a helper child: a program load may take milliseconds.
 * Never decides by kernel version.
 */
#ifndef BPF_FEATURE_H
#define BPF_FEATURE_H

/* child.run: prints one JSON object on stdout, e.g.
 * {"btf":true,"ringbuf":true,"tracing":true,"reason":""}; exit code 0. arg unused. */
int bpf_feature_run(void *arg);

#endif
