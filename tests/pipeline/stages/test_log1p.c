/* test_log1p.c: pipeline/stages/log1p.c. */
#include "tests/pipeline/shared_numpy.h"
#include "tests/pipeline/shared_stream.h"

static void test_numpy(void **state) {
    (void)state;
    check_numpy("log1p");
}

static void test_nan(void **state) {
    (void)state;
    check_rows("{\"a\": -2}\n", "- log1p: {input: a}", "{\"a\": null}\n");
    check_rows(
        "{\"a\": -2}\n", "- log1p: {input: a, nan: fail}",
        "in.jsonl:1: log1p.a: -2.0 becomes NaN: to replace it with a number, set `nan: default`\n");
    check_rows("{\"a\": [0, -2]}\n", "- log1p: {input: a, output: b, nan: default, default: -1}",
               "{\"a\": [0, -2], \"b\": [0.0, -1.0]}\n");
    check_rows("{\"a\": -1}\n", "- log1p: {input: a, nan: fail}", "{\"a\": null}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_nan),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
