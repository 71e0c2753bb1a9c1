#include "pipeline/run/profile/spread.h"

const struct leat_spread_bounds leat_spread_waits = {
    .n = 13,
    .at = {100000, 300000, 1000000, 3000000, 10000000, 30000000, 100000000, 300000000, 1000000000,
           3000000000, 10000000000, 30000000000, 100000000000}};
const struct leat_spread_bounds leat_spread_bytes = {.n = 11,
                                                     .at = {1 << 10, 1 << 12, 1 << 14, 1 << 16,
                                                            1 << 18, 1 << 20, 1 << 22, 1 << 24,
                                                            1 << 26, 1 << 28, 1 << 30}};
const struct leat_spread_bounds leat_spread_rows = {
    .n = 9, .at = {1, 1 << 2, 1 << 4, 1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16}};

void leat_spread_add(struct leat_spread *spread, const struct leat_spread_bounds *bounds,
                     uint64_t value) {
    size_t i = 0;

    while (i < bounds->n && value > bounds->at[i])
        i++;
    spread->n[i]++;
    spread->total += value;
}

void leat_spread_merge(struct leat_spread *spread, const struct leat_spread *other) {
    for (size_t i = 0; i <= LEAT_SPREAD_MAX_BOUNDS; i++)
        spread->n[i] += other->n[i];
    spread->total += other->total;
}
