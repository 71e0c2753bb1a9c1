/* fuzz_skips.c: pipeline/plan/skips.c: steps and records to skip, as somebody wrote them: what is
 * read is a range within the limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/skips.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct leat_skip_range *range) {
    if (range->first > range->last || range->last > LEAT_SKIPS_NUMBER_MAX)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_skip_range range;
    char text[256];
    size_t n_file;

    if (size >= sizeof(text))
        size = sizeof(text) - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    if (leat_skips_parse_step(text, &range) == 0) {
        check(&range);
        if (range.group != LEAT_SKIPS_EVERY && range.group > LEAT_SKIPS_NUMBER_MAX)
            abort();
    }
    if (leat_skips_parse_record(text, &n_file, &range) == 0) {
        check(&range);
        if (n_file >= strlen(text) || range.group != 0)
            abort();
    }
    return 0;
}
