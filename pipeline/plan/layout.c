/* plan/layout.c: decides what runs where, which columns are worth making, and how large a batch is.
 *
 * MAP stages commute with ORDER stages, which only permute rows. So all MAP stages are hoisted
 * before them and fused into one pass over a block. The exception is a filter behind an ORDER
 * stage: its verdict is computed in the pass and kept as a bool column, but rows are dropped by it
 * at its place in the order (take before filter is not filter before take).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan_internal.h"

/* Rings of small batches get more slots than asked, so that there is work while a thread wakes up.
 * If no batch can outgrow its slot, half of them are for batches that a trainer holds, and three
 * quarters if the spec says how many more may be ready. */
#define SMALL_RING_BYTES (2U << 20)
#define SMALL_RING_SLOTS 256
#define RING_MAX_SLOTS   4096
#define UNKNOWN_LENGTH   512 /* elements of a row of unknown length, for the first ring */

/* ---- what is needed ---- */

void leat_plan_need(struct leat_plan *plan, uint32_t column) {
    plan->is_needed[column] = true;
    while (plan->fields[column].made != LEAT_MADE_OF_RECORDS) {
        column = plan->fields[column].of;
        plan->is_needed[column] = true;
    }
}

static void keep_column(struct leat_plan *plan, uint32_t column) {
    while (plan->fields[column].made != LEAT_MADE_OF_RECORDS)
        column = plan->fields[column].of;
    plan->is_kept[column] = true;
}

static bool is_alive(const struct leat_plan *plan, const struct leat_planner *planner,
                     uint32_t stage) {
    bool makes_values = false;

    if (leat_stage_filters(plan->stages[stage - 1].config))
        return true;
    for (size_t i = 0; i < planner->makes.n_items; i++) {
        uint32_t column = planner->makes.items[i].column;

        if (planner->makes.items[i].stage != stage)
            continue;
        if (plan->is_needed[column])
            return true;
        makes_values |= plan->fields[column].made == LEAT_MADE_OF_RECORDS;
    }
    for (size_t i = 0; !makes_values && i < planner->uses.n_items; i++)
        if (planner->uses.items[i].stage == stage && plan->is_needed[planner->uses.items[i].column])
            return true;
    return false;
}

/* Finds those that run among the stages from first up to end, the last one first. */
static void find_alive(struct leat_plan *plan, const struct leat_planner *planner, size_t first,
                       size_t end, bool *is_stage_alive) {
    for (uint32_t stage = (uint32_t)end; stage > first; stage--) {
        is_stage_alive[stage - 1] = is_alive(plan, planner, stage);
        for (size_t i = 0; is_stage_alive[stage - 1] && i < planner->uses.n_items; i++) {
            const struct leat_planner_edge *use = &planner->uses.items[i];

            if (use->stage == stage && (use->result < 0 || plan->is_needed[use->result]))
                leat_plan_need(plan, use->column);
        }
    }
}

/* Backwards from what leaves the pipeline: a stage whose results nobody needs does not run. */
static void find_needed(struct leat_plan *plan, const struct leat_planner *planner,
                        bool *is_stage_alive) {
    for (size_t i = 0; i < planner->n_names; i++) {
        leat_plan_need(plan, planner->names[i].column);
        keep_column(plan, planner->names[i].column);
    }
    for (size_t i = 0; i < planner->keeps.n_items; i++) {
        leat_plan_need(plan, planner->keeps.items[i].column);
        keep_column(plan, planner->keeps.items[i].column);
    }
    find_alive(plan, planner, 0, plan->n_stages, is_stage_alive);
    leat_plan_need_sources(plan);
    find_alive(plan, planner, plan->n_stages, plan->n_all_stages, is_stage_alive);
}

/* ---- what runs where ---- */

static void add_filter_column(struct leat_plan *plan, struct leat_plan_stage *stage) {
    struct leat_field *field = &plan->fields[plan->n_columns];

    *field = (struct leat_field){.dtype = LEAT_DTYPE_BOOL, .loss_column = -1};
    memcpy(field->name, "(filter)", sizeof("(filter)"));
    plan->is_needed[plan->n_columns] = plan->is_kept[plan->n_columns] = true;
    stage->filter_column = (int32_t)plan->n_columns++;
    plan->n_marks++;
}

static void place_stages(struct leat_plan *plan, const bool *is_stage_alive) {
    for (size_t i = plan->n_stages; i < plan->n_all_stages; i++)
        if (plan->stages[i].ops->map && is_stage_alive[i])
            plan->map[plan->n_map++] = &plan->stages[i];
    plan->n_source_map = plan->n_map;
    for (size_t i = 0; i < plan->n_stages; i++) {
        struct leat_plan_stage *stage = &plan->stages[i];

        if (leat_stage_filters(stage->config) && plan->n_order > 0) {
            add_filter_column(plan, stage);
            plan->order[plan->n_order++] = stage;
        }
        if (stage->ops->map && is_stage_alive[i])
            plan->map[plan->n_map++] = stage;
        if (stage->ops->kind == LEAT_STAGE_ORDER)
            plan->order[plan->n_order++] = stage;
    }
}

static struct leat_plan_link *copy_links(const struct leat_planner_edge *edges, size_t n) {
    struct leat_plan_link *links = calloc(n + 1, sizeof(*links));

    for (size_t i = 0; links && i < n; i++)
        links[i] = (struct leat_plan_link){
            .stage = edges[i].stage, .column = edges[i].column, .result = edges[i].result};
    return links;
}

int leat_plan_arrange(struct leat_plan *plan, const struct leat_planner *planner,
                      struct leat_error *err) {
    size_t n_columns = planner->n_columns + plan->n_stages + 1; /* room for filter columns */
    bool is_stage_alive[LEAT_SPEC_MAX_STAGES] = {false};

    plan->n_columns = planner->n_columns;
    plan->fields = calloc(n_columns, sizeof(*plan->fields));
    plan->is_needed = calloc(n_columns, sizeof(*plan->is_needed));
    plan->is_kept = calloc(n_columns, sizeof(*plan->is_kept));
    plan->map = calloc(plan->n_all_stages + 1, sizeof(*plan->map));
    plan->order = calloc(plan->n_stages + 1, sizeof(*plan->order));
    plan->makes = copy_links(planner->makes.items, planner->makes.n_items);
    plan->reads = copy_links(planner->uses.items, planner->uses.n_items);
    if (!plan->fields || !plan->is_needed || !plan->is_kept || !plan->map || !plan->order ||
        !plan->makes || !plan->reads)
        return leat_error_oom(err);
    plan->n_makes = planner->makes.n_items;
    plan->n_reads = planner->uses.n_items;
    memcpy(plan->fields, planner->fields, planner->n_columns * sizeof(*plan->fields));
    find_needed(plan, planner, is_stage_alive);
    place_stages(plan, is_stage_alive);
    plan->has_repeat = planner->has_repeat;
    plan->repeat_count = planner->repeat_count;
    for (size_t i = 0; i < plan->n_order; i++)
        if (strcmp(plan->order[i]->ops->name, "repeat") == 0)
            plan->repeat_at = i;
    return 0;
}

/* ---- what a fast forward needs ---- */

static const char *find_look(const struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_order; i++)
        if (plan->order[i]->filter_column >= 0 || !plan->order[i]->ops->is_blind)
            return plan->order[i]->ops->name;
    if (plan->max_tokens > 0)
        return "max_tokens";
    return plan->bucketing ? "bucket" : NULL;
}

static const char *find_drop(const struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_map; i++)
        if (leat_stage_filters(plan->map[i]->config) && plan->map[i]->filter_column < 0)
            return plan->map[i]->ops->name;
    return plan->options.on_error == LEAT_ON_ERROR_FAIL ? NULL : "on_error";
}

struct leat_fast_forward_rule leat_plan_fast_forward(const struct leat_plan *plan) {
    const char *looks = find_look(plan), *drops = find_drop(plan);

    return (struct leat_fast_forward_rule){
        .is_blind = !looks, .are_counted = !looks && !drops, .looks = looks, .drops = drops};
}

/* ---- how large ---- */

/* Puts an error at `batch`, or at the stream if there is none. */
__attribute__((format(printf, 3, 4))) static int
batch_error(const struct leat_plan *plan, struct leat_error *err, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    leat_error_setv(err, -EINVAL, format, ap);
    va_end(ap);
    for (size_t i = 0; i < plan->n_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        if (strcmp(stage->ops->name, "batch") != 0)
            continue;
        leat_error_locate(err, plan->spec->file, stage->config->line, stage->config->column);
        leat_error_prefix(err, "stages[%zu].batch", i);
        return -EINVAL;
    }
    leat_error_locate(err, plan->spec->file, plan->spec->line, plan->spec->column);
    return -EINVAL;
}

static int check_tensor(const struct leat_plan *plan, const char *name,
                        const struct leat_field *field, struct leat_error *err) {
    if (field->dtype == LEAT_DTYPE_TEXT)
        return batch_error(plan, err,
                           "the field \"%s\" is text, which a batch cannot hold: `cast` it to "
                           "numbers, or `select` the other fields",
                           name);
    field = leat_plan_shaping(plan, field);
    if (field->is_list && !field->is_padded && !field->width && plan->is_batched &&
        plan->batch_size > 1)
        return batch_error(
            plan, err, "rows of the field \"%s\" have different lengths: `pad` it before `batch`",
            name);
    return 0;
}

/* Elements of every row of the tensor of a list; 0: they differ. */
static uint64_t exact_length(const struct leat_field *field) {
    return field->is_padded ? field->pad_length : field->width;
}

/* Elements of a row at most; 0: unknown. */
static uint64_t row_bound(const struct leat_field *field) {
    if (!field->is_list)
        return 1;
    if (exact_length(field) > 0)
        return exact_length(field);
    return leat_field_padded(field, field->max_length);
}

static void set_tensor(struct leat_plan *plan, struct leat_plan_tensor *tensor,
                       const struct leat_planner_name *name) {
    const struct leat_field *field = &plan->fields[name->column];
    const struct leat_field *shaped = leat_plan_shaping(plan, field);

    memcpy(tensor->name, name->name, sizeof(tensor->name));
    tensor->column = name->column;
    tensor->dtype = field->dtype;
    if (field->made == LEAT_MADE_AS_CU_SEQLENS) {
        tensor->shape[tensor->ndim++] = -1;
        return;
    }
    if (plan->is_batched)
        tensor->shape[tensor->ndim++] =
            plan->drop_last && plan->max_tokens == 0 ? (int64_t)plan->batch_size : -1;
    if (shaped->is_list)
        tensor->shape[tensor->ndim++] =
            exact_length(shaped) > 0 ? (int64_t)exact_length(shaped) : -1;
}

static bool is_counted(const struct leat_plan *plan, const struct leat_field *field) {
    for (size_t i = 0; i < plan->n_counted; i++)
        if (field == &plan->fields[plan->counted[i]])
            return true;
    return false;
}

/* Elements of the tensor in a full batch, at most. */
static int tensor_bound(struct leat_plan *plan, const struct leat_plan_tensor *tensor,
                        uint64_t *ret_elements) {
    const struct leat_field *field = &plan->fields[tensor->column];
    const struct leat_field *shaped = leat_plan_shaping(plan, field);
    uint64_t elements = row_bound(shaped);

    if (elements == 0 && !is_counted(plan, shaped)) {
        plan->is_bounded = false;
        elements = UNKNOWN_LENGTH;
    }
    if (is_counted(plan, shaped))
        *ret_elements = plan->max_tokens;
    else if (__builtin_mul_overflow(elements, plan->batch_size, ret_elements))
        return -EOVERFLOW;
    *ret_elements += field->made == LEAT_MADE_AS_CU_SEQLENS;
    return 0;
}

static int add_bytes(struct leat_plan *plan, const struct leat_plan_tensor *tensor,
                     uint64_t *total) {
    uint64_t bytes;

    if (tensor_bound(plan, tensor, &bytes) < 0 ||
        __builtin_mul_overflow(bytes, leat_dtype_size(tensor->dtype), &bytes) ||
        __builtin_add_overflow(*total, bytes + LEAT_SLOT_ALIGN, total))
        return -EOVERFLOW;
    *total = *total / LEAT_SLOT_ALIGN * LEAT_SLOT_ALIGN;
    return 0;
}

static void set_slots(struct leat_plan *plan) {
    uint64_t n = SMALL_RING_BYTES / plan->slot_bytes, n_ready;

    n = n < SMALL_RING_SLOTS ? n : SMALL_RING_SLOTS;
    n_ready = !plan->is_bounded ? n : plan->has_prefetch ? n / 4 : n / 2;
    plan->window = (uint32_t)(n - n_ready);
    n_ready = plan->prefetch_size > n_ready ? plan->prefetch_size : n_ready;
    n_ready = n_ready > 2 ? n_ready : 2;
    plan->n_slots = (uint32_t)(n_ready < RING_MAX_SLOTS ? n_ready : RING_MAX_SLOTS);
}

static int size_slots(struct leat_plan *plan, struct leat_error *err) {
    uint64_t total = leat_slot_head_bytes(plan->n_tensors);

    plan->is_bounded = true;
    for (size_t i = 0; i < plan->n_tensors; i++)
        if (add_bytes(plan, &plan->tensors[i], &total) < 0)
            total = UINT64_MAX / 2;
    if (total > (uint64_t)plan->options.max_batch_bytes && plan->is_bounded)
        return batch_error(plan, err,
                           "a batch of %llu rows may need %llu bytes, more than max_batch_bytes "
                           "(%lld): lower batch_size or the row lengths, or raise max_batch_bytes",
                           (unsigned long long)plan->batch_size, (unsigned long long)total,
                           (long long)plan->options.max_batch_bytes);
    if (total > (uint64_t)plan->options.max_batch_bytes)
        total = (uint64_t)plan->options.max_batch_bytes;
    plan->slot_bytes = (size_t)total;
    set_slots(plan);
    return 0;
}

int leat_plan_lay_out(struct leat_plan *plan, const struct leat_planner *planner,
                      struct leat_error *err) {
    plan->is_batched = planner->has_batch;
    plan->batch_size = planner->has_batch ? planner->batch_size : 1;
    plan->max_tokens = planner->max_tokens;
    plan->counted = planner->counted;
    plan->n_counted = planner->n_counted;
    plan->bucketing = planner->bucketing;
    plan->drop_last = planner->drop_last;
    plan->has_prefetch = planner->has_prefetch;
    plan->prefetch_size = planner->has_prefetch ? planner->prefetch_size : 1;
    if (planner->n_names > LEAT_SLOT_MAX_TENSORS)
        return batch_error(plan, err,
                           "a batch would have %zu tensors; at most %d are possible: `select` the "
                           "fields that you want",
                           planner->n_names, LEAT_SLOT_MAX_TENSORS);
    plan->tensors = calloc(planner->n_names ? planner->n_names : 1, sizeof(*plan->tensors));
    if (!plan->tensors)
        return leat_error_oom(err);
    for (size_t i = 0; i < planner->n_names; i++) {
        const struct leat_planner_name *name = &planner->names[i];
        int r = check_tensor(plan, name->name, &plan->fields[name->column], err);

        if (r < 0)
            return r;
        set_tensor(plan, &plan->tensors[plan->n_tensors++], name);
    }
    return size_slots(plan, err);
}

/* ---- random order ----
 *
 * Finds the stage that has the source read block by block, in random order (a `shuffle` with
 * `blocks`), and checks that the data could be in that order. */

static int fail_at_stage(const struct leat_plan *plan, const struct leat_plan_stage *stage,
                         struct leat_error *err) {
    leat_plan_prefix_stage(plan, stage, err);
    return -EINVAL;
}

static int check_source(const struct leat_plan *plan, const struct leat_plan_stage *stage,
                        struct leat_error *err) {
    if (plan->is_one_pass) {
        leat_config_error(stage->config, "blocks", err,
                          "%s is a FIFO, so leat cannot read its blocks in another order: shuffle "
                          "with `buffer_size` or `global` only",
                          plan->source->files.paths[0]);
        return fail_at_stage(plan, stage, err);
    }
    if (plan->mixing) {
        leat_config_error(
            stage->config, "blocks", err,
            "`%s` chooses the order of records itself: shuffle with `buffer_size` or `global` only",
            plan->source_ops->name);
        return fail_at_stage(plan, stage, err);
    }
    if (plan->blocks.n_lanes > 0 && !plan->cache_path && !plan->index_path) {
        leat_config_error(stage->config, "lanes", err,
                          "needs to know the number of records: give the stream a `cache`, or a "
                          "folder for its `index`, and then run `leatctl cache warm %s`",
                          plan->spec->file ? plan->spec->file : "FILE");
        return fail_at_stage(plan, stage, err);
    }
    if (plan->is_compressed && !plan->cache_path) {
        leat_config_error(
            stage->config, "blocks", err,
            "%s is compressed, so leat must read it from front to back: give the stream a `cache`, "
            "decompress the file, or shuffle with `buffer_size` or `global` only",
            plan->source->files.paths[0]);
        return fail_at_stage(plan, stage, err);
    }
    return 0;
}

/* A stage before it would see other records first. */
static int check_place(const struct leat_plan *plan, size_t at, struct leat_error *err) {
    const struct leat_plan_stage *before = at > 0 ? plan->order[0] : NULL;

    if (!before || (at == 1 && plan->has_repeat && plan->repeat_at == 0))
        return 0;
    leat_config_error(plan->order[at]->config, "blocks", err,
                      "`blocks` changes the order of the data, on which the earlier stage `%s` "
                      "depends: put `shuffle` first",
                      before->ops->name);
    return fail_at_stage(plan, plan->order[at], err);
}

/* Stages behind `lanes` are there once for each lane. Those that must see all rows in one order
 * cannot be. */
static int check_lanes(const struct leat_plan *plan, size_t at, struct leat_error *err) {
    for (size_t i = at + 1; plan->blocks.n_lanes > 0 && i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        bool is_full = stage->ops->evicts_above && stage->ops->evicts_above(stage->config) > 0;

        if (stage->filter_column >= 0 || !(stage->ops->picks_by_order || is_full))
            continue;
        leat_config_error(
            stage->config, is_full ? "global" : NULL, err,
            "comes after `shuffle: {lanes}`, so it would see the rows of only one lane: %s",
            is_full ? "shuffle with `buffer_size`" : "remove this stage, or remove `lanes`");
        return fail_at_stage(plan, stage, err);
    }
    return 0;
}

int leat_plan_find_blocks(struct leat_plan *plan, struct leat_error *err) {
    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        struct leat_block_order order = {.block_size = 0};
        int r;

        if (!stage->ops->reads)
            continue;
        stage->ops->reads(stage->config, &order);
        if (order.block_size == 0)
            continue;
        plan->blocks = order;
        plan->blocks.index = stage->kind_index;
        r = check_place(plan, i, err);
        if (r == 0)
            r = check_source(plan, stage, err);
        if (r == 0)
            r = check_lanes(plan, i, err);
        if (r < 0)
            return r;
    }
    return 0;
}
