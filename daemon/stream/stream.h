/* stream.h: the streams that the daemon knows: those of its settings, and those that trainers
 * described, while they run and for a while longer.
 *
 * A stream keeps the counters of runs that have ended, so that operators still see what a trainer
 * got after it left. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/stream/failure.h"
#include "pipeline/memory/budget.h"
#include "pipeline/run/pipeline.h"

#define LEAT_STREAMS_MAX_ENDED 64 /* unused streams of trainers that are remembered */
#define LEAT_STREAM_MAX_STAGES 64 /* that have counters; further ones have none */

struct leat_stream_totals {
    struct leat_stream_counts counts; /* without gauges; of waits those that are over */
    struct leat_run_job_stats jobs[LEAT_N_JOB_KINDS];
    struct leat_pool_stats pools[LEAT_N_MEMORIES];
    size_t n_stages;
    struct leat_stream_stage {
        char name[LEAT_NAME_MAX + 1];
        enum leat_role role;
        struct leat_stage_figures figures;
        struct leat_histogram times;
    } * stages; /* [LEAT_STREAM_MAX_STAGES]; NULL: there was no run yet */
    char last_error[LEAT_ERROR_PRINT_MAX];
};

struct leat_verdict_samples;

struct leat_daemon_stream {
    struct leat_daemon_stream *next;
    char *name;
    struct leat_spec *spec; /* a copy of that in the settings, or the trainer's */
    bool is_ended;          /* a trainer's own stream that is not in use */
    bool is_own;            /* a trainer described it, or varied a declared one */
    bool is_removed;        /* no longer in the settings: freed with the last reference */
    struct leat_stream_origin {
        char *name, *split; /* the declared stream that it varies, and its part; or NULL */
        int shuffle;        /* enum leat_variant_shuffle */
    } origin;
    uid_t uid;              /* of the trainer, if is_own */
    uint32_t n_refs;        /* sessions and feeds */
    size_t look;            /* its number in the reload under way; 0: none */
    struct leat_data *data; /* as it was last seen; NULL: not seen yet */
    struct leat_stream_totals totals;
    struct leat_failure failure;
    struct leat_verdict_samples *samples; /* samples of its counters; NULL: it did not run yet */
    struct leat_trace *trace;             /* of its runs; NULL: they are not traced */
    uint64_t stalled_ns;    /* the age of its oldest task, if that is stalled; else 0 */
    uint32_t n_stalled;     /* tasks */
    uint64_t stall_told_ns; /* when the stall was last logged; 0: never */
    bool has_tuner;
    struct leat_tuner tuner; /* of the run that ended last */
};

struct leat_streams {
    struct leat_daemon_stream *first, **last;
    uint32_t n_ended_own;
    /* Called before a run of a stream begins; may be NULL. */
    void (*on_run)(void *user, struct leat_daemon_stream *stream);
    void *user;
};

/* Copies the specs. 0 or -ENOMEM. */
int leat_streams_init(struct leat_streams *streams, struct leat_spec *const *specs, size_t n_specs);
/* The declared streams become those of `take_streams`. A stream whose name remains keeps its counts
 * and gets the new spec. One whose name is gone is freed with its last reference. */
void leat_streams_replace(struct leat_streams *streams, struct leat_streams *take_streams);
void leat_streams_deinit(struct leat_streams *streams);
uint32_t leat_streams_count(const struct leat_streams *streams);

/* A reference to the declared stream of that name; or NULL and an error that names the nearest. */
struct leat_daemon_stream *leat_streams_find(struct leat_streams *streams, const char *name,
                                             struct leat_error *err);
/* Any stream of that name, without a reference; of several the one with the most references. NULL
 * and the same error. */
struct leat_daemon_stream *leat_streams_peek(const struct leat_streams *streams, const char *name,
                                             struct leat_error *err);
/* A reference to a trainer's own stream: the earlier one of that user and name if it is unused,
 * else a new one. NULL: no memory. */
struct leat_daemon_stream *leat_streams_add_own(struct leat_streams *streams, uid_t uid,
                                                struct leat_spec *take_spec);
/* Notes which declared stream it varies, and how. 0 or -ENOMEM. */
int leat_daemon_stream_set_origin(struct leat_daemon_stream *stream, const char *name,
                                  const char *split, int shuffle);
/* True for a stream of the settings, and for a variation of one. */
static inline bool leat_daemon_stream_is_declared(const struct leat_daemon_stream *stream) {
    return !stream->is_own || stream->origin.name;
}
/* Sets the spec of its next opening, and drops what is known of its data if the spec differs. */
void leat_daemon_stream_set_spec(struct leat_daemon_stream *stream, struct leat_spec *take_spec);
struct leat_daemon_stream *leat_daemon_stream_ref(struct leat_daemon_stream *stream);
void leat_streams_unref(struct leat_streams *streams, struct leat_daemon_stream *stream);

/* Notes that a run, or an opening, has failed. run: the latest one. */
void leat_daemon_stream_fail(struct leat_daemon_stream *stream, const struct leat_error *err,
                             bool was_opening, uint64_t run);
/* Notes that a run has made a batch. */
static inline void leat_daemon_stream_made(struct leat_daemon_stream *stream, uint64_t run) {
    stream->failure.is_over |= run > stream->failure.run;
}
/* Notes that a trainer has opened the stream. */
static inline void leat_daemon_stream_opened(struct leat_daemon_stream *stream) {
    stream->failure.is_over |= stream->failure.was_opening;
}

void leat_stream_totals_add(struct leat_stream_totals *totals, const struct leat_run_stats *stats);
/* Copies the totals, without the stages if there is no memory for them. */
void leat_stream_totals_copy(struct leat_stream_totals *totals,
                             const struct leat_stream_totals *other);
void leat_stream_totals_deinit(struct leat_stream_totals *totals);
