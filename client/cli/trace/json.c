/* json.c: see json.h. Replies are checked: names and files by their number, threads by their limit.
 */
#include "client/cli/trace/json.h"
#include "pipeline/run/pipeline.h"

#include <inttypes.h>
#include <stdio.h>

#include "proto/base/json_writer.h"

enum { TRACK_LOOP = 1, TRACK_BATCHES = 2, TRACK_THREADS = 10 };

/* Microseconds to the nanosecond, exact also if they are read as a double. */
static void add_us(struct leat_text *text, const char *name, uint64_t ns) {
    char us[32];
    int n = snprintf(us, sizeof(us), "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));

    leat_json_add_raw(text, name, us, (size_t)n);
}

/* The time since the start. */
static uint64_t since_start(const struct leat_cli_trace_json *json, uint64_t ns) {
    return ns > json->start_ns ? ns - json->start_ns : 0;
}

/* Opens an event, which the caller closes. category NULL: none. */
static void open_event(struct leat_cli_trace_json *json, const char *phase, uint32_t track,
                       const char *category, const char *name) {
    if (json->text.n_bytes == 0 && json->has_events) /* earlier events were written and dropped */
        leat_text_add(&json->text, ",\n");
    else
        leat_json_line(&json->text);
    json->has_events = true;
    leat_json_open(&json->text, NULL, '{');
    leat_json_add_text(&json->text, "ph", phase);
    leat_json_add_uint(&json->text, "pid", 1);
    leat_json_add_uint(&json->text, "tid", track);
    if (category)
        leat_json_add_text(&json->text, "cat", category);
    leat_json_add_text(&json->text, "name", name);
}

/* Metadata with one argument: a text, or with text NULL a number. */
static void add_metadata(struct leat_cli_trace_json *json, uint32_t track, const char *name,
                         const char *key, const char *text) {
    open_event(json, "M", track, NULL, name);
    leat_json_open(&json->text, "args", '{');
    if (text)
        leat_json_add_text(&json->text, key, text);
    else
        leat_json_add_uint(&json->text, key, track);
    leat_json_close(&json->text, '}');
    leat_json_close(&json->text, '}');
}

static void name_track(struct leat_cli_trace_json *json, uint32_t track, const char *name) {
    add_metadata(json, track, "thread_name", "name", name);
    add_metadata(json, track, "thread_sort_index", "sort_index", NULL);
}

void leat_cli_trace_json_begin(struct leat_cli_trace_json *json, const char *stream) {
    *json = (struct leat_cli_trace_json){.n_events = 0};
    leat_json_open(&json->text, NULL, '{');
    leat_json_add_text(&json->text, "displayTimeUnit", "ms");
    leat_json_open(&json->text, "traceEvents", '[');
    add_metadata(json, 0, "process_name", "name", stream);
    name_track(json, TRACK_LOOP, "loop");
    name_track(json, TRACK_BATCHES, "batches handed out");
}

static uint32_t thread_track(struct leat_cli_trace_json *json, uint32_t thread) {
    char name[32];

    if (thread >= LEAT_CLI_TRACE_THREADS_MAX)
        thread = LEAT_CLI_TRACE_THREADS_MAX - 1;
    if (!json->has_thread[thread]) {
        (void)snprintf(name, sizeof(name), "worker %u", thread);
        name_track(json, TRACK_THREADS + thread, name);
        json->n_threads++;
    }
    json->has_thread[thread] = true;
    return TRACK_THREADS + thread;
}

static const char *name_of(const Leat__TraceReply *reply, const Leat__TraceEvent *event) {
    return event->name < reply->n_names ? reply->names[event->name] : "?";
}

static void add_args(struct leat_text *text, const Leat__TraceReply *reply,
                     const Leat__TraceEvent *event) {
    leat_json_open(text, "args", '{');
    leat_json_add_uint(text, "run", event->run);
    if (event->n_rows > 0)
        leat_json_add_uint(text, "rows", event->n_rows);
    if (event->n_bytes > 0)
        leat_json_add_uint(text, "bytes", event->n_bytes);
    if (event->file > 0 && event->file <= reply->n_files) {
        leat_json_add_uint(text, "block", event->place);
        leat_json_add_text(text, "file", reply->files[event->file - 1]);
    }
    leat_json_close(text, '}');
}

static void add_span(struct leat_cli_trace_json *json, const Leat__TraceReply *reply,
                     const Leat__TraceEvent *event, uint32_t track) {
    uint64_t start_ns = since_start(json, event->start_ns);
    struct leat_text *text = &json->text;

    open_event(json, "X", track, event->kind == LEAT_TRACE_STAGE ? "stage" : "job",
               name_of(reply, event));
    add_us(text, "ts", start_ns);
    add_us(text, "dur", since_start(json, event->start_ns + event->duration_ns) - start_ns);
    add_args(text, reply, event);
    leat_json_close(text, '}');
}

/* A batch is ready for a span of its own; at its end it is handed out. */
static void add_batch(struct leat_cli_trace_json *json, const Leat__TraceEvent *event) {
    static const char *const phases[] = {"b", "e"};
    struct leat_text *text = &json->text;
    uint64_t start_ns = since_start(json, event->start_ns);
    uint64_t end_ns = since_start(json, event->start_ns + event->duration_ns);
    char name[80];

    (void)snprintf(name, sizeof(name), "%u.%" PRIu64 ".%" PRIu64, event->run, event->epoch,
                   event->place);
    for (int i = 0; i < 2; i++) {
        open_event(json, phases[i], TRACK_BATCHES, "batch", "ready");
        leat_json_add_text(text, "id", name);
        add_us(text, "ts", i == 0 ? start_ns : end_ns);
        leat_json_close(text, '}');
    }
    (void)snprintf(name, sizeof(name), "batch %" PRIu64 ".%" PRIu64, event->epoch, event->place);
    open_event(json, "i", TRACK_BATCHES, "batch", name);
    add_us(text, "ts", end_ns);
    leat_json_add_text(text, "s", "t");
    leat_json_open(text, "args", '{');
    leat_json_add_uint(text, "run", event->run);
    leat_json_add_uint(text, "epoch", event->epoch);
    leat_json_add_uint(text, "step", event->place);
    leat_json_add_uint(text, "rows", event->n_rows);
    leat_json_add_uint(text, "bytes", event->n_bytes);
    leat_json_add_uint(text, "made_by", event->thread);
    leat_json_close(text, '}');
    leat_json_close(text, '}');
    json->n_batches++;
}

static void add_counter(struct leat_cli_trace_json *json, const Leat__TraceEvent *event,
                        const char *name, uint64_t value) {
    char run[32];

    (void)snprintf(run, sizeof(run), "run %u", event->run);
    open_event(json, "C", 0, NULL, name);
    add_us(&json->text, "ts", since_start(json, event->start_ns));
    leat_json_open(&json->text, "args", '{');
    leat_json_add_uint(&json->text, run, value);
    leat_json_close(&json->text, '}');
    leat_json_close(&json->text, '}');
}

static void add_event(struct leat_cli_trace_json *json, const Leat__TraceReply *reply,
                      const Leat__TraceEvent *event) {
    switch (event->kind) {
    case LEAT_TRACE_JOB:
    case LEAT_TRACE_STAGE:
        add_span(json, reply, event, thread_track(json, event->thread));
        return;
    case LEAT_TRACE_LOOP:
        add_span(json, reply, event, TRACK_LOOP);
        return;
    case LEAT_TRACE_BATCH:
        add_batch(json, event);
        return;
    case LEAT_TRACE_COUNTS:
        add_counter(json, event, "blocks in flight", event->epoch);
        add_counter(json, event, "slots free", event->n_rows);
        add_counter(json, event, "memory used", event->n_bytes);
        return;
    default: /* an event of a later daemon */
        return;
    }
}

static void find_start(struct leat_cli_trace_json *json, const Leat__TraceReply *reply) {
    if (json->has_start || reply->n_events == 0)
        return;
    json->has_start = true;
    json->start_ns = UINT64_MAX;
    for (size_t i = 0; i < reply->n_events; i++)
        if (reply->events[i]->start_ns < json->start_ns)
            json->start_ns = reply->events[i]->start_ns;
}

void leat_cli_trace_json_add(struct leat_cli_trace_json *json, const Leat__TraceReply *reply) {
    find_start(json, reply);
    for (size_t i = 0; i < reply->n_events; i++)
        add_event(json, reply, reply->events[i]);
    json->n_events += reply->n_events;
    json->n_dropped = reply->n_dropped;
}

void leat_cli_trace_json_end(struct leat_cli_trace_json *json) {
    leat_json_close(&json->text, ']');
    leat_json_open(&json->text, "otherData", '{');
    leat_json_add_uint(&json->text, "events", json->n_events);
    leat_json_add_uint(&json->text, "batches", json->n_batches);
    leat_json_add_uint(&json->text, "dropped", json->n_dropped);
    leat_json_close(&json->text, '}');
    leat_json_close(&json->text, '}');
    leat_text_add(&json->text, "\n");
}
