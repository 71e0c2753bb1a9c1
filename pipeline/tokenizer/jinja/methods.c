/* methods.c: methods of lists, dictionaries and cyclers, as Python has them; see str_methods.c for
 * those of texts. */
#include <ctype.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/strings.h"

/* ---- lists */

static LEAT_JINJA_BUILTIN(list_index) {
    bool is_equal = false;
    int r = 0;

    for (size_t i = 0; r == 0 && i < self->list->n_items; i++) {
        r = leat_jinja_equal(&render->heap, &self->list->items[i], &arguments[0], &is_equal,
                             render->err);
        if (is_equal) {
            *ret = leat_jinja_int((int64_t)i);
            return r;
        }
    }
    return r < 0 ? r : leat_jinja_fail(render, "the value is not in the list");
}

static LEAT_JINJA_BUILTIN(list_count) {
    int64_t n = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < self->list->n_items; i++) {
        bool is_equal;

        r = leat_jinja_equal(&render->heap, &self->list->items[i], &arguments[0], &is_equal,
                             render->err);
        n += is_equal;
    }
    *ret = leat_jinja_int(n);
    return r;
}

static LEAT_JINJA_BUILTIN(copy) {
    *ret = *self; /* nothing changes a list or a dictionary */
    return 0;
}

/* ---- dictionaries */

static LEAT_JINJA_BUILTIN(dict_get) {
    const struct leat_jinja_value *found = leat_jinja_dict_find(self->dict, &arguments[0]);
    int r = leat_jinja_check_key(render, &arguments[0]);

    *ret = found ? *found : leat_jinja_given_or(&arguments[1], leat_jinja_none());
    return r < 0 ? r : leat_jinja_heap_spend(&render->heap, self->dict->n_pairs, render->err);
}

/* variant: whether values() or keys(). */
static LEAT_JINJA_BUILTIN(dict_parts) {
    const struct leat_jinja_dict *dict = self->dict;
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, dict->n_pairs);

    if (!list)
        return leat_jinja_fail_memory(render);
    for (size_t i = 0; i < dict->n_pairs; i++)
        list->items[list->n_items++] = variant ? dict->pairs[i].value : dict->pairs[i].key;
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_VIEW, .list = list};
    return leat_jinja_heap_spend(&render->heap, dict->n_pairs, render->err);
}

static LEAT_JINJA_BUILTIN(dict_items) {
    struct leat_jinja_list *list = NULL;
    int r = leat_jinja_pairs(render, self->dict, &list);

    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_VIEW, .list = list};
    return r;
}

/* ---- cycler() and the present loop */

static LEAT_JINJA_BUILTIN(cycler_next) {
    struct leat_jinja_list *list = &self->cycle->list;

    *ret = list->items[list->at];
    list->at = (list->at + 1) % list->n_items;
    return 0;
}

static LEAT_JINJA_BUILTIN(cycler_reset) {
    self->cycle->list.at = 0;
    *ret = leat_jinja_none();
    return 0;
}

static LEAT_JINJA_BUILTIN(loop_cycle) {
    if (all->n_items == 0)
        return leat_jinja_fail(render, "loop.cycle() needs at least one value");
    *ret = all->items[self->loop->index % all->n_items];
    return 0;
}

static LEAT_JINJA_BUILTIN(loop_changed) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, all->n_items);
    struct leat_jinja_value now = {.kind = LEAT_JINJA_LIST, .list = list}, last = now;
    bool is_equal = false;
    int r = list ? 0 : leat_jinja_fail_memory(render);

    for (size_t i = 0; r == 0 && i < all->n_items; i++)
        (void)leat_jinja_list_add(&render->heap, list, all->items[i]);
    if (r == 0 && self->loop->changed) {
        last.list = self->loop->changed;
        r = leat_jinja_equal(&render->heap, &now, &last, &is_equal, render->err);
    }
    self->loop->changed = list;
    *ret = leat_jinja_bool(!is_equal);
    return r;
}

#define PLAIN(method_name, function)                                                               \
    { .name = (method_name), .call = (function) }
#define ONE(method_name, function)                                                                 \
    {                                                                                              \
        .name = (method_name), .names = {"value"}, .n_required = 1, .takes_no_names = true,        \
        .call = (function)                                                                         \
    }

static const struct leat_jinja_builtin list_methods[] = {
    ONE("index", list_index),
    ONE("count", list_count),
    PLAIN("copy", copy),
    {.name = NULL},
};

static const struct leat_jinja_builtin tuple_methods[] = {
    ONE("index", list_index),
    ONE("count", list_count),
    {.name = NULL},
};

static const struct leat_jinja_builtin dict_methods[] = {
    {.name = "get",
     .names = {"key", "default"},
     .n_required = 1,
     .takes_no_names = true,
     .call = dict_get},
    PLAIN("keys", dict_parts),
    {.name = "values", .call = dict_parts, .variant = true},
    PLAIN("items", dict_items),
    PLAIN("copy", copy),
    {.name = NULL},
};

static const struct leat_jinja_builtin cycler_methods[] = {
    PLAIN("next", cycler_next),
    PLAIN("reset", cycler_reset),
    {.name = NULL},
};

static const struct leat_jinja_builtin loop_methods[] = {
    {.name = "cycle", .takes_any = true, .call = loop_cycle},
    {.name = "changed", .takes_any = true, .call = loop_changed},
    {.name = NULL},
};

/* Attributes of Python's types that are not supported: an error, for an undefined value would be
 * wrong. Methods that change a list or a dictionary are errors in transformers, too. */
static const char *const str_others[] = {
    "center", "encode",    "expandtabs", "format_map", "isidentifier", "isprintable", "istitle",
    "ljust",  "maketrans", "rjust",      "swapcase",   "translate",    "zfill",       NULL};
static const char *const list_others[] = {"append", "clear",   "extend", "insert", "pop",
                                          "remove", "reverse", "sort",   NULL};
static const char *const dict_others[] = {"clear",      "fromkeys", "pop", "popitem",
                                          "setdefault", "update",   NULL};
static const char *const int_others[] = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
    "from_bytes",       "imag",      "numerator",  "real",      "to_bytes",
    "is_integer",       "hex",       "fromhex",    NULL};
static const char *const range_others[] = {"count", "index", "start", "step", "stop", NULL};
static const char *const iterator_others[] = {"close",      "send",       "throw",        "gi_code",
                                              "gi_frame",   "gi_running", "gi_yieldfrom", "mapping",
                                              "isdisjoint", NULL};

static void tables(enum leat_jinja_kind kind, const struct leat_jinja_builtin **ret_methods,
                   const char *const **ret_others) {
    static const struct leat_jinja_builtin none[] = {{.name = NULL}};
    static const char *const nothing[] = {NULL};

    *ret_methods = none;
    *ret_others = nothing;
    switch (kind) {
    case LEAT_JINJA_STRING:
        *ret_methods = leat_jinja_str_methods;
        *ret_others = str_others;
        break;
    case LEAT_JINJA_LIST:
        *ret_methods = list_methods;
        *ret_others = list_others;
        break;
    case LEAT_JINJA_TUPLE:
        *ret_methods = tuple_methods;
        break;
    case LEAT_JINJA_DICT:
        *ret_methods = dict_methods;
        *ret_others = dict_others;
        break;
    case LEAT_JINJA_BOOL:
    case LEAT_JINJA_INT:
    case LEAT_JINJA_FLOAT:
        *ret_others = int_others;
        break;
    case LEAT_JINJA_RANGE:
        *ret_others = range_others;
        break;
    case LEAT_JINJA_VIEW:
    case LEAT_JINJA_ITERATOR:
        *ret_others = iterator_others;
        break;
    case LEAT_JINJA_CYCLER:
        *ret_methods = cycler_methods;
        break;
    case LEAT_JINJA_LOOP:
        *ret_methods = loop_methods;
        break;
    default:
        break;
    }
}

static const char *find_other(const char *const *others, const char *name, size_t n_bytes) {
    while (*others && (strlen(*others) != n_bytes || memcmp(*others, name, n_bytes) != 0))
        others++;
    return *others;
}

bool leat_jinja_is_key(const char *name, size_t n_bytes) {
    bool is_key = n_bytes > 0 && !isdigit((unsigned char)name[0]) &&
                  (n_bytes < 2 || name[0] != '_' || name[1] != '_');

    for (size_t i = 0; is_key && i < n_bytes; i++)
        is_key = isalnum((unsigned char)name[i]) || name[i] == '_';
    for (int kind = 0; is_key && kind < LEAT_JINJA_ABSENT; kind++) {
        const struct leat_jinja_builtin *methods;
        const char *const *others;

        tables((enum leat_jinja_kind)kind, &methods, &others);
        is_key =
            !leat_jinja_builtin_find(methods, name, n_bytes) && !find_other(others, name, n_bytes);
    }
    return is_key;
}

int leat_jinja_method_find(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                           const char *name, size_t n_bytes, struct leat_jinja_value *ret) {
    const struct leat_jinja_builtin *methods;
    const char *const *others, *other;
    struct leat_jinja_method *method;

    tables(self->kind, &methods, &others);
    other = find_other(others, name, n_bytes);
    if (other)
        return leat_jinja_fail(render, "%s.%s is not supported", leat_jinja_kind_name(self), other);
    methods = leat_jinja_builtin_find(methods, name, n_bytes);
    if (!methods)
        return 1;
    method = leat_jinja_heap_alloc(&render->heap, sizeof(*method));
    if (!method)
        return leat_jinja_fail_memory(render);
    *method = (struct leat_jinja_method){.self = *self, .builtin = methods};
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_METHOD, .method = method};
    return 0;
}
