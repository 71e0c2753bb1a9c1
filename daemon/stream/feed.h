/* feed.h: drives one run. Its jobs go to the scheduler, its batches into a ring, and from there to
 * the broadcast of its share, which knows the readers that want and hold them.
 *
 * A feed makes larger slots when a batch does not fit. The new ring has another generation, and the
 * old one lives until its last batch is given back. Once the broadcast has closed its run, a feed
 * is freed when no job is out and every slot is free. That may be long after, if a process that
 * lost its connection still lives (quarantine).
 *
 *     STARTING (first ring is made) -> RUNNING <-> GROWING -> CLOSING (jobs come back) -> freed
 *
 * feed.c has jobs, outputs and life, feed_ring.c the rings, feed_tuner.c the tuner. Owner: loop.
 */
#pragma once

#include "daemon/schedule/scheduler.h"
#include "daemon/stream/broadcast.h"
#include "daemon/stream/ring.h"
#include "daemon/stream/tuner_store.h"
#include "daemon/users/user.h"
#include "pipeline/memory/budget.h"
#include "pipeline/run/pipeline.h"
#include "proto/base/container_of.h"

struct leat_feeds;
struct leat_share;
struct leat_daemon_stream;
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
    uint64_t submit_ns;
    /* The executing thread sets these: */
    _Atomic uint64_t cpu_start_ns; /* processor time at the job's start */
    _Atomic clockid_t cpu_clock;   /* 0: the job has not begun */
};

/* A batch in a slot, or the end of an epoch. */
struct leat_feed_item {
    struct leat_broadcast_item base; /* first */
    struct leat_feed_item *next_free;
    struct leat_slot_ring *ring;
    uint32_t n_rows;
    uint64_t used_bytes;
};

/* A batch or end that a session took, on its way to the trainer. */
struct leat_feed_output {
    bool is_end;
    bool is_last; /* of the ends */
    struct leat_feed_item *item;
    uint64_t epoch, step; /* of an end: step is the number of steps of the epoch */
};

/* The tuner of a feed: see feed_tuner.c. */
struct leat_feed_tuner {
    bool is_on;
    struct leat_tuner tuner;
    struct leat_tuner_key key;
    struct leat_run_stats last; /* at the beginning of the interval */
    uint64_t start_ns;          /* of the interval */
    bool is_starved;            /* a trainer waits for a batch */
    uint64_t starved_ns, starved_since_ns;
};

/* The values that an earlier run's tuner kept. Read on the pool, before the feed is made. */
struct leat_feed_kept {
    bool is_there;
    struct leat_tuner_memory memory;
    struct leat_error error; /* why the file cannot be used; code 0: nothing is wrong */
};

/* The memory that a run is given: see leat_admission_open(). */
struct leat_admission {
    struct leat_memory_plan memory;
    struct leat_account account;
    uint32_t n_slots, n_min_slots; /* of the ring */
    uint64_t guaranteed_bytes;
};

/* Operations of the feed's share. */
struct leat_feed_ops {
    /* The first ring is there, or (err) could not be made. */
    void (*start)(struct leat_feed *feed, const struct leat_error *err);
    /* The broadcast may have actions. */
    void (*act)(struct leat_feed *feed);
    /* The data changed while it was read. */
    void (*notify)(struct leat_feed *feed, const struct leat_error *notice);
    /* The feed is freed, and gives back its reference. */
    void (*end)(struct leat_share *share);
};

/* The parts of a new feed. It takes references to plan, user and stream. */
struct leat_feed_order {
    const struct leat_feed_ops *ops;
    struct leat_share *take_share; /* a reference, until ops->end */
    struct leat_plan *plan;
    struct leat_user *user;
    struct leat_daemon_stream *stream;
    const struct leat_feed_kept *kept;
    struct leat_run_options options; /* those about threads, clock and memory are set by the feed */
    struct leat_admission admission; /* with an open account, which the feed takes over */
};

struct leat_feed {
    struct leat_feed *next, **link; /* of all feeds */
    struct leat_feed *next_dirty;
    bool is_dirty;
    enum leat_feed_state state;
    struct leat_feeds *feeds;
    const struct leat_feed_ops *ops;
    struct leat_share *share;
    struct leat_user *user;      /* pays for the rings */
    struct leat_account account; /* of all its memory */
    uint64_t loaded_bytes;       /* of the plan */
    uint64_t guaranteed_bytes;   /* with the plan's knobs */
    struct leat_plan *plan;
    struct leat_run *run;
    struct leat_task_queue queue;
    struct leat_feed_job *free_jobs;
    uint32_t n_jobs;              /* out */
    uint32_t n_tasks;             /* other tasks of the feed that are out */
    uint32_t min_slots;           /* that its present readers need, */
    uint32_t least_slots;         /* and that any reader needs */
    uint32_t n_slack_ticks;       /* in which min_slots was twice as many as needed */
    struct leat_slot_ring *ring;  /* the one that is filled; in `rings` too */
    struct leat_slot_ring *rings; /* all that have memory */
    uint64_t n_cache_notes;       /* that were seen */
    struct leat_error error;      /* of the feed itself; code 0: none */
    struct leat_broadcast_run broadcast_run;
    struct leat_feed_item *free_items;
    uint64_t number;                   /* for operators */
    uint64_t first_epoch;              /* of its run */
    uint64_t reached;                  /* the latest epoch that one of its trainers has begun */
    struct leat_daemon_stream *stream; /* gets the run's counters in the end */
    uint32_t n_slots;                  /* of its first ring */
    struct leat_feed_tuner tuner;
};

static inline struct leat_feed *leat_feed_of(const struct leat_broadcast_run *run) {
    return LEAT_CONTAINER_OF(run, struct leat_feed, broadcast_run);
}

/* Starts a run; ops->start follows once it has its first ring. The order's share and account are
 * taken over even on failure. */
int leat_feed_new(struct leat_feeds *feeds, const struct leat_feed_order *order,
                  struct leat_feed **ret_feed, struct leat_error *err);
/* The run has no readers any more. */
void leat_feed_close(struct leat_feed *feed);

/* Gives the broadcast the next output, or tells it that the stream failed. False: nothing is ready.
 */
bool leat_feed_pull(struct leat_feed *feed);
/* A trainer has begun that epoch. */
void leat_feed_reach(struct leat_feed *feed, uint64_t epoch);
/* Adds what jobs under way have taken so far, which the counters of the run do not have yet. */
void leat_feed_add_running(const struct leat_feed *feed, uint64_t now_ns,
                           struct leat_run_job_stats *jobs);
/* The item is neither wanted nor held any more. */
void leat_feed_free_item(struct leat_feed_item *item);
/* The limits of the broadcast's run have grown. */
void leat_feed_extend(struct leat_feed *feed);

/* Adds a task without which the feed does not end; its `done` calls leat_feed_task_done(). */
void leat_feed_add_task(struct leat_feed *feed, struct leat_task *task);
void leat_feed_task_done(struct leat_feed *feed);

/* Why nothing more comes, or NULL. */
const struct leat_error *leat_feed_error(const struct leat_feed *feed);
/* Ends the stream with an error. */
void leat_feed_fail(struct leat_feed *feed, const struct leat_error *err);
void leat_feed_out_of_memory(struct leat_feed *feed);

/* Drives all feeds and consumers that were marked since the last call. */
void leat_feeds_flush(struct leat_feeds *feeds);
void leat_feed_mark(struct leat_feed *feed);
/* To be called about once a second: gives up what is costly to hold and not used. */
void leat_feeds_tick(struct leat_feeds *feeds);
/* Gives back memory beyond guarantees that is not in use. */
void leat_feeds_trim(struct leat_feeds *feeds);

void leat_feed_set_state(struct leat_feed *feed, enum leat_feed_state state);
void leat_feed_finish_if_idle(struct leat_feed *feed);

/* feed_ring.c. True if the ring has so many slots, or may grow to that, which it then does. */
bool leat_feed_make_room(struct leat_feed *feed, uint32_t n_slots);
/* For the tuner: grows the ring if there is room, or shrinks it if it may. */
void leat_feed_fit_ring(struct leat_feed *feed, uint32_t n_slots, bool may_shrink);
/* may_do_without: a failure is no failure of the feed, which goes on with its present ring. */
int leat_feed_make_ring(struct leat_feed *feed, size_t min_slot_bytes, uint32_t n_slots,
                        bool may_do_without, struct leat_error *err);
void leat_feed_grow_slots(struct leat_feed *feed, size_t need);
void leat_feed_retire_ring(struct leat_feed *feed);
void leat_feed_free_ring_if_idle(struct leat_feed *feed, struct leat_slot_ring *ring);
void leat_feed_give_slots(struct leat_feed *feed);
void leat_feed_give_back(
    struct leat_feed *feed); /* at a tick: slots that are not needed any more */

/* feed_tuner.c. Finds the knobs that the stream sets itself. Any thread. */
void leat_feed_tuner_pins(const struct leat_plan *plan, bool ret_is_pinned[LEAT_N_KNOBS]);
/* On the pool: reads what was kept, unless the stream itself wants no tuner. */
void leat_feed_tuner_recall(const struct leat_tuner_store *store, const struct leat_plan *plan,
                            struct leat_feed_kept *ret_kept);
/* Once, when the feed is there. kept NULL: nothing was kept. */
void leat_feed_tuner_start(struct leat_feed *feed, const struct leat_feed_kept *kept);
/* To be called often: takes a sample when an interval is over. */
void leat_feed_tuner_step(struct leat_feed *feed);
/* A trainer has begun or ceased to wait for a batch. A trainer that was sent the end of an epoch
 * and has not begun the next does not wait. */
void leat_feed_tuner_note_waits(struct leat_feed *feed, uint64_t now_ns);
/* The number of slots that it wants for batches ahead; 0: it is off. */
uint32_t leat_feed_tuner_slots(const struct leat_feed *feed);
/* The run ends: keeps what was found. */
void leat_feed_tuner_end(struct leat_feed *feed);
