#include "pipeline/stages/tokenize/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

#define SLACK     1.0625 /* above what the last block had */
#define SLACK_MIN 64

/* Reserves what is left of the arena's chunk. */
static void enter(struct leat_values *values, struct leat_arena *arena, size_t n_expected) {
    size_t size;
    void *region = leat_arena_reserve(arena, n_expected * sizeof(*values->items), &size);

    if (!region)
        return;
    values->arena = arena;
    values->items = region;
    values->capacity = size / sizeof(*values->items);
}

void leat_values_begin(struct leat_values *values, struct leat_arena *arena, size_t n_bytes) {
    double n_expected = values->n_per_byte * (double)n_bytes * SLACK + SLACK_MIN;

    values->n = 0;
    values->arena = NULL;
    values->items = values->memory;
    values->capacity = values->memory_capacity;
    if (arena && values->n_per_byte > 0 && n_expected < UINT32_MAX)
        enter(values, arena, (size_t)n_expected);
}

/* Moves the items to the own memory, with room for n_more. */
static int move(struct leat_values *values, size_t n_more) {
    if (!leat_array_reserve(&values->memory, values->n + n_more, &values->memory_capacity))
        return -ENOMEM;
    if (values->arena && values->n > 0)
        memcpy(values->memory, values->items, values->n * sizeof(*values->items));
    values->arena = NULL;
    values->items = values->memory;
    values->capacity = values->memory_capacity;
    return 0;
}

int leat_values_reserve(struct leat_values *values, size_t n_more) {
    return values->n + n_more <= values->capacity ? 0 : move(values, n_more);
}

int leat_values_leave(struct leat_values *values) {
    return values->arena ? move(values, 0) : 0;
}

int32_t *leat_values_end(struct leat_values *values, struct leat_arena *arena, size_t n_bytes) {
    size_t size = values->n * sizeof(*values->items);
    int32_t *kept = values->items;

    if (values->arena)
        leat_arena_commit(arena, size);
    else
        kept = leat_arena_alloc(arena, size);
    if (kept && !values->arena && size > 0)
        memcpy(kept, values->items, size);
    if (n_bytes > 0)
        values->n_per_byte = (double)values->n / (double)n_bytes;
    values->arena = NULL;
    return kept;
}

void leat_values_deinit(struct leat_values *values) {
    free(values->memory);
    *values = (struct leat_values){.memory = NULL};
}
