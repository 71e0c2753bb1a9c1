/* tuner_model.h: what the times of jobs say about knobs, and which turns of a knob can do any good.
 * Pure.
 */
#pragma once

#include "pipeline/run/tuner.h"

/* True if trainers waited for batches: else nothing that the run could do is felt. */
bool leat_tuner_is_waited_for(const struct leat_tuner_sample *sample);
/* Where the knobs should be, by the times of jobs: true if that is elsewhere, with the reason. */
bool leat_tuner_reckon(const struct leat_tuner_limits *limits, const struct leat_tuner_sample *sum,
                       struct leat_knobs *knobs, char *ret_why, size_t size);
/* One step of one knob, up or down; false: it is at its end, or pinned, there is no memory for it,
 * or it can do no good. */
bool leat_tuner_turn(const struct leat_tuner_limits *limits, const struct leat_tuner_sample *sum,
                     enum leat_knob knob, bool is_down, struct leat_knobs *knobs);
