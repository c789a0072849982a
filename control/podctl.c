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
	OPT_MACHINE = 1 << 8
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
	  "Start the pods of a manifest." },
	{ "delete", "rm", podctl_delete, 1, 1, OPT_GRACE | OPT_WAIT,
	  "delete POD [--grace S] [--wait]", "Stop a pod and forget it." },
	{ "events", NULL, podctl_events, 0, 0, OPT_FOLLOW | OPT_SINCE,
	  "events [-f] [--since N]", "Show what happened, and with -f what happens." },
	{ "halt", NULL, podctl_halt, 0, 0, OPT_GRACE, "halt [--grace S]",
	  "Stop all pods and halt the machine." },
	{ "help", NULL, podctl_help, 0, 1, 0, "help [COMMAND]", "Show help." },
	{ "info", NULL, podctl_info, 0, 0, 0, "info", "Show facts about the machine." },
	{ "kill", NULL, podctl_kill, 2, 3, 0, "kill POD MEMBER [SIGNAL]",
	  "Send a signal (default TERM) to a member." },
	{ "list", "ls", podctl_list, 0, 0, 0, "list", "List all pods." },
	{ "log", NULL, podctl_log, 0, 0, 0, "log", "Show podinit's own log." },
	{ "logs", NULL, podctl_logs, 1, 2,
	  OPT_LINES | OPT_FOLLOW | OPT_PREVIOUS | OPT_TIMESTAMPS,
	  "logs POD[/MEMBER] [-n N] [-f] [--previous] [--timestamps]",
	  "Show the output of a pod's members, or of one." },
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

static int podctl_raw(struct podctl *p)
{
	struct json_object *answer = NULL;
	int r = conn_raw(p, p->args[0], &answer);

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

static int unknown_command(const char *name)
{
	const char *names[ARRAY_SIZE(commands)], *near;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
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
	(void)printf("\n%s\n\n%s", cmd->help, options_help);
	return PODCTL_OK;
}

/* ---- options
 * ---------------------------------------------------------------------------- */

enum {
	LONG_TIMEOUT = 256,
	LONG_VERSION,
	LONG_PREVIOUS,
	LONG_TIMESTAMPS,
	LONG_GRACE,
	LONG_WAIT,
	LONG_SINCE,
	LONG_FOR,
	LONG_MACHINE
};

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, 's' },
	{ "output", required_argument, NULL, 'o' },
	{ "timeout", required_argument, NULL, LONG_TIMEOUT },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, LONG_VERSION },
	{ "lines", required_argument, NULL, 'n' },
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
};

static int parse_number(const char *option, const char *text, int64_t max, int64_t *ret)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < 0 || n > max)
		return say(PODCTL_USAGE, "%s needs a number from 0 to %lld, not '%s'",
			   option, (long long)max, text);
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
		/* getopt has said what is wrong. */
		return PODCTL_USAGE;
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
		return parse_number("--timeout", optarg, 1000000, &p->timeout_s);
	case 'n':
		got->options |= OPT_LINES;
		return parse_number("--lines", optarg, 100000, &p->lines);
	case LONG_GRACE:
		got->options |= OPT_GRACE;
		return parse_number("--grace", optarg, 86400, &p->grace_s);
	case LONG_SINCE:
		got->options |= OPT_SINCE;
		return parse_number("--since", optarg, INT64_MAX, &p->since);
	case LONG_FOR:
		got->options |= OPT_FOR;
		p->until = optarg;
		return 0;
	default:
		return take_flag(p, c, got);
	}
}

static int run_command(struct podctl *p, const char *name, const struct parsed *got)
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
	while ((c = getopt_long(argc, argv, "s:o:n:fh", long_options, NULL)) != -1) {
		r = take_option(&p, c, &got);
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
