/* fast_forward.c: see fast_forward.h. */
#include "pipeline/run/intake/fast_forward.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/run/bad_records.h"
#include "proto/base/array.h"
#include "proto/base/text.h"

#define KEPT_BYTES (32U << 20) /* of compressed files; blocks beyond it are made at once */

/* ---- life ---- */

void leat_fast_forward_init(struct leat_fast_forward *forward, const struct leat_plan *plan,
                            bool is_late, bool is_own, bool evicts) {
    struct leat_fast_forward_rule rule = leat_plan_fast_forward(plan);

    *forward = (struct leat_fast_forward){.plan = plan};
    if ((!is_late && !is_own) || evicts)
        return;
    forward->is_own = is_own && !plan->is_one_pass;
    forward->may_count = rule.are_counted && !plan->is_one_pass;
    forward->may_skip = rule.is_blind;
}

void leat_fast_forward_deinit(struct leat_fast_forward *forward) {
    free(forward->replay);
}

void leat_fast_forward_explain(struct leat_fast_forward *forward, uint64_t first_step,
                               bool has_index) {
    struct leat_text text = {.data = NULL};
    struct leat_fast_forward_rule rule = leat_plan_fast_forward(forward->plan);

    if (forward->may_count || forward->replay)
        return;
    leat_text_add(&text, "a start at step %llu makes all before it again, because of `%s`",
                  (unsigned long long)first_step,
                  rule.looks   ? rule.looks
                  : rule.drops ? rule.drops
                               : "shuffle: {global: true}");
    if (has_index)
        leat_text_add(&text, ": there is no index of an earlier pass yet");
    forward->replay = text.data;
}

char *leat_fast_forward_take_replay(struct leat_fast_forward *forward) {
    char *text = forward->replay;

    forward->replay = NULL;
    return text;
}

/* ---- count-only blocks ---- */

bool leat_fast_forward_may_count(const struct leat_fast_forward *forward,
                                 const struct leat_lane_memory *memory,
                                 const struct leat_piece *piece) {
    if (!forward->may_count || piece->span.is_damaged)
        return false;
    return !forward->plan->is_compressed ||
           (forward->n_kept_bytes < KEPT_BYTES &&
            leat_account_may_grow(memory->account, memory->block_estimate));
}

bool leat_fast_forward_may_skip(const struct leat_fast_forward *forward,
                                const struct leat_cache_frame *frame, bool with_records,
                                bool is_part) {
    bool may_drop = forward->plan->options.on_error == LEAT_ON_ERROR_FAIL && !with_records;

    return forward->may_skip && ((may_drop && !is_part) || frame->n_rows == frame->span.n_records);
}

/* Keeps the buffer of a compressed file, where all text in front of the piece would be decoded
 * again. */
static void keep_buffer(struct leat_count_only *count_only, struct leat_queue_entry *entry) {
    struct leat_buffer *buffer = leat_queue_entry_take_buffer(entry);

    if (buffer && count_only->owner->plan->is_compressed) {
        count_only->piece.buffer = buffer;
        count_only->owner->n_kept_bytes += buffer->counted_bytes;
        return;
    }
    leat_lane_memory_give_buffer(count_only->memory, buffer);
}

static bool attach(struct leat_fast_forward *forward, struct leat_lane_memory *memory,
                   uint32_t lane, const struct leat_queue_entry *entry, struct leat_block *block,
                   struct leat_cache_file *file) {
    struct leat_count_only *count_only = malloc(sizeof(*count_only));

    if (!count_only)
        return false;
    *count_only = (struct leat_count_only){
        .owner = forward,
        .memory = memory,
        .lane = lane,
        .block = block,
        .piece = {.span = entry->piece.span,
                  .record = entry->piece.record,
                  .n_marks = entry->piece.n_marks},
        .file = file ? leat_cache_file_ref(file) : NULL,
        .epoch = entry->epoch,
        .error = LEAT_ERROR_INIT,
    };
    if (file)
        count_only->frame = entry->frame;
    block->count_only = count_only;
    forward->n_blocks++;
    forward->n_parted += leat_count_only_is_parted(count_only);
    return true;
}

bool leat_fast_forward_add_block(struct leat_fast_forward *forward, struct leat_lane_memory *memory,
                                 uint32_t lane, struct leat_queue_entry *entry, uint32_t n_rows,
                                 bool without_file) {
    struct leat_block *block = leat_block_pool_take_exact(&memory->blocks, 0);

    if (!block)
        return false;
    leat_map_set_place(block, &entry->piece);
    block->n_rows = n_rows;
    block->n_records = entry->piece.span.n_records;
    if (!attach(forward, memory, lane, entry, block, without_file ? NULL : entry->file)) {
        leat_block_unref(block, 1);
        return false;
    }
    keep_buffer(block->count_only, entry);
    leat_queue_entry_set_count_only(entry, block);
    return true;
}

bool leat_fast_forward_add_known(struct leat_fast_forward *forward, struct leat_lane_memory *memory,
                                 uint32_t lane, struct leat_queue_entry *entry) {
    if (!attach(forward, memory, lane, entry, entry->block, NULL))
        return false;
    entry->block->count_only->is_known = true;
    return true;
}

void leat_count_only_forget(struct leat_block *block) {
    struct leat_count_only *count_only = block->count_only;

    count_only->owner->n_blocks--;
    count_only->owner->n_parted -= leat_count_only_is_parted(count_only);
    if (count_only->made)
        leat_block_unref(count_only->made, 1);
    free(count_only->wanted);
    if (count_only->piece.buffer)
        count_only->owner->n_kept_bytes -= count_only->piece.buffer->counted_bytes;
    leat_lane_memory_give_buffer(count_only->memory, count_only->piece.buffer);
    leat_cache_file_unref(count_only->file);
    free(count_only);
    block->count_only = NULL;
}

/* ---- materializing ---- */

/* The first count-only block of the batch, or NULL. */
static struct leat_count_only *find_block(struct leat_batch_refs *batch) {
    for (uint32_t i = 0; batch && i < batch->n_refs; i++) {
        uint32_t n;
        const struct leat_ref *refs = leat_ref_parts(&batch->refs[i], &n);

        for (uint32_t k = 0; k < n; k++)
            if (refs[k].block->count_only)
                return refs[k].block->count_only;
    }
    return NULL;
}

/* The first one that nobody makes yet. Batches wait long, so what was asked for is passed over. */
static struct leat_count_only *find_next(struct leat_batch_refs *batch) {
    for (; batch->n_asked < batch->n_refs; batch->n_asked++) {
        uint32_t n;
        const struct leat_ref *refs = leat_ref_parts(&batch->refs[batch->n_asked], &n);

        for (uint32_t k = 0; k < n; k++) {
            struct leat_count_only *found = refs[k].block->count_only;

            if (found && !found->is_out && !leat_count_only_is_parted(found) && !found->error.code)
                return found;
        }
    }
    return NULL;
}

bool leat_fast_forward_has_batch(const struct leat_fast_forward *forward,
                                 struct leat_batch_refs *first) {
    return forward->n_blocks == 0 || !find_block(first);
}

const struct leat_error *leat_fast_forward_failure(const struct leat_fast_forward *forward,
                                                   struct leat_batch_refs *first) {
    struct leat_count_only *found = forward->n_blocks > 0 ? find_block(first) : NULL;

    return found && found->error.code ? &found->error : NULL;
}

struct leat_count_only *leat_fast_forward_next(const struct leat_fast_forward *forward,
                                               struct leat_batch_refs *first, size_t n_batches) {
    if (forward->n_blocks == forward->n_parted)
        return NULL;
    for (; first && n_batches > 0; first = first->next, n_batches--) {
        struct leat_count_only *found = find_next(first);

        if (found)
            return found;
    }
    return NULL;
}

/* ---- wanted rows ---- */

int leat_count_only_want_row(struct leat_count_only *count_only, uint32_t row) {
    const struct leat_block *block = count_only->block;

    if (!leat_array_reserve(&count_only->wanted, count_only->n_wanted + 1,
                            &count_only->wanted_capacity))
        return -ENOMEM;
    count_only->wanted[count_only->n_wanted++] = block->records ? block->records[row] : row;
    return 0;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* A row that fills up the last round may be wanted twice. */
static void sort_wanted(struct leat_count_only *count_only) {
    uint32_t *wanted = count_only->wanted;
    size_t n = 0;

    qsort(wanted, count_only->n_wanted, sizeof(*wanted), by_number);
    for (size_t i = 0; i < count_only->n_wanted; i++)
        if (n == 0 || wanted[n - 1] != wanted[i])
            wanted[n++] = wanted[i];
    count_only->n_wanted = n;
}

void leat_count_only_turn(struct leat_ref *ref) {
    struct leat_block *block = ref->block;
    const struct leat_count_only *count_only = block->count_only;
    const uint32_t *found;
    uint32_t record;

    if (!count_only || !count_only->made)
        return;
    record = block->records ? block->records[ref->row] : ref->row;
    found = bsearch(&record, count_only->wanted, count_only->n_wanted, sizeof(record), by_number);
    if (!found)
        return;
    ref->block = count_only->made;
    ref->row = (uint32_t)(found - count_only->wanted);
    if (block->is_shared)
        leat_block_share(ref->block);
    else
        leat_block_ref(ref->block, 1);
    leat_block_unref(block, 1);
}

void leat_count_only_end_window(struct leat_count_only *count_only) {
    if (count_only->is_out)
        return;
    if (count_only->made)
        leat_block_unref(count_only->made, 1);
    free(count_only->wanted);
    count_only->made = NULL;
    count_only->wanted = NULL;
    count_only->n_wanted = count_only->wanted_capacity = 0;
}

/* ---- jobs ---- */

int leat_count_only_start_job(struct leat_count_only *count_only, struct leat_map_job *ret_job) {
    struct leat_cache_file *file = count_only->file;
    struct leat_block *block = leat_block_pool_take(&count_only->memory->blocks);

    if (!block)
        return leat_error_oom(&count_only->error);
    if (count_only->wanted)
        sort_wanted(count_only);
    /* Without a buffer to lend, the job finds memory itself. */
    *ret_job = (struct leat_map_job){
        .lent = count_only->wanted && !count_only->piece.buffer
                    ? leat_lane_memory_take_buffer(count_only->memory)
                    : NULL,
        .plan = count_only->owner->plan,
        .count_only = count_only,
        .wanted = count_only->wanted,
        .n_wanted = count_only->n_wanted,
        .piece = count_only->piece,
        .block = block,
        .load = leat_cache_load(file, &count_only->frame),
        .epoch = count_only->epoch,
        .stop_after = (int)count_only->owner->plan->n_map,
    };
    count_only->is_out = true;
    leat_block_ref(count_only->block, 1);
    return 0;
}

/* Rows must be those that the order has seen. */
static int fail_other(const struct leat_map_job *job, const struct leat_error *fault,
                      struct leat_error *err) {
    const struct leat_cache_span *span = &job->piece.span;

    return leat_error_set(err, -ESTALE,
                          "%s: %u records from line %llu on are no longer what they were when they "
                          "were passed over%s%.300s",
                          job->plan->source->files.paths[span->file], span->n_records,
                          (unsigned long long)span->line, fault->code ? ": " : "", fault->message);
}

/* True if the rows are those of the index. */
static bool are_known(const struct leat_map_job *job) {
    const struct leat_block *known = job->count_only->block;

    return job->wanted ? leat_index_rows_are_of(job->index_schema, known, job->block)
                       : leat_index_block_is_of(job->index_schema, known, job->block);
}

static size_t n_expected(const struct leat_map_job *job) {
    return job->wanted ? job->n_wanted : job->count_only->block->n_rows;
}

int leat_count_only_execute(struct leat_map_job *job, struct leat_error *err) {
    const struct leat_count_only *count_only = job->count_only;
    struct leat_error fault = LEAT_ERROR_INIT;
    bool has_all;
    bool is_there = job->load.is_there || job->piece.buffer;
    int r = is_there ? leat_map_execute(job, &fault) : leat_map_make_again(job, &fault);

    if (r == -ENOMEM)
        return leat_error_oom(err);
    has_all = r == 0 && job->block->n_rows == n_expected(job);
    if (r == 0 && !count_only->is_known && !has_all && job->block->n_bad > 0)
        return 0; /* leat_count_only_end_job() reports the bad record. */
    if (!has_all || (count_only->is_known && !are_known(job)))
        return fail_other(job, &fault, err);
    return 0;
}

/* Moves the values to the block. */
static void materialize(struct leat_block *block, struct leat_block *made) {
    block->columns = made->columns;
    block->n_columns = made->n_columns;
    block->records = made->records;
    if (block->count_only->is_known)
        block->bad = made->bad;
    leat_block_take_over(block, made);
    leat_count_only_forget(block);
}

void leat_count_only_end_job(struct leat_count_only *count_only, struct leat_map_job *job,
                             const struct leat_error *error) {
    struct leat_block *block = count_only->block, *made = job->block;

    count_only->is_out = false;
    leat_lane_memory_end_read(count_only->memory, job->lent);
    if (error->code) {
        count_only->error = *error;
    } else if (made->n_rows != n_expected(job)) {
        leat_bad_record_error(job->plan, made->file, &made->bad[0], &count_only->error);
    } else if (job->wanted) {
        leat_block_ref(made, 1);
        count_only->made = made;
    } else {
        materialize(block, made);
    }
    leat_block_unref(made, 1);
    leat_block_unref(block, 1);
}
