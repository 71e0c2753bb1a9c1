/* cases.c: upper, lower and title case, and kinds of characters, as str of Python has them. */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/lexer.h"
#include "pipeline/tokenizer/jinja/strings.h"
#include "pipeline/tokenizer/unicode/form.h"
#include "pipeline/tokenizer/unicode/property.h"
#include "pipeline/tokenizer/unicode/unicode.h"
#include "proto/base/utf8.h"

#define CAPITAL_SIGMA 0x3a3
#define FINAL_SIGMA   0x3c2

struct set {
    const struct leat_unicode_range *ranges;
    size_t n;
};

static struct set set_of(const char *property) {
    struct set set = {.n = 0};

    (void)leat_unicode_find(LEAT_UNICODE_PROPERTY, property, strlen(property), &set.ranges, &set.n);
    return set;
}

static bool holds(const struct set *set, uint32_t code_point) {
    size_t low = 0, high = set->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (set->ranges[middle].last < code_point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n && set->ranges[low].first <= code_point;
}

/* A text whose case is changed; a sigma looks at the characters from `start` to `end`. */
struct casing {
    struct leat_jinja_render *render;
    struct set cased, ignorable;
    const char *start, *end;
};

static struct casing casing_of(struct leat_jinja_render *render,
                               const struct leat_jinja_value *text) {
    return (struct casing){.render = render,
                           .cased = set_of("Cased"),
                           .ignorable = set_of("Case_Ignorable"),
                           .start = text->text,
                           .end = text->text + text->n_bytes};
}

static uint32_t read(const char *at, const char *end, size_t *ret_length) {
    *ret_length = leat_utf8_length((const uint8_t *)at, (size_t)(end - at));
    return leat_utf8_code_point((const uint8_t *)at, (size_t)(end - at));
}

/* True if the next character in this direction that is not ignored has case. */
static bool meets_cased(const struct casing *casing, const char *at, bool is_backward) {
    size_t length;

    while (is_backward ? at > casing->start : at < casing->end) {
        uint32_t code_point;

        if (is_backward)
            do
                at--;
            while (at > casing->start && ((unsigned char)*at & 0xc0) == 0x80);
        code_point = read(at, casing->end, &length);
        if (!holds(&casing->ignorable, code_point))
            return holds(&casing->cased, code_point);
        if (!is_backward)
            at += length;
    }
    return false;
}

static void put(const struct casing *casing, const uint32_t *code_points, uint32_t n) {
    uint8_t bytes[4];

    for (uint32_t i = 0; i < n; i++)
        leat_text_add_bytes(&casing->render->scratch, bytes,
                            leat_unicode_encode(code_points[i], bytes));
}

static void put_lower(const struct casing *casing, const char *at) {
    uint32_t to[LEAT_UNICODE_LOWER_MAX], code_point;
    size_t length;

    code_point = read(at, casing->end, &length);
    if (code_point == CAPITAL_SIGMA && meets_cased(casing, at, true) &&
        !meets_cased(casing, at + length, false)) {
        to[0] = FINAL_SIGMA;
        put(casing, to, 1);
    } else {
        put(casing, to, leat_unicode_lower(code_point, to));
    }
}

static void put_title(const struct casing *casing, const char *at) {
    uint32_t to[LEAT_UNICODE_CASE_MAX];
    size_t length;

    put(casing, to, leat_unicode_title(read(at, casing->end, &length), to));
}

static void put_upper(const struct casing *casing, const char *at) {
    uint32_t to[LEAT_UNICODE_CASE_MAX];
    size_t length;

    put(casing, to, leat_unicode_upper(read(at, casing->end, &length), to));
}

static int finish(struct leat_jinja_render *render, size_t n_before,
                  const struct leat_jinja_value *text, struct leat_jinja_value *ret) {
    int r = leat_jinja_heap_spend(&render->heap, text->n_bytes, render->err);

    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}

/* Texts of ASCII, which most are. */
static int map_ascii(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                     char first, struct leat_jinja_value *ret) {
    char *copy = leat_jinja_heap_alloc(&render->heap, text->n_bytes);

    if (!copy)
        return leat_jinja_fail_memory(render);
    for (size_t i = 0; i < text->n_bytes; i++) {
        char c = text->text[i];

        copy[i] = c >= first && c < first + 26 ? (char)(c ^ 0x20) : c;
    }
    *ret = leat_jinja_string(copy, text->n_bytes);
    return leat_jinja_heap_spend(&render->heap, text->n_bytes / 16, render->err);
}

int leat_jinja_lower(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                     struct leat_jinja_value *ret) {
    struct casing casing;
    size_t n_before = render->scratch.n_bytes, length;

    if (leat_jinja_is_ascii(text->text, text->n_bytes))
        return map_ascii(render, text, 'A', ret);
    casing = casing_of(render, text);
    for (const char *at = casing.start; at < casing.end; at += length) {
        (void)read(at, casing.end, &length);
        put_lower(&casing, at);
    }
    return finish(render, n_before, text, ret);
}

int leat_jinja_upper(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                     struct leat_jinja_value *ret) {
    struct casing casing;
    size_t n_before = render->scratch.n_bytes, length;

    if (leat_jinja_is_ascii(text->text, text->n_bytes))
        return map_ascii(render, text, 'a', ret);
    casing = casing_of(render, text);
    for (const char *at = casing.start; at < casing.end; at += length) {
        (void)read(at, casing.end, &length);
        put_upper(&casing, at);
    }
    return finish(render, n_before, text, ret);
}

int leat_jinja_capitalize(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                          struct leat_jinja_value *ret) {
    struct casing casing = casing_of(render, text);
    size_t n_before = render->scratch.n_bytes, length;

    for (const char *at = casing.start; at < casing.end; at += length) {
        (void)read(at, casing.end, &length);
        if (at == casing.start)
            put_title(&casing, at);
        else
            put_lower(&casing, at);
    }
    return finish(render, n_before, text, ret);
}

/* Python's title() begins a word behind everything that has no case. */
int leat_jinja_title(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                     struct leat_jinja_value *ret) {
    struct casing casing = casing_of(render, text);
    size_t n_before = render->scratch.n_bytes, length;
    bool begins = true;

    for (const char *at = casing.start; at < casing.end; at += length) {
        uint32_t code_point = read(at, casing.end, &length);

        if (begins)
            put_title(&casing, at);
        else
            put_lower(&casing, at);
        begins = !holds(&casing.cased, code_point);
    }
    return finish(render, n_before, text, ret);
}

/* The end of the characters from `at` on that are, or are not, what jinja2's title divides words
 * at. */
static const char *run_end(const char *at, const char *end, bool divides) {
    size_t length;

    for (; at < end; at += length) {
        uint32_t code_point = read(at, end, &length);
        bool is_divider = leat_jinja_space(at, (size_t)(end - at)) > 0 ||
                          (code_point < 0x80 && code_point && strchr("-({[<", (int)code_point));

        if (is_divider != divides)
            break;
    }
    return at;
}

int leat_jinja_title_words(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                           struct leat_jinja_value *ret) {
    struct casing casing = casing_of(render, text);
    const char *at = casing.start, *text_end = casing.end;
    size_t n_before = render->scratch.n_bytes, length;

    for (bool divides = false; at < text_end; divides = !divides) {
        const char *word = at;

        casing.end = run_end(at, text_end, divides);
        for (; at < casing.end; at += length) {
            (void)read(at, casing.end, &length);
            if (at == word) {
                put_upper(&casing, at);
                casing.start = at + length;
            } else {
                put_lower(&casing, at);
            }
        }
    }
    return finish(render, n_before, text, ret);
}

/* str.islower() and str.isupper(): there is a letter, and all letters are of that case. */
int leat_jinja_has_case(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                        bool is_upper, struct leat_jinja_value *ret) {
    struct set wanted = set_of(is_upper ? "Uppercase" : "Lowercase");
    struct set other = set_of(is_upper ? "Lowercase" : "Uppercase"), title = set_of("Lt");
    const char *at = text->text, *end = text->text + text->n_bytes;
    bool has_wanted = false, has_other = false;
    size_t length;

    for (; !has_other && at < end; at += length) {
        uint32_t code_point = read(at, end, &length);

        has_other = holds(&other, code_point) || holds(&title, code_point);
        has_wanted |= holds(&wanted, code_point);
    }
    *ret = leat_jinja_bool(has_wanted && !has_other);
    return leat_jinja_heap_spend(&render->heap, (size_t)(at - text->text), render->err);
}

/* ---- kinds of characters */

/* Digits that are not of a decimal system: superscripts, circled digits ... */
static const struct leat_unicode_range other_digits[] = {
    {0xb2, 0xb3},       {0xb9, 0xb9},       {0x1369, 0x1371},   {0x19da, 0x19da},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247c},   {0x2488, 0x2490},   {0x24ea, 0x24ea},   {0x24f5, 0x24fd},
    {0x24ff, 0x24ff},   {0x2776, 0x277e},   {0x2780, 0x2788},   {0x278a, 0x2792},
    {0x10a40, 0x10a43}, {0x10e60, 0x10e68}, {0x11052, 0x1105a}, {0x1f100, 0x1f10a},
};

struct kinds {
    struct set decimal, han;
};

/* 1 or 0; -ENOTSUP: not known. */
static int is_of_kind(const struct kinds *kinds, enum leat_jinja_character kind,
                      uint32_t code_point) {
    static const struct set other = {.ranges = other_digits,
                                     .n = sizeof(other_digits) / sizeof(*other_digits)};
    uint32_t classes = leat_unicode_classes(code_point);

    switch (kind) {
    case LEAT_JINJA_ALPHABETIC:
        return (classes & LEAT_UNICODE_LETTER) != 0;
    case LEAT_JINJA_ALPHANUMERIC:
        return (classes & (LEAT_UNICODE_LETTER | LEAT_UNICODE_NUMBER)) != 0;
    case LEAT_JINJA_DECIMAL:
        return holds(&kinds->decimal, code_point);
    case LEAT_JINJA_DIGIT:
        return holds(&kinds->decimal, code_point) || holds(&other, code_point);
    default: /* numeric */
        if (classes & LEAT_UNICODE_NUMBER)
            return 1;
        /* some Chinese characters are numbers */
        return (classes & LEAT_UNICODE_LETTER) && holds(&kinds->han, code_point) ? -ENOTSUP : 0;
    }
}

int leat_jinja_all_are(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                       enum leat_jinja_character kind, struct leat_jinja_value *ret) {
    struct kinds kinds = {.decimal = set_of("Nd"), .han = set_of("Han")};
    const char *end = text->text + text->n_bytes;
    int is = text->n_bytes > 0;
    size_t length;

    for (const char *at = text->text; is == 1 && at < end; at += length)
        is = is_of_kind(&kinds, kind, read(at, end, &length));
    if (is < 0)
        return leat_jinja_fail(render, "isnumeric() does not support Chinese characters");
    *ret = leat_jinja_bool(is);
    return leat_jinja_heap_spend(&render->heap, text->n_bytes, render->err);
}
