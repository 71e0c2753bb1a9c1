/* casing.h: upper and title case, as Python 3.11 to 3.13 have them; lower case is in form.h.
 * Immutable: any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_UNICODE_CASE_MAX 3

/* Write the upper or title case of a character, by itself; return its length, at most
 * LEAT_UNICODE_CASE_MAX. */
uint32_t leat_unicode_upper(uint32_t code_point, uint32_t *ret_code_points);
uint32_t leat_unicode_title(uint32_t code_point, uint32_t *ret_code_points);

/* Of the generated tables, sorted: */
struct leat_unicode_case {
    uint32_t code_point;
    uint32_t upper[LEAT_UNICODE_CASE_MAX], title[LEAT_UNICODE_CASE_MAX]; /* ends with 0 */
};
extern const struct leat_unicode_case leat_unicode_u16_cases[];
extern const size_t leat_unicode_u16_n_cases;
