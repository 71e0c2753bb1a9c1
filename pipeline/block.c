/* block.c: life of blocks. One thread: the run's. */
#include "pipeline/block.h"

#include <assert.h>
#include <stdlib.h>

struct leat_block *leat_block_pool_take(struct leat_block_pool *pool) {
    struct leat_block *block = pool->free;
    struct leat_arena kept;

    if (block) {
        pool->free = block->next;
        kept = block->kept;
    } else {
        block = malloc(sizeof(*block));
        if (!block)
            return NULL;
        leat_arena_init(&kept);
    }
    *block = (struct leat_block){.kept = kept, .n_refs = 1, .pool = pool};
    pool->n_alive++;
    return block;
}

void leat_block_unref(struct leat_block *block, uint32_t n_refs) {
    struct leat_block_pool *pool = block->pool;

    assert(block->n_refs >= n_refs);
    block->n_refs -= n_refs;
    if (block->n_refs > 0)
        return;
    leat_arena_reset(&block->kept);
    block->next = pool->free;
    pool->free = block;
    pool->n_alive--;
}

void leat_block_pool_deinit(struct leat_block_pool *pool) {
    assert(pool->n_alive == 0);
    while (pool->free) {
        struct leat_block *block = pool->free;

        pool->free = block->next;
        leat_arena_deinit(&block->kept);
        free(block);
    }
}
