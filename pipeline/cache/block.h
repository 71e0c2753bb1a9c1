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

#include <string.h>

#include "pipeline/block/block.h"
#include "pipeline/cache/bytes.h"
#include "pipeline/cache/numbers.h"
#include "pipeline/stage/stage.h"

/* The columns of a plan. */
struct leat_cache_schema {
    const struct leat_field *fields; /* [n_columns] */
    const bool *is_kept;             /* [n_columns] */
    uint32_t n_columns;
};

/* Appends the block, whose columns are not packed. -EOVERFLOW: it has more elements than a block
 * may have when it is read. */
int leat_cache_block_encode(const struct leat_cache_schema *schema, const struct leat_block *block,
                            struct leat_cache_bytes *bytes, struct leat_error *err);

/* Which columns stay packed as they are stored. */
enum leat_cache_packed {
    LEAT_CACHE_UNPACK,     /* none */
    LEAT_CACHE_PACK_LISTS, /* lists, which collation unpacks into the batch */
    LEAT_CACHE_PACK_ALL,
};

/* Fills rows, columns, records and bad records of an empty block of n_records, with memory of the
 * arena. The bytes must be aligned to 8 and live as long as the block. -EBADMSG: they are no block
 * of that schema. */
int leat_cache_block_decode(const struct leat_cache_schema *schema, const uint8_t *data,
                            size_t n_bytes, uint32_t n_records, enum leat_cache_packed packed,
                            struct leat_arena *arena, struct leat_block *block,
                            struct leat_error *err);

/* Copies n values of a column, packed or not, from the first on. */
static inline void leat_cache_copy(const struct leat_column *column, enum leat_dtype dtype,
                                   size_t first, size_t n, void *ret_values) {
    size_t size = leat_column_size(column, dtype);
    const uint8_t *values = (const uint8_t *)column->values + first * size;

    if (n > 0 && column->width)
        leat_cache_unpack(ret_values, values, n, dtype, column->width, column->base);
    else if (n > 0)
        memcpy(ret_values, values, n * size);
}
