/* tokenize/values.h: the numbers of an output column while they grow, row by row, to an unknown
 * length.
 *
 * They grow in memory of their own and are copied into the block's arena at its end. Or they grow
 * right in the arena, if nothing else is allocated there meanwhile: the room is estimated from
 * earlier blocks, and the rest is given back. If the room is too small, or the arena is needed
 * (leat_values_leave), they move to memory of their own.
 *
 * Owner: the workspace.
 */
#pragma once

#include "pipeline/memory/arena.h"

struct leat_values {
    int32_t *items;
    size_t n, capacity;

    /* its own */
    int32_t *memory;
    size_t memory_capacity;
    struct leat_arena *arena; /* the items are in it; NULL: in `memory` */
    double n_per_byte;        /* of the last block's text; 0: there was none */
};

/* Begins a block of n_bytes of text. arena: where values may grow; NULL: in memory of their own. */
void leat_values_begin(struct leat_values *values, struct leat_arena *arena, size_t n_bytes);
/* Makes room for n_more behind items[n]. 0 or -ENOMEM. */
int leat_values_reserve(struct leat_values *values, size_t n_more);
/* To call before anything else is allocated in the arena. 0 or -ENOMEM. */
int leat_values_leave(struct leat_values *values);
/* Ends the block: returns the items in the arena, which must be that of begin() if that had one.
 * NULL: memory ran out. */
int32_t *leat_values_end(struct leat_values *values, struct leat_arena *arena, size_t n_bytes);
void leat_values_deinit(struct leat_values *values);

/* Appends a value for which there is room. */
static inline void leat_values_push(struct leat_values *values, int32_t value) {
    values->items[values->n++] = value;
}
