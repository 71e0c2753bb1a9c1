#include "pipeline/run/intake/fast_forward.h"

#include <stdlib.h>

#include "proto/base/text.h"

#define KEPT_BYTES (32U << 20) /* of compressed files; blocks beyond it are made at once */

/* ---- life ---- */

void leat_fast_forward_init(struct leat_fast_forward *forward, const struct leat_plan *plan,
                            bool is_late, bool is_own, bool evicts) {
    struct leat_fast_forward_rule rule = leat_plan_fast_forward(plan);

    *forward = (struct leat_fast_forward){.plan = plan};
    leat_error_oom(&forward->no_memory);
    if ((!is_late && !is_own) || evicts)
        return;
    forward->is_own = is_own && !plan->is_one_pass;
    forward->may_count = rule.are_counted && !plan->is_one_pass;
    forward->may_skip = rule.is_blind;
}

void leat_fast_forward_deinit(struct leat_fast_forward *forward) {
    free(forward->replay);
}

uint64_t leat_fast_forward_bytes(const struct leat_fast_forward *forward) {
    return forward->n_blocks * sizeof(struct leat_count_only);
}

void leat_fast_forward_explain(struct leat_fast_forward *forward, uint64_t first_step,
                               bool has_index) {
    struct leat_text text = {.data = NULL};
    struct leat_fast_forward_rule rule = leat_plan_fast_forward(forward->plan);

    if (forward->may_count || forward->replay)
        return;
    leat_text_add(&text,
                  "to start at step %llu, leat makes all earlier batches again, because of `%s`",
                  (unsigned long long)first_step,
                  rule.looks   ? rule.looks
                  : rule.drops ? rule.drops
                               : "shuffle: {global: true}");
    if (has_index)
        leat_text_add(&text, ": no index of an earlier epoch exists yet");
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
                                bool is_part, bool is_late) {
    bool may_drop = forward->plan->options.on_error == LEAT_ON_ERROR_FAIL && !with_records &&
                    (is_late || frame->n_rows > 0);

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
                                 uint32_t lane, struct leat_queue_entry *entry, bool without_file) {
    if (!attach(forward, memory, lane, entry, entry->block, without_file ? NULL : entry->file))
        return false;
    entry->block->count_only->is_known = true;
    return true;
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

            if (found && !found->is_out && !leat_count_only_is_parted(found) && !found->error)
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

    return found ? found->error : NULL;
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
