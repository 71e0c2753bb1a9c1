/* form.c: see form.h. Hangul syllables by arithmetic (The Unicode Standard, section 3.12), all
 * else by tables; pairs that compose lie in a hash table that generate.py has filled. */
#include "pipeline/tokenizer/unicode/form.h"

#include <stdlib.h>
#include <string.h>

#define HANGUL_S   0xac00U
#define HANGUL_L   0x1100U
#define HANGUL_V   0x1161U
#define HANGUL_T   0x11a7U
#define N_HANGUL_L 19U
#define N_HANGUL_V 21U
#define N_HANGUL_T 28U
#define N_HANGUL   (N_HANGUL_L * N_HANGUL_V * N_HANGUL_T)

#define PAIR_BITS 11

static uint32_t decompose_hangul(uint32_t index, uint32_t *ret_code_points) {
    ret_code_points[0] = HANGUL_L + index / (N_HANGUL_V * N_HANGUL_T);
    ret_code_points[1] = HANGUL_V + index / N_HANGUL_T % N_HANGUL_V;
    if (index % N_HANGUL_T == 0)
        return 2;
    ret_code_points[2] = HANGUL_T + index % N_HANGUL_T;
    return 3;
}

static uint32_t copy(uint32_t code_point, uint32_t start, uint32_t n, uint32_t *ret_code_points) {
    if (n == 0) {
        ret_code_points[0] = code_point;
        return 1;
    }
    memcpy(ret_code_points, leat_unicode_u16_form_pool + start, n * sizeof *ret_code_points);
    return n;
}

uint32_t leat_unicode_decompose(uint32_t code_point, bool is_compatible,
                                uint32_t *ret_code_points) {
    const struct leat_unicode_form *form = leat_unicode_form_of(code_point);

    if (leat_unicode_is_hangul(code_point))
        return decompose_hangul(code_point - HANGUL_S, ret_code_points);
    return is_compatible ? copy(code_point, form->compatible, form->n_compatible, ret_code_points)
                         : copy(code_point, form->canonical, form->n_canonical, ret_code_points);
}

static uint32_t compose_hangul(uint32_t first, uint32_t second) {
    uint32_t syllable = first - HANGUL_S;

    if (first - HANGUL_L < N_HANGUL_L && second - HANGUL_V < N_HANGUL_V)
        return HANGUL_S + ((first - HANGUL_L) * N_HANGUL_V + (second - HANGUL_V)) * N_HANGUL_T;
    if (syllable < N_HANGUL && syllable % N_HANGUL_T == 0 && second > HANGUL_T &&
        second - HANGUL_T < N_HANGUL_T)
        return first + (second - HANGUL_T);
    return 0;
}

uint32_t leat_unicode_compose(uint32_t first, uint32_t second) {
    uint32_t at = (first * 0x9e3779b1U + second * 0x85ebca6bU) >> (32 - PAIR_BITS);

    for (;; at = (at + 1) & ((1U << PAIR_BITS) - 1)) {
        const struct leat_unicode_pair *pair = &leat_unicode_u16_pairs[at];

        if (pair->composed == 0)
            return compose_hangul(first, second);
        if (pair->first == first && pair->second == second)
            return pair->composed;
    }
}

uint32_t leat_unicode_lower(uint32_t code_point, uint32_t *ret_code_points) {
    const struct leat_unicode_form *form = leat_unicode_form_of(code_point);

    return copy(code_point, form->lower, form->n_lower, ret_code_points);
}

/* ---- upper and title case ---- */

static int compare(const void *key, const void *row) {
    uint32_t a = *(const uint32_t *)key, b = ((const struct leat_unicode_case *)row)->code_point;

    return a < b ? -1 : a > b;
}

static const struct leat_unicode_case *find(uint32_t code_point) {
    return bsearch(&code_point, leat_unicode_u16_cases, leat_unicode_u16_n_cases,
                   sizeof(leat_unicode_u16_cases[0]), compare);
}

static uint32_t copy_case(const uint32_t *from, uint32_t *to) {
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
    return found ? copy_case(found->upper, ret_code_points) : 1;
}

uint32_t leat_unicode_title(uint32_t code_point, uint32_t *ret_code_points) {
    const struct leat_unicode_case *found = find(code_point);

    *ret_code_points = code_point;
    return found ? copy_case(found->title, ret_code_points) : 1;
}
