/* folding.h: which characters are the same to a regular expression that ignores case, as Oniguruma
 * folds them. Immutable: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct leat_unicode_fold {
    uint32_t n;              /* 2..4 */
    uint32_t code_points[4]; /* ascending; each equals all of the others */
};

/* A character that equals a string, of which these are the first two, each as the first of its
 * fold. */
struct leat_unicode_long_fold {
    uint32_t code_point, first, second;
};

extern const struct leat_unicode_fold leat_unicode_u16_folds[];
extern const size_t leat_unicode_u16_n_folds;
extern const struct leat_unicode_long_fold leat_unicode_u16_long_folds[];
extern const size_t leat_unicode_u16_n_long_folds;
