/* block.c: life of blocks. One thread: the run's. */
#include "pipeline/block.h"

#include <assert.h>
#include <stdlib.h>

struct leat_block *leat_block_pool_take(struct leat_block_pool *pool) {
    struct leat_block *block = pool->free;
    struct leat_arena kept;
    uint64_t counted_bytes = 0;

    if (pool->account)
        leat_account_count(pool->account, LEAT_MEMORY_BLOCKS, block != NULL);
    if (block) {
        pool->free = block->next;
        kept = block->kept;
        counted_bytes = block->counted_bytes;
        pool->n_free_bytes -= counted_bytes;
    } else {
        block = malloc(sizeof(*block));
        if (!block)
            return NULL;
        leat_arena_init(&kept);
    }
    *block = (struct leat_block){
        .kept = kept, .counted_bytes = counted_bytes, .n_refs = 1, .pool = pool};
    pool->n_alive++;
    return block;
}

void leat_block_recount(struct leat_block *block) {
    uint64_t before = block->counted_bytes;

    block->counted_bytes = block->kept.capacity_bytes;
    if (block->pool->account)
        leat_account_change(block->pool->account, LEAT_MEMORY_BLOCKS, before, block->counted_bytes);
}

static void free_block(struct leat_block *block) {
    leat_arena_deinit(&block->kept);
    leat_block_recount(block);
    free(block);
}

void leat_block_unref(struct leat_block *block, uint32_t n_refs) {
    struct leat_block_pool *pool = block->pool;

    assert(block->n_refs >= n_refs);
    block->n_refs -= n_refs;
    if (block->n_refs > 0)
        return;
    pool->n_alive--;
    if (pool->account && leat_account_should_shrink(pool->account)) {
        free_block(block);
        return;
    }
    leat_arena_reset(&block->kept);
    leat_block_recount(block);
    block->next = pool->free;
    pool->free = block;
    pool->n_free_bytes += block->counted_bytes;
}

void leat_block_pool_trim(struct leat_block_pool *pool) {
    while (pool->free) {
        struct leat_block *block = pool->free;

        pool->free = block->next;
        pool->n_free_bytes -= block->counted_bytes;
        free_block(block);
    }
}

void leat_block_pool_deinit(struct leat_block_pool *pool) {
    assert(pool->n_alive == 0);
    leat_block_pool_trim(pool);
}
