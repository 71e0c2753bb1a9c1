/* arena.c: a list of chunks; the current one is filled from the front. See arena.h. */
#include "pipeline/memory/arena.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "pipeline/memory/budget.h"

#define ALIGN           LEAT_ARENA_ALIGN
#define CHUNK_MAX_BYTES ((size_t)1 << 39) /* a larger size is a mistake */

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
    struct leat_leftovers leftovers = {.first = NULL};

    leat_arena_leave(arena, &leftovers);
    leat_leftovers_free(&leftovers);
}

void leat_arena_leave(struct leat_arena *arena, struct leat_leftovers *leftovers) {
    struct leat_arena_chunk *chunk = arena->first;

    while (chunk) {
        struct leat_arena_chunk *next = chunk->next;

        leat_leftovers_add(leftovers, chunk);
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

    if (__builtin_add_overflow(size, sizeof(*chunk) + ALIGN, &total) || total > CHUNK_MAX_BYTES)
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

int leat_arena_init_exact(struct leat_arena *arena, size_t n_bytes) {
    leat_arena_init(arena);
    arena->first = arena->current = chunk_new(n_bytes);
    if (!arena->first)
        return -ENOMEM;
    arena->capacity_bytes = n_bytes;
    return 0;
}

int leat_arena_fit(struct leat_arena *arena, size_t n_bytes) {
    size_t slack = n_bytes / LEAT_ARENA_FIT_PART + ALIGN;
    size_t size = (n_bytes + slack) / ALIGN * ALIGN;
    struct leat_arena_chunk *first = arena->first;

    if (first && !first->next && first->size >= n_bytes && first->size <= size + size / 4)
        return 0;
    leat_arena_deinit(arena);
    return leat_arena_init_exact(arena, size);
}

/* Sizes are rounded up to powers of two, so that needs that vary a little find the same chunk
 * again. */
static size_t chunk_size(size_t min_bytes) {
    size_t size = LEAT_ARENA_CHUNK_BYTES;

    while (size < min_bytes && size < SIZE_MAX / 2)
        size *= 2;
    return size < min_bytes ? min_bytes : size;
}

/* The link to the first kept chunk from `link` on that is large enough, or NULL. */
static struct leat_arena_chunk **find_chunk(struct leat_arena_chunk **link, size_t min_bytes) {
    while (*link && (*link)->size < min_bytes)
        link = &(*link)->next;
    return *link ? link : NULL;
}

/* Makes the current chunk one with min_bytes left: a kept one that is brought forward, or a new
 * one. */
static bool advance_chunk(struct leat_arena *arena, size_t min_bytes) {
    struct leat_arena_chunk *current = arena->current, *chunk, **place, **found;

    if (current && current->size - current->n_used >= min_bytes)
        return true;
    place = current ? &current->next : &arena->first;
    found = find_chunk(place, min_bytes);
    if (found) {
        chunk = *found;
        *found = chunk->next;
    } else {
        chunk = chunk_new(chunk_size(min_bytes));
        if (!chunk)
            return false;
        arena->capacity_bytes += chunk->size;
    }
    chunk->next = *place;
    *place = chunk;
    arena->current = chunk;
    return true;
}

void *leat_arena_reserve(struct leat_arena *arena, size_t min_bytes, size_t *ret_size) {
    if (!advance_chunk(arena, min_bytes))
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
