// SPDX-License-Identifier: Apache-2.0
/*
 * manifests.h - the pods of the machine's manifest folder.
 *
 * Owns: the list of files, the one being read. Called by: boot when the modules are
 * there. Works in bites of one file or one pod a turn, so that a thousand pods do not
 * keep the loop from the first one's exit.
 * ConfigMaps and Secrets of a file come before its pods.
 * A file or pod in error is reported with all its reasons on the log, kept as a refused
 * pod, and stops none of the others.
 */
#ifndef INIT_MANIFESTS_H
#define INIT_MANIFESTS_H

#include "base/loop.h"
#include "config/diag.h"
#include "config/pod_spec.h"

#define MANIFESTS_FILES_MAX 1024

struct pods;

struct manifests {
	/* Read only: how it went so far. */
	size_t created, refused;
	/* Private. */
	struct loop *loop;
	struct pods *pods;
	void (*done)(void *arg);
	void *arg;
	int dir_fd;
	char **names; /* sorted */
	size_t n_names, next_name;
	bool in_file; /* current and diag belong to names[next_name - 1] */
	struct manifest current;
	size_t next_object, next_pod;
	struct diag diag;
	struct loop_timer timer;
};

/* Lists DIR/ *.json (not hidden, sorted by byte) and begins. A folder that is not there
 * holds no pods. done() comes once, from the loop. 0; -errno: the folder cannot be read
 * or memory is out, done() does not come. */
int manifests_start(struct manifests *m, struct loop *loop, struct pods *pods,
		    const char *dir, void (*done)(void *arg), void *arg);
void manifests_stop(struct manifests *m); /* harmless when it is over */

#endif
