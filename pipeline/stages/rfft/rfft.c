/* rfft.c: the spectrum of a list of real numbers, as numpy.fft.rfft(list, n): a list that is longer
 * than n is cut, a shorter one goes on with zeros.
 *
 * A number that is not finite has no spectrum: it counts as NaN, which spreads over the whole
 * spectrum unless the policy says otherwise.
 */
#include <errno.h>
#include <math.h>

#include "pipeline/stages/rfft/transform.h"
#include "pipeline/stages/shared_numbers.h"
#include "proto/base/scalar.h"

enum { FORM_COMPLEX, FORM_MAGNITUDE, FORM_POWER };

struct rfft {
    struct leat_config base;
    struct leat_numbers numbers;
    int64_t n;
    int form;

    struct leat_rfft *transform;
    uint32_t width;
};

static const char *const forms[] = {"complex", "magnitude", "power", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG_NAMED("input", rfft, numbers.input, FIELD, "a list of numbers", .is_positional = true,
                   .is_required = true),
    LEAT_ARG_NAMED("output", rfft, numbers.output, FIELD,
                   "name of the spectrum; default: the name of the input", .is_positional = true),
    LEAT_ARG(rfft, n, INT,
             "number of points; leat cuts a longer list to this length, and fills a "
             "shorter list with zeros; default: the fixed width of the list",
             .min = 1, .max = LEAT_RFFT_POINTS_MAX),
    LEAT_ARG(rfft, form, CHOICE,
             "what the result has for each of the n / 2 + 1 frequencies; `complex`: the "
             "real part and then the imaginary part; `magnitude`: the magnitude; `power`: "
             "the square of the magnitude",
             .fallback = "complex", .choices = forms),
    LEAT_NUMBERS_DTYPE_ARG(rfft, numbers, leat_numbers_floats, "float32", "dtype of the result"),
    LEAT_NUMBERS_NAN_ARGS(rfft, numbers, "keep"),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct rfft *self = (const struct rfft *)config;

    if (self->numbers.nan == LEAT_NAN_DEFAULT && isinf(self->numbers.fallback))
        return leat_config_error(config, "default", err,
                                 "must be finite: a list with an infinite number has no spectrum");
    return leat_numbers_check(config, &self->numbers, err);
}

static int make_transform(struct rfft *self, const struct leat_field *from,
                          struct leat_error *err) {
    uint64_t n = self->n > 0 ? (uint64_t)self->n : from->width;
    uint32_t next;

    if (!from->is_list)
        return leat_config_error(&self->base, "input", err, "\"%s\" is one number, not a list",
                                 self->numbers.input);
    if (n == 0 || n > LEAT_RFFT_POINTS_MAX)
        return leat_config_error(&self->base, n ? "input" : NULL, err,
                                 "the lists of \"%s\" have %s: set `n` to a number from 1 to %u",
                                 self->numbers.input, n ? "too many points" : "no fixed width",
                                 LEAT_RFFT_POINTS_MAX);
    next = leat_rfft_next_size((uint32_t)n);
    if (next != n)
        return leat_config_error(&self->base, "n", err,
                                 "%llu has a prime factor above %d, which is slow: use %u",
                                 (unsigned long long)n, LEAT_RFFT_PRIME_MAX, next);
    self->n = (int64_t)n;
    self->width = (next / 2 + 1) * (self->form == FORM_COMPLEX ? 2 : 1);
    return leat_rfft_new(next, &self->transform) < 0 ? leat_error_oom(err) : 0;
}

static void unload(struct leat_config *config) {
    struct rfft *self = (struct rfft *)config;

    self->transform = leat_rfft_free(self->transform);
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct rfft *self = (struct rfft *)config;
    struct leat_numbers *numbers = &self->numbers;
    const struct leat_field *from;
    struct leat_field *to;
    int r = leat_planner_find(planner, config, "input", numbers->input, &numbers->from, err);

    if (r < 0)
        return r;
    from = leat_planner_field(planner, numbers->from);
    r = leat_numbers_check_field(config, "input", numbers->input, from, err);
    if (r == 0)
        r = make_transform(self, from, err);
    if (r == 0)
        r = leat_planner_add_result(planner, config, numbers->input, numbers->output,
                                    (enum leat_dtype)numbers->dtype, true, &numbers->to, &to, err);
    if (r == 0)
        to->max_length = to->width = self->width;
    return r;
}

/* Memory of one job. */
struct work {
    double *points, *spectrum;
    void *memory;
};

static int make_work(const struct rfft *self, struct leat_map *map, struct work *ret_work) {
    size_t n = (size_t)self->n;

    ret_work->points = leat_arena_alloc(map->scratch, n * sizeof(double));
    ret_work->spectrum = leat_arena_alloc(map->scratch, 2 * (n / 2 + 1) * sizeof(double));
    ret_work->memory = leat_arena_alloc(map->scratch, leat_rfft_memory(self->transform));
    return ret_work->points && ret_work->spectrum && ret_work->memory ? 0 : -ENOMEM;
}

/* Fills the points. False: they have no spectrum. */
static bool read_points(const struct rfft *self, const struct leat_map *map, uint32_t row,
                        double *points) {
    const struct leat_column *from = leat_map_column(map, self->numbers.from);
    uint32_t n = (uint32_t)self->n;
    bool is_finite = true;

    for (uint32_t i = 0; i < n; i++) {
        double x = i < from->lengths[row]
                       ? leat_numbers_get(&self->numbers, map, from->starts[row] + i)
                       : 0;

        if (!isfinite(x) && self->numbers.nan == LEAT_NAN_DEFAULT)
            x = self->numbers.fallback;
        is_finite = is_finite && isfinite(x);
        points[i] = x;
    }
    return is_finite;
}

static void put_row(const struct rfft *self, struct leat_map *map, const double *spectrum,
                    size_t at) {
    void *values = leat_map_column(map, self->numbers.to)->values;
    enum leat_dtype dtype = (enum leat_dtype)self->numbers.dtype;

    for (uint32_t k = 0; k < self->width; k++) {
        double y = spectrum[k];

        if (self->form == FORM_MAGNITUDE)
            y = hypot(spectrum[2 * k], spectrum[2 * k + 1]);
        else if (self->form == FORM_POWER)
            y = spectrum[2 * k] * spectrum[2 * k] + spectrum[2 * k + 1] * spectrum[2 * k + 1];
        (void)leat_scalar_store_double(values, dtype, at + k, y);
    }
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct rfft *self = (const struct rfft *)config;
    struct leat_column *to = leat_map_column(map, self->numbers.to);
    struct work work;
    int r = leat_numbers_make_lists(map, self->numbers.to, (size_t)map->block->n_rows * self->width,
                                    err);

    if (r == 0 && make_work(self, map, &work) < 0)
        r = leat_error_oom(err);
    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++) {
        bool has_spectrum = read_points(self, map, row, work.points);

        to->starts[row] = row * self->width;
        to->lengths[row] = self->width;
        if (has_spectrum)
            leat_rfft_execute(self->transform, work.points, work.spectrum, work.memory);
        for (int64_t k = 0; !has_spectrum && k < 2 * (self->n / 2 + 1); k++)
            work.spectrum[k] = (double)NAN;
        put_row(self, map, work.spectrum, (size_t)row * self->width);
        if (!has_spectrum && self->numbers.nan == LEAT_NAN_FAIL)
            leat_map_reject(map, row, self->numbers.input,
                            "has numbers that are not finite, so it has no spectrum");
    }
    return r;
}

const struct leat_stage_ops leat_stage_rfft = {
    LEAT_STAGE_BASE("rfft", rfft, MAP),
    .summary = "computes the spectrum of a list of real numbers",
    .example = "{ input: signal, output: spectrum, n: 256, form: magnitude }",
    .check = check,
    .unload = unload,
    .plan = plan,
    .map = map_rows,
};
