#include "pipeline/run/own_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/base/array.h"

#define WINDOW_BYTES (4U << 20) /* of the source, that the wanted rows of a window have at least */
#define FIRST_BYTES  (4U << 20) /* of the batches of the first window */

static uint64_t held_rows(const struct leat_plan *plan) {
    uint64_t n_held = leat_batcher_holds(plan);

    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        uint64_t n_rows, n_bytes;

        if (stage->filter_column >= 0)
            continue;
        if (stage->ops->evicts_above && stage->ops->evicts_above(stage->config) > 0)
            return UINT64_MAX;
        leat_plan_holding(plan, stage, &n_rows, &n_bytes);
        n_held += n_rows;
    }
    return n_held;
}

void leat_own_rows_init(struct leat_own_rows *own, const struct leat_fast_forward *forward,
                        struct leat_row_fetch *fetch, struct leat_batcher *batcher,
                        struct leat_account *account) {
    *own = (struct leat_own_rows){
        .forward = forward,
        .fetch = fetch,
        .batcher = batcher,
        .account = account,
        .n_held_rows = held_rows(forward->plan),
    };
    own->n_wanted = own->n_held_rows == UINT64_MAX ? SIZE_MAX / 2
                                                   : FIRST_BYTES / (forward->plan->slot_bytes + 1);
}

void leat_own_rows_deinit(struct leat_own_rows *own) {
    leat_own_rows_abandon(own);
    free(own->batches);
    free(own->blocks);
}

uint64_t leat_own_rows_bytes(const struct leat_own_rows *own) {
    return own->batches_capacity * sizeof(struct leat_batch_refs *) +
           own->blocks_capacity * sizeof(struct leat_count_only *);
}

static int add_block(struct leat_own_rows *own, struct leat_count_only *count_only) {
    if (!leat_array_reserve(&own->blocks, own->n_blocks + 1, &own->blocks_capacity))
        return -ENOMEM;
    own->blocks[own->n_blocks++] = count_only;
    leat_block_ref(count_only->block, 1);
    return 0;
}

/* The wanted rows of a window, and their bytes of the source. */
struct wanted {
    uint64_t n_rows, n_bytes;
};

/* Adds the row to the wanted ones of its block. */
static int want(struct leat_own_rows *own, const struct leat_ref *ref, struct wanted *sum) {
    const struct leat_block *block = ref->block;
    struct leat_count_only *count_only = block->count_only;

    if (!count_only || !leat_count_only_is_parted(count_only) || count_only->error)
        return 0;
    if (count_only->n_wanted == 0 && add_block(own, count_only) < 0)
        return -ENOMEM;
    sum->n_rows++;
    sum->n_bytes += block->n_source_bytes / (block->n_rows ? block->n_rows : 1) + 1;
    return leat_count_only_want_row(count_only, ref->row);
}

static int plan_batch(struct leat_own_rows *own, struct leat_batch_refs *batch,
                      struct wanted *sum) {
    uint64_t n_before = sum->n_rows;
    int r = 0;

    if (!leat_array_reserve(&own->batches, own->n_batches + 1, &own->batches_capacity))
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < batch->n_refs; i++) {
        uint32_t n;
        const struct leat_ref *refs = leat_ref_parts(&batch->refs[i], &n);

        for (uint32_t k = 0; r == 0 && k < n; k++)
            r = want(own, &refs[k], sum);
    }
    if (sum->n_rows > n_before)
        own->batches[own->n_batches++] = batch;
    else if (r == 0) /* It has all rows, and may leave the queue at any time. */
        leat_row_fetch_adopt(own->fetch, batch);
    return r;
}

static int by_place(const void *a, const void *b) {
    const struct leat_cache_span *x = &(*(struct leat_count_only *const *)a)->piece.span;
    const struct leat_cache_span *y = &(*(struct leat_count_only *const *)b)->piece.span;

    if (x->file != y->file)
        return (x->file > y->file) - (x->file < y->file);
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Bytes of the source that the wanted rows of the next window may have. */
static uint64_t max_bytes(const struct leat_own_rows *own) {
    uint64_t room = leat_account_room(own->account) / 4, n_bytes;

    if (own->n_held_rows == UINT64_MAX)
        return room;
    n_bytes = own->n_held_rows / 2 * own->row_bytes;
    n_bytes = n_bytes > WINDOW_BYTES ? n_bytes : WINDOW_BYTES;
    return n_bytes < room ? n_bytes : room;
}

/* A compressed piece of the source stays in memory as long as its rows wait, so its windows do not
 * grow. */
static bool may_grow(const struct leat_own_rows *own) {
    return !own->forward->plan->is_compressed || (own->n_blocks > 0 && own->blocks[0]->file);
}

static void set_next_size(struct leat_own_rows *own, size_t n_now, uint64_t n_bytes) {
    if (own->n_held_rows == UINT64_MAX)
        return;
    if (n_bytes >= max_bytes(own))
        own->n_wanted = n_now / 2;
    else if (n_bytes <= max_bytes(own) / 2 && may_grow(own))
        own->n_wanted = 2 * n_now;
}

static int plan(struct leat_own_rows *own, size_t n_ready) {
    struct leat_batch_refs *batch = own->batcher->queue.first;
    size_t n_max = leat_own_rows_window(own, n_ready), n_planned = own->fetch->n_planned, n = 0;
    uint64_t limit = max_bytes(own);
    struct wanted sum = {0};
    int r = 0;

    for (; r == 0 && batch && n < n_max && (sum.n_bytes < limit || n < n_ready);
         batch = batch->next)
        if (!batch->is_planned && batch->kind == LEAT_OUTPUT_BATCH) {
            r = plan_batch(own, batch, &sum);
            n++;
        }
    if (own->n_blocks > 0)
        qsort(own->blocks, own->n_blocks, sizeof(struct leat_count_only *), by_place);
    own->row_bytes = sum.n_bytes / (sum.n_rows ? sum.n_rows : 1);
    if (n == n_max || sum.n_bytes >= limit)
        set_next_size(own, n, sum.n_bytes);
    return r < 0 ? r : own->n_batches > 0 || own->fetch->n_planned > n_planned;
}

/* Lets go of the window's blocks. */
static void forget_blocks(struct leat_own_rows *own) {
    for (size_t i = 0; i < own->n_blocks; i++) {
        struct leat_block *block = own->blocks[i]->block;

        leat_count_only_end_window(own->blocks[i]);
        leat_block_unref(block, 1);
    }
    own->n_batches = own->n_blocks = own->n_started = own->n_back = 0;
}

static void turn_batch(struct leat_own_rows *own, struct leat_batch_refs *batch) {
    for (uint32_t i = 0; i < batch->n_refs; i++) {
        uint32_t n;
        struct leat_ref *refs = leat_ref_parts(&batch->refs[i], &n);

        for (uint32_t k = 0; k < n; k++)
            leat_count_only_turn(&refs[k]);
    }
    leat_row_fetch_adopt(own->fetch, batch);
}

static bool is_to_make(const struct leat_count_only *count_only) {
    return !count_only->is_out && !count_only->made && !count_only->error;
}

static bool has_next(struct leat_own_rows *own) {
    while (own->n_started < own->n_blocks && !is_to_make(own->blocks[own->n_started]))
        own->n_started++;
    return own->n_started < own->n_blocks;
}

static bool is_made(struct leat_own_rows *own) {
    if (has_next(own))
        return false;
    while (own->n_back < own->n_blocks && !own->blocks[own->n_back]->is_out)
        own->n_back++;
    return own->n_back == own->n_blocks;
}

/* The next window is begun when half of the last one is used, or if nothing else can be done. */
static bool is_due(const struct leat_own_rows *own, size_t n_ready, bool is_short) {
    size_t n_planned = own->fetch->n_planned, n_window = leat_own_rows_window(own, n_ready);

    if (own->forward->n_blocks == 0)
        return false;
    return is_short
               ? n_planned == 0
               : n_planned <= n_window / 2 && own->batcher->queue.n_batches - n_planned >= n_window;
}

int leat_own_rows_advance(struct leat_own_rows *own, size_t n_ready, bool is_short) {
    int has_ended = own->n_batches > 0, r;

    if (!own->forward->is_own || (has_ended && !is_made(own)))
        return 0;
    for (size_t i = 0; i < own->n_batches; i++)
        turn_batch(own, own->batches[i]);
    forget_blocks(own);
    if (!is_due(own, n_ready, is_short))
        return has_ended;
    r = plan(own, n_ready);
    return r < 0 ? r : r || has_ended;
}

struct leat_count_only *leat_own_rows_next(struct leat_own_rows *own) {
    struct leat_count_only_list list;

    if (!has_next(own))
        return NULL;
    leat_count_only_begin_list(own->blocks[own->n_started], &list);
    for (size_t i = own->n_started + 1; i < own->n_blocks && is_to_make(own->blocks[i]); i++)
        if (!leat_count_only_join(&list, own->blocks[i]))
            break;
    return list.first;
}

void leat_own_rows_abandon(struct leat_own_rows *own) {
    forget_blocks(own);
}
