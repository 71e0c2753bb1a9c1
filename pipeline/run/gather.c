/* run/gather.c: rows of evicted blocks for the next batches: windows, and the jobs that fetch them.
 * See run/resident.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/rest.h"
#include "pipeline/run/run_internal.h"
#include "pipeline/work/memory_plan.h"

#define JOB_BYTES        (1U << 20)   /* of blocks that a job reads, about */
#define WINDOW_MIN_BYTES (256U << 10) /* below which it does not help to make windows smaller */

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

/* What reading ahead cannot do without. */
static uint64_t reserve(const struct leat_run *run) {
    const struct leat_run_memory *memory = &run->memory;

    return LEAT_MEMORY_MIN_BLOCKS * (memory->buffer_estimate + memory->block_estimate) +
           memory->scratch_estimate;
}

/* Memory that is short makes windows smaller: the set is read more often. */
static uint64_t window_bytes(const struct leat_run *run) {
    uint64_t room = leat_account_room(run->memory.account), n_bytes = run->residents.max_bytes;

    room = room > reserve(run) ? room - reserve(run) : 0;
    n_bytes = room < n_bytes ? room : n_bytes;
    return n_bytes > WINDOW_MIN_BYTES ? n_bytes : WINDOW_MIN_BYTES;
}

static int add_want(struct leat_residents *all, struct leat_ref *ref, struct leat_batch_refs *batch,
                    uint32_t target) {
    struct leat_resident *resident = ref->block->resident;

    if (all->n_wants == all->capacity) {
        size_t capacity = all->capacity ? all->capacity * 2 : 1024;
        struct leat_want *wants = reallocarray(all->wants, capacity, sizeof(*wants));

        if (!wants)
            return -ENOMEM;
        all->wants = wants;
        all->capacity = capacity;
    }
    all->wants[all->n_wants] = (struct leat_want){
        .ref = ref, .batch = batch, .target = target, .next = resident->first_want};
    resident->first_want = all->n_wants++;
    batch->n_absent++;
    return 0;
}

static int plan_batch(struct leat_run *run, struct leat_batch_refs *batch, uint64_t n_window,
                      uint64_t *n_bytes) {
    uint64_t n_before = *n_bytes;
    uint64_t target = n_before * LEAT_GATHER_TARGETS_MAX / n_window;
    int r = 0;

    batch->is_planned = true;
    run->residents.n_planned++;
    for (uint32_t i = 0; r == 0 && i < batch->n_refs; i++) {
        uint32_t n;
        struct leat_ref *refs = leat_residents_refs(&batch->refs[i], &n);

        for (uint32_t k = 0; r == 0 && k < n; k++) {
            if (!refs[k].block->is_evicted) {
                leat_residents_pin(&refs[k], true);
                continue;
            }
            *n_bytes += row_bytes(run->plan, &refs[k]);
            r = add_want(&run->residents, &refs[k], batch,
                         target < LEAT_GATHER_TARGETS_MAX ? (uint32_t)target
                                                          : LEAT_GATHER_TARGETS_MAX - 1);
        }
    }
    return r;
}

/* What is here is handed out; the first batch that lacks something, and those behind, are not. */
static void abandon_absent(struct leat_run *run) {
    struct leat_batch_refs *batch = run->order.batcher.first;

    while (batch && batch->is_planned && batch->n_absent == 0)
        batch = batch->next;
    leat_residents_abandon(run, batch);
}

/* The next batches that are not planned yet: one at least. */
static void plan_window(struct leat_run *run) {
    struct leat_residents *all = &run->residents;
    struct leat_batcher *batcher = &run->order.batcher;
    struct leat_batch_refs *batch = batcher->first;
    uint64_t n_window, n_bytes = 0;

    if (run->options.only_places || !all->evicted.first || all->n_unissued > 0 || all->n_out > 0 ||
        all->is_abandoned || all->n_planned == batcher->n_ready)
        return;
    n_window = window_bytes(run);
    all->n_wants = 0;
    all->cursor = all->evicted.first;
    for (size_t i = 0; i < all->n_planned; i++)
        batch = batch->next;
    for (; batch && n_bytes < n_window; batch = batch->next)
        if (plan_batch(run, batch, n_window, &n_bytes) < 0) {
            leat_run_out_of_memory(run);
            abandon_absent(run);
            return;
        }
    all->n_unissued = all->n_wants;
}

/* ---- jobs ---- */

struct leat_gather_want {
    size_t index; /* of the want */
    size_t row;   /* into the rows of the job */
};

/* The next blocks that rows are wanted of, at most as many as a job takes. */
static size_t next_pieces(struct leat_residents *all, struct leat_resident **ret_residents,
                          size_t *ret_n_wants) {
    struct leat_resident *resident = all->cursor;
    uint64_t n_bytes = 0;
    size_t n = 0;

    *ret_n_wants = 0;
    for (; resident && n < LEAT_GATHER_PIECES_MAX && n_bytes < JOB_BYTES;
         resident = resident->next) {
        if (resident->first_want == SIZE_MAX)
            continue;
        ret_residents[n++] = resident;
        n_bytes += resident->file ? resident->frame.n_bytes : resident->frame.span.n_bytes;
        for (size_t i = resident->first_want; i != SIZE_MAX; i = all->wants[i].next)
            ++*ret_n_wants;
    }
    return n;
}

/* Blocks that were on their way to the cache may be there by now. */
static void find_frame(struct leat_run *run, struct leat_resident *resident) {
    struct leat_cache_file *file = run->cache.file;
    const struct leat_cache_frame *frame;

    if (resident->file || !file || run->cache.is_index)
        return;
    frame = leat_cache_file_find(file, resident->frame.record);
    if (!frame || frame->record != resident->frame.record ||
        frame->n_bytes != resident->frame.n_bytes || frame->n_stored != resident->frame.n_stored ||
        memcmp(frame->checksum, resident->frame.checksum, sizeof(frame->checksum)) != 0)
        return;
    resident->frame = *frame;
    resident->file = leat_cache_file_ref(file);
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

/* Rows of a block, each once for each target; n_rows of the targets counts on. */
static void add_rows(struct leat_run *run, struct leat_gather *gather,
                     struct leat_resident *resident, struct sorting *sorting,
                     uint32_t *n_target_rows) {
    struct leat_residents *all = &run->residents;
    struct leat_gather_piece *piece = &gather->pieces[gather->n_pieces++];
    size_t n = 0;

    find_frame(run, resident);
    *piece = (struct leat_gather_piece){
        .block = resident->block,
        .load = {.fd = resident->file ? resident->file->fd : -1,
                 .seed = resident->file ? resident->file->seed : 0,
                 .frame = resident->frame},
        .first_row = gather->n_rows,
    };
    resident->block->n_refs++;
    for (size_t i = resident->first_want; i != SIZE_MAX; i = all->wants[i].next)
        sorting[n++] = (struct sorting){.want = &all->wants[i], .index = i};
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

/* Elements of each list that go to the target. */
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

/* Where each row goes. n_elements: what is before it, from 0 on. */
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

static int make_targets(struct leat_run *run, struct leat_gather *gather,
                        const uint32_t *n_target_rows) {
    const struct leat_plan *plan = run->plan;
    uint64_t *n_elements = calloc(plan->n_columns, sizeof(*n_elements));

    for (uint32_t i = 0; n_elements && i < LEAT_GATHER_TARGETS_MAX; i++) {
        struct leat_block *block;

        if (n_target_rows[i] == 0)
            continue;
        count_elements(plan, gather, i, n_elements);
        block = leat_block_pool_take_exact(&run->blocks,
                                           target_bytes(plan, n_target_rows[i], n_elements));
        gather->targets[i] = block;
        if (!block) {
            free(n_elements);
            return -ENOMEM;
        }
        block->is_gathered = true;
        run->blocks.n_gathered_bytes += block->counted_bytes;
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

static struct leat_gather *new_gather(struct leat_run *run, struct leat_resident **residents,
                                      size_t n_residents, size_t n_wants) {
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
            add_rows(run, gather, residents[i], sorting, n_target_rows);
        is_made = make_targets(run, gather, n_target_rows) == 0;
    }
    free(sorting);
    if (is_made)
        return gather;
    free_gather(gather);
    return NULL;
}

/* What is left of the window before goes as its batches do; when none of those is left, nothing is
 * worth waiting for. */
static bool has_room(const struct leat_run *run) {
    const struct leat_residents *all = &run->residents;
    const struct leat_batch_refs *first = run->order.batcher.first;

    if (run->n_collate_out == 0 && first && first->n_absent > 0 && all->n_out == 0)
        return true;
    return run->blocks.n_gathered_bytes < all->max_bytes &&
           leat_account_may_grow(run->memory.account, reserve(run));
}

static bool may_gather(struct leat_run *run) {
    return run->residents.n_unissued > 0 && run->n_maps_out < run->map_limit &&
           run->residents.n_out <= run->knobs.of[LEAT_KNOB_JOBS] && has_room(run) &&
           leat_run_has_workspace(run);
}

/* What reading the largest of them takes more than others, counted until the job is back. */
static uint64_t large_bytes(const struct leat_run *run, struct leat_resident *const *residents,
                            size_t n) {
    uint64_t most = 0;

    if (run->memory.account->budget->limit_bytes == UINT64_MAX)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (residents[i]->frame.span.n_bytes > (uint64_t)run->plan->options.block_bytes &&
            residents[i]->frame.n_bytes > most)
            most = residents[i]->frame.n_bytes;
    return leat_memory_plan_load_large(most);
}

static int fail_gather(struct leat_run *run) {
    leat_run_out_of_memory(run);
    abandon_absent(run);
    return -ENOMEM;
}

int leat_run_gather_job(struct leat_run *run, struct leat_job **ret_job) {
    struct leat_residents *all = &run->residents;
    struct leat_resident *residents[LEAT_GATHER_PIECES_MAX];
    struct leat_job *job;
    size_t n, n_wants;

    if (!leat_run_may_make_first(run))
        return 0;
    plan_window(run);
    if (!may_gather(run))
        return 0;
    n = next_pieces(all, residents, &n_wants);
    job = leat_run_take_job(run, LEAT_JOB_MAP);
    if (!job)
        return fail_gather(run);
    job->map = (struct leat_map_job){
        .plan = run->plan,
        .opener = run->options.opener,
        .bare_schema = leat_run_cache_schema(run),
        .gather = new_gather(run, residents, n, n_wants),
        .block = leat_block_pool_take(&run->blocks),
        .large_bytes = large_bytes(run, residents, n),
        .load = {.fd = -1},
        .seed = run->order.seed,
        .stop_after = (int)run->plan->n_map,
        .now_ns = run->options.now_ns,
        .n_at_once = run->n_at_once,
    };
    if (!job->map.gather || !job->map.block) {
        free_gather(job->map.gather);
        if (job->map.block)
            leat_block_unref(job->map.block, 1);
        leat_run_give_job(run, job);
        return fail_gather(run);
    }
    leat_account_change(run->memory.account, LEAT_MEMORY_SCRATCH, 0, job->map.large_bytes);
    all->cursor = residents[n - 1]->next;
    all->n_unissued -= n_wants;
    all->n_out++;
    run->n_maps_out++;
    *ret_job = job;
    return LEAT_RUN_JOB;
}

/* ---- jobs back ---- */

static void turn_references(struct leat_run *run, const struct leat_gather *gather) {
    for (size_t i = 0; i < gather->n_wants; i++) {
        const struct leat_want *want = &run->residents.wants[gather->wants[i].index];
        const struct leat_gather_row *row = &gather->rows[gather->wants[i].row];
        struct leat_block *evicted = want->ref->block;

        want->ref->block = gather->targets[row->target];
        want->ref->row = row->target_row;
        want->ref->block->n_refs++;
        leat_residents_pin(want->ref, true);
        leat_block_unref(evicted, 1);
        want->batch->n_absent--;
    }
}

void leat_run_complete_gather(struct leat_run *run, struct leat_job *job) {
    struct leat_residents *all = &run->residents;

    leat_run_add_notes(run, &job->map.notes);
    run->n_maps_out--;
    all->n_out--;
    leat_run_end_map(run, job);
    leat_run_cache_end_map(run, NULL, job);
    if (job->error.code && !all->is_abandoned) {
        leat_run_fail(run, &job->error);
        abandon_absent(run);
    }
    if (!all->is_abandoned)
        turn_references(run, job->map.gather);
    leat_block_unref(job->map.block, 1);
    free_gather(job->map.gather);
    job->map.gather = NULL;
}
