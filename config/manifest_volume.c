// SPDX-License-Identifier: Apache-2.0
/*
 * manifest_volume.c - a Pod's volumes and what containers mount of them.
 *
 * Source: core/v1 types.go (Volume, VolumeSource, VolumeMount), core/validation.
 */
#include <limits.h>
#include <string.h>

#include "config/manifest_parts.h"
#include "config/name_check.h"
#include "config/quantity.h"

#define SIZE_LIMIT_MAX (UINT64_C(1) << 60)

struct volume_read {
	struct spec_volume volume;
	struct pod_spec *pod;
};

struct mount_read {
	struct spec_mount mount;
	size_t index; /* in the manifest, for the pointer of a duplicate */
	const struct pod_spec *pod;
};

static const char *const host_path_words[] = {
	[HOST_PATH_ANY] = "",
	[HOST_PATH_DIRECTORY_OR_CREATE] = "DirectoryOrCreate",
	[HOST_PATH_DIRECTORY] = "Directory",
	[HOST_PATH_FILE_OR_CREATE] = "FileOrCreate",
	[HOST_PATH_FILE] = "File",
	[HOST_PATH_SOCKET] = "Socket",
	[HOST_PATH_CHAR_DEVICE] = "CharDevice",
	[HOST_PATH_BLOCK_DEVICE] = "BlockDevice",
	NULL,
};

_Static_assert(sizeof(enum host_path_type) == sizeof(int), "enum as int");

static void read_medium(struct json_reader *r, const struct json_at *at, void *out)
{
	struct volume_read *v = out;
	const char *text = json_text(at);

	if (strcmp(text, "Memory") == 0)
		v->volume.memory = true;
	else if (strncmp(text, "HugePages", 9) == 0)
		json_refuse(r, at);
	else if (*text)
		json_fault(r, at, DIAG_VALUE,
			   "unsupported value \"%.40s\"; must be \"\" or \"Memory\"",
			   text);
}

static void read_size_limit(struct json_reader *r, const struct json_at *at, void *out)
{
	struct volume_read *v = out;
	const char *text = manifest_number_text(at);

	if (!quantity_parse(text, 0, SIZE_LIMIT_MAX, &v->volume.size_limit) ||
	    v->volume.size_limit > SIZE_LIMIT_MAX)
		json_fault(r, at, DIAG_VALUE,
			   "\"%.40s\" is no size, such as \"64Mi\" or \"1G\"", text);
}

static const struct field empty_dir_fields[] = {
	FIELD_CALL("medium", FIELD_STRING, read_medium),
	FIELD_CALL("sizeLimit", FIELD_ANY, read_size_limit),
	FIELD_REFUSE("mode", FIELD_ANY, NULL),
	FIELD_TABLE_END,
};

static const struct field host_path_fields[] = {
	FIELD_AT("path", FIELD_STRING, struct volume_read, volume.host_path,
		 .check = name_check_path, .required = true),
	FIELD_AT("type", FIELD_WORD, struct volume_read, volume.host_type,
		 .words = host_path_words),
	FIELD_TABLE_END,
};

static void read_empty_dir(struct json_reader *r, const struct json_at *at, void *out)
{
	json_fields_read(r, at, empty_dir_fields, out);
}

static void read_host_path(struct json_reader *r, const struct json_at *at, void *out)
{
	struct volume_read *v = out;

	v->volume.kind = VOLUME_HOST_PATH;
	json_fields_read(r, at, host_path_fields, v);
}

static const struct field image_fields[] = {
	FIELD_AT("reference", FIELD_STRING, struct volume_read, volume.image,
		 .check = name_check_image, .required = true),
	FIELD_AT("pullPolicy", FIELD_WORD, struct volume_read, volume.image_pull,
		 .words = manifest_pull_words),
	FIELD_TABLE_END,
};

static void read_image(struct json_reader *r, const struct json_at *at, void *out)
{
	struct volume_read *v = out;
	struct json_at pull = json_member(at, "pullPolicy");

	v->volume.kind = VOLUME_IMAGE;
	json_fields_read(r, at, image_fields, v);
	if (!pull.value && v->volume.image)
		v->volume.image_pull = manifest_default_pull(v->volume.image);
}

static void read_config_map(struct json_reader *r, const struct json_at *at, void *out)
{
	struct volume_read *v = out;

	manifest_read_config_map_volume(r, at, &v->volume);
}

static void read_secret(struct json_reader *r, const struct json_at *at, void *out)
{
	struct volume_read *v = out;

	manifest_read_secret_volume(r, at, &v->volume);
}

static void read_downward(struct json_reader *r, const struct json_at *at, void *out)
{
	struct volume_read *v = out;

	manifest_read_downward_volume(r, at, &v->volume);
}

static void read_projected(struct json_reader *r, const struct json_at *at, void *out)
{
	struct volume_read *v = out;

	manifest_read_projected_volume(r, at, &v->volume);
}

/* A source is an object even where it is refused: {} asks for that kind of volume. */
static const struct field volume_fields[] = {
	FIELD_AT("name", FIELD_STRING, struct volume_read, volume.name,
		 .check = name_check_label, .required = true),
	FIELD_CALL("emptyDir", FIELD_OBJECT, read_empty_dir),
	FIELD_CALL("hostPath", FIELD_OBJECT, read_host_path),
	FIELD_CALL("configMap", FIELD_OBJECT, read_config_map),
	FIELD_CALL("secret", FIELD_OBJECT, read_secret),
	FIELD_CALL("downwardAPI", FIELD_OBJECT, read_downward),
	FIELD_CALL("projected", FIELD_OBJECT, read_projected),
	FIELD_CALL("image", FIELD_OBJECT, read_image),
	FIELD_REFUSE("awsElasticBlockStore", FIELD_OBJECT, NULL),
	FIELD_REFUSE("azureDisk", FIELD_OBJECT, NULL),
	FIELD_REFUSE("azureFile", FIELD_OBJECT, NULL),
	FIELD_REFUSE("cephfs", FIELD_OBJECT, NULL),
	FIELD_REFUSE("cinder", FIELD_OBJECT, NULL),
	FIELD_REFUSE("csi", FIELD_OBJECT, NULL),
	FIELD_REFUSE("ephemeral", FIELD_OBJECT, NULL),
	FIELD_REFUSE("fc", FIELD_OBJECT, NULL),
	FIELD_REFUSE("flexVolume", FIELD_OBJECT, NULL),
	FIELD_REFUSE("flocker", FIELD_OBJECT, NULL),
	FIELD_REFUSE("gcePersistentDisk", FIELD_OBJECT, NULL),
	FIELD_REFUSE("gitRepo", FIELD_OBJECT, NULL),
	FIELD_REFUSE("glusterfs", FIELD_OBJECT, NULL),
	FIELD_REFUSE("iscsi", FIELD_OBJECT, NULL),
	FIELD_REFUSE("nfs", FIELD_OBJECT, NULL),
	FIELD_REFUSE("persistentVolumeClaim", FIELD_OBJECT, NULL),
	FIELD_REFUSE("photonPersistentDisk", FIELD_OBJECT, NULL),
	FIELD_REFUSE("portworxVolume", FIELD_OBJECT, NULL),
	FIELD_REFUSE("quobyte", FIELD_OBJECT, NULL),
	FIELD_REFUSE("rbd", FIELD_OBJECT, NULL),
	FIELD_REFUSE("scaleIO", FIELD_OBJECT, NULL),
	FIELD_REFUSE("storageos", FIELD_OBJECT, NULL),
	FIELD_REFUSE("vsphereVolume", FIELD_OBJECT, NULL),
	FIELD_TABLE_END,
};

static void check_one_source(struct json_reader *r, const struct json_at *at)
{
	const struct field *f;
	size_t n = 0;

	for (f = volume_fields; f->name; f++) {
		struct json_at member = json_member(at, f->name);

		n += f->type == FIELD_OBJECT && member.value;
	}
	if (n > 1)
		json_fault(r, at, DIAG_VALUE,
			   "a volume must have one source only, this one has %zu", n);
}

static const struct spec_volume *volume_find(const struct pod_spec *pod, const char *name)
{
	size_t i;

	for (i = 0; i < pod->n_volumes; i++)
		if (strcmp(pod->volumes[i].name, name) == 0)
			return &pod->volumes[i];
	return NULL;
}

static void read_volume(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;
	struct volume_read v = { .pod = pod };
	struct json_at name = json_member(at, "name");

	/* A source that is refused must not hide that its mounts are right: the volume
	 * is kept under its name, the pod is refused anyway. */
	json_fields_read(r, at, volume_fields, &v);
	check_one_source(r, at);
	if (!v.volume.name)
		return;
	if (volume_find(pod, v.volume.name))
		json_fault(r, &name, DIAG_DUPLICATE, "duplicate volume name \"%s\"",
			   v.volume.name);
	else
		pod->volumes[pod->n_volumes++] = v.volume;
}

void manifest_read_volumes(struct json_reader *r, const struct json_at *at, void *out)
{
	struct pod_spec *pod = out;

	if (!manifest_check_length(r, at, POD_SPEC_VOLUMES))
		return;
	pod->volumes = json_keep_array(r, json_length(at), sizeof(*pod->volumes));
	if (pod->volumes)
		json_list_read(r, at, read_volume, pod);
}

static void read_mount_name(struct json_reader *r, const struct json_at *at, void *out)
{
	struct mount_read *m = out;
	const struct spec_volume *volume = volume_find(m->pod, json_text(at));

	if (volume)
		m->mount.volume = (size_t)(volume - m->pod->volumes);
	else
		json_fault(r, at, DIAG_VALUE, "no volume \"%.64s\" in the pod",
			   json_text(at));
}

static void read_mount_path(struct json_reader *r, const struct json_at *at, void *out)
{
	struct mount_read *m = out;
	const char *text = json_text(at);

	if (!*text || strlen(text) >= PATH_MAX)
		json_fault(r, at, DIAG_VALUE, "must be a path of 1 to %d bytes",
			   PATH_MAX - 1);
	else if (strchr(text, ':'))
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must not contain ':'", text);
	else
		m->mount.path = path_clean(r->arena, text);
	if (m->mount.path && strcmp(m->mount.path, "/") == 0)
		json_fault(r, at, DIAG_VALUE,
			   "\"%.64s\" is the root, which the image provides", text);
}

/* What it expands to is checked when it is. */
static void read_sub_path_expr(struct json_reader *r, const struct json_at *at, void *out)
{
	struct mount_read *m = out;
	struct json_at plain = json_member(at->parent, "subPath");
	const char *text = json_text(at), *wrong = name_check_relative(text);

	if (!*text)
		return;
	if (*json_text(&plain))
		json_fault(r, at, DIAG_VALUE,
			   "subPathExpr and subPath must not be given together");
	else if (wrong)
		json_fault(r, at, DIAG_VALUE, "\"%.64s\" must be %s", text, wrong);
	m->mount.sub_path = json_keep(r, text);
	m->mount.sub_path_expr = true;
}

static const char *const recursive_words[] = {
	[RECURSIVE_DISABLED] = "Disabled",
	[RECURSIVE_IF_POSSIBLE] = "IfPossible",
	[RECURSIVE_ENABLED] = "Enabled",
	NULL,
};

_Static_assert(sizeof(enum mount_recursive) == sizeof(int), "enum as int");
static const char *const propagation_words[] = {
	[PROPAGATION_NONE] = "None",
	[PROPAGATION_FROM_HOST] = "HostToContainer",
	[PROPAGATION_BOTH] = "Bidirectional",
	NULL,
};

_Static_assert(sizeof(enum mount_propagation) == sizeof(int), "enum as int");

static const struct field mount_fields[] = {
	FIELD_CALL("name", FIELD_STRING, read_mount_name, .required = true),
	FIELD_CALL("mountPath", FIELD_STRING, read_mount_path, .required = true),
	FIELD_AT("readOnly", FIELD_BOOL, struct mount_read, mount.read_only),
	FIELD_AT("recursiveReadOnly", FIELD_WORD, struct mount_read, mount.recursive,
		 .words = recursive_words),
	FIELD_AT("subPath", FIELD_STRING, struct mount_read, mount.sub_path,
		 .check = name_check_relative),
	FIELD_CALL("subPathExpr", FIELD_STRING, read_sub_path_expr),
	FIELD_AT("mountPropagation", FIELD_WORD, struct mount_read, mount.propagation,
		 .words = propagation_words),
	FIELD_REFUSE("bindMountOptions", FIELD_ANY, "[]"),
	FIELD_TABLE_END,
};

static void check_recursive(struct json_reader *r, const struct json_at *at,
			    const struct spec_mount *mount)
{
	struct json_at field = json_member(at, "recursiveReadOnly");

	if (mount->recursive != RECURSIVE_DISABLED &&
	    mount->propagation != PROPAGATION_NONE)
		json_fault(r, &field, DIAG_VALUE,
			   "may only be given when mountPropagation is None");
	if (mount->recursive != RECURSIVE_DISABLED && !mount->read_only)
		json_fault(r, &field, DIAG_VALUE,
			   "may only be given when readOnly is true");
}

/* A parent is a prefix of its children, so the order of bytes puts it before them. */
static int mount_compare(const void *pa, const void *pb)
{
	const struct mount_read *a = pa, *b = pb;
	int r = strcmp(a->mount.path, b->mount.path);

	return r ? r : a->index < b->index ? -1 : a->index > b->index;
}

static void check_mount_path_unique(struct json_reader *r, const struct json_at *list,
				    const struct mount_read *a,
				    const struct mount_read *b)
{
	struct json_at item = json_element(list, b->index);
	struct json_at path = json_member(&item, "mountPath");

	if (strcmp(a->mount.path, b->mount.path) == 0)
		json_fault(r, &path, DIAG_DUPLICATE,
			   "duplicate mountPath \"%.64s\": it must be unique",
			   b->mount.path);
}

void manifest_read_mounts(struct json_reader *r, const struct json_at *at,
			  const struct pod_spec *pod, struct container_spec *c)
{
	size_t n = json_length(at), i;
	struct mount_read *reads;

	if (!manifest_check_length(r, at, POD_SPEC_MOUNTS))
		return;
	reads = json_keep_array(r, n, sizeof(*reads));
	c->mounts = json_keep_array(r, n, sizeof(*c->mounts));
	if (!reads || !c->mounts)
		return;
	n = 0;
	for (i = 0; i < json_length(at); i++) {
		struct json_at item = json_element(at, i);
		struct mount_read m = { .index = i, .pod = pod };

		if (!json_expect_object(r, &item))
			continue;
		json_fields_read(r, &item, mount_fields, &m);
		check_recursive(r, &item, &m.mount);
		if (m.mount.path)
			reads[n++] = m;
	}
	qsort(reads, n, sizeof(*reads), mount_compare);
	for (i = 0; i < n; i++) {
		if (i > 0)
			check_mount_path_unique(r, at, &reads[i - 1], &reads[i]);
		c->mounts[c->n_mounts++] = reads[i].mount;
	}
}
