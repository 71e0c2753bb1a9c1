/* filters.c: what stands behind `|`; see list_filters.c for those of lists. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/lexer.h"
#include "pipeline/tokenizer/jinja/render.h"
#include "pipeline/tokenizer/jinja/strings.h"
#include "proto/base/utf8.h"

/* ---- texts */

static LEAT_JINJA_BUILTIN(filter_string) {
    return leat_jinja_to_string(render, self, ret);
}

static LEAT_JINJA_BUILTIN(filter_safe) {
    int r = leat_jinja_to_string(render, self, ret);

    ret->is_safe = true;
    return r;
}

static LEAT_JINJA_BUILTIN(filter_replace) {
    struct leat_jinja_value text, old, new;
    int r = leat_jinja_to_string(render, self, &text);

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
        return leat_jinja_fail(render, "an indent of more than %zu spaces is not supported",
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

static LEAT_JINJA_BUILTIN(filter_indent) {
    bool first = leat_jinja_is_true(&arguments[1]), blank = leat_jinja_is_true(&arguments[2]);
    size_t n_before = render->scratch.n_bytes;
    struct leat_jinja_value text, indent;
    int r = leat_jinja_to_string(render, self, &text);

    if (r == 0 && self->kind != LEAT_JINJA_STRING)
        r = leat_jinja_fail(render, "only a text can be indented, not %s",
                            leat_jinja_kind_name(self));
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

static LEAT_JINJA_BUILTIN(filter_wordcount) {
    struct leat_jinja_value text;
    bool in_word = false;
    int64_t n = 0;
    int r = leat_jinja_to_string(render, self, &text);

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

static LEAT_JINJA_BUILTIN(filter_format) {
    struct leat_jinja_value text, values;
    int r = leat_jinja_to_string(render, self, &text);

    if (r == 0 && all->n_keywords)
        r = leat_jinja_fail(render, "\"format\" with named values is not supported");
    if (r == 0)
        r = leat_jinja_list_value(render, LEAT_JINJA_TUPLE, all->items, all->n_items, &values);
    return r < 0 ? r : leat_jinja_percent(render, &text, &values, ret);
}

static LEAT_JINJA_BUILTIN(filter_tojson) {
    struct leat_jinja_json_style style = {.item_separator = leat_jinja_string(", ", 2),
                                          .key_separator = leat_jinja_string(": ", 2),
                                          .escapes = leat_jinja_is_true(&arguments[0]),
                                          .sorts = leat_jinja_is_true(&arguments[3])};
    size_t n_before = render->scratch.n_bytes;
    struct leat_jinja_value indent;
    int r = 0;

    if (leat_jinja_is_some(&arguments[1])) {
        r = indent_text(render, &arguments[1], &indent);
        if (r < 0)
            return r;
        style.indent = indent.text;
        style.n_indent = indent.n_bytes;
        style.item_separator.n_bytes = 1;
    }
    if (leat_jinja_is_some(&arguments[2])) {
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
    r = leat_jinja_add_json(render, &render->scratch, self, &style, 0);
    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}

/* ---- numbers */

static LEAT_JINJA_BUILTIN(filter_abs) {
    static const struct leat_jinja_value zero = {.kind = LEAT_JINJA_INT};

    if (self->kind == LEAT_JINJA_FLOAT) {
        *ret = leat_jinja_float(fabs(self->number));
        return 0;
    }
    if (!leat_jinja_is_integral(self))
        return leat_jinja_fail(render, "%s has no absolute value", leat_jinja_kind_name(self));
    return leat_jinja_arithmetic(
        render, leat_jinja_integer(self) < 0 ? LEAT_JINJA_SUB : LEAT_JINJA_ADD, &zero, self, ret);
}

/* Fails for digits outside ASCII, which Python reads. */
static int check_digits(struct leat_jinja_render *render, const char *text, size_t n_bytes) {
    int r = 0;

    for (size_t at = 0; r == 0 && at < n_bytes;) {
        size_t n = leat_utf8_length((const uint8_t *)text + at, n_bytes - at);
        struct leat_jinja_value character = leat_jinja_string(text + at, n), is_digit;

        if (n > 1) {
            r = leat_jinja_all_are(render, &character, LEAT_JINJA_DECIMAL, &is_digit);
            if (r == 0 && is_digit.boolean)
                r = leat_jinja_fail(render, "digits outside ASCII are not supported");
        }
        at += n;
    }
    return r;
}

/* The number in a text, terminated, without blanks around it and underscores between digits. What
 * cannot be a number is returned as "". */
static int number_text(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                       const char **ret) {
    bool is_ascii = leat_jinja_is_ascii(text->text, text->n_bytes);
    size_t skip = 0, end = text->n_bytes, n = 0;
    char *digits = leat_jinja_heap_alloc(&render->heap, text->n_bytes + 1);
    int r = check_digits(render, text->text, text->n_bytes);

    if (!digits)
        return leat_jinja_fail_memory(render);
    /* in ASCII, Python's int() does not take 0x1c to 0x1f for blanks */
    if (!is_ascii) {
        skip = leat_jinja_leading_space(text->text, end);
        end -= leat_jinja_trailing_space(text->text + skip, end - skip);
    }
    while (skip < end && isspace((unsigned char)text->text[skip]))
        skip++;
    while (end > skip && isspace((unsigned char)text->text[end - 1]))
        end--;
    for (size_t i = skip; i < end; i++) {
        char c = text->text[i];

        if (c == '_' && i > skip && i + 1 < end && isdigit((unsigned char)text->text[i - 1]) &&
            isdigit((unsigned char)text->text[i + 1]))
            continue;
        if (!c || !strchr("0123456789+-.eEinftyaINFTYA", c)) {
            n = 0;
            break;
        }
        digits[n++] = c;
    }
    digits[n] = '\0';
    *ret = digits;
    return r < 0 ? r : leat_jinja_heap_spend(&render->heap, text->n_bytes / 16, render->err);
}

static bool read_float(const char *digits, double *ret) {
    char *end;

    *ret = strtod(digits, &end);
    return end > digits && *end == '\0';
}

/* False: no integer of 64 bits. */
static bool read_int(const char *digits, int64_t *ret) {
    char *end;

    errno = 0;
    *ret = strtoll(digits, &end, 10);
    return end > digits && *end == '\0' && errno == 0;
}

static LEAT_JINJA_BUILTIN(filter_int) {
    struct leat_jinja_value fallback = leat_jinja_given_or(&arguments[0], leat_jinja_int(0));
    const char *digits = "";
    int64_t integer = 0;
    double number = NAN;
    int r = leat_jinja_check_defined(render, self);

    if (r == 0 && leat_jinja_is_given(&arguments[1]))
        r = leat_jinja_fail(render, "\"int\" with a base is not supported");
    if (r == 0 && self->kind == LEAT_JINJA_STRING)
        r = number_text(render, self, &digits);
    if (r < 0)
        return r;
    if (leat_jinja_is_integral(self) || read_int(digits, &integer)) {
        *ret = leat_jinja_int(leat_jinja_is_integral(self) ? leat_jinja_integer(self) : integer);
        return 0;
    }
    if (self->kind == LEAT_JINJA_FLOAT)
        number = self->number;
    else if (!read_float(digits, &number))
        number = NAN;
    if (isnan(number) || (isinf(number) && self->kind == LEAT_JINJA_STRING)) {
        *ret = fallback;
        return 0;
    }
    if (fabs(number) >= 9.2e18)
        return leat_jinja_fail(render, "integers beyond 64 bits are not supported");
    *ret = leat_jinja_int((int64_t)number);
    return 0;
}

static LEAT_JINJA_BUILTIN(filter_float) {
    const char *digits = "";
    double number;
    int r = leat_jinja_check_defined(render, self);

    if (r == 0 && self->kind == LEAT_JINJA_STRING)
        r = number_text(render, self, &digits);
    if (r < 0)
        return r;
    if (leat_jinja_is_number(self))
        *ret = leat_jinja_float(leat_jinja_number(self));
    else if (read_float(digits, &number))
        *ret = leat_jinja_float(number);
    else
        *ret = leat_jinja_given_or(&arguments[0], leat_jinja_float(0));
    return 0;
}

enum rounding { ROUND_COMMON, ROUND_CEIL, ROUND_FLOOR, N_ROUNDINGS };

/* N_ROUNDINGS: the name is unknown. */
static enum rounding rounding_of(const struct leat_jinja_value *name) {
    static const char *const names[N_ROUNDINGS] = {"common", "ceil", "floor"};
    int which = ROUND_COMMON;

    if (!leat_jinja_is_given(name))
        return ROUND_COMMON;
    while (which < N_ROUNDINGS &&
           (name->kind != LEAT_JINJA_STRING ||
            !leat_jinja_equals_text(name, names[which], strlen(names[which]))))
        which++;
    return (enum rounding)which;
}

static LEAT_JINJA_BUILTIN(filter_round) {
    struct leat_jinja_value precision = leat_jinja_given_or(&arguments[0], leat_jinja_int(0));
    enum rounding rounding = rounding_of(&arguments[1]);
    double scale, number;
    char digits[400];

    if (rounding == N_ROUNDINGS)
        return leat_jinja_fail(render, "the method of \"round\" must be common, ceil or floor");
    if (!leat_jinja_is_number(self))
        return leat_jinja_fail(render, "%s cannot be rounded", leat_jinja_kind_name(self));
    if (!leat_jinja_is_integral(&precision))
        return leat_jinja_fail(render, "\"round\" needs a number of digits, not %s",
                               leat_jinja_kind_name(&precision));
    if (leat_jinja_integer(&precision) < 0 || leat_jinja_integer(&precision) > 17)
        return leat_jinja_fail(render, "rounding to %lld digits is not supported",
                               (long long)leat_jinja_integer(&precision));
    number = leat_jinja_number(self);
    if (leat_jinja_is_integral(self)) {
        *ret = rounding == ROUND_COMMON ? leat_jinja_int(leat_jinja_integer(self))
                                        : leat_jinja_float(number);
        return 0;
    }
    if (rounding != ROUND_COMMON) {
        scale = pow(10, (double)leat_jinja_integer(&precision));
        number *= scale;
        if (!isfinite(number))
            return leat_jinja_fail(render, "this number cannot be rounded");
        *ret =
            leat_jinja_float((rounding == ROUND_CEIL ? ceil(number) : floor(number)) / scale + 0.0);
        return 0;
    }
    snprintf(digits, sizeof(digits), "%.*f", (int)leat_jinja_integer(&precision), number);
    *ret = leat_jinja_float(strtod(digits, NULL));
    return 0;
}

static LEAT_JINJA_BUILTIN(filter_sum) {
    struct leat_jinja_value total = leat_jinja_given_or(&arguments[1], leat_jinja_int(0));
    const struct leat_jinja_list *items;
    int r = leat_jinja_items(render, self, &items);

    if (r == 0 && total.kind == LEAT_JINJA_STRING)
        r = leat_jinja_fail(render, "\"sum\" cannot add texts: use \"join\"");
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

static LEAT_JINJA_BUILTIN(filter_default) {
    bool is_missing = self->kind == LEAT_JINJA_UNDEFINED ||
                      (leat_jinja_is_true(&arguments[1]) && !leat_jinja_is_true(self));

    *ret = !is_missing                          ? *self
           : leat_jinja_is_given(&arguments[0]) ? arguments[0]
                                                : leat_jinja_string("", 0);
    return 0;
}

static LEAT_JINJA_BUILTIN(filter_length) {
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

static LEAT_JINJA_BUILTIN(filter_attr) {
    if (arguments[0].kind != LEAT_JINJA_STRING)
        return leat_jinja_fail(render, "the name of an attribute must be a text");
    if (self->kind == LEAT_JINJA_DICT) /* keys are no attributes */
        return leat_jinja_fail(render, "\"attr\" of a dict is not supported");
    return leat_jinja_attribute(render, self, &arguments[0], ret);
}

static LEAT_JINJA_BUILTIN(filter_items) {
    struct leat_jinja_list *list;

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
#define CASE(filter_name, wanted)                                                                  \
    { .name = (filter_name), .call = leat_jinja_change_case, .variant = (wanted) }
#define ANY(filter_name, function)                                                                 \
    { .name = (filter_name), .takes_any = true, .call = (function) }

static const struct leat_jinja_builtin filters[] = {
    PLAIN("abs", filter_abs),
    CASE("capitalize", LEAT_JINJA_CAPITALIZE),
    SAFE("count", filter_length),
    SAFE("length", filter_length),
    SAFE("safe", filter_safe),
    SAFE("string", filter_string),
    PLAIN("items", filter_items),
    CASE("lower", LEAT_JINJA_LOWER),
    CASE("title", LEAT_JINJA_TITLE_WORDS),
    CASE("upper", LEAT_JINJA_UPPER),
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
    {.name = "trim",
     .names = {"chars"},
     .call = leat_jinja_strip,
     .variant = LEAT_JINJA_STRIP_BOTH},
    {.name = NULL},
};

const struct leat_jinja_builtin *leat_jinja_filter_find(const char *name, size_t n_bytes) {
    const struct leat_jinja_builtin *found = leat_jinja_builtin_find(filters, name, n_bytes);

    return found ? found : leat_jinja_builtin_find(leat_jinja_list_filters, name, n_bytes);
}
