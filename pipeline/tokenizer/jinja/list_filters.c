/* list_filters.c: the filters that go through lists. */
#include <string.h>

#include "pipeline/tokenizer/jinja/render.h"
#include "pipeline/tokenizer/jinja/strings.h"

static LEAT_JINJA_BUILTIN(filter_list) {
    const struct leat_jinja_list *items;
    int r = leat_jinja_items(render, self, &items);

    return r < 0
               ? r
               : leat_jinja_list_value(render, LEAT_JINJA_LIST, items->items, items->n_items, ret);
}

static LEAT_JINJA_BUILTIN(filter_first) {
    const struct leat_jinja_list *items;
    int r = leat_jinja_items(render, self, &items);

    if (r == 0)
        *ret = items->n_items ? items->items[0] : leat_jinja_undefined("the first item", 14);
    return r;
}

static LEAT_JINJA_BUILTIN(filter_last) {
    const struct leat_jinja_list *items;
    int r;

    if (self->kind == LEAT_JINJA_ITERATOR)
        return leat_jinja_fail(render, "a generator has no last item");
    r = leat_jinja_items(render, self, &items);
    if (r == 0)
        *ret = items->n_items ? items->items[items->n_items - 1]
                              : leat_jinja_undefined("the last item", 13);
    return r;
}

static LEAT_JINJA_BUILTIN(filter_join) {
    struct leat_jinja_value separator = leat_jinja_string("", 0), item;
    size_t n_before = render->scratch.n_bytes;
    const struct leat_jinja_list *items;
    int r = leat_jinja_items(render, self, &items);

    if (r == 0 && leat_jinja_is_given(&arguments[0]))
        r = leat_jinja_to_string(render, &arguments[0], &separator);
    for (size_t i = 0; r == 0 && i < items->n_items; i++) {
        if (i > 0)
            r = leat_jinja_add_str(render, &render->scratch, &separator);
        if (r == 0)
            r = leat_jinja_path(render, &items->items[i], &arguments[1], NULL, &item);
        if (r == 0)
            r = leat_jinja_add_str(render, &render->scratch, &item);
    }
    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}

static LEAT_JINJA_BUILTIN(filter_reverse) {
    const struct leat_jinja_list *items;
    size_t n_before = render->scratch.n_bytes;
    int r = leat_jinja_items(render, self, &items);

    if (r < 0)
        return r;
    if (self->kind == LEAT_JINJA_STRING) {
        for (size_t i = items->n_items; i > 0; i--)
            leat_text_add_bytes(&render->scratch, items->items[i - 1].text,
                                items->items[i - 1].n_bytes);
        return leat_jinja_take_scratch(render, n_before, ret);
    }
    r = leat_jinja_list_value(render, LEAT_JINJA_ITERATOR, items->items, items->n_items, ret);
    for (size_t i = 0; r == 0 && i < items->n_items; i++)
        ret->list->items[i] = items->items[items->n_items - 1 - i];
    return r;
}

/* Returns the key that a sort compares: an attribute, in lower case unless case counts. */
static int sort_key(struct leat_jinja_render *render, const struct leat_jinja_value *item,
                    const struct leat_jinja_value *attribute, bool is_case_sensitive,
                    struct leat_jinja_value *ret) {
    int r = leat_jinja_path(render, item, attribute, NULL, ret);

    if (r == 0 && !is_case_sensitive && ret->kind == LEAT_JINJA_STRING)
        r = leat_jinja_change_case(render, ret, NULL, NULL, LEAT_JINJA_LOWER, ret);
    return r;
}

struct sort {
    struct leat_jinja_render *render;
    struct leat_jinja_value *items, *keys, *spare_items, *spare_keys;
    bool is_reverse;
    bool has_equal; /* keys that are equal need no order, such as None */
};

static int compare_keys(const struct sort *sort, const struct leat_jinja_value *a,
                        const struct leat_jinja_value *b, int *ret_order) {
    struct leat_jinja_render *render = sort->render;
    bool is_equal = false;
    int r = 0;

    if (sort->has_equal && !leat_jinja_is_number(a) && a->kind != LEAT_JINJA_STRING)
        r = leat_jinja_equal(&render->heap, a, b, &is_equal, render->err);
    *ret_order = 0;
    if (r == 0 && !is_equal)
        r = leat_jinja_compare(&render->heap, a, b, ret_order, render->err);
    if (r == 0 && *ret_order == 2)
        r = leat_jinja_fail(render, "NaN cannot be sorted");
    return r;
}

/* A stable merge sort of [from, to). */
static int merge_sort(struct sort *sort, size_t from, size_t to) {
    size_t middle = from + (to - from) / 2, a = from, b = middle, n = from;
    int r = 0, order = 0;

    if (to - from < 2)
        return 0;
    r = merge_sort(sort, from, middle);
    if (r == 0)
        r = merge_sort(sort, middle, to);
    while (r == 0 && n < to) {
        size_t take;

        if (a < middle && b < to)
            r = compare_keys(sort, &sort->keys[b], &sort->keys[a], &order);
        take = b == to || (a < middle && order != (sort->is_reverse ? 1 : -1)) ? a++ : b++;
        sort->spare_items[n] = sort->items[take];
        sort->spare_keys[n++] = sort->keys[take];
    }
    memcpy(sort->items + from, sort->spare_items + from, (n - from) * sizeof(*sort->items));
    memcpy(sort->keys + from, sort->spare_keys + from, (n - from) * sizeof(*sort->keys));
    return r;
}

static int sort_items(struct leat_jinja_render *render, struct leat_jinja_value *items,
                      struct leat_jinja_value *keys, size_t n_items, bool is_reverse,
                      bool has_equal) {
    struct leat_jinja_value *spare =
        leat_jinja_heap_alloc(&render->heap, 2 * n_items * sizeof(*spare));
    struct sort sort = {.render = render,
                        .items = items,
                        .keys = keys,
                        .is_reverse = is_reverse,
                        .has_equal = has_equal};

    if (!spare)
        return leat_jinja_fail_memory(render);
    sort.spare_items = spare;
    sort.spare_keys = spare + n_items;
    return merge_sort(&sort, 0, n_items);
}

static LEAT_JINJA_BUILTIN(filter_sort) {
    const struct leat_jinja_list *items;
    struct leat_jinja_value *keys;
    int r = leat_jinja_items(render, self, &items);

    if (r == 0)
        r = leat_jinja_list_value(render, LEAT_JINJA_LIST, items->items, items->n_items, ret);
    if (r < 0)
        return r;
    keys = leat_jinja_heap_alloc(&render->heap, items->n_items * sizeof(*keys));
    if (!keys)
        return leat_jinja_fail_memory(render);
    for (size_t i = 0; r == 0 && i < items->n_items; i++)
        r = sort_key(render, &items->items[i], &arguments[2], leat_jinja_is_true(&arguments[1]),
                     &keys[i]);
    return r < 0 ? r
                 : sort_items(render, ret->list->items, keys, items->n_items,
                              leat_jinja_is_true(&arguments[0]), true);
}

static LEAT_JINJA_BUILTIN(filter_dictsort) {
    bool by_value =
        leat_jinja_is_given(&arguments[1]) && leat_jinja_equals_text(&arguments[1], "value", 5);
    struct leat_jinja_value *keys;
    struct leat_jinja_list *list;
    int r = 0;

    if (self->kind != LEAT_JINJA_DICT)
        return leat_jinja_fail(render, "\"dictsort\" sorts a dict, not %s",
                               leat_jinja_kind_name(self));
    if (leat_jinja_is_given(&arguments[1]) && !by_value &&
        !leat_jinja_equals_text(&arguments[1], "key", 3))
        return leat_jinja_fail(render, "\"dictsort\" sorts by \"key\" or \"value\"");
    keys = leat_jinja_heap_alloc(&render->heap, self->dict->n_pairs * sizeof(*keys));
    if (!keys)
        return leat_jinja_fail_memory(render);
    r = leat_jinja_pairs(render, self->dict, &list);
    for (size_t i = 0; r == 0 && i < self->dict->n_pairs; i++)
        r = sort_key(render, by_value ? &self->dict->pairs[i].value : &self->dict->pairs[i].key,
                     &(struct leat_jinja_value){.kind = LEAT_JINJA_ABSENT},
                     leat_jinja_is_true(&arguments[0]), &keys[i]);
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_LIST, .list = list};
    return r < 0 ? r
                 : sort_items(render, list->items, keys, list->n_items,
                              leat_jinja_is_true(&arguments[2]), false);
}

static LEAT_JINJA_BUILTIN(filter_unique) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, 0), *keys;
    const struct leat_jinja_list *items;
    int r = list ? leat_jinja_items(render, self, &items) : leat_jinja_fail_memory(render);

    keys = leat_jinja_list_new(&render->heap, 0);
    if (r == 0 && !keys)
        r = leat_jinja_fail_memory(render);
    for (size_t i = 0; r == 0 && i < items->n_items; i++) {
        struct leat_jinja_value key;
        bool is_known = false;

        r = sort_key(render, &items->items[i], &arguments[1], leat_jinja_is_true(&arguments[0]),
                     &key);
        if (r == 0)
            r = leat_jinja_check_key(render, &key);
        for (size_t k = 0; r == 0 && !is_known && k < keys->n_items; k++)
            r = leat_jinja_equal(&render->heap, &key, &keys->items[k], &is_known, render->err);
        if (r == 0 && !is_known &&
            (!leat_jinja_list_add(&render->heap, keys, key) ||
             !leat_jinja_list_add(&render->heap, list, items->items[i])))
            r = leat_jinja_fail_memory(render);
    }
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_ITERATOR, .list = list};
    return r;
}

/* variant: whether it is the greatest. */
static LEAT_JINJA_BUILTIN(filter_extreme) {
    const struct leat_jinja_list *items;
    struct leat_jinja_value best, key;
    int order = 0, wanted = variant ? 1 : -1, r = leat_jinja_items(render, self, &items);

    *ret = leat_jinja_undefined("an item of an empty list", 24);
    for (size_t i = 0; r == 0 && i < items->n_items; i++) {
        r = sort_key(render, &items->items[i], &arguments[1], leat_jinja_is_true(&arguments[0]),
                     &key);
        if (r == 0 && i > 0)
            r = leat_jinja_compare(&render->heap, &key, &best, &order, render->err);
        if (r == 0 && (i == 0 || order == wanted)) {
            best = key;
            *ret = items->items[i];
        }
    }
    return r;
}

static LEAT_JINJA_BUILTIN(filter_batch) {
    const struct leat_jinja_list *items;
    struct leat_jinja_list *rows = leat_jinja_list_new(&render->heap, 0);
    int64_t n = leat_jinja_is_integral(&arguments[0]) ? leat_jinja_integer(&arguments[0]) : 0;
    int r = rows ? leat_jinja_items(render, self, &items) : leat_jinja_fail_memory(render);

    if (r == 0 && (n < 1 || n > 100000))
        r = leat_jinja_fail(render, "\"batch\" takes a number from 1 to 100000");
    for (size_t i = 0; r == 0 && i < items->n_items; i += (size_t)n) {
        size_t n_row = items->n_items - i < (size_t)n ? items->n_items - i : (size_t)n;
        struct leat_jinja_value row;

        r = leat_jinja_list_value(render, LEAT_JINJA_LIST, items->items + i, n_row, &row);
        while (r == 0 && leat_jinja_is_given(&arguments[1]) &&
               arguments[1].kind != LEAT_JINJA_NONE && row.list->n_items < (size_t)n)
            if (!leat_jinja_list_add(&render->heap, row.list, arguments[1]))
                r = leat_jinja_fail_memory(render);
        if (r == 0 && !leat_jinja_list_add(&render->heap, rows, row))
            r = leat_jinja_fail_memory(render);
    }
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_ITERATOR, .list = rows};
    return r;
}

/* The arguments behind the first n. */
static struct leat_jinja_arguments rest(const struct leat_jinja_arguments *all, size_t n) {
    struct leat_jinja_arguments arguments = *all;

    n = n < all->n_items ? n : all->n_items;
    if (n > 0) /* else there may be no items */
        arguments.items += n;
    arguments.n_items -= n;
    return arguments;
}

static const struct leat_jinja_value *keyword_of(const struct leat_jinja_arguments *all,
                                                 const char *name) {
    for (size_t i = 0; i < all->n_keywords; i++)
        if (leat_jinja_equals_text(&all->keywords[i].name, name, strlen(name)))
            return &all->keywords[i].value;
    return NULL;
}

/* map('filter', ...) or map(attribute='name', default=...). */
static int map_item(struct leat_jinja_render *render, const struct leat_jinja_value *item,
                    const struct leat_jinja_builtin *filter, const struct leat_jinja_arguments *all,
                    struct leat_jinja_value *ret) {
    const struct leat_jinja_value *attribute = keyword_of(all, "attribute");
    const struct leat_jinja_value *fallback = keyword_of(all, "default");
    struct leat_jinja_arguments arguments;

    if (filter) {
        int r = leat_jinja_check_filter(render, filter, item);

        arguments = rest(all, 1);
        return r < 0 ? r : leat_jinja_builtin_call(render, filter, item, &arguments, ret);
    }
    return leat_jinja_path(render, item, attribute, fallback, ret);
}

/* Returns the items for `map` and `select`. A false value, such as None, has no items there. */
static int items_or_none(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                         const struct leat_jinja_list **ret_items) {
    static const struct leat_jinja_value nothing = {.kind = LEAT_JINJA_UNDEFINED};

    return leat_jinja_items(render, leat_jinja_is_true(value) ? value : &nothing, ret_items);
}

static LEAT_JINJA_BUILTIN(filter_map) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, 0);
    const struct leat_jinja_builtin *filter = NULL;
    const struct leat_jinja_list *items;
    int r = list ? 0 : leat_jinja_fail_memory(render);

    if (r == 0 && all->n_items == 0 && all->n_keywords > 1 + (keyword_of(all, "default") != NULL))
        r = leat_jinja_fail(render, "\"map\" without a filter takes only the arguments `attribute` "
                                    "and `default`");
    if (r == 0 && all->n_items == 0 && !keyword_of(all, "attribute"))
        r = leat_jinja_fail(render, "\"map\" needs a filter or an attribute");
    if (r == 0 && all->n_items > 0) {
        filter = all->items[0].kind == LEAT_JINJA_STRING
                     ? leat_jinja_filter_find(all->items[0].text, all->items[0].n_bytes)
                     : NULL;
        if (!filter)
            r = leat_jinja_fail(render, "the filter of \"map\" is unknown or not supported");
    }
    if (r == 0)
        r = items_or_none(render, self, &items);
    for (size_t i = 0; r == 0 && i < items->n_items; i++) {
        struct leat_jinja_value value;

        r = map_item(render, &items->items[i], filter, all, &value);
        if (r == 0 && !leat_jinja_list_add(&render->heap, list, value))
            r = leat_jinja_fail_memory(render);
    }
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_ITERATOR, .list = list};
    return r;
}

enum { SELECTS = 1, HAS_ATTRIBUTE = 2 }; /* variants of filter_choose */

/* select, reject, selectattr and rejectattr: with an attribute, which is the first argument, or
 * without; a test and its arguments follow. */
static LEAT_JINJA_BUILTIN(filter_choose) {
    bool has_attribute = variant & HAS_ATTRIBUTE, selects = variant & SELECTS;
    struct leat_jinja_value attribute = {.kind = LEAT_JINJA_ABSENT}, value;
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, 0);
    struct leat_jinja_arguments tested = rest(all, has_attribute + 1U);
    const struct leat_jinja_value *name;
    const struct leat_jinja_builtin *test = NULL;
    const struct leat_jinja_list *items;
    int r = list ? 0 : leat_jinja_fail_memory(render);

    if (r == 0 && has_attribute && all->n_items == 0)
        r = leat_jinja_fail(render, "\"%s\" needs the name of an attribute",
                            selects ? "selectattr" : "rejectattr");
    if (r < 0)
        return r;
    if (has_attribute)
        attribute = all->items[0];
    if (all->n_items > (size_t)has_attribute) {
        name = &all->items[has_attribute];
        if (name->kind == LEAT_JINJA_STRING)
            test = leat_jinja_test_find(name->text, name->n_bytes);
        if (!test)
            return leat_jinja_fail(render, "the test is unknown or not supported");
    }
    r = items_or_none(render, self, &items);
    for (size_t i = 0; r == 0 && i < items->n_items; i++) {
        r = leat_jinja_path(render, &items->items[i], &attribute, NULL, &value);
        if (r == 0 && test)
            r = leat_jinja_builtin_call(render, test, &value, &tested, &value);
        if (r == 0 && leat_jinja_is_true(&value) == selects &&
            !leat_jinja_list_add(&render->heap, list, items->items[i]))
            r = leat_jinja_fail_memory(render);
    }
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_ITERATOR, .list = list};
    return r;
}

#define PLAIN(filter_name, function)                                                               \
    { .name = (filter_name), .call = (function) }
#define CHOICE(filter_name, choice)                                                                \
    { .name = (filter_name), .takes_any = true, .call = filter_choose, .variant = (choice) }
#define EXTREME(filter_name, is_greatest)                                                          \
    {                                                                                              \
        .name = (filter_name), .names = {"case_sensitive", "attribute"}, .call = filter_extreme,   \
        .variant = (is_greatest)                                                                   \
    }

const struct leat_jinja_builtin leat_jinja_list_filters[] = {
    PLAIN("first", filter_first),
    PLAIN("last", filter_last),
    PLAIN("list", filter_list),
    PLAIN("reverse", filter_reverse),
    {.name = "map", .takes_any = true, .call = filter_map},
    CHOICE("reject", 0),
    CHOICE("rejectattr", HAS_ATTRIBUTE),
    CHOICE("select", SELECTS),
    CHOICE("selectattr", SELECTS | HAS_ATTRIBUTE),
    EXTREME("max", true),
    EXTREME("min", false),
    {.name = "batch", .names = {"linecount", "fill_with"}, .n_required = 1, .call = filter_batch},
    {.name = "dictsort", .names = {"case_sensitive", "by", "reverse"}, .call = filter_dictsort},
    {.name = "join", .names = {"d", "attribute"}, .call = filter_join},
    {.name = "sort", .names = {"reverse", "case_sensitive", "attribute"}, .call = filter_sort},
    {.name = "unique", .names = {"case_sensitive", "attribute"}, .call = filter_unique},
    {.name = NULL},
};
