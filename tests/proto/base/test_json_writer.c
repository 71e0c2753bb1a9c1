/* test_json_writer.c: the writer puts commas and escapes where JSON wants them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "proto/base/json_writer.h"

static void test_document(void **state) {
    struct leat_text json = {0};

    (void)state;
    leat_json_open(&json, NULL, '{');
    leat_json_add_text(&json, "a \"key\"", "line\nend {");
    leat_json_add_text(&json, "none", NULL);
    leat_json_open(&json, "empty", '[');
    leat_json_close(&json, ']');
    leat_json_open(&json, "items", '[');
    for (int64_t i = -1; i < 2; i++) {
        leat_json_line(&json);
        leat_json_add_int(&json, NULL, i);
    }
    leat_json_open(&json, NULL, '{');
    leat_json_close(&json, '}');
    leat_json_close(&json, ']');
    leat_json_add_uint(&json, "most", UINT64_MAX);
    leat_json_add_double(&json, "part", 0.125);
    leat_json_add_double(&json, "exact", 0.123456789);
    leat_json_add_double(&json, "endless", HUGE_VAL);
    leat_json_add_double(&json, "nan", NAN);
    leat_json_add_bool(&json, "yes", true);
    leat_json_add_bool(&json, "no", false);
    leat_json_add_raw(&json, "raw", "[1]", 3);
    leat_json_add_bytes(&json, "bytes", "\xff\x00[", 3);
    leat_json_add_int(&json, "last", 0);
    leat_json_close(&json, '}');
    assert_false(json.failed);
    assert_string_equal(
        json.data,
        "{\"a \\\"key\\\"\": \"line\\nend {\", \"none\": null, \"empty\": [], "
        "\"items\": [\n-1,\n0,\n1, {}], \"most\": 18446744073709551615, "
        "\"part\": 0.125, \"exact\": 0.123456789, \"endless\": null, \"nan\": null, \"yes\": true, "
        "\"no\": false, \"raw\": [1], \"bytes\": \"\\ufffd\\u0000[\", "
        "\"last\": 0}");
    free(json.data);
}

/* Terminals obey also the control characters from U+0080 to U+009F. */
static void test_controls(void **state) {
    struct leat_text json = {0};

    (void)state;
    leat_json_add_text(&json, NULL, "a\\\x1b\x7f\xc2\x80\xc2\x9f\xc2\xa0z");
    assert_string_equal(json.data, "\"a\\\\\\u001b\\u007f\\u0080\\u009f\xc2\xa0z\"");
    free(json.data);
}

/* A value alone is a document too. */
static void test_value(void **state) {
    struct leat_text json = {0};

    (void)state;
    leat_json_add_text(&json, NULL, "");
    assert_string_equal(json.data, "\"\"");
    free(json.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
