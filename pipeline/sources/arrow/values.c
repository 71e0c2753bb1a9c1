/* arrow/values.c: see arrow/values.h. It works column by column, and in a column stripe by stripe.
 */
#include "pipeline/sources/arrow/values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/sources/arrow/json_text.h"
#include "proto/base/scalar.h"
#include "proto/base/utf8.h"

/* A stripe of the source that has rows of the block. */
struct stripe {
    struct stripe *next;
    struct leat_arrow_stripe base;
    uint32_t row, n_rows;   /* of the block: the first, and their number */
    const uint32_t *wanted; /* [n_rows]: which records they are; NULL: all */
    uint32_t first_record;  /* as in `wanted` */
    bool is_bad;            /* its rows are rejected */
    size_t texts_at;        /* in the source: of the next column of texts or lists */
};

/* One job. */
struct rows {
    const struct leat_arrow_values *values;
    struct leat_map *map;
    const uint8_t *source;
    uint32_t n_rows;
    struct stripe *stripes;
    uint32_t *starts, *lengths; /* [n_rows]: of a column of lists, in the source */
};

/* One field. */
struct target {
    const struct leat_jsonl_field *field;
    const struct leat_arrow_slot *slot;
    struct leat_column *column;
    uint32_t index;
};

/* ---- stripes ---- */

__attribute__((format(printf, 3, 4))) static void
reject_all(struct rows *rows, struct stripe *stripe, const char *format, ...) {
    char message[LEAT_ERROR_MESSAGE_MAX];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
    stripe->is_bad = true;
    for (uint32_t row = stripe->row; row < stripe->row + stripe->n_rows; row++)
        leat_map_reject_at(rows->map, row, 0, 0, "%s", message);
}

static void check_stripe(struct rows *rows, struct stripe *stripe) {
    uint32_t n_slots = stripe->base.layout->n_slots, head;
    uint64_t max_fields = rows->map->max_fields;

    memcpy(&head, stripe->base.bytes, sizeof(head));
    if (head & LEAT_FRAME_IS_BAD)
        reject_all(rows, stripe, "the record %.*s", (int)(head & LEAT_FRAME_SIZE),
                   (const char *)stripe->base.bytes + LEAT_FRAME_HEAD_BYTES);
    else if (max_fields && n_slots > max_fields)
        reject_all(rows, stripe, "the record has %u fields, more than max_fields (%llu)", n_slots,
                   (unsigned long long)max_fields);
    else if (!leat_arrow_stripe_is_whole(&stripe->base))
        reject_all(rows, stripe, "the record does not have the columns of its file");
}

static int find_stripes(struct rows *rows) {
    const struct leat_map *map = rows->map;
    const struct leat_arrow_layout *layout = rows->values->layout;
    struct stripe **end = &rows->stripes, stripe = {.base = {.layout = layout}};

    for (size_t at = 0, n; stripe.row < rows->n_rows; at += n) {
        stripe.base.bytes = rows->source + at;
        n = leat_cutter_stripe(stripe.base.bytes, map->block->n_source_bytes - at,
                               &stripe.base.n_records);
        stripe.wanted = map->wanted ? map->wanted + stripe.row : NULL;
        stripe.n_rows = n > 0 && !map->wanted ? stripe.base.n_records : 0;
        while (stripe.row + stripe.n_rows < rows->n_rows &&
               (n == 0 || (map->wanted && stripe.wanted[stripe.n_rows] <
                                              stripe.first_record + stripe.base.n_records)))
            stripe.n_rows++;
        stripe.texts_at =
            at + leat_arrow_layout_place(layout, layout->n_fixed, stripe.base.n_records);
        if (stripe.n_rows > 0) {
            *end = leat_arena_alloc(map->scratch, sizeof(**end));
            if (!*end)
                return -ENOMEM;
            **end = stripe;
            if (n > 0)
                check_stripe(rows, *end);
            else
                reject_all(rows, *end, "the record is truncated");
            end = &(*end)->next;
        }
        stripe.first_record += stripe.base.n_records;
        stripe.row += stripe.n_rows;
    }
    return 0;
}

static uint32_t record_of(const struct stripe *stripe, uint32_t i) {
    return stripe->wanted ? stripe->wanted[i] - stripe->first_record : i;
}

static bool is_null(const struct stripe *stripe, uint32_t index, uint32_t i) {
    return leat_arrow_stripe_is_null(&stripe->base, index, record_of(stripe, i));
}

/* ---- numbers ---- */

/* True if the dtype stores the number as the file does. */
static bool is_same(enum leat_arrow_number number, enum leat_dtype dtype) {
    return leat_arrow_number_dtype(number) == dtype &&
           leat_arrow_number_size(number) == leat_dtype_size(dtype) && number != LEAT_ARROW_UINT64;
}

/* The compiler knows the sizes. */
static uint64_t load(const uint8_t *bytes, size_t size) {
    uint64_t value = 0;

    switch (size) {
    case 1:
        return *bytes;
    case 2:
        memcpy(&value, bytes, 2);
        return value;
    case 4:
        memcpy(&value, bytes, 4);
        return value;
    default:
        memcpy(&value, bytes, sizeof(value));
        return value;
    }
}

static int64_t integer_of(enum leat_arrow_number number, const uint8_t *bytes) {
    unsigned unused = 64 - 8 * (unsigned)leat_arrow_number_size(number);
    bool is_signed = number == LEAT_ARROW_INT8 || number == LEAT_ARROW_INT16 ||
                     number == LEAT_ARROW_INT32 || number == LEAT_ARROW_INT64;
    uint64_t value = load(bytes, leat_arrow_number_size(number));

    return is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

/* -ERANGE or -EINVAL: the number does not fit. */
static int store(void *values, enum leat_dtype dtype, size_t index, enum leat_arrow_number number,
                 const uint8_t *bytes) {
    enum leat_dtype own = leat_arrow_number_dtype(number);
    uint64_t value = 0;
    int64_t integer;

    if (!leat_dtype_is_integer(own)) {
        value = load(bytes, leat_arrow_number_size(number));
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

static void put_null(struct rows *rows, uint32_t row, const struct target *target, uint8_t *out) {
    if (target->field->fallback)
        (void)leat_jsonl_field_fallback(target->field, out);
    else
        leat_jsonl_field_reject_missing(target->field, rows->map, row);
}

/* The number of a null is 0. */
static void put_stripe(struct rows *rows, const struct target *target,
                       const struct stripe *stripe) {
    const uint8_t *numbers = leat_arrow_stripe_column(&stripe->base, target->index);
    enum leat_arrow_number number = target->slot->number;
    enum leat_dtype dtype = target->field->dtype;
    size_t size = leat_dtype_size(dtype), own = leat_arrow_number_size(number);
    uint8_t *out = (uint8_t *)target->column->values + stripe->row * size;
    bool may_be_null = leat_arrow_stripe_may_have_nulls(&stripe->base, target->index);
    bool is_plain = is_same(number, dtype), is_run = is_plain && !stripe->wanted;

    if (is_run)
        memcpy(out, numbers, stripe->n_rows * size);
    else
        memset(out, 0, stripe->n_rows * size);
    for (uint32_t i = 0; (!is_run || may_be_null) && i < stripe->n_rows; i++) {
        const uint8_t *bytes = numbers + record_of(stripe, i) * own;

        if (may_be_null && is_null(stripe, target->index, i))
            put_null(rows, stripe->row + i, target, out + i * size);
        else if (is_plain)
            memcpy(out + i * size, bytes, size);
        else if (store(out, dtype, i, number, bytes) < 0)
            reject_number(rows, stripe->row + i, target, bytes);
    }
}

static int put_numbers(struct rows *rows, const struct target *target) {
    size_t size = leat_dtype_size(target->field->dtype);

    if (leat_map_make_scalar(rows->map, target->field->column, size) < 0)
        return -ENOMEM;
    for (const struct stripe *stripe = rows->stripes; stripe; stripe = stripe->next)
        if (stripe->is_bad)
            memset((uint8_t *)target->column->values + stripe->row * size, 0,
                   stripe->n_rows * size);
        else
            put_stripe(rows, target, stripe);
    return 0;
}

/* ---- lists ---- */

static void locate_stripe(uint32_t index, struct stripe *stripe, uint32_t *starts,
                          uint32_t *lengths) {
    const uint8_t *column = leat_arrow_stripe_column(&stripe->base, index);
    uint32_t n = 0, n_bytes;

    for (uint32_t i = 0; i < stripe->base.n_records; i++) {
        uint32_t length = leat_arrow_length_at(column, i, &n_bytes);

        if (starts && n < stripe->n_rows && record_of(stripe, n) == i) {
            starts[n] = (uint32_t)stripe->texts_at;
            lengths[n++] = length;
        }
        stripe->texts_at += n_bytes;
    }
}

/* Finds where the texts or lists of a column are in the source, in bytes; each column in turn.
 * starts NULL: it is not needed. */
static void locate(const struct rows *rows, uint32_t index, uint32_t *starts, uint32_t *lengths) {
    for (struct stripe *stripe = rows->stripes; stripe; stripe = stripe->next)
        if (!stripe->is_bad) {
            locate_stripe(index, stripe, starts ? starts + stripe->row : NULL,
                          lengths + stripe->row);
        } else if (starts) {
            memset(starts + stripe->row, 0, stripe->n_rows * sizeof(*starts));
            memset(lengths + stripe->row, 0, stripe->n_rows * sizeof(*lengths));
        }
}

static void put_list(struct rows *rows, uint32_t row, const struct target *target,
                     uint32_t n_bytes) {
    const struct leat_jsonl_field *field = target->field;
    enum leat_arrow_number number = target->slot->number;
    size_t size = leat_arrow_number_size(number), start = target->column->starts[row];
    const uint8_t *bytes = rows->source + rows->starts[row];
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
    locate(rows, target->index, rows->starts, rows->lengths);
    for (uint32_t row = 0; row < rows->n_rows; row++) {
        column->starts[row] = (uint32_t)n_items;
        column->lengths[row] = 0;
        if (rows->lengths[row] != LEAT_ARROW_LACKS_ITEM)
            n_items += rows->lengths[row] / leat_arrow_number_size(target->slot->number);
    }
    column->values =
        leat_map_alloc(rows->map, field->column, n_items * leat_dtype_size(field->dtype));
    if (!column->values)
        return -ENOMEM;
    for (uint32_t row = 0; row < rows->n_rows; row++)
        if (rows->lengths[row] == LEAT_ARROW_LACKS_ITEM)
            leat_map_reject(rows->map, row, field->name,
                            "an item of the list is null, but %s[] was expected",
                            leat_dtype_name(field->dtype));
        else if (rows->lengths[row] > 0)
            put_list(rows, row, target, rows->lengths[row]);
    return 0;
}

/* ---- texts ---- */

/* The row behind those from `row` on whose texts stand one behind the other. */
static uint32_t end_of_run(const struct leat_column *column, uint32_t row, uint32_t n_rows) {
    uint32_t end = column->starts[row] + column->lengths[row];

    while (++row < n_rows && column->starts[row] == end)
        end += column->lengths[row];
    return row;
}

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

/* True if all texts are UTF-8: if no text begins within a character of those around it, these are
 * checked as one. */
static bool are_utf8(const struct rows *rows, const struct leat_column *column) {
    bool are_good = true;

    for (uint32_t row = 0, next; are_good && row < rows->n_rows; row = next) {
        uint32_t start = column->starts[row], end;

        next = end_of_run(column, row, rows->n_rows);
        end = column->starts[next - 1] + column->lengths[next - 1];
        are_good = is_utf8(rows->source + start, end - start);
        for (uint32_t i = row; i < next; i++)
            are_good &=
                column->starts[i] == end || (rows->source[column->starts[i]] & 0xc0) != 0x80;
    }
    return are_good;
}

/* True if a value replaces one of the texts. */
static bool has_fallback(const struct rows *rows, const struct target *target) {
    bool has = false;

    for (const struct stripe *stripe = rows->stripes; target->field->fallback && stripe;
         stripe = stripe->next)
        has |= !stripe->is_bad && leat_arrow_stripe_may_have_nulls(&stripe->base, target->index);
    return has;
}

/* Copies the texts as they are. */
static int copy_texts(struct rows *rows, const struct target *target, uint64_t n_bytes) {
    struct leat_column *column = target->column;
    uint8_t *out = leat_map_alloc(rows->map, target->field->column, n_bytes);
    uint32_t n_out = 0;

    if (!out)
        return -ENOMEM;
    for (uint32_t row = 0, next; row < rows->n_rows;) {
        uint32_t start = column->starts[row], first = n_out;

        for (next = end_of_run(column, row, rows->n_rows); row < next; row++) {
            column->starts[row] = n_out;
            n_out += column->lengths[row];
        }
        memcpy(out + first, rows->source + start, n_out - first);
    }
    column->values = out;
    return 0;
}

/* Gets the text of a row, mended if needed. False: the row is bad, or memory ran out. */
static bool mend_text(struct rows *rows, uint32_t row, const struct target *target, bool is_null,
                      struct leat_source_record *text) {
    const struct leat_source_config *source = rows->values->source;
    const char *fallback = target->field->fallback;

    *text = (struct leat_source_record){.bytes = rows->source + target->column->starts[row],
                                        .n_bytes = target->column->lengths[row]};
    if (is_null && fallback)
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
static int mend_texts(struct rows *rows, const struct target *target, uint64_t n_bytes) {
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
    for (const struct stripe *stripe = rows->stripes; stripe; stripe = stripe->next)
        for (uint32_t i = 0; i < stripe->n_rows; i++) {
            uint32_t row = stripe->row + i;
            bool is_good = !stripe->is_bad &&
                           mend_text(rows, row, target, is_null(stripe, target->index, i), &text);

            column->starts[row] = n_out;
            column->lengths[row] = is_good ? (uint32_t)text.n_bytes : 0;
            if (is_good)
                memcpy(out + n_out, text.bytes, text.n_bytes);
            n_out += column->lengths[row];
        }
    column->values = out;
    return 0;
}

/* Texts that are not kept are views of the source. */
static int put_texts(struct rows *rows, const struct target *target) {
    struct leat_column *column = target->column;
    uint64_t n_bytes;

    if (leat_map_make_views(rows->map, target->field->column) < 0)
        return -ENOMEM;
    locate(rows, target->index, column->starts, column->lengths);
    n_bytes = leat_map_n_items(rows->map, target->field->column);
    if (has_fallback(rows, target) || !are_utf8(rows, column))
        return mend_texts(rows, target, n_bytes);
    if (rows->map->is_kept[target->field->column])
        return copy_texts(rows, target, n_bytes);
    column->values = (void *)(uintptr_t)rows->source;
    return 0;
}

/* ---- */

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
        .starts = leat_arena_alloc(map->scratch, n_rows * sizeof(*rows.starts)),
        .lengths = leat_arena_alloc(map->scratch, n_rows * sizeof(*rows.lengths)),
    };
    int r = rows.starts && rows.lengths ? find_stripes(&rows) : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < values->fields->n_fields; i++) {
        struct target target = {
            .field = &values->fields->fields[i], .slot = &values->layout->slots[i], .index = i};

        if (!target.field->is_unusable && map->is_needed[target.field->column]) {
            target.column = leat_map_column(map, target.field->column);
            r = put_field(&rows, &target);
        } else if (leat_arrow_slot_is_variable(target.slot)) {
            locate(&rows, i, NULL, rows.lengths);
        }
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

static void show_frame(const struct leat_arrow_stripe *frame, struct leat_text *text) {
    const struct leat_arrow_layout *layout = frame->layout;
    const uint8_t *body = frame->bytes + LEAT_FRAME_HEAD_BYTES, *next = body + layout->n_fixed;
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
        if (leat_arrow_stripe_is_null(frame, i, 0))
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
    struct leat_arrow_stripe frame = {.layout = layout, .bytes = record, .n_records = 1};
    uint32_t head = LEAT_FRAME_IS_BAD;

    if (n_bytes >= sizeof(head))
        memcpy(&head, record, sizeof(head));
    if (head == n_bytes - sizeof(head) && leat_arrow_stripe_is_whole(&frame))
        show_frame(&frame, text);
    else
        leat_text_add(text, "null");
}
