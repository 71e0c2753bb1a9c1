/* test_bench_vary.c: what `--vary PATH=V1,V2,..` means, and what it must not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/bench/vary.h"
#include "pipeline/spec/yaml.h"

static struct leat_spec *spec;

static int load(void **state) {
    static const char text[] =
        "streams:\n  s:\n    source: {csv: {paths: [x.csv]}}\n    stages:\n"
        "      - pad: {input: a, length: 8}\n      - pad: {input: b, length: 8}\n"
        "      - batch: {batch_size: 4}\n";
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_value document;
    struct leat_spec **specs = NULL;
    size_t n_specs;

    (void)state;
    assert_int_equal(leat_yaml_parse(text, strlen(text), "f.yaml", &document, &err), 0);
    assert_int_equal(leat_yaml_streams(&document, "f.yaml", &specs, &n_specs, &err), 0);
    leat_value_deinit(&document);
    spec = specs[0];
    free(specs);
    return 0;
}

static int unload(void **state) {
    (void)state;
    leat_spec_free(spec);
    return 0;
}

/* The values, with '|' between. */
static void expect(const char *text, const char *path, const char *values) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_bench_axis axis;
    char found[4096] = "";

    if (leat_bench_axis_init(&axis, "--vary", text, spec, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    for (size_t i = 0; i < axis.n_values; i++) {
        size_t n = strlen(found);

        (void)snprintf(found + n, sizeof(found) - n, "%s%s", i ? "|" : "", axis.values[i]);
    }
    assert_string_equal(axis.path, path);
    assert_string_equal(found, values);
    leat_bench_axis_deinit(&axis);
}

static void test_values(void **state) {
    (void)state;
    expect("batch.batch_size=8,16,32", "batch.batch_size", "8|16|32");
    expect("a=1", "a", "1");
    expect("a= 1 , x y ", "a", "1|x y");
    expect("block_bytes=64KiB,1MB", "block_bytes", "64KiB|1MB");
    expect("source.paths=[a.csv, b.csv],c.csv", "source.paths", "[a.csv, b.csv]|c.csv");
    expect("a={x: [1, 2], y: 3},4", "a", "{x: [1, 2], y: 3}|4");
    expect("a=\"x,y\",'it''s, so',\"\\\",\"", "a", "\"x,y\"|'it''s, so'|\"\\\",\"");
    expect("pad[2].length=8,8", "pad[2].length", "8|8");
    expect("a=x=y", "a", "x=y");
}

static void test_ranges(void **state) {
    (void)state;
    expect("a=1..4", "a", "1|2|3|4");
    expect("a=5..5", "a", "5");
    expect("a=1..64*2", "a", "1|2|4|8|16|32|64");
    expect("a=3..100*3", "a", "3|9|27|81");
    expect("a=16..64+16,100", "a", "16|32|48|64|100");
    expect("a=0..6+5", "a", "0|5");
    expect("a=64KiB..256KiB*2", "a", "65536|131072|262144");
    expect("a=512KiB..2MiB*2", "a", "524288|1048576|2097152");
    expect("a=9223372036854775806..9223372036854775807", "a",
           "9223372036854775806|9223372036854775807");
    /* not ranges, but texts */
    expect("a=../x.csv,x..y,1..,..2,1..x,1..2*x", "a", "../x.csv|x..y|1..|..2|1..x|1..2*x");
}

static void test_complaints(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "expected PATH="},
        {"a", "expected PATH="},
        {"=1", "expected PATH="},
        {"a=", "no value after"},
        {"a=1,", "no value after"},
        {"a=1,,2", "no value after"},
        {"a=4..1", "below its start"},
        {"a=1..4*1", "the factor must be at least 2"},
        {"a=1..4*0", "the factor must be at least 2"},
        {"a=0..4*2", "the factor must be at least 2"},
        {"a=1..4+0", "the step must be at least 1"},
        {"a=1..257", "more than 256 values"},
        {"a=0..9223372036854775807", "more than 256 values"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_bench_axis axis;

        assert_int_equal(leat_bench_axis_init(&axis, "--vary", cases[i].text, spec, &err), -EINVAL);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s: %s", cases[i].text, err.message);
        leat_bench_axis_deinit(&axis);
    }
}

/* ---- what paths mean ---- */

static void test_paths(void **state) {
    static const struct {
        const char *path, *full; /* full NULL: an error */
        bool has_arg;
    } cases[] = {
        {"batch.batch_size", "streams.s.batch.batch_size", true},
        {"batch_size", "streams.s.batch.batch_size", true},
        {"pad[2].length", "streams.s.pad[2].length", true},
        {"length", NULL, false}, /* of two stages */
        {"block_bytes", "streams.s.block_bytes", true},
        {"seed", "streams.s.seed", true},
        {"source.paths", "streams.s.source.paths", true},
        {"delimiter", "streams.s.source.delimiter", true},
        {"cache.max_size", "streams.s.cache.max_size", false},
        {"workers", "workers", false},
        {"no_such_thing", "no_such_thing", false}, /* which leatd will say */
        {"no.such", "streams.s.no.such", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_bench_axis axis;
        char text[64];
        int r;

        (void)snprintf(text, sizeof(text), "%s=1", cases[i].path);
        r = leat_bench_axis_init(&axis, "--vary", text, spec, &err);
        assert_int_equal(r, cases[i].full ? 0 : -EINVAL);
        if (cases[i].full)
            assert_string_equal(axis.full, cases[i].full);
        else
            assert_non_null(strstr(err.message, "2 stages"));
        if ((axis.arg != NULL) != cases[i].has_arg)
            fail_msg("%s", cases[i].path);
        leat_bench_axis_deinit(&axis);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_complaints),
        cmocka_unit_test(test_paths),
    };

    return cmocka_run_group_tests(tests, load, unload);
}
