/* template.c: makes a text of parts, each with fields in braces.
 *
 * A part vanishes, with its join, if one of its fields is empty. Short literals are copied 32 bytes
 * at a time, which the slack behind the target allows. The join and the literal at the start of a
 * part are copied as one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/shared_text_part.h"
#include "proto/base/scalar.h"

struct template {
    struct leat_config base;
    const char *output;
    const char *join;
    struct leat_texts parts;

    struct leat_text_part *compiled;
    struct leat_text_part *joined; /* the join with the first literal of each part */
    uint32_t column;
    size_t n_literal_bytes; /* of a row with all parts */
};

static const struct leat_arg args[] = {
    LEAT_ARG(template, output, FIELD, "name of the field that gets the text; default: text"),
    LEAT_ARG(template, join, TEXT, "the text between two parts", .fallback = " "),
    LEAT_ARG(template, parts, TEXTS,
             "the parts of the text; `{NAME}` stands for the value of the field NAME; for "
             "braces, write {{ and }}; leat leaves out a part if one of its fields is "
             "empty",
             .is_positional = true, .is_required = true, .min = 1, .max = 1024),
    LEAT_ARGS_END,
};

static int join_first(struct template *self, size_t index, struct leat_error *err) {
    const struct leat_text_piece *first = &self->compiled[index].pieces[0];
    size_t n_join = strlen(self->join);
    char *text = malloc(n_join + first->n_literal + 1);
    int r = text ? 0 : -ENOMEM;

    if (r == 0) {
        memcpy(text, self->join, n_join);
        memcpy(text + n_join, first->literal, first->n_literal);
        text[n_join + first->n_literal] = '\0';
        r = leat_text_part_literal(&self->joined[index], text);
    }
    free(text);
    return r < 0 ? leat_error_oom(err) : 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct template *self = (struct template *)config;
    int r = leat_config_default(&self->output, "text", err);

    if (r < 0)
        return r;
    self->compiled = calloc(self->parts.n_items, sizeof(*self->compiled));
    self->joined = calloc(self->parts.n_items, sizeof(*self->joined));
    if (!self->compiled || !self->joined)
        return leat_error_oom(err);
    self->n_literal_bytes = self->parts.n_items * strlen(self->join);
    for (size_t i = 0; r == 0 && i < self->parts.n_items; i++) {
        r = leat_text_part_compile(&self->compiled[i], config, "parts", i, self->parts.items[i],
                                   NULL, planner, err);
        if (r == 0)
            r = join_first(self, i, err);
        self->n_literal_bytes += leat_text_part_n_literal(&self->compiled[i]);
    }
    if (r < 0)
        return r;
    return leat_planner_add(planner, config, "output", self->output, LEAT_DTYPE_TEXT, true,
                            &self->column, NULL, err);
}

static void unload(struct leat_config *config) {
    struct template *self = (struct template *)config;

    for (size_t i = 0; self->compiled && i < self->parts.n_items; i++)
        leat_text_part_deinit(&self->compiled[i]);
    for (size_t i = 0; self->joined && i < self->parts.n_items; i++)
        leat_text_part_deinit(&self->joined[i]);
    free(self->compiled);
    free(self->joined);
}

static uint8_t *put_literal(uint8_t *at, const struct leat_text_piece *piece) {
    size_t i = 0;

    do
        memcpy(at + i, piece->literal + i, LEAT_TEXT_LITERAL_STEP);
    while ((i += LEAT_TEXT_LITERAL_STEP) < piece->n_literal);
    return at + piece->n_literal;
}

/* Copies a text, which is short as a rule, without a call. Reads and writes no other byte. */
static inline void put_text(uint8_t *at, const uint8_t *text, uint32_t n) {
    if (n > 32) {
        memcpy(at, text, n);
    } else if (n >= 16) {
        memcpy(at, text, 16);
        memmove(at + n - 16, text + n - 16, 16);
    } else if (n >= 8) {
        memcpy(at, text, 8);
        memmove(at + n - 8, text + n - 8, 8);
    } else if (n >= 4) {
        memcpy(at, text, 4);
        memmove(at + n - 4, text + n - 4, 4);
    } else {
        for (uint32_t i = 0; i < n; i++)
            at[i] = text[i];
    }
}

/* Returns NULL if the field is empty. */
static uint8_t *put_field(uint8_t *at, const struct leat_map *map, uint32_t index, uint32_t row) {
    const struct leat_column *column = &map->block->columns[index];
    uint32_t n;

    if (map->fields[index].dtype != LEAT_DTYPE_TEXT)
        return at + leat_scalar_print(column->values, map->fields[index].dtype, row, (char *)at);
    n = column->lengths[row];
    if (n == 0)
        return NULL;
    put_text(at, (const uint8_t *)column->values + column->starts[row], n);
    return at + n;
}

/* Puts the part with another literal at its start. Returns NULL if one of its fields is empty. */
static uint8_t *put_part(uint8_t *at, const struct leat_text_piece *literal,
                         const struct leat_text_part *part, const struct leat_map *map,
                         uint32_t row) {
    const struct leat_text_piece *piece = part->pieces, *end = piece + part->n_pieces;

    for (at = put_literal(at, literal);; at = put_literal(at, piece)) {
        if (piece->column >= 0)
            at = put_field(at, map, (uint32_t)piece->column, row);
        if (!at || ++piece == end)
            return at;
    }
}

/* A part of one literal and one text, as most are, with its views in a block. */
struct plain_part {
    const struct leat_text_piece *first, *joined;
    const uint8_t *values;
    const uint32_t *starts, *lengths; /* NULL: the part is not plain */
};

static struct plain_part *find_plain_parts(const struct template *self,
                                           const struct leat_map *map) {
    struct plain_part *plain = leat_arena_alloc(map->scratch, self->parts.n_items * sizeof(*plain));

    for (size_t i = 0; plain && i < self->parts.n_items; i++) {
        const struct leat_text_part *part = &self->compiled[i];
        int32_t index = part->n_pieces == 1 ? part->pieces[0].column : -1;
        const struct leat_column *column = index < 0 ? NULL : &map->block->columns[index];

        plain[i] =
            (struct plain_part){.first = &part->pieces[0], .joined = &self->joined[i].pieces[0]};
        if (!column || map->fields[index].dtype != LEAT_DTYPE_TEXT)
            continue;
        plain[i].values = column->values;
        plain[i].starts = column->starts;
        plain[i].lengths = column->lengths;
    }
    return plain;
}

static uint8_t *put_row(const struct template *self, const struct plain_part *plain, uint8_t *start,
                        const struct leat_map *map, uint32_t row) {
    uint8_t *at = start;
    bool is_first = true;

    for (const struct plain_part *part = plain; part < plain + self->parts.n_items; part++) {
        const struct leat_text_piece *literal = is_first ? part->first : part->joined;
        uint32_t n = part->lengths ? part->lengths[row] : 0;
        uint8_t *end = NULL;

        if (n > 0) {
            end = put_literal(at, literal);
            put_text(end, part->values + part->starts[row], n);
            end += n;
        } else if (!part->lengths) {
            end = put_part(at, literal, &self->compiled[part - plain], map, row);
        }
        if (!end)
            continue;
        at = end;
        is_first = false;
    }
    return at;
}

/* The bytes that all rows need at most. */
static size_t bound(const struct template *self, const struct leat_map *map) {
    uint32_t n_rows = map->block->n_rows;
    size_t total = n_rows * self->n_literal_bytes + LEAT_TEXT_LITERAL_STEP + LEAT_SCALAR_TEXT_MAX;

    for (size_t i = 0; i < self->parts.n_items; i++) {
        for (size_t k = 0; k < self->compiled[i].n_pieces; k++) {
            int32_t index = self->compiled[i].pieces[k].column;
            const struct leat_column *column = index < 0 ? NULL : &map->block->columns[index];

            if (column && !column->lengths)
                total += (size_t)n_rows * LEAT_SCALAR_TEXT_MAX;
            for (uint32_t row = 0; column && column->lengths && row < n_rows; row++)
                total += column->lengths[row];
        }
    }
    return total;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct template *self = (const struct template *)config;
    struct leat_column *column = leat_map_column(map, self->column);
    struct plain_part *plain = find_plain_parts(self, map);
    size_t n_bytes = bound(self, map);
    uint8_t *start, *at;

    if (n_bytes > UINT32_MAX)
        return leat_error_set(
            err, -EOVERFLOW,
            "the texts of one block would have %zu bytes, which is too much: lower block_bytes",
            n_bytes);
    start = at = leat_map_alloc(map, self->column, n_bytes);
    if (!plain || !at || leat_map_make_views(map, self->column) < 0)
        return leat_error_oom(err);
    column->values = start;
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        uint8_t *end = put_row(self, plain, at, map, row);

        column->starts[row] = (uint32_t)(at - start);
        column->lengths[row] = (uint32_t)(end - at);
        at = end;
    }
    map->n_bytes_out += (uint64_t)(at - start);
    return 0;
}

const struct leat_stage_ops leat_stage_template = {
    LEAT_STAGE_BASE("template", template, MAP),
    .summary = "writes the values of fields into a text",
    .example = "{ output: text, join: \" \", parts: [\"Name: {Name}\", \"Age: {Age}\"] }",
    .unload = unload,
    .plan = plan,
    .map = map_rows,
};
