/* filters.c: what stands behind `|`; see list_filters.c for those of lists. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/render.h"
#include "pipeline/tokenizer/jinja/strings.h"

#define FILTER(function)                                                                           \
    static int function(struct leat_jinja_render *render, const struct leat_jinja_value *self,     \
                        const struct leat_jinja_value *arguments,                                  \
                        const struct leat_jinja_arguments *all, struct leat_jinja_value *ret)

/* ---- texts */

FILTER(filter_string) {
    (void)arguments, (void)all;
    return leat_jinja_to_string(render, self, ret);
}

FILTER(filter_safe) {
    int r = leat_jinja_to_string(render, self, ret);

    (void)arguments, (void)all;
    ret->is_safe = true;
    return r;
}

/* A filter that is a method of the text of a value. */
static int as_text(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                   int (*edit)(struct leat_jinja_render *, const struct leat_jinja_value *,
                               struct leat_jinja_value *),
                   struct leat_jinja_value *ret) {
    struct leat_jinja_value text;
    int r = leat_jinja_to_string(render, self, &text);

    return r < 0 ? r : edit(render, &text, ret);
}

FILTER(filter_lower) {
    (void)arguments, (void)all;
    return as_text(render, self, leat_jinja_lower, ret);
}

FILTER(filter_upper) {
    (void)arguments, (void)all;
    return as_text(render, self, leat_jinja_upper, ret);
}

FILTER(filter_capitalize) {
    (void)arguments, (void)all;
    return as_text(render, self, leat_jinja_capitalize, ret);
}

FILTER(filter_title) {
    (void)arguments, (void)all;
    return as_text(render, self, leat_jinja_title_words, ret);
}

FILTER(filter_trim) {
    struct leat_jinja_value text;
    int r = leat_jinja_to_string(render, self, &text);

    (void)all;
    return r < 0 ? r : leat_jinja_strip(render, &text, &arguments[0], LEAT_JINJA_STRIP_BOTH, ret);
}

FILTER(filter_replace) {
    struct leat_jinja_value text, old, new;
    int r = leat_jinja_to_string(render, self, &text);

    (void)all;
    if (r == 0)
        r = leat_jinja_to_string(render, &arguments[0], &old);
    if (r == 0)
        r = leat_jinja_to_string(render, &arguments[1], &new);
    return r < 0 ? r : leat_jinja_replace(render, &text, &old, &new, &arguments[2], ret);
}

/* Makes the indent of one level: a number of spaces, or a text. */
static int indent_text(struct leat_jinja_render *render, const struct leat_jinja_value *width,
                       struct leat_jinja_value *ret) {
    static const char spaces[] = "                                                                ";
    int64_t n =
        leat_jinja_is_given(width) && leat_jinja_is_integral(width) ? leat_jinja_integer(width) : 4;

    if (leat_jinja_is_given(width) && width->kind == LEAT_JINJA_STRING) {
        *ret = *width;
        return 0;
    }
    if (leat_jinja_is_given(width) && !leat_jinja_is_integral(width))
        return leat_jinja_fail(render, "an indent must be an integer or a text, not %s",
                               leat_jinja_kind_name(width));
    if (n > (int64_t)sizeof(spaces) - 1)
        return leat_jinja_fail(render, "an indent of more than %zu is not supported",
                               sizeof(spaces) - 1);
    *ret = leat_jinja_string(spaces, n > 0 ? (size_t)n : 0);
    return 0;
}

/* Lines end with \n here; jinja2 would split at more. */
static int check_lines(struct leat_jinja_render *render, const struct leat_jinja_value *text) {
    for (size_t i = 0; i < text->n_bytes; i++) {
        unsigned char c = (unsigned char)text->text[i];
        bool is_wide = i + 2 < text->n_bytes && c == 0xe2 && text->text[i + 1] == '\x80' &&
                       (text->text[i + 2] == '\xa8' || text->text[i + 2] == '\xa9');

        if (c == '\r' || c == '\v' || c == '\f' || (c >= 0x1c && c <= 0x1e) || is_wide ||
            (i + 1 < text->n_bytes && c == 0xc2 && text->text[i + 1] == '\x85'))
            return leat_jinja_fail(render, "a line end other than \\n is not supported");
    }
    return 0;
}

FILTER(filter_indent) {
    bool first = leat_jinja_flag(&arguments[1], false),
         blank = leat_jinja_flag(&arguments[2], false);
    size_t n_before = render->scratch.n_bytes;
    struct leat_jinja_value text, indent;
    int r = leat_jinja_to_string(render, self, &text);

    (void)all;
    if (r == 0)
        r = check_lines(render, &text);
    if (r == 0)
        r = indent_text(render, &arguments[0], &indent);
    if (r < 0)
        return r;
    for (size_t at = 0; at <= text.n_bytes;) {
        const char *end =
            at < text.n_bytes ? memchr(text.text + at, '\n', text.n_bytes - at) : NULL;
        size_t n = end ? (size_t)(end - text.text) - at : text.n_bytes - at;

        if (at == 0 ? first : (blank || n > 0))
            leat_text_add_bytes(&render->scratch, indent.text, indent.n_bytes);
        leat_text_add_bytes(&render->scratch, text.text + at, n + (end != NULL));
        if (render->scratch.n_bytes - n_before > LEAT_JINJA_OUTPUT_MAX)
            return leat_jinja_fail(render, "an indented text is too long");
        at += n + 1;
    }
    return leat_jinja_take_scratch(render, n_before, ret);
}

FILTER(filter_wordcount) {
    struct leat_jinja_value text;
    bool in_word = false;
    int64_t n = 0;
    int r = leat_jinja_to_string(render, self, &text);

    (void)arguments, (void)all;
    if (r == 0 && !leat_jinja_is_ascii(text.text, text.n_bytes))
        r = leat_jinja_fail(render, "this filter supports only ASCII text");
    for (size_t i = 0; r == 0 && i < text.n_bytes; i++) {
        bool is_word = isalnum((unsigned char)text.text[i]) || text.text[i] == '_';

        n += is_word && !in_word;
        in_word = is_word;
    }
    *ret = leat_jinja_int(n);
    return r < 0 ? r : leat_jinja_heap_spend(&render->heap, text.n_bytes / 16, render->err);
}

FILTER(filter_format) {
    struct leat_jinja_value text, values;
    int r = leat_jinja_to_string(render, self, &text);

    (void)arguments;
    if (r == 0 && all->n_keywords)
        r = leat_jinja_fail(render, "\"format\" with named values is not supported");
    if (r == 0)
        r = leat_jinja_list_value(render, LEAT_JINJA_TUPLE, all->items, all->n_items, &values);
    return r < 0 ? r : leat_jinja_percent(render, &text, &values, ret);
}

FILTER(filter_tojson) {
    struct leat_jinja_json_style style = {.item_separator = leat_jinja_string(", ", 2),
                                          .key_separator = leat_jinja_string(": ", 2),
                                          .escapes = leat_jinja_flag(&arguments[0], false),
                                          .sorts = leat_jinja_flag(&arguments[3], false)};
    size_t n_before = render->scratch.n_bytes;
    struct leat_jinja_value indent;
    int r = 0;

    (void)all;
    if (leat_jinja_is_given(&arguments[1]) && arguments[1].kind != LEAT_JINJA_NONE) {
        r = indent_text(render, &arguments[1], &indent);
        if (r < 0)
            return r;
        style.indent = indent.text;
        style.n_indent = indent.n_bytes;
        style.item_separator.n_bytes = 1;
    }
    if (leat_jinja_is_given(&arguments[2]) && arguments[2].kind != LEAT_JINJA_NONE) {
        const struct leat_jinja_list *separators;

        r = leat_jinja_items(render, &arguments[2], &separators);
        if (r < 0)
            return r;
        if (separators->n_items != 2 || separators->items[0].kind != LEAT_JINJA_STRING ||
            separators->items[1].kind != LEAT_JINJA_STRING)
            return leat_jinja_fail(render, "`separators` must be two texts");
        style.item_separator = separators->items[0];
        style.key_separator = separators->items[1];
    }
    r = leat_jinja_add_json(render, &render->scratch, self, &style);
    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}

/* ---- numbers */

FILTER(filter_abs) {
    static const struct leat_jinja_value zero = {.kind = LEAT_JINJA_INT};

    (void)arguments, (void)all;
    if (self->kind == LEAT_JINJA_FLOAT) {
        *ret = leat_jinja_float(fabs(self->number));
        return 0;
    }
    if (!leat_jinja_is_integral(self))
        return leat_jinja_fail(render, "%s has no absolute value", leat_jinja_kind_name(self));
    return leat_jinja_arithmetic(
        render, leat_jinja_integer(self) < 0 ? LEAT_JINJA_SUB : LEAT_JINJA_ADD, &zero, self, ret);
}

/* A number in a text, with blanks around it; false if there is none. */
static bool read_float(const struct leat_jinja_value *text, double *ret) {
    char digits[64], *end;
    size_t n = 0;

    if (text->n_bytes >= sizeof(digits))
        return false;
    for (size_t i = 0; i < text->n_bytes; i++) {
        int c = (unsigned char)text->text[i];

        if (isspace(c) && (n == 0 || i + 1 == text->n_bytes))
            continue;
        if (!isdigit(c) && !(c && strchr("+-.eE", c)))
            return false;
        digits[n++] = (char)c;
    }
    digits[n] = '\0';
    *ret = strtod(digits, &end);
    return n > 0 && *end == '\0';
}

static bool read_int(const struct leat_jinja_value *text, int64_t *ret) {
    char digits[32], *end;
    size_t skip = 0, n = text->n_bytes;

    while (skip < n && isspace((unsigned char)text->text[skip]))
        skip++;
    while (n > skip && isspace((unsigned char)text->text[n - 1]))
        n--;
    if (n == skip || n - skip >= sizeof(digits))
        return false;
    memcpy(digits, text->text + skip, n - skip);
    digits[n - skip] = '\0';
    if (isspace((unsigned char)digits[0]))
        return false;
    errno = 0;
    *ret = strtoll(digits, &end, 10);
    return *end == '\0' && errno == 0;
}

FILTER(filter_int) {
    struct leat_jinja_value fallback =
        leat_jinja_is_given(&arguments[0]) ? arguments[0] : leat_jinja_int(0);
    int64_t integer = 0;
    double number = 0;

    (void)all;
    if (leat_jinja_is_given(&arguments[1]))
        return leat_jinja_fail(render, "\"int\" with a base is not supported");
    if (leat_jinja_is_integral(self)) {
        *ret = leat_jinja_int(leat_jinja_integer(self));
        return 0;
    }
    if (self->kind == LEAT_JINJA_UNDEFINED)
        return leat_jinja_check_defined(render, self);
    if (self->kind == LEAT_JINJA_STRING && read_int(self, &integer)) {
        *ret = leat_jinja_int(integer);
        return 0;
    }
    if (self->kind == LEAT_JINJA_FLOAT)
        number = self->number;
    else if (self->kind != LEAT_JINJA_STRING || !read_float(self, &number))
        number = NAN;
    if (isfinite(number) && fabs(number) >= 9.2e18)
        return leat_jinja_fail(render, "integers beyond 64 bits are not supported");
    *ret = isfinite(number) ? leat_jinja_int((int64_t)number) : fallback;
    return 0;
}

FILTER(filter_float) {
    double number;

    (void)render, (void)all;
    if (self->kind == LEAT_JINJA_UNDEFINED)
        return leat_jinja_check_defined(render, self);
    if (leat_jinja_is_number(self))
        *ret = leat_jinja_float(leat_jinja_number(self));
    else if (self->kind == LEAT_JINJA_STRING && read_float(self, &number))
        *ret = leat_jinja_float(number);
    else
        *ret = leat_jinja_is_given(&arguments[0]) ? arguments[0] : leat_jinja_float(0);
    return 0;
}

FILTER(filter_round) {
    int64_t precision = leat_jinja_is_given(&arguments[0]) && leat_jinja_is_integral(&arguments[0])
                            ? leat_jinja_integer(&arguments[0])
                            : 0;
    const struct leat_jinja_value *method = &arguments[1];
    double scale = pow(10, (double)precision), number;
    char digits[400];

    (void)all;
    if (!leat_jinja_is_number(self))
        return leat_jinja_fail(render, "%s cannot be rounded", leat_jinja_kind_name(self));
    if (precision < 0 || precision > 17)
        return leat_jinja_fail(render, "rounding to %lld digits is not supported",
                               (long long)precision);
    number = leat_jinja_number(self);
    if (leat_jinja_is_given(method) && method->kind == LEAT_JINJA_STRING &&
        !leat_jinja_equals_text(method, "common", 6)) {
        bool is_ceil = leat_jinja_equals_text(method, "ceil", 4);

        if (!is_ceil && !leat_jinja_equals_text(method, "floor", 5))
            return leat_jinja_fail(render, "the method of \"round\" must be common, ceil or floor");
        *ret = leat_jinja_float((is_ceil ? ceil(number * scale) : floor(number * scale)) / scale);
        return 0;
    }
    if (leat_jinja_is_integral(self)) {
        *ret = leat_jinja_int(leat_jinja_integer(self));
        return 0;
    }
    snprintf(digits, sizeof(digits), "%.*f", (int)precision, number);
    *ret = leat_jinja_float(strtod(digits, NULL));
    return 0;
}

FILTER(filter_sum) {
    struct leat_jinja_value total =
        leat_jinja_is_given(&arguments[1]) ? arguments[1] : leat_jinja_int(0);
    const struct leat_jinja_list *items;
    int r = leat_jinja_items(render, self, &items);

    (void)all;
    for (size_t i = 0; r == 0 && i < items->n_items; i++) {
        struct leat_jinja_value item;

        r = leat_jinja_path(render, &items->items[i], &arguments[0], NULL, &item);
        if (r == 0)
            r = leat_jinja_arithmetic(render, LEAT_JINJA_ADD, &total, &item, &total);
    }
    *ret = total;
    return r;
}

/* ---- values */

FILTER(filter_default) {
    bool is_missing = self->kind == LEAT_JINJA_UNDEFINED ||
                      (leat_jinja_flag(&arguments[1], false) && !leat_jinja_is_true(self));

    (void)render, (void)all;
    *ret = !is_missing                          ? *self
           : leat_jinja_is_given(&arguments[0]) ? arguments[0]
                                                : leat_jinja_string("", 0);
    return 0;
}

FILTER(filter_length) {
    (void)arguments, (void)all;
    if (self->kind == LEAT_JINJA_STRING)
        *ret = leat_jinja_int((int64_t)leat_jinja_n_characters(self->text, self->n_bytes));
    else if (self->kind == LEAT_JINJA_DICT)
        *ret = leat_jinja_int((int64_t)self->dict->n_pairs);
    else if (leat_jinja_has_items(self) && self->kind != LEAT_JINJA_ITERATOR)
        *ret = leat_jinja_int((int64_t)self->list->n_items);
    else if (self->kind == LEAT_JINJA_UNDEFINED)
        *ret = leat_jinja_int(0);
    else
        return leat_jinja_fail(render, "%s has no length", leat_jinja_kind_name(self));
    return leat_jinja_heap_spend(
        &render->heap, self->kind == LEAT_JINJA_STRING ? self->n_bytes / 16 : 0, render->err);
}

FILTER(filter_attr) {
    (void)all;
    if (arguments[0].kind != LEAT_JINJA_STRING)
        return leat_jinja_fail(render, "the name of an attribute must be a text");
    if (self->kind == LEAT_JINJA_DICT) /* keys are no attributes */
        return leat_jinja_fail(render, "\"attr\" of a dict is not supported");
    return leat_jinja_attribute(render, self, &arguments[0], ret);
}

FILTER(filter_items) {
    struct leat_jinja_list *list;

    (void)arguments, (void)all;
    if (self->kind != LEAT_JINJA_DICT && self->kind != LEAT_JINJA_UNDEFINED)
        return leat_jinja_fail(render, "only a dict has items; this is %s",
                               leat_jinja_kind_name(self));
    if (self->kind == LEAT_JINJA_UNDEFINED)
        return leat_jinja_list_value(render, LEAT_JINJA_ITERATOR, NULL, 0, ret);
    if (leat_jinja_pairs(render, self->dict, &list) < 0)
        return render->err->code;
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_ITERATOR, .list = list};
    return 0;
}

#define PLAIN(filter_name, function)                                                               \
    { .name = (filter_name), .call = (function) }
#define SAFE(filter_name, function)                                                                \
    { .name = (filter_name), .takes_safe = true, .call = (function) }
#define ANY(filter_name, function)                                                                 \
    { .name = (filter_name), .takes_any = true, .call = (function) }

static const struct leat_jinja_builtin filters[] = {
    PLAIN("abs", filter_abs),
    PLAIN("capitalize", filter_capitalize),
    SAFE("count", filter_length),
    SAFE("length", filter_length),
    SAFE("safe", filter_safe),
    SAFE("string", filter_string),
    PLAIN("items", filter_items),
    PLAIN("lower", filter_lower),
    PLAIN("title", filter_title),
    PLAIN("upper", filter_upper),
    PLAIN("wordcount", filter_wordcount),
    ANY("format", filter_format),
    {.name = "attr", .names = {"name"}, .n_required = 1, .call = filter_attr},
    {.name = "d",
     .names = {"default_value", "boolean"},
     .takes_safe = true,
     .call = filter_default},
    {.name = "default",
     .names = {"default_value", "boolean"},
     .takes_safe = true,
     .call = filter_default},
    {.name = "float", .names = {"default"}, .call = filter_float},
    {.name = "indent", .names = {"width", "first", "blank"}, .call = filter_indent},
    {.name = "int", .names = {"default", "base"}, .call = filter_int},
    {.name = "replace", .names = {"old", "new", "count"}, .n_required = 2, .call = filter_replace},
    {.name = "round", .names = {"precision", "method"}, .call = filter_round},
    {.name = "sum", .names = {"attribute", "start"}, .call = filter_sum},
    {.name = "tojson",
     .names = {"ensure_ascii", "indent", "separators", "sort_keys"},
     .call = filter_tojson},
    {.name = "trim", .names = {"chars"}, .call = filter_trim},
    {.name = NULL},
};

static const struct leat_jinja_builtin *find_in(const struct leat_jinja_builtin *table,
                                                const char *name, size_t n_bytes) {
    for (; table->name; table++)
        if (strlen(table->name) == n_bytes && memcmp(table->name, name, n_bytes) == 0)
            return table;
    return NULL;
}

const struct leat_jinja_builtin *leat_jinja_filter_find(const char *name, size_t n_bytes) {
    const struct leat_jinja_builtin *found = find_in(filters, name, n_bytes);

    return found ? found : find_in(leat_jinja_list_filters, name, n_bytes);
}
