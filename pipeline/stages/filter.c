/* filter.c: keeps the records for which every given condition holds.
 *
 * A text is compared as text by `equals` and `not_equals`, as a number by `min` and `max` (a text
 * that is no number is not kept), and has its length in characters. A list has only a length.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stage/stage.h"
#include "pipeline/stages/shared_text_index.h"
#include "proto/base/scalar.h"

enum { EMPTY = 1, EQUALS = 2, NOT_EQUALS = 4, MIN = 8, MAX = 16, MIN_LENGTH = 32, MAX_LENGTH = 64 };

/* Ascending. A long double holds every double and int64_t; ids are often above 2^53. */
struct numbers {
    long double *values;
    size_t n_values;
};

struct filter {
    struct leat_config base;
    const char *input;
    bool empty;
    struct leat_texts equals, not_equals;
    double min, max;
    int64_t min_length, max_length;

    uint32_t column;
    unsigned conditions;
    struct leat_text_index equal_texts, unequal_texts;
    struct numbers equal_numbers, unequal_numbers;
};

static const struct leat_arg args[] = {
    LEAT_ARG(filter, input, FIELD, "the field to test", .is_positional = true, .is_required = true),
    LEAT_ARG(filter, empty, BOOL,
             "true: keeps records with an empty text or list; false: keeps records with a "
             "text or list that is not empty"),
    LEAT_ARG(filter, equals, TEXTS, "keeps records with one of these values", .min = 1,
             .max = 65536),
    LEAT_ARG(filter, not_equals, TEXTS, "keeps records with none of these values", .min = 1,
             .max = 65536),
    LEAT_ARG(filter, min, FLOAT, "keeps records whose number is at least this value"),
    LEAT_ARG(filter, max, FLOAT, "keeps records whose number is at most this value"),
    LEAT_ARG(filter, min_length, INT,
             "keeps records with a text of at least this many characters, or a list of at "
             "least this many elements",
             .min = 0, .max = 1e12),
    LEAT_ARG(filter, max_length, INT,
             "keeps records with a text of at most this many characters, or a list of at "
             "most this many elements",
             .min = 0, .max = 1e12),
    LEAT_ARGS_END,
};

static const struct {
    const char *arg;
    unsigned condition;
} conditions[] = {
    {"empty", EMPTY}, {"equals", EQUALS},         {"not_equals", NOT_EQUALS}, {"min", MIN},
    {"max", MAX},     {"min_length", MIN_LENGTH}, {"max_length", MAX_LENGTH},
};

static int check(struct leat_config *config, struct leat_error *err) {
    struct filter *self = (struct filter *)config;

    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
        if (leat_config_given(config, conditions[i].arg))
            self->conditions |= conditions[i].condition;
    if (self->conditions == 0)
        return leat_config_error(config, NULL, err,
                                 "has no condition: give `empty`, `equals`, `not_equals`, `min`, "
                                 "`max`, `min_length` or `max_length`");
    return 0;
}

static int parse_number(const char *text, long double *ret_number) {
    int64_t integer;
    double number;
    bool truth;

    if (leat_parse_bool(text, strlen(text), &truth) == 0)
        *ret_number = truth;
    else if (leat_parse_int(text, strlen(text), &integer) == 0)
        *ret_number = (long double)integer;
    else if (leat_parse_float(text, strlen(text), &number) == 0)
        *ret_number = (long double)number;
    else
        return -EINVAL;
    return 0;
}

static int by_value(const void *a, const void *b) {
    const long double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static int parse_numbers(struct leat_config *config, const char *arg,
                         const struct leat_texts *texts, struct numbers *numbers,
                         struct leat_error *err) {
    numbers->values = calloc(texts->n_items ? texts->n_items : 1, sizeof(*numbers->values));
    if (!numbers->values)
        return leat_error_oom(err);
    for (size_t i = 0; i < texts->n_items; i++) {
        long double number;

        if (parse_number(texts->items[i], &number) < 0)
            return leat_config_error(config, arg, err,
                                     "\"%.64s\" is not a number, but the field holds numbers",
                                     texts->items[i]);
        if (number == number) /* nan equals nothing */
            numbers->values[numbers->n_values++] = number;
    }
    qsort(numbers->values, numbers->n_values, sizeof(*numbers->values), by_value);
    return 0;
}

static int index_texts(struct filter *self, struct leat_error *err) {
    if (leat_text_index_init(&self->equal_texts, self->equals.items, self->equals.n_items) < 0 ||
        leat_text_index_init(&self->unequal_texts, self->not_equals.items,
                             self->not_equals.n_items) < 0)
        return leat_error_oom(err);
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct filter *self = (struct filter *)config;
    const unsigned of_lists = EMPTY | MIN_LENGTH | MAX_LENGTH;
    const struct leat_field *field;
    int r = leat_planner_find(planner, config, "input", self->input, &self->column, err);

    if (r < 0)
        return r;
    field = leat_planner_field(planner, self->column);
    if (field->dtype == LEAT_DTYPE_TEXT)
        return index_texts(self, err);
    if (field->is_list && (self->conditions & ~of_lists))
        return leat_config_error(
            config, "input", err,
            "\"%s\" is a list: test it with `empty`, `min_length` or `max_length`", self->input);
    if (!field->is_list && (self->conditions & of_lists))
        return leat_config_error(config, "input", err,
                                 "\"%s\" is one number per record, so it is never empty and has no "
                                 "length: test it with `equals`, `min` or `max`",
                                 self->input);
    r = parse_numbers(config, "equals", &self->equals, &self->equal_numbers, err);
    return r < 0 ? r
                 : parse_numbers(config, "not_equals", &self->not_equals, &self->unequal_numbers,
                                 err);
}

static void unload(struct leat_config *config) {
    struct filter *self = (struct filter *)config;

    leat_text_index_deinit(&self->equal_texts);
    leat_text_index_deinit(&self->unequal_texts);
    free(self->equal_numbers.values);
    free(self->unequal_numbers.values);
}

static bool is_among(const struct numbers *numbers, long double number) {
    return numbers->n_values > 0 &&
           bsearch(&number, numbers->values, numbers->n_values, sizeof(number), by_value) != NULL;
}

static bool holds_length(const struct filter *self, uint64_t length) {
    if ((self->conditions & EMPTY) && (length == 0) != self->empty)
        return false;
    if ((self->conditions & MIN_LENGTH) && length < (uint64_t)self->min_length)
        return false;
    return !(self->conditions & MAX_LENGTH) || length <= (uint64_t)self->max_length;
}

static bool holds_range(const struct filter *self, double number) {
    return !((self->conditions & MIN) && !(number >= self->min)) &&
           !((self->conditions & MAX) && !(number <= self->max));
}

/* Counts characters of UTF-8: bytes that do not continue one. */
static uint64_t n_characters(const char *text, size_t n) {
    uint64_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static bool holds_text(const struct filter *self, const char *text, size_t n) {
    double number;

    if ((self->conditions & EQUALS) && leat_text_index_find(&self->equal_texts, text, n) < 0)
        return false;
    if ((self->conditions & NOT_EQUALS) && leat_text_index_find(&self->unequal_texts, text, n) >= 0)
        return false;
    if ((self->conditions & (MIN | MAX)) &&
        (leat_parse_float(text, n, &number) < 0 || !holds_range(self, number)))
        return false;
    return holds_length(self,
                        self->conditions & (MIN_LENGTH | MAX_LENGTH) ? n_characters(text, n) : n);
}

static bool holds_number(const struct filter *self, const void *values, enum leat_dtype dtype,
                         uint32_t row) {
    double number = leat_scalar_double(values, dtype, row);
    long double exact = leat_dtype_is_integer(dtype)
                            ? (long double)leat_scalar_int(values, dtype, row)
                            : (long double)number;

    if (isnan(number))
        return self->conditions == NOT_EQUALS;
    if ((self->conditions & EQUALS) && !is_among(&self->equal_numbers, exact))
        return false;
    if ((self->conditions & NOT_EQUALS) && is_among(&self->unequal_numbers, exact))
        return false;
    return holds_range(self, number);
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct filter *self = (const struct filter *)config;
    const struct leat_column *column = leat_map_column(map, self->column);
    enum leat_dtype dtype = map->fields[self->column].dtype;

    (void)err;
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        bool holds;

        if (dtype == LEAT_DTYPE_TEXT)
            holds = holds_text(self, (const char *)column->values + column->starts[row],
                               column->lengths[row]);
        else if (column->lengths)
            holds = holds_length(self, column->lengths[row]);
        else
            holds = holds_number(self, column->values, dtype, row);
        if (!holds)
            leat_map_drop(map, row);
    }
    return 0;
}

const struct leat_stage_ops leat_stage_filter = {
    LEAT_STAGE_BASE("filter", filter, MAP),
    .summary = "keeps the records that meet all given conditions",
    .example = "{ input: Age, min: 18 }",
    .check = check,
    .unload = unload,
    .plan = plan,
    .map = map_rows,
    .is_filter = true,
};
