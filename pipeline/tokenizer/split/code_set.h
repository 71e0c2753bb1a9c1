/* code_set.h: sets of code points, as sorted ranges: what a regex's classes are made of.
 *
 * Operations that fail do so for lack of memory only, and say it once, at the end: a set that could
 * not grow is marked (is_broken), stays so through all further operations, and its owner looks when
 * done.
 *
 * Owner: the thread that loads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_CODE_MAX 0x10ffff

struct leat_code_range {
    uint32_t first, last;
};

struct leat_code_set {
    struct leat_code_range *ranges;
    uint32_t n_ranges;
    size_t capacity;
    bool is_sorted; /* disjoint and ascending; false while ranges are being added */
    bool is_broken; /* memory ran out */
};

void leat_code_set_deinit(struct leat_code_set *set); /* of a zeroed one too */

void leat_code_set_add(struct leat_code_set *set, uint32_t first, uint32_t last);
void leat_code_set_add_set(struct leat_code_set *set, const struct leat_code_set *other);
/* Sorts and joins; the operations below do it themselves. */
void leat_code_set_sort(struct leat_code_set *set);
void leat_code_set_complement(struct leat_code_set *set);
void leat_code_set_intersect(struct leat_code_set *set, struct leat_code_set *other);

bool leat_code_set_has(const struct leat_code_set *set, uint32_t code); /* of a sorted one */
bool leat_code_set_equals(const struct leat_code_set *a, const struct leat_code_set *b);
