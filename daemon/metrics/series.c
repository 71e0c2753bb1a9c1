/* series.c: see series.h. A series has what it saw last and what it tells: what came between two
 * looks is added; of a sum that has become less, because a stream was forgotten, nothing. */
#include "daemon/metrics/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "daemon/core/daemon.h"
#include "daemon/metrics/look.h"
#include "daemon/metrics/stats.h"
#include "daemon/metrics/verdict_text.h"
#include "daemon/stream/feed.h"
#include "daemon/system/process.h"
#include "daemon/trainer/session.h"

#define OTHERS     "others"
#define VERDICT_NS UINT64_C(10000000000) /* that the verdict on a stream is of */

struct leat_one_series {
    struct leat_one_series *next;
    char name[LEAT_NAME_MAX + 1];
    enum leat_stream_owner owner;
    bool is_known;                    /* the daemon has streams of that name */
    bool is_in_use;                   /* one of the settings, or one that a trainer uses */
    struct leat_stream_reading *last; /* with as many stages as it has; NULL: nothing yet */
    struct leat_stream_reading *told; /* under its name; NULL: it is one of the others */
};

static enum leat_stream_owner owner_of(const struct leat_daemon_stream *stream) {
    return stream->is_own ? LEAT_OWNER_TRAINER : LEAT_OWNER_SETTINGS;
}

static void free_one(struct leat_one_series *one) {
    free(one->last);
    free(one->told);
    free(one);
}

void leat_series_deinit(struct leat_series *series) {
    while (series->first) {
        struct leat_one_series *one = series->first;

        series->first = one->next;
        free_one(one);
    }
    free(series->other);
    *series = (struct leat_series){.first = NULL};
}

/* ---- the sum of streams of one name ---- */

static struct leat_stage_reading *find_stage(struct leat_stream_reading *sum, const char *name,
                                             enum leat_role role) {
    struct leat_stage_reading *stage =
        (struct leat_stage_reading *)(uintptr_t)leat_stream_reading_find(sum, name);

    if (stage)
        return stage;
    if (sum->n_stages == LEAT_READING_MAX_STAGES)
        return &sum->stages[LEAT_READING_MAX_STAGES - 1];
    stage = &sum->stages[sum->n_stages++];
    (void)snprintf(stage->name, sizeof(stage->name), "%s",
                   sum->n_stages == LEAT_READING_MAX_STAGES ? OTHERS : name);
    stage->role = role;
    return stage;
}

struct stage_counts {
    const char *name;
    enum leat_role role;
    uint64_t n_records, n_bytes, busy_ns, n_errors, n_jobs;
};

/* n_before: stages of that name that come before it in its stream. */
static void add_stage(struct leat_stream_reading *sum, const struct stage_counts *counts,
                      size_t n_before) {
    char name[LEAT_READING_STAGE_NAME + 1];
    struct leat_stage_figures *figures;

    if (n_before > 0)
        (void)snprintf(name, sizeof(name), "%.*s[%zu]", LEAT_NAME_MAX, counts->name, n_before + 1);
    else
        (void)snprintf(name, sizeof(name), "%.*s", LEAT_NAME_MAX, counts->name);
    figures = &find_stage(sum, name, counts->role)->figures;
    figures->n_records += counts->n_records;
    figures->n_bytes += counts->n_bytes;
    figures->busy_ns += counts->busy_ns;
    figures->n_errors += counts->n_errors;
    figures->n_jobs += counts->n_jobs;
}

static void add_ended(struct leat_stream_reading *sum, const struct leat_stream_totals *totals) {
    struct leat_stream_figures *figures = &sum->figures;

    figures->n_batches += totals->n_batches;
    figures->n_rows += totals->n_rows;
    figures->n_elements += totals->n_elements;
    figures->n_source_bytes += totals->n_source_bytes;
    figures->n_source_records += totals->n_source_records;
    figures->n_bad_records += totals->n_bad_records;
    figures->n_changed_files += totals->n_changed_files;
    figures->n_waits += totals->n_waits;
    figures->wait_ns += totals->wait_ns;
    figures->no_slot_ns += totals->no_slot_ns;
    figures->lifetime_ns += totals->lifetime_ns;
    figures->n_failed_spec += totals->n_failures[LEAT_FAILURE_SPEC];
    figures->n_failed_data += totals->n_failures[LEAT_FAILURE_DATA];
    figures->n_failed_file += totals->n_failures[LEAT_FAILURE_FILE];
    figures->n_failed_changed += totals->n_failures[LEAT_FAILURE_CHANGED];
    figures->n_failed_memory += totals->n_failures[LEAT_FAILURE_MEMORY];
    figures->n_failed_program += totals->n_failures[LEAT_FAILURE_PROGRAM];
    figures->n_failed_other += totals->n_failures[LEAT_FAILURE_OTHER];
    leat_spread_merge(&sum->spreads[LEAT_SPREAD_WAIT], &totals->waits);
    leat_spread_merge(&sum->spreads[LEAT_SPREAD_BATCH_BYTES], &totals->batch_bytes);
    leat_spread_merge(&sum->spreads[LEAT_SPREAD_BATCH_ROWS], &totals->batch_rows);
    for (size_t i = 0; i < totals->n_stages; i++) {
        const struct leat_stream_stage *stage = &totals->stages[i];
        struct stage_counts counts = {stage->name,    stage->role,    stage->n_records,
                                      stage->n_bytes, stage->busy_ns, stage->n_errors,
                                      stage->times.n};
        size_t n_before = 0;

        for (size_t j = 0; j < i; j++)
            n_before += strcmp(totals->stages[j].name, stage->name) == 0;
        add_stage(sum, &counts, n_before);
    }
}

static void add_run(struct leat_stream_reading *sum, const struct leat_run *run) {
    struct leat_stream_figures *figures = &sum->figures;
    struct leat_run_stats stats;

    leat_run_get_stats(run, &stats);
    figures->n_batches += stats.n_batches;
    figures->n_rows += stats.n_rows;
    figures->n_elements += stats.n_elements;
    figures->n_source_bytes += stats.n_source_bytes;
    figures->n_source_records += stats.n_source_records;
    figures->n_bad_records += stats.n_bad_records;
    figures->n_changed_files += stats.n_changed_files;
    figures->no_slot_ns += stats.no_slot_ns;
    figures->lifetime_ns += stats.lifetime_ns;
    leat_spread_merge(&sum->spreads[LEAT_SPREAD_BATCH_BYTES], &stats.batch_bytes);
    leat_spread_merge(&sum->spreads[LEAT_SPREAD_BATCH_ROWS], &stats.batch_rows);
    figures->n_jobs += stats.n_jobs;
    figures->n_blocks += stats.n_blocks;
    for (size_t i = 0; i < stats.n_stages && i < LEAT_STREAM_MAX_STAGES; i++) {
        const struct leat_run_stage_stats *stage = &stats.stages[i];
        struct stage_counts counts = {stage->name,    stage->role,    stage->n_records,
                                      stage->n_bytes, stage->busy_ns, stage->n_errors,
                                      stage->times.n};
        size_t n_before = 0;

        for (size_t j = 0; j < i; j++)
            n_before += strcmp(stats.stages[j].name, stage->name) == 0;
        add_stage(sum, &counts, n_before);
    }
}

static void add_feed(struct leat_stream_reading *sum, const struct leat_feed *feed) {
    uint32_t n_slots, n_free;

    leat_stats_feed_slots(feed, &n_slots, &n_free);
    sum->figures.n_slots += n_slots;
    sum->figures.n_slots_free += n_free;
    for (int i = 0; i < LEAT_N_MEMORIES; i++)
        sum->figures.memory_bytes += feed->account.pools[i].current_bytes;
    if (feed->run)
        add_run(sum, feed->run);
}

static void add_session(struct leat_stream_reading *sum, const struct leat_session *session,
                        uint64_t now_ns) {
    sum->figures.n_sessions++;
    if (session->wait_start_ns)
        sum->figures.wait_ns += now_ns - session->wait_start_ns;
}

/* ---- what is told ---- */

/* What came since the last look. */
static void grow(enum leat_meter_scope scope, void *told, const void *last, const void *now) {
    for (const struct leat_meter *meter = leat_meters; meter->name; meter++) {
        uint64_t value, before;

        if (meter->scope != scope)
            continue;
        value = leat_meter_value(meter, now);
        before = meter->kind == LEAT_METER_COUNTER ? leat_meter_value(meter, last) : 0;
        if (value > before)
            *leat_meter_at(meter, told) += value - before;
    }
}

static void clear_gauges(struct leat_stream_reading *told) {
    told->verdict[0] = '\0';
    told->failure.unix_ns = 0;
    for (const struct leat_meter *meter = leat_meters; meter->name; meter++)
        if (meter->scope == LEAT_METER_STREAM && meter->kind == LEAT_METER_GAUGE)
            *leat_meter_at(meter, &told->figures) = 0;
}

/* Those that go on come before those that are over, later ones before earlier ones. */
static bool is_worse(const struct leat_failure *one, const struct leat_failure *other) {
    bool is_on = leat_failure_is_on(one);

    return is_on != leat_failure_is_on(other) ? is_on : one->unix_ns > other->unix_ns;
}

static void grow_spread(struct leat_spread *told, const struct leat_spread *last,
                        const struct leat_spread *now) {
    for (size_t i = 0; i <= LEAT_SPREAD_MAX_BOUNDS; i++)
        told->n[i] += now->n[i] > last->n[i] ? now->n[i] - last->n[i] : 0;
    told->total += now->total > last->total ? now->total - last->total : 0;
}

static void tell(struct leat_stream_reading *told, const struct leat_stream_reading *last,
                 const struct leat_stream_reading *now) {
    static const struct leat_stream_reading none;

    if (!last)
        last = &none;
    grow(LEAT_METER_STREAM, &told->figures, &last->figures, &now->figures);
    for (int i = 0; i < LEAT_N_SPREADS; i++)
        grow_spread(&told->spreads[i], &last->spreads[i], &now->spreads[i]);
    if (is_worse(&now->failure, &told->failure))
        told->failure = now->failure;
    for (size_t i = 0; i < now->n_stages; i++) {
        const struct leat_stage_reading *stage = &now->stages[i];
        const struct leat_stage_reading *before = leat_stream_reading_find(last, stage->name);

        grow(LEAT_METER_STAGE, &find_stage(told, stage->name, stage->role)->figures,
             before ? &before->figures : &none.stages[0].figures, &stage->figures);
    }
}

static struct leat_stream_reading *copy(const struct leat_stream_reading *reading) {
    size_t n_bytes = offsetof(struct leat_stream_reading, stages) +
                     reading->n_stages * sizeof(struct leat_stage_reading);
    struct leat_stream_reading *made = malloc(n_bytes);

    return made ? memcpy(made, reading, n_bytes) : NULL;
}

static struct leat_stream_reading *new_told(const char *name, enum leat_stream_owner owner) {
    struct leat_stream_reading *told = calloc(1, sizeof(*told));

    if (told)
        (void)snprintf(told->name, sizeof(told->name), "%s", name);
    if (told)
        told->owner = owner;
    return told;
}

/* Where it is told from now on: under its own name, if there is room for one more, or if it is in
 * use and one that is told is not; else among the others. */
static struct leat_stream_reading *choose_told(struct leat_series *series,
                                               struct leat_one_series *one) {
    struct leat_one_series *idle = NULL;

    if (one->told)
        return one->told;
    for (struct leat_one_series *at = series->first; at; at = at->next)
        if (at->told && !at->is_in_use && !idle)
            idle = at;
    if (series->n_told == LEAT_READING_MAX_STREAMS && one->is_in_use && idle) {
        free(idle->told);
        idle->told = NULL;
        series->n_told--;
    }
    if (series->n_told < LEAT_READING_MAX_STREAMS) {
        one->told = new_told(one->name, one->owner);
        series->n_told += one->told != NULL;
        return one->told;
    }
    if (!series->other)
        series->other = new_told(LEAT_READING_OTHER, LEAT_OWNER_OTHER);
    return series->other;
}

/* In the order in which they came. */
static struct leat_one_series *find(struct leat_series *series, const char *name,
                                    enum leat_stream_owner owner) {
    struct leat_one_series **link = &series->first, *one;

    for (; *link; link = &(*link)->next)
        if ((*link)->owner == owner && strcmp((*link)->name, name) == 0)
            return *link;
    one = calloc(1, sizeof(*one));
    if (!one)
        return NULL;
    (void)snprintf(one->name, sizeof(one->name), "%.*s", LEAT_NAME_MAX, name);
    one->owner = owner;
    return *link = one;
}

/* All streams of the name and kind of this one, unless one before it was of these too. */
static bool sum_up(const struct leat_daemon *daemon, const struct leat_daemon_stream *first,
                   uint64_t now_ns, struct leat_stream_reading *ret_sum) {
    bool has_come = false;

    *ret_sum = (struct leat_stream_reading){.owner = owner_of(first)};
    (void)snprintf(ret_sum->name, sizeof(ret_sum->name), "%.*s", LEAT_NAME_MAX, first->name);
    for (const struct leat_daemon_stream *stream = daemon->streams.first; stream;
         stream = stream->next) {
        if (stream->is_own != first->is_own || strcmp(stream->name, first->name) != 0)
            continue;
        if (stream != first && !has_come)
            return false;
        has_come = true;
        add_ended(ret_sum, &stream->totals);
        ret_sum->figures.n_stalled += stream->n_stalled;
        if (is_worse(&stream->failure, &ret_sum->failure))
            ret_sum->failure = stream->failure;
        for (const struct leat_feed *feed = daemon->feeds; feed; feed = feed->next)
            if (feed->stream == stream)
                add_feed(ret_sum, feed);
        for (const struct leat_session *session = daemon->sessions; session;
             session = session->next)
            if (session->stream == stream)
                add_session(ret_sum, session, now_ns);
    }
    return true;
}

/* Of several streams of that name, of one that is being read. */
static void add_verdict(const struct leat_daemon *daemon, const struct leat_daemon_stream *first,
                        struct leat_stream_reading *told) {
    struct leat_looks_facts facts;
    struct leat_text line = {.data = NULL};
    struct leat_verdict verdict;

    for (const struct leat_daemon_stream *stream = first; stream && line.n_bytes == 0;
         stream = stream->next) {
        if (stream->is_own != first->is_own || strcmp(stream->name, first->name) != 0 ||
            !leat_looks_facts(daemon, stream, VERDICT_NS, false, &facts))
            continue;
        leat_verdict_make(&facts.facts, &verdict);
        leat_verdict_line(&facts.facts, &verdict, &line);
    }
    if (line.n_bytes > 0 && !line.failed)
        (void)snprintf(told->verdict, sizeof(told->verdict), "%s", line.data);
    free(line.data);
}

/* Before any place is given away. */
static void mark_used(struct leat_series *series, const struct leat_daemon *daemon) {
    for (struct leat_one_series *one = series->first; one; one = one->next)
        one->is_known = one->is_in_use = false;
    for (const struct leat_daemon_stream *stream = daemon->streams.first; stream;
         stream = stream->next) {
        struct leat_one_series *one = find(series, stream->name, owner_of(stream));

        if (one)
            one->is_known = true;
        if (one)
            one->is_in_use |= !stream->is_own || stream->n_refs > 0;
    }
}

/* One of that name that comes again counts from nothing; what is told of it stays until its place
 * is needed. */
static void forget_gone(struct leat_series *series) {
    for (struct leat_one_series **link = &series->first; *link;) {
        struct leat_one_series *one = *link;

        if (!one->is_known) {
            free(one->last);
            one->last = NULL;
        }
        if (one->is_known || one->told) {
            link = &one->next;
            continue;
        }
        *link = one->next;
        free_one(one);
    }
}

/* Returns how many names are told together as the others. */
static uint64_t look(struct leat_series *series, const struct leat_daemon *daemon,
                     uint64_t now_ns) {
    uint64_t n_other = 0;

    mark_used(series, daemon);
    forget_gone(series);
    for (struct leat_one_series *one = series->first; one; one = one->next)
        if (one->told)
            clear_gauges(one->told);
    if (series->other)
        clear_gauges(series->other);
    for (const struct leat_daemon_stream *stream = daemon->streams.first; stream;
         stream = stream->next) {
        struct leat_stream_reading sum, *told, *now;
        struct leat_one_series *one;

        if (!sum_up(daemon, stream, now_ns, &sum))
            continue;
        one = find(series, sum.name, sum.owner);
        told = one ? choose_told(series, one) : NULL;
        now = told ? copy(&sum) : NULL;
        if (!now) /* the next look tells it */
            continue;
        n_other += told == series->other;
        tell(told, one->last, now);
        if (told != series->other)
            add_verdict(daemon, stream, told);
        free(one->last);
        one->last = now;
    }
    return n_other;
}

/* ---- the daemon's own ---- */

static void read_process(struct leat_daemon_figures *figures, const struct leat_reading *reading,
                         const struct leat_daemon *daemon) {
    struct leat_process process;
    struct rlimit limit;

    leat_process_read_usage(&process);
    figures->cpu_ns = process.cpu_ns;
    figures->rss_bytes = process.rss_bytes;
    figures->start_unix_ns = daemon->start_unix_ns;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        figures->max_fds = limit.rlim_cur;
    figures->loop_longest_ns = daemon->turns.longest_ns;
    figures->loop_busy_ns =
        reading->at_ns - daemon->start_ns - uv_metrics_idle_time((uv_loop_t *)&daemon->loop);
}

static void read_daemon(struct leat_daemon_figures *figures, const struct leat_daemon *daemon) {
    const struct leat_budget *budget = &daemon->budget;
    uint32_t n_slots, n_free;

    leat_stats_slots(daemon, &n_slots, &n_free);
    figures->n_slots = n_slots;
    figures->n_slots_free = n_free;
    figures->n_workers = daemon->n_workers;
    figures->n_tasks_running = daemon->scheduler.n_submitted;
    figures->n_tasks_stalled = daemon->service.heartbeat.n_stalled;
    figures->n_tasks_waiting = daemon->scheduler.n_waiting;
    figures->n_sessions = daemon->n_sessions;
    figures->n_refused = daemon->n_refused;
    figures->n_batches = daemon->n_batches;
    figures->n_rows = daemon->n_rows;
    figures->ring_bytes = daemon->users.used[LEAT_CHARGE_RING_BYTES];
    figures->memory_limit_bytes = budget->limit_bytes == UINT64_MAX ? 0 : budget->limit_bytes;
    figures->memory_claimed_bytes = budget->claimed_bytes;
    figures->memory_used_bytes = budget->used_bytes;
    figures->n_memory_refused = budget->n_refused;
    figures->n_quota_refused = daemon->users.n_refused;
    figures->n_controls = daemon->users.used[LEAT_CHARGE_CONTROLS];
    figures->n_log_dropped = daemon->log.n_dropped;
    figures->n_reloads = daemon->n_reloads;
    figures->is_reload_good = daemon->last_reload_ok;
    figures->is_draining = daemon->is_draining;
    for (const struct leat_daemon_stream *stream = daemon->streams.first; stream;
         stream = stream->next)
        figures->n_streams++;
}

struct leat_reading *leat_series_read(struct leat_series *series, struct leat_daemon *daemon) {
    uint64_t now_ns = leat_daemon_now_ns();
    uint64_t n_other = look(series, daemon, now_ns);
    struct leat_reading *reading = leat_reading_new(series->n_told + (series->other != NULL));
    size_t n = 0;

    if (!reading)
        return NULL;
    reading->at_ns = now_ns;
    reading->unix_ns = leat_daemon_unix_ns();
    for (const struct leat_one_series *one = series->first; one; one = one->next)
        if (one->told)
            reading->streams[n++] = *one->told;
    if (series->other)
        reading->streams[n] = *series->other;
    read_process(&reading->figures, reading, daemon);
    read_daemon(&reading->figures, daemon);
    reading->figures.worker_busy_ns = leat_scheduler_busy_ns(&daemon->scheduler, now_ns);
    reading->figures.n_streams_other = n_other;
    return reading;
}
