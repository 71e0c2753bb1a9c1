/* block.c: see block.h. One thread: the run's. */
#include "pipeline/block/block.h"

#include <assert.h>
#include <stdlib.h>

#include "pipeline/memory/budget.h"

#define FREE_PART  8 /* this part of the living ones may be free in any case */
#define FREE_LEAST 2 /* and so many more */
#define STRETCH    4 /* a stretch is so many times the most blocks alive at once */

static struct leat_block *pop_free(struct leat_block_pool *pool) {
    struct leat_block *block = pool->free;

    if (block) {
        pool->free = block->next;
        pool->n_free--;
        pool->n_free_bytes -= block->counted_bytes;
    }
    return block;
}

static void count_alive(struct leat_block_pool *pool) {
    pool->n_alive++;
    if (pool->n_alive > pool->n_most_now)
        pool->n_most_now = pool->n_alive;
    if (++pool->n_taken / STRETCH < pool->n_most_now)
        return;
    pool->n_most = pool->n_most_now;
    pool->n_most_now = pool->n_alive;
    pool->n_taken = 0;
}

static bool has_too_many_free(const struct leat_block_pool *pool) {
    uint32_t n_most = pool->n_most > pool->n_most_now ? pool->n_most : pool->n_most_now;

    return pool->n_free > FREE_LEAST + pool->n_alive / FREE_PART &&
           (pool->n_free + pool->n_alive > n_most || pool->n_free_bytes > pool->max_free_bytes);
}

struct leat_block *leat_block_pool_take(struct leat_block_pool *pool) {
    struct leat_block *block = pop_free(pool);
    struct leat_arena kept;
    uint64_t counted_bytes = 0;

    if (pool->account)
        leat_account_count(pool->account, LEAT_MEMORY_BLOCKS, block != NULL);
    if (block) {
        kept = block->kept;
        counted_bytes = block->counted_bytes;
    } else {
        block = malloc(sizeof(*block));
        if (!block)
            return NULL;
        leat_arena_init(&kept);
    }
    *block = (struct leat_block){
        .kept = kept, .counted_bytes = counted_bytes, .n_refs = 1, .pool = pool};
    count_alive(pool);
    return block;
}

void leat_block_recount(struct leat_block *block) {
    uint64_t before = block->counted_bytes;

    block->counted_bytes = block->kept.capacity_bytes;
    if (block->pool->account)
        leat_account_change(block->pool->account, LEAT_MEMORY_BLOCKS, before, block->counted_bytes);
}

static void free_block(struct leat_block *block) {
    struct leat_leftovers *leftovers = block->pool->leftovers;

    if (leftovers) {
        leftovers->n_bytes[LEAT_MEMORY_BLOCKS] += block->counted_bytes;
        leat_arena_leave(&block->kept, leftovers);
    } else {
        leat_arena_deinit(&block->kept);
        leat_block_recount(block);
    }
    free(block);
}

struct leat_block *leat_block_pool_take_exact(struct leat_block_pool *pool, size_t n_bytes) {
    struct leat_block *block = malloc(sizeof(*block));
    struct leat_arena kept;

    if (!block || leat_arena_init_exact(&kept, n_bytes) < 0) {
        free(block);
        return NULL;
    }
    *block = (struct leat_block){.kept = kept, .n_refs = 1, .is_exact = true, .pool = pool};
    pool->n_alive++; /* its memory does not return to the pool */
    leat_block_recount(block);
    return block;
}

static void keep_free(struct leat_block_pool *pool, struct leat_block *block) {
    leat_arena_reset(&block->kept);
    leat_block_recount(block);
    block->next = pool->free;
    pool->free = block;
    pool->n_free++;
    pool->n_free_bytes += block->counted_bytes;
    while (has_too_many_free(pool))
        free_block(pop_free(pool));
}

void leat_block_replace(struct leat_block *block, const struct leat_arena *take_arena) {
    struct leat_block_pool *pool = block->pool;
    struct leat_block *spare = block->is_exact ? NULL : malloc(sizeof(*spare));

    if (spare)
        *spare = (struct leat_block){
            .kept = block->kept, .counted_bytes = block->counted_bytes, .pool = pool};
    else
        leat_arena_deinit(&block->kept);
    block->kept = *take_arena;
    block->is_exact = true;
    if (spare)
        block->counted_bytes = 0;
    leat_block_recount(block);
    if (spare)
        keep_free(pool, spare);
}

void leat_block_take_over(struct leat_block *block, struct leat_block *made) {
    leat_arena_deinit(&block->kept);
    block->kept = made->kept;
    block->is_exact = made->is_exact;
    leat_arena_init(&made->kept);
    leat_block_recount(made);
    leat_block_recount(block);
}

void leat_block_unref_last(struct leat_block *block, uint32_t n_refs) {
    struct leat_block_pool *pool = block->pool;

    assert(block->n_refs == n_refs);
    block->n_refs = 0;
    pool->n_alive--;
    if (block->resident || block->count_only)
        pool->forget(block);
    free(block->gone);
    block->gone = NULL;
    if (block->is_gathered)
        pool->n_gathered_bytes -= block->counted_bytes;
    if (block->is_exact || pool->leftovers ||
        (pool->account && leat_account_should_shrink(pool->account)))
        free_block(block);
    else
        keep_free(pool, block);
}

void leat_block_pool_trim(struct leat_block_pool *pool) {
    while (pool->free)
        free_block(pop_free(pool));
}

void leat_block_pool_deinit(struct leat_block_pool *pool) {
    assert(pool->n_alive == 0);
    leat_block_pool_trim(pool);
}

/* ---- references ---- */

void leat_ref_drop(struct leat_ref ref) {
    if (ref.row != LEAT_REF_BUNDLE) {
        leat_block_unref(ref.block, 1);
        return;
    }
    if (ref.bundle->refs[0].block->pool)
        ref.bundle->refs[0].block->pool->n_bundle_bytes -= leat_bundle_bytes(ref.bundle);
    for (uint32_t i = 0; i < ref.bundle->n_refs; i++)
        leat_block_unref(ref.bundle->refs[i].block, 1);
    free(ref.bundle);
}
