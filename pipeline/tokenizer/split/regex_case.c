/* regex_case.c: letters that are the same but for case, as Oniguruma folds them: K has three, the
 * last of them U+212A. */
#include "pipeline/tokenizer/split/regex_reader.h"
#include "pipeline/tokenizer/unicode/folding.h"

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
