#include "pipeline/stages/shared_text_edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

int leat_text_edit_plan(struct leat_config *config, struct leat_planner *planner,
                        struct leat_error *err) {
    struct leat_text_edit *edit = &((struct leat_text_edit_config *)config)->edit;
    enum leat_dtype dtype;
    int r = leat_planner_find(planner, config, "input", edit->input, &edit->from, err);

    if (r < 0)
        return r;
    dtype = leat_planner_field(planner, edit->from)->dtype;
    if (dtype != LEAT_DTYPE_TEXT)
        return leat_config_error(config, "input", err,
                                 "\"%s\" is %s, not text: turn it into text with `template`",
                                 edit->input, leat_dtype_name(dtype));
    return leat_planner_add_result(planner, config, edit->input, edit->output, LEAT_DTYPE_TEXT,
                                   true, &edit->to, NULL, err);
}

static int begin(const struct leat_text_edit *edit, struct leat_map *map, size_t n_bytes,
                 struct leat_error *err) {
    struct leat_column *to = leat_map_column(map, edit->to);

    if (n_bytes > UINT32_MAX ||
        n_bytes > leat_map_n_items(map, edit->from) + LEAT_TEXT_EDIT_MORE_MAX)
        return leat_error_set(
            err, -EOVERFLOW,
            "the texts of one block would have %zu bytes, which is too much: lower block_bytes",
            n_bytes);
    to->values = leat_map_alloc(map, edit->to, n_bytes);
    if (!to->values || leat_map_make_views(map, edit->to) < 0)
        return leat_error_oom(err);
    return 0;
}

static uint8_t *end_row(const struct leat_text_edit *edit, struct leat_map *map, uint32_t row,
                        const uint8_t *start, uint8_t *end) {
    const struct leat_column *to = leat_map_column(map, edit->to);

    to->starts[row] = (uint32_t)(start - (uint8_t *)to->values);
    to->lengths[row] = (uint32_t)(end - start);
    map->n_bytes_out += to->lengths[row];
    return end;
}

int leat_text_edit_map(const struct leat_config *config, const struct leat_text_edit *edit,
                       struct leat_map *map, size_t n_max, leat_text_edit_fn *put,
                       struct leat_error *err) {
    const struct leat_column *from = leat_map_column(map, edit->from);
    int r = begin(edit, map, n_max, err);
    uint8_t *at = leat_map_column(map, edit->to)->values;

    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++) {
        const uint8_t *text = (const uint8_t *)from->values + from->starts[row];

        at = end_row(edit, map, row, at, put(config, at, text, from->lengths[row]));
    }
    return r;
}

/* ---- places ---- */

static int places_init(struct leat_text_places *places, struct leat_map *map) {
    size_t n_bytes = map->block->n_rows * sizeof(*places->n_places);

    *places = (struct leat_text_places){.n_places = leat_arena_alloc(map->scratch, n_bytes)};
    if (!places->n_places || !leat_array_reserve(&places->ranges, 1, &places->capacity))
        return -ENOMEM;
    memset(places->n_places, 0, n_bytes);
    return 0;
}

int leat_text_places_add(struct leat_text_places *places, uint32_t row, struct leat_range range) {
    if (!leat_array_reserve(&places->ranges, places->n_ranges + 1, &places->capacity))
        return -ENOMEM;
    places->ranges[places->n_ranges++] = range;
    places->n_places[row]++;
    return 0;
}

static size_t result_bytes(const struct leat_text_edit *edit, const struct leat_map *map,
                           const struct leat_text_places *places, size_t n_with) {
    size_t n_bytes = leat_map_n_items(map, edit->from);

    for (size_t i = 0; i < places->n_ranges; i++)
        n_bytes += n_with - (places->ranges[i].end - places->ranges[i].start);
    return n_bytes;
}

static uint8_t *add(uint8_t *to, const void *bytes, size_t n_bytes) {
    if (n_bytes > 0)
        memcpy(to, bytes, n_bytes);
    return to + n_bytes;
}

/* One row; returns where it ended. */
static uint8_t *write_row(uint8_t *to, const uint8_t *text, uint32_t n_bytes,
                          const struct leat_range *ranges, uint32_t n_ranges, const char *with,
                          size_t n_with) {
    uint32_t at = 0;

    for (uint32_t i = 0; i < n_ranges; i++) {
        to = add(to, text + at, ranges[i].start - at);
        to = add(to, with, n_with);
        at = ranges[i].end;
    }
    return add(to, text + at, n_bytes - at);
}

static int write_rows(const struct leat_text_edit *edit, struct leat_map *map,
                      const struct leat_text_places *places, const char *with,
                      struct leat_error *err) {
    const struct leat_column *from = leat_map_column(map, edit->from);
    const struct leat_range *ranges = places->ranges;
    size_t n_with = strlen(with);
    int r = begin(edit, map, result_bytes(edit, map, places, n_with), err);
    uint8_t *at = leat_map_column(map, edit->to)->values;

    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++) {
        const uint8_t *text = (const uint8_t *)from->values + from->starts[row];

        at = end_row(
            edit, map, row, at,
            write_row(at, text, from->lengths[row], ranges, places->n_places[row], with, n_with));
        ranges += places->n_places[row];
    }
    return r;
}

int leat_text_edit_replace(const struct leat_config *config, const struct leat_text_edit *edit,
                           struct leat_map *map, leat_text_places_fn *find, const char *with,
                           struct leat_error *err) {
    struct leat_text_places places;
    int r;

    if (places_init(&places, map) < 0 || find(config, map, &places) < 0)
        r = leat_error_oom(err);
    else
        r = write_rows(edit, map, &places, with, err);
    free(places.ranges);
    return r;
}
