/* control/status.c: the verbs that only look: status, streams, stats. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control/control.h"
#include "daemon/control/describe.h"
#include "daemon/control/tuner.h"
#include "daemon/core/daemon.h"
#include "daemon/metrics/stats.h"
#include "daemon/stream/share.h"
#include "daemon/system/process.h"
#include "daemon/trainer/session.h"
#include "pipeline/io/kernel.h"

#define STREAMS_TOLD_ALL 16

static uint32_t count_streams(const struct leat_daemon *daemon) {
    uint32_t n = 0;

    for (const struct leat_daemon_stream *stream = daemon->streams.first; stream;
         stream = stream->next)
        n++;
    return n;
}

static Leat__Failure *describe_failure(const struct leat_daemon_stream *stream,
                                       struct leat_arena *arena) {
    const struct leat_failure *failure = &stream->failure;
    Leat__Failure *message = leat_arena_alloc(arena, sizeof(*message));

    if (!message)
        return NULL;
    leat__failure__init(message);
    message->stream = stream->name;
    message->reason = (char *)(uintptr_t)leat_failure_name(failure->reason);
    message->error = (char *)(uintptr_t)failure->text;
    message->unix_ns = failure->unix_ns;
    message->is_over = failure->is_over;
    return message;
}

static int describe_failures(const struct leat_daemon *daemon, Leat__StatusReply *status,
                             struct leat_arena *arena) {
    const struct leat_daemon_stream *last = NULL;

    for (const struct leat_daemon_stream *stream = daemon->streams.first; stream;
         stream = stream->next) {
        for (int i = 0; i < LEAT_N_FAILURES; i++)
            status->n_failures += stream->totals.n_failures[i];
        status->n_failing += leat_failure_is_on(&stream->failure);
        if (stream->failure.unix_ns > (last ? last->failure.unix_ns : 0))
            last = stream;
    }
    if (last)
        status->last_failure = describe_failure(last, arena);
    return last && !status->last_failure ? -ENOMEM : 0;
}

int leat_control_describe_status(struct leat_daemon *daemon, struct leat_arena *arena,
                                 Leat__StatusReply *status) {
    uint64_t now_ns = leat_daemon_now_ns(), uptime_ns = now_ns - daemon->start_ns;
    struct leat_process process;

    leat_process_read(&process);
    status->version = (char *)(uintptr_t)LEAT_VERSION;
    status->pid = (uint32_t)getpid();
    status->uptime_ns = uptime_ns;
    status->n_workers = daemon->n_workers;
    status->worker_busy_ns = leat_scheduler_busy_ns(&daemon->scheduler, now_ns);
    status->n_sessions = daemon->n_sessions;
    status->n_streams = count_streams(daemon);
    status->n_batches = daemon->n_batches;
    status->n_rows = daemon->n_rows;
    status->loop_busy_ns = uptime_ns - uv_metrics_idle_time(&daemon->loop);
    status->loop_longest_ns = daemon->turns.longest_ns;
    status->loop_longest_cpu_ns = daemon->turns.longest_cpu_ns;
    status->cpu_ns = process.cpu_ns;
    status->rss_bytes = process.rss_bytes;
    status->hwm_bytes = process.hwm_bytes;
    status->ring_bytes = daemon->users.used[LEAT_CHARGE_RING_BYTES];
    leat_stats_slots(daemon, &status->n_slots, &status->n_slots_free);
    status->n_fds = process.n_fds;
    status->is_draining = daemon->is_draining;
    status->n_refused = daemon->n_refused;
    status->memory_limit_bytes =
        daemon->budget.limit_bytes == UINT64_MAX ? 0 : daemon->budget.limit_bytes;
    status->memory_claimed_bytes = daemon->budget.claimed_bytes;
    status->memory_used_bytes = daemon->budget.used_bytes;
    status->memory_peak_bytes = daemon->budget.peak_bytes;
    status->n_stalled = daemon->service.heartbeat.n_stalled;
    status->config_file = daemon->settings->file;
    return describe_failures(daemon, status, arena);
}

static int describe_kernel(Leat__StatusReply *status, struct leat_arena *arena) {
    Leat__KernelNeed *messages = leat_arena_alloc(arena, LEAT_KERNEL_NEEDS_MAX * sizeof(*messages));

    status->kernel_needs = leat_arena_alloc(arena, LEAT_KERNEL_NEEDS_MAX * sizeof(messages));
    if (!messages || !status->kernel_needs)
        return -ENOMEM;
    for (const struct leat_kernel_need *need = leat_kernel_needs; need->name; need++, messages++) {
        leat__kernel_need__init(messages);
        messages->name = (char *)(uintptr_t)need->name;
        messages->error = (uint32_t)need->try();
        status->kernel_needs[status->n_kernel_needs++] = messages;
    }
    return 0;
}

void leat_control_status(struct leat_control *control, const Leat__ControlRequest *request,
                         struct leat_arena *arena) {
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    Leat__StatusReply status = LEAT__STATUS_REPLY__INIT;

    (void)request;
    if (leat_control_describe_status(control->daemon, arena, &status) < 0 ||
        describe_kernel(&status, arena) < 0) {
        leat_control_fail_memory(control);
        return;
    }
    reply.verb_case = LEAT__CONTROL_REPLY__VERB_STATUS;
    reply.status = &status;
    leat_control_reply(control, &reply);
}

/* ---- streams ---- */

Leat__Session *leat_control_describe_session(const struct leat_session *session,
                                             struct leat_arena *arena) {
    Leat__Session *message = leat_arena_alloc(arena, sizeof(*message));

    if (!message)
        return NULL;
    leat__session__init(message);
    message->id = session->id;
    message->pid = (uint32_t)session->peer.pid;
    message->uid = session->peer.uid;
    message->client_name = (char *)(uintptr_t)session->client_name;
    message->delivery = (char *)(uintptr_t)(session->delivery ? session->delivery->ops->name : "");
    message->epoch = session->next_epoch;
    message->step = session->next_step;
    message->rank = session->rank;
    message->world_size = session->world_size;
    message->n_held = session->hub.n_holds;
    message->window = session->window;
    message->n_batches = session->n_batches;
    message->state = (char *)(uintptr_t)leat_session_state_name(session->state);
    message->age_ns = leat_daemon_now_ns() - session->start_ns;
    message->run = session->hub.run ? leat_feed_of(session->hub.run)->number : 0;
    return message;
}

static const char *run_state(const struct leat_feed *feed) {
    static const char *const names[] = {
        [LEAT_FEED_STARTING] = "starting",
        [LEAT_FEED_RUNNING] = "running",
        [LEAT_FEED_GROWING] = "growing",
        [LEAT_FEED_CLOSING] = "closing",
    };

    return feed->hub_run.successor && !feed->hub_run.is_closed ? "joining" : names[feed->state];
}

static Leat__Run *describe_run(const struct leat_feed *feed, struct leat_arena *arena) {
    const struct leat_hub_run *run = &feed->hub_run;
    Leat__Run *message = leat_arena_alloc(arena, sizeof(*message));

    if (!message)
        return NULL;
    leat__run__init(message);
    message->number = feed->number;
    message->n_sessions = run->n_sessions;
    message->epoch = run->head.epoch;
    message->step = run->head.step;
    message->first_rank = (uint32_t)run->first_rank;
    message->n_ranks = (uint32_t)run->n_ranks;
    message->world_size = (uint32_t)feed->share->hub.world_size;
    leat_stats_feed_slots(feed, &message->n_slots, &message->n_slots_free);
    message->n_batches = run->n_batches;
    message->state = (char *)(uintptr_t)run_state(feed);
    message->joins = run->successor ? leat_feed_of(run->successor)->number : 0;
    return message;
}

static int describe_runs(const struct leat_daemon *daemon, const struct leat_daemon_stream *stream,
                         Leat__Stream *message, struct leat_arena *arena) {
    size_t n = 0;

    for (const struct leat_feed *feed = daemon->feeds; feed; feed = feed->next)
        n += feed->stream == stream;
    message->runs = leat_arena_alloc(arena, n * sizeof(*message->runs));
    if (!message->runs)
        return -ENOMEM;
    for (const struct leat_feed *feed = daemon->feeds; feed; feed = feed->next) {
        if (feed->stream != stream)
            continue;
        message->runs[message->n_runs] = describe_run(feed, arena);
        if (!message->runs[message->n_runs++])
            return -ENOMEM;
    }
    return 0;
}

static int describe_sessions(const struct leat_daemon *daemon,
                             const struct leat_daemon_stream *stream, Leat__Stream *message,
                             struct leat_arena *arena) {
    size_t n = 0;

    for (const struct leat_session *session = daemon->sessions; session; session = session->next)
        n += session->stream == stream;
    message->sessions = leat_arena_alloc(arena, n * sizeof(*message->sessions));
    if (!message->sessions)
        return -ENOMEM;
    for (const struct leat_session *session = daemon->sessions; session; session = session->next) {
        if (session->stream != stream)
            continue;
        message->sessions[message->n_sessions] = leat_control_describe_session(session, arena);
        if (!message->sessions[message->n_sessions++])
            return -ENOMEM;
    }
    return 0;
}

static int count_failures(const struct leat_daemon_stream *stream, Leat__Stream *message,
                          struct leat_arena *arena) {
    message->failures = leat_arena_alloc(arena, LEAT_N_FAILURES * sizeof(*message->failures));
    for (int i = 0; message->failures && i < LEAT_N_FAILURES; i++) {
        Leat__FailureCount *count;

        if (stream->totals.n_failures[i] == 0)
            continue;
        count = leat_arena_alloc(arena, sizeof(*count));
        if (!count)
            return -ENOMEM;
        leat__failure_count__init(count);
        count->reason = (char *)(uintptr_t)leat_failure_name((enum leat_failure_reason)i);
        count->n = stream->totals.n_failures[i];
        message->failures[message->n_failures++] = count;
    }
    return message->failures ? 0 : -ENOMEM;
}

static Leat__Stream *describe_stream(const struct leat_daemon *daemon,
                                     const struct leat_daemon_stream *stream,
                                     struct leat_arena *arena) {
    const struct leat_spec *spec = stream->spec;
    Leat__Stream *message = leat_arena_alloc(arena, sizeof(*message));

    if (!message)
        return NULL;
    leat__stream__init(message);
    message->name = stream->name;
    message->source = spec->source.kind;
    if (spec->file)
        message->file = spec->file;
    message->line = spec->line;
    message->stalled_ns = stream->stalled_ns;
    message->stages = leat_arena_alloc(arena, spec->n_stages * sizeof(*message->stages));
    if (!message->stages)
        return NULL;
    for (size_t i = 0; i < spec->n_stages; i++)
        message->stages[message->n_stages++] = spec->stages[i].kind;
    if (stream->failure.unix_ns > 0) {
        message->last_failure = describe_failure(stream, arena);
        if (!message->last_failure || count_failures(stream, message, arena) < 0)
            return NULL;
    }
    if (describe_runs(daemon, stream, message, arena) < 0)
        return NULL;
    return describe_sessions(daemon, stream, message, arena) < 0 ? NULL : message;
}

static bool is_meant(const struct leat_daemon_stream *stream, const char *name) {
    return !name[0] || strcmp(name, stream->name) == 0;
}

int leat_control_describe_streams(const struct leat_daemon *daemon, const char *name,
                                  struct leat_arena *arena, Leat__StreamsReply *streams) {
    streams->streams = leat_arena_alloc(arena, count_streams(daemon) * sizeof(*streams->streams));
    if (!streams->streams)
        return -ENOMEM;
    for (const struct leat_daemon_stream *stream = daemon->streams.first; stream;
         stream = stream->next) {
        if (!is_meant(stream, name))
            continue;
        streams->streams[streams->n_streams] = describe_stream(daemon, stream, arena);
        if (!streams->streams[streams->n_streams++])
            return -ENOMEM;
    }
    return 0;
}

void leat_control_streams(struct leat_control *control, const Leat__ControlRequest *request,
                          struct leat_arena *arena) {
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    Leat__StreamsReply streams = LEAT__STREAMS_REPLY__INIT;

    (void)request;
    if (leat_control_describe_streams(control->daemon, "", arena, &streams) < 0) {
        leat_control_fail_memory(control);
        return;
    }
    reply.verb_case = LEAT__CONTROL_REPLY__VERB_STREAMS;
    reply.streams = &streams;
    leat_control_reply(control, &reply);
}

/* ---- stats ---- */

static Leat__StageStats *describe_stage(const struct leat_stream_stage *stage,
                                        struct leat_arena *arena) {
    Leat__StageStats *message = leat_arena_alloc(arena, sizeof(*message));
    char *name = leat_arena_alloc(arena, sizeof(stage->name));

    if (!message || !name)
        return NULL;
    leat__stage_stats__init(message);
    memcpy(name, stage->name, sizeof(stage->name));
    message->name = name;
    message->role = (char *)(uintptr_t)leat_role_name(stage->role);
    message->n_records = stage->n_records;
    message->n_bytes = stage->n_bytes;
    message->busy_ns = stage->busy_ns;
    message->n_errors = stage->n_errors;
    message->n_jobs = stage->times.n;
    message->min_ns = stage->times.min;
    message->max_ns = stage->times.max;
    message->p50_ns = leat_histogram_quantile(&stage->times, 0.5);
    message->p99_ns = leat_histogram_quantile(&stage->times, 0.99);
    return message;
}

static int describe_stages(const struct leat_stream_totals *totals, Leat__StreamStats *message,
                           struct leat_arena *arena) {
    message->stages = leat_arena_alloc(arena, totals->n_stages * sizeof(*message->stages));
    if (!message->stages)
        return -ENOMEM;
    for (size_t i = 0; i < totals->n_stages; i++) {
        message->stages[i] = describe_stage(&totals->stages[i], arena);
        if (!message->stages[i])
            return -ENOMEM;
        message->n_stages++;
    }
    return 0;
}

static int describe_pools(const struct leat_stream_totals *totals, Leat__StreamStats *message,
                          struct leat_arena *arena) {
    message->pools = leat_arena_alloc(arena, LEAT_N_MEMORIES * sizeof(*message->pools));
    if (!message->pools)
        return -ENOMEM;
    for (int i = 0; i < LEAT_N_MEMORIES; i++) {
        const struct leat_pool_stats *stats = &totals->pools[i];
        Leat__PoolStats *pool = leat_arena_alloc(arena, sizeof(*pool));

        if (!pool)
            return -ENOMEM;
        if (stats->n_allocations == 0 && stats->peak_bytes == 0)
            continue;
        leat__pool_stats__init(pool);
        pool->name = (char *)(uintptr_t)leat_memory_name((enum leat_memory)i);
        pool->n_allocations = stats->n_allocations;
        pool->n_hits = stats->n_hits;
        pool->n_misses = stats->n_misses;
        pool->current_bytes = stats->current_bytes;
        pool->peak_bytes = stats->peak_bytes;
        message->pools[message->n_pools++] = pool;
    }
    return 0;
}

static int describe_counts(const struct leat_stats *stats, Leat__StreamStats *message,
                           struct leat_arena *arena) {
    size_t n_error = strlen(stats->totals.last_error) + 1;
    char *last_error = leat_arena_alloc(arena, n_error);

    if (!last_error)
        return -ENOMEM;
    message->n_batches = stats->totals.n_batches;
    message->n_rows = stats->totals.n_rows;
    message->n_elements = stats->totals.n_elements;
    message->n_source_bytes = stats->totals.n_source_bytes;
    message->n_source_records = stats->totals.n_source_records;
    message->n_bad_records = stats->totals.n_bad_records;
    message->n_slots = stats->n_slots;
    message->n_slots_free = stats->n_slots_free;
    message->n_jobs = stats->n_jobs;
    message->n_blocks = stats->n_blocks;
    message->n_waits = stats->totals.n_waits;
    message->wait_ns = stats->totals.wait_ns;
    message->trainer_ns = stats->totals.trainer_ns;
    message->lifetime_ns = stats->totals.lifetime_ns;
    message->no_slot_ns = stats->totals.no_slot_ns;
    message->last_error = memcpy(last_error, stats->totals.last_error, n_error);
    if (describe_pools(&stats->totals, message, arena) < 0)
        return -ENOMEM;
    return describe_stages(&stats->totals, message, arena);
}

/* A reply has its bounds: of many streams only the latest decisions are told. */
static size_t n_decisions_told(const struct leat_daemon *daemon, bool is_named) {
    return is_named || count_streams(daemon) <= STREAMS_TOLD_ALL ? LEAT_TUNER_HISTORY : 1;
}

static Leat__StreamStats *describe_stats(const struct leat_daemon *daemon,
                                         const struct leat_daemon_stream *stream,
                                         size_t n_decisions, struct leat_arena *arena) {
    Leat__StreamStats *message = leat_arena_alloc(arena, sizeof(*message));
    struct leat_stats stats;
    int r;

    if (!message)
        return NULL;
    leat__stream_stats__init(message);
    message->name = stream->name;
    leat_stats_stream(daemon, stream, &stats);
    r = describe_counts(&stats, message, arena);
    leat_stats_deinit(&stats);
    if (r == 0)
        r = leat_control_describe_tuners(daemon, stream, n_decisions, message, arena);
    return r < 0 ? NULL : message;
}

int leat_control_describe_stats(const struct leat_daemon *daemon, const char *name,
                                struct leat_arena *arena, Leat__StatsReply *stats) {
    size_t n_decisions = n_decisions_told(daemon, name[0] != '\0');

    stats->streams = leat_arena_alloc(arena, count_streams(daemon) * sizeof(*stats->streams));
    if (!stats->streams)
        return -ENOMEM;
    for (const struct leat_daemon_stream *stream = daemon->streams.first; stream;
         stream = stream->next) {
        if (!is_meant(stream, name))
            continue;
        stats->streams[stats->n_streams] = describe_stats(daemon, stream, n_decisions, arena);
        if (!stats->streams[stats->n_streams++])
            return -ENOMEM;
    }
    return 0;
}

void leat_control_stats(struct leat_control *control, const Leat__ControlRequest *request,
                        struct leat_arena *arena) {
    const char *name = request->stats->stream;
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    Leat__StatsReply stats = LEAT__STATS_REPLY__INIT;
    struct leat_error err = LEAT_ERROR_INIT;

    if (name[0] && !leat_streams_look(&control->daemon->streams, name, &err)) {
        leat_control_fail(control, &err);
        return;
    }
    if (leat_control_describe_stats(control->daemon, name, arena, &stats) < 0) {
        leat_control_fail_memory(control);
        return;
    }
    reply.verb_case = LEAT__CONTROL_REPLY__VERB_STATS;
    reply.stats = &stats;
    leat_control_reply(control, &reply);
}
