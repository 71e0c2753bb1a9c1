/* stream.c: a list, since there are dozens of streams, and trainers open them rarely. */
#include "daemon/stream/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/base/clock.h"

#define MAX_CANDIDATES 256
#define SECOND_NS      UINT64_C(1000000000)

static struct leat_daemon_stream *stream_free(struct leat_daemon_stream *stream) {
    if (!stream)
        return NULL;
    assert(stream->n_refs == 0);
    leat_spec_free(stream->spec);
    free(stream->origin.name);
    free(stream->origin.split);
    leat_data_unref(stream->data);
    leat_stream_totals_deinit(&stream->totals);
    free(stream->name);
    free(stream->samples);
    free(stream);
    return NULL;
}

static struct leat_daemon_stream *add_stream(struct leat_streams *streams, const char *name) {
    struct leat_daemon_stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->name = strdup(name);
    if (!stream->name)
        return stream_free(stream);
    *streams->last = stream;
    streams->last = &stream->next;
    return stream;
}

static void drop_stream(struct leat_streams *streams, struct leat_daemon_stream *stream) {
    struct leat_daemon_stream **link = &streams->first;

    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    if (!stream->next)
        streams->last = link;
    stream_free(stream);
}

int leat_streams_init(struct leat_streams *streams, struct leat_spec *const *specs,
                      size_t n_specs) {
    *streams = (struct leat_streams){.first = NULL};
    streams->last = &streams->first;
    for (size_t i = 0; i < n_specs; i++) {
        struct leat_daemon_stream *stream = add_stream(streams, specs[i]->name);

        if (!stream || leat_spec_copy(specs[i], &stream->spec) < 0) {
            leat_streams_deinit(streams);
            return -ENOMEM;
        }
    }
    return 0;
}

void leat_daemon_stream_set_spec(struct leat_daemon_stream *stream, struct leat_spec *take_spec) {
    if (!leat_spec_equal(stream->spec, take_spec)) {
        leat_data_unref(stream->data);
        stream->data = NULL;
    }
    leat_spec_free(stream->spec);
    stream->spec = take_spec;
}

static struct leat_daemon_stream *find_declared(const struct leat_streams *streams,
                                                const char *name) {
    for (struct leat_daemon_stream *stream = streams->first; stream; stream = stream->next)
        if (!stream->is_own && strcmp(stream->name, name) == 0)
            return stream;
    return NULL;
}

/* Takes all for removed until they are found among the new ones. */
void leat_streams_replace(struct leat_streams *streams, struct leat_streams *take_streams) {
    struct leat_daemon_stream *fresh, *stream, *next;

    for (stream = streams->first; stream; stream = stream->next)
        stream->is_removed = !stream->is_own;
    while ((fresh = take_streams->first)) {
        take_streams->first = fresh->next;
        stream = find_declared(streams, fresh->name);
        if (stream) {
            stream->is_removed = false;
            leat_daemon_stream_set_spec(stream, fresh->spec);
            fresh->spec = NULL;
            stream_free(fresh);
        } else {
            fresh->next = NULL;
            *streams->last = fresh;
            streams->last = &fresh->next;
        }
    }
    take_streams->last = &take_streams->first;
    for (stream = streams->first; stream; stream = next) {
        next = stream->next;
        if (stream->is_removed && stream->n_refs == 0)
            drop_stream(streams, stream);
    }
}

void leat_streams_deinit(struct leat_streams *streams) {
    while (streams->first)
        drop_stream(streams, streams->first);
}

uint32_t leat_streams_count(const struct leat_streams *streams) {
    uint32_t n = 0;

    for (const struct leat_daemon_stream *stream = streams->first; stream; stream = stream->next)
        n++;
    return n;
}

static void tell_unknown(const struct leat_streams *streams, const char *name,
                         struct leat_error *err) {
    const char *names[MAX_CANDIDATES] = {NULL}, *nearest;
    size_t n = 0;

    for (const struct leat_daemon_stream *stream = streams->first; stream; stream = stream->next)
        if (!stream->is_own && !stream->is_removed && n < MAX_CANDIDATES)
            names[n++] = stream->name;
    nearest = leat_nearest(name, names, n);
    if (nearest)
        leat_error_set(err, -ENOENT, "there is no stream \"%.64s\"; did you mean \"%s\"?", name,
                       nearest);
    else if (n > 0)
        leat_error_set(err, -ENOENT, "there is no stream \"%.64s\"; there is \"%s\"%s", name,
                       names[0], n > 1 ? " and others" : "");
    else
        leat_error_set(err, -ENOENT,
                       "there is no stream \"%.64s\"; the daemon's settings have no streams", name);
}

struct leat_daemon_stream *leat_streams_find(struct leat_streams *streams, const char *name,
                                             struct leat_error *err) {
    for (struct leat_daemon_stream *stream = streams->first; stream; stream = stream->next)
        if (!stream->is_own && !stream->is_removed && strcmp(stream->name, name) == 0)
            return leat_daemon_stream_ref(stream);
    tell_unknown(streams, name, err);
    return NULL;
}

struct leat_daemon_stream *leat_streams_peek(const struct leat_streams *streams, const char *name,
                                             struct leat_error *err) {
    struct leat_daemon_stream *found = NULL;

    for (struct leat_daemon_stream *stream = streams->first; stream; stream = stream->next)
        if (strcmp(stream->name, name) == 0 && (!found || stream->n_refs > found->n_refs))
            found = stream;
    if (!found)
        tell_unknown(streams, name, err);
    return found;
}

static struct leat_daemon_stream *find_own(struct leat_streams *streams, uid_t uid,
                                           const char *name) {
    for (struct leat_daemon_stream *stream = streams->first; stream; stream = stream->next)
        if (stream->is_own && stream->n_refs == 0 && stream->uid == uid &&
            strcmp(stream->name, name) == 0)
            return stream;
    return NULL;
}

struct leat_daemon_stream *leat_streams_add_own(struct leat_streams *streams, uid_t uid,
                                                struct leat_spec *take_spec) {
    struct leat_daemon_stream *stream = find_own(streams, uid, take_spec->name);

    if (stream)
        streams->n_ended_own--;
    else
        stream = add_stream(streams, take_spec->name);
    if (!stream) {
        leat_spec_free(take_spec);
        return NULL;
    }
    leat_spec_free(stream->spec);
    stream->spec = take_spec;
    stream->is_own = true;
    stream->is_ended = false;
    stream->uid = uid;
    free(stream->origin.name);
    free(stream->origin.split);
    stream->origin = (struct leat_stream_origin){.name = NULL};
    return leat_daemon_stream_ref(stream);
}

int leat_daemon_stream_set_origin(struct leat_daemon_stream *stream, const char *name,
                                  const char *split, int shuffle) {
    stream->origin = (struct leat_stream_origin){strdup(name), strdup(split), shuffle};
    return stream->origin.name && stream->origin.split ? 0 : -ENOMEM;
}

struct leat_daemon_stream *leat_daemon_stream_ref(struct leat_daemon_stream *stream) {
    stream->n_refs++;
    return stream;
}

void leat_streams_unref(struct leat_streams *streams, struct leat_daemon_stream *stream) {
    if (!stream || --stream->n_refs > 0)
        return;
    if (!stream->is_own) {
        if (stream->is_removed)
            drop_stream(streams, stream);
        return;
    }
    if (!stream->is_ended) /* else it was referenced without being opened */
        streams->n_ended_own++;
    stream->is_ended = true;
    if (streams->n_ended_own <= LEAT_STREAMS_MAX_ENDED)
        return;
    for (struct leat_daemon_stream *old = streams->first; old; old = old->next) {
        if (!old->is_own || old->n_refs > 0)
            continue;
        drop_stream(streams, old);
        streams->n_ended_own--;
        return;
    }
}

static struct leat_stream_stage *find_stage(struct leat_stream_totals *totals, size_t index,
                                            const char *name) {
    struct leat_stream_stage *stage = &totals->stages[index];

    if (index >= totals->n_stages ||
        strcmp(stage->name, name) != 0) { /* another plan than before */
        *stage = (struct leat_stream_stage){.role = LEAT_ROLE_SCAN};
        memcpy(stage->name, name, strnlen(name, LEAT_NAME_MAX));
        totals->n_stages = index + 1;
    }
    return stage;
}

static void add_stages(struct leat_stream_totals *totals, const struct leat_run_stats *stats) {
    for (size_t i = 0; i < stats->n_stages && i < LEAT_STREAM_MAX_STAGES; i++) {
        const struct leat_run_stage_stats *more = &stats->stages[i];
        struct leat_stream_stage *stage = find_stage(totals, i, more->name);

        stage->role = more->role;
        leat_figures_add(leat_stage_figure_table, &stage->figures, &more->figures);
        leat_histogram_merge(&stage->times, &more->times);
    }
}

void leat_daemon_stream_fail(struct leat_daemon_stream *stream, const struct leat_error *err,
                             bool was_opening, uint64_t run) {
    enum leat_failure_reason reason = leat_failure_reason_of(err, was_opening);

    leat_failure_count(&stream->totals.counts.figures, reason);
    stream->failure = (struct leat_failure){
        .unix_ns = leat_unix_ns(), .reason = reason, .was_opening = was_opening, .run = run};
    (void)leat_error_print(err, stream->failure.text, sizeof(stream->failure.text));
}

void leat_stream_totals_add(struct leat_stream_totals *totals, const struct leat_run_stats *stats) {
    leat_stream_counts_add(&totals->counts, &stats->counts);
    leat_figures_clear_gauges(leat_stream_figure_table, &totals->counts.figures);
    leat_job_stats_add(totals->jobs, stats->jobs);
    if (!totals->stages)
        totals->stages = calloc(LEAT_STREAM_MAX_STAGES, sizeof(*totals->stages));
    if (totals->stages)
        add_stages(totals, stats);
    if (stats->last_bad && stats->last_bad->code)
        (void)leat_error_print(stats->last_bad, totals->last_error, sizeof(totals->last_error));
}

void leat_stream_totals_copy(struct leat_stream_totals *totals,
                             const struct leat_stream_totals *other) {
    *totals = *other;
    totals->stages = NULL;
    totals->n_stages = 0;
    if (!other->stages)
        return;
    totals->stages = calloc(LEAT_STREAM_MAX_STAGES, sizeof(*totals->stages));
    if (!totals->stages)
        return;
    memcpy(totals->stages, other->stages, other->n_stages * sizeof(*totals->stages));
    totals->n_stages = other->n_stages;
}

void leat_stream_totals_deinit(struct leat_stream_totals *totals) {
    free(totals->stages);
    totals->stages = NULL;
    totals->n_stages = 0;
}
