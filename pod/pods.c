// SPDX-License-Identifier: Apache-2.0
/*
 * pods.c - the registry: creation, look-up, watches, and what concerns all pods at once.
 *
 * Owns: struct pods. Called by: init and control through pods.h.
 */
#include "pod/pods.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "config/diag.h"
#include "config/machine.h"
#include "pod/member_log.h"
#include "pod/names.h"
#include "pod/network.h"
#include "pod/pod.h"
#include "pod/resources.h"
#include "rootfs/early.h"

#define EVENT_JOURNAL_BYTES (256u << 10)
#define LINE_JOURNAL_BYTES  (1u << 20)
#define STARTS_PER_TURN     4
#define OTHER_TIMERS        256 /* of the channel, the helpers, the shutdown */
/* Children of sandbox and clean-up, a retry of each, the network's repair. */
#define TIMERS_PER_POD      5

/* ---- set-up ---- */

/* A few a turn: a list of a thousand pods must not keep the loop from an exit. */
static void start_due(struct loop_timer *timer)
{
	struct pods *pods = container_of(timer, struct pods, start_timer);

	for (int i = 0; i < STARTS_PER_TURN && !list_empty(&pods->starting); i++) {
		struct pod *pod = list_entry(pods->starting.next, struct pod, starting);

		list_remove(&pod->starting);
		sandbox_start(pod);
	}
	if (!list_empty(&pods->starting))
		(void)loop_timer_set(pods->loop, timer, loop_now(pods->loop));
}

static void lines_grew(void *arg)
{
	const struct pods *pods = arg;

	if (pods->hooks.journal_grew)
		pods->hooks.journal_grew(pods->hooks.arg);
}

static uint64_t machine_bytes(void)
{
	struct sysinfo info;

	(void)sysinfo(&info); /* of a variable of ours: cannot fail */
	return (uint64_t)info.totalram * info.mem_unit;
}

int pods_init(struct pods *pods, struct loop *loop, const struct machine *machine,
	      bool user_ns, struct monitor *monitor, struct err *e)
{
	const struct log_config logs = {
		.dir = machine->log_dir,
		.max_bytes = machine->log_max_bytes,
		.max_files = machine->log_max_files,
		.tail_bytes = machine->log_tail_bytes,
		.console = machine->log_console,
		.grew = lines_grew,
		.arg = pods,
	};
	int r;

	*pods = (struct pods){
		.loop = loop,
		.machine = machine,
		.cgroup_fd = -1,
		.inotify_fd = -1,
		.user_ns = user_ns,
		.monitor = monitor,
		.memory_bytes = machine_bytes(),
		.cpus = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L),
		.backoff = {
			.base_ns = machine->backoff_base_ms * NSEC_PER_MSEC,
			.max_ns = machine->backoff_max_ms * NSEC_PER_MSEC,
			.reset_ns = machine->backoff_reset_ms * NSEC_PER_MSEC,
		},
	};
	list_init(&pods->list);
	list_init(&pods->starting);
	list_init(&pods->objects);
	pods->start_timer.fn = start_due;
	pods->n_timers = 1; /* start_timer */
	r = cgroup_setup(&pods->cgroup_fd, e);
	if (r == 0)
		r = pods_watch_init(pods, e);
	if (r == 0)
		r = network_init(&pods->network, pods, e);
	if (r < 0)
		return r;
	r = journal_init(&pods->events, EVENT_JOURNAL_BYTES);
	if (r == 0)
		r = journal_init(&pods->lines, LINE_JOURNAL_BYTES);
	if (r < 0)
		return err_set(e, STAGE_LOG, -r, "journals");
	return log_service_init(&pods->logs, loop, &logs, &pods->lines, e);
}

static void pod_free(struct pod *pod)
{
	for (size_t i = 0; i < pod->n_members; i++)
		member_release(&pod->members[i]);
	sandbox_release(&pod->sandbox);
	if (pod->spec)
		network_forget(pod);
	if (pod->spec)
		(void)cgroup_remove(pod->pods->cgroup_fd,
				    pod->uid); /* again: see finish() */
	pod_spec_free(pod->spec);
	free(pod->message);
	free(pod->log_dir);
	loop_timer_cancel(&pod->cleanup_retry);
	free(pod);
}

/* ---- creation ---- */

/* A version 4 UUID (RFC 9562). Without entropy at boot (firecracker#663) getrandom would
 * block; the uid must be unique on this machine, not secret. */
static void make_uid(struct pods *pods, char uid[static POD_UID_BYTES])
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), GRND_NONBLOCK) != sizeof(b)) {
		uint64_t words[2] = { (uint64_t)time_wall_ns() ^ pods->created,
				      (uint64_t)time_boot_ns() };

		memcpy(b, words, sizeof(b));
	}
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	(void)snprintf(
		uid, POD_UID_BYTES,
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
		b[12], b[13], b[14], b[15]);
}

/* The uid becomes the name of directories: only the shape of a UUID is taken over. */
static bool uid_usable(const struct pods *pods, const char *uid)
{
	char path[sizeof(PODS_DIR) + POD_UID_BYTES];

	if (!uid || strlen(uid) != POD_UID_BYTES - 1 ||
	    strspn(uid, "0123456789abcdef-") != POD_UID_BYTES - 1)
		return false;
	list_for_each(node, &pods->list)
		if (!strcmp(list_entry(node, struct pod, node)->uid, uid))
			return false;
	/* What an earlier pod of this uid left behind is not this one's to read. */
	(void)snprintf(path, sizeof(path), "%s/%s", PODS_DIR, uid);
	return access(path, F_OK) < 0;
}

static struct pod *pod_new(struct pods *pods, size_t n_members)
{
	struct pod *pod = calloc(1, sizeof(*pod) + n_members * sizeof(struct member));

	if (!pod)
		return NULL;
	pod->pods = pods;
	pod->phase = "Pending";
	pod->created_wall_ns = time_wall_ns();
	pod->n_members = n_members;
	list_init(&pod->starting);
	list_init(&pod->net.watch.node);
	sandbox_init(&pod->sandbox);
	pause_init(&pod->pause);
	child_init(&pod->cleanup);
	for (size_t i = 0; i < CONDITION_MAX; i++)
		pod->conditions[i].since_wall_ns = pod->created_wall_ns;
	return pod;
}

static void pod_enter(struct pods *pods, struct pod *pod)
{
	list_append(&pods->list, &pod->node);
	pods->count++;
	pods->created++;
}

static int check_create(struct pods *pods, const char *namespace, const char *name,
			struct err *e)
{
	if (pods->stopping)
		return err_setx(e, STAGE_CONFIG, ESHUTDOWN, "the machine is stopping");
	if (pods->count >= PODS_MAX)
		return err_setx(e, STAGE_CONFIG, ENOSPC, "there are %d pods already",
				PODS_MAX);
	if (pods_find(pods, namespace, name))
		return err_setx(e, STAGE_CONFIG, EEXIST, "pod %s/%s exists already",
				namespace, name);
	return 0;
}

static int pod_fill(struct pod *pod, const struct pod_spec *spec, struct err *e)
{
	struct cgroup_limits limits;
	int r;

	(void)snprintf(pod->name, sizeof(pod->name), "%s", spec->name);
	(void)snprintf(pod->namespace, sizeof(pod->namespace), "%s", spec->namespace);
	if (uid_usable(pod->pods, spec->uid))
		memcpy(pod->uid, spec->uid, POD_UID_BYTES);
	else
		make_uid(pod->pods, pod->uid);
	(void)snprintf(pod->run_dir, sizeof(pod->run_dir), "%s/%s", PODS_DIR, pod->uid);
	for (size_t i = 0; i < spec->n_members; i++) {
		r = member_init(&pod->members[i], pod, &spec->members[i]);
		if (r < 0)
			return err_set(e, STAGE_CONFIG, -r, "pod %s", spec->name);
	}
	r = network_assign(pod, e);
	if (r < 0)
		return r;
	limits = resources_of_pod(spec);
	return cgroup_make_pod(pod->pods->cgroup_fd, pod->uid, &limits, e);
}

int pods_create(struct pods *pods, struct pod_spec *spec, struct pod **ret, struct err *e)
{
	size_t timers = pods->n_timers + TIMERS_PER_POD + spec->n_members;
	struct pod *pod;
	int r = check_create(pods, spec->namespace, spec->name, e);

	if (r < 0)
		return r;
	r = loop_timer_reserve(pods->loop, timers + OTHER_TIMERS);
	pod = r < 0 ? NULL : pod_new(pods, spec->n_members);
	if (!pod)
		return err_set(e, STAGE_CONFIG, ENOMEM, "pod %s", spec->name);
	pod->spec = spec; /* member_init() looks at it */
	r = pod_fill(pod, spec, e);
	if (r < 0) {
		network_forget(pod);
		(void)cgroup_remove(pods->cgroup_fd, pod->uid);
		pod->spec = NULL; /* the caller's still */
		pod_free(pod);
		return r;
	}
	pods->n_timers = timers;
	pod_enter(pods, pod);
	pod_update_status(pod);
	list_append(&pods->starting, &pod->starting);
	(void)loop_timer_set(pods->loop, &pods->start_timer, /* reserved */
			     loop_now(pods->loop));
	if (ret)
		*ret = pod;
	return 0;
}

/* All errors of the manifest in one text, a line each. */
static char *refusal_text(const struct manifest_pod *from, const struct diag *diag)
{
	size_t size = (from->id.n_diag + 1) * (DIAG_POINTER + DIAG_TEXT + 32), len = 0;
	char *text = calloc(1, size);

	for (size_t i = 0; text && i < from->id.n_diag; i++) {
		size_t at = from->id.first_diag + i;
		int n;

		if (at >= diag->n)
			break;
		if (diag->items[at].warning)
			continue;
		n = diag_format(diag, &diag->items[at], text + len, size - len);
		if (n < 0 || (size_t)n + 2 > size - len)
			break;
		len += (size_t)n;
		text[len++] = '\n';
	}
	if (len)
		text[len - 1] = '\0';
	return text;
}

int pods_refuse(struct pods *pods, const struct manifest_pod *from,
		const struct diag *diag, struct err *e)
{
	const char *namespace = from->id.namespace[0] ? from->id.namespace : "default";
	const char *name = from->id.name[0] ? from->id.name : "unnamed";
	struct pod *pod;
	int r = check_create(pods, namespace, name, e);

	if (r < 0)
		return r;
	pod = pod_new(pods, 0);
	if (!pod)
		return err_set(e, STAGE_CONFIG, ENOMEM, "pod %s", name);
	(void)snprintf(pod->name, sizeof(pod->name), "%s", name);
	(void)snprintf(pod->namespace, sizeof(pod->namespace), "%s", namespace);
	make_uid(pods, pod->uid);
	pod->state = POD_REFUSED;
	pod->reason = "InvalidManifest";
	pod->message = refusal_text(from, diag);
	pod_enter(pods, pod);
	pod_update_status(pod);
	return 0;
}

/* ---- look-up and small verbs ---- */

void pods_uplink_changed(struct pods *pods, const struct uplink_info *info)
{
	pods->uplink = *info;
	network_uplink_changed(pods->network);
	names_changed(pods);
}

struct pod *pods_find(struct pods *pods, const char *namespace, const char *name)
{
	if (!namespace)
	namespace = "default";
	list_for_each(node, &pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if (!strcmp(pod->name, name) && !strcmp(pod->namespace, namespace))
			return pod;
	}
	return NULL;
}

bool pod_ended(const struct pod *pod)
{
	return pod->state == POD_ENDED || pod->state == POD_REFUSED;
}

const char *pod_uid(const struct pod *pod)
{
	return pod->uid;
}

int member_kill(struct pod *pod, const char *member, int sig)
{
	if (sig < 1 || sig > 64)
		return -EINVAL;
	for (size_t i = 0; i < pod->n_members; i++) {
		struct member *m = &pod->members[i];

		if (strcmp(m->spec->name, member))
			continue;
		if (m->pidfd < 0 || m->state == MEMBER_STARTING)
			return -ESRCH;
		return proc_signal(m->pidfd, sig);
	}
	return -ENOENT;
}

/* ---- all of them ---- */

static void pod_collect(struct loop_garbage *garbage)
{
	pod_free(container_of(garbage, struct pod, garbage));
}

void pods_forget(struct pods *pods, struct pod *pod)
{
	if (list_empty(&pod->node))
		return; /* forgotten already, freed after this turn */
	list_remove(&pod->node);
	list_remove(&pod->starting);
	pods->count--;
	if (pod->spec)
		pods->n_timers -= TIMERS_PER_POD + pod->n_members;
	pod_publish(pod, POD_EVENT_POD_DELETED);
	pod->garbage.fn = pod_collect;
	loop_defer_free(pods->loop, &pod->garbage);
}

void pods_pod_ended(struct pods *pods, struct pod *pod)
{
	if (pods_all_done(pods) && pods->hooks.all_done)
		pods->hooks.all_done(pods->hooks.arg);
	if (pod->delete_wanted)
		pod_advance(pod);
}

bool pods_all_done(const struct pods *pods)
{
	size_t ended = 0;

	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		if (pod->state == POD_REFUSED)
			continue; /* never was one; it waits for a person */
		if (pod->state != POD_ENDED || pod->spec->restart == RESTART_ALWAYS)
			return false;
		ended++;
	}
	return ended > 0;
}

void pods_stop_all(struct pods *pods, int64_t deadline_ns)
{
	int64_t left_ms = (deadline_ns - loop_now(pods->loop)) / NSEC_PER_MSEC;

	pods->stopping = true;
	left_ms = MAX(left_ms, (int64_t)0);
	list_for_each_safe(node, &pods->list) {
		struct pod *pod = list_entry(node, struct pod, node);

		if (!pod->spec)
			continue;
		pod_stop(pod, MIN(left_ms, pod->spec->grace_seconds * 1000));
	}
}

int64_t pods_longest_grace_ms(const struct pods *pods)
{
	int64_t longest_s = 0;

	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		if (pod->spec && pod->state != POD_ENDED)
			longest_s = MAX(longest_s, pod->spec->grace_seconds);
	}
	return longest_s > INT64_MAX / 1000 ? INT64_MAX : longest_s * 1000;
}

void pods_kill_all(struct pods *pods)
{
	int r = cgroup_kill(pods->cgroup_fd, ".");

	if (r < 0)
		log_error("kill all pods: %s", strerror(-r));
}

bool pods_quiet(const struct pods *pods)
{
	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		for (size_t i = 0; i < pod->n_members; i++)
			if (member_alive(&pod->members[i]))
				return false;
	}
	return true;
}

size_t pods_describe_alive(const struct pods *pods, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	list_for_each(node, &pods->list) {
		const struct pod *pod = list_entry(node, struct pod, node);

		for (size_t i = 0; i < pod->n_members; i++) {
			const struct member *m = &pod->members[i];
			int n;

			if (!member_alive(m))
				continue;
			n = snprintf(buf + len, size - len, "%s%s/%s/%s (%s)",
				     len ? ", " : "", pod->namespace, pod->name,
				     m->spec->name, member_state_name(m->state));
			if (n < 0 || (size_t)n >= size - len)
				return size - 1;
			len += (size_t)n;
		}
	}
	return len;
}
