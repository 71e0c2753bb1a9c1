/* spread.h: how many values lie between which bounds, as Prometheus' histograms have it: for many
 * streams, where histogram.h would take too much. A value is of the first bound that it does not
 * exceed; those above the last have a place of their own. Owner: its holder.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LEAT_SPREAD_MAX_BOUNDS 13

struct leat_spread_bounds {
    size_t n;
    uint64_t at[LEAT_SPREAD_MAX_BOUNDS];
};

struct leat_spread {
    uint64_t n[LEAT_SPREAD_MAX_BOUNDS + 1]; /* not of those below */
    uint64_t total;                         /* of the values */
};

extern const struct leat_spread_bounds leat_spread_waits; /* nanoseconds: 0.1 ms to 100 s */
extern const struct leat_spread_bounds leat_spread_bytes; /* 1 KiB to 1 GiB */
extern const struct leat_spread_bounds leat_spread_rows;  /* 1 to 65,536 */

void leat_spread_add(struct leat_spread *spread, const struct leat_spread_bounds *bounds,
                     uint64_t value);
void leat_spread_merge(struct leat_spread *spread, const struct leat_spread *other);
