/* test_verdict.c: what bounds a stream, by tables of what was counted; that predictions keep what
 * must hold whatever was counted; and what is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/metrics/verdict_text.h"
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
    {"memory, with other load on the processors", LEAT_BOUND_MEMORY, .wait = .9, .map = .9,
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

/* The one trainer of a situation, until the next one is made. */
static struct leat_verdict_trainer trainer;

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
        .n_runs = 1,
        .trainers = &trainer,
        .n_trainers = 1,
        .n_batches = 1000,
        .n_rows = 32000,
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
        .program = from->waits_for_programs ? "tokenize" : NULL,
    };

    trainer = (struct leat_verdict_trainer){.world_size = 1,
                                            .client = "train.py",
                                            .pid = 4711,
                                            .n_batches = 1000,
                                            .present_ns = facts.wall_ns,
                                            .wait_ns = ns(from->wait * wall),
                                            .idle_ns = ns(from->wait * wall)};

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
    facts.n_trainers = 0;
    leat_verdict_make(&facts, &verdict);
    assert_int_equal(verdict.bound, LEAT_BOUND_IDLE);
    assert_false(verdict.worker.is_known || verdict.cache.is_known);
    facts = (struct leat_verdict_facts){.n_sessions = 1, .n_trainers = 1, .trainers = &trainer};
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

static void expect_range(const struct leat_gain *gain, double low, double high) {
    assert_true(gain->is_known);
    if (fabs(gain->ratio.low / low - 1) > 0.05 || fabs(gain->ratio.high / high - 1) > 0.05)
        fail_msg("%g to %g is not about %g to %g", gain->ratio.low, gain->ratio.high, low, high);
}

/* What follows from the table of one of them alone. */
static void test_gains(void **state) {
    const struct situation few = {.wait = .99, .map = .99, .n_workers = 1, .n_blocks = 100};
    const struct situation nearly = {.wait = .2, .map = .99, .n_workers = 1, .n_blocks = 100};
    const struct situation full = {.wait = .99, .map = 1.98, .n_cpus = 2};
    const struct situation disk = {.wait = .99, .map = .1, .scan = .99, .scan_blocked = .9};
    struct leat_verdict verdict;

    (void)state;
    verdict = verdict_of(&few);
    expect_range(&verdict.worker, 1.92, 1.98);
    assert_int_equal(verdict.worker.next, LEAT_BOUND_WORKERS);
    verdict = verdict_of(&nearly); /* then the trainer may not wait, and may yet */
    expect_range(&verdict.worker, 1, 1.25);
    assert_int_equal(verdict.worker.next, LEAT_BOUND_TRAINER);
    verdict = verdict_of(&full);
    expect_range(&verdict.worker, 1, 1);
    expect_range(&verdict.cpu, 1, 1.49);
    verdict = verdict_of(&disk);
    expect_range(&verdict.worker, 1, 1.02);
    expect_range(&verdict.disk, 5.2, 10.1);
    verdict = verdict_of(&situations[0]); /* a slow trainer */
    expect_range(&verdict.worker, 1, 1);
}

/* A trainer that is never busy cannot become faster, whatever is unknown of the others. */
static void test_idle_trainer(void **state) {
    const struct situation dozing = {.wait = 1, .map = 1.5, .loop = .1};
    struct leat_verdict verdict = verdict_of(&dozing);

    (void)state;
    expect_range(&verdict.trainers, 1, 1);
}

/* A trainer that has room for more and holds a batch may be at work on it, and then bound it. */
static void test_holding_trainer(void **state) {
    const struct situation few = {.wait = .99, .map = .99, .n_workers = 1, .n_blocks = 100};
    struct leat_verdict_facts facts = facts_of(&few);
    struct leat_verdict verdict;

    (void)state;
    trainer.idle_ns = 0;
    leat_verdict_make(&facts, &verdict);
    assert_int_equal(verdict.bound, LEAT_BOUND_WORKERS);
    expect_range(&verdict.worker, 1, 1.98);
    expect_range(&verdict.trainers, 1, 1.01);
}

/* What the model cannot know is not told: of what comes once there is no file, of a cache that was
 * not tried no time, of what lacks memory no thread, of few batches no rate. */
static void test_unknown(void **state) {
    const struct situation fifo = {.wait = 1, .map = .01, .scan = .99, .scan_blocked = .99};
    const struct situation memory = {.wait = .9, .map = .9, .is_short = 1};
    struct leat_verdict_facts facts = facts_of(&fifo);
    struct leat_text text = {.data = NULL};
    struct leat_verdict verdict;

    (void)state;
    facts.comes_once = true;
    leat_verdict_make(&facts, &verdict);
    assert_int_equal(verdict.bound, LEAT_BOUND_DISK);
    assert_false(verdict.disk.is_known);
    leat_verdict_text("s", &facts, &verdict, &text);
    assert_non_null(strstr(text.data, "bounded by the program that writes the data"));
    assert_null(strstr(text.data, "files in memory"));
    free(text.data);
    assert_true(verdict.trainers.is_known && !verdict.cache.is_known);
    facts.n_batches = 3;
    leat_verdict_make(&facts, &verdict);
    assert_false(verdict.trainers.is_known || verdict.worker.is_known);
    verdict = verdict_of(&memory);
    assert_int_equal(verdict.bound, LEAT_BOUND_MEMORY);
    assert_false(verdict.worker.is_known || verdict.cpu.is_known || verdict.disk.is_known);
}

/* A job that goes on for longer than the interval has told nothing of its stages yet. */
static void test_program(void **state) {
    static const struct leat_verdict_stage silent[] = {{.name = "csv"}, {.name = "exec"}};
    const struct situation waits = {.wait = 1, .map = 2, .blocked = 1, .waits_for_programs = true};
    struct leat_verdict_facts facts = facts_of(&waits);
    struct leat_text text = {.data = NULL};
    struct leat_verdict verdict;

    (void)state;
    facts.program = "exec";
    facts.stages = silent;
    facts.n_stages = 2;
    facts.n_batches = 0;
    leat_verdict_make(&facts, &verdict);
    assert_int_equal(verdict.bound, LEAT_BOUND_STAGE);
    leat_verdict_text("s", &facts, &verdict, &text);
    assert_non_null(strstr(text.data, "s: bounded by exec.\n"));
    assert_null(strstr(text.data, "of all work"));
    assert_null(strstr(text.data, "estimated gains"));
    free(text.data);
}

/* ---- trainers ---- */

static const struct leat_verdict_trainer *rank_of(uint32_t rank, double wait, double hold,
                                                  uint64_t n_batches) {
    static struct leat_verdict_trainer two[2];

    two[rank] = (struct leat_verdict_trainer){.session = rank + 1,
                                              .rank = rank,
                                              .world_size = 2,
                                              .pid = 100 + rank,
                                              .client = "python",
                                              .unit = "train.service",
                                              .n_batches = n_batches,
                                              .present_ns = 10 * S,
                                              .wait_ns = ns(wait * 10),
                                              .idle_ns = ns(wait * 10),
                                              .hold_ns = ns(hold * 10)};
    return two;
}

static void expect_says(const struct leat_verdict_facts *facts, const char *says) {
    struct leat_text text = {.data = NULL};
    struct leat_verdict verdict;

    leat_verdict_make(facts, &verdict);
    leat_verdict_text("s", facts, &verdict, &text);
    leat_text_add(&text, "\n");
    leat_verdict_line(facts, &verdict, &text);
    leat_text_add(&text, "\n");
    leat_verdict_json(&text, "s", facts, &verdict);
    if (!strstr(text.data, says))
        fail_msg("no \"%s\" in: %s", says, text.data);
    free(text.data);
}

/* Rank 0 of two waits for most of its time. */
static void test_slow_rank(void **state) {
    const struct situation one_worker = {.no_slot = 1, .map = .97, .n_workers = 1};
    struct leat_verdict_facts facts = facts_of(&one_worker);

    (void)state;
    facts.host = "gpu03";
    facts.n_sessions = 2;
    facts.n_trainers = 2;
    (void)rank_of(0, .93, .05, 990);
    facts.trainers = rank_of(1, 0, 1, 10);
    facts.n_runs = 2; /* each has its own */
    expect_says(&facts, "s: bounded by rank 1 of 2 (python, pid 101, train.service, on gpu03).\n");
    expect_says(&facts, "It waited 0 % of the time. For 100 % of the time, it held\n  all ");
    expect_says(&facts, "  rank 0 of 2 (python, pid 100, train.service, on gpu03)\n  waited 93 % "
                        "of its time, for the workers.\n");
    expect_says(
        &facts,
        "\nbounded by rank 1 of 2 (python, pid 101, train.service, on gpu03); rank 0 of 2 (python, "
        "pid 100, train.service, on gpu03) waited 93 % of the time for the workers\n");
    expect_says(&facts, "\"rank\": 1, \"world_size\": 2, \"pid\": 101, \"client\": \"python\", "
                        "\"unit\": \"train.service\", \"n_batches\": 10, \"waited\": 0, "
                        "\"held_all\": 1, \"is_slow\": true, \"waits_for\": null}");
    expect_says(&facts, "\"is_slow\": false, \"waits_for\": \"workers\"}");
    expect_says(&facts, "one more worker"); /* for rank 0 */
    expect_says(&facts, "\"trainer\": null");
    facts.n_runs = 1; /* no slot is free, and one of them waits */
    expect_says(&facts, "waited 93 % of its time, for the slots that rank 1 holds.\n");
    expect_says(&facts, "\"is_slow\": false, \"waits_for\": \"trainer\"}");
    (void)rank_of(0, 0, .5, 100); /* neither waits: the one that holds more */
    expect_says(&facts, "bounded by rank 1 of 2");
    facts.no_slot_ns = 0; /* the pipeline is slow */
    (void)rank_of(0, .93, 0, 100);
    facts.trainers = rank_of(1, .9, 0, 100);
    expect_says(&facts, "s: bounded by too few workers (1).\n");
    expect_says(&facts,
                "pid 101, train.service, on gpu03)\n  waited 90 % of its time, for the workers");
}

static void test_many_trainers(void **state) {
    static struct leat_verdict_trainer many[100];
    const struct situation slow = {.no_slot = 1, .map = .1};
    struct leat_verdict_facts facts = facts_of(&slow);

    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        many[i] = (struct leat_verdict_trainer){.rank = i,
                                                .world_size = 100,
                                                .present_ns = 10 * S,
                                                .n_batches = 10,
                                                .wait_ns = i == 77 ? 0 : 9 * S};
    facts.trainers = many;
    facts.n_sessions = 100;
    facts.n_trainers = 100;
    expect_says(&facts, "s: bounded by rank 77 of 100 (unnamed, in a container).\n");
    expect_says(&facts, "  95 more trainers waited.\n");
}

/* ---- the cache ---- */

/* What was tried says how long; records that take twice as long to map take twice as long to load.
 */
static void test_cache(void **state) {
    const struct situation few = {.wait = .99, .map = .98, .n_workers = 1};
    struct leat_verdict_facts facts = facts_of(&few);
    struct leat_verdict verdict;

    (void)state;
    facts.n_records = 1000;
    leat_verdict_make(&facts, &verdict);
    assert_false(verdict.cache.is_known);
    facts.load_ns = 2e6; /* a fifth of the time that there is */
    leat_verdict_make(&facts, &verdict);
    expect_range(&verdict.cache, 4.35, 4.75);
    facts.tried_ns = 9.8e6 / 2;
    leat_verdict_make(&facts, &verdict);
    expect_range(&verdict.cache, 2.3, 4.75);
    facts.has_cache = true;
    leat_verdict_make(&facts, &verdict);
    assert_false(verdict.cache.is_known);
    facts.has_cache = facts.may_cache = false;
    leat_verdict_make(&facts, &verdict);
    assert_false(verdict.cache.is_known);
}

/* A trainer that others kept from running would not be kept by those that a cache does away with.
 */
static void test_kept_trainer(void **state) {
    const struct situation few = {.wait = .5, .map = .98, .n_workers = 1};
    struct leat_verdict_facts facts = facts_of(&few);
    struct leat_verdict verdict;
    double high;

    (void)state;
    facts.n_records = 1000;
    facts.load_ns = 1e5;
    leat_verdict_make(&facts, &verdict);
    high = verdict.cache.ratio.high;
    facts.trainer_delay_ns = 4 * S;
    leat_verdict_make(&facts, &verdict);
    assert_true(verdict.cache.ratio.high > 3 * high);
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
        assert_true(isfinite(gain->ratio.high) && gain->ratio.low >= 0.999 &&
                    gain->ratio.high >= gain->ratio.low);
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
            assert_true(verdict.worker.ratio.high <= verdict.cpu.ratio.high + 0.001);
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
                              &trainer.wait_ns,
                              &trainer.idle_ns,
                              &trainer.hold_ns,
                              &trainer.present_ns,
                              &trainer.n_batches,
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
        facts.trainers = &trainer;
        facts.n_trainers = facts.n_sessions > 0;
        facts.n_runs = (uint32_t)leat_rng_below(&rng, 3);
        facts.load_ns = (double)(leat_rng_next(&rng) >> leat_rng_below(&rng, 64));
        facts.n_cpus = 1;
        facts.n_workers = facts.n_threads = facts.n_more_threads = 1;
        facts.may_cache = true;
        leat_verdict_make(&facts, &verdict);
        leat_verdict_json(&text, "s", &facts, &verdict);
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
        [LEAT_BOUND_ORDER] = "the daemon's main loop",   [LEAT_BOUND_OTHER_USERS] = "other load",
    };

    (void)state;
    for (size_t i = 0; i < N_SITUATIONS; i++) {
        struct leat_verdict_facts facts = facts_of(&situations[i]);
        struct leat_text text = {.data = NULL};
        struct leat_verdict verdict;

        leat_verdict_make(&facts, &verdict);
        leat_verdict_text("prose", &facts, &verdict, &text);
        assert_non_null(strstr(text.data, says[verdict.bound]));
        assert_true(verdict.bound == LEAT_BOUND_MEMORY || strstr(text.data, "one more worker"));
        for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
            assert_true(strcspn(line, "\n") <= 120);
        free(text.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),       cmocka_unit_test(test_idle),
        cmocka_unit_test(test_gains),        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_idle_trainer), cmocka_unit_test(test_holding_trainer),
        cmocka_unit_test(test_unknown),      cmocka_unit_test(test_program),
        cmocka_unit_test(test_slow_rank),    cmocka_unit_test(test_many_trainers),
        cmocka_unit_test(test_kept_trainer), cmocka_unit_test(test_properties),
        cmocka_unit_test(test_nonsense),     cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
