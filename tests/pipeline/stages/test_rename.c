/* test_rename.c: pipeline/stages/rename.c. */
#include "tests/pipeline/shared_stream.h"

static void test_one_after_the_other(void **state) {
    (void)state;
    check_rows("a,b\n1,2\n", "- rename: {fields: {a: x}}", "{\"x\": \"1\", \"b\": \"2\"}\n");
    check_rows("a,b\n1,2\n", "- rename: {fields: {a: t, b: a, t: b}}", /* swaps */
               "{\"b\": \"1\", \"a\": \"2\"}\n");
    check_rows("a,b\n1,2\n", "- rename: {fields: {a: a}}", "{\"a\": \"1\", \"b\": \"2\"}\n");
    check_rows("a,b\n1,2\n",
               "- rename: {fields: {a: x}}\n- cast: {input: x, output: a, dtype: int32}",
               "{\"x\": \"1\", \"b\": \"2\", \"a\": 1}\n");
}

/* A mask follows its list under another name. */
static void test_masks(void **state) {
    (void)state;
    check_rows("{\"x\": [1]}\n",
               "- pad: {input: x, length: 2, value: 0, mask: m}\n"
               "- rename: {fields: {m: attention, x: \"a \\\"b\\\"\"}}",
               "{\"a \\\"b\\\"\": [1], \"attention\": \"(mask of x: only in batches)\"}\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("a,b\n1,2\n", "- rename: {fields: {a: b}}",
                  "x.yaml:5:26: streams.x.stages[0].rename.fields: cannot rename \"a\" to \"b\": "
                  "that field already exists");
    check_refused("a,b\n1,2\n", "- rename: {fields: {zzzzzz: b}}",
                  "x.yaml:5:26: streams.x.stages[0].rename.fields: there is no field \"zzzzzz\" "
                  "here: the fields are a, b");
    check_refused("a,b\n1,2\n", "- rename: {fields: {a: \"\"}}",
                  "x.yaml:5:26: streams.x.stages[0].rename.fields: the name of a field may have 1 "
                  "to 63 bytes; this one has 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_after_the_other),
                                       cmocka_unit_test(test_masks),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
