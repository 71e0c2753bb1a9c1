/* test_take.c: pipeline/stages/take.c: as many as asked, and nothing behind them is read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/pipeline/shared_compress.h"
#include "tests/pipeline/shared_records.h"

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

/* Two files of the same 2000 rows. The second one is cut short behind its last rows. */
static void write_whole_and_cut(void) {
    struct blob text = {.data = NULL}, packed;
    char line[32];

    blob_add(&text, "id\n", 3);
    for (int id = 0; id < 2000; id++)
        blob_add(&text, line, (size_t)snprintf(line, sizeof(line), "%d\n", id));
    packed = compress_text(GZIP, text.data, text.n_bytes, 0);
    folder_write("whole.gz", packed.data, packed.n_bytes);
    folder_write("cut.gz", packed.data, packed.n_bytes - 4);
    blob_free(&packed);
    blob_free(&text);
}

static struct driven run_file(const char *source, const char *order, const struct drive *how) {
    char stages[256];

    (void)snprintf(stages, sizeof(stages),
                   "- cast: {input: id, dtype: int64}\n%s\n- batch: {batch_size: 8}", order);
    return drive_stream(source, "block_bytes: 4096", stages, how);
}

/* A failure of reading behind the taken rows changes no epoch, although the reader may meet it. */
static void test_damage_behind_is_not_met(void **state) {
    static const char *const orders[] = {
        "- take: {count: 10}",
        "- take: {count: 1900}",
        "- take: {count: 2000}",
        "- skip: {count: 500}\n- take: {count: 1400}",
        "- take: {count: 1900}\n- repeat: {count: 2}",
        "- shuffle: {buffer_size: 50}\n- take: {count: 1900}",
        "- filter: {input: id, max: 1850}\n- take: {count: 1851}",
    };
    static const char *const sources[][2] = {
        {"csv: {paths: [whole.gz]}", "csv: {paths: [cut.gz]}"},
        {"mix: {sources: [{csv: {paths: [whole.gz]}}], weights: [1]}",
         "mix: {sources: [{csv: {paths: [cut.gz]}}], weights: [1]}"},
    };

    (void)state;
    write_whole_and_cut();
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        for (size_t k = 0; k < sizeof(sources) / sizeof(sources[0]); k++)
            for (int n = 0; n < 8; n++) {
                struct drive how = n ? random_drive() : (struct drive){.grows_late = true};
                struct driven whole, cut;

                how.options.n_epochs = 3;
                whole = run_file(sources[k][0], orders[i], &how);
                cut = run_file(sources[k][1], orders[i], &how);
                assert_string_equal(whole.error.message, "");
                assert_string_equal(cut.error.message, "");
                assert_int_equal(cut.n_epochs, 3);
                assert_string_equal(cut.digest, whole.digest);
            }
}

/* An epoch that needs a row behind the damage gives the error. */
static void test_damage_within_is_met(void **state) {
    struct drive how = {.options = {.n_epochs = 2}};

    (void)state;
    write_whole_and_cut();
    assert_int_equal(run_file("csv: {paths: [cut.gz]}", "- take: {count: 2001}", &how).error.code,
                     -EBADMSG);
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- take: {count: 0}",
                  "x.yaml:5:23: streams.x.stages[0].take.count: 0 is outside "
                  "1..9000000000000000");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_rest_is_not_read),
                                       cmocka_unit_test(test_no_other_record_is_awaited),
                                       cmocka_unit_test(test_damage_behind_is_not_met),
                                       cmocka_unit_test(test_damage_within_is_met),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
