/* shared_world.h: a small world around the broadcast (daemon/stream/broadcast.h). All events may
 * happen at any time: trainers that come, read, release, lose their connection, die; runs that
 * make batches; rings without room; a daemon that crashes. The world is one struct without pointers
 * to the outside, so that a state is saved and restored by copying it.
 *
 * A slot's memory is what was last written into it. After each event a trainer checks what it was
 * sent against the sequence that it must see, and what it holds against the memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/stream/broadcast.h"

#define WORLD_MAX_TRAINERS 3
#define WORLD_MAX_RUNS     8
#define WORLD_MAX_SLOTS    16
#define WORLD_MAX_WINDOW   2
#define WORLD_MAX_HELD     6 /* of several daemons, one after the other */
#define WORLD_MAX_ITEMS    64
#define WORLD_MAX_EVENTS   64

struct world_case {
    const char *name;
    uint32_t n_trainers, n_slots, world_size, n_local; /* n_local: ranks of this machine; 1: own */
    uint64_t n_steps;                                  /* of each epoch */
    struct {
        uint32_t window;
        uint64_t rank, epoch, step, n_epochs, n_left;
    } trainers[WORLD_MAX_TRAINERS];
    uint32_t n_promised; /* slots that a ring is said to have room for, if more than it has */
    uint64_t fail_epoch, fail_step; /* where all runs fail; step 0 of epoch 0: nowhere */
    uint32_t n_losses, n_crashes, n_refusals;
    bool is_slow; /* the daemon may take batches before it tells of them */
};

enum world_event_kind {
    WORLD_JOIN,
    WORLD_MAKE,    /* a run puts something out */
    WORLD_PUMP,    /* a run is starved, or not any more */
    WORLD_TAKE,    /* the daemon takes for a trainer, and tells it */
    WORLD_QUIETLY, /* or does not yet */
    WORLD_TELL,
    WORLD_RELEASE,
    WORLD_RETRY,
    WORLD_LOSE, /* the connection; the process still reads */
    WORLD_DIE,
    WORLD_CRASH, /* the daemon */
    WORLD_N_KINDS,
};

struct world_event {
    enum world_event_kind kind;
    uint32_t of;    /* the trainer or run */
    uint32_t which; /* RELEASE: of those it holds */
    bool refuses_start, refuses_room;
};

/* What a trainer was told of and has not released. */
struct world_held {
    uint32_t run, slot;
    uint64_t generation, epoch, step;
};

enum world_trainer_state { WORLD_ABSENT, WORLD_JOINED, WORLD_DONE, WORLD_LOST, WORLD_DEAD };

struct world_trainer {
    struct leat_broadcast_reader reader;
    struct leat_broadcast_hold holds[WORLD_MAX_WINDOW];
    enum world_trainer_state state;
    bool may_take;                /* woken, or has credit again */
    uint64_t epoch, step, n_left; /* what must come next */
    uint32_t n_held;
    struct world_held held[WORLD_MAX_HELD];
    struct world_held released; /* last */
};

struct world_run {
    struct leat_broadcast_run run;
    bool is_used, is_closed, is_lost; /* lost: of a daemon that crashed */
    uint64_t generation, epoch, step; /* to be made next */
    uint64_t n_batches, end_epoch, n_wanted;
    bool has_ended;
    bool is_taken[WORLD_MAX_SLOTS];
    struct leat_broadcast_place memory[WORLD_MAX_SLOTS];
};

struct world {
    const struct world_case *it;
    struct leat_broadcast broadcast;
    struct world_trainer trainers[WORLD_MAX_TRAINERS];
    struct world_run runs[WORLD_MAX_RUNS];
    struct {
        struct leat_broadcast_item item;
        bool is_used;
    } items[WORLD_MAX_ITEMS];
    uint64_t next_generation;
    uint32_t n_losses, n_crashes, n_refusals;
    bool refuses_start, refuses_room, has_refused; /* while an event goes on */
};

/* What all worlds together have seen. */
struct world_counts {
    uint64_t n_starts, n_shared, n_moves, n_detached, n_kept, n_quarantined, n_failed;
};
extern struct world_counts world_counts;

void world_init(struct world *world, const struct world_case *it);
/* All that may happen next. */
uint32_t world_events(const struct world *world, struct world_event *ret_events);
/* NULL, or what is wrong. If *ret_is_void, the event's refusals were not asked for: as without. */
const char *world_step(struct world *world, const struct world_event *event, bool *ret_is_void);
/* Does what the broadcast says. */
const char *world_act(struct world *world);
uint32_t world_run_index(const struct world *world, const struct leat_broadcast_run *run);
/* What holds in every state. */
const char *world_check(struct world *world);
/* With all others stopped, that trainer gets all that it wants. Changes the world. */
const char *world_check_alone(struct world *world, uint32_t trainer);
/* While nobody comes, goes or gives anything back, each trainer that waits gets what it waits for.
 * Changes the world. */
const char *world_check_waiting(struct world *world);
/* When all have gone, nothing is left. Changes the world. */
const char *world_check_end(struct world *world);
/* Of all that matters for what may come. */
uint64_t world_hash(const struct world *world);
