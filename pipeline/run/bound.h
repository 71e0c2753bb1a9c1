/* bound.h: what bounds the rate of a stream: the one model, which the verdict on a running stream,
 * the profile of a run, the forecast of a sample, and the tuner use.
 *
 * It is that of operational analysis (Denning and Buzen, The Operational Analysis of Queueing
 * Network Models, 1978). A batch needs some time of each resource, which exists a number of times.
 * Use is need over have, and the resource with the highest use is the bound. The model does not
 * know how needs are spread over time, so the gain of a change is a range: from needs that follow
 * each other to needs that overlap.
 *
 * Pure: arithmetic only.
 */
#pragma once

#include <stdbool.h>

enum leat_resource {
    LEAT_RESOURCE_TRAINER, /* takes batches */
    LEAT_RESOURCE_WORKERS, /* the threads that map */
    LEAT_RESOURCE_THREADS, /* all threads of the pool, one more than the workers */
    LEAT_RESOURCE_BLOCKS,  /* blocks in flight */
    LEAT_RESOURCE_SCAN,    /* one thread at a time reads and cuts */
    LEAT_RESOURCE_LOOP,    /* one thread orders rows and hands out batches */
    LEAT_RESOURCE_CPUS,    /* processors */
    LEAT_RESOURCE_SLOTS,   /* slots for batches */
    LEAT_N_RESOURCES,
};
/* The name for programs, and the words for "bounded by ...". */
const char *leat_resource_name(enum leat_resource resource);
const char *leat_resource_phrase(enum leat_resource resource);

/* have: how many there are of the resource; 0: it does not count. need: how many are busy on
 * average, or the time of one that a record takes. */
struct leat_use {
    double need, have;
};

struct leat_load {
    struct leat_use of[LEAT_N_RESOURCES];
};

double leat_load_use(const struct leat_load *load, enum leat_resource resource);
enum leat_resource leat_load_tightest(const struct leat_load *load);

/* The bounds of a load that was measured in part. */
struct leat_loads {
    struct leat_load least, most;
};

/* Rate after a change over rate before. */
struct leat_gain_range {
    double low, high;
};

/* The gain of a change, at least 1. `before` is measured over an interval, so needs beyond what a
 * resource has are waits. */
struct leat_gain_range leat_loads_gain(const struct leat_loads *before,
                                       const struct leat_loads *after);

#define LEAT_BOUND_MOST 0.5  /* of the time: beyond doubt */
#define LEAT_BOUND_SOME 0.05 /* less is no waiting */

/* The side that the other one waits for. */
enum leat_slower {
    LEAT_SLOWER_TRAINERS,
    LEAT_SLOWER_PIPELINE,
    LEAT_SLOWER_NEITHER,
    LEAT_N_SLOWER,
};
const char *leat_slower_name(enum leat_slower slower);
/* waited: part of the time in which trainers had room and nothing was ready; no_slot: part in which
 * a batch only lacked a slot. */
enum leat_slower leat_bound_slower(double waited, double no_slot);
