/* feed_ring.c: the rings of a feed: made, grown and freed on the pool; slots for its run. See
 * feed.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/stream/admission.h"
#include "daemon/stream/feed.h"
#include "daemon/stream/feeds.h"

#define SHARED_BYTES_MOST (UINT64_C(256) << 20) /* of rings that grow for several readers */
#define SLACK_TICKS       5

/* A ring that is made, or freed, on the pool. */
struct ring_task {
    struct leat_task task;
    struct leat_feed *feed;
    struct leat_slot_ring *ring;
    uint64_t generation;
    size_t slot_bytes, charged_bytes;
    uint32_t n_slots;
    bool may_do_without; /* a failure is no failure of the feed */
    struct leat_error error;
};

/* ---- rings ---- */

/* Charges a ring to the user, and counts it in the account. */
static int charge_ring(struct leat_feed *feed, uint64_t bytes, struct leat_error *err) {
    int r;

    if (!leat_account_must_grow(&feed->account, bytes))
        return leat_admission_refuse_growth(feed->user, "larger slots for batches", bytes, err);
    r = leat_user_charge(feed->user, LEAT_CHARGE_RING_BYTES, bytes, err);
    if (r < 0)
        return r;
    leat_account_count(&feed->account, LEAT_MEMORY_RING, false);
    leat_account_change(&feed->account, LEAT_MEMORY_RING, 0, bytes);
    return 0;
}

static void discharge_ring(struct leat_feed *feed, uint64_t bytes) {
    leat_account_change(&feed->account, LEAT_MEMORY_RING, bytes, 0);
    leat_user_discharge(feed->user, LEAT_CHARGE_RING_BYTES, bytes);
}

static void drop_ring_task(struct ring_task *task) {
    task->feed->n_tasks--;
    free(task);
}

static void add_ring_task(struct leat_feed *feed, struct ring_task *task,
                          void (*work)(struct leat_task *), void (*done)(struct leat_task *)) {
    task->feed = feed;
    task->task.class = LEAT_TASK_SLOW;
    task->task.work = work;
    task->task.done = done;
    leat_feed_add_task(feed, &task->task);
}

static void free_ring_work(struct leat_task *task) {
    struct ring_task *ring_task = (struct ring_task *)task;

    ring_task->ring = leat_slot_ring_free(ring_task->ring);
}

static void free_ring_done(struct leat_task *task) {
    struct ring_task *ring_task = (struct ring_task *)task;
    struct leat_feed *feed = ring_task->feed;

    discharge_ring(feed, ring_task->charged_bytes);
    drop_ring_task(ring_task);
    leat_feed_finish_if_idle(feed);
}

/* Frees a ring without used slots. */
static void free_ring(struct leat_feed *feed, struct leat_slot_ring *ring) {
    struct ring_task *task = calloc(1, sizeof(*task));
    struct leat_slot_ring **link = &feed->rings;

    while (*link != ring)
        link = &(*link)->next;
    *link = ring->next;
    if (feed->ring == ring)
        feed->ring = NULL;
    if (!task) { /* then on the loop, although it takes a while */
        discharge_ring(feed, ring->size_bytes);
        leat_slot_ring_free(ring);
        return;
    }
    task->ring = ring;
    task->charged_bytes = ring->size_bytes;
    add_ring_task(feed, task, free_ring_work, free_ring_done);
}

void leat_feed_free_ring_if_idle(struct leat_feed *feed, struct leat_slot_ring *ring) {
    if (ring != feed->ring && leat_slot_ring_is_idle(ring))
        free_ring(feed, ring);
}

/* Takes back all slots that were given. The ring is freed when all batches in it are. */
void leat_feed_retire_ring(struct leat_feed *feed) {
    struct leat_slot_ring *ring = feed->ring;
    struct leat_slot slot;

    if (!ring)
        return;
    while (feed->run && leat_run_take_slot_back(feed->run, &slot))
        leat_slot_ring_take_back(ring, slot.index);
    feed->ring = NULL;
    leat_feed_free_ring_if_idle(feed, ring);
}

static void make_ring_work(struct leat_task *task) {
    struct ring_task *ring_task = (struct ring_task *)task;

    (void)leat_slot_ring_new(ring_task->generation, ring_task->slot_bytes, ring_task->n_slots,
                             &ring_task->ring, &ring_task->error);
}

static void install_ring(struct leat_feed *feed, struct leat_slot_ring *ring) {
    leat_feed_retire_ring(feed);
    ring->next = feed->rings;
    feed->rings = feed->ring = ring;
}

static void make_ring_done(struct leat_task *task) {
    struct ring_task *ring_task = (struct ring_task *)task;
    struct leat_feed *feed = ring_task->feed;
    struct leat_error err = ring_task->error;
    bool is_first = feed->state == LEAT_FEED_STARTING;
    bool may_do_without = ring_task->may_do_without;

    if (ring_task->ring)
        install_ring(feed, ring_task->ring);
    else
        discharge_ring(feed, ring_task->charged_bytes);
    drop_ring_task(ring_task);
    if (feed->state == LEAT_FEED_CLOSING) {
        leat_feed_retire_ring(feed);
        leat_feed_finish_if_idle(feed);
        return;
    }
    if (err.code && !may_do_without)
        leat_feed_fail(feed, &err);
    leat_feed_set_state(feed, LEAT_FEED_RUNNING);
    leat_feed_mark(feed);
    if (is_first)
        feed->ops->start(feed, err.code ? &err : NULL);
}

int leat_feed_make_ring(struct leat_feed *feed, size_t min_slot_bytes, uint32_t n_slots,
                        bool may_do_without, struct leat_error *err) {
    struct ring_task *task = calloc(1, sizeof(*task));
    int r;

    if (!task)
        return leat_error_oom(err);
    r = leat_slot_ring_size(min_slot_bytes, n_slots, &task->slot_bytes, &task->charged_bytes);
    if (r < 0)
        r = leat_error_set(
            err, r,
            "%u slots of %zu bytes are more than a process can address: use smaller batches",
            n_slots, min_slot_bytes);
    else
        r = charge_ring(feed, task->charged_bytes, err);
    if (r < 0) {
        free(task);
        return r;
    }
    task->n_slots = n_slots;
    task->may_do_without = may_do_without;
    task->generation = ++feed->feeds->n_generations;
    add_ring_task(feed, task, make_ring_work, make_ring_done);
    return 0;
}

/* A batch does not fit: makes slots with an eighth more than it needs, so that the next ones do.
 * Makes fewer of them if there were many because they were small. */
void leat_feed_grow_slots(struct leat_feed *feed, size_t need) {
    struct leat_error err = LEAT_ERROR_INIT;
    size_t slot_bytes = need + need / 8, limit = (size_t)feed->plan->options.max_batch_bytes;
    size_t n_slots = 2 * feed->ring->size_bytes / slot_bytes;

    if (slot_bytes > limit && need <= limit)
        slot_bytes = limit;
    if (n_slots > feed->ring->n_slots)
        n_slots = feed->ring->n_slots;
    if (n_slots < feed->min_slots)
        n_slots = feed->min_slots;
    leat_feed_set_state(feed, LEAT_FEED_GROWING);
    if (leat_feed_make_ring(feed, slot_bytes, (uint32_t)n_slots, false, &err) == 0)
        return;
    leat_feed_set_state(feed, LEAT_FEED_RUNNING);
    leat_feed_fail(feed, &err);
}

void leat_feed_fit_ring(struct leat_feed *feed, uint32_t n_slots, bool may_shrink) {
    struct leat_error err = LEAT_ERROR_INIT;
    uint64_t bytes;

    if (n_slots < feed->n_slots)
        n_slots = feed->n_slots;
    if (n_slots < feed->min_slots)
        n_slots = feed->min_slots;
    if (feed->state != LEAT_FEED_RUNNING || feed->error.code || !feed->ring ||
        n_slots == feed->ring->n_slots || feed->ring->slot_bytes > feed->plan->slot_bytes * 2 ||
        (n_slots < feed->ring->n_slots && !may_shrink))
        return;
    bytes = n_slots * (uint64_t)feed->ring->slot_bytes;
    if (n_slots > feed->ring->n_slots &&
        !(n_slots == feed->min_slots ? leat_account_must_grow(&feed->account, bytes)
                                     : leat_account_may_grow(&feed->account, bytes)))
        return;
    leat_feed_set_state(feed, LEAT_FEED_GROWING);
    if (leat_feed_make_ring(feed, feed->ring->slot_bytes, n_slots, true, &err) < 0)
        leat_feed_set_state(feed, LEAT_FEED_RUNNING);
}

static uint64_t rings_bytes(const struct leat_feed *feed) {
    uint64_t n_bytes = 0;

    for (const struct leat_slot_ring *ring = feed->rings; ring; ring = ring->next)
        n_bytes += ring->size_bytes;
    return n_bytes;
}

/* True if the ring may grow for further readers. That is limited, so that no one else is refused
 * memory for it, although runs of their own would take more. */
static bool may_have(const struct leat_feed *feed, uint64_t bytes) {
    const struct leat_users *users = feed->user->users;
    uint64_t user = users->limits.user[LEAT_CHARGE_RING_BYTES];
    uint64_t total = users->limits.total[LEAT_CHARGE_RING_BYTES];

    return bytes + rings_bytes(feed) <= SHARED_BYTES_MOST &&
           leat_account_must_grow(&feed->account, bytes) &&
           feed->user->used[LEAT_CHARGE_RING_BYTES] + bytes <= user &&
           users->used[LEAT_CHARGE_RING_BYTES] + bytes <= total;
}

bool leat_feed_make_room(struct leat_feed *feed, uint32_t n_slots) {
    uint32_t n_now = feed->ring ? feed->ring->n_slots : feed->n_slots;

    if (n_slots <= feed->min_slots)
        return true;
    if (n_slots > n_now && (n_slots > LEAT_RING_MAX_SLOTS || feed->error.code ||
                            (feed->ring && feed->ring->slot_bytes > feed->plan->slot_bytes * 2) ||
                            !may_have(feed, n_slots * (uint64_t)feed->plan->slot_bytes)))
        return false;
    feed->min_slots = n_slots;
    leat_feed_mark(feed);
    return true;
}

/* A ring that grew for readers that were behind shrinks when none is any more. */
void leat_feed_give_back(struct leat_feed *feed) {
    const struct leat_broadcast_run *run = &feed->broadcast_run;
    uint32_t n_needed =
        feed->state == LEAT_FEED_RUNNING ? leat_broadcast_n_needed(run) : UINT32_MAX;

    if (n_needed < feed->least_slots)
        n_needed = feed->least_slots;
    if (n_needed >= feed->min_slots / 2 || run->n_predecessors > 0 || run->successor) {
        feed->n_slack_ticks = 0;
        return;
    }
    if (++feed->n_slack_ticks < SLACK_TICKS)
        return;
    feed->min_slots = n_needed;
    leat_feed_fit_ring(feed, leat_feed_tuner_slots(feed), true);
}

void leat_feed_give_slots(struct leat_feed *feed) {
    struct leat_slot_ring *ring = feed->ring;
    int r;

    while (ring->n_in_state[LEAT_SLOT_FREE] > 0) {
        struct leat_slot slot = {.index = leat_slot_ring_next_free(ring)};

        slot.memory = leat_slot_ring_memory(ring, slot.index);
        slot.size_bytes = ring->slot_bytes;
        slot.generation = ring->generation;
        r = leat_run_give_slot(feed->run, &slot);
        if (r == -ENOMEM)
            leat_feed_out_of_memory(feed);
        if (r < 0)
            break;
        leat_slot_ring_give(ring, slot.index);
    }
}
