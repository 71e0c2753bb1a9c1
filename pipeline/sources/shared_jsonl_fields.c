#include "pipeline/sources/shared_jsonl_fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/spec/field_type.h"
#include "pipeline/tokenizer/json_skip.h"
#include "proto/base/array.h"
#include "proto/base/scalar.h"

void leat_jsonl_fields_deinit(struct leat_jsonl_fields *fields) {
    for (uint32_t i = 0; i < fields->n_nodes; i++)
        free(fields->nodes[i].key);
    free(fields->nodes);
    free(fields->fields);
    *fields = (struct leat_jsonl_fields){.fields = NULL};
}

/* ---- the tree of keys ---- */

static uint32_t find_child(const struct leat_jsonl_fields *fields, uint32_t first, uint32_t last,
                           const char *key, size_t n_key) {
    for (uint32_t i = first; i != last; i = fields->nodes[i].next)
        if (fields->nodes[i].n_key == n_key && memcmp(fields->nodes[i].key, key, n_key) == 0)
            return i;
    return 0;
}

static int add_node(struct leat_jsonl_fields *fields, const char *key, size_t n_key) {
    char *copy;

    if (!leat_array_reserve(&fields->nodes, fields->n_nodes + 1, &fields->nodes_capacity))
        return -ENOMEM;
    copy = strndup(key, n_key);
    if (!copy)
        return -ENOMEM;
    fields->nodes[fields->n_nodes++] =
        (struct leat_jsonl_node){.key = copy, .n_key = n_key, .field = -1};
    return 0;
}

static int ensure_root(struct leat_jsonl_fields *fields) {
    return fields->n_nodes ? 0 : add_node(fields, "", 0);
}

/* Finds the child with that key, or appends it. */
static int ensure_child(struct leat_jsonl_fields *fields, uint32_t parent, const char *key,
                        size_t n_key, uint32_t *ret_child) {
    uint32_t child = find_child(fields, fields->nodes[parent].first_child, 0, key, n_key);
    uint32_t last = fields->nodes[parent].first_child;

    *ret_child = child ? child : fields->n_nodes;
    if (child)
        return 0;
    if (add_node(fields, key, n_key) < 0)
        return -ENOMEM;
    while (last && fields->nodes[last].next)
        last = fields->nodes[last].next;
    if (last)
        fields->nodes[last].next = *ret_child;
    else
        fields->nodes[parent].first_child = *ret_child;
    return 0;
}

static int add_field(struct leat_jsonl_fields *fields, uint32_t node, const char *name,
                     struct leat_jsonl_field **ret_field) {
    if (!leat_array_reserve(&fields->fields, fields->n_fields + 1, &fields->fields_capacity))
        return -ENOMEM;
    *ret_field = &fields->fields[fields->n_fields];
    **ret_field = (struct leat_jsonl_field){.dtype = LEAT_DTYPE_NONE};
    (void)snprintf((*ret_field)->name, sizeof((*ret_field)->name), "%s", name);
    fields->nodes[node].field = (int32_t)fields->n_fields++;
    return 0;
}

/* ---- declared ---- */

/* Parses a type or "json". */
static bool parse_type(const char *text, struct leat_jsonl_field *field) {
    struct leat_field_type type = {.dtype = LEAT_DTYPE_TEXT};
    bool is_json = strcmp(text, "json") == 0;

    if (!is_json && !leat_field_type_parse(text, &type))
        return false;
    *field = (struct leat_jsonl_field){
        .dtype = type.dtype,
        .is_list = type.is_list,
        .width = type.width,
        .max_length = type.max_length,
        .is_json = is_json,
    };
    return true;
}

/* Copies the next key of a path, up to a dot that is not escaped. NULL: memory ran out. */
static char *take_key(const char **path) {
    char *key = malloc(strlen(*path) + 1), *out = key;

    if (!key)
        return NULL;
    while (**path && **path != '.') {
        if ((*path)[0] == '\\' && ((*path)[1] == '.' || (*path)[1] == '\\'))
            (*path)++;
        *out++ = *(*path)++;
    }
    *out = '\0';
    return key;
}

/* Finds or adds the node at the end of the path. -EINVAL: a key is empty, or there are too many. */
static int add_path(struct leat_jsonl_fields *fields, const char *path, uint32_t *ret_node) {
    uint32_t node = 0;

    for (int i = 0; i < LEAT_JSONL_PATH_MAX; i++) {
        char *key = take_key(&path);
        int r = !key ? -ENOMEM : key[0] ? 0 : -EINVAL;
        if (r == 0)
            r = ensure_child(fields, node, key, strlen(key), &node);
        free(key);
        if (r < 0)
            return r;
        if (*path++ == '\0') {
            *ret_node = node;
            return 0;
        }
    }
    return -EINVAL;
}

static int declare(struct leat_jsonl_fields *fields, const struct leat_config *config,
                   const char *arg, const char *name, const char *text, struct leat_error *err) {
    const char *space = strrchr(text, ' ');
    char *path = space ? strndup(text, (size_t)(space - text)) : strdup(name);
    struct leat_jsonl_field *field, parsed;
    uint32_t node = 0;
    int r = path ? add_path(fields, path, &node) : -ENOMEM;

    free(path);
    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r < 0)
        return leat_config_error(config, arg, err,
                                 "field \"%s\": the path must have 1 to %d keys, separated by dots",
                                 name, LEAT_JSONL_PATH_MAX);
    if (!parse_type(space ? space + 1 : text, &parsed))
        return leat_config_error(
            config, arg, err,
            "field \"%s\": \"%.64s\" is not a type; write text, json, bool, int64, float32, "
            "int32[] or the like, or a path and a type such as \"meta.lang text\"",
            name, space ? space + 1 : text);
    if (!name[0] || strlen(name) > LEAT_NAME_MAX)
        return leat_config_error(config, arg, err,
                                 "the name of a field may have 1 to %d bytes; this one has %zu",
                                 LEAT_NAME_MAX, strlen(name));
    if (fields->nodes[node].field >= 0)
        return leat_config_error(config, arg, err, "fields \"%s\" and \"%s\" have the same path",
                                 fields->fields[fields->nodes[node].field].name, name);
    if (add_field(fields, node, name, &field) < 0)
        return leat_error_oom(err);
    field->dtype = parsed.dtype;
    field->is_list = parsed.is_list;
    field->width = parsed.width;
    field->max_length = parsed.max_length;
    field->is_json = parsed.is_json;
    fields->has_json |= parsed.is_json;
    return 0;
}

int leat_jsonl_fields_declare(struct leat_jsonl_fields *fields, const struct leat_config *config,
                              const char *arg, const struct leat_text_map *declared,
                              struct leat_error *err) {
    if (ensure_root(fields) < 0)
        return leat_error_oom(err);
    for (size_t i = 0; i < declared->n_items; i++) {
        int r = declare(fields, config, arg, declared->keys[i], declared->values[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

void leat_jsonl_field_bound(const struct leat_jsonl_field *field, struct leat_field *planned) {
    planned->width = field->width;
    planned->max_length = field->max_length;
}

static void check_length(const struct leat_jsonl_field *field, struct leat_map *map, uint32_t row,
                         uint32_t n) {
    if (field->width > 0 && n != field->width)
        leat_map_reject(map, row, field->name, "the list has %u items, but %llu were expected", n,
                        (unsigned long long)field->width);
    else if (field->max_length > 0 && n > field->max_length)
        leat_map_reject(map, row, field->name, "the list has %u items; at most %llu are possible",
                        n, (unsigned long long)field->max_length);
}

void leat_jsonl_fields_check_lengths(const struct leat_jsonl_fields *fields, struct leat_map *map) {
    for (uint32_t i = 0; i < fields->n_fields; i++) {
        const struct leat_jsonl_field *field = &fields->fields[i];

        if (field->max_length == 0 || field->is_unusable || !map->is_needed[field->column])
            continue;
        for (uint32_t row = 0; row < map->block->n_rows; row++)
            check_length(field, map, row, leat_map_column(map, field->column)->lengths[row]);
    }
}

int leat_jsonl_fields_add(struct leat_jsonl_fields *fields, const char *name,
                          struct leat_jsonl_field **ret_field) {
    return ensure_root(fields) < 0 ? -ENOMEM : add_field(fields, 0, name, ret_field);
}

/* ---- missing ---- */

void leat_jsonl_field_reject_missing(const struct leat_jsonl_field *field, struct leat_map *map,
                                     uint32_t row) {
    leat_map_reject(map, row, field->name,
                    "the value is missing or null; to replace it with 0, set missing: {%s: 0}",
                    field->name);
}

bool leat_jsonl_field_fallback(const struct leat_jsonl_field *field, void *value) {
    size_t n = strlen(field->fallback);
    int64_t integer;
    double number;
    bool flag;

    if (field->dtype == LEAT_DTYPE_BOOL) {
        if (leat_parse_bool(field->fallback, n, &flag) < 0)
            return false;
        return leat_scalar_store_int(value, field->dtype, 0, flag) == 0;
    }
    if (leat_dtype_is_integer(field->dtype) && leat_parse_int(field->fallback, n, &integer) == 0)
        return leat_scalar_store_int(value, field->dtype, 0, integer) == 0;
    return leat_parse_float(field->fallback, n, &number) == 0 &&
           leat_scalar_store_double(value, field->dtype, 0, number) == 0;
}

int leat_jsonl_fields_set_missing(struct leat_jsonl_fields *fields,
                                  const struct leat_config *config, const char *arg,
                                  const struct leat_text_map *missing, struct leat_error *err) {
    for (size_t i = 0; i < missing->n_items; i++) {
        struct leat_jsonl_field *field = NULL;
        uint64_t value;

        for (uint32_t k = 0; k < fields->n_fields && !field; k++)
            if (strcmp(fields->fields[k].name, missing->keys[i]) == 0)
                field = &fields->fields[k];
        if (!field || field->is_unusable)
            return leat_config_error(config, arg, err, "there is no field \"%s\"",
                                     missing->keys[i]);
        if (field->is_list)
            return leat_config_error(
                config, arg, err,
                "\"%s\" is a list, and a missing list is always empty: remove this key",
                field->name);
        field->fallback = missing->values[i];
        if (field->dtype != LEAT_DTYPE_TEXT && !leat_jsonl_field_fallback(field, &value))
            return leat_config_error(config, arg, err,
                                     "\"%s\": \"%.64s\" is not a value of type %s", field->name,
                                     field->fallback, leat_dtype_name(field->dtype));
    }
    return 0;
}

/* ---- inferred ---- */

static enum leat_dtype dtype_of(enum leat_json_kind kind) {
    switch (kind) {
    case LEAT_JSON_BOOL:
        return LEAT_DTYPE_BOOL;
    case LEAT_JSON_INT:
        return LEAT_DTYPE_INT64;
    case LEAT_JSON_UINT:
    case LEAT_JSON_DOUBLE:
        return LEAT_DTYPE_FLOAT64;
    case LEAT_JSON_STRING:
    case LEAT_JSON_HALF_STRING:
        return LEAT_DTYPE_TEXT;
    default:
        return LEAT_DTYPE_NONE;
    }
}

/* Widens *dtype so that it holds both. False: none does. NONE widens to any. */
static bool widen(enum leat_dtype *dtype, enum leat_dtype other) {
    if (other == LEAT_DTYPE_NONE || other == *dtype)
        return true;
    if (*dtype == LEAT_DTYPE_NONE) {
        *dtype = other;
        return true;
    }
    if ((*dtype != LEAT_DTYPE_INT64 && *dtype != LEAT_DTYPE_FLOAT64) ||
        (other != LEAT_DTYPE_INT64 && other != LEAT_DTYPE_FLOAT64))
        return false;
    *dtype = LEAT_DTYPE_FLOAT64;
    return true;
}

/* Widens *dtype so that it holds the items of an array. False: they cannot be a field. */
static bool widen_items(enum leat_dtype *dtype, struct leat_json_node array) {
    struct leat_json_iterator iterator;
    struct leat_json_node item;

    leat_json_iterate(array, &iterator);
    while (leat_json_next(&iterator, &item)) {
        enum leat_dtype other = dtype_of(leat_json_kind(item));
        if (other == LEAT_DTYPE_NONE || other == LEAT_DTYPE_TEXT || !widen(dtype, other))
            return false;
    }
    return true;
}

/* Describes what a field was before. */
static const char *former(const struct leat_jsonl_field *field, char *buffer, size_t size) {
    if (field->is_unusable)
        return "something else";
    (void)snprintf(buffer, size, "%s%s", leat_dtype_name(field->dtype), field->is_list ? "[]" : "");
    return field->dtype == LEAT_DTYPE_NONE ? "an array" : buffer;
}

static int varies(const struct leat_jsonl_field *field, const char *what, struct leat_error *err) {
    char buffer[32];

    return leat_error_set(err, -EINVAL,
                          "field \"%s\" is %s here, but %s in an earlier record: in `fields`, "
                          "declare the fields that you want",
                          field->name, what, former(field, buffer, sizeof(buffer)));
}

static bool begins_with_text(struct leat_json_node array) {
    struct leat_json_iterator iterator;
    struct leat_json_node item;

    leat_json_iterate(array, &iterator);
    return leat_json_next(&iterator, &item) && leat_json_kind(item) == LEAT_JSON_STRING;
}

static int infer_list(struct leat_jsonl_field *field, struct leat_json_node array,
                      struct leat_error *err) {
    enum leat_dtype dtype = field->dtype;

    if (field->is_unusable)
        return 0;
    if (dtype != LEAT_DTYPE_NONE && !field->is_list)
        return varies(field, "an array", err);
    if (!widen_items(&dtype, array)) {
        if (field->dtype != LEAT_DTYPE_NONE)
            return varies(field, "an array of other values", err);
        field->is_unusable = field->is_left_out = true;
        field->has_texts = begins_with_text(array);
        return 0;
    }
    field->dtype = dtype;
    field->is_list = true;
    return 0;
}

static int infer_value(struct leat_jsonl_field *field, struct leat_json_node value,
                       struct leat_error *err) {
    enum leat_json_kind kind = leat_json_kind(value);

    if (kind == LEAT_JSON_NULL)
        return 0;
    if (kind == LEAT_JSON_ARRAY)
        return infer_list(field, value, err);
    if (field->is_unusable || field->is_list || !widen(&field->dtype, dtype_of(kind)))
        return varies(field, leat_json_kind_name(kind), err);
    return 0;
}

static int infer_object(struct leat_jsonl_fields *fields, uint32_t node, const char *prefix,
                        int depth, struct leat_json_node object, struct leat_error *err);

/* Infers from a member called `name`; names that no field can have are skipped. */
static int infer_member(struct leat_jsonl_fields *fields, uint32_t parent, const char *key,
                        size_t n_key, const char *name, int depth, struct leat_json_node value,
                        struct leat_error *err) {
    bool is_object = leat_json_kind(value) == LEAT_JSON_OBJECT;
    struct leat_jsonl_field *field;
    uint32_t node;

    if (fields->n_fields > LEAT_FIELDS_MAX)
        return leat_error_set(
            err, -E2BIG,
            "there are more than %d fields: in `fields`, declare the fields that you want",
            LEAT_FIELDS_MAX);
    if (ensure_child(fields, parent, key, n_key, &node) < 0)
        return leat_error_oom(err);
    if (is_object && fields->nodes[node].field < 0)
        return infer_object(fields, node, name, depth + 1, value, err);
    if (fields->nodes[node].field < 0 && fields->nodes[node].first_child) {
        struct leat_jsonl_field object_field = {.is_unusable = true};
        if (leat_json_kind(value) == LEAT_JSON_NULL)
            return 0;
        (void)snprintf(object_field.name, sizeof(object_field.name), "%s", name);
        return varies(&object_field, leat_json_kind_name(leat_json_kind(value)), err);
    }
    if (fields->nodes[node].field < 0 && add_field(fields, node, name, &field) < 0)
        return leat_error_oom(err);
    field = &fields->fields[fields->nodes[node].field];
    if (!is_object)
        return infer_value(field, value, err);
    if (field->dtype != LEAT_DTYPE_NONE || field->is_list)
        return varies(field, "an object", err);
    field->is_unusable = true; /* it was null so far */
    return infer_object(fields, node, name, depth + 1, value, err);
}

static int infer_object(struct leat_jsonl_fields *fields, uint32_t node, const char *prefix,
                        int depth, struct leat_json_node object, struct leat_error *err) {
    char name[LEAT_NAME_MAX + 1];
    struct leat_json_iterator iterator;
    struct leat_json_node value;
    const char *key;
    size_t n_key;
    int r = 0;

    leat_json_iterate(object, &iterator);
    while (r == 0 && leat_json_next_member(&iterator, &key, &n_key, &value)) {
        size_t n_name = strlen(prefix) + (prefix[0] != '\0') + n_key;
        if (n_key == 0 || strlen(key) != n_key || n_name > LEAT_NAME_MAX ||
            depth >= LEAT_JSONL_PATH_MAX)
            continue;
        (void)snprintf(name, sizeof(name), "%s%s%s", prefix, prefix[0] ? "." : "", key);
        r = infer_member(fields, node, key, n_key, name, depth, value, err);
    }
    return r;
}

int leat_jsonl_fields_infer(struct leat_jsonl_fields *fields, struct leat_json_node record,
                            struct leat_error *err) {
    if (ensure_root(fields) < 0)
        return leat_error_oom(err);
    return infer_object(fields, 0, "", 0, record, err);
}

size_t leat_jsonl_fields_n_known(const struct leat_jsonl_fields *fields) {
    size_t n = fields->n_nodes + fields->n_fields;

    for (uint32_t i = 0; i < fields->n_fields; i++) {
        const struct leat_jsonl_field *field = &fields->fields[i];

        n += (size_t)field->is_list + field->is_unusable + field->is_left_out + field->has_texts;
        n += field->dtype != LEAT_DTYPE_NONE;
        n += field->dtype == LEAT_DTYPE_FLOAT64;
    }
    return n;
}

/* ---- values of a record ---- */

int leat_jsonl_values_init(struct leat_jsonl_values *values, const struct leat_jsonl_fields *fields,
                           struct leat_arena *arena) {
    *values = (struct leat_jsonl_values){
        .fields = fields,
        .values = leat_arena_alloc(arena, fields->n_fields * sizeof(*values->values)),
        .ranges = leat_arena_alloc(arena, fields->n_fields * sizeof(*values->ranges)),
        .value_stamps = leat_arena_alloc(arena, fields->n_fields * sizeof(uint32_t)),
        .node_stamps = leat_arena_alloc(arena, fields->n_nodes * sizeof(uint32_t)),
    };
    if (!values->values || !values->ranges || !values->value_stamps || !values->node_stamps)
        return -ENOMEM;
    memset(values->value_stamps, 0, fields->n_fields * sizeof(uint32_t));
    memset(values->node_stamps, 0, fields->n_nodes * sizeof(uint32_t));
    return 0;
}

/* A key is repeated: forgets what was found below it. */
static void forget(struct leat_jsonl_values *values, uint32_t node) {
    const struct leat_jsonl_node *nodes = values->fields->nodes;

    for (uint32_t child = nodes[node].first_child; child; child = nodes[child].next) {
        values->node_stamps[child] = 0;
        if (nodes[child].field >= 0)
            values->value_stamps[nodes[child].field] = 0;
        forget(values, child);
    }
}

/* A walk over a record's parsed values and, in step, over its bytes. */
struct search {
    struct leat_jsonl_values *values;
    const uint8_t *bytes;
    const uint8_t *at; /* NULL: no field needs the place of its value */
};

static void find_members(struct search *search, uint32_t node, struct leat_json_node object);

static void take_value(struct search *search, uint32_t node, struct leat_json_node value) {
    struct leat_jsonl_values *values = search->values;
    const struct leat_jsonl_node *key = &values->fields->nodes[node];
    const uint8_t *start = search->at;

    if (key->first_child && values->node_stamps[node] == values->stamp)
        forget(values, node);
    values->node_stamps[node] = values->stamp;
    if (key->field >= 0) {
        values->values[key->field] = value;
        values->value_stamps[key->field] = values->stamp;
    }
    if (key->first_child && leat_json_kind(value) == LEAT_JSON_OBJECT)
        find_members(search, node, value);
    else if (search->at)
        search->at = leat_json_skip_value(search->at);
    if (key->field >= 0 && search->at)
        values->ranges[key->field] = (struct leat_range){(uint32_t)(start - search->bytes),
                                                         (uint32_t)(search->at - search->bytes)};
}

/* Finds the node of a key, beginning behind the last one found. 0: there is no such field. */
static uint32_t node_of(const struct leat_jsonl_fields *fields, uint32_t first, uint32_t next,
                        const char *key, size_t n_key) {
    uint32_t child = find_child(fields, next, 0, key, n_key);

    return child ? child : find_child(fields, first, next, key, n_key);
}

static void find_members(struct search *search, uint32_t node, struct leat_json_node object) {
    const struct leat_jsonl_fields *fields = search->values->fields;
    uint32_t first = fields->nodes[node].first_child, next = first, child;
    struct leat_json_iterator iterator;
    struct leat_json_node value;
    const char *key;
    size_t n_key;

    leat_json_iterate(object, &iterator);
    if (search->at)
        search->at = leat_json_skip_mark(search->at, '{');
    while (leat_json_next_member(&iterator, &key, &n_key, &value)) {
        if (search->at)
            search->at = leat_json_skip_key(search->at);
        child = node_of(fields, first, next, key, n_key);
        if (child) {
            take_value(search, child, value);
            next = fields->nodes[child].next;
        } else if (search->at) {
            search->at = leat_json_skip_value(search->at);
        }
        if (search->at)
            search->at = leat_json_skip_mark(search->at, ',');
    }
    if (search->at)
        search->at = leat_json_skip_mark(search->at, '}');
}

void leat_jsonl_values_find(struct leat_jsonl_values *values, struct leat_json_node record,
                            const uint8_t *bytes) {
    struct search search = {.values = values, .bytes = bytes};

    values->stamp++;
    if (values->fields->has_json)
        search.at = bytes;
    find_members(&search, 0, record);
}

struct leat_range leat_jsonl_values_locate(struct leat_jsonl_values *values,
                                           struct leat_json_node record, const uint8_t *bytes,
                                           uint32_t field) {
    struct search search = {.values = values, .bytes = bytes, .at = bytes};

    find_members(&search, 0, record);
    return values->ranges[field];
}

const struct leat_json_node *leat_jsonl_values_get(const struct leat_jsonl_values *values,
                                                   uint32_t field) {
    if (values->value_stamps[field] != values->stamp ||
        leat_json_kind(values->values[field]) == LEAT_JSON_NULL)
        return NULL;
    return &values->values[field];
}
