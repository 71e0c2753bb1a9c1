#include "pipeline/sources/parquet/convert.h"

#include <stdlib.h>
#include <string.h>

#define DAY_SECONDS INT64_C(86400)
#define EPOCH_DAY   INT64_C(2440588) /* Julian, of 1970-01-01 */
#define WORDS       8                /* of 32 bits, of a decimal */

static const int64_t powers[] = {1,      10,      100,      1000,      10000,
                                 100000, 1000000, 10000000, 100000000, 1000000000};

static int64_t floor_divide(int64_t value, int64_t by, int64_t *ret_rest) {
    int64_t quotient = value / by;

    *ret_rest = value - quotient * by;
    if (*ret_rest < 0) {
        *ret_rest += by;
        quotient--;
    }
    return quotient;
}

/* Writes at least n_digits. */
static char *put_number(char *out, uint64_t value, unsigned n_digits) {
    char digits[20];
    unsigned n = 0;

    for (; value > 0 || n < n_digits; value /= 10)
        digits[n++] = (char)('0' + value % 10);
    while (n > 0)
        *out++ = digits[--n];
    return out;
}

/* ---- dates and times ---- */

/* The civil calendar, extended to all days, by eras of 400 years from 0000-03-01 on. */
static char *put_date(char *out, int64_t day) {
    int64_t of_era, era = floor_divide(day + 719468, 146097, &of_era);
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * of_year + 2) / 153, year = year_of_era + era * 400;
    int64_t of_month = of_year - (153 * month + 2) / 5 + 1;

    month += month < 10 ? 3 : -9;
    year += month <= 2;
    if (year < 0)
        *out++ = '-';
    out = put_number(out, (uint64_t)llabs(year), 4);
    *out++ = '-';
    out = put_number(out, (uint64_t)month, 2);
    *out++ = '-';
    return put_number(out, (uint64_t)of_month, 2);
}

static char *put_time(char *out, int64_t second, int64_t fraction, unsigned digits) {
    out = put_number(out, (uint64_t)(second / 3600), 2);
    *out++ = ':';
    out = put_number(out, (uint64_t)(second / 60 % 60), 2);
    *out++ = ':';
    out = put_number(out, (uint64_t)(second % 60), 2);
    *out++ = '.';
    return put_number(out, (uint64_t)fraction, digits);
}

static int64_t integer_of(const uint8_t *value, size_t n_bytes) {
    int32_t narrow;
    int64_t wide;

    if (n_bytes == sizeof(narrow)) {
        memcpy(&narrow, value, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, value, sizeof(wide));
    return wide;
}

/* Splits an INT96 into the day since 1970-01-01 and its nanoseconds. */
static int64_t impala_day(const uint8_t *value, int64_t *ret_nanoseconds) {
    int64_t nanoseconds;
    uint32_t day;

    memcpy(&nanoseconds, value, sizeof(nanoseconds));
    memcpy(&day, value + sizeof(nanoseconds), sizeof(day));
    return day - EPOCH_DAY + floor_divide(nanoseconds, DAY_SECONDS * powers[9], ret_nanoseconds);
}

static char *put_moment(char *out, const struct leat_parquet_leaf *leaf, const uint8_t *value,
                        size_t n_bytes) {
    int64_t unit = powers[leaf->digits], day, rest;

    if (leaf->meaning == LEAT_PARQUET_IMPALA_TIME)
        day = impala_day(value, &rest);
    else
        day = floor_divide(integer_of(value, n_bytes), DAY_SECONDS * unit, &rest);
    if (leaf->meaning != LEAT_PARQUET_TIME) {
        out = put_date(out, day);
        *out++ = ' ';
    }
    out = put_time(out, rest / unit, rest % unit, leaf->digits);
    if (leaf->is_utc)
        *out++ = 'Z';
    return out;
}

static int64_t microseconds(const struct leat_parquet_leaf *leaf, const uint8_t *value,
                            size_t n_bytes) {
    int64_t rest, day, count;

    if (leaf->meaning == LEAT_PARQUET_IMPALA_TIME) {
        day = impala_day(value, &rest);
        return day * DAY_SECONDS * powers[6] + rest / powers[3];
    }
    count = integer_of(value, n_bytes);
    if (leaf->digits == 9)
        return floor_divide(count, powers[3], &rest);
    if (leaf->digits == 3 && __builtin_mul_overflow(count, powers[3], &count))
        return count < 0 ? INT64_MAX : INT64_MIN;
    return count;
}

static char *put_uuid(char *out, const uint8_t *value) {
    static const char hex[] = "0123456789abcdef";

    for (unsigned i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        *out++ = hex[value[i] >> 4];
        *out++ = hex[value[i] & 15];
    }
    return out;
}

/* ---- decimals ---- */

/* Sets the words of its magnitude, the lowest first. True: it is negative. */
static bool magnitude(const struct leat_parquet_leaf *leaf, const uint8_t *value, size_t n_bytes,
                      uint32_t *words) {
    bool is_big = leaf->type == LEAT_PARQUET_BYTES || leaf->type == LEAT_PARQUET_FIXED, is_negative;
    uint8_t bytes[4 * WORDS];
    uint64_t carry = 1;

    is_negative = n_bytes > 0 && value[is_big ? 0 : n_bytes - 1] >> 7;
    memset(bytes, is_negative ? 0xff : 0, sizeof(bytes));
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = value[is_big ? n_bytes - 1 - i : i];
    memcpy(words, bytes, sizeof(bytes));
    for (int i = 0; is_negative && i < WORDS; i++) {
        carry += (uint32_t)~words[i];
        words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return is_negative;
}

static char *put_decimal(char *out, const struct leat_parquet_leaf *leaf, const uint8_t *value,
                         size_t n_bytes) {
    char digits[LEAT_PARQUET_TEXT_MAX];
    uint32_t words[WORDS], n = 0, top = WORDS;

    if (magnitude(leaf, value, n_bytes, words))
        *out++ = '-';
    for (;;) {
        uint64_t rest = 0;

        while (top > 0 && words[top - 1] == 0)
            top--;
        if (top == 0)
            break;
        for (uint32_t i = top; i > 0; i--) {
            rest = rest << 32 | words[i - 1];
            words[i - 1] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        digits[n++] = (char)('0' + rest);
    }
    while (n <= leaf->digits)
        digits[n++] = '0';
    while (n > 0) {
        if (n == leaf->digits)
            *out++ = '.';
        *out++ = digits[--n];
    }
    return out;
}

/* ---- */

bool leat_parquet_is_converted(const struct leat_parquet_leaf *leaf) {
    return leaf->meaning >= LEAT_PARQUET_UUID;
}

size_t leat_parquet_print(const struct leat_parquet_leaf *leaf, const uint8_t *value,
                          size_t n_bytes, char *text) {
    switch (leaf->meaning) {
    case LEAT_PARQUET_UUID:
        return (size_t)(put_uuid(text, value) - text);
    case LEAT_PARQUET_DATE:
        return (size_t)(put_date(text, integer_of(value, n_bytes)) - text);
    case LEAT_PARQUET_DECIMAL:
        return (size_t)(put_decimal(text, leaf, value, n_bytes) - text);
    default:
        return (size_t)(put_moment(text, leaf, value, n_bytes) - text);
    }
}

/* The double that is nearest to it. */
static double decimal(const struct leat_parquet_leaf *leaf, const uint8_t *value, size_t n_bytes) {
    char text[LEAT_PARQUET_TEXT_MAX];

    *put_decimal(text, leaf, value, n_bytes) = '\0';
    return strtod(text, NULL);
}

static int64_t whole(const struct leat_parquet_leaf *leaf, const uint8_t *value, size_t n_bytes) {
    uint32_t words[WORDS];
    bool is_negative = magnitude(leaf, value, n_bytes, words);
    uint64_t low = (uint64_t)words[1] << 32 | words[0];

    return (int64_t)(is_negative ? -low : low);
}

void leat_parquet_store(const struct leat_parquet_leaf *leaf, const uint8_t *value, size_t n_bytes,
                        enum leat_arrow_number number, uint8_t *out) {
    int64_t integer;
    double real;

    if (number == LEAT_ARROW_FLOAT64) {
        real = decimal(leaf, value, n_bytes);
        memcpy(out, &real, sizeof(real));
        return;
    }
    integer = leaf->meaning == LEAT_PARQUET_DECIMAL ? whole(leaf, value, n_bytes)
              : leaf->meaning == LEAT_PARQUET_DATE  ? integer_of(value, n_bytes)
                                                    : microseconds(leaf, value, n_bytes);
    memcpy(out, &integer, leat_arrow_number_size(number)); /* the low bytes */
}
