#include "pipeline/run/row_store.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/block/sparse.h"
#include "pipeline/run/intake/fast_forward.h"

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

void leat_row_store_forget(struct leat_block *block) {
    struct leat_resident *resident = block->resident;
    struct leat_row_store *store = resident ? resident->store : NULL;

    if (block->count_only)
        leat_count_only_forget(block);
    if (!resident)
        return;
    if (store->cursor == resident)
        store->cursor = resident->next;
    take_out(block->is_evicted ? &store->evicted : &store->here, resident);
    store->here_bytes -= resident->n_bytes;
    store->n_all--;
    if (!store->evicted.first)
        store->is_evicting = false;
    leat_cache_file_unref(resident->file);
    free(resident);
    block->resident = NULL;
}

/* ---- life ---- */

void leat_row_store_init(struct leat_row_store *store, const struct leat_plan *plan, bool may_evict,
                         bool keeps_records) {
    uint64_t least = 0;

    for (size_t i = 0; may_evict && i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        uint64_t bytes = stage->ops->evicts_above ? stage->ops->evicts_above(stage->config) : 0;

        if (bytes > 0 && (least == 0 || bytes < least))
            least = bytes;
    }
    *store = (struct leat_row_store){
        .plan = plan,
        .keeps_records = keeps_records,
        .max_bytes = least,
        .pins = least > 0 || plan->n_order > 0,
    };
}

uint64_t leat_row_store_bytes(const struct leat_row_store *store) {
    return store->n_all * sizeof(struct leat_resident);
}

/* ---- eviction ---- */

static size_t aligned(size_t n_bytes) {
    return (n_bytes + LEAT_ARENA_ALIGN - 1) / LEAT_ARENA_ALIGN * LEAT_ARENA_ALIGN;
}

/* Bytes that an evicted block keeps of a row of that column. */
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

/* Makes columns without values, in memory of just their size. */
static int make_stripped(const struct leat_row_store *store, const struct leat_block *block,
                         struct leat_arena *arena, struct leat_column **ret_columns,
                         uint32_t **ret_records) {
    const struct leat_plan *plan = store->plan;
    bool keeps_records = block->records && store->keeps_records;
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

/* If there is no memory for what it keeps, the block stays as it is. */
static bool strip(const struct leat_row_store *store, struct leat_block *block) {
    struct leat_column *columns;
    struct leat_arena arena;
    uint32_t *records;

    if (make_stripped(store, block, &arena, &columns, &records) < 0)
        return false;
    leat_block_replace(block, &arena);
    block->columns = columns;
    block->records = records;
    block->bad = NULL;
    block->n_bad = 0;
    block->is_evicted = true;
    return true;
}

static bool evict(struct leat_row_store *store, struct leat_resident *resident) {
    if (resident->block->n_pins > 0 || !strip(store, resident->block))
        return false;
    take_out(&store->here, resident);
    append(&store->evicted, resident);
    store->here_bytes -= resident->n_bytes;
    resident->n_bytes = 0;
    return true;
}

static bool evict_all(struct leat_row_store *store) {
    struct leat_resident *next;
    bool has_evicted = false;

    for (struct leat_resident *resident = store->here.first; resident; resident = next) {
        next = resident->next;
        has_evicted |= evict(store, resident);
    }
    return has_evicted;
}

bool leat_row_store_evict(struct leat_row_store *store) {
    if (store->max_bytes == 0 || !evict_all(store))
        return false;
    store->is_evicting = true;
    return true;
}

/* A pass that `take` ends has batches under way before its last block leaves the queue. */
static bool may_be_evicted(const struct leat_row_store *store,
                           const struct leat_queue_entry *entry) {
    const struct leat_block *block = entry->block;

    return store->max_bytes > 0 && block && block->is_held && !block->resident &&
           block->n_pins == 0 && block->n_refs > 1 && entry->frame.n_bytes > 0 &&
           (!block->count_only || !block->count_only->is_out);
}

/* A block of an index has what an evicted block keeps, so it counts as evicted. */
static void add_evicted(struct leat_row_store *store, struct leat_resident *resident) {
    leat_count_only_forget(resident->block);
    append(&store->evicted, resident);
    store->is_evicting = true;
}

static void add_here(struct leat_row_store *store, struct leat_resident *resident) {
    resident->n_bytes = resident->block->counted_bytes;
    append(&store->here, resident);
    store->here_bytes += resident->n_bytes;
    if (store->here_bytes > store->max_bytes)
        store->is_evicting = true;
    if (store->is_evicting)
        (void)evict_all(store);
}

void leat_row_store_add(struct leat_row_store *store, const struct leat_queue_entry *entry,
                        bool is_of_index) {
    struct leat_resident *resident =
        may_be_evicted(store, entry) ? malloc(sizeof(*resident)) : NULL;
    bool is_count_only = entry->block && entry->block->count_only;

    if (!resident || (is_count_only && !strip(store, entry->block))) {
        free(resident);
        return;
    }
    *resident = (struct leat_resident){
        .store = store,
        .block = entry->block,
        .file = entry->file && !is_of_index ? leat_cache_file_ref(entry->file) : NULL,
        .frame = entry->frame,
        .first_want = SIZE_MAX,
    };
    entry->block->resident = resident;
    store->n_all++;
    if (is_count_only)
        add_evicted(store, resident);
    else
        add_here(store, resident);
}

/* ---- evicted blocks ---- */

void leat_row_store_rewind(struct leat_row_store *store) {
    store->cursor = store->evicted.first;
}

struct leat_resident *leat_row_store_next(struct leat_row_store *store) {
    struct leat_resident *resident = store->cursor;

    if (resident)
        store->cursor = resident->next;
    return resident;
}

void leat_resident_find_frame(struct leat_resident *resident, struct leat_cache_file *file) {
    const struct leat_cache_frame *frame;

    if (resident->file || !file)
        return;
    frame = leat_cache_file_find(file, resident->frame.record);
    if (!frame || frame->record != resident->frame.record ||
        frame->n_bytes != resident->frame.n_bytes || frame->n_stored != resident->frame.n_stored ||
        memcmp(frame->checksum, resident->frame.checksum, sizeof(frame->checksum)) != 0)
        return;
    resident->frame = *frame;
    resident->file = leat_cache_file_ref(file);
}

/* ---- batches ---- */

static void change_bundle_pins(const struct leat_bundle *bundle, uint32_t change) {
    for (uint32_t i = 0; i < bundle->n_refs; i++)
        bundle->refs[i].block->n_pins += change;
}

void leat_row_store_pin_row(const struct leat_ref *ref) {
    ref->block->n_pins++;
}

void leat_row_store_pin(const struct leat_row_store *store, struct leat_batch_refs *batch) {
    for (uint32_t i = 0; store->pins && i < batch->n_refs; i++)
        if (batch->refs[i].row == LEAT_REF_BUNDLE)
            change_bundle_pins(batch->refs[i].bundle, 1);
        else
            batch->refs[i].block->n_pins++;
}

/* Marks the row as gone, and thins its block if few of its rows are left. */
static void release_row(const struct leat_row_store *store, const struct leat_ref *ref) {
    struct leat_block *block = ref->block;

    block->n_pins--;
    leat_block_mark_gone(block, ref->row);
    if (leat_block_is_sparse(block))
        leat_block_thin(block, store->plan->fields, store->plan->is_kept);
}

void leat_row_store_release(const struct leat_row_store *store, struct leat_batch_refs *batch) {
    for (uint32_t i = 0; store->pins && i < batch->n_refs; i++)
        if (batch->refs[i].row == LEAT_REF_BUNDLE)
            change_bundle_pins(batch->refs[i].bundle, UINT32_MAX);
        else
            release_row(store, &batch->refs[i]);
}
