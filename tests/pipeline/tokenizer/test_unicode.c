/* test_unicode.c: pipeline/tokenizer/unicode/: the tables agree with each other, normalization and
 * UTF-8 are round trips, and grapheme clusters end where Unicode Standard Annex 29 says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/unicode/form.h"
#include "pipeline/tokenizer/unicode/grapheme.h"
#include "pipeline/tokenizer/unicode/property.h"
#include "pipeline/tokenizer/unicode/unicode.h"

static bool is_surrogate(uint32_t c) {
    return c >= 0xd800 && c <= 0xdfff;
}

/* The class's bit says just what the ranges of that name say; returns how many there are. */
static uint32_t check_class(uint32_t classes, enum leat_unicode_kind kind, const char *name) {
    const struct leat_unicode_range *ranges;
    uint32_t n = 0;
    size_t n_ranges, at = 0;

    assert_true(leat_unicode_find(kind, name, strlen(name), &ranges, &n_ranges));
    for (uint32_t c = 0; c <= LEAT_UNICODE_MAX; c++) {
        while (at < n_ranges && ranges[at].last < c)
            at++;
        if (is_surrogate(c))
            continue;
        assert_int_equal((leat_unicode_classes(c) & classes) != 0,
                         at < n_ranges && ranges[at].first <= c);
        n += (leat_unicode_classes(c) & classes) != 0;
    }
    return n;
}

static void test_classes(void **state) {
    (void)state;
    assert_int_equal(check_class(LEAT_UNICODE_LETTER, LEAT_UNICODE_PROPERTY, "L"), 141028);
    assert_int_equal(check_class(LEAT_UNICODE_LU, LEAT_UNICODE_PROPERTY, "Lu"), 1858);
    assert_int_equal(check_class(LEAT_UNICODE_LT, LEAT_UNICODE_PROPERTY, "Lt"), 31);
    assert_int_equal(check_class(LEAT_UNICODE_MARK, LEAT_UNICODE_PROPERTY, "m"), 2501);
    assert_int_equal(check_class(LEAT_UNICODE_NUMBER, LEAT_UNICODE_PROPERTY, "Number"), 1911);
    assert_int_equal(check_class(LEAT_UNICODE_PUNCTUATION, LEAT_UNICODE_PROPERTY, "P"), 855);
    assert_int_equal(check_class(LEAT_UNICODE_SYMBOL, LEAT_UNICODE_PROPERTY, "S"), 8514);
    assert_int_equal(check_class(LEAT_UNICODE_SPACE, LEAT_UNICODE_ESCAPE, "space"), 25);
}

static void test_names(void **state) {
    const struct leat_unicode_range *a, *b;
    size_t n_a, n_b;

    (void)state;
    assert_true(leat_unicode_find(LEAT_UNICODE_PROPERTY, "uppercase letter", 16, &a, &n_a));
    assert_true(leat_unicode_find(LEAT_UNICODE_PROPERTY, "Lu?", 2, &b, &n_b));
    assert_ptr_equal(a, b);
    assert_int_equal(n_a, n_b);
    assert_true(leat_unicode_find(LEAT_UNICODE_PROPERTY, "Any", 3, &a, &n_a));
    assert_int_equal(n_a, 1);
    assert_false(leat_unicode_find(LEAT_UNICODE_PROPERTY, "", 0, &a, &n_a));
    assert_false(leat_unicode_find(LEAT_UNICODE_PROPERTY, "InGreek", 7, &a, &n_a));
    assert_false(leat_unicode_find(LEAT_UNICODE_PROPERTY, "L\0u", 3, &a, &n_a));
    assert_false(leat_unicode_find(LEAT_UNICODE_ESCAPE, "alpha", 5, &a, &n_a));
    /* A name that is too long for any table. */
    assert_false(leat_unicode_find(LEAT_UNICODE_PROPERTY,
                                   "LetterLetterLetterLetterLetterLetterLetterLetterLetterLetter",
                                   60, &a, &n_a));
}

static void test_predicates(void **state) {
    (void)state;
    assert_true(leat_unicode_classes('_') & LEAT_UNICODE_RUST_WORD);
    assert_true(leat_unicode_classes(0xbd) & LEAT_UNICODE_RUST_NUMERIC); /* one half */
    assert_true(leat_unicode_classes(0x85) & LEAT_UNICODE_RUST_SPACE);
    assert_true(leat_unicode_classes('$') & LEAT_UNICODE_BERT_PUNCTUATION);
    assert_false(leat_unicode_classes('$') & LEAT_UNICODE_PUNCTUATION);
    assert_true(leat_unicode_classes(0xfffd) & LEAT_UNICODE_BERT_REMOVED);
    assert_false(leat_unicode_classes(0x378) & LEAT_UNICODE_BERT_REMOVED); /* unassigned */
    assert_true(leat_unicode_classes(0x2b920) & LEAT_UNICODE_BERT_CHINESE);
    assert_int_equal(leat_unicode_cut_script(' '), 0);
    assert_int_equal(leat_unicode_cut_script(0x30fc), leat_unicode_cut_script(0x4eac));
    assert_int_equal(leat_unicode_cut_script(0x3044), leat_unicode_cut_script(0x4eac));
    assert_int_not_equal(leat_unicode_cut_script('a'), leat_unicode_cut_script(0x430));
}

static void test_utf8(void **state) {
    (void)state;
    for (uint32_t c = 0; c <= LEAT_UNICODE_MAX; c++) {
        uint8_t bytes[4];
        uint32_t n_bytes, n = leat_unicode_encode(c, bytes);

        assert_int_equal(leat_unicode_decode(bytes, &n_bytes), c);
        assert_int_equal(n, n_bytes);
    }
}

/* A canonical decomposition is in order, stays as it is, and composes to the character it came
 * from unless that is excluded; then it stays apart. */
static void check_decomposition(uint32_t c) {
    uint32_t to[LEAT_UNICODE_DECOMPOSITION_MAX], part[LEAT_UNICODE_DECOMPOSITION_MAX];
    uint32_t n = leat_unicode_decompose(c, false, to), composed = to[0];
    const struct leat_unicode_form *form = leat_unicode_form_of(c);

    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(leat_unicode_decompose(to[i], false, part), 1);
        assert_int_equal(part[0], to[i]);
        if (i > 0 && leat_unicode_form_of(to[i])->combining_class)
            assert_true(leat_unicode_form_of(to[i - 1])->combining_class <=
                        leat_unicode_form_of(to[i])->combining_class);
    }
    for (uint32_t i = 1; i < n && composed; i++)
        composed = leat_unicode_compose(composed, to[i]);
    if (form->stable >> LEAT_FORM_NFC & 1)
        assert_int_equal(composed, c);
    if (form->stable >> LEAT_FORM_NFD & 1)
        assert_true(n == 1 && to[0] == c);
    assert_int_equal(form->stable & ~form->boundary, 0);
}

static void test_forms(void **state) {
    uint32_t to[LEAT_UNICODE_DECOMPOSITION_MAX];

    (void)state;
    for (uint32_t c = 0; c <= LEAT_UNICODE_MAX; c++) {
        check_decomposition(c);
        assert_true(leat_unicode_decompose(c, true, to) <= LEAT_UNICODE_DECOMPOSITION_MAX);
        assert_true(leat_unicode_lower(c, to) <= LEAT_UNICODE_LOWER_MAX);
    }
    assert_int_equal(leat_unicode_compose('e', 0x301), 0xe9);
    assert_int_equal(leat_unicode_compose(0x1100, 0x1161), 0xac00);
    assert_int_equal(leat_unicode_compose(0xac00, 0x11a8), 0xac01);
    assert_int_equal(leat_unicode_compose(0xac01, 0x11a8), 0);
    assert_int_equal(leat_unicode_compose(0xac00, 0x11a7), 0);
    assert_int_equal(leat_unicode_compose('x', 0x301), 0);
    assert_int_equal(leat_unicode_decompose(0xfdfa, true, to), 18);
    assert_int_equal(leat_unicode_lower(0x130, to), 2);
    assert_int_equal(leat_unicode_lower(0x3a3, to), 1);
    assert_int_equal(to[0], 0x3c3);
}

/* A `|` stands where a cluster ends. */
static void test_graphemes(void **state) {
    static const char *const rows[] = {
        "a|b|",
        "a\u0301\u0308|b|",
        "\r\n|\n|\r|a|",
        "\n|\u0301|",
        "a\u200d|a|",
        "\U0001f1e6\U0001f1e7|\U0001f1e8|a|",
        "\u1100\u1161\u11a8|\u1100|",
        "\uac00\u11a8\u11a8|",
        "\uac01|\u1161|",
        "\u0600a|",
        "\u0600|\n|",
        "\u0915\u094d\u0937|",
        "\u0915\u094d|a|",
        "\u0915\u0301\u094d\u200d\u0937\u0903|",
        "\u0915|\u0937|",
        "\U0001f468\u200d\U0001f469|",
        "\U0001f468\U0001f3fb\u200d\U0001f469|",
        "a\u200d|\U0001f469|",
        "\U0001f468\u200d\u200d|\U0001f469|",
        "\u00ad|\u0301|",
        "\u0e33|",
        "a\u0e33|",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[64];
        size_t n = 0, at = 0;

        for (const char *c = rows[i]; *c; c++)
            if (*c != '|')
                text[n++] = *c;
        for (const char *c = rows[i]; at < n; c = strchr(c, '|') + 1) {
            size_t length = leat_grapheme_length((const uint8_t *)text + at, n - at);

            if (length != (size_t)(strchr(c, '|') - c))
                fail_msg("row %zu: a cluster of %zu bytes at %zu", i, length, at);
            at += length;
        }
    }
}

/* The bits for quick tests say what the tables say. */
static void test_bits(void **state) {
    uint8_t text[4];
    uint32_t n;

    (void)state;
    for (uint32_t c = 0x80; c < 0x10000; c++) {
        uint32_t n_bytes = leat_unicode_encode(c, text);

        if (is_surrogate(c))
            continue;
        assert_int_equal(leat_unicode_has_bit(leat_unicode_u16_letters, text, &n),
                         (leat_unicode_classes(c) & LEAT_UNICODE_LETTER) != 0);
        assert_int_equal(n, n_bytes);
        assert_int_equal(leat_unicode_has_bit(leat_unicode_u16_nfc_stable, text, &n),
                         leat_unicode_form_of(c)->stable >> LEAT_FORM_NFC & 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),    cmocka_unit_test(test_names),
        cmocka_unit_test(test_predicates), cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_forms),      cmocka_unit_test(test_graphemes),
        cmocka_unit_test(test_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
