/* scan_units.c: what a scanner knows of places that were decoded ahead of it. See job.h. */
#include <string.h>

#include "pipeline/work/job.h"

void leat_scan_add_unit(struct leat_scan *scan, struct leat_unit *take_unit) {
    leat_unit_insert(&scan->units, take_unit);
}

void leat_scan_expect_units(struct leat_scan *scan, const struct leat_unit_key *keys, size_t n) {
    memcpy(scan->missing, keys, n * sizeof(*keys));
    scan->n_missing = n;
    scan->has_horizon = false;
}

void leat_scan_set_horizon(struct leat_scan *scan, struct leat_unit_key key, size_t file) {
    scan->has_horizon = true;
    scan->horizon = key;
    scan->horizon_file = file;
}

/* What lies before the place is not wanted any more. */
struct leat_unit *leat_scan_take_unit(struct leat_scan *scan, struct leat_unit_key key) {
    struct leat_unit *unit;

    while ((unit = scan->units) && leat_unit_compare(unit->key, key) < 0) {
        scan->units = unit->next;
        leat_unit_free(unit);
    }
    if (!unit || leat_unit_compare(unit->key, key) != 0)
        return NULL;
    scan->units = unit->next;
    return unit;
}

static bool is_expected(const struct leat_scan *scan, struct leat_unit_key key) {
    for (size_t i = 0; i < scan->n_missing; i++)
        if (leat_unit_compare(scan->missing[i], key) == 0)
            return true;
    return false;
}

static bool is_beyond(const struct leat_scan *scan, struct leat_unit_key key) {
    if (!scan->has_horizon)
        return false;
    return key.file == scan->horizon.file ? key.range >= scan->horizon.range
                                          : key.file >= scan->horizon_file;
}

bool leat_scan_misses_unit(const struct leat_scan *scan, struct leat_unit_key key) {
    return is_expected(scan, key) || is_beyond(scan, key);
}
