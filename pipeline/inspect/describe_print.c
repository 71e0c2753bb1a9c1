/* describe_print.c: a description as a table with histograms, and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/inspect/describe.h"
#include "proto/base/json_writer.h"

#define TYPE_MAX  32
#define ROWS_MAX  16 /* of a histogram */
#define BAR_WIDTH 40

static double mean_length(const struct leat_lengths *lengths) {
    return lengths->n ? (double)lengths->sum / (double)lengths->n : 0;
}

static const char *type_of(const struct leat_described_column *column, char *buffer) {
    return leat_column_stats_type(&column->stats, column->field, buffer, TYPE_MAX);
}

static bool has_numbers(const struct leat_described_column *column) {
    return !column->is_tokens && column->stats.numbers.n > 0 &&
           leat_column_stats_is_numeric(&column->stats, column->field);
}

static void add_row(struct leat_text *text, const struct leat_described_column *column) {
    const struct leat_column_stats *stats = &column->stats;
    char type[TYPE_MAX];

    size_t start;

    leat_text_add(text, "  ");
    start = text->n_bytes;
    leat_text_add_shown(text, column->name);
    leat_text_add(text, "%*s %-14s %8llu",
                  text->n_bytes - start < 20 ? 20 - (int)(text->n_bytes - start) : 0, "",
                  type_of(column, type), (unsigned long long)stats->n_empty);
    if (column->field->is_list && stats->n_rows > 0)
        leat_text_add(text, " %8u %8.1f %8u", stats->lengths.min, mean_length(&stats->lengths),
                      stats->lengths.max);
    else
        leat_text_add(text, " %8s %8s %8s", "", "", "");
    if (has_numbers(column))
        leat_text_add(text, " %11.5g %11.5g %11.5g %11.5g", stats->numbers.min, stats->numbers.mean,
                      leat_moments_std(&stats->numbers), stats->numbers.max);
    if (stats->n_not_finite > 0 && !column->is_tokens)
        leat_text_add(text, "  (%llu not finite)", (unsigned long long)stats->n_not_finite);
    leat_text_add(text, "\n");
}

/* 1, 2 or 5 times a power of ten, so that no more than ROWS_MAX rows are needed, and none is finer
 * than what was counted. */
static uint64_t row_width(uint64_t n_values, uint64_t finest) {
    static const unsigned steps[] = {1, 2, 5};
    uint64_t power = 1;

    for (;; power *= 10)
        for (size_t i = 0; i < 3; i++)
            if (steps[i] * power * (ROWS_MAX - 1) >= n_values && steps[i] * power >= finest)
                return steps[i] * power;
}

/* A bucket counts in the row of its middle. */
static void add_histogram(struct leat_text *text, const struct leat_lengths *lengths) {
    uint64_t counts[ROWS_MAX + 1] = {0}, largest = 1, width, start, finest = 1;
    uint32_t first, last;

    for (uint32_t i = 0; i < LEAT_LENGTHS_BUCKETS; i++) {
        leat_lengths_bucket(i, &first, &last);
        if (first <= lengths->max)
            finest = (uint64_t)last - first + 1;
    }
    width = row_width((uint64_t)lengths->max - lengths->min + 1, finest);
    start = lengths->min / width * width;
    for (uint32_t i = 0; i < LEAT_LENGTHS_BUCKETS; i++) {
        uint64_t middle;

        leat_lengths_bucket(i, &first, &last);
        middle = first + (uint64_t)(last - first) / 2;
        middle = middle < lengths->min ? lengths->min : middle;
        middle = middle > lengths->max ? lengths->max : middle;
        counts[(middle - start) / width] += lengths->counts[i];
    }
    for (size_t i = 0; i <= ROWS_MAX; i++)
        largest = counts[i] > largest ? counts[i] : largest;
    for (size_t i = 0; i <= ROWS_MAX && start + i * width <= lengths->max; i++) {
        int bar = (int)(counts[i] * BAR_WIDTH / largest);

        leat_text_add(text, "  %10llu..%-10llu %10llu %5.1f %%  %.*s\n",
                      (unsigned long long)(start + i * width),
                      (unsigned long long)(start + (i + 1) * width - 1),
                      (unsigned long long)counts[i], 100 * (double)counts[i] / (double)lengths->n,
                      bar, "########################################");
    }
}

static void add_tokens(struct leat_text *text, const struct leat_described_column *column) {
    const struct leat_lengths *lengths = &column->stats.lengths;

    if (lengths->n == 0)
        return;
    leat_text_add(text, "\n");
    leat_text_add_line(text,
                       "%s: %llu tokens; a record has %u to %u tokens, %.1f on average; the median "
                       "is %u, the 90th percentile %u, the 99th %u",
                       column->name, (unsigned long long)lengths->sum, lengths->min, lengths->max,
                       mean_length(lengths), leat_lengths_percentile(lengths, 50),
                       leat_lengths_percentile(lengths, 90), leat_lengths_percentile(lengths, 99));
    add_histogram(text, lengths);
}

static void print_text(const struct leat_description *description, struct leat_text *text) {
    char bad[LEAT_ERROR_PRINT_MAX];

    leat_text_add_line(text, "stream %s: %llu record%s, %llu bad", description->plan->spec->name,
                       (unsigned long long)description->n_records,
                       description->n_records == 1 ? "" : "s",
                       (unsigned long long)description->n_bad);
    if (description->first_bad.code) {
        (void)leat_error_print(&description->first_bad, bad, sizeof(bad));
        leat_text_add_line(text, "the first bad record: %s", bad);
    }
    leat_text_add(text, "  %-20s %-14s %8s %8s %8s %8s %11s %11s %11s %11s\n", "column", "type",
                  "empty", "shortest", "length", "longest", "min", "mean", "std", "max");
    for (size_t i = 0; i < description->n_columns; i++)
        add_row(text, &description->columns[i]);
    for (size_t i = 0; i < description->n_columns; i++)
        if (description->columns[i].is_tokens)
            add_tokens(text, &description->columns[i]);
}

/* With all digits; JSON has no infinities, which a sum of squares may reach. */
static void add_number(struct leat_text *text, const char *key, double value) {
    char digits[32];

    if (isfinite(value))
        leat_json_add_raw(text, key, digits,
                          (size_t)snprintf(digits, sizeof(digits), "%.17g", value));
    else
        leat_json_add_null(text, key);
}

static void add_lengths(struct leat_text *text, const struct leat_described_column *column) {
    const struct leat_lengths *lengths = &column->stats.lengths;
    uint32_t first, last;

    leat_json_open(text, column->is_tokens ? "tokens" : "length", '{');
    leat_json_add_uint(text, "min", lengths->min);
    leat_json_add_uint(text, "max", lengths->max);
    add_number(text, "mean", mean_length(lengths));
    leat_json_add_uint(text, "sum", lengths->sum);
    leat_json_add_uint(text, "p50", leat_lengths_percentile(lengths, 50));
    leat_json_add_uint(text, "p90", leat_lengths_percentile(lengths, 90));
    leat_json_add_uint(text, "p99", leat_lengths_percentile(lengths, 99));
    leat_json_open(text, "histogram", '[');
    for (uint32_t i = 0; i < LEAT_LENGTHS_BUCKETS; i++) {
        if (lengths->counts[i] == 0)
            continue;
        leat_lengths_bucket(i, &first, &last);
        leat_json_open(text, NULL, '{');
        leat_json_add_uint(text, "from", first);
        leat_json_add_uint(text, "to", last);
        leat_json_add_uint(text, "count", lengths->counts[i]);
        leat_json_close(text, '}');
    }
    leat_json_close(text, ']');
    leat_json_close(text, '}');
}

static void add_column(struct leat_text *text, const struct leat_described_column *column) {
    const struct leat_column_stats *stats = &column->stats;
    char type[TYPE_MAX];

    leat_json_open(text, column->name, '{');
    leat_json_add_text(text, "type", type_of(column, type));
    leat_json_add_uint(text, "rows", stats->n_rows);
    leat_json_add_uint(text, "empty", stats->n_empty);
    if (has_numbers(column)) {
        add_number(text, "mean", stats->numbers.mean);
        add_number(text, "std", leat_moments_std(&stats->numbers));
        add_number(text, "min", stats->numbers.min);
        add_number(text, "max", stats->numbers.max);
        leat_json_add_uint(text, "count", stats->numbers.n);
        leat_json_add_uint(text, "not_finite", stats->n_not_finite);
    }
    if (column->field->is_list)
        add_lengths(text, column);
    leat_json_close(text, '}');
}

static void print_json(const struct leat_description *description, struct leat_text *text) {
    char bad[LEAT_ERROR_PRINT_MAX];

    leat_json_open(text, NULL, '{');
    leat_json_add_text(text, "stream", description->plan->spec->name);
    leat_json_add_uint(text, "records", description->n_records);
    leat_json_add_uint(text, "bad_records", description->n_bad);
    if (description->first_bad.code)
        (void)leat_error_print(&description->first_bad, bad, sizeof(bad));
    leat_json_add_text(text, "first_bad", description->first_bad.code ? bad : NULL);
    leat_json_line(text);
    leat_text_add(text, " ");
    leat_json_open(text, "columns", '{');
    for (size_t i = 0; i < description->n_columns; i++) {
        leat_json_line(text);
        leat_text_add(text, "  ");
        add_column(text, &description->columns[i]);
    }
    leat_json_close(text, '}');
    leat_json_close(text, '}');
    leat_text_add(text, "\n");
}

void leat_description_print(const struct leat_description *description, bool as_json,
                            struct leat_text *text) {
    if (as_json)
        print_json(description, text);
    else
        print_text(description, text);
}
