/* str_methods.c: methods of texts, as Python has them. */
#include <ctype.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/lexer.h"
#include "pipeline/tokenizer/jinja/strings.h"
#include "proto/base/utf8.h"

static int check_text(struct leat_jinja_render *render, const struct leat_jinja_value *value) {
    int r = leat_jinja_check_defined(render, value);

    if (r == 0 && value->kind != LEAT_JINJA_STRING)
        r = leat_jinja_fail(render, "expected a text here, not %s", leat_jinja_kind_name(value));
    return r;
}

static LEAT_JINJA_BUILTIN(str_replace) {
    int r = check_text(render, &arguments[0]);

    if (r == 0)
        r = check_text(render, &arguments[1]);
    if (r == 0 && arguments[2].kind == LEAT_JINJA_NONE)
        r = leat_jinja_fail(render, "a count must be an integer, not None");
    return r < 0
               ? r
               : leat_jinja_replace(render, self, &arguments[0], &arguments[1], &arguments[2], ret);
}

static bool has_affix(const struct leat_jinja_value *text, const struct leat_jinja_value *affix,
                      bool at_end) {
    return text->n_bytes >= affix->n_bytes &&
           memcmp(text->text + (at_end ? text->n_bytes - affix->n_bytes : 0), affix->text,
                  affix->n_bytes) == 0;
}

/* One text, or a tuple of texts of which one is enough. variant: whether at the end. */
static LEAT_JINJA_BUILTIN(str_has_affix) {
    const struct leat_jinja_value *affix = &arguments[0];
    bool is_tuple = affix->kind == LEAT_JINJA_TUPLE, is_found = false;
    size_t n = is_tuple ? affix->list->n_items : 1;
    int r = 0;

    for (size_t i = 0; r == 0 && !is_found && i < n; i++) {
        const struct leat_jinja_value *part = is_tuple ? &affix->list->items[i] : affix;

        r = check_text(render, part);
        is_found = r == 0 && has_affix(self, part, variant);
    }
    *ret = leat_jinja_bool(is_found);
    return r;
}

static LEAT_JINJA_BUILTIN(str_remove_affix) {
    int r = check_text(render, &arguments[0]);

    *ret = *self;
    if (r == 0 && has_affix(self, &arguments[0], variant))
        *ret = leat_jinja_string(self->text + (variant ? 0 : arguments[0].n_bytes),
                                 self->n_bytes - arguments[0].n_bytes);
    return r;
}

/* The last place of a text; NULL: there is none. */
static const char *find_last(const char *text, size_t n_bytes,
                             const struct leat_jinja_value *part) {
    for (size_t at = n_bytes + 1; at-- > 0;)
        if (n_bytes - at >= part->n_bytes && memcmp(text + at, part->text, part->n_bytes) == 0)
            return text + at;
    return NULL;
}

static const char *find_first(const char *text, size_t n_bytes,
                              const struct leat_jinja_value *part) {
    return part->n_bytes ? memmem(text, n_bytes, part->text, part->n_bytes) : text;
}

enum { FROM_END = 1, MUST_BE_THERE = 2 }; /* variants */

/* Only whole texts are searched: no start and end. */
static LEAT_JINJA_BUILTIN(str_search) {
    const struct leat_jinja_value *part = &arguments[0];
    const char *found;
    int r = check_text(render, part);

    if (r < 0)
        return r;
    found = (variant & FROM_END ? find_last : find_first)(self->text, self->n_bytes, part);
    if (!found && (variant & MUST_BE_THERE))
        return leat_jinja_fail(render, "substring not found");
    *ret = leat_jinja_int(
        found ? (int64_t)leat_jinja_n_characters(self->text, (size_t)(found - self->text)) : -1);
    return leat_jinja_heap_spend(&render->heap, self->n_bytes / 16, render->err);
}

static LEAT_JINJA_BUILTIN(str_count) {
    int64_t n = 0;
    size_t at = 0;
    const char *found;
    int r = check_text(render, &arguments[0]);

    if (r < 0)
        return r;
    if (arguments[0].n_bytes == 0) {
        *ret = leat_jinja_int((int64_t)leat_jinja_n_characters(self->text, self->n_bytes) + 1);
        return 0;
    }
    while ((found = find_first(self->text + at, self->n_bytes - at, &arguments[0]))) {
        n++;
        at = (size_t)(found - self->text) + arguments[0].n_bytes;
    }
    *ret = leat_jinja_int(n);
    return leat_jinja_heap_spend(&render->heap, self->n_bytes / 16, render->err);
}

static int add_piece(struct leat_jinja_render *render, struct leat_jinja_list *list,
                     const char *text, size_t n_bytes) {
    if (!leat_jinja_list_add(&render->heap, list, leat_jinja_string(text, n_bytes)))
        return leat_jinja_fail_memory(render);
    return leat_jinja_heap_spend(&render->heap, 1 + n_bytes / 16, render->err);
}

static int split_at_space(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                          uint64_t max, struct leat_jinja_list *list) {
    const char *text = self->text;
    size_t at = leat_jinja_leading_space(text, self->n_bytes);
    int r = 0;

    while (r == 0 && at < self->n_bytes) {
        size_t end = at;

        if (list->n_items == max) {
            size_t n = self->n_bytes - at;

            return add_piece(render, list, text + at, n);
        }
        while (end < self->n_bytes && leat_jinja_space(text + end, self->n_bytes - end) == 0)
            end++;
        r = add_piece(render, list, text + at, end - at);
        at = end + leat_jinja_leading_space(text + end, self->n_bytes - end);
    }
    return r;
}

static int split_at(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                    const struct leat_jinja_value *separator, uint64_t max,
                    struct leat_jinja_list *list) {
    size_t at = 0;
    const char *found;
    int r = 0;

    while (r == 0 && list->n_items < max &&
           (found = find_first(self->text + at, self->n_bytes - at, separator))) {
        r = add_piece(render, list, self->text + at, (size_t)(found - self->text) - at);
        at = (size_t)(found - self->text) + separator->n_bytes;
    }
    return r < 0 ? r : add_piece(render, list, self->text + at, self->n_bytes - at);
}

static int split_from_end(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                          const struct leat_jinja_value *separator, uint64_t max,
                          struct leat_jinja_list *list) {
    size_t end = self->n_bytes;
    const char *found;
    int r = 0;

    while (r == 0 && list->n_items < max && (found = find_last(self->text, end, separator))) {
        size_t start = (size_t)(found - self->text) + separator->n_bytes;

        r = leat_jinja_heap_spend(&render->heap, (end - start) / 4, render->err);
        if (r == 0)
            r = add_piece(render, list, self->text + start, end - start);
        end = (size_t)(found - self->text);
    }
    if (r == 0)
        r = add_piece(render, list, self->text, end);
    for (size_t i = 0; i < list->n_items / 2; i++) {
        struct leat_jinja_value item = list->items[i];

        list->items[i] = list->items[list->n_items - 1 - i];
        list->items[list->n_items - 1 - i] = item;
    }
    return r;
}

static LEAT_JINJA_BUILTIN(str_split) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, 0);
    bool at_space = !leat_jinja_is_some(&arguments[0]);
    uint64_t max = UINT64_MAX;
    int r = list ? 0 : leat_jinja_fail_memory(render);

    if (r == 0 && leat_jinja_is_given(&arguments[1])) {
        if (!leat_jinja_is_integral(&arguments[1]))
            return leat_jinja_fail(render, "`maxsplit` must be an integer");
        if (leat_jinja_integer(&arguments[1]) >= 0)
            max = (uint64_t)leat_jinja_integer(&arguments[1]);
    }
    if (r == 0 && !at_space)
        r = check_text(render, &arguments[0]);
    if (r == 0 && !at_space && arguments[0].n_bytes == 0)
        r = leat_jinja_fail(render, "the separator is empty");
    if (r == 0 && at_space && (variant & FROM_END) && max != UINT64_MAX)
        r = leat_jinja_fail(render, "rsplit() at white space does not support a limit");
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_LIST, .list = list};
    if (r < 0)
        return r;
    if (at_space)
        return split_at_space(render, self, max, list);
    return (variant & FROM_END ? split_from_end : split_at)(render, self, &arguments[0], max, list);
}

/* Bytes of the line end at text[0], as str.splitlines() has it; 0: none. */
static size_t line_end(const char *text, size_t n) {
    unsigned char c = (unsigned char)text[0];

    if (c == '\r')
        return n > 1 && text[1] == '\n' ? 2 : 1;
    if (c == '\n' || c == '\v' || c == '\f' || (c >= 0x1c && c <= 0x1e))
        return 1;
    if (n > 1 && c == 0xc2 && text[1] == '\x85')
        return 2;
    return n > 2 && c == 0xe2 && text[1] == '\x80' && (text[2] == '\xa8' || text[2] == '\xa9') ? 3
                                                                                               : 0;
}

static LEAT_JINJA_BUILTIN(str_splitlines) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, 0);
    bool keeps = leat_jinja_is_true(&arguments[0]);
    int r = list ? 0 : leat_jinja_fail_memory(render);

    for (size_t at = 0; r == 0 && at < self->n_bytes;) {
        size_t end = at, length = 0;

        while (end < self->n_bytes &&
               (length = line_end(self->text + end, self->n_bytes - end)) == 0)
            end++;
        if (end == self->n_bytes)
            length = 0;
        r = add_piece(render, list, self->text + at, end - at + (keeps ? length : 0));
        at = end + length;
    }
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_LIST, .list = list};
    return r;
}

static LEAT_JINJA_BUILTIN(str_partition) {
    const struct leat_jinja_value *separator = &arguments[0];
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, 3);
    const char *found;
    size_t start, end;
    int r = check_text(render, separator);

    if (r == 0 && separator->n_bytes == 0)
        r = leat_jinja_fail(render, "the separator is empty");
    if (r < 0)
        return r;
    if (!list)
        return leat_jinja_fail_memory(render);
    found = (variant & FROM_END ? find_last : find_first)(self->text, self->n_bytes, separator);
    start = found ? (size_t)(found - self->text) : variant & FROM_END ? 0 : self->n_bytes;
    end = found ? start + separator->n_bytes : start;
    list->items[0] = leat_jinja_string(self->text, start);
    list->items[1] = leat_jinja_string(self->text + start, end - start);
    list->items[2] = leat_jinja_string(self->text + end, self->n_bytes - end);
    list->n_items = 3;
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_TUPLE, .list = list};
    return leat_jinja_heap_spend(&render->heap, self->n_bytes / 16, render->err);
}

static LEAT_JINJA_BUILTIN(str_join) {
    const struct leat_jinja_list *items;
    size_t n_before = render->scratch.n_bytes;
    int r = leat_jinja_items(render, &arguments[0], &items);

    for (size_t i = 0; r == 0 && i < items->n_items; i++) {
        r = check_text(render, &items->items[i]);
        if (r == 0 && i > 0)
            r = leat_jinja_add_str(render, &render->scratch, self);
        if (r == 0)
            r = leat_jinja_add_str(render, &render->scratch, &items->items[i]);
    }
    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}

static LEAT_JINJA_BUILTIN(str_format) {
    return leat_jinja_format(render, self, all, ret);
}

/* variant: enum leat_jinja_character. Most texts are of ASCII. */
static LEAT_JINJA_BUILTIN(str_all_are) {
    int (*is)(int) = variant == LEAT_JINJA_ALPHABETIC     ? isalpha
                     : variant == LEAT_JINJA_ALPHANUMERIC ? isalnum
                                                          : isdigit;
    bool result = self->n_bytes > 0;

    if (!leat_jinja_is_ascii(self->text, self->n_bytes))
        return leat_jinja_all_are(render, self, variant, ret);
    for (size_t i = 0; result && i < self->n_bytes; i++)
        result = is((unsigned char)self->text[i]) != 0;
    *ret = leat_jinja_bool(result);
    return leat_jinja_heap_spend(&render->heap, self->n_bytes / 16, render->err);
}

static LEAT_JINJA_BUILTIN(str_isascii) {
    *ret = leat_jinja_bool(leat_jinja_is_ascii(self->text, self->n_bytes));
    return leat_jinja_heap_spend(&render->heap, self->n_bytes / 16, render->err);
}

static LEAT_JINJA_BUILTIN(str_casefold) {
    if (!leat_jinja_is_ascii(self->text, self->n_bytes))
        return leat_jinja_fail(render, "casefold() supports only ASCII text");
    return leat_jinja_change_case(render, self, NULL, NULL, LEAT_JINJA_LOWER, ret);
}

static LEAT_JINJA_BUILTIN(str_isspace) {
    size_t n_space = leat_jinja_leading_space(self->text, self->n_bytes);

    *ret = leat_jinja_bool(n_space > 0 && n_space == self->n_bytes);
    return leat_jinja_heap_spend(&render->heap, n_space / 16, render->err);
}

#define PLAIN(method_name, function, method_variant)                                               \
    { .name = (method_name), .call = (function), .variant = (method_variant) }
#define ONE(method_name, function, method_variant)                                                 \
    {                                                                                              \
        .name = (method_name), .names = {"value"}, .n_required = 1, .takes_no_names = true,        \
        .call = (function), .variant = (method_variant)                                            \
    }
#define STRIP(method_name, sides)                                                                  \
    {                                                                                              \
        .name = (method_name), .names = {"chars"}, .takes_no_names = true,                         \
        .call = leat_jinja_strip, .variant = (sides)                                               \
    }
#define SPLIT(method_name, method_variant)                                                         \
    {                                                                                              \
        .name = (method_name), .names = {"sep", "maxsplit"}, .call = str_split,                    \
        .variant = (method_variant)                                                                \
    }

const struct leat_jinja_builtin leat_jinja_str_methods[] = {
    PLAIN("lower", leat_jinja_change_case, LEAT_JINJA_LOWER),
    PLAIN("upper", leat_jinja_change_case, LEAT_JINJA_UPPER),
    PLAIN("capitalize", leat_jinja_change_case, LEAT_JINJA_CAPITALIZE),
    PLAIN("title", leat_jinja_change_case, LEAT_JINJA_TITLE),
    PLAIN("isdigit", str_all_are, LEAT_JINJA_DIGIT),
    PLAIN("isdecimal", str_all_are, LEAT_JINJA_DECIMAL),
    PLAIN("isnumeric", str_all_are, LEAT_JINJA_NUMERIC),
    PLAIN("isalpha", str_all_are, LEAT_JINJA_ALPHABETIC),
    PLAIN("isalnum", str_all_are, LEAT_JINJA_ALPHANUMERIC),
    PLAIN("isspace", str_isspace, 0),
    PLAIN("isascii", str_isascii, 0),
    PLAIN("islower", leat_jinja_has_case, false),
    PLAIN("isupper", leat_jinja_has_case, true),
    PLAIN("casefold", str_casefold, 0),
    ONE("startswith", str_has_affix, false),
    ONE("endswith", str_has_affix, true),
    ONE("removeprefix", str_remove_affix, false),
    ONE("removesuffix", str_remove_affix, true),
    ONE("find", str_search, 0),
    ONE("rfind", str_search, FROM_END),
    ONE("index", str_search, MUST_BE_THERE),
    ONE("rindex", str_search, FROM_END | MUST_BE_THERE),
    ONE("count", str_count, 0),
    ONE("partition", str_partition, 0),
    ONE("rpartition", str_partition, FROM_END),
    ONE("join", str_join, 0),
    {.name = "format", .takes_any = true, .call = str_format},
    STRIP("strip", LEAT_JINJA_STRIP_BOTH),
    STRIP("lstrip", LEAT_JINJA_STRIP_LEFT),
    STRIP("rstrip", LEAT_JINJA_STRIP_RIGHT),
    SPLIT("split", 0),
    SPLIT("rsplit", FROM_END),
    {.name = "splitlines", .names = {"keepends"}, .call = str_splitlines},
    {.name = "replace",
     .names = {"old", "new", "count"},
     .n_required = 2,
     .takes_no_names = true,
     .call = str_replace},
    {.name = NULL},
};
