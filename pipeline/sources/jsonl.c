/* jsonl.c: JSON Lines: one object a line.
 *
 * Each record is parsed as a whole and strictly (tokenizer/json.h), so a malformed line is never
 * half used. A number that no type holds, or half a surrogate pair, is an error of its field alone.
 * The parser reuses its memory for the next record, so texts and numbers are copied into buffers of
 * the block. Their sizes follow from the source: a text is never longer than its JSON, and an array
 * has one comma less than items.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/block/json_scalar.h"
#include "pipeline/sources/shared_jsonl_fields.h"
#include "pipeline/stage/planner.h"
#include "pipeline/tokenizer/json_locate.h"

#define INFER_RECORDS 100
#define INFER_BYTES   (1U << 20)

struct jsonl {
    struct leat_source_config source;
    struct leat_text_map declared;
    struct leat_text_map missing;

    struct leat_jsonl_fields fields;
};

static const struct leat_arg args[] = {
    LEAT_SOURCE_ARGS("fail"),
    LEAT_ARG_NAMED(
        "fields", jsonl, declared, MAP,
        "the fields to read with their types, such as `label: int64`, `meta.lang: text` or `vec: "
        "float32[]`; the type `json` reads any value as JSON text, such as `messages: json`; to "
        "read a field under another name, write `lang: \"meta.lang text\"`: the field `lang` is "
        "then the value of `meta.lang` as text; if a key contains a dot, write `\\.` for this dot; "
        "default: the fields of the first 100 records; an object then becomes fields such as "
        "`outer.inner`; strings become text, whole numbers int64, other numbers float64, and "
        "arrays of numbers become lists",
        .min = 1, .max = LEAT_FIELDS_MAX),
    LEAT_ARG(jsonl, missing, MAP,
             "the values that replace missing fields and nulls; for example, `stars: 0` "
             "puts 0 into each record without the field `stars`; without such a value, a "
             "missing text or list is empty, and a missing number or boolean makes the "
             "record bad",
             .min = 1, .max = LEAT_FIELDS_MAX),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    struct jsonl *self = (struct jsonl *)config;

    if (self->declared.n_items == 0)
        return 0;
    return leat_jsonl_fields_declare(&self->fields, config, "fields", &self->declared, err);
}

static void unload(struct leat_config *config) {
    struct jsonl *self = (struct jsonl *)config;

    leat_jsonl_fields_deinit(&self->fields);
    leat_files_deinit(&self->source.files);
}

static void cutter(const struct leat_config *config, struct leat_cutter *ret_cutter) {
    (void)config;
    *ret_cutter = (struct leat_cutter){.kind = LEAT_CUTTER_LINES};
}

/* ---- which fields there are ---- */

/* Infers fields from one record of the head; parse() reports malformed ones. */
static int infer_record(struct jsonl *self, struct leat_json *json, const uint8_t *record, size_t n,
                        uint32_t *n_good, struct leat_error *ret_fault, struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    struct leat_json_node root;
    int r = leat_json_parse_record(json, record, n, n, &root, &fault);

    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r == 0 && leat_json_kind(root) != LEAT_JSON_OBJECT)
        r = leat_error_set(&fault, -EINVAL, "the record is %s, not an object",
                           leat_json_kind_name(leat_json_kind(root)));
    if (r < 0) {
        if (!ret_fault->code)
            *ret_fault = fault;
        return 0;
    }
    ++*n_good;
    return leat_jsonl_fields_infer(&self->fields, root, err);
}

/* The line at `start` has *ret_n bytes without its end; where the next one begins. */
static size_t cut_line(const uint8_t *data, size_t start, size_t n_bytes, size_t *ret_n) {
    const uint8_t *line_end = memchr(data + start, '\n', n_bytes - start);
    size_t end = line_end ? (size_t)(line_end - data) : n_bytes;

    *ret_n = end - start - (end > start && data[end - 1] == '\r');
    return end + 1;
}

static int infer_records(struct jsonl *self, const uint8_t *data, size_t n_bytes, const char *file,
                         uint32_t *n_good, struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    struct leat_json *json;
    size_t start = 0;
    uint32_t line = 0, fault_line = 0;
    int r = leat_json_new(0, &json);

    if (r < 0)
        return leat_error_oom(err);
    while (r == 0 && start < n_bytes && *n_good < INFER_RECORDS) {
        size_t n, next = cut_line(data, start, n_bytes, &n);
        line++;
        if (n > 0)
            r = infer_record(self, json, data + start, n, n_good, &fault, err);
        if (fault.code && !fault_line)
            fault_line = line;
        start = next;
    }
    leat_json_free(json);
    if (r < 0)
        leat_error_locate(err, file, line, 0);
    if (r < 0 || *n_good > 0)
        return r;
    if (fault.code) {
        r = leat_error_set(err, -EBADMSG,
                           "%s, and no earlier line is valid, so leat cannot find the fields: "
                           "correct this line, or declare `fields`",
                           fault.message);
        leat_error_locate(err, file, fault_line, fault.column);
        return r;
    }
    return leat_error_set(err, -EBADMSG,
                          "%s: the file is empty, so leat cannot find the fields: declare "
                          "`fields`, or use a file with at least one record",
                          file);
}

/* Infers fields from the complete records in the head. It waits for as many of a FIFO as it reads
 * of a file. */
static int infer(struct jsonl *self, const uint8_t *head, size_t n_bytes, bool is_whole,
                 const char *file, struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    size_t bom = leat_source_bom(head, n_bytes);
    bool may_grow = !is_whole && n_bytes < INFER_BYTES;
    uint32_t n_good = 0;
    int r;

    while (!is_whole && n_bytes > bom && head[n_bytes - 1] != '\n')
        n_bytes--;
    if (!is_whole && n_bytes <= bom)
        return -EAGAIN;
    r = infer_records(self, head + bom, n_bytes - bom, file, &n_good, &fault);
    if (may_grow && n_good < INFER_RECORDS && r != -ENOMEM) {
        leat_jsonl_fields_deinit(&self->fields);
        self->fields = (struct leat_jsonl_fields){.n_fields = 0};
        return -EAGAIN;
    }
    if (r < 0)
        *err = fault;
    return r;
}

static int tell_left_out(struct leat_planner *planner, const struct leat_jsonl_field *field) {
    char why[LEAT_PLANNER_WHY_MAX];

    (void)snprintf(why, sizeof(why),
                   "it contains lists of %s, which leat leaves out: declare this field as json to "
                   "read it as text",
                   field->has_texts ? "texts" : "objects or lists");
    return leat_planner_add_unread(planner, field->name, why);
}

static int declare(struct jsonl *self, struct leat_planner *planner, struct leat_error *err) {
    const struct leat_config *config = &self->source.base;
    struct leat_jsonl_fields *fields = &self->fields;

    for (uint32_t i = 0; i < fields->n_fields; i++) {
        struct leat_jsonl_field *field = &fields->fields[i];
        struct leat_field *planned;
        bool is_text;
        int r;
        if (field->is_left_out && tell_left_out(planner, field) < 0)
            return leat_error_oom(err);
        if (field->is_unusable)
            continue;
        if (field->dtype == LEAT_DTYPE_NONE)
            field->dtype = field->is_list ? LEAT_DTYPE_INT64 : LEAT_DTYPE_TEXT;
        for (uint32_t k = 0; k < i && strchr(field->name, '.'); k++)
            if (!fields->fields[k].is_unusable && strcmp(fields->fields[k].name, field->name) == 0)
                return leat_config_error(
                    config, "fields", err,
                    "two fields have the name \"%s\": one is a key with a dot, the other a key of "
                    "an inner object: in `fields`, declare the fields that you want",
                    field->name);
        is_text = field->dtype == LEAT_DTYPE_TEXT;
        r = leat_planner_add(planner, config, "fields", field->name, field->dtype,
                             is_text || field->is_list, &field->column, &planned, err);
        if (r < 0)
            return r;
        leat_jsonl_field_bound(field, planned);
    }
    return leat_jsonl_fields_set_missing(fields, config, "missing", &self->missing, err);
}

static int probe(struct leat_config *config, const uint8_t *head, size_t n_bytes, bool is_whole,
                 const char *file, struct leat_planner *planner, struct leat_error *err) {
    struct jsonl *self = (struct jsonl *)config;
    int r = 0;

    if (self->declared.n_items == 0)
        r = infer(self, head, n_bytes, is_whole, file, err);
    return r < 0 ? r : declare(self, planner, err);
}

/* Keeps only the records that added to what was known of the fields. */
static int shorten_head(const struct leat_config *config, uint8_t *head, size_t *n_bytes,
                        bool is_whole, struct leat_error *err) {
    const struct jsonl *self = (const struct jsonl *)config;
    struct jsonl known = {.fields = {.n_fields = 0}};
    size_t start = leat_source_bom(head, *n_bytes), n_left = 0;
    struct leat_json *json = NULL;
    uint32_t n_good = 0;
    int r = leat_json_new(0, &json) < 0 ? leat_error_oom(err) : 0;

    while (r == 0 && self->declared.n_items == 0 && start < *n_bytes && n_good < INFER_RECORDS) {
        size_t n_known = leat_jsonl_fields_n_known(&known.fields);
        size_t n, next = cut_line(head, start, *n_bytes, &n);
        struct leat_error fault = LEAT_ERROR_INIT;

        if (next > *n_bytes && !is_whole)
            break;
        if (n > 0)
            r = infer_record(&known, json, head + start, n, &n_good, &fault, err);
        if (r == 0 && leat_jsonl_fields_n_known(&known.fields) > n_known) {
            next = next < *n_bytes ? next : *n_bytes;
            memmove(head + n_left, head + start, next - start);
            n_left += next - start;
        }
        start = next;
    }
    leat_json_free(json);
    leat_jsonl_fields_deinit(&known.fields);
    *n_bytes = n_left;
    return r;
}

/* ---- records ---- */

/* A buffer that columns with the same lifetime share; views count from its start. */
struct buffer {
    uint8_t *data;
    size_t n_bytes;
};

/* One job. Buffers are indexed by is_kept: kept ones outlive the job. */
struct rows {
    const struct jsonl *self;
    struct leat_map *map;
    struct leat_json *json;
    struct leat_jsonl_values values;
    struct buffer texts[2], lists[2];
    uint32_t *fallback_starts;        /* [n_fields]: of text fallbacks in texts[] */
    struct leat_source_record record; /* as it was parsed */
    struct leat_json_node root;
    bool knows_block_zeros, has_minus_zero; /* the block may have a negative zero */
    bool knows_zeros;                       /* of the record */
    bool mends;                             /* the block is not UTF-8, and is mended */
};

static bool is_wanted(const struct rows *rows, const struct leat_jsonl_field *field) {
    return !field->is_unusable && rows->map->is_needed[field->column];
}

static bool is_text(const struct leat_jsonl_field *field) {
    return field->dtype == LEAT_DTYPE_TEXT;
}

/* The number of copies of a byte of the source. Strings do not overlap, but a stream may want the
 * JSON of an object and of its members. */
static size_t n_copies(const struct rows *rows) {
    size_t n = 1;

    for (uint32_t i = 0; i < rows->self->fields.n_fields && n < LEAT_JSONL_PATH_MAX; i++)
        n += rows->self->fields.fields[i].is_json;
    return n;
}

/* Sizes the buffers: texts by the bytes of the source, lists by its commas. */
static void measure(const struct rows *rows, size_t text_bytes[2], size_t list_bytes[2]) {
    const struct leat_block *block = rows->map->block;
    size_t n_source = block->n_source_bytes * (rows->mends ? LEAT_SOURCE_MENDED_MAX : 1);
    size_t n_lists[2] = {0, 0}, element_bytes[2] = {0, 0}, n_commas = 0;
    size_t n_text_bytes = n_copies(rows) * n_source;

    for (uint32_t i = 0; i < rows->self->fields.n_fields; i++) {
        const struct leat_jsonl_field *field = &rows->self->fields.fields[i];
        size_t size = leat_dtype_size(field->dtype);
        bool is_kept;
        if (!is_wanted(rows, field))
            continue;
        is_kept = rows->map->is_kept[field->column];
        if (is_text(field)) {
            text_bytes[is_kept] = text_bytes[is_kept] ? text_bytes[is_kept] : n_text_bytes;
            text_bytes[is_kept] += field->fallback ? strlen(field->fallback) : 0;
        } else if (field->is_list) {
            n_lists[is_kept]++;
            if (size > element_bytes[is_kept])
                element_bytes[is_kept] = size;
        }
    }
    if (n_lists[0] + n_lists[1] > 0)
        for (size_t i = 0; i < block->n_source_bytes; i++)
            n_commas += block->source[i] == ',';
    for (int i = 0; i < 2; i++) /* one more for each array, for its alignment */
        list_bytes[i] =
            n_lists[i] ? (n_commas + 2 * block->n_rows * n_lists[i]) * element_bytes[i] : 0;
}

static int make_buffers(struct rows *rows, struct leat_error *err) {
    size_t text_bytes[2] = {0, 0}, list_bytes[2] = {0, 0};

    measure(rows, text_bytes, list_bytes);
    for (int i = 0; i < 2; i++) {
        struct leat_arena *arena = i ? &rows->map->block->kept : rows->map->scratch;
        if (text_bytes[i] > UINT32_MAX)
            return leat_error_set(
                err, -EOVERFLOW,
                "the texts of one block may need %zu bytes, which is too much: lower block_bytes",
                text_bytes[i]);
        rows->texts[i].data = leat_arena_alloc(arena, text_bytes[i]);
        rows->lists[i].data = leat_arena_alloc(arena, list_bytes[i]);
        if (!rows->texts[i].data || !rows->lists[i].data)
            return leat_error_oom(err);
    }
    return 0;
}

static void put_fallback(struct rows *rows, uint32_t i, struct buffer *texts) {
    const char *fallback = rows->self->fields.fields[i].fallback;
    size_t n = fallback ? strlen(fallback) : 0;

    rows->fallback_starts[i] = (uint32_t)texts->n_bytes;
    if (n > 0)
        memcpy(texts->data + texts->n_bytes, fallback, n);
    texts->n_bytes += n;
}

static int make_columns(struct rows *rows) {
    for (uint32_t i = 0; i < rows->self->fields.n_fields; i++) {
        const struct leat_jsonl_field *field = &rows->self->fields.fields[i];
        struct leat_column *column;
        int r, is_kept;
        if (!is_wanted(rows, field))
            continue;
        is_kept = rows->map->is_kept[field->column];
        column = leat_map_column(rows->map, field->column);
        if (is_text(field) || field->is_list)
            r = leat_map_make_views(rows->map, field->column);
        else
            r = leat_map_make_scalar(rows->map, field->column, leat_dtype_size(field->dtype));
        if (r < 0)
            return r;
        if (is_text(field)) {
            column->values = rows->texts[is_kept].data;
            put_fallback(rows, i, &rows->texts[is_kept]);
        } else if (field->is_list) {
            column->values = rows->lists[is_kept].data;
        }
    }
    return 0;
}

static const char *type_name(const struct leat_jsonl_field *field, char *buffer, size_t size) {
    (void)snprintf(buffer, size, "%s%s", leat_dtype_name(field->dtype), field->is_list ? "[]" : "");
    return buffer;
}

/* Rejects the row if the value is malformed in itself. False: it is not. */
static bool reject_odd(struct rows *rows, uint32_t row, uint32_t i) {
    const struct leat_jsonl_field *field = &rows->self->fields.fields[i];
    struct leat_range range =
        leat_jsonl_values_locate(&rows->values, rows->root, rows->record.bytes, i);
    const uint8_t *value = rows->record.bytes + range.start;
    struct leat_json_fault fault;
    uint32_t column, n;

    if (!leat_json_locate(value, range.end - range.start, &fault))
        return false;
    column = range.start + fault.column;
    value += fault.column - 1;
    for (n = 0; strchr("+-.eE0123456789", value[n]) && value[n]; n++)
        ;
    if (n > 0)
        leat_map_reject_value(rows->map, row, field->name, column, "%.*s%s does not fit in %s",
                              n > 40 ? 37 : (int)n, (const char *)value, n > 40 ? "..." : "",
                              leat_dtype_name(field->dtype));
    else
        leat_map_reject_value(rows->map, row, field->name, column,
                              "%s: to read U+FFFD instead, set `invalid_utf8: replace`",
                              fault.message);
    return true;
}

/* r: the result of leat_json_scalar_store(). */
static void reject_value(struct rows *rows, uint32_t row, uint32_t i, struct leat_json_node node,
                         int r) {
    const struct leat_jsonl_field *field = &rows->self->fields.fields[i];
    enum leat_json_kind kind = leat_json_kind(node);
    char type[32];

    if ((kind == LEAT_JSON_DOUBLE && r == -ERANGE && reject_odd(rows, row, i)) ||
        (kind == LEAT_JSON_HALF_STRING && is_text(field) && reject_odd(rows, row, i)))
        return;
    if (r != -ERANGE)
        leat_map_reject(rows->map, row, field->name, "the value is %s, not %s",
                        leat_json_kind_name(kind), type_name(field, type, sizeof(type)));
    else if (kind == LEAT_JSON_INT)
        leat_map_reject(rows->map, row, field->name, "%" PRId64 " does not fit in %s",
                        leat_json_int(node), leat_dtype_name(field->dtype));
    else if (kind == LEAT_JSON_UINT)
        leat_map_reject(rows->map, row, field->name, "%" PRIu64 " does not fit in %s",
                        leat_json_uint(node), leat_dtype_name(field->dtype));
    else
        leat_map_reject(rows->map, row, field->name, "%.17g does not fit in %s",
                        leat_json_double(node), leat_dtype_name(field->dtype));
}

/* An integer zero becomes a float: looks for negative zeros in the block, then in the record. */
static void look_for_minus(struct rows *rows) {
    const struct leat_block *block = rows->map->block;
    const struct leat_source_record *record = &rows->record;

    if (!rows->knows_block_zeros)
        rows->has_minus_zero = leat_json_may_have_minus_zero(block->source, block->n_source_bytes);
    rows->knows_block_zeros = true;
    if (rows->has_minus_zero && !rows->knows_zeros &&
        leat_json_may_have_minus_zero(record->bytes, record->n_bytes) &&
        leat_json_mark_zeros(rows->json, record->bytes, record->n_bytes) < 0)
        rows->map->is_out_of_memory = true;
    rows->knows_zeros = true;
}

static int store_scalar(struct rows *rows, void *values, enum leat_dtype dtype, size_t index,
                        struct leat_json_node node) {
    int r = leat_json_scalar_store(values, dtype, index, node);

    if (r != LEAT_JSON_SCALAR_ZERO)
        return r;
    look_for_minus(rows);
    leat_json_scalar_sign(values, dtype, index, node);
    return 0;
}

/* Appends the items of an array to the buffer. If one does not fit, it rejects the row and appends
 * none. */
static void store_list(struct rows *rows, uint32_t row, uint32_t i, struct leat_json_node array) {
    const struct leat_jsonl_field *field = &rows->self->fields.fields[i];
    struct buffer *lists = &rows->lists[rows->map->is_kept[field->column]];
    struct leat_column *column = leat_map_column(rows->map, field->column);
    size_t size = leat_dtype_size(field->dtype);
    size_t start = (lists->n_bytes + size - 1) / size, n = 0;
    struct leat_json_iterator iterator;
    struct leat_json_node item;

    leat_json_iterate(array, &iterator);
    while (leat_json_next(&iterator, &item)) {
        int r = store_scalar(rows, lists->data, field->dtype, start + n, item);
        if (r == -ERANGE) {
            reject_value(rows, row, i, item, r);
            return;
        }
        if (r < 0) {
            leat_map_reject(rows->map, row, field->name, "item %zu is %s, but the field is %s[]", n,
                            leat_json_kind_name(leat_json_kind(item)),
                            leat_dtype_name(field->dtype));
            return;
        }
        n++;
    }
    column->starts[row] = (uint32_t)start;
    column->lengths[row] = (uint32_t)n;
    lists->n_bytes = (start + n) * size;
}

static void store_text(struct rows *rows, uint32_t row, const struct leat_jsonl_field *field,
                       const void *text, size_t n) {
    struct buffer *texts = &rows->texts[rows->map->is_kept[field->column]];
    struct leat_column *column = leat_map_column(rows->map, field->column);

    memcpy(texts->data + texts->n_bytes, text, n);
    column->starts[row] = (uint32_t)texts->n_bytes;
    column->lengths[row] = (uint32_t)n;
    texts->n_bytes += n;
}

static void store_string(struct rows *rows, uint32_t row, const struct leat_jsonl_field *field,
                         struct leat_json_node node) {
    size_t n;
    const char *text = leat_json_string(node, &n);

    store_text(rows, row, field, text, n);
}

/* Copies the value as it is in the record. */
static void store_json(struct rows *rows, uint32_t row, uint32_t i) {
    struct buffer *texts = &rows->texts[rows->map->is_kept[rows->self->fields.fields[i].column]];
    struct leat_range range = rows->values.ranges[i];
    size_t start = texts->n_bytes;

    store_text(rows, row, &rows->self->fields.fields[i], rows->record.bytes + range.start,
               range.end - range.start);
    if (rows->self->source.invalid_utf8 == LEAT_INVALID_UTF8_REPLACE &&
        leat_json_is_odd(rows->json))
        leat_json_mend_pairs(texts->data + start, texts->n_bytes - start);
}

static void store_missing(struct rows *rows, uint32_t row, uint32_t i) {
    const struct leat_jsonl_field *field = &rows->self->fields.fields[i];
    struct leat_column *column = leat_map_column(rows->map, field->column);
    size_t size = leat_dtype_size(field->dtype);

    if (is_text(field)) {
        column->starts[row] = rows->fallback_starts[i];
        column->lengths[row] = field->fallback ? (uint32_t)strlen(field->fallback) : 0;
    } else if (!field->is_list && field->fallback) {
        (void)leat_jsonl_field_fallback(field, (uint8_t *)column->values + row * size);
    } else if (!field->is_list) {
        leat_jsonl_field_reject_missing(field, rows->map, row);
    }
}

static void store_value(struct rows *rows, uint32_t row, uint32_t i) {
    const struct leat_jsonl_field *field = &rows->self->fields.fields[i];
    const struct leat_json_node *value = leat_jsonl_values_get(&rows->values, i);
    enum leat_json_kind kind;
    int r;

    if (!value) {
        store_missing(rows, row, i);
        return;
    }
    kind = leat_json_kind(*value);
    if (kind == LEAT_JSON_HALF_STRING &&
        rows->self->source.invalid_utf8 == LEAT_INVALID_UTF8_REPLACE)
        kind = LEAT_JSON_STRING;
    if (field->is_json) {
        store_json(rows, row, i);
    } else if (field->is_list && kind == LEAT_JSON_ARRAY) {
        store_list(rows, row, i, *value);
    } else if (is_text(field) && kind == LEAT_JSON_STRING) {
        store_string(rows, row, field, *value);
    } else if (is_text(field) || field->is_list) {
        reject_value(rows, row, i, *value, -EINVAL);
    } else {
        void *values = leat_map_column(rows->map, field->column)->values;
        r = store_scalar(rows, values, field->dtype, row, *value);
        if (r < 0)
            reject_value(rows, row, i, *value, r);
    }
}

static void clear_row(struct rows *rows, uint32_t row) {
    for (uint32_t i = 0; i < rows->self->fields.n_fields; i++) {
        const struct leat_jsonl_field *field = &rows->self->fields.fields[i];
        struct leat_column *column;
        size_t size = leat_dtype_size(field->dtype);
        if (!is_wanted(rows, field))
            continue;
        column = leat_map_column(rows->map, field->column);
        if (column->starts)
            column->starts[row] = column->lengths[row] = 0;
        else
            memset((uint8_t *)column->values + row * size, 0, size);
    }
}

static int reject_malformed(struct rows *rows, uint32_t row, int r, const struct leat_error *fault,
                            struct leat_error *err) {
    if (r == -ENOMEM)
        return leat_error_oom(err);
    leat_map_reject_at(rows->map, row, 0, fault->column, "the record is not valid JSON: %s",
                       fault->message);
    return 0;
}

/* Counts the members of all objects within the node, until there are more than `limit`. */
static uint64_t count_members(struct leat_json_node node, uint64_t limit) {
    enum leat_json_kind kind = leat_json_kind(node);
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    bool is_object = kind == LEAT_JSON_OBJECT;
    uint64_t n = is_object ? leat_json_n_items(node) : 0;
    const char *key;
    size_t n_key;

    if (!is_object && kind != LEAT_JSON_ARRAY)
        return 0;
    leat_json_iterate(node, &iterator);
    while (n <= limit && (is_object ? leat_json_next_member(&iterator, &key, &n_key, &item)
                                    : leat_json_next(&iterator, &item)))
        n += count_members(item, limit - n);
    return n;
}

static int parse_row(struct rows *rows, uint32_t row, struct leat_error *err) {
    struct leat_source_record record = leat_source_record(rows->map, row);
    struct leat_error fault = LEAT_ERROR_INIT;
    int r = 0;

    clear_row(rows, row);
    if (leat_source_reject_malformed(rows->map, row, &record))
        return 0;
    if (rows->mends && leat_source_mend(&rows->self->source, rows->map, row, &record) < 0)
        return leat_error_oom(err);
    r = leat_json_parse_record(rows->json, record.bytes, record.n_bytes, record.n_readable,
                               &rows->root, &fault);
    if (r < 0)
        return reject_malformed(rows, row, r, &fault, err);
    if (leat_json_kind(rows->root) != LEAT_JSON_OBJECT) {
        leat_map_reject_at(rows->map, row, 0, 1, "the record is %s, not an object",
                           leat_json_kind_name(leat_json_kind(rows->root)));
        return 0;
    }
    if (rows->map->max_fields &&
        count_members(rows->root, rows->map->max_fields) > rows->map->max_fields) {
        leat_map_reject_at(rows->map, row, 0, 0,
                           "the record has more members than max_fields (%llu)",
                           (unsigned long long)rows->map->max_fields);
        return 0;
    }
    rows->record = record;
    rows->knows_zeros = false;
    leat_jsonl_values_find(&rows->values, rows->root, record.bytes);
    for (uint32_t i = 0; i < rows->self->fields.n_fields && !rows->map->is_dropped[row]; i++)
        if (is_wanted(rows, &rows->self->fields.fields[i]))
            store_value(rows, row, i);
    return 0;
}

static size_t longest_record(const struct leat_block *block) {
    size_t longest = 0;

    for (uint32_t i = 0; i < block->n_records; i++)
        if (block->record_ends[i] - block->record_starts[i] > longest)
            longest = block->record_ends[i] - block->record_starts[i];
    return longest;
}

static int parse(const struct leat_config *config, struct leat_map *map, struct leat_error *err) {
    const struct jsonl *self = (const struct jsonl *)config;
    struct rows rows = {.self = self, .map = map};
    int r;

    rows.mends =
        self->source.invalid_utf8 == LEAT_INVALID_UTF8_REPLACE && !leat_source_is_utf8(map);

    rows.fallback_starts = leat_arena_alloc(map->scratch, self->fields.n_fields * sizeof(uint32_t));
    if (!rows.fallback_starts ||
        leat_jsonl_values_init(&rows.values, &self->fields, map->scratch) < 0)
        return leat_error_oom(err);
    r = make_buffers(&rows, err);
    if (r < 0)
        return r;
    if (make_columns(&rows) < 0 || leat_json_new(longest_record(map->block), &rows.json) < 0)
        return leat_error_oom(err);
    for (uint32_t row = 0; row < map->block->n_rows && r == 0; row++)
        r = parse_row(&rows, row, err);
    leat_jsonl_fields_check_lengths(&self->fields, map);
    leat_json_free(rows.json);
    return r;
}

const struct leat_stage_ops leat_source_jsonl = {
    LEAT_STAGE_BASE("jsonl", jsonl, SOURCE),
    .summary = "reads JSON Lines files: one object per line",
    .example = "{ paths: [train-*.jsonl], fields: { text: text, label: int64 } }",
    .suffixes = (const struct leat_source_suffix[]){{.text = ".jsonl"},
                                                    {.text = ".ndjson"},
                                                    {.text = NULL}},
    .check = check,
    .load = leat_source_load,
    .unload = unload,
    .probe = probe,
    .shorten_head = shorten_head,
    .cutter = cutter,
    .begin_file = leat_source_begin_file,
    .parse = parse,
};
