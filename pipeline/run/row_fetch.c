#include "pipeline/run/row_fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/work/memory_plan.h"
#include "proto/base/array.h"

#define JOB_BYTES        (1U << 20)   /* of blocks that a job reads, about */
#define WINDOW_MIN_BYTES (256U << 10) /* Smaller windows do not help. */

/* ---- life ---- */

void leat_row_fetch_init(struct leat_row_fetch *fetch, struct leat_row_store *store,
                         struct leat_batcher *batcher, struct leat_account *account) {
    *fetch = (struct leat_row_fetch){.store = store, .batcher = batcher, .account = account};
}

void leat_row_fetch_deinit(struct leat_row_fetch *fetch) {
    free(fetch->wants);
}

uint64_t leat_row_fetch_bytes(const struct leat_row_fetch *fetch) {
    return fetch->capacity * sizeof(struct leat_want);
}

/* ---- batches ---- */

bool leat_row_fetch_has_first(const struct leat_row_fetch *fetch) {
    const struct leat_batch_refs *first = fetch->batcher->queue.first;

    if (!first || !fetch->store->evicted.first || first->kind != LEAT_OUTPUT_BATCH)
        return true;
    return first->is_planned && first->n_absent == 0;
}

struct leat_batch_refs *leat_row_fetch_take(struct leat_row_fetch *fetch) {
    struct leat_batch_refs *batch = leat_batcher_pop(fetch->batcher);

    if (batch && batch->is_planned)
        fetch->n_planned--;
    else if (batch)
        leat_row_store_pin(fetch->store, batch);
    return batch;
}

void leat_row_fetch_adopt(struct leat_row_fetch *fetch, struct leat_batch_refs *batch) {
    batch->is_planned = true;
    fetch->n_planned++;
    leat_row_store_pin(fetch->store, batch);
}

void leat_row_fetch_cut(struct leat_row_fetch *fetch, struct leat_batch_refs *end) {
    fetch->n_planned -= end->is_planned;
    leat_batcher_cut(fetch->batcher, end);
}

void leat_row_fetch_abandon(struct leat_row_fetch *fetch, struct leat_batch_refs *first) {
    fetch->is_abandoned = true;
    fetch->n_unissued = 0;
    if (first)
        leat_batcher_cut(fetch->batcher, first);
}

void leat_row_fetch_abandon_absent(struct leat_row_fetch *fetch) {
    struct leat_batch_refs *batch = fetch->batcher->queue.first;

    while (batch && batch->is_planned && batch->n_absent == 0)
        batch = batch->next;
    leat_row_fetch_abandon(fetch, batch);
}

/* ---- windows ---- */

static uint64_t row_bytes(const struct leat_plan *plan, const struct leat_ref *ref) {
    uint64_t n_bytes = sizeof(struct leat_want);

    for (uint32_t i = 0; i < plan->n_columns; i++) {
        size_t size = leat_dtype_size(plan->fields[i].dtype);

        if (plan->is_kept[i])
            n_bytes += plan->fields[i].is_list
                           ? ref->block->columns[i].lengths[ref->row] * size + 2 * sizeof(uint32_t)
                           : size;
    }
    return n_bytes;
}

/* If memory is short, windows are smaller, and the set is read more often. */
static uint64_t window_bytes(const struct leat_row_fetch *fetch, uint64_t reserve_bytes) {
    uint64_t room = leat_account_room(fetch->account), n_bytes = fetch->store->max_bytes;

    room = room > reserve_bytes ? room - reserve_bytes : 0;
    n_bytes = room < n_bytes ? room : n_bytes;
    return n_bytes > WINDOW_MIN_BYTES ? n_bytes : WINDOW_MIN_BYTES;
}

static int add_want(struct leat_row_fetch *fetch, struct leat_ref *ref,
                    struct leat_batch_refs *batch, uint32_t target) {
    struct leat_resident *resident = ref->block->resident;

    if (!leat_array_reserve(&fetch->wants, fetch->n_wants + 1, &fetch->capacity))
        return -ENOMEM;
    fetch->wants[fetch->n_wants] = (struct leat_want){
        .ref = ref, .batch = batch, .target = target, .next = resident->first_want};
    resident->first_want = fetch->n_wants++;
    batch->n_absent++;
    return 0;
}

static int plan_batch(struct leat_row_fetch *fetch, struct leat_batch_refs *batch,
                      uint64_t n_window, uint64_t *n_bytes) {
    uint64_t n_before = *n_bytes;
    uint64_t target = n_before * LEAT_GATHER_TARGETS_MAX / n_window;
    int r = 0;

    batch->is_planned = true;
    fetch->n_planned++;
    for (uint32_t i = 0; r == 0 && i < batch->n_refs; i++) {
        uint32_t n;
        struct leat_ref *refs = leat_ref_parts(&batch->refs[i], &n);

        for (uint32_t k = 0; r == 0 && k < n; k++) {
            if (!refs[k].block->is_evicted) {
                leat_row_store_pin_row(&refs[k]);
                continue;
            }
            *n_bytes += row_bytes(fetch->store->plan, &refs[k]);
            r = add_want(fetch, &refs[k], batch,
                         target < LEAT_GATHER_TARGETS_MAX ? (uint32_t)target
                                                          : LEAT_GATHER_TARGETS_MAX - 1);
        }
    }
    return r;
}

int leat_row_fetch_plan(struct leat_row_fetch *fetch, const struct leat_row_fetch_room *room) {
    struct leat_batch_refs *batch = fetch->batcher->queue.first;
    uint64_t n_window, n_bytes = 0;

    if (!fetch->store->evicted.first || fetch->n_unissued > 0 || fetch->n_out > 0 ||
        fetch->is_abandoned || fetch->n_planned == fetch->batcher->queue.n_batches)
        return 0;
    n_window = window_bytes(fetch, room->reserve_bytes);
    fetch->n_wants = 0;
    leat_row_store_rewind(fetch->store);
    for (size_t i = 0; i < fetch->n_planned; i++)
        batch = batch->next;
    for (; batch && n_bytes < n_window; batch = batch->next)
        if (plan_batch(fetch, batch, n_window, &n_bytes) < 0)
            return -ENOMEM;
    fetch->n_unissued = fetch->n_wants;
    return 0;
}

/* ---- jobs ---- */

struct leat_gather_want {
    size_t index; /* of the want */
    size_t row;   /* into the rows of the job */
};

/* The next blocks with wanted rows, as many as a job takes. */
static size_t next_pieces(struct leat_row_fetch *fetch, struct leat_resident **ret_residents,
                          size_t *ret_n_wants) {
    uint64_t n_bytes = 0;
    size_t n = 0;

    *ret_n_wants = 0;
    while (n < LEAT_GATHER_PIECES_MAX && n_bytes < JOB_BYTES) {
        struct leat_resident *resident = leat_row_store_next(fetch->store);

        if (!resident)
            break;
        if (resident->first_want == SIZE_MAX)
            continue;
        ret_residents[n++] = resident;
        n_bytes += resident->file ? resident->frame.n_bytes : resident->frame.span.n_bytes;
        for (size_t i = resident->first_want; i != SIZE_MAX; i = fetch->wants[i].next)
            ++*ret_n_wants;
    }
    return n;
}

struct sorting {
    const struct leat_want *want;
    size_t index;
};

static int by_place(const void *a, const void *b) {
    const struct leat_want *x = ((const struct sorting *)a)->want;
    const struct leat_want *y = ((const struct sorting *)b)->want;

    if (x->target != y->target)
        return (x->target > y->target) - (x->target < y->target);
    return (x->ref->row > y->ref->row) - (x->ref->row < y->ref->row);
}

/* Adds the wanted rows of a block, each once for each target. */
static void add_rows(struct leat_row_fetch *fetch, struct leat_gather *gather,
                     struct leat_resident *resident, struct sorting *sorting,
                     uint32_t *n_target_rows) {
    struct leat_gather_piece *piece = &gather->pieces[gather->n_pieces++];
    size_t n = 0;

    *piece = (struct leat_gather_piece){
        .block = resident->block,
        .load = leat_cache_load(resident->file, &resident->frame),
        .first_row = gather->n_rows,
    };
    leat_block_ref(resident->block, 1);
    for (size_t i = resident->first_want; i != SIZE_MAX; i = fetch->wants[i].next)
        sorting[n++] = (struct sorting){.want = &fetch->wants[i], .index = i};
    resident->first_want = SIZE_MAX;
    qsort(sorting, n, sizeof(*sorting), by_place);
    for (size_t i = 0; i < n; i++) {
        const struct leat_want *want = sorting[i].want;

        if (i == 0 || by_place(&sorting[i - 1], &sorting[i]) != 0)
            gather->rows[gather->n_rows++] =
                (struct leat_gather_row){.row = want->ref->row,
                                         .target = want->target,
                                         .target_row = n_target_rows[want->target]++};
        gather->wants[gather->n_wants++] =
            (struct leat_gather_want){.index = sorting[i].index, .row = gather->n_rows - 1};
    }
    piece->n_rows = gather->n_rows - piece->first_row;
}

static size_t aligned(size_t n_bytes) {
    return (n_bytes + LEAT_ARENA_ALIGN - 1) / LEAT_ARENA_ALIGN * LEAT_ARENA_ALIGN;
}

/* Number of elements of each list that go to the target. */
static void count_elements(const struct leat_plan *plan, const struct leat_gather *gather,
                           uint32_t target, uint64_t *ret_elements) {
    memset(ret_elements, 0, plan->n_columns * sizeof(*ret_elements));
    for (size_t p = 0; p < gather->n_pieces; p++) {
        const struct leat_gather_piece *piece = &gather->pieces[p];

        for (size_t i = piece->first_row; i < piece->first_row + piece->n_rows; i++)
            for (uint32_t c = 0; gather->rows[i].target == target && c < plan->n_columns; c++)
                if (plan->is_kept[c] && plan->fields[c].is_list)
                    ret_elements[c] += piece->block->columns[c].lengths[gather->rows[i].row];
    }
}

static size_t target_bytes(const struct leat_plan *plan, size_t n_rows,
                           const uint64_t *n_elements) {
    size_t n_bytes = aligned(plan->n_columns * sizeof(struct leat_column));

    for (uint32_t c = 0; c < plan->n_columns; c++) {
        size_t size = leat_dtype_size(plan->fields[c].dtype);

        if (!plan->is_kept[c])
            continue;
        n_bytes += plan->fields[c].is_list
                       ? 2 * aligned(n_rows * sizeof(uint32_t)) + aligned(n_elements[c] * size)
                       : aligned(n_rows * size);
    }
    return n_bytes;
}

static void lay_out(const struct leat_plan *plan, struct leat_block *block,
                    const uint64_t *n_elements) {
    struct leat_arena *kept = &block->kept;

    block->columns = leat_arena_alloc(kept, plan->n_columns * sizeof(*block->columns));
    memset(block->columns, 0, plan->n_columns * sizeof(*block->columns));
    for (uint32_t c = 0; c < plan->n_columns; c++) {
        struct leat_column *column = &block->columns[c];
        size_t size = leat_dtype_size(plan->fields[c].dtype);
        bool is_list = plan->fields[c].is_list;

        if (!plan->is_kept[c])
            continue;
        if (is_list) {
            column->starts = leat_arena_alloc(kept, block->n_rows * sizeof(uint32_t));
            column->lengths = leat_arena_alloc(kept, block->n_rows * sizeof(uint32_t));
        }
        column->values = leat_arena_alloc(kept, (is_list ? n_elements[c] : block->n_rows) * size);
    }
}

/* Sets starts and lengths of the rows of the target. */
static void set_places(const struct leat_plan *plan, const struct leat_gather *gather,
                       uint32_t target, uint64_t *n_elements) {
    const struct leat_block *block = gather->targets[target];

    memset(n_elements, 0, plan->n_columns * sizeof(*n_elements));
    for (size_t p = 0; p < gather->n_pieces; p++) {
        const struct leat_gather_piece *piece = &gather->pieces[p];

        for (size_t i = piece->first_row; i < piece->first_row + piece->n_rows; i++) {
            const struct leat_gather_row *row = &gather->rows[i];

            for (uint32_t c = 0; row->target == target && c < plan->n_columns; c++) {
                if (!plan->is_kept[c] || !plan->fields[c].is_list)
                    continue;
                block->columns[c].starts[row->target_row] = (uint32_t)n_elements[c];
                block->columns[c].lengths[row->target_row] =
                    piece->block->columns[c].lengths[row->row];
                n_elements[c] += piece->block->columns[c].lengths[row->row];
            }
        }
    }
}

static int make_targets(const struct leat_plan *plan, struct leat_block_pool *blocks,
                        struct leat_gather *gather, const uint32_t *n_target_rows) {
    uint64_t *n_elements = calloc(plan->n_columns, sizeof(*n_elements));

    for (uint32_t i = 0; n_elements && i < LEAT_GATHER_TARGETS_MAX; i++) {
        struct leat_block *block;

        if (n_target_rows[i] == 0)
            continue;
        count_elements(plan, gather, i, n_elements);
        block =
            leat_block_pool_take_exact(blocks, target_bytes(plan, n_target_rows[i], n_elements));
        gather->targets[i] = block;
        if (!block) {
            free(n_elements);
            return -ENOMEM;
        }
        block->is_gathered = true;
        blocks->n_gathered_bytes += block->counted_bytes;
        block->n_columns = plan->n_columns;
        block->n_rows = block->n_records = n_target_rows[i];
        lay_out(plan, block, n_elements);
        set_places(plan, gather, i, n_elements);
    }
    free(n_elements);
    return n_elements ? 0 : -ENOMEM;
}

static void free_gather(struct leat_gather *gather) {
    for (size_t i = 0; gather && i < gather->n_pieces; i++)
        leat_block_unref(gather->pieces[i].block, 1);
    for (size_t i = 0; gather && i < LEAT_GATHER_TARGETS_MAX; i++)
        if (gather->targets[i])
            leat_block_unref(gather->targets[i], 1);
    if (gather) {
        free(gather->rows);
        free(gather->wants);
    }
    free(gather);
}

static struct leat_gather *new_gather(struct leat_row_fetch *fetch, struct leat_block_pool *blocks,
                                      struct leat_resident **residents, size_t n_residents,
                                      size_t n_wants) {
    struct leat_gather *gather = calloc(1, sizeof(*gather));
    struct sorting *sorting = reallocarray(NULL, n_wants, sizeof(*sorting));
    uint32_t n_target_rows[LEAT_GATHER_TARGETS_MAX] = {0};
    bool is_made = false;

    if (gather) {
        gather->rows = reallocarray(NULL, n_wants, sizeof(*gather->rows));
        gather->wants = reallocarray(NULL, n_wants, sizeof(*gather->wants));
    }
    if (sorting && gather && gather->rows && gather->wants) {
        for (size_t i = 0; i < n_residents; i++)
            add_rows(fetch, gather, residents[i], sorting, n_target_rows);
        is_made = make_targets(fetch->store->plan, blocks, gather, n_target_rows) == 0;
    }
    free(sorting);
    if (is_made)
        return gather;
    free_gather(gather);
    return NULL;
}

/* The rest of the last window goes with its batches. If none of these is left, waiting is useless.
 */
static bool has_room(const struct leat_row_fetch *fetch, const struct leat_row_fetch_room *room) {
    const struct leat_batch_refs *first = fetch->batcher->queue.first;

    if (room->nothing_is_made && first && first->n_absent > 0 && fetch->n_out == 0)
        return true;
    return room->blocks->n_gathered_bytes < fetch->store->max_bytes &&
           leat_account_may_grow(fetch->account, room->reserve_bytes);
}

bool leat_row_fetch_is_due(const struct leat_row_fetch *fetch,
                           const struct leat_row_fetch_room *room, uint64_t max_jobs) {
    return fetch->n_unissued > 0 && fetch->n_out <= max_jobs && has_room(fetch, room);
}

/* Bytes that reading the largest block takes beyond others. */
static uint64_t large_bytes(const struct leat_row_fetch *fetch,
                            struct leat_resident *const *residents, size_t n) {
    uint64_t block_bytes = (uint64_t)fetch->store->plan->options.block_bytes, most = 0;

    if (fetch->account->budget->limit_bytes == UINT64_MAX)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (residents[i]->frame.span.n_bytes > block_bytes && residents[i]->frame.n_bytes > most)
            most = residents[i]->frame.n_bytes;
    return leat_memory_plan_load_large(most);
}

int leat_row_fetch_start_job(struct leat_row_fetch *fetch, struct leat_block_pool *blocks,
                             struct leat_cache_file *file, struct leat_map_job *ret_job) {
    struct leat_resident *residents[LEAT_GATHER_PIECES_MAX];
    size_t n_wants, n = next_pieces(fetch, residents, &n_wants);

    for (size_t i = 0; i < n; i++)
        leat_resident_find_frame(residents[i], file);
    *ret_job = (struct leat_map_job){
        .plan = fetch->store->plan,
        .gather = new_gather(fetch, blocks, residents, n, n_wants),
        .block = leat_block_pool_take(blocks),
        .large_bytes = large_bytes(fetch, residents, n),
        .load = {.fd = -1},
        .stop_after = (int)fetch->store->plan->n_map,
    };
    if (!ret_job->gather || !ret_job->block) {
        free_gather(ret_job->gather);
        if (ret_job->block)
            leat_block_unref(ret_job->block, 1);
        return -ENOMEM;
    }
    fetch->n_unissued -= n_wants;
    fetch->n_out++;
    return 0;
}

/* ---- jobs back ---- */

static void turn_references(struct leat_row_fetch *fetch, const struct leat_gather *gather) {
    for (size_t i = 0; i < gather->n_wants; i++) {
        const struct leat_want *want = &fetch->wants[gather->wants[i].index];
        const struct leat_gather_row *row = &gather->rows[gather->wants[i].row];
        struct leat_block *evicted = want->ref->block;

        want->ref->block = gather->targets[row->target];
        want->ref->row = row->target_row;
        leat_block_ref(want->ref->block, 1);
        leat_row_store_pin_row(want->ref);
        leat_block_unref(evicted, 1);
        want->batch->n_absent--;
    }
}

void leat_row_fetch_end_job(struct leat_row_fetch *fetch, struct leat_map_job *job) {
    fetch->n_out--;
    if (!fetch->is_abandoned)
        turn_references(fetch, job->gather);
    leat_block_unref(job->block, 1);
    free_gather(job->gather);
    job->gather = NULL;
}
