/* batcher.c: open batches. See batcher.h. Closed ones are in batcher_rounds.c, windows in
 * batcher_window.c. */
#include "pipeline/order/batcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/order/batcher_internal.h"

/* ---- open batches ---- */

/* Tokens of the row, padded as if it were the longest. */
static uint64_t row_tokens(const struct leat_plan *plan, struct leat_ref ref) {
    uint64_t most = 1;

    for (size_t i = 0; i < plan->n_counted; i++) {
        const struct leat_field *field = &plan->fields[plan->counted[i]];
        uint64_t n =
            leat_field_padded(field, leat_ref_elements(ref, plan->fields, plan->counted[i]));

        most = n > most ? n : most;
    }
    return most;
}

/* Makes room for another row, if possible for n_rows. */
static int reserve(const struct leat_plan *plan, struct leat_open_batch *open, uint32_t n_rows) {
    if (!open->refs || open->refs->n_refs == open->capacity) {
        uint64_t capacity = open->refs ? open->capacity * 2 : 64;
        struct leat_batch_refs *larger;

        if (capacity < open->capacity + n_rows)
            capacity = open->capacity + n_rows;
        capacity = capacity < plan->batch_size ? capacity : plan->batch_size;
        larger = realloc(open->refs, sizeof(*larger) + capacity * sizeof(larger->refs[0]));
        if (!larger)
            return -ENOMEM;
        if (!open->refs)
            *larger = (struct leat_batch_refs){.kind = LEAT_OUTPUT_BATCH};
        open->refs = larger;
        open->capacity = capacity;
    }
    return 0;
}

static int add_row(const struct leat_plan *plan, struct leat_open_batch *open, struct leat_ref ref,
                   uint64_t n_tokens) {
    if (reserve(plan, open, 1) < 0)
        return -ENOMEM;
    open->refs->refs[open->refs->n_refs++] = ref;
    open->longest = n_tokens > open->longest ? n_tokens : open->longest;
    return 0;
}

static uint64_t refs_bytes(uint64_t capacity) {
    return sizeof(struct leat_batch_refs) + capacity * sizeof(struct leat_ref);
}

static struct leat_batch_refs *take_open(struct leat_open_batch *open) {
    struct leat_batch_refs *refs = open->refs;

    if (refs)
        refs->n_bytes = refs_bytes(open->capacity);
    *open = (struct leat_open_batch){.refs = NULL};
    return refs;
}

static bool is_full(const struct leat_plan *plan, const struct leat_open_batch *open) {
    return open->refs->n_refs == plan->batch_size ||
           (plan->max_tokens > 0 && (open->refs->n_refs + 1) * open->longest > plan->max_tokens);
}

static bool row_fits(const struct leat_plan *plan, const struct leat_open_batch *open,
                     uint64_t n_tokens) {
    uint64_t longest = n_tokens > open->longest ? n_tokens : open->longest;

    return plan->max_tokens == 0 || (open->refs->n_refs + 1) * longest <= plan->max_tokens;
}

int leat_open_batch_add(const struct leat_plan *plan, struct leat_open_batch *open,
                        struct leat_ref ref, leat_batch_closer on_close, void *user,
                        struct leat_error *err) {
    uint64_t n_tokens = plan->max_tokens > 0 ? row_tokens(plan, ref) : 0;
    int r = 0;

    if (open->refs && !row_fits(plan, open, n_tokens))
        r = on_close(take_open(open), user, err);
    if (r == 0 && add_row(plan, open, ref, n_tokens) < 0)
        r = leat_error_oom(err);
    if (r < 0) {
        leat_ref_drop(ref);
        return r;
    }
    return is_full(plan, open) ? on_close(take_open(open), user, err) : 0;
}

/* ---- rows as they come ---- */

static size_t bucket_of(const struct leat_plan *plan, struct leat_ref ref) {
    const struct leat_bucketing *bucketing = plan->bucketing;
    size_t bucket = 0;
    uint32_t length;

    if (!bucketing)
        return 0;
    length = leat_ref_elements(ref, plan->fields, bucketing->column);
    while (bucket < bucketing->n_boundaries && length > bucketing->boundaries[bucket])
        bucket++;
    return bucket;
}

static int on_close(struct leat_batch_refs *take_batch, void *user, struct leat_error *err) {
    return leat_batch_lane_close(user, take_batch, err);
}

static __attribute__((noinline)) int push_any(struct leat_batch_lane *lane, struct leat_ref ref,
                                              struct leat_error *err) {
    const struct leat_plan *plan = lane->batcher->plan;

    if (plan->bucketing && plan->bucketing->window > 0)
        return leat_batch_lane_gather(lane, ref, err);
    return leat_open_batch_add(plan, &lane->open[bucket_of(plan, ref)], ref, on_close, lane, err);
}

/* A row of a plain batch with memory for it, which does not close it, needs nothing else. */
static int push_batch(struct leat_order_sink *sink, struct leat_ref ref, struct leat_error *err) {
    struct leat_batch_lane *lane = (struct leat_batch_lane *)sink;
    const struct leat_open_batch *open = &lane->open[0];

    if (!lane->batcher->is_plain || !open->refs || open->refs->n_refs + 1 >= open->capacity)
        return push_any(lane, ref, err);
    open->refs->refs[open->refs->n_refs++] = ref;
    return 0;
}

/* Makes room in a plain batch for some of n rows. Returns how many, or -ENOMEM. */
static int64_t reserve_some(struct leat_batch_lane *lane, uint32_t n) {
    struct leat_open_batch *open = &lane->open[0];
    uint64_t room;

    if (reserve(lane->batcher->plan, open, n) < 0)
        return -ENOMEM;
    room = open->capacity - open->refs->n_refs;
    return (int64_t)(n < room ? n : room);
}

/* Pushes n rows into plain batches: references, or rows of a block from `row` on. Returns how many
 * were pushed, fewer after an error. */
static uint32_t push_plain(struct leat_batch_lane *lane, const struct leat_ref *refs,
                           struct leat_block *block, uint32_t row, uint32_t n, int *ret_r,
                           struct leat_error *err) {
    struct leat_open_batch *open = &lane->open[0];
    uint32_t n_pushed = 0;
    int r = 0;

    while (r == 0 && n_pushed < n) {
        int64_t some = reserve_some(lane, n - n_pushed);
        struct leat_ref *to;

        if (some < 0) {
            r = leat_error_oom(err);
            break;
        }
        to = &open->refs->refs[open->refs->n_refs];
        if (refs) {
            memcpy(to, refs + n_pushed, (size_t)some * sizeof(*refs));
        } else {
            leat_ref_fill_rows(to, block, row + n_pushed, (uint32_t)some);
            leat_block_ref(block, (uint32_t)some);
        }
        n_pushed += (uint32_t)some;
        open->refs->n_refs += (uint32_t)some;
        if (open->refs->n_refs == lane->batcher->plan->batch_size)
            r = on_close(take_open(open), lane, err);
    }
    *ret_r = r;
    return n_pushed;
}

/* Batches are plain. */
static int push_batch_rows(struct leat_order_sink *sink, struct leat_block *block, uint32_t row,
                           uint32_t *n, struct leat_error *err) {
    int r;

    *n = push_plain((struct leat_batch_lane *)sink, NULL, block, row, *n, &r, err);
    return r;
}

/* Batches are plain. */
static int push_batch_refs(struct leat_order_sink *sink, const struct leat_ref *refs, uint32_t n,
                           struct leat_error *err) {
    uint32_t n_pushed;
    int r;

    n_pushed = push_plain((struct leat_batch_lane *)sink, refs, NULL, 0, n, &r, err);
    for (; n_pushed < n; n_pushed++)
        leat_ref_drop(refs[n_pushed]);
    return r;
}

uint64_t leat_batch_lane_room(const struct leat_batch_lane *lane) {
    const struct leat_open_batch *open = &lane->open[0];

    if (!lane->batcher->is_plain)
        return 1;
    return lane->batcher->plan->batch_size - (open->refs ? open->refs->n_refs : 0);
}

static int flush_lane(struct leat_batch_lane *lane, struct leat_error *err) {
    const struct leat_plan *plan = lane->batcher->plan;
    uint64_t n_rest = lane->n_idle_rows % plan->batch_size;
    int r = leat_batch_lane_flush_window(lane, err);

    if (n_rest > 0) /* The last batch counts, or is dropped. */
        lane->n_idle_rows += plan->drop_last ? 0 : plan->batch_size - n_rest;
    for (size_t i = 0; r == 0 && i < lane->batcher->n_open; i++) {
        struct leat_batch_refs *batch = take_open(&lane->open[i]);

        if (batch && lane->batcher->plan->drop_last)
            leat_batch_refs_free(batch);
        else if (batch)
            r = leat_batch_lane_close(lane, batch, err);
    }
    return r;
}

int leat_batcher_flush(struct leat_batcher *batcher, struct leat_error *err) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < batcher->n_lanes; i++)
        r = flush_lane(&batcher->lanes[i], err);
    return r < 0 ? r : leat_batcher_end_turns(batcher, err);
}

/* ---- life ---- */

static int init_lanes(struct leat_batcher *batcher, struct leat_error *err) {
    batcher->lanes = calloc(batcher->n_lanes, sizeof(*batcher->lanes));
    for (size_t i = 0; batcher->lanes && i < batcher->n_lanes; i++) {
        struct leat_batch_lane *lane = &batcher->lanes[i];

        lane->sink.push = push_batch;
        lane->sink.push_rows = batcher->is_plain ? push_batch_rows : NULL;
        lane->sink.push_refs = batcher->is_plain ? push_batch_refs : NULL;
        lane->batcher = batcher;
        lane->closed.last = &lane->closed.first;
        lane->open = calloc(batcher->n_open, sizeof(*lane->open));
        if (!lane->open)
            return leat_error_oom(err);
    }
    return batcher->lanes ? 0 : leat_error_oom(err);
}

int leat_batcher_init(struct leat_batcher *batcher, const struct leat_plan *plan,
                      const struct leat_sequence *wanted, struct leat_error *err) {
    *batcher = (struct leat_batcher){
        .plan = plan,
        .first_rank = wanted->first_rank,
        .n_ranks = wanted->n_ranks ? wanted->n_ranks : 1,
        .world_size = wanted->world_size ? wanted->world_size : 1,
        .first_epoch = wanted->first_epoch,
        .first_step = wanted->first_step,
        .n_left = wanted->n_steps ? wanted->n_steps : UINT64_MAX,
        .n_lanes = leat_plan_n_lanes(plan),
        .n_open = 1 + (plan->bucketing ? plan->bucketing->n_boundaries : 0),
        .is_plain = !plan->bucketing && plan->max_tokens == 0,
    };
    if (batcher->world_size > 1)
        batcher->round_phase = wanted->round_phase % batcher->world_size;
    leat_batcher_init_lists(batcher);
    return init_lanes(batcher, err);
}

static void deinit_lane(struct leat_batch_lane *lane, size_t n_open) {
    for (size_t i = 0; lane->open && i < n_open; i++)
        leat_batch_refs_free(lane->open[i].refs);
    for (size_t i = 0; i < lane->n_gathered; i++)
        leat_ref_drop(lane->gathered[i].ref);
    free(lane->open);
    free(lane->gathered);
}

void leat_batcher_deinit(struct leat_batcher *batcher) {
    leat_batcher_deinit_lists(batcher);
    for (size_t i = 0; batcher->lanes && i < batcher->n_lanes; i++)
        deinit_lane(&batcher->lanes[i], batcher->n_open);
    free(batcher->lanes);
}

void leat_batcher_start_epoch(struct leat_batcher *batcher, uint64_t seed, uint64_t epoch) {
    const struct leat_bucketing *bucketing = batcher->plan->bucketing;

    batcher->epoch = epoch;
    batcher->turn = 0;
    for (size_t i = 0; i < batcher->n_lanes; i++)
        batcher->lanes[i].n_idle_rows = 0;
    leat_batcher_start_rounds(batcher);
    for (size_t i = 0; bucketing && i < batcher->n_lanes; i++)
        batcher->lanes[i].rng.state =
            leat_rng_key(seed, bucketing->seed, epoch, LEAT_RNG_BUCKET, i << LEAT_RNG_LANE_SHIFT);
}

uint64_t leat_batcher_holds(const struct leat_plan *plan) {
    const struct leat_bucketing *bucketing = plan->bucketing;
    uint64_t n_rows = plan->batch_size;

    if (bucketing && bucketing->window > 0)
        n_rows += bucketing->window;
    else if (bucketing)
        n_rows *= bucketing->n_boundaries + 1;
    return leat_plan_n_lanes(plan) * n_rows;
}

static uint64_t lane_bytes(const struct leat_batch_lane *lane) {
    uint64_t n_bytes = lane->closed.n_bytes + lane->gathered_capacity * sizeof(*lane->gathered);

    for (size_t i = 0; i < lane->batcher->n_open; i++)
        n_bytes += lane->open[i].refs ? refs_bytes(lane->open[i].capacity) : 0;
    return n_bytes;
}

uint64_t leat_batcher_bytes(const struct leat_batcher *batcher) {
    uint64_t n_bytes = batcher->queue.n_bytes + batcher->beyond.n_bytes;

    for (size_t i = 0; i < batcher->n_lanes; i++)
        n_bytes += lane_bytes(&batcher->lanes[i]);
    return n_bytes;
}

/* While a window is cut into batches, its rows are there twice; and tables double. */
uint64_t leat_batcher_max_bytes(const struct leat_plan *plan, uint64_t n_closed) {
    const struct leat_bucketing *bucketing = plan->bucketing;
    uint64_t window = bucketing ? bucketing->window : 0, n_lanes = leat_plan_n_lanes(plan);
    uint64_t n_open = 1 + (bucketing ? bucketing->n_boundaries : 0);
    uint64_t n_rows = window > 0 ? window + plan->batch_size : 0;

    return (n_lanes * n_open + n_closed) * refs_bytes(plan->batch_size) +
           n_lanes * n_rows * (2 * sizeof(struct leat_gathered_row) + sizeof(struct leat_ref));
}
