/* test_batch.c: pipeline/stages/batch.c and prefetch.c: sizes of batches and rings, and where they
 * may stand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/pipeline/shared_documents.h"

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

/* ---- by tokens ---- */

struct budget {
    uint64_t max_tokens, max_rows, n_rows;
};

static void check_budget(const struct leat_output *output, void *user) {
    struct budget *budget = user;
    const struct leat_slot_tensor *tensor = batch_descriptor(output, "ids");

    assert_int_equal(tensor->shape[0], output->n_rows);
    assert_true(tensor->shape[0] * tensor->shape[1] <= budget->max_tokens);
    assert_true(output->n_rows <= budget->max_rows);
    assert_true(output->used_bytes <= output->slot.size_bytes);
    budget->n_rows += output->n_rows;
}

static void test_tokens(void **state) {
    static const struct {
        const char *pad, *batch;
        struct budget budget;
    } cases[] = {
        {"longest: true", "max_tokens: 500", {.max_tokens = 500, .max_rows = 500}},
        {"longest: true", "max_tokens: 5000, max_rows: 7", {.max_tokens = 5000, .max_rows = 7}},
        {"multiple_of: 64", "max_tokens: 320", {.max_tokens = 320, .max_rows = 320}},
        {"length: 300", "max_tokens: 1000", {.max_tokens = 1000, .max_rows = 3}},
    };

    (void)state;
    write_documents(700, 300);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct budget budget = cases[i].budget;
        struct drive how = {.options = {.n_epochs = 1}, .on_batch = check_budget, .user = &budget};
        struct leat_plan *plan;
        struct driven driven;
        char stages[256];

        (void)snprintf(stages, sizeof(stages),
                       "- pad: {input: ids, %s, value: 0, mask: m}\n- select: {fields: [ids, m, "
                       "id]}\n- batch: {%s}",
                       cases[i].pad, cases[i].batch);
        plan = stream_plan(DOCUMENTS, "", stages);
        assert_true(plan->is_bounded);
        assert_int_equal(plan->batch_size, budget.max_rows);
        assert_true(plan->slot_bytes <= 1024 + budget.max_tokens * (8 + 4) + budget.max_rows * 8);
        leat_plan_unref(plan);
        driven = drive_stream(DOCUMENTS, "", stages, &how);
        assert_string_equal(driven.error.message, "");
        assert_int_equal(driven.n_growths, 0);
        assert_int_equal(budget.n_rows, 700);
        check_one_sequence(DOCUMENTS, stages);
    }
}

static void test_tokens_are_too_many(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;
    const char *stages = "- pad: {input: ids, longest: true, value: 0}\n"
                         "- select: {fields: [ids]}\n- batch: {max_tokens: 3}";

    (void)state;
    folder_print("docs.jsonl", "{\"ids\": [1, 2, 3]}\n{\"ids\": [1, 2, 3, 4]}\n{\"ids\": []}\n");
    driven = drive_stream(DOCUMENTS, "", stages, &how);
    assert_string_equal(driven.error.message,
                        "has 4 elements, more than batch.max_tokens 3: cut it with max_length");
    assert_int_equal(driven.error.line, 2);
    assert_int_equal(driven.n_rows, 1);
    driven = drive_stream(DOCUMENTS, "on_error: skip", stages, &how);
    assert_int_equal(driven.n_rows, 2);
    assert_int_equal(driven.n_batches, 2);
}

static void test_tokens_refused(void **state) {
    static const struct {
        const char *stages, *error;
    } cases[] = {
        {"- batch: {drop_last: true}",
         "x.yaml:5:9: streams.x.stages[0].batch: batch_size is missing: give the number of rows "
         "per batch, or `max_tokens`"},
        {"- batch: {batch_size: 2, max_tokens: 3}",
         "x.yaml:5:44: streams.x.stages[0].batch.max_tokens: give `batch_size` or `max_tokens`, "
         "not both; to limit the rows too, give `max_rows` with `max_tokens`"},
        {"- batch: {batch_size: 2, max_rows: 3}",
         "x.yaml:5:42: streams.x.stages[0].batch.max_rows: works only with `max_tokens`"},
        {"- select: {fields: [a]}\n- batch: {max_tokens: 3}",
         "x.yaml:6:29: streams.x.stages[1].batch.max_tokens: the records have no list whose "
         "elements could count as tokens: give `batch_size`, not `max_tokens`"},
        {"- pad: {input: x, length: 9, value: 0}\n- batch: {max_tokens: 8}",
         "x.yaml:6:29: streams.x.stages[1].batch.max_tokens: 8 is less than the 9 elements that a "
         "row of \"x\" may have"},
        {"- batch: {max_tokens: 8, tokens_of: a}",
         "x.yaml:5:43: streams.x.stages[0].batch.tokens_of: \"a\" is not a list of numbers"},
        {"- batch: {max_tokens: 8}", "x.yaml:5:9: streams.x.stages[0].batch: rows of the field "
                                     "\"x\" have different lengths: `pad` it before `batch`"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_refused("{\"a\": 1, \"x\": [1]}\n", cases[i].stages, cases[i].error);
}

static void test_refused(void **state) {
    static const struct {
        const char *stages, *error;
    } cases[] = {
        {"- batch: {batch_size: 2}\n- take: {count: 1}",
         "x.yaml:6:9: streams.x.stages[1].take: must come before `batch`"},
        {"- batch: {batch_size: 2}\n- batch: {batch_size: 3}",
         "x.yaml:6:9: streams.x.stages[1].batch: a stream can have only one `batch`"},
        {"- prefetch: {prefetch_size: 2}\n- batch: {batch_size: 3}",
         "x.yaml:6:9: streams.x.stages[1].batch: must come before `prefetch`"},
        {"- batch: {batch_size: 2}\n- prefetch: {prefetch_size: 2}\n- prefetch: {prefetch_size: 2}",
         "x.yaml:7:9: streams.x.stages[2].prefetch: a stream can have only one `prefetch`"},
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),          cmocka_unit_test(test_rings),
        cmocka_unit_test(test_tokens),         cmocka_unit_test(test_tokens_are_too_many),
        cmocka_unit_test(test_tokens_refused), cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
