/* test_scalar.c: proto/base/scalar.c: half floats against a reference on bits, ranges of stores,
 * and numbers as Python prints them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/rng.h"
#include "proto/base/scalar.h"

static struct leat_rng rng = {.state = 7};

static uint64_t bits_of(double value) {
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double double_of(uint64_t bits) {
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static float float_of(uint32_t bits) {
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* binary64 to binary16 in whole numbers. */
static uint16_t half_by_bits(uint64_t bits) {
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1), quotient, rest, half;
    unsigned shift = exponent < -14 ? 42 + (unsigned)(-14 - exponent) : 42;

    if (exponent == 1024)
        return (uint16_t)(sign | (fraction ? 0x7e00 : 0x7c00));
    if (exponent > 15)
        return (uint16_t)(sign | 0x7c00);
    if (exponent == -1023 || shift > 54)
        return sign;
    fraction |= UINT64_C(1) << 52;
    quotient = fraction >> shift;
    rest = fraction & ((UINT64_C(1) << shift) - 1);
    half = UINT64_C(1) << (shift - 1);
    quotient += rest > half || (rest == half && (quotient & 1));
    if (exponent >= -14)
        quotient += (uint64_t)(exponent + 14) << 10;
    return (uint16_t)(sign | (quotient > 0x7c00 ? 0x7c00 : quotient));
}

static void check_half(double value) {
    assert_int_equal(leat_float16_from_double(value), half_by_bits(bits_of(value)));
}

static void test_float16_round_trip(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        double value = leat_float16_to_double((uint16_t)bits);

        if ((bits & 0x7fff) > 0x7c00) {
            assert_true(isnan(value));
            continue;
        }
        assert_int_equal(leat_float16_from_double(value), bits);
        check_half(value);
    }
    assert_true(leat_float16_to_double(0x3c00) == 1.0);
    assert_true(leat_float16_to_double(0x0001) == 0x1p-24);
    assert_true(leat_float16_to_double(0x7bff) == 65504.0);
    assert_true(leat_float16_to_double(0xfc00) == -(double)INFINITY);
}

/* Every place between two neighbours: the middle, and one step to each side of it. */
static void test_float16_ties(void **state) {
    (void)state;
    for (uint16_t bits = 0; bits < 0x7c00; bits++) {
        double above = bits == 0x7bff ? 65536.0 : leat_float16_to_double((uint16_t)(bits + 1));
        double middle = (leat_float16_to_double(bits) + above) / 2;

        for (int sign = 0; sign < 2; sign++, middle = -middle) {
            check_half(middle);
            check_half(nextafter(middle, 1e9));
            check_half(nextafter(middle, -1e9));
        }
    }
}

static void test_float16_random(void **state) {
    (void)state;
    for (int i = 0; i < 1000000; i++) {
        uint64_t bits = leat_rng_next(&rng);

        if (i % 2) /* near the range of halves */
            bits = (bits & ~(UINT64_C(0x7ff) << 52)) | (990 + leat_rng_below(&rng, 55)) << 52;
        if (!isnan(double_of(bits)))
            check_half(double_of(bits));
    }
    assert_int_equal(leat_float16_from_double((double)NAN) & 0x7c00, 0x7c00);
    assert_true((leat_float16_from_double((double)NAN) & 0x3ff) != 0);
}

/* The nearer neighbour by exact differences; ties to the even one. */
static uint16_t bfloat_by_distance(uint32_t bits) {
    uint32_t low = bits & 0xffff0000, high = low + 0x10000;
    double value = fabs((double)float_of(bits)), below = fabs((double)float_of(low));
    double above = (high & 0x7fffffff) == 0x7f800000 ? 0x1p128 : fabs((double)float_of(high));

    if (isinf(value))
        return (uint16_t)(bits >> 16);
    if (value - below == above - value)
        return (uint16_t)((low >> 16 & 1 ? high : low) >> 16);
    return (uint16_t)((value - below < above - value ? low : high) >> 16);
}

static void test_bfloat16(void **state) {
    (void)state;
    for (uint32_t high = 0; high < 65536; high++) {
        static const uint32_t lows[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};

        for (size_t i = 0; i < 6; i++) {
            uint32_t bits = high << 16 | lows[i];
            uint16_t rounded = leat_bfloat16_from_float(float_of(bits));

            if (isnan(float_of(bits)))
                assert_true((rounded & 0x7f80) == 0x7f80 && (rounded & 0x7f) != 0);
            else
                assert_int_equal(rounded, bfloat_by_distance(bits));
        }
    }
    for (int i = 0; i < 1000000; i++) {
        uint32_t bits = (uint32_t)leat_rng_next(&rng);

        if (!isnan(float_of(bits)))
            assert_int_equal(leat_bfloat16_from_float(float_of(bits)), bfloat_by_distance(bits));
    }
}

static void test_stores(void **state) {
    static const struct {
        enum leat_dtype dtype;
        double min, max;
    } ranges[] = {
        {LEAT_DTYPE_BOOL, 0, 1},       {LEAT_DTYPE_UINT8, 0, 255},
        {LEAT_DTYPE_UINT16, 0, 65535}, {LEAT_DTYPE_INT32, -2147483648.0, 2147483647.0},
        {LEAT_DTYPE_INT8, -128, 127},  {LEAT_DTYPE_INT16, -32768, 32767},
    };
    uint64_t element[2];

    (void)state;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        enum leat_dtype dtype = ranges[i].dtype;
        double edges[] = {ranges[i].min, ranges[i].max};

        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(leat_scalar_store_double(element, dtype, 1, edges[k]), 0);
            assert_true(leat_scalar_double(element, dtype, 1) == edges[k]);
            assert_int_equal(leat_scalar_store_int(element, dtype, 1, (int64_t)edges[k]), 0);
            assert_int_equal(leat_scalar_int(element, dtype, 1), (int64_t)edges[k]);
            assert_int_equal(leat_scalar_store_double(element, dtype, 1, edges[k] + (k ? 1 : -1)),
                             -ERANGE);
        }
        assert_int_equal(leat_scalar_store_double(element, dtype, 0, 0.5), -EINVAL);
        assert_int_equal(leat_scalar_store_double(element, dtype, 0, (double)NAN), -ERANGE);
        assert_int_equal(leat_scalar_store_double(element, dtype, 0, (double)INFINITY), -ERANGE);
    }
    assert_int_equal(leat_scalar_store_double(element, LEAT_DTYPE_INT64, 0, 0x1p63), -ERANGE);
    assert_int_equal(leat_scalar_store_double(element, LEAT_DTYPE_INT64, 0, -0x1p63), 0);
    assert_true(leat_scalar_int(element, LEAT_DTYPE_INT64, 0) == INT64_MIN);
    assert_int_equal(leat_scalar_store_double(element, LEAT_DTYPE_FLOAT32, 0, 1e300), 0);
    assert_true(isinf(leat_scalar_double(element, LEAT_DTYPE_FLOAT32, 0)));
}

static const char *printed(double value) {
    static char text[LEAT_SCALAR_TEXT_MAX];

    size_t n = leat_scalar_print(&value, LEAT_DTYPE_FLOAT64, 0, text);

    assert_int_equal(n, strlen(text));
    return text;
}

/* The right side is repr() of Python 3. */
static void test_print(void **state) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-3, "-3.0"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {2.5, "2.5"},
        {0.0001, "0.0001"},
        {0.00012345678901234567, "0.00012345678901234567"},
        {0.00001, "1e-05"},
        {123456.789, "123456.789"},
        {1e15, "1000000000000000.0"},
        {2251799813685248.5, "2251799813685248.5"},
        {9999999999999998, "9999999999999998.0"},
        {1e16, "1e+16"},
        {12345678901234568, "1.2345678901234568e+16"},
        {1.5e300, "1.5e+300"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
    };
    int64_t smallest = INT64_MIN;
    uint8_t truth = 1;
    char text[LEAT_SCALAR_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(printed(cases[i].value), cases[i].text);
    assert_string_equal(printed((double)NAN), "nan");
    assert_string_equal(printed(-(double)INFINITY), "-inf");
    leat_scalar_print(&smallest, LEAT_DTYPE_INT64, 0, text);
    assert_string_equal(text, "-9223372036854775808");
    leat_scalar_print(&truth, LEAT_DTYPE_BOOL, 0, text);
    assert_string_equal(text, "true");
}

static void test_print_reads_back(void **state) {
    (void)state;
    for (int i = 0; i < 50000; i++) {
        double value = double_of(leat_rng_next(&rng));

        if (i % 2)
            value = (double)(int64_t)leat_rng_next(&rng) / pow(10, (double)(i % 30));
        if (isnan(value))
            continue;
        assert_true(strtod(printed(value), NULL) == value);
        assert_non_null(strpbrk(printed(value), ".einf")); /* never looks like a whole number */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float16_round_trip),
        cmocka_unit_test(test_float16_ties),
        cmocka_unit_test(test_float16_random),
        cmocka_unit_test(test_bfloat16),
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_reads_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
