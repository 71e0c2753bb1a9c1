/* test_verdict.c: what bounds a stream, by tables of what was counted; that predictions keep what
 * must hold whatever was counted; and what is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/verdict_text.h"
#include "proto/base/rng.h"

#define S UINT64_C(1000000000)

/* Ten seconds of a machine of 4 processors with 2 workers, in parts of their time. */
struct situation {
    const char *name;
    enum leat_bound bound;
    double wait, no_slot, is_short; /* of the time */
    double map, blocked, delay;     /* threads that map; of that, waiting for files, for a CPU */
    double scan, scan_blocked, loop, collate;
    double others;  /* threads for other streams */
    double foreign; /* processors */
    uint32_t n_cpus, n_workers;
    uint64_t n_blocks;
    bool waits_for_programs;
};

static const struct situation situations[] = {
    {"a slow trainer", LEAT_BOUND_TRAINER, .no_slot = .9, .map = .2, .loop = .05},
    {"a trainer as fast as the pipeline", LEAT_BOUND_TRAINER, .wait = .02, .map = 1.2},
    {"a stopped trainer", LEAT_BOUND_TRAINER, .no_slot = 1},
    {"too few workers", LEAT_BOUND_WORKERS, .wait = .9, .map = 1.96, .loop = .1},
    {"one worker", LEAT_BOUND_WORKERS, .wait = .9, .map = .97, .n_workers = 1},
    {"tokenizer", LEAT_BOUND_STAGE, .wait = .9, .map = 1.9, .loop = .05, .n_cpus = 2},
    {"tokenizer, one CPU", LEAT_BOUND_STAGE, .wait = .9, .map = .9, .n_cpus = 1, .n_workers = 1},
    {"slow disk", LEAT_BOUND_DISK, .wait = .9, .map = .2, .scan = .99, .scan_blocked = .95},
    {"a source that is decompressed", LEAT_BOUND_STAGE, .wait = .9, .map = .9, .scan = .98},
    {"a cache on a slow disk", LEAT_BOUND_DISK, .wait = .9, .map = 1.9, .blocked = .9},
    {"a slow program", LEAT_BOUND_STAGE, .wait = .9, .map = 1.9, .blocked = .95,
     .waits_for_programs = true},
    {"memory", LEAT_BOUND_MEMORY, .wait = .9, .map = .9, .is_short = .95},
    {"memory, with others on the processors", LEAT_BOUND_MEMORY, .wait = .9, .map = .9,
     .is_short = .95, .foreign = 3},
    {"memory that is short, but not missed", LEAT_BOUND_WORKERS, .wait = .9, .map = 1.95,
     .is_short = .95},
    {"one block at a time", LEAT_BOUND_BLOCKS, .wait = .9, .map = .93, .n_blocks = 1},
    {"order", LEAT_BOUND_ORDER, .wait = .8, .map = .5, .loop = .97, .collate = .3},
    {"other streams", LEAT_BOUND_OTHER_USERS, .wait = .9, .map = .98, .others = .98},
    {"other processes", LEAT_BOUND_OTHER_USERS, .wait = .9, .map = 1.9, .delay = .7, .foreign = 3},
};
#define N_SITUATIONS (sizeof(situations) / sizeof(situations[0]))

static const struct leat_verdict_stage stages[] = {
    {.name = "csv", .role = LEAT_ROLE_SOURCE, .busy_ns = 1 * S},
    {.name = "tokenize", .role = LEAT_ROLE_MAP, .busy_ns = 8 * S},
    {.name = "collate", .role = LEAT_ROLE_COLLATE, .busy_ns = 1 * S},
};

static uint64_t ns(double s) {
    return (uint64_t)(s * 1e9);
}

/* Those who did not get a processor did not work meanwhile. */
static struct leat_run_job_stats jobs_of(double busy_s, double blocked, double delay) {
    return (struct leat_run_job_stats){.n_jobs = 100,
                                       .busy_ns = ns(busy_s),
                                       .delay_ns = ns(busy_s * delay),
                                       .cpu_ns = ns(busy_s * (1 - delay) * (1 - blocked)),
                                       .queue_ns = ns(busy_s)};
}

static struct leat_verdict_facts facts_of(const struct situation *from) {
    double wall = 10, cpu = 0;
    struct leat_verdict_facts facts = {
        .wall_ns = 10 * S,
        .n_sessions = 1,
        .n_batches = 1000,
        .n_rows = 32000,
        .wait_ns = ns(from->wait * wall),
        .no_slot_ns = ns(from->no_slot * wall),
        .short_ns = ns(from->is_short * wall),
        .stages = stages,
        .n_stages = 3,
        .other_busy_ns = ns(from->others * wall),
        .other_cpu_ns = ns(from->others * wall),
        .loop_cpu_ns = ns(from->loop * wall),
        .n_cpus = from->n_cpus ? from->n_cpus : 4,
        .n_workers = from->n_workers ? from->n_workers : 2,
        .n_blocks = from->n_blocks ? from->n_blocks : 8,
        .may_cache = true,
        .waits_for_programs = from->waits_for_programs,
    };

    facts.n_threads = facts.n_workers;
    facts.n_more_threads = facts.n_workers + 1;
    facts.jobs[LEAT_JOB_MAP] = jobs_of(from->map * wall, from->blocked, from->delay);
    facts.jobs[LEAT_JOB_SCAN] = jobs_of(from->scan * wall, from->scan_blocked, 0);
    facts.jobs[LEAT_JOB_COLLATE] = jobs_of(from->collate * wall, 0, 0);
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        cpu += (double)facts.jobs[i].cpu_ns;
    facts.process_cpu_ns = (uint64_t)cpu + facts.loop_cpu_ns + facts.other_cpu_ns;
    facts.machine_cpu_ns = facts.process_cpu_ns + ns(from->foreign * wall);
    return facts;
}

static void test_bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SITUATIONS; i++) {
        struct leat_verdict_facts facts = facts_of(&situations[i]);
        struct leat_verdict verdict;

        leat_verdict_make(&facts, &verdict);
        if (verdict.bound != situations[i].bound)
            fail_msg("%s: %s in place of %s", situations[i].name, leat_bound_name(verdict.bound),
                     leat_bound_name(situations[i].bound));
        assert_string_equal(verdict.stage->name, "tokenize");
    }
}

static void test_idle(void **state) {
    struct leat_verdict_facts facts = facts_of(&situations[0]);
    struct leat_verdict verdict;

    (void)state;
    facts.n_sessions = 0;
    leat_verdict_make(&facts, &verdict);
    assert_int_equal(verdict.bound, LEAT_BOUND_IDLE);
    assert_false(verdict.worker.is_known || verdict.cache.is_known);
    facts = (struct leat_verdict_facts){.n_sessions = 1};
    leat_verdict_make(&facts, &verdict);
    assert_int_equal(verdict.bound, LEAT_BOUND_IDLE);
    facts.wall_ns = S;
    leat_verdict_make(&facts, &verdict);
    assert_int_equal(verdict.bound, LEAT_BOUND_IDLE);
}

static struct leat_verdict verdict_of(const struct situation *situation) {
    struct leat_verdict_facts facts = facts_of(situation);
    struct leat_verdict verdict;

    leat_verdict_make(&facts, &verdict);
    return verdict;
}

static void expect_about(double value, double expected) {
    if (fabs(value / expected - 1) > 0.05)
        fail_msg("%g is not about %g", value, expected);
}

/* What follows from the table of one of them alone. */
static void test_gains(void **state) {
    const struct situation few = {.wait = .99, .map = .99, .n_workers = 1};
    const struct situation nearly = {.wait = .2, .map = .99, .n_workers = 1};
    const struct situation full = {.wait = .99, .map = 1.98, .n_cpus = 2};
    const struct situation disk = {.wait = .99, .map = .1, .scan = .99, .scan_blocked = .9};
    const struct situation memory = {.wait = .9, .map = .9, .is_short = 1};

    (void)state;
    expect_about(verdict_of(&few).worker.ratio, 2);
    assert_int_equal(verdict_of(&few).worker.next, LEAT_BOUND_WORKERS);
    expect_about(verdict_of(&nearly).worker.ratio, 1.25); /* then the trainer does not wait */
    assert_int_equal(verdict_of(&nearly).worker.next, LEAT_BOUND_TRAINER);
    expect_about(verdict_of(&full).worker.ratio, 1);
    expect_about(verdict_of(&full).cpu.ratio, 1.5);
    expect_about(verdict_of(&disk).worker.ratio, 1);
    expect_about(verdict_of(&disk).disk.ratio, 10);
    expect_about(verdict_of(&memory).worker.ratio, 1);
    expect_about(verdict_of(&situations[0]).worker.ratio, 1);
}

static void test_cache(void **state) {
    const struct situation few = {.wait = .95, .map = .99, .n_workers = 1, .collate = .01};
    struct leat_verdict_facts facts = facts_of(&few);
    struct leat_verdict verdict;

    (void)state;
    leat_verdict_make(&facts, &verdict);
    assert_true(verdict.cache.is_known);
    expect_about(verdict.cache.ratio, 20); /* the trainer's 5 % */
    facts.has_cache = true;
    leat_verdict_make(&facts, &verdict);
    assert_false(verdict.cache.is_known);
    facts.has_cache = facts.may_cache = false;
    leat_verdict_make(&facts, &verdict);
    assert_false(verdict.cache.is_known);
}

/* What was tried says how long; records that take twice as long to map take twice as long to load.
 */
static void test_tried(void **state) {
    const struct situation few = {.wait = .99, .map = .98, .n_workers = 1};
    struct leat_verdict_facts facts = facts_of(&few);
    struct leat_verdict verdict;

    (void)state;
    facts.n_records = 1000;
    facts.load_ns = 2e6; /* a fifth of the time that there is */
    leat_verdict_make(&facts, &verdict);
    expect_about(verdict.cache.ratio, 4.9);
    expect_about(verdict.cache.least_s[LEAT_RESOURCE_WORKERS], 2e-3);
    facts.tried_ns = 9.8e6 / 2;
    leat_verdict_make(&facts, &verdict);
    expect_about(verdict.cache.ratio, 2.45);
}

/* A trainer that others kept from running would not be kept by those that a cache does away with.
 */
static void test_kept_trainer(void **state) {
    const struct situation few = {.wait = .5, .map = .98, .n_workers = 1};
    struct leat_verdict_facts facts = facts_of(&few);
    struct leat_verdict verdict;

    (void)state;
    leat_verdict_make(&facts, &verdict);
    expect_about(verdict.cache.ratio, 1.96);
    facts.trainer_delay_ns = 4 * S;
    leat_verdict_make(&facts, &verdict);
    expect_about(verdict.cache.ratio, 9.8);
    expect_about(verdict.cache.least_s[LEAT_RESOURCE_TRAINER], 1e-3);
}

static struct situation random_situation(struct leat_rng *rng) {
#define PART ((double)leat_rng_below(rng, 1001) / 1000)
    return (struct situation){.wait = PART,
                              .no_slot = PART,
                              .is_short = PART,
                              .map = PART * 4,
                              .blocked = PART,
                              .delay = PART,
                              .scan = PART,
                              .scan_blocked = PART,
                              .loop = PART,
                              .collate = PART,
                              .others = PART * 4,
                              .foreign = PART * 4,
                              .n_cpus = 1 + (uint32_t)leat_rng_below(rng, 64),
                              .n_workers = 1 + (uint32_t)leat_rng_below(rng, 64),
                              .n_blocks = 1 + leat_rng_below(rng, 64),
                              .waits_for_programs = leat_rng_below(rng, 2) == 0};
#undef PART
}

static void expect_no_loss(const struct leat_gain *gain) {
    if (gain->is_known)
        assert_true(isfinite(gain->ratio) && gain->ratio >= 0.999);
}

/* More of anything never makes it slower, parts are parts, and more gives as much as less did. */
static void test_properties(void **state) {
    struct leat_rng rng = {.state = 7};

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct situation situation = random_situation(&rng);
        struct leat_verdict verdict = verdict_of(&situation);
        const double *parts = &verdict.trainer;

        assert_in_range(verdict.bound, 0, LEAT_N_BOUNDS - 1);
        expect_no_loss(&verdict.worker);
        expect_no_loss(&verdict.cpu);
        expect_no_loss(&verdict.disk);
        expect_no_loss(&verdict.trainers);
        if (verdict.worker.is_known)
            assert_true(verdict.worker.ratio <= verdict.cpu.ratio + 0.001);
        for (const double *part = parts; part <= &verdict.is_short; part++)
            assert_true(*part >= 0 && *part <= 1.001);
    }
}

/* Counters that make no sense together (a process that went, a clock that was set) do no harm. */
static void test_nonsense(void **state) {
    struct leat_rng rng = {.state = 7};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct leat_verdict_facts facts = {.stages = stages, .n_stages = 3};
        struct leat_text text = {.data = NULL};
        struct leat_verdict verdict;
        uint64_t *fields[] = {&facts.wall_ns,
                              &facts.n_batches,
                              &facts.wait_ns,
                              &facts.no_slot_ns,
                              &facts.short_ns,
                              &facts.jobs[LEAT_JOB_MAP].busy_ns,
                              &facts.jobs[LEAT_JOB_MAP].delay_ns,
                              &facts.jobs[LEAT_JOB_MAP].cpu_ns,
                              &facts.jobs[LEAT_JOB_SCAN].busy_ns,
                              &facts.other_busy_ns,
                              &facts.process_cpu_ns,
                              &facts.trainer_cpu_ns,
                              &facts.machine_cpu_ns};

        for (size_t j = 0; j < sizeof(fields) / sizeof(fields[0]); j++)
            *fields[j] = leat_rng_next(&rng) >> leat_rng_below(&rng, 64);
        facts.n_sessions = (uint32_t)leat_rng_below(&rng, 3);
        facts.n_cpus = 1;
        facts.n_workers = facts.n_threads = facts.n_more_threads = 1;
        facts.may_cache = true;
        leat_verdict_make(&facts, &verdict);
        leat_verdict_json("s", &facts, &verdict, &text);
        leat_verdict_text("s", &facts, &verdict, &text);
        assert_null(strstr(text.data, "nan"));
        assert_null(strstr(text.data, "inf,"));
        free(text.data);
    }
}

static void test_text(void **state) {
    static const char *const says[LEAT_N_BOUNDS] = {
        [LEAT_BOUND_TRAINER] = "bounded by the trainer", [LEAT_BOUND_STAGE] = "bounded by tokenize",
        [LEAT_BOUND_DISK] = "bounded by the disk",       [LEAT_BOUND_MEMORY] = "memory_limit",
        [LEAT_BOUND_WORKERS] = "too few workers",        [LEAT_BOUND_BLOCKS] = "jobs_in_flight",
        [LEAT_BOUND_ORDER] = "bounded by the order",     [LEAT_BOUND_OTHER_USERS] = "others",
    };

    (void)state;
    for (size_t i = 0; i < N_SITUATIONS; i++) {
        struct leat_verdict_facts facts = facts_of(&situations[i]);
        struct leat_text text = {.data = NULL};
        struct leat_verdict verdict;

        leat_verdict_make(&facts, &verdict);
        leat_verdict_text("prose", &facts, &verdict, &text);
        assert_non_null(strstr(text.data, says[verdict.bound]));
        assert_non_null(strstr(text.data, "one more worker"));
        for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
            assert_true(strcspn(line, "\n") <= 120);
        free(text.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),     cmocka_unit_test(test_idle),
        cmocka_unit_test(test_gains),      cmocka_unit_test(test_cache),
        cmocka_unit_test(test_tried),      cmocka_unit_test(test_kept_trainer),
        cmocka_unit_test(test_properties), cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
