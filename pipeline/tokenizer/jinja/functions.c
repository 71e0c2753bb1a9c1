/* functions.c: the functions that every template finds. */
#include <string.h>
#include <time.h>

#include "pipeline/tokenizer/jinja/render.h"

#define RANGE_MAX 100000 /* jinja2's bound of a sandbox */

static LEAT_JINJA_BUILTIN(call_range) {
    int64_t from, to, step = 1, n;
    struct leat_jinja_list *list;
    bool has_start = arguments[1].kind != LEAT_JINJA_ABSENT;

    for (size_t i = 0; i < 3 && arguments[i].kind != LEAT_JINJA_ABSENT; i++)
        if (!leat_jinja_is_integral(&arguments[i]))
            return leat_jinja_fail(render, "range() takes integers, not %s",
                                   leat_jinja_kind_name(&arguments[i]));
    from = has_start ? leat_jinja_integer(&arguments[0]) : 0;
    to = leat_jinja_integer(&arguments[has_start ? 1 : 0]);
    if (arguments[2].kind != LEAT_JINJA_ABSENT)
        step = leat_jinja_integer(&arguments[2]);
    if (step == 0)
        return leat_jinja_fail(render, "the step of range() is zero");
    if (step == INT64_MIN || __builtin_sub_overflow(step > 0 ? to : from, step > 0 ? from : to, &n))
        return leat_jinja_fail(render, "the range is too large");
    n = n <= 0 ? 0 : (n - 1) / (step > 0 ? step : -step) + 1;
    if (n > RANGE_MAX)
        return leat_jinja_fail(render, "a range may have at most %d items; this one has %lld",
                               RANGE_MAX, (long long)n);
    list = leat_jinja_list_new(&render->heap, (size_t)n);
    if (!list)
        return leat_jinja_fail_memory(render);
    for (int64_t i = 0; i < n; i++)
        list->items[list->n_items++] = leat_jinja_int(from + i * step);
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_RANGE, .list = list};
    return leat_jinja_heap_spend(&render->heap, (size_t)n, render->err);
}

/* The pairs of a dictionary, or of a list of pairs. */
static int add_pairs(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                     struct leat_jinja_dict *dict) {
    const struct leat_jinja_list *items, *pair;
    int r;

    if (value->kind == LEAT_JINJA_DICT) {
        for (size_t i = 0; i < value->dict->n_pairs; i++)
            if (!leat_jinja_dict_put(&render->heap, dict, value->dict->pairs[i].key,
                                     value->dict->pairs[i].value))
                return leat_jinja_fail_memory(render);
        return leat_jinja_heap_spend(&render->heap, value->dict->n_pairs, render->err);
    }
    r = leat_jinja_check_defined(render, value);
    if (r == 0)
        r = leat_jinja_items(render, value, &items);
    for (size_t i = 0; r == 0 && i < items->n_items; i++) {
        r = leat_jinja_items(render, &items->items[i], &pair);
        if (r == 0 && pair->n_items != 2)
            r = leat_jinja_fail(render, "a pair must have two values, not %zu", pair->n_items);
        if (r == 0 && !leat_jinja_can_be_key(&pair->items[0]))
            r = leat_jinja_fail(render, "%s as a key is not supported",
                                leat_jinja_kind_name(&pair->items[0]));
        if (r == 0 && !leat_jinja_dict_put(&render->heap, dict, pair->items[0], pair->items[1]))
            r = leat_jinja_fail_memory(render);
    }
    return r;
}

static int make_dict(struct leat_jinja_render *render, const struct leat_jinja_arguments *all,
                     enum leat_jinja_kind kind, struct leat_jinja_value *ret) {
    struct leat_jinja_dict *dict = leat_jinja_dict_new(&render->heap, 0);
    int r = dict ? 0 : leat_jinja_fail_memory(render);

    if (r == 0 && all->n_items > 1)
        r = leat_jinja_fail(render, "at most one positional argument is possible");
    if (r == 0 && all->n_items == 1)
        r = add_pairs(render, &all->items[0], dict);
    for (size_t i = 0; r == 0 && i < all->n_keywords; i++)
        if (!leat_jinja_dict_put(&render->heap, dict, all->keywords[i].name,
                                 all->keywords[i].value))
            r = leat_jinja_fail_memory(render);
    *ret = (struct leat_jinja_value){.kind = (uint8_t)kind, .dict = dict};
    return r;
}

static LEAT_JINJA_BUILTIN(call_dict) {
    return make_dict(render, all, LEAT_JINJA_DICT, ret);
}

static LEAT_JINJA_BUILTIN(call_namespace) {
    int r = make_dict(render, all, LEAT_JINJA_NAMESPACE, ret);

    for (size_t i = 0; r == 0 && i < ret->dict->n_pairs; i++) {
        const struct leat_jinja_value *key = &ret->dict->pairs[i].key;

        if (key->kind != LEAT_JINJA_STRING || (key->n_bytes && key->text[0] == '_'))
            r = leat_jinja_fail(render,
                                "the name of an attribute of a namespace must not begin with _");
    }
    return r;
}

static int make_cycle(struct leat_jinja_render *render, enum leat_jinja_kind kind,
                      const struct leat_jinja_value *items, size_t n_items,
                      struct leat_jinja_value *ret) {
    struct leat_jinja_cycle *cycle = leat_jinja_heap_alloc(&render->heap, sizeof(*cycle));

    if (!cycle)
        return leat_jinja_fail_memory(render);
    *cycle = (struct leat_jinja_cycle){.is_used = false};
    for (size_t i = 0; i < n_items; i++)
        if (!leat_jinja_list_add(&render->heap, &cycle->list, items[i]))
            return leat_jinja_fail_memory(render);
    *ret = (struct leat_jinja_value){.kind = (uint8_t)kind, .cycle = cycle};
    return 0;
}

static LEAT_JINJA_BUILTIN(call_cycler) {
    if (all->n_items == 0 || all->n_keywords)
        return leat_jinja_fail(render, "cycler() needs at least one value");
    return make_cycle(render, LEAT_JINJA_CYCLER, all->items, all->n_items, ret);
}

static LEAT_JINJA_BUILTIN(call_joiner) {
    struct leat_jinja_value separator =
        leat_jinja_given_or(&arguments[0], leat_jinja_string(", ", 2));

    return make_cycle(render, LEAT_JINJA_JOINER, &separator, 1, ret);
}

static LEAT_JINJA_BUILTIN(call_raise) {
    struct leat_jinja_value text;
    int r = leat_jinja_to_string(render, &arguments[0], &text);

    if (r < 0)
        return r;
    if (text.n_bytes == 0)
        return leat_jinja_fail(render, "the template raised an exception without a message");
    return leat_jinja_fail(render, "%.*s", (int)(text.n_bytes < 400 ? text.n_bytes : 400),
                           text.text);
}

static size_t print_date(char *text, size_t size, char kind, const struct tm *date) {
    switch (kind) {
    case 'a':
        return strftime(text, size, "%a", date);
    case 'A':
        return strftime(text, size, "%A", date);
    case 'b':
        return strftime(text, size, "%b", date);
    case 'B':
        return strftime(text, size, "%B", date);
    case 'd':
        return strftime(text, size, "%d", date);
    case 'e':
        return strftime(text, size, "%e", date);
    case 'F':
        return strftime(text, size, "%F", date);
    case 'j':
        return strftime(text, size, "%j", date);
    case 'm':
        return strftime(text, size, "%m", date);
    case 'Y':
        return strftime(text, size, "%Y", date);
    case '%':
        return strftime(text, size, "%%", date);
    default:
        return 0;
    }
}

static LEAT_JINJA_BUILTIN(call_strftime) {
    const struct leat_jinja_value *format = &arguments[0];
    size_t n_before = render->scratch.n_bytes;
    char text[64];

    if (!render->has_date)
        return leat_jinja_fail(render, "strftime_now() needs a date: set `date`");
    if (format->kind != LEAT_JINJA_STRING)
        return leat_jinja_fail(render, "the format of strftime_now() must be a text");
    for (size_t i = 0; i < format->n_bytes; i++) {
        char c = format->text[i];
        size_t n = 1;

        if (c != '%')
            text[0] = c;
        else if (++i == format->n_bytes ||
                 (n = print_date(text, sizeof(text), format->text[i], &render->date)) == 0)
            return leat_jinja_fail(render, "strftime_now() supports only days, months and years");
        leat_text_add_bytes(&render->scratch, text, n);
    }
    return leat_jinja_take_scratch(render, n_before, ret);
}

static const struct leat_jinja_builtin functions[] = {
    {.name = "range",
     .names = {"start", "stop", "step"},
     .n_required = 1,
     .takes_no_names = true,
     .call = call_range},
    {.name = "dict", .takes_any = true, .call = call_dict},
    {.name = "namespace", .takes_any = true, .call = call_namespace},
    {.name = "cycler", .takes_any = true, .call = call_cycler},
    {.name = "joiner", .names = {"sep"}, .call = call_joiner},
    {.name = "raise_exception", .names = {"message"}, .n_required = 1, .call = call_raise},
    {.name = "strftime_now", .names = {"format"}, .n_required = 1, .call = call_strftime},
    {.name = NULL},
};

const struct leat_jinja_builtin *leat_jinja_function_find(const char *name, size_t n_bytes) {
    return leat_jinja_builtin_find(functions, name, n_bytes);
}
