/* test_steps.c: pipeline/work/steps.c: the number of steps that is known before an epoch is the one
 * that it has, over random stages, ranks and batches; and why it is not known where it is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/plan/data_digest.h"
#include "pipeline/work/steps.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_order.h"
#include "tests/pipeline/shared_records.h"

static const char *folder(void) {
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s", folder_path("."));
    return path;
}

struct last {
    uint64_t n_steps; /* one more than the last */
};

static void see(const struct leat_output *output, void *user) {
    ((struct last *)user)->n_steps = output->step + 1;
}

static struct order_chain random_chain(void) {
    struct order_chain chain = {.n_stages = draw(5)};
    bool has_repeat = false;

    for (size_t i = 0; i < chain.n_stages; i++) {
        struct order_stage *stage = &chain.stages[i];

        stage->op = (enum order_op)draw(has_repeat ? 3 : 4);
        stage->n = stage->op == ORDER_REPEAT ? 1 + (int64_t)draw(3) : 1 + (int64_t)draw(300);
        has_repeat |= stage->op == ORDER_REPEAT;
    }
    return chain;
}

/* What is said before: of the plan that the next run would be of. */
static struct leat_steps look(const char *options, const char *stages, uint64_t world_size) {
    struct leat_plan *plan = stream_plan(CSV, options, stages);
    struct leat_steps steps;

    leat_steps_find_rows(plan, &leat_opener_operator, folder());
    leat_steps_of(plan, world_size, &steps);
    leat_plan_unref(plan);
    return steps;
}

static bool check_chain(const char *options, const char *stages, uint64_t world_size) {
    struct last last = {.n_steps = 0};
    struct drive how = {.options = {.n_epochs = 1,
                                    .index_folder = folder(),
                                    .world_size = world_size,
                                    .n_ranks = world_size},
                        .on_batch = see,
                        .user = &last};
    struct leat_steps steps;

    (void)drive_stream(CSV, options, stages, &how);
    steps = look(options, stages, world_size);
    if (!steps.is_known) /* it ended before the data did, or fails */
        return false;
    assert_string_equal(steps.reason, "");
    assert_int_equal(steps.n, last.n_steps);
    return true;
}

static void test_as_many(void **state) {
    static const char *const unevens[] = {"drop", "pad", "error"};
    static const char *const keepers[] = {"index: auto", "cache: {path: .}"};
    int n_known = 0;

    (void)state;
    for (int i = 0; i < 150; i++) {
        struct order_chain chain = random_chain();
        char lines[512], stages[2048], options[128];

        if (i % 10 == 0) {
            write_data("data.csv", 0, 1 + (int64_t)draw(700), 0);
            remove_caches();
        }
        order_yaml(&chain, lines, sizeof(lines));
        (void)snprintf(stages, sizeof(stages),
                       CASTS "- select: {fields: [id, age]}\n%s- batch: {batch_size: %d, "
                             "drop_last: %s}",
                       lines, 1 + (int)draw(60), draw(2) ? "true" : "false");
        (void)snprintf(options, sizeof(options), "uneven: %s\n    %s", unevens[draw(3)],
                       keepers[draw(2)]);
        n_known += check_chain(options, stages, 1 + draw(4));
    }
    assert_true(n_known > 50);
    remove_caches();
}

static void assert_unknown(const char *options, const char *stages, const char *why) {
    struct leat_steps steps = look(options, stages, 1);

    assert_false(steps.is_known);
    assert_non_null(strstr(steps.reason, why));
}

static void test_unknown(void **state) {
    static const char plain[] = CASTS "- select: {fields: [id]}\n- batch: {batch_size: 5}";
    struct drive how = {.options = {.n_epochs = 1, .index_folder = folder()}};
    struct leat_steps steps;

    (void)state;
    write_data("data.csv", 0, 101, 0);
    remove_caches();
    assert_unknown("", plain, "has not counted the records yet");
    (void)drive_stream(CSV, "", plain, &how);
    steps = look("", plain, 1);
    assert_true(steps.is_known);
    assert_int_equal(steps.n, 21);
    write_data("data.csv", 0, 99, 0); /* of other data nothing is known */
    assert_unknown("", plain, "has not counted the records yet");
    assert_unknown("",
                   CASTS "- select: {fields: [id]}\n- repeat: {count: 0}\n"
                         "- batch: {batch_size: 5}",
                   "never ends");
    assert_unknown("",
                   CASTS "- select: {fields: [id]}\n- shuffle: {buffer_size: 5}\n"
                         "- filter: {input: id, min: 3}\n- batch: {batch_size: 5}",
                   "`filter`");
    assert_unknown("",
                   CASTS "- select: {fields: [id]}\n- dedup: {input: id}\n"
                         "- batch: {batch_size: 5}",
                   "`dedup`");
    assert_unknown("cache: {path: .}",
                   CASTS "- select: {fields: [id]}\n- shuffle: {blocks: true, buffer_size: 5, "
                         "lanes: 2}\n- batch: {batch_size: 5}",
                   "from epoch to epoch, because of `lanes`");
    assert_unknown("", plain, "a `cache` or an `index` stores it");
    assert_null(strstr(look("index: off", plain, 1).reason, "`index`"));
    remove_caches();
}

#define BEGIN                                                                                      \
    CASTS "- hash_bucket: {input: id, output: some, buckets: 90}\n- select: {fields: [id, "        \
          "some]}\n"
#define SHUFFLED BEGIN "- shuffle: {buffer_size: 50}\n"
#define BATCH    "- batch: {batch_size: 3}"

/* Where all epochs have as many steps, they have; else the stage is told by which they differ. */
static void test_constant(void **state) {
    static const struct {
        const char *stages, *varying;
    } cases[] = {
        {BEGIN "- filter: {input: id, min: 30}\n" BATCH, NULL},
        {SHUFFLED "- filter: {input: id, min: 30}\n" BATCH, NULL},
        {SHUFFLED "- sample: {fraction: 0.5}\n" BATCH, NULL},
        {SHUFFLED "- dedup: {input: some}\n" BATCH, NULL},
        {SHUFFLED "- dedup: {input: some}\n- take: {count: 30}\n" BATCH, NULL},
        {SHUFFLED "- repeat: {count: 2}\n- filter: {input: id, min: 30}\n" BATCH, NULL},
        {BEGIN "- take: {count: 90}\n- filter: {input: id, min: 30}\n" BATCH, NULL},
        {BEGIN "- shuffle: {buffer_size: 50, reshuffle_each_epoch: false}\n- take: {count: 90}\n"
               "- filter: {input: id, min: 30}\n" BATCH,
         NULL},
        {SHUFFLED "- take: {count: 90}\n- filter: {input: id, min: 30}\n" BATCH, "filter"},
        {SHUFFLED "- skip: {count: 90}\n- dedup: {input: some}\n" BATCH, "dedup"},
        {SHUFFLED "- dedup: {input: some, max_records: 60, when_full: forget}\n" BATCH, "dedup"},
        {SHUFFLED "- dedup: {input: some}\n- filter: {input: id, min: 30}\n" BATCH, "filter"},
        {BEGIN "- sample: {fraction: 0.5, each_epoch: true}\n" BATCH, "sample"},
        {SHUFFLED "- sample: {fraction: 0.5, each_epoch: true}\n" BATCH, "sample"},
    };

    (void)state;
    write_data("data.csv", 0, 200, 0);
    remove_caches();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_steps steps = look("", cases[i].stages, 1);

        assert_false(steps.is_known);
        assert_int_equal(steps.are_constant, cases[i].varying == NULL);
        if (cases[i].varying) {
            assert_non_null(strstr(steps.reason, "can differ from epoch to epoch"));
            assert_non_null(strstr(steps.reason, cases[i].varying));
        } else {
            assert_non_null(strstr(steps.reason, "after the first epoch"));
        }
    }
}

static void test_unreadable(void **state) {
    struct leat_plan *plan;
    struct leat_steps steps;

    (void)state;
    write_data("data.csv", 0, 101, 0);
    write_data("gone.csv", 0, 101, 0);
    plan = stream_plan("csv: {paths: [data.csv, gone.csv]}", "",
                       CASTS "- select: {fields: [id]}\n- batch: {batch_size: 5}");
    assert_int_equal(unlink(folder_path("gone.csv")), 0);
    leat_steps_find_rows(plan, &leat_opener_operator, folder());
    leat_steps_of(plan, 1, &steps);
    assert_false(steps.is_known);
    leat_plan_unref(plan);
}

static struct leat_steps count_steps(const char *options, const char *stages) {
    struct leat_plan *plan = stream_plan(CSV, options, stages);
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_steps steps;

    assert_int_equal(leat_plan_identify_data(plan, &leat_opener_operator, NULL, &err), 0);
    leat_steps_count_rows(plan, &leat_opener_operator);
    leat_steps_of(plan, 1, &steps);
    leat_plan_unref(plan);
    return steps;
}

/* Small data whose records are rows is counted where nobody knows; else nothing is claimed. */
static void test_counted(void **state) {
    static const char plain[] = CASTS "- select: {fields: [id]}\n- batch: {batch_size: 5}";

    (void)state;
    write_data("data.csv", 0, 101, 0);
    remove_caches();
    assert_int_equal(count_steps("", plain).n, 21);
    assert_int_equal(count_steps("", CASTS "- select: {fields: [id]}\n- take: {count: 12}\n"
                                           "- repeat: {count: 2}\n- batch: {batch_size: 5}")
                         .n,
                     5);
    assert_false(count_steps("on_error: skip", plain).is_known);
    assert_false(count_steps("", CASTS "- select: {fields: [id]}\n- filter: {input: id, min: 3}\n"
                                       "- batch: {batch_size: 5}")
                     .is_known);
}

static void test_fifo(void **state) {
    struct leat_plan *plan;
    struct leat_steps steps;

    (void)state;
    assert_int_equal(mkfifo(folder_path("fifo"), 0600), 0);
    plan = stream_plan("csv: {paths: fifo, header: false, names: [id]}", "",
                       "- cast: {input: id, dtype: int64}\n- batch: {batch_size: 5}");
    leat_steps_find_rows(plan, &leat_opener_operator, folder());
    leat_steps_of(plan, 1, &steps);
    assert_false(steps.is_known);
    assert_non_null(strstr(steps.reason, "FIFO"));
    leat_plan_unref(plan);
}

static void assert_start(const char *options, const char *stages, bool has_index,
                         const char *expected) {
    struct leat_plan *plan = stream_plan(CSV, options, stages);
    char text[256];

    leat_steps_describe_start(plan, has_index, text, sizeof(text));
    assert_non_null(strstr(text, expected));
    leat_plan_unref(plan);
}

static void test_starts(void **state) {
    static const char plain[] = CASTS "- select: {fields: [id]}\n- batch: {batch_size: 5}";
    static const char filtered[] =
        CASTS "- filter: {input: id, min: 3}\n- select: {fields: [id]}\n- batch: {batch_size: 5}";

    (void)state;
    write_data("data.csv", 0, 101, 0);
    assert_start("", plain, true, "fast: leat counts the earlier records without processing them");
    assert_start("", filtered, true, "fast if an earlier epoch made an index, which `filter`");
    assert_start("", filtered, false,
                 "slow: leat makes all earlier batches again, because of `filter`");
    assert_start("index: off", filtered, true, "slow: leat makes all earlier batches again");
    assert_start("on_error: skip", plain, true, "`on_error`");
    assert_start("cache: {path: .}", plain, true, "fast: the cache knows");
    assert_start("cache: {path: .}",
                 CASTS "- dedup: {input: id}\n- select: {fields: [id]}\n"
                       "- batch: {batch_size: 5}",
                 true, "fast: the cache has the earlier rows, which leat reads again");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many),    cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_constant),   cmocka_unit_test(test_counted),
        cmocka_unit_test(test_fifo),       cmocka_unit_test(test_starts),
        cmocka_unit_test(test_unreadable),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
