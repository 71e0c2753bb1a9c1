/* test_bin.c: pipeline/stages/bin.c. */
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_numpy.h"
#include "tests/pipeline/shared_stream.h"

static void test_numpy(void **state) {
    (void)state;
    check_numpy("bin");
}

static void test_nan(void **state) {
    (void)state;
    check_rows("a,e\nnan,\n",
               "- cast: {input: a, dtype: float32}\n- bin: {input: a, edges: [0]}\n- select: "
               "{fields: [a]}",
               "in.csv:2: bin.a: is NaN: to replace it with a number, set `nan: default`\n");
    check_rows("a,e\nnan,\n",
               "- cast: {input: a, dtype: float32}\n- bin: {input: a, edges: [0], nan: default, "
               "default: 7}\n- select: {fields: [a]}",
               "{\"a\": 7}\n");
    check_rows("{\"x\": [1, 2, 3]}\n", "- bin: {input: x, edges: [2]}", "{\"x\": [0, 1, 1]}\n");
    check_rows("{\"x\": 5}\n", "- bin: {input: x, edges: 2}", "{\"x\": 1}\n");
}

static void test_many_edges(void **state) {
    struct leat_text edges = {.data = NULL};

    (void)state;
    leat_text_add(&edges, "- bin: {input: a, edges: [0");
    for (int i = 1; i < 2000; i++)
        leat_text_add(&edges, ", %d", i * 2);
    leat_text_add(&edges, "], dtype: uint16}");
    check_rows("{\"a\": 7}\n{\"a\": -1}\n{\"a\": 1e9}\n", edges.data,
               "{\"a\": 4}\n{\"a\": 0}\n{\"a\": 2000}\n");
    free(edges.data);
}

/* One bin more than uint8 holds. */
static void check_many(void) {
    struct leat_text edges = {.data = NULL};

    leat_text_add(&edges, "- bin: {input: a, edges: [0");
    for (int i = 1; i < 256; i++)
        leat_text_add(&edges, ", %d", i);
    leat_text_add(&edges, "], dtype: uint8}");
    assert_non_null(
        strstr(stream_error("jsonl: {paths: [in.jsonl]}", "", edges.data),
               "bin.dtype: bin numbers up to 256 do not fit uint8: give a larger dtype"));
    free(edges.data);
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- bin: {input: a, edges: [1, x]}",
                  "x.yaml:5:32: streams.x.stages[0].bin.edges: \"x\" is not a number");
    check_refused("{\"a\": 1}\n", "- bin: {input: a, edges: [nan]}",
                  "x.yaml:5:32: streams.x.stages[0].bin.edges: \"nan\" is not a number");
    check_refused(
        "{\"a\": 1}\n", "- bin: {input: a, edges: [1, 1.0]}",
        "x.yaml:5:32: streams.x.stages[0].bin.edges: 1.0 follows 1, but the edges must increase");
    check_refused("{\"a\": 1}\n", "- bin: {input: a, edges: []}",
                  "x.yaml:5:32: streams.x.stages[0].bin.edges: the list has 0 items, which is "
                  "outside 1..65535");
    check_refused("{\"a\": 1}\n", "- bin: {input: a, edges: [1], nan: default, default: 0.5}",
                  "x.yaml:5:60: streams.x.stages[0].bin.default: 0.5 is not a value of type int32");
    check_many();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_many_edges),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
