/* series.h: the figures of streams by name, as counters that never go back.
 *
 * The daemon has a stream for each name in its settings, and one for each that a trainer described.
 * Several of the latter may share a name, and the oldest ones are forgotten some time after they
 * ended. Figures are sums by name; what a sum loses when a stream is forgotten is kept here.
 * There is room for LEAT_READING_MAX_STREAMS names. A new one takes the place of a trainer's stream
 * that has ended; without one, its figures are added to those of all others. Owner: loop.
 */
#pragma once

#include "daemon/metrics/reading.h"

struct leat_sessions;
struct leat_one_series;

struct leat_series {
    struct leat_one_series *first;     /* one for each name that the daemon knows or reports */
    size_t n_told;                     /* those with a place of their own */
    struct leat_stream_reading *other; /* the sum of all others; NULL: there were none yet */
};

void leat_series_deinit(struct leat_series *series);
/* All figures as they are now, but for descriptors, which cost time to count; NULL: memory is out.
 */
struct leat_reading *leat_series_read(struct leat_series *series,
                                      const struct leat_sessions *sessions);
