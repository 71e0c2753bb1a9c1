/* hub_run.c: which session is on which run: coming and going, falling behind, coming together. */
#include <assert.h>

#include "daemon/stream/hub_internal.h"

#define BACKOFF_LEAST 16U
#define LAG_MOST      2048 /* items that are kept for those who come */
#define BACKOFF_MOST  (1U << 20)

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

struct leat_hub_item *leat_hub_find_wanted(const struct leat_hub_session *session,
                                           struct leat_hub_item *item) {
    while (item && !leat_hub_wants(session, item))
        item = item->next;
    return item;
}

static struct leat_hub_item *find_place(struct leat_hub_run *run, struct leat_hub_place from) {
    struct leat_hub_item *item = run->first;

    while (item && leat_hub_compare(leat_hub_place_of(item), from) < 0)
        item = item->next;
    return item;
}

void leat_hub_set_hungry(struct leat_hub_session *session, bool is_hungry) {
    if (session->run && is_hungry != session->is_hungry)
        session->run->n_hungry += is_hungry ? 1 : UINT32_MAX;
    session->is_hungry = is_hungry;
}

static void link_session(struct leat_hub_run *run, struct leat_hub_session *session) {
    session->run = run;
    session->next_session = run->sessions;
    session->link = &run->sessions;
    if (session->next_session)
        session->next_session->link = &session->next_session;
    run->sessions = session;
    run->n_sessions++;
    run->n_hungry += session->is_hungry;
}

static void unlink_session(struct leat_hub_session *session) {
    struct leat_hub_run *run = session->run;

    *session->link = session->next_session;
    if (session->next_session)
        session->next_session->link = session->link;
    run->n_sessions--;
    run->n_hungry -= session->is_hungry;
    session->run = NULL;
    session->cursor = NULL;
}

/* ---- wants ---- */

static void add_wants(struct leat_hub_session *session, struct leat_hub_item *item) {
    for (; item; item = item->next)
        item->n_wants += leat_hub_wants(session, item);
}

static void drop_wants(const struct leat_hub_session *session, struct leat_hub_item *item) {
    struct leat_hub_item *next;

    for (; item; item = next) {
        next = item->next;
        if (!leat_hub_wants(session, item))
            continue;
        assert(item->n_wants > 0);
        item->n_wants--;
        leat_hub_drop_if_unused(item);
    }
}

bool leat_hub_is_rank_read(const struct leat_hub_run *run, const struct leat_hub_item *item) {
    uint64_t rank = item->step % run->hub->world_size;
    const struct leat_hub_run *other = run->n_predecessors > 0 ? run->hub->runs : NULL;
    const struct leat_hub_session *session;

    for (session = run->sessions; session; session = session->next_session)
        if (session->rank == rank)
            return true;
    for (; other; other = other->next)
        for (session = other->successor == run ? other->sessions : NULL; session;
             session = session->next_session)
            if (session->rank == rank)
                return true;
    return false;
}

/* ---- room ---- */

static uint32_t held_by(const struct leat_hub_session *session, const struct leat_hub_run *run) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < session->n_holds; i++)
        n += session->holds[i].item && session->holds[i].item->run == run;
    return n;
}

/* Slots that may be held at once: whole windows, and what those hold that are gone. */
static uint32_t claimed_slots(const struct leat_hub_run *run) {
    const struct leat_hub_session *session;
    uint32_t n = 0;

    for (const struct leat_hub_item *item = run->first; item; item = item->next)
        n += item->n_holds;
    for (session = run->sessions; session; session = session->next_session)
        n += session->window - held_by(session, run);
    for (const struct leat_hub_run *other = run->hub->runs; other; other = other->next)
        for (session = other->successor == run ? other->sessions : NULL; session;
             session = session->next_session)
            n += session->window - held_by(session, run);
    return n;
}

uint32_t leat_hub_n_needed(const struct leat_hub_run *run) {
    return claimed_slots(run) + LEAT_HUB_AHEAD;
}

static bool make_room(struct leat_hub_run *run, uint32_t n_more) {
    struct leat_hub *hub = run->hub;

    return hub->ops->make_room(hub->user, run, leat_hub_n_needed(run) + n_more);
}

/* It makes what the session wants too. */
static void extend(struct leat_hub_run *run, const struct leat_hub_session *session) {
    uint64_t round = run->n_batches > 0 && run->n_ranks > 1 ? run->n_ranks : 0;
    uint64_t n_wanted = session->n_left == LEAT_HUB_NO_LIMIT
                            ? LEAT_HUB_NO_LIMIT
                            : run->n_batches + session->n_left * run->n_ranks + round;

    if (n_wanted <= run->n_wanted && session->end_epoch <= run->end_epoch)
        return;
    run->n_wanted = larger(run->n_wanted, n_wanted);
    run->end_epoch = larger(run->end_epoch, session->end_epoch);
    leat_hub_add_action(run);
}

/* ---- coming and going ---- */

static void close_if_unused(struct leat_hub_run *run) {
    struct leat_hub_run **link = &run->hub->runs, *successor = run->successor;
    struct leat_hub_item *next;

    if (run->n_sessions > 0 || run->n_predecessors > 0 || run->is_closed)
        return;
    while (*link != run)
        link = &(*link)->next;
    *link = run->next;
    run->hub->n_runs--;
    run->is_closed = run->has_ended = true;
    run->successor = NULL;
    for (struct leat_hub_item *item = run->first; item; item = next) {
        next = item->next;
        leat_hub_drop_if_unused(item);
    }
    leat_hub_add_action(run);
    if (successor) {
        successor->n_predecessors--;
        close_if_unused(successor);
    }
}

void leat_hub_detach(struct leat_hub_session *session) {
    struct leat_hub_run *run = session->run;

    if (!run)
        return;
    drop_wants(session, session->cursor);
    if (run->successor)
        drop_wants(session, find_place(run->successor, run->until));
    unlink_session(session);
    close_if_unused(run);
}

void leat_hub_leave_ended(struct leat_hub_session *session) {
    struct leat_hub_run *run = session->run, *successor = run->successor;

    assert(!session->cursor && run->has_ended && !run->has_failed);
    if (!successor || leat_hub_compare(run->head, run->until) < 0) {
        leat_hub_detach(session);
        return;
    }
    unlink_session(session);
    link_session(successor, session);
    session->cursor = leat_hub_find_wanted(session, find_place(successor, run->until));
    session->n_moves++;
    session->hub->n_moves++;
    close_if_unused(run);
}

static bool has_rank(const struct leat_hub_run *run, uint64_t rank) {
    return rank >= run->first_rank && rank - run->first_rank < run->n_ranks;
}

/* Which batches make a round decides which ones are left over at the end of an epoch. */
static bool has_rounds_of(const struct leat_hub_run *run, const struct leat_hub_session *session,
                          uint64_t epoch) {
    return (epoch == run->first_epoch ? run->phase : 0) ==
           (epoch == session->first_epoch ? session->phase : 0);
}

static bool has_next(const struct leat_hub_run *run, const struct leat_hub_session *session) {
    return !run->has_ended && !run->successor && !run->is_full && has_rank(run, session->rank) &&
           leat_hub_compare(run->tail, session->next) <= 0 &&
           leat_hub_compare(leat_hub_round_of(session), run->head) <= 0 &&
           has_rounds_of(run, session, session->next.epoch);
}

static void attach(struct leat_hub_run *run, struct leat_hub_session *session) {
    link_session(run, session);
    add_wants(session, run->first);
    session->cursor = leat_hub_find_wanted(session, run->first);
    extend(run, session);
    leat_hub_wake(session); /* there may be something that the hub does not know of yet */
}

bool leat_hub_place_session(struct leat_hub_session *session) {
    for (struct leat_hub_run *run = session->hub->runs; run; run = run->next)
        if (has_next(run, session) && make_room(run, session->window)) {
            attach(run, session);
            return true;
        }
    return false;
}

bool leat_hub_could_place(const struct leat_hub_session *session) {
    for (const struct leat_hub_run *run = session->hub->runs; run; run = run->next)
        if (has_next(run, session))
            return true;
    return false;
}

void leat_hub_started(struct leat_hub_session *session, struct leat_hub_run *run,
                      uint64_t first_rank, uint64_t n_ranks) {
    struct leat_hub *hub = session->hub;

    *run = (struct leat_hub_run){.hub = hub,
                                 .next = hub->runs,
                                 .first_rank = first_rank,
                                 .first_epoch = session->next.epoch,
                                 .phase = leat_hub_phase(session),
                                 .n_ranks = n_ranks,
                                 .end_epoch = session->end_epoch};
    run->n_wanted =
        session->n_left == LEAT_HUB_NO_LIMIT ? LEAT_HUB_NO_LIMIT : session->n_left * n_ranks;
    run->head = run->tail = leat_hub_round_of(session);
    hub->runs = run;
    hub->n_runs++;
    attach(run, session);
}

void leat_hub_not_started(struct leat_hub_session *session) {
    session->is_waiting = true;
}

void leat_hub_retry(struct leat_hub_session *session) {
    if (!session->is_waiting)
        return;
    session->is_waiting = false;
    leat_hub_ask(session);
}

void leat_hub_end_run(struct leat_hub_run *run) {
    run->has_ended = true;
    for (struct leat_hub_session *session = run->sessions, *next; session; session = next) {
        next = session->next_session;
        leat_hub_wake(session);
    }
}

void leat_hub_fail(struct leat_hub_run *run) {
    run->has_failed = true;
    leat_hub_end_run(run);
}

/* ---- falling behind ---- */

/* Its sessions do not want what its successor has: it goes on alone, and looks for one later. */
static void cut(struct leat_hub_run *run) {
    struct leat_hub_run *successor = run->successor;

    for (const struct leat_hub_session *session = run->sessions; session;
         session = session->next_session)
        drop_wants(session, find_place(successor, run->until));
    run->successor = NULL;
    run->backoff = run->backoff < BACKOFF_LEAST  ? BACKOFF_LEAST
                   : run->backoff < BACKOFF_MOST ? 2 * run->backoff
                                                 : BACKOFF_MOST;
    run->retry_at = run->n_outputs + run->backoff;
    successor->n_predecessors--;
    close_if_unused(successor);
}

static void let_go(struct leat_hub_run *run, const struct leat_hub_item *item) {
    struct leat_hub_session *session = run->sessions, *next;
    struct leat_hub_item copy = *item; /* it goes with the last who wants it */

    for (; session; session = next) {
        next = session->next_session;
        if (!session->cursor || !leat_hub_wants(session, &copy))
            continue;
        leat_hub_detach(session);
        session->n_moves++;
        session->hub->n_detached++;
    }
    for (struct leat_hub_run *other = run->hub->runs; other; other = other->next)
        if (other->successor == run &&
            leat_hub_compare(leat_hub_place_of(&copy), other->until) >= 0)
            cut(other);
}

/* Others hold all slots, and nobody knows for how long: the hungry ones get runs of their own. The
 * ring was to have room for all windows, but could not be made larger. */
static void part(struct leat_hub_run *run) {
    run->is_full = true;
    for (struct leat_hub_session *session = run->sessions, *next; session; session = next) {
        next = session->next_session;
        if (!session->is_hungry)
            continue;
        leat_hub_detach(session);
        session->n_moves++;
        session->hub->n_parted++;
        leat_hub_ask(session);
    }
}

/* The first item that nobody holds. */
static struct leat_hub_item *first_loose(const struct leat_hub_run *run) {
    struct leat_hub_item *item = run->first;

    while (item && (item->n_holds > 0 || item->is_end))
        item = item->next;
    return item;
}

/* A slot is wanted, by whoever is hungry. */
void leat_hub_relieve(struct leat_hub_run *run) {
    struct leat_hub_item *item = run->first;

    if (!run->is_starved || run->n_hungry == 0)
        return;
    while (item && (item->n_holds > 0 || item->is_end || item->n_wants > 0))
        item = item->next;
    if (item) {
        leat_hub_drop_if_unused(item);
        run->is_starved = false;
        return;
    }
    item = first_loose(run);
    if (!item) {
        part(run);
        return;
    }
    let_go(run, item);
    run->is_starved = false;
}

void leat_hub_set_starved(struct leat_hub_run *run, bool is_starved) {
    run->is_starved = is_starved;
    run->is_full &= is_starved;
    leat_hub_relieve(run);
}

void leat_hub_abort(struct leat_hub_run *run) {
    for (struct leat_hub_run *other = run->hub->runs; other; other = other->next)
        if (other->successor == run)
            cut(other);
    run->has_ended = true;
    while (run->sessions) {
        struct leat_hub_session *session = run->sessions;

        session->is_waiting = true;
        leat_hub_set_hungry(session, true);
        leat_hub_detach(session);
    }
}

/* ---- coming together ---- */

static bool has_all_of(const struct leat_hub_run *run, const struct leat_hub_run *other) {
    uint64_t epoch = larger(run->tail.epoch, other->head.epoch);

    for (const struct leat_hub_session *session = other->sessions; session;
         session = session->next_session)
        if (!has_rank(run, session->rank) ||
            !has_rounds_of(run, session, larger(epoch, session->next.epoch)))
            return false;
    return other->n_sessions > 0;
}

/* Items that `run` would have to keep until all of the other's sessions are there. */
static uint64_t n_kept(const struct leat_hub_run *run, const struct leat_hub_run *other) {
    uint64_t n = 0;

    if (run->head.epoch == other->head.epoch)
        return (run->head.step - other->head.step) * run->n_ranks / run->hub->world_size + 1;
    if (leat_hub_compare(run->tail, other->head) > 0)
        return UINT64_MAX;
    for (const struct leat_hub_item *item = run->last;
         item && leat_hub_compare(leat_hub_place_of(item), other->head) >= 0; item = item->previous)
        n++;
    return n;
}

static uint32_t windows_of(const struct leat_hub_run *run) {
    uint32_t n = 0;

    for (const struct leat_hub_session *session = run->sessions; session;
         session = session->next_session)
        n += session->window;
    return n;
}

/* Twice as many slots as need be, so that they do not part again at once. */
static bool is_close(struct leat_hub_run *run, const struct leat_hub_run *other) {
    uint64_t n = n_kept(run, other);

    return n <= LAG_MOST && make_room(run, windows_of(other) + 2 * (uint32_t)n);
}

static bool may_follow(const struct leat_hub_run *run, const struct leat_hub_run *other) {
    return run != other && !run->has_ended && !other->has_ended && !run->successor &&
           !other->successor && other->n_predecessors == 0 && other->n_outputs >= other->retry_at &&
           leat_hub_compare(other->head, run->head) <= 0 && has_all_of(run, other);
}

/* The other's sessions go on at `run`: true, or it stays as it is. */
static bool follow(struct leat_hub_run *run, struct leat_hub_run *other) {
    if (!may_follow(run, other))
        return false;
    if (!is_close(run, other)) {
        other->retry_at = other->n_outputs + BACKOFF_LEAST;
        return false;
    }
    other->successor = run;
    other->until = leat_hub_compare(run->tail, other->head) > 0 ? run->tail : other->head;
    run->n_predecessors++;
    for (struct leat_hub_session *session = other->sessions; session;
         session = session->next_session) {
        add_wants(session, find_place(run, other->until));
        extend(run, session);
    }
    if (leat_hub_compare(other->head, other->until) >= 0)
        leat_hub_end_run(other);
    return true;
}

void leat_hub_merge(struct leat_hub_run *run) {
    struct leat_hub *hub = run->hub;

    if (hub->n_runs < 2 || run->has_ended)
        return;
    for (struct leat_hub_run *other = hub->runs; other; other = other->next)
        if (follow(other, run) || follow(run, other))
            return;
}
