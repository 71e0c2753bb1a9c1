/* run.c: `leatctl run` and `pull`: batches through the real client, from a private daemon for a
 * file or from the running one, or (run --no-daemon) from the pipeline in this process. */
#include <errno.h>
#include <stdio.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/checkpoint.h"
#include "client/cli/base/consumer.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/pulling.h"
#include "client/cli/base/stream_file.h"
#include "client/cli/run/inline.h"
#include "client/stream/batch.h"
#include "proto/base/container_of.h"

struct pull {
    struct leat_cli_pulling pulling;
    struct leat_cli_consumer consumer;
    struct leat_cli_report report;
};

struct counters {
    uint64_t n_batches, n_elements, n_bad_records;
};

/* Reads the daemon's counters of the stream, and its profile into `report` unless that is NULL.
 * False: the daemon does not tell them. */
static bool read_counters(const struct pull *pull, struct leat_cli_report *report,
                          struct counters *ret_counters) {
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    Leat__ControlReply *reply;
    bool is_found = false;
    int status;

    stats.stream = (char *)(uintptr_t)pull->pulling.stream;
    reply = leat_cli_control(pull->pulling.address, LEAT__CONTROL_REQUEST__VERB_STATS, &stats,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, LEAT_ERROR_IGNORED);
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

/* A daemon that has ended is not asked: that would start it again if systemd keeps its sockets. */
static bool is_daemon_gone(int r) {
    return r == -ESHUTDOWN || r == -ECONNRESET;
}

/* The daemon counts the tokens of all trainers of the stream. Our share of them is that of our
 * batches: all, if there is no other trainer. */
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

static bool report_batch(struct leat_cli_consumer *consumer, struct leat_batch *batch) {
    struct pull *pull = LEAT_CONTAINER_OF(consumer, struct pull, consumer);

    leat_cli_report_batch(&pull->report, leat_batch_view(batch));
    return true;
}

static int pull_stream(struct leat_cli_pulling *pulling, struct leat_error *err) {
    struct pull *pull = LEAT_CONTAINER_OF(pulling, struct pull, pulling);
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    struct counters before = {.n_batches = 0};
    int r, saved;

    if (leat_client_new(pulling->address, &client) < 0) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    (void)read_counters(pull, NULL, &before);
    r = leat_cli_pulling_open(pulling, client, &stream, err);
    if (r < 0) {
        leat_client_free(client);
        return leat_cli_pulling_status(r, err, false);
    }
    leat_cli_report_init(&pull->report, pulling->arguments, pulling->stream,
                         leat_cli_deliveries[pulling->arguments->delivery]);
    r = leat_cli_consume(&pull->consumer, stream, err);
    r = r == LEAT_END ? 0 : r;
    pull->report.n_epochs += pull->consumer.n_epochs;
    leat_cli_report_stop(&pull->report);
    saved = leat_cli_checkpoint_write(pulling->arguments, leat_stream_position(stream), err);
    r = r == 0 ? saved : r;
    if (!is_daemon_gone(r) && !pulling->was_lost)
        count_tokens(pull, &before);
    leat_stream_close(stream);
    leat_client_free(client);
    leat_cli_report_finish(&pull->report);
    return leat_cli_pulling_status(r, err, true);
}

static int pull_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct pull pull = {.pulling = {.arguments = arguments, .stream = arguments->operand},
                        .consumer = {.on_batch = report_batch}};
    int status = leat_cli_pulling_check(&pull.pulling, err);

    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    return pull_stream(&pull.pulling, err);
}

static int run_inline(struct pull *pull, struct leat_error *err) {
    const struct leat_cli_arguments *arguments = pull->pulling.arguments;
    struct leat_spec *spec = leat_cli_spec_load(arguments->operand, arguments->stream, err);
    int r;

    if (!spec)
        return leat_cli_error_status(err);
    leat_cli_report_init(&pull->report, arguments, spec->name, "inline");
    r = leat_cli_inline_run(spec, arguments, &pull->pulling.ranks, pull->pulling.position,
                            &pull->report, err);
    if (pull->report.end_ns > 0)
        leat_cli_report_finish(&pull->report);
    leat_spec_free(spec);
    return leat_cli_pulling_status(r, err, true);
}

static int run_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct pull pull = {.pulling = {.arguments = arguments},
                        .consumer = {.on_batch = report_batch}};
    int status = leat_cli_pulling_check(&pull.pulling, err);

    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    return arguments->no_daemon ? run_inline(&pull, err)
                                : leat_cli_pulling_file(&pull.pulling, pull_stream, err);
}

static const char *const formats[] = {"text", "json", "jsonl", NULL};
/* Options of both `run` and `pull`. */
#define PULLING                                                                                    \
    LEAT_CLI_OPTIONS_CHOOSING,                                                                     \
        LEAT_CLI_OPTION(                                                                           \
            STRING, "save-position", save_position,                                                \
            "write the last position to FILE; to continue there later, use --position @FILE",      \
            .value = "FILE"),                                                                      \
        LEAT_CLI_OPTION(                                                                           \
            NUMBER, "window", window,                                                              \
            "number of batches that a trainer may hold at once (default: the daemon chooses)",     \
            .value = "N", .min = 1, .max = 4096),                                                  \
        LEAT_CLI_OPTION_DELIVERY,                                                                  \
        LEAT_CLI_OPTION(FLAG, "digest", digest,                                                    \
                        "print a hash (BLAKE2b-256) of the tensors of all batches: names, "        \
                        "dtypes, shapes, bytes and order"),                                        \
        LEAT_CLI_OPTION(CHOICE, "format", format, "output format", .value = "F",                   \
                        .choices = formats)
static const struct leat_cli_option run_options[] = {
    LEAT_CLI_OPTION_WORKERS,
    PULLING,
    LEAT_CLI_OPTION(FLAG, "no-daemon", no_daemon,
                    "run the pipeline in this process, on one thread"),
    LEAT_CLI_OPTION_NO_FUSE,
    LEAT_CLI_OPTION(FLAG, "stats", stats, "show the times of stages, as `leatctl stats` does"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_run_command = {
    .name = "run",
    .group = LEAT_CLI_GROUP_RUN,
    .summary = "start a private daemon for a file and pull its batches",
    .description =
        "Starts a private leatd, pulls batches as a trainer does, prints a summary, and stops\n"
        "this leatd. It uses the leatd in the folder of leatctl, else $LEAT_LEATD, else the\n"
        "leatd on the PATH. The private leatd writes no files next to FILE.",
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
    LEAT_CLI_OPTION(
        NUMBER, "reconnect", reconnect,
        "if the daemon ends, wait up to S seconds for another daemon (default 60; 0: do not wait)",
        .value = "S", .max = 1000000),
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
