/* test_tuner.c: pipeline/run/tuner.c, tuner_model.c against simulated pipelines: whatever the
 * service times and the noise, it ends near the best setting that there is, within the budget, and
 * is silent from then on, until something changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/run/tuner.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

/* A pipeline as a few numbers: times in ns. */
struct sim {
    const char *name;
    double map_fixed, map_per_byte; /* of a MAP job */
    double cache_bytes,
        cache_cost; /* blocks beyond that size are dearer, by that part a doubling */
    double scan_per_byte;
    double collate_fixed, collate_per_batch;
    double loop_per_job;    /* on the one thread of the loop */
    double latency;         /* until a thread has its next job */
    double bytes_per_batch; /* of source */
    double slot_bytes;
    double trainer_per_batch; /* what the trainer takes */
    double n_ring;            /* slots that there are at the start */
    double line_cost;         /* blocks in line beyond twice the threads: cold memory */
    unsigned n_threads;
    double noise; /* standard deviation, about */
    uint64_t room_bytes;
    bool is_cached;
};

static uint64_t random_state = 1;

static double draw(void) { /* 0..1 */
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static double log2_of(double x) {
    double n = 0;

    for (; x >= 2; x /= 2)
        n++;
    return n + (x - 1);
}

/* Seconds of work of all threads for a batch, and what it consists of. */
struct cost {
    double map, collate, scan, jobs, loop;
};

static struct cost cost_of(const struct sim *sim, const struct leat_knobs *knobs) {
    double block = (double)knobs->of[LEAT_KNOB_BLOCK_BYTES];
    double collated = (double)knobs->of[LEAT_KNOB_COLLATED],
           ahead = (double)knobs->of[LEAT_KNOB_AHEAD];
    double blocks = sim->bytes_per_batch / block, cold = 1;
    double n_line = (double)knobs->of[LEAT_KNOB_JOBS] / (2.0 * sim->n_threads);
    struct cost cost;

    if (collated > ahead)
        collated = ahead;
    if (!sim->is_cached && block > sim->cache_bytes)
        cold += sim->cache_cost * log2_of(block / sim->cache_bytes);
    if (n_line > 1)
        cold += sim->line_cost * log2_of(n_line);
    cost.map = sim->is_cached
                   ? sim->map_fixed * 1e-1
                   : blocks * sim->map_fixed + sim->bytes_per_batch * sim->map_per_byte * cold;
    cost.collate = sim->collate_fixed / collated + sim->collate_per_batch;
    cost.scan = sim->is_cached ? 0 : sim->bytes_per_batch * sim->scan_per_byte;
    cost.jobs = (sim->is_cached ? 0.1 : 1.25 * blocks) + 1 / collated;
    cost.loop = cost.jobs * sim->loop_per_job;
    return cost;
}

/* Batches a ns. */
static double rate_of(const struct sim *sim, const struct leat_knobs *knobs) {
    struct cost cost = cost_of(sim, knobs);
    double work = cost.map + cost.collate + cost.scan, n_jobs = (double)knobs->of[LEAT_KNOB_JOBS];
    double job = work / cost.jobs, n_threads = n_jobs < sim->n_threads ? n_jobs : sim->n_threads;
    double collated = (double)knobs->of[LEAT_KNOB_COLLATED],
           ahead = (double)knobs->of[LEAT_KNOB_AHEAD];
    double busy = n_jobs * job / (sim->n_threads * (job + sim->latency));
    double rate = n_threads * (busy < 1 ? busy : 1) / work, loop = 1 / cost.loop;

    rate *= ahead / (ahead + (collated < ahead ? collated : ahead) / 4);
    if (loop < rate)
        rate = loop;
    return rate * sim->trainer_per_batch > 1 ? 1 / sim->trainer_per_batch : rate;
}

static uint64_t memory_of(const struct sim *sim, const struct leat_knobs *knobs) {
    return (uint64_t)sim->is_cached
               ? 0
               : knobs->of[LEAT_KNOB_BLOCK_BYTES] * knobs->of[LEAT_KNOB_JOBS] * 3;
}

static uint64_t extra_of(const struct sim *sim, const struct leat_knobs *knobs) {
    double more = (double)knobs->of[LEAT_KNOB_AHEAD] - sim->n_ring;

    return memory_of(sim, knobs) + (more > 0 ? (uint64_t)(more * sim->slot_bytes) : 0);
}

static struct leat_knobs start_of(const struct sim *sim) {
    uint64_t collated = (uint64_t)(2 * MIB / sim->slot_bytes);
    struct leat_knobs knobs = {.of = {[LEAT_KNOB_BLOCK_BYTES] = 256 * KIB,
                                      [LEAT_KNOB_JOBS] = 4 * sim->n_threads + 2,
                                      [LEAT_KNOB_AHEAD] = (uint64_t)sim->n_ring,
                                      [LEAT_KNOB_COLLATED] = collated}};

    leat_knobs_clamp(&knobs);
    return knobs;
}

static struct leat_tuner_limits limits_of(const struct sim *sim) {
    struct leat_knobs start = start_of(sim);
    struct leat_tuner_limits limits = {
        .start = start,
        .most = {.of = {MIB, 16 * start.of[LEAT_KNOB_JOBS], 8 * start.of[LEAT_KNOB_AHEAD], 256}},
        .n_threads = sim->n_threads,
        .slot_bytes = (uint64_t)sim->slot_bytes};

    return limits;
}

static struct leat_tuner_sample sample_of(const struct sim *sim, const struct leat_knobs *knobs) {
    double wall = 1e8 * (1 + 0.2 * draw()), n = rate_of(sim, knobs);
    double noise = 1 + sim->noise * 1.7 * (draw() + draw() - 1 + draw() - draw());
    struct cost cost = cost_of(sim, knobs);
    uint64_t used = extra_of(sim, knobs);
    double blocks;

    n *= wall * (noise > 0.1 ? noise : 0.1);
    blocks = n * sim->bytes_per_batch / (double)knobs->of[LEAT_KNOB_BLOCK_BYTES];
    return (struct leat_tuner_sample){
        .wall_ns = (uint64_t)wall,
        .n_batches = (uint64_t)n,
        .n_batch_bytes = (uint64_t)(n * sim->slot_bytes),
        .n_blocks = (uint64_t)blocks + 1,
        .n_maps = sim->is_cached ? 0 : (uint64_t)blocks + 1,
        .n_mapped_bytes = sim->is_cached ? 0 : (uint64_t)(n * sim->bytes_per_batch),
        .map_ns = (uint64_t)(n * cost.map),
        .n_collations = (uint64_t)(n / (double)knobs->of[LEAT_KNOB_COLLATED]) + 1,
        .collate_ns = (uint64_t)(n * cost.collate),
        .scan_ns = (uint64_t)(n * cost.scan),
        .busy_ns = (uint64_t)(n * (cost.map + cost.collate + cost.scan)),
        .starved_ns = (uint64_t)(wall * (n * sim->trainer_per_batch >= 0.97 * wall ? 0 : 0.6)),
        .slotless_ns = (uint64_t)(wall * 0.2),
        .used_bytes = memory_of(sim, knobs),
        .room_bytes = sim->room_bytes == UINT64_MAX ? UINT64_MAX
                      : used < sim->room_bytes      ? sim->room_bytes - used
                                                    : 0,
    };
}

/* The best of a grid of powers of two about the start, within the budget. */
static double best_of(const struct sim *sim) {
    struct leat_tuner_limits limits = limits_of(sim);
    struct leat_knobs start = limits.start, knobs;
    double best = 0;

    for (int i = 0; i < 7 * 7 * 7 * 7; i++) {
        int at[LEAT_N_KNOBS] = {i % 7, i / 7 % 7, i / 49 % 7, i / 343};

        for (int k = 0; k < LEAT_N_KNOBS; k++)
            knobs.of[k] = at[k] < 3 ? start.of[k] >> (3 - at[k]) : start.of[k] << (at[k] - 3);
        leat_knobs_clamp(&knobs);
        for (int k = 0; k < LEAT_N_KNOBS; k++)
            if (knobs.of[k] > limits.most.of[k])
                knobs.of[k] = limits.most.of[k];
        if (sim->room_bytes != UINT64_MAX && extra_of(sim, &knobs) > sim->room_bytes)
            continue;
        if (rate_of(sim, &knobs) > best)
            best = rate_of(sim, &knobs);
    }
    return best;
}

/* Samples until it was settled. */
static unsigned run(struct leat_tuner *tuner, const struct sim *sim, unsigned n_samples) {
    unsigned n_settled = n_samples;

    for (unsigned i = 0; i < n_samples; i++) {
        struct leat_tuner_sample sample = sample_of(sim, &tuner->current);
        struct leat_knobs before = tuner->current;
        bool has_changed = leat_tuner_take(tuner, &sample);

        assert_int_equal(has_changed, !leat_knobs_equal(&before, &tuner->current));
        if (sim->room_bytes != UINT64_MAX)
            assert_true(extra_of(sim, &tuner->current) <= sim->room_bytes);
        if (tuner->phase == LEAT_TUNER_SETTLED && n_settled == n_samples)
            n_settled = i;
    }
    return n_settled;
}

static const struct sim pipelines[] = {
    {.name = "prose",
     .map_fixed = 20e3,
     .map_per_byte = 15,
     .cache_bytes = 256e3,
     .cache_cost = 0.05,
     .scan_per_byte = 0.1,
     .collate_fixed = 15e3,
     .collate_per_batch = 20e3,
     .loop_per_job = 5e3,
     .latency = 30e3,
     .bytes_per_batch = 200e3,
     .slot_bytes = 150e3,
     .n_ring = 44},
    {.name = "small rows",
     .map_fixed = 30e3,
     .map_per_byte = 20,
     .cache_bytes = 512e3,
     .cache_cost = 0.02,
     .scan_per_byte = 0.1,
     .collate_fixed = 15e3,
     .collate_per_batch = 4e3,
     .loop_per_job = 6e3,
     .latency = 30e3,
     .bytes_per_batch = 560,
     .slot_bytes = 4600,
     .n_ring = 260,
     .line_cost = 0.08},
    {.name = "numbers",
     .map_fixed = 20e3,
     .map_per_byte = 1.5,
     .cache_bytes = 128e3,
     .cache_cost = 0.15,
     .scan_per_byte = 0.15,
     .collate_fixed = 15e3,
     .collate_per_batch = 200e3,
     .loop_per_job = 12e3,
     .latency = 60e3,
     .bytes_per_batch = 480e3,
     .slot_bytes = 300e3,
     .n_ring = 24,
     .line_cost = 0.1},
    {.name = "cached",
     .map_fixed = 30e3,
     .collate_fixed = 20e3,
     .collate_per_batch = 12e3,
     .loop_per_job = 6e3,
     .latency = 40e3,
     .bytes_per_batch = 5e3,
     .slot_bytes = 50e3,
     .n_ring = 130,
     .is_cached = true},
};
#define N_PIPELINES (sizeof(pipelines) / sizeof(pipelines[0]))

static struct sim pipeline(size_t i, unsigned n_threads) {
    struct sim sim = pipelines[i];

    sim.n_threads = n_threads;
    sim.room_bytes = UINT64_MAX;
    sim.noise = 0.02;
    return sim;
}

static void test_near_the_best(void **state) {
    static const unsigned threads[] = {1, 2, 16};

    (void)state;
    for (unsigned i = 0; i < N_PIPELINES * 3 * 8; i++) {
        struct sim sim = pipeline(i % N_PIPELINES, threads[i / N_PIPELINES % 3]);
        struct leat_tuner_limits limits = limits_of(&sim);
        struct leat_tuner tuner;
        unsigned n;
        double part;

        leat_tuner_init(&tuner, &limits, NULL);
        n = run(&tuner, &sim, 2000);
        part = rate_of(&sim, &tuner.kept) / best_of(&sim);
        if (part < 0.9 || n > 1000 || tuner.phase != LEAT_TUNER_SETTLED) {
            for (size_t k = 0; leat_tuner_history(&tuner, k); k++)
                print_message("%s\n", leat_tuner_history(&tuner, k)->reason);
            fail_msg("%s on %u: %.2f of the best after %u", sim.name, sim.n_threads, part, n);
        }
    }
}

/* Where nothing can be seen, what there is is left alone. */
static void test_noise_does_no_harm(void **state) {
    double sum = 0;
    unsigned n = 0;

    (void)state;
    for (; n < N_PIPELINES * 60; n++) {
        struct sim sim = pipeline(n % N_PIPELINES, n % 2 ? 2 : 16);
        struct leat_tuner_limits limits = limits_of(&sim);
        struct leat_tuner tuner;
        double part;

        sim.noise = 0.3;
        leat_tuner_init(&tuner, &limits, NULL);
        (void)run(&tuner, &sim, 2000);
        part = rate_of(&sim, &tuner.kept) / rate_of(&sim, &limits.start);
        assert_true(part > 0.8);
        sum += part;
    }
    assert_true(sum / n > 0.99);
}

/* What a run kept that ended before it was sure is proven first. */
static void test_doubts_what_is_not_proven(void **state) {
    (void)state;
    for (unsigned i = 0; i < N_PIPELINES; i++) {
        struct sim sim = pipeline(i, 4);
        struct leat_tuner_limits limits = limits_of(&sim);
        struct leat_tuner_memory memory = {.knobs = {.of = {4096, 1, 1, 1}}, .n_failed = 7};
        struct leat_tuner tuner;

        leat_tuner_init(&tuner, &limits, &memory);
        assert_true(run(&tuner, &sim, 2000) < 2000);
        assert_true(rate_of(&sim, &tuner.kept) > 0.9 * best_of(&sim));
    }
}

/* What an earlier run left unsettled is in force at once, and trials begin after five seconds. */
static void test_does_not_try_at_once_what_was_kept(void **state) {
    (void)state;
    for (unsigned i = 0; i < N_PIPELINES; i++) {
        struct sim sim = pipeline(i, 4);
        struct leat_tuner_limits limits = limits_of(&sim);
        struct leat_tuner_memory memory = {.knobs = limits.start};
        struct leat_tuner tuner;

        leat_tuner_init(&tuner, &limits, &memory);
        while (tuner.now_ns < UINT64_C(4500000000)) {
            struct leat_tuner_sample sample = sample_of(&sim, &tuner.current);

            assert_false(leat_tuner_take(&tuner, &sample));
        }
        assert_int_equal(tuner.n_decisions, 1);
        assert_true(run(&tuner, &sim, 3000) < 3000);
        assert_true(tuner.n_decisions > 1);
        assert_true(rate_of(&sim, &tuner.kept) > 0.9 * best_of(&sim));
    }
}

static void test_silent_once_settled(void **state) {
    (void)state;
    for (unsigned i = 0; i < N_PIPELINES * 4; i++) {
        struct sim sim = pipeline(i % N_PIPELINES, i % 3 + 1);
        struct leat_tuner_limits limits = limits_of(&sim);
        struct leat_tuner_memory memory;
        struct leat_tuner tuner, next;
        uint64_t n_decisions;

        sim.noise = 0.03;
        leat_tuner_init(&tuner, &limits, NULL);
        assert_true(run(&tuner, &sim, 3000) < 3000);
        n_decisions = tuner.n_decisions;
        for (unsigned k = 0; k < 20000; k++) {
            struct leat_tuner_sample sample = sample_of(&sim, &tuner.current);

            assert_false(leat_tuner_take(&tuner, &sample));
        }
        assert_int_equal(tuner.n_decisions, n_decisions);
        leat_tuner_recall(&tuner, &memory);
        assert_true(memory.is_settled);
        leat_tuner_init(&next, &limits, &memory); /* the next run begins there, and is silent too */
        assert_true(leat_knobs_equal(&next.current, &tuner.kept));
        assert_int_equal(run(&next, &sim, 3000), 0);
        assert_int_equal(next.n_decisions, 1);
    }
}

static void test_begins_again(void **state) {
    (void)state;
    for (unsigned i = 0; i < N_PIPELINES; i++) {
        struct sim sim = pipeline(i, 4);
        struct leat_tuner_limits limits = limits_of(&sim);
        struct leat_tuner tuner;
        uint64_t n_decisions;

        leat_tuner_init(&tuner, &limits, NULL);
        (void)run(&tuner, &sim, 3000);
        n_decisions = tuner.n_decisions;
        sim.map_per_byte *= 3;
        sim.map_fixed *= 3;
        sim.collate_per_batch *= 3;
        (void)run(&tuner, &sim, 3000);
        assert_true(tuner.n_decisions > n_decisions);
        assert_int_equal(tuner.phase, LEAT_TUNER_SETTLED);
        assert_true(rate_of(&sim, &tuner.kept) > 0.9 * best_of(&sim));
    }
}

/* A rate that swings for ever is looked after more and more rarely. */
static void test_does_not_run_after_the_tide(void **state) {
    struct sim slow = pipeline(0, 4), fast = slow;
    struct leat_tuner_limits limits = limits_of(&slow);
    struct leat_tuner tuner;

    (void)state;
    fast.map_per_byte /= 2;
    leat_tuner_init(&tuner, &limits, NULL);
    for (unsigned i = 0; i < 200; i++)
        (void)run(&tuner, i % 2 ? &slow : &fast, 400);
    assert_true(tuner.patience_ns >= UINT64_C(640000000000));
    assert_true(tuner.n_decisions < 200);
}

static void test_pinned_stays(void **state) {
    (void)state;
    for (unsigned i = 0; i < N_PIPELINES * 16; i++) {
        struct sim sim = pipeline(i % N_PIPELINES, 4);
        struct leat_tuner_limits limits = limits_of(&sim);
        struct leat_tuner_memory memory = {.knobs = {.of = {65536, 3, 2, 1}}};
        struct leat_tuner tuner;

        for (unsigned k = 0; k < LEAT_N_KNOBS; k++)
            limits.is_pinned[k] = i / N_PIPELINES >> k & 1;
        leat_tuner_init(&tuner, &limits, i % 3 ? NULL : &memory);
        for (unsigned n = 0; n < 2000; n++) {
            struct leat_tuner_sample sample = sample_of(&sim, &tuner.current);

            (void)leat_tuner_take(&tuner, &sample);
            for (unsigned k = 0; k < LEAT_N_KNOBS; k++) {
                assert_true(!limits.is_pinned[k] || tuner.current.of[k] == limits.start.of[k]);
                assert_true(tuner.current.of[k] <= limits.most.of[k]);
                assert_true(tuner.current.of[k] >= leat_knob_min((enum leat_knob)k));
            }
        }
    }
}

/* run() asserts that it stays within the budget. */
static void test_within_the_budget(void **state) {
    (void)state;
    for (unsigned i = 0; i < N_PIPELINES * 20; i++) {
        struct sim sim = pipeline(i % N_PIPELINES, 1 + i % 8);
        struct leat_tuner_limits limits = limits_of(&sim);
        struct leat_tuner tuner;

        sim.room_bytes = extra_of(&sim, &limits.start) + (i % 5 + 1) * MIB;
        leat_tuner_init(&tuner, &limits, NULL);
        (void)run(&tuner, &sim, 1500);
    }
}

static void test_gives_way(void **state) {
    struct sim sim = pipeline(2, 4);
    struct leat_tuner_limits limits = limits_of(&sim);
    struct leat_tuner_memory memory = {.knobs = {.of = {MIB, 100, 64, 4}}, .is_settled = true};
    struct leat_tuner_sample sample;
    struct leat_tuner tuner;

    (void)state;
    leat_tuner_init(&tuner, &limits, &memory);
    sample = sample_of(&sim, &tuner.current);
    sample.room_bytes = 0;
    assert_true(leat_tuner_take(&tuner, &sample));
    assert_int_equal(tuner.current.of[LEAT_KNOB_BLOCK_BYTES], 256 * KIB);
    assert_int_equal(tuner.current.of[LEAT_KNOB_JOBS], limits.start.of[LEAT_KNOB_JOBS]);
    assert_int_equal(tuner.current.of[LEAT_KNOB_AHEAD], limits.start.of[LEAT_KNOB_AHEAD]);
    assert_false(leat_tuner_take(&tuner, &sample));
}

/* Nothing is turned while the trainer is the slower one, or nothing flows. */
static void test_waits_for_what_tells(void **state) {
    (void)state;
    for (unsigned i = 0; i < N_PIPELINES; i++) {
        struct sim sim = pipeline(i, 2);
        struct leat_tuner_limits limits = limits_of(&sim);
        struct leat_tuner_sample nothing = {.wall_ns = 100000000, .starved_ns = 100000000};
        struct leat_tuner tuner;

        sim.trainer_per_batch = 2 / rate_of(&sim, &limits.start);
        leat_tuner_init(&tuner, &limits, NULL);
        (void)run(&tuner, &sim, 1000);
        for (unsigned k = 0; k < 1000; k++)
            assert_false(leat_tuner_take(&tuner, &nothing));
        assert_int_equal(tuner.n_decisions, 1);
        assert_true(leat_knobs_equal(&tuner.current, &limits.start));
        sim.trainer_per_batch = 0;
        assert_true(run(&tuner, &sim, 3000) < 3000);
    }
}

/* Whatever it is given. */
static void test_any_numbers(void **state) {
    struct sim sim = pipeline(0, 4);
    struct leat_tuner_limits limits = limits_of(&sim);
    struct leat_tuner tuner;

    (void)state;
    leat_tuner_init(&tuner, &limits, NULL);
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t numbers[sizeof(struct leat_tuner_sample) / sizeof(uint64_t)];
        struct leat_tuner_sample sample;

        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
            numbers[k] = (uint64_t)(draw() * 1e9) >> (uint64_t)(draw() * 31);
        memcpy(&sample, numbers, sizeof(sample));
        (void)leat_tuner_take(&tuner, &sample);
        for (unsigned k = 0; k < LEAT_N_KNOBS; k++)
            assert_true(tuner.current.of[k] <= limits.most.of[k] &&
                        tuner.current.of[k] >= leat_knob_min((enum leat_knob)k));
    }
    assert_null(leat_tuner_history(&tuner, LEAT_TUNER_HISTORY));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near_the_best),
        cmocka_unit_test(test_noise_does_no_harm),
        cmocka_unit_test(test_doubts_what_is_not_proven),
        cmocka_unit_test(test_does_not_try_at_once_what_was_kept),
        cmocka_unit_test(test_silent_once_settled),
        cmocka_unit_test(test_begins_again),
        cmocka_unit_test(test_does_not_run_after_the_tide),
        cmocka_unit_test(test_pinned_stays),
        cmocka_unit_test(test_within_the_budget),
        cmocka_unit_test(test_gives_way),
        cmocka_unit_test(test_waits_for_what_tells),
        cmocka_unit_test(test_any_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
