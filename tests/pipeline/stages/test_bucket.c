/* test_bucket.c: pipeline/stages/bucket.c, pipeline/order/batcher.c, batcher_window.c: batches are
 * of one bucket, each row is in one, and the sequence is one. What it is exactly, tests/reference/
 * says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_documents.h"

#define LONGEST 300
#define N_ROWS  1500

#define END                                                                                        \
    "- pad: {input: ids, longest: true, value: -1}\n- select: {fields: [id, ids]}\n"               \
    "- batch: {batch_size: 16}"

struct seen {
    const uint64_t *boundaries; /* ended by UINT64_MAX; NULL: none */
    bool is_there[N_ROWS];
    uint64_t n_rows, n_elements, n_small;
    uint64_t n_jumps; /* batches that begin with shorter rows than the last ended with */
    uint32_t last;
};

static size_t bucket_of(const uint64_t *boundaries, uint32_t length) {
    size_t bucket = 0;

    while (boundaries[bucket] != UINT64_MAX && length > boundaries[bucket])
        bucket++;
    return bucket;
}

static void see(const struct leat_output *output, void *user) {
    struct seen *seen = user;
    uint64_t n;
    const int64_t *ids = batch_tensor(output, "id", LEAT_DTYPE_INT64, &n);
    uint32_t first = document_length((size_t)ids[0], LONGEST);

    assert_true(n <= 16);
    seen->n_small += n < 16;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t length = document_length((size_t)ids[i], LONGEST);

        assert_false(seen->is_there[ids[i]]);
        seen->is_there[ids[i]] = true;
        if (seen->boundaries)
            assert_int_equal(bucket_of(seen->boundaries, length),
                             bucket_of(seen->boundaries, first));
        seen->n_jumps += i == 0 && length < seen->last;
        seen->last = length;
    }
    seen->n_rows += n;
    (void)batch_tensor(output, "ids", LEAT_DTYPE_INT64, &n);
    seen->n_elements += n;
}

static void run(const char *bucket, struct seen *seen) {
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = see, .user = seen};
    char stages[512];

    (void)snprintf(stages, sizeof(stages), "%s\n" END, bucket);
    assert_string_equal(drive_stream(DOCUMENTS, "", stages, &how).error.message, "");
    assert_int_equal(seen->n_rows, N_ROWS);
}

static void test_boundaries(void **state) {
    static const uint64_t boundaries[] = {0, 10, 11, 50, 100, UINT64_MAX};
    struct seen seen = {.boundaries = boundaries}, plain = {.boundaries = NULL};

    (void)state;
    write_documents(N_ROWS, LONGEST);
    run("- bucket: {input: ids, boundaries: [0, 10, 11, 50, 100]}", &seen);
    run("", &plain);
    assert_true(seen.n_small <= 6); /* one of each bucket, at the end */
    assert_true(seen.n_elements * 3 < plain.n_elements * 2);
}

static void test_window(void **state) {
    struct seen sorted = {.last = 0}, shuffled = {.last = 0}, whole = {.last = 0};

    (void)state;
    write_documents(N_ROWS, LONGEST);
    run("- bucket: {input: ids, window: 300, shuffle: false}", &sorted);
    assert_int_equal(sorted.n_jumps, 4); /* from a window to the next */
    assert_int_equal(sorted.n_small, 1);
    run("- bucket: {input: ids, window: 300}", &shuffled);
    assert_true(shuffled.n_jumps > 20);
    assert_int_equal(shuffled.n_elements, sorted.n_elements);
    assert_int_equal(shuffled.n_small, 1);
    run("- bucket: {input: ids, window: 1048576, shuffle: false}", &whole);
    assert_int_equal(whole.n_jumps, 0);
    assert_true(whole.n_elements <= sorted.n_elements);
}

static void test_one_sequence(void **state) {
    static const char *const stages[] = {
        "- bucket: {input: ids, boundaries: [5, 40]}\n" END,
        "- shuffle: {buffer_size: 200}\n- bucket: {input: ids, window: 100, seed: 5}\n"
        "- filter: {input: id, min: 30}\n" END,
        "- repeat: {count: 2}\n- bucket: {input: ids, window: 70}\n"
        "- pad: {input: ids, multiple_of: 8, value: -1, mask: m}\n- select: {fields: [ids, m]}\n"
        "- batch: {max_tokens: 2000, drop_last: true}",
    };

    (void)state;
    write_documents(400, LONGEST);
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
        check_one_sequence(DOCUMENTS, stages[i]);
}

static void test_refused(void **state) {
    static const struct {
        const char *stages, *error;
    } cases[] = {
        {"- bucket: {input: x}", "x.yaml:5:9: streams.x.stages[0].bucket: give exactly one of "
                                 "`boundaries` (lengths) and `window` (rows)"},
        {"- bucket: {input: x, boundaries: [1], window: 5}",
         "x.yaml:5:53: streams.x.stages[0].bucket.window: give exactly one of `boundaries` "
         "(lengths) and `window` (rows)"},
        {"- bucket: {input: x, boundaries: [3, 3]}",
         "x.yaml:5:40: streams.x.stages[0].bucket.boundaries: 3 follows 3, but the boundaries must "
         "increase"},
        {"- bucket: {input: x, boundaries: [-1]}",
         "x.yaml:5:40: streams.x.stages[0].bucket.boundaries: \"-1\" is not a length: give whole "
         "numbers from 0 on"},
        {"- bucket: {input: x, boundaries: [99999999999999999999]}",
         "x.yaml:5:40: streams.x.stages[0].bucket.boundaries: \"99999999999999999999\" is not a "
         "length: give whole numbers from 0 on"},
        {"- bucket: {input: a, window: 5}",
         "x.yaml:5:25: streams.x.stages[0].bucket.input: \"a\" has one number per record and is "
         "not a list: `bucket` needs a list"},
        {"- bucket: {input: x, window: 5}\n- shuffle: {buffer_size: 5}",
         "x.yaml:6:9: streams.x.stages[1].shuffle: must come before `bucket`"},
        {"- bucket: {input: x, boundaries: [1], seed: 5}",
         "x.yaml:5:51: streams.x.stages[0].bucket.seed: works only with `window`"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_refused("{\"a\": 1, \"x\": [1]}\n", cases[i].stages, cases[i].error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boundaries), cmocka_unit_test(test_window),
        cmocka_unit_test(test_one_sequence), cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
