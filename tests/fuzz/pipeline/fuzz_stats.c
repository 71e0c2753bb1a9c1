/* fuzz_stats.c: any bytes as a file of statistics: what is refused says why, and what is taken is
 * finite and reads the same from a file of it alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/stages/normalize/normalize.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct leat_normalization *stats) {
    struct leat_normalization again;
    char text[128];
    int n =
        snprintf(text, sizeof(text), "{\"columns\": {\"a\": {\"std\": %.17g, \"mean\": %.17g}}}",
                 stats->std, stats->mean);

    if (leat_normalization_read(text, (size_t)n, "a", "again.json", &again, LEAT_ERROR_IGNORED) !=
            0 ||
        again.mean != stats->mean || again.std != stats->std)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_normalization stats;
    int r = leat_normalization_read((const char *)data, size, "a", "stats.json", &stats, &err);

    if (r < 0 && (err.code != r || !err.message[0]))
        abort();
    if (r == 0 && (!isfinite(stats.mean) || !isfinite(stats.std)))
        abort();
    if (r == 0)
        check_again(&stats);
    return 0;
}
