/* shared_numbers.h: what numeric stages share: arguments, schema, and the handling of NaN.
 *
 * Input is one number a row or a list of them, of any dtype but text; the result has the same
 * shape. It is computed in double and rounded once, to the dtype of the result. NaN, as an input or
 * as a result, stays as in NumPy (`keep`), makes the record bad (`fail`), or becomes a number
 * (`default`).
 *
 * Owner: the config; maps run in any thread.
 */
#pragma once

#include "pipeline/stage/stage.h"

enum leat_nan {
    LEAT_NAN_KEEP,
    LEAT_NAN_FAIL,
    LEAT_NAN_DEFAULT,
};

struct leat_numbers {
    const char *input;
    const char *output; /* NULL: the same name */
    int dtype;          /* NONE: that of the input */
    int nan;            /* enum leat_nan */
    double fallback;

    uint32_t from, to;
};

/* Numbers that a stage may make of one block: it bounds the memory of a wide matrix. */
#define LEAT_NUMBERS_MAX (UINT32_C(1) << 26)

extern const char *const leat_numbers_nans[];
extern const char *const leat_numbers_floats[];   /* names of dtypes */
extern const char *const leat_numbers_integers[]; /* of indices */
extern const char *const leat_numbers_dtypes[];   /* all */

/* Rows of the table of `struct owner`, whose `member` is a struct leat_numbers. */
#define LEAT_NUMBERS_FIELD_ARGS(owner, member)                                                     \
    LEAT_ARG_NAMED("input", owner, member.input, FIELD,                                            \
                   "the field with numbers, or with lists of numbers", .is_required = true,        \
                   .is_positional = true),                                                         \
        LEAT_ARG_NAMED("output", owner, member.output, FIELD,                                      \
                       "name of the result; default: the name of the input",                       \
                       .is_positional = true)
#define LEAT_NUMBERS_DTYPE_ARG(owner, member, names, written, text)                                \
    LEAT_ARG_NAMED("dtype", owner, member.dtype, DTYPE, text, .fallback = written, .choices = names)
#define LEAT_NUMBERS_NAN_ARGS(owner, member, written)                                              \
    LEAT_ARG_NAMED("nan", owner, member.nan, CHOICE,                                               \
                   "what happens to NaN; `keep`: leat treats NaN as NumPy does; `fail`: the "      \
                   "record is bad; `default`: the number in the argument `default` replaces NaN",  \
                   .fallback = written, .choices = leat_numbers_nans),                             \
        LEAT_ARG_NAMED("default", owner, member.fallback, FLOAT,                                   \
                       "the number that replaces NaN, if `nan` is `default`")

/* Checks that `default` is given if and only if it has an effect. */
int leat_numbers_check(const struct leat_config *config, const struct leat_numbers *numbers,
                       struct leat_error *err);

/* The beginning of such a stage's config, and its check, plan and map. */
struct leat_numbers_config {
    struct leat_config base;
    struct leat_numbers numbers;
};
int leat_numbers_config_check(struct leat_config *config, struct leat_error *err);
int leat_numbers_config_plan(struct leat_config *config, struct leat_planner *planner,
                             struct leat_error *err);
/* Calls the stage's put() for all elements. */
int leat_numbers_config_map(const struct leat_config *config, struct leat_map *map,
                            struct leat_error *err);

/* Checks that a stage can compute with the column; name: what `arg` says. */
int leat_numbers_check_field(const struct leat_config *config, const char *arg, const char *name,
                             const struct leat_field *field, struct leat_error *err);

/* Checks that the dtype, if it is known, holds `default`. */
int leat_numbers_check_default(const struct leat_config *config, const struct leat_numbers *numbers,
                               struct leat_error *err);

/* Finds the input and adds the result, in the same shape. */
int leat_numbers_plan(const struct leat_config *config, struct leat_numbers *numbers,
                      struct leat_planner *planner, struct leat_error *err);

/* Makes a column with one list a row and n_values in all. 0 or -errno. */
int leat_numbers_make_lists(struct leat_map *map, uint32_t column, size_t n_values,
                            struct leat_error *err);

/* Element `index` of the input. */
double leat_numbers_get(const struct leat_numbers *numbers, const struct leat_map *map,
                        size_t index);
/* Sets element `index` of the result to y, computed from x. Rejects the row if the policy says so
 * or the dtype cannot hold it. */
void leat_numbers_put(const struct leat_numbers *numbers, struct leat_map *map, uint32_t row,
                      size_t index, double x, double y);

/* The same for a whole number that a double may not hold. */
void leat_numbers_put_int(const struct leat_numbers *numbers, struct leat_map *map, uint32_t row,
                          size_t index, int64_t y);
