/* ref.h: references to rows, which is all that ORDER stages see of them. Owner: the run. */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/block/field.h"

/* A row on its way through the ORDER stages: a row of a block, a part of one (`length` elements
 * of its lists from `start` on), or a bundle of such parts, which becomes one row of a batch
 * (pack). */
struct leat_ref {
    union {
        struct leat_block *block;
        struct leat_bundle *bundle;
    };
    uint32_t row; /* LEAT_REF_BUNDLE: of a bundle */
    uint32_t start, length;
};
#define LEAT_REF_BUNDLE UINT32_MAX
#define LEAT_REF_WHOLE  UINT32_MAX /* in `length`: all of its lists */

struct leat_bundle {
    uint32_t n_refs, n_elements;
    struct leat_ref refs[]; /* of blocks; each has a length */
};

static inline uint64_t leat_bundle_bytes(const struct leat_bundle *bundle) {
    return sizeof(*bundle) + bundle->n_refs * sizeof(bundle->refs[0]);
}

static inline struct leat_ref leat_ref_row(struct leat_block *block, uint32_t row) {
    return (struct leat_ref){.block = block, .row = row, .length = LEAT_REF_WHOLE};
}
/* The references of a row: itself, or those of its bundle. */
static inline struct leat_ref *leat_ref_parts(struct leat_ref *row, uint32_t *ret_n) {
    *ret_n = row->row == LEAT_REF_BUNDLE ? row->bundle->n_refs : 1;
    return row->row == LEAT_REF_BUNDLE ? row->bundle->refs : row;
}
/* The number of elements that the reference takes of the row's list in that column. */
static inline uint32_t leat_ref_length(struct leat_ref ref, uint32_t column) {
    return ref.length == LEAT_REF_WHOLE ? ref.block->columns[column].lengths[ref.row] : ref.length;
}
/* The number of elements of the row in a list column of the schema. */
static inline uint32_t leat_ref_elements(struct leat_ref ref, const struct leat_field *fields,
                                         uint32_t column) {
    if (ref.row == LEAT_REF_BUNDLE)
        return ref.bundle->n_elements;
    if (fields[column].made == LEAT_MADE_OF_PARTS)
        return leat_ref_length(ref, fields[column].of);
    return ref.block->columns[column].lengths[ref.row];
}
/* A further reference to the block, for another part of the same row. */
static inline struct leat_ref leat_ref_part(struct leat_ref ref, uint32_t start, uint32_t length) {
    leat_block_share(ref.block);
    return (struct leat_ref){
        .block = ref.block, .row = ref.row, .start = ref.start + start, .length = length};
}

/* Drops a reference that goes no further. */
void leat_ref_drop(struct leat_ref ref);
