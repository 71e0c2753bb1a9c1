/* test_normalize.c: pipeline/stages/normalize/normalize.c. */
#include <stdio.h>
#include <string.h>

#include "tests/pipeline/shared_numpy.h"
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
                  "x.yaml:6:28: streams.x.stages[1].normalize.input: \"x\" is already padded: put "
                  "`normalize` before `pad` or `pack`");
    check_refused("{\"a\": 1}\n", "- normalize: {input: a, std: 0}",
                  "x.yaml:5:36: streams.x.stages[0].normalize.std: 0 is outside 1e-300..1e+300");
}

static void test_stats(void **state) {
    static const struct {
        const char *args, *error;
    } cases[] = {
        {"{input: b, stats: s.json}",
         "s.json: columns.b has no \"std\": choose a column of numbers"},
        {"{input: c, stats: s.json}",
         "s.json: column \"c\" has mean 1 and std 0: leat cannot normalize with these values"},
        {"{input: d, stats: s.json}", "s.json: columns.d.mean is a string, not a number"},
        {"{input: e, stats: s.json}", "s.json: has no column \"e\""},
        {"{input: a, stats: cut.json}", "cut.json:2:3: streams.x.stages[0].normalize.stats: "},
        {"{input: a, stats: list.json}", "list.json: has no \"columns\": give the output of"},
        {"{input: a, stats: none.json}", "none.json: No such file"},
        {"{input: a, stats: s.json, std: 2}", "normalize.std: `stats` already gives this value"},
        {"{input: a, mean: inf}", "normalize.mean: inf is not finite: give a number"},
    };

    (void)state;
    folder_print("s.json",
                 "{\"columns\": {\"a\": {\"mean\": 3, \"std\": 2.0}, \"b\": {\"mean\": 1}, "
                 "\"c\": {\"mean\": 1, \"std\": 0}, \"d\": {\"mean\": \"1\"}}}");
    folder_print("cut.json", "{\"columns\":\n [}");
    folder_print("list.json", "[]");
    folder_print("a.jsonl", "{\"a\": 1, \"b\": 1, \"c\": 1, \"d\": 1, \"e\": 1}\n");
    check_rows("{\"a\": 4}\n", "- normalize: {input: a, stats: s.json}", "{\"a\": 0.5}\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char stages[128];
        const char *error;

        (void)snprintf(stages, sizeof(stages), "- normalize: %s", cases[i].args);
        error = stream_error("jsonl: {paths: [a.jsonl]}", "", stages);
        if (!strstr(error, cases[i].error))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].error, error);
    }
}

static void test_numpy(void **state) {
    (void)state;
    check_numpy("normalize");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_stats),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
