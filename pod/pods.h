// SPDX-License-Identifier: Apache-2.0
/*
 * pods.h - all pods of the machine: what control and init may ask of them.
 *
 * Owns: every pod, its members, the event and log journals, the log service.
 * Called by: init (create from files, stop everything), control (commands). pod never
 * calls them: it appends to the journals and calls the observer hooks below.
 * Nothing here blocks. JSON objects returned are new references owned by the caller
 * (json_object_put), NULL when memory is out.
 */
#ifndef POD_PODS_H
#define POD_PODS_H

#include "base/err.h"
#include "base/journal.h"
#include "base/loop.h"
#include "config/object_spec.h"
#include "netlink/uplink.h"
#include "pod/backoff.h"

struct diag;
struct json_object;
struct log_service;
struct machine;
struct manifest_pod;
struct monitor;
struct names;
struct network;
struct pod;
struct pod_spec;
struct volumes;

#define PODS_WATCH_BUCKETS 256
#define PODS_MAX           4096 /* pods on one machine; one more is refused with -ENOSPC */

/* Called from the loop; must not call back into pods but to read. */
struct pods_hooks {
	void (*journal_grew)(
		void *arg);          /* new records in events or logs: wake subscribers */
	void (*all_done)(void *arg); /* the last pod that can end has ended */
	void *arg;
};

struct pods {
	struct loop *loop;
	const struct machine *machine;
	struct list list; /* struct pod, in order of creation */
	size_t count;
	struct pods_hooks hooks;
	struct log_service *logs;
	struct journal events; /* JSON texts, see pod/event.h */
	struct journal lines;  /* see pod/member_log.h */
	/* private to pod/ below */
	int cgroup_fd; /* the "pods" group */
	int inotify_fd;
	struct loop_src inotify_src;
	struct list watches[PODS_WATCH_BUCKETS]; /* struct member, by inotify's wd */
	size_t n_timers;                         /* reserved in the loop */
	struct backoff_limits backoff;           /* from machine.json */
	bool user_ns;
	bool stopping;        /* pods_stop_all() was called: nothing starts any more */
	struct list starting; /* struct pod whose sandbox is to be started */
	struct loop_timer start_timer;
	uint64_t memory_bytes, cpus; /* the machine's */
	size_t plan_bytes;           /* of all members' launch plans */
	uint64_t created;
	struct monitor *monitor;   /* rtnetlink events; init's, NULL = none */
	struct network *network;   /* pod/network.h */
	struct uplink_info uplink; /* as last told */
	struct names *names;       /* pod/names.c's; NULL before the first change */
	struct list objects;       /* struct object, pod/objects.c's */
	size_t n_objects, object_bytes;
	uint64_t objects_changed; /* counts the changes */
	struct volumes *volumes;  /* pod/volumes.c's; NULL before the first change */
	size_t n_net_jobs;        /* pod/network_inspect.c's */
};

/* user_ns: see rootfs/early.h; monitor: may be NULL. Makes the cgroup layout (PID 1 in
 * its own leaf "init", controllers enabled top-down, group "pods"), sweeps groups left by
 * an earlier life, the log service and the journals. 0 or -errno; a missing controller is
 * a warning. */
int pods_init(struct pods *pods, struct loop *loop, const struct machine *machine,
	      bool user_ns, struct monitor *monitor, struct err *e);

/* The machine's way out changed: hostIP, the pods' mtu, resolv.conf follow. */
void pods_uplink_changed(struct pods *pods, const struct uplink_info *info);

/* Takes spec on success and starts the pod. -EEXIST: same namespace and name (a pod that
 * has ended must be deleted first), -EADDRINUSE: a hostPort or a fixed address that
 * another pod has (e names both), -ENOSPC: too many pods, or no free address, -ENOMEM,
 * -ESHUTDOWN while stopping. */
int pods_create(struct pods *pods, struct pod_spec *spec, struct pod **ret,
		struct err *e);

/* A ConfigMap or Secret, new or in place of the one of its name; takes spec on success.
 * Members that wait for it go on, volumes that show it are rewritten within moments; an
 * environment stays as it is until the member is started anew. -EPERM: the old one is
 * immutable; -ENOSPC: too many, or too large together; -ENOMEM, -ESHUTDOWN. */
enum object_change { OBJECT_CREATED, OBJECT_CONFIGURED, OBJECT_UNCHANGED };
int pods_apply_object(struct pods *pods, struct object_spec *spec,
		      enum object_change *ret, struct err *e);
/* Running members and their volumes keep what they have. namespace NULL = "default".
 * -ENOENT. */
int pods_delete_object(struct pods *pods, enum object_kind kind, const char *namespace,
		       const char *name);
/* [{"kind","namespace","name","immutable","bytes","keys":[],"usedBy":[POD...]}] without
 * any value; namespace NULL: all. */
struct json_object *pods_objects_json(const struct pods *pods, const char *namespace);

/* Keeps a record of a refused manifest, so that pod-list and pod-status show the reason:
 * phase Failed, reason InvalidManifest, message = its errors. Never starts anything.
 * A document that is no manifest at all: pod->name is made from the file's name. */
int pods_refuse(struct pods *pods, const struct manifest_pod *pod,
		const struct diag *diag, struct err *e);

/* namespace NULL = "default". NULL when there is none. */
struct pod *pods_find(struct pods *pods, const char *namespace, const char *name);

/* Asks for termination; idempotent; a later shorter grace shortens a running stop.
 * grace_ms < 0: the pod's own. grace 0 = SIGKILL at once. */
void pod_stop(struct pod *pod, int64_t grace_ms);

/* pod_stop(), and the record goes away when the pod has ended (at once if it has). The
 * pointer is invalid after the turn in which that happens. */
void pod_delete(struct pod *pod, int64_t grace_ms);

bool pod_ended(const struct pod *pod); /* terminal phase, nothing of it is alive */
const char *pod_uid(const struct pod *pod);

/* Sends sig to the member's first process, through its pidfd. -ENOENT: no such member,
 * -ESRCH: not running, -EINVAL: no signal. */
int member_kill(struct pod *pod, const char *member, int sig);

/* Shutdown. Stops every pod, all in parallel, each within its own grace but none later
 * than deadline_ns (CLOCK_BOOTTIME); nothing is restarted or created any more. */
void pods_stop_all(struct pods *pods, int64_t deadline_ns);
/* The longest grace among the pods that have not ended, 0 without any: how long a
 * shutdown has to wait at most when nobody shortens it. */
int64_t pods_longest_grace_ms(const struct pods *pods);
/* cgroup.kill on the whole tree: after the deadline. */
void pods_kill_all(struct pods *pods);
/* No member process is left. */
bool pods_quiet(const struct pods *pods);
/* Names of what is still alive, for "waiting for ..." lines: "ns/pod/member, ..." */
size_t pods_describe_alive(const struct pods *pods, char *buf, size_t size);

/* Every pod that can end (restartPolicy Never/OnFailure) has ended and none is Always;
 * false when there is no pod at all. */
bool pods_all_done(const struct pods *pods);

/* 0 = every pod Succeeded; else the exit code of the first failed member in order of
 * creation, 1 when a pod failed without one. 0 when there is no pod. */
int pods_exit_code(const struct pods *pods);

/* {"namespace","name","uid","phase","lifecycle","reason",...} of each: pod-list. */
struct json_object *pods_list_json(const struct pods *pods);

/* A v1 Pod without spec: {"apiVersion","kind","metadata":{...},"status":{PodStatus}}. */
struct json_object *pod_json(const struct pod *pod);

/* [{"namespace","name","phase","members":[{"name","exitCode","reason","signal"}]}]: the
 * outcome line at the end. */
struct json_object *pods_outcome_json(const struct pods *pods);

/* The first exec of each member for `podctl boot`: [{"namespace","pod","member",
 * "execNs"}], CLOCK_BOOTTIME. */
struct json_object *pods_timeline_json(const struct pods *pods);

/*
 * Links, addresses, routes, host ports and counters of the pods' network. A helper child
 * asks the kernel, so the answer comes later: q->done, from the loop, exactly once unless
 * pods_net_cancel() came before. text: JSON, valid until done() returns; NULL with e
 * filled: no answer in time (-ETIMEDOUT), longer than PODS_NET_BYTES (-EFBIG), ...
 * {"machine":{...netlink/inspect.h...},"pods":[{"namespace","name","hostNetwork":bool,
 *  "ready":bool,"reason","message","netns":PATH,"ips":[],"ports":[{"member","protocol",
 *  "hostIP","hostPort","podIP","podPort","active":bool}],"links":[...as of the machine;
 *  those of the plan also "hostInterface","bridge"...],"routes":[...],"error"}]}
 * "machine" is there when no pod was named; "error": this pod's namespace could not be
 * read. The query is the caller's and stays where it is meanwhile.
 */
#define PODS_NET_BYTES (4u << 20)

struct pods_net_job;
struct pods_net_query {
	void (*done)(struct pods_net_query *q, const char *text, size_t len,
		     const struct err *e);
	struct pods_net_job *job; /* private; NULL = nothing is asked */
};
/* namespace NULL: all of them; pod NULL: all of the namespace. 0, -EAGAIN (too many are
 * asked at once), -EINVAL (a refused pod), -ESHUTDOWN or another -errno: done() is not
 * called then. */
int pods_net_ask(struct pods *pods, const char *namespace, const struct pod *pod,
		 struct pods_net_query *q);
/* Harmless when nothing is asked, or done() was called. */
void pods_net_cancel(struct pods_net_query *q);

/* The last lines of a member, attempt < 0 = all held in memory.
 * {"lines":[{"time","stream","partial","text","attempt"}],"lostBytes":N}
 * -ENOENT: no such member. */
int member_log_json(struct pod *pod, const char *member, size_t max_lines,
		    int64_t attempt, struct json_object **ret);

#endif
