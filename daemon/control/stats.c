/* control/stats.c: the verb stats: the figures of streams, and what takes their time. */
#include <errno.h>
#include <string.h>

#include "daemon/control/control.h"
#include "daemon/control/describe.h"
#include "daemon/control/tuner.h"
#include "daemon/metrics/counts.h"
#include "daemon/stream/feed.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"

#define STREAMS_TOLD_ALL 16

static int describe_stage(const struct leat_stream_stage *stage, Leat__StageStats *message,
                          struct leat_arena *arena) {
    char *name = leat_arena_alloc(arena, sizeof(stage->name));

    if (!name)
        return -ENOMEM;
    memcpy(name, stage->name, sizeof(stage->name));
    message->name = name;
    message->role = (char *)(uintptr_t)leat_role_name(stage->role);
    leat_figures_to_message(leat_stage_figure_table, &stage->figures, &message->base, NULL);
    message->min_ns = stage->times.min;
    message->max_ns = stage->times.max;
    message->p50_ns = leat_histogram_quantile(&stage->times, 0.5);
    message->p99_ns = leat_histogram_quantile(&stage->times, 0.99);
    return 0;
}

static int describe_stages(const struct leat_stream_totals *totals, Leat__StreamStats *message,
                           struct leat_arena *arena) {
    message->stages =
        leat_control_messages(arena, &leat__stage_stats__descriptor, totals->n_stages);
    if (!message->stages)
        return -ENOMEM;
    for (; message->n_stages < totals->n_stages; message->n_stages++)
        if (describe_stage(&totals->stages[message->n_stages], message->stages[message->n_stages],
                           arena) < 0)
            return -ENOMEM;
    return 0;
}

static int describe_pools(const struct leat_stream_totals *totals, Leat__StreamStats *message,
                          struct leat_arena *arena) {
    message->pools = leat_control_messages(arena, &leat__pool_stats__descriptor, LEAT_N_MEMORIES);
    if (!message->pools)
        return -ENOMEM;
    for (int i = 0; i < LEAT_N_MEMORIES; i++) {
        const struct leat_pool_stats *stats = &totals->pools[i];
        Leat__PoolStats *pool = message->pools[message->n_pools];

        if (stats->n_allocations == 0 && stats->peak_bytes == 0)
            continue;
        pool->name = (char *)(uintptr_t)leat_memory_name((enum leat_memory)i);
        pool->n_allocations = stats->n_allocations;
        pool->n_hits = stats->n_hits;
        pool->n_misses = stats->n_misses;
        pool->current_bytes = stats->current_bytes;
        pool->peak_bytes = stats->peak_bytes;
        message->n_pools++;
    }
    return 0;
}

/* Adds stages and memory, which are not figures, of ended runs and of those that go on. */
static void read_totals(const struct leat_sessions *sessions,
                        const struct leat_daemon_stream *stream,
                        struct leat_stream_totals *ret_totals) {
    struct leat_run_stats stats;

    leat_stream_totals_copy(ret_totals, &stream->totals);
    for (const struct leat_feed *feed = sessions->feeds->first; feed; feed = feed->next) {
        if (feed->stream != stream)
            continue;
        leat_pool_stats_add(ret_totals->pools, feed->account.pools);
        if (!feed->run)
            continue;
        leat_run_get_stats(feed->run, &stats);
        leat_stream_totals_add(ret_totals, &stats);
    }
    for (const struct leat_session *session = sessions->first; session; session = session->next)
        if (session->stream == stream)
            leat_pool_stats_add(ret_totals->pools, session->copies.pools);
}

static int describe_totals(const struct leat_sessions *sessions,
                           const struct leat_daemon_stream *stream, Leat__StreamStats *message,
                           struct leat_arena *arena) {
    struct leat_stream_totals totals;
    size_t n_error;
    int r;

    read_totals(sessions, stream, &totals);
    n_error = strlen(totals.last_error) + 1;
    message->last_error = leat_arena_alloc(arena, n_error);
    if (message->last_error)
        memcpy(message->last_error, totals.last_error, n_error);
    r = message->last_error ? describe_pools(&totals, message, arena) : -ENOMEM;
    if (r == 0)
        r = describe_stages(&totals, message, arena);
    leat_stream_totals_deinit(&totals);
    return r;
}

static int describe_counts(const struct leat_sessions *sessions,
                           const struct leat_daemon_stream *stream, Leat__StreamStats *message,
                           struct leat_arena *arena) {
    struct leat_figure_list *list = leat_arena_alloc(arena, sizeof(*list));
    struct leat_stream_counts counts;

    if (!list)
        return -ENOMEM;
    list->n = 0;
    leat_stream_read_counts(sessions, stream, &counts);
    leat_figures_to_message(leat_stream_figure_table, &counts.figures, &message->base, list);
    return 0;
}

/* A reply has its bounds: of many streams only the latest decisions are told. */
static size_t n_decisions_told(const struct leat_sessions *sessions, bool is_named) {
    return is_named || leat_streams_count(&sessions->feeds->streams) <= STREAMS_TOLD_ALL
               ? LEAT_TUNER_HISTORY
               : 1;
}

static int describe_stats(const struct leat_sessions *sessions,
                          const struct leat_daemon_stream *stream, size_t n_decisions,
                          Leat__StreamStats *message, struct leat_arena *arena) {
    int r = describe_counts(sessions, stream, message, arena);

    message->name = stream->name;
    if (r == 0)
        r = describe_totals(sessions, stream, message, arena);
    if (r == 0)
        r = leat_control_describe_tuners(sessions, stream, n_decisions, message, arena);
    return r;
}

int leat_control_describe_stats(const struct leat_sessions *sessions, const char *name,
                                struct leat_arena *arena, Leat__StatsReply *stats) {
    size_t n_decisions = n_decisions_told(sessions, name[0] != '\0');

    stats->streams = leat_control_messages(arena, &leat__stream_stats__descriptor,
                                           leat_streams_count(&sessions->feeds->streams));
    if (!stats->streams)
        return -ENOMEM;
    for (const struct leat_daemon_stream *stream = sessions->feeds->streams.first; stream;
         stream = stream->next)
        if (leat_control_is_meant(stream, name) &&
            describe_stats(sessions, stream, n_decisions, stats->streams[stats->n_streams++],
                           arena) < 0)
            return -ENOMEM;
    return 0;
}

void leat_control_stats(struct leat_control *control, const Leat__ControlRequest *request,
                        struct leat_arena *arena) {
    const char *name = request->stats->stream;
    Leat__StatsReply stats = LEAT__STATS_REPLY__INIT;
    struct leat_error err = LEAT_ERROR_INIT;
    int r;

    if (name[0] && !leat_streams_peek(&control->controls->feeds->streams, name, &err)) {
        leat_control_fail(control, &err);
        return;
    }
    r = leat_control_describe_stats(control->controls->sessions, name, arena, &stats);
    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_STATS, r < 0 ? NULL : &stats);
}
