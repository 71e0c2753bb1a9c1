/* cases.c: upper, lower and title case, and kinds of characters, as str of Python has them. */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/lexer.h"
#include "pipeline/tokenizer/jinja/strings.h"
#include "pipeline/tokenizer/unicode/casing.h"
#include "pipeline/tokenizer/unicode/unicode.h"
#include "proto/base/utf8.h"

/* A text whose case is changed; a sigma looks at the characters from `start` to `end`. */
struct casing {
    struct leat_jinja_render *render;
    struct leat_casing casing;
    const char *start, *end;
};

static struct casing casing_of(struct leat_jinja_render *render,
                               const struct leat_jinja_value *text) {
    return (struct casing){.render = render,
                           .casing = leat_casing_get(),
                           .start = text->text,
                           .end = text->text + text->n_bytes};
}

static uint32_t read(const char *at, const char *end, size_t *ret_length) {
    *ret_length = leat_utf8_length((const uint8_t *)at, (size_t)(end - at));
    return leat_utf8_code_point((const uint8_t *)at, (size_t)(end - at));
}

static void put(const struct casing *casing, const uint32_t *code_points, uint32_t n) {
    uint8_t bytes[4];

    for (uint32_t i = 0; i < n; i++)
        leat_text_add_bytes(&casing->render->scratch, bytes,
                            leat_unicode_encode(code_points[i], bytes));
}

static void put_lower(const struct casing *casing, const char *at) {
    uint32_t to[LEAT_UNICODE_LOWER_MAX];

    put(casing, to,
        leat_casing_lower(&casing->casing, (const uint8_t *)casing->start,
                          (size_t)(at - casing->start), (size_t)(casing->end - casing->start), to));
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

/* The text from casing->start on, in words as jinja2's title has them. */
static void put_title_words(struct casing *casing) {
    const char *at = casing->start, *text_end = casing->end;
    size_t length;

    for (bool divides = false; at < text_end; divides = !divides) {
        const char *word = at;

        casing->end = run_end(at, text_end, divides);
        for (; at < casing->end; at += length) {
            (void)read(at, casing->end, &length);
            if (at == word) {
                put_upper(casing, at);
                casing->start = at + length;
            } else {
                put_lower(casing, at);
            }
        }
    }
}

/* Python's title() begins a word behind everything that has no case. */
static void put_text(const struct casing *casing, enum leat_jinja_case wanted) {
    bool begins = wanted != LEAT_JINJA_LOWER;
    size_t length;

    for (const char *at = casing->start; at < casing->end; at += length) {
        uint32_t code_point = read(at, casing->end, &length);

        if (wanted == LEAT_JINJA_UPPER)
            put_upper(casing, at);
        else if (begins)
            put_title(casing, at);
        else
            put_lower(casing, at);
        begins =
            wanted == LEAT_JINJA_TITLE && !leat_unicode_set_has(&casing->casing.cased, code_point);
    }
}

LEAT_JINJA_BUILTIN(leat_jinja_change_case) {
    size_t n_before = render->scratch.n_bytes;
    struct leat_jinja_value text;
    struct casing casing;
    int r = leat_jinja_to_string(render, self, &text);

    if (r < 0)
        return r;
    if (variant <= LEAT_JINJA_UPPER && leat_jinja_is_ascii(text.text, text.n_bytes))
        return map_ascii(render, &text, variant == LEAT_JINJA_LOWER ? 'A' : 'a', ret);
    casing = casing_of(render, &text);
    if (variant == LEAT_JINJA_TITLE_WORDS)
        put_title_words(&casing);
    else
        put_text(&casing, variant);
    r = leat_jinja_heap_spend(&render->heap, text.n_bytes, render->err);
    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}

/* There is a letter, and all letters are of that case. */
LEAT_JINJA_BUILTIN(leat_jinja_has_case) {
    struct leat_unicode_set wanted = leat_unicode_property(variant ? "Uppercase" : "Lowercase");
    struct leat_unicode_set other = leat_unicode_property(variant ? "Lowercase" : "Uppercase"),
                            title = leat_unicode_property("Lt");
    bool has_wanted = false, has_other = false;
    struct leat_jinja_value text;
    const char *at, *end;
    size_t length;
    int r = leat_jinja_to_string(render, self, &text);

    if (r < 0)
        return r;
    at = text.text;
    end = text.text + text.n_bytes;
    for (; !has_other && at < end; at += length) {
        uint32_t code_point = read(at, end, &length);

        has_other =
            leat_unicode_set_has(&other, code_point) || leat_unicode_set_has(&title, code_point);
        has_wanted |= leat_unicode_set_has(&wanted, code_point);
    }
    *ret = leat_jinja_bool(has_wanted && !has_other);
    return leat_jinja_heap_spend(&render->heap, (size_t)(at - text.text), render->err);
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
    struct leat_unicode_set decimal, han;
};

/* 1 or 0; -ENOTSUP: not known. */
static int is_of_kind(const struct kinds *kinds, enum leat_jinja_character kind,
                      uint32_t code_point) {
    static const struct leat_unicode_set other = {
        .ranges = other_digits, .n = sizeof(other_digits) / sizeof(*other_digits)};
    uint32_t classes = leat_unicode_classes(code_point);

    switch (kind) {
    case LEAT_JINJA_ALPHABETIC:
        return (classes & LEAT_UNICODE_LETTER) != 0;
    case LEAT_JINJA_ALPHANUMERIC:
        return (classes & (LEAT_UNICODE_LETTER | LEAT_UNICODE_NUMBER)) != 0;
    case LEAT_JINJA_DECIMAL:
        return leat_unicode_set_has(&kinds->decimal, code_point);
    case LEAT_JINJA_DIGIT:
        return leat_unicode_set_has(&kinds->decimal, code_point) ||
               leat_unicode_set_has(&other, code_point);
    default: /* numeric */
        if (classes & LEAT_UNICODE_NUMBER)
            return 1;
        /* some Chinese characters are numbers */
        return (classes & LEAT_UNICODE_LETTER) && leat_unicode_set_has(&kinds->han, code_point)
                   ? -ENOTSUP
                   : 0;
    }
}

int leat_jinja_all_are(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                       enum leat_jinja_character kind, struct leat_jinja_value *ret) {
    struct kinds kinds = {.decimal = leat_unicode_property("Nd"),
                          .han = leat_unicode_property("Han")};
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
