/* opening.h: what happens between OPEN and OPENED: the request is checked, and the plan of its
 * stream is built on the pool, since that reads files.
 *
 * Owner: loop; on the pool, the worker has the fields up to `kept`.
 */
#pragma once

#include "daemon/schedule/scheduler.h"
#include "daemon/stream/admission.h"
#include "daemon/stream/feed.h"
#include "daemon/stream/stream.h"
#include "pipeline/plan/description.h"
#include "pipeline/plan/plan.h"

#define LEAT_OPENING_CLIENT_NAME 64
#define LEAT_OPENING_RANK_SOURCE 16

struct leat_session;
struct leat_sessions;

struct leat_opening {
    struct leat_task task;
    const struct leat_opener *opener;
    struct leat_spec *spec; /* a copy: the stream's may be replaced */
    struct leat_plan *plan;
    struct leat_error error;
    struct leat_feed_kept kept; /* of its tuner */

    struct leat_sessions *sessions;
    struct leat_user *user;
    struct leat_session *session; /* NULL: it has gone, and the plan is not wanted any more */
    uint64_t session_id;
    /* The plan was built, or `error` says why not. */
    void (*on_planned)(struct leat_session *session, struct leat_opening *opening);
    struct leat_loading loading;
    struct leat_memory_wait wait; /* for memory to run the plan */
    uint64_t loaded_bytes;        /* of the plan, counted while it waits */
    struct leat_daemon_stream *stream;
    bool has_own_stream;      /* that the user is charged for */
    uint64_t n_reloads;       /* of the configuration, before the spec was taken */
    struct leat_roots *roots; /* of the opener; NULL: it has none */
    struct leat_run_options run_options;
    uint64_t seed;   /* of the run */
    uint32_t window; /* once it is planned, fitted to the size of batches */
    bool has_window; /* the trainer named it */
    uint32_t rank, world_size;
    uint32_t local_rank, local_world_size; /* on this machine; size 0: unknown */
    char client_name[LEAT_OPENING_CLIENT_NAME + 1];
    char rank_source[LEAT_OPENING_RANK_SOURCE + 1];
    struct leat_claim claim; /* what the batches before the position were made of */
    bool has_position;       /* it opens in the middle, or says what its data was */
    bool has_claimed_seed, accepts_changes;
    uint64_t claimed_seed;
    struct leat_data *known;        /* the stream's data when it was last seen; NULL: never */
    struct leat_error change;       /* that was accepted; code 0: none */
    struct leat_error keep_failure; /* its description cannot be kept; code 0: none */
};

/* Checks the request, a protobuf OpenRequest. NULL: it cannot be served. */
struct leat_opening *leat_opening_new(struct leat_sessions *sessions, struct leat_user *user,
                                      const uint8_t *payload, size_t n_bytes,
                                      struct leat_error *err);
/* Starts to build the plan, which ends with on_planned. session, session_id and on_planned are set
 * by the caller. */
int leat_opening_start(struct leat_opening *opening, struct leat_error *err);
struct leat_opening *leat_opening_free(struct leat_opening *opening);

/* Counts the bytes that its plan has loaded, until the feed does; then 0. */
void leat_opening_count(struct leat_opening *opening, uint64_t loaded_bytes);

/* Writes the Opened message of a plan into `buffer`. 0 or -EMSGSIZE. seed: of the run. */
int leat_opening_reply(const struct leat_plan *plan, uint64_t seed, uint32_t window,
                       uint64_t world_size, uint8_t *buffer, size_t size, size_t *ret_n_bytes);
