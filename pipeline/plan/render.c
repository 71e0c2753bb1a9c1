#include "pipeline/plan/render.h"

#include <stdio.h>

#include "proto/base/json_writer.h"

const char *leat_making_text(enum leat_making made) {
    static const char *const texts[] = {
        [LEAT_MADE_OF_RECORDS] = "",
        [LEAT_MADE_AS_MASK] = "mask of",
        [LEAT_MADE_OF_PARTS] = "parts of",
        [LEAT_MADE_AS_LABELS] = "labels of",
        [LEAT_MADE_AS_START] = "start in",
        [LEAT_MADE_AS_POSITIONS] = "positions in",
        [LEAT_MADE_AS_SEGMENTS] = "documents of",
        [LEAT_MADE_AS_CU_SEQLENS] = "starts of documents of",
    };

    return texts[made];
}

static void add_made(struct leat_text *json, const char *key, enum leat_making made,
                     const char *name) {
    char buffer[LEAT_NAME_MAX + 64];

    (void)snprintf(buffer, sizeof(buffer), "(%s %s, made with the batch)", leat_making_text(made),
                   name);
    leat_json_add_text(json, key, buffer);
}

void leat_render_row(struct leat_text *json, const struct leat_plan *plan,
                     const struct leat_block *block, uint32_t row, const uint32_t *columns,
                     const char (*names)[LEAT_NAME_MAX + 1], size_t n_fields) {
    leat_json_open(json, NULL, '{');
    for (size_t i = 0; i < n_fields; i++) {
        const struct leat_field *field = &plan->fields[columns[i]];
        const struct leat_column *column = &block->columns[columns[i]];

        if (field->made != LEAT_MADE_OF_RECORDS)
            add_made(json, names[i], field->made, plan->fields[field->of].name);
        else if (!column->values)
            leat_json_add_null(json, names[i]);
        else
            leat_render_value(json, names[i], field, column, row);
    }
    leat_json_close(json, '}');
}
