/* value.c: see value.h. Depth is bounded by whoever builds a tree from foreign bytes, so recursion
 * here is too. Keys are found by bisection: a stranger's map of LEAT_VALUE_MAX_NODES keys must not
 * cost their square, and there is no hash whose collisions he could choose. */
#include "proto/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void leat_value_deinit(struct leat_value *value) {
    for (size_t i = 0; i < value->n_items; i++) {
        leat_value_deinit(&value->items[i]);
        if (value->keys)
            free(value->keys[i].name);
    }
    free(value->items);
    free(value->keys);
    free(value->sorted);
    free(value->text);
    *value = (struct leat_value){.kind = LEAT_VALUE_NULL};
}

int leat_value_set_text(struct leat_value *value, const char *text, bool is_quoted) {
    char *copy = strdup(text);

    if (!copy)
        return -ENOMEM;
    value->kind = LEAT_VALUE_SCALAR;
    value->is_quoted = is_quoted;
    value->text = copy;
    return 0;
}

/* Room for one more item: capacities are powers of two, so that growth needs no field of its own.
 */
static int grow_array(void **array, size_t n_items, size_t item_size) {
    void *larger;

    if (n_items != 0 && (n_items & (n_items - 1)) != 0)
        return 0;
    larger = reallocarray(*array, n_items ? n_items * 2 : 1, item_size);
    if (!larger)
        return -ENOMEM;
    *array = larger;
    return 0;
}

int leat_value_append(struct leat_value *list, struct leat_value **ret_item) {
    void *items = list->items;
    int r = grow_array(&items, list->n_items, sizeof(*list->items));

    if (r < 0)
        return r;
    list->items = items;
    list->kind = LEAT_VALUE_LIST;
    *ret_item = &list->items[list->n_items++];
    **ret_item = (struct leat_value){.kind = LEAT_VALUE_NULL};
    return 0;
}

/* Where `name` is or would be in the order of names. */
static size_t position_of(const struct leat_value *map, const char *name) {
    size_t low = 0, high = map->n_items;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(map->keys[map->sorted[middle]].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct leat_value *map, size_t position, const char *name) {
    return position < map->n_items && strcmp(map->keys[map->sorted[position]].name, name) == 0;
}

static int grow_map(struct leat_value *map) {
    void *items = map->items, *keys = map->keys, *sorted = map->sorted;
    int r = grow_array(&keys, map->n_items, sizeof(*map->keys));

    map->keys = keys;
    if (r == 0)
        r = grow_array(&items, map->n_items, sizeof(*map->items));
    map->items = items;
    if (r == 0)
        r = grow_array(&sorted, map->n_items, sizeof(*map->sorted));
    map->sorted = sorted;
    return r;
}

int leat_value_insert(struct leat_value *map, const char *name, struct leat_value **ret_item) {
    size_t position = position_of(map, name);
    char *copy;
    int r;

    if (is_at(map, position, name))
        return -EEXIST;
    r = grow_map(map);
    if (r < 0)
        return r;
    copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    map->kind = LEAT_VALUE_MAP;
    memmove(map->sorted + position + 1, map->sorted + position,
            (map->n_items - position) * sizeof(*map->sorted));
    map->sorted[position] = (uint32_t)map->n_items;
    map->keys[map->n_items] = (struct leat_value_key){.name = copy};
    *ret_item = &map->items[map->n_items++];
    **ret_item = (struct leat_value){.kind = LEAT_VALUE_NULL};
    return 0;
}

int leat_value_insert_at(struct leat_value *map, const char *name, uint32_t line, uint32_t column,
                         struct leat_value **ret_item) {
    int r = leat_value_insert(map, name, ret_item);

    if (r == 0) {
        map->keys[map->n_items - 1].line = line;
        map->keys[map->n_items - 1].column = column;
    }
    return r;
}

struct leat_value *leat_value_get(const struct leat_value *map, const char *name) {
    size_t position;

    if (map->kind != LEAT_VALUE_MAP)
        return NULL;
    position = position_of(map, name);
    return is_at(map, position, name) ? &map->items[map->sorted[position]] : NULL;
}

bool leat_value_named_args(const struct leat_value *item, bool with_stages,
                           struct leat_named_args *ret_named) {
    static const struct leat_value none = {.kind = LEAT_VALUE_NULL};
    const struct leat_value *stages = with_stages ? leat_value_get(item, "stages") : NULL;
    size_t i = stages && stages == item->items;

    *ret_named = (struct leat_named_args){
        .name = "", .args = &none, .line = item->line, .column = item->column};
    if (item->kind == LEAT_VALUE_SCALAR) {
        ret_named->name = item->text;
        return true;
    }
    if (item->kind != LEAT_VALUE_MAP || item->n_items != (stages ? 2 : 1))
        return false;
    *ret_named = (struct leat_named_args){item->keys[i].name, &item->items[i], item->keys[i].line,
                                          item->keys[i].column};
    return true;
}

static int copy_items(struct leat_value *target, const struct leat_value *source) {
    for (size_t i = 0; i < source->n_items; i++) {
        struct leat_value *item;
        int r;

        if (source->kind == LEAT_VALUE_MAP)
            r = leat_value_insert_at(target, source->keys[i].name, source->keys[i].line,
                                     source->keys[i].column, &item);
        else
            r = leat_value_append(target, &item);
        if (r == 0)
            r = leat_value_copy(item, &source->items[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int leat_value_copy(struct leat_value *target, const struct leat_value *source) {
    int r = 0;

    *target =
        (struct leat_value){.kind = source->kind, .line = source->line, .column = source->column};
    if (source->kind == LEAT_VALUE_SCALAR)
        r = leat_value_set_text(target, source->text, source->is_quoted);
    else
        r = copy_items(target, source);
    if (r < 0)
        leat_value_deinit(target);
    return r;
}

static bool has_equal_items(const struct leat_value *a, const struct leat_value *b) {
    for (size_t i = 0; i < a->n_items; i++) {
        const struct leat_value *other =
            a->kind == LEAT_VALUE_MAP ? leat_value_get(b, a->keys[i].name) : &b->items[i];

        if (!other || !leat_value_equal(&a->items[i], other))
            return false;
    }
    return true;
}

bool leat_value_equal(const struct leat_value *a, const struct leat_value *b) {
    if (a->kind != b->kind || a->n_items != b->n_items)
        return false;
    if (a->kind == LEAT_VALUE_SCALAR)
        return a->is_quoted == b->is_quoted && strcmp(a->text, b->text) == 0;
    return has_equal_items(a, b);
}
