/* format.c: values as texts, as Python's str(), repr(), json.dumps(), % and str.format() write
 * them. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/render.h"
#include "pipeline/tokenizer/unicode/property.h"
#include "proto/base/utf8.h"

#define NUMBER_BYTES 64

/* ---- numbers */

/* Raises the last of the digits before the exponent. False: that carries to the first digit. */
static bool raise_digit(char *digits) {
    char *at = strchr(digits, 'e') - 1;

    while (at > digits && *at == '9')
        *at-- = '0';
    if (*at == '9' || !isdigit((unsigned char)*at))
        return false;
    ++*at;
    return true;
}

/* The digits of a number in as few places as read back as the same number; how many. A power of two
 * is nearer to the number below it, so the digits above it may do where the nearest ones do not. */
static int print_shortest(char *digits, size_t size, double value) {
    int exponent;
    bool is_power = fabs(frexp(value, &exponent)) == 0.5;

    for (int n_digits = 1; n_digits < 17; n_digits++) {
        snprintf(digits, size, "%.*e", n_digits - 1, value);
        if (strtod(digits, NULL) == value ||
            (is_power && raise_digit(digits) && strtod(digits, NULL) == value))
            return n_digits;
    }
    snprintf(digits, size, "%.16e", value);
    return 17;
}

/* repr() of a float: the shortest digits that read back as the same number. */
static size_t print_float(char *text, double value) {
    char digits[NUMBER_BYTES], *exponent;
    int n_digits, power;
    size_t n = 0;

    if (isnan(value))
        return (size_t)snprintf(text, NUMBER_BYTES, "nan");
    if (isinf(value))
        return (size_t)snprintf(text, NUMBER_BYTES, "%sinf", value < 0 ? "-" : "");
    n_digits = print_shortest(digits, sizeof(digits), value);
    exponent = strchr(digits, 'e');
    power = atoi(exponent + 1);
    if (power < -4 || power >= 16) {
        *exponent = '\0';
        return (size_t)snprintf(text, NUMBER_BYTES, "%se%c%02d", digits, power < 0 ? '-' : '+',
                                abs(power));
    }
    n = (size_t)snprintf(text, NUMBER_BYTES, "%.*f",
                         n_digits - 1 > power ? n_digits - 1 - power : 0, value);
    if (!memchr(text, '.', n))
        n += (size_t)snprintf(text + n, NUMBER_BYTES - n, ".0");
    return n;
}

static void add_number(struct leat_text *text, const struct leat_jinja_value *value) {
    char digits[NUMBER_BYTES];

    if (value->kind == LEAT_JINJA_FLOAT)
        leat_text_add_bytes(text, digits, print_float(digits, value->number));
    else
        leat_text_add(text, "%lld", (long long)value->integer);
}

/* ---- repr() */

/* Python's str.isprintable() of a character outside ASCII. */
static bool is_printable(uint32_t code) {
    struct leat_unicode_set others = leat_unicode_property("C"),
                            separators = leat_unicode_property("Z");

    return !leat_unicode_set_has(&others, code) && !leat_unicode_set_has(&separators, code);
}

static void add_quoted(struct leat_text *text, const char *bytes, size_t n_bytes) {
    bool has_single = memchr(bytes, '\'', n_bytes) != NULL;
    char quote = has_single && !memchr(bytes, '"', n_bytes) ? '"' : '\'';

    leat_text_add_bytes(text, &quote, 1);
    for (size_t i = 0; i < n_bytes;) {
        size_t n = leat_utf8_length((const uint8_t *)bytes + i, n_bytes - i);
        uint32_t code = leat_utf8_code_point((const uint8_t *)bytes + i, n_bytes - i);

        if (code == (uint32_t)quote || code == '\\')
            leat_text_add(text, "\\%c", (char)code);
        else if (code == '\n' || code == '\r' || code == '\t')
            leat_text_add(text, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
        else if (code < 0x20 || code == 0x7f ||
                 (code >= 0x80 && code < 0x100 && !is_printable(code)))
            leat_text_add(text, "\\x%02x", code);
        else if (code >= 0x100 && !is_printable(code))
            leat_text_add(text, code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
        else
            leat_text_add_bytes(text, bytes + i, n);
        i += n;
    }
    leat_text_add_bytes(text, &quote, 1);
}

static int add_items(struct leat_jinja_render *render, struct leat_text *text,
                     const struct leat_jinja_value *value) {
    const struct leat_jinja_list *list = value->list;
    bool is_tuple = value->kind == LEAT_JINJA_TUPLE;
    int r = 0;

    leat_text_add_bytes(text, is_tuple ? "(" : "[", 1);
    for (size_t i = 0; r == 0 && i < list->n_items; i++) {
        if (i > 0)
            leat_text_add_bytes(text, ", ", 2);
        r = leat_jinja_add_repr(render, text, &list->items[i]);
    }
    if (is_tuple && list->n_items == 1)
        leat_text_add_bytes(text, ",", 1);
    leat_text_add_bytes(text, is_tuple ? ")" : "]", 1);
    return r;
}

static int add_pairs(struct leat_jinja_render *render, struct leat_text *text,
                     const struct leat_jinja_dict *dict) {
    int r = 0;

    leat_text_add_bytes(text, "{", 1);
    for (size_t i = 0; r == 0 && i < dict->n_pairs; i++) {
        if (i > 0)
            leat_text_add_bytes(text, ", ", 2);
        r = leat_jinja_add_repr(render, text, &dict->pairs[i].key);
        leat_text_add_bytes(text, ": ", 2);
        if (r == 0)
            r = leat_jinja_add_repr(render, text, &dict->pairs[i].value);
    }
    leat_text_add_bytes(text, "}", 1);
    return r;
}

static int check_text(struct leat_jinja_render *render, const struct leat_text *text) {
    if (text->failed)
        return leat_error_oom(render->err);
    if (text->n_bytes > 2 * (size_t)LEAT_JINJA_OUTPUT_MAX)
        return leat_error_set(render->err, -E2BIG, "a text has more than %u bytes",
                              2 * LEAT_JINJA_OUTPUT_MAX);
    return 0;
}

static int add_value(struct leat_jinja_render *render, struct leat_text *text,
                     const struct leat_jinja_value *value) {
    switch (value->kind) {
    case LEAT_JINJA_NONE:
        leat_text_add_bytes(text, "None", 4);
        return 0;
    case LEAT_JINJA_BOOL:
        leat_text_add_bytes(text, value->boolean ? "True" : "False", value->boolean ? 4 : 5);
        return 0;
    case LEAT_JINJA_INT:
    case LEAT_JINJA_FLOAT:
        add_number(text, value);
        return 0;
    case LEAT_JINJA_STRING:
        if (value->is_safe)
            return leat_jinja_fail(render,
                                   "repr() of a text that was marked \"safe\" is not supported");
        add_quoted(text, value->text, value->n_bytes);
        return 0;
    case LEAT_JINJA_LIST:
    case LEAT_JINJA_TUPLE:
        return add_items(render, text, value);
    case LEAT_JINJA_DICT:
        return add_pairs(render, text, value->dict);
    case LEAT_JINJA_UNDEFINED:
        leat_text_add_bytes(text, "Undefined", 9);
        return 0;
    default:
        return leat_jinja_fail(render, "%s cannot be converted to text",
                               leat_jinja_kind_name(value));
    }
}

int leat_jinja_add_repr(struct leat_jinja_render *render, struct leat_text *text,
                        const struct leat_jinja_value *value) {
    int r = leat_jinja_heap_enter(&render->heap, render->err);

    if (r == 0)
        r = add_value(render, text, value);
    leat_jinja_heap_leave(&render->heap);
    return r < 0 ? r : check_text(render, text);
}

int leat_jinja_add_str(struct leat_jinja_render *render, struct leat_text *text,
                       const struct leat_jinja_value *value) {
    int r;

    if (value->kind == LEAT_JINJA_UNDEFINED)
        return 0;
    if (value->kind != LEAT_JINJA_STRING)
        return leat_jinja_add_repr(render, text, value);
    leat_text_add_bytes(text, value->text, value->n_bytes);
    r = leat_jinja_heap_spend(&render->heap, value->n_bytes / 16, render->err);
    return r < 0 ? r : check_text(render, text);
}

/* ---- JSON */

static void add_escape(struct leat_text *text, uint32_t code) {
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = code && code < 0x80 ? strchr(plain, (int)code) : NULL;

    if (found)
        leat_text_add(text, "\\%c", letters[found - plain]);
    else if (code < 0x10000)
        leat_text_add(text, "\\u%04x", code);
    else
        leat_text_add(text, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                      0xdc00 + ((code - 0x10000) & 0x3ff));
}

static void add_json_string(struct leat_text *text, const char *bytes, size_t n_bytes,
                            bool escapes) {
    size_t start = 0;

    leat_text_add_bytes(text, "\"", 1);
    for (size_t i = 0; i < n_bytes;) {
        unsigned char c = (unsigned char)bytes[i];
        size_t n = c < 0x80 ? 1 : leat_utf8_length((const uint8_t *)bytes + i, n_bytes - i);

        if (c < 0x20 || c == '"' || c == '\\' || (c >= 0x80 && escapes)) {
            leat_text_add_bytes(text, bytes + start, i - start);
            add_escape(text, leat_utf8_code_point((const uint8_t *)bytes + i, n_bytes - i));
            start = i + n;
        }
        i += n;
    }
    leat_text_add_bytes(text, bytes + start, n_bytes - start);
    leat_text_add_bytes(text, "\"", 1);
}

static void add_json_line(struct leat_text *text, const struct leat_jinja_json_style *style,
                          size_t depth) {
    if (!style->indent)
        return;
    leat_text_add_bytes(text, "\n", 1);
    for (size_t i = 0; i < depth; i++)
        leat_text_add_bytes(text, style->indent, style->n_indent);
}

static void add_json_scalar(struct leat_text *text, const struct leat_jinja_value *value) {
    if (value->kind == LEAT_JINJA_NONE)
        leat_text_add_bytes(text, "null", 4);
    else if (value->kind == LEAT_JINJA_BOOL)
        leat_text_add_bytes(text, value->boolean ? "true" : "false", value->boolean ? 4 : 5);
    else if (value->kind == LEAT_JINJA_FLOAT && isnan(value->number))
        leat_text_add_bytes(text, "NaN", 3);
    else if (value->kind == LEAT_JINJA_FLOAT && isinf(value->number))
        leat_text_add(text, "%sInfinity", value->number < 0 ? "-" : "");
    else
        add_number(text, value);
}

static int add_json_key(struct leat_jinja_render *render, struct leat_text *text,
                        const struct leat_jinja_value *key,
                        const struct leat_jinja_json_style *style) {
    if (key->kind == LEAT_JINJA_STRING) {
        add_json_string(text, key->text, key->n_bytes, style->escapes);
        return 0;
    }
    if (key->kind != LEAT_JINJA_NONE && !leat_jinja_is_number(key))
        return leat_jinja_fail(render, "%s cannot be a key in JSON", leat_jinja_kind_name(key));
    leat_text_add_bytes(text, "\"", 1);
    add_json_scalar(text, key);
    leat_text_add_bytes(text, "\"", 1);
    return 0;
}

static int sort_pairs(struct leat_jinja_render *render, const struct leat_jinja_dict *dict,
                      struct leat_jinja_pair **ret_pairs) {
    struct leat_jinja_pair *pairs =
        leat_jinja_heap_alloc(&render->heap, dict->n_pairs * sizeof(*pairs));
    int r = 0;

    if (!pairs)
        return leat_jinja_fail_memory(render);
    for (size_t i = 0; r == 0 && i < dict->n_pairs; i++) {
        size_t at = i;

        for (int order = 0; r == 0 && at > 0; at--) {
            r = leat_jinja_compare(&render->heap, &dict->pairs[i].key, &pairs[at - 1].key, &order,
                                   render->err);
            if (r < 0 || order != -1)
                break;
            pairs[at] = pairs[at - 1];
        }
        pairs[at] = dict->pairs[i];
    }
    *ret_pairs = pairs;
    return r;
}

static int add_json_dict(struct leat_jinja_render *render, struct leat_text *text,
                         const struct leat_jinja_dict *dict,
                         const struct leat_jinja_json_style *style, size_t depth) {
    struct leat_jinja_pair *pairs = dict->pairs;
    int r = style->sorts ? sort_pairs(render, dict, &pairs) : 0;

    leat_text_add_bytes(text, "{", 1);
    for (size_t i = 0; r == 0 && i < dict->n_pairs; i++) {
        if (i > 0)
            leat_text_add_bytes(text, style->item_separator.text, style->item_separator.n_bytes);
        add_json_line(text, style, depth + 1);
        r = add_json_key(render, text, &pairs[i].key, style);
        leat_text_add_bytes(text, style->key_separator.text, style->key_separator.n_bytes);
        if (r == 0)
            r = leat_jinja_add_json(render, text, &pairs[i].value, style, depth + 1);
    }
    if (dict->n_pairs)
        add_json_line(text, style, depth);
    leat_text_add_bytes(text, "}", 1);
    return r;
}

static int add_json_list(struct leat_jinja_render *render, struct leat_text *text,
                         const struct leat_jinja_list *list,
                         const struct leat_jinja_json_style *style, size_t depth) {
    int r = 0;

    leat_text_add_bytes(text, "[", 1);
    for (size_t i = 0; r == 0 && i < list->n_items; i++) {
        if (i > 0)
            leat_text_add_bytes(text, style->item_separator.text, style->item_separator.n_bytes);
        add_json_line(text, style, depth + 1);
        r = leat_jinja_add_json(render, text, &list->items[i], style, depth + 1);
    }
    if (list->n_items)
        add_json_line(text, style, depth);
    leat_text_add_bytes(text, "]", 1);
    return r;
}

int leat_jinja_add_json(struct leat_jinja_render *render, struct leat_text *text,
                        const struct leat_jinja_value *value,
                        const struct leat_jinja_json_style *style, size_t depth) {
    int r = leat_jinja_heap_enter(&render->heap, render->err);

    if (r < 0)
        return r;
    switch (value->kind) {
    case LEAT_JINJA_NONE:
    case LEAT_JINJA_BOOL:
    case LEAT_JINJA_INT:
    case LEAT_JINJA_FLOAT:
        add_json_scalar(text, value);
        break;
    case LEAT_JINJA_STRING:
        add_json_string(text, value->text, value->n_bytes, style->escapes);
        r = leat_jinja_heap_spend(&render->heap, value->n_bytes / 16, render->err);
        break;
    case LEAT_JINJA_LIST:
    case LEAT_JINJA_TUPLE:
        r = add_json_list(render, text, value->list, style, depth);
        break;
    case LEAT_JINJA_DICT:
        r = add_json_dict(render, text, value->dict, style, depth);
        break;
    default:
        r = leat_jinja_check_defined(render, value);
        if (r == 0)
            r = leat_jinja_fail(render, "%s cannot be converted to JSON",
                                leat_jinja_kind_name(value));
    }
    leat_jinja_heap_leave(&render->heap);
    return r < 0 ? r : check_text(render, text);
}

/* ---- text % value */

struct percent {
    struct leat_jinja_render *render;
    const struct leat_jinja_value *value;
    size_t n_used;
};

static int next_value(struct percent *percent, struct leat_jinja_value *ret) {
    bool is_tuple = percent->value->kind == LEAT_JINJA_TUPLE;
    size_t n = is_tuple ? percent->value->list->n_items : 1;

    if (percent->n_used >= n)
        return leat_jinja_fail(percent->render, "the format has more conversions than values");
    *ret = is_tuple ? percent->value->list->items[percent->n_used] : *percent->value;
    percent->n_used++;
    return 0;
}

/* Flags, width and precision of a conversion. */
struct flags {
    bool zero, minus;
    int width, precision; /* precision: -1 for none */
};

static bool read_number(const struct leat_jinja_value *text, size_t *at, int *ret) {
    for (*ret = 0; *at < text->n_bytes && isdigit((unsigned char)text->text[*at]); ++*at)
        if ((*ret = *ret * 10 + text->text[*at] - '0') > 100)
            return false;
    return true;
}

static bool read_flags(const struct leat_jinja_value *text, size_t *at, struct flags *ret) {
    *ret = (struct flags){.precision = -1};
    for (; *at < text->n_bytes && (text->text[*at] == '0' || text->text[*at] == '-'); ++*at) {
        ret->zero |= text->text[*at] == '0';
        ret->minus |= text->text[*at] == '-';
    }
    if (!read_number(text, at, &ret->width) || (ret->zero && ret->minus))
        return false;
    if (*at == text->n_bytes || text->text[*at] != '.')
        return true;
    ++*at;
    return read_number(text, at, &ret->precision);
}

static int print_number(char *text, size_t size, char kind, const struct flags *flags,
                        double number) {
    int width = flags->minus ? -flags->width : flags->width;
    int precision = flags->precision < 0 ? 6 : flags->precision;

    switch (kind) {
    case 'e':
        return flags->zero ? snprintf(text, size, "%0*.*e", width, precision, number)
                           : snprintf(text, size, "%*.*e", width, precision, number);
    case 'g':
        return flags->zero ? snprintf(text, size, "%0*.*g", width, precision, number)
                           : snprintf(text, size, "%*.*g", width, precision, number);
    default:
        return flags->zero ? snprintf(text, size, "%0*.*f", width, precision, number)
                           : snprintf(text, size, "%*.*f", width, precision, number);
    }
}

static int add_percent_number(struct leat_jinja_render *render, char kind,
                              const struct flags *flags, const struct leat_jinja_value *value) {
    int width = flags->minus ? -flags->width : flags->width;
    char digits[512];
    double number;

    if (!leat_jinja_is_number(value))
        return leat_jinja_fail(render, "%%%c needs a number, not %s", kind,
                               leat_jinja_kind_name(value));
    number = leat_jinja_number(value);
    if (!isfinite(number) || (kind == 'd' && flags->precision >= 0) ||
        (kind == 'd' && value->kind == LEAT_JINJA_FLOAT && fabs(number) >= 9e18))
        return leat_jinja_fail(render, "%%%c does not support this number", kind);
    if (kind == 'd') {
        long long integer = value->kind == LEAT_JINJA_FLOAT ? (long long)number
                                                            : (long long)leat_jinja_integer(value);

        if (flags->zero)
            leat_text_add(&render->scratch, "%0*lld", width, integer);
        else
            leat_text_add(&render->scratch, "%*lld", width, integer);
        return 0;
    }
    leat_text_add_bytes(&render->scratch, digits,
                        (size_t)print_number(digits, sizeof(digits), kind, flags, number));
    return 0;
}

/* One conversion at *at, behind its %. Flags, width and precision are for numbers. */
static int add_percent(struct percent *percent, const struct leat_jinja_value *text, size_t *at) {
    struct leat_jinja_render *render = percent->render;
    struct leat_jinja_value value;
    bool is_plain = *at < text->n_bytes && isalpha((unsigned char)text->text[*at]);
    struct flags flags;
    char kind;
    int r;

    if (*at < text->n_bytes && text->text[*at] == '%') {
        leat_text_add_bytes(&render->scratch, "%", 1);
        ++*at;
        return 0;
    }
    if (!read_flags(text, at, &flags) || *at == text->n_bytes)
        return leat_jinja_fail(render, "the format has a conversion that is not supported");
    kind = text->text[(*at)++];
    if (!kind || !strchr("srdifeg", kind) || (!is_plain && (kind == 's' || kind == 'r')))
        return leat_jinja_fail(render, "the format has a conversion that is not supported");
    r = next_value(percent, &value);
    if (r < 0)
        return r;
    if (kind == 's')
        return value.kind == LEAT_JINJA_UNDEFINED
                   ? 0
                   : leat_jinja_add_str(render, &render->scratch, &value);
    if (kind == 'r')
        return leat_jinja_add_repr(render, &render->scratch, &value);
    return add_percent_number(render, kind == 'i' ? 'd' : kind, &flags, &value);
}

/* Python lets a format leave such a value unused. */
static bool has_items_by_key(const struct leat_jinja_value *value) {
    return value->kind == LEAT_JINJA_DICT || value->kind == LEAT_JINJA_LIST ||
           value->kind == LEAT_JINJA_RANGE || value->kind == LEAT_JINJA_UNDEFINED;
}

int leat_jinja_percent(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                       const struct leat_jinja_value *value, struct leat_jinja_value *ret) {
    struct percent percent = {.render = render, .value = value};
    size_t n_before = render->scratch.n_bytes;
    int r = 0;

    for (size_t at = 0; r == 0 && at < text->n_bytes;) {
        const char *found = memchr(text->text + at, '%', text->n_bytes - at);
        size_t n = found ? (size_t)(found - text->text) - at : text->n_bytes - at;

        leat_text_add_bytes(&render->scratch, text->text + at, n);
        at += n;
        if (found) {
            at++;
            r = add_percent(&percent, text, &at);
        }
    }
    if (r == 0 &&
        (value->kind == LEAT_JINJA_TUPLE ? percent.n_used < value->list->n_items
                                         : percent.n_used == 0 && !has_items_by_key(value)))
        r = leat_jinja_fail(render, "the format has fewer conversions than values");
    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}

/* ---- str.format() */

/* How the fields name their values: by none, which counts, or by numbers. */
struct fields {
    size_t n_used;
    bool has_numbers;
};

static int find_argument(struct leat_jinja_render *render,
                         const struct leat_jinja_arguments *arguments, const char *name,
                         size_t n_name, struct fields *fields, struct leat_jinja_value *ret) {
    size_t index = 0, n_digits = 0;

    while (n_digits < n_name && name[n_digits] >= '0' && name[n_digits] <= '9')
        n_digits++;
    for (size_t i = 0; n_digits < n_name && i < arguments->n_keywords; i++)
        if (leat_jinja_equals_text(&arguments->keywords[i].name, name, n_name)) {
            *ret = arguments->keywords[i].value;
            return 0;
        }
    if (n_digits < n_name || n_name > 6)
        return leat_jinja_fail(render, "the format field {%.*s} is unknown or not supported",
                               (int)(n_name < 64 ? n_name : 64), name);
    fields->has_numbers |= n_name > 0;
    for (size_t i = 0; i < n_name; i++)
        index = index * 10 + (size_t)(name[i] - '0');
    if (n_name == 0)
        index = fields->n_used++;
    if (fields->has_numbers && fields->n_used)
        return leat_jinja_fail(render, "the format mixes fields with and without a number");
    if (index >= arguments->n_items)
        return leat_jinja_fail(render, "the format has more fields than values");
    *ret = arguments->items[index];
    return 0;
}

int leat_jinja_format(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                      const struct leat_jinja_arguments *arguments, struct leat_jinja_value *ret) {
    size_t n_before = render->scratch.n_bytes;
    struct fields fields = {.n_used = 0};
    int r = 0;

    for (size_t at = 0; r == 0 && at < text->n_bytes;) {
        char c = text->text[at++];
        const char *end;
        struct leat_jinja_value value;

        if (c != '{' && c != '}') {
            leat_text_add_bytes(&render->scratch, &c, 1);
            continue;
        }
        if (at < text->n_bytes && text->text[at] == c) {
            leat_text_add_bytes(&render->scratch, &c, 1);
            at++;
            continue;
        }
        end = c == '{' ? memchr(text->text + at, '}', text->n_bytes - at) : NULL;
        if (!end)
            return leat_jinja_fail(render, "the format has a single brace: double it");
        r = find_argument(render, arguments, text->text + at, (size_t)(end - text->text) - at,
                          &fields, &value);
        if (r == 0)
            r = leat_jinja_add_str(render, &render->scratch, &value);
        at = (size_t)(end - text->text) + 1;
    }
    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}
