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
           "Carries batches to the trainers of this machine.\n"
           "\n"
           "  -c, --config FILE      settings and streams (YAML)\n"
           "      --check-config     check the settings and stages in FILE, say what is wrong,\n"
           "                         and end: 0 or 78; `leatctl check` reads what they name, too\n"
           "  -s, --socket-dir DIR   where trainer.sock, copy.sock and control.sock are made;\n"
           "                         else what the settings say, else $RUNTIME_DIRECTORY,\n"
           "                         /run/leat (root) or $XDG_RUNTIME_DIR/leat\n"
           "                         (sockets that systemd passes are where it made them)\n"
           "  -w, --workers N        threads that read, parse and collate\n"
           "      --set PATH=VALUE   in place of what the file says, as often as wanted:\n"
           "                         memory_limit=4GiB, streams.NAME.block_bytes=64KiB,\n"
           "                         streams.NAME.batch.batch_size=64, "
           "streams.NAME.pad[2].length=8\n"
           "      --no-fuse          each per-record stage is a job of its own: slower, with the\n"
           "                         same batches, to see what it is worth that they are fused\n"
           "      --end-with PID     belongs to that process: stops when it ends, however it "
           "ends,\n"
           "                         and removes DIR if nothing else is in it; --config may then\n"
           "                         be left out: streams are those that trainers describe\n"
           "      --events[=FORM]    print what it may log and what is to be done then, and end;\n"
           "                         FORM: text, markdown, or catalog (of the journal)\n"
           "      --reload           have the daemon whose sockets are in DIR read its "
           "configuration\n"
           "                         anew, wait for it, and end: 0, or 78 if that is refused\n"
           "      --reference        print settings, events and metrics as JSON, and end\n"
           "  -V, --version\n"
           "  -h, --help\n"
           "\n"
           "Streams stand in FILE and in streams.d/*.yaml beside it (setting `include`).\n"
           "\n"
           "SIGTERM and SIGINT stop it; `leatctl drain` does so when no batch is held any more. "
           "SIGHUP has\nit read its configuration anew, as `leatctl reload` does, which waits and "
           "says what is wrong.\n"
           "Under systemd it says when it is ready, what it does, and that it is alive\n"
           "($NOTIFY_SOCKET, $WATCHDOG_USEC), and takes its sockets by name ($LISTEN_FDNAMES).\n";
}

static int take_workers(struct leat_options *options, const char *text, struct leat_error *err) {
    int64_t n;

    if (leat_parse_int(text, strlen(text), &n) < 0 || n < 1 || n > LEAT_SETTINGS_MAX_WORKERS)
        return leat_error_set(err, -EINVAL, "--workers %.32s is outside 1..%d", text,
                              LEAT_SETTINGS_MAX_WORKERS);
    options->daemon.workers = n;
    return 0;
}

static int take_end_with(struct leat_options *options, const char *text, struct leat_error *err) {
    int64_t pid;

    if (leat_parse_int(text, strlen(text), &pid) < 0 || pid < 1 || pid > INT32_MAX)
        return leat_error_set(err, -EINVAL, "--end-with %.32s is no number of a process", text);
    options->daemon.end_with = pid;
    options->daemon.overrides.is_alone = true;
    return 0;
}

static int take_override(struct leat_options *options, const char *text, struct leat_error *err) {
    struct leat_settings_overrides *overrides = &options->daemon.overrides;

    if (overrides->n_items == LEAT_OVERRIDES_MAX)
        return leat_error_set(err, -E2BIG, "--set %.64s: more than %d of these", text,
                              LEAT_OVERRIDES_MAX);
    overrides->items[overrides->n_items++] = text;
    return 0;
}

static int take_events(struct leat_options *options, const char *text, struct leat_error *err) {
    int form = leat_reference_form(text);

    if (form < 0)
        return leat_error_set(err, -EINVAL,
                              "--events=%.32s: the forms are text, markdown and catalog", text);
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

    *options = (struct leat_options){.daemon = {.log_fd = STDERR_FILENO}};
    optind = 1;
    opterr = 0;
    while (r == 0 && (option = getopt_long(argc, argv, ":c:s:w:Vh", long_options, NULL)) != -1)
        r = take(options, option, argv, err);
    /* getopt takes the FILE of `--check-config FILE` for an argument of its own */
    if (r == 0 && options->checks_config && optind == argc - 1)
        options->daemon.config_file = argv[optind++];
    if (r == 0 && optind < argc)
        r = leat_error_set(err, -EINVAL, "%s: leatd takes options only; see leatd --help",
                           argv[optind]);
    if (r == 0 && options->daemon.end_with && !options->daemon.socket_dir)
        r = leat_error_set(err, -EINVAL, "--end-with wants a --socket-dir of its own");
    if (r == 0 && !options->daemon.config_file && !options->daemon.end_with &&
        !options->wants_help && !options->wants_version && !options->wants_events &&
        !options->wants_reference && !options->asks_reload)
        r = leat_error_set(err, -EINVAL, "which settings? Give --config FILE");
    return r;
}
