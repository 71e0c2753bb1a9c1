/* opening.h: what lies between OPEN and OPENED: the request is checked, and the plan of its stream
 * is built on the pool, since that reads files.
 *
 * Owner: loop; on the pool only the fields under `task` are touched by the worker.
 */
#pragma once

#include "daemon/schedule/scheduler.h"
#include "daemon/stream/admission.h"
#include "daemon/stream/feed_tuner.h"
#include "daemon/stream/stream.h"
#include "pipeline/plan/description.h"
#include "pipeline/plan/plan.h"

struct leat_session;

struct leat_opening {
    struct leat_task task;
    const struct leat_opener *opener;
    struct leat_spec *spec; /* a copy: the stream's may be replaced */
    struct leat_plan *plan;
    struct leat_error error;
    struct leat_feed_kept kept; /* of its tuner */

    struct leat_daemon *daemon;
    struct leat_user *user;
    struct leat_loading loading;
    struct leat_memory_wait wait; /* the plan is there, and needs memory to run */
    uint64_t loaded_bytes;        /* of the plan, counted while it waits */
    struct leat_session *session; /* NULL: it has gone; nobody wants the plan */
    struct leat_daemon_stream *stream;
    uint64_t n_reloads;       /* of the configuration, before the spec was taken */
    struct leat_roots *roots; /* of the opener; NULL: it has none */
    struct leat_run_options run_options;
    uint32_t window;
    bool has_window;         /* the trainer said it */
    struct leat_claim claim; /* what the batches before the position were of */
    bool has_position;       /* it opens in the middle, or says of what data its batches were */
    bool has_claimed_seed, accepts_changes;
    uint64_t claimed_seed;
    struct leat_data *known;        /* the stream's data as it was seen before; NULL: it was not */
    struct leat_error change;       /* that was accepted; code 0: none */
    struct leat_error keep_failure; /* its description cannot be kept; code 0: none */
};

/* Checks the request (protobuf OpenRequest) and starts building the plan, which ends in
 * leat_session_on_planned. Sets the session's stream, rank, window and name. */
int leat_opening_start(struct leat_session *session, const uint8_t *payload, size_t n_bytes,
                       struct leat_error *err);
struct leat_opening *leat_opening_free(struct leat_opening *opening);

/* Counts what its plan has loaded, until the feed does: 0. */
void leat_opening_count(struct leat_opening *opening, uint64_t loaded_bytes);
/* Once the plan is there: a larger default window where batches are small. */
void leat_opening_fit_window(const struct leat_opening *opening, struct leat_session *session);

/* The Opened message of a plan into `buffer`: 0 or -EMSGSIZE. seed: of the run. */
int leat_opening_reply(const struct leat_plan *plan, uint64_t seed, uint32_t window,
                       uint64_t world_size, uint8_t *buffer, size_t size, size_t *ret_n_bytes);
