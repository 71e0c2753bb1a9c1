/* vary.c: see vary.h: the text. What a path means is in path.c. */
#include "client/cli/bench/vary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT    65536
#define MAX_PRODUCT (SIZE_MAX / LEAT_BENCH_MAX_CASES)

struct reader {
    const char *option, *text;
    struct leat_bench_axis *axis;
    struct leat_error *err;
};

__attribute__((format(printf, 2, 3))) static int fail(const struct reader *reader,
                                                      const char *format, ...) {
    char what[256];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(what, sizeof(what), format, ap);
    va_end(ap);
    return leat_error_set(reader->err, -EINVAL, "%s \"%.200s\": %s", reader->option, reader->text,
                          what);
}

static int add(struct reader *reader, const char *value, size_t n) {
    struct leat_bench_axis *axis = reader->axis;

    if (axis->n_values == LEAT_BENCH_MAX_CASES)
        return fail(reader, "more than %d values", LEAT_BENCH_MAX_CASES);
    axis->values[axis->n_values] = strndup(value, n);
    if (!axis->values[axis->n_values])
        return leat_error_oom(reader->err);
    axis->n_values++;
    return 0;
}

/* ---- ranges ---- */

struct range {
    uint64_t low, high, step; /* low and high in units */
    bool multiplies;
    const char *unit; /* of low, "KiB" */
    size_t n_unit;
};

/* "64KiB": digits, and what is behind them. */
static bool split_number(const char *text, size_t n, int64_t *ret_number, size_t *ret_n_digits) {
    size_t n_digits = 0;

    while (n_digits < n && text[n_digits] >= '0' && text[n_digits] <= '9')
        n_digits++;
    *ret_n_digits = n_digits;
    return n_digits > 0 && leat_parse_int(text, n_digits, ret_number) == 0;
}

/* "..8MiB*2": the end, in units of the beginning, and the step. */
static bool parse_range(const char *text, size_t n, struct range *range) {
    const char *dots = memmem(text, n, "..", 2), *end = text + n, *high, *sign;
    char one[24];
    int64_t low, unit = 1, top, step = 1;
    size_t n_digits;

    if (!dots || !split_number(text, (size_t)(dots - text), &low, &n_digits))
        return false;
    range->unit = text + n_digits;
    range->n_unit = (size_t)(dots - range->unit);
    (void)snprintf(one, sizeof(one), "1%.*s", (int)(range->n_unit < 16 ? range->n_unit : 16),
                   range->unit);
    high = dots + 2;
    sign = high;
    while (sign < end && *sign != '*' && *sign != '+')
        sign++;
    if (leat_parse_bytes(one, strlen(one), &unit) < 0 ||
        leat_parse_bytes(high, (size_t)(sign - high), &top) < 0)
        return false;
    if (sign < end && leat_parse_int(sign + 1, (size_t)(end - sign - 1), &step) < 0)
        return false;
    range->multiplies = sign < end && *sign == '*';
    range->low = (uint64_t)low;
    range->high = (uint64_t)(top / unit);
    range->step = step > 0 ? (uint64_t)step : 0;
    return true;
}

static int add_range(struct reader *reader, const struct range *range) {
    char text[64];

    if (range->low > range->high)
        return fail(reader, "the end of a range is below its beginning");
    if (range->step < 1 || (range->multiplies && (range->step < 2 || range->low == 0)))
        return fail(reader, range->multiplies ? "a factor must be at least 2, and not of 0"
                                              : "a step must be at least 1");
    for (uint64_t value = range->low; value <= range->high;
         value = range->multiplies ? value * range->step : value + range->step) {
        int n =
            snprintf(text, sizeof(text), "%" PRIu64 "%.*s", value, (int)range->n_unit, range->unit);
        int r = add(reader, text, (size_t)n);

        if (r < 0)
            return r;
        if (value > INT64_MAX / (range->multiplies ? range->step : 1) ||
            (!range->multiplies && range->step > INT64_MAX))
            break;
    }
    return 0;
}

/* ---- values ---- */

static int add_value(struct reader *reader, const char *value, size_t n) {
    struct range range;

    while (n > 0 && value[0] == ' ') {
        value++;
        n--;
    }
    while (n > 0 && value[n - 1] == ' ')
        n--;
    if (n == 0)
        return fail(reader, "a value is missing");
    return parse_range(value, n, &range) ? add_range(reader, &range) : add(reader, value, n);
}

/* Up to a comma that stands in no brackets or quotes. */
static size_t value_length(const char *text) {
    size_t depth = 0, n = 0;
    char quote = '\0';

    for (; text[n]; n++) {
        char c = text[n];

        if (quote) {
            if (c == '\\' && quote == '"' && text[n + 1])
                n++;
            else if (c == quote)
                quote = '\0';
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        } else if (c == ',' && depth == 0) {
            break;
        }
    }
    return n;
}

int leat_bench_axis_parse(const char *option, const char *text, struct leat_bench_axis *ret_axis,
                          struct leat_error *err) {
    struct reader reader = {.option = option, .text = text, .axis = ret_axis, .err = err};
    const char *equals = strchr(text, '=');

    *ret_axis = (struct leat_bench_axis){.path = NULL};
    if (strlen(text) > MAX_TEXT)
        return fail(&reader, "more than %d bytes", MAX_TEXT);
    if (!equals || equals == text)
        return fail(&reader, "expected PATH=V1,V2,.. such as batch.batch_size=8,16,32");
    ret_axis->path = strndup(text, (size_t)(equals - text));
    ret_axis->values = calloc(LEAT_BENCH_MAX_CASES, sizeof(*ret_axis->values));
    if (!ret_axis->path || !ret_axis->values)
        return leat_error_oom(err);
    for (const char *at = equals + 1;;) {
        size_t n = value_length(at);
        int r = add_value(&reader, at, n);

        if (r < 0 || !at[n])
            return r;
        at += n + 1;
    }
}

void leat_bench_axis_deinit(struct leat_bench_axis *axis) {
    for (size_t i = 0; i < axis->n_values; i++)
        free(axis->values[i]);
    free(axis->values);
    free(axis->path);
    free(axis->full);
    *axis = (struct leat_bench_axis){.path = NULL};
}

/* ---- combinations ---- */

int leat_bench_axes_count(const struct leat_bench_axis *axes, size_t n_axes, size_t *ret_n_cases,
                          struct leat_error *err) {
    size_t n = 1;

    for (size_t i = 0; i < n_axes; i++)
        n = n > MAX_PRODUCT ? n : n * axes[i].n_values;
    *ret_n_cases = n;
    if (n <= LEAT_BENCH_MAX_CASES)
        return 0;
    return leat_error_set(err, -E2BIG,
                          "--vary: %zu combinations, at most %d are run; take fewer values", n,
                          LEAT_BENCH_MAX_CASES);
}

void leat_bench_axes_pick(const struct leat_bench_axis *axes, size_t n_axes, size_t index,
                          size_t *ret_picks) {
    for (size_t i = n_axes; i > 0; i--) {
        ret_picks[i - 1] = index % axes[i - 1].n_values;
        index /= axes[i - 1].n_values;
    }
}
