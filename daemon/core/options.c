/* options.c: see options.h. The long options and the help stand side by side. */
#include "daemon/core/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"check-config", optional_argument, NULL, 'k'},
    {"socket-dir", required_argument, NULL, 's'},
    {"workers", required_argument, NULL, 'w'},
    {"set", required_argument, NULL, 'S'},
    {"no-fuse", no_argument, NULL, 'F'},
    {"events", optional_argument, NULL, 'E'},
    {"reference", no_argument, NULL, 'R'},
    {"reload", no_argument, NULL, 'r'},
    {"end-with", required_argument, NULL, 'e'},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

const char *leat_options_help(void) {
    return "leatd --config FILE [options]\n"
           "Makes batches for the trainers of this machine.\n"
           "\n"
           "  -c, --config FILE      the YAML file with settings and streams\n"
           "      --check-config     check the settings and stages in FILE, print the errors, and\n"
           "                         exit with 0, or 78 after an error; `leatctl check` also "
           "checks\n"
           "                         the data files that FILE names\n"
           "  -s, --socket-dir DIR   the folder for trainer.sock, copy.sock and control.sock\n"
           "                         (default: the settings, else $RUNTIME_DIRECTORY, else "
           "/run/leat\n"
           "                         for root and $XDG_RUNTIME_DIR/leat for other users); it does\n"
           "                         not move sockets that systemd opened\n"
           "  -w, --workers N        the number of worker threads, which read data and make "
           "batches\n"
           "      --set PATH=VALUE   replace a value of FILE (you may repeat this option), such "
           "as\n"
           "                         memory_limit=4GiB, streams.NAME.block_bytes=64KiB,\n"
           "                         streams.NAME.batch.batch_size=64, "
           "streams.NAME.pad[2].length=8\n"
           "      --no-fuse          run each per-record stage as a separate job; this is "
           "slower, "
           "and\n"
           "                         gives the same batches\n"
           "      --end-with PID     stop when the process PID ends, and remove the folder DIR of\n"
           "                         --socket-dir if it is empty; without --config, leatd serves\n"
           "                         only streams that trainers describe\n"
           "      --events[=FORM]    print all log events with advice, and exit; FORM is text,\n"
           "                         markdown, or catalog (for the journal)\n"
           "      --reload           reload the configuration of the daemon whose sockets are in\n"
           "                         DIR of --socket-dir, wait for the result, and exit with 0, "
           "or\n"
           "                         78 if the configuration has an error\n"
           "      --reference        print settings, events and metrics as JSON, and exit\n"
           "  -V, --version          print the version, and exit\n"
           "  -h, --help             print this help, and exit\n"
           "\n"
           "leatd reads streams from FILE and from streams.d/*.yaml beside it (setting "
           "`include`).\n"
           "\n"
           "SIGTERM and SIGINT stop leatd at once. `leatctl drain` stops leatd when trainers have "
           "returned all batches.\n"
           "SIGHUP reloads the configuration. `leatctl reload` also waits and prints errors.\n"
           "Under systemd, leatd reports that it is ready and alive ($NOTIFY_SOCKET, "
           "$WATCHDOG_USEC),\n"
           "and finds its sockets by their names ($LISTEN_FDNAMES).\n";
}

static int take_workers(struct leat_options *options, const char *text, struct leat_error *err) {
    int64_t n;

    if (leat_parse_int(text, strlen(text), &n) < 0 || n < 1 || n > LEAT_SETTINGS_MAX_WORKERS)
        return leat_error_set(err, -EINVAL, "--workers %.32s is not a number from 1 to %d", text,
                              LEAT_SETTINGS_MAX_WORKERS);
    options->daemon.workers = n;
    return 0;
}

static int take_end_with(struct leat_options *options, const char *text, struct leat_error *err) {
    int64_t pid;

    if (leat_parse_int(text, strlen(text), &pid) < 0 || pid < 1 || pid > INT32_MAX)
        return leat_error_set(err, -EINVAL, "--end-with %.32s is not a process id", text);
    options->daemon.end_with = pid;
    options->daemon.overrides.is_alone = true;
    return 0;
}

static int take_override(struct leat_options *options, const char *text, struct leat_error *err) {
    struct leat_settings_overrides *overrides = &options->daemon.overrides;

    if (overrides->n_items == LEAT_OVERRIDES_MAX)
        return leat_error_set(err, -E2BIG, "--set %.64s: you may use --set at most %d times", text,
                              LEAT_OVERRIDES_MAX);
    overrides->items[overrides->n_items++] = text;
    return 0;
}

static int take_events(struct leat_options *options, const char *text, struct leat_error *err) {
    int form = leat_reference_form(text);

    if (form < 0)
        return leat_error_set(err, -EINVAL,
                              "--events=%.32s: FORM must be text, markdown or catalog", text);
    options->wants_events = true;
    options->form = (enum leat_reference_form)form;
    return 0;
}

static int take(struct leat_options *options, int option, char **argv, struct leat_error *err) {
    switch (option) {
    case 'c':
        options->daemon.config_file = optarg;
        return 0;
    case 'k':
        options->checks_config = true;
        if (optarg)
            options->daemon.config_file = optarg;
        return 0;
    case 's':
        options->daemon.socket_dir = optarg;
        return 0;
    case 'w':
        return take_workers(options, optarg, err);
    case 'S':
        return take_override(options, optarg, err);
    case 'e':
        return take_end_with(options, optarg, err);
    case 'E':
        return take_events(options, optarg ? optarg : "text", err);
    case 'R':
        options->wants_reference = true;
        return 0;
    case 'r':
        options->asks_reload = true;
        return 0;
    case 'F':
        options->daemon.is_unfused = true;
        return 0;
    case 'V':
        options->wants_version = true;
        return 0;
    case 'h':
        options->wants_help = true;
        return 0;
    case ':':
        return leat_error_set(err, -EINVAL, "%s needs a value", argv[optind - 1]);
    default:
        return leat_error_set(err, -EINVAL, "unknown option %s; see leatd --help",
                              argv[optind - 1]);
    }
}

int leat_options_parse(struct leat_options *options, int argc, char **argv,
                       struct leat_error *err) {
    int option, r = 0;

    *options = (struct leat_options){.daemon = {.log_fd = STDERR_FILENO, .is_sandboxed = true}};
    optind = 1;
    opterr = 0;
    while (r == 0 && (option = getopt_long(argc, argv, ":c:s:w:Vh", long_options, NULL)) != -1)
        r = take(options, option, argv, err);
    /* getopt takes the FILE of `--check-config FILE` for an argument of its own */
    if (r == 0 && options->checks_config && optind == argc - 1)
        options->daemon.config_file = argv[optind++];
    if (r == 0 && optind < argc)
        r = leat_error_set(err, -EINVAL,
                           "unexpected argument %s: leatd accepts only options; see leatd --help",
                           argv[optind]);
    if (r == 0 && options->daemon.end_with && !options->daemon.socket_dir)
        r = leat_error_set(
            err, -EINVAL,
            "--end-with also needs --socket-dir DIR, with a folder that only this daemon uses");
    if (r == 0 && !options->daemon.config_file && !options->daemon.end_with &&
        !options->wants_help && !options->wants_version && !options->wants_events &&
        !options->wants_reference && !options->asks_reload)
        r = leat_error_set(err, -EINVAL, "the option --config FILE is missing");
    return r;
}
