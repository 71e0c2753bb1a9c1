#include "pipeline/tokenizer/unicode/casing.h"

#include <stdlib.h>

static int compare(const void *key, const void *row) {
    uint32_t a = *(const uint32_t *)key, b = ((const struct leat_unicode_case *)row)->code_point;

    return a < b ? -1 : a > b;
}

static const struct leat_unicode_case *find(uint32_t code_point) {
    return bsearch(&code_point, leat_unicode_u16_cases, leat_unicode_u16_n_cases,
                   sizeof(leat_unicode_u16_cases[0]), compare);
}

static uint32_t copy(const uint32_t *from, uint32_t *to) {
    uint32_t n = 0;

    while (n < LEAT_UNICODE_CASE_MAX && from[n]) {
        to[n] = from[n];
        n++;
    }
    return n;
}

uint32_t leat_unicode_upper(uint32_t code_point, uint32_t *ret_code_points) {
    const struct leat_unicode_case *found = find(code_point);

    *ret_code_points = code_point;
    return found ? copy(found->upper, ret_code_points) : 1;
}

uint32_t leat_unicode_title(uint32_t code_point, uint32_t *ret_code_points) {
    const struct leat_unicode_case *found = find(code_point);

    *ret_code_points = code_point;
    return found ? copy(found->title, ret_code_points) : 1;
}
