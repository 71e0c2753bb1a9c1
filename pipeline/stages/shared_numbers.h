/* shared_numbers.h: what stages that compute with numbers have in common: arguments, schema, and
 * what becomes of NaN.
 *
 * Input is one number a row or a list of them, of any dtype but text; the result has the same
 * shape. Everything is computed in double and rounded once, to the dtype of the result. NaN, in the
 * input or as what a number becomes, goes on as it does in NumPy (`keep`), makes the record bad
 * (`fail`), or becomes a number (`default`).
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

/* Numbers that a stage may make of one block: what keeps a wide matrix from taking all memory. */
#define LEAT_NUMBERS_MAX (UINT32_C(1) << 26)

extern const char *const leat_numbers_nans[];
extern const char *const leat_numbers_floats[];   /* names of dtypes */
extern const char *const leat_numbers_integers[]; /* of indices */
extern const char *const leat_numbers_dtypes[];   /* all */

/* Rows of the table of `struct owner`, whose `member` is a struct leat_numbers. */
#define LEAT_NUMBERS_FIELD_ARGS(owner, member)                                                     \
    {.name = "input",                                                                              \
     .type = LEAT_ARG_FIELD,                                                                       \
     .offset = offsetof(struct owner, member.input),                                               \
     .is_required = true,                                                                          \
     .is_positional = true,                                                                        \
     .help = "numbers, or a list of them"},                                                        \
    {                                                                                              \
        .name = "output", .type = LEAT_ARG_FIELD, .offset = offsetof(struct owner, member.output), \
        .is_positional = true, .help = "name of the result; left out: the same name"               \
    }
#define LEAT_NUMBERS_DTYPE_ARG(owner, member, names, written, text)                                \
    {                                                                                              \
        .name = "dtype", .type = LEAT_ARG_DTYPE, .offset = offsetof(struct owner, member.dtype),   \
        .fallback = written, .choices = names, .help = text                                        \
    }
#define LEAT_NUMBERS_NAN_ARGS(owner, member, written)                                              \
    {.name = "nan",                                                                                \
     .type = LEAT_ARG_CHOICE,                                                                      \
     .offset = offsetof(struct owner, member.nan),                                                 \
     .fallback = written,                                                                          \
     .choices = leat_numbers_nans,                                                                 \
     .help = "what becomes of NaN: it is kept as NumPy does, the record is bad, or it becomes "    \
             "`default`"},                                                                         \
    {                                                                                              \
        .name = "default", .type = LEAT_ARG_FLOAT,                                                 \
        .offset = offsetof(struct owner, member.fallback),                                         \
        .help = "with `nan: default`: what stands in its place"                                    \
    }

/* `default` is there just if it has an effect. */
int leat_numbers_check(const struct leat_config *config, const struct leat_numbers *numbers,
                       struct leat_error *err);

/* That a column has numbers which a stage can compute with; `name` is what stands in `arg`. */
int leat_numbers_check_field(const struct leat_config *config, const char *arg, const char *name,
                             const struct leat_field *field, struct leat_error *err);

/* That the dtype, if it is known, holds `default`. */
int leat_numbers_check_default(const struct leat_config *config, const struct leat_numbers *numbers,
                               struct leat_error *err);

/* Finds the input and adds the result, in the same shape. */
int leat_numbers_plan(const struct leat_config *config, struct leat_numbers *numbers,
                      struct leat_planner *planner, struct leat_error *err);

/* Memory for n_values of a column that has one list a row (0 or -errno). */
int leat_numbers_make_lists(struct leat_map *map, uint32_t column, size_t n_values,
                            struct leat_error *err);

/* Element `index` of the input. */
double leat_numbers_get(const struct leat_numbers *numbers, const struct leat_map *map,
                        size_t index);
/* Makes element `index` of the result y, which x has become; rejects the row if the policy says so
 * or the dtype cannot hold it. */
void leat_numbers_put(const struct leat_numbers *numbers, struct leat_map *map, uint32_t row,
                      size_t index, double x, double y);

/* The same for a whole number, which a double may not hold. */
void leat_numbers_put_int(const struct leat_numbers *numbers, struct leat_map *map, uint32_t row,
                          size_t index, int64_t y);

/* Makes all elements of the result, each by one call: element `to` of the result from element
 * `from` of the input, both of that row. */
typedef void leat_numbers_put_fn(const struct leat_config *config, struct leat_map *map,
                                 uint32_t row, size_t from, size_t to);
int leat_numbers_map(const struct leat_config *config, const struct leat_numbers *numbers,
                     struct leat_map *map, leat_numbers_put_fn *put, struct leat_error *err);
