/* tuner_model.h: which knobs the times of jobs suggest, and which turns of a knob may help. Pure.
 */
#pragma once

#include <stddef.h>

#include "pipeline/work/knobs.h"

#define LEAT_TUNER_REASON_MAX 128

/* The run and the machine. */
struct leat_tuner_limits {
    struct leat_knobs start; /* the defaults, or values of the stream */
    struct leat_knobs most;
    bool is_pinned[LEAT_N_KNOBS];
    uint32_t n_threads; /* that execute jobs */
    uint64_t slot_bytes;
};

/* Counts of an interval. */
struct leat_tuner_sample {
    uint64_t wall_ns;
    uint64_t n_batches, n_batch_bytes;
    uint64_t n_blocks;       /* from wherever */
    uint64_t n_maps, map_ns; /* those that were made of the source, */
    uint64_t n_mapped_bytes; /* of so much of it */
    uint64_t n_collations, collate_ns;
    uint64_t scan_ns;
    uint64_t busy_ns;     /* of all jobs */
    uint64_t starved_ns;  /* the trainer waited, and nothing was ready */
    uint64_t slotless_ns; /* batches waited for slots */
    uint64_t used_bytes;  /* by blocks, and all that belongs to them */
    uint64_t room_bytes;  /* that may be taken besides; UINT64_MAX: no limit */
};

/* True if trainers waited for batches: else nothing that the run could do is felt. */
bool leat_tuner_is_waited_for(const struct leat_tuner_sample *sample);
/* Where the knobs should be, by the times of jobs: true if that is elsewhere, with the reason. */
bool leat_tuner_reckon(const struct leat_tuner_limits *limits, const struct leat_tuner_sample *sum,
                       struct leat_knobs *knobs, char *ret_why, size_t size);
/* One step of one knob, up or down; false: it is at its end, or pinned, there is no memory for it,
 * or it can do no good. */
bool leat_tuner_turn(const struct leat_tuner_limits *limits, const struct leat_tuner_sample *sum,
                     enum leat_knob knob, bool is_down, struct leat_knobs *knobs);
