/* reading.h: all figures of the daemon and its streams at one moment.
 *
 * The loop takes it (series.h); it is plain data from then on, to be read on any thread.
 * figures.def and daemon_figures.def list the figures. Counters never go back; those of
 * streams with the same name, which trainers described, are summed up. The number of streams and
 * stages is bounded; the figures of further ones are summed up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/stream/failure.h"
#include "pipeline/run/pipeline.h"

#define LEAT_READING_MAX_STREAMS 24 /* with places of their own; all others share one: */
#define LEAT_READING_OTHER       "other"
#define LEAT_READING_MAX_STAGES  20  /* of a stream; the last is the sum of further ones */
#define LEAT_READING_VERDICT     512 /* bytes of the line that says what bounds a stream */
#define LEAT_READING_STAGE_NAME  (LEAT_NAME_MAX + 8)

enum leat_stream_owner {
    LEAT_OWNER_SETTINGS,
    LEAT_OWNER_TRAINER, /* which described it */
    LEAT_OWNER_OTHER,   /* the sum of all streams without a place */
};
const char *leat_stream_owner_name(enum leat_stream_owner owner);

struct leat_daemon_figures {
#define LEAT_DAEMON_FIGURE(member, ...) uint64_t member;
#include "daemon/metrics/daemon_figures.def"
#undef LEAT_DAEMON_FIGURE
};
extern const struct leat_figure leat_daemon_figure_table[];

struct leat_stage_reading {
    char name[LEAT_READING_STAGE_NAME + 1]; /* "pad"; the second of that name is "pad[2]" */
    enum leat_role role;
    struct leat_stage_figures figures;
};

struct leat_stream_reading {
    char name[LEAT_NAME_MAX + 1];
    enum leat_stream_owner owner;
    char verdict[LEAT_READING_VERDICT + 1]; /* what bounds it, see verdict_text.h; "": nothing */
    struct leat_stream_counts counts;
    struct leat_failure failure; /* the last one */
    size_t n_stages;
    struct leat_stage_reading stages[LEAT_READING_MAX_STAGES];
};

struct leat_reading {
    uint64_t at_ns, unix_ns; /* the same moment on the monotonic clock and on the wall clock */
    struct leat_daemon_figures figures;
    size_t n_streams;
    struct leat_stream_reading streams[];
};

/* All zero, with room for so many streams; NULL: memory is out. To be freed with free(). */
struct leat_reading *leat_reading_new(size_t n_streams);
struct leat_reading *leat_reading_copy(const struct leat_reading *reading);
/* The stream of the same name and owner, or NULL. */
const struct leat_stream_reading *leat_reading_find(const struct leat_reading *reading,
                                                    const struct leat_stream_reading *stream);
/* The stage of that name, or NULL. */
const struct leat_stage_reading *leat_stream_reading_find(const struct leat_stream_reading *stream,
                                                          const char *name);
