/* pull.c: `run` and `pull`: batches through the real client, from a daemon of our own for a file,
 * from the running one, or (run --no-daemon) from the pipeline itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/batch.h"
#include "client/cli/checkpoint.h"
#include "client/cli/commands.h"
#include "client/cli/consumer.h"
#include "client/cli/control.h"
#include "client/cli/error_json.h"
#include "client/cli/inline_run.h"
#include "client/cli/interrupt.h"
#include "client/cli/private_daemon.h"
#include "client/cli/stream_file.h"
#include "client/launcher.h"

struct pull {
    const struct leat_cli_arguments *arguments;
    const char *address; /* NULL: search */
    const char *stream;
    struct leat_ranks ranks;
    bool is_private; /* the daemon: it does not come back */
    bool was_lost;   /* the connection: what the daemon counts is not all */
    struct leat_cli_report report;
    char position[LEAT_POSITION_TEXT_SIZE]; /* "": none */
};

struct counters {
    uint64_t n_batches, n_elements, n_bad_records;
};

static const char *delivery_name(const struct leat_cli_arguments *arguments) {
    return arguments->delivery == LEAT_DELIVERY_COPY ? "copy" : "shared";
}

/* As given; the rest is the launcher's. */
static struct leat_ranks given_ranks(const struct leat_cli_arguments *arguments) {
    bool is_sized = arguments->world_size.is_given;

    return (struct leat_ranks){
        .rank = is_sized && !arguments->rank.is_given ? LEAT_RANK_LAUNCHER
                                                      : (uint32_t)arguments->rank.value,
        .world_size = (uint32_t)arguments->world_size.value,
    };
}

static int check_ranks(const struct leat_cli_arguments *arguments, struct leat_ranks *ret_ranks,
                       struct leat_error *err) {
    *ret_ranks = given_ranks(arguments);
    if (arguments->rank.is_given && !arguments->world_size.is_given) {
        leat_error_set(err, -EINVAL, "--rank %llu is given without --world-size",
                       (unsigned long long)arguments->rank.value);
        return LEAT_CLI_USAGE;
    }
    return leat_launcher_complete(ret_ranks, err) < 0 ? LEAT_CLI_USAGE : LEAT_CLI_OK;
}

static int check_arguments(struct pull *pull, struct leat_error *err) {
    int status = check_ranks(pull->arguments, &pull->ranks, err);

    if (status == LEAT_CLI_OK && leat_cli_checkpoint_read(pull->arguments, pull->position, err) < 0)
        status = err->file[0] ? leat_cli_error_status(err) : LEAT_CLI_USAGE;
    return status;
}

static void on_reconnect(void *user, const struct leat_reconnect_event *event) {
    struct pull *pull = user;

    pull->was_lost = true;
    if (event->kind == LEAT_RECONNECT_LOST)
        fprintf(stderr, "leatctl: the connection is lost, and tried for again: %s\n",
                event->reason);
    else if (event->kind == LEAT_RECONNECT_BACK)
        fprintf(stderr, "leatctl: connected again after %.1f s (attempt %u)\n",
                (double)event->waited_ns / 1e9, event->attempt);
}

static int32_t reconnect_timeout_ms(const struct pull *pull) {
    const struct leat_cli_number *seconds = &pull->arguments->reconnect;

    if (pull->is_private || (seconds->is_given && seconds->value == 0))
        return LEAT_NO_RECONNECT;
    return (int32_t)seconds->value * 1000; /* 0: the library's default */
}

static void fill_options(struct pull *pull, struct leat_open_options *options) {
    const struct leat_cli_arguments *arguments = pull->arguments;
    struct leat_ranks ranks = given_ranks(arguments);

    leat_open_options_init(options);
    options->reconnect_timeout_ms = reconnect_timeout_ms(pull);
    options->on_reconnect = on_reconnect;
    options->on_reconnect_user = pull;
    options->delivery = (int32_t)arguments->delivery;
    options->rank = ranks.rank;
    options->world_size = ranks.world_size;
    options->window = (uint32_t)arguments->window.value;
    options->n_epochs = arguments->epochs.is_given ? arguments->epochs.value : 1;
    options->n_steps = arguments->batches.value;
    options->has_seed = arguments->seed.is_given;
    options->seed = arguments->seed.value;
    options->client_name = "leatctl";
    options->position = pull->position[0] ? pull->position : NULL;
    options->accept_changes = arguments->accept_changes;
}

/* The daemon's counters of the stream; false if it does not tell us. With `report`, its profile
 * goes there. */
static bool read_counters(const struct pull *pull, struct leat_cli_report *report,
                          struct counters *ret_counters) {
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply = NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    bool is_unreachable, is_found = false;

    stats.stream = (char *)(uintptr_t)pull->stream;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATS;
    request.stats = &stats;
    if (leat_cli_control(pull->address, &request, LEAT_CLI_CONTROL_TIMEOUT_MS, &reply,
                         &is_unreachable, &err) < 0)
        return false;
    if (reply->verb_case == LEAT__CONTROL_REPLY__VERB_STATS && reply->stats->n_streams == 1) {
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

static bool report_batch(struct leat_cli_consumer *consumer, const struct leat_batch *batch) {
    leat_cli_report_batch(((struct puller *)consumer)->report, &batch->view);
    return true;
}

static int pull_batches(struct pull *pull, struct leat_stream *stream, struct leat_error *err) {
    struct puller puller = {.consumer = {.on_batch = report_batch}, .report = &pull->report};
    int r = leat_cli_consume(&puller.consumer, stream, err);

    pull->report.n_epochs += puller.consumer.n_epochs;
    return r == LEAT_END ? 0 : r;
}

static int exit_status(int r, const struct leat_error *err, bool was_opened) {
    if (r == 0)
        return LEAT_CLI_OK;
    if (leat_cli_interrupt_seen())
        return LEAT_CLI_INTERRUPTED;
    if (!was_opened && (r == -ECONNREFUSED || r == -EACCES) && !err->file[0])
        return LEAT_CLI_UNREACHABLE;
    return leat_cli_error_status(err);
}

/* Where systemd starts the daemon for us, either question may wait long: a signal ends both. */
static int open_stream(struct pull *pull, struct leat_client *client, struct counters *ret_before,
                       struct leat_stream **ret_stream, struct leat_error *err) {
    struct leat_open_options options;
    int r = -EINTR;

    fill_options(pull, &options);
    (void)read_counters(pull, NULL, ret_before);
    if (!leat_cli_interrupt_seen())
        r = leat_client_open(client, pull->stream, &options, ret_stream);
    if (r < 0 && leat_cli_interrupt_seen())
        return leat_error_set(err, -EINTR, "interrupted");
    if (r < 0)
        *err = *leat_client_error(client);
    return r;
}

static int pull_stream(struct pull *pull, struct leat_error *err) {
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    struct counters before = {.n_batches = 0};
    int r, saved;

    if (leat_client_new(pull->address, &client) < 0) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    r = open_stream(pull, client, &before, &stream, err);
    if (r < 0) {
        leat_client_free(client);
        return exit_status(r, err, false);
    }
    leat_cli_report_init(&pull->report, pull->arguments, pull->stream,
                         delivery_name(pull->arguments));
    r = pull_batches(pull, stream, err);
    leat_cli_report_stop(&pull->report);
    saved = leat_cli_checkpoint_write(pull->arguments, leat_stream_position(stream), err);
    r = r == 0 ? saved : r;
    if (!is_daemon_gone(r) && !pull->was_lost)
        count_tokens(pull, &before);
    leat_stream_close(stream);
    leat_client_free(client);
    leat_cli_report_finish(&pull->report);
    return exit_status(r, err, true);
}

int leat_cli_pull(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct pull pull = {.arguments = arguments, .stream = arguments->operand};
    int status = check_arguments(&pull, err);

    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    return pull_stream(&pull, err);
}

static int run_private(struct pull *pull, struct leat_error *err) {
    struct leat_cli_daemon daemon;
    int r = leat_cli_daemon_start(&daemon, pull->arguments->operand,
                                  (uint32_t)pull->arguments->workers.value,
                                  pull->arguments->no_fuse, err);
    int status;

    if (r < 0)
        return exit_status(r, err, true);
    pull->address = daemon.directory;
    pull->is_private = true;
    status = pull_stream(pull, err);
    leat_cli_daemon_stop(&daemon);
    return status;
}

static int run_inline(struct pull *pull, const struct leat_spec *spec, struct leat_error *err) {
    int r;

    leat_cli_report_init(&pull->report, pull->arguments, pull->stream, "inline");
    r = leat_cli_inline_run(spec, pull->arguments, &pull->ranks, pull->position, &pull->report,
                            err);
    if (pull->report.end_ns > 0)
        leat_cli_report_finish(&pull->report);
    return exit_status(r, err, true);
}

int leat_cli_run(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct pull pull = {.arguments = arguments};
    struct leat_cli_streams streams;
    const struct leat_spec *spec = NULL;
    int status = check_arguments(&pull, err);

    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    if (leat_cli_streams_load(arguments->operand, &streams, err) == 0)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    if (spec) {
        pull.stream = spec->name;
        status = arguments->no_daemon ? run_inline(&pull, spec, err) : run_private(&pull, err);
    } else {
        status = leat_cli_error_status(err);
    }
    leat_cli_streams_deinit(&streams);
    return status;
}
