/* test_cast.c: pipeline/stages/cast.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

static void test_texts(void **state) {
    (void)state;
    check_rows("a\n1\n-7\n+3\n", "- cast: {input: a, dtype: int32}",
               "{\"a\": 1}\n{\"a\": -7}\n{\"a\": 3}\n");
    check_rows("a\n1\n0.1\n-2e3\n", "- cast: {input: a, dtype: float16}",
               "{\"a\": 1.0}\n{\"a\": 0.0999755859375}\n{\"a\": -2000.0}\n");
    check_rows("a\ntrue\n0\n1\nno\n", "- cast: {input: a, output: b, dtype: bool}",
               "{\"a\": \"true\", \"b\": true}\n{\"a\": \"0\", \"b\": false}\n"
               "{\"a\": \"1\", \"b\": true}\n{\"a\": \"no\", \"b\": false}\n");
    check_rows("a\n9223372036854775807\n", "- cast: {input: a, dtype: int64}",
               "{\"a\": 9223372036854775807}\n");
}

static void test_bad_texts(void **state) {
    static const struct {
        const char *dtype, *text, *error;
    } cases[] = {
        {"int32", "1.5", "\"1.5\" is not a value of type int32"},
        {"int32", "2147483648", "2147483648 does not fit int32"},
        {"uint8", "-1", "-1 does not fit uint8"},
        {"uint8", "256", "256 does not fit uint8"},
        {"int8", "128", "128 does not fit int8"},
        {"int16", "-32769", "-32769 does not fit int16"},
        {"uint16", "65536", "65536 does not fit uint16"},
        {"int64", "9223372036854775808", "9223372036854775808 does not fit int64"},
        {"bool", "2", "2 does not fit bool"},
        {"bool", "maybe", "\"maybe\" is not a value of type bool"},
        {"float32", "1,5", "\"1,5\" is not a value of type float32"},
        {"float32", "x", "\"x\" is not a value of type float32"},
        {"int32", "", "is empty: give `default` to cast it to int32"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char data[128], stages[128], expected[256];

        (void)snprintf(data, sizeof(data), "a,b\n\"%s\",x\n", cases[i].text);
        (void)snprintf(stages, sizeof(stages), "- cast: {input: a, dtype: %s}", cases[i].dtype);
        (void)snprintf(expected, sizeof(expected), "in.csv:2: cast.a: %s\n", cases[i].error);
        check_rows(data, stages, expected);
    }
}

static void test_default_and_map(void **state) {
    (void)state;
    check_rows("a,b\n1,\n,x\n", "- cast: {input: a, dtype: int64, default: -100}",
               "{\"a\": 1, \"b\": \"\"}\n{\"a\": -100, \"b\": \"x\"}\n");
    check_rows("s\nmale\nfemale\nmale\n",
               "- cast: {input: s, dtype: uint8, map: {male: 0, female: 1}}",
               "{\"s\": 0}\n{\"s\": 1}\n{\"s\": 0}\n");
    check_rows("s,t\nb,1\nother,2\n,3\n",
               "- cast: {input: s, dtype: int32, default: 9, map: {a: 1, b: 2, \"\": 3}}\n"
               "- select: {fields: [s]}",
               "{\"s\": 2}\n{\"s\": 9}\n{\"s\": 3}\n");
    check_rows("s\nb\n", "- cast: {input: s, dtype: int32, map: {a: 1}}",
               "in.csv:2: cast.s: \"b\" is not in the map: add it there, or give `default`\n");
    check_rows("s,t\n,1\n", "- cast: {input: s, dtype: int32, map: {a: 1}}",
               "in.csv:2: cast.s: is empty: give `default` to cast it to int32\n");
}

/* Thousands of keys: each finds its own value, and in less than linear time. */
static void test_large_map(void **state) {
    struct leat_text stages = {.data = NULL}, data = {.data = NULL}, expected = {.data = NULL};

    (void)state;
    leat_text_add(&stages, "- cast: {input: k, dtype: int32, map: {");
    for (int i = 0; i < 20000; i++)
        leat_text_add(&stages, "%sk%d: %d", i ? ", " : "", i, i * 3);
    leat_text_add(&stages, "}}");
    leat_text_add(&data, "k\n");
    for (int i = 0; i < 1000; i++) {
        leat_text_add(&data, "k%d\n", i * 7919 % 20000);
        leat_text_add(&expected, "{\"k\": %d}\n", i * 7919 % 20000 * 3);
    }
    check_rows(data.data, stages.data, expected.data);
    free(stages.data);
    free(data.data);
    free(expected.data);
}

static void test_numbers_and_lists(void **state) {
    (void)state;
    check_rows("{\"a\": 3, \"b\": 2.0, \"x\": [1, 2, 255], \"y\": []}\n",
               "- cast: {input: a, dtype: uint8}\n- cast: {input: b, dtype: int32}\n"
               "- cast: {input: x, output: z, dtype: uint8}\n- cast: {input: x, dtype: float32}",
               "{\"a\": 3, \"b\": 2, \"x\": [1.0, 2.0, 255.0], \"y\": [], \"z\": [1, 2, 255]}\n");
    check_rows("{\"a\": 300}\n", "- cast: {input: a, dtype: uint8}",
               "in.jsonl:1: cast.a: 300 does not fit uint8\n");
    check_rows("{\"a\": 0.5}\n", "- cast: {input: a, dtype: int64}",
               "in.jsonl:1: cast.a: 0.5 is not a whole number, but int64 needs one\n");
    check_rows("{\"x\": [1, -1]}\n", "- cast: {input: x, dtype: uint16}",
               "in.jsonl:1: cast.x: -1 does not fit uint16\n");
}

/* Floats may round fractions, but with `exact` no whole number. */
static void test_exact(void **state) {
    (void)state;
    check_rows("a\n16777217\n", "- cast: {input: a, dtype: float32}", "{\"a\": 16777216.0}\n");
    check_rows("a\n16777217\n", "- cast: {input: a, dtype: float32, exact: true}",
               "in.csv:2: cast.a: float32 would round 16777217\n");
    check_rows("a\n1e39\n", "- cast: {input: a, dtype: float32, exact: true}",
               "in.csv:2: cast.a: 1e39 does not fit float32\n");
    check_rows("a\n16777216\n0.1\n-1e30\n", "- cast: {input: a, dtype: float32, exact: true}",
               "{\"a\": 16777216.0}\n{\"a\": 0.10000000149011612}\n"
               "{\"a\": -1.0000000150474662e+30}\n");
    check_rows("{\"a\": 9007199254740993}\n", "- cast: {input: a, dtype: float64, exact: true}",
               "in.jsonl:1: cast.a: float64 would round 9007199254740993\n");
    check_rows("{\"x\": [0.5, 16777217.0]}\n", "- cast: {input: x, dtype: float32, exact: true}",
               "in.jsonl:1: cast.x: float32 would round 16777217.0\n");
    check_rows("a\n9007199254740993\n", "- cast: {input: a, dtype: int64, exact: true}",
               "{\"a\": 9007199254740993}\n");
}

static void test_every_dtype(void **state) {
    (void)state;
    check_rows("a\n-128\n",
               "- cast: {input: a, output: b, dtype: int8}\n"
               "- cast: {input: a, output: c, dtype: int16}\n"
               "- cast: {input: a, dtype: float64}",
               "{\"a\": -128.0, \"b\": -128, \"c\": -128}\n");
    check_rows("a\n0.1\n", "- cast: {input: a, dtype: float64}", "{\"a\": 0.1}\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("a\n1\n", "- cast: {input: a, dtype: int7}",
                  "x.yaml:5:33: streams.x.stages[0].cast.dtype: \"int7\" is not one of float32, "
                  "float64, float16, bfloat16, int32, int64, int16, int8, uint16, uint8, bool");
    check_refused(
        "a\n1\n", "- cast: {input: a, dtype: uint8, default: -1}",
        "x.yaml:5:49: streams.x.stages[0].cast.default: \"-1\" is not a value of type uint8");
    check_refused(
        "a\n1\n", "- cast: {input: a, dtype: uint8, map: {x: 256}}",
        "x.yaml:5:45: streams.x.stages[0].cast.map: \"256\" is not a value of type uint8");
    check_refused("{\"a\": 1}\n", "- cast: {input: a, dtype: uint8, map: {x: 2}}",
                  "x.yaml:5:45: streams.x.stages[0].cast.map: \"a\" is not text");
    check_refused("{\"x\": [1]}\n",
                  "- pad: {input: x, length: 2, value: -1}\n- cast: {input: x, dtype: uint8}",
                  "x.yaml:6:33: streams.x.stages[1].cast.dtype: the padding of the field is -1, "
                  "which is not a value of type uint8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_bad_texts),
        cmocka_unit_test(test_default_and_map),
        cmocka_unit_test(test_large_map),
        cmocka_unit_test(test_numbers_and_lists),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_every_dtype),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
