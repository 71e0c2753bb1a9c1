#include "pipeline/block/ref.h"

#include <stdlib.h>

void leat_ref_drop(struct leat_ref ref) {
    if (ref.row != LEAT_REF_BUNDLE) {
        leat_block_unref(ref.block, 1);
        return;
    }
    if (ref.bundle->refs[0].block->pool)
        ref.bundle->refs[0].block->pool->n_bundle_bytes -= leat_bundle_bytes(ref.bundle);
    for (uint32_t i = 0; i < ref.bundle->n_refs; i++)
        leat_block_unref(ref.bundle->refs[i].block, 1);
    free(ref.bundle);
}
