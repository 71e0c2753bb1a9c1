/* split.c: one part of the records, of two or three: streams that differ in `part` alone share no
 * record and miss none.
 *
 * A record's part follows from its hash (shared_record_hash.h) alone: the upper 53 bits of the
 * first word, as a number in [0, 1), fall into one of the parts, which lie there side by side in
 * the order train, validation, test; the last one reaches to 1 whatever the sum of their shares is
 * rounded to. So a record stays in its part when others come, go, or change places, and equal ones
 * are together.
 */
#include <math.h>

#include "pipeline/stages/shared_record_hash.h"

enum { TRAIN, VALIDATION, TEST, N_PARTS };

struct split {
    struct leat_config base;
    double shares[N_PARTS];
    int part;
    const char *input;
    int64_t seed;

    uint32_t column;
    uint64_t first, end; /* of the part, in 2^-53 */
};

static const char *const parts[] = {"train", "validation", "test", NULL};

#define SHARE(index, text)                                                                         \
    LEAT_ARG_NAMED(text, split, shares[index], FLOAT,                                              \
                   "the fraction of all records that belong to `" text "`", .min = 0, .max = 1)

static const struct leat_arg args[] = {
    SHARE(TRAIN, "train"),
    SHARE(VALIDATION, "validation"),
    SHARE(TEST, "test"),
    LEAT_ARG(split, part, CHOICE, "the part that this stream keeps", .is_positional = true,
             .is_required = true, .choices = parts),
    LEAT_ARG(split, input, FIELD,
             "the field that decides which part a record belongs to; all records with the same "
             "value are in the same part; default: all bytes of the record decide"),
    LEAT_ARG(split, seed, INT, "the seed of the parts; another seed gives other parts",
             .fallback = "0", .min = 0, .max = 9e15),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct split *self = (const struct split *)config;
    double sum = self->shares[TRAIN] + self->shares[VALIDATION] + self->shares[TEST];

    if (!(fabs(sum - 1) < 1e-9))
        return leat_config_error(
            config, NULL, err,
            "the fractions of train, validation and test add up to %g; they must add up to 1", sum);
    if (self->shares[self->part] == 0)
        return leat_config_error(config, "part", err,
                                 "%s has no fraction: give it one, such as `%s: 0.1`",
                                 parts[self->part], parts[self->part]);
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct split *self = (struct split *)config;
    double sum = 0;
    uint64_t border = 0;

    for (int i = 0; i <= self->part; i++) {
        self->first = border;
        sum += self->shares[i];
        border = (uint64_t)(sum * 0x1p53);
    }
    self->end = border;
    for (int i = self->part + 1; i <= N_PARTS; i++) {
        if (i == N_PARTS)
            self->end = UINT64_MAX;
        else if (self->shares[i] > 0)
            break;
    }
    return leat_record_hash_plan(config, planner, self->input, &self->column, err);
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct split *self = (const struct split *)config;

    (void)err;
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        struct leat_record_hash hash =
            leat_record_hash(map, row, self->column, (uint64_t)self->seed);
        uint64_t place = hash.words[0] >> 11;

        if (place < self->first || place >= self->end)
            leat_map_drop(map, row);
    }
    return 0;
}

const struct leat_stage_ops leat_stage_split = {
    LEAT_STAGE_BASE("split", split, MAP),
    .summary = "keeps the records of one part, such as train or validation",
    .example = "{ train: 0.9, validation: 0.1, part: train }",
    .check = check,
    .plan = plan,
    .map = map_rows,
    .is_filter = true,
};
