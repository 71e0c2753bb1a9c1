/* test_bind.c: pipeline/spec/bind.c: every type of argument, its defaults, and every form of error
 * with its place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/spec/yaml.h"
#include "tests/pipeline/shared_stream.h"

struct all {
    struct leat_config base;
    bool truth;
    int64_t whole, bounded;
    double real, share;
    const char *text, *field, *path;
    int choice, dtype;
    struct leat_texts texts, fields;
    struct leat_text_map map;
    int64_t size, age;
    struct leat_token_value token, other_token;
    struct part {
        struct leat_config base;
        const char *name;
        int64_t n;
        struct leat_texts list;
    } part;
};

static const struct leat_arg part_args[] = {
    {.name = "name",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct part, name),
     .is_required = true,
     .help = "its name"},
    {.name = "n",
     .type = LEAT_ARG_INT,
     .offset = offsetof(struct part, n),
     .fallback = "9",
     .min = 1,
     .max = 9,
     .help = "-"},
    {.name = "list", .type = LEAT_ARG_TEXTS, .offset = offsetof(struct part, list), .help = "-"},
    LEAT_ARGS_END,
};

static const char *const colours[] = {"red", "green", NULL};
static const char *const dtypes[] = {"int32", "float32", NULL};

#define ARG(arg_name, arg_type)                                                                    \
    .name = #arg_name, .type = arg_type, .offset = offsetof(struct all, arg_name)

static const struct leat_arg args[] = {
    {ARG(truth, LEAT_ARG_BOOL), .fallback = "true", .help = "-"},
    {ARG(whole, LEAT_ARG_INT), .help = "-"},
    {ARG(bounded, LEAT_ARG_INT), .min = -3, .max = 12, .fallback = "7", .help = "-"},
    {ARG(real, LEAT_ARG_FLOAT), .fallback = "0.5", .help = "-"},
    {ARG(share, LEAT_ARG_FLOAT), .min = 0, .max = 1, .help = "-"},
    {ARG(text, LEAT_ARG_TEXT), .fallback = " ", .help = "-"},
    {ARG(field, LEAT_ARG_FIELD), .is_required = true, .help = "what it is"},
    {ARG(path, LEAT_ARG_PATH), .help = "-"},
    {ARG(choice, LEAT_ARG_CHOICE), .choices = colours, .fallback = "green", .help = "-"},
    {ARG(dtype, LEAT_ARG_DTYPE), .choices = dtypes, .help = "-"},
    {ARG(texts, LEAT_ARG_TEXTS), .min = 1, .max = 3, .help = "-"},
    {ARG(fields, LEAT_ARG_FIELDS), .help = "-"},
    {ARG(map, LEAT_ARG_MAP), .min = 1, .max = 2, .help = "-"},
    {ARG(size, LEAT_ARG_BYTES), .fallback = "2KiB", .min = 0, .max = 1 << 20, .help = "-"},
    {ARG(age, LEAT_ARG_SECONDS), .help = "-"},
    {ARG(token, LEAT_ARG_TOKEN), .help = "-"},
    {ARG(other_token, LEAT_ARG_TOKEN), .help = "-"},
    {ARG(part, LEAT_ARG_GROUP), .group = part_args, .help = "-"},
    LEAT_ARGS_END,
};

/* Binds a text of YAML; the value must live as long as the config. */
static int bind(const char *yaml, struct leat_value *value, struct all *all,
                struct leat_error *err) {
    memset(all, 0, sizeof(*all));
    *err = LEAT_ERROR_INIT;
    assert_int_equal(leat_yaml_parse(yaml, strlen(yaml), "f.yaml", value, err), 0);
    return leat_config_bind(&all->base, args, value, "f.yaml", 100, 5, err);
}

static void release(struct leat_value *value, struct all *all) {
    leat_config_deinit(&all->base);
    leat_config_deinit(&all->base); /* twice does no harm */
    leat_value_deinit(value);
}

static void test_defaults(void **state) {
    struct leat_error err;
    struct leat_value value;
    struct all all;

    (void)state;
    assert_int_equal(bind("{field: f, whole: , map: ~}", &value, &all, &err), 0);
    assert_true(all.truth);
    assert_int_equal(all.whole, 0);
    assert_int_equal(all.bounded, 7);
    assert_true(all.real == 0.5);
    assert_string_equal(all.text, " ");
    assert_null(all.path);
    assert_int_equal(all.choice, 1);
    assert_int_equal(all.map.n_items, 0);
    assert_int_equal(all.size, 2048);
    assert_null(all.part.base.args); /* a group that is not given is all zero */
    assert_false(leat_config_given(&all.base, "part"));
    assert_true(leat_config_given(&all.base, "field"));
    assert_false(leat_config_given(&all.base, "whole")); /* nothing stands for the default */
    assert_false(leat_config_given(&all.base, "text"));
    assert_false(leat_config_given(&all.base, "nonsense"));
    release(&value, &all);
}

static void test_all_types(void **state) {
    struct leat_error err;
    struct leat_value value;
    struct all all;

    (void)state;
    assert_int_equal(bind("truth: no\nwhole: -9223372036854775808\nbounded: -3\nreal: 1e3\n"
                          "share: 1\ntext: \"1 \\t\"\nfield: Age\npath: a/b\nchoice: red\n"
                          "dtype: float32\ntexts: one\nfields: [a, b]\nmap: {x: 1, \"\": \"\"}\n"
                          "size: \"1MiB\"\nage: 2d\ntoken: 1.5\nother_token: \"0\"\npart: {name: "
                          "p, list: [x, y]}\n",
                          &value, &all, &err),
                     0);
    assert_false(all.truth);
    assert_true(all.whole == INT64_MIN);
    assert_int_equal(all.bounded, -3);
    assert_true(all.real == 1000 && all.share == 1);
    assert_string_equal(all.text, "1 \t");
    assert_string_equal(all.field, "Age");
    assert_string_equal(all.path, "a/b");
    assert_int_equal(all.choice, 0);
    assert_int_equal(all.dtype, LEAT_DTYPE_FLOAT32);
    assert_int_equal(all.texts.n_items, 1); /* a single text is a list of one */
    assert_string_equal(all.texts.items[0], "one");
    assert_int_equal(all.fields.n_items, 2);
    assert_string_equal(all.fields.items[1], "b");
    assert_int_equal(all.map.n_items, 2);
    assert_string_equal(all.map.keys[1], "");
    assert_string_equal(all.map.values[0], "1");
    assert_int_equal(all.size, 1 << 20);
    assert_int_equal(all.age, 172800);
    assert_true(all.token.number == 1.5 && !all.token.name);
    assert_string_equal(all.other_token.name, "0"); /* in quotes it is a name */
    assert_string_equal(all.part.name, "p");
    assert_int_equal(all.part.n, 9);
    assert_int_equal(all.part.list.n_items, 2);
    assert_int_equal(leat_config_error(&all.part.base, "name", &err, "no"), -EINVAL);
    assert_string_equal(err.path, "part.name");
    assert_int_equal(err.line, 18);
    release(&value, &all);
}

static void test_errors(void **state) {
    static const struct {
        const char *yaml, *error;
    } cases[] = {
        {"{}", "f.yaml:100:5: field is missing: what it is"},
        {"[1]", "f.yaml:1:1: expected a map of arguments, got a list"},
        {"word", "f.yaml:1:1: expected a map of arguments, got \"word\""},
        {"field: f\nthruth: true", "f.yaml:2:1: unknown key \"thruth\"; did you mean \"truth\"?"},
        {"zzzzzzzzzz: 1", "f.yaml:1:1: unknown key \"zzzzzzzzzz\"; a possible key is \"truth\""},
        {"truth: 1", "f.yaml:1:8: truth: expected true or false, got \"1\""},
        {"truth: \"true\"", "f.yaml:1:8: truth: expected true or false, got the text \"true\""},
        {"truth: [true]", "f.yaml:1:8: truth: expected true or false, got a list"},
        {"whole: 1.0", "f.yaml:1:8: whole: expected a whole number, got \"1.0\""},
        {"whole: \"1\"", "f.yaml:1:8: whole: expected a whole number, got the text \"1\""},
        {"whole: {a: 1}", "f.yaml:1:8: whole: expected a whole number, got a map"},
        {"whole: 9223372036854775808",
         "f.yaml:1:8: whole: 9223372036854775808 does not fit into 64 bits"},
        {"bounded: 13", "f.yaml:1:10: bounded: 13 is outside -3..12"},
        {"bounded: 99999999999999999999",
         "f.yaml:1:10: bounded: 99999999999999999999 is outside -3..12"},
        {"real: x", "f.yaml:1:7: real: expected a number, got \"x\""},
        {"share: 1.5", "f.yaml:1:8: share: 1.5 is outside 0..1"},
        {"share: nan", "f.yaml:1:8: share: nan is outside 0..1"},
        {"text: [a]", "f.yaml:1:7: text: expected a text, got a list"},
        {"field: \"\"", "f.yaml:1:8: field: the name has 0 bytes; a name may have 1 to 63 bytes"},
        {"field: 0123456789012345678901234567890123456789012345678901234567890123",
         "f.yaml:1:8: field: the name has 64 bytes; a name may have 1 to 63 bytes"},
        {"choice: blue", "f.yaml:1:9: choice: \"blue\" is not one of red, green"},
        {"choice: [red]", "f.yaml:1:9: choice: \"a list\" is not one of red, green"},
        {"dtype: int64", "f.yaml:1:8: dtype: \"int64\" is not one of int32, float32"},
        {"path: ''", "f.yaml:1:7: path: is empty: expected a path"},
        {"texts: []", "f.yaml:1:8: texts: the list has 0 items, which is outside 1..3"},
        {"texts: [a, b, c, d]", "f.yaml:1:8: texts: the list has 4 items, which is outside 1..3"},
        {"texts: [a,\n  [b]]", "f.yaml:2:3: texts[1]: expected a text, got a list"},
        {"texts: {a: b}", "f.yaml:1:8: texts: expected a list of texts, got a map"},
        {"fields: [a, \"\"]",
         "f.yaml:1:13: fields[1]: the name has 0 bytes; a name may have 1 to 63 bytes"},
        {"map: {}", "f.yaml:1:6: map: the map has 0 items, which is outside 1..2"},
        {"map: [a]", "f.yaml:1:6: map: expected a map, got a list"},
        {"map: {a: 1, b: [c]}", "f.yaml:1:16: map.b: expected a text, got a list"},
        {"map: {a: }", "f.yaml:1:10: map.a: expected a text, got nothing"},
        {"size: 2MiB", "f.yaml:1:7: size: 2MiB is outside 0 B..1.0 MiB"},
        {"size: [1]",
         "f.yaml:1:7: size: expected a number of bytes, such as 4096, 500MB or 4GiB, got a list"},
        {"age: 99999999999999999999",
         "f.yaml:1:6: age: 99999999999999999999 does not fit into 64 bits"},
        {"part: {n: 3}", "f.yaml:1:7: part: name is missing: its name"},
        {"part: {name: x,\n  n: 30}", "f.yaml:2:6: part.n: 30 is outside 1..9"},
        {"part: {nme: x}", "f.yaml:1:8: part: unknown key \"nme\"; did you mean \"name\"?"},
        {"part: x", "f.yaml:1:7: part: expected a map, got \"x\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[LEAT_ERROR_PRINT_MAX];
        struct leat_error err;
        struct leat_value value;
        struct all all;

        assert_int_equal(bind(cases[i].yaml, &value, &all, &err), -EINVAL);
        (void)leat_error_print(&err, text, sizeof(text));
        assert_string_equal(text, cases[i].error);
        release(&value, &all);
    }
}

static void test_paths(void **state) {
    struct leat_config config = {.file = "dir/sub/f.yaml"};
    char *path = leat_config_path(&config, "a/b.csv");

    (void)state;
    assert_string_equal(path, "dir/sub/a/b.csv");
    free(path);
    path = leat_config_path(&config, "/abs");
    assert_string_equal(path, "/abs");
    free(path);
    config.file = NULL; /* built in code: as it is */
    path = leat_config_path(&config, "a/b.csv");
    assert_string_equal(path, "a/b.csv");
    free(path);
}

/* The tables of all stages and sources: sound, and their examples bind. */
static void check_table(const struct leat_stage_ops *ops) {
    struct leat_config *config = calloc(1, ops->config_size);
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_value value;
    size_t n = 0;
    int r;

    for (const struct leat_arg *arg = ops->args; arg->name; arg++, n++) {
        assert_non_null(arg->help);
        assert_true(arg->min <= arg->max);
        assert_true(arg->offset >= sizeof(struct leat_config) && arg->offset < ops->config_size);
        assert_false(arg->is_required && arg->fallback);
        assert_true((arg->type == LEAT_ARG_CHOICE) <= (arg->choices != NULL));
    }
    assert_true(n < LEAT_ARG_MAX);
    assert_true(ops->summary && ops->example);
    assert_int_equal(leat_yaml_parse(ops->example, strlen(ops->example), NULL, &value, &err), 0);
    config->ops = ops;
    r = leat_config_bind(config, ops->args, &value, NULL, 0, 0, &err);
    if (r == 0 && ops->check)
        r = ops->check(config, &err);
    if (r < 0)
        fail_msg("%s: %s: %s", ops->name, ops->example, err.message);
    if (ops->unload)
        ops->unload(config);
    leat_config_deinit(config);
    free(config);
    leat_value_deinit(&value);
}

static void test_tables(void **state) {
    (void)state;
    for (size_t i = 0; leat_stages[i]; i++) {
        assert_ptr_equal(leat_stage_find(leat_stages[i]->name), leat_stages[i]);
        check_table(leat_stages[i]);
    }
    for (size_t i = 0; leat_sources[i]; i++) {
        assert_ptr_equal(leat_source_find(leat_sources[i]->name), leat_sources[i]);
        check_table(leat_sources[i]);
    }
    assert_null(leat_stage_find("csv"));
    assert_null(leat_source_find(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_all_types),
        cmocka_unit_test(test_errors),   cmocka_unit_test(test_paths),
        cmocka_unit_test(test_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
