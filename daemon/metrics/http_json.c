/* http_json.c: see http_json.h. */
#include "daemon/metrics/http_json.h"

#include <inttypes.h>
#include <string.h>

static void add_figures(struct leat_text *text, enum leat_meter_scope scope, const void *figures) {
    const char *comma = "";

    leat_text_add(text, "\"figures\":{");
    for (const struct leat_meter *meter = leat_meters; meter->name; meter++) {
        if (meter->scope != scope)
            continue;
        leat_text_add(text, "%s\"%s\":%" PRIu64, comma, meter->member,
                      leat_meter_value(meter, figures));
        comma = ",";
    }
    leat_text_add(text, "}");
}

static void add_name(struct leat_text *text, const char *name) {
    leat_text_add(text, "{\"name\":");
    leat_text_add_json(text, name, strlen(name));
}

static void add_reading(struct leat_text *text, const struct leat_reading *reading) {
    add_figures(text, LEAT_METER_DAEMON, &reading->figures);
    leat_text_add(text, ",\"streams\":[");
    for (size_t i = 0; i < reading->n_streams; i++) {
        const struct leat_stream_reading *stream = &reading->streams[i];

        leat_text_add(text, i ? "," : "");
        add_name(text, stream->name);
        leat_text_add(text, ",\"is_own\":%s,\"is_other\":%s,",
                      stream->owner == LEAT_OWNER_TRAINER ? "true" : "false",
                      stream->owner == LEAT_OWNER_OTHER ? "true" : "false");
        leat_text_add(text, "\"verdict\":");
        leat_text_add_json(text, stream->verdict, strlen(stream->verdict));
        leat_text_add(text, ",");
        add_figures(text, LEAT_METER_STREAM, &stream->figures);
        leat_text_add(text, ",\"failure\":");
        leat_failure_json(&stream->failure, text);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "],");
}

static void add_stream(struct leat_text *text, const Leat__StreamSample *stream) {
    add_name(text, stream->name);
    leat_text_add(text,
                  ",\"own\":%s,\"other\":%s,\"batches\":%" PRIu64 ",\"rows\":%" PRIu64
                  ",\"tokens\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"bad\":%" PRIu64
                  ",\"wait\":%" PRIu64 ",\"no_slot\":%" PRIu64
                  ",\"sessions\":%u,\"slots\":%u,\"free\":%u,\"jobs\":%u,"
                  "\"blocks\":%u,\"stages\":[",
                  stream->is_own ? "true" : "false", stream->is_other ? "true" : "false",
                  stream->n_batches, stream->n_rows, stream->n_elements, stream->n_source_bytes,
                  stream->n_bad_records, stream->wait_ns, stream->no_slot_ns, stream->n_sessions,
                  stream->n_slots, stream->n_slots_free, stream->n_jobs, stream->n_blocks);
    for (size_t i = 0; i < stream->n_stages; i++) {
        const Leat__StageSample *stage = stream->stages[i];

        leat_text_add(text, i ? ",[" : "[");
        leat_text_add_json(text, stage->name, strlen(stage->name));
        leat_text_add(text, ",\"%s\",%" PRIu64 ",%" PRIu64 "]", stage->role, stage->busy_ns,
                      stage->n_records);
    }
    leat_text_add(text, "]}");
}

static void add_sample(struct leat_text *text, const struct leat_history_sample *packed) {
    Leat__Sample *sample = leat__sample__unpack(NULL, packed->n_bytes, packed->bytes);

    if (!sample) {
        text->failed = 1;
        return;
    }
    leat_text_add(text,
                  "{\"at\":\"%" PRIu64 "\",\"t\":%" PRIu64 ",\"d\":%" PRIu64 ",\"rss\":%" PRIu64
                  ",\"ring\":%" PRIu64 ",\"mem\":%" PRIu64 ",\"cpu\":%" PRIu64 ",\"loop\":%" PRIu64
                  ",\"work\":%" PRIu64 ",\"workers\":%u,\"sessions\":%u,\"streams\":[",
                  sample->at_ns, sample->unix_ns / 1000000, sample->duration_ns, sample->rss_bytes,
                  sample->ring_bytes, sample->memory_used_bytes, sample->cpu_ns,
                  sample->loop_busy_ns, sample->worker_busy_ns, sample->n_workers,
                  sample->n_sessions);
    for (size_t i = 0; i < sample->n_streams; i++) {
        leat_text_add(text, i ? "," : "");
        add_stream(text, sample->streams[i]);
    }
    leat_text_add(text, "]}");
    leat__sample__free_unpacked(sample, NULL);
}

void leat_http_json(struct leat_text *text, const struct leat_history *history,
                    const struct leat_reading *reading, enum leat_history_tier tier,
                    uint64_t after_ns, uint64_t now_ns, bool is_stale) {
    size_t i = leat_history_skip(history, tier, after_ns), n_head;
    const struct leat_history_sample *sample;

    leat_text_add(text, "{\"version\":\"%s\",\"is_stale\":%s,", LEAT_VERSION,
                  is_stale ? "true" : "false");
    if (reading) {
        uint64_t age_ns = now_ns > reading->at_ns ? now_ns - reading->at_ns : 0;

        leat_text_add(text, "\"now_ms\":%" PRIu64 ",", (reading->unix_ns + age_ns) / 1000000);
        add_reading(text, reading);
    }
    leat_text_add(text, "\"samples\":[");
    n_head = text->n_bytes;
    for (const char *comma = ""; text->n_bytes - n_head < LEAT_HTTP_JSON_MAX &&
                                 (sample = leat_history_get(history, tier, i));
         i++) {
        leat_text_add(text, "%s", comma);
        add_sample(text, sample);
        comma = ",\n";
    }
    leat_text_add(text, "],\"has_more\":%s}\n",
                  leat_history_get(history, tier, i) ? "true" : "false");
}
