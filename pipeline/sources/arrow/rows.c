/* rows.c: see rows.h. Column by column: first the lengths of the rows, then the rows. */
#include "pipeline/cut/cutter.h"
#include "pipeline/sources/arrow/rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/sources/arrow/json_text.h"

#define EXTENT_BYTES (64U << 10)  /* that are loaded at once, unless a row has more */
#define JSON_BYTES   (128U << 10) /* of JSON made of a column at once, before the last row */
#define ROWS_MAX     4096U
#define CELLS_MAX    (1U << 20) /* of all columns */
#define FRAME_BYTES  (LEAT_FRAME_HEAD_BYTES + LEAT_FRAME_TAIL_BYTES)

int leat_arrow_rows_init(struct leat_arrow_rows *rows, struct leat_arrow_columns *columns,
                         uint64_t max_record_bytes, struct leat_error *err) {
    const struct leat_arrow_layout *layout = &columns->layout;
    uint32_t n = CELLS_MAX / (layout->n_slots + 1);

    *rows = (struct leat_arrow_rows){.columns = columns,
                                     .max_record_bytes = max_record_bytes,
                                     .max_rows = n < ROWS_MAX ? n : ROWS_MAX};
    rows->n_bad =
        (size_t)snprintf(rows->bad, sizeof(rows->bad), "is longer than max_record_bytes (%llu)",
                         (unsigned long long)max_record_bytes);
    for (uint32_t i = 0; i < layout->n_slots; i++)
        rows->n_variable += leat_arrow_slot_is_variable(&layout->slots[i]);
    rows->sizes = calloc(rows->max_rows, sizeof(*rows->sizes));
    rows->cursors = calloc(rows->max_rows, sizeof(*rows->cursors));
    rows->ends = calloc(rows->max_rows, sizeof(*rows->ends));
    rows->lengths = calloc((size_t)rows->max_rows * (rows->n_variable + 1), sizeof(*rows->lengths));
    return rows->sizes && rows->cursors && rows->ends && rows->lengths ? 0 : leat_error_oom(err);
}

void leat_arrow_rows_deinit(struct leat_arrow_rows *rows) {
    free(rows->sizes);
    free(rows->cursors);
    free(rows->ends);
    free(rows->lengths);
    free(rows->out);
    *rows = (struct leat_arrow_rows){.out = NULL};
}

size_t leat_arrow_rows_memory(const struct leat_arrow_rows *rows) {
    size_t n = rows->max_rows * (sizeof(*rows->sizes) + 2 * sizeof(*rows->cursors));

    return n + (size_t)rows->max_rows * (rows->n_variable + 1) * sizeof(*rows->lengths) +
           rows->capacity;
}

static int reserve(struct leat_arrow_rows *rows, size_t n_bytes, struct leat_error *err) {
    rows->n_out = 0;
    if (n_bytes <= rows->capacity)
        return 0;
    free(rows->out);
    rows->out = malloc(n_bytes);
    rows->capacity = rows->out ? n_bytes : 0;
    return rows->out ? 0 : leat_error_oom(err);
}

/* ---- how long ---- */

static uint64_t measure_list(const struct leat_arrow_array *array, uint64_t row, size_t size) {
    const struct leat_arrow_array *items = &array->children[0];
    uint64_t first, n = leat_arrow_items(array, row, &first);

    for (uint64_t i = first; items->bits && i < first + n; i++)
        if (leat_arrow_is_null(items, i))
            return LEAT_ARROW_LACKS_ITEM;
    return n * size;
}

static uint64_t measure_text(const struct leat_arrow_array *array, uint64_t row) {
    uint64_t n;

    array = leat_arrow_resolve(array, &row);
    (void)leat_arrow_text(array, row, &n);
    return n;
}

/* It may stop in the middle of a row that is too long. */
static uint64_t measure_json(struct leat_arrow_rows *rows, struct leat_arrow_column *column,
                             uint64_t row) {
    size_t n = column->json.n_bytes;

    leat_arrow_json(&column->json, leat_arrow_leaf(column), row,
                    n + (size_t)rows->max_record_bytes);
    return column->json.n_bytes - n;
}

/* Returns how many rows it measured: fewer than n if they are more than a group holds, or their
 * JSON becomes large. */
static uint32_t measure_column(struct leat_arrow_rows *rows, uint32_t index, uint64_t from,
                               uint32_t n, uint32_t *lengths) {
    const struct leat_arrow_slot *slot = &rows->columns->layout.slots[index];
    struct leat_arrow_column *column = &rows->columns->columns[index];
    const struct leat_arrow_array *array = leat_arrow_leaf(column);
    size_t size = leat_arrow_number_size(slot->number);
    bool may_be_null = leat_arrow_column_may_be_null(column);
    uint64_t n_bytes = 0;

    column->json.n_bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t length;

        if (column->json.n_bytes > JSON_BYTES || n_bytes > LEAT_ARROW_GROUP_BYTES)
            return i;

        if (may_be_null && leat_arrow_column_is_null(column, from + i))
            length = 0;
        else if (slot->cell == LEAT_ARROW_CELL_TEXT)
            length = measure_text(array, from + i);
        else if (slot->cell == LEAT_ARROW_CELL_LIST)
            length = measure_list(array, from + i, size);
        else
            length = measure_json(rows, column, from + i);
        lengths[i] = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
        rows->sizes[i] +=
            length == LEAT_ARROW_LACKS_ITEM && slot->cell == LEAT_ARROW_CELL_LIST ? 0 : length;
        n_bytes += rows->sizes[i];
    }
    return n;
}

static int measure(struct leat_arrow_rows *rows, uint64_t from, uint32_t *n,
                   struct leat_error *err) {
    const struct leat_arrow_layout *layout = &rows->columns->layout;
    uint32_t *lengths = rows->lengths;

    for (uint32_t i = 0; i < *n; i++)
        rows->sizes[i] = FRAME_BYTES + layout->n_fixed;
    for (uint32_t i = 0; i < layout->n_slots; i++) {
        if (!leat_arrow_slot_is_variable(&layout->slots[i]))
            continue;
        *n = measure_column(rows, i, from, *n, lengths);
        if (rows->columns->columns[i].json.failed)
            return leat_error_oom(err);
        lengths += rows->max_rows;
    }
    return 0;
}

/* ---- frames ---- */

static bool is_too_long(const struct leat_arrow_rows *rows, uint64_t size) {
    return size > rows->max_record_bytes;
}

static size_t put_frame(uint8_t *out, uint32_t head, const void *body, size_t n) {
    head |= (uint32_t)n;
    memcpy(out, &head, sizeof(head));
    if (body)
        memcpy(out + LEAT_FRAME_HEAD_BYTES, body, n);
    out[LEAT_FRAME_HEAD_BYTES + n] = LEAT_FRAME_TAIL;
    return n + FRAME_BYTES;
}

static size_t frame_bytes(const struct leat_arrow_rows *rows, uint64_t size) {
    return is_too_long(rows, size) ? rows->n_bad + FRAME_BYTES : (size_t)size;
}

/* Writes the heads, and sets rows->cursors to where the bodies are. */
static int put_heads(struct leat_arrow_rows *rows, uint32_t n, struct leat_error *err) {
    uint32_t n_fixed = rows->columns->layout.n_fixed;
    size_t n_bytes = 0;
    int r;

    for (uint32_t i = 0; i < n; i++)
        n_bytes += frame_bytes(rows, rows->sizes[i]);
    assert(n_bytes < UINT32_MAX);
    r = reserve(rows, n_bytes, err);
    rows->has_long = false;
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        uint8_t *out = rows->out + rows->n_out;

        rows->cursors[i] = (uint32_t)rows->n_out + LEAT_FRAME_HEAD_BYTES;
        if (is_too_long(rows, rows->sizes[i])) {
            rows->n_out += put_frame(out, LEAT_FRAME_IS_BAD, rows->bad, rows->n_bad);
            rows->has_long = true;
        } else {
            rows->n_out += put_frame(out, 0, NULL, (size_t)rows->sizes[i] - FRAME_BYTES);
            memset(out + LEAT_FRAME_HEAD_BYTES, 0, n_fixed);
        }
    }
    return r;
}

static void put_nulls(struct leat_arrow_rows *rows, uint32_t index, uint64_t from, uint32_t n) {
    const struct leat_arrow_column *column = &rows->columns->columns[index];

    if (!leat_arrow_column_may_be_null(column))
        return;

    for (uint32_t i = 0; i < n; i++)
        if (!is_too_long(rows, rows->sizes[i]) && leat_arrow_column_is_null(column, from + i))
            rows->out[rows->cursors[i] + index / 8] |= (uint8_t)(1 << index % 8);
}

static void put_number(const struct leat_arrow_array *array, uint64_t row, size_t size,
                       uint8_t *out) {
    array = leat_arrow_resolve(array, &row);
    if (array->field->kind == LEAT_ARROW_BOOL)
        *out = leat_arrow_bit(array->data, array->from, row);
    else
        memcpy(out, leat_arrow_number_at(array, row), size);
}

static bool is_plain(const struct leat_arrow_array *array) {
    return !array->dictionary && array->field->kind == LEAT_ARROW_NUMBER;
}

/* Copies the i-th number to out + at[i]; the compiler knows the size. */
static inline __attribute__((always_inline)) void
spread_size(const uint8_t *numbers, size_t size, uint32_t n, uint8_t *out, const uint32_t *at) {
    for (uint32_t i = 0; i < n; i++)
        memcpy(out + at[i], numbers + i * size, size);
}

static void spread(const uint8_t *numbers, size_t size, uint32_t n, uint8_t *out,
                   const uint32_t *at) {
    switch (size) {
    case 1:
        spread_size(numbers, 1, n, out, at);
        break;
    case 2:
        spread_size(numbers, 2, n, out, at);
        break;
    case 4:
        spread_size(numbers, 4, n, out, at);
        break;
    default:
        spread_size(numbers, 8, n, out, at);
    }
}

static void put_numbers(struct leat_arrow_rows *rows, uint32_t index, uint64_t from, uint32_t n) {
    const struct leat_arrow_slot *slot = &rows->columns->layout.slots[index];
    const struct leat_arrow_column *column = &rows->columns->columns[index];
    const struct leat_arrow_array *array = leat_arrow_leaf(column);
    size_t size = leat_arrow_number_size(slot->number);

    if (!rows->has_long && !leat_arrow_column_may_be_null(column) && is_plain(array)) {
        spread(leat_arrow_number_at(array, from), size, n, rows->out + slot->at, rows->cursors);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!is_too_long(rows, rows->sizes[i]) && !leat_arrow_column_is_null(column, from + i))
            put_number(array, from + i, size, rows->out + rows->cursors[i] + slot->at);
}

static void put_items(const struct leat_arrow_array *array, uint64_t row, size_t n_bytes,
                      uint8_t *out) {
    const struct leat_arrow_array *items = &array->children[0];
    uint64_t first;

    (void)leat_arrow_items(array, row, &first);
    if (items->field->kind == LEAT_ARROW_BOOL)
        for (size_t i = 0; i < n_bytes; i++)
            out[i] = leat_arrow_bit(items->data, items->from, first + i);
    else if (n_bytes > 0)
        memcpy(out, leat_arrow_number_at(items, first), n_bytes);
}

static void put_variable(struct leat_arrow_rows *rows, uint32_t index, uint64_t from, uint32_t n,
                         const uint32_t *lengths) {
    const struct leat_arrow_slot *slot = &rows->columns->layout.slots[index];
    const struct leat_arrow_column *column = &rows->columns->columns[index];
    const struct leat_arrow_array *array = leat_arrow_leaf(column);
    size_t json_at = 0;

    for (uint32_t i = 0; i < n; json_at += lengths[i++]) {
        uint32_t length = lengths[i];
        uint8_t *out = rows->out + rows->ends[i];
        uint64_t row = from + i, n_text;

        if (is_too_long(rows, rows->sizes[i]))
            continue;
        memcpy(rows->out + rows->cursors[i] + slot->at, &length, sizeof(length));
        if (length == 0 || length == LEAT_ARROW_LACKS_ITEM)
            continue;
        if (slot->cell == LEAT_ARROW_CELL_JSON) {
            memcpy(out, column->json.data + json_at, length);
        } else if (slot->cell == LEAT_ARROW_CELL_LIST) {
            put_items(array, row, length, out);
        } else {
            const struct leat_arrow_array *values = leat_arrow_resolve(array, &row);
            memcpy(out, leat_arrow_text(values, row, &n_text), length);
        }
        rows->ends[i] += length;
    }
}

static int put_rows(struct leat_arrow_rows *rows, uint64_t from, uint32_t n,
                    struct leat_error *err) {
    const struct leat_arrow_layout *layout = &rows->columns->layout;
    const uint32_t *lengths = rows->lengths;
    int r = put_heads(rows, n, err);

    if (r < 0 || n == 0)
        return r;
    for (uint32_t i = 0; i < layout->n_slots; i++) {
        if (layout->slots[i].cell == LEAT_ARROW_CELL_NONE)
            continue;
        put_nulls(rows, i, from, n);
        if (layout->slots[i].cell == LEAT_ARROW_CELL_NUMBER)
            put_numbers(rows, i, from, n);
    }
    for (uint32_t i = 0; i < n; i++)
        rows->ends[i] = rows->cursors[i] + layout->n_fixed;
    for (uint32_t i = 0; i < layout->n_slots; i++) {
        if (!leat_arrow_slot_is_variable(&layout->slots[i]))
            continue;
        put_variable(rows, i, from, n, lengths);
        lengths += rows->max_rows;
    }
    return 0;
}

/* ---- some at a time ---- */

/* Chooses how many rows are loaded at once; 0: the first one is too long to be loaded. */
static int choose(struct leat_arrow_rows *rows, const struct leat_arrow_body *body, uint64_t from,
                  uint64_t n_left, uint32_t *n, struct leat_error *err) {
    uint64_t n_bytes = 0;
    int r;

    *n = n_left < rows->max_rows ? (uint32_t)n_left : rows->max_rows;
    for (;;) {
        r = leat_arrow_columns_extent(rows->columns, body, from, *n, &n_bytes, err);
        if (r < 0 || n_bytes <= EXTENT_BYTES)
            return r;
        if (*n == 1) {
            *n = n_bytes <= 2 * rows->max_record_bytes;
            return 0;
        }
        *n = n_bytes > 4 * EXTENT_BYTES && *n > 8 ? *n / 4 : *n / 2;
    }
}

/* Returns how many of the first n rows have room. */
static uint32_t fit(const struct leat_arrow_rows *rows, uint32_t n, uint64_t room, bool must) {
    uint64_t n_bytes = 0;

    for (uint32_t i = 0; i < n; i++) {
        n_bytes += frame_bytes(rows, rows->sizes[i]);
        if (n_bytes > room && !(must && i == 0))
            return i;
    }
    return n;
}

int leat_arrow_rows_put(struct leat_arrow_rows *rows, uint64_t row, uint64_t n_loaded,
                        uint64_t room, bool must, uint64_t *ret_n_rows, struct leat_error *err) {
    uint32_t n = n_loaded < rows->max_rows ? (uint32_t)n_loaded : rows->max_rows;
    int r = measure(rows, row, &n, err);

    *ret_n_rows = r == 0 ? fit(rows, n, room, must) : 0;
    return r == 0 ? put_rows(rows, row, (uint32_t)*ret_n_rows, err) : r;
}

int leat_arrow_rows_make(struct leat_arrow_rows *rows, const struct leat_arrow_body *body,
                         uint64_t row, uint64_t n_left, uint64_t room, bool must,
                         uint64_t *ret_n_rows, struct leat_error *err) {
    uint32_t n;
    int r = choose(rows, body, row, n_left, &n, err);

    *ret_n_rows = 0;
    if (r == 0 && n == 0) { /* it is too long, whatever its length */
        rows->sizes[0] = UINT64_MAX;
        *ret_n_rows = fit(rows, 1, room, must);
        return put_rows(rows, row, (uint32_t)*ret_n_rows, err);
    }
    if (r == 0)
        r = leat_arrow_columns_load(rows->columns, body, row, n, err);
    return r == 0 ? leat_arrow_rows_put(rows, row, n, room, must, ret_n_rows, err) : r;
}

int leat_arrow_rows_make_header(struct leat_arrow_rows *rows, struct leat_error *err) {
    const struct leat_arrow_layout *layout = &rows->columns->layout;
    size_t n_max = leat_arrow_layout_max_bytes(layout), n;
    int r = reserve(rows, n_max + FRAME_BYTES, err);

    if (r < 0)
        return r;
    n = leat_arrow_layout_write(layout, rows->out + LEAT_FRAME_HEAD_BYTES);
    rows->n_out = put_frame(rows->out, 0, NULL, n);
    return 0;
}
