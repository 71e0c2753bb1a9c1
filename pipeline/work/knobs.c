/* knobs.c: the table of knobs. */
#include "pipeline/work/knobs.h"

static const struct {
    const char *name;
    uint64_t min, max;
} table[LEAT_N_KNOBS] = {
    [LEAT_KNOB_BLOCK_BYTES] = {"block_bytes", 4096, 64 << 20},
    [LEAT_KNOB_JOBS] = {"jobs_in_flight", 1, 4098},
    [LEAT_KNOB_AHEAD] = {"prefetch_size", 1, 4096},
    [LEAT_KNOB_COLLATED] = {"collate_batches", 1, LEAT_KNOB_COLLATED_MAX},
};

const char *leat_knob_name(enum leat_knob knob) {
    return table[knob].name;
}

uint64_t leat_knob_min(enum leat_knob knob) {
    return table[knob].min;
}

uint64_t leat_knob_max(enum leat_knob knob) {
    return table[knob].max;
}

bool leat_knobs_equal(const struct leat_knobs *a, const struct leat_knobs *b) {
    for (int i = 0; i < LEAT_N_KNOBS; i++)
        if (a->of[i] != b->of[i])
            return false;
    return true;
}

void leat_knobs_clamp(struct leat_knobs *knobs) {
    for (int i = 0; i < LEAT_N_KNOBS; i++) {
        if (knobs->of[i] < table[i].min)
            knobs->of[i] = table[i].min;
        if (knobs->of[i] > table[i].max)
            knobs->of[i] = table[i].max;
    }
}
