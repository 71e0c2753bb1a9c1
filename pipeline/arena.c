/* arena.c: a list of chunks; the current one is filled from the front. See arena.h. */
#include "pipeline/arena.h"

#include <stdbool.h>
#include <stdlib.h>

#define ALIGN 64

struct leat_arena_chunk {
    struct leat_arena_chunk *next;
    size_t size; /* usable bytes */
    size_t n_used;
    uint8_t *data; /* aligned, behind the head */
};

void leat_arena_init(struct leat_arena *arena) {
    *arena = (struct leat_arena){.first = NULL};
}

void leat_arena_deinit(struct leat_arena *arena) {
    struct leat_arena_chunk *chunk = arena->first;

    while (chunk) {
        struct leat_arena_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
    leat_arena_init(arena);
}

void leat_arena_reset(struct leat_arena *arena) {
    struct leat_arena_chunk **link = &arena->first;

    while (*link) {
        struct leat_arena_chunk *chunk = *link;

        chunk->n_used = 0;
        if (chunk->size > LEAT_ARENA_KEEP_BYTES) {
            *link = chunk->next;
            arena->capacity_bytes -= chunk->size;
            free(chunk);
        } else {
            link = &chunk->next;
        }
    }
    arena->current = arena->first;
    arena->n_bytes = 0;
}

static struct leat_arena_chunk *chunk_new(size_t size) {
    struct leat_arena_chunk *chunk;
    size_t total;

    if (__builtin_add_overflow(size, sizeof(*chunk) + ALIGN, &total))
        return NULL;
    chunk = malloc(total);
    if (!chunk)
        return NULL;
    chunk->next = NULL;
    chunk->size = size;
    chunk->n_used = 0;
    chunk->data = (uint8_t *)(((uintptr_t)(chunk + 1) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    return chunk;
}

/* Makes the current chunk one with min_bytes left: a later kept one, or a new one put in its place.
 */
static bool advance(struct leat_arena *arena, size_t min_bytes) {
    struct leat_arena_chunk *current = arena->current, *chunk;

    if (current && current->size - current->n_used >= min_bytes)
        return true;
    if (current && current->next && current->next->size >= min_bytes) {
        arena->current = current->next;
        return true;
    }
    chunk = chunk_new(min_bytes > LEAT_ARENA_CHUNK_BYTES ? min_bytes : LEAT_ARENA_CHUNK_BYTES);
    if (!chunk)
        return false;
    arena->capacity_bytes += chunk->size;
    if (current) {
        chunk->next = current->next;
        current->next = chunk;
    } else {
        chunk->next = arena->first;
        arena->first = chunk;
    }
    arena->current = chunk;
    return true;
}

void *leat_arena_reserve(struct leat_arena *arena, size_t min_bytes, size_t *ret_size) {
    if (!advance(arena, min_bytes))
        return NULL;
    *ret_size = arena->current->size - arena->current->n_used;
    return arena->current->data + arena->current->n_used;
}

void leat_arena_commit(struct leat_arena *arena, size_t n_bytes) {
    struct leat_arena_chunk *chunk = arena->current;
    size_t n_aligned = (n_bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    size_t n_left = chunk->size - chunk->n_used;

    chunk->n_used += n_aligned < n_left ? n_aligned : n_left;
    arena->n_bytes += n_bytes;
}

void *leat_arena_alloc(struct leat_arena *arena, size_t n_bytes) {
    size_t size;
    void *memory = leat_arena_reserve(arena, n_bytes, &size);

    if (memory)
        leat_arena_commit(arena, n_bytes);
    return memory;
}
