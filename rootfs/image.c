// SPDX-License-Identifier: Apache-2.0
/*
 * image.c - see image.h.
 *
 * Owns: the texts and the config of one image. Never writes to the store. The store is
 * the machine's; what lies in an image's rootfs/ is a stranger's and is opened as such.
 */
#include "rootfs/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "config/diag.h"
#include "rootfs/image_ref.h"
#include "rootfs/in_root.h"

/* More users than that are no image's, and the text is held while the pod lives. */
#define USER_FILE_BYTES (1u << 20)

/* A regular file of the image as text; 0 with *ret NULL when there is none. It is looked
 * at through O_PATH first: to open a device or a fifo can already have an effect. */
static int read_user_file(int root_fd, const char *path, char **ret)
{
	_cleanup_close_ int path_fd = in_root_open(root_fd, path, O_PATH, 0);
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t len;

	*ret = NULL;
	if (path_fd < 0)
		return path_fd == -ENOENT || path_fd == -ENOTDIR || path_fd == -ELOOP ?
			       0 :
			       path_fd;
	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (st.st_size > (off_t)USER_FILE_BYTES)
		return -EFBIG;
	fd = in_root_open(root_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	len = fd_read_full(fd, text, (size_t)st.st_size);
	if (len < 0)
		return (int)len;
	text[len] = '\0';
	*ret = ptr_steal(&text);
	return 0;
}

static int config_refused(const struct diag *diag, struct err *e)
{
	char reason[sizeof(e->text)] = "is broken";

	for (size_t i = 0; i < diag->n; i++) {
		if (diag->items[i].warning)
			continue;
		(void)diag_format(diag, &diag->items[i], reason, sizeof(reason));
		break;
	}
	return err_setx(e, STAGE_IMAGE, EBADMSG, "image config %s", reason);
}

/* config.json beside rootfs/; without one the image has no defaults. */
static int config_read(int image_fd, const char *id, struct image_config *ret,
		       struct err *e)
{
	_cleanup_free_ struct diag *diag = malloc(sizeof(*diag));
	_cleanup_free_ char *text = NULL;
	ssize_t len = fd_read_whole_at(image_fd, "config.json", IMAGE_CONFIG_BYTES,
				       &text);
	char file[sizeof(diag->file)];
	int r;

	if (!diag)
		return err_set(e, STAGE_IMAGE, ENOMEM, "read config of image %s", id);
	if (len == -EFBIG || len == -EINVAL || len == -EISDIR)
		return err_setx(e, STAGE_IMAGE, EBADMSG,
				"config.json of image %s is no file of at most %u bytes",
				id, IMAGE_CONFIG_BYTES);
	if (len < 0 && len != -ENOENT)
		return err_set(e, STAGE_IMAGE, (int)-len, "read config of image %s", id);
	(void)snprintf(file, sizeof(file), "%.100s/config.json", id);
	diag_init(diag, file);
	r = len < 0 ? image_config_parse("{}", 2, diag, ret) :
		      image_config_parse(text, (size_t)len, diag, ret);
	if (r == -EINVAL)
		return config_refused(diag, e);
	if (r < 0)
		return err_set(e, STAGE_IMAGE, -r, "read config of image %s", id);
	return 0;
}

/* DIR/NAME/TAG and its rootfs/, as descriptors and as the path that overlay needs. */
static int image_find(const char *store, const struct image_ref *ref, struct image *image,
		      int *ret_image_fd, int *ret_root_fd, struct err *e)
{
	_cleanup_close_ int image_fd = -1;
	_cleanup_close_ int root_fd = -1;
	int n = snprintf(image->root, sizeof(image->root), "%s/%s/%s/rootfs", store,
			 ref->name, ref->tag);

	(void)snprintf(image->id, sizeof(image->id), "%s%c%s", ref->name,
		       ref->digest ? '@' : ':', ref->tag);
	if (ref->digest)
		*strrchr(image->id, '-') = ':';
	if (n < 0 || (size_t)n >= sizeof(image->root))
		return err_set(e, STAGE_IMAGE, ENAMETOOLONG, "image %s", image->id);
	root_fd = open(image->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_setx(e, STAGE_IMAGE, ENOENT, "image %s is not in the store %s",
				image->id, store);
	if (root_fd < 0)
		return err_set(e, STAGE_IMAGE, errno, "open image root %s", image->root);
	/* Not "rootfs/..": rootfs may be a symlink to a directory elsewhere. */
	image->root[n - (int)strlen("/rootfs")] = '\0';
	image_fd = open(image->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	image->root[n - (int)strlen("/rootfs")] = '/';
	if (image_fd < 0)
		return err_set(e, STAGE_IMAGE, errno, "open image %s", image->id);
	*ret_image_fd = fd_steal(&image_fd);
	*ret_root_fd = fd_steal(&root_fd);
	return 0;
}

int image_open(const char *store, const char *reference, struct image *ret, struct err *e)
{
	_cleanup_close_ int image_fd = -1;
	_cleanup_close_ int root_fd = -1;
	struct image image = { 0 };
	struct image_ref ref;
	const char *why;
	int r = image_ref_parse(reference, &ref, &why);

	if (r < 0)
		return err_setx(e, STAGE_IMAGE, -r, "\"%.80s\" is no image reference: %s",
				reference, why);
	if (store[0] != '/')
		return err_setx(e, STAGE_IMAGE, ENOENT,
				"image store \"%s\" is not an absolute path", store);
	r = image_find(store, &ref, &image, &image_fd, &root_fd, e);
	if (r < 0)
		return r;
	r = config_read(image_fd, image.id, &image.config, e);
	if (r < 0)
		return r;
	r = read_user_file(root_fd, "/etc/passwd", &image.passwd);
	if (r < 0)
		r = err_set(e, STAGE_IMAGE, -r, "read /etc/passwd of image %s", image.id);
	if (r == 0) {
		r = read_user_file(root_fd, "/etc/group", &image.group);
		if (r < 0)
			r = err_set(e, STAGE_IMAGE, -r, "read /etc/group of image %s",
				    image.id);
	}
	if (r < 0) {
		image_free(&image);
		return r;
	}
	*ret = image;
	return 0;
}

void image_free(struct image *image)
{
	if (!image)
		return;
	image_config_free(&image->config);
	free(image->passwd);
	free(image->group);
	*image = (struct image){ 0 };
}
