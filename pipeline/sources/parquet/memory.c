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

/* A spare block that fits, or a new one. NULL: no memory. */
static struct leat_parquet_block *take(struct leat_parquet_memory *memory, size_t n_bytes) {
    struct leat_parquet_block *block;

    for (size_t i = 0; i < LEAT_PARQUET_SPARES; i++) {
        block = memory->spares[i];
        if (block && n_bytes <= block->capacity && n_bytes >= block->capacity / 4 * 3) {
            memory->spares[i] = NULL;
            return block;
        }
    }
    block = malloc(sizeof(*block) + n_bytes + LEAT_PARQUET_SLACK);
    if (block)
        block->capacity = n_bytes;
    return block;
}

/* Keeps the block, unless the spare ones are larger. */
static void give(struct leat_parquet_memory *memory, struct leat_parquet_block *block) {
    bool is_kept = block->capacity >= SPARE_MIN && block->capacity <= SPARE_MAX;

    for (size_t i = 0; is_kept && block && i < LEAT_PARQUET_SPARES; i++) {
        struct leat_parquet_block *spare = memory->spares[i];

        if (!spare || spare->capacity < block->capacity) {
            memory->spares[i] = block;
            block = spare;
        }
    }
    free(block);
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
        give(memory, blocks);
        blocks = next;
    }
    return NULL;
}

uint64_t leat_parquet_memory_held(const struct leat_parquet_memory *memory) {
    uint64_t n = memory->n_bytes;

    for (size_t i = 0; i < LEAT_PARQUET_SPARES; i++)
        n += memory->spares[i] ? memory->spares[i]->capacity : 0;
    return n;
}

void leat_parquet_memory_deinit(struct leat_parquet_memory *memory) {
    for (size_t i = 0; i < LEAT_PARQUET_SPARES; i++) {
        free(memory->spares[i]);
        memory->spares[i] = NULL;
    }
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
