/* test_take.c: pipeline/stages/take.c: as many as asked, and nothing behind them is read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/pipeline/shared_stream.h"

static void write_ids(int n, const char *end) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "id\n");
    for (int id = 0; id < n; id++)
        leat_text_add(&text, "%d\n", id);
    leat_text_add(&text, "%s", end);
    folder_write("ids.csv", text.data, text.n_bytes);
    free(text.data);
}

static struct driven run(int count, uint64_t n_epochs) {
    struct drive how = {.options = {.n_epochs = n_epochs, .max_map_jobs = 1}};
    char stages[128];

    (void)snprintf(
        stages, sizeof(stages),
        "- cast: {input: id, dtype: int64}\n- take: {count: %d}\n- batch: {batch_size: 8}", count);
    return drive_stream("csv: {paths: [ids.csv]}", "block_bytes: 4096", stages, &how);
}

static void test_counts(void **state) {
    (void)state;
    write_ids(100, "");
    assert_int_equal(run(1, 1).n_rows, 1);
    assert_int_equal(run(99, 1).n_rows, 99);
    assert_int_equal(run(100, 2).n_rows, 200); /* anew each epoch */
    assert_int_equal(run(1000, 1).n_rows, 100);
}

static void test_rest_is_not_read(void **state) {
    struct driven driven;

    (void)state;
    write_ids(20000, "not a number\n");
    driven = run(10, 3);
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(driven.n_rows, 30);
    assert_true(driven.stats.counts.figures.n_source_bytes <= 3 * 4 * 4096);
    assert_int_equal(run(20001, 1).error.code, -EBADMSG);
}

/* The epoch ends with the last record, even if no other one ever comes: the filter drops the rest.
 */
static void test_no_other_record_is_awaited(void **state) {
    static const char stages[] =
        "- cast: {input: id, dtype: int64}\n- filter: {input: id, max: 9}\n- take: {count: 10}\n"
        "- batch: {batch_size: 8}";
    struct drive how = {.options = {.n_epochs = 1, .max_map_jobs = 1}};
    struct driven driven;

    (void)state;
    write_ids(20000, "not a number\n");
    driven = drive_stream("csv: {paths: [ids.csv]}", "block_bytes: 4096", stages, &how);
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(driven.n_rows, 10);
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- take: {count: 0}",
                  "x.yaml:5:23: streams.x.stages[0].take.count: 0 is outside "
                  "1..9000000000000000");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts), cmocka_unit_test(test_rest_is_not_read),
        cmocka_unit_test(test_no_other_record_is_awaited), cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
