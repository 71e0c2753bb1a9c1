/* casing.h: lower case in a text, where a capital sigma at the end of a word becomes a final one
 * (The Unicode Standard, 3.13, Final_Sigma). Pure. */
#pragma once

#include "pipeline/tokenizer/unicode/form.h"
#include "pipeline/tokenizer/unicode/property.h"

struct leat_casing {
    struct leat_unicode_set cased, ignorable;
};

struct leat_casing leat_casing_get(void);
/* Writes the lower case of the character at text[at]; returns how many code points. n: bytes of the
 * text. */
uint32_t leat_casing_lower(const struct leat_casing *casing, const uint8_t *text, size_t at,
                           size_t n, uint32_t ret_code_points[LEAT_UNICODE_LOWER_MAX]);
