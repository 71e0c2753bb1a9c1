#include "pipeline/stages/shared_dialogue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

int leat_dialogue_plan(const struct leat_config *config, struct leat_dialogue *dialogue,
                       struct leat_planner *planner, struct leat_field **ret_field,
                       struct leat_error *err) {
    int r = leat_planner_add(planner, config, "output", dialogue->output, LEAT_DTYPE_TEXT, true,
                             &dialogue->text_column, ret_field, err);

    if (r == 0)
        r = leat_planner_add_hidden(planner, config, "(parts)", LEAT_DTYPE_INT32, true,
                                    &dialogue->parts_column, err);
    if (r == 0)
        (*ret_field)->loss_column = (int32_t)dialogue->parts_column;
    return r;
}

void leat_dialogue_writer_deinit(struct leat_dialogue_writer *writer) {
    free(writer->bytes);
    free(writer->parts);
}

int leat_dialogue_begin(const struct leat_dialogue *dialogue, struct leat_dialogue_writer *writer,
                        struct leat_map *map) {
    if (writer->capacity > LEAT_DIALOGUE_KEEP_BYTES) {
        leat_dialogue_writer_deinit(writer);
        *writer = (struct leat_dialogue_writer){.bytes = NULL};
    }
    writer->n_bytes = writer->n_parts = 0;
    if (leat_map_make_views(map, dialogue->text_column) < 0 ||
        leat_map_make_views(map, dialogue->parts_column) < 0)
        return -ENOMEM;
    return 0;
}

void leat_dialogue_begin_row(struct leat_dialogue_writer *writer) {
    writer->row_start = writer->n_bytes;
    writer->row_parts = writer->n_parts;
    writer->failure = 0;
}

void leat_dialogue_put(struct leat_dialogue_writer *writer, const void *bytes, size_t n_bytes) {
    if (writer->failure || n_bytes == 0)
        return;
    if (n_bytes > LEAT_DIALOGUE_ROW_BYTES_MAX - (writer->n_bytes - writer->row_start)) {
        writer->failure = -E2BIG;
        return;
    }
    if (!leat_array_reserve(&writer->bytes, writer->n_bytes + n_bytes, &writer->capacity)) {
        writer->failure = -ENOMEM;
        return;
    }
    memcpy(writer->bytes + writer->n_bytes, bytes, n_bytes);
    writer->n_bytes += n_bytes;
}

void leat_dialogue_put_text(struct leat_dialogue_writer *writer, const char *text) {
    if (text)
        leat_dialogue_put(writer, text, strlen(text));
}

void leat_dialogue_open_part(struct leat_dialogue_writer *writer) {
    writer->part_start = writer->n_bytes;
}

void leat_dialogue_close_part(struct leat_dialogue_writer *writer) {
    if (writer->failure || writer->n_bytes == writer->part_start)
        return;
    if (!leat_array_reserve(&writer->parts, writer->n_parts + 2, &writer->parts_capacity)) {
        writer->failure = -ENOMEM;
        return;
    }
    writer->parts[writer->n_parts++] = (int32_t)(writer->part_start - writer->row_start);
    writer->parts[writer->n_parts++] = (int32_t)(writer->n_bytes - writer->row_start);
}

int leat_dialogue_end_row(const struct leat_dialogue *dialogue, struct leat_dialogue_writer *writer,
                          struct leat_map *map, uint32_t row, bool is_bad, struct leat_error *err) {
    struct leat_column *text = leat_map_column(map, dialogue->text_column);
    struct leat_column *parts = leat_map_column(map, dialogue->parts_column);

    if (writer->failure == -ENOMEM)
        return leat_error_oom(err);
    if (writer->failure)
        leat_map_reject(map, row, dialogue->output, "the text has more than %u bytes",
                        LEAT_DIALOGUE_ROW_BYTES_MAX);
    if (is_bad || writer->failure) {
        writer->n_bytes = writer->row_start;
        writer->n_parts = writer->row_parts;
    }
    if (writer->n_bytes > LEAT_DIALOGUE_BLOCK_BYTES_MAX)
        return leat_error_set(
            err, -EOVERFLOW,
            "the texts of one block would have more than %u bytes: lower block_bytes",
            LEAT_DIALOGUE_BLOCK_BYTES_MAX);
    text->starts[row] = (uint32_t)writer->row_start;
    text->lengths[row] = (uint32_t)(writer->n_bytes - writer->row_start);
    parts->starts[row] = (uint32_t)writer->row_parts;
    parts->lengths[row] = (uint32_t)(writer->n_parts - writer->row_parts);
    return 0;
}

static int keep(struct leat_map *map, uint32_t column, const void *items, size_t n_bytes) {
    void *values = leat_map_alloc(map, column, n_bytes);

    if (!values)
        return -ENOMEM;
    if (n_bytes)
        memcpy(values, items, n_bytes);
    leat_map_column(map, column)->values = values;
    return 0;
}

int leat_dialogue_end(const struct leat_dialogue *dialogue,
                      const struct leat_dialogue_writer *writer, struct leat_map *map,
                      struct leat_error *err) {
    if (keep(map, dialogue->text_column, writer->bytes, writer->n_bytes) < 0 ||
        keep(map, dialogue->parts_column, writer->parts, writer->n_parts * sizeof(*writer->parts)) <
            0)
        return leat_error_oom(err);
    map->n_bytes_out += writer->n_bytes;
    return 0;
}
