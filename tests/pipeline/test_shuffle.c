/* test_shuffle.c: pipeline/stages/shuffle.c: a permutation within a window, and a fixed one: what
 * order a seed gives is part of the contract (tests/reference/ has the same). The oracle of
 * test_run.c covers chains. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

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

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- shuffle: {buffer_size: 0}",
                  "x.yaml:5:32: streams.x.stages[0].shuffle.buffer_size: 0 is outside 1..1048576");
    check_refused("{\"a\": 1}\n", "- shuffle: {seed: 1}",
                  "x.yaml:5:9: streams.x.stages[0].shuffle: buffer_size is missing: records in the "
                  "reservoir; a record moves forward by at most that many");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),  cmocka_unit_test(test_is_fair),
        cmocka_unit_test(test_epochs),  cmocka_unit_test(test_several),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
