/* test_horizon.c: pipeline/run/horizon.c: how much is made ahead of trainers. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/pipeline/shared_records.h"
#include "tests/pipeline/shared_stream.h"

#define N_RECORDS 2000
#define N_SLOTS   2000 /* more than anybody wants */

struct world {
    struct leat_plan *plan;
    struct leat_run *run;
    uint8_t *memory;
    uint64_t n_batches, n_ends; /* that came out */
    uint64_t last_epoch;        /* of those batches */
};

static void begin(struct world *world, const char *options, const char *stages,
                  const struct leat_run_options *run_options) {
    struct leat_run_options its = *run_options;
    struct leat_error err = LEAT_ERROR_INIT;

    *world = (struct world){.plan = stream_plan(CSV, options, stages)};
    its.max_map_jobs = 8;
    its.opener = &leat_opener_operator;
    its.is_told = true;
    assert_int_equal(leat_run_new(world->plan, &its, &world->run, &err), 0);
    world->memory = malloc(N_SLOTS * world->plan->slot_bytes);
    assert_non_null(world->memory);
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        struct leat_slot slot = {.memory = world->memory + i * world->plan->slot_bytes,
                                 .size_bytes = world->plan->slot_bytes,
                                 .index = i};

        assert_int_equal(leat_run_give_slot(world->run, &slot), 0);
    }
}

static void take_outputs(struct world *world) {
    struct leat_output output;

    while (leat_run_take_output(world->run, &output)) {
        if (output.kind == LEAT_OUTPUT_EPOCH_END) {
            world->n_ends++;
            continue;
        }
        world->n_batches++;
        world->last_epoch = output.epoch;
        assert_int_equal(leat_run_give_slot(world->run, &output.slot), 0);
    }
}

/* Until it waits, for nothing but its trainers. */
static void work(struct world *world, bool takes_outputs) {
    while (leat_pipeline_step(world->run) == LEAT_RUN_JOB)
        if (takes_outputs)
            take_outputs(world);
    assert_null(leat_run_error(world->run));
}

static void end(struct world *world) {
    leat_pipeline_stop(world->run);
    leat_run_free(world->run);
    leat_plan_unref(world->plan);
    free(world->memory);
}

/* Records that a stage was asked about. */
static uint64_t n_mapped(const struct world *world) {
    struct leat_run_stats stats;

    leat_run_get_stats(world->run, &stats);
    for (size_t i = 0; i < stats.n_stages; i++)
        if (stats.stages[i].role == LEAT_ROLE_MAP)
            return stats.stages[i].figures.n_records;
    return 0;
}

static uint64_t clock_ns;

static uint64_t read_clock(void) {
    return clock_ns;
}

static const struct leat_run_options endless = {.n_epochs = 0, .now_ns = read_clock};

/* While it works no further ahead it waits for trainers, and for nothing else. */
static void check_waits(const struct world *world) {
    struct leat_run_stats before, after;

    leat_run_get_stats(world->run, &before);
    clock_ns += 1000;
    leat_run_get_stats(world->run, &after);
    assert_int_equal(after.counts.figures.no_slot_ns, before.counts.figures.no_slot_ns + 1000);
}

/* All of the epoch that is read, so many batches of the next, and what blocks these need. */
static void test_next_epoch(void **state) {
    static const struct {
        const char *tail;
        uint64_t n_batches, n_next;
        uint64_t n_rows; /* of the next epoch that may be worked on, without the last block */
    } cases[] = {
        {"- batch: {batch_size: 10}", 200, 1, 10},
        {"- batch: {batch_size: 10}\n- prefetch: {prefetch_size: 5}", 200, 5, 50},
        {"- batch: {batch_size: 2000}", 1, 1, 2000},
        {"- batch: {batch_size: 1000}\n- prefetch: {prefetch_size: 7}", 2, 2, 2000},
        {"- shuffle: {buffer_size: 300}\n- batch: {batch_size: 10}", 200, 1, 310},
        {"- shuffle: {buffer_size: 5000}\n- batch: {batch_size: 10}", 200, 1, 2000},
        {"- filter: {input: id, min: 1900}\n- batch: {batch_size: 10}", 10, 1, 2000},
    };

    (void)state;
    write_data("data.csv", 0, N_RECORDS, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char stages[512];
        struct world world;

        (void)snprintf(stages, sizeof(stages), "%s- select: {fields: [age, id]}\n%s", CASTS,
                       cases[i].tail);
        begin(&world, "block_bytes: 4096", stages, &endless);
        work(&world, true);
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            uint64_t n_ahead = n_mapped(&world) - (epoch + 1) * N_RECORDS;

            assert_int_equal(world.n_batches, (epoch + 1) * cases[i].n_batches + cases[i].n_next);
            assert_int_equal(world.last_epoch, epoch + 1);
            assert_in_range(n_ahead, 1, cases[i].n_rows + 400); /* a block has fewer records */
            assert_true(n_ahead <= N_RECORDS);
            check_waits(&world);
            leat_run_reach(world.run, epoch); /* it is there already */
            work(&world, true);
            assert_int_equal(n_mapped(&world) - (epoch + 1) * N_RECORDS, n_ahead);
            leat_run_reach(world.run, epoch + 1);
            work(&world, true);
        }
        end(&world);
    }
}

/* `prefetch` batches are ready for each rank, and no more, unless they are told of at once. */
static void test_ready(void **state) {
    static const struct leat_run_options ranks = {.n_ranks = 3, .world_size = 4};
    char stages[512];
    struct world world;

    (void)state;
    write_data("data.csv", 0, N_RECORDS, 0);
    (void)snprintf(stages, sizeof(stages),
                   "%s- select: {fields: [age, id]}\n- batch: {batch_size: 10}\n"
                   "- prefetch: {prefetch_size: 5}",
                   CASTS);
    begin(&world, "", stages, &endless);
    work(&world, false);
    take_outputs(&world);
    assert_int_equal(world.n_batches, 5);
    leat_run_set_credit(world.run, 30);
    work(&world, false);
    take_outputs(&world);
    assert_int_equal(world.n_batches, 5 + 35);
    end(&world);
    begin(&world, "", stages, &ranks);
    work(&world, false);
    take_outputs(&world);
    assert_int_equal(world.n_batches, 15);
    work(&world, true);
    assert_int_equal(world.n_batches, 150 + 15); /* and no further than the next epoch */
    end(&world);
}

/* Who does not say where trainers are has them where its outputs were taken. */
static void test_taken(void **state) {
    struct drive how = {.options = {.n_epochs = 40}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 100, 0);
    driven = drive_stream(CSV, "", CASTS "- select: {fields: [age, id]}\n- batch: {batch_size: 50}",
                          &how);
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(driven.n_batches, 80);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_epoch),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_taken),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
