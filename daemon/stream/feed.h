/* feed.h: drives one run: its jobs go to the scheduler, its batches into a ring, and from there to
 * the hub of its share, which knows who wants and who holds them.
 *
 * A feed makes larger slots when a batch does not fit: the new ring has another generation, the old
 * one lives until its last batch is given back. Once its hub has closed its run, it is freed when
 * no job is out and every slot is free, which may be long after, if a process that lost its
 * connection still lives (quarantine).
 *
 *     STARTING (first ring is made) -> RUNNING <-> GROWING -> CLOSING (jobs come back) -> freed
 *
 * Owner: loop.
 */
#pragma once

#include "daemon/schedule/scheduler.h"
#include "daemon/stream/feed_tuner.h"
#include "daemon/stream/hub.h"
#include "daemon/stream/ring.h"
#include "daemon/users/user.h"
#include "pipeline/memory/budget.h"
#include "pipeline/run/run.h"

struct leat_daemon;
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
    /* Of the thread that executes it: */
    _Atomic uint64_t cpu_start_ns; /* what it had used when it began, */
    _Atomic clockid_t cpu_clock;   /* and its clock; 0: it has not begun */
};

/* Memory being made, or given back, on the pool. */
struct leat_slot_ring_task {
    struct leat_task task;
    struct leat_feed *feed;
    struct leat_slot_ring *ring;
    uint64_t generation;
    size_t slot_bytes, charged_bytes;
    uint32_t n_slots;
    bool may_do_without; /* the one that is there will do */
    struct leat_error error;
};

/* A batch in a slot, or the end of an epoch. */
struct leat_feed_item {
    struct leat_hub_item hub; /* first */
    struct leat_feed_item *next_free;
    struct leat_slot_ring *ring;
    uint32_t n_rows;
    uint64_t used_bytes;
};

/* What a session took, on its way to its trainer. */
struct leat_feed_output {
    bool is_end;
    bool is_last; /* of the ends */
    struct leat_feed_item *item;
    uint64_t epoch, step; /* of an end: step is the number of steps of the epoch */
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
    uint64_t guaranteed_bytes;   /* with the plan's knobs */
    struct leat_plan *plan;
    struct leat_run *run;
    struct leat_task_queue queue;
    struct leat_feed_job *free_jobs;
    uint32_t n_jobs;              /* out */
    uint32_t n_tasks;             /* of its own that are out: it does not end before */
    uint32_t min_slots;           /* without which it does not serve its sessions, */
    uint32_t least_slots;         /* whoever they are */
    uint32_t n_slack_ticks;       /* for which they were twice as many as need be */
    struct leat_slot_ring *ring;  /* the one that is filled; in `rings` too */
    struct leat_slot_ring *rings; /* all that have memory */
    uint64_t n_cache_notes;       /* that were seen */
    struct leat_error error;      /* of the feed itself; code 0: none */
    struct leat_share *share;
    struct leat_hub_run hub_run;
    struct leat_feed_item *free_items;
    uint64_t number;                   /* for operators */
    uint64_t first_epoch;              /* of its run */
    uint64_t reached;                  /* the latest epoch that a trainer of its has begun */
    struct leat_daemon_stream *stream; /* gets the run's counters in the end */
    uint32_t n_slots;                  /* of its first ring */
    struct leat_feed_tuner tuner;
};

static inline struct leat_feed *leat_feed_of(const struct leat_hub_run *run) {
    return (struct leat_feed *)(uintptr_t)((const char *)run - offsetof(struct leat_feed, hub_run));
}

/* Starts a run of the share's plan; without waiting for its first ring, with which comes
 * leat_share_on_started. window: batches that its first trainer may hold. options: of the run;
 * max_map_jobs and now_ns are set here. */
int leat_feed_new(struct leat_share *share, const struct leat_run_options *options, uint32_t window,
                  struct leat_feed **ret_feed, struct leat_error *err);
/* Nobody wants what it makes any more. */
void leat_feed_close(struct leat_feed *feed);

/* Gives the hub the next output, or tells it that the stream failed; false: there is nothing. */
bool leat_feed_pull(struct leat_feed *feed);
/* A trainer has begun that epoch. */
/* Adds what the jobs that are being executed have taken so far, which no counter has yet. */
void leat_feed_add_running(const struct leat_feed *feed, uint64_t now_ns,
                           struct leat_run_job_stats jobs[LEAT_N_JOB_KINDS]);
void leat_feed_reach(struct leat_feed *feed, uint64_t epoch);
/* An item is not in use any more. */
void leat_feed_free_item(struct leat_feed_item *item);
/* Ends of the run are further off. */
void leat_feed_extend(struct leat_feed *feed);

/* Whether its ring may have at least so many slots; if it has not, a larger one is made. */
bool leat_feed_make_room(struct leat_feed *feed, uint32_t n_slots);
/* So many, if there is room, or fewer again if it may shrink; for its tuner. */
void leat_feed_fit_ring(struct leat_feed *feed, uint32_t n_slots, bool may_shrink);

/* A task without which it does not end, and that it is done. */
void leat_feed_add_task(struct leat_feed *feed, struct leat_task *task);
void leat_feed_task_done(struct leat_feed *feed);

/* Why nothing more comes, or NULL. */
const struct leat_error *leat_feed_error(const struct leat_feed *feed);
/* Nothing more will come, for this reason. */
void leat_feed_fail(struct leat_feed *feed, const struct leat_error *err);
void leat_feed_out_of_memory(struct leat_feed *feed);

/* Drives all feeds to which something happened since the last call. */
void leat_feeds_flush(struct leat_daemon *daemon);
/* Puts it among those. */
void leat_feed_mark(struct leat_feed *feed);
/* About once a second: what costs something to hold and is not used is given up. */
void leat_feeds_tick(struct leat_daemon *daemon);
/* Somebody needs memory: what is not in use and beyond guarantees is given back. */
void leat_feeds_trim(struct leat_daemon *daemon);

/* Its rings (feed_ring.c). */
void leat_feed_set_state(struct leat_feed *feed, enum leat_feed_state state);
void leat_feed_finish_if_idle(struct leat_feed *feed);
int leat_feed_make_ring(struct leat_feed *feed, size_t min_slot_bytes, uint32_t n_slots,
                        bool may_do_without, struct leat_error *err);
void leat_feed_grow_slots(struct leat_feed *feed, size_t need);
void leat_feed_retire_ring(struct leat_feed *feed);
void leat_feed_free_ring_if_idle(struct leat_feed *feed, struct leat_slot_ring *ring);
void leat_feed_give_slots(struct leat_feed *feed);
void leat_feed_give_back(struct leat_feed *feed); /* at a tick: slots that nobody needs any more */
