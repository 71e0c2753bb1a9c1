#include "pipeline/inspect/column_stats.h"

#include <math.h>
#include <stdio.h>

#include "proto/base/scalar.h"

#define EXACT_LOG 9
#define EXACT     (1U << EXACT_LOG) /* lengths below count for themselves */
#define STEP_LOG  5                 /* of 32 steps for each power of two */

static uint32_t bucket_of(uint32_t value) {
    uint32_t log, first;

    if (value < EXACT)
        return value;
    log = 31 - (uint32_t)__builtin_clz(value);
    first = EXACT + (log - EXACT_LOG) * (1U << STEP_LOG);
    return first + ((value >> (log - STEP_LOG)) & ((1U << STEP_LOG) - 1));
}

void leat_lengths_bucket(uint32_t bucket, uint32_t *ret_first, uint32_t *ret_last) {
    uint32_t log, step;

    *ret_first = *ret_last = bucket;
    if (bucket < EXACT)
        return;
    log = (bucket - EXACT) / (1U << STEP_LOG) + EXACT_LOG;
    step = (bucket - EXACT) % (1U << STEP_LOG);
    *ret_first = ((1U << STEP_LOG) + step) << (log - STEP_LOG);
    *ret_last = *ret_first + ((1U << (log - STEP_LOG)) - 1);
}

void leat_lengths_add(struct leat_lengths *histogram, uint32_t value) {
    if (histogram->n == 0 || value < histogram->min)
        histogram->min = value;
    if (histogram->n == 0 || value > histogram->max)
        histogram->max = value;
    histogram->n++;
    histogram->sum += value;
    histogram->counts[bucket_of(value)]++;
}

uint32_t leat_lengths_percentile(const struct leat_lengths *histogram, unsigned percent) {
    uint64_t wanted = histogram->n / 100 * percent + (histogram->n % 100 * percent + 99) / 100;
    uint64_t seen = 0;
    uint32_t first, last;

    for (uint32_t i = 0; i < LEAT_LENGTHS_BUCKETS; i++) {
        seen += histogram->counts[i];
        if (seen < wanted || seen == 0)
            continue;
        leat_lengths_bucket(i, &first, &last);
        return last < histogram->max ? last : histogram->max;
    }
    return 0;
}

void leat_moments_add(struct leat_moments *moments, double value) {
    double delta = value - moments->mean;

    if (moments->n == 0 || value < moments->min)
        moments->min = value;
    if (moments->n == 0 || value > moments->max)
        moments->max = value;
    moments->n++;
    moments->mean += delta / (double)moments->n;
    moments->m2 += delta * (value - moments->mean);
}

double leat_moments_std(const struct leat_moments *moments) {
    return moments->n ? sqrt(moments->m2 / (double)moments->n) : 0;
}

static void add_number(struct leat_column_stats *stats, double value) {
    if (isfinite(value))
        leat_moments_add(&stats->numbers, value);
    else
        stats->n_not_finite++;
}

/* Notes what the text could be; after other text it no longer matters. */
static void add_text(struct leat_column_stats *stats, const char *text, size_t n) {
    double number;
    int64_t integer;
    bool flag;

    if (stats->has_other)
        return;
    if (leat_parse_float(text, n, &number) == 0) {
        if (leat_parse_int(text, n, &integer) == 0)
            stats->has_int = true;
        else
            stats->has_float = true;
        add_number(stats, number);
    } else if (leat_parse_bool(text, n, &flag) == 0) {
        stats->has_bool = true;
    } else {
        stats->has_other = true;
    }
}

void leat_column_stats_add(struct leat_column_stats *stats, const struct leat_field *field,
                           const struct leat_column *column, uint32_t row) {
    uint32_t n, start;

    stats->n_rows++;
    if (!field->is_list) {
        add_number(stats, leat_scalar_double(column->values, field->dtype, row));
        return;
    }
    n = column->lengths[row];
    start = column->starts[row];
    stats->n_empty += n == 0;
    leat_lengths_add(&stats->lengths, n);
    if (field->dtype == LEAT_DTYPE_TEXT) {
        if (n > 0)
            add_text(stats, (const char *)column->values + start, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        add_number(stats, leat_scalar_double(column->values, field->dtype, start + i));
}

bool leat_column_stats_is_numeric(const struct leat_column_stats *stats,
                                  const struct leat_field *field) {
    if (field->dtype != LEAT_DTYPE_TEXT)
        return true;
    return (stats->has_int || stats->has_float) && !stats->has_bool && !stats->has_other;
}

const char *leat_column_stats_type(const struct leat_column_stats *stats,
                                   const struct leat_field *field, char *buffer, size_t size) {
    if (field->dtype == LEAT_DTYPE_TEXT) {
        if (leat_column_stats_is_numeric(stats, field))
            return stats->has_float ? "float64" : "int64";
        return stats->has_bool && !stats->has_other && !stats->has_int && !stats->has_float
                   ? "bool"
                   : "text";
    }
    if (!field->is_list)
        return leat_dtype_name(field->dtype);
    (void)snprintf(buffer, size, "%s[]", leat_dtype_name(field->dtype));
    return buffer;
}
