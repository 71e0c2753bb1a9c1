/* regex_class.c: sets of code points from the tables of Unicode: classes by name, and letters that
 * are the same but for case, as Oniguruma folds them (K has three, the last of them U+212A). */
#include "pipeline/tokenizer/split/regex_reader.h"
#include "pipeline/tokenizer/unicode/folding.h"
#include "pipeline/tokenizer/unicode/property.h"

/* A \w, or a property that is the same, outside of brackets is decided by another table up to
 * U+00FF, which has the superscript digits and the fractions too. */
static void add_odd_words(struct leat_code_set *set) {
    leat_code_set_add(set, 0xb2, 0xb3);
    leat_code_set_add(set, 0xb9, 0xb9);
    leat_code_set_add(set, 0xbc, 0xbe);
    leat_code_set_sort(set);
}

static bool is_word(const char *name, size_t n_bytes) {
    const struct leat_unicode_range *ranges, *words;
    size_t n;

    return leat_unicode_find(LEAT_UNICODE_PROPERTY, name, n_bytes, &ranges, &n) &&
           leat_unicode_find(LEAT_UNICODE_ESCAPE, "word", 4, &words, &n) && ranges == words;
}

static bool add(struct leat_code_set *set, enum leat_unicode_kind kind, const char *name,
                size_t n_bytes) {
    const struct leat_unicode_range *ranges;
    size_t n_ranges;

    if (!leat_unicode_find(kind, name, n_bytes, &ranges, &n_ranges))
        return false;
    for (size_t i = 0; i < n_ranges; i++)
        leat_code_set_add(set, ranges[i].first, ranges[i].last);
    leat_code_set_sort(set);
    return true;
}

bool leat_regex_add_property(struct leat_code_set *set, const uint8_t *name, uint32_t n_bytes,
                             bool is_bracket) {
    if (!is_bracket && is_word((const char *)name, n_bytes))
        add_odd_words(set);
    return add(set, LEAT_UNICODE_PROPERTY, (const char *)name, n_bytes);
}

bool leat_regex_add_posix(struct leat_code_set *set, const uint8_t *name, uint32_t n_bytes) {
    return add(set, LEAT_UNICODE_POSIX, (const char *)name, n_bytes);
}

void leat_regex_add_shorthand(struct leat_code_set *set, uint8_t letter, bool is_bracket) {
    if (!is_bracket && letter == 'w')
        add_odd_words(set);
    if (letter == 's')
        (void)add(set, LEAT_UNICODE_ESCAPE, "space", 5);
    else if (letter == 'w')
        (void)add(set, LEAT_UNICODE_ESCAPE, "word", 4);
    else if (letter == 'd')
        (void)add(set, LEAT_UNICODE_ESCAPE, "digit", 5);
    else
        (void)add(set, LEAT_UNICODE_ESCAPE, "hex", 3);
}

/* ---- case */

void leat_regex_add_cases(struct leat_code_set *set) {
    struct leat_code_set more = {0};

    leat_code_set_sort(set);
    for (size_t i = 0; i < leat_unicode_u16_n_folds; i++) {
        const struct leat_unicode_fold *fold = &leat_unicode_u16_folds[i];
        uint32_t n_in = 0;

        for (uint32_t k = 0; k < fold->n; k++)
            n_in += leat_code_set_has(set, fold->code_points[k]);
        for (uint32_t k = 0; k < fold->n && n_in > 0 && n_in < fold->n; k++)
            leat_code_set_add(&more, fold->code_points[k], fold->code_points[k]);
    }
    leat_code_set_add_set(set, &more);
    leat_code_set_sort(set);
    leat_code_set_deinit(&more);
}

uint32_t leat_regex_find_long_case(const struct leat_code_set *set) {
    for (size_t i = 0; i < leat_unicode_u16_n_long_folds; i++)
        if (leat_code_set_has(set, leat_unicode_u16_long_folds[i].code_point))
            return leat_unicode_u16_long_folds[i].code_point;
    return 0;
}

bool leat_regex_is_long_case(uint32_t first, uint32_t second) {
    for (size_t i = 0; i < leat_unicode_u16_n_long_folds; i++)
        if (leat_unicode_u16_long_folds[i].first == first &&
            leat_unicode_u16_long_folds[i].second == second)
            return true;
    return false;
}
