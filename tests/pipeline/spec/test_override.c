/* test_override.c: pipeline/spec/override.c: what a path leads to, what is made, what is refused.
 */
#include "pipeline/spec/override.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/spec/yaml.h"
#include "tests/pipeline/shared_stream.h"

static const char *const text = "workers: 2\n"
                                "streams:\n"
                                "  a:\n"
                                "    source: {csv: {paths: [x.csv]}}\n"
                                "    block_bytes: 4096\n"
                                "    stages:\n"
                                "      - pad: {input: x, length: 8}\n"
                                "      - pad: {input: y, length: 8}\n"
                                "      - batch\n"
                                "  a.b:\n"
                                "    source: {jsonl: {paths: [y.jsonl]}}\n"
                                "    cache: {path: /tmp/c}\n";

static int apply(const char *override, struct leat_value *document, struct leat_error *err) {
    *err = LEAT_ERROR_INIT;
    assert_int_equal(leat_yaml_parse(text, strlen(text), "f.yaml", document, err), 0);
    return leat_override_apply(document, override, err);
}

static const struct leat_value *stream(const struct leat_value *document, const char *name) {
    return leat_value_get(leat_value_get(document, "streams"), name);
}

static const struct leat_value *arguments(const struct leat_value *document, size_t stage) {
    return &leat_value_get(stream(document, "a"), "stages")->items[stage].items[0];
}

static void applied(const char *override, struct leat_value *document) {
    struct leat_error err;

    if (apply(override, document, &err) < 0)
        fail_msg("%s: %s", override, err.message);
}

static void test_settings(void **state) {
    struct leat_value document;

    (void)state;
    applied("workers=16", &document);
    assert_string_equal(leat_value_get(&document, "workers")->text, "16");
    assert_int_equal(leat_value_get(&document, "workers")->line, 1);
    assert_int_equal(leat_value_get(&document, "workers")->column, 10);
    leat_value_deinit(&document);
    applied("memory_limit=4GiB", &document);
    assert_string_equal(leat_value_get(&document, "memory_limit")->text, "4GiB");
    assert_int_equal(document.n_items, 3);
    leat_value_deinit(&document);
}

static void test_options(void **state) {
    struct leat_value document;

    (void)state;
    applied("streams.a.block_bytes=64KiB", &document);
    assert_string_equal(leat_value_get(stream(&document, "a"), "block_bytes")->text, "64KiB");
    leat_value_deinit(&document);
    applied("streams.a.seed=7", &document);
    assert_string_equal(leat_value_get(stream(&document, "a"), "seed")->text, "7");
    leat_value_deinit(&document);
    applied("streams.a.b.cache.max_size=1GiB", &document);
    assert_string_equal(
        leat_value_get(leat_value_get(stream(&document, "a.b"), "cache"), "max_size")->text,
        "1GiB");
    leat_value_deinit(&document);
    applied("streams.a.cache.path=\"a=b\"", &document);
    assert_string_equal(
        leat_value_get(leat_value_get(stream(&document, "a"), "cache"), "path")->text, "a=b");
    leat_value_deinit(&document);
}

static void test_source(void **state) {
    const struct leat_value *paths;
    struct leat_value document;

    (void)state;
    applied("streams.a.source.paths=[u.csv, v.csv]", &document);
    paths = leat_value_get(&leat_value_get(stream(&document, "a"), "source")->items[0], "paths");
    assert_int_equal(paths->kind, LEAT_VALUE_LIST);
    assert_int_equal(paths->n_items, 2);
    assert_string_equal(paths->items[1].text, "v.csv");
    assert_int_equal(paths->items[1].line, 4); /* where it would stand */
    leat_value_deinit(&document);
}

static void test_stages(void **state) {
    struct leat_value document;

    (void)state;
    applied("streams.a.pad[2].length=16", &document);
    assert_string_equal(leat_value_get(arguments(&document, 0), "length")->text, "8");
    assert_string_equal(leat_value_get(arguments(&document, 1), "length")->text, "16");
    leat_value_deinit(&document);
    applied("streams.a.batch.batch_size=4", &document);
    assert_string_equal(leat_value_get(arguments(&document, 2), "batch_size")->text, "4");
    assert_int_equal(leat_value_get(arguments(&document, 2), "batch_size")->line, 9);
    leat_value_deinit(&document);
}

/* Several to one document, as the daemon takes them. */
static void test_several(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_value document;

    (void)state;
    applied("streams.a.batch.batch_size=4", &document);
    assert_int_equal(leat_override_apply(&document, "streams.a.batch.batch_size=5", &err), 0);
    assert_int_equal(leat_override_apply(&document, "streams.a.batch.drop_last=true", &err), 0);
    assert_int_equal(arguments(&document, 2)->n_items, 2);
    assert_string_equal(leat_value_get(arguments(&document, 2), "batch_size")->text, "5");
    leat_value_deinit(&document);
}

static void test_complaints(void **state) {
    static const struct {
        const char *override, *message;
    } cases[] = {
        {"workers", "does not have the form PATH=VALUE"},
        {"=3", "does not have the form PATH=VALUE"},
        {"workers=", "a value is missing"},
        {"workers=[1", "did not find"},
        {"workers=&a 1", "anchors"},
        {"streams=1", "as a whole"},
        {"streams.a=1", "there is no stream \"a\""},
        {"streams.b.seed=1", "there is no stream \"b\""},
        {"streams.a.=1", "lacks a name"},
        {"streams.a.batsh.batch_size=1", "did you mean \"batch\""},
        {"streams.a.pad.length=1", "2 stages have that name: write pad[1] to pad[2]"},
        {"streams.a.pad[3].length=1", "the stream has only 2 stages of that name"},
        {"streams.a.batch[2].x=1", "the stream has only 1 stage of that name"},
        {"streams.a.pad[18446744073709551616].x=1", "the stream has only 2 stages of that name"},
        {"streams.a.stages=[]", "is not the name of an argument"},
        {"streams.a.source=1", "is not the name of an argument"},
        {"streams.a.source.=1", "lacks a name"},
        {"workers.x=1", "is not a map"},
        {"streams.a.block_bytes.x=1", "is not a map"},
        {"a.b.c.d.e.f.g.h.i=1", "too many parts"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_value document;
        struct leat_error err;

        assert_int_equal(apply(cases[i].override, &document, &err), -EINVAL);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s: %s", cases[i].override, err.message);
        assert_true(strncmp(err.path, "--set", 5) == 0);
        leat_value_deinit(&document);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings), cmocka_unit_test(test_options),
        cmocka_unit_test(test_source),   cmocka_unit_test(test_stages),
        cmocka_unit_test(test_several),  cmocka_unit_test(test_complaints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
