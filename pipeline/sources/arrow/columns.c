#include "pipeline/sources/arrow/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a column becomes ---- */

static void describe(struct leat_text *text, const struct leat_arrow_field *field) {
    const struct leat_arrow_field *child = field + 1;

    leat_text_add(text, "%s%s", field->has_dictionary ? "dictionary of " : "", field->type);
    for (uint32_t i = 0; i < field->n_children && text->n_bytes < 128; i++) {
        leat_text_add(text, "%s", i ? ", " : "<");
        if (field->kind == LEAT_ARROW_STRUCT)
            leat_text_add(text, "%.32s: ", child->name);
        describe(text, child);
        child += child->n_fields;
    }
    leat_text_add(text, "%s", field->n_children ? ">" : "");
}

/* True if leat reads the field with all its children. A dictionary must not refer to another. */
static bool is_readable(const struct leat_arrow_field *field) {
    for (uint32_t i = 0; i < field->n_fields; i++)
        if (field[i].kind == LEAT_ARROW_OTHER ||
            (i > 0 && field->has_dictionary && field[i].has_dictionary))
            return false;
    for (uint32_t i = 1; i < field->n_fields; i++)
        if (field[i].has_dictionary && !is_readable(&field[i]))
            return false;
    return true;
}

static bool is_number(const struct leat_arrow_field *field, enum leat_arrow_number *ret_number) {
    *ret_number = field->kind == LEAT_ARROW_BOOL ? LEAT_ARROW_TRUTH : field->number;
    return field->kind == LEAT_ARROW_BOOL || field->kind == LEAT_ARROW_NUMBER;
}

static bool is_list(const struct leat_arrow_field *field, enum leat_arrow_number *ret_number) {
    return (field->kind == LEAT_ARROW_LIST || field->kind == LEAT_ARROW_FIXED_LIST) &&
           !field->has_dictionary && !field[1].has_dictionary && is_number(&field[1], ret_number);
}

static void set_cell(struct leat_arrow_slot *slot, const struct leat_arrow_field *field,
                     bool is_json) {
    if (!is_readable(field))
        slot->cell = LEAT_ARROW_CELL_NONE;
    else if (field->kind == LEAT_ARROW_TEXT || field->kind == LEAT_ARROW_NULL)
        slot->cell = LEAT_ARROW_CELL_TEXT;
    else if (!is_json && is_number(field, &slot->number))
        slot->cell = LEAT_ARROW_CELL_NUMBER;
    else if (!is_json && is_list(field, &slot->number))
        slot->cell = LEAT_ARROW_CELL_LIST;
    else
        slot->cell = LEAT_ARROW_CELL_JSON;
    if (slot->cell != LEAT_ARROW_CELL_NUMBER && slot->cell != LEAT_ARROW_CELL_LIST)
        slot->number = LEAT_ARROW_INT8;
}

/* ---- which columns ---- */

static int init_chain(struct leat_arrow_columns *columns, struct leat_arrow_column *column,
                      const struct leat_arrow_way *way, struct leat_error *err) {
    column->chain = calloc(way->n_fields, sizeof(*column->chain));
    if (!column->chain)
        return leat_error_oom(err);
    column->top = (uint32_t)(way->fields[0] - columns->schema->fields);
    for (uint32_t i = 0; i < way->n_fields; i++) {
        bool is_last = i + 1 == way->n_fields;
        int r = leat_arrow_array_init(&column->chain[column->n_chain++], way->fields[i],
                                      is_last ? LEAT_ARROW_WHOLE : LEAT_ARROW_VALIDITY,
                                      &columns->dictionaries);

        if (r == -EINVAL)
            return leat_error_set(err, r,
                                  "column \"%.64s\" and another column use the same "
                                  "dictionary, but their types differ",
                                  column->name);
        if (r < 0)
            return leat_error_oom(err);
    }
    return 0;
}

static int add_column(struct leat_arrow_columns *columns, const char *name, bool is_json,
                      const struct leat_arrow_way *way, struct leat_error *err) {
    struct leat_arrow_layout *layout = &columns->layout;
    uint32_t n = layout->n_slots;
    struct leat_arrow_column *column;
    struct leat_text type = {.data = NULL};

    if (n == LEAT_ARROW_COLUMNS_MAX)
        return leat_error_set(
            err, -EINVAL, "has more than %d columns: in `fields`, list the columns that you want",
            LEAT_ARROW_COLUMNS_MAX);
    if (!layout->slots)
        layout->slots = calloc(LEAT_ARROW_COLUMNS_MAX, sizeof(*layout->slots));
    if (!columns->columns)
        columns->columns = calloc(LEAT_ARROW_COLUMNS_MAX, sizeof(*columns->columns));
    if (!layout->slots || !columns->columns)
        return leat_error_oom(err);
    describe(&type, way->fields[way->n_fields - 1]);
    column = &columns->columns[n];
    layout->n_slots++;
    column->name = strdup(name);
    column->type = type.data;
    if (!column->name || !column->type || type.failed)
        return leat_error_oom(err);
    layout->slots[n] = (struct leat_arrow_slot){.name = column->name, .type = column->type};
    set_cell(&layout->slots[n], way->fields[way->n_fields - 1], is_json);
    return layout->slots[n].cell == LEAT_ARROW_CELL_NONE ? 0
                                                         : init_chain(columns, column, way, err);
}

/* Adds the field or, if it is a struct, the fields in it. */
static int add_all(struct leat_arrow_columns *columns, struct leat_arrow_way *way,
                   const char *prefix, struct leat_error *err) {
    const struct leat_arrow_field *field = way->fields[way->n_fields - 1], *child = field + 1;
    struct leat_text name = {.data = NULL};
    int r = 0;

    leat_text_add(&name, "%s%s%s", prefix, *prefix ? "." : "", field->name);
    if (name.failed)
        r = leat_error_oom(err);
    else if (field->kind != LEAT_ARROW_STRUCT || field->has_dictionary || field->n_children == 0)
        r = add_column(columns, name.data ? name.data : "", false, way, err);
    else
        for (uint32_t i = 0; r == 0 && i < field->n_children; i++) {
            way->fields[way->n_fields++] = child;
            r = add_all(columns, way, name.data, err);
            way->n_fields--;
            child += child->n_fields;
        }
    free(name.data);
    return r;
}

/* True if the path begins with the key, and ends or has a dot behind it, where it is left. */
static bool take_key(const char **path, const char *key) {
    const char *at = *path;

    for (; *key; key++, at++) {
        if (at[0] == '\\' && (at[1] == '.' || at[1] == '\\'))
            at++;
        else if (*at == '.')
            return false;
        if (*at != *key)
            return false;
    }
    if (*at != '.' && *at != '\0')
        return false;
    *path = at;
    return true;
}

/* Finds the field of that path among the siblings in [first, end). */
static bool find(const struct leat_arrow_field *first, const struct leat_arrow_field *end,
                 const char *path, struct leat_arrow_way *way) {
    for (const struct leat_arrow_field *field = first; field < end; field += field->n_fields) {
        const char *rest = path;

        if (!take_key(&rest, field->name))
            continue;
        way->fields[way->n_fields++] = field;
        if (!*rest)
            return true;
        if (field->kind == LEAT_ARROW_STRUCT && !field->has_dictionary &&
            find(field + 1, field + field->n_fields, rest + 1, way))
            return true;
        way->n_fields--;
    }
    return false;
}

bool leat_arrow_find(const struct leat_arrow_schema *schema, const char *path,
                     struct leat_arrow_way *ret_way) {
    ret_way->n_fields = 0;
    return find(schema->fields, schema->fields + schema->n_fields, path, ret_way);
}

static int no_such(const struct leat_arrow_columns *columns,
                   const struct leat_arrow_selection *selection, struct leat_error *err) {
    const struct leat_arrow_schema *schema = columns->schema;
    struct leat_text names = {.data = NULL};
    int r;

    for (uint32_t i = 0; i < schema->n_fields; i += schema->fields[i].n_fields)
        if (names.n_bytes < 200)
            leat_text_add(&names, "%s\"%.64s\"", i ? ", " : "", schema->fields[i].name);
    r = leat_error_set(err, -EINVAL, "has no column \"%.64s\": it has %s", selection->path,
                       names.data ? names.data : "none");
    free(names.data);
    return r;
}

static int add_selection(struct leat_arrow_columns *columns,
                         const struct leat_arrow_selection *selection, struct leat_error *err) {
    struct leat_arrow_way way;

    if (!leat_arrow_find(columns->schema, selection->path, &way))
        return no_such(columns, selection, err);
    return add_column(columns, selection->name, selection->is_json, &way, err);
}

int leat_arrow_columns_init(struct leat_arrow_columns *columns,
                            const struct leat_arrow_schema *schema,
                            const struct leat_arrow_selection *selections, size_t n_selections,
                            struct leat_error *err) {
    int r = 0;

    *columns = (struct leat_arrow_columns){
        .schema = schema, .places = calloc(schema->n_fields + 1, sizeof(*columns->places))};
    if (!columns->places)
        return leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < n_selections; i++)
        r = add_selection(columns, &selections[i], err);
    for (uint32_t i = 0; r == 0 && n_selections == 0 && i < schema->n_fields;
         i += schema->fields[i].n_fields) {
        struct leat_arrow_way way = {.fields = {&schema->fields[i]}, .n_fields = 1};

        r = add_all(columns, &way, "", err);
    }
    leat_arrow_layout_arrange(&columns->layout);
    return r;
}

void leat_arrow_columns_deinit(struct leat_arrow_columns *columns) {
    for (uint32_t i = 0; i < columns->layout.n_slots; i++) {
        struct leat_arrow_column *column = &columns->columns[i];

        for (uint32_t k = 0; k < column->n_chain; k++)
            leat_arrow_array_deinit(&column->chain[k]);
        free(column->chain);
        free(column->name);
        free(column->type);
        free(column->json.data);
    }
    free(columns->columns);
    free(columns->places);
    leat_arrow_dictionaries_deinit(&columns->dictionaries);
    leat_arrow_layout_deinit(&columns->layout);
    *columns = (struct leat_arrow_columns){.columns = NULL};
}

/* ---- in a batch ---- */

static int bind_column(struct leat_arrow_column *column, const struct leat_arrow_binding *binding,
                       struct leat_arrow_place place, struct leat_error *err) {
    uint64_t n_rows = binding->batch->n_rows;

    for (uint32_t i = 0; i < column->n_chain; i++) {
        struct leat_arrow_place behind = place;
        const struct leat_arrow_field *field = column->chain[i].field;
        int r = leat_arrow_array_bind(&column->chain[i], binding, &behind, n_rows, err);

        if (r < 0 || i + 1 == column->n_chain)
            return r;
        place.node++;
        place.buffer += field->n_buffers;
        if (!leat_arrow_place_pass(&place, binding->batch, field + 1,
                                   (uint32_t)(column->chain[i + 1].field - field) - 1))
            break;
    }
    return leat_error_set(err, -EBADMSG,
                          "column \"%.64s\" is damaged: its batch has too few "
                          "buffers",
                          column->name);
}

int leat_arrow_columns_bind(struct leat_arrow_columns *columns,
                            const struct leat_arrow_binding *binding, struct leat_error *err) {
    const struct leat_arrow_schema *schema = columns->schema;
    struct leat_arrow_place place = {.node = 0};
    int r = 0;

    for (uint32_t i = 0; i < schema->n_fields; i += schema->fields[i].n_fields) {
        columns->places[i] = place;
        if (!leat_arrow_place_pass(&place, binding->batch, &schema->fields[i],
                                   schema->fields[i].n_fields))
            return leat_error_set(err, -EBADMSG,
                                  "the batch is damaged: it has %u nodes and %u buffers, fewer "
                                  "than the columns of the schema need",
                                  binding->batch->nodes.n_items, binding->batch->buffers.n_items);
    }
    for (uint32_t i = 0; r == 0 && i < columns->layout.n_slots; i++)
        if (columns->columns[i].n_chain > 0)
            r = bind_column(&columns->columns[i], binding, columns->places[columns->columns[i].top],
                            err);
    return r;
}

int leat_arrow_columns_extent(struct leat_arrow_columns *columns,
                              const struct leat_arrow_body *body, uint64_t from, uint64_t n,
                              uint64_t *ret_n_bytes, struct leat_error *err) {
    int r = 0;

    *ret_n_bytes = 0;
    for (uint32_t i = 0; r == 0 && i < columns->layout.n_slots; i++)
        if (columns->columns[i].n_chain > 0)
            r = leat_arrow_array_extent(leat_arrow_leaf(&columns->columns[i]), body, from, n,
                                        ret_n_bytes, err);
    return r;
}

int leat_arrow_columns_load(struct leat_arrow_columns *columns, const struct leat_arrow_body *body,
                            uint64_t from, uint64_t n, struct leat_error *err) {
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < columns->layout.n_slots; i++)
        for (uint32_t k = 0; r == 0 && k < columns->columns[i].n_chain; k++)
            r = leat_arrow_array_load(&columns->columns[i].chain[k], body, from, n, err);
    return r;
}
