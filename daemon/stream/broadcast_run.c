/* broadcast_run.c: which reader is on which run: coming and going, falling behind, coming together.
 */
#include <assert.h>

#include "daemon/stream/broadcast_internal.h"

#define BACKOFF_LEAST 16U
#define LAG_MOST      2048 /* items that a run keeps for readers that will join it */
#define BACKOFF_MOST  (1U << 20)

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

struct leat_broadcast_item *leat_broadcast_find_wanted(const struct leat_broadcast_reader *reader,
                                                       struct leat_broadcast_item *item) {
    while (item && !leat_broadcast_wants(reader, item))
        item = item->next;
    return item;
}

static struct leat_broadcast_item *find_place(struct leat_broadcast_run *run,
                                              struct leat_broadcast_place from) {
    struct leat_broadcast_item *item = run->first;

    while (item && leat_broadcast_compare(leat_broadcast_place_of(item), from) < 0)
        item = item->next;
    return item;
}

void leat_broadcast_set_hungry(struct leat_broadcast_reader *reader, bool is_hungry) {
    if (reader->run && is_hungry != reader->is_hungry)
        reader->run->n_hungry += is_hungry ? 1 : UINT32_MAX;
    reader->is_hungry = is_hungry;
}

static void link_reader(struct leat_broadcast_run *run, struct leat_broadcast_reader *reader) {
    reader->run = run;
    reader->next_reader = run->readers;
    reader->link = &run->readers;
    if (reader->next_reader)
        reader->next_reader->link = &reader->next_reader;
    run->readers = reader;
    run->n_readers++;
    run->n_hungry += reader->is_hungry;
}

static void unlink_reader(struct leat_broadcast_reader *reader) {
    struct leat_broadcast_run *run = reader->run;

    *reader->link = reader->next_reader;
    if (reader->next_reader)
        reader->next_reader->link = reader->link;
    run->n_readers--;
    run->n_hungry -= reader->is_hungry;
    reader->run = NULL;
    reader->cursor = NULL;
}

/* ---- wants ---- */

static void add_wants(struct leat_broadcast_reader *reader, struct leat_broadcast_item *item) {
    for (; item; item = item->next)
        item->n_wants += leat_broadcast_wants(reader, item);
}

static void drop_wants(const struct leat_broadcast_reader *reader,
                       struct leat_broadcast_item *item) {
    struct leat_broadcast_item *next;

    for (; item; item = next) {
        next = item->next;
        if (!leat_broadcast_wants(reader, item))
            continue;
        assert(item->n_wants > 0);
        item->n_wants--;
        leat_broadcast_drop_if_unused(item);
    }
}

bool leat_broadcast_is_rank_read(const struct leat_broadcast_run *run,
                                 const struct leat_broadcast_item *item) {
    uint64_t rank = item->step % run->broadcast->world_size;
    const struct leat_broadcast_run *other = run->n_predecessors > 0 ? run->broadcast->runs : NULL;
    const struct leat_broadcast_reader *reader;

    for (reader = run->readers; reader; reader = reader->next_reader)
        if (reader->rank == rank)
            return true;
    for (; other; other = other->next)
        for (reader = other->successor == run ? other->readers : NULL; reader;
             reader = reader->next_reader)
            if (reader->rank == rank)
                return true;
    return false;
}

/* ---- room ---- */

static uint32_t held_by(const struct leat_broadcast_reader *reader,
                        const struct leat_broadcast_run *run) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < reader->n_holds; i++)
        n += reader->holds[i].item && reader->holds[i].item->run == run;
    return n;
}

/* Slots that may be held at once: whole windows, and the holds of readers that have gone. */
static uint32_t claimed_slots(const struct leat_broadcast_run *run) {
    const struct leat_broadcast_reader *reader;
    uint32_t n = 0;

    for (const struct leat_broadcast_item *item = run->first; item; item = item->next)
        n += item->n_holds;
    for (reader = run->readers; reader; reader = reader->next_reader)
        n += reader->window - held_by(reader, run);
    for (const struct leat_broadcast_run *other = run->broadcast->runs; other; other = other->next)
        for (reader = other->successor == run ? other->readers : NULL; reader;
             reader = reader->next_reader)
            n += reader->window - held_by(reader, run);
    return n;
}

uint32_t leat_broadcast_n_needed(const struct leat_broadcast_run *run) {
    return claimed_slots(run) + LEAT_BROADCAST_AHEAD;
}

static bool make_room(struct leat_broadcast_run *run, uint32_t n_more) {
    struct leat_broadcast *broadcast = run->broadcast;

    return broadcast->ops->make_room(broadcast->user, run, leat_broadcast_n_needed(run) + n_more);
}

/* Raises the run's limits to those of the reader. */
static void extend_limits(struct leat_broadcast_run *run,
                          const struct leat_broadcast_reader *reader) {
    uint64_t round = run->n_batches > 0 && run->n_ranks > 1 ? run->n_ranks : 0;
    uint64_t n_wanted = reader->n_left == LEAT_BROADCAST_NO_LIMIT
                            ? LEAT_BROADCAST_NO_LIMIT
                            : run->n_batches + reader->n_left * run->n_ranks + round;

    if (n_wanted <= run->n_wanted && reader->end_epoch <= run->end_epoch)
        return;
    run->n_wanted = larger(run->n_wanted, n_wanted);
    run->end_epoch = larger(run->end_epoch, reader->end_epoch);
    leat_broadcast_add_action(run);
}

/* ---- coming and going ---- */

static void close_if_unused(struct leat_broadcast_run *run) {
    struct leat_broadcast_run **link = &run->broadcast->runs, *successor = run->successor;
    struct leat_broadcast_item *next;

    if (run->n_readers > 0 || run->n_predecessors > 0 || run->is_closed)
        return;
    while (*link != run)
        link = &(*link)->next;
    *link = run->next;
    run->broadcast->n_runs--;
    run->is_closed = run->has_ended = true;
    run->successor = NULL;
    for (struct leat_broadcast_item *item = run->first; item; item = next) {
        next = item->next;
        leat_broadcast_drop_if_unused(item);
    }
    leat_broadcast_add_action(run);
    if (successor) {
        successor->n_predecessors--;
        close_if_unused(successor);
    }
}

void leat_broadcast_detach(struct leat_broadcast_reader *reader) {
    struct leat_broadcast_run *run = reader->run;

    if (!run)
        return;
    drop_wants(reader, reader->cursor);
    if (run->successor)
        drop_wants(reader, find_place(run->successor, run->until));
    unlink_reader(reader);
    close_if_unused(run);
}

void leat_broadcast_leave_ended(struct leat_broadcast_reader *reader) {
    struct leat_broadcast_run *run = reader->run, *successor = run->successor;

    assert(!reader->cursor && run->has_ended && !run->has_failed);
    if (!successor || leat_broadcast_compare(run->head, run->until) < 0) {
        leat_broadcast_detach(reader);
        return;
    }
    unlink_reader(reader);
    link_reader(successor, reader);
    reader->cursor = leat_broadcast_find_wanted(reader, find_place(successor, run->until));
    reader->n_moves++;
    reader->broadcast->n_moves++;
    close_if_unused(run);
}

static bool has_rank(const struct leat_broadcast_run *run, uint64_t rank) {
    return rank >= run->first_rank && rank - run->first_rank < run->n_ranks;
}

/* The batches left over at the end of an epoch depend on where its rounds begin. */
static bool has_rounds_of(const struct leat_broadcast_run *run,
                          const struct leat_broadcast_reader *reader, uint64_t epoch) {
    return (epoch == run->first_epoch ? run->phase : 0) ==
           (epoch == reader->first_epoch ? reader->phase : 0);
}

static bool has_next(const struct leat_broadcast_run *run,
                     const struct leat_broadcast_reader *reader) {
    return !run->has_ended && !run->successor && !run->is_full && has_rank(run, reader->rank) &&
           leat_broadcast_compare(run->tail, reader->next) <= 0 &&
           leat_broadcast_compare(leat_broadcast_round_of(reader), run->head) <= 0 &&
           has_rounds_of(run, reader, reader->next.epoch);
}

static void attach_reader(struct leat_broadcast_run *run, struct leat_broadcast_reader *reader) {
    link_reader(run, reader);
    add_wants(reader, run->first);
    reader->cursor = leat_broadcast_find_wanted(reader, run->first);
    extend_limits(run, reader);
    leat_broadcast_wake(reader); /* its run may have batches that it did not put out yet */
}

bool leat_broadcast_place_reader(struct leat_broadcast_reader *reader) {
    for (struct leat_broadcast_run *run = reader->broadcast->runs; run; run = run->next)
        if (has_next(run, reader) && make_room(run, reader->window)) {
            attach_reader(run, reader);
            return true;
        }
    return false;
}

bool leat_broadcast_could_place(const struct leat_broadcast_reader *reader) {
    for (const struct leat_broadcast_run *run = reader->broadcast->runs; run; run = run->next)
        if (has_next(run, reader))
            return true;
    return false;
}

void leat_broadcast_started(struct leat_broadcast_reader *reader, struct leat_broadcast_run *run,
                            uint64_t first_rank, uint64_t n_ranks) {
    struct leat_broadcast *broadcast = reader->broadcast;

    *run = (struct leat_broadcast_run){.broadcast = broadcast,
                                       .next = broadcast->runs,
                                       .first_rank = first_rank,
                                       .first_epoch = reader->next.epoch,
                                       .phase = leat_broadcast_phase(reader),
                                       .n_ranks = n_ranks,
                                       .end_epoch = reader->end_epoch};
    run->n_wanted = reader->n_left == LEAT_BROADCAST_NO_LIMIT ? LEAT_BROADCAST_NO_LIMIT
                                                              : reader->n_left * n_ranks;
    run->head = run->tail = leat_broadcast_round_of(reader);
    broadcast->runs = run;
    broadcast->n_runs++;
    attach_reader(run, reader);
}

void leat_broadcast_not_started(struct leat_broadcast_reader *reader) {
    reader->is_waiting = true;
}

void leat_broadcast_retry(struct leat_broadcast_reader *reader) {
    if (!reader->is_waiting)
        return;
    reader->is_waiting = false;
    leat_broadcast_ask(reader);
}

void leat_broadcast_end_run(struct leat_broadcast_run *run) {
    run->has_ended = true;
    for (struct leat_broadcast_reader *reader = run->readers, *next; reader; reader = next) {
        next = reader->next_reader;
        leat_broadcast_wake(reader);
    }
}

void leat_broadcast_fail(struct leat_broadcast_run *run) {
    run->has_failed = true;
    leat_broadcast_end_run(run);
}

/* ---- falling behind ---- */

/* The run's readers do not want what its successor has: it goes on alone, and looks for a successor
 * later. */
static void cut_successor(struct leat_broadcast_run *run) {
    struct leat_broadcast_run *successor = run->successor;

    for (const struct leat_broadcast_reader *reader = run->readers; reader;
         reader = reader->next_reader)
        drop_wants(reader, find_place(successor, run->until));
    run->successor = NULL;
    run->backoff = run->backoff < BACKOFF_LEAST  ? BACKOFF_LEAST
                   : run->backoff < BACKOFF_MOST ? 2 * run->backoff
                                                 : BACKOFF_MOST;
    run->retry_at = run->n_outputs + run->backoff;
    successor->n_predecessors--;
    close_if_unused(successor);
}

static void let_go(struct leat_broadcast_run *run, const struct leat_broadcast_item *item) {
    struct leat_broadcast_reader *reader = run->readers, *next;
    struct leat_broadcast_item copy = *item; /* the last reader that wants it frees it */

    for (; reader; reader = next) {
        next = reader->next_reader;
        if (!reader->cursor || !leat_broadcast_wants(reader, &copy))
            continue;
        leat_broadcast_detach(reader);
        reader->n_moves++;
        reader->broadcast->n_detached++;
    }
    for (struct leat_broadcast_run *other = run->broadcast->runs; other; other = other->next)
        if (other->successor == run &&
            leat_broadcast_compare(leat_broadcast_place_of(&copy), other->until) >= 0)
            cut_successor(other);
}

/* Others hold all slots for an unknown time: the hungry readers get runs of their own. Such a ring
 * was to have room for all windows, but could not grow. */
static void part_readers(struct leat_broadcast_run *run) {
    run->is_full = true;
    for (struct leat_broadcast_reader *reader = run->readers, *next; reader; reader = next) {
        next = reader->next_reader;
        if (!reader->is_hungry)
            continue;
        leat_broadcast_detach(reader);
        reader->n_moves++;
        reader->broadcast->n_parted++;
        leat_broadcast_ask(reader);
    }
}

/* The first batch without a hold. */
static struct leat_broadcast_item *first_loose(const struct leat_broadcast_run *run) {
    struct leat_broadcast_item *item = run->first;

    while (item && (item->n_holds > 0 || item->is_end))
        item = item->next;
    return item;
}

void leat_broadcast_relieve(struct leat_broadcast_run *run) {
    struct leat_broadcast_item *item = run->first;

    if (!run->is_starved || run->n_hungry == 0)
        return;
    while (item && (item->n_holds > 0 || item->is_end || item->n_wants > 0))
        item = item->next;
    if (item) {
        leat_broadcast_drop_if_unused(item);
        run->is_starved = false;
        return;
    }
    item = first_loose(run);
    if (!item) {
        part_readers(run);
        return;
    }
    let_go(run, item);
    run->is_starved = false;
}

void leat_broadcast_set_starved(struct leat_broadcast_run *run, bool is_starved) {
    run->is_starved = is_starved;
    run->is_full &= is_starved;
    leat_broadcast_relieve(run);
}

void leat_broadcast_abort(struct leat_broadcast_run *run) {
    for (struct leat_broadcast_run *other = run->broadcast->runs; other; other = other->next)
        if (other->successor == run)
            cut_successor(other);
    run->has_ended = true;
    while (run->readers) {
        struct leat_broadcast_reader *reader = run->readers;

        reader->is_waiting = true;
        leat_broadcast_set_hungry(reader, true);
        leat_broadcast_detach(reader);
    }
}

/* ---- coming together ---- */

static bool has_all_of(const struct leat_broadcast_run *run,
                       const struct leat_broadcast_run *other) {
    uint64_t epoch = larger(run->tail.epoch, other->head.epoch);

    for (const struct leat_broadcast_reader *reader = other->readers; reader;
         reader = reader->next_reader)
        if (!has_rank(run, reader->rank) ||
            !has_rounds_of(run, reader, larger(epoch, reader->next.epoch)))
            return false;
    return other->n_readers > 0;
}

/* The number of items that `run` would have to keep until all of the other's readers join it. */
static uint64_t n_kept(const struct leat_broadcast_run *run,
                       const struct leat_broadcast_run *other) {
    uint64_t n = 0;

    if (run->head.epoch == other->head.epoch)
        return (run->head.step - other->head.step) * run->n_ranks / run->broadcast->world_size + 1;
    if (leat_broadcast_compare(run->tail, other->head) > 0)
        return UINT64_MAX;
    for (const struct leat_broadcast_item *item = run->last;
         item && leat_broadcast_compare(leat_broadcast_place_of(item), other->head) >= 0;
         item = item->previous)
        n++;
    return n;
}

static uint32_t windows_of(const struct leat_broadcast_run *run) {
    uint32_t n = 0;

    for (const struct leat_broadcast_reader *reader = run->readers; reader;
         reader = reader->next_reader)
        n += reader->window;
    return n;
}

/* Demands twice the slots that are needed, so that the readers do not part again at once. */
static bool is_close(struct leat_broadcast_run *run, const struct leat_broadcast_run *other) {
    uint64_t n = n_kept(run, other);

    return n <= LAG_MOST && make_room(run, windows_of(other) + 2 * (uint32_t)n);
}

static bool may_follow(const struct leat_broadcast_run *run,
                       const struct leat_broadcast_run *other) {
    return run != other && !run->has_ended && !other->has_ended && !run->successor &&
           !other->successor && other->n_predecessors == 0 && other->n_outputs >= other->retry_at &&
           leat_broadcast_compare(other->head, run->head) <= 0 && has_all_of(run, other);
}

/* Makes `run` the successor of the other. False: it cannot be. */
static bool follow_run(struct leat_broadcast_run *run, struct leat_broadcast_run *other) {
    if (!may_follow(run, other))
        return false;
    if (!is_close(run, other)) {
        other->retry_at = other->n_outputs + BACKOFF_LEAST;
        return false;
    }
    other->successor = run;
    other->until = leat_broadcast_compare(run->tail, other->head) > 0 ? run->tail : other->head;
    run->n_predecessors++;
    for (struct leat_broadcast_reader *reader = other->readers; reader;
         reader = reader->next_reader) {
        add_wants(reader, find_place(run, other->until));
        extend_limits(run, reader);
    }
    if (leat_broadcast_compare(other->head, other->until) >= 0)
        leat_broadcast_end_run(other);
    return true;
}

void leat_broadcast_merge(struct leat_broadcast_run *run) {
    struct leat_broadcast *broadcast = run->broadcast;

    if (broadcast->n_runs < 2 || run->has_ended)
        return;
    for (struct leat_broadcast_run *other = broadcast->runs; other; other = other->next)
        if (follow_run(other, run) || follow_run(run, other))
            return;
}
