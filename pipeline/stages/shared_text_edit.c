/* shared_text_edit.c: see shared_text_edit.h. */
#include "pipeline/stages/shared_text_edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_FIRST 256

int leat_text_edit_plan(const struct leat_config *config, struct leat_text_edit *edit,
                        struct leat_planner *planner, struct leat_error *err) {
    enum leat_dtype dtype;
    int r = leat_planner_find(planner, config, "input", edit->input, &edit->from, err);

    if (r < 0)
        return r;
    dtype = leat_planner_field(planner, edit->from)->dtype;
    if (dtype != LEAT_DTYPE_TEXT)
        return leat_config_error(config, "input", err,
                                 "\"%s\" is %s, not text: make a text of it with `template`",
                                 edit->input, leat_dtype_name(dtype));
    return leat_planner_add(planner, config, edit->output ? "output" : "input",
                            edit->output ? edit->output : edit->input, LEAT_DTYPE_TEXT, true,
                            &edit->to, NULL, err);
}

size_t leat_text_edit_n_bytes(const struct leat_text_edit *edit, const struct leat_map *map) {
    const struct leat_column *from = leat_map_column(map, edit->from);
    size_t n_bytes = 0;

    for (uint32_t row = 0; row < map->block->n_rows; row++)
        n_bytes += from->lengths[row];
    return n_bytes;
}

int leat_text_edit_begin(const struct leat_text_edit *edit, struct leat_map *map, size_t n_bytes,
                         struct leat_error *err) {
    struct leat_column *to = leat_map_column(map, edit->to);

    if (n_bytes > UINT32_MAX ||
        n_bytes > leat_text_edit_n_bytes(edit, map) + LEAT_TEXT_EDIT_MORE_MAX)
        return leat_error_set(err, -EOVERFLOW,
                              "texts of one block would have %zu bytes: make block_bytes smaller",
                              n_bytes);
    to->values = leat_map_alloc(map, edit->to, n_bytes);
    if (!to->values || leat_map_make_views(map, edit->to) < 0)
        return leat_error_oom(err);
    return 0;
}

int leat_text_places_init(struct leat_text_places *places, struct leat_map *map) {
    size_t n_bytes = map->block->n_rows * sizeof(*places->n_places);

    *places = (struct leat_text_places){.capacity = RANGES_FIRST};
    places->n_places = leat_arena_alloc(map->scratch, n_bytes);
    places->ranges = places->n_places ? calloc(places->capacity, sizeof(*places->ranges)) : NULL;
    if (!places->ranges)
        return -ENOMEM;
    memset(places->n_places, 0, n_bytes);
    return 0;
}

void leat_text_places_deinit(struct leat_text_places *places) {
    free(places->ranges);
}

int leat_text_places_add(struct leat_text_places *places, uint32_t row, struct leat_range range) {
    if (places->n_ranges == places->capacity) {
        size_t capacity = places->capacity * 2;
        struct leat_range *larger = reallocarray(places->ranges, capacity, sizeof(*larger));

        if (!larger)
            return -ENOMEM;
        places->ranges = larger;
        places->capacity = capacity;
    }
    places->ranges[places->n_ranges++] = range;
    places->n_places[row]++;
    return 0;
}

static size_t result_bytes(const struct leat_text_edit *edit, const struct leat_map *map,
                           const struct leat_text_places *places, size_t n_with) {
    size_t n_bytes = leat_text_edit_n_bytes(edit, map);

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

int leat_text_edit_replace(const struct leat_text_edit *edit, struct leat_map *map,
                           const struct leat_text_places *places, const char *with, size_t n_with,
                           struct leat_error *err) {
    const struct leat_column *from = leat_map_column(map, edit->from);
    const struct leat_column *to = leat_map_column(map, edit->to);
    const struct leat_range *ranges = places->ranges;
    uint8_t *at;
    int r = leat_text_edit_begin(edit, map, result_bytes(edit, map, places, n_with), err);

    at = to->values;
    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++) {
        const uint8_t *text = (const uint8_t *)from->values + from->starts[row];
        uint8_t *end =
            write_row(at, text, from->lengths[row], ranges, places->n_places[row], with, n_with);

        to->starts[row] = (uint32_t)(at - (uint8_t *)to->values);
        to->lengths[row] = (uint32_t)(end - at);
        map->n_bytes_out += to->lengths[row];
        ranges += places->n_places[row];
        at = end;
    }
    return r;
}
