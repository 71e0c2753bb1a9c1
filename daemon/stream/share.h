/* share.h: the trainers of one sequence of batches, and the runs that make it: carries out what
 * their hub decides.
 *
 * Those share who open the same stream as the same user, with the same spec, seed, world size and
 * on_change, of the same data as it was loaded (the very files, not only files with the same
 * contents). What comes through a FIFO is not shared. Each has its own position, pace, window and
 * delivery.
 *
 * Owner: loop; sessions and feeds have references.
 */
#pragma once

#include "daemon/stream/feed.h"
#include "daemon/trainer/opening.h"

struct leat_share {
    struct leat_share *next, **link; /* of the daemon's */
    struct leat_daemon *daemon;
    uint32_t n_refs;
    struct leat_hub hub;
    uint64_t change_epoch; /* the first that none of its sessions has begun; see reload.h */
    bool is_acting;
    struct leat_plan *plan;
    struct leat_user *user;
    struct leat_daemon_stream *stream;
    struct leat_roots *roots;        /* of the opener; NULL: it has none */
    struct leat_run_options options; /* but for where and how much */
    struct leat_feed_kept kept;
    uint64_t seed;
};

/* The one that an opening belongs to, made if need be; a reference. NULL: no memory. */
struct leat_share *leat_share_get(struct leat_opening *opening);
struct leat_share *leat_share_ref(struct leat_share *share);
struct leat_share *leat_share_unref(struct leat_share *share); /* accepts NULL */

/* Does what the hub says; after each event. */
void leat_share_act(struct leat_share *share);
/* A feed has its first ring (err NULL), or could not have one. */
void leat_share_on_started(struct leat_feed *feed, const struct leat_error *err);
