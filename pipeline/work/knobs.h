/* knobs.h: what may be turned while a run goes on. It changes speed and memory, never the batches.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum leat_knob {
    LEAT_KNOB_BLOCK_BYTES, /* of source, in pieces that are read from now on */
    LEAT_KNOB_JOBS,        /* blocks between scan and order at once */
    LEAT_KNOB_AHEAD,       /* batches in slots that nobody has taken yet */
    LEAT_KNOB_COLLATED,    /* batches that one COLLATE job puts into slots */
    LEAT_N_KNOBS
};

#define LEAT_KNOB_COLLATED_MAX 256

struct leat_knobs {
    uint64_t of[LEAT_N_KNOBS];
};

/* As in the options of a stream (the prefetch is a stage), and as people say it. */
const char *leat_knob_name(enum leat_knob knob);
const char *leat_knob_words(enum leat_knob knob);
/* The range of each. */
uint64_t leat_knob_min(enum leat_knob knob);
uint64_t leat_knob_max(enum leat_knob knob);

bool leat_knobs_equal(const struct leat_knobs *a, const struct leat_knobs *b);
/* Values out of range become the nearest that are in it. */
void leat_knobs_clamp(struct leat_knobs *knobs);
