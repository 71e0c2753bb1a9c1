/* block/fit.c: see block/fit.h.
 *
 * A block is made with room for the largest columns that it may get, and with memory that is only
 * needed on the way, such as the packed bytes of a cache. What is kept of it are parts: for each
 * kept column its scalars, or its starts, lengths, and values up to the last that a row has.
 * Columns may share values: parts that overlap become one. Parts are copied one behind the other,
 * each at the same place modulo LEAT_ARENA_ALIGN, and pointers into them are adjusted.
 */
#include "pipeline/block/fit.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN          LEAT_ARENA_ALIGN
#define PARTS_A_COLUMN 3

struct part {
    uintptr_t at, end;
    size_t to;
};

_Static_assert(PARTS_A_COLUMN * sizeof(struct part) <= LEAT_BLOCK_FIT_COLUMN, "of a column");

struct fit {
    struct part *parts;
    size_t n_parts, n_bytes; /* n_bytes: of all parts in the new memory */
    size_t n_text_bytes;     /* texts of bad records */
    const struct leat_field *fields;
    const bool *is_kept;
};

static size_t align_bytes(size_t n_bytes) {
    return (n_bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- parts ---- */

static void add_part(struct fit *fit, const void *memory, size_t n_bytes) {
    uintptr_t at = (uintptr_t)memory;

    if (memory && n_bytes > 0)
        fit->parts[fit->n_parts++] = (struct part){.at = at, .end = at + n_bytes};
}

static size_t n_values(const struct leat_column *column, uint32_t n_rows) {
    size_t n = 0;

    for (uint32_t row = 0; row < n_rows; row++) {
        size_t end = (size_t)column->starts[row] + column->lengths[row];

        n = column->lengths[row] > 0 && end > n ? end : n;
    }
    return n;
}

/* A list may have lengths alone. Packed values are read by up to 4 bytes, also the last one. */
static void add_column(struct fit *fit, const struct leat_field *field,
                       const struct leat_column *column, uint32_t n_rows) {
    size_t size = leat_column_size(column, field->dtype);

    if (!field->is_list) {
        add_part(fit, column->values, n_rows * size);
        return;
    }
    add_part(fit, column->starts, n_rows * sizeof(*column->starts));
    add_part(fit, column->lengths, n_rows * sizeof(*column->lengths));
    if (column->values && column->starts)
        add_part(fit, column->values, n_values(column, n_rows) * size + (column->width == 3));
}

static int by_place(const void *a, const void *b) {
    const struct part *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

static void place_parts(struct fit *fit) {
    size_t n = 0;

    if (fit->n_parts > 0)
        qsort(fit->parts, fit->n_parts, sizeof(*fit->parts), by_place);
    for (size_t i = 0; i < fit->n_parts; i++) {
        struct part *part = &fit->parts[i], *last = n > 0 ? &fit->parts[n - 1] : NULL;

        if (!last || part->at >= last->end)
            fit->parts[n++] = *part;
        else if (part->end > last->end)
            last->end = part->end;
    }
    fit->n_parts = n;
    for (size_t i = 0; i < n; i++) {
        struct part *part = &fit->parts[i];

        part->to = fit->n_bytes + part->at % ALIGN;
        fit->n_bytes += align_bytes(part->at % ALIGN + (part->end - part->at));
    }
}

/* ---- texts of bad records ---- */

static size_t text_bytes(const char *text) {
    return text ? strlen(text) + 1 : 0;
}

static size_t bad_text_bytes(const struct leat_bad_record *bad) {
    return text_bytes(bad->field) + text_bytes(bad->stage) + text_bytes(bad->message) +
           (bad->bytes ? bad->n_bytes : 0);
}

static void *copy_bytes(uint8_t **at, const void *bytes, size_t n_bytes) {
    uint8_t *copy = *at;

    if (!bytes)
        return NULL;
    memcpy(copy, bytes, n_bytes);
    *at += n_bytes;
    return copy;
}

static void copy_bad(const struct leat_block *block, struct leat_bad_record *bad, uint8_t *at) {
    for (uint32_t i = 0; i < block->n_bad; i++) {
        bad[i] = block->bad[i];
        bad[i].field = copy_bytes(&at, bad[i].field, text_bytes(bad[i].field));
        bad[i].stage = copy_bytes(&at, bad[i].stage, text_bytes(bad[i].stage));
        bad[i].message = copy_bytes(&at, bad[i].message, text_bytes(bad[i].message));
        bad[i].bytes = copy_bytes(&at, bad[i].bytes, bad[i].n_bytes);
    }
}

/* ---- the move ---- */

/* False: there is no memory to measure it. */
static bool measure_block(const struct leat_block *block, struct leat_arena *scratch,
                          struct fit *fit) {
    size_t n = (size_t)block->n_columns * PARTS_A_COLUMN;

    fit->parts = leat_arena_alloc(scratch, n * sizeof(*fit->parts));
    if (!fit->parts)
        return false;
    for (uint32_t i = 0; i < block->n_columns; i++)
        if (fit->is_kept[i])
            add_column(fit, &fit->fields[i], &block->columns[i], block->n_rows);
    place_parts(fit);
    for (uint32_t i = 0; i < block->n_bad; i++)
        fit->n_text_bytes += bad_text_bytes(&block->bad[i]);
    return true;
}

static size_t records_bytes(const struct leat_block *block) {
    return block->records ? block->n_rows * sizeof(*block->records) : 0;
}

static size_t n_bytes_of(const struct leat_block *block, const struct fit *fit) {
    return fit->n_bytes + align_bytes(block->n_columns * sizeof(*block->columns)) +
           align_bytes(records_bytes(block)) + align_bytes(block->n_bad * sizeof(*block->bad)) +
           align_bytes(fit->n_text_bytes);
}

static void *find_moved(const struct fit *fit, uint8_t *memory, const void *pointer) {
    uintptr_t at = (uintptr_t)pointer;

    for (size_t i = 0; pointer && i < fit->n_parts; i++)
        if (at >= fit->parts[i].at && at < fit->parts[i].end)
            return memory + fit->parts[i].to + (at - fit->parts[i].at);
    return pointer ? memory : NULL; /* no row has it */
}

/* Moves the block into an arena that has room for it. */
static void move_block(struct leat_block *block, const struct fit *fit, struct leat_arena *to) {
    uint8_t *memory = leat_arena_alloc(to, fit->n_bytes);
    struct leat_column *columns = leat_arena_alloc(to, block->n_columns * sizeof(*columns));
    uint32_t *records = leat_arena_alloc(to, records_bytes(block));
    struct leat_bad_record *bad = leat_arena_alloc(to, block->n_bad * sizeof(*bad));

    for (size_t i = 0; i < fit->n_parts; i++)
        memcpy(memory + fit->parts[i].to, (const void *)fit->parts[i].at,
               fit->parts[i].end - fit->parts[i].at);
    for (uint32_t i = 0; i < block->n_columns; i++) {
        const struct leat_column *column = &block->columns[i];

        columns[i] = (struct leat_column){.values = NULL};
        if (fit->is_kept[i])
            columns[i] = (struct leat_column){.values = find_moved(fit, memory, column->values),
                                              .starts = find_moved(fit, memory, column->starts),
                                              .lengths = find_moved(fit, memory, column->lengths),
                                              .width = column->width,
                                              .base = column->base};
    }
    if (block->records && block->n_rows > 0)
        memcpy(records, block->records, records_bytes(block));
    copy_bad(block, bad, leat_arena_alloc(to, fit->n_text_bytes));
    block->columns = columns;
    block->records = block->records ? records : NULL;
    block->bad = bad;
}

void leat_block_fit(struct leat_block *block, const struct leat_field *fields, const bool *is_kept,
                    struct leat_arena *scratch, struct leat_arena *spare) {
    struct fit fit = {.fields = fields, .is_kept = is_kept};
    struct leat_arena before = block->kept;
    size_t n_bytes;

    if (!measure_block(block, scratch, &fit))
        return;
    n_bytes = n_bytes_of(block, &fit);
    if (before.capacity_bytes > n_bytes + n_bytes / 2 && leat_arena_fit(spare, n_bytes) == 0) {
        move_block(block, &fit, spare);
        block->kept = *spare;
        *spare = before;
    }
    block->kept.n_bytes = n_bytes;
}
