/* stream.h: the streams that the daemon knows: those of its settings, for ever, and those that
 * trainers described, while they run and a while longer.
 *
 * A stream keeps the counters of its runs that have ended, so that operators still see what a
 * trainer got after it left. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/stream/failure.h"
#include "pipeline/memory/budget.h"
#include "pipeline/run/run.h"
#include "pipeline/run/tuner.h"

#define LEAT_STREAMS_MAX_ENDED 64 /* trainers' own streams that are remembered */
#define LEAT_STREAM_MAX_STAGES 64 /* that are counted: those behind are not */

struct leat_stream_totals {
    uint64_t n_batches, n_rows, n_elements, n_source_bytes, n_source_records, n_bad_records;
    uint64_t n_changed_files;
    uint64_t n_waits, wait_ns;                  /* a trainer had credit, and nothing was ready */
    uint64_t trainer_ns;                        /* that trainers were served, of all together */
    uint64_t lifetime_ns, no_slot_ns, short_ns; /* of its runs together */
    uint64_t n_batch_bytes;
    uint64_t n_failures[LEAT_N_FAILURES];
    struct leat_spread waits, batch_bytes, batch_rows; /* of waits those that are over */
    struct leat_run_job_stats jobs[LEAT_N_JOB_KINDS];
    struct leat_pool_stats pools[LEAT_N_MEMORIES];
    size_t n_stages;
    struct leat_stream_stage {
        char name[LEAT_NAME_MAX + 1];
        enum leat_role role;
        uint64_t n_records, n_bytes, busy_ns, n_errors;
        struct leat_histogram times;
    } * stages; /* [LEAT_STREAM_MAX_STAGES]; NULL: there was no run yet */
    char last_error[LEAT_ERROR_PRINT_MAX];
};

struct leat_looks;

struct leat_daemon_stream {
    struct leat_daemon_stream *next;
    char *name;
    struct leat_spec *spec; /* a copy of the settings' as they are now, or of a trainer */
    bool is_ended;          /* an own one: nobody opens it any more */
    bool is_own;            /* of a trainer: described by it, or a declared one as it wants it */
    bool is_removed;        /* not in the settings any more: it goes with the last reference */
    struct leat_stream_origin {
        char *name, *split; /* of its own ones: the declared stream, and what part of that; NULL */
        int shuffle;        /* enum leat_variant_shuffle */
    } origin;
    uid_t uid;              /* whose own it is */
    uint32_t n_refs;        /* sessions and feeds */
    size_t look;            /* its number among those of the reload under way; 0: none */
    struct leat_data *data; /* as it was last seen; NULL: it was not yet */
    struct leat_stream_totals totals;
    struct leat_failure failure;
    struct leat_looks *looks; /* at its counters, lately; NULL: it was not run yet */
    struct leat_trace *trace; /* of its runs; NULL: nobody wants one */
    uint64_t stalled_ns;      /* the age of its oldest task, if that is stalled; else 0 */
    uint32_t n_stalled;       /* tasks */
    uint64_t stall_told_ns;   /* when that was last logged; 0: never */
    bool has_tuner;
    struct leat_tuner tuner; /* of the run that ended last */
};

struct leat_streams {
    struct leat_daemon_stream *first, **last;
    uint32_t n_ended_own;
};

/* Of copies of the specs. 0 or -ENOMEM. */
int leat_streams_init(struct leat_streams *streams, struct leat_spec *const *specs, size_t n_specs);
/* The declared streams are those of `take_streams` from now on. One of a name that there was stays
 * what it is, with its counts, and gets the new spec; one that is not there any more goes when
 * nobody refers to it. */
void leat_streams_replace(struct leat_streams *streams, struct leat_streams *take_streams);
void leat_streams_deinit(struct leat_streams *streams);

/* The operator's stream of that name, a reference; or NULL and an error that names the nearest. */
struct leat_daemon_stream *leat_streams_find(struct leat_streams *streams, const char *name,
                                             struct leat_error *err);
/* Any stream of that name, for who only looks: of several the one that is in use most; no
 * reference. NULL and the same error. */
struct leat_daemon_stream *leat_streams_look(const struct leat_streams *streams, const char *name,
                                             struct leat_error *err);
/* A trainer's own: takes over the spec; the earlier one of that user and name if nobody uses it. */
struct leat_daemon_stream *leat_streams_add_own(struct leat_streams *streams, uid_t uid,
                                                struct leat_spec *take_spec);
/* It is a declared one as a trainer wants it. 0 or -ENOMEM. */
int leat_daemon_stream_set_origin(struct leat_daemon_stream *stream, const char *name,
                                  const char *split, int shuffle);
/* From the settings, or made from one of those. */
static inline bool leat_daemon_stream_is_declared(const struct leat_daemon_stream *stream) {
    return !stream->is_own || stream->origin.name;
}
/* What its next opening gets; forgets what was known of its data if that is perhaps another. */
void leat_daemon_stream_set_spec(struct leat_daemon_stream *stream, struct leat_spec *take_spec);
struct leat_daemon_stream *leat_daemon_stream_ref(struct leat_daemon_stream *stream);
void leat_streams_unref(struct leat_streams *streams, struct leat_daemon_stream *stream);

/* A run of it, or an opening, has failed. run: the latest there is. */
void leat_daemon_stream_fail(struct leat_daemon_stream *stream, const struct leat_error *err,
                             bool was_opening, uint64_t run);
/* That run has made a batch of it. */
static inline void leat_daemon_stream_made(struct leat_daemon_stream *stream, uint64_t run) {
    stream->failure.is_over |= run > stream->failure.run;
}
/* A trainer has opened it. */
static inline void leat_daemon_stream_opened(struct leat_daemon_stream *stream) {
    stream->failure.is_over |= stream->failure.was_opening;
}

void leat_stream_totals_add(struct leat_stream_totals *totals, const struct leat_run_stats *stats);
/* A copy that is to be freed, of what it had no memory for without the stages. */
void leat_stream_totals_copy(struct leat_stream_totals *totals,
                             const struct leat_stream_totals *other);
void leat_stream_totals_deinit(struct leat_stream_totals *totals);
