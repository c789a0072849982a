// SPDX-License-Identifier: Apache-2.0
/*
 * launch_mounts.c - what of its volumes a member mounts, and how.
 *
 * Owns: nothing; everything is made in the plan's arena. Called by: launch.c, in PID 1.
 */
#include <errno.h>
#include <string.h>

#include "config/expand.h"
#include "config/machine.h"
#include "config/name_check.h"
#include "pod/launch_parts.h"
#include "pod/pod.h"
#include "rootfs/image.h"

/* subPathExpr: what it becomes must be as a subPath has to be. */
static int build_sub_path(struct launch_plan *p, const struct spec_mount *from,
			  const struct expand_env *env, const char **ret, struct err *e)
{
	const char *text = from->sub_path, *wrong;

	if (text && from->sub_path_expr) {
		text = expand_text(&p->arena, text, env->vars, env->n);
		if (!text)
			return -ENOMEM;
		wrong = strstr(text, "$(") ? "without unknown variables" :
					     name_check_relative(text);
		if (wrong)
			return err_setx(e, STAGE_CONFIG, EINVAL,
					"subPathExpr \"%.64s\" of %s becomes \"%.64s\", "
					"which must be %s",
					from->sub_path, from->path, text, wrong);
	}
	*ret = text;
	return 0;
}

/* An image as a volume: its root file system. */
static int image_source(struct launch_plan *p, const struct member *m,
			const struct spec_volume *v, const char **ret,
			const char **ret_reason, struct err *e)
{
	struct image image;
	int r = image_open(m->pod->pods->machine->image_dir, v->image, &image, e);

	if (r < 0) {
		*ret_reason = launch_image_reason(v->image_pull, r);
		return r;
	}
	*ret = arena_strdup(&p->arena, image.root);
	image_free(&image);
	return *ret ? 0 : -ENOMEM;
}

static int source_of(struct launch_plan *p, const struct member *m,
		     const struct spec_volume *v, const char **ret,
		     const char **ret_reason, struct err *e)
{
	switch (v->kind) {
	case VOLUME_HOST_PATH:
		*ret = v->host_path;
		return 0;
	case VOLUME_IMAGE:
		return image_source(p, m, v, ret, ret_reason, e);
	case VOLUME_EMPTY_DIR:
	case VOLUME_PROJECTED:
		break;
	}
	*ret = arena_printf(&p->arena, "%s/volumes/%s", m->pod->run_dir, v->name);
	return *ret ? 0 : -ENOMEM;
}

/* Whatever the mount says: nobody writes to these. */
static bool is_read_only(const struct spec_volume *v)
{
	return v->kind == VOLUME_PROJECTED || v->kind == VOLUME_IMAGE;
}

int launch_mounts_build(struct launch_plan *p, const struct member *m,
			const struct expand_env *env, const char **ret_reason,
			struct err *e)
{
	struct root_mount *mounts = arena_array(&p->arena, m->spec->n_mounts + 1,
						sizeof(*mounts));
	int r = mounts ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < m->spec->n_mounts; i++) {
		const struct spec_mount *from = &m->spec->mounts[i];
		const struct spec_volume *v = &m->pod->spec->volumes[from->volume];
		struct root_mount *to = &mounts[i];

		to->target = from->path;
		to->read_only = from->read_only || is_read_only(v);
		to->recursive = from->recursive;
		to->propagation = from->propagation;
		to->is_host_path = v->kind == VOLUME_HOST_PATH;
		to->host_type = v->host_type;
		to->may_make = !to->read_only;
		r = build_sub_path(p, from, env, &to->sub_path, e);
		if (r == 0)
			r = source_of(p, m, v, &to->source, ret_reason, e);
	}
	p->root.n_mounts = m->spec->n_mounts;
	p->root.mounts = mounts;
	return r;
}
