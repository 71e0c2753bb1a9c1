/* fuzz_stats.c: any bytes as a file of statistics: what is refused says why. */
#include <stdlib.h>

#include "pipeline/stages/normalize/stats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_normalization stats;
    int r = leat_normalization_read((const char *)data, size, "a", "stats.json", &stats, &err);

    if (r < 0 && (err.code != r || !err.message[0]))
        abort();
    return 0;
}
