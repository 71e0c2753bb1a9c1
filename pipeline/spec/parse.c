/* parse.c: numbers and truth values from text, whole and strict: declared in bind.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/spec/bind.h"

#define FLOAT_TEXT_MAX 64
#define INT_DIGITS     18 /* never overflow */

/* Adds the digits from i on to the value, which may wrap. Returns the place of the first other
 * byte. */
static inline size_t add_digits(const char *text, size_t n, size_t i, uint64_t *value) {
    for (unsigned digit; i < n && (digit = (unsigned)((unsigned char)text[i] - '0')) <= 9; i++)
        *value = *value * 10 + digit;
    return i;
}

static int parse_long_int(const char *text, size_t n, uint64_t limit, uint64_t *value) {
    for (size_t i = 0; i < n; i++) {
        unsigned digit = (unsigned)((unsigned char)text[i] - '0');

        if (digit > 9)
            return -EINVAL;
        if (*value > (limit - digit) / 10)
            return -ERANGE;
        *value = *value * 10 + digit;
    }
    return 0;
}

int leat_parse_int(const char *text, size_t n, int64_t *ret_value) {
    bool is_negative = n > 0 && text[0] == '-';
    size_t i = n > 0 && (text[0] == '-' || text[0] == '+');
    uint64_t limit = is_negative ? UINT64_C(1) << 63 : (UINT64_C(1) << 63) - 1;
    uint64_t value = 0;
    int r;

    if (i == n)
        return -EINVAL;
    if (n - i <= INT_DIGITS)
        r = add_digits(text, n, i, &value) == n ? 0 : -EINVAL;
    else
        r = parse_long_int(text + i, n - i, limit, &value);
    if (r == 0)
        *ret_value = is_negative ? (int64_t)(0 - value) : (int64_t)value;
    return r;
}

/* Plain decimals with at most 15 digits and a small exponent are exact in one division or
 * multiplication (Clinger 1990). */
static bool parse_short_float(const char *text, size_t n, double *ret_value) {
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    size_t start = text[0] == '-', n_fraction = 0;
    uint64_t value = 0;
    size_t i = add_digits(text, n, start, &value), n_digits = i - start;

    if (i < n && text[i] == '.') {
        start = i + 1;
        i = add_digits(text, n, start, &value);
        n_fraction = i - start;
        n_digits += n_fraction;
    }
    if (i < n || n_digits == 0 || n_digits >= sizeof(powers) / sizeof(powers[0]))
        return false;
    *ret_value = (double)value / powers[n_fraction];
    if (text[0] == '-')
        *ret_value = -*ret_value;
    return true;
}

int leat_parse_float(const char *text, size_t n, double *ret_value) {
    char buffer[FLOAT_TEXT_MAX];
    char *end;

    if (n == 0)
        return -EINVAL;
    if (parse_short_float(text, n, ret_value))
        return 0;
    if (n >= sizeof(buffer) || memchr(text, '\0', n) || memchr(text, 'x', n) ||
        memchr(text, 'X', n) || memchr(text, '(', n) /* nan(...) */ || text[0] == ' ' ||
        (text[0] >= '\t' && text[0] <= '\r'))
        return -EINVAL;
    memcpy(buffer, text, n);
    buffer[n] = '\0';
    *ret_value = strtod(buffer, &end);
    return end == buffer + n ? 0 : -EINVAL;
}

int leat_parse_bool(const char *text, size_t n, bool *ret_value) {
    static const struct {
        const char *text;
        bool value;
    } words[] = {{"true", true}, {"false", false}, {"True", true}, {"False", false},
                 {"TRUE", true}, {"FALSE", false}, {"yes", true},  {"no", false},
                 {"on", true},   {"off", false}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].text) == n && memcmp(words[i].text, text, n) == 0) {
            *ret_value = words[i].value;
            return 0;
        }
    }
    return -EINVAL;
}

struct unit {
    const char *name;
    int64_t factor;
};

static int parse_with_unit(const char *text, size_t n, const struct unit *units, size_t n_units,
                           int64_t *ret_value) {
    size_t n_digits = 0, n_unit;
    int64_t number;
    int r;

    while (n_digits < n && text[n_digits] >= '0' && text[n_digits] <= '9')
        n_digits++;
    n_unit = n - n_digits;
    if (n_digits == 0)
        return -EINVAL;
    r = leat_parse_int(text, n_digits, &number);
    if (n_unit > 1 && text[n_digits] == ' ')
        n_unit--;
    for (size_t i = 0; r == 0 && i < n_units; i++)
        if (strlen(units[i].name) == n_unit &&
            memcmp(units[i].name, text + n - n_unit, n_unit) == 0)
            return __builtin_mul_overflow(number, units[i].factor, ret_value) ? -ERANGE : 0;
    return r < 0 ? r : -EINVAL;
}

int leat_parse_bytes(const char *text, size_t n, int64_t *ret_value) {
    static const struct unit units[] = {
        {"", 1},
        {"B", 1},
        {"kB", 1000},
        {"KB", 1000},
        {"MB", 1000000},
        {"GB", 1000000000},
        {"TB", 1000000000000},
        {"KiB", INT64_C(1) << 10},
        {"MiB", INT64_C(1) << 20},
        {"GiB", INT64_C(1) << 30},
        {"TiB", INT64_C(1) << 40},
    };

    return parse_with_unit(text, n, units, sizeof(units) / sizeof(units[0]), ret_value);
}

int leat_parse_seconds(const char *text, size_t n, int64_t *ret_value) {
    static const struct unit units[] = {
        {"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800},
    };

    return parse_with_unit(text, n, units, sizeof(units) / sizeof(units[0]), ret_value);
}

/* Edit distance with insertions, deletions and changes (Levenshtein 1966), for short words. */
static size_t edit_distance(const char *a, const char *b) {
    size_t row[LEAT_NAME_MAX + 2];
    size_t n_a = strlen(a), n_b = strlen(b);

    if (n_a > LEAT_NAME_MAX || n_b > LEAT_NAME_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= n_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            size_t step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

            diagonal = row[j];
            row[j] = change < step ? change : step;
        }
    }
    return row[n_b];
}

const char *leat_nearest(const char *word, const char *const *candidates, size_t n_candidates) {
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2;

    for (size_t i = 0; i < n_candidates; i++) {
        size_t d = edit_distance(word, candidates[i]);

        if (d < best_distance) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}
