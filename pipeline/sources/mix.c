/* mix.c: several sources with their records mixed. Here are the arguments; order/mixer.h mixes the
 * rows behind the per-record stages. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stage/stage.h"

struct mix {
    struct leat_composite composite;
    struct leat_texts weights;
    struct leat_texts proportions;
    int exhausted;
    int64_t seed;
};

static const char *const exhausted_choices[] = {"stop", "repeat", "drop", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG_NAMED(
        "sources", mix, composite.sources, SOURCES,
        "the sources to mix, such as `[{jsonl: {paths: code.jsonl}}, {jsonl: {paths: "
        "web.jsonl}}]`; one of them may be a `concat`; a source can have its own stages, which you "
        "write beside the source as `stages: [..]`; the stream has only the fields that every "
        "source has after its own stages, with the same type in all sources",
        .is_required = true, .min = 1, .max = LEAT_LANES_MAX),
    LEAT_ARG(mix, weights, TEXTS,
             "one positive number for each source, in the order of `sources`; leat draws "
             "the source of each record at random; with the weights 1 and 3, the second "
             "source gives about three times as many records as the first",
             .min = 1, .max = LEAT_LANES_MAX),
    LEAT_ARG(mix, proportions, TEXTS,
             "in place of `weights`: one positive number for each source; the sources take "
             "turns, so these proportions hold at every point of the stream; with the "
             "proportions 1 and 3, the second source gives 3 of every 4 records",
             .min = 1, .max = LEAT_LANES_MAX),
    LEAT_ARG(mix, exhausted, CHOICE,
             "what happens when a source has no more records; `stop`: the pass over the "
             "data ends; `repeat`: leat reads this source again, until leat has read "
             "every source at least once; `drop`: leat continues with the other sources",
             .fallback = "stop", .choices = exhausted_choices),
    LEAT_ARG(mix, seed, INT,
             "with `weights`: the seed of the random choice; another seed gives another "
             "mix",
             .fallback = "0", .min = 0, .max = 9e15),
    LEAT_ARGS_END,
};

static int read_shares(struct mix *self, const char *arg, const struct leat_texts *texts,
                       struct leat_error *err) {
    struct leat_mixing *mixing = &self->composite.mixing;
    double sum = 0;

    if (texts->n_items != self->composite.sources->n_items)
        return leat_config_error(&self->composite.source.base, arg, err,
                                 "there are %zu numbers for %zu sources: give one for each source",
                                 texts->n_items, self->composite.sources->n_items);
    for (size_t i = 0; i < texts->n_items; i++) {
        double share;

        if (leat_parse_float(texts->items[i], strlen(texts->items[i]), &share) < 0 ||
            !isfinite(share) || share < 1e-9 || share > 1e9)
            return leat_config_error(&self->composite.source.base, arg, err,
                                     "\"%.32s\" is not a number from 1e-9 to 1e9", texts->items[i]);
        mixing->shares[i] = share;
        sum += share;
    }
    for (size_t i = 0; i < texts->n_items; i++)
        mixing->shares[i] /= sum;
    return 0;
}

static int check(struct leat_config *config, struct leat_error *err) {
    struct mix *self = (struct mix *)config;
    bool is_random = self->weights.n_items > 0;

    if (is_random == (self->proportions.n_items > 0))
        return leat_config_error(config, is_random ? "proportions" : NULL, err,
                                 "give exactly one of `weights` and `proportions`");
    if (!is_random && leat_config_given(config, "seed"))
        return leat_config_error(config, "seed", err, "works only with `weights`");
    self->composite.is_mix = true;
    self->composite.mixing = (struct leat_mixing){
        .is_random = is_random,
        .exhausted = (enum leat_exhausted)self->exhausted,
        .seed = (uint64_t)self->seed,
        .n_lanes = self->composite.sources->n_items,
    };
    return is_random ? read_shares(self, "weights", &self->weights, err)
                     : read_shares(self, "proportions", &self->proportions, err);
}

const struct leat_stage_ops leat_source_mix = {
    LEAT_STAGE_BASE("mix", mix, SOURCE),
    .summary = "mixes the records of several sources",
    .example = "{ sources: [{ jsonl: { paths: code.jsonl } }, { jsonl: { paths: web.jsonl } }], "
               "weights: [1, 3] }",
    .check = check,
    .unload = leat_source_unload,
    .is_composite = true,
};
