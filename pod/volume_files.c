// SPDX-License-Identifier: Apache-2.0
/*
 * volume_files.c - what stands in a configMap, secret, downwardAPI or projected volume.
 *
 * Owns: nothing that outlives a call. Called by: volumes.c, to look in PID 1 and to write
 * in children. Source: kubernetes pkg/volume/configmap, secret, downwardapi, projected
 * (MakePayload, collectData).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pod/downward.h"
#include "pod/objects.h"
#include "pod/pod.h"
#include "pod/volumes.h"
#include "rootfs/projected.h"

/* Of one volume; each object is bounded by itself. */
#define FILES_MAX      65536
#define DOWNWARD_BYTES (512u << 10) /* annotations are 256 KiB at most */

struct files {
	struct projected_file *list; /* NULL: only looked at */
	size_t n, room;
	struct buf *texts; /* of the downward items, in their order; owned */
	size_t n_texts;
};

static int add(struct files *f, const struct spec_volume *v, const char *path,
	       const void *data, size_t len, int64_t mode)
{
	if (!f->list)
		return 0;
	if (f->n == f->room) {
		size_t room = f->room * 2;
		struct projected_file *list = room > FILES_MAX ?
						      NULL :
						      reallocarray(f->list, room,
								   sizeof(*list));

		if (!list)
			return -ENOMEM;
		f->list = list;
		f->room = room;
	}
	f->list[f->n++] = (struct projected_file){
		.path = path,
		.data = data,
		.len = len,
		.mode = (mode_t)(mode >= 0 ? mode : v->default_mode),
	};
	return 0;
}

static int add_object(struct files *f, const struct pod *pod, const struct spec_volume *v,
		      const struct spec_projection *p, struct err *e)
{
	const struct object_spec *object = NULL;
	const struct object_entry *entry = NULL;
	int r = objects_resolve(pod->pods, pod->namespace, &p->object, &object, e);

	if (r < 0 || !object)
		return r;
	for (size_t i = 0; r == 0 && p->n_items == 0 && i < object->n_entries; i++) {
		entry = &object->entries[i];
		r = add(f, v, entry->key, entry->data, entry->len, -1);
	}
	for (size_t i = 0; r == 0 && i < p->n_items; i++) {
		const struct spec_item *item = &p->items[i];

		r = objects_resolve_key(pod->namespace, &p->object, object, item->key,
					&entry, e);
		if (r == 0 && entry)
			r = add(f, v, item->path, entry->data, entry->len, item->mode);
	}
	return r;
}

static int add_downward(struct files *f, const struct pod *pod,
			const struct spec_volume *v, const struct spec_projection *p,
			struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && f->list && i < p->n_items; i++) {
		struct buf *text = &f->texts[f->n_texts++];

		buf_init(text, DOWNWARD_BYTES);
		r = downward_text(pod, NULL, &p->items[i].value, text, e);
		if (r == 0)
			r = add(f, v, p->items[i].path, text->len ? buf_head(text) : "",
				text->len, p->items[i].mode);
	}
	return r;
}

static int collect(struct files *f, const struct pod *pod, size_t n, struct err *e)
{
	const struct spec_volume *v = &pod->spec->volumes[n];
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->n_sources; i++) {
		const struct spec_projection *p = &v->sources[i];

		r = p->downward ? add_downward(f, pod, v, p, e) :
				  add_object(f, pod, v, p, e);
	}
	return r;
}

int volume_files_check(const struct pod *pod, size_t n, struct err *e)
{
	struct files none = { 0 };

	return collect(&none, pod, n, e);
}

static size_t count_downward(const struct spec_volume *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_sources; i++)
		n += v->sources[i].downward ? v->sources[i].n_items : 0;
	return n;
}

int volume_files_write(const struct pod *pod, size_t n, const char *dir, struct err *e)
{
	const struct spec_volume *v = &pod->spec->volumes[n];
	struct files f = { .room = 16 };
	struct err why = { 0 };
	int r = -ENOMEM;

	f.list = calloc(f.room, sizeof(*f.list));
	f.texts = calloc(count_downward(v) + 1, sizeof(*f.texts));
	if (f.list && f.texts)
		r = collect(&f, pod, n, &why);
	if (r == 0)
		r = projected_write(dir, f.list, f.n, pod->spec->fs_group);
	for (size_t i = 0; i < f.n_texts; i++)
		buf_free(&f.texts[i]);
	free(f.texts);
	free(f.list);
	if (r < 0 && why.code)
		return err_setx(e, STAGE_VOLUME, -r, "volume \"%s\": %s", v->name,
				why.text);
	return r < 0 ? err_set(e, STAGE_VOLUME, -r, "volume \"%s\"", v->name) : 0;
}
