// SPDX-License-Identifier: Apache-2.0
/*
 * podctl.c - the command line of podctl: options, the table of commands, help.
 *
 * Owns: nothing. See podctl.h for the rules, docs/podctl.1 for people.
 */
#include "control/podctl.h"

#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <string.h>

#include "base/str.h"

/* Options that only some commands take. */
enum option_bit {
	OPT_LINES = 1 << 0,
	OPT_FOLLOW = 1 << 1,
	OPT_PREVIOUS = 1 << 2,
	OPT_TIMESTAMPS = 1 << 3,
	OPT_GRACE = 1 << 4,
	OPT_WAIT = 1 << 5,
	OPT_SINCE = 1 << 6,
	OPT_FOR = 1 << 7,
	OPT_MACHINE = 1 << 8,
	OPT_NAMESPACE = 1 << 9,
	OPT_ALL = 1 << 10
};

struct command {
	const char *name, *alias;
	int (*fn)(struct podctl *p);
	int min_args, max_args; /* max -1 = any number */
	unsigned int options;
	const char *usage, *help;
};

static int podctl_help(struct podctl *p);

static const struct command commands[] = {
	{ "boot", NULL, podctl_boot, 0, 0, 0, "boot",
	  "Show when each stage of the boot and each member's start was reached." },
	{ "check", NULL, podctl_check, 1, -1, OPT_MACHINE, "check [--machine] FILE...",
	  "Validate manifests (or machine files) offline; all errors are shown." },
	{ "create", NULL, podctl_create, 1, -1, 0, "create FILE|-...",
	  "Start the pods of a manifest, take in its ConfigMaps and Secrets." },
	{ "delete", "rm", podctl_delete, 1, 2, OPT_GRACE | OPT_WAIT,
	  "delete POD [--grace S] [--wait] | delete configmap|secret NAME",
	  "Stop a pod and forget it; or forget a ConfigMap or Secret." },
	{ "events", NULL, podctl_events, 0, 0, OPT_FOLLOW | OPT_SINCE,
	  "events [-f] [--since N]", "Show what happened, and with -f what happens." },
	{ "halt", NULL, podctl_halt, 0, 0, OPT_GRACE, "halt [--grace S]",
	  "Stop all pods and halt the machine." },
	{ "help", NULL, podctl_help, 0, 1, 0, "help [COMMAND]", "Show help." },
	{ "info", NULL, podctl_info, 0, 0, 0, "info", "Show facts about the machine." },
	{ "kill", NULL, podctl_kill, 1, 3, 0, "kill POD [MEMBER [SIGNAL]]",
	  "Send a signal (default TERM) to a member; one member needs no name." },
	{ "list", "ls", podctl_list, 0, 0, OPT_NAMESPACE | OPT_ALL, "list [-n NAMESPACE]",
	  "List all pods, or those of a namespace." },
	{ "log", NULL, podctl_log, 0, 0, 0, "log", "Show podinit's own log." },
	{ "logs", NULL, podctl_logs, 1, 2,
	  OPT_LINES | OPT_FOLLOW | OPT_PREVIOUS | OPT_TIMESTAMPS,
	  "logs POD[/MEMBER] [-n N] [-f] [--previous] [--timestamps]",
	  "Show the output of a pod's members, or of one." },
	{ "net", NULL, podctl_net, 0, 1, OPT_NAMESPACE | OPT_ALL,
	  "net [-n NAMESPACE] [POD]",
	  "Show links, addresses, routes, host ports and counters of the pods." },
	{ "objects", NULL, podctl_objects, 0, 0, OPT_NAMESPACE | OPT_ALL,
	  "objects [-n NAMESPACE]",
	  "List ConfigMaps and Secrets with their keys; no values." },
	{ "poweroff", NULL, podctl_shutdown, 0, 0, OPT_GRACE, "poweroff [--grace S]",
	  "Stop all pods and power off." },
	{ "raw", NULL, NULL, 1, 1, 0, "raw JSON",
	  "Send a request as it is and print the answer." },
	{ "reboot", NULL, podctl_reboot, 0, 0, OPT_GRACE, "reboot [--grace S]",
	  "Stop all pods and reboot." },
	{ "shutdown", NULL, podctl_shutdown, 0, 0, OPT_GRACE, "shutdown [--grace S]",
	  "The same as poweroff." },
	{ "status", NULL, podctl_status, 0, 1, 0, "status [POD]",
	  "Show a pod, or all, with members and conditions." },
	{ "stop", NULL, podctl_stop, 1, 1, OPT_GRACE, "stop POD [--grace S]",
	  "End a pod; its record stays." },
	{ "wait", NULL, podctl_wait, 1, 1, OPT_FOR,
	  "wait POD [--for ready|deleted|phase=PHASE] [--timeout S]",
	  "Wait until a pod is ready, or gone, or in a phase." },
};

/* What -n means depends on the command. */
static const struct {
	unsigned int option;
	const char *help;
} own_options[] = {
	{ OPT_LINES,
	  "  -n, --lines N        the last N lines (also --tail); default 100 of "
	  "each member\n" },
	{ OPT_FOLLOW, "  -f, --follow         go on with what comes\n" },
	{ OPT_PREVIOUS, "      --previous       the attempt before the latest one\n" },
	{ OPT_TIMESTAMPS, "      --timestamps     the time in front of each line\n" },
	{ OPT_GRACE,
	  "      --grace S        seconds between SIGTERM and SIGKILL; 0 kills "
	  "at once;\n"
	  "                       default: what each pod says\n" },
	{ OPT_WAIT, "      --wait           return when the pod is gone\n" },
	{ OPT_SINCE, "      --since N        begin with event number N\n" },
	{ OPT_FOR, "      --for STATE      ready (default), deleted, or phase=Pending, "
		   "Running,\n"
		   "                       Succeeded, Failed\n"
		   "      --timeout S      give up after S seconds (default 30)\n" },
	{ OPT_MACHINE, "      --machine        the files are machine files\n" },
	{ OPT_NAMESPACE, "  -n, --namespace NS   only pods of this namespace\n" },
	{ OPT_ALL, "  -A, --all-namespaces pods of all namespaces (the default)\n" },
};

static const char *const options_help =
	"Options:\n"
	"  -s, --socket ADDR    socket path, vsock:CID[:PORT], or the path of a "
	"terminal\n"
	"                       or serial device (default $PODINIT_SOCKET, then\n"
	"                       " PODCTL_SOCKET ")\n"
	"  -o, --output FORMAT  table (default) or json\n"
	"      --timeout S      seconds for the connection and each answer (default "
	"10);\n"
	"                       for wait: seconds to wait (default 30)\n"
	"  -h, --help           show this, or the help of a command\n"
	"      --version        show the version\n"
	"\n"
	"POD is [NAMESPACE/]NAME. Exit codes: 0 done, 1 the answer is an error, 2 "
	"usage,\n"
	"3 no connection, 4 no answer in time.\n";

/* ---- raw
 * -------------------------------------------------------------------------------- */

/* One answer is waited for, so there may be one request. Half a request, or what is no
 * JSON at all, is sent: the machine says what is wrong with it. */
static bool has_second_object(const char *text)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *first = json_tokener_parse_ex(tok, text, -1);
	size_t end = json_tokener_get_parse_end(tok);

	json_object_put(first);
	json_tokener_free(tok);
	return first && text[end + strspn(text + end, " \t\r\n")] == '{';
}

static int podctl_raw(struct podctl *p)
{
	struct json_object *answer = NULL;
	int r;

	if (has_second_object(p->args[0]))
		return say(PODCTL_USAGE, "raw takes one request; call it once for each");
	r = conn_raw(p, p->args[0], &answer);
	if (r == 0) {
		put_json(answer);
		r = get(answer, "error") ? PODCTL_FAILED : PODCTL_OK;
	}
	json_object_put(answer);
	return r;
}

/* ---- help
 * ------------------------------------------------------------------------------- */

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i].name, name) == 0 ||
		    (commands[i].alias && strcmp(commands[i].alias, name) == 0))
			return &commands[i];
	return NULL;
}

/* What the hands of kubectl's users type. */
static const char *habit(const char *name)
{
	static const char *const habits[][2] = {
		{ "apply", "create" },   { "describe", "status" }, { "get", "list" },
		{ "inspect", "status" }, { "ps", "list" },         { "start", "create" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(habits); i++)
		if (strcmp(habits[i][0], name) == 0)
			return habits[i][1];
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *names[ARRAY_SIZE(commands)], *near;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
	near = habit(name);
	if (!near)
		near = str_nearest(name, names, ARRAY_SIZE(commands));
	if (near)
		return say(PODCTL_USAGE, "unknown command '%s'; did you mean '%s'?", name,
			   near);
	return say(PODCTL_USAGE, "unknown command '%s'; see 'podctl help'", name);
}

static void put_help(void)
{
	(void)printf("Usage: podctl [OPTION]... COMMAND\n\nCommands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		(void)printf("  %s\n        %s\n", commands[i].usage, commands[i].help);
	(void)printf("\n%s", options_help);
}

static int podctl_help(struct podctl *p)
{
	const struct command *cmd;

	if (p->n_args == 0) {
		put_help();
		return PODCTL_OK;
	}
	cmd = find_command(p->args[0]);
	if (!cmd)
		return unknown_command(p->args[0]);
	(void)printf("Usage: podctl [OPTION]... %s\n", cmd->usage);
	if (cmd->alias)
		(void)printf("Also: podctl %s\n", cmd->alias);
	(void)printf("\n%s\n", cmd->help);
	if (cmd->options)
		(void)printf("\nOptions:\n");
	for (size_t i = 0; i < ARRAY_SIZE(own_options); i++)
		if (cmd->options & own_options[i].option)
			(void)printf("%s", own_options[i].help);
	(void)printf("\n'podctl help' shows the options of all commands "
		     "(-s, -o, --timeout ...).\n");
	return PODCTL_OK;
}

/* ---- options
 * ---------------------------------------------------------------------------- */

enum {
	LONG_TIMEOUT = 256,
	LONG_VERSION,
	LONG_LINES,
	LONG_PREVIOUS,
	LONG_TIMESTAMPS,
	LONG_GRACE,
	LONG_WAIT,
	LONG_SINCE,
	LONG_FOR,
	LONG_MACHINE,
	LONG_NAMESPACE
};

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, 's' },
	{ "output", required_argument, NULL, 'o' },
	{ "timeout", required_argument, NULL, LONG_TIMEOUT },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, LONG_VERSION },
	{ "lines", required_argument, NULL, LONG_LINES },
	{ "tail", required_argument, NULL, LONG_LINES },
	{ "namespace", required_argument, NULL, LONG_NAMESPACE },
	{ "all-namespaces", no_argument, NULL, 'A' },
	{ "follow", no_argument, NULL, 'f' },
	{ "previous", no_argument, NULL, LONG_PREVIOUS },
	{ "timestamps", no_argument, NULL, LONG_TIMESTAMPS },
	{ "grace", required_argument, NULL, LONG_GRACE },
	{ "wait", no_argument, NULL, LONG_WAIT },
	{ "since", required_argument, NULL, LONG_SINCE },
	{ "for", required_argument, NULL, LONG_FOR },
	{ "machine", no_argument, NULL, LONG_MACHINE },
	{ 0 },
};

struct parsed {
	unsigned int options; /* of enum option_bit, as given */
	bool help, version;
	const char *short_n; /* lines or a namespace: the command tells */
};

static int parse_number(const char *option, const char *text, int64_t min, int64_t max,
			int64_t *ret)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < min || n > max)
		return say(PODCTL_USAGE, "%s needs a number from %lld to %lld, not '%s'",
			   option, (long long)min, (long long)max, text);
	*ret = n;
	return 0;
}

static int parse_output(struct podctl *p, const char *text)
{
	p->json = strcmp(text, "json") == 0;
	if (p->json || strcmp(text, "table") == 0)
		return 0;
	return say(PODCTL_USAGE, "--output is table or json, not '%s'", text);
}

static int take_flag(struct podctl *p, int c, struct parsed *got)
{
	switch (c) {
	case 'h':
		got->help = true;
		return 0;
	case LONG_VERSION:
		got->version = true;
		return 0;
	case 'f':
		p->follow = true;
		got->options |= OPT_FOLLOW;
		return 0;
	case LONG_PREVIOUS:
		p->previous = true;
		got->options |= OPT_PREVIOUS;
		return 0;
	case LONG_TIMESTAMPS:
		p->timestamps = true;
		got->options |= OPT_TIMESTAMPS;
		return 0;
	case LONG_WAIT:
		p->wait = true;
		got->options |= OPT_WAIT;
		return 0;
	case LONG_MACHINE:
		p->machine = true;
		got->options |= OPT_MACHINE;
		return 0;
	default:
		got->options |= OPT_ALL; /* the default anyway */
		return 0;
	}
}

static int take_option(struct podctl *p, int c, struct parsed *got)
{
	switch (c) {
	case 's':
		p->address = optarg;
		return 0;
	case 'o':
		return parse_output(p, optarg);
	case LONG_TIMEOUT:
		return parse_number("--timeout", optarg, 1, 1000000, &p->timeout_s);
	case 'n':
		got->short_n = optarg;
		return 0;
	case LONG_LINES:
		got->options |= OPT_LINES;
		return parse_number("--lines", optarg, 0, 100000, &p->lines);
	case LONG_NAMESPACE:
		got->options |= OPT_NAMESPACE;
		p->namespace = optarg;
		return 0;
	case LONG_GRACE:
		got->options |= OPT_GRACE;
		return parse_number("--grace", optarg, 0, 86400, &p->grace_s);
	case LONG_SINCE:
		got->options |= OPT_SINCE;
		return parse_number("--since", optarg, 0, INT64_MAX, &p->since);
	case LONG_FOR:
		got->options |= OPT_FOR;
		p->until = optarg;
		return 0;
	default:
		return take_flag(p, c, got);
	}
}

/* getopt's own words would begin with the path of the program. word is what it looked
 * at last, or has a cluster of letters. */
static int say_bad_option(int c, const char *word)
{
	const char *names[ARRAY_SIZE(long_options)], *near;
	size_t n = 0;

	if (c == ':')
		return say(PODCTL_USAGE, "option '%s' needs a value; see 'podctl help'",
			   word);
	if (optopt && optopt < LONG_TIMEOUT && strncmp(word, "--", 2) != 0)
		return say(PODCTL_USAGE, "unknown option '-%c'; see 'podctl help'",
			   optopt);
	if (optopt)
		return say(PODCTL_USAGE, "option '%s' takes no value", word);
	for (; long_options[n].name; n++)
		names[n] = long_options[n].name;
	near = str_nearest(word + 2, names, n);
	if (near)
		return say(PODCTL_USAGE, "unknown option '%s'; did you mean '--%s'?",
			   word, near);
	return say(PODCTL_USAGE, "unknown option '%s'; see 'podctl help'", word);
}

static int take_short_n(struct podctl *p, const struct command *cmd, struct parsed *got)
{
	if (!got->short_n)
		return 0;
	if (cmd->options & OPT_NAMESPACE) {
		p->namespace = got->short_n;
		return 0;
	}
	got->options |= OPT_LINES;
	if (!(cmd->options & OPT_LINES))
		return 0; /* refused with the others */
	return parse_number("--lines", got->short_n, 0, 100000, &p->lines);
}

static int run_command(struct podctl *p, const char *name, struct parsed *got)
{
	const struct command *cmd = find_command(name);
	char *help_args[] = { (char *)name };

	/* A request typed as it is. */
	if (name[0] == '{') {
		p->args--;
		p->n_args++;
		return podctl_raw(p);
	}
	if (!cmd)
		return unknown_command(name);
	if (got->help) {
		p->args = help_args;
		p->n_args = 1;
		return podctl_help(p);
	}
	if (take_short_n(p, cmd, got))
		return PODCTL_USAGE;
	if (got->options & ~cmd->options)
		return say(PODCTL_USAGE,
			   "'%s' does not take that option; usage: podctl %s", cmd->name,
			   cmd->usage);
	if (p->n_args < cmd->min_args ||
	    (cmd->max_args >= 0 && p->n_args > cmd->max_args))
		return say(PODCTL_USAGE, "usage: podctl %s", cmd->usage);
	return cmd->fn ? cmd->fn(p) : podctl_raw(p);
}

/* What was printed must have arrived: a full disk is a failure. */
static int finish_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	return code ? code :
		      say(PODCTL_FAILED, "writing the output: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	struct podctl p = {
		.address = getenv("PODINIT_SOCKET"),
		.grace_s = -1,
		.lines = -1,
		.since = -1,
		.timeout_s = -1,
		.conn.fd = -1,
	};
	struct parsed got = { 0 };
	int c, r;

	if (!p.address || !p.address[0])
		p.address = PODCTL_SOCKET;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:o:n:fhA", long_options, NULL)) != -1) {
		r = c == '?' || c == ':' ? say_bad_option(c, argv[optind - 1]) :
					   take_option(&p, c, &got);
		if (r)
			return r;
	}
	if (got.version) {
		(void)printf("podctl %s\n", PODINIT_VERSION);
		return finish_output(PODCTL_OK);
	}
	if (optind == argc) {
		if (got.help)
			put_help();
		return got.help ? finish_output(PODCTL_OK) :
				  say(PODCTL_USAGE, "no command; see 'podctl help'");
	}
	p.args = argv + optind + 1;
	p.n_args = argc - optind - 1;
	r = run_command(&p, argv[optind], &got);
	conn_close(&p);
	return finish_output(r);
}
