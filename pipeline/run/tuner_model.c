/* tuner_model.c: see tuner_model.h.
 *
 * A job should take much longer than handing it out (some 20 us of the loop and of a thread that
 * wakes up), and much less than the time in which all threads should find work. In between, caches
 * and allocators decide, so the tuner tries. Where reading is the bound, larger blocks need less of
 * it, since less is carried from block to block.
 */
#include "pipeline/run/tuner_model.h"

#include <stdio.h>

#include "pipeline/run/bound.h"

#define MAP_NS_LEAST     400000
#define MAP_NS_ENOUGH    2000000  /* Handing out a job costs a hundredth of it. */
#define MAP_NS_MOST      20000000 /* with several threads */
#define JOBS_ENOUGH      4        /* for each thread */
#define COLLATE_NS_LEAST 50000
#define COLLATE_NS_GOOD  200000
#define COLLATE_NS_MOST  2000000
#define BLOCK_BYTES_LOW  (UINT64_C(64) << 10)
#define BLOCK_BYTES_HIGH (UINT64_C(1) << 20)
#define COLLATE_PART     32 /* of the time of all jobs: less is not worth a trial */
#define CACHED_BYTES     (UINT64_C(1) << 20) /* A smaller ring stays in the processor's caches. */

static bool may_set(const struct leat_tuner_limits *limits, enum leat_knob knob, uint64_t value) {
    return !limits->is_pinned[knob] && value >= leat_knob_min(knob) &&
           value <= leat_knob_max(knob) && value <= limits->most.of[knob];
}

/* A trial may take half of the free memory. */
static bool has_room(const struct leat_tuner_sample *sum, uint64_t more_bytes) {
    return sum->room_bytes / 2 >= more_bytes;
}

static double part_of(const struct leat_tuner_sample *sample, uint64_t ns) {
    return sample->wall_ns > 0 ? (double)ns / (double)sample->wall_ns : 0;
}

bool leat_tuner_is_waited_for(const struct leat_tuner_sample *sample) {
    return part_of(sample, sample->starved_ns) >= LEAT_BOUND_SOME;
}

/* Only one job reads at a time, so one busy reader bounds all threads. */
static bool is_bound_by_reading(const struct leat_tuner_limits *limits,
                                const struct leat_tuner_sample *sum) {
    return limits->n_threads > 1 && part_of(sum, sum->scan_ns) >= LEAT_BOUND_MOST;
}

static uint64_t reckon_block(const struct leat_tuner_limits *limits,
                             const struct leat_tuner_sample *sum, uint64_t block_bytes) {
    uint64_t ns = sum->n_maps > 0 ? sum->map_ns / sum->n_maps : 0, n = block_bytes;
    uint64_t filled = sum->n_maps > 0 ? sum->n_mapped_bytes / sum->n_maps : 0;

    if (is_bound_by_reading(limits, sum))
        return n * 4 < BLOCK_BYTES_HIGH ? n * 4 : n < BLOCK_BYTES_HIGH ? BLOCK_BYTES_HIGH : n;
    if (filled < block_bytes / 2 || filled > block_bytes * 2)
        return n; /* Files end, or records are longer, so the size does not matter. */
    for (; ns > 0 && ns < MAP_NS_LEAST && n * 2 <= BLOCK_BYTES_HIGH; ns *= 2)
        n *= 2;
    for (; limits->n_threads > 1 && ns > MAP_NS_MOST && n / 2 >= BLOCK_BYTES_LOW; ns /= 2)
        n /= 2;
    return n;
}

static uint64_t reckon_collated(const struct leat_tuner_limits *limits,
                                const struct leat_tuner_sample *sum, uint64_t n_collated) {
    uint64_t ns = sum->n_batches > 0 ? sum->collate_ns / sum->n_batches : 0, n = n_collated;

    if (ns == 0)
        return n;
    if (limits->n_threads > 1 && n * ns > COLLATE_NS_MOST)
        n = COLLATE_NS_MOST / ns;
    else if (n * ns < COLLATE_NS_LEAST)
        n = COLLATE_NS_GOOD / ns;
    return n < 1                                     ? 1
           : n > limits->most.of[LEAT_KNOB_COLLATED] ? limits->most.of[LEAT_KNOB_COLLATED]
                                                     : n;
}

/* A block in work and a ready one for each thread. */
static uint64_t reckon_jobs(const struct leat_tuner_limits *limits, uint64_t n_jobs) {
    uint64_t n = 2 * (uint64_t)limits->n_threads;

    return n_jobs < n ? n : n_jobs;
}

bool leat_tuner_reckon(const struct leat_tuner_limits *limits, const struct leat_tuner_sample *sum,
                       struct leat_knobs *knobs, char *ret_why, size_t size) {
    struct leat_knobs reckoned = *knobs;

    reckoned.of[LEAT_KNOB_BLOCK_BYTES] =
        reckon_block(limits, sum, knobs->of[LEAT_KNOB_BLOCK_BYTES]);
    reckoned.of[LEAT_KNOB_COLLATED] = reckon_collated(limits, sum, knobs->of[LEAT_KNOB_COLLATED]);
    reckoned.of[LEAT_KNOB_JOBS] = reckon_jobs(limits, knobs->of[LEAT_KNOB_JOBS]);
    for (int i = 0; i < LEAT_N_KNOBS; i++)
        if (!may_set(limits, (enum leat_knob)i, reckoned.of[i]))
            reckoned.of[i] = knobs->of[i];
    if (!has_room(sum, reckoned.of[LEAT_KNOB_BLOCK_BYTES] > knobs->of[LEAT_KNOB_BLOCK_BYTES]
                           ? sum->used_bytes
                           : 0))
        reckoned.of[LEAT_KNOB_BLOCK_BYTES] = knobs->of[LEAT_KNOB_BLOCK_BYTES];
    if (leat_knobs_equal(&reckoned, knobs))
        return false;
    (void)snprintf(ret_why, size,
                   "a block takes %.2f ms, a batch %.1f us, and reading takes %.0f %% of the time",
                   sum->n_maps > 0 ? (double)sum->map_ns / (double)sum->n_maps / 1e6 : 0.0,
                   sum->n_batches > 0 ? (double)sum->collate_ns / (double)sum->n_batches / 1e3
                                      : 0.0,
                   100 * part_of(sum, sum->scan_ns));
    *knobs = reckoned;
    return true;
}

/* True if that turn of the knob may have an effect. */
static bool is_felt(const struct leat_tuner_limits *limits, const struct leat_tuner_sample *sum,
                    enum leat_knob knob, bool is_down, const struct leat_knobs *knobs) {
    switch (knob) {
    case LEAT_KNOB_BLOCK_BYTES:
        if (sum->n_maps == 0 ||
            sum->n_mapped_bytes / sum->n_maps < knobs->of[LEAT_KNOB_BLOCK_BYTES] / 2)
            return false;
        return is_down
                   ? sum->map_ns / sum->n_maps >= MAP_NS_LEAST / 2
                   : sum->map_ns / sum->n_maps < MAP_NS_ENOUGH || is_bound_by_reading(limits, sum);
    case LEAT_KNOB_JOBS:
        return is_down || knobs->of[knob] < JOBS_ENOUGH * (uint64_t)limits->n_threads;
    case LEAT_KNOB_COLLATED:
        if (sum->n_batches == 0 || sum->collate_ns < sum->busy_ns / COLLATE_PART)
            return false;
        return is_down ? knobs->of[knob] * sum->collate_ns / sum->n_batches >= COLLATE_NS_GOOD
                       : sum->n_batches * 2 >= sum->n_collations * knobs->of[knob];
    case LEAT_KNOB_AHEAD:
        return is_down ? limits->slot_bytes * knobs->of[knob] > CACHED_BYTES
                       : part_of(sum, sum->slotless_ns) >= LEAT_BOUND_SOME;
    default:
        return true;
    }
}

static uint64_t more_bytes(const struct leat_tuner_limits *limits,
                           const struct leat_tuner_sample *sum, enum leat_knob knob,
                           const struct leat_knobs *knobs) {
    if (knob == LEAT_KNOB_AHEAD)
        return limits->slot_bytes * knobs->of[knob];
    return knob == LEAT_KNOB_COLLATED ? 0 : sum->used_bytes;
}

bool leat_tuner_turn(const struct leat_tuner_limits *limits, const struct leat_tuner_sample *sum,
                     enum leat_knob knob, bool is_down, struct leat_knobs *knobs) {
    uint64_t value = knobs->of[knob], next = is_down ? value / 2 : value * 2;

    if (!is_felt(limits, sum, knob, is_down, knobs) || !may_set(limits, knob, next) ||
        (!is_down && !has_room(sum, more_bytes(limits, sum, knob, knobs))))
        return false;
    knobs->of[knob] = next;
    return true;
}
