/* bound.h: what bounds the rate of a stream. The one model, for whoever asks: the verdict on a
 * stream that runs, the profile of one that ran, the forecast of one that was sampled, the tuner.
 *
 * It is that of operational analysis (Denning and Buzen, The Operational Analysis of Queueing
 * Network Models, 1978). What is made needs some time of each resource, of which there are so
 * many. Use is need over have, and the resource with the highest use is the bound. Nothing is
 * assumed of how the needs are spread over time, so what a change would give is a range: from all
 * that could run side by side running one behind the other, to the other way round.
 *
 * Pure: arithmetic only.
 */
#pragma once

#include <stdbool.h>

enum leat_resource {
    LEAT_RESOURCE_TRAINER, /* takes batches */
    LEAT_RESOURCE_WORKERS, /* the threads that map */
    LEAT_RESOURCE_THREADS, /* those and the one more that the pool has */
    LEAT_RESOURCE_BLOCKS,  /* that may be in flight */
    LEAT_RESOURCE_SCAN,    /* one thread at a time reads and cuts */
    LEAT_RESOURCE_LOOP,    /* one thread orders rows and hands out batches */
    LEAT_RESOURCE_CPUS,    /* processors */
    LEAT_RESOURCE_SLOTS,   /* that batches are collated into */
    LEAT_N_RESOURCES,
};
/* For programs, and as it stands in a sentence: "bounded by ..". */
const char *leat_resource_name(enum leat_resource resource);
const char *leat_resource_phrase(enum leat_resource resource);

/* How many there are of it (0: it does not count), and how many of them are busy on average; where
 * no interval was measured, the time for which what one record takes keeps one busy. */
struct leat_use {
    double need, have;
};

struct leat_load {
    struct leat_use of[LEAT_N_RESOURCES];
};

double leat_load_use(const struct leat_load *load, enum leat_resource resource);
enum leat_resource leat_load_tightest(const struct leat_load *load);

/* What is known of a load whose parts were not all measured. */
struct leat_loads {
    struct leat_load least, most;
};

/* Of rates: that after a change over that before. */
struct leat_gain_range {
    double low, high;
};

/* What a change gives. `before` is measured over an interval: needs beyond what is there are waits
 * of others. Never less than 1: what makes it slower is not done. */
struct leat_gain_range leat_loads_gain(const struct leat_loads *before,
                                       const struct leat_loads *after);

#define LEAT_BOUND_MOST 0.5  /* of the time: beyond doubt */
#define LEAT_BOUND_SOME 0.05 /* less is no waiting */

/* Who waits for whom. */
enum leat_slower {
    LEAT_SLOWER_TRAINERS,
    LEAT_SLOWER_PIPELINE,
    LEAT_SLOWER_NEITHER,
    LEAT_N_SLOWER,
};
const char *leat_slower_name(enum leat_slower slower);
/* By parts of the time: that trainers had room and nothing was ready, and that a batch could have
 * been made and had no slot. */
enum leat_slower leat_bound_slower(double waited, double no_slot);
