// SPDX-License-Identifier: Apache-2.0
/*
 * pod.h - one pod and its members: the structs of the room pod/, not for others.
 *
 * Owns: struct pod owns its spec, members, sandbox descriptors, volumes' directory and
 * cgroup. Everything a pod needs on the exit, kill and log paths is made when the pod is
 * created. Identity across modules is the uid, never a pointer.
 */
#ifndef POD_POD_H
#define POD_POD_H

#include <limits.h>

#include "base/child.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/time.h"
#include "base/inet.h"
#include "config/pod_spec.h"
#include "netlink/plan.h"
#include "pod/cgroup.h"
#include "pod/event.h"
#include "pod/member_state.h"
#include "pod/pause.h"
#include "pod/pods.h"

struct launch_plan;
struct member_log;

#define POD_UID_BYTES 37

/* One life of a member: from clone to empty group. */
struct attempt {
	uint32_t number; /* 0 = first; the kubelet's restart count at that time */
	pid_t pid;
	int64_t started_wall_ns, finished_wall_ns; /* 0 = not yet */
	int64_t started_ns;                        /* CLOCK_BOOTTIME */
	struct proc_exit exit;
	const char *reason; /* static: Completed, Error, OOMKilled, StartError, ... */
	int exit_code;
	char message[256];
};

struct member {
	struct pod *pod;
	const struct container_spec *spec;
	enum member_state state;

	struct launch_plan *plan; /* made at the first start, then reused */
	int stop_signal;
	char cgroup[CGROUP_PATH_BYTES];

	bool ran;        /* `now` is valid */
	bool ran_twice;  /* `last` is valid */
	bool committed;  /* the attempt alive is `now` already */
	bool reaped;     /* of the attempt alive: status taken, group not empty yet */
	bool start_seen; /* the set-up child reached its exec */
	struct attempt starting; /* until it runs or ended: then it becomes `now` */
	struct attempt now, last;
	struct err start_error; /* code 0 = none; of the running attempt */
	uint32_t restarts;
	struct backoff backoff;
	struct backoff create_backoff; /* for starts that failed before the clone */
	const char *wait_reason;       /* static; state waiting */
	char wait_message[256];
	int64_t stop_deadline_ns; /* TIME_NEVER = no stop asked for */
	int64_t backoff_ns;       /* length of the back-off it is in */
	int64_t kill_wait_ns;     /* how long to wait for a kill before asking again */
	int64_t first_exec_ns;    /* CLOCK_BOOTTIME, 0 = never */
	uint64_t oom_base;        /* oom_kill of the group when the attempt began */

	int pidfd;    /* of the first process, -1 = none */
	int start_fd; /* read end of the start pipe, -1 = ended */
	int stdin_fd; /* write end kept open for stdin: true, -1 = none */
	struct loop_src exit_src, start_src;
	struct loop_timer timer;
	struct list watch; /* in pods.watches, by wd */
	int wd;            /* inotify watch on cgroup.events, -1 = none */
	struct member_log *log;
};

enum pod_state {
	POD_CREATED,  /* waits for its sandbox */
	POD_INIT,     /* initContainers run, one after the other */
	POD_RUNNING,  /* containers were started */
	POD_STOPPING, /* termination was asked for */
	POD_ENDED,    /* nothing of it is alive, phase is terminal */
	POD_REFUSED,  /* never was a pod: the manifest is in error */
	POD_STATE_MAX
};

enum pod_condition {
	CONDITION_SCHEDULED,
	CONDITION_SANDBOX, /* PodReadyToStartContainers */
	CONDITION_NETWORK, /* NetworkReady */
	CONDITION_INITIALIZED,
	CONDITION_CONTAINERS_READY,
	CONDITION_READY,
	CONDITION_MAX
};

struct condition {
	bool is_true;
	const char *reason; /* static, NULL = none */
	int64_t since_wall_ns;
};

struct sandbox {
	int uts_fd, ipc_fd, net_fd; /* -1 = the machine's */
	bool made;                  /* the namespaces and volumes stand */
	int sock;                   /* our end while the child works, else -1 */
	struct child child;
	struct backoff backoff;
	struct loop_timer retry;
};

/* Its rules and podinit-nft; see network_ports.c. */
enum pod_rules {
	RULES_NONE,     /* nothing of it is in the kernel, and nothing is asked for */
	RULES_WANTED,   /* to go in */
	RULES_ADDING,   /* the helper is at it */
	RULES_IN,       /* in the kernel */
	RULES_UNWANTED, /* to be taken out */
	RULES_REMOVING,
	RULES_MAX
};

/* What network_watch.c knows of one pod. */
struct pod_watch {
	struct list node;        /* in its list of suspects */
	unsigned int well;       /* links that were seen well since it was made */
	unsigned int doubts;     /* why; 0 = it is in no list */
	int port[NET_IFS_MAX];   /* index of each port as last heard, 0 = never */
	int master[NET_IFS_MAX]; /* index of each port's bridge as last heard, 0 = never
				  */
	const char *wrong;      /* static reason, NULL = as planned: NetworkReady False */
	char text[160];         /* what is wrong */
	struct backoff backoff; /* of repairs */
	struct loop_timer repair;
	int64_t repaired_ns, repair_after_ns; /* CLOCK_BOOTTIME */
};

/* A pod's place on the network; made and given back by pod/network.h. */
struct pod_net {
	struct net_plan *plan; /* owned; NULL with hostNetwork */
	struct inet ip4, ip6;  /* of eth0; family 0 = none */
	bool made;             /* the interfaces stand (the sandbox child said so) */
	bool ports_held;       /* no other pod may have its host ports */
	bool filter_wanted;    /* podinit/network-policy, not in the kernel yet */
	bool filter_failed;    /* it waits for its next try */
	enum pod_rules rules;  /* of its host ports */
	bool rules_settled;    /* the last run was about them too */
	struct pod_watch watch;
};

struct pod {
	struct pods *pods;
	struct list node;      /* in pods.list */
	struct list starting;  /* in pods.starting */
	struct pod_spec *spec; /* NULL: refused */
	char name[254], namespace[64], uid[POD_UID_BYTES];
	enum pod_state state;
	const char *phase;  /* "Pending", ...; kept to see changes, final once terminal */
	const char *reason; /* static; NULL = none */
	const char *published_reason, *published_lifecycle; /* as last told in an event */
	const char *published_network; /* net.watch.wrong, the same way */
	bool published_ready;
	char *message; /* refused manifests: all errors; owned */
	int64_t created_wall_ns;
	bool delete_wanted;
	bool stop_requested; /* by a person, not by its own end */
	bool names_told;     /* its DNS limits were looked at, see names.c */
	struct condition conditions[CONDITION_MAX];
	struct sandbox sandbox;
	struct pause pause; /* with shareProcessNamespace */
	struct pod_net net;
	/* Bit n: volume n is to be written anew; a child is at it. */
	uint64_t volumes_dirty[POD_SPEC_VOLUMES / 64];
	uint64_t volumes_writing[POD_SPEC_VOLUMES / 64];
	struct child cleanup; /* removes run_dir at the end, the logs at the deletion */
	char *log_dir;        /* NULL until the deletion; owned */
	bool world_left;      /* interfaces, run_dir: still to be removed */
	bool logs_left;       /* so are they, once it is deleted */
	struct backoff cleanup_backoff;
	struct loop_timer cleanup_retry;
	char run_dir[64]; /* PODS_DIR/UID, with volumes/NAME below; made on demand */
	struct loop_garbage garbage;
	size_t n_members;
	struct member members[];
};

/* ---- member.c: the only place that changes a member's state ---- */

int member_init(struct member *m, struct pod *pod, const struct container_spec *spec);
void member_release(struct member *m); /* ended or never started; frees what it owns */

/* Feeds an event; carries the table's action out. */
void member_feed(struct member *m, enum member_event event);

/* Asks for its end by deadline_ns (CLOCK_BOOTTIME). */
void member_stop(struct member *m, int64_t deadline_ns);

/* What its last start failed for may be there now: it need not wait for its back-off. */
void member_retry_start(struct member *m);

/* The inotify watch saw its group's cgroup.events change: re-reads it. */
void member_group_changed(struct member *m);

static inline bool member_alive(const struct member *m)
{
	return m->state >= MEMBER_STARTING && m->state <= MEMBER_STUCK;
}
/* Ended for good with exit code 0. */
static inline bool member_succeeded(const struct member *m)
{
	return m->state == MEMBER_ENDED && m->ran && m->now.exit_code == 0;
}
/* Running and past its start: Kubernetes' "started" and, without probes, "ready". */
static inline bool member_started(const struct member *m)
{
	return m->state == MEMBER_RUNNING || m->state == MEMBER_STOPPING;
}

/* ---- lifecycle.c: what the pod does when a member or its sandbox changed ---- */

/* Called by member.c after an attempt is over and published. Decides by restart policy:
 * true = restart after *ret_delay_ns. */
bool pod_wants_restart(struct pod *pod, struct member *m, int64_t *ret_delay_ns);

/* It may not run here, and never started: Failed with this reason (static). */
void pod_reject(struct pod *pod, const char *reason, const char *message);

/* Looks at everything and makes the next step; safe to call any time. */
void pod_advance(struct pod *pod);

/* ---- sandbox.c ---- */

void sandbox_init(struct sandbox *s);
/* Starts the child that makes the namespaces; pod_advance() follows when they are there.
 * A failure is retried with back-off and stands in pod->reason. */
void sandbox_start(struct pod *pod);
bool sandbox_ready(const struct pod *pod);
void sandbox_release(struct sandbox *s);
/* What keeps the pod from its sandbox, as pod->reason and message; NULL = nothing now. */
void sandbox_tell(struct pod *pod, const char *trouble);

/* ---- status.c ---- */

/* Recomputes phase and conditions, notes transition times, publishes POD_CHANGED. */
void pod_update_status(struct pod *pod);
const char *pod_condition_name(enum pod_condition c);
/* INIT, STARTING, RUNNING, FAILED, KILLING, KILLED, FINISH: the older names. */
const char *pod_lifecycle_name(const struct pod *pod);

/* ---- event.c ---- */

void pod_publish(struct pod *pod, enum pod_event event);
void member_publish(struct member *m, enum pod_event event);

/* ---- watch.c ---- */

int pods_watch_init(struct pods *pods, struct err *e);
void pods_watch(struct pods *pods, struct member *m);   /* inotify on its group */
void pods_unwatch(struct pods *pods, struct member *m); /* harmless without a watch */

/* ---- pods.c ---- */

void pods_pod_ended(struct pods *pods, struct pod *pod);
/* Takes an ended pod out of the registry; freed after the turn. */
void pods_forget(struct pods *pods, struct pod *pod);

#endif
