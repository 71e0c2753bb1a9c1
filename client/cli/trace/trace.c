/* trace.c: `leatctl trace`: the daemon's events as a file for Perfetto. A FILE's stream is pulled
 * from a private daemon meanwhile; a STREAM of the running daemon is only watched.
 *
 * The daemon keeps events only for a while, so they are polled and written at once. One thread does
 * everything.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/output.h"
#include "client/cli/base/pulling.h"
#include "client/cli/base/units.h"
#include "client/cli/trace/json.h"
#include "client/leat.h"
#include "proto/base/clock.h"
#include "proto/base/container_of.h"
#include "proto/base/json_writer.h"

#define DEFAULT_OUTPUT  "trace.json"
#define DEFAULT_SECONDS 10 /* if neither they nor batches are given */
#define POLL_NS         20000000
#define POLL_MS         20
#define REPLIES_AT_ONCE 64 /* before the next batch is pulled */

struct tracer {
    struct leat_cli_pulling pulling;
    int control; /* -1: not connected */
    FILE *file;
    struct leat_cli_trace_json json;
    uint64_t start_ns, end_ns; /* of tracing */
    uint64_t polled_ns;        /* the last time */
    int status;                /* of connecting */
};

static const char *output_of(const struct tracer *tracer) {
    return tracer->pulling.arguments->output ? tracer->pulling.arguments->output : DEFAULT_OUTPUT;
}

/* ---- the file ---- */

static int flush_file(struct tracer *tracer, struct leat_error *err) {
    struct leat_text *text = &tracer->json.text;

    if (text->failed)
        return leat_error_oom(err);
    if (text->n_bytes > 0 && fwrite(text->data, 1, text->n_bytes, tracer->file) != text->n_bytes)
        return leat_error_set(err, -errno, "%s: %s", output_of(tracer), strerror(errno));
    text->n_bytes = 0;
    return 0;
}

static int open_file(struct tracer *tracer, struct leat_error *err) {
    const char *path = output_of(tracer);

    tracer->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (!tracer->file)
        return leat_error_set(err, -errno, "%s: %s", path, strerror(errno));
    leat_cli_trace_json_begin(&tracer->json, tracer->pulling.stream);
    return flush_file(tracer, err);
}

static int close_file(struct tracer *tracer, struct leat_error *err) {
    int r;

    leat_cli_trace_json_end(&tracer->json);
    r = flush_file(tracer, err);
    if (tracer->file != stdout && fclose(tracer->file) != 0 && r == 0)
        r = leat_error_set(err, -errno, "%s: %s", output_of(tracer), strerror(errno));
    free(tracer->json.text.data);
    return r;
}

/* ---- events ---- */

static int ask_events(struct tracer *tracer, const char *stream, bool ends, uint32_t *ret_n_left,
                      struct leat_error *err) {
    Leat__TraceRequest trace = LEAT__TRACE_REQUEST__INIT;
    Leat__ControlReply *reply = NULL;
    int r;

    trace.stream = (char *)(uintptr_t)stream;
    trace.ends = ends;
    r = leat_exchange_ask(tracer->control, LEAT__CONTROL_REQUEST__VERB_TRACE, &trace,
                          LEAT_CLI_CONTROL_TIMEOUT_MS, &reply, err);
    if (r < 0)
        return r;
    leat_cli_trace_json_add(&tracer->json, reply->trace);
    *ret_n_left = reply->trace->n_left;
    r = flush_file(tracer, err);
    leat__control_reply__free_unpacked(reply, NULL);
    return r;
}

static int poll_events(struct tracer *tracer, bool ends, struct leat_error *err) {
    uint32_t n_left = 1;
    int r = 0;

    for (int i = 0; r == 0 && n_left > 0 && i < REPLIES_AT_ONCE; i++)
        r = ask_events(tracer, "", ends, &n_left, err);
    tracer->polled_ns = leat_now_ns();
    return r;
}

static int connect_control(struct tracer *tracer, struct leat_error *err) {
    uint32_t n_left;

    tracer->status = leat_cli_control_open(tracer->pulling.address, &tracer->control, err);
    return tracer->status == LEAT_CLI_OK
               ? ask_events(tracer, tracer->pulling.stream, false, &n_left, err)
               : err->code;
}

/* ---- pulling and watching ---- */

static bool is_over(const struct tracer *tracer) {
    return leat_now_ns() >= tracer->end_ns || leat_cli_interrupt_seen();
}

static int poll_if_due(struct tracer *tracer, struct leat_error *err) {
    return leat_now_ns() - tracer->polled_ns < POLL_NS ? 0 : poll_events(tracer, false, err);
}

/* 1: the stream has ended. */
static int pull_one(struct tracer *tracer, struct leat_stream *stream, struct leat_error *err) {
    struct leat_batch *batch = NULL;
    int r = leat_stream_next(stream, POLL_MS, &batch);

    if (r == LEAT_END)
        return 1;
    if (r == 0)
        leat_batch_release(batch);
    if (r < 0 && r != -ETIMEDOUT && r != -EINTR && r != -EAGAIN) {
        *err = *leat_stream_error(stream);
        return r;
    }
    return poll_if_due(tracer, err);
}

static int pull_batches(struct tracer *tracer, struct leat_error *err) {
    const struct leat_cli_arguments *arguments = tracer->pulling.arguments;
    struct leat_open_options options;
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    int r;

    leat_open_options_init(&options);
    options.n_epochs = arguments->epochs.is_given ? arguments->epochs.value : 1;
    options.n_steps = arguments->batches.value;
    options.world_size = 1;
    options.reconnect_timeout_ms = LEAT_NO_RECONNECT;
    options.client_name = "leatctl trace";
    if (leat_client_new(tracer->pulling.address, &client) < 0)
        return leat_error_oom(err);
    r = leat_client_open(client, tracer->pulling.stream, &options, &stream);
    if (r < 0)
        *err = *leat_client_error(client);
    while (r == 0 && !is_over(tracer))
        r = pull_one(tracer, stream, err);
    if (r >= 0)
        r = poll_events(tracer, true, err);
    leat_stream_close(stream);
    leat_client_free(client);
    return r;
}

static int watch_stream(struct tracer *tracer, struct leat_error *err) {
    const struct leat_cli_number *batches = &tracer->pulling.arguments->batches;
    struct timespec pause = {.tv_nsec = POLL_NS};
    int r = 0;

    while (r == 0 && !is_over(tracer) &&
           (!batches->is_given || tracer->json.n_batches < batches->value)) {
        (void)nanosleep(&pause, NULL);
        r = poll_events(tracer, false, err);
    }
    return r < 0 ? r : poll_events(tracer, true, err);
}

/* ---- the command ---- */

static void print_report(const struct tracer *tracer) {
    const struct leat_cli_trace_json *json = &tracer->json;
    uint64_t ns = leat_now_ns() - tracer->start_ns;
    char events[LEAT_CLI_UNIT_MAX], batches[LEAT_CLI_UNIT_MAX], time[LEAT_CLI_UNIT_MAX];
    FILE *out = tracer->file == stdout ? stderr : stdout;

    if (tracer->pulling.arguments->json) {
        struct leat_text text = {.data = NULL};

        leat_json_open(&text, NULL, '{');
        leat_json_add_uint(&text, "events", json->n_events);
        leat_json_add_uint(&text, "batches", json->n_batches);
        leat_json_add_uint(&text, "threads", json->n_threads);
        leat_json_add_uint(&text, "dropped", json->n_dropped);
        leat_json_add_double(&text, "seconds", (double)ns / 1e9);
        leat_json_close(&text, '}');
        leat_text_add(&text, "\n");
        leat_cli_print_to(&text, out);
        return;
    }
    fprintf(out, "%s: %s events, %s batches, %u threads, %s; open it at https://ui.perfetto.dev\n",
            output_of(tracer), leat_cli_count(json->n_events, events),
            leat_cli_count(json->n_batches, batches), json->n_threads, leat_cli_duration(ns, time));
    if (json->n_dropped > 0)
        fprintf(out, "the daemon dropped %s more events, because they came too fast\n",
                leat_cli_count(json->n_dropped, events));
}

static int record_trace(struct tracer *tracer,
                        int (*meanwhile)(struct tracer *, struct leat_error *),
                        struct leat_error *err) {
    const struct leat_cli_arguments *arguments = tracer->pulling.arguments;
    struct leat_error late = LEAT_ERROR_INIT;
    uint64_t seconds = arguments->seconds.value;
    int r = open_file(tracer, err);

    if (r < 0)
        return r;
    if (!arguments->seconds.is_given && !arguments->batches.is_given)
        seconds = DEFAULT_SECONDS;
    tracer->start_ns = leat_now_ns();
    tracer->end_ns = seconds > 0 ? tracer->start_ns + seconds * 1000000000U : UINT64_MAX;
    r = connect_control(tracer, err);
    if (r == 0)
        r = meanwhile(tracer, err);
    if (tracer->control >= 0)
        (void)close(tracer->control);
    if (r == -EINTR &&
        leat_cli_interrupt_seen()) { /* the signal ends the trace, without an error */
        *err = LEAT_ERROR_INIT;
        r = 0;
    }
    if (close_file(tracer, r < 0 ? &late : err) < 0 && r == 0)
        r = err->code;
    if (r == 0)
        print_report(tracer);
    return r;
}

static int exit_status(const struct tracer *tracer, int r, const struct leat_error *err) {
    if (leat_cli_interrupt_seen())
        return LEAT_CLI_INTERRUPTED;
    if (r == 0)
        return LEAT_CLI_OK;
    return tracer->status != LEAT_CLI_OK ? tracer->status : leat_cli_control_refusal(err);
}

static int trace_private(struct leat_cli_pulling *pulling, struct leat_error *err) {
    struct tracer *tracer = LEAT_CONTAINER_OF(pulling, struct tracer, pulling);

    return exit_status(tracer, record_trace(tracer, pull_batches, err), err);
}

static int trace_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct tracer tracer = {.pulling = {.arguments = arguments, .stream = arguments->operand},
                            .control = -1};

    leat_cli_interrupt_watch();
    return arguments->is_file ? leat_cli_pulling_file(&tracer.pulling, trace_private, err)
                              : exit_status(&tracer, record_trace(&tracer, watch_stream, err), err);
}

static const struct leat_cli_option trace_options[] = {
    LEAT_CLI_OPTION(STRING, "output", output,
                    "file of the trace (default: trace.json; -: standard output)", .letter = 'o',
                    .value = "FILE"),
    LEAT_CLI_OPTION(NUMBER, "seconds", seconds,
                    "stop after S seconds (default: 10, unless you give --batches)", .value = "S",
                    .min = 1, .max = 86400),
    LEAT_CLI_OPTION(NUMBER, "batches", batches, "stop after N batches", .value = "N", .min = 1,
                    .max = UINT64_MAX),
    LEAT_CLI_OPTION(NUMBER, "epochs", epochs, "stop after N epochs (default 1; 0: do not stop)",
                    .value = "N", .max = UINT64_MAX, .is_of_file = true),
    LEAT_CLI_OPTION_WORKERS,
    LEAT_CLI_OPTION_NO_FUSE,
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_trace_command = {
    .name = "trace",
    .group = LEAT_CLI_GROUP_RUN,
    .summary = "record events of a stream for Perfetto",
    .description =
        "For a FILE, a private daemon serves the stream, and the command records this daemon.\n"
        "For a STREAM, the command records the running daemon. The result is JSON in the\n"
        "format of Chrome's trace events. Open it at https://ui.perfetto.dev. The trace has a\n"
        "track for each worker thread, with its jobs and stages. Other tracks show the\n"
        "daemon's main loop and the delivered batches. Counters show blocks, free slots and\n"
        "bytes.\n"
        "\n"
        "Tracing does not change batches. The daemon keeps a limited number of events. If it\n"
        "had to drop events, the summary says how many.",
    .operand = "FILE|STREAM",
    .more = "[STREAM]",
    .examples = "  leatctl trace titanic.yaml -o trace.json --batches 1000 --workers 8\n"
                "  leatctl trace train.yaml prose --seconds 30\n"
                "  leatctl trace prose --seconds 5\n",
    .asks_daemon = true,
    .options = trace_options,
    .run = trace_main,
};
