/* hub.h: who gets which batch of which run: the core of sharing. Pure: events in, actions out.
 *
 * A hub is about one sequence of batches (a stream's spec, data, seed and world size). Sessions
 * want it, each from its own position and at its own pace; runs make it, each from where it was
 * started. What a run puts out is an item of its: in a slot, once, for all who want it. A session
 * has credit for so many batches; what it takes it holds until it releases it. An item that nobody
 * wants and nobody holds is freed, and its slot may be filled again.
 *
 *   - A session reads from one run, from its cursor on; it wants all items of its rank from there.
 *     Where no run has what it wants next, it asks for one (START), at its position.
 *   - A run without a free slot (set_starved), from which a session is hungry, lets those go that
 *     want the oldest item that nobody holds: they are the slowest. They are on no run until they
 *     ask for more, and then get one of their own.
 *     If all its slots are held, it is the hungry ones that get runs of their own.
 *   - A run that comes close to what another one still has gets that one as its successor: it goes
 *     on up to `until`, and its sessions read on there; they want the successor's items from there
 *     on at once, so that these stay. Those with predecessors have no successor.
 *   - Of a run for several ranks, items of ranks that nobody reads are kept while slots are free:
 *     the trainers of one machine do not all come at once.
 *
 * Holds outlast everything: those of a session that has moved, of one that lost its connection and
 * whose process lives (quarantine), and those of a run that was closed. Numbers that a client names
 * are compared with what it was told, all four: it can release nothing but what it holds, once.
 *
 * The model in the literature is broadcast over slots with acknowledgements. Here many runs take
 * the place of one sender that waits. test_hub_model.c drives this through the orders of events.
 *
 * All memory is the caller's. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_HUB_NO_LIMIT UINT64_MAX
#define LEAT_HUB_AHEAD    2 /* slots of a run besides those that its sessions may hold */

struct leat_hub;
struct leat_hub_run;
struct leat_hub_session;

/* The batch of that number, or what comes behind those before it. */
struct leat_hub_place {
    uint64_t epoch, step;
};

/* Something that a run put out. The caller sets up to `slot`. */
struct leat_hub_item {
    bool is_end; /* of the epoch; without a slot */
    bool is_last;
    uint64_t epoch, step; /* of an end: the number of steps of the epoch */
    uint64_t generation;  /* of the ring */
    uint32_t slot;
    uint32_t n_wants; /* sessions that want it and have not taken it */
    uint32_t n_holds; /* that took it, and pins */
    struct leat_hub_run *run;
    struct leat_hub_item *next, *previous; /* of its run, in order */
    struct leat_hub_item *next_freed;
};

struct leat_hub_run {
    struct leat_hub *hub;
    struct leat_hub_run *next; /* of the hub's */
    struct leat_hub_item *first, *last;
    struct leat_hub_session *sessions;
    struct leat_hub_place head, tail; /* all items from tail up to head are there */
    struct leat_hub_run *successor;   /* its sessions go on there, from: */
    struct leat_hub_place until;
    uint32_t n_sessions, n_hungry, n_predecessors;
    uint64_t first_rank, n_ranks;
    uint64_t first_epoch, phase;  /* where rounds begin in that epoch; in later ones it is 0 */
    uint64_t end_epoch, n_wanted; /* what it is to make: epochs before, and so many batches */
    uint64_t n_batches, n_outputs;
    uint64_t retry_at; /* outputs, before which it looks for no successor */
    uint32_t backoff;
    uint32_t n_slots; /* of its ring */
    bool is_starved;  /* a batch waits for a slot, and none is free */
    bool is_full;     /* and that is so because all are held: nobody comes to it */
    bool has_ended;   /* nothing more comes from it */
    bool has_failed;  /* because of an error */
    bool is_closed;
    struct leat_hub_run *next_action;
    bool has_action;
};

/* A batch that a session took. */
struct leat_hub_hold {
    struct leat_hub_item *item; /* NULL: its slot is not in use any more */
    uint64_t generation, epoch, step;
    uint32_t slot;
};

/* The caller sets up to `holds`. */
struct leat_hub_session {
    uint64_t rank;
    uint64_t first_rank, n_ranks; /* of this machine; the rank is among them */
    struct leat_hub_place next;   /* wanted */
    uint64_t phase;               /* where rounds begin in its first epoch */
    uint64_t n_epochs;            /* 0: without end */
    uint64_t n_left;              /* batches; LEAT_HUB_NO_LIMIT */
    uint32_t window;
    struct leat_hub_hold *holds; /* [window] */

    struct leat_hub *hub; /* NULL: not with one */
    struct leat_hub_run *run;
    struct leat_hub_session *next_session, **link; /* of its run's */
    struct leat_hub_item *cursor;                  /* the next that it takes */
    struct leat_hub_session *next_woken, *next_asking;
    uint64_t first_epoch, end_epoch;
    uint64_t n_moves;              /* from run to run */
    uint32_t n_holds, n_announced; /* the first ones of holds */
    bool is_hungry;                /* it has credit, and there is nothing for it */
    bool is_finished;              /* it has had its last end */
    bool has_left;
    bool is_woken, is_asking; /* in the hub's lists */
    bool is_waiting;          /* there was no room for a run */
};

struct leat_hub_ops {
    /* Whether a run may have a ring of at least so many slots; it is made larger if need be. Calls
     * nothing of the hub. */
    bool (*make_room)(void *user, struct leat_hub_run *run, uint32_t n_slots);
};

struct leat_hub {
    uint64_t world_size;
    const struct leat_hub_ops *ops;
    void *user;
    struct leat_hub_run *runs;
    struct leat_hub_item *first_freed, **last_freed;
    struct leat_hub_session *first_woken, **last_woken;
    struct leat_hub_session *first_asking, **last_asking;
    struct leat_hub_run *first_action, **last_action;
    uint32_t n_runs, n_sessions;
    uint64_t n_moves, n_detached; /* that there were */
    uint64_t n_parted;            /* because a ring was smaller than it was said to be */
};

void leat_hub_init(struct leat_hub *hub, uint64_t world_size, const struct leat_hub_ops *ops,
                   void *user);

/* ---- sessions ---- */

enum leat_hub_taken_kind {
    LEAT_HUB_NOTHING, /* now, or for want of credit */
    LEAT_HUB_BATCH,
    LEAT_HUB_END,
    LEAT_HUB_FAILED, /* its run has; nothing will come */
};

struct leat_hub_taken {
    struct leat_hub_item *item; /* BATCH: held, not announced */
    uint64_t epoch, step;
    bool is_last; /* END */
};

void leat_hub_join(struct leat_hub *hub, struct leat_hub_session *session);
/* Whether a run has what it wants next; it may yet be that there is no room. */
bool leat_hub_could_place(const struct leat_hub_session *session);
enum leat_hub_taken_kind leat_hub_take(struct leat_hub_session *session,
                                       struct leat_hub_taken *ret_taken);
/* Batches that it would take at once, and its run has not put out. */
uint32_t leat_hub_lack(const struct leat_hub_session *session);
/* It has credit, and took nothing: when there is something, it is woken. */
void leat_hub_wait(struct leat_hub_session *session);
/* The client was told of the first so many batches that it had not been told of. keeps_slot false:
 * it has copies, so that their slots are not its own any more: who copies has pinned them. */
void leat_hub_announce(struct leat_hub_session *session, uint32_t n_batches, bool keeps_slot);
/* Whether the client held that. */
bool leat_hub_release(struct leat_hub_session *session, uint64_t generation, uint32_t slot,
                      uint64_t epoch, uint64_t step);
/* It takes no more; what was announced stays held. */
void leat_hub_leave(struct leat_hub_session *session);
void leat_hub_release_copies(struct leat_hub_session *session); /* those without a slot */
void leat_hub_release_all(struct leat_hub_session *session);
/* One more holder, or one less, that is no session. */
void leat_hub_pin(struct leat_hub_item *item);
void leat_hub_unpin(struct leat_hub_item *item);

/* ---- runs ---- */

/* The answers to START: a run that begins there, in memory of the caller's until it is CLOSEd and
 * has no items; or there was no room. */
void leat_hub_started(struct leat_hub_session *session, struct leat_hub_run *run,
                      uint64_t first_rank, uint64_t n_ranks);
void leat_hub_not_started(struct leat_hub_session *session);
/* There may be room now. */
void leat_hub_retry(struct leat_hub_session *session);
void leat_hub_output(struct leat_hub_run *run, struct leat_hub_item *item);
void leat_hub_set_starved(struct leat_hub_run *run, bool is_starved);
/* Slots with which none of its sessions waits for another. */
uint32_t leat_hub_n_needed(const struct leat_hub_run *run);
/* It is over, with an error that its sessions get when they have had what it made. */
void leat_hub_fail(struct leat_hub_run *run);
/* It could not be, for want of room: its sessions wait for that. */
void leat_hub_abort(struct leat_hub_run *run);

/* ---- actions ---- */

enum leat_hub_action_kind {
    LEAT_HUB_FREE,   /* the item is the caller's again, its slot may be filled */
    LEAT_HUB_WAKE,   /* the session may take */
    LEAT_HUB_START,  /* a run for the session, and whoever wants the same */
    LEAT_HUB_EXTEND, /* the run is to make more than it was told */
    LEAT_HUB_CLOSE,  /* the run is not wanted any more; what is held of it is freed later */
};

struct leat_hub_action {
    enum leat_hub_action_kind kind;
    struct leat_hub_item *item;
    struct leat_hub_session *session;
    struct leat_hub_run *run;
    struct leat_hub_place place; /* START: what the run begins with, */
    uint64_t first_rank, n_ranks, phase;
    uint64_t n_epochs, n_batches; /* and how much it makes: 0, LEAT_HUB_NO_LIMIT: without end */
};

/* After each event, until there is none. */
bool leat_hub_next_action(struct leat_hub *hub, struct leat_hub_action *ret_action);
