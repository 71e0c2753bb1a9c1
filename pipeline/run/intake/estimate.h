/* estimate.h: the memory of the next block, estimated from the latest ones. */
#pragma once

#include <stdint.h>

/* Follows a rise at once, and a fall slowly. */
static inline void leat_estimate_learn(uint64_t *estimate, uint64_t latest) {
    uint64_t before = *estimate - *estimate / 16;

    *estimate = latest > before ? latest : before;
}

/* Scales with the size of blocks when it grows; when it shrinks, the estimate learns. */
static inline void leat_estimate_scale(uint64_t *estimate, uint64_t before_bytes,
                                       uint64_t after_bytes) {
    if (after_bytes > before_bytes)
        *estimate = (uint64_t)((unsigned __int128)*estimate * after_bytes / before_bytes);
}
