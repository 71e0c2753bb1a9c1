/* test_clip.c: pipeline/stages/clip.c. */
#include "tests/pipeline/shared_numpy.h"
#include "tests/pipeline/shared_stream.h"

static void test_numpy(void **state) {
    (void)state;
    check_numpy("clip");
}

static void test_shapes(void **state) {
    (void)state;
    check_rows("{\"a\": 3, \"x\": [1, -2.5], \"y\": []}\n{\"a\": -1, \"x\": [], \"y\": [4]}\n",
               "- clip: {input: a, min: 0}\n- clip: {input: x, output: z, max: 0.5}\n- clip: "
               "{input: y, max: 1, dtype: float16}",
               "{\"a\": 3, \"x\": [1.0, -2.5], \"y\": [], \"z\": [0.5, -2.5]}\n{\"a\": 0, \"x\": "
               "[], \"y\": [1.0], \"z\": []}\n");
    check_rows("{\"a\": -3}\n", "- clip: {input: a, min: 0.5, max: 9}", "{\"a\": 1}\n");
    check_rows("{\"a\": 2.5}\n", "- clip: {input: a, min: 0, max: 2, dtype: int32}",
               "{\"a\": 2}\n");
}

static void test_bad_records(void **state) {
    (void)state;
    check_rows("{\"a\": 300}\n", "- clip: {input: a, min: 0, dtype: uint8}",
               "in.jsonl:1: clip.a: 300 does not fit uint8\n");
    check_rows("{\"a\": 1.5}\n", "- clip: {input: a, min: 0, dtype: int32}",
               "in.jsonl:1: clip.a: 1.5 is not a whole number, but int32 needs one\n");
    check_rows("a,e\nnan,\n",
               "- cast: {input: a, dtype: float32}\n- clip: {input: a, min: 0, nan: fail}\n- "
               "select: {fields: [a]}",
               "in.csv:2: clip.a: is NaN: to replace it with a number, set `nan: default`\n");
    check_rows("a,e\nnan,\n",
               "- cast: {input: a, dtype: float32}\n- clip: {input: a, min: 0, nan: default, "
               "default: -1}\n- select: {fields: [a]}",
               "{\"a\": -1.0}\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- clip: {input: a}",
                  "x.yaml:5:9: streams.x.stages[0].clip: clips nothing: set `min`, `max` or both");
    check_refused("{\"a\": 1}\n", "- clip: {input: a, min: 2, max: 1}",
                  "x.yaml:5:39: streams.x.stages[0].clip.max: 1 is less than `min` (2)");
    check_refused("{\"a\": 1}\n", "- clip: {input: a, min: nan}",
                  "x.yaml:5:31: streams.x.stages[0].clip.min: must not be NaN: give a number");
    check_refused("{\"a\": 1}\n", "- clip: {input: a, min: 0.2, max: 0.7}",
                  "x.yaml:5:9: streams.x.stages[0].clip: no whole number lies between 0.2 and 0.7: "
                  "set `dtype` to a float type");
    check_refused("{\"a\": 1}\n", "- clip: {input: a, min: 1e19}",
                  "x.yaml:5:9: streams.x.stages[0].clip: no whole number lies between 1e+19 and "
                  "inf: set `dtype` to a float type");
    check_refused(
        "{\"a\": 1}\n", "- clip: {input: a, min: 0, nan: default, default: 0.5}",
        "x.yaml:5:57: streams.x.stages[0].clip.default: 0.5 is not a value of type int64");
    check_refused("{\"a\": 1}\n", "- clip: {input: a, min: 0, default: 1}",
                  "x.yaml:5:43: streams.x.stages[0].clip.default: works only with `nan: default`");
    check_refused("{\"a\": 1}\n", "- clip: {input: a, min: 0, nan: default}",
                  "x.yaml:5:39: streams.x.stages[0].clip.nan: `nan: default` needs a number: set "
                  "`default`, for example to 0");
    check_refused("{\"a\": 1}\n", "- clip: {input: a, min: 0, nan: default, default: nan}",
                  "x.yaml:5:57: streams.x.stages[0].clip.default: must not be NaN: give a number, "
                  "or set `nan: keep`");
    check_refused(
        "a\n1\n", "- clip: {input: a, min: 0}",
        "x.yaml:5:23: streams.x.stages[0].clip.input: \"a\" is text: `cast` it to float32 first");
    check_refused("{\"x\": [1]}\n",
                  "- pad: {input: x, length: 2, value: 0}\n- clip: {input: x, min: 0}",
                  "x.yaml:6:23: streams.x.stages[1].clip.input: \"x\" is already padded: put "
                  "`clip` before `pad` or `pack`");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
