#include "pipeline/order/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct leat_order_node {
    struct leat_order_sink sink;
    struct leat_order_sink out; /* for a stage that expands: counts what it passes on */
    struct leat_order_sink *down;
    struct leat_order *order;
    const struct leat_plan_stage *stage;
    size_t lane, index; /* index in plan->order */
    void *state;
    bool is_started, is_done;
};

/* ---- nodes ---- */

static struct leat_order_node *node_of(const struct leat_order *order, size_t lane, size_t index) {
    return &order->nodes[lane * order->plan->n_order + index];
}

/* The sink of that stage, or of the batcher behind the last one. */
static struct leat_order_sink *sink_of(const struct leat_order *order, size_t lane, size_t index) {
    return index < order->plan->n_order ? &node_of(order, lane, index)->sink
                                        : &order->batcher.lanes[lane].sink;
}

static bool passes_filter(const struct leat_plan_stage *stage, struct leat_ref ref) {
    const bool *marks = ref.block->columns[stage->filter_column].values;

    return marks[ref.row];
}

static int push_node(struct leat_order_sink *sink, struct leat_ref ref, struct leat_error *err) {
    struct leat_order_node *node = (struct leat_order_node *)sink;
    struct leat_order *order = node->order;
    size_t index = node->index;
    int r;

    if (node->stage->filter_column >= 0) {
        if (passes_filter(node->stage, ref))
            return leat_order_push(node->down, ref, err);
        order->n_filtered += index > order->plan->repeat_at;
        leat_ref_drop(ref);
        return 0;
    }
    order->n_repeated += index == order->plan->repeat_at;
    r = node->stage->ops->push(node->stage->config, node->state, ref,
                               node->stage->ops->expands ? &node->out : node->down, err);
    if (index > order->plan->repeat_at)
        order->n_filtered += r == LEAT_ORDER_LEFT_OUT || node->stage->ops->expands;
    if (r == LEAT_ORDER_DONE)
        node->is_done = true;
    return r == LEAT_ORDER_LEFT_OUT ? 0 : r;
}

/* Only of a stage that has push_rows, and passes on what came. */
static int push_node_rows(struct leat_order_sink *sink, struct leat_block *block, uint32_t row,
                          uint32_t *n, struct leat_error *err) {
    struct leat_order_node *node = (struct leat_order_node *)sink;
    struct leat_order *order = node->order;
    int r = node->stage->ops->push_rows(node->stage->config, node->state, block, row, n, node->down,
                                        err);

    if (node->index == order->plan->repeat_at)
        order->n_repeated += *n;
    if (r == LEAT_ORDER_DONE)
        node->is_done = true;
    return r;
}

/* Each row that a stage makes of one counts in its place. */
static int push_out(struct leat_order_sink *sink, struct leat_ref ref, struct leat_error *err) {
    struct leat_order_node *node =
        (struct leat_order_node *)((char *)sink - offsetof(struct leat_order_node, out));
    struct leat_order *order = node->order;

    order->n_repeated += node->index > order->plan->repeat_at;
    return leat_order_push(node->down, ref, err);
}

static int start_node(struct leat_order_node *node, uint64_t epoch, uint64_t pass,
                      struct leat_error *err) {
    const struct leat_stage_ops *ops = node->stage->ops;
    struct leat_order_key key = {.seed = node->order->seed,
                                 .epoch = epoch,
                                 .pass = pass,
                                 .index = node->stage->kind_index +
                                          ((uint64_t)node->lane << LEAT_RNG_LANE_SHIFT),
                                 .may_evict = node->order->may_evict};

    if (node->stage->filter_column >= 0)
        return 0;
    node->state = calloc(1, ops->state_size ? ops->state_size : 1);
    if (!node->state)
        return leat_error_oom(err);
    node->is_started = true;
    node->is_done = false;
    return ops->start ? ops->start(node->stage->config, node->state, &key, err) : 0;
}

/* The nodes of the first n_stages of each lane. */
static int start_nodes(struct leat_order *order, size_t n_stages, uint64_t epoch, uint64_t pass,
                       struct leat_error *err) {
    int r = 0;

    for (size_t lane = 0; lane < order->n_lanes; lane++)
        for (size_t i = 0; r == 0 && i < n_stages; i++)
            r = start_node(node_of(order, lane, i), epoch, pass, err);
    return r;
}

static void stop_node(struct leat_order_node *node) {
    if (!node->is_started)
        return;
    if (node->stage->ops->stop)
        node->stage->ops->stop(node->stage->config, node->state);
    free(node->state);
    node->state = NULL;
    node->is_started = false;
}

static void stop_nodes(struct leat_order *order, size_t n_stages) {
    for (size_t lane = 0; lane < order->n_lanes; lane++)
        for (size_t i = 0; i < n_stages; i++)
            stop_node(node_of(order, lane, i));
}

static int finish_nodes(struct leat_order *order, size_t from, size_t end, struct leat_error *err) {
    int r = 0;

    for (size_t lane = 0; lane < order->n_lanes; lane++)
        for (size_t i = from; r >= 0 && i < end; i++) {
            const struct leat_order_node *node = node_of(order, lane, i);

            if (node->stage->filter_column < 0 && node->stage->ops->finish)
                r = node->stage->ops->finish(node->stage->config, node->state, node->down, err);
        }
    return r < 0 ? r : 0;
}

/* ---- the chain ---- */

static bool takes_rows(const struct leat_plan_stage *stage) {
    return stage->filter_column < 0 && stage->ops->push_rows;
}

int leat_order_init(struct leat_order *order, const struct leat_plan *plan,
                    const struct leat_sequence *wanted, struct leat_error *err) {
    int r;

    *order = (struct leat_order){
        .plan = plan,
        .n_lanes = leat_plan_n_lanes(plan),
        .seed = wanted->seed,
    };
    r = leat_batcher_init(&order->batcher, plan, wanted, err);
    if (r < 0)
        return r;
    order->nodes = calloc(order->n_lanes * plan->n_order + 1, sizeof(*order->nodes));
    if (!order->nodes)
        return leat_error_oom(err);
    order->passes_one = true;
    for (size_t i = 0; i < plan->n_order; i++)
        order->passes_one &= plan->order[i]->filter_column >= 0 || plan->order[i]->ops->passes_one;
    for (size_t lane = 0; lane < order->n_lanes; lane++)
        for (size_t i = 0; i < plan->n_order; i++)
            *node_of(order, lane, i) = (struct leat_order_node){
                .sink.push = push_node,
                .sink.push_rows = takes_rows(plan->order[i]) ? push_node_rows : NULL,
                .out.push = push_out,
                .down = sink_of(order, lane, i + 1),
                .order = order,
                .stage = plan->order[i],
                .lane = lane,
                .index = i,
            };
    return 0;
}

void leat_order_deinit(struct leat_order *order) {
    if (order->nodes)
        stop_nodes(order, order->plan->n_order);
    free(order->nodes);
    order->nodes = NULL;
    leat_batcher_deinit(&order->batcher);
}

uint64_t leat_order_bytes(const struct leat_order *order) {
    uint64_t n_bytes = leat_batcher_bytes(&order->batcher);

    for (size_t i = 0; i < order->n_lanes * order->plan->n_order; i++) {
        const struct leat_order_node *node = &order->nodes[i];

        if (node->is_started && node->stage->ops->state_bytes)
            n_bytes += node->stage->ops->state_bytes(node->state);
    }
    return n_bytes;
}

int leat_order_start_epoch(struct leat_order *order, uint64_t epoch, struct leat_error *err) {
    leat_batcher_start_epoch(&order->batcher, order->seed, epoch);
    order->n_repeated = order->n_filtered = 0;
    order->n_idle_passes = 0;
    stop_nodes(order, order->plan->n_order);
    return start_nodes(order, order->plan->n_order, epoch, 0, err);
}

/* True if a stage behind `repeat` wants no further pass. No such stage is in lanes. */
static bool is_epoch_done(const struct leat_order *order) {
    for (size_t i = order->plan->repeat_at + 1; i < order->plan->n_order; i++)
        if (order->nodes[i].is_done)
            return true;
    return false;
}

static int push_rows(struct leat_order_sink *sink, struct leat_block *block, uint32_t row,
                     uint32_t *n, struct leat_error *err) {
    uint32_t n_pushed = 0;
    int r = 0;

    if (sink->push_rows)
        return sink->push_rows(sink, block, row, n, err);
    while (r == 0 && n_pushed < *n) {
        leat_block_ref(block, 1);
        r = leat_order_push(sink, leat_ref_row(block, row + n_pushed++), err);
    }
    *n = n_pushed;
    return r;
}

int leat_order_feed(struct leat_order *order, size_t lane, struct leat_block *block, uint32_t row,
                    uint32_t *n, struct leat_error *err) {
    uint64_t room = order->passes_one ? leat_batch_lane_room(&order->batcher.lanes[lane]) : 1;
    int r;

    *n = *n < room ? *n : (uint32_t)room;
    r = push_rows(sink_of(order, lane, 0), block, row, n, err);
    if (r != LEAT_ORDER_DONE)
        return r;
    return order->plan->has_repeat && !is_epoch_done(order) ? LEAT_ORDER_DONE
                                                            : LEAT_ORDER_EPOCH_DONE;
}

/* True if this was the last allowed pass of those that left nothing. Starts the counts of the next
 * one. */
static bool turns_idly(struct leat_order *order) {
    order->n_idle_passes = order->n_repeated > order->n_filtered ? 0 : order->n_idle_passes + 1;
    order->n_repeated = order->n_filtered = 0;
    return order->n_idle_passes >= LEAT_IDLE_PASSES_MAX;
}

static int end_epoch(struct leat_order *order, size_t from, struct leat_error *err) {
    int r = finish_nodes(order, from, order->plan->n_order, err);

    return r < 0 ? r : leat_batcher_flush(&order->batcher, err);
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
