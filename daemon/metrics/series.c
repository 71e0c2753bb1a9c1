/* series.c: see series.h. A series keeps the sum that it read last, and its reported figures, to
 * which it adds the growth since the last reading. A sum that fell, because a stream was forgotten,
 * adds nothing. */
#include "daemon/metrics/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/metrics/counts.h"
#include "daemon/metrics/verdict_samples.h"
#include "daemon/metrics/verdict_text.h"
#include "daemon/stream/feed.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/clock.h"

#define OTHERS     "others"
#define VERDICT_NS UINT64_C(10000000000) /* the interval of a verdict */

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

/* n_before: the number of stages of that name before it in its stream. */
static void add_stage(struct leat_stream_reading *sum, const char *stage, enum leat_role role,
                      size_t n_before, const struct leat_stage_figures *figures) {
    char name[LEAT_READING_STAGE_NAME + 1];

    if (n_before > 0)
        (void)snprintf(name, sizeof(name), "%.*s[%zu]", LEAT_NAME_MAX, stage, n_before + 1);
    else
        (void)snprintf(name, sizeof(name), "%.*s", LEAT_NAME_MAX, stage);
    leat_figures_add(leat_stage_figure_table, &find_stage(sum, name, role)->figures, figures);
}

static void add_ended_stages(struct leat_stream_reading *sum,
                             const struct leat_stream_totals *totals) {
    for (size_t i = 0; i < totals->n_stages; i++) {
        const struct leat_stream_stage *stage = &totals->stages[i];
        size_t n_before = 0;

        for (size_t j = 0; j < i; j++)
            n_before += strcmp(totals->stages[j].name, stage->name) == 0;
        add_stage(sum, stage->name, stage->role, n_before, &stage->figures);
    }
}

static void add_run_stages(struct leat_stream_reading *sum, const struct leat_run *run) {
    struct leat_run_stats stats;

    leat_run_get_stats(run, &stats);
    for (size_t i = 0; i < stats.n_stages && i < LEAT_STREAM_MAX_STAGES; i++) {
        const struct leat_run_stage_stats *stage = &stats.stages[i];
        size_t n_before = 0;

        for (size_t j = 0; j < i; j++)
            n_before += strcmp(stats.stages[j].name, stage->name) == 0;
        add_stage(sum, stage->name, stage->role, n_before, &stage->figures);
    }
}

/* ---- reported figures ---- */

/* Adds the growth since the last reading. */
static void grow(const struct leat_figure *table, void *told, const void *last, const void *now) {
    for (const struct leat_figure *figure = table; figure->member; figure++) {
        uint64_t value = leat_figure_get(figure, now);
        uint64_t before = figure->kind == LEAT_FIGURE_COUNTER ? leat_figure_get(figure, last) : 0;

        if (value > before)
            *leat_figure_at(figure, told) += value - before;
    }
}

static void clear_gauges(struct leat_stream_reading *told) {
    told->verdict[0] = '\0';
    told->failure.unix_ns = 0;
    leat_figures_clear_gauges(leat_stream_figure_table, &told->counts.figures);
}

/* A failure that goes on is worse than one that is over, and a later one than an earlier one. */
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
    grow(leat_stream_figure_table, &told->counts.figures, &last->counts.figures,
         &now->counts.figures);
    for (int i = 0; i < LEAT_N_SPREADS; i++)
        grow_spread(&told->counts.spreads[i], &last->counts.spreads[i], &now->counts.spreads[i]);
    if (is_worse(&now->failure, &told->failure))
        told->failure = now->failure;
    for (size_t i = 0; i < now->n_stages; i++) {
        const struct leat_stage_reading *stage = &now->stages[i];
        const struct leat_stage_reading *before = leat_stream_reading_find(last, stage->name);

        grow(leat_stage_figure_table, &find_stage(told, stage->name, stage->role)->figures,
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

/* Gives a series a place of its own if one is free, or if it is in use and a series with a place is
 * not. Else its figures are added to those of the others. */
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

/* The series of that name, which is made if there is none. They stay in the order of their
 * birth. */
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

/* Sums up all streams of the name and kind of `first`. False: an earlier stream is one of them,
 * with which they were summed up already. */
static bool sum_up(const struct leat_sessions *sessions, const struct leat_daemon_stream *first,
                   struct leat_stream_reading *ret_sum) {
    struct leat_stream_counts counts;
    bool has_come = false;

    *ret_sum = (struct leat_stream_reading){.owner = owner_of(first)};
    (void)snprintf(ret_sum->name, sizeof(ret_sum->name), "%.*s", LEAT_NAME_MAX, first->name);
    for (const struct leat_daemon_stream *stream = sessions->feeds->streams.first; stream;
         stream = stream->next) {
        if (stream->is_own != first->is_own || strcmp(stream->name, first->name) != 0)
            continue;
        if (stream != first && !has_come)
            return false;
        has_come = true;
        leat_stream_read_counts(sessions, stream, &counts);
        leat_stream_counts_add(&ret_sum->counts, &counts);
        add_ended_stages(ret_sum, &stream->totals);
        if (is_worse(&stream->failure, &ret_sum->failure))
            ret_sum->failure = stream->failure;
        for (const struct leat_feed *feed = sessions->feeds->first; feed; feed = feed->next)
            if (feed->stream == stream && feed->run)
                add_run_stages(ret_sum, feed->run);
    }
    return true;
}

/* If several streams have that name, the verdict is on one that is being read. */
static void add_verdict(const struct leat_sessions *sessions,
                        const struct leat_daemon_stream *first, struct leat_stream_reading *told) {
    struct leat_verdict_interval facts;
    struct leat_text line = {.data = NULL};
    struct leat_verdict verdict;

    for (const struct leat_daemon_stream *stream = first; stream && line.n_bytes == 0;
         stream = stream->next) {
        if (stream->is_own != first->is_own || strcmp(stream->name, first->name) != 0 ||
            !leat_verdict_samples_facts(sessions, stream, VERDICT_NS, false, &facts))
            continue;
        leat_verdict_make(&facts.facts, &verdict);
        leat_verdict_line(&facts.facts, &verdict, &line);
    }
    if (line.n_bytes > 0 && !line.failed)
        (void)snprintf(told->verdict, sizeof(told->verdict), "%s", line.data);
    free(line.data);
}

/* Marks what the daemon knows and what is in use, before a place is given to another. */
static void mark_used(struct leat_series *series, const struct leat_sessions *sessions) {
    for (struct leat_one_series *one = series->first; one; one = one->next)
        one->is_known = one->is_in_use = false;
    for (const struct leat_daemon_stream *stream = sessions->feeds->streams.first; stream;
         stream = stream->next) {
        struct leat_one_series *one = find(series, stream->name, owner_of(stream));

        if (one)
            one->is_known = true;
        if (one)
            one->is_in_use |= !stream->is_own || stream->n_refs > 0;
    }
}

/* Forgets streams that the daemon has forgotten: one of that name that comes again counts from 0.
 * Its reported figures stay until its place is needed. */
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

/* Reads all streams. Returns how many names are summed up as the others. */
static uint64_t update(struct leat_series *series, const struct leat_sessions *sessions) {
    uint64_t n_other = 0;

    mark_used(series, sessions);
    forget_gone(series);
    for (struct leat_one_series *one = series->first; one; one = one->next)
        if (one->told)
            clear_gauges(one->told);
    if (series->other)
        clear_gauges(series->other);
    for (const struct leat_daemon_stream *stream = sessions->feeds->streams.first; stream;
         stream = stream->next) {
        struct leat_stream_reading sum, *told, *now;
        struct leat_one_series *one;

        if (!sum_up(sessions, stream, &sum))
            continue;
        one = find(series, sum.name, sum.owner);
        told = one ? choose_told(series, one) : NULL;
        now = told ? copy(&sum) : NULL;
        if (!now) /* the next reading has it */
            continue;
        n_other += told == series->other;
        tell(told, one->last, now);
        if (told != series->other)
            add_verdict(sessions, stream, told);
        free(one->last);
        one->last = now;
    }
    return n_other;
}

struct leat_reading *leat_series_read(struct leat_series *series,
                                      const struct leat_sessions *sessions) {
    uint64_t now_ns = leat_now_ns();
    uint64_t n_other = update(series, sessions);
    struct leat_reading *reading = leat_reading_new(series->n_told + (series->other != NULL));
    size_t n = 0;

    if (!reading)
        return NULL;
    reading->at_ns = now_ns;
    reading->unix_ns = leat_unix_ns();
    for (const struct leat_one_series *one = series->first; one; one = one->next)
        if (one->told)
            reading->streams[n++] = *one->told;
    if (series->other)
        reading->streams[n] = *series->other;
    leat_daemon_read_figures(sessions, now_ns, &reading->figures);
    reading->figures.n_streams_other = n_other;
    return reading;
}
