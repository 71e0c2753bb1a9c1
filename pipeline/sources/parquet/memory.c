#include "pipeline/sources/parquet/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MIN 256U
#define SPARE_MIN (64U << 10) /* smaller blocks are cheap to get */
#define SPARE_MAX (4U << 20)

static int too_much(const struct leat_parquet_memory *memory, uint64_t n_bytes,
                    struct leat_error *err) {
    return leat_error_set(err, -EBADMSG,
                          "needs %llu bytes at once, but all columns together may use only "
                          "max_window_bytes (%llu): raise max_window_bytes, or read fewer columns",
                          (unsigned long long)n_bytes, (unsigned long long)memory->max_bytes);
}

/* The spare block, if it fits, or a new one. NULL: no memory. */
static struct leat_parquet_block *take(struct leat_parquet_memory *memory, size_t n_bytes) {
    struct leat_parquet_block *block = memory->spare;

    if (block && n_bytes <= block->capacity && n_bytes >= block->capacity / 2) {
        memory->spare = NULL;
        return block;
    }
    block = malloc(sizeof(*block) + n_bytes + LEAT_PARQUET_SLACK);
    if (block)
        block->capacity = n_bytes;
    return block;
}

struct leat_parquet_block *leat_parquet_block_new(struct leat_parquet_memory *memory,
                                                  uint64_t n_bytes, struct leat_error *err) {
    struct leat_parquet_block *block;

    if (n_bytes > memory->max_bytes - memory->n_bytes) {
        too_much(memory, n_bytes, err);
        return NULL;
    }
    block = take(memory, (size_t)n_bytes);
    if (!block) {
        leat_error_oom(err);
        return NULL;
    }
    block->next = NULL;
    block->at = 0;
    block->n_bytes = (size_t)n_bytes;
    memset(block->data + n_bytes, 0, LEAT_PARQUET_SLACK);
    memory->n_bytes += n_bytes;
    return block;
}

bool leat_parquet_block_move(struct leat_parquet_memory *from, struct leat_parquet_memory *to,
                             const struct leat_parquet_block *block, struct leat_error *err) {
    if (block->n_bytes > to->max_bytes - to->n_bytes)
        return too_much(to, block->n_bytes, err) == 0;
    from->n_bytes -= block->n_bytes;
    to->n_bytes += block->n_bytes;
    return true;
}

struct leat_parquet_block *leat_parquet_blocks_free(struct leat_parquet_memory *memory,
                                                    struct leat_parquet_block *blocks) {
    while (blocks) {
        struct leat_parquet_block *next = blocks->next;

        memory->n_bytes -= blocks->n_bytes;
        if (blocks->capacity >= SPARE_MIN && blocks->capacity <= SPARE_MAX) {
            free(memory->spare);
            memory->spare = blocks;
        } else {
            free(blocks);
        }
        blocks = next;
    }
    return NULL;
}

uint64_t leat_parquet_memory_held(const struct leat_parquet_memory *memory) {
    return memory->n_bytes + (memory->spare ? memory->spare->capacity : 0);
}

void leat_parquet_memory_deinit(struct leat_parquet_memory *memory) {
    free(memory->spare);
    memory->spare = NULL;
}

int leat_parquet_block_reserve(struct leat_parquet_memory *memory,
                               struct leat_parquet_block **block, uint64_t n_bytes,
                               struct leat_error *err) {
    uint64_t n_old = *block ? (*block)->n_bytes : 0;
    struct leat_parquet_block *grown;

    if (*block && n_bytes <= n_old)
        return 0;
    if (n_bytes < BLOCK_MIN)
        n_bytes = BLOCK_MIN;
    if (n_old > 0 && n_bytes < 2 * n_old && 2 * n_old <= memory->max_bytes - memory->n_bytes)
        n_bytes = 2 * n_old;
    grown = leat_parquet_block_new(memory, n_bytes, err);
    if (!grown)
        return err->code;
    if (n_old > 0)
        memcpy(grown->data, (*block)->data, (size_t)n_old);
    (void)leat_parquet_blocks_free(memory, *block);
    *block = grown;
    return 0;
}
