/* json.c: see json.h. What a reply says is checked here: names and files by their
 * number, threads by their limit. */
#include "client/cli/trace/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/run/profile/trace.h"

enum { TRACK_LOOP = 1, TRACK_BATCHES = 2, TRACK_THREADS = 10 };

/* To the nanosecond, which must be exact as a double too. */
static void add_us(struct leat_text *text, const char *name, uint64_t ns) {
    leat_text_add(text, ", \"%s\": %" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

static void add_text(struct leat_text *text, const char *value) {
    leat_text_add_json(text, value, strlen(value));
}

/* From the start. */
static uint64_t since(const struct leat_cli_trace_json *json, uint64_t ns) {
    return ns > json->start_ns ? ns - json->start_ns : 0;
}

/* {"ph": .., "pid": 1, "tid": .. and no closing brace. */
static void begin(struct leat_cli_trace_json *json, const char *phase, uint32_t track) {
    leat_text_add(&json->text, "%s{\"ph\": \"%s\", \"pid\": 1, \"tid\": %u",
                  json->has_events ? ",\n" : "\n", phase, track);
    json->has_events = true;
}

static void name_track(struct leat_cli_trace_json *json, uint32_t track, const char *name) {
    begin(json, "M", track);
    leat_text_add(&json->text, ", \"name\": \"thread_name\", \"args\": {\"name\": ");
    add_text(&json->text, name);
    leat_text_add(&json->text, "}}");
    begin(json, "M", track);
    leat_text_add(&json->text, ", \"name\": \"thread_sort_index\", \"args\": {\"sort_index\": %u}}",
                  track);
}

void leat_cli_trace_json_begin(struct leat_cli_trace_json *json, const char *stream) {
    *json = (struct leat_cli_trace_json){.n_events = 0};
    leat_text_add(&json->text, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
    begin(json, "M", 0);
    leat_text_add(&json->text, ", \"name\": \"process_name\", \"args\": {\"name\": ");
    add_text(&json->text, stream);
    leat_text_add(&json->text, "}}");
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
    leat_text_add(text, ", \"args\": {\"run\": %u", event->run);
    if (event->n_rows > 0)
        leat_text_add(text, ", \"rows\": %u", event->n_rows);
    if (event->n_bytes > 0)
        leat_text_add(text, ", \"bytes\": %" PRIu64, event->n_bytes);
    if (event->file > 0 && event->file <= reply->n_files) {
        leat_text_add(text, ", \"block\": %" PRIu64 ", \"file\": ", event->place);
        add_text(text, reply->files[event->file - 1]);
    }
    leat_text_add(text, "}}");
}

static void add_span(struct leat_cli_trace_json *json, const Leat__TraceReply *reply,
                     const Leat__TraceEvent *event, uint32_t track) {
    uint64_t start_ns = since(json, event->start_ns);
    struct leat_text *text = &json->text;

    begin(json, "X", track);
    leat_text_add(
        text, ", \"cat\": \"%s\", \"name\": ", event->kind == LEAT_TRACE_STAGE ? "stage" : "job");
    add_text(text, name_of(reply, event));
    add_us(text, "ts", start_ns);
    add_us(text, "dur", since(json, event->start_ns + event->duration_ns) - start_ns);
    add_args(text, reply, event);
}

/* From when it was made it waits, in a span of its own; then it is handed out. */
static void add_batch(struct leat_cli_trace_json *json, const Leat__TraceEvent *event) {
    static const char *const phases[] = {"b", "e"};
    struct leat_text *text = &json->text;
    uint64_t start_ns = since(json, event->start_ns);
    uint64_t end_ns = since(json, event->start_ns + event->duration_ns);

    for (int i = 0; i < 2; i++) {
        begin(json, phases[i], TRACK_BATCHES);
        leat_text_add(text,
                      ", \"cat\": \"batch\", \"name\": \"ready\", \"id\": \"%u.%" PRIu64 ".%" PRIu64
                      "\"",
                      event->run, event->epoch, event->place);
        add_us(text, "ts", i == 0 ? start_ns : end_ns);
        leat_text_add(text, "}");
    }
    begin(json, "i", TRACK_BATCHES);
    leat_text_add(text,
                  ", \"s\": \"t\", \"cat\": \"batch\", \"name\": \"batch %" PRIu64 ".%" PRIu64 "\"",
                  event->epoch, event->place);
    add_us(text, "ts", end_ns);
    leat_text_add(text,
                  ", \"args\": {\"run\": %u, \"epoch\": %" PRIu64 ", \"step\": %" PRIu64
                  ", \"rows\": %u, \"bytes\": %" PRIu64 ", \"made_by\": %u}}",
                  event->run, event->epoch, event->place, event->n_rows, event->n_bytes,
                  event->thread);
    json->n_batches++;
}

static void add_counter(struct leat_cli_trace_json *json, const Leat__TraceEvent *event,
                        const char *name, uint64_t value) {
    begin(json, "C", 0);
    leat_text_add(&json->text, ", \"name\": \"%s\"", name);
    add_us(&json->text, "ts", since(json, event->start_ns));
    leat_text_add(&json->text, ", \"args\": {\"run %u\": %" PRIu64 "}}", event->run, value);
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
    default: /* of a later daemon */
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
    leat_text_add(&json->text,
                  "\n], \"otherData\": {\"events\": %" PRIu64 ", \"batches\": %" PRIu64
                  ", \"dropped\": %" PRIu64 "}}\n",
                  json->n_events, json->n_batches, json->n_dropped);
}
