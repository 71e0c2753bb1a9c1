/* series.h: the figures of streams by name, as counters that never go back.
 *
 * The daemon has a stream for each name in its settings, and one for each that a trainer described;
 * of the latter several may have the same name, and the oldest ones are forgotten some time after
 * they have ended. What is shown is summed up by name, and what such a sum loses when a stream is
 * forgotten it keeps here. There is room for LEAT_READING_MAX_STREAMS names: a new one takes the
 * place of a trainer's stream that has ended; without one, it is not told. Owner: loop.
 */
#pragma once

#include "daemon/reading.h"

struct leat_daemon;
struct leat_one_series;

struct leat_series {
    size_t n_items;
    struct leat_one_series *items[LEAT_READING_MAX_STREAMS];
    uint64_t n_evicted;
};

void leat_series_deinit(struct leat_series *series);
/* All figures as they are now, but for descriptors, which cost time to count; NULL: memory is out.
 */
struct leat_reading *leat_series_read(struct leat_series *series, struct leat_daemon *daemon);
