/* rows.c: see rows.h. Column by column: first the lengths of the rows, then the rows. */
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
    rows->lengths = calloc((size_t)rows->max_rows * (rows->n_variable + 1), sizeof(*rows->lengths));
    return rows->sizes && rows->lengths ? 0 : leat_error_oom(err);
}

void leat_arrow_rows_deinit(struct leat_arrow_rows *rows) {
    free(rows->sizes);
    free(rows->lengths);
    free(rows->out);
    *rows = (struct leat_arrow_rows){.out = NULL};
}

size_t leat_arrow_rows_memory(const struct leat_arrow_rows *rows) {
    return rows->max_rows *
               (sizeof(*rows->sizes) + (rows->n_variable + 1) * sizeof(*rows->lengths)) +
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

static bool is_too_long(const struct leat_arrow_rows *rows, uint64_t size) {
    return size > rows->max_record_bytes;
}

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

/* Returns how many rows it measured: fewer than n if they have more than n_wanted bytes, their JSON
 * becomes large, or one of them is too long. */
static uint32_t measure_column(struct leat_arrow_rows *rows, uint32_t index, uint64_t from,
                               uint32_t n, uint64_t n_wanted, uint32_t *lengths) {
    const struct leat_arrow_slot *slot = &rows->columns->layout.slots[index];
    struct leat_arrow_column *column = &rows->columns->columns[index];
    const struct leat_arrow_array *array = leat_arrow_leaf(column);
    size_t size = leat_arrow_number_size(slot->number);
    bool may_be_null = leat_arrow_column_may_be_null(column);
    uint64_t n_bytes = 0;

    column->json.n_bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t length;

        if (column->json.n_bytes > JSON_BYTES || n_bytes > n_wanted)
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
        if (is_too_long(rows, rows->sizes[i]))
            return i > 0 ? i : 1;
    }
    return n;
}

static int measure(struct leat_arrow_rows *rows, uint64_t from, uint32_t *n, uint64_t n_wanted,
                   struct leat_error *err) {
    const struct leat_arrow_layout *layout = &rows->columns->layout;
    uint64_t least = LEAT_FRAME_BYTES + layout->n_fixed;
    uint32_t *lengths = rows->lengths;

    if (*n > n_wanted / least + 1 || is_too_long(rows, least))
        *n = is_too_long(rows, least) ? 1 : (uint32_t)(n_wanted / least) + 1;
    for (uint32_t i = 0; i < *n; i++)
        rows->sizes[i] = least;
    for (uint32_t i = 0; i < layout->n_slots; i++) {
        if (!leat_arrow_slot_is_variable(&layout->slots[i]))
            continue;
        *n = measure_column(rows, i, from, *n, n_wanted, lengths);
        if (rows->columns->columns[i].json.failed)
            return leat_error_oom(err);
        lengths += rows->max_rows;
    }
    return 0;
}

/* Returns how many of the first n rows become a stripe. */
static uint32_t fit(const struct leat_arrow_rows *rows, uint32_t n,
                    const struct leat_arrow_room *room) {
    uint64_t most = room->n_wanted < room->n_bytes ? room->n_wanted : room->n_bytes, n_bytes;

    if (n == 0)
        return 0;
    n_bytes = is_too_long(rows, rows->sizes[0]) ? rows->n_bad + LEAT_FRAME_BYTES : rows->sizes[0];
    if (n_bytes > room->n_bytes && !room->must)
        return 0;
    if (is_too_long(rows, rows->sizes[0]))
        return 1;
    for (uint32_t i = 1; i < n; i++) {
        n_bytes += rows->sizes[i];
        if (n_bytes > most || is_too_long(rows, rows->sizes[i]))
            return i;
    }
    return n;
}

/* ---- stripes ---- */

static uint8_t *put_frame(struct leat_arrow_rows *rows, uint32_t flags, size_t n_body) {
    uint32_t head = flags | (uint32_t)n_body;

    memcpy(rows->out, &head, sizeof(head));
    rows->out[LEAT_FRAME_HEAD_BYTES + n_body] = LEAT_FRAME_TAIL;
    rows->n_out = n_body + LEAT_FRAME_BYTES;
    return rows->out + LEAT_FRAME_HEAD_BYTES;
}

static int put_long(struct leat_arrow_rows *rows, struct leat_error *err) {
    int r = reserve(rows, rows->n_bad + LEAT_FRAME_BYTES, err);

    if (r == 0)
        memcpy(put_frame(rows, LEAT_FRAME_IS_BAD, rows->n_bad), rows->bad, rows->n_bad);
    return r;
}

/* Writes the heads, and readies the bits. */
static int put_heads(struct leat_arrow_rows *rows, uint32_t n, struct leat_error *err) {
    const struct leat_arrow_layout *layout = &rows->columns->layout;
    size_t n_bytes = 0;
    int r;

    for (uint32_t i = 0; i < n; i++)
        n_bytes += (size_t)rows->sizes[i];
    r = reserve(rows, n_bytes, err);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t head =
            (uint32_t)(rows->sizes[i] - LEAT_FRAME_BYTES) | (i + 1 < n ? LEAT_FRAME_HAS_NEXT : 0);

        memcpy(rows->out + i * sizeof(head), &head, sizeof(head));
    }
    memset(rows->out + (size_t)n * LEAT_FRAME_HEAD_BYTES, 0, ((size_t)layout->n_slots * n + 7) / 8);
    rows->n_out = n_bytes;
    return 0;
}

static void put_nulls(struct leat_arrow_rows *rows, uint32_t index, uint64_t from, uint32_t n) {
    const struct leat_arrow_column *column = &rows->columns->columns[index];
    uint8_t *bits = rows->out + (size_t)n * LEAT_FRAME_HEAD_BYTES;
    size_t bit = (size_t)index * n;

    if (!leat_arrow_column_may_be_null(column))
        return;
    for (uint32_t i = 0; i < n; i++, bit++)
        if (leat_arrow_column_is_null(column, from + i))
            bits[bit / 8] |= (uint8_t)(1 << bit % 8);
}

static void put_number(const struct leat_arrow_array *array, uint64_t row, size_t size,
                       uint8_t *out) {
    array = leat_arrow_resolve(array, &row);
    if (array->field->kind == LEAT_ARROW_BOOL)
        *out = leat_arrow_bit(array->data, array->from, row);
    else
        memcpy(out, leat_arrow_number_at(array, row), size);
}

static void put_numbers(struct leat_arrow_rows *rows, uint32_t index, uint64_t from, uint32_t n,
                        uint8_t *out) {
    const struct leat_arrow_column *column = &rows->columns->columns[index];
    const struct leat_arrow_array *array = leat_arrow_leaf(column);
    size_t size = leat_arrow_number_size(rows->columns->layout.slots[index].number);

    if (!leat_arrow_column_may_be_null(column) && array->field->kind == LEAT_ARROW_NUMBER) {
        memcpy(out, leat_arrow_number_at(array, from), n * size);
        return;
    }
    memset(out, 0, n * size);
    for (uint32_t i = 0; i < n; i++)
        if (!leat_arrow_column_is_null(column, from + i))
            put_number(array, from + i, size, out + i * size);
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

/* The texts or lists from the row on, if they stand one behind the other in memory; NULL: not. */
static const void *find_run(const struct leat_arrow_column *column, enum leat_arrow_cell cell,
                            uint64_t row) {
    const struct leat_arrow_array *array = leat_arrow_leaf(column), *items = array->children;
    uint64_t first;

    if (cell == LEAT_ARROW_CELL_JSON)
        return column->json.data;
    if (leat_arrow_column_may_be_null(column) || array->views)
        return NULL;
    if (cell == LEAT_ARROW_CELL_TEXT)
        return leat_arrow_text(array, row, &first);
    (void)leat_arrow_items(array, row, &first);
    return items->bits || items->field->kind != LEAT_ARROW_NUMBER
               ? NULL
               : leat_arrow_number_at(items, first);
}

/* Puts the texts or lists. */
static void put_variable(const struct leat_arrow_column *column, enum leat_arrow_cell cell,
                         uint64_t from, uint32_t n, const uint32_t *lengths, uint8_t *out) {
    const struct leat_arrow_array *array = leat_arrow_leaf(column);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t row = from + i, n_text;

        if (lengths[i] == 0 || lengths[i] == LEAT_ARROW_LACKS_ITEM)
            continue;
        if (cell == LEAT_ARROW_CELL_LIST) {
            put_items(array, row, lengths[i], out);
        } else {
            const struct leat_arrow_array *values = leat_arrow_resolve(array, &row);
            memcpy(out, leat_arrow_text(values, row, &n_text), lengths[i]);
        }
        out += lengths[i];
    }
}

static uint64_t sum(const uint32_t *lengths, uint32_t n) {
    uint64_t n_bytes = 0;

    for (uint32_t i = 0; i < n; i++)
        n_bytes += lengths[i] == LEAT_ARROW_LACKS_ITEM ? 0 : lengths[i];
    return n_bytes;
}

static int put_rows(struct leat_arrow_rows *rows, uint64_t from, uint32_t n,
                    struct leat_error *err) {
    const struct leat_arrow_layout *layout = &rows->columns->layout;
    const uint32_t *lengths = rows->lengths;
    uint8_t *texts;
    int r;

    if (n == 0)
        return 0;
    if (is_too_long(rows, rows->sizes[0]))
        return put_long(rows, err);
    r = put_heads(rows, n, err);
    if (r < 0)
        return r;
    texts = rows->out + leat_arrow_layout_place(layout, layout->n_fixed, n);
    for (uint32_t i = 0; i < layout->n_slots; i++) {
        const struct leat_arrow_slot *slot = &layout->slots[i];
        const void *run;
        size_t n_bytes;
        uint8_t *column;

        if (slot->cell == LEAT_ARROW_CELL_NONE)
            continue;
        column = rows->out + leat_arrow_layout_place(layout, slot->at, n);
        put_nulls(rows, i, from, n);
        if (slot->cell == LEAT_ARROW_CELL_NUMBER) {
            put_numbers(rows, i, from, n, column);
            continue;
        }
        memcpy(column, lengths, n * sizeof(*lengths));
        n_bytes = sum(lengths, n);
        run = n_bytes > 0 ? find_run(&rows->columns->columns[i], slot->cell, from) : NULL;
        if (run)
            memcpy(texts, run, n_bytes);
        else
            put_variable(&rows->columns->columns[i], slot->cell, from, n, lengths, texts);
        texts += n_bytes;
        lengths += rows->max_rows;
    }
    memset(texts, LEAT_FRAME_TAIL, (size_t)(rows->out + rows->n_out - texts));
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

int leat_arrow_rows_put(struct leat_arrow_rows *rows, uint64_t row, uint64_t n_loaded,
                        const struct leat_arrow_room *room, uint64_t *ret_n_rows,
                        struct leat_error *err) {
    uint64_t most = room->n_rows < rows->max_rows ? room->n_rows : rows->max_rows;
    uint32_t n = (uint32_t)(n_loaded < most ? n_loaded : most);
    int r = measure(rows, row, &n, room->n_wanted, err);

    *ret_n_rows = r == 0 ? fit(rows, n, room) : 0;
    return r == 0 ? put_rows(rows, row, (uint32_t)*ret_n_rows, err) : r;
}

int leat_arrow_rows_make(struct leat_arrow_rows *rows, const struct leat_arrow_body *body,
                         uint64_t row, uint64_t n_left, const struct leat_arrow_room *room,
                         uint64_t *ret_n_rows, struct leat_error *err) {
    uint32_t n = 0;
    int r = 0;

    *ret_n_rows = 0;
    if (row < rows->first_loaded || row >= rows->end_loaded) {
        rows->end_loaded = 0;
        r = choose(rows, body, row, n_left, &n, err);
        if (r == 0 && n == 0) { /* it is too long, whatever its length */
            rows->sizes[0] = UINT64_MAX;
            *ret_n_rows = fit(rows, 1, room);
            return put_rows(rows, row, (uint32_t)*ret_n_rows, err);
        }
        if (r == 0)
            r = leat_arrow_columns_load(rows->columns, body, row, n, err);
        if (r < 0)
            return r;
        rows->first_loaded = row;
        rows->end_loaded = row + n;
    }
    return leat_arrow_rows_put(rows, row, rows->end_loaded - row, room, ret_n_rows, err);
}

int leat_arrow_rows_make_header(struct leat_arrow_rows *rows, struct leat_error *err) {
    const struct leat_arrow_layout *layout = &rows->columns->layout;
    size_t n_max = leat_arrow_layout_max_bytes(layout);
    int r = reserve(rows, n_max + LEAT_FRAME_BYTES, err);

    if (r == 0)
        (void)put_frame(rows, 0,
                        leat_arrow_layout_write(layout, rows->out + LEAT_FRAME_HEAD_BYTES));
    return r;
}
