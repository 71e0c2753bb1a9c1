/* tokenize/values.h: the numbers of an output column while they come, row by row, and nobody knows
 * how many there will be.
 *
 * They grow in memory of their own, and are copied into the block's arena at its end. Or right in
 * the arena, if nothing else is allocated there meanwhile: as much room is taken as the blocks
 * before let expect, and given back as far as it is not needed; should it not do, or should the
 * arena be needed (leat_values_leave), they move to memory of their own.
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

/* A block of n_bytes of text begins. arena: where they may grow; NULL: in memory of their own. */
void leat_values_begin(struct leat_values *values, struct leat_arena *arena, size_t n_bytes);
/* Room for n_more behind items[n]; 0 or -ENOMEM. */
int leat_values_reserve(struct leat_values *values, size_t n_more);
/* Before anything else is allocated in the arena; 0 or -ENOMEM. */
int leat_values_leave(struct leat_values *values);
/* The end of the block: all of them in the arena, which is that of begin() if that had one. NULL
 * when memory is out. */
int32_t *leat_values_end(struct leat_values *values, struct leat_arena *arena, size_t n_bytes);
void leat_values_deinit(struct leat_values *values);

/* What was reserved. */
static inline void leat_values_push(struct leat_values *values, int32_t value) {
    values->items[values->n++] = value;
}
