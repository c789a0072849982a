// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_image.c - references, the store, and images that point out of themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/sysmacros.h>

#include "rootfs/image.h"
#include "rootfs/image_ref.h"
#include "tests/unit/rootfs_fixture.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct image image;
static struct err error;

static int setup(void **state)
{
	(void)state;
	fixture_up();
	fixture_mkdir("busybox/latest/rootfs/etc");
	memset(&error, 0, sizeof(error));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_down();
	return 0;
}

static int open_image(const char *reference)
{
	return image_open(fixture_dir, reference, &image, &error);
}

static void references_accepted(void **state)
{
	static const struct {
		const char *reference, *name, *tag;
	} rows[] = {
		{ "busybox", "busybox", "latest" },
		{ "busybox:1.36", "busybox", "1.36" },
		{ "library/busybox", "busybox", "latest" },
		{ "docker.io/busybox", "busybox", "latest" },
		{ "docker.io/library/busybox:a_B.-1", "busybox", "a_B.-1" },
		{ "index.docker.io/foo/bar", "foo/bar", "latest" },
		{ "foo/bar", "foo/bar", "latest" },
		{ "docker.io", "docker.io", "latest" }, /* alone, a repository */
		{ "library/foo/bar", "library/foo/bar", "latest" },
		{ "ghcr.io/a/b-c/d__e.f:v1", "ghcr.io/a/b-c/d__e.f", "v1" },
		{ "ghcr.io/library/x", "ghcr.io/library/x", "latest" },
		{ "localhost/x", "localhost/x", "latest" },
		{ "localhost:5000/x", "localhost:5000/x", "latest" },
		{ "localhost:5000/x:y", "localhost:5000/x", "y" },
		{ "LOCAL/x", "LOCAL/x", "latest" }, /* upper case: a registry */
		{ "[::1]:5000/x", "[::1]:5000/x", "latest" },
		{ "[2001:db8::1]/x", "[2001:db8::1]/x", "latest" },
		{ "a---b", "a---b", "latest" },
		{ "busybox@sha256:" HEX64, "busybox", "sha256-" HEX64 },
		{ "busybox:1@sha256:" HEX64, "busybox", "sha256-" HEX64 },
		{ "q.io/a@sha512:" HEX64 HEX64, "q.io/a", "sha512-" HEX64 HEX64 },
		{ "localhost/" HEX64, "localhost/" HEX64, "latest" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct image_ref ref;
		const char *why = "";

		if (image_ref_parse(rows[i].reference, &ref, &why) < 0)
			fail_msg("%s: %s", rows[i].reference, why);
		assert_string_equal(ref.name, rows[i].name);
		assert_string_equal(ref.tag, rows[i].tag);
	}
}

static void references_refused(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		"busy box",
		"Busybox",
		"foo/Bar",
		"ghcr.io/A",
		"a::b",
		"a:",
		":a",
		"/a",
		"a/",
		"a//b",
		"-a",
		"a-",
		"a_",
		"_a",
		"a..b",
		"a___b",
		"a.-b",
		".",
		"..",
		"../x",
		"a/../b",
		"a/./b",
		"a:.x",
		"a:-x",
		"a:b/c:d:e",
		"a@",
		"a@sha256",
		"a@sha256:",
		"a@sha256:abc",
		"a@md5:" HEX64,
		"a@sha256:" HEX64 "0",
		"a@sha256:"
		"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
		"a@sha256:" HEX64 "@sha256:" HEX64,
		HEX64,
		"library/" HEX64,
		"a\n",
		"a:b\tc",
		"a:b c",
		"\xc3\xa4",
		"a.b:x/c",
		"a.b:/c",
		"-a.b/c",
		"a..b/c",
		"a.b./c",
		"[::1/x",
		"[]/x",
		"[::1]x/y",
		"[::1]:/y",
		"a%2f",
		"http://a/b",
		"docker.io/",
		"a:\xff",
	};
	char longest[400];
	struct image_ref ref;
	const char *why;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		why = NULL;
		if (image_ref_parse(rows[i], &ref, &why) != -EINVAL || !why)
			fail_msg("\"%s\" was accepted", rows[i]);
	}
	memset(longest, 'a', sizeof(longest));
	longest[255] = '\0';
	assert_int_equal(image_ref_parse(longest, &ref, &why), 0);
	longest[255] = 'a';
	longest[256] = '\0';
	assert_int_equal(image_ref_parse(longest, &ref, &why), -EINVAL);
	memcpy(longest, "a:", 2);
	longest[130] = '\0';
	assert_int_equal(image_ref_parse(longest, &ref, &why), 0);
	longest[130] = 'a';
	longest[131] = '\0';
	assert_int_equal(image_ref_parse(longest, &ref, &why), -EINVAL);
}

static void image_with_everything(void **state)
{
	(void)state;
	fixture_write("busybox/latest/config.json",
		      "{\"config\":{\"Cmd\":[\"sh\"],\"User\":\"nobody\"}}");
	fixture_write("busybox/latest/rootfs/etc/passwd", "root:x:0:0::/:/bin/sh\n");
	assert_int_equal(open_image("docker.io/library/busybox"), 0);
	assert_string_equal(image.root, fixture("busybox/latest/rootfs"));
	assert_string_equal(image.id, "busybox:latest");
	assert_string_equal(image.config.cmd[0], "sh");
	assert_string_equal(image.config.user, "nobody");
	assert_string_equal(image.passwd, "root:x:0:0::/:/bin/sh\n");
	assert_null(image.group);
	image_free(&image);
	image_free(&image);
	image_free(NULL);
}

static void image_without_config(void **state)
{
	(void)state;
	fixture_mkdir("localhost:5000/x/sha256-" HEX64 "/rootfs");
	assert_int_equal(open_image("localhost:5000/x:9@sha256:" HEX64), 0);
	assert_string_equal(image.id, "localhost:5000/x@sha256:" HEX64);
	assert_null(image.config.entrypoint);
	assert_null(image.config.cmd);
	assert_non_null(image.config.env);
	assert_null(image.config.env[0]);
	assert_null(image.passwd);
	image_free(&image);
}

static void image_faults(void **state)
{
	FILE *file;

	(void)state;
	assert_int_equal(open_image("Busybox"), -EINVAL);
	assert_int_equal(error.code, EINVAL);
	assert_int_equal(error.stage, STAGE_IMAGE);
	assert_non_null(strstr(error.text, "\"Busybox\" is no image reference"));
	assert_int_equal(open_image("busybox:1"), -ENOENT);
	assert_non_null(strstr(error.text, "image busybox:1 is not in the store"));
	assert_int_equal(open_image("busybox/latest"), -ENOENT);
	fixture_write("file", "");
	assert_int_equal(open_image("file"), -ENOENT);
	fixture_mkdir("bare/latest");
	assert_int_equal(open_image("bare"), -ENOENT); /* no rootfs/ */
	assert_int_equal(image_open("store", "busybox", &image, &error), -ENOENT);
	assert_int_equal(image_open(fixture_dir, "none", &image, NULL), -ENOENT);
	fixture_write("busybox/latest/config.json", "{\"config\":{\"Cmd\":7}}");
	assert_int_equal(open_image("busybox"), -EBADMSG);
	assert_non_null(strstr(error.text, "busybox:latest/config.json"));
	assert_non_null(strstr(error.text, "/config/Cmd"));
	fixture_write("busybox/latest/config.json", "{");
	assert_int_equal(open_image("busybox"), -EBADMSG);
	file = fopen(fixture("busybox/latest/config.json"), "we");
	for (unsigned int i = 0; i <= IMAGE_CONFIG_BYTES; i++)
		(void)fputc(' ', file);
	(void)fclose(file);
	assert_int_equal(open_image("busybox"), -EBADMSG);
	assert_int_equal(unlink(fixture("busybox/latest/config.json")), 0);
	assert_int_equal(mkfifo(fixture("busybox/latest/config.json"), 0666), 0);
	assert_int_equal(open_image("busybox"), -EBADMSG); /* and did not hang */
}

static void user_files_stay_inside(void **state)
{
	char path[FIXTURE_PATH];

	(void)state;
	fixture_write("secret", "secret");
	(void)strcpy(path, fixture("secret"));
	fixture_symlink(path, "busybox/latest/rootfs/etc/passwd");
	fixture_symlink("../../../../secret", "busybox/latest/rootfs/etc/group");
	assert_int_equal(open_image("busybox"), 0);
	assert_null(image.passwd);
	assert_null(image.group);
	image_free(&image);
	/* A link that stays inside is as good as the file; magic links are not. */
	assert_int_equal(unlink(fixture("busybox/latest/rootfs/etc/passwd")), 0);
	assert_int_equal(unlink(fixture("busybox/latest/rootfs/etc/group")), 0);
	fixture_write("busybox/latest/rootfs/users", "inside");
	fixture_symlink("/../users", "busybox/latest/rootfs/etc/passwd");
	fixture_symlink("group", "busybox/latest/rootfs/etc/group");
	assert_int_equal(open_image("busybox"), 0);
	assert_string_equal(image.passwd, "inside");
	assert_null(image.group);
	image_free(&image);
}

static void user_files_of_other_kinds(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(mkfifo(fixture("busybox/latest/rootfs/etc/passwd"), 0666), 0);
	assert_int_equal(mknod(fixture("busybox/latest/rootfs/etc/group"), S_IFCHR | 0666,
			       makedev(1, 5)),
			 0); /* endless zeros */
	assert_int_equal(open_image("busybox"), 0);
	assert_null(image.passwd);
	assert_null(image.group);
	image_free(&image);
	assert_int_equal(unlink(fixture("busybox/latest/rootfs/etc/passwd")), 0);
	fd = open(fixture("busybox/latest/rootfs/etc/passwd"),
		  O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
	assert_int_equal(open_image("busybox"), -EFBIG);
	assert_non_null(strstr(error.text, "/etc/passwd of image busybox:latest"));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(open_image("busybox"), 0);
	assert_string_equal(image.passwd, "");
	image_free(&image);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(references_accepted),
		CASE(references_refused),
		CASE(image_with_everything),
		CASE(image_without_config),
		CASE(image_faults),
		CASE(user_files_stay_inside),
		CASE(user_files_of_other_kinds),
	};

	return cmocka_run_group_tests_name("rootfs image", tests, NULL, NULL);
}
