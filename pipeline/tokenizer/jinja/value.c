#include "pipeline/tokenizer/jinja/value.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "proto/base/utf8.h"

const char *leat_jinja_kind_name(const struct leat_jinja_value *value) {
    static const char *const names[] = {
        [LEAT_JINJA_UNDEFINED] = "undefined", [LEAT_JINJA_NONE] = "None",
        [LEAT_JINJA_BOOL] = "bool",           [LEAT_JINJA_INT] = "int",
        [LEAT_JINJA_FLOAT] = "float",         [LEAT_JINJA_STRING] = "str",
        [LEAT_JINJA_LIST] = "list",           [LEAT_JINJA_TUPLE] = "tuple",
        [LEAT_JINJA_DICT] = "dict",           [LEAT_JINJA_VIEW] = "dict view",
        [LEAT_JINJA_ITERATOR] = "generator",  [LEAT_JINJA_RANGE] = "range",
        [LEAT_JINJA_NAMESPACE] = "namespace", [LEAT_JINJA_CYCLER] = "cycler",
        [LEAT_JINJA_JOINER] = "joiner",       [LEAT_JINJA_LOOP] = "loop",
        [LEAT_JINJA_MACRO] = "macro",         [LEAT_JINJA_FUNCTION] = "function",
        [LEAT_JINJA_METHOD] = "method",       [LEAT_JINJA_ABSENT] = "no value",
    };

    return names[value->kind];
}

bool leat_jinja_is_true(const struct leat_jinja_value *value) {
    switch (value->kind) {
    case LEAT_JINJA_UNDEFINED:
    case LEAT_JINJA_NONE:
    case LEAT_JINJA_ABSENT:
        return false;
    case LEAT_JINJA_BOOL:
        return value->boolean;
    case LEAT_JINJA_INT:
        return value->integer != 0;
    case LEAT_JINJA_FLOAT:
        return value->number != 0;
    case LEAT_JINJA_STRING:
        return value->n_bytes > 0;
    case LEAT_JINJA_LIST:
    case LEAT_JINJA_TUPLE:
    case LEAT_JINJA_VIEW:
    case LEAT_JINJA_RANGE:
        return value->list->n_items > 0;
    case LEAT_JINJA_DICT:
        return value->dict->n_pairs > 0;
    default:
        return true;
    }
}

bool leat_jinja_is_ascii(const char *text, size_t n_bytes) {
    unsigned char all = 0;

    for (size_t i = 0; i < n_bytes; i++)
        all |= (unsigned char)text[i];
    return all < 0x80;
}

size_t leat_jinja_n_characters(const char *text, size_t n_bytes) {
    size_t n = 0;

    for (size_t i = 0; i < n_bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

struct leat_jinja_list *leat_jinja_list_new(struct leat_jinja_heap *heap, size_t capacity) {
    struct leat_jinja_list *list = leat_jinja_heap_alloc(heap, sizeof(*list));

    if (!list)
        return NULL;
    *list = (struct leat_jinja_list){.capacity = capacity};
    if (capacity) {
        list->items = leat_jinja_heap_alloc(heap, capacity * sizeof(*list->items));
        if (!list->items)
            return NULL;
    }
    return list;
}

bool leat_jinja_list_add(struct leat_jinja_heap *heap, struct leat_jinja_list *list,
                         struct leat_jinja_value item) {
    if (!leat_jinja_heap_grow(heap, &list->items, sizeof(*list->items), list->n_items,
                              &list->capacity))
        return false;
    list->items[list->n_items++] = item;
    return true;
}

struct leat_jinja_dict *leat_jinja_dict_new(struct leat_jinja_heap *heap, size_t capacity) {
    struct leat_jinja_dict *dict = leat_jinja_heap_alloc(heap, sizeof(*dict));

    if (!dict)
        return NULL;
    *dict = (struct leat_jinja_dict){.capacity = capacity};
    if (capacity) {
        dict->pairs = leat_jinja_heap_alloc(heap, capacity * sizeof(*dict->pairs));
        if (!dict->pairs)
            return NULL;
    }
    return dict;
}

/* Keys are texts, numbers and None (leat_jinja_can_be_key()). Other values are never found. */
static bool key_equals(const struct leat_jinja_value *a, const struct leat_jinja_value *b) {
    if (a->kind == LEAT_JINJA_STRING && b->kind == LEAT_JINJA_STRING)
        return leat_jinja_equals_text(a, b->text, b->n_bytes);
    if (leat_jinja_is_integral(a) && leat_jinja_is_integral(b))
        return leat_jinja_integer(a) == leat_jinja_integer(b);
    if (leat_jinja_is_number(a) && leat_jinja_is_number(b))
        return leat_jinja_number(a) == leat_jinja_number(b);
    return a->kind == LEAT_JINJA_NONE && b->kind == LEAT_JINJA_NONE;
}

static struct leat_jinja_pair *find_pair(const struct leat_jinja_dict *dict,
                                         const struct leat_jinja_value *key) {
    for (size_t i = 0; i < dict->n_pairs; i++)
        if (key_equals(&dict->pairs[i].key, key))
            return &dict->pairs[i];
    return NULL;
}

bool leat_jinja_dict_put(struct leat_jinja_heap *heap, struct leat_jinja_dict *dict,
                         struct leat_jinja_value key, struct leat_jinja_value value) {
    struct leat_jinja_pair *pair = find_pair(dict, &key);

    if (pair) {
        pair->value = value;
        return true;
    }
    if (!leat_jinja_heap_grow(heap, &dict->pairs, sizeof(*dict->pairs), dict->n_pairs,
                              &dict->capacity))
        return false;
    dict->pairs[dict->n_pairs++] = (struct leat_jinja_pair){.key = key, .value = value};
    return true;
}

const struct leat_jinja_value *leat_jinja_dict_find(const struct leat_jinja_dict *dict,
                                                    const struct leat_jinja_value *key) {
    const struct leat_jinja_pair *pair = find_pair(dict, key);

    return pair ? &pair->value : NULL;
}

static int items_equal(struct leat_jinja_heap *heap, const struct leat_jinja_list *a,
                       const struct leat_jinja_list *b, bool *ret_equal, struct leat_error *err) {
    int r = 0;

    *ret_equal = a->n_items == b->n_items;
    for (size_t i = 0; r == 0 && *ret_equal && i < a->n_items; i++)
        r = leat_jinja_equal(heap, &a->items[i], &b->items[i], ret_equal, err);
    return r;
}

static int dicts_equal(struct leat_jinja_heap *heap, const struct leat_jinja_dict *a,
                       const struct leat_jinja_dict *b, bool *ret_equal, struct leat_error *err) {
    int r = 0;

    *ret_equal = a->n_pairs == b->n_pairs;
    for (size_t i = 0; r == 0 && *ret_equal && i < a->n_pairs; i++) {
        const struct leat_jinja_value *other = leat_jinja_dict_find(b, &a->pairs[i].key);

        r = leat_jinja_heap_spend(heap, b->n_pairs, err);
        *ret_equal = other != NULL;
        if (r == 0 && other)
            r = leat_jinja_equal(heap, &a->pairs[i].value, other, ret_equal, err);
    }
    return r;
}

static int values_equal(struct leat_jinja_heap *heap, const struct leat_jinja_value *a,
                        const struct leat_jinja_value *b, bool *ret_equal, struct leat_error *err) {
    *ret_equal = false;
    if (leat_jinja_is_number(a) && leat_jinja_is_number(b)) {
        *ret_equal = leat_jinja_is_integral(a) && leat_jinja_is_integral(b)
                         ? leat_jinja_integer(a) == leat_jinja_integer(b)
                         : leat_jinja_number(a) == leat_jinja_number(b);
        return 0;
    }
    if (a->kind != b->kind)
        return 0;
    switch (a->kind) {
    case LEAT_JINJA_UNDEFINED:
    case LEAT_JINJA_NONE:
        *ret_equal = true;
        return 0;
    case LEAT_JINJA_STRING:
        *ret_equal = leat_jinja_equals_text(a, b->text, b->n_bytes);
        return leat_jinja_heap_spend(heap, a->n_bytes / 16, err);
    case LEAT_JINJA_LIST:
    case LEAT_JINJA_TUPLE:
    case LEAT_JINJA_RANGE:
        return items_equal(heap, a->list, b->list, ret_equal, err);
    case LEAT_JINJA_DICT:
        return dicts_equal(heap, a->dict, b->dict, ret_equal, err);
    default:
        *ret_equal = a->text == b->text; /* the same object */
        if (!*ret_equal && a->kind == LEAT_JINJA_VIEW)
            return leat_error_set(err, -EINVAL, "two dict views cannot be compared");
        return 0;
    }
}

int leat_jinja_equal(struct leat_jinja_heap *heap, const struct leat_jinja_value *a,
                     const struct leat_jinja_value *b, bool *ret_equal, struct leat_error *err) {
    int r;

    if (a->kind < LEAT_JINJA_LIST || a->kind != b->kind) /* nothing nests */
        return values_equal(heap, a, b, ret_equal, err);
    r = leat_jinja_heap_enter(heap, err);
    if (r == 0)
        r = values_equal(heap, a, b, ret_equal, err);
    leat_jinja_heap_leave(heap);
    return r;
}

static int sign(bool is_less, bool is_greater) {
    return is_less ? -1 : is_greater;
}

static int compare_numbers(const struct leat_jinja_value *a, const struct leat_jinja_value *b) {
    if (leat_jinja_is_integral(a) && leat_jinja_is_integral(b))
        return sign(leat_jinja_integer(a) < leat_jinja_integer(b),
                    leat_jinja_integer(a) > leat_jinja_integer(b));
    if (isnan(leat_jinja_number(a)) || isnan(leat_jinja_number(b)))
        return 2;
    return sign(leat_jinja_number(a) < leat_jinja_number(b),
                leat_jinja_number(a) > leat_jinja_number(b));
}

static int compare_items(struct leat_jinja_heap *heap, const struct leat_jinja_list *a,
                         const struct leat_jinja_list *b, int *ret_order, struct leat_error *err) {
    for (size_t i = 0; i < a->n_items && i < b->n_items; i++) {
        bool is_equal;
        int r = leat_jinja_equal(heap, &a->items[i], &b->items[i], &is_equal, err);

        if (r < 0)
            return r;
        if (!is_equal)
            return leat_jinja_compare(heap, &a->items[i], &b->items[i], ret_order, err);
    }
    *ret_order = sign(a->n_items<b->n_items, a->n_items> b->n_items);
    return 0;
}

/* UTF-8 orders as its code points do. */
static int compare_values(struct leat_jinja_heap *heap, const struct leat_jinja_value *a,
                          const struct leat_jinja_value *b, int *ret_order,
                          struct leat_error *err) {
    if (leat_jinja_is_number(a) && leat_jinja_is_number(b)) {
        *ret_order = compare_numbers(a, b);
        return 0;
    }
    if (a->kind == LEAT_JINJA_STRING && b->kind == LEAT_JINJA_STRING) {
        size_t n = a->n_bytes < b->n_bytes ? a->n_bytes : b->n_bytes;
        int order = n ? memcmp(a->text, b->text, n) : 0;

        *ret_order =
            order ? sign(order<0, order> 0) : sign(a->n_bytes<b->n_bytes, a->n_bytes> b->n_bytes);
        return leat_jinja_heap_spend(heap, n / 16, err);
    }
    if (a->kind == b->kind && (a->kind == LEAT_JINJA_LIST || a->kind == LEAT_JINJA_TUPLE))
        return compare_items(heap, a->list, b->list, ret_order, err);
    return leat_error_set(err, -EINVAL, "%s and %s cannot be compared", leat_jinja_kind_name(a),
                          leat_jinja_kind_name(b));
}

int leat_jinja_compare(struct leat_jinja_heap *heap, const struct leat_jinja_value *a,
                       const struct leat_jinja_value *b, int *ret_order, struct leat_error *err) {
    int r = leat_jinja_heap_enter(heap, err);

    if (r == 0)
        r = compare_values(heap, a, b, ret_order, err);
    leat_jinja_heap_leave(heap);
    return r;
}
