#include "daemon/metrics/reading.h"

#include <stdlib.h>
#include <string.h>

const struct leat_figure leat_daemon_figure_table[] = {
#define LEAT_DAEMON_FIGURE(figure, kind_, unit_, metric_, help_)                                   \
    {.member = #figure,                                                                            \
     .kind = LEAT_FIGURE_##kind_,                                                                  \
     .unit = LEAT_FIGURE_##unit_,                                                                  \
     .metric = metric_,                                                                            \
     .help = help_,                                                                                \
     .offset = offsetof(struct leat_daemon_figures, figure)},
#include "daemon/metrics/daemon_figures.def"
#undef LEAT_DAEMON_FIGURE
    {.member = NULL},
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
