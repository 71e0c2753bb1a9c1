/* reading.c: see reading.h. */
#include "daemon/metrics/reading.h"

#include <stdlib.h>
#include <string.h>

#define OFFSET_DAEMON(member) offsetof(struct leat_daemon_figures, member)
#define OFFSET_STREAM(member) offsetof(struct leat_stream_figures, member)
#define OFFSET_STAGE(member)  offsetof(struct leat_stage_figures, member)

const struct leat_meter leat_meters[] = {
#define LEAT_FAILURES_HELP                                                                         \
    "Runs and openings of the stream that failed. The label reason says what was wrong: spec, "    \
    "data, file, changed, memory, program or other."
#define LEAT_METER_BY(scope, kind, unit, member, name, help, label)                                \
    {LEAT_METER_##scope,                                                                           \
     LEAT_METER_##kind,                                                                            \
     LEAT_METER_##unit,                                                                            \
     OFFSET_##scope(member),                                                                       \
     #member,                                                                                      \
     name,                                                                                         \
     help,                                                                                         \
     label},
#define LEAT_METER(scope, kind, unit, member, name, help)                                          \
    LEAT_METER_BY(scope, kind, unit, member, name, help, NULL)
#include "daemon/metrics/meters.def"
#undef LEAT_METER
#undef LEAT_METER_BY
#undef LEAT_FAILURES_HELP
    {.name = NULL},
};

const struct leat_spread_meter leat_spread_meters[LEAT_N_SPREADS] = {
    [LEAT_SPREAD_WAIT] = {LEAT_METER_NS, &leat_spread_waits, "leat_stream_batch_wait",
                          "How long a trainer waited for a batch, each time that it did."},
    [LEAT_SPREAD_BATCH_BYTES] = {LEAT_METER_BYTES, &leat_spread_bytes, "leat_stream_batch",
                                 "Bytes of a batch."},
    [LEAT_SPREAD_BATCH_ROWS] = {LEAT_METER_NONE, &leat_spread_rows, "leat_stream_batch_rows",
                                "Rows of a batch."},
};

const char *leat_stream_owner_name(enum leat_stream_owner owner) {
    static const char *const names[] = {[LEAT_OWNER_SETTINGS] = "settings",
                                        [LEAT_OWNER_TRAINER] = "trainer",
                                        [LEAT_OWNER_OTHER] = LEAT_READING_OTHER};

    return names[owner];
}

struct leat_reading *leat_reading_new(size_t n_streams) {
    struct leat_reading *reading =
        calloc(1, sizeof(*reading) + n_streams * sizeof(reading->streams[0]));

    if (reading)
        reading->n_streams = n_streams;
    return reading;
}

struct leat_reading *leat_reading_copy(const struct leat_reading *reading) {
    struct leat_reading *copy = leat_reading_new(reading->n_streams);

    if (copy)
        memcpy(copy, reading, sizeof(*reading) + reading->n_streams * sizeof(reading->streams[0]));
    return copy;
}

const struct leat_stream_reading *leat_reading_find(const struct leat_reading *reading,
                                                    const struct leat_stream_reading *stream) {
    for (size_t i = 0; i < reading->n_streams; i++)
        if (reading->streams[i].owner == stream->owner &&
            strcmp(reading->streams[i].name, stream->name) == 0)
            return &reading->streams[i];
    return NULL;
}

const struct leat_stage_reading *leat_stream_reading_find(const struct leat_stream_reading *stream,
                                                          const char *name) {
    for (size_t i = 0; i < stream->n_stages; i++)
        if (strcmp(stream->stages[i].name, name) == 0)
            return &stream->stages[i];
    return NULL;
}
