/* reading.h: all figures of the daemon at one moment, as they are shown to the world.
 *
 * Taken on the loop (series.h), plain data from then on: whoever has it may read it on any thread.
 * What there is to count stands in meters.def, once. Counters never go back; those of streams with
 * the same name, which trainers described, are told together. There is room for the figures of a
 * bounded number of streams and stages; what is beyond is summed up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/stream/failure.h"
#include "pipeline/run/run.h"

#define LEAT_READING_MAX_STREAMS 24 /* that are told by their names; the others as one: */
#define LEAT_READING_OTHER       "other"
#define LEAT_READING_MAX_STAGES  20  /* of a stream; the last has what there is besides */
#define LEAT_READING_VERDICT     512 /* of the line that says what bounds a stream */
#define LEAT_READING_STAGE_NAME  (LEAT_NAME_MAX + 8)

enum leat_reading_spread {
    LEAT_SPREAD_WAIT,
    LEAT_SPREAD_BATCH_BYTES,
    LEAT_SPREAD_BATCH_ROWS,
    LEAT_N_SPREADS,
};

enum leat_stream_owner {
    LEAT_OWNER_SETTINGS,
    LEAT_OWNER_TRAINER, /* who described it */
    LEAT_OWNER_OTHER,   /* all streams for which there is no room, together */
};
const char *leat_stream_owner_name(enum leat_stream_owner owner);

#define LEAT_METER(scope, kind, unit, member, name, help)           LEAT_METER_IN_##scope(member)
#define LEAT_METER_BY(scope, kind, unit, member, name, help, label) LEAT_METER_IN_##scope(member)

struct leat_stage_reading {
    char name[LEAT_READING_STAGE_NAME + 1]; /* "pad"; the second of that name is "pad[2]" */
    enum leat_role role;
    struct leat_stage_figures {
#define LEAT_METER_IN_DAEMON(member)
#define LEAT_METER_IN_STREAM(member)
#define LEAT_METER_IN_STAGE(member) uint64_t member;
#include "daemon/metrics/meters.def"
#undef LEAT_METER_IN_DAEMON
#undef LEAT_METER_IN_STREAM
#undef LEAT_METER_IN_STAGE
    } figures;
};

struct leat_stream_reading {
    char name[LEAT_NAME_MAX + 1];
    enum leat_stream_owner owner;
    char verdict[LEAT_READING_VERDICT + 1]; /* what bounds it, see verdict_text.h; "": nothing */
    struct leat_stream_figures {
#define LEAT_METER_IN_DAEMON(member)
#define LEAT_METER_IN_STREAM(member) uint64_t member;
#define LEAT_METER_IN_STAGE(member)
#include "daemon/metrics/meters.def"
#undef LEAT_METER_IN_DAEMON
#undef LEAT_METER_IN_STREAM
#undef LEAT_METER_IN_STAGE
    } figures;
    struct leat_failure failure; /* the last one */
    struct leat_spread spreads[LEAT_N_SPREADS];
    size_t n_stages;
    struct leat_stage_reading stages[LEAT_READING_MAX_STAGES];
};

struct leat_reading {
    uint64_t at_ns, unix_ns; /* the same moment by the monotonic clock and by that on the wall */
    struct leat_daemon_figures {
#define LEAT_METER_IN_DAEMON(member) uint64_t member;
#define LEAT_METER_IN_STREAM(member)
#define LEAT_METER_IN_STAGE(member)
#include "daemon/metrics/meters.def"
#undef LEAT_METER_IN_DAEMON
#undef LEAT_METER_IN_STREAM
#undef LEAT_METER_IN_STAGE
    } figures;
    size_t n_streams;
    struct leat_stream_reading streams[];
};

#undef LEAT_METER
#undef LEAT_METER_BY

enum leat_meter_scope { LEAT_METER_DAEMON, LEAT_METER_STREAM, LEAT_METER_STAGE };
enum leat_meter_kind { LEAT_METER_COUNTER, LEAT_METER_GAUGE };
enum leat_meter_unit { LEAT_METER_NONE, LEAT_METER_NS, LEAT_METER_BYTES };

struct leat_meter {
    enum leat_meter_scope scope;
    enum leat_meter_kind kind;
    enum leat_meter_unit unit;
    size_t offset; /* in the figures of its scope */
    const char *member, *name, *help;
    const char *label; /* that tells it from others of its name; NULL: it is the only one */
};

extern const struct leat_meter leat_meters[]; /* ends with a NULL name */

/* Of streams; told as histograms. */
struct leat_spread_meter {
    enum leat_meter_unit unit;
    const struct leat_spread_bounds *bounds; /* in nanoseconds, bytes or numbers */
    const char *name, *help;
};
extern const struct leat_spread_meter leat_spread_meters[LEAT_N_SPREADS];

static inline uint64_t leat_meter_value(const struct leat_meter *meter, const void *figures) {
    return *(const uint64_t *)(const void *)((const char *)figures + meter->offset);
}
static inline uint64_t *leat_meter_at(const struct leat_meter *meter, void *figures) {
    return (uint64_t *)(void *)((char *)figures + meter->offset);
}

/* One with room for so many streams, all zero; or NULL. To be freed with free(). */
struct leat_reading *leat_reading_new(size_t n_streams);
struct leat_reading *leat_reading_copy(const struct leat_reading *reading);
/* The same stream in it, or NULL. */
const struct leat_stream_reading *leat_reading_find(const struct leat_reading *reading,
                                                    const struct leat_stream_reading *stream);
/* The stage of that name, or NULL. */
const struct leat_stage_reading *leat_stream_reading_find(const struct leat_stream_reading *stream,
                                                          const char *name);
