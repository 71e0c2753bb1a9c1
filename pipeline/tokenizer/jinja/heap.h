/* heap.h: the memory and the work of one rendering, both bounded.
 *
 * A template comes from the same place as a model's weights, so it is foreign code: it gets so many
 * steps, so many bytes and so much depth, and then ends with an error. Memory is given back all at
 * once. Owner: the job.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_JINJA_HEAP_MAX   (UINT32_C(256) << 20) /* bytes of one rendering */
#define LEAT_JINJA_STEPS_MAX  UINT64_C(50000000)    /* nodes, items and blocks of 16 bytes */
#define LEAT_JINJA_DEPTH_MAX  200                   /* of expressions and blocks, as written */
#define LEAT_JINJA_FRAMES_MAX 1000 /* of nested work: calls, expressions, values in values */

struct leat_jinja_chunk;

struct leat_jinja_heap {
    struct leat_jinja_chunk *chunks; /* the newest first */
    size_t n_free;                   /* bytes left in the newest chunk */
    size_t n_bytes;                  /* in all chunks */
    uint64_t n_steps;
    uint32_t n_frames;
    bool is_full; /* by LEAT_JINJA_HEAP_MAX rather than by the system */
};

/* A zeroed heap is empty. */
void leat_jinja_heap_deinit(struct leat_jinja_heap *heap);
/* Forgets all values and steps; keeps one chunk. */
void leat_jinja_heap_reset(struct leat_jinja_heap *heap);
/* n_bytes at a multiple of 16, not initialised. NULL: the heap is used up. */
void *leat_jinja_heap_alloc(struct leat_jinja_heap *heap, size_t n_bytes);
/* Makes room for one more of n_items items. items: a pointer to the array of *capacity items.
 * False: the heap is used up. */
bool leat_jinja_heap_grow(struct leat_jinja_heap *heap, void *items, size_t item_bytes,
                          size_t n_items, size_t *capacity);
/* Sets the error of a NULL or false from above; returns its code. */
int leat_jinja_heap_error(const struct leat_jinja_heap *heap, struct leat_error *err);
/* Set the error of too much work and of too deep nesting; return its code. */
int leat_jinja_heap_fail_steps(struct leat_error *err);
int leat_jinja_heap_fail_frames(struct leat_error *err);
/* Counts work: 0, or -E2BIG with err set. */
static inline int leat_jinja_heap_spend(struct leat_jinja_heap *heap, size_t n_steps,
                                        struct leat_error *err) {
    heap->n_steps += n_steps;
    return heap->n_steps <= LEAT_JINJA_STEPS_MAX ? 0 : leat_jinja_heap_fail_steps(err);
}
/* Begins nested work, which counts as one step: 0, or -E2BIG with err set. A caller that got 0 ends
 * it with leave(). After an error the rendering is over, and nobody has to leave. */
static inline int leat_jinja_heap_enter(struct leat_jinja_heap *heap, struct leat_error *err) {
    if (heap->n_frames == LEAT_JINJA_FRAMES_MAX)
        return leat_jinja_heap_fail_frames(err);
    heap->n_frames++;
    return leat_jinja_heap_spend(heap, 1, err);
}
static inline void leat_jinja_heap_leave(struct leat_jinja_heap *heap) {
    heap->n_frames--;
}
