/* one_hot.c: encodes a class as a row of zeros with a 1 at its place.
 *
 * All rows are views of one table: n - 1 zeros, a 1, and n zeros. The view of n elements from n - 1
 * - k on has its 1 at k; the one from n on has none. The table belongs to the config, which
 * outlives the blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/shared_key.h"
#include "pipeline/stages/shared_numbers.h"
#include "pipeline/stages/shared_text_index.h"

enum { UNKNOWN_FAIL, UNKNOWN_ZEROS };

struct one_hot {
    struct leat_config base;
    const char *input;
    const char *output;
    int64_t classes;
    struct leat_texts categories;
    int unknown;
    int dtype;

    uint32_t from, to;
    uint32_t n; /* of classes */
    struct leat_text_index index;
    void *table;
};

static const char *const unknowns[] = {"fail", "zeros", NULL};
static const struct leat_arg args[] = {
    LEAT_ARG(one_hot, input, FIELD, "the field with the class: a text or a whole number",
             .is_positional = true, .is_required = true),
    LEAT_ARG(one_hot, output, FIELD,
             "name of the resulting list, which has one number per class; default: the "
             "name of the input",
             .is_positional = true),
    LEAT_ARG(one_hot, classes, INT,
             "number of classes; the input must be a whole number from 0 to `classes` - 1",
             .min = 1, .max = 1 << 20),
    LEAT_ARG(one_hot, categories, TEXTS,
             "the texts of the classes; the first text is class 0, the second is class 1, "
             "and so on",
             .min = 1, .max = 65536),
    LEAT_ARG(one_hot, unknown, CHOICE,
             "what happens to an unknown class; `fail`: the record is bad; `zeros`: the "
             "list has only zeros",
             .fallback = "fail", .choices = unknowns),
    LEAT_ARG(one_hot, dtype, DTYPE, "dtype of the result", .fallback = "float32",
             .choices = leat_numbers_dtypes),
    LEAT_ARGS_END,
};

static int make_index(struct one_hot *self, struct leat_error *err) {
    const struct leat_texts *categories = &self->categories;

    if (leat_text_index_init(&self->index, categories->items, categories->n_items) < 0)
        return leat_error_oom(err);
    for (size_t i = 0; i < categories->n_items; i++) {
        const char *text = categories->items[i];

        if (leat_text_index_find(&self->index, text, strlen(text)) != (ptrdiff_t)i)
            return leat_config_error(&self->base, "categories", err, "\"%.64s\" occurs twice",
                                     text);
    }
    return 0;
}

static int make_table(struct one_hot *self, struct leat_error *err) {
    size_t size = leat_dtype_size((enum leat_dtype)self->dtype);

    self->table = calloc(2 * (size_t)self->n, size);
    if (!self->table)
        return leat_error_oom(err);
    return leat_scalar_store_int(self->table, (enum leat_dtype)self->dtype, self->n - 1, 1);
}

static int check(struct leat_config *config, struct leat_error *err) {
    struct one_hot *self = (struct one_hot *)config;
    size_t n_categories = self->categories.n_items;
    int r = 0;

    if ((self->classes > 0) == (n_categories > 0))
        return leat_config_error(config, self->classes > 0 ? "classes" : NULL, err,
                                 "give exactly one of `classes` and `categories`");
    self->n = (uint32_t)(n_categories > 0 ? n_categories : (size_t)self->classes);
    if (n_categories > 0)
        r = make_index(self, err);
    return r < 0 ? r : make_table(self, err);
}

static void unload(struct leat_config *config) {
    struct one_hot *self = (struct one_hot *)config;

    leat_text_index_deinit(&self->index);
    free(self->table);
}

static int check_field(const struct one_hot *self, const struct leat_field *from,
                       struct leat_error *err) {
    bool is_text = from->dtype == LEAT_DTYPE_TEXT;

    if (is_text && self->classes > 0)
        return leat_config_error(&self->base, "classes", err,
                                 "\"%s\" is text: give `categories`, or `cast` it to int32 first",
                                 self->input);
    if (from->is_list && !is_text)
        return leat_config_error(&self->base, "input", err, "\"%s\" is a list, not one number",
                                 self->input);
    return leat_key_check(&self->base, self->input, from, err);
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct one_hot *self = (struct one_hot *)config;
    struct leat_field *to;
    int r = leat_planner_find(planner, config, "input", self->input, &self->from, err);

    if (r == 0)
        r = check_field(self, leat_planner_field(planner, self->from), err);
    if (r == 0)
        r = leat_planner_add_result(planner, config, self->input, self->output,
                                    (enum leat_dtype)self->dtype, true, &self->to, &to, err);
    if (r == 0)
        to->max_length = to->width = self->n;
    return r;
}

/* Returns -1 if the value is no class. */
static int64_t find_class(const struct one_hot *self, const struct leat_map *map, uint32_t row,
                          char *buffer, const char **ret_key, size_t *ret_n) {
    int64_t class;

    *ret_key = leat_key_text(map, self->from, row, buffer, ret_n);
    if (self->classes == 0)
        return leat_text_index_find(&self->index, *ret_key, *ret_n);
    class = leat_scalar_int(leat_map_column(map, self->from)->values, map->fields[self->from].dtype,
                            row);
    return class >= 0 && class < self->classes ? class : -1;
}

static void reject(const struct one_hot *self, struct leat_map *map, uint32_t row, const char *key,
                   size_t n) {
    int shown = n > 64 ? 64 : (int)n;

    if (self->classes > 0)
        leat_map_reject(map, row, self->input, "%.*s is not a class from 0 to %u", shown, key,
                        self->n - 1);
    else
        leat_map_reject(map, row, self->input,
                        "\"%.*s\" is not one of the %u categories: add it, or set `unknown: zeros`",
                        shown, key, self->n);
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct one_hot *self = (const struct one_hot *)config;
    struct leat_column *to = leat_map_column(map, self->to);
    char buffer[LEAT_SCALAR_TEXT_MAX];

    if (leat_map_make_views(map, self->to) < 0)
        return leat_error_oom(err);
    to->values = self->table;
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        const char *key;
        size_t n;
        int64_t class = find_class(self, map, row, buffer, &key, &n);

        to->starts[row] = class < 0 ? self->n : self->n - 1 - (uint32_t) class;
        to->lengths[row] = self->n;
        if (class < 0 && self->unknown == UNKNOWN_FAIL)
            reject(self, map, row, key, n);
    }
    return 0;
}

const struct leat_stage_ops leat_stage_one_hot = {
    LEAT_STAGE_BASE("one_hot", one_hot, MAP),
    .summary = "turns a class into a list of zeros with a 1 at the index of the class",
    .example = "{ input: Embarked, categories: [S, C, Q], unknown: zeros }",
    .check = check,
    .unload = unload,
    .plan = plan,
    .map = map_rows,
};
