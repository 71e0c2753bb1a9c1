/* test_bound.c: pipeline/run/bound.c: the tightest resource, who waits for whom; and that what a
 * change gives lies within the range that was told, of pipelines that are simulated with and
 * without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "pipeline/run/bound.h"
#include "proto/base/rng.h"

#define N_BATCHES     4000
#define N_WORKERS_MAX 9
#define N_PIPELINES   1000
#define SLACK         0.01 /* of the first and the last batches */

/* A pipeline: one reader, workers, the loop, slots, one trainer; means of service times. */
struct pipeline {
    double read_cpu, read_wait, work, order, take;
    double spread; /* of each: 0: always the mean, 1: from nothing to twice that */
    unsigned n_workers, n_blocks, n_slots;
};

struct measured {
    double wall, read, work, order, take;
};

static double draw(struct leat_rng *rng) {
    return (double)leat_rng_below(rng, 1000001) / 1e6;
}

/* The same batches for the same seed, whatever else the pipeline is like. */
static double service(struct leat_rng *rng, double mean, double spread) {
    return mean * (1 + spread * (2 * draw(rng) - 1));
}

static double first_free(double free_at[], unsigned n, double start, double time) {
    unsigned first = 0;

    for (unsigned i = 1; i < n; i++)
        if (free_at[i] < free_at[first])
            first = i;
    free_at[first] = fmax(start, free_at[first]) + time;
    return free_at[first];
}

/* Batch i is read when batch i - n_blocks was ordered, and ordered when i - n_slots was taken. */
static struct measured simulate(const struct pipeline *pipeline) {
    static double ordered[N_BATCHES], taken[N_BATCHES];
    double free_at[N_WORKERS_MAX] = {0}, read_end = 0, order_end = 0, take_end = 0;
    struct leat_rng rng = {.state = 3};
    struct measured sum = {.wall = 0};

    for (unsigned i = 0; i < N_BATCHES; i++) {
        double read = service(&rng, pipeline->read_cpu, pipeline->spread) +
                      service(&rng, pipeline->read_wait, pipeline->spread);
        double work = service(&rng, pipeline->work, pipeline->spread);
        double order = service(&rng, pipeline->order, pipeline->spread);
        double take = service(&rng, pipeline->take, pipeline->spread), work_end;

        read_end =
            fmax(read_end, i < pipeline->n_blocks ? 0 : ordered[i - pipeline->n_blocks]) + read;
        work_end = first_free(free_at, pipeline->n_workers, read_end, work);
        order_end = fmax(fmax(order_end, work_end),
                         i < pipeline->n_slots ? 0 : taken[i - pipeline->n_slots]) +
                    order;
        take_end = fmax(take_end, order_end) + take;
        ordered[i] = order_end;
        taken[i] = take_end;
        sum.read += read;
        sum.work += work;
        sum.order += order;
        sum.take += take;
    }
    sum.wall = take_end;
    return sum;
}

/* What its counters say of it after `wall`. */
static struct leat_load load_of(const struct measured *measured, const struct pipeline *pipeline,
                                double wall) {
    return (struct leat_load){
        .of = {[LEAT_RESOURCE_TRAINER] = {measured->take / wall, 1},
               [LEAT_RESOURCE_WORKERS] = {measured->work / wall, pipeline->n_workers},
               [LEAT_RESOURCE_BLOCKS] = {measured->work / wall, pipeline->n_blocks},
               [LEAT_RESOURCE_SCAN] = {measured->read / wall, 1},
               [LEAT_RESOURCE_LOOP] = {measured->order / wall, 1}}};
}

static struct pipeline any_pipeline(struct leat_rng *rng) {
    struct pipeline pipeline = {.read_cpu = draw(rng),
                                .read_wait = draw(rng) * draw(rng) * 4,
                                .work = draw(rng) * 8,
                                .order = draw(rng),
                                .take = draw(rng) * draw(rng) * 4,
                                .spread = draw(rng),
                                .n_workers = 1 + (unsigned)leat_rng_below(rng, 6),
                                .n_slots = 1 + (unsigned)leat_rng_below(rng, 16)};

    pipeline.n_blocks = pipeline.n_workers * (1 + (unsigned)leat_rng_below(rng, 4));
    return pipeline;
}

/* ---- changes ---- */

static void add_worker(struct pipeline *pipeline) {
    pipeline->n_workers++;
}

static void read_from_memory(struct pipeline *pipeline) {
    pipeline->read_wait = 0;
}

static void take_no_time(struct pipeline *pipeline) {
    pipeline->take = 0;
}

static void read_cache(struct pipeline *pipeline) {
    pipeline->read_cpu = pipeline->read_wait = 0;
    pipeline->work /= 5;
}

static void do_nothing(struct pipeline *pipeline) {
    (void)pipeline;
}

static const struct {
    const char *name;
    void (*make)(struct pipeline *pipeline);
} changes[] = {
    {"one more worker", add_worker},
    {"files in memory", read_from_memory},
    {"an infinitely fast trainer", take_no_time},
    {"a cache", read_cache},
    {"nothing", do_nothing},
};

/* The change is made, and gives what was told; `known` of what the trainer needs was measured. */
static void check_change(const struct pipeline *before, size_t change, double known,
                         double *ret_width) {
    struct pipeline after = *before;
    struct measured was = simulate(before), is;
    struct leat_loads load, then;
    struct leat_gain_range range;
    double gain;

    changes[change].make(&after);
    is = simulate(&after);
    gain = was.wall / is.wall;
    load.least = load.most = load_of(&was, before, was.wall);
    then.least = then.most = load_of(&is, &after, was.wall);
    load.least.of[LEAT_RESOURCE_TRAINER].need *= known;
    then.least.of[LEAT_RESOURCE_TRAINER].need *= known;
    range = leat_loads_gain(&load, &then);
    assert_true(range.low >= 1 && range.high >= range.low && isfinite(range.high));
    if (gain < range.low * (1 - SLACK) || gain > range.high * (1 + SLACK))
        fail_msg("%s gave %.3f, told was %.3f to %.3f (read %.2f + %.2f, work %.2f on %u, order "
                 "%.2f, take %.2f, %u blocks, %u slots, spread %.2f)",
                 changes[change].name, gain, range.low, range.high, before->read_cpu,
                 before->read_wait, before->work, before->n_workers, before->order, before->take,
                 before->n_blocks, before->n_slots, before->spread);
    *ret_width += log(range.high / range.low);
}

static void test_gains(void **state) {
    struct leat_rng rng = {.state = 1};
    double width = 0;
    unsigned n = 0;

    (void)state;
    for (unsigned i = 0; i < N_PIPELINES; i++) {
        struct pipeline pipeline = any_pipeline(&rng);
        double known = i % 2 ? 1 : draw(&rng);

        for (size_t j = 0; j < sizeof(changes) / sizeof(changes[0]); j++, n++)
            check_change(&pipeline, j, known, &width);
    }
    assert_true(exp(width / n) < 2); /* "from 1 to anything" would be kept as well */
}

/* ---- words ---- */

static void test_tightest(void **state) {
    struct leat_load load = {
        .of = {[LEAT_RESOURCE_WORKERS] = {9, 10}, [LEAT_RESOURCE_LOOP] = {3, 4}}};

    (void)state;
    assert_int_equal(leat_load_tightest(&load), LEAT_RESOURCE_WORKERS);
    load.of[LEAT_RESOURCE_WORKERS].have = 20; /* one more */
    assert_int_equal(leat_load_tightest(&load), LEAT_RESOURCE_LOOP);
    assert_true(leat_load_use(&load, LEAT_RESOURCE_SLOTS) == 0); /* of which nothing is known */
    for (int i = 0; i < LEAT_N_RESOURCES; i++) {
        assert_non_null(leat_resource_name((enum leat_resource)i));
        assert_non_null(leat_resource_phrase((enum leat_resource)i));
    }
}

static void test_slower(void **state) {
    (void)state;
    assert_int_equal(leat_bound_slower(.01, .92), LEAT_SLOWER_TRAINERS);
    assert_int_equal(leat_bound_slower(.9, 0), LEAT_SLOWER_PIPELINE);
    assert_int_equal(leat_bound_slower(.7, .6), LEAT_SLOWER_PIPELINE);
    assert_int_equal(leat_bound_slower(.6, .7), LEAT_SLOWER_TRAINERS);
    assert_int_equal(leat_bound_slower(.1, .3), LEAT_SLOWER_TRAINERS);
    assert_int_equal(leat_bound_slower(.3, .1), LEAT_SLOWER_PIPELINE);
    assert_int_equal(leat_bound_slower(.03, .04), LEAT_SLOWER_NEITHER);
    assert_int_equal(leat_bound_slower(.3, .3), LEAT_SLOWER_NEITHER);
    assert_string_equal(leat_slower_name(LEAT_SLOWER_TRAINERS), "trainers");
}

/* What is not changed gives nothing, and what nobody has to do is no gain. */
static void test_nothing(void **state) {
    struct leat_load load = {
        .of = {[LEAT_RESOURCE_WORKERS] = {.7, 1}, [LEAT_RESOURCE_TRAINER] = {0, 1}}};
    struct leat_loads same = {load, load}, nothing = {.least = {.of = {{0, 0}}}};
    struct leat_gain_range range = leat_loads_gain(&same, &same);

    (void)state;
    assert_true(range.low == 1 && range.high == 1);
    range = leat_loads_gain(&nothing, &nothing);
    assert_true(range.low == 1 && range.high == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gains),
        cmocka_unit_test(test_tightest),
        cmocka_unit_test(test_slower),
        cmocka_unit_test(test_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
