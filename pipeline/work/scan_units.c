/* scan_units.c: the units of a scanner, which were decoded ahead of it. See scan.h. */
#include <string.h>

#include "pipeline/work/scan.h"

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

/* Frees the units in front of the place, which are no longer wanted. */
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

bool leat_scan_may_pass(struct leat_scan_job *job, struct leat_unit_key key) {
    if (!is_expected(job->scan, key) && !is_beyond(job->scan, key))
        return true;
    if (job->scan->input)
        leat_input_tell_again(job->scan->input); /* by then the unit may be there */
    job->is_waiting = job->wants_unit = true;
    job->wanted = key;
    return false;
}

void leat_scan_change_input(struct leat_scan *scan, struct leat_unit_key key) {
    struct leat_unit *unit = leat_scan_take_unit(scan, key);

    if (unit && unit->input && leat_input_adopt(unit->input, scan->input)) {
        leat_input_close(scan->input);
        scan->input = unit->input;
        unit->input = NULL;
    }
    leat_unit_free(unit);
}
