/* bucket.c: groups rows of similar lengths in batches. Here are the arguments and the plan; the run
 * cuts the batches (order/batcher.h). */
#include <stdlib.h>
#include <string.h>

#include "pipeline/stage/planner.h"

struct bucket {
    struct leat_config base;
    const char *input;
    struct leat_texts boundaries;
    int64_t window;
    bool shuffle;
    int64_t seed;

    struct leat_bucketing bucketing;
    uint64_t *lengths; /* the boundaries as numbers */
};

#define BOUNDARIES_MAX 256

static const struct leat_arg args[] = {
    LEAT_ARG(bucket, input, FIELD, "the list whose length decides the bucket", .is_required = true),
    LEAT_ARG(
        bucket, boundaries, TEXTS,
        "lengths in increasing order; for example, [64, 128] makes three buckets: rows of at most "
        "64 elements, of 65 to 128, and of more than 128; a batch holds rows of one bucket",
        .is_positional = true, .min = 1, .max = BOUNDARIES_MAX),
    LEAT_ARG(
        bucket, window, INT,
        "in place of `boundaries`: leat sorts this many rows by length and cuts them into batches",
        .min = 2, .max = 1048576),
    LEAT_ARG(bucket, shuffle, BOOL,
             "with `window`; true: the batches of a window come in random order; false: "
             "they come in order of length, short rows first",
             .fallback = "true"),
    LEAT_ARG(bucket, seed, INT,
             "with `window`: the seed of the order; another seed gives another order",
             .fallback = "0", .min = 0, .max = 9e15),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct bucket *self = (const struct bucket *)config;

    if ((self->boundaries.n_items > 0) == (self->window > 0))
        return leat_config_error(config, self->window > 0 ? "window" : NULL, err,
                                 "give exactly one of `boundaries` (lengths) and `window` (rows)");
    if (self->boundaries.n_items > 0 && leat_config_given(config, "seed"))
        return leat_config_error(config, "seed", err, "works only with `window`");
    if (self->boundaries.n_items > 0 && leat_config_given(config, "shuffle"))
        return leat_config_error(config, "shuffle", err, "works only with `window`");
    return 0;
}

static int read_boundaries(struct bucket *self, struct leat_error *err) {
    const struct leat_texts *texts = &self->boundaries;

    free(self->lengths);
    self->lengths = calloc(texts->n_items ? texts->n_items : 1, sizeof(*self->lengths));
    if (!self->lengths)
        return leat_error_oom(err);
    for (size_t i = 0; i < texts->n_items; i++) {
        int64_t length;

        if (leat_parse_int(texts->items[i], strlen(texts->items[i]), &length) < 0 || length < 0 ||
            length > UINT32_MAX)
            return leat_config_error(&self->base, "boundaries", err,
                                     "\"%.32s\" is not a length: give whole numbers from 0 on",
                                     texts->items[i]);
        self->lengths[i] = (uint64_t)length;
        if (i > 0 && self->lengths[i] <= self->lengths[i - 1])
            return leat_config_error(&self->base, "boundaries", err,
                                     "%llu follows %llu, but the boundaries must increase",
                                     (unsigned long long)self->lengths[i],
                                     (unsigned long long)self->lengths[i - 1]);
    }
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct bucket *self = (struct bucket *)config;
    const struct leat_field *field;
    uint32_t column;
    int r = leat_planner_find_made(planner, config, "input", self->input, &column, err);

    if (r == 0)
        r = read_boundaries(self, err);
    if (r < 0)
        return r;
    field = leat_planner_field(planner, column);
    if (!field->is_list)
        return leat_config_error(
            config, "input", err,
            "\"%s\" has one number per record and is not a list: `bucket` needs a list",
            self->input);
    if ((field->made != LEAT_MADE_OF_RECORDS && field->made != LEAT_MADE_OF_PARTS) ||
        planner->is_packed)
        return leat_config_error(config, "input", err,
                                 "all rows of \"%s\" have the same length: remove `bucket`",
                                 self->input);
    if (leat_planner_keep(planner, column) < 0)
        return leat_error_oom(err);
    self->bucketing = (struct leat_bucketing){
        .column = column,
        .boundaries = self->lengths,
        .n_boundaries = self->boundaries.n_items,
        .window = (uint64_t)self->window,
        .shuffles = self->shuffle,
        .seed = (uint64_t)self->seed,
    };
    planner->bucketing = &self->bucketing;
    return 0;
}

static void unload(struct leat_config *config) {
    free(((struct bucket *)config)->lengths);
}

static int push(const struct leat_config *config, void *state, struct leat_ref ref,
                struct leat_order_sink *down, struct leat_error *err) {
    (void)config;
    (void)state;
    return leat_order_push(down, ref, err);
}

const struct leat_stage_ops leat_stage_bucket = {
    LEAT_STAGE_BASE("bucket", bucket, ORDER),
    .summary = "puts rows of similar length into the same batch",
    .example = "{ input: input_ids, boundaries: [128, 256, 512] }",
    .check = check,
    .unload = unload,
    .plan = plan,
    .is_last = true,
    .push = push,
};
