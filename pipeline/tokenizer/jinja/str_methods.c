/* str_methods.c: methods of texts, as Python has them. */
#include <ctype.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/lexer.h"
#include "pipeline/tokenizer/jinja/strings.h"
#include "proto/base/utf8.h"

#define METHOD(function)                                                                           \
    static int function(struct leat_jinja_render *render, const struct leat_jinja_value *self,     \
                        const struct leat_jinja_value *arguments,                                  \
                        const struct leat_jinja_arguments *all, struct leat_jinja_value *ret)

static int check_text(struct leat_jinja_render *render, const struct leat_jinja_value *value) {
    int r = leat_jinja_check_defined(render, value);

    if (r == 0 && value->kind != LEAT_JINJA_STRING)
        r = leat_jinja_fail(render, "expected a text here, not %s", leat_jinja_kind_name(value));
    return r;
}

METHOD(str_lower) {
    (void)arguments, (void)all;
    return leat_jinja_lower(render, self, ret);
}

METHOD(str_upper) {
    (void)arguments, (void)all;
    return leat_jinja_upper(render, self, ret);
}

METHOD(str_capitalize) {
    (void)arguments, (void)all;
    return leat_jinja_capitalize(render, self, ret);
}

METHOD(str_title) {
    (void)arguments, (void)all;
    return leat_jinja_title(render, self, ret);
}

METHOD(str_strip) {
    (void)all;
    return leat_jinja_strip(render, self, &arguments[0], LEAT_JINJA_STRIP_BOTH, ret);
}

METHOD(str_lstrip) {
    (void)all;
    return leat_jinja_strip(render, self, &arguments[0], LEAT_JINJA_STRIP_LEFT, ret);
}

METHOD(str_rstrip) {
    (void)all;
    return leat_jinja_strip(render, self, &arguments[0], LEAT_JINJA_STRIP_RIGHT, ret);
}

METHOD(str_replace) {
    int r = check_text(render, &arguments[0]);

    (void)all;
    if (r == 0)
        r = check_text(render, &arguments[1]);
    if (r == 0 && arguments[2].kind == LEAT_JINJA_NONE)
        r = leat_jinja_fail(render, "a count must be an integer, not None");
    return r < 0
               ? r
               : leat_jinja_replace(render, self, &arguments[0], &arguments[1], &arguments[2], ret);
}

static bool begins_with(const struct leat_jinja_value *text, const struct leat_jinja_value *part) {
    return text->n_bytes >= part->n_bytes && memcmp(text->text, part->text, part->n_bytes) == 0;
}

static bool ends_with(const struct leat_jinja_value *text, const struct leat_jinja_value *part) {
    return text->n_bytes >= part->n_bytes &&
           memcmp(text->text + text->n_bytes - part->n_bytes, part->text, part->n_bytes) == 0;
}

/* One text, or a tuple of texts of which one is enough. */
static int has_affix(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                     const struct leat_jinja_value *affix,
                     bool (*has)(const struct leat_jinja_value *, const struct leat_jinja_value *),
                     struct leat_jinja_value *ret) {
    bool is_tuple = affix->kind == LEAT_JINJA_TUPLE, is_found = false;
    size_t n = is_tuple ? affix->list->n_items : 1;
    int r = 0;

    for (size_t i = 0; r == 0 && !is_found && i < n; i++) {
        const struct leat_jinja_value *part = is_tuple ? &affix->list->items[i] : affix;

        r = check_text(render, part);
        is_found = r == 0 && has(self, part);
    }
    *ret = leat_jinja_bool(is_found);
    return r;
}

METHOD(str_startswith) {
    (void)all;
    return has_affix(render, self, &arguments[0], begins_with, ret);
}

METHOD(str_endswith) {
    (void)all;
    return has_affix(render, self, &arguments[0], ends_with, ret);
}

METHOD(str_removeprefix) {
    int r = check_text(render, &arguments[0]);

    (void)all;
    if (r == 0 && begins_with(self, &arguments[0]))
        *ret = leat_jinja_string(self->text + arguments[0].n_bytes,
                                 self->n_bytes - arguments[0].n_bytes);
    else
        *ret = *self;
    return r;
}

METHOD(str_removesuffix) {
    int r = check_text(render, &arguments[0]);

    (void)all;
    *ret = *self;
    if (r == 0 && ends_with(self, &arguments[0])) {
        ret->n_bytes -= arguments[0].n_bytes;
        ret->is_key = false;
    }
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

/* Only whole texts are searched: no start and end. */
static int search(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                  const struct leat_jinja_value *part, bool is_last, bool must_be_there,
                  struct leat_jinja_value *ret) {
    const char *found;
    int r = check_text(render, part);

    if (r < 0)
        return r;
    found = (is_last ? find_last : find_first)(self->text, self->n_bytes, part);
    if (!found && must_be_there)
        return leat_jinja_fail(render, "substring not found");
    *ret = leat_jinja_int(
        found ? (int64_t)leat_jinja_n_characters(self->text, (size_t)(found - self->text)) : -1);
    return leat_jinja_heap_spend(&render->heap, self->n_bytes / 16, render->err);
}

METHOD(str_find) {
    (void)all;
    return search(render, self, &arguments[0], false, false, ret);
}

METHOD(str_rfind) {
    (void)all;
    return search(render, self, &arguments[0], true, false, ret);
}

METHOD(str_index) {
    (void)all;
    return search(render, self, &arguments[0], false, true, ret);
}

METHOD(str_rindex) {
    (void)all;
    return search(render, self, &arguments[0], true, true, ret);
}

METHOD(str_count) {
    int64_t n = 0;
    size_t at = 0;
    const char *found;
    int r = check_text(render, &arguments[0]);

    (void)all;
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

static int split(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                 const struct leat_jinja_value *arguments, bool from_end,
                 struct leat_jinja_value *ret) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, 0);
    bool at_space = !leat_jinja_is_given(&arguments[0]) || arguments[0].kind == LEAT_JINJA_NONE;
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
    if (r == 0 && at_space && from_end && max != UINT64_MAX)
        r = leat_jinja_fail(render, "rsplit() at white space does not support a limit");
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_LIST, .list = list};
    if (r < 0)
        return r;
    if (at_space)
        return split_at_space(render, self, max, list);
    return (from_end ? split_from_end : split_at)(render, self, &arguments[0], max, list);
}

METHOD(str_split) {
    (void)all;
    return split(render, self, arguments, false, ret);
}

METHOD(str_rsplit) {
    (void)all;
    return split(render, self, arguments, true, ret);
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

METHOD(str_splitlines) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, 0);
    bool keeps = leat_jinja_is_given(&arguments[0]) && leat_jinja_is_true(&arguments[0]);
    int r = list ? 0 : leat_jinja_fail_memory(render);

    (void)all;
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

static int partition(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                     const struct leat_jinja_value *separator, bool is_last,
                     struct leat_jinja_value *ret) {
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
    found = (is_last ? find_last : find_first)(self->text, self->n_bytes, separator);
    start = found ? (size_t)(found - self->text) : is_last ? 0 : self->n_bytes;
    end = found ? start + separator->n_bytes : start;
    list->items[0] = leat_jinja_string(self->text, start);
    list->items[1] = leat_jinja_string(self->text + start, end - start);
    list->items[2] = leat_jinja_string(self->text + end, self->n_bytes - end);
    list->n_items = 3;
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_TUPLE, .list = list};
    return leat_jinja_heap_spend(&render->heap, self->n_bytes / 16, render->err);
}

METHOD(str_partition) {
    (void)all;
    return partition(render, self, &arguments[0], false, ret);
}

METHOD(str_rpartition) {
    (void)all;
    return partition(render, self, &arguments[0], true, ret);
}

METHOD(str_join) {
    const struct leat_jinja_list *items;
    size_t n_before = render->scratch.n_bytes;
    int r = leat_jinja_items(render, &arguments[0], &items);

    (void)all;
    for (size_t i = 0; r == 0 && i < items->n_items; i++) {
        r = check_text(render, &items->items[i]);
        if (r == 0 && i > 0)
            r = leat_jinja_add_str(render, &render->scratch, self);
        if (r == 0)
            r = leat_jinja_add_str(render, &render->scratch, &items->items[i]);
    }
    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}

METHOD(str_format) {
    (void)arguments;
    return leat_jinja_format(render, self, all, ret);
}

/* Most texts are of ASCII. */
static int all_are(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                   int (*is)(int), enum leat_jinja_character kind, struct leat_jinja_value *ret) {
    bool result = self->n_bytes > 0;

    if (!leat_jinja_is_ascii(self->text, self->n_bytes))
        return leat_jinja_all_are(render, self, kind, ret);
    for (size_t i = 0; result && i < self->n_bytes; i++)
        result = is((unsigned char)self->text[i]) != 0;
    *ret = leat_jinja_bool(result);
    return leat_jinja_heap_spend(&render->heap, self->n_bytes / 16, render->err);
}

METHOD(str_isdigit) {
    (void)arguments, (void)all;
    return all_are(render, self, isdigit, LEAT_JINJA_DIGIT, ret);
}

METHOD(str_isdecimal) {
    (void)arguments, (void)all;
    return all_are(render, self, isdigit, LEAT_JINJA_DECIMAL, ret);
}

METHOD(str_isnumeric) {
    (void)arguments, (void)all;
    return all_are(render, self, isdigit, LEAT_JINJA_NUMERIC, ret);
}

METHOD(str_isalpha) {
    (void)arguments, (void)all;
    return all_are(render, self, isalpha, LEAT_JINJA_ALPHABETIC, ret);
}

METHOD(str_isalnum) {
    (void)arguments, (void)all;
    return all_are(render, self, isalnum, LEAT_JINJA_ALPHANUMERIC, ret);
}

METHOD(str_isascii) {
    (void)arguments, (void)all;
    *ret = leat_jinja_bool(leat_jinja_is_ascii(self->text, self->n_bytes));
    return leat_jinja_heap_spend(&render->heap, self->n_bytes / 16, render->err);
}

METHOD(str_islower) {
    (void)arguments, (void)all;
    return leat_jinja_has_case(render, self, false, ret);
}

METHOD(str_isupper) {
    (void)arguments, (void)all;
    return leat_jinja_has_case(render, self, true, ret);
}

METHOD(str_casefold) {
    (void)arguments, (void)all;
    if (!leat_jinja_is_ascii(self->text, self->n_bytes))
        return leat_jinja_fail(render, "casefold() supports only ASCII text");
    return leat_jinja_lower(render, self, ret);
}

METHOD(str_isspace) {
    size_t n_space = leat_jinja_leading_space(self->text, self->n_bytes);

    (void)arguments, (void)all;
    *ret = leat_jinja_bool(n_space > 0 && n_space == self->n_bytes);
    return leat_jinja_heap_spend(&render->heap, n_space / 16, render->err);
}

#define PLAIN(method_name, function)                                                               \
    { .name = (method_name), .call = (function) }
#define ONE(method_name, function)                                                                 \
    {                                                                                              \
        .name = (method_name), .names = {"value"}, .n_required = 1, .takes_no_names = true,        \
        .call = (function)                                                                         \
    }
#define STRIP(method_name, function)                                                               \
    { .name = (method_name), .names = {"chars"}, .takes_no_names = true, .call = (function) }

const struct leat_jinja_builtin leat_jinja_str_methods[] = {
    PLAIN("lower", str_lower),
    PLAIN("upper", str_upper),
    PLAIN("capitalize", str_capitalize),
    PLAIN("title", str_title),
    PLAIN("isdigit", str_isdigit),
    PLAIN("isdecimal", str_isdecimal),
    PLAIN("isnumeric", str_isnumeric),
    PLAIN("isalpha", str_isalpha),
    PLAIN("isalnum", str_isalnum),
    PLAIN("isspace", str_isspace),
    PLAIN("isascii", str_isascii),
    PLAIN("islower", str_islower),
    PLAIN("isupper", str_isupper),
    PLAIN("casefold", str_casefold),
    ONE("startswith", str_startswith),
    ONE("endswith", str_endswith),
    ONE("removeprefix", str_removeprefix),
    ONE("removesuffix", str_removesuffix),
    ONE("find", str_find),
    ONE("rfind", str_rfind),
    ONE("index", str_index),
    ONE("rindex", str_rindex),
    ONE("count", str_count),
    ONE("partition", str_partition),
    ONE("rpartition", str_rpartition),
    ONE("join", str_join),
    {.name = "format", .takes_any = true, .call = str_format},
    STRIP("strip", str_strip),
    STRIP("lstrip", str_lstrip),
    STRIP("rstrip", str_rstrip),
    {.name = "split", .names = {"sep", "maxsplit"}, .call = str_split},
    {.name = "rsplit", .names = {"sep", "maxsplit"}, .call = str_rsplit},
    {.name = "splitlines", .names = {"keepends"}, .call = str_splitlines},
    {.name = "replace",
     .names = {"old", "new", "count"},
     .n_required = 2,
     .takes_no_names = true,
     .call = str_replace},
    {.name = NULL},
};
