/* order.c: see order.h. */
#include "pipeline/order/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct leat_order_node {
    struct leat_order_sink sink;
    struct leat_order_sink out; /* for a stage that expands: counts what it passes on */
    struct leat_order *order;
    const struct leat_plan_stage *stage;
    void *state;
    bool is_started, is_done;
};

/* ---- nodes ---- */

static struct leat_order_sink *sink_below(struct leat_order *order, size_t index) {
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
    struct leat_order_sink *down = sink_below(order, index);
    int r;

    if (node->stage->filter_column >= 0) {
        if (passes_filter(node->stage, ref))
            return leat_order_push(down, ref, err);
        order->n_filtered += index > order->plan->repeat_at;
        leat_ref_drop(ref);
        return 0;
    }
    order->n_repeated += index == order->plan->repeat_at;
    r = node->stage->ops->push(node->stage->config, node->state, ref,
                               node->stage->ops->expands ? &node->out : down, err);
    if (index > order->plan->repeat_at)
        order->n_filtered += r == LEAT_ORDER_LEFT_OUT || node->stage->ops->expands;
    if (r == LEAT_ORDER_DONE)
        node->is_done = true;
    return r == LEAT_ORDER_LEFT_OUT ? 0 : r;
}

/* Each row that a stage makes of one counts in its place. */
static int push_out(struct leat_order_sink *sink, struct leat_ref ref, struct leat_error *err) {
    struct leat_order_node *node =
        (struct leat_order_node *)((char *)sink - offsetof(struct leat_order_node, out));
    struct leat_order *order = node->order;
    size_t index = (size_t)(node - order->nodes);

    order->n_repeated += index > order->plan->repeat_at;
    return leat_order_push(sink_below(order, index), ref, err);
}

static int start_nodes(struct leat_order *order, size_t end, uint64_t epoch, uint64_t pass,
                       struct leat_error *err) {
    for (size_t i = 0; i < end; i++) {
        struct leat_order_node *node = &order->nodes[i];
        const struct leat_stage_ops *ops = node->stage->ops;
        struct leat_order_key key = {.seed = order->seed,
                                     .epoch = epoch,
                                     .pass = pass,
                                     .index = node->stage->kind_index,
                                     .may_evict = order->may_evict};
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
            r = node->stage->ops->finish(node->stage->config, node->state, sink_below(order, i),
                                         err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the chain ---- */

int leat_order_init(struct leat_order *order, const struct leat_plan *plan,
                    const struct leat_sequence *wanted, struct leat_error *err) {
    int r;

    *order = (struct leat_order){
        .plan = plan,
        .seed = wanted->seed,
    };
    r = leat_batcher_init(&order->batcher, plan, wanted, err);
    order->nodes = calloc(plan->n_order ? plan->n_order : 1, sizeof(*order->nodes));
    if (!order->nodes)
        r = leat_error_oom(err);
    for (size_t i = 0; order->nodes && i < plan->n_order; i++)
        order->nodes[i] = (struct leat_order_node){
            .sink.push = push_node, .out.push = push_out, .order = order, .stage = plan->order[i]};
    return r;
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

    for (size_t i = 0; i < order->plan->n_order; i++) {
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

/* True if a stage behind `repeat` wants no further pass. */
static bool is_epoch_done(const struct leat_order *order) {
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
