/* broadcast.c: items that come and are freed, readers that take and release, and the actions that
 * follow. See broadcast.h.
 */
#include "daemon/stream/broadcast.h"

#include <assert.h>
#include <string.h>

#include "daemon/stream/broadcast_internal.h"

/* The queues of a broadcast (freed, woken, asking, action) are lists with a pointer to the last
 * link. */
#define QUEUE_ADD(broadcast, queue, node)                                                          \
    do {                                                                                           \
        (node)->next_##queue = NULL;                                                               \
        *(broadcast)->last_##queue = (node);                                                       \
        (broadcast)->last_##queue = &(node)->next_##queue;                                         \
    } while (0)
#define QUEUE_REMOVE(broadcast, queue, link)                                                       \
    do {                                                                                           \
        *(link) = (*(link))->next_##queue;                                                         \
        if (!*(link))                                                                              \
            (broadcast)->last_##queue = (link);                                                    \
    } while (0)

void leat_broadcast_init(struct leat_broadcast *broadcast, uint64_t world_size,
                         const struct leat_broadcast_ops *ops, void *user) {
    *broadcast = (struct leat_broadcast){.world_size = world_size, .ops = ops, .user = user};
    broadcast->last_freed = &broadcast->first_freed;
    broadcast->last_woken = &broadcast->first_woken;
    broadcast->last_asking = &broadcast->first_asking;
    broadcast->last_action = &broadcast->first_action;
}

/* ---- items ---- */

static void unlink_item(struct leat_broadcast_item *item) {
    struct leat_broadcast_run *run = item->run;

    if (item->previous)
        item->previous->next = item->next;
    else
        run->first = item->next;
    if (item->next)
        item->next->previous = item->previous;
    else
        run->last = item->previous;
}

static bool is_kept(const struct leat_broadcast_item *item) {
    const struct leat_broadcast_run *run = item->run;

    return run->n_ranks > 1 && !run->is_closed && !run->is_starved && !item->is_end &&
           !leat_broadcast_is_rank_read(run, item);
}

void leat_broadcast_drop_if_unused(struct leat_broadcast_item *item) {
    struct leat_broadcast_place behind = leat_broadcast_place_behind(item);
    struct leat_broadcast_run *run = item->run;

    if (item->n_wants > 0 || item->n_holds > 0 || is_kept(item))
        return;
    if (leat_broadcast_compare(run->tail, behind) < 0)
        run->tail = behind;
    unlink_item(item);
    QUEUE_ADD(run->broadcast, freed, item);
}

void leat_broadcast_pin(struct leat_broadcast_item *item) {
    item->n_holds++;
}

void leat_broadcast_unpin(struct leat_broadcast_item *item) {
    assert(item->n_holds > 0);
    item->n_holds--;
    leat_broadcast_drop_if_unused(item);
}

static void append_item(struct leat_broadcast_run *run, struct leat_broadcast_item *item) {
    item->next = NULL;
    item->previous = run->last;
    if (run->last)
        run->last->next = item;
    else
        run->first = item;
    run->last = item;
    run->head = leat_broadcast_place_behind(item);
}

/* Counts the readers on the run, and those that go on there when their own run ends. */
static void count_wants(struct leat_broadcast_run *run, struct leat_broadcast_item *item) {
    struct leat_broadcast_reader *reader = run->readers, *next;
    const struct leat_broadcast_run *other = run->n_predecessors > 0 ? run->broadcast->runs : NULL;

    for (; reader; reader = next) {
        next = reader->next_reader;
        if (!leat_broadcast_wants(reader, item))
            continue;
        item->n_wants++;
        if (!reader->cursor)
            reader->cursor = item;
        leat_broadcast_wake(reader);
    }
    for (; other; other = other->next)
        if (other->successor == run &&
            leat_broadcast_compare(leat_broadcast_place_of(item), other->until) >= 0)
            for (reader = other->readers; reader; reader = reader->next_reader)
                item->n_wants += leat_broadcast_wants(reader, item);
}

/* True if the run's readers do not get the item from it: its successor makes it, or it is the end
 * that the run was told to make, and not the end of an epoch. */
static bool is_beyond(const struct leat_broadcast_run *run,
                      const struct leat_broadcast_item *item) {
    return run->has_ended ||
           (run->successor &&
            leat_broadcast_compare(leat_broadcast_place_of(item), run->until) >= 0) ||
           (item->is_end && item->is_last && run->n_batches >= run->n_wanted);
}

void leat_broadcast_output(struct leat_broadcast_run *run, struct leat_broadcast_item *item) {
    item->run = run;
    item->n_wants = item->n_holds = 0;
    if (is_beyond(run, item)) {
        QUEUE_ADD(run->broadcast, freed, item);
        leat_broadcast_end_run(run);
        return;
    }
    run->n_outputs++;
    run->n_batches += !item->is_end;
    append_item(run, item);
    count_wants(run, item);
    if (item->is_last || (run->successor && leat_broadcast_compare(run->head, run->until) >= 0))
        leat_broadcast_end_run(run);
    leat_broadcast_drop_if_unused(item);
    leat_broadcast_merge(run);
}

/* ---- readers ---- */

void leat_broadcast_wake(struct leat_broadcast_reader *reader) {
    if (!reader->is_hungry)
        return;
    leat_broadcast_set_hungry(reader, false);
    if (reader->is_woken)
        return;
    reader->is_woken = true;
    QUEUE_ADD(reader->broadcast, woken, reader);
}

void leat_broadcast_ask(struct leat_broadcast_reader *reader) {
    if (reader->is_asking)
        return;
    reader->is_asking = true;
    QUEUE_ADD(reader->broadcast, asking, reader);
}

static struct leat_broadcast_reader *pop_woken(struct leat_broadcast *broadcast) {
    struct leat_broadcast_reader *reader = broadcast->first_woken;

    if (!reader)
        return NULL;
    QUEUE_REMOVE(broadcast, woken, &broadcast->first_woken);
    reader->is_woken = false;
    return reader;
}

static struct leat_broadcast_reader *pop_asking(struct leat_broadcast *broadcast) {
    struct leat_broadcast_reader *reader = broadcast->first_asking;

    if (!reader)
        return NULL;
    QUEUE_REMOVE(broadcast, asking, &broadcast->first_asking);
    reader->is_asking = false;
    return reader;
}

/* The reader is neither to be woken, nor does it ask for a run. */
static void forget_reader(struct leat_broadcast_reader *reader) {
    struct leat_broadcast *broadcast = reader->broadcast;
    struct leat_broadcast_reader **link;

    if (reader->is_woken) {
        for (link = &broadcast->first_woken; *link != reader;)
            link = &(*link)->next_woken;
        QUEUE_REMOVE(broadcast, woken, link);
    }
    if (reader->is_asking) {
        for (link = &broadcast->first_asking; *link != reader;)
            link = &(*link)->next_asking;
        QUEUE_REMOVE(broadcast, asking, link);
    }
    reader->is_woken = reader->is_asking = reader->is_waiting = false;
}

void leat_broadcast_join(struct leat_broadcast *broadcast, struct leat_broadcast_reader *reader) {
    uint64_t round = reader->next.step - reader->next.step % broadcast->world_size;

    assert(!reader->broadcast && reader->rank >= reader->first_rank &&
           reader->rank < reader->first_rank + reader->n_ranks);
    reader->broadcast = broadcast;
    reader->phase %= broadcast->world_size;
    reader->first_epoch = reader->next.epoch;
    if (reader->next.step > round + reader->rank)
        round += broadcast->world_size;
    reader->next.step = round + reader->rank;
    reader->end_epoch =
        reader->n_epochs > 0 ? reader->next.epoch + reader->n_epochs : LEAT_BROADCAST_NO_LIMIT;
}

static enum leat_broadcast_taken_kind finish_reader(struct leat_broadcast_reader *reader,
                                                    uint64_t epoch, uint64_t n_steps,
                                                    struct leat_broadcast_taken *ret_taken) {
    *ret_taken = (struct leat_broadcast_taken){.epoch = epoch, .step = n_steps, .is_last = true};
    reader->is_finished = true;
    leat_broadcast_detach(reader);
    return LEAT_BROADCAST_END;
}

static enum leat_broadcast_taken_kind take_end(struct leat_broadcast_reader *reader,
                                               struct leat_broadcast_item *item,
                                               struct leat_broadcast_taken *ret_taken) {
    uint64_t epoch = item->epoch, n_steps = item->step;

    reader->next = (struct leat_broadcast_place){epoch + 1, reader->rank};
    reader->cursor = leat_broadcast_find_wanted(reader, item->next);
    item->n_wants--;
    leat_broadcast_drop_if_unused(item);
    if (epoch + 1 >= reader->end_epoch)
        return finish_reader(reader, epoch, n_steps, ret_taken);
    *ret_taken = (struct leat_broadcast_taken){.epoch = epoch, .step = n_steps};
    return LEAT_BROADCAST_END;
}

static enum leat_broadcast_taken_kind take_batch(struct leat_broadcast_reader *reader,
                                                 struct leat_broadcast_item *item,
                                                 struct leat_broadcast_taken *ret_taken) {
    reader->next =
        (struct leat_broadcast_place){item->epoch, item->step + reader->broadcast->world_size};
    reader->cursor = leat_broadcast_find_wanted(reader, item->next);
    item->n_wants--;
    item->n_holds++;
    reader->holds[reader->n_holds++] = (struct leat_broadcast_hold){.item = item,
                                                                    .generation = item->generation,
                                                                    .epoch = item->epoch,
                                                                    .step = item->step,
                                                                    .slot = item->slot};
    if (reader->n_left != LEAT_BROADCAST_NO_LIMIT)
        reader->n_left--;
    *ret_taken =
        (struct leat_broadcast_taken){.item = item, .epoch = item->epoch, .step = item->step};
    return LEAT_BROADCAST_BATCH;
}

enum leat_broadcast_taken_kind leat_broadcast_take(struct leat_broadcast_reader *reader,
                                                   struct leat_broadcast_taken *ret_taken) {
    if (reader->is_finished)
        return LEAT_BROADCAST_NOTHING;
    if (reader->n_left == 0)
        return finish_reader(reader, reader->next.epoch,
                             reader->next.step - reader->broadcast->world_size + 1, ret_taken);
    while (!reader->cursor) {
        if (!reader->run || !reader->run->has_ended)
            return LEAT_BROADCAST_NOTHING;
        if (reader->run->has_failed)
            return LEAT_BROADCAST_FAILED;
        leat_broadcast_leave_ended(reader);
    }
    if (reader->cursor->is_end)
        return take_end(reader, reader->cursor, ret_taken);
    if (reader->n_holds >= reader->window)
        return LEAT_BROADCAST_NOTHING;
    return take_batch(reader, reader->cursor, ret_taken);
}

uint32_t leat_broadcast_lack(const struct leat_broadcast_reader *reader) {
    const struct leat_broadcast_item *item = reader->cursor;
    uint32_t n = reader->window - reader->n_holds;

    for (; item && n > 0; item = leat_broadcast_find_wanted(reader, item->next))
        n -= !item->is_end;
    return n;
}

void leat_broadcast_wait(struct leat_broadcast_reader *reader) {
    if (reader->is_finished || reader->cursor || reader->n_holds >= reader->window)
        return;
    leat_broadcast_set_hungry(reader, true);
    if (reader->run && reader->run->has_ended)
        leat_broadcast_wake(reader);
    else if (reader->run)
        leat_broadcast_relieve(reader->run);
    else if (!reader->is_waiting)
        leat_broadcast_ask(reader);
}

void leat_broadcast_announce(struct leat_broadcast_reader *reader, uint32_t n_batches,
                             bool keeps_slot) {
    assert(reader->n_announced + n_batches <= reader->n_holds);
    for (; n_batches > 0; n_batches--) {
        struct leat_broadcast_hold *hold = &reader->holds[reader->n_announced++];

        if (keeps_slot)
            continue;
        leat_broadcast_unpin(hold->item);
        hold->item = NULL;
    }
}

static void remove_hold(struct leat_broadcast_reader *reader, uint32_t index) {
    struct leat_broadcast_item *item = reader->holds[index].item;

    reader->n_holds--;
    if (index < reader->n_announced)
        reader->n_announced--;
    memmove(&reader->holds[index], &reader->holds[index + 1],
            (reader->n_holds - index) * sizeof(reader->holds[0]));
    if (item)
        leat_broadcast_unpin(item);
}

static bool hold_is(const struct leat_broadcast_hold *hold, uint32_t slot, uint64_t epoch,
                    uint64_t step) {
    return hold->slot == slot && hold->epoch == epoch && hold->step == step;
}

bool leat_broadcast_release(struct leat_broadcast_reader *reader, uint64_t generation,
                            uint32_t slot, uint64_t epoch, uint64_t step) {
    for (uint32_t i = 0; i < reader->n_announced; i++) {
        const struct leat_broadcast_hold *hold = &reader->holds[i];

        if (hold_is(hold, slot, epoch, step) && hold->generation == generation) {
            remove_hold(reader, i);
            return true;
        }
    }
    return false;
}

void leat_broadcast_release_all(struct leat_broadcast_reader *reader) {
    while (reader->n_holds > 0)
        remove_hold(reader, reader->n_holds - 1);
}

void leat_broadcast_release_copies(struct leat_broadcast_reader *reader) {
    for (uint32_t i = reader->n_holds; i > 0; i--)
        if (!reader->holds[i - 1].item)
            remove_hold(reader, i - 1);
}

void leat_broadcast_leave(struct leat_broadcast_reader *reader) {
    if (reader->has_left)
        return;
    reader->has_left = true;
    if (!reader->is_finished)
        leat_broadcast_detach(reader);
    reader->is_finished = true;
    forget_reader(reader);
    while (reader->n_holds > reader->n_announced)
        remove_hold(reader, reader->n_holds - 1);
}

/* ---- actions ---- */

void leat_broadcast_add_action(struct leat_broadcast_run *run) {
    if (run->has_action)
        return;
    run->has_action = true;
    QUEUE_ADD(run->broadcast, action, run);
}

static bool next_run_action(struct leat_broadcast *broadcast,
                            struct leat_broadcast_action *ret_action) {
    struct leat_broadcast_run *run = broadcast->first_action;

    if (!run)
        return false;
    QUEUE_REMOVE(broadcast, action, &broadcast->first_action);
    run->has_action = false;
    *ret_action = (struct leat_broadcast_action){
        .kind = run->is_closed ? LEAT_BROADCAST_CLOSE : LEAT_BROADCAST_EXTEND, .run = run};
    return true;
}

/* The trainers of one machine share a run from the start. A reader that fell behind alone gets a
 * run for its rank only. */
static void start_action(struct leat_broadcast_reader *reader,
                         struct leat_broadcast_action *ret_action) {
    bool is_alone = reader->n_moves > 0;

    for (const struct leat_broadcast_reader *other = reader->broadcast->first_asking; other;
         other = other->next_asking)
        is_alone = is_alone && other->rank == reader->rank;
    *ret_action = (struct leat_broadcast_action){
        .kind = LEAT_BROADCAST_START,
        .reader = reader,
        .place = leat_broadcast_round_of(reader),
        .phase = leat_broadcast_phase(reader),
        .first_rank = is_alone ? reader->rank : reader->first_rank,
        .n_ranks = is_alone ? 1 : reader->n_ranks,
        .n_epochs = reader->n_epochs > 0 ? reader->end_epoch - reader->next.epoch : 0,
    };
    ret_action->n_batches = reader->n_left == LEAT_BROADCAST_NO_LIMIT
                                ? LEAT_BROADCAST_NO_LIMIT
                                : reader->n_left * ret_action->n_ranks;
}

bool leat_broadcast_next_action(struct leat_broadcast *broadcast,
                                struct leat_broadcast_action *ret_action) {
    struct leat_broadcast_item *item = broadcast->first_freed;
    struct leat_broadcast_reader *reader;

    if (item) {
        QUEUE_REMOVE(broadcast, freed, &broadcast->first_freed);
        *ret_action = (struct leat_broadcast_action){.kind = LEAT_BROADCAST_FREE, .item = item};
        return true;
    }
    if (next_run_action(broadcast, ret_action))
        return true;
    while ((reader = pop_asking(broadcast)))
        if (!leat_broadcast_place_reader(reader)) {
            start_action(reader, ret_action);
            return true;
        }
    reader = pop_woken(broadcast);
    *ret_action = (struct leat_broadcast_action){.kind = LEAT_BROADCAST_WAKE, .reader = reader};
    return reader != NULL;
}
