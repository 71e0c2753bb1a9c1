/* cache/block.c: see cache/block.h.
 *
 *     head | bitmap of the records that are rows, if not all are | columns | bad records
 *     column:     head | lengths of lists | values
 *     bad record: head | field | stage | message | raw bytes; texts with their '\0'
 *
 * Every part begins at a multiple of 8.
 */
#include "pipeline/cache/block.h"

#include <errno.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "caches are little endian");

struct block_head {
    uint32_t n_rows, n_records, n_columns, n_bad;
};

struct column_head {
    uint8_t dtype, is_list, value_width, length_width;
    uint32_t reserved;
    uint64_t n_elements;
    int64_t value_base, length_base;
};

struct bad_head {
    uint32_t record, column;
    uint64_t line, offset;
    uint32_t n_bytes, has_bytes;
    uint32_t field_bytes, stage_bytes, message_bytes, reserved;
};

/* ---- to bytes ---- */

static void add_numbers(struct leat_cache_bytes *bytes, const void *values, size_t n,
                        enum leat_dtype dtype, unsigned width, int64_t base) {
    uint8_t *target = leat_cache_bytes_reserve(bytes, leat_cache_packed_bytes(n, width));

    if (!target)
        return;
    leat_cache_pack(target, values, n, dtype, width, base);
    if (width == 3)
        target[3 * n] = 0;
    bytes->n_bytes += leat_cache_packed_bytes(n, width);
}

/* Rows of a list that follow each other without a gap go in one stretch; empty rows may start
 * anywhere. */
struct stretch {
    uint32_t row, start;
    size_t n; /* elements */
};

static bool next_stretch(const struct leat_column *column, uint32_t n_rows,
                         struct stretch *stretch) {
    uint32_t row = stretch->row;

    while (row < n_rows && column->lengths[row] == 0)
        row++;
    if (row == n_rows)
        return false;
    stretch->start = column->starts[row];
    stretch->n = 0;
    do
        stretch->n += column->lengths[row++];
    while (row < n_rows && column->starts[row] == stretch->start + stretch->n);
    stretch->row = row;
    return true;
}

static const uint8_t *find_element(const struct leat_column *column, uint32_t index, size_t size) {
    return (const uint8_t *)column->values + (size_t)index * size;
}

static struct leat_cache_range range_of(const struct leat_column *column, uint32_t n_rows,
                                        enum leat_dtype dtype) {
    struct leat_cache_range range = LEAT_CACHE_RANGE_INIT;
    struct stretch stretch = {.row = 0};

    if (!leat_cache_is_narrowed(dtype))
        return range;
    if (!column->starts)
        leat_cache_range_add(&range, dtype, column->values, n_rows);
    while (column->starts && next_stretch(column, n_rows, &stretch))
        leat_cache_range_add(
            &range, dtype, find_element(column, stretch.start, leat_dtype_size(dtype)), stretch.n);
    return range;
}

static void add_values(struct leat_cache_bytes *bytes, const struct leat_column *column,
                       uint32_t n_rows, const struct column_head *head) {
    enum leat_dtype dtype = (enum leat_dtype)head->dtype;
    size_t n_bytes = leat_cache_packed_bytes(head->n_elements, head->value_width);
    uint8_t *target = leat_cache_bytes_reserve(bytes, n_bytes);
    struct stretch stretch = {.row = 0};

    if (!target)
        return;
    if (!column->starts && n_rows > 0)
        leat_cache_pack(target, column->values, n_rows, dtype, head->value_width, head->value_base);
    if (head->value_width == 3)
        target[n_bytes - 1] = 0;
    while (column->starts && next_stretch(column, n_rows, &stretch)) {
        leat_cache_pack(target, find_element(column, stretch.start, leat_dtype_size(dtype)),
                        stretch.n, dtype, head->value_width, head->value_base);
        target += stretch.n * head->value_width;
    }
    bytes->n_bytes += n_bytes;
    leat_cache_bytes_align(bytes);
}

static int add_column(struct leat_cache_bytes *bytes, const struct leat_field *field,
                      const struct leat_column *column, uint32_t n_rows, struct leat_error *err) {
    struct column_head head = {.dtype = (uint8_t)field->dtype, .is_list = field->is_list};
    struct leat_cache_range lengths = LEAT_CACHE_RANGE_INIT, values;
    uint32_t longest = 0;

    for (uint32_t row = 0; field->is_list && row < n_rows; row++) {
        head.n_elements += column->lengths[row];
        longest = column->lengths[row] > longest ? column->lengths[row] : longest;
    }
    if (head.n_elements > UINT32_MAX || longest > INT32_MAX)
        return leat_error_set(err, -EOVERFLOW,
                              "the field \"%s\" has %llu elements in one block, too many for a "
                              "cache: lower block_bytes",
                              field->name, (unsigned long long)head.n_elements);
    if (!field->is_list)
        head.n_elements = n_rows;
    values = range_of(column, n_rows, field->dtype);
    head.value_width =
        (uint8_t)(leat_cache_is_narrowed(field->dtype)
                      ? leat_cache_range_width(&values, field->dtype, &head.value_base)
                      : leat_dtype_size(field->dtype));
    if (field->is_list) {
        leat_cache_range_add(&lengths, LEAT_DTYPE_INT32, column->lengths, n_rows);
        head.length_width =
            (uint8_t)leat_cache_range_width(&lengths, LEAT_DTYPE_INT32, &head.length_base);
    }
    leat_cache_bytes_add(bytes, &head, sizeof(head));
    if (field->is_list)
        add_numbers(bytes, column->lengths, n_rows, LEAT_DTYPE_INT32, head.length_width,
                    head.length_base);
    leat_cache_bytes_align(bytes);
    add_values(bytes, column, n_rows, &head);
    return 0;
}

static void add_rows(struct leat_cache_bytes *bytes, const struct leat_block *block) {
    size_t n_bytes = ((size_t)block->n_records + 7) / 8;
    uint8_t *bitmap;

    if (block->n_rows == block->n_records)
        return;
    bitmap = leat_cache_bytes_reserve(bytes, n_bytes);
    if (!bitmap)
        return;
    memset(bitmap, 0, n_bytes);
    for (uint32_t row = 0; row < block->n_rows; row++)
        bitmap[block->records[row] / 8] |= (uint8_t)(1U << block->records[row] % 8);
    bytes->n_bytes += n_bytes;
    leat_cache_bytes_align(bytes);
}

static uint32_t text_bytes(const char *text) {
    return text ? (uint32_t)strlen(text) + 1 : 0;
}

static void add_text(struct leat_cache_bytes *bytes, const void *text, uint32_t n_bytes) {
    leat_cache_bytes_add(bytes, text, n_bytes);
    leat_cache_bytes_align(bytes);
}

static void add_bad(struct leat_cache_bytes *bytes, const struct leat_bad_record *bad) {
    struct bad_head head = {
        .record = bad->record,
        .column = bad->column,
        .line = bad->line,
        .offset = bad->offset,
        .n_bytes = bad->n_bytes,
        .has_bytes = bad->bytes != NULL,
        .field_bytes = text_bytes(bad->field),
        .stage_bytes = text_bytes(bad->stage),
        .message_bytes = text_bytes(bad->message),
    };

    leat_cache_bytes_add(bytes, &head, sizeof(head));
    add_text(bytes, bad->field, head.field_bytes);
    add_text(bytes, bad->stage, head.stage_bytes);
    add_text(bytes, bad->message, head.message_bytes);
    if (bad->bytes)
        add_text(bytes, bad->bytes, bad->n_bytes);
}

static uint32_t count_kept(const struct leat_cache_schema *schema) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < schema->n_columns; i++)
        n += schema->is_kept[i];
    return n;
}

int leat_cache_block_encode(const struct leat_cache_schema *schema, const struct leat_block *block,
                            struct leat_cache_bytes *bytes, struct leat_error *err) {
    struct block_head head = {.n_rows = block->n_rows,
                              .n_records = block->n_records,
                              .n_columns = count_kept(schema),
                              .n_bad = block->n_bad};
    int r = 0;

    leat_cache_bytes_add(bytes, &head, sizeof(head));
    add_rows(bytes, block);
    for (uint32_t i = 0; r == 0 && i < schema->n_columns; i++)
        if (schema->is_kept[i])
            r = add_column(bytes, &schema->fields[i], &block->columns[i], block->n_rows, err);
    for (uint32_t i = 0; r == 0 && i < block->n_bad; i++)
        add_bad(bytes, &block->bad[i]);
    return r == 0 && bytes->failed ? leat_error_oom(err) : r;
}

/* ---- and back ---- */

struct decoding {
    struct leat_cache_reader reader;
    struct leat_block *block;
    struct leat_arena *arena;
    enum leat_cache_packed packed;
    struct leat_error *err;
};

static int fail_broken(struct decoding *decoding, const char *what) {
    return leat_error_set(decoding->err, -EBADMSG, "the cached block is damaged: %s, at byte %zu",
                          what, decoding->reader.at);
}

static int take_struct(struct decoding *decoding, void *ret_struct, size_t n_bytes) {
    const uint8_t *at = leat_cache_take(&decoding->reader, n_bytes);

    if (!at)
        return fail_broken(decoding, "it ends too early");
    memcpy(ret_struct, at, n_bytes);
    return 0;
}

static int take_rows(struct decoding *decoding) {
    struct leat_block *block = decoding->block;
    size_t n_bytes = ((size_t)block->n_records + 7) / 8;
    const uint8_t *bitmap;
    uint32_t n = 0;

    if (block->n_rows == block->n_records)
        return 0;
    bitmap = leat_cache_take(&decoding->reader, n_bytes);
    if (!bitmap)
        return fail_broken(decoding, "it ends too early");
    block->records = leat_arena_alloc(decoding->arena, block->n_rows * sizeof(*block->records));
    if (!block->records)
        return leat_error_oom(decoding->err);
    for (uint32_t record = 0; record < block->n_records; record++) {
        if (!(bitmap[record / 8] >> record % 8 & 1))
            continue;
        if (n == block->n_rows)
            return fail_broken(decoding, "it has more records than rows");
        block->records[n++] = record;
    }
    return n == block->n_rows ? 0 : fail_broken(decoding, "it has more rows than records");
}

/* Reads numbers of one dtype; points to them where they are if they are stored as they are. */
static int take_numbers(struct decoding *decoding, size_t n, enum leat_dtype dtype, unsigned width,
                        int64_t base, void **ret_values) {
    size_t size = leat_dtype_size(dtype);
    const uint8_t *packed = leat_cache_take(&decoding->reader, leat_cache_packed_bytes(n, width));

    if (!packed)
        return fail_broken(decoding, "it ends too early");
    *ret_values = (void *)(uintptr_t)packed;
    if (width == size)
        return 0;
    *ret_values = leat_arena_alloc(decoding->arena, n * size);
    if (!*ret_values)
        return leat_error_oom(decoding->err);
    leat_cache_unpack(*ret_values, packed, n, dtype, width, base);
    return 0;
}

static bool is_width(enum leat_dtype dtype, unsigned width) {
    return width == leat_dtype_size(dtype) || (leat_cache_is_narrowed(dtype) && width >= 1 &&
                                               width <= 4 && width < leat_dtype_size(dtype));
}

/* Batches rely on no row being longer than its field may be. */
static uint64_t length_limit(const struct leat_field *field) {
    uint64_t limit = field->max_length ? field->max_length : UINT32_MAX;

    if (field->is_padded && field->pad_length > 0 && field->pad_length < limit)
        limit = field->pad_length;
    return limit;
}

static int take_lengths(struct decoding *decoding, const struct leat_field *field,
                        const struct column_head *head, struct leat_column *column) {
    uint32_t n_rows = decoding->block->n_rows, longest = 0;
    uint64_t at = 0, limit = length_limit(field);
    void *lengths = NULL;
    int r;

    if (!is_width(LEAT_DTYPE_INT32, head->length_width))
        return fail_broken(decoding, "its lengths have an unknown width");
    r = take_numbers(decoding, n_rows, LEAT_DTYPE_INT32, head->length_width, head->length_base,
                     &lengths);
    if (r < 0)
        return r;
    column->lengths = lengths;
    column->starts = leat_arena_alloc(decoding->arena, n_rows * sizeof(*column->starts));
    if (!column->starts)
        return leat_error_oom(decoding->err);
    for (uint32_t row = 0; row < n_rows; row++) {
        column->starts[row] = (uint32_t)at;
        at += column->lengths[row];
        longest = column->lengths[row] > longest ? column->lengths[row] : longest;
    }
    if (at != head->n_elements || longest > limit)
        return fail_broken(decoding, "its lengths contradict each other");
    return 0;
}

static int check_bools(struct decoding *decoding, const uint8_t *values, size_t n) {
    uint8_t all = 0;

    for (size_t i = 0; i < n; i++)
        all |= values[i];
    return all <= 1 ? 0 : fail_broken(decoding, "a boolean is neither 0 nor 1");
}

static bool stays_packed(const struct decoding *decoding, const struct column_head *head) {
    if (head->value_width == leat_dtype_size((enum leat_dtype)head->dtype))
        return false;
    return decoding->packed == LEAT_CACHE_PACK_ALL ||
           (decoding->packed == LEAT_CACHE_PACK_LISTS && head->is_list);
}

static int take_packed(struct decoding *decoding, const struct column_head *head,
                       struct leat_column *column) {
    const uint8_t *packed = leat_cache_take(
        &decoding->reader, leat_cache_packed_bytes(head->n_elements, head->value_width));

    if (!packed)
        return fail_broken(decoding, "it ends too early");
    column->width = head->value_width;
    column->base = head->value_base;
    column->values = (void *)(uintptr_t)packed;
    return 0;
}

static int take_column(struct decoding *decoding, const struct leat_field *field,
                       struct leat_column *column) {
    struct column_head head;
    int r = take_struct(decoding, &head, sizeof(head));

    if (r < 0)
        return r;
    if (head.dtype != field->dtype || head.is_list != field->is_list ||
        head.n_elements > UINT32_MAX || !is_width(field->dtype, head.value_width) ||
        (!field->is_list && head.n_elements != decoding->block->n_rows))
        return fail_broken(decoding, "a column has the wrong type");
    if (field->is_list)
        r = take_lengths(decoding, field, &head, column);
    if (r == 0 && stays_packed(decoding, &head))
        r = take_packed(decoding, &head, column);
    else if (r == 0)
        r = take_numbers(decoding, head.n_elements, field->dtype, head.value_width, head.value_base,
                         &column->values);
    if (r == 0 && field->dtype == LEAT_DTYPE_BOOL)
        r = check_bools(decoding, column->values, head.n_elements);
    return r;
}

static int take_text(struct decoding *decoding, uint32_t n_bytes, const char **ret_text) {
    const uint8_t *at = leat_cache_take(&decoding->reader, n_bytes);

    *ret_text = NULL;
    if (n_bytes == 0)
        return 0;
    if (!at || at[n_bytes - 1] != '\0')
        return fail_broken(decoding, "a text does not end with a NUL byte");
    *ret_text = (const char *)at;
    return 0;
}

static int take_bad(struct decoding *decoding, uint32_t min_record, struct leat_bad_record *bad) {
    struct bad_head head;
    int r = take_struct(decoding, &head, sizeof(head));

    if (r < 0)
        return r;
    if (head.record < min_record || head.record >= decoding->block->n_records ||
        head.message_bytes == 0)
        return fail_broken(decoding, "the entry of a bad record is damaged");
    *bad = (struct leat_bad_record){.record = head.record,
                                    .column = head.column,
                                    .line = head.line,
                                    .offset = head.offset,
                                    .n_bytes = head.n_bytes};
    r = take_text(decoding, head.field_bytes, &bad->field);
    if (r == 0)
        r = take_text(decoding, head.stage_bytes, &bad->stage);
    if (r == 0)
        r = take_text(decoding, head.message_bytes, &bad->message);
    if (r == 0 && head.has_bytes) {
        bad->bytes = leat_cache_take(&decoding->reader, head.n_bytes);
        if (!bad->bytes)
            r = fail_broken(decoding, "it ends too early");
    }
    return r;
}

static int take_all_bad(struct decoding *decoding, uint32_t n_bad) {
    struct leat_block *block = decoding->block;
    uint32_t min_record = 0;

    if (n_bad > (decoding->reader.n_bytes - decoding->reader.at) / sizeof(struct bad_head))
        return fail_broken(decoding, "it ends too early");
    block->bad = leat_arena_alloc(decoding->arena, n_bad * sizeof(*block->bad));
    if (!block->bad)
        return leat_error_oom(decoding->err);
    for (; block->n_bad < n_bad; block->n_bad++) {
        struct leat_bad_record *bad = &block->bad[block->n_bad];
        int r = take_bad(decoding, min_record, bad);

        if (r < 0)
            return r;
        min_record = bad->record + 1;
    }
    return 0;
}

static int take_columns(struct decoding *decoding, const struct leat_cache_schema *schema) {
    struct leat_block *block = decoding->block;
    int r = 0;

    block->n_columns = schema->n_columns;
    block->columns = leat_arena_alloc(decoding->arena, schema->n_columns * sizeof(*block->columns));
    if (!block->columns)
        return leat_error_oom(decoding->err);
    memset(block->columns, 0, schema->n_columns * sizeof(*block->columns));
    for (uint32_t i = 0; r == 0 && i < schema->n_columns; i++)
        if (schema->is_kept[i])
            r = take_column(decoding, &schema->fields[i], &block->columns[i]);
    return r;
}

static int decode(struct decoding *decoding, const struct leat_cache_schema *schema,
                  uint32_t n_records) {
    struct leat_block *block = decoding->block;
    struct block_head head;
    int r = take_struct(decoding, &head, sizeof(head));

    if (r < 0)
        return r;
    if (head.n_records != n_records || head.n_rows > n_records ||
        head.n_columns != count_kept(schema))
        return fail_broken(decoding, "its header is damaged");
    block->n_rows = head.n_rows;
    block->n_records = head.n_records;
    block->records = NULL;
    block->n_bad = 0;
    r = take_rows(decoding);
    if (r == 0)
        r = take_columns(decoding, schema);
    if (r == 0)
        r = take_all_bad(decoding, head.n_bad);
    if (r == 0 && decoding->reader.at != decoding->reader.n_bytes)
        r = fail_broken(decoding, "it has bytes after its end");
    return r;
}

int leat_cache_block_decode(const struct leat_cache_schema *schema, const uint8_t *data,
                            size_t n_bytes, uint32_t n_records, enum leat_cache_packed packed,
                            struct leat_arena *arena, struct leat_block *block,
                            struct leat_error *err) {
    struct decoding decoding = {
        .reader = {data, n_bytes, 0}, .block = block, .arena = arena, .packed = packed, .err = err};

    return decode(&decoding, schema, n_records);
}
