#include "client/cli/bench/vary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/stream_file.h"
#include "pipeline/plan/plan.h"
#include "pipeline/stage/stage.h"

struct range {
    int64_t low, high, step;
    bool multiplies;
};

/* Returns the error; NULL: none. */
static const char *add_value(struct leat_bench_axis *axis, const char *value, size_t n) {
    if (axis->n_values == LEAT_BENCH_MAX_CASES)
        return "there are more than 256 values";
    axis->values[axis->n_values] = strndup(value, n);
    if (!axis->values[axis->n_values])
        return "out of memory";
    axis->n_values++;
    return NULL;
}

static bool parse_range(const char *text, size_t n, struct range *ret_range) {
    const char *end = text + n, *dots = memmem(text, n, "..", 2), *sign;

    if (!dots)
        return false;
    for (sign = dots + 2; sign < end && *sign != '*' && *sign != '+';)
        sign++;
    *ret_range = (struct range){.step = 1, .multiplies = sign < end && *sign == '*'};
    return leat_parse_bytes(text, (size_t)(dots - text), &ret_range->low) == 0 &&
           leat_parse_bytes(dots + 2, (size_t)(sign - dots - 2), &ret_range->high) == 0 &&
           (sign == end ||
            leat_parse_bytes(sign + 1, (size_t)(end - sign - 1), &ret_range->step) == 0);
}

static const char *add_range(struct leat_bench_axis *axis, const struct range *range) {
    uint64_t step = (uint64_t)range->step, high = (uint64_t)range->high;
    const char *wrong = NULL;

    if (range->low > range->high)
        return "the end of the range is below its start";
    if (range->multiplies && (range->step < 2 || range->low < 1))
        return "the factor must be at least 2, and the range must start at 1 or more";
    if (range->step < 1)
        return "the step must be at least 1";
    for (uint64_t value = (uint64_t)range->low; !wrong && value <= high;) {
        char text[24];

        wrong = add_value(axis, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, value));
        if (range->multiplies && value > high / step)
            break;
        value = range->multiplies ? value * step : value + step;
    }
    return wrong;
}

/* The length up to a comma outside brackets and quotes. */
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

static const char *add_values(struct leat_bench_axis *axis, const char *text) {
    const char *wrong = NULL;

    for (;;) {
        const char *value = text + strspn(text, " ");
        size_t n = value_length(text), n_value = text + n > value ? (size_t)(text + n - value) : 0;
        struct range range;

        while (n_value > 0 && value[n_value - 1] == ' ')
            n_value--;
        wrong = n_value == 0                          ? "there is no value after a comma or ="
                : parse_range(value, n_value, &range) ? add_range(axis, &range)
                                                      : add_value(axis, value, n_value);
        if (wrong || !text[n])
            return wrong;
        text += n + 1;
    }
}

static int parse_axis(struct leat_bench_axis *ret_axis, const char *option, const char *text,
                      struct leat_error *err) {
    const char *equals = strchr(text, '='), *wrong;

    *ret_axis = (struct leat_bench_axis){.path = NULL};
    if (!equals || equals == text)
        return leat_error_set(err, -EINVAL,
                              "%s \"%.200s\": expected PATH=V1,V2,.. such as "
                              "batch.batch_size=8,16,32",
                              option, text);
    ret_axis->path = strndup(text, (size_t)(equals - text));
    ret_axis->values = calloc(LEAT_BENCH_MAX_CASES, sizeof(*ret_axis->values));
    if (!ret_axis->path || !ret_axis->values)
        return leat_error_oom(err);
    wrong = add_values(ret_axis, equals + 1);
    return wrong ? leat_error_set(err, -EINVAL, "%s \"%.200s\": %s", option, text, wrong) : 0;
}

void leat_bench_axis_deinit(struct leat_bench_axis *axis) {
    for (size_t i = 0; i < axis->n_values; i++)
        free(axis->values[i]);
    free(axis->values);
    free(axis->path);
    free(axis->full);
}

/* ---- the path ---- */

static bool take_arg(struct leat_bench_axis *axis, const struct leat_arg *args, const char *name,
                     const struct leat_value *values) {
    for (; args && args->name; args++)
        if (strcmp(args->name, name) == 0) {
            axis->arg = args;
            axis->written = leat_value_get(values, name);
            return true;
        }
    return false;
}

/* The stage of that index; -1: the source. */
static bool take_stage_arg(struct leat_bench_axis *axis, const struct leat_spec *spec, int stage,
                           const char *name) {
    const struct leat_stage_ops *ops =
        stage < 0 ? leat_source_find(spec->source.kind) : leat_stage_find(spec->stages[stage].kind);

    return ops && take_arg(axis, ops->args, name,
                           stage < 0 ? &spec->source.args : &spec->stages[stage].args);
}

static int resolve_path(struct leat_bench_axis *axis, const char *option,
                        const struct leat_spec *spec, struct leat_error *err) {
    const char *dot = strchr(axis->path, '.'), *owner = "";
    char stage[LEAT_NAME_MAX + 32];
    bool is_setting = false;
    unsigned n_owners = 0;
    int index;

    if (dot) { /* an unknown stage is an error of the override */
        (void)snprintf(stage, sizeof(stage), "%.*s", (int)(dot - axis->path), axis->path);
        if (leat_cli_find_stage(spec, stage, &index, LEAT_ERROR_IGNORED) == 0)
            (void)take_stage_arg(axis, spec, index, dot + 1);
    } else if (!take_arg(axis, leat_stream_args, axis->path, &spec->options)) {
        for (index = -1; index < (int)spec->n_stages; index++)
            if (take_stage_arg(axis, spec, index, axis->path)) {
                owner = index < 0 ? "source" : spec->stages[index].kind;
                n_owners++;
            }
        is_setting = n_owners == 0;
    }
    if (n_owners > 1) {
        axis->arg = NULL;
        return leat_error_set(err, -EINVAL,
                              "%s \"%.64s\": %u stages of the stream %s have this argument; write "
                              "which one: STAGE.%.64s",
                              option, axis->path, n_owners, spec->name, axis->path);
    }
    if (asprintf(&axis->full, "%s%s%s%s%s%s", is_setting ? "" : "streams.",
                 is_setting ? "" : spec->name, is_setting ? "" : ".", owner, owner[0] ? "." : "",
                 axis->path) < 0) {
        axis->full = NULL;
        return leat_error_oom(err);
    }
    return 0;
}

int leat_bench_axis_init(struct leat_bench_axis *ret_axis, const char *option, const char *text,
                         const struct leat_spec *spec, struct leat_error *err) {
    int r = parse_axis(ret_axis, option, text, err);

    return r == 0 ? resolve_path(ret_axis, option, spec, err) : r;
}
