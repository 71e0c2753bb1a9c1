#include "pipeline/stages/shared_parts.h"

#include <string.h>

static int find_one(struct leat_parts *parts, struct leat_planner *planner,
                    const struct leat_config *config, const char *name, struct leat_error *err) {
    const struct leat_field *field;
    uint32_t column;
    int r = leat_planner_find_made(planner, config, "fields", name, &column, err);

    if (r < 0)
        return r;
    field = leat_planner_field(planner, column);
    if (!field->is_list || field->dtype == LEAT_DTYPE_TEXT)
        return leat_config_error(config, "fields", err, "\"%s\" is %s, not a list of numbers", name,
                                 field->dtype == LEAT_DTYPE_TEXT ? "text" : "one number");
    if (field->is_padded)
        return leat_config_error(config, "fields", err,
                                 "\"%s\" is already padded: put `%s` before `pad` or `pack`", name,
                                 config->ops->name);
    if (planner->is_chunked && field->made != LEAT_MADE_OF_PARTS)
        return leat_config_error(config, "fields", err,
                                 "`chunk` cuts other lists, but not \"%s\": add it to the `fields` "
                                 "of `chunk`",
                                 name);
    for (size_t i = 0; i < parts->n; i++)
        if (parts->from[i] == column)
            return leat_config_error(config, "fields", err, "\"%s\" occurs twice", name);
    parts->of[parts->n] = field->made == LEAT_MADE_OF_PARTS ? field->of : column;
    parts->from[parts->n++] = column;
    return leat_planner_keep(planner, column) < 0 ? leat_error_oom(err) : 0;
}

int leat_parts_find(struct leat_parts *parts, struct leat_planner *planner,
                    const struct leat_config *config, const struct leat_texts *fields,
                    struct leat_error *err) {
    int r = 0;

    parts->n = 0;
    parts->are_cut = planner->is_chunked;
    for (size_t i = 0; r == 0 && i < fields->n_items; i++)
        r = find_one(parts, planner, config, fields->items[i], err);
    return r;
}

int leat_parts_add(struct leat_parts *parts, struct leat_planner *planner,
                   const struct leat_config *config, const struct leat_texts *fields, size_t i,
                   struct leat_field **ret_field, struct leat_error *err) {
    const struct leat_field from = *leat_planner_field(planner, parts->from[i]);
    int r = leat_planner_add(planner, config, "fields", fields->items[i], from.dtype, true,
                             &parts->to[i], ret_field, err);

    if (r < 0)
        return r;
    (*ret_field)->made = LEAT_MADE_OF_PARTS;
    (*ret_field)->of = parts->of[i];
    (*ret_field)->has_pad_value = from.has_pad_value;
    (*ret_field)->pad_value = from.pad_value;
    (*ret_field)->is_annotation = from.is_annotation;
    (*ret_field)->is_labels = from.is_labels;
    (*ret_field)->loss_column = from.loss_column;
    (*ret_field)->tokenizer = from.tokenizer;
    return 0;
}

void leat_parts_check(const struct leat_parts *parts, struct leat_map *map) {
    const struct leat_column *first = leat_map_column(map, parts->of[0]);

    for (size_t i = 1; i < parts->n; i++) {
        const struct leat_column *other = leat_map_column(map, parts->of[i]);

        for (uint32_t row = 0; row < map->block->n_rows; row++)
            if (other->lengths[row] != first->lengths[row])
                leat_map_reject(map, row, map->fields[parts->of[i]].name,
                                "has %u elements, but \"%s\" has %u: lists that leat cuts together "
                                "must have the same length",
                                other->lengths[row], map->fields[parts->of[0]].name,
                                first->lengths[row]);
    }
}
