/* arrow/values.c: see arrow/values.h. It works column by column: bodies[row] is where a record
 * begins, cursors[row] where its next text or list does. */
#include "pipeline/sources/arrow/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/sources/arrow/json_text.h"
#include "proto/base/scalar.h"
#include "proto/base/utf8.h"

/* One job. */
struct rows {
    const struct leat_arrow_values *values;
    struct leat_map *map;
    const uint8_t *source;
    uint32_t n_rows;
    uint32_t *bodies, *cursors; /* [n_rows]; bodies 0: the row is bad */
};

/* One field. */
struct target {
    const struct leat_jsonl_field *field;
    const struct leat_arrow_slot *slot;
    struct leat_column *column;
    uint32_t index;
};

/* ---- records ---- */

/* Finds the body of a frame. False: the row was rejected. */
static bool find_body(struct rows *rows, uint32_t row, uint32_t *ret_start) {
    const struct leat_block *block = rows->map->block;
    uint32_t start = block->record_starts[row], n = block->record_ends[row] - start, head = 0;
    const uint8_t *frame = block->source + start;

    if (n >= LEAT_FRAME_HEAD_BYTES)
        memcpy(&head, frame, sizeof(head));
    if (n < LEAT_FRAME_HEAD_BYTES || (head & ~LEAT_FRAME_IS_BAD) != n - LEAT_FRAME_HEAD_BYTES)
        leat_map_reject_at(rows->map, row, 0, 0, "the record is truncated");
    else if (head & LEAT_FRAME_IS_BAD)
        leat_map_reject_at(rows->map, row, 0, 0, "the record %.*s",
                           (int)(n - LEAT_FRAME_HEAD_BYTES),
                           (const char *)frame + LEAT_FRAME_HEAD_BYTES);
    *ret_start = start + LEAT_FRAME_HEAD_BYTES;
    return !rows->map->is_dropped[row];
}

/* True if texts and lists end with the record. */
static bool is_whole(const struct leat_arrow_layout *layout, const uint8_t *body, size_t n_bytes) {
    uint64_t n = layout->n_fixed;

    if (n_bytes < n)
        return false;
    for (uint32_t i = 0; i < layout->n_slots; i++) {
        uint32_t length;

        if (!leat_arrow_slot_is_variable(&layout->slots[i]))
            continue;
        memcpy(&length, body + layout->slots[i].at, sizeof(length));
        n += length == LEAT_ARROW_LACKS_ITEM ? 0 : length;
    }
    return n == n_bytes;
}

static void find_record(struct rows *rows, uint32_t row) {
    const struct leat_arrow_layout *layout = rows->values->layout;
    uint64_t max_fields = rows->map->max_fields;
    uint32_t start = 0;

    rows->bodies[row] = 0;
    if (!find_body(rows, row, &start))
        return;
    if (max_fields && layout->n_slots > max_fields)
        leat_map_reject_at(rows->map, row, 0, 0,
                           "the record has %u fields, more than max_fields (%llu)", layout->n_slots,
                           (unsigned long long)max_fields);
    else if (!is_whole(layout, rows->source + start, rows->map->block->record_ends[row] - start))
        leat_map_reject_at(rows->map, row, 0, 0,
                           "the record does not have the columns of its file");
    else
        rows->bodies[row] = start;
    rows->cursors[row] = start + layout->n_fixed;
}

static bool is_null(const struct rows *rows, uint32_t row, uint32_t index) {
    return rows->source[rows->bodies[row] + index / 8] >> index % 8 & 1;
}

/* ---- numbers ---- */

/* True if the dtype stores the number as the file does. */
static bool is_same(enum leat_arrow_number number, enum leat_dtype dtype) {
    return leat_arrow_number_dtype(number) == dtype &&
           leat_arrow_number_size(number) == leat_dtype_size(dtype) && number != LEAT_ARROW_UINT64;
}

static int64_t integer_of(enum leat_arrow_number number, const uint8_t *bytes) {
    unsigned unused = 64 - 8 * (unsigned)leat_arrow_number_size(number);
    bool is_signed = number == LEAT_ARROW_INT8 || number == LEAT_ARROW_INT16 ||
                     number == LEAT_ARROW_INT32 || number == LEAT_ARROW_INT64;
    uint64_t value = 0;

    memcpy(&value, bytes, leat_arrow_number_size(number));
    return is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

/* -ERANGE or -EINVAL: the number does not fit. */
static int store(void *values, enum leat_dtype dtype, size_t index, enum leat_arrow_number number,
                 const uint8_t *bytes) {
    enum leat_dtype own = leat_arrow_number_dtype(number);
    uint64_t value = 0;
    int64_t integer;

    if (!leat_dtype_is_integer(own)) {
        memcpy(&value, bytes, leat_arrow_number_size(number));
        return leat_scalar_store_double(values, dtype, index, leat_scalar_double(&value, own, 0));
    }
    integer = integer_of(number, bytes);
    if (number == LEAT_ARROW_UINT64 && integer < 0)
        return leat_dtype_is_integer(dtype)
                   ? -ERANGE
                   : leat_scalar_store_double(values, dtype, index, (double)(uint64_t)integer);
    return leat_scalar_store_int(values, dtype, index, integer);
}

static void reject_number(struct rows *rows, uint32_t row, const struct target *target,
                          const uint8_t *bytes) {
    struct leat_text text = {.data = NULL};

    leat_arrow_json_number(&text, target->slot->number, bytes);
    leat_map_reject(rows->map, row, target->field->name, "%s does not fit in %s",
                    text.data ? text.data : "a number", leat_dtype_name(target->field->dtype));
    free(text.data);
}

static void put_number(struct rows *rows, uint32_t row, const struct target *target) {
    const struct leat_jsonl_field *field = target->field;
    size_t size = leat_dtype_size(field->dtype);
    const uint8_t *bytes = rows->source + rows->bodies[row] + target->slot->at;

    if (is_null(rows, row, target->index) && !field->fallback)
        leat_jsonl_field_reject_missing(field, rows->map, row);
    else if (is_null(rows, row, target->index))
        (void)leat_jsonl_field_fallback(field, (uint8_t *)target->column->values + row * size);
    else if (store(target->column->values, field->dtype, row, target->slot->number, bytes) < 0)
        reject_number(rows, row, target, bytes);
}

static int put_numbers(struct rows *rows, const struct target *target) {
    size_t size = leat_dtype_size(target->field->dtype);
    bool is_plain = is_same(target->slot->number, target->field->dtype);
    uint8_t *out;

    if (leat_map_make_scalar(rows->map, target->field->column, size) < 0)
        return -ENOMEM;
    out = target->column->values;
    for (uint32_t row = 0; row < rows->n_rows; row++, out += size) {
        memset(out, 0, size);
        if (!rows->bodies[row])
            continue;
        if (is_plain && !is_null(rows, row, target->index))
            memcpy(out, rows->source + rows->bodies[row] + target->slot->at, size);
        else
            put_number(rows, row, target);
    }
    return 0;
}

/* ---- lists ---- */

static uint32_t length_of(const struct rows *rows, uint32_t row,
                          const struct leat_arrow_slot *slot) {
    uint32_t length;

    memcpy(&length, rows->source + rows->bodies[row] + slot->at, sizeof(length));
    return length;
}

static void put_list(struct rows *rows, uint32_t row, const struct target *target,
                     uint32_t n_bytes) {
    const struct leat_jsonl_field *field = target->field;
    enum leat_arrow_number number = target->slot->number;
    size_t size = leat_arrow_number_size(number), start = target->column->starts[row];
    const uint8_t *bytes = rows->source + rows->cursors[row];
    uint32_t n = n_bytes / (uint32_t)size;

    if (is_same(number, field->dtype))
        memcpy((uint8_t *)target->column->values + start * size, bytes, n_bytes);
    else
        for (uint32_t i = 0; i < n; i++)
            if (store(target->column->values, field->dtype, start + i, number, bytes + i * size) <
                0) {
                reject_number(rows, row, target, bytes + i * size);
                return;
            }
    target->column->lengths[row] = n;
}

static int put_lists(struct rows *rows, const struct target *target) {
    const struct leat_jsonl_field *field = target->field;
    struct leat_column *column = target->column;
    uint64_t n_items = 0;

    if (leat_map_make_views(rows->map, field->column) < 0)
        return -ENOMEM;
    for (uint32_t row = 0; row < rows->n_rows; row++) {
        uint32_t n = rows->bodies[row] ? length_of(rows, row, target->slot) : 0;

        column->starts[row] = (uint32_t)n_items;
        column->lengths[row] = 0;
        n_items +=
            n == LEAT_ARROW_LACKS_ITEM ? 0 : n / leat_arrow_number_size(target->slot->number);
    }
    column->values =
        leat_map_alloc(rows->map, field->column, n_items * leat_dtype_size(field->dtype));
    if (!column->values)
        return -ENOMEM;
    for (uint32_t row = 0; row < rows->n_rows; row++) {
        uint32_t n = rows->bodies[row] ? length_of(rows, row, target->slot) : 0;

        if (n == LEAT_ARROW_LACKS_ITEM)
            leat_map_reject(rows->map, row, field->name,
                            "an item of the list is null, but %s[] was expected",
                            leat_dtype_name(field->dtype));
        else if (n > 0)
            put_list(rows, row, target, n);
    }
    return 0;
}

/* ---- texts ---- */

static bool is_utf8(const uint8_t *bytes, uint32_t n) {
    uint64_t word, high = 0;

    for (; n >= sizeof(word) && n < 64; n -= (uint32_t)sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        if (word & UINT64_C(0x8080808080808080))
            break;
        bytes += sizeof(word);
    }
    for (uint32_t i = 0; n < sizeof(word) && i < n; i++)
        high |= bytes[i];
    return (n < sizeof(word) && high < 0x80) || leat_json_is_utf8(bytes, n);
}

/* Makes the texts views of the frames. False: they must be copied. */
static bool view_texts(struct rows *rows, const struct target *target, uint64_t *ret_n_bytes) {
    struct leat_column *column = target->column;
    bool are_good = !rows->map->is_kept[target->field->column];

    *ret_n_bytes = 0;
    for (uint32_t row = 0; row < rows->n_rows; row++) {
        bool is_there = rows->bodies[row] && !is_null(rows, row, target->index);

        column->starts[row] = rows->cursors[row];
        column->lengths[row] = is_there ? length_of(rows, row, target->slot) : 0;
        *ret_n_bytes += column->lengths[row];
        are_good &= is_there || !target->field->fallback;
        are_good &= is_utf8(rows->source + column->starts[row], column->lengths[row]);
    }
    return are_good;
}

/* Gets the text of a row, mended if needed. False: the row is bad, or memory ran out. */
static bool mend_text(struct rows *rows, uint32_t row, const struct target *target,
                      struct leat_source_record *text) {
    const struct leat_source_config *source = rows->values->source;
    const char *fallback = target->field->fallback;

    *text = (struct leat_source_record){.bytes = rows->source + target->column->starts[row],
                                        .n_bytes = target->column->lengths[row]};
    if (!rows->bodies[row])
        return false;
    if (is_null(rows, row, target->index) && fallback)
        *text = (struct leat_source_record){(const uint8_t *)fallback, strlen(fallback), 0};
    if (is_utf8(text->bytes, (uint32_t)text->n_bytes))
        return true;
    if (source->invalid_utf8 == LEAT_INVALID_UTF8_FAIL) {
        leat_map_reject(rows->map, row, target->field->name, "the text is not valid UTF-8");
        return false;
    }
    if (leat_source_mend(source, rows->map, row, text) == 0)
        return true;
    rows->map->is_out_of_memory = true;
    return false;
}

/* Copies the texts; mending makes one up to LEAT_SOURCE_MENDED_MAX times as long. */
static int copy_texts(struct rows *rows, const struct target *target, uint64_t n_bytes) {
    size_t n_fallback = target->field->fallback ? strlen(target->field->fallback) : 0;
    struct leat_column *column = target->column;
    struct leat_source_record text;
    uint64_t n_max = n_fallback * rows->n_rows + LEAT_SOURCE_SLACK;
    uint32_t n_out = 0;
    uint8_t *out;

    for (uint32_t row = 0; row < rows->n_rows; row++)
        n_max += is_utf8(rows->source + column->starts[row], column->lengths[row])
                     ? 0
                     : (LEAT_SOURCE_MENDED_MAX - 1) * (uint64_t)column->lengths[row];
    if (n_bytes + n_max > UINT32_MAX)
        return -ENOMEM;
    out = leat_map_alloc(rows->map, target->field->column, n_bytes + n_max);
    if (!out)
        return -ENOMEM;
    for (uint32_t row = 0; row < rows->n_rows; row++) {
        bool is_good = mend_text(rows, row, target, &text);

        column->starts[row] = n_out;
        column->lengths[row] = is_good ? (uint32_t)text.n_bytes : 0;
        if (is_good)
            memcpy(out + n_out, text.bytes, text.n_bytes);
        n_out += column->lengths[row];
    }
    column->values = out;
    return 0;
}

static int put_texts(struct rows *rows, const struct target *target) {
    uint64_t n_bytes;

    if (leat_map_make_views(rows->map, target->field->column) < 0)
        return -ENOMEM;
    if (!view_texts(rows, target, &n_bytes))
        return copy_texts(rows, target, n_bytes);
    target->column->values = (void *)(uintptr_t)rows->source;
    return 0;
}

/* ---- */

static void pass(struct rows *rows, const struct leat_arrow_slot *slot) {
    if (!leat_arrow_slot_is_variable(slot))
        return;
    for (uint32_t row = 0; row < rows->n_rows; row++) {
        uint32_t n = rows->bodies[row] ? length_of(rows, row, slot) : 0;

        rows->cursors[row] += n == LEAT_ARROW_LACKS_ITEM ? 0 : n;
    }
}

static int put_field(struct rows *rows, const struct target *target) {
    switch (target->slot->cell) {
    case LEAT_ARROW_CELL_NUMBER:
        return put_numbers(rows, target);
    case LEAT_ARROW_CELL_LIST:
        return put_lists(rows, target);
    default:
        return put_texts(rows, target);
    }
}

int leat_arrow_values_parse(const struct leat_arrow_values *values, struct leat_map *map) {
    uint32_t n_rows = map->block->n_rows;
    struct rows rows = {
        .values = values,
        .map = map,
        .source = map->block->source,
        .n_rows = n_rows,
        .bodies = leat_arena_alloc(map->scratch, n_rows * sizeof(*rows.bodies)),
        .cursors = leat_arena_alloc(map->scratch, n_rows * sizeof(*rows.cursors)),
    };
    int r = rows.bodies && rows.cursors ? 0 : -ENOMEM;

    for (uint32_t row = 0; r == 0 && row < n_rows; row++)
        find_record(&rows, row);
    for (uint32_t i = 0; r == 0 && i < values->fields->n_fields; i++) {
        struct target target = {
            .field = &values->fields->fields[i], .slot = &values->layout->slots[i], .index = i};

        if (!target.field->is_unusable && map->is_needed[target.field->column]) {
            target.column = leat_map_column(map, target.field->column);
            r = put_field(&rows, &target);
        }
        pass(&rows, target.slot);
    }
    return r;
}

/* ---- fields ---- */

const char *leat_arrow_values_check(const struct leat_jsonl_field *field,
                                    const struct leat_arrow_slot *slot) {
    bool is_text = field->dtype == LEAT_DTYPE_TEXT;

    switch (slot->cell) {
    case LEAT_ARROW_CELL_NONE:
        return "which leat does not read";
    case LEAT_ARROW_CELL_NUMBER:
        return is_text || field->is_list
                   ? "which is a number: declare it as int64, float32, bool or the like"
                   : NULL;
    case LEAT_ARROW_CELL_LIST:
        return field->is_list
                   ? NULL
                   : "which is a list of numbers: declare it as float32[] or the like, or as json";
    case LEAT_ARROW_CELL_TEXT:
        return is_text ? NULL : "which is text: declare it as text";
    default:
        return field->is_json ? NULL : "which leat reads as json only: declare it as json";
    }
}

bool leat_arrow_values_infer(struct leat_jsonl_field *field, const struct leat_arrow_slot *slot) {
    bool is_text = slot->cell == LEAT_ARROW_CELL_TEXT || slot->cell == LEAT_ARROW_CELL_JSON;

    field->dtype = is_text ? LEAT_DTYPE_TEXT : leat_arrow_number_dtype(slot->number);
    field->is_list = slot->cell == LEAT_ARROW_CELL_LIST;
    field->is_json = slot->cell == LEAT_ARROW_CELL_JSON;
    field->is_unusable = slot->cell == LEAT_ARROW_CELL_NONE;
    return !field->is_unusable;
}

static void show_value(const struct leat_arrow_slot *slot, const uint8_t *bytes, uint32_t n_bytes,
                       struct leat_text *text) {
    size_t size = leat_arrow_number_size(slot->number);

    if (slot->cell == LEAT_ARROW_CELL_TEXT ||
        (slot->cell == LEAT_ARROW_CELL_JSON && !leat_utf8_is_valid(bytes, n_bytes))) {
        leat_text_add_json(text, bytes, n_bytes);
    } else if (slot->cell == LEAT_ARROW_CELL_JSON) {
        leat_text_add_bytes(text, bytes, n_bytes);
    } else if (n_bytes == LEAT_ARROW_LACKS_ITEM) {
        leat_text_add(text, "[null]");
    } else {
        leat_text_add(text, "[");
        for (uint32_t i = 0; i < n_bytes / size; i++) {
            leat_text_add(text, "%s", i ? ", " : "");
            leat_arrow_json_number(text, slot->number, bytes + i * size);
        }
        leat_text_add(text, "]");
    }
}

static void show_body(const struct leat_arrow_layout *layout, const uint8_t *body,
                      struct leat_text *text) {
    const uint8_t *next = body + layout->n_fixed;
    uint32_t n_shown = 0, n;

    leat_text_add(text, "{");
    for (uint32_t i = 0; i < layout->n_slots; i++) {
        const struct leat_arrow_slot *slot = &layout->slots[i];

        if (slot->cell == LEAT_ARROW_CELL_NONE)
            continue;
        leat_text_add(text, "%s", n_shown++ ? ", " : "");
        leat_text_add_json(text, slot->name, strlen(slot->name));
        leat_text_add(text, ": ");
        memcpy(&n, body + slot->at, leat_arrow_slot_is_variable(slot) ? sizeof(n) : 0);
        if (body[i / 8] >> i % 8 & 1)
            leat_text_add(text, "null");
        else if (leat_arrow_slot_is_variable(slot))
            show_value(slot, next, n, text);
        else
            leat_arrow_json_number(text, slot->number, body + slot->at);
        if (leat_arrow_slot_is_variable(slot) && n != LEAT_ARROW_LACKS_ITEM)
            next += n;
    }
    leat_text_add(text, "}");
}

void leat_arrow_values_show(const struct leat_arrow_layout *layout, const uint8_t *record,
                            size_t n_bytes, struct leat_text *text) {
    uint32_t head = LEAT_FRAME_IS_BAD;

    if (n_bytes >= sizeof(head))
        memcpy(&head, record, sizeof(head));
    record += sizeof(head);
    n_bytes -= n_bytes < sizeof(head) ? n_bytes : sizeof(head);
    if ((head & LEAT_FRAME_IS_BAD) || !is_whole(layout, record, n_bytes))
        leat_text_add(text, "null");
    else
        show_body(layout, record, text);
}
