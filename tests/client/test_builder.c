/* test_builder.c: a builder makes the spec that its calls say, and keeps its first failure. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/builder.h"
#include "client/leat.h"
#include "proto/leat.pb-c.h"

static struct leat_builder *new_builder(void) {
    struct leat_builder *builder = NULL;

    assert_int_equal(leat_builder_new("mine", &builder), 0);
    return builder;
}

static const char *text_at(const struct leat_value *map, const char *name) {
    const struct leat_value *value = leat_value_get(map, name);

    return value ? value->text : NULL;
}

static void build(struct leat_builder *builder) {
    static const char *const paths[] = {"a.csv", "b.csv"};

    leat_builder_source(builder, "csv");
    leat_builder_texts(builder, "paths", paths, 2);
    leat_builder_options(builder);
    leat_builder_int(builder, "seed", -7);
    leat_builder_stage(builder, "cast");
    leat_builder_text(builder, "input", "Survived");
    leat_builder_float(builder, "default", 0.5);
    leat_builder_map(builder, "map");
    leat_builder_text(builder, "yes", "1");
    leat_builder_text(builder, "no", "0");
    leat_builder_end(builder);
    leat_builder_stage(builder, "batch");
    leat_builder_bool(builder, "drop_last", true);
}

static void check_spec(const struct leat_spec *spec) {
    const struct leat_value *paths = leat_value_get(&spec->source.args, "paths");
    const struct leat_value *map = leat_value_get(&spec->stages[0].args, "map");

    assert_string_equal(spec->name, "mine");
    assert_string_equal(spec->source.kind, "csv");
    assert_int_equal(paths->kind, LEAT_VALUE_LIST);
    assert_int_equal(paths->n_items, 2);
    assert_string_equal(paths->items[1].text, "b.csv");
    assert_true(paths->items[1].is_quoted);
    assert_string_equal(text_at(&spec->options, "seed"), "-7");
    assert_int_equal(spec->n_stages, 2);
    assert_string_equal(text_at(&spec->stages[0].args, "default"), "0.5");
    assert_false(leat_value_get(&spec->stages[0].args, "default")->is_quoted);
    assert_int_equal(map->kind, LEAT_VALUE_MAP);
    assert_string_equal(text_at(map, "no"), "0");
    assert_string_equal(text_at(&spec->stages[1].args, "drop_last"), "true");
}

/* Also over the wire. */
static void test_spec(void **state) {
    struct leat_builder *builder = new_builder();
    struct leat_error err = LEAT_ERROR_INIT;
    const struct leat_spec *spec = NULL;
    struct leat_spec *unpacked = NULL;
    struct Leat__StreamSpec *message = NULL;

    (void)state;
    build(builder);
    assert_int_equal(leat_error_code(leat_builder_error(builder)), 0);
    assert_int_equal(leat_builder_spec(builder, &spec, &err), 0);
    check_spec(spec);
    assert_int_equal(leat_spec_pack(spec, &message), 0);
    assert_int_equal(leat_spec_unpack(message, &unpacked, &err), 0);
    check_spec(unpacked);
    leat_spec_message_free(message);
    leat_spec_free(unpacked);
    leat_builder_free(builder);
}

static void test_empty_list(void **state) {
    struct leat_builder *builder = new_builder();
    struct leat_error err = LEAT_ERROR_INIT;
    const struct leat_spec *spec = NULL;

    (void)state;
    leat_builder_source(builder, "csv");
    assert_int_equal(leat_builder_texts(builder, "paths", NULL, 0), 0);
    assert_int_equal(leat_builder_spec(builder, &spec, &err), 0);
    assert_int_equal(leat_value_get(&spec->source.args, "paths")->kind, LEAT_VALUE_LIST);
    leat_builder_free(builder);
}

static void misuse_argument_first(struct leat_builder *builder) {
    leat_builder_int(builder, "seed", 1);
}

static void misuse_twice(struct leat_builder *builder) {
    leat_builder_source(builder, "csv");
    leat_builder_text(builder, "paths", "a");
    leat_builder_text(builder, "paths", "b");
}

static void misuse_two_sources(struct leat_builder *builder) {
    leat_builder_source(builder, "csv");
    leat_builder_source(builder, "jsonl");
}

static void misuse_no_end(struct leat_builder *builder) {
    leat_builder_source(builder, "csv");
    leat_builder_list(builder, "paths");
}

static void misuse_stage_in_list(struct leat_builder *builder) {
    misuse_no_end(builder);
    leat_builder_stage(builder, "batch");
}

static void misuse_name_in_list(struct leat_builder *builder) {
    misuse_no_end(builder);
    leat_builder_text(builder, "name", "x");
}

static void misuse_no_name(struct leat_builder *builder) {
    leat_builder_source(builder, "csv");
    leat_builder_text(builder, NULL, "x");
}

static void misuse_end(struct leat_builder *builder) {
    leat_builder_source(builder, "csv");
    leat_builder_end(builder);
}

static void misuse_no_source(struct leat_builder *builder) {
    leat_builder_stage(builder, "batch");
}

static void misuse_depth(struct leat_builder *builder) {
    leat_builder_source(builder, "csv");
    leat_builder_list(builder, "paths");
    for (int i = 0; i < 40; i++)
        leat_builder_list(builder, NULL);
}

static void test_misuse(void **state) {
    void (*const misuses[])(struct leat_builder *) = {
        misuse_argument_first, misuse_twice,   misuse_two_sources, misuse_no_end,
        misuse_stage_in_list,  misuse_no_name, misuse_end,         misuse_no_source,
        misuse_name_in_list,   misuse_depth,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
        struct leat_builder *builder = new_builder();
        struct leat_error err = LEAT_ERROR_INIT;
        const struct leat_spec *spec = NULL;

        misuses[i](builder);
        assert_int_equal(leat_builder_spec(builder, &spec, &err), -EINVAL);
        assert_true(strlen(err.message) > 0);
        leat_builder_free(builder);
    }
}

/* The error names the depth that is allowed. */
static void test_depth(void **state) {
    struct leat_builder *builder = new_builder();
    int n = 0;
    char text[64];

    (void)state;
    leat_builder_source(builder, "csv");
    while (leat_builder_list(builder, n ? NULL : "paths") == 0)
        n++;
    (void)snprintf(text, sizeof(text), "at most %d deep", n);
    assert_non_null(strstr(leat_error_message(leat_builder_error(builder)), text));
    leat_builder_free(builder);
}

static void test_failure_stays(void **state) {
    struct leat_builder *builder = new_builder();

    (void)state;
    for (int i = 0; i < LEAT_SPEC_MAX_STAGES; i++)
        assert_int_equal(leat_builder_stage(builder, "take"), 0);
    assert_int_equal(leat_builder_stage(builder, "take"), -E2BIG);
    assert_int_equal(leat_builder_int(builder, "n", 1), -E2BIG);
    assert_int_equal(leat_builder_source(builder, "csv"), -E2BIG);
    assert_int_equal(leat_error_code(leat_builder_error(builder)), -E2BIG);
    leat_builder_free(builder);
    assert_null(leat_builder_free(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spec),          cmocka_unit_test(test_empty_list),
        cmocka_unit_test(test_misuse),        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_failure_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
