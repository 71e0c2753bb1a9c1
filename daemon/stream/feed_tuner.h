/* feed_tuner.h: the tuner of a feed: what happens is measured about every 100 ms in which something
 * does, and what the tuner says is applied, logged, and kept for the next run.
 *
 * Owner: loop; what is kept is written by a task of the pool.
 */
#pragma once

#include "daemon/stream/tuner_store.h"
#include "pipeline/plan/plan.h"
#include "pipeline/run/run.h"

struct leat_daemon;
struct leat_feed;

struct leat_feed_tuner {
    bool is_on;
    struct leat_tuner tuner;
    struct leat_tuner_key key;
    struct leat_run_stats last; /* at the beginning of the interval */
    uint64_t start_ns;          /* of it */
    bool is_starved;
    uint64_t starved_ns, starved_since_ns;
};

/* What was kept, as found on the pool before there is a feed. */
struct leat_feed_kept {
    bool is_there;
    struct leat_tuner_memory memory;
    struct leat_error error; /* why what is there is of no use; code 0: nothing */
};

/* Whether the tuner of that plan is on, as the settings are now. */
bool leat_feed_tuner_is_on(const struct leat_daemon *daemon, const struct leat_plan *plan);
/* What is given by hand. Any thread. */
void leat_feed_tuner_pins(const struct leat_plan *plan, bool ret_is_pinned[LEAT_N_KNOBS]);
/* On the pool: what was kept, unless the stream itself wants no tuner. */
void leat_feed_tuner_look(const struct leat_tuner_store *store, const struct leat_plan *plan,
                          struct leat_feed_kept *ret_kept);

/* Once, when the feed is there. kept NULL: nothing. */
void leat_feed_tuner_start(struct leat_feed *feed, const struct leat_feed_kept *kept);
/* Often. */
void leat_feed_tuner_step(struct leat_feed *feed);
/* A trainer of its began to wait for a batch, or does not any more. One that is at the end of an
 * epoch, and has not begun the next, wants none. */
void leat_feed_tuner_note_waits(struct leat_feed *feed, uint64_t now_ns);
/* Slots that it wants for batches ahead; 0: it has no say. */
uint32_t leat_feed_tuner_slots(const struct leat_feed *feed);
/* The run ends. */
void leat_feed_tuner_end(struct leat_feed *feed);
