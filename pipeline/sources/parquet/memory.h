/* parquet/memory.h: the memory of pages and values of all columns, bounded together.
 *
 * Owner: the reader.
 */
#pragma once

#include <stdbool.h>

#include "proto/base/error.h"

#define LEAT_PARQUET_SLACK 16 /* zero bytes behind each block, which bit readers may see */

#define LEAT_PARQUET_SPARES 2 /* a page and a dictionary */

struct leat_parquet_block;

struct leat_parquet_memory {
    uint64_t n_bytes, max_bytes;
    struct leat_parquet_block *spares[LEAT_PARQUET_SPARES]; /* freed ones, for blocks to come */
};

struct leat_parquet_block {
    struct leat_parquet_block *next;
    size_t n_bytes, capacity;
    uint64_t at; /* of a page that was read ahead: in the file */
    uint8_t data[];
};

/* NULL: memory ran out, or there is more than max_bytes: -EBADMSG. */
struct leat_parquet_block *leat_parquet_block_new(struct leat_parquet_memory *memory,
                                                  uint64_t n_bytes, struct leat_error *err);
/* Frees the list, but keeps up to LEAT_PARQUET_SPARES of its larger blocks. NULL. */
struct leat_parquet_block *leat_parquet_blocks_free(struct leat_parquet_memory *memory,
                                                    struct leat_parquet_block *blocks);
/* Bytes of all blocks, spare ones too. */
uint64_t leat_parquet_memory_held(const struct leat_parquet_memory *memory);
/* Frees the spare blocks. */
void leat_parquet_memory_deinit(struct leat_parquet_memory *memory);
/* Moves a block to another memory. False: it has no room for it. */
bool leat_parquet_block_move(struct leat_parquet_memory *from, struct leat_parquet_memory *to,
                             const struct leat_parquet_block *block, struct leat_error *err);
/* Makes *block hold n_bytes at least; what is in it stays. 0 or -errno, which changes nothing. */
int leat_parquet_block_reserve(struct leat_parquet_memory *memory,
                               struct leat_parquet_block **block, uint64_t n_bytes,
                               struct leat_error *err);
