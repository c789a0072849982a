// SPDX-License-Identifier: Apache-2.0
/*
 * user_db.h - a member's user out of its image's passwd and group texts.
 *
 * No name service: PID 1 must not depend on nsswitch (systemd#14375), and the files are
 * the image's, not the machine's. The texts are read by rootfs.
 */
#ifndef CONFIG_USER_DB_H
#define CONFIG_USER_DB_H

#include <sys/types.h>

#include "base/err.h"

#define USER_GROUPS_MAX 64

struct user_ids {
	uid_t uid;
	gid_t gid;
	size_t n_groups;
	gid_t groups[USER_GROUPS_MAX]; /* supplementary; gid is among them */
	char home[256];                /* "" when unknown */
};

/*
 * spec: securityContext uid/gid, -1 = not set; image_user: the image's USER ("" = root).
 * Rules: runAsUser wins over USER; without runAsGroup the primary gid of the user in
 * passwd, else 0; with merge the user's in the group file are supplementary groups
 * (supplementalGroupsPolicy). passwd and group may be NULL (no such file). 0 or -EINVAL
 * with the name in e.
 */
int user_resolve(int64_t uid, int64_t gid, const char *image_user, const char *passwd,
		 const char *group, bool merge, struct user_ids *ret, struct err *e);
/* One more supplementary group, unless it is one already. 0, or -E2BIG. */
int user_add_group(struct user_ids *ids, gid_t gid);
/* Whether the image's USER is given by name: who it is stands in the image alone. */
bool user_is_name(const char *image_user);

#endif
