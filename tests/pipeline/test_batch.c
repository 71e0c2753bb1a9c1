/* test_batch.c: pipeline/stages/batch.c and prefetch.c: sizes of batches and rings, and where they
 * may stand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

static void add_size(const struct leat_output *output, void *user) {
    char *sizes = user;

    (void)snprintf(sizes + strlen(sizes), 64 - strlen(sizes), "%u ", output->n_rows);
}

static void check_sizes(const char *batch, uint64_t n_epochs, const char *expected) {
    char sizes[64] = "", stages[128];
    struct drive how = {.options = {.n_epochs = n_epochs}, .on_batch = add_size, .user = sizes};

    folder_print("ids.csv", "id\n0\n1\n2\n3\n4\n5\n6\n");
    (void)snprintf(stages, sizeof(stages), "- cast: {input: id, dtype: int64}\n%s", batch);
    (void)drive_stream("csv: {paths: [ids.csv]}", "", stages, &how);
    assert_string_equal(sizes, expected);
}

static void test_sizes(void **state) {
    (void)state;
    check_sizes("- batch: {batch_size: 3}", 2, "3 3 1 3 3 1 "); /* none goes over an epoch's end */
    check_sizes("- batch: {batch_size: 3, drop_last: true}", 2, "3 3 3 3 ");
    check_sizes("- batch: {batch_size: 7, drop_last: true}", 1, "7 ");
    check_sizes("- batch: {batch_size: 8, drop_last: true}", 1, "");
    check_sizes("- batch: {batch_size: 1048576}", 1, "7 ");
    check_sizes("- repeat: {count: 2}\n- batch: {batch_size: 5}", 1,
                "5 5 4 "); /* but over a pass */
    check_sizes("- take: {count: 2}", 1, "1 1 ");
}

static void check_slots(const char *stages, uint32_t least, uint32_t most) {
    struct leat_plan *plan = stream_plan("jsonl: {paths: [a.jsonl]}", "", stages);

    assert_in_range(plan->n_slots, least, most);
    leat_plan_unref(plan);
}

static void test_rings(void **state) {
    (void)state;
    folder_print("a.jsonl", "{\"a\": 1}\n");
    check_slots("- batch: {batch_size: 1}\n- prefetch: {prefetch_size: 1}", 16,
                1024); /* costs little */
    check_slots("- batch: {batch_size: 1}\n- prefetch: {prefetch_size: 500}", 500, 500);
    check_slots("- batch: {batch_size: 1048576}\n- prefetch: {prefetch_size: 3}", 3, 3);
    check_slots("- batch: {batch_size: 1048576}\n- prefetch: {prefetch_size: 1}", 2, 2);
    check_slots("- prefetch: {prefetch_size: 4096}", 4096, 4096);
}

static void test_refused(void **state) {
    static const struct {
        const char *stages, *error;
    } cases[] = {
        {"- batch: {batch_size: 2}\n- take: {count: 1}",
         "x.yaml:6:9: streams.x.stages[1].take: must stand before batch"},
        {"- batch: {batch_size: 2}\n- batch: {batch_size: 3}",
         "x.yaml:6:9: streams.x.stages[1].batch: must stand before batch"},
        {"- prefetch: {prefetch_size: 2}\n- batch: {batch_size: 3}",
         "x.yaml:6:9: streams.x.stages[1].batch: must stand before prefetch"},
        {"- batch: {batch_size: 2}\n- prefetch: {prefetch_size: 2}\n- prefetch: {prefetch_size: 2}",
         "x.yaml:7:9: streams.x.stages[2].prefetch: must stand before prefetch"},
        {"- batch: {batch_size: 0}",
         "x.yaml:5:29: streams.x.stages[0].batch.batch_size: 0 is outside 1..1048576"},
        {"- prefetch: {prefetch_size: 4097}",
         "x.yaml:5:35: streams.x.stages[0].prefetch.prefetch_size: 4097 is outside 1..4096"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_refused("{\"a\": 1}\n", cases[i].stages, cases[i].error);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_rings),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
