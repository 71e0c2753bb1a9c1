/* cache/block.h: turns a mapped block into bytes, and back.
 *
 * The bytes hold what outlives the MAP job: the kept columns of the rows, the record that each row
 * came from, and the bad records with their raw bytes. Lists are ragged: lengths and values row by
 * row without gaps. Whole numbers take the narrowest type that holds those of the block
 * (cache/numbers.h), all else is raw. The same rows give the same bytes. Little endian.
 *
 * Bytes are foreign: whatever they are, decoding ends in a block that is safe to use, or in an
 * error. Any thread; the block is the caller's.
 */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/cache/bytes.h"
#include "pipeline/stage/stage.h"

/* The columns of a plan. */
struct leat_cache_schema {
    const struct leat_field *fields; /* [n_columns] */
    const bool *is_kept;             /* [n_columns] */
    uint32_t n_columns;
};

/* Appends the block. -EOVERFLOW: it has more elements than a block may have when it is read. */
int leat_cache_block_encode(const struct leat_cache_schema *schema, const struct leat_block *block,
                            struct leat_cache_bytes *bytes, struct leat_error *err);

/* Fills rows, columns, records and bad records of an empty block of n_records. The bytes must be
 * aligned to 8 and live as long as the block, in its `kept` arena. -EBADMSG: they are no block of
 * that schema. */
int leat_cache_block_decode(const struct leat_cache_schema *schema, const uint8_t *data,
                            size_t n_bytes, uint32_t n_records, struct leat_block *block,
                            struct leat_error *err);

/* How the values of a column are stored. */
struct leat_cache_pack {
    uint8_t width; /* bytes of a value */
    int64_t base;  /* that is added to each */
};

/* The same, for some rows of a block: values stay as they are stored, and `values` of a column
 * points to them. All else is in the arena, with *ret_packs [n_columns]. */
int leat_cache_block_open(const struct leat_cache_schema *schema, const uint8_t *data,
                          size_t n_bytes, uint32_t n_records, struct leat_arena *arena,
                          struct leat_block *ret_block, struct leat_cache_pack **ret_packs,
                          struct leat_error *err);
/* Copies n values of the column of such a block, from the first on. */
void leat_cache_pack_copy(const struct leat_cache_pack *pack, enum leat_dtype dtype,
                          const struct leat_column *column, size_t first, size_t n,
                          void *ret_values);
