/* stats.h: the counters of a stream: of its runs that have ended and of those that go on. Owner:
 * loop. */
#pragma once

#include "daemon/stream/stream.h"

struct leat_daemon;
struct leat_feed;

struct leat_stats {
    struct leat_stream_totals totals;
    uint32_t n_slots, n_slots_free, n_jobs, n_blocks;
};

/* To be given to leat_stats_deinit(). */
void leat_stats_stream(const struct leat_daemon *daemon, const struct leat_daemon_stream *stream,
                       struct leat_stats *ret_stats);
void leat_stats_deinit(struct leat_stats *stats);
/* Slots of all rings there are. */
void leat_stats_slots(const struct leat_daemon *daemon, uint32_t *ret_n_slots,
                      uint32_t *ret_n_free);
/* The same of one run. */
void leat_stats_feed_slots(const struct leat_feed *feed, uint32_t *ret_n_slots,
                           uint32_t *ret_n_free);
