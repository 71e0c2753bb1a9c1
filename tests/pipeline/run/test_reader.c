/* test_reader.c: pipeline/run/intake/reader.c: which pass is read next, and when reading ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "pipeline/run/intake/reader.h"
#include "tests/pipeline/shared_stream.h"

static struct leat_plan *make_plan(const char *repeat) {
    char stages[128];

    folder_print("a.csv", "id\n1\n2\n");
    (void)snprintf(stages, sizeof(stages),
                   "- cast: {input: id, dtype: int64}\n%s- batch: {batch_size: 2}", repeat);
    return stream_plan("csv: {paths: [a.csv]}", "", stages);
}

struct world {
    struct leat_plan *plan;
    struct leat_budget budget;
    struct leat_account account;
    struct leat_reader reader;
};

static void open_world(struct world *world, const char *repeat, uint64_t n_epochs) {
    struct leat_run_options options = {
        .first_epoch = 5, .n_epochs = n_epochs, .opener = &leat_opener_operator};

    world->plan = make_plan(repeat);
    leat_budget_init(&world->budget, UINT64_MAX);
    assert_int_equal(leat_account_open(&world->account, &world->budget, 0), 0);
    leat_reader_init(&world->reader, world->plan, &options, &world->account, 0, 0, 4);
}

static void close_world(struct world *world) {
    leat_reader_deinit(&world->reader);
    leat_account_close(&world->account);
    leat_plan_unref(world->plan);
}

static void expect(const struct leat_reader *reader, uint64_t epoch, uint64_t pass,
                   bool has_ended) {
    assert_int_equal(reader->epoch, epoch);
    assert_int_equal(reader->pass, pass);
    assert_int_equal(reader->has_ended, has_ended);
}

static void test_epochs(void **state) {
    struct world world;

    (void)state;
    open_world(&world, "", 2);
    expect(&world.reader, 5, 0, false);
    leat_reader_next_pass(&world.reader, false);
    expect(&world.reader, 6, 0, false);
    leat_reader_next_pass(&world.reader, false);
    expect(&world.reader, 7, 0, true);
    leat_reader_extend(&world.reader, 3);
    expect(&world.reader, 7, 0, false);
    world.reader.has_ended = true;
    expect(&world.reader, 7, 0, true);
    close_world(&world);
}

static void test_passes(void **state) {
    struct world world;

    (void)state;
    open_world(&world, "- repeat: {count: 3}\n", 1);
    leat_reader_next_pass(&world.reader, false);
    expect(&world.reader, 5, 1, false);
    leat_reader_next_pass(&world.reader, false);
    expect(&world.reader, 5, 2, false);
    leat_reader_next_pass(&world.reader, false);
    expect(&world.reader, 6, 0, true);
    close_world(&world);
}

/* A job that is out when its pass is consumed becomes stale; else the caller moves the reader. */
static void test_stale(void **state) {
    struct leat_scan_job job;
    struct world world;

    (void)state;
    open_world(&world, "- repeat: {count: 3}\n", 2);
    assert_true(leat_reader_skips(&world.reader, 5, 0, 6));
    assert_false(leat_reader_skips(&world.reader, 4, 0, 5));
    assert_true(leat_reader_may_scan(&world.reader));
    leat_reader_start_job(&world.reader, SIZE_MAX, 0, 99, false, &job);
    assert_int_equal(job.n_pieces, LEAT_SCAN_MAX);
    assert_false(leat_reader_skips(&world.reader, 5, 0, 5));
    assert_true(leat_reader_end_job(&world.reader, &job));
    leat_reader_start_job(&world.reader, SIZE_MAX, 0, 1, false, &job);
    assert_false(leat_reader_end_job(&world.reader, &job));
    close_world(&world);
}

/* A failure ends the reader within a pass. If the order wants no more of this pass, the reader goes
 * on with the next one. */
static void test_failed(void **state) {
    struct world world;

    (void)state;
    open_world(&world, "- repeat: {count: 3}\n", 2);
    leat_reader_next_pass(&world.reader, false);
    world.reader.has_ended = true;
    assert_false(leat_reader_skips(&world.reader, 4, 0, 5)); /* The order will meet the failure. */
    assert_false(leat_reader_skips(&world.reader, 5, 0, 5));
    assert_true(leat_reader_skips(&world.reader, 5, 1, 5));
    assert_true(leat_reader_skips(&world.reader, 5, 0, 6));
    leat_reader_next_pass(&world.reader, true);
    expect(&world.reader, 6, 0, false);
    close_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_failed),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
