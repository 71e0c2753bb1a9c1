/* share.h: the consumers of one sequence of batches, and the feeds that make it. Carries out what
 * their broadcast decides.
 *
 * Trainers share batches if they open the same stream as the same user, with the same spec, seed,
 * world size and on_change. The data must be the very same files, not only of the same contents.
 * Data from a FIFO is not shared. Each trainer has its own position, pace, window and delivery.
 *
 * Owner: loop; consumers and feeds have references.
 */
#pragma once

#include "daemon/config/roots.h"
#include "daemon/stream/consumer.h"
#include "daemon/stream/feed.h"

struct leat_share {
    struct leat_share *next, **link; /* of all shares */
    struct leat_feeds *feeds;
    uint32_t n_refs;
    struct leat_broadcast broadcast;
    struct leat_consumer *consumers;
    uint64_t change_epoch; /* the first that none of its consumers has begun; see reload.h */
    bool is_acting;
    /* The caller of leat_share_join() sets what follows: */
    struct leat_plan *plan;
    struct leat_user *user;
    struct leat_daemon_stream *stream;
    struct leat_roots *roots;        /* of the opener; NULL: it has none */
    struct leat_run_options options; /* without position and limits */
    struct leat_feed_kept kept;
    uint64_t seed;
};

/* Joins the share of such batches, which is made if there is none. The consumer's `ops` and its
 * reader are set. 0 or -ENOMEM. */
int leat_share_join(struct leat_feeds *feeds, const struct leat_share *wanted,
                    struct leat_consumer *consumer);
/* The consumer takes no more; it may be called again, or where no share was joined. */
void leat_share_leave(struct leat_consumer *consumer);
/* The options of a run for the local ranks of the consumer, without position and limits. */
struct leat_run_options leat_share_options_for(const struct leat_consumer *consumer);
/* There may be something for the consumer: it is flushed before the loop waits. */
void leat_share_mark(struct leat_consumer *consumer);
/* When the consumer is freed: drops its mark and its reference. */
void leat_share_forget(struct leat_consumer *consumer);

/* Carries out the actions of the broadcast; to be called after each event. */
void leat_share_act(struct leat_share *share);
