// SPDX-License-Identifier: Apache-2.0
/*
 * cmdline.h - podinit.KEY=VALUE on the kernel's command line.
 *
 * For what must be known before or instead of the machine file; documented in
 * docs/podinit.8. In a container /proc/cmdline is another machine's, so there only
 * podinit's own arguments count. Called by: boot. Never: fails; a bad option is warned
 * about by name and has no effect.
 */
#ifndef INIT_CMDLINE_H
#define INIT_CMDLINE_H

#include "base/log.h"
#include "config/machine.h"

#define CMDLINE_PATH_BYTES 256

struct cmdline {
	char machine[CMDLINE_PATH_BYTES];   /* "" = not given */
	char manifests[CMDLINE_PATH_BYTES]; /* "" = not given */
	char ip[CMDLINE_PATH_BYTES];        /* the kernel's own "ip=", "" = not given */
	enum log_level log_level;           /* LOG_LEVEL_MAX = not given */
	enum machine_end on_pods_done;      /* END_MAX = not given */
	enum machine_end on_boot_failed;    /* END_MAX = not given */
};

void cmdline_init(struct cmdline *c);

/* One word. Words without the prefix "podinit." are not ours and not looked at, but for
 * "ip=", which is the kernel's and the uplink's. A later word wins. As in the kernel, '-'
 * and '_' are the same in a key. */
void cmdline_word(struct cmdline *c, const char *word);

/* A whole command line, with double quotes as the kernel reads them. text is changed. */
void cmdline_parse(struct cmdline *c, char *text);

/* What the command line says wins over the machine file. Strings are borrowed from c. */
void cmdline_apply(const struct cmdline *c, struct machine *machine);

#endif
