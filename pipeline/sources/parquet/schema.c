/* parquet/schema.c: see parquet/schema.h. Field numbers are those of parquet.thrift. */
#include "pipeline/sources/parquet/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

enum {
    ELEMENT_TYPE = 1,
    ELEMENT_LENGTH = 2,
    ELEMENT_REPETITION = 3,
    ELEMENT_NAME = 4,
    ELEMENT_CHILDREN = 5,
    ELEMENT_CONVERTED = 6,
    ELEMENT_SCALE = 7,
    ELEMENT_PRECISION = 8,
    ELEMENT_LOGICAL = 10,
};
enum { REQUIRED, OPTIONAL, REPEATED };
enum {
    CONVERTED_UTF8 = 0,
    CONVERTED_MAP = 1,
    CONVERTED_MAP_KEY_VALUE = 2,
    CONVERTED_LIST = 3,
    CONVERTED_ENUM = 4,
    CONVERTED_DECIMAL = 5,
    CONVERTED_DATE = 6,
    CONVERTED_TIME_MILLIS = 7,
    CONVERTED_TIME_MICROS = 8,
    CONVERTED_TIMESTAMP_MILLIS = 9,
    CONVERTED_TIMESTAMP_MICROS = 10,
    CONVERTED_UINT_8 = 11,
    CONVERTED_INT_8 = 15,
    CONVERTED_INT_64 = 18,
    CONVERTED_JSON = 19,
    CONVERTED_INTERVAL = 21,
};
enum {
    LOGICAL_STRING = 1,
    LOGICAL_MAP = 2,
    LOGICAL_LIST = 3,
    LOGICAL_ENUM = 4,
    LOGICAL_DECIMAL = 5,
    LOGICAL_DATE = 6,
    LOGICAL_TIME = 7,
    LOGICAL_TIMESTAMP = 8,
    LOGICAL_INTEGER = 10,
    LOGICAL_UNKNOWN = 11,
    LOGICAL_JSON = 12,
    LOGICAL_UUID = 14,
    LOGICAL_FLOAT16 = 15,
};

/* A SchemaElement. What it means is in terms of LogicalType; 0: nothing. */
struct element {
    const uint8_t *name;
    size_t n_name;
    bool has_type;
    int64_t type, length, repetition, n_children;
    int logical;
    int64_t scale, precision, bits;
    bool is_signed, is_utc;
    unsigned digits; /* of a time */
};

/* ---- elements ---- */

static void read_unit(struct leat_thrift *thrift, const struct leat_thrift_field *field,
                      struct element *element) {
    struct leat_thrift_field unit = {0};

    if (!leat_thrift_is_struct(thrift, field))
        return;
    while (leat_thrift_next(thrift, &unit)) {
        element->digits = unit.id >= 1 && unit.id <= 3 ? 3 * (unsigned)unit.id : 0;
        leat_thrift_skip(thrift, &unit);
    }
}

static void read_logical_fields(struct leat_thrift *thrift, struct element *element) {
    struct leat_thrift_field field = {0};
    int kind = element->logical;

    while (leat_thrift_next(thrift, &field)) {
        if (kind == LOGICAL_DECIMAL && field.id == 1)
            element->scale = leat_thrift_int(thrift, &field);
        else if (kind == LOGICAL_DECIMAL && field.id == 2)
            element->precision = leat_thrift_int(thrift, &field);
        else if (kind == LOGICAL_INTEGER && field.id == 1)
            element->bits = leat_thrift_int(thrift, &field);
        else if (kind == LOGICAL_INTEGER && field.id == 2)
            element->is_signed = leat_thrift_bool(thrift, &field);
        else if ((kind == LOGICAL_TIME || kind == LOGICAL_TIMESTAMP) && field.id == 1)
            element->is_utc = leat_thrift_bool(thrift, &field);
        else if ((kind == LOGICAL_TIME || kind == LOGICAL_TIMESTAMP) && field.id == 2)
            read_unit(thrift, &field, element);
        else
            leat_thrift_skip(thrift, &field);
    }
}

static void read_logical(struct leat_thrift *thrift, const struct leat_thrift_field *field,
                         struct element *element) {
    struct leat_thrift_field kind = {0};

    if (!leat_thrift_is_struct(thrift, field))
        return;
    while (leat_thrift_next(thrift, &kind)) {
        element->logical = kind.id;
        if (leat_thrift_is_struct(thrift, &kind))
            read_logical_fields(thrift, element);
    }
}

/* Says in terms of LogicalType what an older ConvertedType means. */
static void convert(struct element *element, int64_t converted) {
    static const uint8_t logicals[] = {
        [CONVERTED_UTF8] = LOGICAL_STRING,
        [CONVERTED_MAP] = LOGICAL_MAP,
        [CONVERTED_MAP_KEY_VALUE] = LOGICAL_MAP,
        [CONVERTED_LIST] = LOGICAL_LIST,
        [CONVERTED_ENUM] = LOGICAL_ENUM,
        [CONVERTED_DECIMAL] = LOGICAL_DECIMAL,
        [CONVERTED_DATE] = LOGICAL_DATE,
        [CONVERTED_TIME_MILLIS] = LOGICAL_TIME,
        [CONVERTED_TIME_MICROS] = LOGICAL_TIME,
        [CONVERTED_TIMESTAMP_MILLIS] = LOGICAL_TIMESTAMP,
        [CONVERTED_TIMESTAMP_MICROS] = LOGICAL_TIMESTAMP,
    };

    if (converted >= CONVERTED_UINT_8 && converted <= CONVERTED_INT_64) {
        element->logical = LOGICAL_INTEGER;
        element->is_signed = converted >= CONVERTED_INT_8;
        element->bits = INT64_C(8) << ((converted - CONVERTED_UINT_8) % 4);
    } else if (converted == CONVERTED_JSON) {
        element->logical = LOGICAL_JSON;
    } else if (converted <= CONVERTED_TIMESTAMP_MICROS) {
        element->logical = logicals[converted];
        element->is_utc = true;
        element->digits =
            converted == CONVERTED_TIME_MILLIS || converted == CONVERTED_TIMESTAMP_MILLIS ? 3 : 6;
    } else {
        element->logical = INT8_MAX; /* an interval, BSON, or one that is not known */
    }
}

static void read_element(struct leat_thrift *thrift, struct element *element) {
    struct leat_thrift_field field = {0};
    int64_t converted = -1;

    *element = (struct element){.repetition = REQUIRED};
    while (leat_thrift_next(thrift, &field)) {
        switch (field.id) {
        case ELEMENT_TYPE:
            element->type = leat_thrift_int(thrift, &field);
            element->has_type = true;
            break;
        case ELEMENT_LENGTH:
            element->length = leat_thrift_int(thrift, &field);
            break;
        case ELEMENT_REPETITION:
            element->repetition = leat_thrift_int(thrift, &field);
            break;
        case ELEMENT_NAME:
            element->name = leat_thrift_binary(thrift, &field, &element->n_name);
            break;
        case ELEMENT_CHILDREN:
            element->n_children = leat_thrift_int(thrift, &field);
            break;
        case ELEMENT_CONVERTED:
            converted = leat_thrift_int(thrift, &field);
            break;
        case ELEMENT_SCALE:
            element->scale = leat_thrift_int(thrift, &field);
            break;
        case ELEMENT_PRECISION:
            element->precision = leat_thrift_int(thrift, &field);
            break;
        case ELEMENT_LOGICAL:
            read_logical(thrift, &field, element);
            break;
        default:
            leat_thrift_skip(thrift, &field);
        }
    }
    if (!element->logical && converted >= 0)
        convert(element, converted);
}

/* ---- leaves ---- */

static bool set_integer(const struct element *element, struct leat_parquet_leaf *leaf,
                        struct leat_arrow_field *field) {
    int64_t bits = element->bits;

    if (leaf->type == LEAT_PARQUET_INT32 && (bits == 8 || bits == 16 || bits == 32))
        field->number = bits == 8    ? LEAT_ARROW_INT8
                        : bits == 16 ? LEAT_ARROW_INT16
                                     : LEAT_ARROW_INT32;
    else if (leaf->type == LEAT_PARQUET_INT64 && bits == 64)
        field->number = LEAT_ARROW_INT64;
    else
        return false;
    field->number += element->is_signed ? 0 : 1;
    return true;
}

static bool set_decimal(const struct element *element, struct leat_parquet_leaf *leaf,
                        struct leat_arrow_field *field) {
    bool is_bytes = leaf->type == LEAT_PARQUET_BYTES || leaf->type == LEAT_PARQUET_FIXED;

    if ((!is_bytes && leaf->type != LEAT_PARQUET_INT32 && leaf->type != LEAT_PARQUET_INT64) ||
        leaf->n_bytes > 32 || element->precision < 1 ||
        element->precision > LEAT_PARQUET_DIGITS_MAX || element->scale < 0 ||
        element->scale > element->precision)
        return false;
    leaf->meaning = LEAT_PARQUET_DECIMAL;
    leaf->digits = (uint32_t)element->scale;
    field->kind = LEAT_ARROW_NUMBER;
    field->number =
        element->scale == 0 && element->precision <= 18 ? LEAT_ARROW_INT64 : LEAT_ARROW_FLOAT64;
    field->type = "decimal";
    return true;
}

static bool set_time(const struct element *element, struct leat_parquet_leaf *leaf,
                     struct leat_arrow_field *field) {
    bool is_small = element->logical == LOGICAL_TIME && element->digits == 3;

    if (element->digits == 0 || leaf->type != (is_small ? LEAT_PARQUET_INT32 : LEAT_PARQUET_INT64))
        return false;
    leaf->meaning = element->logical == LOGICAL_TIME ? LEAT_PARQUET_TIME : LEAT_PARQUET_TIMESTAMP;
    leaf->digits = element->digits;
    leaf->is_utc = element->is_utc && leaf->meaning == LEAT_PARQUET_TIMESTAMP;
    field->kind = LEAT_ARROW_TEXT;
    field->number = LEAT_ARROW_INT64;
    field->type = element->logical == LOGICAL_TIME ? "time" : "timestamp";
    return true;
}

static void set_text(struct leat_parquet_leaf *leaf, struct leat_arrow_field *field,
                     enum leat_parquet_meaning meaning, const char *type) {
    leaf->meaning = meaning;
    field->kind = meaning == LEAT_PARQUET_BINARY ? LEAT_ARROW_OTHER : LEAT_ARROW_TEXT;
    field->type = type;
}

/* Sets what the values mean beyond their physical type. False: nothing, or what does not fit it. */
static bool set_logical(const struct element *element, struct leat_parquet_leaf *leaf,
                        struct leat_arrow_field *field) {
    bool is_bytes = leaf->type == LEAT_PARQUET_BYTES || leaf->type == LEAT_PARQUET_FIXED;

    switch (element->logical) {
    case LOGICAL_STRING:
    case LOGICAL_ENUM:
    case LOGICAL_JSON:
        if (is_bytes)
            set_text(leaf, field, LEAT_PARQUET_TEXT, "utf8");
        return is_bytes;
    case LOGICAL_DECIMAL:
        return set_decimal(element, leaf, field);
    case LOGICAL_DATE:
        if (leaf->type != LEAT_PARQUET_INT32)
            return false;
        set_text(leaf, field, LEAT_PARQUET_DATE, "date");
        return true;
    case LOGICAL_TIME:
    case LOGICAL_TIMESTAMP:
        return set_time(element, leaf, field);
    case LOGICAL_INTEGER:
        return set_integer(element, leaf, field);
    case LOGICAL_UNKNOWN:
        leaf->meaning = LEAT_PARQUET_NULL;
        field->kind = LEAT_ARROW_NULL;
        field->type = "null";
        return true;
    case LOGICAL_UUID:
        if (leaf->n_bytes == 16)
            set_text(leaf, field, LEAT_PARQUET_UUID, "uuid");
        return leaf->n_bytes == 16;
    case LOGICAL_FLOAT16:
        if (leaf->n_bytes != 2)
            return false;
        leaf->meaning = LEAT_PARQUET_NUMBER;
        field->kind = LEAT_ARROW_NUMBER;
        field->number = LEAT_ARROW_FLOAT16;
        return true;
    default:
        return false;
    }
}

static void set_physical(struct leat_parquet_leaf *leaf, struct leat_arrow_field *field) {
    static const enum leat_arrow_number numbers[LEAT_PARQUET_N_TYPES] = {
        [LEAT_PARQUET_BOOLEAN] = LEAT_ARROW_TRUTH, [LEAT_PARQUET_INT32] = LEAT_ARROW_INT32,
        [LEAT_PARQUET_INT64] = LEAT_ARROW_INT64,   [LEAT_PARQUET_INT96] = LEAT_ARROW_INT64,
        [LEAT_PARQUET_FLOAT] = LEAT_ARROW_FLOAT32, [LEAT_PARQUET_DOUBLE] = LEAT_ARROW_FLOAT64,
        [LEAT_PARQUET_BYTES] = LEAT_ARROW_INT8,    [LEAT_PARQUET_FIXED] = LEAT_ARROW_INT8,
    };

    field->number = numbers[leaf->type];
    field->kind = LEAT_ARROW_NUMBER;
    leaf->meaning = LEAT_PARQUET_NUMBER;
    if (leaf->type == LEAT_PARQUET_BOOLEAN) {
        field->kind = LEAT_ARROW_BOOL;
        leaf->meaning = LEAT_PARQUET_TRUTH;
    } else if (leaf->type == LEAT_PARQUET_INT96) {
        leaf->digits = 9;
        set_text(leaf, field, LEAT_PARQUET_IMPALA_TIME, "timestamp");
    } else if (leaf->type == LEAT_PARQUET_BYTES || leaf->type == LEAT_PARQUET_FIXED) {
        set_text(leaf, field, LEAT_PARQUET_BINARY, "binary");
    }
}

/* ---- fields ---- */

struct building {
    struct leat_parquet_schema *schema;
    const struct element *elements;
    uint32_t n_elements, at;
    struct leat_error *err;
};

/* Where a field stands: what the definition and repetition levels are there. */
struct context {
    uint8_t definition, exists, repetition;
};

static int fault(struct leat_error *err, const char *message) {
    return leat_error_set(err, -EBADMSG, "the schema is damaged: %s", message);
}

static int add_name(struct building *building, const struct element *element,
                    struct leat_arrow_field *field) {
    struct leat_arrow_schema *schema = &building->schema->arrow;

    if (element->n_name > 0 && memchr(element->name, '\0', element->n_name))
        return fault(building->err, "the name of a field has a NUL byte");
    field->name = schema->names + schema->n_name_bytes;
    if (element->n_name > 0)
        memcpy(schema->names + schema->n_name_bytes, element->name, element->n_name);
    schema->n_name_bytes += element->n_name;
    schema->names[schema->n_name_bytes++] = '\0';
    return 0;
}

/* Adds a field of a group, by which *ret_index is found again. */
static int add_field(struct building *building, const struct element *element,
                     enum leat_arrow_kind kind, const char *type, const struct context *context,
                     uint32_t depth, uint32_t *ret_index) {
    struct leat_parquet_schema *schema = building->schema;
    uint32_t index = schema->arrow.n_fields;

    if (index == LEAT_ARROW_FIELDS_MAX || depth == LEAT_ARROW_DEPTH_MAX)
        return leat_error_set(building->err, -EINVAL,
                              "the schema has more than %d fields, or nests them more than %d deep",
                              LEAT_ARROW_FIELDS_MAX, LEAT_ARROW_DEPTH_MAX);
    if (!leat_array_reserve(&schema->arrow.fields, index + 1, &schema->arrow.capacity) ||
        !leat_array_reserve(&schema->fields, index + 1, &schema->capacity))
        return leat_error_oom(building->err);
    schema->arrow.fields[index] =
        (struct leat_arrow_field){.kind = kind, .type = type, .offset_bytes = sizeof(uint32_t)};
    schema->fields[index] = (struct leat_parquet_field){.definition = context->definition,
                                                        .exists = context->exists,
                                                        .repetition = context->repetition};
    schema->arrow.n_fields++;
    *ret_index = index;
    return add_name(building, element, &schema->arrow.fields[index]);
}

static int add_leaf(struct building *building, const struct element *element,
                    const struct context *context, uint32_t depth) {
    static const uint8_t sizes[LEAT_PARQUET_N_TYPES] = {0, 4, 8, 12, 4, 8, 0, 0};
    struct leat_parquet_leaf leaf = {.column = building->schema->n_leaves++,
                                     .max_definition = context->definition,
                                     .max_repetition = context->repetition};
    struct leat_arrow_field *field;
    uint32_t index = 0;
    int r;

    if (element->type < 0 || element->type >= LEAT_PARQUET_N_TYPES)
        return fault(building->err, "a column has an unknown type");
    leaf.type = (enum leat_parquet_type)element->type;
    leaf.n_bytes = sizes[leaf.type];
    if (leaf.type == LEAT_PARQUET_FIXED &&
        (element->length < 1 || element->length > LEAT_PARQUET_FIXED_MAX))
        return fault(building->err, "the values of a column have an impossible length");
    if (leaf.type == LEAT_PARQUET_FIXED)
        leaf.n_bytes = (uint32_t)element->length;
    r = add_field(building, element, LEAT_ARROW_OTHER, "bytes", context, depth, &index);
    if (r < 0)
        return r;
    field = &building->schema->arrow.fields[index];
    set_physical(&leaf, field);
    if (!set_logical(element, &leaf, field) && element->logical == INT8_MAX) {
        leaf.meaning = LEAT_PARQUET_UNKNOWN;
        field->kind = LEAT_ARROW_OTHER;
        field->type = "of unknown kind";
    }
    if (field->kind == LEAT_ARROW_NUMBER && leaf.meaning == LEAT_PARQUET_NUMBER)
        field->type = leat_arrow_number_name(field->number);
    else if (field->kind == LEAT_ARROW_BOOL)
        field->type = "bool";
    field->n_fields = 1;
    building->schema->fields[index].leaf = leaf;
    return 0;
}

static int add(struct building *building, struct context context, uint32_t depth, bool is_item);

/* Adds a list, whose item is the next element or, if that only wraps it, what is in it. */
static int add_list(struct building *building, const struct element *element, const char *type,
                    struct context context, uint32_t depth, bool is_wrapped) {
    struct context item = {.definition = context.definition + 1,
                           .exists = context.definition + 1,
                           .repetition = context.repetition + 1};
    struct leat_arrow_schema *schema = &building->schema->arrow;
    uint32_t index = 0;
    int r = add_field(building, element, LEAT_ARROW_LIST, type, &context, depth, &index);

    if (r < 0)
        return r;
    building->schema->fields[index].items = item.definition;
    building->at += is_wrapped;
    r = add(building, item, depth + 1, !is_wrapped);
    schema->fields[index].n_children = 1;
    schema->fields[index].n_fields = schema->n_fields - index;
    return r;
}

static int add_struct(struct building *building, const struct element *element,
                      struct context context, uint32_t depth) {
    struct leat_arrow_schema *schema = &building->schema->arrow;
    uint32_t index = 0;
    int r = add_field(building, element, LEAT_ARROW_STRUCT, "struct", &context, depth, &index);

    if (r < 0)
        return r;
    for (int64_t i = 0; r == 0 && i < element->n_children; i++) {
        r = add(building, context, depth + 1, false);
        schema->fields[index].n_children++;
    }
    schema->fields[index].n_fields = schema->n_fields - index;
    return r;
}

/* True if the repeated group in a list is no item, but has it ("Backward-compatibility rules").
 * The element behind the group is its first field, or consists of zeros. */
static bool is_wrapper(const struct element *list, const struct element *group) {
    static const char suffix[] = "_tuple";

    if (group->n_children != 1 || group[1].repetition == REPEATED ||
        (group->n_name == 5 && memcmp(group->name, "array", 5) == 0))
        return false;
    return !(group->n_name == list->n_name + strlen(suffix) &&
             memcmp(group->name, list->name, list->n_name) == 0 &&
             memcmp(group->name + list->n_name, suffix, strlen(suffix)) == 0);
}

static int add_group(struct building *building, const struct element *element,
                     struct context context, uint32_t depth) {
    const struct element *child = element + 1;
    bool has_items = element->n_children == 1 && building->at < building->n_elements &&
                     child->repetition == REPEATED;

    if (element->logical == LOGICAL_LIST && has_items)
        return add_list(building, element, "list", context, depth, is_wrapper(element, child));
    if (element->logical == LOGICAL_MAP && has_items && child->n_children > 0)
        return add_list(building, element, "map", context, depth, false);
    return add_struct(building, element, context, depth);
}

/* Adds the next element; is_item: that it is repeated was said by a list. */
static int add(struct building *building, struct context context, uint32_t depth, bool is_item) {
    const struct element *element = &building->elements[building->at];

    if (building->at == building->n_elements)
        return fault(building->err, "it has fewer fields than it says");
    if (!is_item && element->repetition == REPEATED)
        return add_list(building, element, "list", context, depth, false);
    if (!is_item && element->repetition == OPTIONAL)
        context.definition++;
    building->at++;
    if (element->n_children > 0)
        return add_group(building, element, context, depth);
    if (!element->has_type)
        return fault(building->err, "a field has neither a type nor inner fields");
    return add_leaf(building, element, &context, depth);
}

static int build(struct building *building) {
    struct leat_parquet_schema *schema = building->schema;
    struct context context = {0};
    int r = 0;

    building->at = 1; /* behind the root */
    while (r == 0 && building->at < building->n_elements)
        r = add(building, context, 0, false);
    if (r == 0 && schema->n_leaves == 0)
        r = fault(building->err, "it has no columns");
    return r == 0 ? leat_arrow_schema_set_keys(&schema->arrow, building->err) : r;
}

int leat_parquet_schema_parse(struct leat_thrift *thrift, const struct leat_thrift_field *list,
                              struct leat_parquet_schema *ret_schema, struct leat_error *err) {
    size_t n_bytes = (size_t)(thrift->end - thrift->at);
    uint32_t n = leat_thrift_structs(thrift, list);
    struct building building = {.schema = ret_schema, .n_elements = n, .err = err};
    struct element *elements;
    int r = 0;

    *ret_schema = (struct leat_parquet_schema){.fields = NULL};
    if (n > LEAT_ARROW_FIELDS_MAX)
        return leat_error_set(err, -EINVAL, "the schema has more than %d fields",
                              LEAT_ARROW_FIELDS_MAX);
    elements = calloc(n + 1, sizeof(*elements));
    /* a list of the older form has the name of its items, too */
    ret_schema->arrow.names = malloc(2 * n_bytes + 2);
    if (!elements || !ret_schema->arrow.names)
        r = leat_error_oom(err);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        read_element(thrift, &elements[i]);
    building.elements = elements;
    if (r == 0 && thrift->is_bad)
        r = fault(err, "it ends too early, or is not valid Thrift");
    if (r == 0)
        r = build(&building);
    free(elements);
    if (r < 0)
        leat_parquet_schema_deinit(ret_schema);
    return r;
}

void leat_parquet_schema_deinit(struct leat_parquet_schema *schema) {
    free(schema->fields);
    leat_arrow_schema_deinit(&schema->arrow);
    *schema = (struct leat_parquet_schema){.fields = NULL};
}

/* ---- what is wanted ---- */

/* Sets the kind of the field that a selection wants: of the leaf itself, or of a list's items. */
static void adapt(struct leat_arrow_field *field, const struct leat_parquet_leaf *leaf,
                  bool is_text) {
    bool has_two = leaf->meaning >= LEAT_PARQUET_DATE;

    if (has_two)
        field->kind = is_text ? LEAT_ARROW_TEXT : LEAT_ARROW_NUMBER;
    else if (leaf->meaning == LEAT_PARQUET_BINARY && is_text)
        field->kind = LEAT_ARROW_TEXT;
}

void leat_parquet_schema_adapt(struct leat_parquet_schema *schema,
                               const struct leat_arrow_selection *selections, size_t n_selections) {
    struct leat_arrow_way way;

    for (size_t i = 0; i < n_selections; i++) {
        uint32_t index;

        if (selections[i].is_json || !leat_arrow_find(&schema->arrow, selections[i].path, &way))
            continue;
        index = (uint32_t)(way.fields[way.n_fields - 1] - schema->arrow.fields);
        index += schema->arrow.fields[index].kind == LEAT_ARROW_LIST;
        if (schema->arrow.fields[index].n_children == 0)
            adapt(&schema->arrow.fields[index], &schema->fields[index].leaf, selections[i].is_text);
    }
}
