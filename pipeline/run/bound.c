#include "pipeline/run/bound.h"

#include <math.h>

static const struct {
    const char *name, *phrase;
} resources[LEAT_N_RESOURCES] = {
    [LEAT_RESOURCE_TRAINER] = {"trainer", "the trainer"},
    [LEAT_RESOURCE_WORKERS] = {"workers", "the workers"},
    [LEAT_RESOURCE_THREADS] = {"threads", "the workers"},
    [LEAT_RESOURCE_BLOCKS] = {"blocks", "jobs_in_flight"},
    [LEAT_RESOURCE_SCAN] = {"scan", "reading"},
    [LEAT_RESOURCE_LOOP] = {"loop", "the loop"},
    [LEAT_RESOURCE_CPUS] = {"cpus", "the processors"},
    [LEAT_RESOURCE_SLOTS] = {"slots", "the slots"},
};

const char *leat_resource_name(enum leat_resource resource) {
    return resources[resource].name;
}

const char *leat_resource_phrase(enum leat_resource resource) {
    return resources[resource].phrase;
}

double leat_load_use(const struct leat_load *load, enum leat_resource resource) {
    const struct leat_use *use = &load->of[resource];

    return use->have > 0 ? use->need / use->have : 0;
}

enum leat_resource leat_load_tightest(const struct leat_load *load) {
    enum leat_resource most = LEAT_RESOURCE_TRAINER;

    for (int i = 0; i < LEAT_N_RESOURCES; i++)
        if (leat_load_use(load, (enum leat_resource)i) > leat_load_use(load, most))
            most = (enum leat_resource)i;
    return most;
}

/* A batch goes through these steps one after the other. Resources that a job holds at the same time
 * (a thread, a block, a processor) are one step. */
enum step { READ, WORK, ORDER, SLOT, TAKE, N_STEPS };

static enum step step_of(enum leat_resource resource) {
    switch (resource) {
    case LEAT_RESOURCE_TRAINER:
        return TAKE;
    case LEAT_RESOURCE_SCAN:
        return READ;
    case LEAT_RESOURCE_LOOP:
        return ORDER;
    case LEAT_RESOURCE_SLOTS:
        return SLOT;
    default:
        return WORK;
    }
}

static void steps_of(const struct leat_load *load, double ret_steps[N_STEPS]) {
    for (int i = 0; i < N_STEPS; i++)
        ret_steps[i] = 0;
    for (int i = 0; i < LEAT_N_RESOURCES; i++) {
        double *step = &ret_steps[step_of((enum leat_resource)i)];

        *step = fmax(*step, leat_load_use(load, (enum leat_resource)i));
    }
}

static double longest(const double steps[N_STEPS]) {
    double most = 0;

    for (int i = 0; i < N_STEPS; i++)
        most = fmax(most, steps[i]);
    return most;
}

/* The part of the interval that is saved at most: all waits for a resource that has less to do, and
 * the work that more of a resource take over. */
static double saved_of(const struct leat_load *before, const struct leat_load *after,
                       enum leat_resource resource) {
    const struct leat_use *was = &before->of[resource], *is = &after->of[resource];
    double saved = 0;

    if (was->need > is->need)
        saved += fmin(was->need, 1) * (1 - is->need / was->need);
    if (is->have > was->have && was->have > 0)
        saved += is->need / was->have - is->need / is->have;
    return saved;
}

static double saved_by(const struct leat_loads *before, const struct leat_loads *after) {
    double saved[N_STEPS] = {0}, sum = 0;

    for (int i = 0; i < LEAT_N_RESOURCES; i++) {
        enum leat_resource resource = (enum leat_resource)i;
        double *step = &saved[step_of(resource)];

        *step = fmax(*step, fmax(saved_of(&before->least, &after->least, resource),
                                 saved_of(&before->most, &after->most, resource)));
    }
    for (int i = 0; i < N_STEPS; i++)
        sum += saved[i];
    return sum;
}

/* No step is shorter than its own need. */
static double shortest_time(const struct leat_loads *before, const struct leat_loads *after) {
    double steps[N_STEPS];

    steps_of(&after->least, steps);
    return fmax(longest(steps), 1 - saved_by(before, after));
}

/* Blocks leave in order. If one of those in flight takes twice as long as the others, the other
 * workers wait for it. */
static double uneven(const struct leat_load *load) {
    const struct leat_use *workers = &load->of[LEAT_RESOURCE_WORKERS];
    double n_blocks = load->of[LEAT_RESOURCE_BLOCKS].have;

    return workers->have > 1 && n_blocks > 0 ? workers->need * (1 - 1 / workers->have) / n_blocks
                                             : 0;
}

/* The busiest step waits as long as before, and all steps follow each other. */
static double longest_time(const struct leat_loads *before, const struct leat_loads *after) {
    double least[N_STEPS], most[N_STEPS], all;

    steps_of(&before->least, least);
    steps_of(&after->most, most);
    all = 1 - fmin(longest(least), 1) + uneven(&after->most);
    for (int i = 0; i < N_STEPS; i++)
        all += most[i];
    return fmin(all, 1);
}

struct leat_gain_range leat_loads_gain(const struct leat_loads *before,
                                       const struct leat_loads *after) {
    double low = 1 / longest_time(before, after), high = 1 / shortest_time(before, after);

    return (struct leat_gain_range){.low = low, .high = fmax(high, low)};
}

const char *leat_slower_name(enum leat_slower slower) {
    static const char *const names[] = {"trainers", "pipeline", "neither"};

    return names[slower];
}

enum leat_slower leat_bound_slower(double waited, double no_slot) {
    if (no_slot >= LEAT_BOUND_MOST && no_slot > waited)
        return LEAT_SLOWER_TRAINERS;
    if (waited >= LEAT_BOUND_MOST || (waited >= LEAT_BOUND_SOME && waited > 2 * no_slot))
        return LEAT_SLOWER_PIPELINE;
    if (no_slot >= LEAT_BOUND_SOME && no_slot > 2 * waited)
        return LEAT_SLOWER_TRAINERS;
    return LEAT_SLOWER_NEITHER;
}
