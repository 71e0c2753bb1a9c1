/* test_tuner_model.c: pipeline/run/tuner_model.c: what the times of jobs say about each knob, rule
 * by rule, at both sides of each limit; and for any numbers, what is never beyond its bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/run/tuner_model.h"
#include "proto/base/rng.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define US  UINT64_C(1000)
#define MS  (1000 * US)

/* Nothing can be said of it: each test changes what its rule is about. */
static struct leat_tuner_limits limits_of(uint32_t n_threads) {
    struct leat_tuner_limits limits = {.n_threads = n_threads, .slot_bytes = 100 * KIB};

    for (int i = 0; i < LEAT_N_KNOBS; i++)
        limits.most.of[i] = leat_knob_max((enum leat_knob)i);
    return limits;
}

static struct leat_knobs knobs_of(void) {
    return (struct leat_knobs){.of = {[LEAT_KNOB_BLOCK_BYTES] = 256 * KIB,
                                      [LEAT_KNOB_JOBS] = 8,
                                      [LEAT_KNOB_AHEAD] = 4,
                                      [LEAT_KNOB_COLLATED] = 4}};
}

static struct leat_tuner_sample sample_of(uint64_t map_ns, uint64_t collate_ns) {
    return (struct leat_tuner_sample){.wall_ns = 1000 * MS,
                                      .n_batches = 400,
                                      .n_blocks = 100,
                                      .n_maps = 100,
                                      .map_ns = 100 * map_ns,
                                      .n_mapped_bytes = 100 * 256 * KIB,
                                      .n_collations = 100,
                                      .collate_ns = 400 * collate_ns,
                                      .busy_ns = 100 * map_ns + 400 * collate_ns,
                                      .used_bytes = 10 * MIB,
                                      .room_bytes = UINT64_MAX};
}

/* ---- reckoning */

static uint64_t reckon(const struct leat_tuner_limits *limits,
                       const struct leat_tuner_sample *sample, enum leat_knob knob) {
    struct leat_knobs knobs = knobs_of(), before = knobs;
    char why[LEAT_TUNER_REASON_MAX] = "";
    bool is_other = leat_tuner_reckon(limits, sample, &knobs, why, sizeof(why));

    assert_int_equal(is_other, !leat_knobs_equal(&before, &knobs));
    assert_int_equal(is_other, why[0] != '\0');
    assert_null(strstr(why, "nan"));
    return knobs.of[knob];
}

static void test_blocks_by_the_time_of_a_job(void **state) {
    static const struct {
        uint64_t map_ns, bytes;
        uint32_t n_threads;
    } cases[] = {
        {400 * US, 256 * KIB, 4}, /* worth a job, as it is */
        {399 * US, 512 * KIB, 4}, {199 * US, 1 * MIB, 4},  {1 * US, 1 * MIB, 4}, /* and no more */
        {20 * MS, 256 * KIB, 4},  {21 * MS, 128 * KIB, 4}, {41 * MS, 64 * KIB, 4},
        {900 * MS, 64 * KIB, 4},  /* no less */
        {900 * MS, 256 * KIB, 1}, /* nobody waits for a part of it */
        {0, 256 * KIB, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_tuner_limits limits = limits_of(cases[i].n_threads);
        struct leat_tuner_sample sample = sample_of(cases[i].map_ns, 50 * US);

        assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_BLOCK_BYTES), cases[i].bytes);
    }
}

static void test_blocks_that_are_not_of_their_size(void **state) {
    struct leat_tuner_limits limits = limits_of(4);
    struct leat_tuner_sample sample = sample_of(100 * US, 50 * US);

    (void)state;
    sample.n_mapped_bytes = 100 * 127 * KIB; /* files end */
    assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_BLOCK_BYTES), 256 * KIB);
    sample.n_mapped_bytes = 100 * 513 * KIB; /* records are longer */
    assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_BLOCK_BYTES), 256 * KIB);
    sample.n_mapped_bytes = 100 * 128 * KIB;
    assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_BLOCK_BYTES), 1 * MIB);
    sample.n_maps = 0; /* all was cached */
    assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_BLOCK_BYTES), 256 * KIB);
}

static void test_blocks_where_reading_bounds(void **state) {
    struct leat_tuner_limits limits = limits_of(4), alone = limits_of(1);
    struct leat_tuner_sample sample = sample_of(1 * MS, 50 * US);

    (void)state;
    sample.scan_ns = 499 * MS;
    assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_BLOCK_BYTES), 256 * KIB);
    sample.scan_ns = 500 * MS;
    assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_BLOCK_BYTES), 1 * MIB);
    assert_int_equal(reckon(&alone, &sample, LEAT_KNOB_BLOCK_BYTES), 256 * KIB);
    sample.room_bytes = 20 * MIB - 1; /* half of it is less than what is used */
    assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_BLOCK_BYTES), 256 * KIB);
    sample.room_bytes = 20 * MIB;
    assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_BLOCK_BYTES), 1 * MIB);
}

static void test_collations_by_their_time(void **state) {
    static const struct {
        uint64_t collate_ns, n;
        uint32_t n_threads;
    } cases[] = {
        {0, 4, 4},        {12500, 4, 4},    {12499, 16, 4},
        {1000, 200, 4},   {100, 256, 4},                    /* as many as may be */
        {500 * US, 4, 4}, {501 * US, 3, 4}, {3 * MS, 1, 4}, /* at least one */
        {501 * US, 4, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_tuner_limits limits = limits_of(cases[i].n_threads);
        struct leat_tuner_sample sample = sample_of(1 * MS, cases[i].collate_ns);

        assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_COLLATED), cases[i].n);
    }
}

static void test_jobs_for_all_threads(void **state) {
    struct leat_tuner_sample sample = sample_of(1 * MS, 50 * US);

    (void)state;
    for (uint32_t n = 1; n < 20; n++) {
        struct leat_tuner_limits limits = limits_of(n);

        assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_JOBS), n <= 4 ? 8 : 2 * n);
        limits.is_pinned[LEAT_KNOB_JOBS] = true;
        assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_JOBS), 8);
        limits.is_pinned[LEAT_KNOB_JOBS] = false;
        limits.most.of[LEAT_KNOB_JOBS] = 8;
        assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_JOBS), 8);
    }
}

static void test_without_a_batch(void **state) {
    struct leat_tuner_limits limits = limits_of(8);
    struct leat_tuner_sample sample = sample_of(1 * MS, 0);

    (void)state;
    sample.n_batches = sample.n_collations = 0;
    assert_int_equal(reckon(&limits, &sample, LEAT_KNOB_JOBS), 16);
}

/* ---- moves */

/* The value behind the turn; 0: it may not be. */
static uint64_t turn(const struct leat_tuner_limits *limits, const struct leat_tuner_sample *sample,
                     enum leat_knob knob, bool is_down) {
    struct leat_knobs knobs = knobs_of(), before = knobs;

    if (leat_tuner_turn(limits, sample, knob, is_down, &knobs)) {
        for (int i = 0; i < LEAT_N_KNOBS; i++)
            assert_true(i == (int)knob || knobs.of[i] == before.of[i]);
        return knobs.of[knob];
    }
    assert_true(leat_knobs_equal(&before, &knobs));
    return 0;
}

static void test_turns_of_blocks(void **state) {
    struct leat_tuner_limits limits = limits_of(4);
    struct leat_tuner_sample sample = sample_of(200 * US, 50 * US);

    (void)state;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_BLOCK_BYTES, true), 128 * KIB);
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_BLOCK_BYTES, false), 512 * KIB);
    sample.map_ns = 100 * 199 * US; /* half of it is not worth a job */
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_BLOCK_BYTES, true), 0);
    sample.map_ns = 100 * 2 * MS; /* what a job costs is nothing against it */
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_BLOCK_BYTES, false), 0);
    sample.scan_ns = 500 * MS; /* but there would be less reading */
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_BLOCK_BYTES, false), 512 * KIB);
    sample.room_bytes = 20 * MIB - 1;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_BLOCK_BYTES, false), 0);
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_BLOCK_BYTES, true), 128 * KIB);
    sample.n_mapped_bytes = 100 * 127 * KIB;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_BLOCK_BYTES, true), 0);
}

static void test_turns_of_jobs(void **state) {
    struct leat_tuner_limits limits = limits_of(3);
    struct leat_tuner_sample sample = sample_of(1 * MS, 50 * US);

    (void)state;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_JOBS, false), 16); /* 8 < 4 * 3 */
    limits.n_threads = 2;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_JOBS, false), 0);
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_JOBS, true), 4);
    limits.is_pinned[LEAT_KNOB_JOBS] = true;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_JOBS, true), 0);
}

static void test_turns_of_collations(void **state) {
    struct leat_tuner_limits limits = limits_of(4);
    struct leat_tuner_sample sample = sample_of(1 * MS, 50 * US);

    (void)state;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_COLLATED, true), 2); /* 200 us each */
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_COLLATED, false), 8);
    sample.n_collations = 201; /* they do not have as many as they may */
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_COLLATED, false), 0);
    sample.collate_ns = 400 * 49 * US;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_COLLATED, true), 0);
    sample = sample_of(100 * MS, 50 * US); /* hardly a part of all work */
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_COLLATED, true), 0);
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_COLLATED, false), 0);
}

static void test_turns_of_slots(void **state) {
    struct leat_tuner_limits limits = limits_of(4);
    struct leat_tuner_sample sample = sample_of(1 * MS, 50 * US);

    (void)state;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_AHEAD, true), 0); /* 400 KiB are cached */
    limits.slot_bytes = 256 * KIB + 1;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_AHEAD, true), 2);
    sample.slotless_ns = 49 * MS;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_AHEAD, false), 0);
    sample.slotless_ns = 50 * MS;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_AHEAD, false), 8);
    sample.room_bytes = 8 * limits.slot_bytes - 1;
    assert_int_equal(turn(&limits, &sample, LEAT_KNOB_AHEAD, false), 0);
}

/* ---- any numbers */

static uint64_t any(struct leat_rng *rng) {
    return leat_rng_below(rng, UINT64_C(1) << leat_rng_below(rng, 45));
}

static struct leat_tuner_sample any_sample(struct leat_rng *rng) {
    return (struct leat_tuner_sample){.wall_ns = any(rng),
                                      .n_batches = any(rng),
                                      .n_maps = any(rng),
                                      .map_ns = any(rng),
                                      .n_mapped_bytes = any(rng),
                                      .n_collations = any(rng),
                                      .collate_ns = any(rng),
                                      .scan_ns = any(rng),
                                      .busy_ns = any(rng),
                                      .slotless_ns = any(rng),
                                      .used_bytes = any(rng),
                                      .room_bytes = any(rng)};
}

static void test_bounds(void **state) {
    struct leat_rng rng = {.state = 7};

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct leat_tuner_limits limits = limits_of(1 + (uint32_t)leat_rng_below(&rng, 64));
        struct leat_tuner_sample sample = any_sample(&rng);
        struct leat_knobs knobs = knobs_of(), before = knobs;
        char why[LEAT_TUNER_REASON_MAX];

        for (int k = 0; k < LEAT_N_KNOBS; k++) {
            limits.is_pinned[k] = leat_rng_below(&rng, 4) == 0;
            limits.most.of[k] = before.of[k] * (1 + leat_rng_below(&rng, 4));
        }
        (void)leat_tuner_reckon(&limits, &sample, &knobs, why, sizeof(why));
        (void)leat_tuner_turn(&limits, &sample, (enum leat_knob)leat_rng_below(&rng, LEAT_N_KNOBS),
                              leat_rng_below(&rng, 2), &knobs);
        for (int k = 0; k < LEAT_N_KNOBS; k++) {
            assert_true(!limits.is_pinned[k] || knobs.of[k] == before.of[k]);
            assert_true(knobs.of[k] <= limits.most.of[k]);
            assert_true(knobs.of[k] >= leat_knob_min((enum leat_knob)k));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_by_the_time_of_a_job),
        cmocka_unit_test(test_blocks_that_are_not_of_their_size),
        cmocka_unit_test(test_blocks_where_reading_bounds),
        cmocka_unit_test(test_collations_by_their_time),
        cmocka_unit_test(test_jobs_for_all_threads),
        cmocka_unit_test(test_without_a_batch),
        cmocka_unit_test(test_turns_of_blocks),
        cmocka_unit_test(test_turns_of_jobs),
        cmocka_unit_test(test_turns_of_collations),
        cmocka_unit_test(test_turns_of_slots),
        cmocka_unit_test(test_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
