/* regex_property.c: classes by name, from the tables of Unicode. */
#include "pipeline/tokenizer/split/regex_reader.h"
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
