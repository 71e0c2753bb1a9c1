/* cache/index.h: an index of blocks: what the order of records needs of each block, so that a start
 * in mid-epoch need not make what lies before.
 *
 * It keeps for each block the number of rows, the records that they came from and the bad records.
 * Where order stages look at rows, it also keeps what they see: lengths of lists, and scalars. It
 * has the form of a cache (cache/block.h), in which a list is a number. Immutable; any thread.
 */
#pragma once

#include "pipeline/cache/block.h"
#include "pipeline/cache/file.h"
#include "pipeline/plan/plan.h"

/* The folder of the plan's index: its own, or the given one (may be NULL). NULL: the plan has no
 * index, since it has a cache, wants none, is mixed, comes through a FIFO, or has other records in
 * each epoch. A plan that is read in blocks in random order has only its own. */
const char *leat_index_folder(const struct leat_plan *plan, const char *given);
/* True if the order looks at rows or holds all of them, so that the index keeps what it sees. */
bool leat_index_has_columns(const struct leat_plan *plan);
/* Makes the identity of a cache that of an index. One without columns is another file, and so is
 * one with other blocks, as its frames are the blocks. */
void leat_index_key(const struct leat_plan *plan, bool has_columns,
                    struct leat_cache_identity *identity);

struct leat_index_schema {
    const struct leat_plan *plan;
    bool has_columns;
    struct leat_field *fields; /* [n_columns of the plan] */
    bool *is_kept;
};

/* has_columns: the index keeps those that the plan keeps; else none. -ENOMEM. */
int leat_index_schema_init(struct leat_index_schema *schema, const struct leat_plan *plan,
                           bool has_columns);
void leat_index_schema_deinit(struct leat_index_schema *schema);

/* Appends what is kept of the block. */
int leat_index_block_encode(const struct leat_index_schema *schema, const struct leat_block *block,
                            struct leat_arena *scratch, struct leat_cache_bytes *bytes,
                            struct leat_error *err);
/* As leat_cache_block_decode: the bytes may be anything. */
int leat_index_block_decode(const struct leat_index_schema *schema, const uint8_t *data,
                            size_t n_bytes, uint32_t n_records, struct leat_block *block,
                            struct leat_error *err);
/* True if `kept` is what would be kept of the block. */
bool leat_index_block_is_of(const struct leat_index_schema *schema, const struct leat_block *kept,
                            const struct leat_block *block);
/* The same for a block that was made of some of the records only. */
bool leat_index_rows_are_of(const struct leat_index_schema *schema, const struct leat_block *kept,
                            const struct leat_block *block);
