/* run/resident.c: see run/resident.h. What is here and what is evicted; fetching: run/gather.c. */
#include "pipeline/run/resident.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/block/sparse.h"
#include "pipeline/run/run_internal.h"

/* ---- lists ---- */

static void append(struct leat_resident_list *list, struct leat_resident *resident) {
    resident->next = NULL;
    resident->previous = list->last;
    if (list->last)
        list->last->next = resident;
    else
        list->first = resident;
    list->last = resident;
}

static void take_out(struct leat_resident_list *list, struct leat_resident *resident) {
    if (resident->previous)
        resident->previous->next = resident->next;
    else
        list->first = resident->next;
    if (resident->next)
        resident->next->previous = resident->previous;
    else
        list->last = resident->previous;
}

/* The block goes, evicted or not. */
static void forget(struct leat_block *block) {
    struct leat_resident *resident = block->resident;
    struct leat_residents *all = resident ? &resident->run->residents : NULL;

    if (block->bare)
        leat_bare_forget(block);
    if (!resident)
        return;

    if (all->cursor == resident)
        all->cursor = resident->next;
    take_out(block->is_evicted ? &all->evicted : &all->here, resident);
    all->here_bytes -= resident->n_bytes;
    all->n_all--;
    if (!all->evicted.first)
        all->is_evicting = false;
    leat_cache_file_unref(resident->file);
    free(resident);
    block->resident = NULL;
}

/* ---- life ---- */

void leat_residents_init(struct leat_run *run) {
    const struct leat_plan *plan = run->plan;
    uint64_t least = 0;

    run->blocks.forget = forget;
    for (size_t i = 0; (plan->cache_path || run->cache.is_index) && i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        uint64_t bytes = stage->ops->evicts_above ? stage->ops->evicts_above(stage->config) : 0;

        if (bytes > 0 && (least == 0 || bytes < least))
            least = bytes;
    }
    run->residents.max_bytes = least;
    run->residents.pins = least > 0 || plan->n_order > 0;
}

void leat_residents_deinit(struct leat_run *run) {
    free(run->residents.wants);
}

uint64_t leat_residents_bytes(const struct leat_run *run) {
    return run->residents.n_all * sizeof(struct leat_resident) +
           run->residents.capacity * sizeof(struct leat_want);
}

/* ---- eviction ---- */

static size_t aligned(size_t n_bytes) {
    return (n_bytes + LEAT_ARENA_ALIGN - 1) / LEAT_ARENA_ALIGN * LEAT_ARENA_ALIGN;
}

/* What a row of that column is to keep. */
static size_t kept_size(const struct leat_plan *plan, uint32_t column) {
    if (!plan->is_kept[column])
        return 0;
    return plan->fields[column].is_list ? sizeof(uint32_t)
                                        : leat_dtype_size(plan->fields[column].dtype);
}

static void *copy(struct leat_arena *arena, const void *values, size_t n_bytes) {
    void *memory = leat_arena_alloc(arena, n_bytes);

    return memory && n_bytes > 0 ? memcpy(memory, values, n_bytes) : memory;
}

/* Columns without values, in memory of just their size. */
static int make_bare(const struct leat_run *run, const struct leat_block *block,
                     struct leat_arena *arena, struct leat_column **ret_columns,
                     uint32_t **ret_records) {
    const struct leat_plan *plan = run->plan;
    bool keeps_records = block->records && leat_run_wants_places(run);
    size_t n_records_bytes = keeps_records ? block->n_rows * sizeof(uint32_t) : 0;
    size_t n_bytes =
        aligned(block->n_columns * sizeof(struct leat_column)) + aligned(n_records_bytes);
    struct leat_column *columns;

    for (uint32_t i = 0; i < block->n_columns; i++)
        n_bytes += aligned(block->n_rows * kept_size(plan, i));
    if (leat_arena_init_exact(arena, n_bytes) < 0)
        return -1;
    columns = leat_arena_alloc(arena, block->n_columns * sizeof(*columns));
    memset(columns, 0, block->n_columns * sizeof(*columns));
    for (uint32_t i = 0; i < block->n_columns; i++) {
        const struct leat_column *column = &block->columns[i];
        size_t n = block->n_rows * kept_size(plan, i);

        if (n > 0 && plan->fields[i].is_list)
            columns[i].lengths = copy(arena, column->lengths, n);
        else if (n > 0)
            columns[i].values = copy(arena, column->values, n);
    }
    *ret_columns = columns;
    *ret_records = keeps_records ? copy(arena, block->records, n_records_bytes) : NULL;
    return 0;
}

/* Without memory for what it keeps, the block stays as it is. */
static bool strip(const struct leat_run *run, struct leat_block *block) {
    struct leat_column *columns;
    struct leat_arena arena;
    uint32_t *records;

    if (make_bare(run, block, &arena, &columns, &records) < 0)
        return false;
    leat_block_replace(block, &arena);
    block->columns = columns;
    block->records = records;
    block->bad = NULL;
    block->n_bad = 0;
    block->is_evicted = true;
    return true;
}

static bool evict(struct leat_run *run, struct leat_resident *resident) {
    struct leat_residents *all = &run->residents;

    if (resident->block->n_pins > 0 || !strip(run, resident->block))
        return false;
    take_out(&all->here, resident);
    append(&all->evicted, resident);
    all->here_bytes -= resident->n_bytes;
    resident->n_bytes = 0;
    return true;
}

static bool evict_all(struct leat_run *run) {
    struct leat_resident *next;
    bool has_evicted = false;

    for (struct leat_resident *resident = run->residents.here.first; resident; resident = next) {
        next = resident->next;
        has_evicted |= evict(run, resident);
    }
    return has_evicted;
}

bool leat_residents_evict(struct leat_run *run) {
    if (run->residents.max_bytes == 0 || !evict_all(run))
        return false;
    run->residents.is_evicting = true;
    return true;
}

static bool may_be_evicted(const struct leat_run *run, const struct leat_queue_entry *entry) {
    const struct leat_block *block = entry->block;

    return run->residents.max_bytes > 0 && block && block->is_held && !block->resident &&
           block->n_refs > 1 && entry->frame.n_bytes > 0 && (!block->bare || !block->bare->is_out);
}

void leat_residents_add(struct leat_run *run, const struct leat_queue_entry *entry) {
    struct leat_residents *all = &run->residents;
    struct leat_resident *resident = may_be_evicted(run, entry) ? malloc(sizeof(*resident)) : NULL;
    bool is_bare = entry->block && entry->block->bare;

    /* what an index has of it is what an evicted one keeps */
    if (!resident || (is_bare && !strip(run, entry->block))) {
        free(resident);
        return;
    }
    *resident = (struct leat_resident){
        .run = run,
        .block = entry->block,
        .file = entry->file && !run->cache.is_index ? leat_cache_file_ref(entry->file) : NULL,
        .frame = entry->frame,
        .n_bytes = is_bare ? 0 : entry->block->counted_bytes,
        .first_want = SIZE_MAX,
    };
    entry->block->resident = resident;
    all->n_all++;
    if (is_bare) {
        leat_bare_forget(entry->block);
        append(&all->evicted, resident);
        all->is_evicting = true;
        return;
    }
    append(&all->here, resident);
    all->here_bytes += resident->n_bytes;
    if (all->here_bytes > all->max_bytes)
        all->is_evicting = true;
    if (all->is_evicting)
        (void)evict_all(run);
}

/* ---- batches ---- */

bool leat_residents_have_first(const struct leat_run *run) {
    const struct leat_residents *all = &run->residents;
    const struct leat_batch_refs *first = run->order.batcher.first;

    if (!first || !all->evicted.first || first->kind != LEAT_OUTPUT_BATCH)
        return true;
    return first->is_planned && first->n_absent == 0;
}

void leat_residents_pin(const struct leat_ref *ref, bool is_pinned) {
    ref->block->n_pins += is_pinned ? 1U : UINT32_MAX;
}

static void pin_batch(struct leat_batch_refs *batch, bool is_pinned) {
    for (uint32_t i = 0; i < batch->n_refs; i++) {
        uint32_t n;
        const struct leat_ref *refs = leat_residents_refs(&batch->refs[i], &n);

        for (uint32_t k = 0; k < n; k++)
            leat_residents_pin(&refs[k], is_pinned);
    }
}

struct leat_batch_refs *leat_residents_pop(struct leat_run *run) {
    struct leat_batch_refs *batch = leat_batcher_pop(&run->order.batcher);

    if (!batch || !run->residents.pins)
        return batch;
    if (batch->is_planned)
        run->residents.n_planned--;
    else
        pin_batch(batch, true);
    return batch;
}

/* The row is not wanted any more; of its block perhaps few are. */
static void leave(const struct leat_run *run, const struct leat_ref *ref) {
    if (ref->row == LEAT_REF_BUNDLE)
        return;
    leat_block_mark_gone(ref->block, ref->row);
    if (leat_block_is_sparse(ref->block))
        leat_block_thin(ref->block, run->plan->fields, run->plan->is_kept);
}

void leat_residents_release(struct leat_run *run, struct leat_batch_refs *batch) {
    if (!run->residents.pins)
        return;
    pin_batch(batch, false);
    for (uint32_t i = 0; i < batch->n_refs; i++)
        leave(run, &batch->refs[i]);
}

void leat_residents_abandon(struct leat_run *run, struct leat_batch_refs *first) {
    struct leat_residents *all = &run->residents;

    all->is_abandoned = true;
    all->n_unissued = 0;
    if (first)
        leat_batcher_cut(&run->order.batcher, first);
}
