/* test_dtype.c: proto/base/dtype.c: names and sizes; the numbers are part of the wire and never
 * move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/base/dtype.h"

static const struct {
    const char *name;
    int number;
    size_t size;
} expected[] = {
    {"bool", 1, 1},    {"uint8", 2, 1},   {"uint16", 3, 2},   {"int32", 4, 4},
    {"int64", 5, 8},   {"float16", 6, 2}, {"bfloat16", 7, 2}, {"float32", 8, 4},
    {"float64", 9, 8}, {"text", 10, 1},   {"int8", 11, 1},    {"int16", 12, 2},
};

static void test_names_and_sizes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        enum leat_dtype dtype = leat_dtype_parse(expected[i].name);

        assert_int_equal(dtype, expected[i].number);
        assert_string_equal(leat_dtype_name(dtype), expected[i].name);
        assert_int_equal(leat_dtype_size(dtype), expected[i].size);
    }
}

static void test_what_is_none(void **state) {
    (void)state;
    assert_int_equal(leat_dtype_parse("none"), LEAT_DTYPE_NONE);
    assert_int_equal(leat_dtype_parse(""), LEAT_DTYPE_NONE);
    assert_int_equal(leat_dtype_parse("INT32"), LEAT_DTYPE_NONE);
    assert_string_equal(leat_dtype_name(LEAT_N_DTYPES), "none");
    assert_int_equal(leat_dtype_size(LEAT_DTYPE_NONE), 0);
    assert_int_equal(leat_dtype_size((enum leat_dtype)4711), 0);
}

static void test_elements(void **state) {
    (void)state;
    for (uint32_t dtype = 0; dtype < LEAT_N_DTYPES + 2; dtype++)
        assert_int_equal(leat_dtype_is_element(dtype), dtype != LEAT_DTYPE_NONE &&
                                                           dtype != LEAT_DTYPE_TEXT &&
                                                           dtype < LEAT_N_DTYPES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_sizes),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
