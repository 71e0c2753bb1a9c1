/* text_length.c: how long a text is, in bytes or characters: a stage outside the tree, to start
 * from.
 *
 * It has all that a MAP stage needs: a table of arguments, a plan that says which fields it reads
 * and makes, and the work over the rows of one block. See pipeline/stage/stage.h.
 */
#include "pipeline/stage/stage.h"

enum { UNIT_CHARACTERS, UNIT_BYTES };

struct text_length {
    struct leat_config base; /* first */
    const char *input;
    const char *output;
    int unit;
    int64_t most;

    uint32_t from, to; /* columns; set by plan, read by every worker */
};

static const char *const units[] = {"characters", "bytes", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG(text_length, input, FIELD, "the text", .is_required = true),
    LEAT_ARG(text_length, output, FIELD, "name of the result, an int32", .fallback = "length"),
    LEAT_ARG(text_length, unit, CHOICE, "what is counted", .fallback = "characters",
             .choices = units),
    LEAT_ARG(text_length, most, INT, "a longer text makes a bad record", .fallback = "1000000",
             .min = 1, .max = INT32_MAX),
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct text_length *self = (struct text_length *)config;
    int r = leat_planner_find(planner, config, "input", self->input, &self->from, err);

    if (r < 0)
        return r;
    if (leat_planner_field(planner, self->from)->dtype != LEAT_DTYPE_TEXT)
        return leat_config_error(config, "input", err, "\"%s\" is no text", self->input);
    return leat_planner_add(planner, config, "output", self->output, LEAT_DTYPE_INT32, false,
                            &self->to, NULL, err);
}

static int64_t count(const struct text_length *self, const uint8_t *text, uint32_t n_bytes) {
    int64_t n = 0;

    if (self->unit == UNIT_BYTES)
        return n_bytes;
    for (uint32_t i = 0; i < n_bytes; i++)
        n += (text[i] & 0xc0) != 0x80;
    return n;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct text_length *self = (const struct text_length *)config;
    const struct leat_column *from = leat_map_column(map, self->from);
    int32_t *lengths;

    if (leat_map_make_scalar(map, self->to, sizeof(int32_t)) < 0)
        return leat_error_oom(err);
    lengths = leat_map_column(map, self->to)->values;
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        int64_t n =
            count(self, (const uint8_t *)from->values + from->starts[row], from->lengths[row]);

        lengths[row] = n <= self->most ? (int32_t)n : 0;
        if (n > self->most)
            leat_map_reject(map, row, self->input, "has %lld %s; at most %lld are allowed",
                            (long long)n, units[self->unit], (long long)self->most);
    }
    return 0;
}

const struct leat_stage_ops leat_stage_text_length = {
    LEAT_STAGE_BASE("text_length", text_length, MAP),
    .summary = "how long a text is",
    .example = "{ input: text, output: length, unit: bytes }",
    .plan = plan,
    .map = map_rows,
};
