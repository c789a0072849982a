// SPDX-License-Identifier: Apache-2.0
/*
 * machine_file.h - finds, reads and reports /etc/podinit/machine.json.
 *
 * Called by: boot, once, before the loop. Reads one file of bounded size.
 */
#ifndef INIT_MACHINE_FILE_H
#define INIT_MACHINE_FILE_H

struct diag;
struct machine;

#define MACHINE_FILE "/etc/podinit/machine.json"

/* Fills ret in any case. path NULL: the usual place, where no file means defaults; a path
 * that was asked for must be there. 0; -EINVAL: refused, every reason is in the log, ret
 * holds the defaults; -ENOMEM: ret is not filled. */
int machine_file_load(const char *path, struct machine *ret);

/* Every item of d to the log, errors and warnings by their level. */
void machine_file_report(const struct diag *d);

#endif
