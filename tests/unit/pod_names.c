// SPDX-License-Identifier: Apache-2.0
/*
 * pod_names.c - host names, the files on disk with members that put things in their way,
 * and when they are written again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "tests/unit/pod_names_fixture.h"
#include "tests/unit/rootfs_fixture.h"

static int up(void **state)
{
	fixture_up();
	return names_up(state);
}

static int down(void **state)
{
	free(pods.names);
	fixture_down();
	return names_down(state);
}

static const char *servers[] = { "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4" };
static const char *other_servers[] = { "192.0.2.99" };

/* With a directory, a sandbox, and a DNS that does not depend on this machine. */
static struct pod *add_real(const char *name, const char *ip4)
{
	struct pod *pod = add_pod("default", name, ip4, NULL);

	(void)snprintf(pod->run_dir, sizeof(pod->run_dir), "%s", fixture(name));
	pod->sandbox.made = true;
	pod->spec->dns.policy = DNS_NONE;
	pod->spec->dns.n_servers = 1;
	pod->spec->dns.servers = servers;
	return pod;
}

static bool holds(const char *path, const char *line)
{
	return strstr(slurp(fixture(path)), line);
}

static unsigned int mode_of(const char *path)
{
	struct stat st;

	return lstat(fixture(path), &st) < 0 ? 0 : (unsigned int)st.st_mode;
}

/* ---- names ---- */

static void hostname_rules(void **state)
{
	struct pod *pod = add_pod("default", "web", "10.88.0.2", NULL);
	char name[128], machine_name[128], fqdn[512];
	char label[64];

	(void)state;
	assert_int_equal(names_hostname(pod, name, sizeof(name)), 0);
	assert_string_equal(name, "web");
	assert_false(names_fqdn(pod, fqdn, sizeof(fqdn)));
	pod->spec->hostname_is_fqdn = true; /* without a subdomain it has none (C284) */
	assert_int_equal(names_hostname(pod, name, sizeof(name)), 0);
	assert_string_equal(name, "web");
	pod->spec->subdomain = "sub";
	assert_int_equal(names_hostname(pod, name, sizeof(name)), 0);
	assert_string_equal(name, "web.sub.default.svc.cluster.local");
	/* 31 + 33 = 64 bytes are the most (C285). */
	memset(label, 'h', sizeof(label));
	label[34] = '\0';
	pod->spec->hostname = label;
	assert_int_equal(names_hostname(pod, name, sizeof(name)), 0);
	assert_int_equal(strlen(name), 64);
	(void)strcpy(label + 34, "h");
	assert_int_equal(names_hostname(pod, name, sizeof(name)), -ENAMETOOLONG);
	assert_true(names_fqdn(pod, fqdn, sizeof(fqdn)));
	assert_int_equal(strlen(fqdn), 65);
	pod->spec->hostname_is_fqdn = false;
	assert_int_equal(names_hostname(pod, name, sizeof(name)), 0);
	assert_string_equal(name, label);
	pod->spec->hostname_override = "xx.yy.zz";
	pod->spec->hostname_is_fqdn = true;
	assert_int_equal(names_hostname(pod, name, sizeof(name)), 0);
	assert_string_equal(name, "xx.yy.zz");
	assert_false(names_fqdn(pod, fqdn, sizeof(fqdn)));
	assert_int_equal(names_hostname(pod, name, 8), -ENAMETOOLONG);
	pod->spec->host_network = true;
	assert_int_equal(gethostname(machine_name, sizeof(machine_name)), 0);
	assert_int_equal(names_hostname(pod, name, sizeof(name)), 0);
	assert_string_equal(name, machine_name);
}

/* ---- files ---- */

static void first_writing(void **state)
{
	struct pod *web = add_real("web", "10.88.0.2");
	mode_t mask = umask(077);

	(void)state;
	assert_int_equal(names_write(web), 0);
	(void)umask(mask);
	assert_true(holds("web/etc/hosts", "\n10.88.0.2\tweb\n"));
	assert_string_equal(slurp(fixture("web/etc/resolv.conf")),
			    "nameserver 192.0.2.1\n");
	assert_int_equal(mode_of("web/etc/hosts"), S_IFREG | 0644);
	assert_int_equal(mode_of("web/etc/resolv.conf"), S_IFREG | 0644);
	assert_int_equal(mode_of("web/etc"), S_IFDIR | 0755);
	assert_int_equal(names_write(web), 0); /* the next try of its sandbox */
}

static void rewriting_tells_the_others(void **state)
{
	struct pod *web = add_real("web", "10.88.0.2");
	struct pod *db = add_real("db", "10.88.0.3");
	struct pod *made = add_real("made", "10.88.0.4");

	(void)state;
	made->sandbox.made = false; /* its sandbox child is still at it */
	made->net.made = false;
	assert_int_equal(names_write(web), 0);
	assert_int_equal(names_write(db), 0);
	fixture_mkdir("made/etc");
	assert_int_equal(names_rewrite_run(&pods), 0);
	assert_true(holds("web/etc/hosts", "10.88.0.3\tdb.default\tdb\n"));
	assert_true(holds("db/etc/hosts", "10.88.0.2\tweb.default\tweb\n"));
	assert_false(holds("web/etc/hosts", "10.88.0.4"));
	assert_false(fixture_exists("made/etc/hosts"));
	db->state = POD_ENDED;
	assert_int_equal(names_rewrite_run(&pods), 0);
	assert_false(holds("web/etc/hosts", "10.88.0.3"));
	assert_true(holds("db/etc/hosts", "10.88.0.2")); /* nobody reads it */
}

static void pods_that_went_meanwhile(void **state)
{
	struct pod *web = add_real("web", "10.88.0.2");

	(void)state;
	(void)add_real("gone", "10.88.0.3");
	(void)add_real("half", "10.88.0.4");
	fixture_mkdir("half"); /* its etc is removed already */
	assert_int_equal(names_write(web), 0);
	assert_int_equal(names_rewrite_run(&pods), 0);
	assert_true(holds("web/etc/hosts", "10.88.0.3"));
	assert_false(fixture_exists("gone"));
	assert_false(fixture_exists("half/etc"));
}

static void members_own_changes(void **state)
{
	struct pod *web = add_real("web", "10.88.0.2");

	(void)state;
	assert_int_equal(names_write(web), 0);
	fixture_write("web/etc/resolv.conf", "mine");
	fixture_write("web/etc/hosts", "mine");
	assert_int_equal(names_rewrite_run(&pods), 0);
	assert_string_equal(slurp(fixture("web/etc/resolv.conf")), "mine");
	assert_true(holds("web/etc/hosts", "10.88.0.2"));
	web->spec->dns.servers = other_servers;
	assert_int_equal(names_rewrite_run(&pods), 0);
	assert_string_equal(slurp(fixture("web/etc/resolv.conf")),
			    "nameserver 192.0.2.99\n");
}

/* Whatever a member puts there is replaced, and never followed or written through. */
static void members_in_the_way(void **state)
{
	struct pod *web = add_real("web", "10.88.0.2");
	char temporary[64];

	(void)state;
	assert_int_equal(names_write(web), 0);
	fixture_write("secret", "secret");
	assert_int_equal(unlink(fixture("web/etc/hosts")), 0);
	fixture_symlink(fixture("secret"), "web/etc/hosts");
	assert_int_equal(names_rewrite_run(&pods), 0);
	assert_int_equal(mode_of("web/etc/hosts"), S_IFREG | 0644);

	assert_int_equal(unlink(fixture("web/etc/hosts")), 0);
	assert_int_equal(link(fixture("secret"), fixture("web/etc/hosts")), 0);
	assert_int_equal(names_rewrite_run(&pods), 0);

	assert_int_equal(unlink(fixture("web/etc/hosts")), 0);
	assert_int_equal(mkfifo(fixture("web/etc/hosts"), 0600), 0);
	assert_int_equal(names_rewrite_run(&pods), 0);
	assert_int_equal(mode_of("web/etc/hosts"), S_IFREG | 0644);

	assert_int_equal(unlink(fixture("web/etc/hosts")), 0);
	fixture_mkdir("web/etc/hosts/a/b");
	fixture_symlink(fixture("secret"), "web/etc/hosts/a/link");
	assert_int_equal(names_rewrite_run(&pods), 0);
	assert_int_equal(mode_of("web/etc/hosts"), S_IFREG | 0644);

	/* What a killed child left, of the same number. */
	(void)snprintf(temporary, sizeof(temporary), "web/hosts.%d", getpid());
	fixture_symlink(fixture("secret"), temporary);
	assert_int_equal(names_rewrite_run(&pods), 0);
	assert_false(fixture_exists(temporary));
	assert_true(holds("web/etc/hosts", "10.88.0.2"));
	assert_string_equal(slurp(fixture("secret")), "secret");
	assert_int_equal(mode_of("secret"), S_IFREG | 0644);
}

static void directory_that_is_a_link(void **state)
{
	struct pod *web = add_real("web", "10.88.0.2");
	struct pod *db = add_real("db", "10.88.0.3");

	(void)state;
	fixture_mkdir("outside");
	fixture_mkdir("web");
	fixture_symlink(fixture("outside"), "web/etc");
	assert_true(names_write(web) < 0);
	assert_int_equal(names_write(db), 0);
	/* The others get theirs all the same. */
	assert_int_equal(names_rewrite_run(&pods), 1);
	assert_true(holds("db/etc/hosts", "10.88.0.2"));
	assert_int_equal(rmdir(fixture("outside")), 0);
}

/* A reader sees a whole file at any time: it begins and ends as it should. */
static void no_torn_file(void **state)
{
	struct pod *web = add_real("web", "10.88.0.2");
	const char *names[] = { "last" };
	struct spec_host_alias alias = { "192.0.2.7", 1, names };
	char path[FIXTURE_PATH];
	pid_t pid;
	int code;

	(void)state;
	web->spec->n_aliases = 1;
	web->spec->aliases = &alias;
	for (unsigned int i = 0; i < 15; i++)
		(void)add_pod("default", "neighbour", "10.88.0.9", "fd9c::9");
	assert_int_equal(names_write(web), 0);
	(void)strcpy(path, fixture("web/etc/hosts"));
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 2000; i++) {
			const char *text = slurp(path);
			size_t len = strlen(text);

			if (strncmp(text, "# Kub", 5) != 0 ||
			    strcmp(text + len - 15, "192.0.2.7\tlast\n") != 0)
				_exit(1);
		}
		_exit(0);
	}
	do {
		int status;

		assert_int_equal(names_rewrite_run(&pods), 0);
		code = waitpid(pid, &status, WNOHANG) == pid ? WEXITSTATUS(status) : -1;
	} while (code < 0);
	assert_int_equal(code, 0);
}

/* ---- when ---- */

static void run_until(bool (*reached)(void), int64_t limit_ms)
{
	int64_t end = time_boot_ns() + limit_ms * NSEC_PER_MSEC;

	while (!reached() && time_boot_ns() < end)
		(void)loop_turn(pods.loop, 50);
	assert_true(reached());
}

static bool web_knows_db(void)
{
	return holds("web/etc/hosts", "\tdb.default");
}

static bool web_knows_late(void)
{
	return holds("web/etc/hosts", "\tlate.default");
}

static bool web_is_alone(void)
{
	return !web_knows_db();
}

static void changes_are_written(void **state)
{
	struct pod *web = add_real("web", "10.88.0.2"), *db, *late;
	char line[512];

	(void)state;
	assert_int_equal(loop_init(&pods.loop), 0);
	pods.backoff = (struct backoff_limits){ NSEC_PER_MSEC, NSEC_PER_MSEC,
						NSEC_PER_SEC };
	assert_int_equal(names_write(web), 0);
	db = add_real("db", "10.88.0.3");
	assert_int_equal(names_write(db), 0);
	names_changed(&pods);
	names_changed(&pods);
	run_until(web_knows_db, 10000);
	/* One that comes while the child runs, or while it rests. */
	late = add_real("late", "10.88.0.4");
	assert_int_equal(names_write(late), 0);
	names_changed(&pods);
	run_until(web_knows_late, 10000);
	/* A failure is told and tried again, and does not keep the others. */
	db->state = POD_ENDED;
	assert_int_equal(rename(fixture("late/etc"), fixture("late/away")), 0);
	fixture_write("late/etc", "");
	log_set_level(LOG_WARN);
	names_changed(&pods);
	run_until(web_is_alone, 10000);
	for (int i = 0; i < 20; i++)
		(void)loop_turn(pods.loop, 10);
	assert_true(log_ring_read(line, sizeof(line)) > 0);
	assert_int_equal(unlink(fixture("late/etc")), 0);
	assert_int_equal(rename(fixture("late/away"), fixture("late/etc")), 0);
	pods.stopping = true;
	names_changed(&pods);
	for (int i = 0; i < 20; i++)
		(void)loop_turn(pods.loop, 10);
	loop_free(pods.loop);
}

static void limits_are_told_once(void **state)
{
	struct pod *web = add_real("web", "10.88.0.2");
	static char text[LOG_RING_BYTES];
	const char *found;

	(void)state;
	assert_int_equal(loop_init(&pods.loop), 0);
	web->spec->dns.n_servers = 4;
	assert_int_equal(names_write(web), 0);
	for (int round = 0; round < 3; round++) {
		names_changed(&pods);
		for (int i = 0; i < 10; i++)
			(void)loop_turn(pods.loop, 20);
	}
	text[log_ring_read(text, sizeof(text) - 1)] = '\0';
	found = strstr(text, "default/web: its DNS has more than 3 servers");
	assert_non_null(found);
	assert_null(strstr(found + 60, "its DNS has more"));
	loop_free(pods.loop);
}

#define FILES_CASE(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NAMES_CASE(hostname_rules),
		FILES_CASE(first_writing),
		FILES_CASE(rewriting_tells_the_others),
		FILES_CASE(pods_that_went_meanwhile),
		FILES_CASE(members_own_changes),
		FILES_CASE(members_in_the_way),
		FILES_CASE(directory_that_is_a_link),
		FILES_CASE(no_torn_file),
		FILES_CASE(changes_are_written),
		FILES_CASE(limits_are_told_once),
	};

	return cmocka_run_group_tests_name("pod names", tests, NULL, NULL);
}
