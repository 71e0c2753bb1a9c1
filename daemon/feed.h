/* feed.h: drives one run: its jobs go to the scheduler, its batches into a ring, from which whoever
 * subscribed takes them.
 *
 * A feed makes larger slots when a batch does not fit: the new ring has another generation, the old
 * one lives until its last batch is given back. It outlives its subscriber: it is freed when no job
 * is out and every slot is free, which may be long after, if a process that lost its connection
 * still lives (quarantine). Holds are counted by slot, so that several sessions may share a feed.
 *
 *     STARTING (first ring is made) -> RUNNING <-> GROWING -> CLOSING (jobs come back) -> freed
 *
 * Owner: loop.
 */
#pragma once

#include "daemon/feed_tuner.h"
#include "daemon/ring.h"
#include "daemon/scheduler.h"
#include "daemon/user.h"
#include "pipeline/budget.h"
#include "pipeline/run.h"

struct leat_daemon;
struct leat_stream;
struct leat_feed;

enum leat_feed_state {
    LEAT_FEED_STARTING,
    LEAT_FEED_RUNNING,
    LEAT_FEED_GROWING,
    LEAT_FEED_CLOSING,
};

/* A job of the run on its way through the pool. */
struct leat_feed_job {
    struct leat_task task;
    struct leat_feed_job *next;
    struct leat_feed *feed;
    struct leat_job *job;
};

/* Memory being made, or given back, on the pool. */
struct leat_ring_task {
    struct leat_task task;
    struct leat_feed *feed;
    struct leat_ring *ring;
    uint64_t generation;
    size_t slot_bytes, charged_bytes;
    uint32_t n_slots;
    struct leat_error error;
};

struct leat_feed_output {
    enum leat_output_kind kind;
    struct leat_ring *ring; /* BATCH */
    uint32_t slot;
    uint32_t n_rows;
    uint64_t epoch, step; /* EPOCH_END: step is the number of steps of the epoch */
    uint64_t used_bytes;
    bool is_last;
};

struct leat_feed_ops {
    /* The first ring is there (err NULL), or could not be made. Called once, never from within
     * leat_feed_new. */
    void (*on_started)(void *subscriber, const struct leat_error *err);
    /* Something changed: outputs may be there, or the stream failed. */
    void (*on_changed)(void *subscriber);
};

struct leat_feed {
    struct leat_feed *next, **link; /* of the daemon's feeds */
    struct leat_feed *next_dirty;
    bool is_dirty;
    enum leat_feed_state state;
    struct leat_daemon *daemon;
    struct leat_user *user;      /* pays for the rings */
    struct leat_account account; /* of all its memory */
    uint64_t loaded_bytes;       /* of the plan */
    struct leat_plan *plan;
    struct leat_run *run;
    struct leat_task_queue queue;
    struct leat_feed_job *free_jobs;
    uint32_t n_jobs;         /* out */
    uint32_t n_tasks;        /* of its own that are out: it does not end before */
    uint32_t min_slots;      /* of a ring that grows: those asked for */
    struct leat_ring *ring;  /* the one that is filled; in `rings` too */
    struct leat_ring *rings; /* all that have memory */
    uint64_t n_cache_notes;  /* that were seen */
    struct leat_error error; /* of the feed itself; code 0: none */
    const struct leat_feed_ops *ops;
    void *subscriber;           /* NULL: gone */
    struct leat_stream *stream; /* gets the run's counters in the end */
    uint32_t n_slots;           /* of its first ring */
    struct leat_feed_tuner tuner;
};

/* Starts a run of that plan; without waiting for its first ring. window: batches that the
 * subscriber may hold. options: of the run; max_map_jobs and now_ns are set here. Refers to plan,
 * user and stream. */
int leat_feed_new(struct leat_daemon *daemon, struct leat_user *user, struct leat_plan *plan,
                  const struct leat_run_options *options, uint32_t window,
                  const struct leat_feed_ops *ops, void *subscriber, struct leat_stream *stream,
                  struct leat_feed **ret_feed, struct leat_error *err);
/* The subscriber goes; it must have released or quarantined what it took. */
void leat_feed_close(struct leat_feed *feed);

/* The next output, in order. A batch's slot is READY then: hold it, or take it back. */
bool leat_feed_take(struct leat_feed *feed, struct leat_feed_output *ret_output);
void leat_feed_untake(struct leat_feed *feed, const struct leat_feed_output *output);
void leat_feed_hold(struct leat_feed *feed, struct leat_ring *ring, uint32_t slot);
void leat_feed_release(struct leat_feed *feed, struct leat_ring *ring, uint32_t slot);

/* For its tuner: a task without which it does not end, and that it is done; a ring with so many
 * slots, if there is room, or one with fewer again if it may shrink. */
void leat_feed_add_task(struct leat_feed *feed, struct leat_task *task);
void leat_feed_task_done(struct leat_feed *feed);
void leat_feed_fit_ring(struct leat_feed *feed, uint32_t n_slots, bool may_shrink);

/* Why nothing more comes, or NULL. */
const struct leat_error *leat_feed_error(const struct leat_feed *feed);

/* Drives all feeds to which something happened since the last call. */
void leat_feeds_flush(struct leat_daemon *daemon);
/* Puts it among those. */
void leat_feed_mark(struct leat_feed *feed);
/* About once a second: what costs something to hold and is not used is given up. */
void leat_feeds_tick(struct leat_daemon *daemon);
/* Somebody needs memory: what is not in use and beyond guarantees is given back. */
void leat_feeds_trim(struct leat_daemon *daemon);
