/* access.c: attributes, items and slices of values, and what a loop goes through. */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/render.h"
#include "proto/base/utf8.h"

static int loop_attribute(struct leat_jinja_render *render, struct leat_jinja_loop *loop,
                          const struct leat_jinja_value *name, struct leat_jinja_value *ret) {
    enum { INDEX, INDEX0, FIRST, DEPTH, DEPTH0, PREVIOUS, LAST, NEXT, LENGTH, REV, REV0, N };
    static const char *const names[N] = {"index",  "index0",   "first",    "depth",
                                         "depth0", "previtem", "last",     "nextitem",
                                         "length", "revindex", "revindex0"};
    int64_t index = (int64_t)loop->index, length;
    int which = 0, r = 0;

    while (which < N && !leat_jinja_equals_text(name, names[which], strlen(names[which])))
        which++;
    if (which == N)
        return 1;
    if (which == LAST || which == NEXT)
        r = leat_jinja_loop_fill(render, loop, loop->index + 2);
    else if (which >= LENGTH)
        r = leat_jinja_loop_fill(render, loop, SIZE_MAX);
    if (r < 0)
        return r;
    length = (int64_t)loop->items.n_items;
    switch (which) {
    case INDEX:
    case INDEX0:
        *ret = leat_jinja_int(index + (which == INDEX));
        break;
    case FIRST:
        *ret = leat_jinja_bool(index == 0);
        break;
    case DEPTH:
    case DEPTH0:
        *ret = leat_jinja_int((int64_t)loop->depth + (which == DEPTH));
        break;
    case PREVIOUS:
        *ret = index > 0 ? loop->items.items[index - 1] : leat_jinja_undefined("loop.previtem", 13);
        break;
    case NEXT:
        *ret = index + 1 < length ? loop->items.items[index + 1]
                                  : leat_jinja_undefined("loop.nextitem", 13);
        break;
    case LAST:
        *ret = leat_jinja_bool(index + 1 >= length);
        break;
    case LENGTH:
        *ret = leat_jinja_int(length);
        break;
    default:
        *ret = leat_jinja_int(length - index - (which == REV0));
        break;
    }
    return 0;
}

/* Attributes of jinja2's objects that are not supported. */
static bool is_other_attribute(enum leat_jinja_kind kind, const struct leat_jinja_value *name) {
    static const struct {
        enum leat_jinja_kind kind;
        const char *name;
    } others[] = {
        {LEAT_JINJA_CYCLER, "items"},
        {LEAT_JINJA_CYCLER, "pos"},
        {LEAT_JINJA_JOINER, "sep"},
        {LEAT_JINJA_JOINER, "used"},
        {LEAT_JINJA_MACRO, "arguments"},
        {LEAT_JINJA_MACRO, "caller"},
        {LEAT_JINJA_MACRO, "catch_kwargs"},
        {LEAT_JINJA_MACRO, "catch_varargs"},
        {LEAT_JINJA_MACRO, "explicit_caller"},
        {LEAT_JINJA_FUNCTION, "fromkeys"},
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (others[i].kind == kind &&
            leat_jinja_equals_text(name, others[i].name, strlen(others[i].name)))
            return true;
    return false;
}

/* Attributes that are no methods: 1 if the value has none of that name. */
static int own_attribute(struct leat_jinja_render *render, const struct leat_jinja_value *object,
                         const struct leat_jinja_value *name, struct leat_jinja_value *ret) {
    const struct leat_jinja_value *found;

    if (object->kind == LEAT_JINJA_LOOP) {
        int r = loop_attribute(render, object->loop, name, ret);

        if (r != 1)
            return r;
    }
    if (object->kind == LEAT_JINJA_NAMESPACE) {
        found = leat_jinja_dict_find(object->dict, name);
        *ret = found ? *found : leat_jinja_undefined(name->text, name->n_bytes);
        return 0;
    }
    if (object->kind == LEAT_JINJA_CYCLER && leat_jinja_equals_text(name, "current", 7)) {
        *ret = object->cycle->list.items[object->cycle->list.at];
        return 0;
    }
    if (is_other_attribute(object->kind, name))
        return leat_jinja_fail(render, "%s.%.*s is not supported", leat_jinja_kind_name(object),
                               (int)name->n_bytes, name->text);
    if (object->kind == LEAT_JINJA_MACRO && leat_jinja_equals_text(name, "name", 4)) {
        *ret = object->macro->node->name;
        return 0;
    }
    if (name->is_key)
        return 1;
    if (name->n_bytes >= 2 && name->text[0] == '_' && name->text[1] == '_')
        return leat_jinja_fail(render,
                               "the attribute '%.*s' is not allowed, because it would be unsafe",
                               (int)(name->n_bytes < 64 ? name->n_bytes : 64), name->text);
    return leat_jinja_method_find(render, object, name->text, name->n_bytes, ret);
}

int leat_jinja_attribute(struct leat_jinja_render *render, const struct leat_jinja_value *object,
                         const struct leat_jinja_value *name, struct leat_jinja_value *ret) {
    const struct leat_jinja_value *found = NULL;
    int r = leat_jinja_check_defined(render, object);

    if (r == 0)
        r = own_attribute(render, object, name, ret);
    if (r != 1)
        return r;
    if (object->kind == LEAT_JINJA_DICT) {
        found = leat_jinja_dict_find(object->dict, name);
        r = leat_jinja_heap_spend(&render->heap, object->dict->n_pairs, render->err);
    }
    *ret = found ? *found : leat_jinja_undefined(name->text, name->n_bytes);
    return r < 0 ? r : 0;
}

/* The bytes of the index-th character of a text; false: it has not so many. */
static bool find_character(const struct leat_jinja_value *text, int64_t index,
                           struct leat_jinja_value *ret) {
    bool is_ascii = leat_jinja_is_ascii(text->text, text->n_bytes);
    int64_t n =
        (int64_t)(is_ascii ? text->n_bytes : leat_jinja_n_characters(text->text, text->n_bytes));
    size_t at = 0;

    if (index < 0)
        index += n;
    if (index < 0 || index >= n)
        return false;
    if (is_ascii) {
        *ret = leat_jinja_string(text->text + index, 1);
        return true;
    }
    for (; index > 0; index--)
        at += leat_utf8_length((const uint8_t *)text->text + at, text->n_bytes - at);
    *ret = leat_jinja_string(
        text->text + at, leat_utf8_length((const uint8_t *)text->text + at, text->n_bytes - at));
    return true;
}

static bool find_item(const struct leat_jinja_value *object, int64_t index,
                      struct leat_jinja_value *ret) {
    const struct leat_jinja_list *list = object->list;

    if (index < 0)
        index += (int64_t)list->n_items;
    if (index < 0 || index >= (int64_t)list->n_items)
        return false;
    *ret = list->items[index];
    return true;
}

static bool is_sequence(const struct leat_jinja_value *value) {
    return value->kind == LEAT_JINJA_LIST || value->kind == LEAT_JINJA_TUPLE ||
           value->kind == LEAT_JINJA_RANGE;
}

int leat_jinja_item(struct leat_jinja_render *render, const struct leat_jinja_value *object,
                    const struct leat_jinja_value *key, struct leat_jinja_value *ret) {
    const struct leat_jinja_value *found;
    bool is_found = false;
    int r = leat_jinja_check_defined(render, object);

    if (r < 0)
        return r;
    if (object->is_safe)
        return leat_jinja_fail(render,
                               "an item of a text that was marked \"safe\" is not supported");
    if (object->kind == LEAT_JINJA_DICT) {
        r = leat_jinja_heap_spend(&render->heap, object->dict->n_pairs, render->err);
        if (r < 0)
            return r;
        found = leat_jinja_dict_find(object->dict, key);
        is_found = found != NULL;
        if (found)
            *ret = *found;
    } else if (leat_jinja_is_integral(key) && object->kind == LEAT_JINJA_STRING) {
        is_found = find_character(object, leat_jinja_integer(key), ret);
        r = leat_jinja_heap_spend(&render->heap, object->n_bytes / 16, render->err);
        if (r < 0)
            return r;
    } else if (leat_jinja_is_integral(key) && is_sequence(object)) {
        is_found = find_item(object, leat_jinja_integer(key), ret);
    }
    if (is_found)
        return 0;
    r = key->kind == LEAT_JINJA_STRING ? own_attribute(render, object, key, ret) : 1;
    if (r == 1)
        *ret = key->kind == LEAT_JINJA_STRING ? leat_jinja_undefined(key->text, key->n_bytes)
                                              : leat_jinja_undefined("an item", 7);
    return r < 0 ? r : 0;
}

/* Python's rules for the bounds of a slice. */
static int slice_bound(struct leat_jinja_render *render, const struct leat_jinja_value *bound,
                       int64_t fallback, int64_t n, bool is_backward, int64_t *ret) {
    if (bound->kind == LEAT_JINJA_NONE) {
        *ret = fallback;
        return 0;
    }
    if (!leat_jinja_is_integral(bound))
        return leat_jinja_fail(render, "the bounds of a slice must be integers, not %s",
                               leat_jinja_kind_name(bound));
    *ret = leat_jinja_integer(bound);
    if (*ret < 0)
        *ret = *ret < -n ? (is_backward ? -1 : 0) : *ret + n;
    else if (*ret >= n)
        *ret = is_backward ? n - 1 : n;
    return 0;
}

static int slice_text(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                      int64_t start, int64_t n_items, int64_t step, struct leat_jinja_value *ret) {
    const uint8_t *bytes = (const uint8_t *)text->text;
    size_t from = 0, to, n_before = render->scratch.n_bytes;

    if (step == 1) {
        bool is_ascii = leat_jinja_is_ascii(text->text, text->n_bytes);

        for (int64_t i = 0; !is_ascii && i < start; i++)
            from += leat_utf8_length(bytes + from, text->n_bytes - from);
        from = is_ascii ? (size_t)start : from;
        to = from;
        for (int64_t i = 0; !is_ascii && i < n_items; i++)
            to += leat_utf8_length(bytes + to, text->n_bytes - to);
        to = is_ascii ? from + (size_t)n_items : to;
        *ret = leat_jinja_string(text->text + from, to - from);
        return 0;
    }
    for (int64_t i = 0; i < n_items; i++) {
        struct leat_jinja_value character;
        int r = leat_jinja_heap_spend(&render->heap, 1 + text->n_bytes / 16, render->err);

        if (r < 0)
            return r;
        (void)find_character(text, start + i * step, &character);
        leat_text_add_bytes(&render->scratch, character.text, character.n_bytes);
    }
    return leat_jinja_take_scratch(render, n_before, ret);
}

int leat_jinja_slice(struct leat_jinja_render *render, const struct leat_jinja_value *object,
                     const struct leat_jinja_value *start, const struct leat_jinja_value *stop,
                     const struct leat_jinja_value *step, struct leat_jinja_value *ret) {
    int64_t n, from = 0, to = 0, by = 1, n_items;
    struct leat_jinja_list *list;
    int r = leat_jinja_check_defined(render, object);

    if (r < 0)
        return r;
    if ((object->kind != LEAT_JINJA_STRING && !is_sequence(object)) || object->is_safe)
        return leat_jinja_fail(render, "a slice of %s is not possible",
                               leat_jinja_kind_name(object));
    n = (int64_t)(object->kind == LEAT_JINJA_STRING
                      ? leat_jinja_n_characters(object->text, object->n_bytes)
                      : object->list->n_items);
    if (step->kind != LEAT_JINJA_NONE) {
        if (!leat_jinja_is_integral(step) || leat_jinja_integer(step) == 0 ||
            leat_jinja_integer(step) < -INT32_MAX || leat_jinja_integer(step) > INT32_MAX)
            return leat_jinja_fail(render, "the step of a slice must be an integer other than 0");
        by = leat_jinja_integer(step);
    }
    r = slice_bound(render, start, by < 0 ? n - 1 : 0, n, by < 0, &from);
    if (r == 0)
        r = slice_bound(render, stop, by < 0 ? -1 : n, n, by < 0, &to);
    if (r < 0)
        return r;
    n_items = by > 0 ? (to > from ? (to - from - 1) / by + 1 : 0)
                     : (from > to ? (from - to - 1) / -by + 1 : 0);
    if (object->kind == LEAT_JINJA_STRING)
        return slice_text(render, object, from, n_items, by, ret);
    list = leat_jinja_list_new(&render->heap, (size_t)n_items);
    if (!list)
        return leat_jinja_fail_memory(render);
    for (int64_t i = 0; i < n_items; i++)
        list->items[i] = object->list->items[from + i * by];
    list->n_items = (size_t)n_items;
    *ret = (struct leat_jinja_value){.kind = object->kind, .list = list};
    return leat_jinja_heap_spend(&render->heap, (size_t)n_items, render->err);
}

static int split_characters(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                            struct leat_jinja_list *list) {
    for (size_t at = 0; at < text->n_bytes;) {
        size_t n = leat_utf8_length((const uint8_t *)text->text + at, text->n_bytes - at);

        if (!leat_jinja_list_add(&render->heap, list, leat_jinja_string(text->text + at, n)))
            return leat_jinja_fail_memory(render);
        at += n;
    }
    return 0;
}

int leat_jinja_items(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                     const struct leat_jinja_list **ret_items) {
    struct leat_jinja_list *list;
    int r = 0;

    if (leat_jinja_has_items(value) && value->kind != LEAT_JINJA_ITERATOR) {
        *ret_items = value->list;
        return leat_jinja_heap_spend(&render->heap, value->list->n_items, render->err);
    }
    list = leat_jinja_list_new(&render->heap, 0);
    if (!list)
        return leat_jinja_fail_memory(render);
    *ret_items = list;
    switch (value->kind) {
    case LEAT_JINJA_UNDEFINED:
        return 0;
    case LEAT_JINJA_ITERATOR:
        if (value->list->items)
            list->items = value->list->items + value->list->at;
        list->n_items = list->capacity = value->list->n_items - value->list->at;
        value->list->at = value->list->n_items;
        break;
    case LEAT_JINJA_STRING:
        r = split_characters(render, value, list);
        break;
    case LEAT_JINJA_DICT:
        for (size_t i = 0; r == 0 && i < value->dict->n_pairs; i++)
            if (!leat_jinja_list_add(&render->heap, list, value->dict->pairs[i].key))
                r = leat_jinja_fail_memory(render);
        break;
    default:
        return leat_jinja_fail(render, "%s cannot be looped over", leat_jinja_kind_name(value));
    }
    return r < 0 ? r : leat_jinja_heap_spend(&render->heap, list->n_items, render->err);
}
