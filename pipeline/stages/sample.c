/* sample.c: a fraction of the records, each drawn for itself.
 *
 * A record is drawn by its place: its key is that of leat_map_row_key() with the stage's seed and
 * LEAT_RNG_SAMPLE, folded with which sample of the spec this is. The stream's seed does not count,
 * so that a trainer with another order has the same records; the epoch counts if asked. A record
 * stays if the upper 53 bits of the key, as a number in [0, 1), are below the fraction.
 */
#include "pipeline/stage/stage.h"

struct sample {
    struct leat_config base;
    double fraction;
    int64_t seed;
    bool each_epoch;

    uint64_t index;
};

static const struct leat_arg args[] = {
    LEAT_ARG(sample, fraction, FLOAT,
             "the fraction of the records to keep, such as 0.1; leat draws a random number "
             "for each record, so the fraction is approximate",
             .is_positional = true, .is_required = true, .min = 0, .max = 1),
    LEAT_ARG(sample, seed, INT, "the seed of the choice; another seed keeps other records",
             .fallback = "0", .min = 0, .max = 9e15),
    LEAT_ARG(sample, each_epoch, BOOL,
             "true: leat draws again in each epoch; false: all epochs keep the same "
             "records",
             .fallback = "false"),
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    (void)err;
    ((struct sample *)config)->index = leat_planner_stage_index(planner);
    return 0;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct sample *self = (const struct sample *)config;
    uint64_t epoch = self->each_epoch ? map->epoch : 0;

    (void)err;
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        uint64_t key =
            leat_map_place_key(map, row, 0, (uint64_t)self->seed, epoch, LEAT_RNG_SAMPLE);

        key = leat_rng_fold(key, self->index);
        if (!((double)(key >> 11) * 0x1p-53 < self->fraction))
            leat_map_drop(map, row);
    }
    return 0;
}

static bool varies(const struct leat_config *config) {
    return ((const struct sample *)config)->each_epoch;
}

const struct leat_stage_ops leat_stage_sample = {
    LEAT_STAGE_BASE("sample", sample, MAP),
    .summary = "keeps a random fraction of the records",
    .example = "{ fraction: 0.1, seed: 1 }",
    .plan = plan,
    .map = map_rows,
    .varies = varies,
    .is_filter = true,
};
