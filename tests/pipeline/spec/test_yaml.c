/* test_yaml.c: pipeline/spec/yaml.c and yaml_streams.c: values with their places, what YAML can do
 * and must not here, and the shape of streams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/spec/yaml.h"
#include "tests/pipeline/shared_stream.h"

static void parse(const char *text, struct leat_value *value) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (leat_yaml_parse(text, strlen(text), "f.yaml", value, &err) < 0)
        fail_msg("%u:%u: %s", err.line, err.column, err.message);
}

static void test_values(void **state) {
    struct leat_value document, *value;

    (void)state;
    parse("# comment\na: 1\nb:\n  - x\n  - \"q\"\n  - [~, null, '']\nc: {d: 'e: f'}\n", &document);
    assert_int_equal(document.kind, LEAT_VALUE_MAP);
    assert_int_equal(document.n_items, 3);
    assert_string_equal(document.keys[1].name, "b");
    assert_int_equal(document.keys[1].line, 3);
    assert_int_equal(document.keys[1].column, 1);
    value = leat_value_get(&document, "a");
    assert_string_equal(value->text, "1");
    assert_false(value->is_quoted);
    assert_int_equal(value->line, 2);
    assert_int_equal(value->column, 4);
    value = leat_value_get(&document, "b");
    assert_int_equal(value->kind, LEAT_VALUE_LIST);
    assert_int_equal(value->n_items, 3);
    assert_true(value->items[1].is_quoted);
    assert_int_equal(value->items[1].line, 5);
    assert_int_equal(value->items[1].column, 5);
    value = &value->items[2];
    assert_int_equal(value->items[0].kind, LEAT_VALUE_NULL);
    assert_int_equal(value->items[1].kind, LEAT_VALUE_NULL);
    assert_int_equal(value->items[2].kind, LEAT_VALUE_SCALAR);
    assert_string_equal(value->items[2].text, "");
    value = leat_value_get(leat_value_get(&document, "c"), "d");
    assert_string_equal(value->text, "e: f");
    leat_value_deinit(&document);
    parse("", &document);
    assert_int_equal(document.kind, LEAT_VALUE_NULL);
    parse("# nothing\n---\n...\n", &document);
    assert_int_equal(document.kind, LEAT_VALUE_NULL);
}

#define NOT_USED "anchors, aliases and tags are not allowed: write the value itself"

static void check_error(const char *text, size_t n, const char *expected) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_value value;
    char printed[LEAT_ERROR_PRINT_MAX];

    if (leat_yaml_parse(text, n, "f.yaml", &value, &err) == 0)
        fail_msg("%s is no error", text);
    assert_int_equal(value.kind, LEAT_VALUE_NULL);
    (void)leat_error_print(&err, printed, sizeof(printed));
    if (!strstr(printed, expected))
        fail_msg("%s\ngives %s\nexpected %s", text, printed, expected);
}

static void test_errors(void **state) {
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: this key occurs twice"},
        {"a: &x 1", "f.yaml:1:4: " NOT_USED},
        {"a: *x", "f.yaml:1:4: " NOT_USED},
        {"a: !!str 1", "f.yaml:1:4: " NOT_USED},
        {"a: !x [1]", "f.yaml:1:4: " NOT_USED},
        {"&x a: 1", "f.yaml:1:1: " NOT_USED},
        {"!!str a: 1", "f.yaml:1:1: " NOT_USED},
        {"? [a]\n: 1", "f.yaml:1:3: a key must be a text, not a list or a map"},
        {"a: 1\n---\nb: 1\n", "f.yaml:2:1: the file may contain only one YAML document"},
        {"a: \"x\\0y\"", "f.yaml:1:4: a text must not contain a NUL byte"},
        {"\"a\\0b\": 1", "f.yaml:1:1: a key must not contain a NUL byte"},
        {"a: [1, 2", "f.yaml:"},
        {"a: \"x", "f.yaml:"},
        {"a:\n\t- b", "f.yaml:2:1"},
        {"a: \xff", "f.yaml:"},
        {"[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]",
         "the values are nested too deeply, or are too many"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_error(cases[i].text, strlen(cases[i].text), cases[i].error);
    check_error("a: 1\0b", 6, "f.yaml:");
}

static void test_limits(void **state) {
    struct leat_text text = {.data = NULL};

    (void)state;
    leat_text_add(&text, "[");
    for (int i = 0; i < LEAT_VALUE_MAX_NODES; i++)
        leat_text_add(&text, "1,");
    leat_text_add(&text, "]");
    check_error(text.data, text.n_bytes, "or are too many");
    while (text.n_bytes <= LEAT_YAML_MAX_BYTES)
        leat_text_add(&text, "#%01000d\n", 0);
    check_error(text.data, text.n_bytes, "at most 1048576 are possible");
    free(text.data);
}

/* A map of many keys is read in about linear time. */
static void test_many_keys(void **state) {
    struct leat_text text = {.data = NULL};
    struct leat_value document;

    (void)state;
    for (int i = 0; i < 60000; i++)
        leat_text_add(&text, "k%d: %d\n", i, i);
    parse(text.data, &document);
    assert_int_equal(document.n_items, 60000);
    assert_string_equal(leat_value_get(&document, "k59999")->text, "59999");
    leat_value_deinit(&document);
    free(text.data);
}

/* ---- streams ---- */

static void test_streams(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_value document;
    struct leat_spec **specs;
    size_t n;

    (void)state;
    parse("workers: 2\nstreams:\n  one:\n    seed: 3\n    source: {csv: {paths: a}}\n"
          "    stages:\n      - batch: {batch_size: 2}\n      - prefetch\n  two:\n"
          "    source: jsonl\n",
          &document);
    assert_int_equal(leat_yaml_streams(&document, "f.yaml", &specs, &n, &err), 0);
    leat_value_deinit(&document); /* specs stand alone */
    assert_int_equal(n, 2);
    assert_string_equal(specs[0]->name, "one");
    assert_string_equal(specs[0]->file, "f.yaml");
    assert_int_equal(specs[0]->line, 3);
    assert_string_equal(specs[0]->source.kind, "csv");
    assert_string_equal(leat_value_get(&specs[0]->options, "seed")->text, "3");
    assert_int_equal(specs[0]->n_stages, 2);
    assert_string_equal(specs[0]->stages[1].kind, "prefetch");
    assert_int_equal(specs[0]->stages[1].line, 8);
    assert_int_equal(specs[0]->stages[1].column, 9);
    assert_string_equal(leat_value_get(&specs[0]->stages[0].args, "batch_size")->text, "2");
    assert_string_equal(specs[1]->source.kind, "jsonl");
    assert_int_equal(specs[1]->n_stages, 0);
    for (size_t i = 0; i < n; i++)
        leat_spec_free(specs[i]);
    free(specs);
}

static void test_no_streams(void **state) {
    static const char *const texts[] = {"", "a: 1", "streams:", "streams: {}", "[streams]"};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_value document;
        struct leat_spec **specs;
        size_t n = 7;

        parse(texts[i], &document);
        assert_int_equal(leat_yaml_streams(&document, "f.yaml", &specs, &n, &err), 0);
        assert_int_equal(n, 0);
        free(specs);
        leat_value_deinit(&document);
    }
}

static void test_shapes(void **state) {
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"streams: [a]", "f.yaml:1:10: streams: expected a map from names to streams"},
        {"streams: {s: 1}", "f.yaml:1:14: streams.s: expected a map with `source` and `stages`"},
        {"streams: {s: {stages: []}}", "f.yaml:1:11: streams.s: source is missing: say where the "
                                       "records come from, such as `csv: {paths: [..]}`"},
        {"streams: {s: {source: [csv]}}",
         "f.yaml:1:23: streams.s.source: expected one name with its arguments, such as `batch: "
         "{batch_size: 32}`"},
        {"streams: {s: {source: {csv: {}, x: 1}}}",
         "f.yaml:1:23: streams.s.source: expected one name with its arguments, such as `batch: "
         "{batch_size: 32}`"},
        {"streams: {s: {source: csv, stages: {a: 1}}}",
         "f.yaml:1:36: streams.s.stages: expected a list of stages"},
        {"streams: {s: {source: csv, stages: [a, [b]]}}",
         "f.yaml:1:40: streams.s.stages[1]: expected one name with its arguments, such as `batch: "
         "{batch_size: 32}`"},
        {"streams: {\"\": {source: csv}}",
         "f.yaml:1:11: streams: the name of a stream may have 1 to 63 bytes; this one has 0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_value document;
        char printed[LEAT_ERROR_PRINT_MAX];
        struct leat_spec **specs;
        size_t n;

        parse(cases[i].text, &document);
        assert_int_equal(leat_yaml_streams(&document, "f.yaml", &specs, &n, &err), -EINVAL);
        (void)leat_error_print(&err, printed, sizeof(printed));
        assert_string_equal(printed, cases[i].error);
        leat_value_deinit(&document);
    }
}

static void test_too_many_stages(void **state) {
    struct leat_text text = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_value document;
    struct leat_spec **specs;
    size_t n;

    (void)state;
    leat_text_add(&text, "streams: {s: {source: csv, stages: [");
    for (int i = 0; i <= LEAT_SPEC_MAX_STAGES; i++)
        leat_text_add(&text, "a,");
    leat_text_add(&text, "]}}");
    parse(text.data, &document);
    assert_int_equal(leat_yaml_streams(&document, "f.yaml", &specs, &n, &err), -EINVAL);
    assert_string_equal(err.path, "streams.s.stages[256]");
    assert_string_equal(err.message, "a stream may have at most 256 stages");
    leat_value_deinit(&document);
    free(text.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_errors),
        cmocka_unit_test(test_limits),  cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_streams), cmocka_unit_test(test_no_streams),
        cmocka_unit_test(test_shapes),  cmocka_unit_test(test_too_many_stages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
