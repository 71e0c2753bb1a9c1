/* bare_schema.h: what is kept of a block whose values are not: how many rows it has, which records
 * they came from, its bad records, and, where order stages look at rows, what these see: lengths of
 * lists, and scalars.
 *
 * That is what an index keeps of each block, as a cache keeps whole ones (cache/block.h): a list is
 * a number there. Immutable; any thread.
 */
#pragma once

#include "pipeline/cache/block.h"
#include "pipeline/plan/plan.h"

struct leat_bare_schema {
    const struct leat_plan *plan;
    bool has_columns;
    struct leat_field *fields; /* [n_columns of the plan] */
    bool *is_kept;
};

/* has_columns: those that the plan keeps; else none. -ENOMEM. */
int leat_bare_schema_init(struct leat_bare_schema *schema, const struct leat_plan *plan,
                          bool has_columns);
void leat_bare_schema_deinit(struct leat_bare_schema *schema);

/* Appends the block; scratch: for the moment. */
int leat_bare_encode(const struct leat_bare_schema *schema, const struct leat_block *block,
                     struct leat_arena *scratch, struct leat_cache_bytes *bytes,
                     struct leat_error *err);
/* As leat_cache_block_decode: the bytes may be anything. */
int leat_bare_decode(const struct leat_bare_schema *schema, const uint8_t *data, size_t n_bytes,
                     uint32_t n_records, struct leat_block *block, struct leat_error *err);
/* Whether the block, which has its values, is the one of which these are kept. */
bool leat_bare_is_of(const struct leat_bare_schema *schema, const struct leat_block *bare,
                     const struct leat_block *block);
