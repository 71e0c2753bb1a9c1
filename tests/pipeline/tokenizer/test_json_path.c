/* test_json_path.c: pipeline/tokenizer/json_path.c: every value of a random document is found where
 * it was written; paths that lead nowhere, and bytes that are no JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/json_path.h"
#include "proto/base/rng.h"

#define DEPTH_MAX  5
#define VALUES_MAX 4096
#define TEXT_MAX   65536

struct value {
    struct leat_json_step steps[DEPTH_MAX];
    size_t n_steps;
    uint32_t line, column;
};

static struct writer {
    char text[TEXT_MAX];
    size_t n;
    uint32_t line, column;
    struct leat_json_step steps[DEPTH_MAX];
    size_t n_steps;
    struct value values[VALUES_MAX];
    size_t n_values;
    struct leat_rng rng;
} writer;

static unsigned pick(unsigned n) {
    return (unsigned)leat_rng_below(&writer.rng, n);
}

static void put(const char *text) {
    for (; *text; text++) {
        writer.text[writer.n++] = *text;
        writer.column++;
        if (*text == '\n') {
            writer.line++;
            writer.column = 1;
        }
    }
}

static void put_space(void) {
    static const char *const spaces[] = {"", "", " ", "\n", "\r\n\t", "  \n "};

    put(spaces[pick(6)]);
}

/* Keys as they are written and as they read. */
static const char *const keys[][2] = {
    {"a", "a"},
    {"\\u0062", "b"},
    {"", ""},
    {"\\\"}\\\\", "\"}\\"},
    {"\xc3\xa9\\u00E9", "\xc3\xa9\xc3\xa9"},
    {"\\ud83D\\uDE00\\n\\/", "\xf0\x9f\x98\x80\n/"},
};

static void put_value(bool is_recorded);

static void put_member(size_t i, bool is_recorded) {
    struct leat_json_step *step = &writer.steps[writer.n_steps++];

    put_space();
    put("\"");
    put(keys[i][0]);
    put("\"");
    put_space();
    put(":");
    *step = (struct leat_json_step){.key = keys[i][1], .n_key = strlen(keys[i][1])};
    put_value(is_recorded);
    writer.n_steps--;
}

static void put_object(bool is_recorded) {
    const char *comma = "";

    put("{");
    for (size_t i = 0; i < 6; i++)
        if (pick(4) == 0) {
            put(comma);
            put_member(i, false);
            comma = ",";
        }
    for (size_t i = 0; i < 6; i++)
        if (pick(2) || *comma) {
            put(comma);
            put_member(i, is_recorded);
            comma = ",";
        }
    put_space();
    put("}");
}

static void put_array(bool is_recorded) {
    unsigned n = pick(4);

    put("[");
    for (unsigned i = 0; i < n; i++) {
        put(i ? "," : "");
        writer.steps[writer.n_steps++] = (struct leat_json_step){.index = i};
        put_value(is_recorded);
        writer.n_steps--;
    }
    put_space();
    put("]");
}

static void record(void) {
    struct value *value = &writer.values[writer.n_values++];

    memcpy(value->steps, writer.steps, sizeof(value->steps));
    value->n_steps = writer.n_steps;
    value->line = writer.line;
    value->column = writer.column;
}

static void put_value(bool is_recorded) {
    static const char *const scalars[] = {"null", "true", "-1.5e+3", "0", "\"\"", "\"[{\\\"\\\\\""};

    put_space();
    if (is_recorded)
        record();
    if (writer.n_steps == DEPTH_MAX || writer.n > TEXT_MAX / 2 ||
        writer.n_values > VALUES_MAX / 2 || pick(3) == 0)
        put(scalars[pick(6)]);
    else if (pick(2))
        put_object(is_recorded);
    else
        put_array(is_recorded);
    put_space();
}

static void every_value_is_found(void **state) {
    uint32_t line, column;

    (void)state;
    writer.rng.state = 7;
    for (int round = 0; round < 300; round++) {
        writer.n = writer.n_steps = writer.n_values = 0;
        writer.line = writer.column = 1;
        put_value(true);
        for (size_t i = 0; i < writer.n_values; i++) {
            const struct value *value = &writer.values[i];
            assert_true(leat_json_locate_value((const uint8_t *)writer.text, writer.n, value->steps,
                                               value->n_steps, &line, &column));
            assert_int_equal(line, value->line);
            assert_int_equal(column, value->column);
        }
    }
}

static bool locate(const char *text, const struct leat_json_step *steps, size_t n_steps) {
    uint32_t line, column;

    return leat_json_locate_value((const uint8_t *)text, strlen(text), steps, n_steps, &line,
                                  &column);
}

static void paths_that_lead_nowhere(void **state) {
    const struct leat_json_step key = {.key = "a", .n_key = 1}, item = {.index = 1};
    const struct leat_json_step both[] = {key, item};

    (void)state;
    assert_false(locate("{\"b\": 1}", &key, 1));
    assert_false(locate("{}", &key, 1));
    assert_false(locate("[1]", &item, 1));
    assert_false(locate("[]", &item, 1));
    assert_false(locate("[1, 2]", &key, 1));
    assert_false(locate("{\"a\": {\"b\": 1}}", both, 2));
    assert_true(locate("{\"a\": [1, 2]}", both, 2));
    assert_false(locate("3", &key, 1));
    assert_true(locate("3", NULL, 0));
}

static void bytes_that_are_no_json(void **state) {
    static const char *const texts[] = {
        "",  " ",   "{",   "{\"",  "{\"a",      "{\"a\"", "{\"a\":", "{\"a\\",      "{\"\\u00",
        "[", "[1,", "[\"", "[[[[", "{\"a\":[1", "[]]]",   "{a:1}",   "{\"a\" [1]}", "\\\"{}[,:"};
    const struct leat_json_step steps[] = {{.key = "a", .n_key = 1}, {.index = 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        assert_false(locate(texts[i], steps, 2));
        assert_false(locate(texts[i], &steps[1], 1));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_found),
        cmocka_unit_test(paths_that_lead_nowhere),
        cmocka_unit_test(bytes_that_are_no_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
