// SPDX-License-Identifier: Apache-2.0
/*
 * names_parts.h - what the writers of the names share, for pod/names*.c, hosts_file.c and
 * resolv_file.c alone.
 */
#ifndef POD_NAMES_PARTS_H
#define POD_NAMES_PARTS_H

#include "pod/names.h"
#include "pod/pod.h"

/* Limits of what is written; a file that would be longer is cut short of nothing: the
 * writer says -ENOBUFS and the file stays as it was. 4,096 pods of the longest names,
 * both families, are 7 MiB. */
#define NAMES_HOSTS_BYTES   (8u << 20)
#define NAMES_RESOLV_BYTES  (64u << 10)
/* The machine's own files are read up to here. */
#define NAMES_MACHINE_BYTES (256u << 10)

/* Its files are to be kept up to date: it has a sandbox and has not ended. */
bool names_pod_wants(const struct pod *pod);

/* child.run: arg is struct pods. Writes what names_changed() promises; a line on stderr
 * for each pod that has something to say. Exit code 1: a pod was left out. */
int names_rewrite_run(void *pods);

/* Other pods can reach it: interfaces of its own that stand, and it has not ended. */
bool names_pod_listed(const struct pod *pod);

/*
 * The lines about the other pods, as the pods of one namespace see them: made once for
 * all of them, each leaves its own part out. at[i] is where the lines of the pod number i
 * in pods.list begin, at[n] the end.
 */
struct hosts_view {
	const char *namespace;
	struct buf text;
	size_t *at;
	size_t n;
};

/* 0, -ENOMEM or -ENOBUFS. hosts_view_free() is harmless on a zeroed one. */
int hosts_view_make(const struct pods *pods, const char *namespace,
		    struct hosts_view *ret);
void hosts_view_free(struct hosts_view *view);
/* names_hosts_text() out of a view; index: the pod's number in pods.list. */
int hosts_text_from_view(const struct pod *pod, size_t index,
			 const struct hosts_view *view, const char *machine_hosts,
			 struct buf *ret);

#endif
