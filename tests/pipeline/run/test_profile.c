/* test_profile.c: pipeline/run/profile/profile.c: what is counted of stages and jobs adds up,
 * whatever the order in which they come back; and who waits for whom. By a clock that only the test
 * moves. */
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_records.h"

#define STAGES                                                                                     \
    CASTS "- select: {fields: [id, age]}\n- shuffle: {buffer_size: 100}\n- batch: {batch_size: "   \
          "16}"
#define N_RECORDS  2000
#define N_BAD      20 /* of them */
#define JOBS_MAX   6
#define LOOK_NS    3 /* that a look at the clock takes */
#define TRAINER_NS 1000000

static uint64_t clock_ns;

static uint64_t look(void) {
    return clock_ns += LOOK_NS;
}

struct bench {
    struct leat_plan *plan;
    struct leat_run *run;
    struct leat_job *jobs[JOBS_MAX];
    unsigned n_jobs, max_jobs;
    uint64_t trainer_ns; /* that it takes with each batch, while nothing else goes on */
    void *memory;
    uint64_t n_rows, n_batches, n_given;
};

static void set_up(struct bench *bench, const char *options, uint64_t (*now_ns)(void)) {
    struct leat_run_options run_options = {
        .n_epochs = 1, .max_map_jobs = 4, .opener = &leat_opener_any, .now_ns = now_ns};
    struct leat_error err = LEAT_ERROR_INIT;

    write_data("data.csv", 0, N_RECORDS, N_RECORDS / N_BAD);
    bench->plan = stream_plan(CSV, options, STAGES);
    bench->memory = aligned_alloc(4096, (bench->plan->slot_bytes + 4095) / 4096 * 4096);
    assert_int_equal(leat_run_new(bench->plan, &run_options, &bench->run, &err), 0);
}

static void tear_down(struct bench *bench) {
    leat_run_free(bench->run);
    leat_plan_unref(bench->plan);
    free(bench->memory);
}

/* Those that are out come back in any order. */
static const struct leat_job_usage usage = {.cpu_ns = 70, .delay_ns = 20, .queue_ns = 5};

static void complete_one(struct bench *bench) {
    unsigned at = (unsigned)draw(bench->n_jobs);
    struct leat_job *job = bench->jobs[at];

    bench->jobs[at] = bench->jobs[--bench->n_jobs];
    leat_job_start(job);
    leat_job_execute(job);
    leat_job_set_usage(job, &usage);
    leat_run_complete(bench->run, job);
}

/* There is one slot: the next batch begins when the trainer is done with this one. */
static void take_outputs(struct bench *bench) {
    struct leat_output output;

    while (leat_run_take_output(bench->run, &output)) {
        if (output.kind != LEAT_OUTPUT_BATCH)
            continue;
        bench->n_rows += output.n_rows;
        bench->n_batches++;
        bench->n_given--;
    }
}

static void give_slot(struct bench *bench) {
    struct leat_slot slot = {.memory = bench->memory, .size_bytes = bench->plan->slot_bytes};

    clock_ns += bench->trainer_ns;
    assert_int_equal(bench->n_given++, 0);
    assert_int_equal(leat_run_give_slot(bench->run, &slot), 0);
}

static void drive_all(struct bench *bench) {
    for (;;) {
        struct leat_job *job;
        int r = leat_run_next_job(bench->run, &job);

        if (r == LEAT_RUN_ENDED)
            return;
        if (r == LEAT_RUN_JOB)
            bench->jobs[bench->n_jobs++] = job;
        else if (bench->n_jobs == 0 && r == LEAT_RUN_NEEDS_SLOT)
            give_slot(bench);
        if (bench->n_jobs > 0 && (bench->n_jobs == bench->max_jobs || r != LEAT_RUN_JOB))
            complete_one(bench);
        take_outputs(bench);
    }
}

static const struct leat_run_stage_stats *find(const struct leat_run_stats *stats, const char *name,
                                               enum leat_role role) {
    for (size_t i = 0; i < stats->n_stages; i++)
        if (strcmp(stats->stages[i].name, name) == 0 && stats->stages[i].role == role)
            return &stats->stages[i];
    fail_msg("there is no line \"%s\"", name);
    return NULL;
}

/* What the driver says of each job is summed by kind, as much of it as lies within the job. */
static void check_jobs(const struct leat_run_stats *stats) {
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++) {
        const struct leat_run_job_stats *jobs = &stats->jobs[i];

        assert_in_range(jobs->cpu_ns, jobs->busy_ns > 0, jobs->n_jobs * usage.cpu_ns);
        assert_in_range(jobs->delay_ns, 0, jobs->n_jobs * usage.delay_ns);
        assert_in_range(jobs->cpu_ns + jobs->delay_ns, 0, jobs->busy_ns);
        assert_int_equal(jobs->queue_ns, jobs->n_jobs * usage.queue_ns);
    }
    assert_true(stats->jobs[LEAT_JOB_MAP].n_jobs > 0);
    assert_int_equal(stats->counts.figures.short_ns, 0); /* nobody limits its memory */
}

static void check_counts(const struct leat_run_stats *stats) {
    const struct leat_run_stage_stats *source = find(stats, "csv", LEAT_ROLE_SOURCE);
    const struct leat_run_stage_stats *cast = find(stats, "cast", LEAT_ROLE_MAP);

    assert_int_equal(find(stats, "scan", LEAT_ROLE_SCAN)->figures.n_records, N_RECORDS);
    assert_int_equal(source->figures.n_records, N_RECORDS);
    assert_true(source->times.n > 1);
    assert_int_equal(cast->times.n, source->times.n);
    assert_int_equal(cast->figures.n_records + source->figures.n_errors, N_RECORDS);
    assert_int_equal(find(stats, "order", LEAT_ROLE_ORDER)->figures.n_records, N_RECORDS - N_BAD);
    assert_int_equal(find(stats, "collate", LEAT_ROLE_COLLATE)->figures.n_records,
                     N_RECORDS - N_BAD);
    assert_int_equal(find(stats, "decode", LEAT_ROLE_DECODE)->times.n, 0);
}

static void test_lines_add_up(void **state) {
    (void)state;
    for (unsigned round = 0; round < 8; round++) {
        struct bench bench = {.max_jobs = round % JOBS_MAX + 1};
        struct leat_run_stats stats;
        uint64_t busy_ns = 0, n_errors = 0;

        clock_ns = 0;
        set_up(&bench, "block_bytes: 4096\n    on_error: skip", look);
        drive_all(&bench);
        leat_run_get_stats(bench.run, &stats);
        check_counts(&stats);
        check_jobs(&stats);
        assert_int_equal(bench.n_rows, N_RECORDS - N_BAD);
        for (size_t i = 0; i < stats.n_stages; i++) {
            const struct leat_run_stage_stats *stage = &stats.stages[i];

            assert_int_equal(stage->times.total, stage->figures.busy_ns);
            assert_true(stage->times.n == 0 || stage->times.min >= LOOK_NS);
            busy_ns += stage->figures.busy_ns;
            n_errors += stage->figures.n_errors;
        }
        assert_int_equal(n_errors, N_BAD);
        assert_in_range(busy_ns, 1, stats.counts.figures.lifetime_ns);
        assert_true(stats.counts.figures.lifetime_ns <= clock_ns);
        tear_down(&bench);
    }
}

/* Nothing else goes on while the trainer is at work: all of that, and nothing else, is waited for.
 */
static void test_time_without_a_slot(void **state) {
    struct bench bench = {.max_jobs = 3, .trainer_ns = TRAINER_NS};
    struct leat_run_stats stats;
    uint64_t lifetime_ns;

    (void)state;
    clock_ns = 0;
    set_up(&bench, "block_bytes: 4096\n    on_error: skip", look);
    drive_all(&bench);
    leat_run_get_stats(bench.run, &stats);
    assert_true(stats.counts.figures.no_slot_ns >= bench.n_batches * TRAINER_NS);
    assert_true(stats.counts.figures.no_slot_ns <= stats.counts.figures.lifetime_ns);
    assert_true(stats.counts.figures.lifetime_ns - stats.counts.figures.no_slot_ns <
                bench.n_batches * TRAINER_NS / 2);
    lifetime_ns = stats.counts.figures.lifetime_ns;
    clock_ns += TRAINER_NS; /* what has ended grows no older */
    leat_run_get_stats(bench.run, &stats);
    assert_int_equal(stats.counts.figures.lifetime_ns, lifetime_ns);
    tear_down(&bench);
}

/* A wait that goes on counts up to now. */
static void test_now(void **state) {
    struct bench bench = {.max_jobs = 1};
    struct leat_run_stats before, after;
    struct leat_job *job;

    (void)state;
    set_up(&bench, "on_error: skip", look);
    while (leat_run_next_job(bench.run, &job) == LEAT_RUN_JOB) {
        bench.jobs[bench.n_jobs++] = job;
        complete_one(&bench);
    }
    leat_run_get_stats(bench.run, &before);
    clock_ns += TRAINER_NS;
    leat_run_get_stats(bench.run, &after);
    assert_true(after.counts.figures.no_slot_ns >= before.counts.figures.no_slot_ns + TRAINER_NS);
    assert_true(after.counts.figures.lifetime_ns >= before.counts.figures.lifetime_ns + TRAINER_NS);
    tear_down(&bench);
}

static void test_without_a_clock(void **state) {
    struct bench bench = {.max_jobs = 2};
    struct leat_run_stats stats;

    (void)state;
    set_up(&bench, "block_bytes: 4096\n    on_error: skip", NULL);
    drive_all(&bench);
    leat_run_get_stats(bench.run, &stats);
    check_counts(&stats);
    assert_int_equal(stats.counts.figures.lifetime_ns, 0);
    assert_int_equal(stats.counts.figures.no_slot_ns, 0);
    for (size_t i = 0; i < stats.n_stages; i++)
        assert_int_equal(stats.stages[i].figures.busy_ns, 0);
    tear_down(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_add_up),
        cmocka_unit_test(test_time_without_a_slot),
        cmocka_unit_test(test_now),
        cmocka_unit_test(test_without_a_clock),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
