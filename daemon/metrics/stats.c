/* stats.c: see stats.h. */
#include "daemon/metrics/stats.h"

#include "daemon/core/daemon.h"
#include "daemon/stream/feed.h"
#include "daemon/trainer/session.h"

/* Slots that the run was given are empty, or about to be filled: they are nobody's yet. */
static void add_slots(const struct leat_feed *feed, uint32_t *n_slots, uint32_t *n_free) {
    for (const struct leat_slot_ring *ring = feed->rings; ring; ring = ring->next) {
        *n_slots += ring->n_slots;
        *n_free += ring->n_in_state[LEAT_SLOT_FREE] + ring->n_in_state[LEAT_SLOT_GIVEN];
    }
}

void leat_stats_feed_slots(const struct leat_feed *feed, uint32_t *ret_n_slots,
                           uint32_t *ret_n_free) {
    *ret_n_slots = *ret_n_free = 0;
    add_slots(feed, ret_n_slots, ret_n_free);
}

static void add_feed(struct leat_stats *stats, const struct leat_feed *feed) {
    struct leat_run_stats run_stats;

    add_slots(feed, &stats->n_slots, &stats->n_slots_free);
    leat_pool_stats_add(stats->totals.pools, feed->account.pools);
    if (!feed->run)
        return;
    leat_run_get_stats(feed->run, &run_stats);
    leat_stream_totals_add(&stats->totals, &run_stats);
    stats->n_jobs += run_stats.n_jobs;
    stats->n_blocks += run_stats.n_blocks;
}

void leat_stats_stream(const struct leat_daemon *daemon, const struct leat_daemon_stream *stream,
                       struct leat_stats *ret_stats) {
    uint64_t now_ns = leat_daemon_now_ns();

    *ret_stats = (struct leat_stats){.n_slots = 0};
    leat_stream_totals_copy(&ret_stats->totals, &stream->totals);
    for (const struct leat_feed *feed = daemon->feeds; feed; feed = feed->next)
        if (feed->stream == stream)
            add_feed(ret_stats, feed);
    for (const struct leat_session *session = daemon->sessions; session; session = session->next) {
        if (session->stream != stream)
            continue;
        leat_pool_stats_add(ret_stats->totals.pools, session->copies.pools);
        if (session->wait_start_ns)
            ret_stats->totals.wait_ns += now_ns - session->wait_start_ns;
        if (session->serve_ns)
            ret_stats->totals.trainer_ns += now_ns - session->serve_ns;
    }
}

void leat_stats_deinit(struct leat_stats *stats) {
    leat_stream_totals_deinit(&stats->totals);
}

void leat_stats_slots(const struct leat_daemon *daemon, uint32_t *ret_n_slots,
                      uint32_t *ret_n_free) {
    *ret_n_slots = *ret_n_free = 0;
    for (const struct leat_feed *feed = daemon->feeds; feed; feed = feed->next)
        add_slots(feed, ret_n_slots, ret_n_free);
}
