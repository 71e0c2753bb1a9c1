#include "pipeline/order/batch_refs.h"

#include <stdlib.h>

#include "pipeline/plan/plan.h"

/* The number of references in line to the block of the first. No bundle has a block's address. */
static uint32_t count_same(const struct leat_ref *refs, uint32_t n_refs) {
    const struct leat_ref *ref = refs + 1, *end = refs + n_refs;
    const struct leat_block *block = refs->block;

    while (end - ref >= 4 && ref[0].block == block && ref[1].block == block &&
           ref[2].block == block && ref[3].block == block)
        ref += 4;
    while (ref < end && ref->block == block)
        ref++;
    return (uint32_t)(ref - refs);
}

/* References to one block in line are dropped together. */
void leat_batch_refs_free(struct leat_batch_refs *batch) {
    uint32_t n_refs = batch ? batch->n_refs : 0, n;

    for (uint32_t i = 0; i < n_refs; i += n) {
        const struct leat_ref *ref = &batch->refs[i];

        n = 1;
        if (ref->row == LEAT_REF_BUNDLE) {
            leat_ref_drop(*ref);
            continue;
        }
        n = count_same(ref, n_refs - i);
        leat_block_unref(ref->block, n);
    }
    free(batch);
}

static bool is_skipped(const struct leat_skips *skips, const struct leat_plan *plan,
                       const struct leat_ref *ref) {
    uint64_t lane = plan->mixing ? leat_plan_source_of(plan, ref->block->file)->lane : 0;

    return leat_skips_has_record(skips, lane, leat_block_record(ref->block, ref->row));
}

/* Removes skipped parts of a packed row. False: none is left. */
static bool take_parts(const struct leat_skips *skips, const struct leat_plan *plan,
                       struct leat_bundle *bundle) {
    struct leat_block_pool *pool = bundle->refs[0].block->pool;
    uint64_t n_bytes = leat_bundle_bytes(bundle);
    uint32_t n = 0;

    for (uint32_t i = 0; i < bundle->n_refs; i++)
        if (!is_skipped(skips, plan, &bundle->refs[i]))
            n++;
    if (n == 0 || n == bundle->n_refs)
        return n > 0;
    if (pool)
        pool->n_bundle_bytes -= n_bytes;
    n = 0;
    for (uint32_t i = 0; i < bundle->n_refs; i++) {
        struct leat_ref ref = bundle->refs[i];

        if (is_skipped(skips, plan, &ref)) {
            bundle->n_elements -= ref.length;
            leat_block_unref(ref.block, 1);
        } else {
            bundle->refs[n++] = ref;
        }
    }
    bundle->n_refs = n;
    pool = bundle->refs[0].block->pool;
    if (pool)
        pool->n_bundle_bytes += leat_bundle_bytes(bundle);
    return true;
}

void leat_batch_refs_skip(const struct leat_skips *skips, const struct leat_plan *plan,
                          struct leat_batch_refs *batch) {
    uint32_t n = 0;

    if (skips->records.n_ranges == 0)
        return;
    for (uint32_t i = 0; i < batch->n_refs; i++) {
        struct leat_ref ref = batch->refs[i];
        bool stays = ref.row == LEAT_REF_BUNDLE ? take_parts(skips, plan, ref.bundle)
                                                : !is_skipped(skips, plan, &ref);

        if (stays)
            batch->refs[n++] = ref;
        else
            leat_ref_drop(ref);
    }
    batch->n_refs = n;
}
