#include "daemon/metrics/counts.h"

#include <sys/resource.h>

#include "daemon/schedule/heartbeat.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/stream/feed.h"
#include "daemon/system/process.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/clock.h"

/* Slots that the run was given are empty or about to be filled, so no trainer has them. */
void leat_feed_add_slots(const struct leat_feed *feed, uint64_t *n_slots, uint64_t *n_slots_free) {
    for (const struct leat_slot_ring *ring = feed->rings; ring; ring = ring->next) {
        *n_slots += ring->n_slots;
        *n_slots_free += ring->n_in_state[LEAT_SLOT_FREE] + ring->n_in_state[LEAT_SLOT_GIVEN];
    }
}

static void add_feed(const struct leat_feed *feed, struct leat_stream_counts *counts) {
    struct leat_stream_figures *figures = &counts->figures;
    struct leat_run_stats stats;

    leat_feed_add_slots(feed, &figures->n_slots, &figures->n_slots_free);
    for (int i = 0; i < LEAT_N_MEMORIES; i++)
        figures->memory_bytes += feed->account.pools[i].current_bytes;
    if (!feed->run)
        return;
    leat_run_get_stats(feed->run, &stats);
    leat_stream_counts_add(counts, &stats.counts);
}

void leat_stream_read_counts(const struct leat_sessions *sessions,
                             const struct leat_daemon_stream *stream,
                             struct leat_stream_counts *ret_counts) {
    struct leat_stream_figures *figures = &ret_counts->figures;
    uint64_t now_ns = leat_now_ns();

    *ret_counts = stream->totals.counts;
    figures->n_stalled = stream->n_stalled;
    for (const struct leat_feed *feed = sessions->feeds->first; feed; feed = feed->next)
        if (feed->stream == stream)
            add_feed(feed, ret_counts);
    for (const struct leat_session *session = sessions->first; session; session = session->next) {
        if (session->stream != stream)
            continue;
        figures->n_sessions++;
        figures->wait_ns += session->wait_start_ns ? now_ns - session->wait_start_ns : 0;
        figures->trainer_ns += session->serve_ns ? now_ns - session->serve_ns : 0;
    }
}

static void read_process(const struct leat_env *env, uint64_t now_ns,
                         struct leat_daemon_figures *figures) {
    struct leat_process process;
    struct rlimit limit;

    leat_process_read_usage(&process);
    figures->cpu_ns = process.cpu_ns;
    figures->rss_bytes = process.rss_bytes;
    figures->start_unix_ns = env->start_unix_ns;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        figures->max_fds = limit.rlim_cur;
    figures->loop_longest_ns = env->turns.longest_ns;
    figures->loop_busy_ns = now_ns - env->start_ns - uv_metrics_idle_time(env->loop);
}

static void read_memory(const struct leat_budget *budget, struct leat_daemon_figures *figures) {
    figures->memory_limit_bytes = budget->limit_bytes == UINT64_MAX ? 0 : budget->limit_bytes;
    figures->memory_claimed_bytes = budget->claimed_bytes;
    figures->memory_used_bytes = budget->used_bytes;
    figures->n_memory_refused = budget->n_refused;
}

void leat_daemon_read_figures(const struct leat_sessions *sessions, uint64_t now_ns,
                              struct leat_daemon_figures *ret_figures) {
    const struct leat_env *env = sessions->env;

    *ret_figures = (struct leat_daemon_figures){
        .worker_busy_ns = leat_scheduler_busy_ns(env->scheduler, now_ns),
        .n_workers = env->n_workers,
        .n_tasks_running = env->scheduler->n_submitted,
        .n_tasks_stalled = env->scheduler->heartbeat->n_stalled,
        .n_tasks_waiting = env->scheduler->n_waiting,
        .n_streams = leat_streams_count(&sessions->feeds->streams),
        .n_sessions = sessions->n_sessions,
        .n_refused = sessions->n_refused,
        .n_batches = sessions->n_batches,
        .n_rows = sessions->n_rows,
        .ring_bytes = env->users->used[LEAT_CHARGE_RING_BYTES],
        .n_quota_refused = env->users->n_refused,
        .n_controls = env->users->used[LEAT_CHARGE_CONTROLS],
        .n_log_dropped = env->log->n_dropped,
        .n_reloads = env->n_reloads,
        .is_reload_good = env->is_reload_good,
        .is_draining = env->is_draining,
    };
    read_process(env, now_ns, ret_figures);
    read_memory(env->budget, ret_figures);
    for (const struct leat_feed *feed = sessions->feeds->first; feed; feed = feed->next)
        leat_feed_add_slots(feed, &ret_figures->n_slots, &ret_figures->n_slots_free);
}
