/* statistics.c: see statistics.h. Few values: they are sorted by insertion. */
#include "client/cli/bench/statistics.h"

#include <math.h>

static void insert_sorted(double *sorted, size_t n, double value) {
    while (n > 0 && sorted[n - 1] > value) {
        sorted[n] = sorted[n - 1];
        n--;
    }
    sorted[n] = value;
}

struct leat_bench_summary leat_bench_summarise(const double *values, size_t n_values) {
    double sorted[LEAT_BENCH_REPEAT_MAX];
    size_t n = 0;

    for (size_t i = 0; i < n_values && n < LEAT_BENCH_REPEAT_MAX; i++)
        if (isfinite(values[i]))
            insert_sorted(sorted, n++, values[i]);
    if (n == 0)
        return (struct leat_bench_summary){.median = NAN, .low = NAN, .high = NAN};
    return (struct leat_bench_summary){
        .n_values = n,
        .median = n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2,
        .low = sorted[0],
        .high = sorted[n - 1],
    };
}

double leat_bench_spread(const struct leat_bench_summary *summary) {
    if (summary->n_values < 2 || !(fabs(summary->median) > 0))
        return 0;
    return (summary->high - summary->low) / fabs(summary->median);
}

struct leat_bench_summary leat_bench_ratios(const double *a, const double *b, size_t n_values) {
    double ratios[LEAT_BENCH_REPEAT_MAX];
    size_t n = 0;

    for (size_t i = 0; i < n_values && n < LEAT_BENCH_REPEAT_MAX; i++)
        if (isfinite(a[i]) && isfinite(b[i]) && fabs(a[i]) > 0)
            ratios[n++] = b[i] / a[i];
    return leat_bench_summarise(ratios, n);
}

bool leat_bench_covers_one(const struct leat_bench_summary *ratios) {
    return ratios->n_values < 2 || (ratios->low <= 1 && ratios->high >= 1);
}
