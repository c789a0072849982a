// SPDX-License-Identifier: Apache-2.0
/*
 * init_manifests.c - a folder of manifests: order, errors, bites.
 *
 * The parser is the real one; the registry of pods is faked.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/time.h"
#include "init/manifests.h"
#include "pod/pods.h"

#define OBJECT(name)                                                                   \
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name \
	"\"}}"
#define POD(name)                                                                \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name \
	"\"},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"busybox\"}]}}"

static struct {
	char created[512], refused[512]; /* names in order, a space after each */
	size_t refused_diags;
	int fail_create; /* errno of the next creation */
	bool no_memory;  /* for the list of a folder */
	int done;
} got;

static struct loop *loop;
static struct pods pods;
static struct manifests m;
static char dir[] = "/tmp/init-manifests-XXXXXX";
static char logged[LOG_RING_BYTES + 1];

/* ---- the registry ----------------------------------------------------------------- */

int pods_create(struct pods *p, struct pod_spec *spec, struct pod **ret, struct err *e)
{
	assert_ptr_equal(p, &pods);
	*ret = NULL;
	if (got.fail_create)
		return err_set(e, STAGE_CONFIG, got.fail_create, "pod %s", spec->name);
	strcat(strcat(got.created, spec->name), " ");
	pod_spec_free(spec); /* taken */
	return 0;
}

int pods_apply_object(struct pods *p, struct object_spec *spec, enum object_change *ret,
		      struct err *e)
{
	assert_ptr_equal(p, &pods);
	if (!strcmp(spec->name, "fixed"))
		return err_setx(e, STAGE_CONFIG, EPERM, "it is immutable");
	strcat(strcat(got.created, "+"), spec->name);
	strcat(got.created, " ");
	*ret = OBJECT_CREATED;
	object_spec_free(spec); /* taken */
	return 0;
}

int pods_refuse(struct pods *p, const struct manifest_pod *pod, const struct diag *diag,
		struct err *e)
{
	assert_ptr_equal(p, &pods);
	(void)e;
	assert_true(pod->id.first_diag + pod->id.n_diag <= diag->n + diag->dropped);
	assert_true(pod->id.n_diag > 0);
	assert_string_equal(pod->id.namespace, "default");
	strcat(strcat(got.refused, pod->id.name), " ");
	got.refused_diags += pod->id.n_diag;
	return 0;
}

/* Before the library's own. */
DIR *fdopendir(int fd)
{
	DIR *(*real)(int) = (DIR * (*)(int)) dlsym(RTLD_NEXT, "fdopendir");

	if (!got.no_memory)
		return real(fd);
	errno = ENOMEM;
	return NULL;
}

/* ---- helpers ---------------------------------------------------------------------- */

static void on_done(void *arg)
{
	assert_ptr_equal(arg, &got);
	got.done++;
}

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static bool said(const char *text)
{
	logged[log_ring_read(logged, LOG_RING_BYTES)] = '\0';
	return strstr(logged, text) != NULL;
}

/* Returns the turns it took. */
static int load(void)
{
	int64_t end_ns = time_boot_ns() + 10 * NSEC_PER_SEC;
	int turns = 0;

	assert_int_equal(manifests_start(&m, loop, &pods, dir, on_done, &got), 0);
	assert_int_equal(got.done, 0); /* never from inside the call */
	while (!got.done) {
		assert_true(time_boot_ns() < end_ns);
		assert_true(loop_turn(loop, 1000) >= 0);
		turns++;
	}
	while (loop_turn(loop, 0) > 0)
		;
	assert_int_equal(got.done, 1);
	return turns;
}

static int set_up(void **state)
{
	(void)state;
	memset(&got, 0, sizeof(got));
	(void)snprintf(dir, sizeof(dir), "/tmp/init-manifests-XXXXXX");
	return !mkdtemp(dir) || loop_init(&loop) < 0;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	manifests_stop(&m);
	loop_free(loop);
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* ---- cases ------------------------------------------------------------------------ */

static void files_come_sorted_a_bite_a_turn(void **state)
{
	(void)state;
	put("20-b.json", POD("b"));
	put("10-a.json", POD("a"));
	put("30-list.json", "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" POD(
				    "c") "," POD("d") "]}");
	put("readme.txt", "no manifest");
	put(".hidden.json", "{");
	put(".json", "{");
	/* Three files, four pods, and the look that finds no more. */
	assert_true(load() >= 8);
	assert_string_equal(got.created, "a b c d ");
	assert_string_equal(got.refused, "");
	assert_int_equal(m.created, 4);
	assert_int_equal(m.refused, 0);
}

static void a_bad_neighbour_stops_nobody(void **state)
{
	(void)state;
	put("1.json", POD("first"));
	put("2 Broken_File.json", "{\"apiVersion\": ");
	put("3.json",
	    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"third\"},"
	    "\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"b\",\"xyzzy\":1,"
	    "\"stdin\":\"no\"}]}}");
	put("4.json", "{\"kind\":\"Deployment\"}");
	put("5.json", POD("fifth"));
	(void)load();
	assert_string_equal(got.created, "first fifth ");
	assert_string_equal(got.refused, "2-broken-file third 4 ");
	assert_int_equal(m.refused, 3);
	/* All of a file's errors, with file and pointer. */
	assert_true(said("2 Broken_File.json"));
	assert_true(said("3.json"));
	assert_true(said("/spec/containers/0/xyzzy: "));
	assert_true(said("/spec/containers/0/stdin: "));
	assert_true(said("4.json"));
}

static void what_cannot_be_read_is_refused_by_its_name(void **state)
{
	char path[256];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/dir.json", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/fifo.json", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	(void)snprintf(path, sizeof(path), "%s/gone.json", dir);
	assert_int_equal(symlink("/nonexistent/file", path), 0);
	(void)snprintf(path, sizeof(path), "%s/huge.json", dir);
	put("huge.json", "");
	assert_int_equal(truncate(path, POD_SPEC_FILE_BYTES + 1), 0);
	put("___.json", "");
	(void)load();
	assert_string_equal(got.refused, "manifest dir fifo gone huge ");
	assert_true(said("gone.json"));
	assert_true(said("cannot be read: No such file or directory"));
	assert_true(said("huge.json"));
}

static void a_pod_that_cannot_be_created_is_counted(void **state)
{
	(void)state;
	put("1.json", POD("twin"));
	got.fail_create = EEXIST;
	(void)load();
	assert_int_equal(m.created, 0);
	assert_int_equal(m.refused, 1);
	assert_true(said("pod twin: File exists"));
}

/* A List may name the pod first: what it needs is there when it starts. */
static void objects_come_before_pods(void **state)
{
	(void)state;
	put("1.json",
	    "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" POD("a") "," OBJECT(
		    "cm") "," OBJECT("fixed") ",{"
					      "\"apiVersion\":\"v1\",\"kind\":\"Secret\","
					      "\"metadata\":{\"name\":"
					      "\"s\"},\"data\":{\"a\":\"?\"}}]}");
	put("2.json", OBJECT("later"));
	(void)load();
	assert_string_equal(got.created, "+cm a +later ");
	assert_string_equal(got.refused, "");
	assert_true(said("it is immutable"));
	assert_true(said("/items/3/data/a: must be base64"));
}

static void no_folder_holds_no_pods(void **state)
{
	(void)state;
	assert_int_equal(rmdir(dir), 0);
	(void)load();
	assert_int_equal(m.created + m.refused, 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	got.done = 0;
	(void)load(); /* an empty one is the same */
	assert_int_equal(m.created + m.refused, 0);
}

static void what_is_no_folder_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(manifests_start(&m, loop, &pods, "/dev/null", on_done, &got),
			 -ENOTDIR);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(got.done, 0);
}

static void it_can_be_stopped_in_the_middle(void **state)
{
	(void)state;
	put("1.json", POD("a"));
	put("2.json", POD("b"));
	assert_int_equal(manifests_start(&m, loop, &pods, dir, on_done, &got), 0);
	for (int i = 0; i < 3; i++)
		(void)loop_turn(loop, 100);
	manifests_stop(&m);
	manifests_stop(&m);
	while (loop_turn(loop, 0) > 0)
		;
	assert_int_equal(got.done, 0);
}

static void too_many_files_are_counted(void **state)
{
	char name[32];

	(void)state;
	for (int i = 0; i < MANIFESTS_FILES_MAX + 3; i++) {
		(void)snprintf(name, sizeof(name), "%04d.json", i);
		put(name, "");
	}
	got.fail_create = 0;
	assert_int_equal(manifests_start(&m, loop, &pods, dir, on_done, &got), 0);
	assert_int_equal(m.n_names, MANIFESTS_FILES_MAX);
	assert_true(said("more than 1024 files, 3 are left out"));
	manifests_stop(&m);
}

static void a_folder_that_cannot_be_listed_costs_no_descriptor(void **state)
{
	int next = dup(STDERR_FILENO), after;

	(void)state;
	(void)close(next);
	got.no_memory = true;
	assert_int_equal(manifests_start(&m, loop, &pods, dir, on_done, &got), -ENOMEM);
	manifests_stop(&m);
	got.no_memory = false;
	after = dup(STDERR_FILENO);
	(void)close(after);
	assert_int_equal(after, next);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(files_come_sorted_a_bite_a_turn),
		CASE(a_bad_neighbour_stops_nobody),
		CASE(what_cannot_be_read_is_refused_by_its_name),
		CASE(a_pod_that_cannot_be_created_is_counted),
		CASE(objects_come_before_pods),
		CASE(no_folder_holds_no_pods),
		CASE(what_is_no_folder_is_an_error),
		CASE(it_can_be_stopped_in_the_middle),
		CASE(too_many_files_are_counted),
		CASE(a_folder_that_cannot_be_listed_costs_no_descriptor),
	};

	return cmocka_run_group_tests_name("init manifests", tests, NULL, NULL);
}
