#include "pipeline/stages/exec/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/block/json_scalar.h"
#include "proto/base/array.h"

#define LENGTH_MAX LEAT_FIELD_LENGTH_MAX

/* The tag comes first and has a fixed length, so a program can find it without parsing JSON. */
#define REQUEST_START "{\"" LEAT_EXEC_TAG "\": \""

/* ---- types ---- */

int leat_exec_schema_declare(struct leat_exec_schema *schema, const struct leat_config *config,
                             const char *arg, const struct leat_text_map *declared,
                             struct leat_error *err) {
    schema->fields = calloc(declared->n_items, sizeof(*schema->fields));
    if (!schema->fields)
        return leat_error_oom(err);
    for (size_t i = 0; i < declared->n_items; i++) {
        struct leat_exec_field *field = &schema->fields[schema->n_fields++];

        field->name = declared->keys[i];
        if (strcmp(field->name, LEAT_EXEC_TAG) == 0 || strcmp(field->name, LEAT_EXEC_DROP) == 0)
            return leat_config_error(config, arg, err, "\"%s\" cannot be a field: %s", field->name,
                                     strcmp(field->name, LEAT_EXEC_TAG) == 0
                                         ? "in an answer, it names the record"
                                         : "in an answer, it drops the record");
        if (!field->name[0] || strlen(field->name) > LEAT_NAME_MAX)
            return leat_config_error(config, arg, err,
                                     "the name of a field may have 1 to %d bytes; this one has %zu",
                                     LEAT_NAME_MAX, strlen(field->name));
        if (!leat_field_type_parse(declared->values[i], &field->type))
            return leat_config_error(config, arg, err,
                                     "field \"%s\": \"%.64s\" is not a type: write a type such as "
                                     "text, bool or float32, or a list such as float32[8] (8 "
                                     "items), int32[<=512] (at most 512) or int32[] (any number)",
                                     field->name, declared->values[i]);
    }
    return 0;
}

/* ---- columns ---- */

static int add_input(struct leat_exec_schema *schema, const struct leat_config *config,
                     const char *name, bool is_named, struct leat_planner *planner,
                     struct leat_error *err) {
    uint32_t column;
    int r = leat_planner_find(planner, config, "inputs", name, &column, err);

    if (r < 0)
        return r;
    if (leat_planner_field(planner, column)->made != LEAT_MADE_OF_RECORDS)
        return is_named
                   ? leat_config_error(config, "inputs", err,
                                       "\"%s\" exists only in batches, so `exec` cannot read it: "
                                       "remove it from `inputs`, or put `exec` earlier",
                                       name)
                   : 0;
    if (strcmp(name, LEAT_EXEC_TAG) == 0)
        return leat_config_error(config, "inputs", err,
                                 "leat adds its own \"" LEAT_EXEC_TAG
                                 "\" to each record: rename the field");
    schema->inputs[schema->n_inputs] = column;
    schema->input_names[schema->n_inputs] = strdup(name);
    return schema->input_names[schema->n_inputs++] ? 0 : leat_error_oom(err);
}

static int plan_inputs(struct leat_exec_schema *schema, const struct leat_config *config,
                       const struct leat_texts *inputs, struct leat_planner *planner,
                       struct leat_error *err) {
    size_t n = inputs->n_items ? inputs->n_items : leat_planner_names(planner, NULL, 0);
    const char **names = calloc(n ? n : 1, sizeof(*names));
    int r = 0;

    schema->inputs = calloc(n ? n : 1, sizeof(*schema->inputs));
    schema->input_names = calloc(n ? n : 1, sizeof(*schema->input_names));
    if (!names || !schema->inputs || !schema->input_names)
        r = leat_error_oom(err);
    if (r == 0 && inputs->n_items == 0)
        (void)leat_planner_names(planner, names, n);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = add_input(schema, config, inputs->n_items ? inputs->items[i] : names[i],
                      inputs->n_items > 0, planner, err);
    free(names);
    return r;
}

int leat_exec_schema_plan(struct leat_exec_schema *schema, const struct leat_config *config,
                          const struct leat_texts *inputs, struct leat_planner *planner,
                          struct leat_error *err) {
    int r = plan_inputs(schema, config, inputs, planner, err);

    for (size_t i = 0; r == 0 && i < schema->n_fields; i++) {
        struct leat_exec_field *field = &schema->fields[i];
        struct leat_field *planned;

        r = leat_planner_add(planner, config, "schema", field->name, field->type.dtype,
                             field->type.is_list || field->type.dtype == LEAT_DTYPE_TEXT,
                             &field->column, &planned, err);
        if (r == 0) {
            planned->max_length = field->type.max_length;
            planned->width = field->type.width;
        }
    }
    return r;
}

void leat_exec_schema_deinit(struct leat_exec_schema *schema) {
    for (size_t i = 0; i < schema->n_inputs; i++)
        free(schema->input_names[i]);
    free(schema->input_names);
    free(schema->inputs);
    free(schema->fields);
    *schema = (struct leat_exec_schema){.fields = NULL};
}

/* ---- requests ---- */

static bool is_sendable(const struct leat_map *map, uint32_t column, uint32_t row) {
    const struct leat_column *from = &map->block->columns[column];

    return map->fields[column].dtype != LEAT_DTYPE_TEXT ||
           leat_json_is_utf8((const uint8_t *)from->values + from->starts[row], from->lengths[row]);
}

int leat_exec_schema_ask(const struct leat_exec_schema *schema, const struct leat_map *map,
                         uint32_t row, struct leat_text *text, const char **ret_input) {
    for (size_t i = 0; i < schema->n_inputs; i++)
        if (!is_sendable(map, schema->inputs[i], row)) {
            *ret_input = schema->input_names[i];
            return -EINVAL;
        }
    leat_text_add_bytes(text, REQUEST_START "00000000\"", sizeof(REQUEST_START) + 8);
    for (size_t i = 0; i < schema->n_inputs; i++)
        leat_render_value(text, schema->input_names[i], &map->fields[schema->inputs[i]],
                          &map->block->columns[schema->inputs[i]], row);
    leat_text_add_bytes(text, "}\n", 2);
    return text->failed ? -ENOMEM : 0;
}

void leat_exec_schema_tag(char *request, uint32_t tag) {
    leat_exec_tag_write(request + sizeof(REQUEST_START) - 1, tag);
}

/* ---- answers ---- */

bool leat_exec_schema_says_error(const struct leat_exec_schema *schema,
                                 struct leat_json_node answer, const char **ret_reason) {
    struct leat_json_node reason;
    size_t n;

    for (size_t i = 0; i < schema->n_fields; i++)
        if (strcmp(schema->fields[i].name, "error") == 0)
            return false;
    if (!leat_json_find(answer, "error", 5, &reason) || leat_json_kind(reason) != LEAT_JSON_STRING)
        return false;
    *ret_reason = leat_json_string(reason, &n);
    return true;
}

bool leat_exec_schema_says_drop(struct leat_json_node answer) {
    struct leat_json_node drop;

    return leat_json_find(answer, LEAT_EXEC_DROP, sizeof(LEAT_EXEC_DROP) - 1, &drop) &&
           leat_json_kind(drop) == LEAT_JSON_BOOL && leat_json_bool(drop);
}

bool leat_exec_schema_is_answer(const struct leat_exec_schema *schema, struct leat_json_node line) {
    struct leat_json_node value;
    const char *reason;

    for (size_t i = 0; i < schema->n_fields; i++)
        if (leat_json_find(line, schema->fields[i].name, strlen(schema->fields[i].name), &value))
            return true;
    return leat_exec_schema_says_error(schema, line, &reason);
}

static bool has_views(const struct leat_exec_field *field) {
    return field->type.is_list || field->type.dtype == LEAT_DTYPE_TEXT;
}

static size_t element_bytes(const struct leat_exec_field *field) {
    return field->type.dtype == LEAT_DTYPE_TEXT ? 1 : leat_dtype_size(field->type.dtype);
}

int leat_exec_schema_begin(const struct leat_exec_schema *schema, struct leat_map *map,
                           struct leat_exec_values *values) {
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct leat_exec_field *field = &schema->fields[i];
        struct leat_column *column = leat_map_column(map, field->column);
        size_t n_rows = map->block->n_rows;

        values[i].n_bytes = 0;
        if (!map->is_needed[field->column])
            continue;
        if (has_views(field) ? leat_map_make_views(map, field->column) < 0
                             : leat_map_make_scalar(map, field->column, element_bytes(field)) < 0)
            return -ENOMEM;
        if (has_views(field)) {
            memset(column->starts, 0, n_rows * sizeof(*column->starts));
            memset(column->lengths, 0, n_rows * sizeof(*column->lengths));
        } else {
            memset(column->values, 0, n_rows * element_bytes(field));
        }
    }
    return 0;
}

static int reserve(struct leat_exec_values *values, size_t n_more) {
    if (n_more > LEAT_EXEC_VALUES_MAX - values->n_bytes)
        return -EOVERFLOW;
    return leat_array_reserve(&values->data, values->n_bytes + n_more, &values->capacity) ? 0
                                                                                          : -ENOMEM;
}

static int wrong(struct leat_error *err, const struct leat_exec_field *field,
                 struct leat_json_node node) {
    char type[LEAT_FIELD_TYPE_TEXT_MAX];

    return leat_error_set(err, -EINVAL, "the answer's value is %s, not %s",
                          leat_json_kind_name(leat_json_kind(node)),
                          leat_field_type_print(field->type.dtype, field->type.is_list, type));
}

static int too_large(struct leat_error *err, const struct leat_exec_field *field,
                     struct leat_json_node node) {
    return leat_error_set(err, -EINVAL, "%.17g does not fit in %s", leat_json_double(node),
                          leat_dtype_name(field->type.dtype));
}

static int store_text(const struct leat_exec_field *field, struct leat_column *column,
                      struct leat_exec_values *values, uint32_t row, struct leat_json_node node,
                      struct leat_error *err) {
    const char *text;
    size_t n;
    int r;

    if (leat_json_kind(node) != LEAT_JSON_STRING)
        return wrong(err, field, node);
    text = leat_json_string(node, &n);
    r = reserve(values, n);
    if (r < 0)
        return r;
    if (n > 0)
        memcpy(values->data + values->n_bytes, text, n);
    column->starts[row] = (uint32_t)values->n_bytes;
    column->lengths[row] = (uint32_t)n;
    values->n_bytes += n;
    return 0;
}

static int check_length(const struct leat_exec_field *field, size_t n, struct leat_error *err) {
    if (field->type.width > 0 && n != field->type.width)
        return leat_error_set(err, -EINVAL,
                              "the answer's list has %zu items, but %llu were expected", n,
                              (unsigned long long)field->type.width);
    if (field->type.max_length > 0 && n > field->type.max_length)
        return leat_error_set(err, -EINVAL,
                              "the answer's list has %zu items; at most %llu are possible", n,
                              (unsigned long long)field->type.max_length);
    return 0;
}

static int store_items(const struct leat_exec_field *field, struct leat_exec_values *values,
                       size_t start, struct leat_json_node node, struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    size_t n = 0;

    leat_json_iterate(node, &iterator);
    while (leat_json_next(&iterator, &item)) {
        int r = leat_json_scalar_store(values->data, field->type.dtype, start + n, item);

        if (r == LEAT_JSON_SCALAR_ZERO)
            leat_json_scalar_sign(values->data, field->type.dtype, start + n, item);
        if (r == -ERANGE)
            return too_large(err, field, item);
        if (r < 0)
            return leat_error_set(
                err, -EINVAL,
                "item %zu of the list in the program's answer is %s, but the field is %s[]", n,
                leat_json_kind_name(leat_json_kind(item)), leat_dtype_name(field->type.dtype));
        n++;
    }
    return 0;
}

static int store_list(const struct leat_exec_field *field, struct leat_column *column,
                      struct leat_exec_values *values, uint32_t row, struct leat_json_node node,
                      struct leat_error *err) {
    size_t size = element_bytes(field), start = values->n_bytes / size, n;
    int r;

    if (leat_json_kind(node) != LEAT_JSON_ARRAY)
        return wrong(err, field, node);
    n = leat_json_n_items(node);
    r = check_length(field, n, err);
    if (r == 0)
        r = n > LENGTH_MAX ? -EOVERFLOW : reserve(values, n * size);
    if (r == 0)
        r = store_items(field, values, start, node, err);
    if (r < 0)
        return r;
    column->starts[row] = (uint32_t)start;
    column->lengths[row] = (uint32_t)n;
    values->n_bytes += n * size;
    return 0;
}

static int store_field(const struct leat_exec_field *field, struct leat_column *column,
                       struct leat_exec_values *values, uint32_t row, struct leat_json_node node,
                       struct leat_error *err) {
    int r;

    if (field->type.dtype == LEAT_DTYPE_TEXT)
        return store_text(field, column, values, row, node, err);
    if (field->type.is_list)
        return store_list(field, column, values, row, node, err);
    r = leat_json_scalar_store(column->values, field->type.dtype, row, node);
    if (r == LEAT_JSON_SCALAR_ZERO)
        leat_json_scalar_sign(column->values, field->type.dtype, row, node);
    if (r == -ERANGE)
        return too_large(err, field, node);
    return r < 0 ? wrong(err, field, node) : 0;
}

int leat_exec_schema_store(const struct leat_exec_schema *schema, struct leat_map *map,
                           struct leat_exec_values *values, uint32_t row,
                           struct leat_json_node answer, struct leat_error *err) {
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct leat_exec_field *field = &schema->fields[i];
        struct leat_json_node value;
        int r = 0;

        if (!leat_json_find(answer, field->name, strlen(field->name), &value))
            r = leat_error_set(err, -EINVAL, "the answer lacks this field");
        else if (map->is_needed[field->column])
            r = store_field(field, leat_map_column(map, field->column), &values[i], row, value,
                            err);
        if (r == -EINVAL)
            leat_error_prefix(err, "%s", field->name);
        if (r < 0)
            return r;
    }
    return 0;
}

int leat_exec_schema_end(const struct leat_exec_schema *schema, struct leat_map *map,
                         struct leat_exec_values *values) {
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct leat_exec_field *field = &schema->fields[i];
        struct leat_column *column = leat_map_column(map, field->column);

        if (!has_views(field) || !map->is_needed[field->column])
            continue;
        column->values = leat_map_alloc(map, field->column, values[i].n_bytes);
        if (!column->values)
            return -ENOMEM;
        if (values[i].n_bytes > 0)
            memcpy(column->values, values[i].data, values[i].n_bytes);
        map->n_bytes_out += values[i].n_bytes;
    }
    return 0;
}
