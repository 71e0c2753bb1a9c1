/* block/sparse.c: see block/sparse.h.
 *
 * Values are moved together where they are, and the block then to memory that fits it
 * (block/fit.h): starts are turned, and rows that have left have no length. Rows whose values
 * overlap, or are in another order, stay, as do columns that share them.
 */
#include "pipeline/block/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/block/fit.h"

#define SPARSE_PART  4
#define SPARSE_BYTES (16U << 10) /* a smaller block does not pay */

static bool is_gone(const struct leat_block *block, uint32_t row) {
    return block->gone[row / 8] >> row % 8 & 1;
}

bool leat_block_may_thin(const struct leat_block *block) {
    return block->pool->n_alive >= LEAT_SPARSE_ALIVE && block->counted_bytes >= SPARSE_BYTES &&
           !block->is_shared && !block->is_held && !block->is_gathered && !block->is_evicted &&
           !block->resident && !block->count_only;
}

void leat_block_begin_gone(struct leat_block *block) {
    if (!leat_block_may_thin(block))
        return;
    block->gone = calloc(((size_t)block->n_rows + 7) / 8, 1);
    block->n_sparse = block->n_rows / SPARSE_PART;
}

/* True if all rows that are left follow each other in the values. */
static bool is_in_order(const struct leat_block *block, const struct leat_column *column) {
    uint64_t end = 0;

    for (uint32_t row = 0; row < block->n_rows; row++) {
        if (is_gone(block, row) || column->lengths[row] == 0)
            continue;
        if (column->starts[row] < end)
            return false;
        end = (uint64_t)column->starts[row] + column->lengths[row];
    }
    return true;
}

static bool is_shared(const struct leat_block *block, uint32_t column) {
    const struct leat_column *columns = block->columns;

    for (uint32_t i = 0; i < block->n_columns; i++)
        if (i != column &&
            (columns[i].values == columns[column].values ||
             columns[i].starts == columns[column].starts ||
             columns[i].lengths == columns[column].lengths) &&
            columns[i].starts)
            return true;
    return false;
}

static void move_together(const struct leat_block *block, struct leat_column *column, size_t size) {
    uint32_t at = 0;

    for (uint32_t row = 0; row < block->n_rows; row++) {
        uint32_t length = is_gone(block, row) ? 0 : column->lengths[row];

        if (length > 0)
            memmove((uint8_t *)column->values + at * size,
                    (const uint8_t *)column->values + column->starts[row] * size, length * size);
        column->starts[row] = at;
        column->lengths[row] = length;
        at += length;
    }
}

void leat_block_thin(struct leat_block *block, const struct leat_field *fields,
                     const bool *is_kept) {
    struct leat_arena scratch, spare, fitting;

    block->n_sparse /= SPARSE_PART;
    for (uint32_t i = 0; i < block->n_columns; i++)
        if (is_kept[i] && fields[i].is_list && block->columns[i].values && !is_shared(block, i) &&
            is_in_order(block, &block->columns[i]))
            move_together(block, &block->columns[i],
                          leat_column_size(&block->columns[i], fields[i].dtype));
    if (leat_arena_init_exact(&scratch, leat_block_fit_scratch(block)) < 0)
        return;
    leat_arena_init(&spare);
    leat_block_fit(block, fields, is_kept, &scratch, &spare);
    leat_arena_deinit(&scratch);
    if (!spare.first) /* it is that small already */
        return;
    fitting = block->kept;
    block->kept = spare;
    leat_block_replace(block, &fitting);
}
