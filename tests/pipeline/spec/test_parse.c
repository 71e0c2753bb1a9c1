/* test_parse.c: pipeline/spec/parse.c: numbers and truth values from text, whole and strict. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/spec/bind.h"
#include "tests/pipeline/shared_stream.h"

static struct leat_rng rng = {.state = 3};

static int parse_int(const char *text, int64_t *ret_value) {
    return leat_parse_int(text, strlen(text), ret_value);
}

static void test_int(void **state) {
    static const char *const bad[] = {"",    "-",   "+",  " 1", "1 ",  "1.0", "1e3", "0x10",
                                      "1_0", "--1", "+-", "a",  "12a", "\n1", "1,2"};
    static const char *const large[] = {"9223372036854775808", "-9223372036854775809",
                                        "18446744073709551616", "99999999999999999999999"};
    int64_t value = 77;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(parse_int(bad[i], &value), -EINVAL);
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
        assert_int_equal(parse_int(large[i], &value), -ERANGE);
    assert_int_equal(value, 77);
    assert_int_equal(leat_parse_int("1\0"
                                    "2",
                                    3, &value),
                     -EINVAL);
    assert_int_equal(parse_int("+5", &value), 0);
    assert_int_equal(value, 5);
    assert_int_equal(parse_int("-000", &value), 0);
    assert_int_equal(value, 0);
    for (int i = 0; i < 100000; i++) {
        int64_t number = (int64_t)(leat_rng_next(&rng) >> leat_rng_below(&rng, 64));
        char text[32];

        if (i < 2)
            number = i ? INT64_MAX : INT64_MIN;
        (void)snprintf(text, sizeof(text), "%" PRId64, number);
        assert_int_equal(parse_int(text, &value), 0);
        assert_true(value == number);
    }
}

static void test_units(void **state) {
    static const struct {
        const char *text;
        int64_t bytes, seconds; /* -EINVAL, -ERANGE */
    } cases[] = {
        {"0", 0, 0},
        {"4096", 4096, 4096},
        {"7 MB", 7000000, -EINVAL},
        {"3kB", 3000, -EINVAL},
        {"4GiB", INT64_C(4) << 30, -EINVAL},
        {"8388607TiB", INT64_C(8388607) << 40, -EINVAL},
        {"8388608TiB", -ERANGE, -EINVAL},
        {"99999999999999999999", -ERANGE, -ERANGE},
        {"90s", -EINVAL, 90},
        {"2 h", -EINVAL, 7200},
        {"30d", -EINVAL, 2592000},
        {"1w", -EINVAL, 604800},
        {"", -EINVAL, -EINVAL},
        {"GiB", -EINVAL, -EINVAL},
        {"-1", -EINVAL, -EINVAL},
        {"+1", -EINVAL, -EINVAL},
        {"1.5GiB", -EINVAL, -EINVAL},
        {"1gib", -EINVAL, -EINVAL},
        {"1  s", -EINVAL, -EINVAL},
        {"1 ", -EINVAL, -EINVAL},
        {"1M", -EINVAL, -EINVAL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text = cases[i].text;
        int64_t value = 0, r = leat_parse_bytes(text, strlen(text), &value);

        assert_int_equal(r < 0 ? r : value, cases[i].bytes);
        r = leat_parse_seconds(text, strlen(text), &value);
        assert_int_equal(r < 0 ? r : value, cases[i].seconds);
    }
}

/* The quick way for short decimals must agree with strtod to the last bit. */
static void test_float_is_exact(void **state) {
    (void)state;
    for (int i = 0; i < 300000; i++) {
        char text[64];
        int n_digits = (int)leat_rng_below(&rng, 19) + 1, n = 0;
        int point = (int)leat_rng_below(&rng, (uint64_t)n_digits + 2);
        double value, expected;

        if (leat_rng_below(&rng, 2))
            text[n++] = '-';
        for (int k = 0; k < n_digits; k++) {
            if (k == point)
                text[n++] = '.';
            text[n++] = (char)('0' + leat_rng_below(&rng, 10));
        }
        text[n] = '\0';
        if (leat_rng_below(&rng, 4) == 0)
            n += snprintf(text + n, sizeof(text) - (size_t)n, "e%d",
                          (int)leat_rng_below(&rng, 600) - 300);
        expected = strtod(text, NULL);
        assert_int_equal(leat_parse_float(text, (size_t)n, &value), 0);
        assert_memory_equal(&value, &expected, sizeof(value));
    }
}

static void test_float_forms(void **state) {
    static const char *const bad[] = {"",    " 1",  "1 ",    "\t1",   "1\n",    "-",
                                      ".",   "-.",  "1.2.3", "0x1p3", "1e",     "e5",
                                      "1,5", "abc", "1.5f",  "--1",   "nan(1)", "1_000"};
    static const struct {
        const char *text;
        double value;
    } good[] = {{"1.", 1}, {".5", 0.5}, {"-.5", -0.5}, {"+2", 2}, {"1e2", 100}, {"-0", -0.0}};
    double value;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (leat_parse_float(bad[i], strlen(bad[i]), &value) != -EINVAL)
            fail_msg("\"%s\" was read as %g", bad[i], value);
    assert_int_equal(leat_parse_float("1\0002", 3, &value), -EINVAL);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(leat_parse_float(good[i].text, strlen(good[i].text), &value), 0);
        assert_memory_equal(&value, &good[i].value, sizeof(value));
    }
    assert_int_equal(leat_parse_float("nan", 3, &value), 0);
    assert_true(isnan(value));
    assert_int_equal(leat_parse_float("-inf", 4, &value), 0);
    assert_true(isinf(value) && value < 0);
}

static void test_bool(void **state) {
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "on"};
    static const char *const no[] = {"false", "False", "FALSE", "no", "off"};
    static const char *const bad[] = {"", "1", "0", "tru", "truee", "y", "tRUE"};
    bool value;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(leat_parse_bool(yes[i], strlen(yes[i]), &value), 0);
        assert_true(value);
        assert_int_equal(leat_parse_bool(no[i], strlen(no[i]), &value), 0);
        assert_false(value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(leat_parse_bool(bad[i], strlen(bad[i]), &value), -EINVAL);
}

static void test_nearest(void **state) {
    static const char *const words[] = {"batch", "shuffle", "prefetch", "take"};
    char longest[200];

    (void)state;
    assert_string_equal(leat_nearest("shufle", words, 4), "shuffle");
    assert_string_equal(leat_nearest("bach", words, 4), "batch");
    assert_string_equal(leat_nearest("tkae", words, 4), "take");
    assert_null(leat_nearest("tokenize", words, 4));
    assert_null(leat_nearest("shuffle", words, 0));
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(leat_nearest(longest, words, 4));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),          cmocka_unit_test(test_int),
        cmocka_unit_test(test_float_is_exact), cmocka_unit_test(test_float_forms),
        cmocka_unit_test(test_bool),           cmocka_unit_test(test_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
