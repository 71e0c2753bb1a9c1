/* schema.c: see schema.h. Field numbers are those of Schema.fbs. */
#include "pipeline/sources/arrow/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/sources/arrow/json_string.h"
#include "proto/base/array.h"

#define VERSION_V5 4

enum { SCHEMA_ENDIANNESS = 0, SCHEMA_FIELDS = 1 };
enum {
    FIELD_NAME = 0,
    FIELD_TYPE_TYPE = 2,
    FIELD_TYPE = 3,
    FIELD_DICTIONARY = 4,
    FIELD_CHILDREN = 5,
};
enum { DICTIONARY_ID = 0, DICTIONARY_INDEX = 1, DICTIONARY_KIND = 3 };
enum { INT_WIDTH = 0, INT_SIGNED = 1, FLOAT_PRECISION = 0, LIST_SIZE = 0, UNION_MODE = 0 };

/* The union Type. */
enum {
    TYPE_NULL = 1,
    TYPE_INT = 2,
    TYPE_FLOAT = 3,
    TYPE_UTF8 = 5,
    TYPE_BOOL = 6,
    TYPE_LIST = 12,
    TYPE_STRUCT = 13,
    TYPE_UNION = 14,
    TYPE_FIXED_LIST = 16,
    TYPE_MAP = 17,
    TYPE_LARGE_UTF8 = 20,
    TYPE_LARGE_LIST = 21,
    N_TYPES = 27,
};

/* The buffers of each type in a batch ("Buffer Listing for Each Layout"). */
static const struct type {
    const char *name;
    enum leat_arrow_kind kind;
    uint8_t n_buffers, offset_bytes;
    uint8_t n_children; /* that it must have; 9: any number */
    bool has_views;
} types[N_TYPES] = {
    [1] = {"null", LEAT_ARROW_NULL, 0, 0, 0, false},
    [2] = {"int", LEAT_ARROW_NUMBER, 2, 0, 0, false},
    [3] = {"float", LEAT_ARROW_NUMBER, 2, 0, 0, false},
    [4] = {"binary", LEAT_ARROW_OTHER, 3, 0, 0, false},
    [5] = {"utf8", LEAT_ARROW_TEXT, 3, 4, 0, false},
    [6] = {"bool", LEAT_ARROW_BOOL, 2, 0, 0, false},
    [7] = {"decimal", LEAT_ARROW_OTHER, 2, 0, 0, false},
    [8] = {"date", LEAT_ARROW_OTHER, 2, 0, 0, false},
    [9] = {"time", LEAT_ARROW_OTHER, 2, 0, 0, false},
    [10] = {"timestamp", LEAT_ARROW_OTHER, 2, 0, 0, false},
    [11] = {"interval", LEAT_ARROW_OTHER, 2, 0, 0, false},
    [12] = {"list", LEAT_ARROW_LIST, 2, 4, 1, false},
    [13] = {"struct", LEAT_ARROW_STRUCT, 1, 0, 9, false},
    [14] = {"union", LEAT_ARROW_OTHER, 0, 0, 9, false},
    [15] = {"fixed_size_binary", LEAT_ARROW_OTHER, 2, 0, 0, false},
    [16] = {"fixed_size_list", LEAT_ARROW_FIXED_LIST, 1, 0, 1, false},
    [17] = {"map", LEAT_ARROW_LIST, 2, 4, 1, false},
    [18] = {"duration", LEAT_ARROW_OTHER, 2, 0, 0, false},
    [19] = {"large_binary", LEAT_ARROW_OTHER, 3, 0, 0, false},
    [20] = {"large_utf8", LEAT_ARROW_TEXT, 3, 8, 0, false},
    [21] = {"large_list", LEAT_ARROW_LIST, 2, 8, 1, false},
    [22] = {"run_end_encoded", LEAT_ARROW_OTHER, 0, 0, 2, false},
    [23] = {"binary_view", LEAT_ARROW_OTHER, 2, 0, 0, true},
    [24] = {"utf8_view", LEAT_ARROW_OTHER, 2, 0, 0, true},
    [25] = {"list_view", LEAT_ARROW_OTHER, 3, 0, 1, false},
    [26] = {"large_list_view", LEAT_ARROW_OTHER, 3, 0, 1, false},
};

static const struct number {
    const char *name;
    enum leat_dtype dtype;
} numbers[LEAT_ARROW_N_NUMBERS] = {
    [LEAT_ARROW_INT8] = {"int8", LEAT_DTYPE_INT32},
    [LEAT_ARROW_UINT8] = {"uint8", LEAT_DTYPE_UINT8},
    [LEAT_ARROW_INT16] = {"int16", LEAT_DTYPE_INT32},
    [LEAT_ARROW_UINT16] = {"uint16", LEAT_DTYPE_UINT16},
    [LEAT_ARROW_INT32] = {"int32", LEAT_DTYPE_INT32},
    [LEAT_ARROW_UINT32] = {"uint32", LEAT_DTYPE_INT64},
    [LEAT_ARROW_INT64] = {"int64", LEAT_DTYPE_INT64},
    [LEAT_ARROW_UINT64] = {"uint64", LEAT_DTYPE_INT64},
    [LEAT_ARROW_FLOAT16] = {"float16", LEAT_DTYPE_FLOAT16},
    [LEAT_ARROW_FLOAT32] = {"float32", LEAT_DTYPE_FLOAT32},
    [LEAT_ARROW_FLOAT64] = {"float64", LEAT_DTYPE_FLOAT64},
    [LEAT_ARROW_TRUTH] = {"bool", LEAT_DTYPE_BOOL},
};

const char *leat_arrow_number_name(enum leat_arrow_number number) {
    return numbers[number].name;
}

enum leat_dtype leat_arrow_number_dtype(enum leat_arrow_number number) {
    return numbers[number].dtype;
}

static bool int_of(const struct leat_flat_table *type, enum leat_arrow_number *ret_number) {
    uint64_t width = leat_flat_uint(type, INT_WIDTH, 4, 0);
    bool is_signed = leat_flat_uint(type, INT_SIGNED, 1, 0) & 1;

    if (width != 8 && width != 16 && width != 32 && width != 64)
        return false;
    *ret_number = (width == 8    ? LEAT_ARROW_INT8
                   : width == 16 ? LEAT_ARROW_INT16
                   : width == 32 ? LEAT_ARROW_INT32
                                 : LEAT_ARROW_INT64) +
                  (is_signed ? 0 : 1);
    return true;
}

/* ---- fields ---- */

struct parsing {
    struct leat_arrow_schema *schema;
    int version;
    struct leat_error *err;
};

static int fault(const struct parsing *parsing, const char *message) {
    return leat_error_set(parsing->err, -EBADMSG, "the schema is damaged: %s", message);
}

static int set_name(const struct parsing *parsing, const struct leat_flat_table *table,
                    struct leat_arrow_field *field) {
    struct leat_arrow_schema *schema = parsing->schema;
    const char *name;
    uint32_t n;

    (void)leat_flat_text(table, FIELD_NAME, &name, &n);
    if (memchr(name, '\0', n))
        return fault(parsing, "the name of a field has a NUL byte");
    if (table->buffer->n_bytes - schema->n_name_bytes <= n) /* names may overlap in the buffer */
        return fault(parsing, "names have more bytes than the schema");
    field->name = memcpy(schema->names + schema->n_name_bytes, name, n);
    schema->n_name_bytes += n;
    schema->names[schema->n_name_bytes++] = '\0';
    return 0;
}

static int set_dictionary(const struct parsing *parsing, const struct leat_flat_table *table,
                          struct leat_arrow_field *field) {
    struct leat_flat_table encoding, index;

    if (!leat_flat_child(table, FIELD_DICTIONARY, &encoding))
        return 0;
    field->has_dictionary = true;
    field->dictionary = leat_flat_int(&encoding, DICTIONARY_ID, 8, 0);
    field->index = LEAT_ARROW_INT32;
    if (leat_flat_child(&encoding, DICTIONARY_INDEX, &index) && !int_of(&index, &field->index))
        return fault(parsing, "the indices of a dictionary are not integers");
    return 0;
}

static int set_number(const struct parsing *parsing, uint64_t code,
                      const struct leat_flat_table *type, struct leat_arrow_field *field) {
    static const enum leat_arrow_number floats[] = {LEAT_ARROW_FLOAT16, LEAT_ARROW_FLOAT32,
                                                    LEAT_ARROW_FLOAT64};
    uint64_t precision;

    if (code == TYPE_INT && !int_of(type, &field->number))
        return fault(parsing, "an integer has neither 8, 16, 32 nor 64 bits");
    if (code == TYPE_FLOAT) {
        precision = leat_flat_uint(type, FLOAT_PRECISION, 2, 0);
        if (precision >= sizeof(floats) / sizeof(*floats))
            return fault(parsing, "a float has an unknown precision");
        field->number = floats[precision];
    }
    field->type = numbers[field->number].name;
    return 0;
}

static int set_type(const struct parsing *parsing, const struct leat_flat_table *table,
                    struct leat_arrow_field *field) {
    uint64_t code = leat_flat_uint(table, FIELD_TYPE_TYPE, 1, 0);
    struct leat_flat_table type;

    if (code == 0 || code >= N_TYPES)
        return leat_error_set(parsing->err, -EINVAL,
                              "field \"%.64s\" has a type (%llu) that leat does not know, so leat "
                              "cannot find the fields after it",
                              field->name, (unsigned long long)code);
    (void)leat_flat_child(table, FIELD_TYPE, &type);
    field->kind = types[code].kind;
    field->type = types[code].name;
    field->n_buffers = types[code].n_buffers;
    field->offset_bytes = types[code].offset_bytes;
    field->has_views = types[code].has_views;
    if (code == TYPE_UNION)
        field->n_buffers = (uint8_t)(1 + (leat_flat_uint(&type, UNION_MODE, 2, 0) == 1) +
                                     (parsing->version < VERSION_V5));
    if (code == TYPE_FIXED_LIST) {
        int64_t n_items = leat_flat_int(&type, LIST_SIZE, 4, 0);
        if (n_items < 0)
            return fault(parsing, "a list has a negative length");
        field->n_items = (uint64_t)n_items;
    }
    if (types[code].n_children != 9 && field->n_children != types[code].n_children)
        return fault(parsing, "a type has the wrong number of children");
    return field->kind == LEAT_ARROW_NUMBER ? set_number(parsing, code, &type, field) : 0;
}

static int add_fields(const struct parsing *parsing, const struct leat_flat_vector *vector,
                      uint32_t depth);

static int add_field(const struct parsing *parsing, const struct leat_flat_table *table,
                     uint32_t depth) {
    struct leat_arrow_schema *schema = parsing->schema;
    uint32_t index = schema->n_fields;
    struct leat_flat_vector children;
    struct leat_arrow_field *field;
    int r;

    if (index == LEAT_ARROW_FIELDS_MAX || depth == LEAT_ARROW_DEPTH_MAX)
        return leat_error_set(parsing->err, -EINVAL,
                              "the schema has more than %d fields, or nests them more than %d deep",
                              LEAT_ARROW_FIELDS_MAX, LEAT_ARROW_DEPTH_MAX);
    if (!leat_array_reserve(&schema->fields, index + 1, &schema->capacity))
        return leat_error_oom(parsing->err);
    field = &schema->fields[schema->n_fields++];
    *field = (struct leat_arrow_field){.kind = LEAT_ARROW_OTHER};
    (void)leat_flat_vector(table, FIELD_CHILDREN, sizeof(uint32_t), &children);
    field->n_children = children.n_items;
    r = set_name(parsing, table, field);
    if (r == 0)
        r = set_type(parsing, table, field);
    if (r == 0)
        r = set_dictionary(parsing, table, field);
    if (r == 0)
        r = add_fields(parsing, &children, depth + 1);
    schema->fields[index].n_fields = schema->n_fields - index;
    return r;
}

static int add_fields(const struct parsing *parsing, const struct leat_flat_vector *vector,
                      uint32_t depth) {
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < vector->n_items; i++) {
        struct leat_flat_table table;

        r = leat_flat_item(vector, i, &table)
                ? add_field(parsing, &table, depth)
                : fault(parsing, "a part that Arrow requires is missing");
    }
    return r;
}

int leat_arrow_schema_set_keys(struct leat_arrow_schema *schema, struct leat_error *err) {
    struct leat_text keys = {.data = NULL};
    size_t at = 0;

    for (uint32_t i = 0; i < schema->n_fields; i++) {
        struct leat_arrow_field *field = &schema->fields[i];
        size_t start = keys.n_bytes;

        leat_arrow_json_string(&keys, (const uint8_t *)field->name, strlen(field->name), SIZE_MAX);
        leat_text_add_bytes(&keys, ":", 1);
        field->n_key = keys.n_bytes - start;
    }
    schema->keys = keys.data;
    for (uint32_t i = 0; i < schema->n_fields && !keys.failed; at += schema->fields[i++].n_key)
        schema->fields[i].key = keys.data + at;
    return keys.failed ? leat_error_oom(err) : 0;
}

int leat_arrow_schema_parse(const struct leat_flat_table *message, int version,
                            struct leat_arrow_schema *ret_schema, struct leat_error *err) {
    struct parsing parsing = {.schema = ret_schema, .version = version, .err = err};
    struct leat_flat_vector fields;
    int r;

    *ret_schema = (struct leat_arrow_schema){.names = malloc(message->buffer->n_bytes)};
    if (!ret_schema->names || !leat_array_reserve(&ret_schema->fields, 1, &ret_schema->capacity)) {
        leat_arrow_schema_deinit(ret_schema);
        return leat_error_oom(err);
    }
    if (leat_flat_uint(message, SCHEMA_ENDIANNESS, 2, 0) != 0)
        r = leat_error_set(err, -EINVAL,
                           "its numbers are big-endian, which leat does not read: write the file "
                           "on a little-endian machine");
    else if (leat_flat_vector(message, SCHEMA_FIELDS, sizeof(uint32_t), &fields))
        r = add_fields(&parsing, &fields, 0);
    else
        r = fault(&parsing, "it has no fields");
    if (r == 0 && message->buffer->is_bad)
        r = fault(&parsing, "it refers to bytes beyond its end");
    if (r == 0)
        r = leat_arrow_schema_set_keys(ret_schema, err);
    if (r < 0)
        leat_arrow_schema_deinit(ret_schema);
    return r;
}

void leat_arrow_schema_deinit(struct leat_arrow_schema *schema) {
    free(schema->fields);
    free(schema->names);
    free(schema->keys);
    *schema = (struct leat_arrow_schema){.fields = NULL};
}
