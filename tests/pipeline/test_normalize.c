/* test_normalize.c: pipeline/stages/normalize.c. */
#include "tests/pipeline/shared_stream.h"

static void test_numbers(void **state) {
    (void)state;
    check_rows("{\"a\": 3, \"x\": [1, 2.5], \"y\": []}\n{\"a\": -1, \"x\": [], \"y\": [4]}\n",
               "- normalize: {input: a, mean: 1, std: 2}\n- normalize: {input: x, output: z, std: "
               "0.5}\n- normalize: {input: y}",
               "{\"a\": 1.0, \"x\": [1.0, 2.5], \"y\": [], \"z\": [2.0, 5.0]}\n"
               "{\"a\": -1.0, \"x\": [], \"y\": [4.0], \"z\": []}\n");
    check_rows("{\"a\": 1}\n", "- normalize: {input: a, mean: 0, std: 1e-300}", "{\"a\": null}\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("a\n1\n", "- normalize: {input: a}",
                  "x.yaml:5:28: streams.x.stages[0].normalize.input: \"a\" is text: `cast` it to "
                  "float32 first");
    check_refused("{\"x\": [1]}\n",
                  "- pad: {input: x, length: 2, value: 0}\n- normalize: {input: x}",
                  "x.yaml:6:28: streams.x.stages[1].normalize.input: \"x\" is padded: normalize it "
                  "before `pad`");
    check_refused("{\"a\": 1}\n", "- normalize: {input: a, std: 0}",
                  "x.yaml:5:36: streams.x.stages[0].normalize.std: 0 is outside 1e-300..1e+300");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
