/* estimate.h: what the next block will take, guessed from the latest. */
#pragma once

#include <stdint.h>

/* The next will be like the latest, or somewhat like the largest before. */
static inline void leat_estimate_learn(uint64_t *estimate, uint64_t latest) {
    uint64_t before = *estimate - *estimate / 16;

    *estimate = latest > before ? latest : before;
}

/* Blocks become larger: what they take does so too. Smaller ones are learnt from. */
static inline void leat_estimate_scale(uint64_t *estimate, uint64_t before_bytes,
                                       uint64_t after_bytes) {
    if (after_bytes > before_bytes)
        *estimate = (uint64_t)((unsigned __int128)*estimate * after_bytes / before_bytes);
}
