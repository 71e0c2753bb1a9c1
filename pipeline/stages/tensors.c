/* tensors.c: keeps what a batch can hold. Texts are dropped, or replaced by a list of their bytes
 * under their name and SUFFIX. It is `select` for those who do not know the names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stage/stage.h"

#define SUFFIX ".utf8"

struct copy {
    uint32_t from, to;
};

struct tensors {
    struct leat_config base;
    int text;

    struct copy *copies; /* [n_copies] */
    size_t n_copies;
};

enum { TEXT_DROP, TEXT_BYTES };
static const char *const texts[] = {"drop", "bytes", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG(tensors, text, CHOICE,
             "what happens to a text field NAME; `drop`: leat drops the field; `bytes`: leat "
             "replaces the field with NAME" SUFFIX ", a uint8 list of the text's UTF-8 bytes",
             .fallback = "drop", .choices = texts),
    LEAT_ARGS_END,
};

static bool is_text(const struct leat_planner *planner, size_t i, uint32_t *ret_column) {
    *ret_column = leat_planner_column(planner, i);
    return leat_planner_field(planner, *ret_column)->dtype == LEAT_DTYPE_TEXT;
}

/* Adds the list of bytes that replaces a text. */
static int add_bytes(struct tensors *self, struct leat_planner *planner, const char *text,
                     uint32_t column, char ret_name[LEAT_NAME_MAX + 1], struct leat_error *err) {
    struct copy *copy = &self->copies[self->n_copies];
    size_t n = strlen(text);
    struct leat_field *field;

    if (n + strlen(SUFFIX) > LEAT_NAME_MAX)
        return leat_config_error(&self->base, "text", err,
                                 "the name \"%s" SUFFIX
                                 "\" would be longer than %d bytes: `rename` the field first",
                                 text, LEAT_NAME_MAX);
    memcpy(ret_name, text, n);
    memcpy(ret_name + n, SUFFIX, sizeof(SUFFIX));
    if (leat_planner_has(planner, ret_name))
        return leat_config_error(&self->base, "text", err,
                                 "the field \"%s\" already exists: `rename` it first", ret_name);
    *copy = (struct copy){.from = column};
    if (leat_planner_use(planner, column) < 0)
        return leat_error_oom(err);
    self->n_copies++;
    return leat_planner_add(planner, &self->base, "text", ret_name, LEAT_DTYPE_UINT8, true,
                            &copy->to, &field, err);
}

/* Sets names[i] to the field, to what replaces it, or to "" if it is dropped. */
static int replace_texts(struct tensors *self, struct leat_planner *planner, size_t n_names,
                         char (*names)[LEAT_NAME_MAX + 1], struct leat_error *err) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < n_names; i++) {
        char text[LEAT_NAME_MAX + 1];
        uint32_t column;

        if (!is_text(planner, i, &column))
            continue;
        memcpy(text, names[i], sizeof(text));
        names[i][0] = '\0';
        if (self->text == TEXT_BYTES)
            r = add_bytes(self, planner, text, column, names[i], err);
    }
    return r;
}

static int keep_named(struct tensors *self, struct leat_planner *planner, size_t n_names,
                      char (*names)[LEAT_NAME_MAX + 1], struct leat_error *err) {
    struct leat_texts kept = {.items = calloc(n_names + 1, sizeof(*kept.items))};
    int r;

    if (!kept.items)
        return leat_error_oom(err);
    for (size_t i = 0; i < n_names; i++)
        if (names[i][0])
            kept.items[kept.n_items++] = names[i];
    r = kept.n_items ? leat_planner_select(planner, &self->base, NULL, &kept, err)
                     : leat_config_error(&self->base, NULL, err,
                                         "all fields are texts, which a batch cannot hold: "
                                         "`tokenize` or `cast` one of them");
    free(kept.items);
    return r;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct tensors *self = (struct tensors *)config;
    size_t n_names = leat_planner_names(planner, NULL, 0);
    const char **before = calloc(n_names + 1, sizeof(*before));
    char(*names)[LEAT_NAME_MAX + 1] = calloc(n_names + 1, sizeof(*names));
    int r = 0;

    self->copies = calloc(n_names + 1, sizeof(*self->copies));
    if (!before || !names || !self->copies)
        r = leat_error_oom(err);
    if (r == 0)
        (void)leat_planner_names(planner, before, n_names);
    for (size_t i = 0; r == 0 && i < n_names; i++)
        memcpy(names[i], before[i], strlen(before[i]) + 1);
    if (r == 0)
        r = replace_texts(self, planner, n_names, names, err);
    if (r == 0)
        r = keep_named(self, planner, n_names, names, err);
    free(before);
    free(names);
    return r;
}

static void unload(struct leat_config *config) {
    free(((struct tensors *)config)->copies);
}

static int copy_texts(const struct copy *copy, struct leat_map *map, struct leat_error *err) {
    const struct leat_column *from = leat_map_column(map, copy->from);
    struct leat_column *to = leat_map_column(map, copy->to);
    size_t n_bytes = leat_map_n_items(map, copy->from), at = 0;

    if (n_bytes > UINT32_MAX)
        return leat_error_set(
            err, -EOVERFLOW,
            "the texts of one block have %zu bytes, which is too much: lower block_bytes", n_bytes);
    to->values = leat_map_alloc(map, copy->to, n_bytes);
    if (!to->values || leat_map_make_views(map, copy->to) < 0)
        return leat_error_oom(err);
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        const uint8_t *text = (const uint8_t *)from->values + from->starts[row];

        to->starts[row] = (uint32_t)at;
        to->lengths[row] = from->lengths[row];
        if (from->lengths[row] > 0)
            memcpy((uint8_t *)to->values + at, text, from->lengths[row]);
        at += from->lengths[row];
    }
    map->n_bytes_out += n_bytes;
    return 0;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct tensors *self = (const struct tensors *)config;
    int r = 0;

    for (size_t i = 0; r == 0 && i < self->n_copies; i++)
        if (map->is_needed[self->copies[i].to])
            r = copy_texts(&self->copies[i], map, err);
    return r;
}

const struct leat_stage_ops leat_stage_tensors = {
    LEAT_STAGE_BASE("tensors", tensors, MAP),
    .summary = "drops text fields, which a batch cannot hold, or replaces them with their bytes",
    .example = "{ text: drop }",
    .unload = unload,
    .plan = plan,
    .map = map_rows,
};
