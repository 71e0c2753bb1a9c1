/* order.c: see order.h. */
#include "pipeline/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct leat_order_node {
    struct leat_order_sink sink;
    struct leat_order *order;
    const struct leat_plan_stage *stage;
    void *state;
    bool is_started, is_done;
};

void leat_ref_drop(struct leat_ref ref) {
    leat_block_unref(ref.block, 1);
}

/* ---- batches ---- */

static struct leat_batch_refs *batch_new(const struct leat_batcher *batcher, size_t n_refs) {
    struct leat_batch_refs *batch = malloc(sizeof(*batch) + n_refs * sizeof(batch->refs[0]));

    if (batch)
        *batch = (struct leat_batch_refs){.epoch = batcher->epoch, .step = batcher->step};
    return batch;
}

void leat_batch_refs_free(struct leat_batch_refs *batch) {
    for (uint32_t i = 0; i < batch->n_refs; i++)
        leat_ref_drop(batch->refs[i]);
    free(batch);
}

static void append(struct leat_batcher *batcher, struct leat_batch_refs *batch) {
    batch->next = NULL;
    *batcher->last = batch;
    batcher->last = &batch->next;
    batcher->n_ready++;
}

struct leat_batch_refs *leat_batcher_pop(struct leat_batcher *batcher) {
    struct leat_batch_refs *batch = batcher->first;

    if (!batch)
        return NULL;
    batcher->first = batch->next;
    if (!batcher->first)
        batcher->last = &batcher->first;
    batcher->n_ready--;
    return batch;
}

int leat_batcher_add_end(struct leat_batcher *batcher, bool is_last) {
    struct leat_batch_refs *end = batch_new(batcher, 0);

    if (!end)
        return -ENOMEM;
    end->kind = LEAT_OUTPUT_EPOCH_END;
    end->is_last = is_last;
    append(batcher, end);
    return 0;
}

/* The current batch is whole: it is this rank's, or it is let go. */
static int close_batch(struct leat_batcher *batcher) {
    struct leat_batch_refs *batch = batcher->current;
    bool is_mine = batcher->step % batcher->world_size == batcher->rank;
    bool is_before = batcher->epoch == batcher->first_epoch && batcher->step < batcher->first_step;

    batcher->current = NULL;
    batcher->step++;
    batcher->n_rank_steps += is_mine;
    if (!is_mine || is_before) {
        leat_batch_refs_free(batch);
        return 0;
    }
    append(batcher, batch);
    if (batcher->n_left != UINT64_MAX && --batcher->n_left == 0)
        return LEAT_ORDER_DONE;
    return 0;
}

static int push_batch(struct leat_order_sink *sink, struct leat_ref ref, struct leat_error *err) {
    struct leat_batcher *batcher = (struct leat_batcher *)sink;

    if (batcher->n_left == 0) {
        leat_ref_drop(ref);
        return LEAT_ORDER_DONE;
    }
    if (!batcher->current)
        batcher->current = batch_new(batcher, batcher->plan->batch_size);
    if (!batcher->current) {
        leat_ref_drop(ref);
        return leat_error_oom(err);
    }
    batcher->current->refs[batcher->current->n_refs++] = ref;
    return batcher->current->n_refs == batcher->plan->batch_size ? close_batch(batcher) : 0;
}

static void flush_batch(struct leat_batcher *batcher) {
    if (!batcher->current)
        return;
    if (batcher->plan->drop_last || batcher->n_left == 0) {
        leat_batch_refs_free(batcher->current);
        batcher->current = NULL;
        return;
    }
    (void)close_batch(batcher);
}

/* ---- nodes ---- */

static struct leat_order_sink *below(struct leat_order *order, size_t index) {
    return index + 1 < order->plan->n_order ? &order->nodes[index + 1].sink : &order->batcher.sink;
}

static bool passes_filter(const struct leat_plan_stage *stage, struct leat_ref ref) {
    const bool *marks = ref.block->columns[stage->filter_column].values;

    return marks[ref.row];
}

static int push_node(struct leat_order_sink *sink, struct leat_ref ref, struct leat_error *err) {
    struct leat_order_node *node = (struct leat_order_node *)sink;
    struct leat_order *order = node->order;
    size_t index = (size_t)(node - order->nodes);
    struct leat_order_sink *down = below(order, index);
    int r;

    if (node->stage->filter_column >= 0) {
        if (passes_filter(node->stage, ref))
            return leat_order_push(down, ref, err);
        order->n_filtered += index > order->plan->repeat_at;
        leat_ref_drop(ref);
        return 0;
    }
    order->n_repeated += index == order->plan->repeat_at;
    r = node->stage->ops->push(node->stage->config, node->state, ref, down, err);
    if (r == LEAT_ORDER_DONE)
        node->is_done = true;
    return r;
}

static int start_nodes(struct leat_order *order, size_t end, uint64_t epoch, uint64_t pass,
                       struct leat_error *err) {
    for (size_t i = 0; i < end; i++) {
        struct leat_order_node *node = &order->nodes[i];
        const struct leat_stage_ops *ops = node->stage->ops;
        struct leat_order_key key = {
            .seed = order->seed, .epoch = epoch, .pass = pass, .index = node->stage->kind_index};
        int r = 0;

        if (node->stage->filter_column >= 0)
            continue;
        node->state = calloc(1, ops->state_size ? ops->state_size : 1);
        if (!node->state)
            return leat_error_oom(err);
        node->is_started = true;
        node->is_done = false;
        if (ops->start)
            r = ops->start(node->stage->config, node->state, &key, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void stop_nodes(struct leat_order *order, size_t end) {
    for (size_t i = 0; i < end; i++) {
        struct leat_order_node *node = &order->nodes[i];

        if (!node->is_started)
            continue;
        if (node->stage->ops->stop)
            node->stage->ops->stop(node->stage->config, node->state);
        free(node->state);
        node->state = NULL;
        node->is_started = false;
    }
}

static int finish_nodes(struct leat_order *order, size_t from, size_t end, struct leat_error *err) {
    for (size_t i = from; i < end; i++) {
        const struct leat_order_node *node = &order->nodes[i];
        int r = 0;

        if (node->stage->filter_column < 0 && node->stage->ops->finish)
            r = node->stage->ops->finish(node->stage->config, node->state, below(order, i), err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the chain ---- */

int leat_order_init(struct leat_order *order, const struct leat_plan *plan,
                    const struct leat_run_options *options, struct leat_error *err) {
    *order = (struct leat_order){
        .plan = plan,
        .seed = options->has_seed ? options->seed : (uint64_t)plan->options.seed,
        .batcher = {.sink.push = push_batch,
                    .plan = plan,
                    .rank = options->rank,
                    .world_size = options->world_size ? options->world_size : 1,
                    .first_epoch = options->first_epoch,
                    .first_step = options->first_step,
                    .n_left = options->n_steps ? options->n_steps : UINT64_MAX},
    };
    order->batcher.last = &order->batcher.first;
    order->nodes = calloc(plan->n_order ? plan->n_order : 1, sizeof(*order->nodes));
    if (!order->nodes)
        return leat_error_oom(err);
    for (size_t i = 0; i < plan->n_order; i++)
        order->nodes[i] = (struct leat_order_node){
            .sink.push = push_node, .order = order, .stage = plan->order[i]};
    return 0;
}

void leat_order_deinit(struct leat_order *order) {
    struct leat_batch_refs *batch;

    if (!order->nodes)
        return;
    stop_nodes(order, order->plan->n_order);
    free(order->nodes);
    order->nodes = NULL;
    if (order->batcher.current)
        leat_batch_refs_free(order->batcher.current);
    while ((batch = leat_batcher_pop(&order->batcher)))
        leat_batch_refs_free(batch);
}

int leat_order_start_epoch(struct leat_order *order, uint64_t epoch, struct leat_error *err) {
    order->batcher.epoch = epoch;
    order->batcher.step = 0;
    order->batcher.n_rank_steps = 0;
    order->n_repeated = order->n_filtered = 0;
    order->n_idle_passes = 0;
    stop_nodes(order, order->plan->n_order);
    return start_nodes(order, order->plan->n_order, epoch, 0, err);
}

/* Whether the batcher, or a stage behind `repeat`, wants no further pass. */
static bool is_epoch_done(const struct leat_order *order) {
    if (order->batcher.n_left == 0)
        return true;
    for (size_t i = order->plan->repeat_at + 1; i < order->plan->n_order; i++)
        if (order->nodes[i].is_done)
            return true;
    return false;
}

int leat_order_feed(struct leat_order *order, struct leat_ref ref, struct leat_error *err) {
    struct leat_order_sink *top =
        order->plan->n_order ? &order->nodes[0].sink : &order->batcher.sink;
    int r = leat_order_push(top, ref, err);

    if (r != LEAT_ORDER_DONE)
        return r;
    return order->plan->has_repeat && !is_epoch_done(order) ? LEAT_ORDER_DONE
                                                            : LEAT_ORDER_EPOCH_DONE;
}

/* Whether this pass was one too many of those that left nothing; starts the next one's counts. */
static bool turns_idly(struct leat_order *order) {
    order->n_idle_passes = order->n_repeated > order->n_filtered ? 0 : order->n_idle_passes + 1;
    order->n_repeated = order->n_filtered = 0;
    return order->n_idle_passes >= LEAT_IDLE_PASSES_MAX;
}

static int end_epoch(struct leat_order *order, size_t from, struct leat_error *err) {
    int r = finish_nodes(order, from, order->plan->n_order, err);

    if (r < 0)
        return r;
    flush_batch(&order->batcher);
    return 0;
}

int leat_order_end_pass(struct leat_order *order, uint64_t epoch, uint64_t pass, bool *with_next,
                        struct leat_error *err) {
    size_t n_repeated = order->plan->has_repeat ? order->plan->repeat_at : 0;
    int r = finish_nodes(order, 0, n_repeated, err);

    if (r < 0)
        return r;
    *with_next = *with_next && !is_epoch_done(order) && !turns_idly(order);
    if (!*with_next)
        return end_epoch(order, n_repeated, err);
    stop_nodes(order, n_repeated);
    return start_nodes(order, n_repeated, epoch, pass + 1, err);
}
