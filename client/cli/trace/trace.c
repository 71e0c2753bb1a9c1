/* trace.c: `trace`: what happens when, as a file for Perfetto: of a FILE's stream in a daemon of
 * our own, which is pulled from meanwhile; or of a stream in the running daemon, which is watched.
 *
 * The daemon keeps events only for a while: they are asked for again and again, and written at
 * once. One thread does all of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/base/clock.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/daemon/private_daemon.h"
#include "client/cli/base/error_json.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/options.h"
#include "client/cli/base/stream_file.h"
#include "client/cli/base/units.h"
#include "client/cli/trace/json.h"
#include "client/leat.h"

#define DEFAULT_OUTPUT  "trace.json"
#define DEFAULT_SECONDS 10 /* if neither they nor batches are given */
#define POLL_NS         20000000
#define POLL_MS         20
#define REPLIES_AT_ONCE 64 /* before batches are looked after again */

struct tracer {
    const struct leat_cli_arguments *arguments;
    const char *address; /* NULL: search */
    const char *stream;
    int control; /* -1: not connected */
    FILE *file;
    struct leat_cli_trace_json json;
    uint64_t start_ns, end_ns, polled_ns; /* end: of tracing */
    uint64_t n_pulled;
    int status; /* of the connection */
};

static const char *output_of(const struct tracer *tracer) {
    return tracer->arguments->output ? tracer->arguments->output : DEFAULT_OUTPUT;
}

/* ---- the file ---- */

static int flush(struct tracer *tracer, struct leat_error *err) {
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
    leat_cli_trace_json_begin(&tracer->json, tracer->stream);
    return flush(tracer, err);
}

static int close_file(struct tracer *tracer, struct leat_error *err) {
    int r;

    leat_cli_trace_json_end(&tracer->json);
    r = flush(tracer, err);
    if (tracer->file != stdout && fclose(tracer->file) != 0 && r == 0)
        r = leat_error_set(err, -errno, "%s: %s", output_of(tracer), strerror(errno));
    free(tracer->json.text.data);
    return r;
}

/* ---- events ---- */

static int ask(struct tracer *tracer, const char *stream, bool ends, uint32_t *ret_n_left,
               struct leat_error *err) {
    Leat__TraceRequest trace = LEAT__TRACE_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply = NULL;
    int r;

    trace.stream = (char *)(uintptr_t)stream;
    trace.ends = ends;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_TRACE;
    request.trace = &trace;
    r = leat_cli_control_ask(tracer->control, &request, LEAT_CLI_CONTROL_TIMEOUT_MS, &reply, err);
    if (r < 0)
        return r;
    if (reply->verb_case == LEAT__CONTROL_REPLY__VERB_TRACE) {
        leat_cli_trace_json_add(&tracer->json, reply->trace);
        *ret_n_left = reply->trace->n_left;
        r = flush(tracer, err);
    } else {
        r = leat_error_set(err, -EPROTO, "the daemon answered something else");
    }
    leat__control_reply__free_unpacked(reply, NULL);
    return r;
}

static int poll_events(struct tracer *tracer, bool ends, struct leat_error *err) {
    uint32_t n_left = 1;
    int r = 0;

    for (int i = 0; r == 0 && n_left > 0 && i < REPLIES_AT_ONCE; i++)
        r = ask(tracer, "", ends, &n_left, err);
    tracer->polled_ns = leat_cli_now_ns();
    return r;
}

static int connect_control(struct tracer *tracer, struct leat_error *err) {
    uint32_t n_left;

    tracer->status = leat_cli_control_open(tracer->address, &tracer->control, err);
    return tracer->status == LEAT_CLI_OK ? ask(tracer, tracer->stream, false, &n_left, err)
                                         : err->code;
}

/* ---- while it goes on ---- */

static bool is_over(const struct tracer *tracer) {
    return leat_cli_now_ns() >= tracer->end_ns || leat_cli_interrupt_seen();
}

static int poll_if_due(struct tracer *tracer, struct leat_error *err) {
    return leat_cli_now_ns() - tracer->polled_ns < POLL_NS ? 0 : poll_events(tracer, false, err);
}

/* 1: nothing more comes. */
static int pull_one(struct tracer *tracer, struct leat_stream *stream, struct leat_error *err) {
    struct leat_batch *batch = NULL;
    int r = leat_stream_next(stream, POLL_MS, &batch);

    if (r == LEAT_END)
        return 1;
    if (r == 0) {
        leat_batch_release(batch);
        tracer->n_pulled++;
    }
    if (r < 0 && r != -ETIMEDOUT && r != -EINTR && r != -EAGAIN) {
        *err = *leat_stream_error(stream);
        return r;
    }
    return poll_if_due(tracer, err);
}

static int pull(struct tracer *tracer, struct leat_error *err) {
    const struct leat_cli_arguments *arguments = tracer->arguments;
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
    if (leat_client_new(tracer->address, &client) < 0)
        return leat_error_oom(err);
    r = leat_client_open(client, tracer->stream, &options, &stream);
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

static int watch(struct tracer *tracer, struct leat_error *err) {
    const struct leat_cli_number *batches = &tracer->arguments->batches;
    struct timespec pause = {.tv_nsec = POLL_NS};
    int r = 0;

    while (r == 0 && !is_over(tracer) &&
           (!batches->is_given || tracer->json.n_batches < batches->value)) {
        (void)nanosleep(&pause, NULL);
        r = poll_events(tracer, false, err);
    }
    return r < 0 ? r : poll_events(tracer, true, err);
}

/* ---- */

static void report(const struct tracer *tracer) {
    const struct leat_cli_trace_json *json = &tracer->json;
    uint64_t ns = leat_cli_now_ns() - tracer->start_ns;
    char events[LEAT_CLI_UNIT_MAX], batches[LEAT_CLI_UNIT_MAX], time[LEAT_CLI_UNIT_MAX];
    FILE *out = tracer->file == stdout ? stderr : stdout;

    if (tracer->arguments->json) {
        fprintf(out,
                "{\"events\": %" PRIu64 ", \"batches\": %" PRIu64 ", \"threads\": %u, \"dropped\": "
                "%" PRIu64 ", \"seconds\": %.6f}\n",
                json->n_events, json->n_batches, json->n_threads, json->n_dropped,
                (double)ns / 1e9);
        return;
    }
    fprintf(out, "%s: %s events, %s batches, %u threads, %s; for https://ui.perfetto.dev\n",
            output_of(tracer), leat_cli_count(json->n_events, events),
            leat_cli_count(json->n_batches, batches), json->n_threads, leat_cli_duration(ns, time));
    if (json->n_dropped > 0)
        fprintf(out, "%s events more came too fast and were dropped\n",
                leat_cli_count(json->n_dropped, events));
}

static int trace(struct tracer *tracer, int (*meanwhile)(struct tracer *, struct leat_error *),
                 struct leat_error *err) {
    const struct leat_cli_arguments *arguments = tracer->arguments;
    struct leat_error late = LEAT_ERROR_INIT;
    uint64_t seconds = arguments->seconds.value;
    int r = open_file(tracer, err);

    if (r < 0)
        return r;
    if (!arguments->seconds.is_given && !arguments->batches.is_given)
        seconds = DEFAULT_SECONDS;
    tracer->start_ns = leat_cli_now_ns();
    tracer->end_ns = seconds > 0 ? tracer->start_ns + seconds * 1000000000U : UINT64_MAX;
    r = connect_control(tracer, err);
    if (r == 0)
        r = meanwhile(tracer, err);
    if (tracer->control >= 0)
        (void)close(tracer->control);
    if (r == -EINTR && leat_cli_interrupt_seen()) { /* while a reply was waited for: it is enough */
        *err = LEAT_ERROR_INIT;
        r = 0;
    }
    if (close_file(tracer, r < 0 ? &late : err) < 0 && r == 0)
        r = err->code;
    if (r == 0)
        report(tracer);
    return r;
}

static int exit_status(const struct tracer *tracer, int r, const struct leat_error *err) {
    if (leat_cli_interrupt_seen())
        return LEAT_CLI_INTERRUPTED;
    if (r == 0)
        return LEAT_CLI_OK;
    return tracer->status != LEAT_CLI_OK ? tracer->status : leat_cli_control_refusal(err);
}

static int trace_spec(struct tracer *tracer, struct leat_error *err) {
    struct leat_cli_daemon daemon;
    int r = leat_cli_daemon_start(&daemon, tracer->arguments->operand,
                                  (uint32_t)tracer->arguments->workers.value,
                                  tracer->arguments->no_fuse, err);

    if (r < 0)
        return exit_status(tracer, r, err);
    tracer->address = daemon.directory;
    r = trace(tracer, pull, err);
    leat_cli_daemon_stop(&daemon);
    return exit_status(tracer, r, err);
}

static int trace_file(struct tracer *tracer, struct leat_error *err) {
    const struct leat_cli_arguments *arguments = tracer->arguments;
    struct leat_cli_streams streams;
    const struct leat_spec *spec = NULL;
    int status;

    if (leat_cli_streams_load(arguments->operand, &streams, err) == 0)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    if (spec) {
        tracer->stream = spec->name;
        status = trace_spec(tracer, err);
    } else {
        status = leat_cli_error_status(err);
    }
    leat_cli_streams_deinit(&streams);
    return status;
}

static int trace_stream(struct tracer *tracer, struct leat_error *err) {
    tracer->stream = tracer->arguments->operand;
    return exit_status(tracer, trace(tracer, watch, err), err);
}

static int trace_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct tracer tracer = {.arguments = arguments, .control = -1};

    leat_cli_interrupt_watch();
    return arguments->is_file ? trace_file(&tracer, err) : trace_stream(&tracer, err);
}

static const struct leat_cli_option trace_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(output),
     .value = "FILE",
     .help = "where the trace goes (default: trace.json; -: standard output)"},
    {.name = "seconds",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(seconds),
     .value = "S",
     .min = 1,
     .max = 86400,
     .help = "trace no longer than that (default: 10, if no number of batches is given)"},
    {.name = "batches",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(batches),
     .value = "N",
     .min = 1,
     .max = UINT64_MAX,
     .help = "stop after that many batches"},
    {.name = "epochs",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(epochs),
     .value = "N",
     .max = UINT64_MAX,
     .is_of_file = true,
     .help = "epochs to pull at most (default 1; 0: without end)"},
    LEAT_CLI_OPTION_WORKERS,
    LEAT_CLI_OPTION_NO_FUSE,
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_trace_command = {
    .name = "trace",
    .group = LEAT_CLI_GROUP_RUN,
    .summary = "record what happens when, for Perfetto",
    .description =
        "Of FILE's stream, which is pulled from a private daemon meanwhile, or of a STREAM of the "
        "running daemon,\nwhich is only watched. Writes Chrome's trace events (JSON), which "
        "https://ui.perfetto.dev shows: a track\nfor each worker thread with its jobs and their "
        "stages, one for the daemon's loop, one for batches that\nare handed out, and how many "
        "blocks, free slots and bytes there are. Batches are the same with it and\nwithout. The "
        "daemon keeps a bounded number of events: how many it had to drop is "
        "told.",
    .operand = "FILE|STREAM",
    .more = "[STREAM]",
    .examples = "  leatctl trace titanic.yaml -o trace.json --batches 1000 --workers 8\n"
                "  leatctl trace train.yaml prose --seconds 30\n"
                "  leatctl trace prose --seconds 5\n",
    .asks_daemon = true,
    .options = trace_options,
    .run = trace_main,
};
