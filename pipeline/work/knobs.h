/* knobs.h: values that may change while a run goes on. They change speed and memory, never batches:
 * rows keep their order wherever pieces are cut, and however many blocks or batches are in flight.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum leat_knob {
    LEAT_KNOB_BLOCK_BYTES, /* bytes of source of the next pieces */
    LEAT_KNOB_JOBS,        /* blocks between scan and order at once */
    LEAT_KNOB_AHEAD,       /* batches in slots that are not taken yet */
    LEAT_KNOB_COLLATED,    /* batches of one COLLATE job */
    LEAT_N_KNOBS
};

#define LEAT_KNOB_COLLATED_MAX 256

struct leat_knobs {
    uint64_t of[LEAT_N_KNOBS];
};

/* As in the options of a stream; the prefetch is a stage. */
const char *leat_knob_name(enum leat_knob knob);
uint64_t leat_knob_min(enum leat_knob knob);
uint64_t leat_knob_max(enum leat_knob knob);

bool leat_knobs_equal(const struct leat_knobs *a, const struct leat_knobs *b);
/* Values out of range become the nearest ones in range. */
void leat_knobs_clamp(struct leat_knobs *knobs);
