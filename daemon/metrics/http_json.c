#include "daemon/metrics/http_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "proto/base/json_writer.h"

static void add_figures(struct leat_text *json, const struct leat_figure *table,
                        const void *figures) {
    leat_json_open(json, "figures", '{');
    for (const struct leat_figure *figure = table; figure->member; figure++)
        leat_json_add_uint(json, figure->member, leat_figure_get(figure, figures));
    leat_json_close(json, '}');
}

/* The columns that the page shows for each stream. */
static void add_columns(struct leat_text *json) {
    static const char *const units[] = {
        [LEAT_FIGURE_NONE] = "", [LEAT_FIGURE_NS] = "ns", [LEAT_FIGURE_BYTES] = "bytes"};

    leat_json_open(json, "columns", '[');
    for (const struct leat_figure *figure = leat_stream_figure_table; figure->member; figure++) {
        if (!(figure->places & LEAT_FIGURE_PAGE))
            continue;
        leat_json_open(json, NULL, '[');
        leat_json_add_text(json, NULL, figure->member);
        leat_json_add_text(json, NULL, figure->label);
        leat_json_add_text(json, NULL, units[figure->unit]);
        leat_json_close(json, ']');
    }
    leat_json_close(json, ']');
}

static void add_reading(struct leat_text *json, const struct leat_reading *reading) {
    add_figures(json, leat_daemon_figure_table, &reading->figures);
    add_columns(json);
    leat_json_open(json, "streams", '[');
    for (size_t i = 0; i < reading->n_streams; i++) {
        const struct leat_stream_reading *stream = &reading->streams[i];

        leat_json_open(json, NULL, '{');
        leat_json_add_text(json, "name", stream->name);
        leat_json_add_bool(json, "is_own", stream->owner == LEAT_OWNER_TRAINER);
        leat_json_add_bool(json, "is_other", stream->owner == LEAT_OWNER_OTHER);
        leat_json_add_text(json, "verdict", stream->verdict);
        add_figures(json, leat_stream_figure_table, &stream->counts.figures);
        leat_failure_json(json, "failure", &stream->failure);
        leat_json_close(json, '}');
    }
    leat_json_close(json, ']');
}

static void add_stream(struct leat_text *json, const Leat__StreamSample *stream) {
    struct leat_stream_figures figures;

    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", stream->name);
    leat_json_add_bool(json, "own", stream->is_own);
    leat_json_add_bool(json, "other", stream->is_other);
    leat_figures_of_message(leat_stream_figure_table, &stream->base, &figures);
    for (const struct leat_figure *figure = leat_stream_figure_table; figure->member; figure++)
        if (figure->key)
            leat_json_add_uint(json, figure->key, leat_figure_get(figure, &figures));
    leat_json_open(json, "stages", '[');
    for (size_t i = 0; i < stream->n_stages; i++) {
        const Leat__StageSample *stage = stream->stages[i];

        leat_json_open(json, NULL, '[');
        leat_json_add_text(json, NULL, stage->name);
        leat_json_add_text(json, NULL, stage->role);
        leat_json_add_uint(json, NULL, stage->busy_ns);
        leat_json_add_uint(json, NULL, stage->n_records);
        leat_json_close(json, ']');
    }
    leat_json_close(json, ']');
    leat_json_close(json, '}');
}

static void add_sample(struct leat_text *json, const struct leat_history_sample *packed) {
    Leat__Sample *sample = leat__sample__unpack(NULL, packed->n_bytes, packed->bytes);
    char at[24];

    if (!sample) {
        json->failed = 1;
        return;
    }
    (void)snprintf(at, sizeof(at), "%" PRIu64, sample->at_ns);
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "at", at);
    leat_json_add_uint(json, "t", sample->unix_ns / 1000000);
    leat_json_add_uint(json, "d", sample->duration_ns);
    leat_json_add_uint(json, "rss", sample->rss_bytes);
    leat_json_add_uint(json, "ring", sample->ring_bytes);
    leat_json_add_uint(json, "mem", sample->memory_used_bytes);
    leat_json_add_uint(json, "cpu", sample->cpu_ns);
    leat_json_add_uint(json, "loop", sample->loop_busy_ns);
    leat_json_add_uint(json, "work", sample->worker_busy_ns);
    leat_json_add_uint(json, "workers", sample->n_workers);
    leat_json_add_uint(json, "sessions", sample->n_sessions);
    leat_json_open(json, "streams", '[');
    for (size_t i = 0; i < sample->n_streams; i++)
        add_stream(json, sample->streams[i]);
    leat_json_close(json, ']');
    leat_json_close(json, '}');
    leat__sample__free_unpacked(sample, NULL);
}

void leat_http_json(struct leat_text *json, const struct leat_history *history,
                    const struct leat_reading *reading, enum leat_history_tier tier,
                    uint64_t after_ns, uint64_t now_ns, bool is_stale) {
    size_t i = leat_history_skip(history, tier, after_ns), n_head;
    const struct leat_history_sample *sample;

    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "version", LEAT_VERSION);
    leat_json_add_bool(json, "is_stale", is_stale);
    if (reading) {
        uint64_t age_ns = now_ns > reading->at_ns ? now_ns - reading->at_ns : 0;

        leat_json_add_uint(json, "now_ms", (reading->unix_ns + age_ns) / 1000000);
        add_reading(json, reading);
    }
    leat_json_open(json, "samples", '[');
    n_head = json->n_bytes;
    while (json->n_bytes - n_head < LEAT_HTTP_JSON_MAX &&
           (sample = leat_history_get(history, tier, i++)))
        add_sample(json, sample);
    leat_json_close(json, ']');
    leat_json_add_bool(json, "has_more", leat_history_get(history, tier, i) != NULL);
    leat_json_close(json, '}');
    leat_text_add_bytes(json, "\n", 1);
}
