#include "pipeline/tokenizer/unicode/casing.h"

#include "proto/base/utf8.h"

#define SIGMA       0x3a3
#define SIGMA_BYTES 2
#define FINAL_SIGMA 0x3c2

struct leat_casing leat_casing_get(void) {
    return (struct leat_casing){.cased = leat_unicode_property("Cased"),
                                .ignorable = leat_unicode_property("Case_Ignorable")};
}

/* True if a cased character comes next, ignorable ones aside. */
static bool is_cased_after(const struct leat_casing *casing, const uint8_t *text, size_t n) {
    for (size_t at = 0; at < n; at += leat_utf8_length(text + at, n - at)) {
        uint32_t code = leat_utf8_code_point(text + at, n - at);

        if (!leat_unicode_set_has(&casing->ignorable, code))
            return leat_unicode_set_has(&casing->cased, code);
    }
    return false;
}

static bool is_cased_before(const struct leat_casing *casing, const uint8_t *text, size_t n) {
    while (n > 0) {
        size_t length = 1;
        uint32_t code;

        while (length < 4 && length < n && (text[n - length] & 0xc0) == 0x80)
            length++;
        if (leat_utf8_length(text + n - length, length) != length)
            length = 1;
        code = leat_utf8_code_point(text + n - length, length);
        if (!leat_unicode_set_has(&casing->ignorable, code))
            return leat_unicode_set_has(&casing->cased, code);
        n -= length;
    }
    return false;
}

uint32_t leat_casing_lower(const struct leat_casing *casing, const uint8_t *text, size_t at,
                           size_t n, uint32_t ret_code_points[LEAT_UNICODE_LOWER_MAX]) {
    uint32_t code = leat_utf8_code_point(text + at, n - at);

    if (code != SIGMA || !is_cased_before(casing, text, at) ||
        is_cased_after(casing, text + at + SIGMA_BYTES, n - at - SIGMA_BYTES))
        return leat_unicode_lower(code, ret_code_points);
    ret_code_points[0] = FINAL_SIGMA;
    return 1;
}
