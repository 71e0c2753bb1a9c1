/* test_plan.c: pipeline/plan*.c, planner.c, explain.c: what runs where, what is needed, how large
 * it is, and errors with their paths. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/explain.h"
#include "pipeline/tokenizer/json.h"
#include "tests/pipeline/shared_stream.h"

#define DATA           "jsonl: {paths: [in.jsonl]}"
#define RECORD         "{\"a\": 1, \"b\": 2, \"t\": \"text\", \"x\": [1]}\n"
#define CAST(from, to) "- cast: {input: " from ", output: " to ", dtype: float32}\n"

static struct leat_plan *plan_of(const char *stages) {
    folder_print("in.jsonl", RECORD);
    return stream_plan(DATA, "", stages);
}

/* "cast:a cast:b | shuffle filter" : MAP, then ORDER */
static void check_places(const char *stages, const char *expected) {
    struct leat_plan *plan = plan_of(stages);
    struct leat_text text = {.data = NULL};

    for (size_t i = 0; i < plan->n_map; i++)
        leat_text_add(&text, "%s%zu ", plan->map[i]->ops->name, plan->map[i]->index);
    leat_text_add(&text, "|");
    for (size_t i = 0; i < plan->n_order; i++)
        leat_text_add(&text, " %s%zu", plan->order[i]->ops->name, plan->order[i]->index);
    assert_string_equal(text.data, expected);
    free(text.data);
    leat_plan_unref(plan);
}

static void test_dead_stages(void **state) {
    (void)state;
    check_places(CAST("a", "c") CAST("b", "d") "- select: {fields: [d]}", "cast1 |");
    check_places(CAST("a", "c") CAST("c", "d") "- select: {fields: [d]}", "cast0 cast1 |");
    check_places(CAST("a", "c") CAST("c", "c") "- select: {fields: [b]}", "|");
    check_places(CAST("a", "c") CAST("b", "c") "- select: {fields: [c]}", "cast1 |"); /* hidden */
    check_places(CAST("a", "c") "- filter: {input: c, min: 1}\n- select: {fields: [a]}",
                 "cast0 filter1 |"); /* a filter needs what it looks at */
    check_places(
        "- template: {output: p, parts: ['{a}']}\n- template: {output: q, parts: ['{p}']}\n"
        "- select: {fields: [a]}",
        "|");
    check_places("- pad: {input: x, length: 2, value: 0, mask: m}\n- select: {fields: [m]}",
                 "pad0 |"); /* a mask needs its list */
    check_places("- pad: {input: x, length: 2, value: 0, mask: m}\n- select: {fields: [x]}",
                 "pad0 |");
    check_places("- pad: {input: x, length: 2, value: 0, mask: m}\n- select: {fields: [a]}", "|");
}

static void test_hoisting(void **state) {
    (void)state;
    check_places("- shuffle: {buffer_size: 5}\n" CAST("a", "c") "- select: {fields: [c]}",
                 "cast1 | shuffle0");
    check_places("- filter: {input: a, min: 1}\n- take: {count: 5}\n- filter: {input: b, min: 1}\n"
                 "- shuffle: {buffer_size: 5}\n" CAST("a", "c") "- select: {fields: [c]}",
                 "filter0 filter2 cast4 | take1 filter2 shuffle3");
    check_places("- repeat: {count: 2}\n- filter: {input: a, min: 1}\n- select: {fields: [a]}",
                 "filter1 | repeat0 filter1");
}

static bool is_needed(const struct leat_plan *plan, const char *name) {
    for (size_t i = 0; i < plan->n_source_fields; i++)
        if (strcmp(plan->source_names[i], name) == 0)
            return plan->is_needed[plan->source_columns[i]];
    fail();
    return false;
}

static void test_needed_columns(void **state) {
    struct leat_plan *plan =
        plan_of(CAST("a", "c") "- take: {count: 1}\n"
                               "- filter: {input: t, empty: false}\n- select: {fields: [c]}");

    (void)state;
    assert_true(is_needed(plan, "a"));
    assert_false(is_needed(plan, "b"));
    assert_true(is_needed(plan, "t"));
    assert_false(is_needed(plan, "x"));
    assert_false(plan->is_kept[plan->source_columns[0]]); /* used in the pass only */
    assert_true(plan->is_kept[plan->tensors[0].column]);
    assert_int_equal(plan->n_marks, 1);
    assert_int_equal(plan->stages[2].filter_column, plan->n_columns - 1);
    assert_true(plan->is_kept[plan->n_columns - 1]);
    leat_plan_unref(plan);
}

static void check_tensor(const struct leat_plan *plan, size_t i, const char *name,
                         enum leat_dtype dtype, uint32_t ndim, int64_t first, int64_t second) {
    const struct leat_plan_tensor *tensor = &plan->tensors[i];

    assert_string_equal(tensor->name, name);
    assert_int_equal(tensor->dtype, dtype);
    assert_int_equal(tensor->ndim, ndim);
    assert_true(ndim < 1 || tensor->shape[0] == first);
    assert_true(ndim < 2 || tensor->shape[1] == second);
}

static void test_tensors(void **state) {
    struct leat_plan *plan =
        plan_of("- pad: {input: x, length: 6, value: 0, mask: m}\n- rename: {fields: {m: mask}}\n"
                "- select: {fields: [mask, a, x]}\n- batch: {batch_size: 3, drop_last: true}");

    (void)state;
    assert_int_equal(plan->n_tensors, 3);
    check_tensor(plan, 0, "mask", LEAT_DTYPE_INT32, 2, 3, 6);
    check_tensor(plan, 1, "a", LEAT_DTYPE_INT64, 1, 3, 0);
    check_tensor(plan, 2, "x", LEAT_DTYPE_INT64, 2, 3, 6);
    assert_true(plan->is_bounded);
    assert_int_equal(plan->slot_bytes, 64 + 3 * 128 + 128 + 64 + 192);
    leat_plan_unref(plan);
    plan = plan_of("- pad: {input: x, longest: true, value: 0}\n- select: {fields: [a, x]}\n"
                   "- batch: {batch_size: 3}");
    check_tensor(plan, 0, "a", LEAT_DTYPE_INT64, 1, -1, 0);
    check_tensor(plan, 1, "x", LEAT_DTYPE_INT64, 2, -1, -1);
    assert_false(plan->is_bounded);
    leat_plan_unref(plan);
    plan = plan_of("- select: {fields: [a, x]}"); /* no batch: no rows, no padding needed */
    check_tensor(plan, 0, "a", LEAT_DTYPE_INT64, 0, 0, 0);
    check_tensor(plan, 1, "x", LEAT_DTYPE_INT64, 1, -1, 0);
    leat_plan_unref(plan);
}

static void test_errors(void **state) {
    static const struct {
        const char *stages, *error;
    } cases[] = {
        {"- shufle: {buffer_size: 3}",
         "x.yaml:5:9: streams.x.stages[0].shufle: unknown stage \"shufle\"; did you mean "
         "\"shuffle\"?"},
        {"- frobnicate", "x.yaml:5:9: streams.x.stages[0].frobnicate: unknown stage "
                         "\"frobnicate\"; run `leatctl stages` for a list"},
        {"- take: {count: 1}\n- batch: {size: 3}",
         "x.yaml:6:17: streams.x.stages[1].batch: unknown key \"size\"; a possible key is "
         "\"batch_size\""},
        {"- batch: {batch_size: 2}",
         "x.yaml:5:9: streams.x.stages[0].batch: the field \"t\" is text, which a batch cannot "
         "hold: `cast` it to numbers, or `select` the other fields"},
        {"- select: {fields: [x]}\n- batch: {batch_size: 2}",
         "x.yaml:6:9: streams.x.stages[1].batch: rows of the field \"x\" have different lengths: "
         "`pad` it before `batch`"},
        {"- cast: {input: nothing, dtype: int32}",
         "x.yaml:5:23: streams.x.stages[0].cast.input: there is no field \"nothing\" here: the "
         "fields are a, b, t, x"},
        {"- select: {fields: [a]}\n- cast: {input: b, dtype: int32}",
         "x.yaml:6:23: streams.x.stages[1].cast.input: there is no field \"b\" here; did you mean "
         "\"a\"?"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_refused(RECORD, cases[i].stages, cases[i].error);
    assert_string_equal(stream_error("cvs: {paths: a}", "", ""),
                        "x.yaml:3:14: streams.x.source.cvs: unknown source \"cvs\"; did you mean "
                        "\"csv\"?");
    assert_string_equal(stream_error(DATA, "on_eror: skip", ""),
                        "x.yaml:4:5: streams.x: unknown key \"on_eror\"; did you mean "
                        "\"on_error\"?");
    assert_string_equal(stream_error(DATA, "on_error: quarantine", ""),
                        "x.yaml:4:15: streams.x.on_error: `on_error: quarantine` needs a file: set "
                        "`quarantine` to a path such as bad.jsonl");
    assert_string_equal(
        stream_error(DATA, "quarantine: bad", ""),
        "x.yaml:4:17: streams.x.quarantine: works only with `on_error: quarantine`");
    assert_string_equal(stream_error(DATA, "max_errors: 5", ""),
                        "x.yaml:4:17: streams.x.max_errors: works only with `on_error: skip` or "
                        "`quarantine`; with `fail`, the first bad record ends the stream");
    assert_string_equal(stream_error(DATA, "on_error: fail\n    max_errors: 5", ""),
                        "x.yaml:5:17: streams.x.max_errors: works only with `on_error: skip` or "
                        "`quarantine`; with `fail`, the first bad record ends the stream");
    assert_string_equal(stream_error(DATA, "max_batch_bytes: 5000",
                                     "- select: {fields: [a]}\n"
                                     "- batch: {batch_size: 1000}"),
                        "x.yaml:7:9: streams.x.stages[1].batch: a batch of 1000 rows may need 8256 "
                        "bytes, more than max_batch_bytes (5000): lower batch_size or the row "
                        "lengths, or raise max_batch_bytes");
}

/* Sizes at the ends of their ranges are refused or bounded, and nothing overflows. */
static void test_huge_sizes(void **state) {
    struct leat_plan *plan;

    (void)state;
    folder_print("in.jsonl", RECORD);
    assert_non_null(
        strstr(stream_error(DATA, "max_batch_bytes: 4294967296",
                            "- pad: {input: x, length: 268435456, value: 0, mask: m}\n"
                            "- select: {fields: [x, m]}\n- batch: {batch_size: 1048576}"),
               "more than max_batch_bytes (4294967296)"));
    plan = stream_plan(DATA, "max_batch_bytes: 65536",
                       "- pad: {input: x, longest: true, multiple_of: 65536, value: 0}\n"
                       "- select: {fields: [x]}\n- batch: {batch_size: 1048576}\n"
                       "- prefetch: {prefetch_size: 4096}");
    assert_int_equal(plan->slot_bytes, 65536); /* to begin with; a run fails if it is not enough */
    assert_int_equal(plan->n_slots, 4096);
    leat_plan_unref(plan);
}

static void test_many_stages(void **state) {
    struct leat_text stages = {.data = NULL};
    struct leat_plan *plan;

    (void)state;
    leat_text_add(&stages, "- select: {fields: [a]}\n- take: {count: 9}\n");
    for (int i = 2; i < LEAT_SPEC_MAX_STAGES; i++)
        leat_text_add(&stages, i % 2 ? "- filter: {input: a, min: 0}\n"
                                     : "- cast: {input: a, dtype: int64}\n");
    plan = plan_of(stages.data);
    assert_int_equal(plan->n_map, 254);
    assert_int_equal(plan->n_order, 128);
    assert_int_equal(plan->n_marks, 127);
    leat_plan_unref(plan);
    free(stages.data);
}

/* ---- digests ---- */

static void digest(const char *options, const char *stages, char *hex) {
    struct leat_plan *plan = stream_plan(DATA, options, stages);

    leat_digest_hex(plan->spec_digest, hex);
    leat_plan_unref(plan);
}

static void test_digest(void **state) {
    static const char *const others[] = {
        "- select: {fields: [a, b]}\n- batch: {batch_size: 2}",
        "- select: {fields: [a]}\n- batch: {batch_size: 3}",
        "- select: {fields: [a]}\n- batch: {batch_size: 2, drop_last: true}",
        "- select: {fields: [b]}\n- batch: {batch_size: 2}",
        "- select: {fields: [a]}\n- shuffle: {buffer_size: 1}\n- batch: {batch_size: 2}",
        "- filter: {input: a, min: 0}\n- select: {fields: [a]}\n- batch: {batch_size: 2}",
        "- filter: {input: a, max: 0}\n- select: {fields: [a]}\n- batch: {batch_size: 2}",
    };
    const char *stages = "- select: {fields: [a]}\n- batch: {batch_size: 2}";
    char first[LEAT_DIGEST_HEX_SIZE], hex[LEAT_DIGEST_HEX_SIZE], last[LEAT_DIGEST_HEX_SIZE] = "";

    (void)state;
    folder_print("in.jsonl", RECORD);
    digest("", stages, first);
    digest("block_bytes: 8192", /* the same, written otherwise */
           "- select: {fields: a}\n\n- batch: {drop_last: false, batch_size: 2}", hex);
    assert_string_equal(hex, first);
    digest("block_bytes: 8192\n    jobs_in_flight: 3", /* as fast as it may be */
           "- select: {fields: a}\n- batch: {batch_size: 2}\n- prefetch: {prefetch_size: 3}", hex);
    assert_string_equal(hex, first);
    digest("seed: 1", stages, hex);
    assert_string_not_equal(hex, first);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        digest("", others[i], hex);
        assert_string_not_equal(hex, first);
        assert_string_not_equal(hex, last);
        memcpy(last, hex, sizeof(last));
    }
}

/* ---- check and explain ---- */

static void test_check_reads_nothing(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_spec *spec =
        stream_spec("csv: {paths: [no/such/file.csv]}", "", "- cast: {input: any, dtype: int32}");

    (void)state;
    assert_int_equal(leat_plan_check(spec, &err), 0);
    leat_spec_free(spec);
    spec = stream_spec("csv: {paths: [no/such/file.csv]}", "", "- cast: {input: any}");
    assert_int_equal(leat_plan_check(spec, &err), -EINVAL);
    assert_string_equal(err.path, "streams.x.stages[0].cast");
    leat_spec_free(spec);
}

/* Names of fields are foreign: JSON must stay JSON. */
static void test_explain(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json_node root;
    struct leat_plan *plan;
    struct leat_json *json;
    char *text;

    (void)state;
    plan = plan_of("- rename: {fields: {a: \"q\\\"\\\\\\n\\x01\"}}\n"
                   "- pad: {input: x, length: 4, value: 0, mask: \"m\\\"\"}\n"
                   "- cast: {input: b, output: dead, dtype: int32}\n- shuffle: {buffer_size: 3}\n"
                   "- filter: {input: t, empty: false}\n"
                   "- select: {fields: [\"q\\\"\\\\\\n\\x01\", x, \"m\\\"\"]}\n"
                   "- batch: {batch_size: 2}");
    text = stream_explain(plan, 2, true);
    assert_int_equal(leat_json_new(4096, &json), 0);
    if (leat_json_parse(json, text, strlen(text), strlen(text), &root, &err) < 0)
        fail_msg("%s\n%s", err.message, text);
    assert_non_null(strstr(text, "\"q\\\"\\\\\\n\\u0001\""));
    assert_non_null(
        strstr(text, "\"its values are computed with the per-record stages and applied here\""));
    assert_non_null(strstr(text, "\"not executed: no later stage needs its output\""));
    assert_non_null(strstr(text, "\"only selects or renames fields\""));
    leat_json_free(json);
    free(text);
    text = stream_explain(plan, 2, false);
    assert_non_null(strstr(text, "per-record stages:     jsonl > pad > filter"));
    assert_null(strchr(text, '\x01')); /* nor may they write to a terminal */
    free(text);
    leat_plan_unref(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dead_stages),
        cmocka_unit_test(test_hoisting),
        cmocka_unit_test(test_needed_columns),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_huge_sizes),
        cmocka_unit_test(test_many_stages),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_check_reads_nothing),
        cmocka_unit_test(test_explain),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
