/* batcher_rounds.c: closed batches become steps: rounds, what is skipped, and the queue. See
 * batcher.h.
 *
 * A closed batch gets its number, loses the rows that are to be skipped, and waits in its round:
 * the world_size steps of which each rank has one. When the round is whole, those of its batches
 * that the run is to make go on to the queue. What is left at the end of an epoch is no whole
 * round; `uneven` decides about it.
 *
 * pad: with m steps left, step i (from 0) of the round, i >= m, repeats the batch of step i % m. So
 * rank r may need the batch of a step below (r + 1) / 2 again: those batches wait too, whichever
 * rank they are of.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/order/batcher_internal.h"
#include "pipeline/plan/skips.h"

/* ---- lists ---- */

static void append_batch(struct leat_batch_list *list, struct leat_batch_refs *batch) {
    batch->next = NULL;
    *list->last = batch;
    list->last = &batch->next;
    list->n_batches++;
    list->n_bytes += batch->n_bytes;
}

static struct leat_batch_refs *take_first(struct leat_batch_list *list) {
    struct leat_batch_refs *batch = list->first;

    if (!batch)
        return NULL;
    list->first = batch->next;
    if (!list->first)
        list->last = &list->first;
    list->n_batches--;
    list->n_bytes -= batch->n_bytes;
    return batch;
}

static void empty_list(struct leat_batch_list *list) {
    struct leat_batch_refs *batch;

    while (list->last && (batch = take_first(list)))
        leat_batch_refs_free(batch);
}

/* ---- the queue ---- */

struct leat_batch_refs *leat_batcher_pop(struct leat_batcher *batcher) {
    return take_first(&batcher->queue);
}

void leat_batcher_cut(struct leat_batcher *batcher, struct leat_batch_refs *first) {
    struct leat_batch_list kept = {.last = &kept.first}, *queue = &batcher->queue;

    while (queue->first != first)
        append_batch(&kept, take_first(queue));
    empty_list(queue);
    *queue = kept;
    if (!kept.first)
        queue->last = &queue->first;
}

static void move_wanted(struct leat_batcher *batcher) {
    while (batcher->n_left > 0 && batcher->beyond.first) {
        struct leat_batch_refs *batch = take_first(&batcher->beyond);

        batcher->next_epoch = batch->epoch;
        batcher->next_step = batch->step + 1;
        batcher->n_queued++;
        if (batcher->n_left != UINT64_MAX)
            batcher->n_left--;
        append_batch(&batcher->queue, batch);
    }
}

void leat_batcher_want(struct leat_batcher *batcher, uint64_t n_steps) {
    if (n_steps == 0)
        batcher->n_left = UINT64_MAX;
    else
        batcher->n_left = n_steps > batcher->n_queued ? n_steps - batcher->n_queued : 0;
    move_wanted(batcher);
}

int leat_batcher_add_end(struct leat_batcher *batcher, bool is_last) {
    struct leat_batch_refs *end = calloc(1, sizeof(*end));

    if (!end)
        return -ENOMEM;
    end->kind = LEAT_OUTPUT_EPOCH_END;
    end->epoch = batcher->n_left > 0 ? batcher->epoch : batcher->next_epoch;
    end->step = batcher->n_left > 0 ? batcher->step : batcher->next_step;
    end->is_last = is_last;
    append_batch(&batcher->queue, end);
    return 0;
}

/* ---- rounds ---- */

void leat_batcher_start_rounds(struct leat_batcher *batcher) {
    uint64_t phase = batcher->epoch == batcher->first_epoch ? batcher->round_phase : 0;

    batcher->step = batcher->n_closed = batcher->n_rounds = 0;
    batcher->round_start = 0;
    batcher->round_end = phase > 0 ? phase : batcher->world_size;
    batcher->n_round_skipped = 0;
}

static bool is_mine(const struct leat_batcher *batcher, uint64_t step) {
    return step % batcher->world_size - batcher->first_rank < batcher->n_ranks;
}

static bool is_before(const struct leat_batcher *batcher, uint64_t step) {
    return batcher->epoch == batcher->first_epoch && step < batcher->first_step;
}

bool leat_batcher_is_before_first(const struct leat_batcher *batcher) {
    return is_before(batcher, batcher->step);
}

/* True if a later step may repeat the batch of that step. */
static bool may_fill_up(const struct leat_batcher *batcher, uint64_t step) {
    return batcher->world_size > 1 && batcher->plan->options.uneven == LEAT_UNEVEN_PAD &&
           2 * (step - batcher->round_start) + 1 < batcher->world_size;
}

static void release_round(struct leat_batcher *batcher) {
    struct leat_batch_refs *batch;

    while ((batch = take_first(&batcher->round))) {
        if (batch->is_wanted)
            append_batch(&batcher->beyond, batch);
        else
            leat_batch_refs_free(batch);
    }
    batcher->n_rounds += batcher->round_end - batcher->round_start == batcher->world_size;
    batcher->round_start = batcher->round_end;
    batcher->round_end += batcher->world_size;
    batcher->n_round_skipped = 0;
    move_wanted(batcher);
}

/* A step that is left out of a round is left out for all ranks, or they would not have as many. */
static int check_skipped(const struct leat_batcher *batcher, uint64_t n_skipped, uint64_t n_steps,
                         struct leat_error *err) {
    uint64_t last = batcher->round_start + n_steps - 1;

    if (n_skipped == 0 || n_skipped == n_steps || is_before(batcher, batcher->round_end - 1))
        return 0;
    return leat_error_set(
        err, -EINVAL,
        "epoch %llu: `skip_steps` and `skip_records` leave out %llu of the steps %llu to %llu. "
        "These steps are one round of %llu ranks: skip the whole round with skip_steps: "
        "[\"%llu:%llu-%llu\"]",
        (unsigned long long)batcher->epoch, (unsigned long long)n_skipped,
        (unsigned long long)batcher->round_start, (unsigned long long)last,
        (unsigned long long)batcher->world_size, (unsigned long long)batcher->epoch,
        (unsigned long long)batcher->round_start, (unsigned long long)last);
}

/* Ends the round if the step was its last. */
static int end_step(struct leat_batcher *batcher, struct leat_error *err) {
    int r;

    if (batcher->step < batcher->round_end)
        return 0;
    r = check_skipped(batcher, batcher->n_round_skipped, batcher->step - batcher->round_start, err);
    if (r == 0)
        release_round(batcher);
    return r;
}

/* Gives the batch the next number. */
static int number_batch(struct leat_batcher *batcher, struct leat_batch_refs *take_batch,
                        struct leat_error *err) {
    const struct leat_skips *skips = &batcher->plan->skips;
    uint64_t step = batcher->step++;
    bool is_skipped;

    leat_batch_refs_skip(skips, batcher->plan, take_batch);
    is_skipped = take_batch->n_refs == 0 || leat_skips_has_step(skips, batcher->epoch, step);
    take_batch->epoch = batcher->epoch;
    take_batch->step = step;
    take_batch->is_wanted = !is_skipped && is_mine(batcher, step) && !is_before(batcher, step);
    batcher->n_closed++;
    batcher->n_round_skipped += is_skipped;
    if (!is_skipped && (take_batch->is_wanted || may_fill_up(batcher, step)))
        append_batch(&batcher->round, take_batch);
    else
        leat_batch_refs_free(take_batch);
    return end_step(batcher, err);
}

/* ---- lanes ---- */

/* Gives the batch of another run the next number. */
static int number_idle(struct leat_batcher *batcher, struct leat_error *err) {
    batcher->n_round_skipped +=
        leat_skips_has_step(&batcher->plan->skips, batcher->epoch, batcher->step);
    batcher->step++;
    batcher->n_closed++;
    return end_step(batcher, err);
}

/* Numbers the next batch of the lane whose turn it is. False: it has none. */
static bool take_turn(struct leat_batcher *batcher, int *ret_r, struct leat_error *err) {
    struct leat_batch_lane *lane = &batcher->lanes[batcher->turn];
    struct leat_batch_refs *batch = take_first(&lane->closed);
    bool is_idle = !batch && lane->n_idle_rows >= batcher->plan->batch_size;

    *ret_r = 0;
    if (!batch && !is_idle)
        return false;
    batcher->turn = (batcher->turn + 1) % batcher->n_lanes;
    if (is_idle)
        lane->n_idle_rows -= batcher->plan->batch_size;
    *ret_r = is_idle ? number_idle(batcher, err) : number_batch(batcher, batch, err);
    return true;
}

static int take_turns(struct leat_batcher *batcher, struct leat_error *err) {
    int r = 0;

    while (r == 0 && take_turn(batcher, &r, err)) {
    }
    return r;
}

int leat_batch_lane_close(struct leat_batch_lane *lane, struct leat_batch_refs *take_batch,
                          struct leat_error *err) {
    append_batch(&lane->closed, take_batch);
    return take_turns(lane->batcher, err);
}

int leat_batcher_add_idle_rows(struct leat_batcher *batcher, const uint64_t *n_rows,
                               struct leat_error *err) {
    for (size_t i = 0; i < batcher->n_lanes; i++)
        batcher->lanes[i].n_idle_rows += n_rows[i];
    return take_turns(batcher, err);
}

int leat_batcher_end_turns(struct leat_batcher *batcher, struct leat_error *err) {
    size_t n_empty = 0;
    int r = 0;

    while (r == 0 && n_empty < batcher->n_lanes) {
        if (take_turn(batcher, &r, err)) {
            n_empty = 0;
            continue;
        }
        n_empty++;
        batcher->turn = (batcher->turn + 1) % batcher->n_lanes;
    }
    return r;
}

/* ---- what is left ---- */

static struct leat_batch_refs *find_in_round(const struct leat_batcher *batcher, uint64_t step) {
    struct leat_batch_refs *batch = batcher->round.first;

    while (batch && batch->step != step)
        batch = batch->next;
    return batch;
}

static int copy_bundle(struct leat_ref *ref) {
    struct leat_bundle *copy = malloc(leat_bundle_bytes(ref->bundle));

    if (!copy)
        return -ENOMEM;
    memcpy(copy, ref->bundle, leat_bundle_bytes(ref->bundle));
    for (uint32_t i = 0; i < copy->n_refs; i++)
        leat_block_share(copy->refs[i].block);
    if (copy->refs[0].block->pool)
        copy->refs[0].block->pool->n_bundle_bytes += leat_bundle_bytes(copy);
    ref->bundle = copy;
    return 0;
}

/* The same rows once more. */
static struct leat_batch_refs *copy_batch(const struct leat_batch_refs *batch) {
    size_t n_bytes = sizeof(*batch) + batch->n_refs * sizeof(batch->refs[0]);
    struct leat_batch_refs *copy = malloc(n_bytes);

    if (!copy)
        return NULL;
    memcpy(copy, batch, n_bytes);
    copy->n_bytes = n_bytes;
    for (copy->n_refs = 0; copy->n_refs < batch->n_refs; copy->n_refs++) {
        struct leat_ref *ref = &copy->refs[copy->n_refs];

        if (ref->row != LEAT_REF_BUNDLE) {
            leat_block_share(ref->block);
        } else if (copy_bundle(ref) < 0) {
            leat_batch_refs_free(copy);
            return NULL;
        }
    }
    return copy;
}

/* Checks a round that is to be filled up: its repeated steps may be skipped as well. */
static int check_padded(const struct leat_batcher *batcher, struct leat_error *err) {
    uint64_t n_skipped = batcher->n_round_skipped;

    if (n_skipped == batcher->step - batcher->round_start)
        return 0;
    for (uint64_t step = batcher->step; step < batcher->round_end; step++)
        n_skipped += leat_skips_has_step(&batcher->plan->skips, batcher->epoch, step);
    return check_skipped(batcher, n_skipped, batcher->round_end - batcher->round_start, err);
}

static int fill_up(struct leat_batcher *batcher, struct leat_error *err) {
    uint64_t n = batcher->step - batcher->round_start;

    for (; batcher->step < batcher->round_end; batcher->step++) {
        uint64_t step = batcher->step;
        const struct leat_batch_refs *again;
        struct leat_batch_refs *copy;

        if (!is_mine(batcher, step) || is_before(batcher, step))
            continue;
        again = find_in_round(batcher, batcher->round_start + (step - batcher->round_start) % n);
        if (!again)
            continue;
        copy = copy_batch(again);
        if (!copy)
            return leat_error_oom(err);
        copy->step = step;
        copy->is_wanted = true;
        append_batch(&batcher->round, copy);
    }
    release_round(batcher);
    return 0;
}

static int fail_uneven(const struct leat_batcher *batcher, struct leat_error *err) {
    uint64_t n = batcher->step - batcher->round_start;

    return leat_error_set(
        err, -EINVAL,
        "epoch %llu has %llu steps, which %llu ranks cannot share evenly: %llu step%s too many. "
        "Set `uneven: drop` to leave %s out, or `uneven: pad` to repeat batches",
        (unsigned long long)batcher->epoch, (unsigned long long)batcher->n_closed,
        (unsigned long long)batcher->world_size, (unsigned long long)n, n == 1 ? " is" : "s are",
        n == 1 ? "it" : "them");
}

int leat_batcher_end_round(struct leat_batcher *batcher, struct leat_error *err) {
    int r;

    if (batcher->step == batcher->round_start)
        return 0;
    if (batcher->round_end - batcher->round_start == batcher->world_size) {
        if (batcher->plan->options.uneven == LEAT_UNEVEN_ERROR)
            return fail_uneven(batcher, err);
        if (batcher->plan->options.uneven == LEAT_UNEVEN_PAD) {
            r = check_padded(batcher, err);
            return r < 0 ? r : fill_up(batcher, err);
        }
    }
    empty_list(&batcher->round);
    batcher->step = batcher->round_start;
    return 0;
}

/* ---- life ---- */

void leat_batcher_init_lists(struct leat_batcher *batcher) {
    batcher->queue.last = &batcher->queue.first;
    batcher->beyond.last = &batcher->beyond.first;
    batcher->round.last = &batcher->round.first;
}

void leat_batcher_deinit_lists(struct leat_batcher *batcher) {
    for (size_t i = 0; batcher->lanes && i < batcher->n_lanes; i++)
        empty_list(&batcher->lanes[i].closed);
    empty_list(&batcher->queue);
    empty_list(&batcher->round);
    empty_list(&batcher->beyond);
}
