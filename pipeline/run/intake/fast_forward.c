/* fast_forward.c: see fast_forward.h. */
#include "pipeline/run/intake/fast_forward.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/plan/passing.h"
#include "pipeline/run/bad_records.h"
#include "proto/base/text.h"

#define KEPT_BYTES (32U << 20) /* of compressed files; what is beyond is made at once */

/* ---- life ---- */

void leat_fast_forward_init(struct leat_fast_forward *forward, const struct leat_plan *plan,
                            bool is_of_use, bool evicts) {
    struct leat_passing passing;

    *forward = (struct leat_fast_forward){.plan = plan};
    if (!is_of_use || evicts)
        return;
    leat_plan_passing(plan, &passing);
    forward->may_count = passing.are_counted && !plan->is_one_pass;
    forward->may_skip = passing.is_blind;
}

void leat_fast_forward_deinit(struct leat_fast_forward *forward) {
    free(forward->replay);
}

void leat_fast_forward_explain(struct leat_fast_forward *forward, uint64_t first_step,
                               bool has_index) {
    struct leat_text text = {.data = NULL};
    struct leat_passing passing;

    if (forward->may_count || forward->replay)
        return;
    leat_plan_passing(forward->plan, &passing);
    leat_text_add(&text, "a start at step %llu makes all before it again, because of `%s`",
                  (unsigned long long)first_step,
                  passing.looks   ? passing.looks
                  : passing.drops ? passing.drops
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

/* ---- passing over ---- */

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

/* To read a piece of a compressed file again, all before it is decoded: its buffer is kept. */
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
    return true;
}

bool leat_fast_forward_pass_over(struct leat_fast_forward *forward, struct leat_lane_memory *memory,
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
    leat_queue_entry_pass_over(entry, block);
    return true;
}

bool leat_fast_forward_pass_known(struct leat_fast_forward *forward,
                                  struct leat_lane_memory *memory, uint32_t lane,
                                  struct leat_queue_entry *entry) {
    if (!attach(forward, memory, lane, entry, entry->block, NULL))
        return false;
    entry->block->count_only->is_known = true;
    return true;
}

void leat_count_only_forget(struct leat_block *block) {
    struct leat_count_only *count_only = block->count_only;

    count_only->owner->n_blocks--;
    if (count_only->piece.buffer)
        count_only->owner->n_kept_bytes -= count_only->piece.buffer->counted_bytes;
    leat_lane_memory_give_buffer(count_only->memory, count_only->piece.buffer);
    leat_cache_file_unref(count_only->file);
    free(count_only);
    block->count_only = NULL;
}

/* ---- what is wanted ---- */

/* The first count-only block of the batch, of those that are being materialized too, or not; NULL:
 * none. */
static struct leat_count_only *find_block(struct leat_batch_refs *batch, bool with_out) {
    for (uint32_t i = 0; batch && i < batch->n_refs; i++) {
        uint32_t n;
        const struct leat_ref *refs = leat_ref_parts(&batch->refs[i], &n);

        for (uint32_t k = 0; k < n; k++)
            if (refs[k].block->count_only && (with_out || !refs[k].block->count_only->is_out))
                return refs[k].block->count_only;
    }
    return NULL;
}

bool leat_fast_forward_has_batch(const struct leat_fast_forward *forward,
                                 struct leat_batch_refs *first) {
    return forward->n_blocks == 0 || !find_block(first, true);
}

const struct leat_error *leat_fast_forward_failure(const struct leat_fast_forward *forward,
                                                   struct leat_batch_refs *first) {
    struct leat_count_only *found = forward->n_blocks > 0 ? find_block(first, true) : NULL;

    return found && found->error.code ? &found->error : NULL;
}

struct leat_count_only *leat_fast_forward_next(const struct leat_fast_forward *forward,
                                               struct leat_batch_refs *first, size_t n_batches) {
    if (forward->n_blocks == 0)
        return NULL;
    for (; first && n_batches > 0; first = first->next, n_batches--) {
        struct leat_count_only *found = find_block(first, false);

        if (found && !found->error.code)
            return found;
    }
    return NULL;
}

/* ---- jobs ---- */

int leat_count_only_start_job(struct leat_count_only *count_only, struct leat_map_job *ret_job) {
    struct leat_cache_file *file = count_only->file;
    struct leat_block *block = leat_block_pool_take(&count_only->memory->blocks);

    if (!block)
        return leat_error_oom(&count_only->error);
    *ret_job = (struct leat_map_job){
        .plan = count_only->owner->plan,
        .count_only = count_only,
        .piece = count_only->piece,
        .block = block,
        .load = {.fd = file ? file->fd : -1,
                 .seed = file ? file->seed : 0,
                 .frame = count_only->frame},
        .epoch = count_only->epoch,
        .stop_after = (int)count_only->owner->plan->n_map,
    };
    count_only->is_out = true;
    count_only->block->n_refs++;
    return 0;
}

/* Nobody may get other rows than those that the order has seen. */
static int fail_other(const struct leat_map_job *job, const struct leat_error *fault,
                      struct leat_error *err) {
    const struct leat_cache_span *span = &job->piece.span;

    return leat_error_set(err, -ESTALE,
                          "%s: %u records from line %llu on are no longer what they were when they "
                          "were passed over%s%.300s",
                          job->plan->source->files.paths[span->file], span->n_records,
                          (unsigned long long)span->line, fault->code ? ": " : "", fault->message);
}

int leat_count_only_execute(struct leat_map_job *job, struct leat_error *err) {
    const struct leat_count_only *count_only = job->count_only;
    struct leat_error fault = LEAT_ERROR_INIT;
    bool is_there = job->load.fd >= 0 || job->piece.buffer;
    int r = is_there ? leat_map_execute(job, &fault) : leat_map_make_again(job, &fault);

    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r == 0 && count_only->is_known &&
        leat_bare_is_of(job->bare_schema, count_only->block, job->block))
        return 0;
    if (r == 0 && !count_only->is_known && job->block->n_bad > 0 &&
        job->block->n_rows != count_only->block->n_rows)
        return 0; /* leat_count_only_end_job() says which record is bad. */
    if (r < 0 || count_only->is_known || job->block->n_rows != count_only->block->n_rows)
        return fail_other(job, &fault, err);
    return 0;
}

/* The rows are here: the block takes over what was made. */
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
    if (error->code)
        count_only->error = *error;
    else if (made->n_rows != block->n_rows)
        leat_bad_record_error(job->plan, made->file, &made->bad[0], &count_only->error);
    else
        materialize(block, made);
    leat_block_unref(made, 1);
    leat_block_unref(block, 1);
}
