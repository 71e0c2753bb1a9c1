/* test_shuffle.c: pipeline/stages/shuffle.c: a permutation within a window, and a fixed one: what
 * order a seed gives is part of the contract (tests/reference/ has the same). The oracle of
 * test_run.c covers chains. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_documents.h"

static void write_ids(int64_t n) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "id\n");
    for (int64_t id = 0; id < n; id++)
        leat_text_add(&text, "%lld\n", (long long)id);
    folder_write("ids.csv", text.data, text.n_bytes);
    free(text.data);
}

static struct collected run(const char *shuffle, uint64_t first_epoch, uint64_t n_epochs) {
    struct collected ids = {.name = "id"};
    struct drive how = {.options = {.first_epoch = first_epoch, .n_epochs = n_epochs},
                        .on_batch = collect,
                        .user = &ids};
    struct leat_text stages = {.data = NULL};

    leat_text_add(&stages, "- cast: {input: id, dtype: int64}\n%s\n- batch: {batch_size: 50}",
                  shuffle);
    assert_string_equal(
        drive_stream("csv: {paths: [ids.csv]}", "", stages.data, &how).error.message, "");
    free(stages.data);
    return ids;
}

/* No record comes earlier than the window allows; each comes once. */
static void test_window(void **state) {
    static const int sizes[] = {1, 2, 10, 99, 100, 101, 1000};

    (void)state;
    write_ids(100);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char shuffle[64];
        bool is_seen[100] = {false};
        struct collected ids;

        (void)snprintf(shuffle, sizeof(shuffle), "- shuffle: {buffer_size: %d, seed: 4}", sizes[i]);
        ids = run(shuffle, 0, 1);
        assert_int_equal(ids.n_values, 100);
        for (int64_t k = 0; k < 100; k++) {
            assert_false(is_seen[ids.values[k]]);
            is_seen[ids.values[k]] = true;
            assert_true(ids.values[k] < k + sizes[i]);
            assert_true(sizes[i] > 1 || ids.values[k] == k);
        }
        collected_free(&ids);
    }
}

/* All 6 orders of three records are about equally frequent over epochs. */
static void test_is_fair(void **state) {
    unsigned counts[27] = {0};
    struct collected ids;

    (void)state;
    write_ids(3);
    ids = run("- shuffle: {buffer_size: 3}", 0, 6000);
    assert_int_equal(ids.n_values, 18000);
    for (size_t i = 0; i < ids.n_values; i += 3)
        counts[ids.values[i] * 9 + ids.values[i + 1] * 3 + ids.values[i + 2]]++;
    for (size_t i = 0; i < 27; i++)
        assert_true(counts[i] == 0 || (counts[i] > 880 && counts[i] < 1120)); /* 4 sigma */
    collected_free(&ids);
}

static void test_epochs(void **state) {
    struct collected a, b, c;

    (void)state;
    write_ids(100);
    a = run("- shuffle: {buffer_size: 100}", 0, 2);
    b = run("- shuffle: {buffer_size: 100}", 1, 1);
    assert_memory_not_equal(a.values, a.values + 100, 800);
    assert_memory_equal(a.values + 100, b.values, 800); /* an epoch does not depend on others */
    c = run("- shuffle: {buffer_size: 100, reshuffle_each_epoch: false}", 3, 2);
    assert_memory_equal(c.values, c.values + 100, 800);
    assert_memory_equal(c.values, a.values, 800);
    collected_free(&a);
    collected_free(&b);
    collected_free(&c);
}

/* The seed of the stage decides the order. */
static void test_seeds(void **state) {
    struct collected first, again, other;

    (void)state;
    write_ids(100);
    first = run("- shuffle: {buffer_size: 100, seed: 1}", 0, 1);
    again = run("- shuffle: {buffer_size: 100, seed: 1}", 0, 1);
    other = run("- shuffle: {buffer_size: 100, seed: 2}", 0, 1);
    assert_memory_equal(first.values, again.values, 800);
    assert_memory_not_equal(first.values, other.values, 800);
    collected_free(&first);
    collected_free(&again);
    collected_free(&other);
}

/* Two shuffles of one spec, with the same seed, draw differently. */
static void test_several(void **state) {
    struct collected once, twice;

    (void)state;
    write_ids(100);
    once = run("- shuffle: {buffer_size: 100}", 0, 1);
    twice = run("- shuffle: {buffer_size: 1}\n- shuffle: {buffer_size: 100}", 0, 1);
    assert_memory_not_equal(once.values, twice.values, 800);
    collected_free(&once);
    collected_free(&twice);
}

/* All of a pass: the same as a reservoir that holds all; in other epochs and passes another order.
 */
static void test_global(void **state) {
    struct collected whole, large, epochs;
    uint64_t n_far = 0;

    (void)state;
    write_ids(5000);
    whole = run("- shuffle: {global: true, seed: 4}", 0, 1);
    large = run("- shuffle: {buffer_size: 5000, seed: 4}", 0, 1);
    assert_int_equal(whole.n_values, 5000);
    assert_memory_equal(whole.values, large.values, 5000 * sizeof(*whole.values));
    for (int64_t i = 0; i < 5000; i++)
        n_far += whole.values[i] > i + 2500;
    assert_in_range(n_far, 500, 750); /* an eighth */
    epochs = run("- shuffle: {global: true, seed: 4}\n- repeat: {count: 2}", 0, 1);
    assert_memory_equal(epochs.values, whole.values, 5000 * sizeof(*whole.values));
    assert_memory_not_equal(epochs.values + 5000, whole.values, 5000 * sizeof(*whole.values));
    collected_free(&whole);
    collected_free(&large);
    collected_free(&epochs);
    write_documents(600, 60);
    check_one_sequence(DOCUMENTS,
                       "- shuffle: {global: true}\n- select: {fields: [id]}\n- batch: {batch_size: "
                       "7}");
    check_one_sequence(DOCUMENTS, "- pack: {fields: ids, length: 90, value: 0}\n"
                                  "- shuffle: {global: true}\n- batch: {batch_size: 3}");
}

static void test_global_is_bounded(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    write_documents(4000, 300);
    driven = drive_stream(DOCUMENTS, "",
                          "- shuffle: {global: true, max_bytes: 1MiB}\n"
                          "- pad: {input: ids, length: 300, value: 0}\n- select: {fields: [ids]}\n"
                          "- batch: {batch_size: 10}",
                          &how);
    assert_int_equal(driven.error.code, -ENOSPC);
    assert_non_null(strstr(driven.error.message, "more than max_bytes (1048576)"));
    assert_int_equal(driven.n_batches, 0);
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- shuffle: {buffer_size: 0}",
                  "x.yaml:5:32: streams.x.stages[0].shuffle.buffer_size: 0 is outside 1..1048576");
    check_refused("{\"a\": 1}\n", "- shuffle: {seed: 1}",
                  "x.yaml:5:9: streams.x.stages[0].shuffle: buffer_size is missing: give the "
                  "number of records in the reservoir, or set `global: true`");
    check_refused("{\"a\": 1}\n", "- shuffle: {global: true, buffer_size: 5}",
                  "x.yaml:5:46: streams.x.stages[0].shuffle.buffer_size: `global` already shuffles "
                  "all records: remove one of the two");
    check_refused("{\"a\": 1}\n", "- shuffle: {max_bytes: 5MiB, buffer_size: 5}",
                  "x.yaml:5:30: streams.x.stages[0].shuffle.max_bytes: works only with `global`");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_is_fair),
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_global),
        cmocka_unit_test(test_global_is_bounded),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
