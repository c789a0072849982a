// SPDX-License-Identifier: Apache-2.0
/*
 * rootfs_modules.c - coldplug and named modules in a made-up root, with a modprobe that
 * writes down what it is asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/utsname.h>

#include "rootfs/modules.h"
#include "tests/unit/rootfs_fixture.h"

/* One line a call: the arguments between bars. "fail*" fails, "virtio" brings a device
 * as a bus driver would. */
static const char modprobe_text[] =
	"#!/bin/sh\n"
	"printf '|%s' \"$@\" >>/log; echo >>/log\n"
	"for a; do case $a in\n"
	"fail*) echo \"$a: no such module\" >&2; exit 1;;\n"
	"pci:virtio) mkdir -p /sys/devices/pci/v0; echo virtio:net "
	">/sys/devices/pci/v0/modalias;;\n"
	"esac; done\n";

static int setup(void **state)
{
	struct utsname u;
	char path[256];

	(void)state;
	fixture_up();
	fixture_mkdir("bin");
	fixture_mkdir("sbin");
	fixture_mkdir("sys/devices");
	fixture_mkdir("sys/module");
	assert_int_equal(uname(&u), 0);
	(void)snprintf(path, sizeof(path), "lib/modules/%s", u.release);
	fixture_mkdir(path);
	(void)snprintf(path, sizeof(path), "cp /bin/busybox %s && ln %s %s",
		       fixture("bin/busybox"), fixture("bin/busybox"), fixture("bin/sh"));
	assert_int_equal(system(path), 0);
	(void)snprintf(path, sizeof(path), "ln %s %s", fixture("bin/busybox"),
		       fixture("bin/mkdir"));
	assert_int_equal(system(path), 0);
	fixture_write("sbin/modprobe", modprobe_text);
	assert_int_equal(chmod(fixture("sbin/modprobe"), 0755), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_down();
	return 0;
}

/* Runs the job in the made-up root; its stderr is left in "errors". */
static int run(const char *const *names, bool coldplug)
{
	struct modules_job job = { .names = names, .coldplug = coldplug };
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open(fixture("errors"), O_WRONLY | O_CREAT | O_TRUNC, 0644);

		if (dup2(fd, STDERR_FILENO) < 0 || chroot(fixture_dir) < 0 ||
		    chdir("/") < 0 || setenv("PATH", "/bin", 1) < 0)
			_exit(9);
		_exit(modules_run(&job));
	}
	return fixture_wait(pid);
}

static const char *const none[] = { NULL };

static void add_device(const char *path, const char *modalias)
{
	char file[256];

	(void)snprintf(file, sizeof(file), "sys/devices/%s", path);
	fixture_mkdir(file);
	(void)strcat(file, "/modalias");
	fixture_write(file, modalias);
}

static void aliases_sorted_and_once(void **state)
{
	(void)state;
	add_device("a/b/c", "pci:z\n");
	add_device("a", "acpi:b\n");
	add_device("a/b", "pci:z\n");
	add_device("d", "input:b0 with blank\n");
	add_device("empty", "\n");
	add_device("option", "-r\n");
	fixture_mkdir("elsewhere");
	fixture_write("elsewhere/modalias", "not:ours\n");
	fixture_symlink("../../elsewhere", "sys/devices/link");
	fixture_symlink(".", "sys/devices/loop");
	assert_int_equal(run(none, true), 0);
	assert_string_equal(slurp(fixture("log")),
			    "|-a|-b|-q|acpi:b|input:b0 with blank|pci:z\n");
	assert_string_equal(slurp(fixture("errors")), "");
}

static void devices_behind_a_bus_are_found(void **state)
{
	(void)state;
	add_device("pci/0", "pci:virtio\n");
	assert_int_equal(run(none, true), 0);
	assert_string_equal(slurp(fixture("log")), "|-a|-b|-q|pci:virtio\n"
						   "|-a|-b|-q|virtio:net\n");
}

static void many_aliases_go_in_batches(void **state)
{
	char name[64];
	const char *log;
	size_t lines = 0, bars = 0;

	(void)state;
	for (int i = 0; i < 2500; i++) {
		(void)snprintf(name, sizeof(name), "d%d", i);
		add_device(name, name);
	}
	assert_int_equal(run(none, true), 0);
	log = slurp(fixture("log"));
	for (; *log; log++) {
		lines += *log == '\n';
		bars += *log == '|';
	}
	assert_int_equal(bars, 2500 + 3 * lines);
	assert_int_equal(lines, 3);
}

static void deep_and_long_are_bounded(void **state)
{
	char path[1024] = "sys/devices", text[5000];

	(void)state;
	for (int i = 0; i < 60; i++)
		(void)strcat(path, "/d");
	fixture_mkdir(path);
	(void)strcat(path, "/modalias");
	fixture_write(path, "too:deep\n");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	add_device("long", text);
	add_device("ok", "fine\n");
	assert_int_equal(run(none, true), 0);
	assert_string_equal(slurp(fixture("log")), "|-a|-b|-q|fine\n");
}

static void named_modules_one_by_one(void **state)
{
	const char *const names[] = {
		"one", "fail-a", "built-in", "two", "-r", "", NULL
	};

	(void)state;
	fixture_mkdir("sys/module/built_in");
	assert_int_equal(run(names, false), 1);
	assert_string_equal(slurp(fixture("log")), "|one\n|fail-a\n|two\n|\n");
	assert_non_null(strstr(slurp(fixture("errors")),
			       "module fail-a: modprobe failed with 1\n"));
	assert_non_null(strstr(slurp(fixture("errors")), "module -r: "));
	assert_null(strstr(slurp(fixture("errors")), "built"));
}

static void named_before_coldplug(void **state)
{
	const char *const names[] = { "one", NULL };

	(void)state;
	add_device("a", "pci:a\n");
	assert_int_equal(run(names, true), 0);
	assert_string_equal(slurp(fixture("log")), "|one\n|-a|-b|-q|pci:a\n");
}

static void no_modprobe_is_said_once(void **state)
{
	const char *const names[] = { "built-in", "one", NULL };

	(void)state;
	fixture_mkdir("sys/module/built_in");
	add_device("a", "pci:a\n");
	assert_int_equal(unlink(fixture("sbin/modprobe")), 0);
	assert_int_equal(run(none, true), 0);
	assert_string_equal(slurp(fixture("errors")), "no modprobe on this machine\n");
	assert_int_equal(run(none, false), 0);
	assert_string_equal(slurp(fixture("errors")), "");
	assert_int_equal(run(names, false), 1);
	assert_non_null(strstr(slurp(fixture("errors")), "module one: "));
	assert_null(strstr(slurp(fixture("errors")), "built-in"));
}

static void no_modules_for_the_kernel(void **state)
{
	(void)state;
	assert_int_equal(rename(fixture("lib/modules"), fixture("lib/other")), 0);
	add_device("a", "pci:a\n");
	assert_int_equal(run(none, true), 0);
	assert_string_equal(slurp(fixture("errors")), "no modules for this kernel\n");
	assert_false(fixture_exists("log"));
}

static void modprobe_that_cannot_run(void **state)
{
	const char *const names[] = { "one", NULL };

	(void)state;
	fixture_write("sbin/modprobe", "#!/no/such/shell\n");
	assert_int_equal(run(names, false), 1);
	assert_non_null(
		strstr(slurp(fixture("errors")), "module one: modprobe failed with 127"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(aliases_sorted_and_once),    CASE(devices_behind_a_bus_are_found),
		CASE(many_aliases_go_in_batches), CASE(deep_and_long_are_bounded),
		CASE(named_modules_one_by_one),   CASE(named_before_coldplug),
		CASE(no_modprobe_is_said_once),   CASE(no_modules_for_the_kernel),
		CASE(modprobe_that_cannot_run),
	};

	return cmocka_run_group_tests_name("rootfs modules", tests, NULL, NULL);
}
