/* shared_cache.h: random blocks of random schemas, and whether two blocks are the same to a
 * trainer; for the tests of pipeline/cache/.
 */
#pragma once

#include "pipeline/cache/block.h"

#define CACHE_COLUMNS_MAX 8

struct cached {
    struct leat_field fields[CACHE_COLUMNS_MAX];
    bool is_kept[CACHE_COLUMNS_MAX];
    struct leat_cache_schema schema;
    struct leat_block_pool pool;
    struct leat_block *block;
};

/* Columns of every dtype, kept or not; rows in random order of their data, with overlaps and
 * gaps; some records are bad, some dropped. */
void cached_init(struct cached *cached, uint64_t *random);
void cached_deinit(struct cached *cached);

/* Fails the test at the first difference. */
void assert_same_block(const struct leat_cache_schema *schema, const struct leat_block *a,
                       const struct leat_block *b);

/* An arena's copy of the bytes, as a block keeps what it is decoded from. */
const uint8_t *cached_keep(struct leat_block *block, const void *bytes, size_t n_bytes);
