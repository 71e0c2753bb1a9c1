/* broadcast.h: decides which reader gets which batch of which run. Pure: events in, actions out.
 *
 * A broadcast is about one sequence of batches, given by a stream's spec, data, seed and world
 * size. Readers want it, each from its own position and at its own pace. Runs make it, each from
 * where it was started. A run puts out items: a batch lies in a slot once, for all readers that
 * want it. A reader has credit for `window` batches, and holds what it takes until it releases it.
 * An item that no reader wants or holds is freed, and its slot may be filled again.
 *
 *   - A reader reads from one run, from its cursor on: all items of its rank. Where no run has what
 *     it wants next, it asks for a run that starts at its position (START).
 *   - When a run has no free slot and one of its readers is hungry, the slowest readers are let go:
 *     those that want the oldest item that is not held. They ask for a run of their own when they
 *     want more. If all slots are held, the hungry readers get runs of their own instead.
 *   - A run that comes close to what another run still has gets that one as its successor. It goes
 *     on up to `until`, and its readers then read on at the successor. They want the successor's
 *     items from there on at once, so that these stay. A run with predecessors has no successor.
 *   - A run for several ranks keeps items of ranks without a reader while it has free slots: the
 *     trainers of one machine do not all start at once.
 *
 * Holds outlast everything else: a reader that moved, a connection whose process still lives
 * (quarantine), and a run that was closed. All four numbers that a client names are compared with
 * its holds. So it can release only what it holds, and only once.
 *
 * The literature calls this a broadcast over slots with acknowledgements. Here many runs take the
 * place of one sender that waits. test_broadcast_model.c tries the orders of events.
 *
 * The caller owns all memory. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_BROADCAST_NO_LIMIT UINT64_MAX
#define LEAT_BROADCAST_AHEAD    2 /* slots of a run beyond those that its readers may hold */

struct leat_broadcast;
struct leat_broadcast_run;
struct leat_broadcast_reader;

/* The batch of that number, or what follows those before it. */
struct leat_broadcast_place {
    uint64_t epoch, step;
};

/* An output of a run. The caller sets the fields up to `slot`. */
struct leat_broadcast_item {
    bool is_end; /* of the epoch; without a slot */
    bool is_last;
    uint64_t epoch, step; /* of an end: the number of steps of the epoch */
    uint64_t generation;  /* of the ring */
    uint32_t slot;
    uint32_t n_wants; /* readers that want it and have not taken it */
    uint32_t n_holds; /* readers that took it, and pins */
    struct leat_broadcast_run *run;
    struct leat_broadcast_item *next, *previous; /* of its run, in order */
    struct leat_broadcast_item *next_freed;
};

struct leat_broadcast_run {
    struct leat_broadcast *broadcast;
    struct leat_broadcast_run *next; /* of the broadcast's */
    struct leat_broadcast_item *first, *last;
    struct leat_broadcast_reader *readers;
    struct leat_broadcast_place head, tail; /* all items from tail up to head are there */
    struct leat_broadcast_run *successor;   /* where its readers go on, from: */
    struct leat_broadcast_place until;
    uint32_t n_readers, n_hungry, n_predecessors;
    uint64_t first_rank, n_ranks;
    uint64_t first_epoch, phase;  /* where rounds begin in that epoch; in later ones it is 0 */
    uint64_t end_epoch, n_wanted; /* its limits: epochs before that one, and so many batches */
    uint64_t n_batches, n_outputs;
    uint64_t retry_at; /* n_outputs at which it looks for a successor again */
    uint32_t backoff;
    bool is_starved; /* a batch waits for a slot, and none is free */
    bool is_full;    /* it is starved because all slots are held: no reader may join */
    bool has_ended;  /* nothing more comes from it */
    bool has_failed; /* it ended with an error */
    bool is_closed;
    struct leat_broadcast_run *next_action;
    bool has_action;
};

/* A batch that a reader took. */
struct leat_broadcast_hold {
    struct leat_broadcast_item *item; /* NULL: its slot is not in use any more */
    uint64_t generation, epoch, step;
    uint32_t slot;
};

/* The caller sets the fields up to `holds`. */
struct leat_broadcast_reader {
    uint64_t rank;
    uint64_t first_rank, n_ranks;     /* of this machine; the rank is among them */
    struct leat_broadcast_place next; /* wanted */
    uint64_t phase;                   /* where rounds begin in its first epoch */
    uint64_t n_epochs;                /* 0: without end */
    uint64_t n_left;                  /* batches; LEAT_BROADCAST_NO_LIMIT */
    uint32_t window;
    struct leat_broadcast_hold *holds; /* [window] */

    struct leat_broadcast *broadcast; /* NULL: it has not joined */
    struct leat_broadcast_run *run;
    struct leat_broadcast_reader *next_reader, **link; /* of its run's */
    struct leat_broadcast_item *cursor;                /* the next that it takes */
    struct leat_broadcast_reader *next_woken, *next_asking;
    uint64_t first_epoch, end_epoch;
    uint64_t n_moves;              /* from run to run */
    uint32_t n_holds, n_announced; /* the first ones of holds */
    bool is_hungry;                /* it has credit, and there is nothing for it */
    bool is_finished;              /* it has had its last end */
    bool has_left;
    bool is_woken, is_asking; /* in the broadcast's lists */
    bool is_waiting;          /* there was no room for a run */
};

struct leat_broadcast_ops {
    /* True if a run may have a ring of at least so many slots, to which it then grows. Must not
     * call the broadcast. */
    bool (*make_room)(void *user, struct leat_broadcast_run *run, uint32_t n_slots);
};

struct leat_broadcast {
    uint64_t world_size;
    const struct leat_broadcast_ops *ops;
    void *user;
    struct leat_broadcast_run *runs;
    struct leat_broadcast_item *first_freed, **last_freed;
    struct leat_broadcast_reader *first_woken, **last_woken;
    struct leat_broadcast_reader *first_asking, **last_asking;
    struct leat_broadcast_run *first_action, **last_action;
    uint32_t n_runs;
    uint64_t n_moves, n_detached; /* readers that went on at a successor, or were let go */
    uint64_t n_parted;            /* readers let go because a ring could not grow as promised */
};

void leat_broadcast_init(struct leat_broadcast *broadcast, uint64_t world_size,
                         const struct leat_broadcast_ops *ops, void *user);

/* ---- readers ---- */

enum leat_broadcast_taken_kind {
    LEAT_BROADCAST_NOTHING, /* there is nothing yet, or no credit */
    LEAT_BROADCAST_BATCH,
    LEAT_BROADCAST_END,
    LEAT_BROADCAST_FAILED, /* its run has failed; nothing will come */
};

struct leat_broadcast_taken {
    struct leat_broadcast_item *item; /* BATCH: held, not announced */
    uint64_t epoch, step;
    bool is_last; /* END */
};

void leat_broadcast_join(struct leat_broadcast *broadcast, struct leat_broadcast_reader *reader);
/* True if a run has what the reader wants next; there may yet be no room on it. */
bool leat_broadcast_could_place(const struct leat_broadcast_reader *reader);
enum leat_broadcast_taken_kind leat_broadcast_take(struct leat_broadcast_reader *reader,
                                                   struct leat_broadcast_taken *ret_taken);
/* The number of batches that it has credit for and its run has not put out. */
uint32_t leat_broadcast_lack(const struct leat_broadcast_reader *reader);
/* It took nothing although it has credit: it is woken when there is something. */
void leat_broadcast_wait(struct leat_broadcast_reader *reader);
/* The client was told of the next n_batches batches. keeps_slot false: the client gets copies, and
 * the slots are only held by the pins of the copier. */
void leat_broadcast_announce(struct leat_broadcast_reader *reader, uint32_t n_batches,
                             bool keeps_slot);
/* False: the client did not hold that batch. */
bool leat_broadcast_release(struct leat_broadcast_reader *reader, uint64_t generation,
                            uint32_t slot, uint64_t epoch, uint64_t step);
/* It takes no more; batches that were announced stay held. */
void leat_broadcast_leave(struct leat_broadcast_reader *reader);
void leat_broadcast_release_copies(struct leat_broadcast_reader *reader); /* those without a slot */
void leat_broadcast_release_all(struct leat_broadcast_reader *reader);
/* A hold of the item that belongs to no reader, and its end. */
void leat_broadcast_pin(struct leat_broadcast_item *item);
void leat_broadcast_unpin(struct leat_broadcast_item *item);

/* ---- runs ---- */

/* The answers to START: a run begins at the reader's position, or there is no room for one. The
 * caller keeps the run's memory until it was CLOSEd and has no items. */
void leat_broadcast_started(struct leat_broadcast_reader *reader, struct leat_broadcast_run *run,
                            uint64_t first_rank, uint64_t n_ranks);
void leat_broadcast_not_started(struct leat_broadcast_reader *reader);
/* There may be room now: a reader that waits asks again. */
void leat_broadcast_retry(struct leat_broadcast_reader *reader);
void leat_broadcast_output(struct leat_broadcast_run *run, struct leat_broadcast_item *item);
void leat_broadcast_set_starved(struct leat_broadcast_run *run, bool is_starved);
/* The number of slots with which no reader of the run waits for another. */
uint32_t leat_broadcast_n_needed(const struct leat_broadcast_run *run);
/* The run ends with an error, which its readers get when they have taken all that it made. */
void leat_broadcast_fail(struct leat_broadcast_run *run);
/* There was no room for the run after all: its readers wait for some. */
void leat_broadcast_abort(struct leat_broadcast_run *run);

/* ---- actions ---- */

enum leat_broadcast_action_kind {
    LEAT_BROADCAST_FREE,   /* the item is the caller's again, and its slot may be filled */
    LEAT_BROADCAST_WAKE,   /* the reader may take */
    LEAT_BROADCAST_START,  /* make a run for the reader, and others that want the same */
    LEAT_BROADCAST_EXTEND, /* the run's limits have grown */
    LEAT_BROADCAST_CLOSE,  /* end the run; items that are held are freed later */
};

struct leat_broadcast_action {
    enum leat_broadcast_action_kind kind;
    struct leat_broadcast_item *item;
    struct leat_broadcast_reader *reader;
    struct leat_broadcast_run *run;
    struct leat_broadcast_place place; /* START: where the run begins, */
    uint64_t first_rank, n_ranks, phase;
    uint64_t n_epochs;  /* and its limits; 0: none */
    uint64_t n_batches; /* LEAT_BROADCAST_NO_LIMIT: none */
};

/* To be called after each event, until it returns false. */
bool leat_broadcast_next_action(struct leat_broadcast *broadcast,
                                struct leat_broadcast_action *ret_action);
