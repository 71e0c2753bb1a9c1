/* chunk.c: long documents into windows: a row becomes several, each a part of its lists.
 *
 * Windows start at 0, stride, 2 * stride, ..; the last is the first that reaches the end, and may
 * be shorter. Nothing is copied: a window is a reference to a part of the row. Other fields of the
 * record are in every row that is made of it.
 */
#include "pipeline/stages/shared_parts.h"

struct chunk {
    struct leat_config base;
    struct leat_texts fields;
    int64_t length;
    int64_t stride;
    int64_t min_length;
    int64_t max_windows;
    const char *start;

    struct leat_parts parts;
};

static const struct leat_arg args[] = {
    LEAT_ARG(chunk, fields, FIELDS,
             "the lists to cut; leat cuts all of them at the same places; each window "
             "also gets all other fields of the record",
             .is_required = true, .min = 1, .max = LEAT_PARTS_MAX),
    LEAT_ARG(chunk, length, INT, "elements per window", .is_positional = true, .is_required = true,
             .min = 1, .max = 1 << 28),
    LEAT_ARG(chunk, stride, INT,
             "number of elements from the start of one window to the start of the next; "
             "default: `length`, so windows do not overlap",
             .min = 1, .max = 1 << 28),
    LEAT_ARG(chunk, min_length, INT, "leat drops a window with fewer elements than this",
             .fallback = "0", .min = 0, .max = 1 << 28),
    LEAT_ARG(chunk, max_windows, INT,
             "the maximum number of windows per record; a record with more windows is bad",
             .fallback = "65536", .min = 1, .max = 1 << 24),
    LEAT_ARG(chunk, start, FIELD,
             "name of an int32 field that holds the index of the window's first element in the "
             "document"),
    LEAT_ARGS_END,
};

static uint32_t stride_of(const struct chunk *self) {
    return (uint32_t)(self->stride > 0 ? self->stride : self->length);
}

static int plan_start(struct chunk *self, struct leat_planner *planner, struct leat_error *err) {
    struct leat_field *field;
    uint32_t column;
    int r = self->start ? leat_planner_add(planner, &self->base, "start", self->start,
                                           LEAT_DTYPE_INT32, false, &column, &field, err)
                        : 0;

    if (r < 0 || !self->start)
        return r;
    field->made = LEAT_MADE_AS_START;
    field->of = self->parts.of[0];
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct chunk *self = (struct chunk *)config;
    uint64_t length = (uint64_t)self->length;
    int r = 0;

    if (self->min_length > self->length)
        return leat_config_error(config, "min_length", err,
                                 "%lld is more than the %lld elements of a window: lower "
                                 "`min_length`",
                                 (long long)self->min_length, (long long)self->length);
    if (planner->is_chunked)
        return leat_config_error(config, NULL, err, "a stream can have only one `chunk`");
    r = leat_parts_find(&self->parts, planner, config, &self->fields, err);
    for (size_t i = 0; r == 0 && i < self->parts.n; i++) {
        uint64_t longest = leat_planner_field(planner, self->parts.from[i])->max_length;
        struct leat_field *field;

        r = leat_parts_add(&self->parts, planner, config, &self->fields, i, &field, err);
        if (r == 0)
            field->max_length = longest > 0 && longest < length ? longest : length;
    }
    if (r == 0)
        r = plan_start(self, planner, err);
    planner->is_chunked = true;
    return r;
}

static uint64_t n_windows(const struct chunk *self, uint64_t n) {
    uint64_t length = (uint64_t)self->length, stride = stride_of(self);
    uint64_t n_whole, n_started;

    if (n <= length)
        return 1;
    n_whole = 1 + (n - length + stride - 1) / stride; /* up to the first one that reaches the end */
    n_started = (n + stride - 1) / stride;            /* a stride above length leaves gaps */
    return n_whole < n_started ? n_whole : n_started;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct chunk *self = (const struct chunk *)config;
    const struct leat_column *first = leat_map_column(map, self->parts.of[0]);

    (void)err;
    leat_parts_check(&self->parts, map);
    for (uint32_t row = 0; row < map->block->n_rows; row++)
        if (n_windows(self, first->lengths[row]) > (uint64_t)self->max_windows)
            leat_map_reject(map, row, map->fields[self->parts.of[0]].name,
                            "has %u elements, which make %llu windows, more than chunk.max_windows "
                            "%lld: raise max_windows",
                            first->lengths[row],
                            (unsigned long long)n_windows(self, first->lengths[row]),
                            (long long)self->max_windows);
    return 0;
}

static int push(const struct leat_config *config, void *state, struct leat_ref ref,
                struct leat_order_sink *down, struct leat_error *err) {
    const struct chunk *self = (const struct chunk *)config;
    uint32_t n = leat_ref_length(ref, self->parts.of[0]), length = (uint32_t)self->length;
    uint64_t n_left = n_windows(self, n);
    int r = 0;

    (void)state;
    for (uint32_t start = 0; r == 0 && n_left > 0; n_left--, start += stride_of(self)) {
        uint32_t some = n - start < length ? n - start : length;

        if (some >= (uint64_t)self->min_length)
            r = leat_order_push(down, leat_ref_part(ref, start, some), err);
    }
    leat_ref_drop(ref);
    return r;
}

const struct leat_stage_ops leat_stage_chunk = {
    LEAT_STAGE_BASE("chunk", chunk, ORDER),
    .summary = "cuts long documents into windows; each window becomes a row",
    .example = "{ fields: [input_ids], length: 512, stride: 256 }",
    .plan = plan,
    .map = map_rows,
    .expands = true,
    .push = push,
};
