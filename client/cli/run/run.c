/* run.c: `run` and `pull`: batches through the real client, from a daemon of our own for a file,
 * from the running one, or (run --no-daemon) from the pipeline itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/checkpoint.h"
#include "client/cli/base/consumer.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/daemon/private_daemon.h"
#include "client/cli/base/error_json.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/options.h"
#include "client/cli/base/pulling.h"
#include "client/cli/base/stream_file.h"
#include "client/cli/run/inline.h"
#include "client/stream/batch.h"

struct pull {
    struct leat_cli_pulling pulling;
    struct leat_cli_report report;
};

struct counters {
    uint64_t n_batches, n_elements, n_bad_records;
};

static const char *delivery_name(const struct leat_cli_arguments *arguments) {
    return arguments->delivery == LEAT_DELIVERY_COPY ? "copy" : "shared";
}

/* The daemon's counters of the stream; false if it does not tell us. With `report`, its profile
 * goes there. */
static bool read_counters(const struct pull *pull, struct leat_cli_report *report,
                          struct counters *ret_counters) {
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;
    struct leat_error err = LEAT_ERROR_INIT;
    bool is_found = false;
    int status;

    stats.stream = (char *)(uintptr_t)pull->pulling.stream;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATS;
    request.stats = &stats;
    reply = leat_cli_control(pull->pulling.address, &request, LEAT__CONTROL_REPLY__VERB_STATS,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, &err);
    if (!reply)
        return false;
    if (reply->stats->n_streams == 1) {
        const Leat__StreamStats *stream = reply->stats->streams[0];

        is_found = true;
        *ret_counters = (struct counters){.n_batches = stream->n_batches,
                                          .n_elements = stream->n_elements,
                                          .n_bad_records = stream->n_bad_records};
        if (report) {
            leat_cli_report_profile(report, stream);
            (void)snprintf(report->last_bad, sizeof(report->last_bad), "%s", stream->last_error);
        }
    }
    leat__control_reply__free_unpacked(reply, NULL);
    return is_found;
}

/* A daemon that ended has nothing to tell, and asking would start it again where systemd keeps its
 * sockets. */
static bool is_daemon_gone(int r) {
    return r == -ESHUTDOWN || r == -ECONNRESET;
}

/* Tokens are counted where they are made, for all who pull the stream: our part of those made
 * meanwhile is taken by batches (all of them, if nobody else pulls). */
static void count_tokens(struct pull *pull, const struct counters *before) {
    struct leat_cli_report *report = &pull->report;
    struct counters after;
    uint64_t n_batches;

    if (!read_counters(pull, report, &after) || after.n_batches <= before->n_batches)
        return;
    n_batches = after.n_batches - before->n_batches;
    report->has_tokens = true;
    report->n_tokens = (uint64_t)((unsigned __int128)(after.n_elements - before->n_elements) *
                                  report->n_batches / n_batches);
    report->n_bad_records = after.n_bad_records - before->n_bad_records;
}

struct puller {
    struct leat_cli_consumer consumer;
    struct leat_cli_report *report;
};

static bool report_batch(struct leat_cli_consumer *consumer, struct leat_batch *batch) {
    leat_cli_report_batch(((struct puller *)consumer)->report, leat_batch_view(batch));
    return true;
}

static int pull_batches(struct pull *pull, struct leat_stream *stream, struct leat_error *err) {
    struct puller puller = {.consumer = {.on_batch = report_batch}, .report = &pull->report};
    int r = leat_cli_consume(&puller.consumer, stream, err);

    pull->report.n_epochs += puller.consumer.n_epochs;
    return r == LEAT_END ? 0 : r;
}

/* Where systemd starts the daemon for us, either question may wait long: a signal ends both. */
static int open_stream(struct pull *pull, struct leat_client *client, struct counters *ret_before,
                       struct leat_stream **ret_stream, struct leat_error *err) {
    (void)read_counters(pull, NULL, ret_before);
    return leat_cli_pulling_open(&pull->pulling, client, ret_stream, err);
}

static int pull_stream(struct pull *pull, struct leat_error *err) {
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    struct counters before = {.n_batches = 0};
    int r, saved;

    if (leat_client_new(pull->pulling.address, &client) < 0) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    r = open_stream(pull, client, &before, &stream, err);
    if (r < 0) {
        leat_client_free(client);
        return leat_cli_pulling_status(r, err, false);
    }
    leat_cli_report_init(&pull->report, pull->pulling.arguments, pull->pulling.stream,
                         delivery_name(pull->pulling.arguments));
    r = pull_batches(pull, stream, err);
    leat_cli_report_stop(&pull->report);
    saved = leat_cli_checkpoint_write(pull->pulling.arguments, leat_stream_position(stream), err);
    r = r == 0 ? saved : r;
    if (!is_daemon_gone(r) && !pull->pulling.was_lost)
        count_tokens(pull, &before);
    leat_stream_close(stream);
    leat_client_free(client);
    leat_cli_report_finish(&pull->report);
    return leat_cli_pulling_status(r, err, true);
}

static int pull_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct pull pull = {.pulling = {.arguments = arguments, .stream = arguments->operand}};
    int status = leat_cli_pulling_check(&pull.pulling, err);

    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    return pull_stream(&pull, err);
}

static int run_private(struct pull *pull, struct leat_error *err) {
    struct leat_cli_daemon daemon;
    int r = leat_cli_daemon_start(&daemon, pull->pulling.arguments->operand,
                                  (uint32_t)pull->pulling.arguments->workers.value,
                                  pull->pulling.arguments->no_fuse, err);
    int status;

    if (r < 0)
        return leat_cli_pulling_status(r, err, true);
    pull->pulling.address = daemon.directory;
    pull->pulling.is_private = true;
    status = pull_stream(pull, err);
    leat_cli_daemon_stop(&daemon);
    return status;
}

static int run_inline(struct pull *pull, const struct leat_spec *spec, struct leat_error *err) {
    int r;

    leat_cli_report_init(&pull->report, pull->pulling.arguments, pull->pulling.stream, "inline");
    r = leat_cli_inline_run(spec, pull->pulling.arguments, &pull->pulling.ranks,
                            pull->pulling.position, &pull->report, err);
    if (pull->report.end_ns > 0)
        leat_cli_report_finish(&pull->report);
    return leat_cli_pulling_status(r, err, true);
}

static int run_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct pull pull = {.pulling = {.arguments = arguments}};
    struct leat_cli_streams streams;
    const struct leat_spec *spec = NULL;
    int status = leat_cli_pulling_check(&pull.pulling, err);

    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    if (leat_cli_streams_load(arguments->operand, &streams, err) == 0)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    if (spec) {
        pull.pulling.stream = spec->name;
        status = arguments->no_daemon ? run_inline(&pull, spec, err) : run_private(&pull, err);
    } else {
        status = leat_cli_error_status(err);
    }
    leat_cli_streams_deinit(&streams);
    return status;
}

static const char *const formats[] = {"text", "json", "jsonl", NULL};
/* What `run` and `pull` have in common. */
#define PULLING                                                                                    \
    LEAT_CLI_OPTIONS_CHOOSING,                                                                     \
        {.name = "save-position",                                                                  \
         .kind = LEAT_CLI_STRING,                                                                  \
         .offset = LEAT_CLI_AT(save_position),                                                     \
         .value = "FILE",                                                                          \
         .help = "where to go on, for --position, is written there at the end"},                   \
        {.name = "window",                                                                         \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = LEAT_CLI_AT(window),                                                            \
         .value = "N",                                                                             \
         .min = 1,                                                                                 \
         .max = 4096,                                                                              \
         .help = "batches under way at once (default: the daemon's)"},                             \
        LEAT_CLI_OPTION_DELIVERY,                                                                  \
        {.name = "digest",                                                                         \
         .kind = LEAT_CLI_FLAG,                                                                    \
         .offset = LEAT_CLI_AT(digest),                                                            \
         .help = "hash names, dtypes, shapes, bytes and order of all batches (BLAKE2b-256)"},      \
    {                                                                                              \
        .name = "format", .kind = LEAT_CLI_CHOICE, .offset = LEAT_CLI_AT(format), .value = "F",    \
        .choices = formats, .help = "what is printed"                                              \
    }
static const struct leat_cli_option run_options[] = {
    LEAT_CLI_OPTION_WORKERS,
    PULLING,
    {.name = "no-daemon",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(no_daemon),
     .help = "run the pipeline in this process, on one thread"},
    LEAT_CLI_OPTION_NO_FUSE,
    {.name = "stats",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(stats),
     .help = "show what took the time: the stages as in `leatctl stats`"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_run_command = {
    .name = "run",
    .group = LEAT_CLI_GROUP_RUN,
    .summary = "start a private daemon for a file and pull its batches",
    .description = "Starts leatd (found beside leatctl, else $LEAT_LEATD, else on the PATH) with a "
                   "private socket,\npulls through the real client, prints what came, and stops "
                   "it. Writes nothing beside FILE.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl run titanic.yaml --digest\n"
                "  leatctl run titanic.yaml train --batches 10 --format jsonl\n"
                "  leatctl run titanic.yaml --stats\n"
                "  leatctl run titanic.yaml --rank 1 --world-size 4 --delivery copy\n",
    .options = run_options,
    .run = run_main,
};

static const struct leat_cli_option pull_options[] = {
    PULLING,
    {.name = "reconnect",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(reconnect),
     .value = "S",
     .max = 1000000,
     .help = "look for a daemon that is gone for so many seconds (default 60; 0: not at all)"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_pull_command = {
    .name = "pull",
    .group = LEAT_CLI_GROUP_RUN,
    .summary = "pull a stream's batches from the running daemon",
    .operand = "STREAM",
    .examples = "  leatctl pull titanic --epochs 1 --digest\n",
    .asks_daemon = true,
    .options = pull_options,
    .run = pull_main,
};
