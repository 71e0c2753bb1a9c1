/* plan/bind.c: the first step of a plan: the options that every stream has, and what the spec says
 * of source, stages and options bound to their tables, and in an order that there can be. Reads
 * nothing. */
#include "pipeline/plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan_internal.h"

static const char *const on_error_choices[] = {"fail", "skip", "quarantine", NULL};
static const char *const verify_choices[] = {"sample", "full", NULL};
static const char *const uneven_choices[] = {"drop", "pad", "error", NULL};
static const char *const on_reload_choices[] = {"finish_epoch", "tell", NULL};
static const char *const on_change_choices[] = {"auto", "fail", "warn", "follow", NULL};
static const char *const tuner_choices[] = {"as_set", "off", "on", NULL};

const struct leat_arg leat_stream_args[] = {
    {.name = "on_error",
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct leat_stream_options, on_error),
     .fallback = "fail",
     .choices = on_error_choices,
     .help =
         "what a bad record does: ends the stream, is counted, or is also written to `quarantine`"},
    {.name = "quarantine",
     .is_aside = true,
     .type = LEAT_ARG_PATH,
     .offset = offsetof(struct leat_stream_options, quarantine),
     .help = "file of JSON lines for bad records, this stream's own: file, line, column, offset, "
             "stage, field, reason and raw bytes"},
    {.name = "max_errors",
     .is_aside = true,
     .type = LEAT_ARG_INT,
     .offset = offsetof(struct leat_stream_options, max_errors),
     .fallback = "0",
     .min = 0,
     .max = 1e15,
     .help = "bad records an epoch above which the stream fails all the same; 0: any number"},
    {.name = "seed",
     .type = LEAT_ARG_INT,
     .offset = offsetof(struct leat_stream_options, seed),
     .fallback = "0",
     .min = 0,
     .max = 9e15,
     .help = "seed of the whole stream, folded into that of every random stage"},
    {.name = "uneven",
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct leat_stream_options, uneven),
     .fallback = "drop",
     .choices = uneven_choices,
     .help = "of several ranks, what becomes of the last steps of an epoch that are not one for "
             "each of them: they are left out; the round is filled up with its batches again, "
             "from its first on; or the epoch fails"},
    {.name = "on_reload",
     .is_aside = true,
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct leat_stream_options, on_reload),
     .fallback = "finish_epoch",
     .choices = on_reload_choices,
     .help =
         "what becomes of trainers when a reload of the daemon's configuration makes the stream "
         "another one: they finish their epoch as it was and go on with the new one, or are "
         "told at once (tell), by an error"},
    {.name = "on_change",
     .is_aside = true,
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct leat_stream_options, on_change),
     .fallback = "auto",
     .choices = on_change_choices,
     .help = "what a file that changes while the stream is read does: it ends the stream with an "
             "error (fail), or is counted and logged, and the stream goes on (warn, "
             "follow); auto: fail for a trainer that opened at a "
             "position or is one of several ranks, else warn"},
    {.name = "skip_steps",
     .is_aside = true,
     .type = LEAT_ARG_TEXTS,
     .offset = offsetof(struct leat_stream_options, skip_steps),
     .max = LEAT_SKIPS_MAX,
     .help = "steps that are left out, as 0:17 (epoch:step), 0:100-120, or 17 for every epoch; all "
             "others keep their numbers and contents"},
    {.name = "skip_records",
     .is_aside = true,
     .type = LEAT_ARG_TEXTS,
     .offset = offsetof(struct leat_stream_options, skip_records),
     .max = LEAT_SKIPS_MAX,
     .help = "records that are taken out of their batches, as data.csv:17 (file:line), "
             "data.csv:100-120, or as numbers from 0 that `leatctl where` tells; all other rows "
             "stay where they are"},
    {.name = "block_bytes",
     .is_aside = true,
     .type = LEAT_ARG_BYTES,
     .offset = offsetof(struct leat_stream_options, block_bytes),
     .fallback = "256KiB",
     .min = 4096,
     .max = 64 << 20,
     .help = "bytes of source in one unit of work; changes speed and memory, never the batches"},
    {.name = "jobs_in_flight",
     .is_aside = true,
     .type = LEAT_ARG_INT,
     .offset = offsetof(struct leat_stream_options, jobs_in_flight),
     .min = 1,
     .max = 4096,
     .help = "blocks that are worked on or wait to be at once; if not given, the daemon chooses; "
             "changes speed and memory, never the batches"},
    {.name = "collate_batches",
     .is_aside = true,
     .type = LEAT_ARG_INT,
     .offset = offsetof(struct leat_stream_options, collate_batches),
     .min = 1,
     .max = 256,
     .help = "batches that one job puts into slots; if not given, the daemon chooses; changes "
             "speed, never the batches"},
    {.name = "tuner",
     .is_aside = true,
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct leat_stream_options, tuner),
     .fallback = "as_set",
     .choices = tuner_choices,
     .help = "whether the daemon turns what is not given of block_bytes, jobs_in_flight, "
             "collate_batches and prefetch_size; as_set: as its settings say"},
    {.name = "max_record_bytes",
     .type = LEAT_ARG_BYTES,
     .offset = offsetof(struct leat_stream_options, max_record_bytes),
     .fallback = "64MiB",
     .min = 64,
     .max = 1 << 30,
     .help = "a longer record is bad"},
    {.name = "max_fields",
     .type = LEAT_ARG_INT,
     .offset = offsetof(struct leat_stream_options, max_fields),
     .fallback = "0",
     .min = 0,
     .max = 1 << 30,
     .help = "a record of more fields is bad (JSON: members of all its objects); 0: any number"},
    {.name = "max_tokens",
     .type = LEAT_ARG_INT,
     .offset = offsetof(struct leat_stream_options, max_tokens),
     .fallback = "0",
     .min = 0,
     .max = 1 << 30,
     .help = "a record of which `tokenize` makes more tokens is bad; 0: any number"},
    {.name = "max_batch_bytes",
     .is_aside = true,
     .type = LEAT_ARG_BYTES,
     .offset = offsetof(struct leat_stream_options, max_batch_bytes),
     .fallback = "256MiB",
     .min = 4096,
     .max = 4294967296.0,
     .help = "a larger batch fails the stream"},
    {.name = "max_window_bytes",
     .type = LEAT_ARG_BYTES,
     .offset = offsetof(struct leat_stream_options, max_window_bytes),
     .fallback = "128MiB",
     .min = 1 << 20,
     .max = 1 << 30,
     .help = "memory that a compressed file may ask for to be read (zstd's window, xz's "
             "dictionary; what must be held of a batch of Arrow); one that wants more is damaged"},
    {.name = "max_expansion",
     .type = LEAT_ARG_INT,
     .offset = offsetof(struct leat_stream_options, max_expansion),
     .fallback = "1000",
     .min = 0,
     .max = 1e9,
     .help = "decompressed bytes for each byte of a compressed file, behind the first 64 MiB; one "
             "that holds more is damaged; 0: any number"},
    {.name = "decode_ahead",
     .is_aside = true,
     .type = LEAT_ARG_BYTES,
     .offset = offsetof(struct leat_stream_options, decode_ahead),
     .fallback = "128MiB",
     .min = 0,
     .max = 1LL << 34,
     .help = "bytes of compressed files that are decoded ahead, in parallel, at most; 0: none; "
             "changes speed and memory, never the batches"},
    {.name = "verify",
     .is_aside = true,
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct leat_stream_options, verify),
     .fallback = "sample",
     .choices = verify_choices,
     .help = "how it is found out, when a stream goes on at a position, that the data is the same: "
             "by sizes and some of the bytes of each file, or by all of them"},
    {.name = "index",
     .is_aside = true,
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct leat_stream_options, index),
     .fallback = "auto",
     .help = "where it is kept what the order of records needs of each block, so that a start in "
             "mid-epoch need not make what lies before: auto (with the daemon's state), off, or a "
             "folder; a stream with a `cache` has it there. Changes speed, never the batches"},
    {.name = "cache",
     .is_aside = true,
     .type = LEAT_ARG_GROUP,
     .offset = offsetof(struct leat_stream_options, cache),
     .group = leat_cache_args,
     .help = "keeps what source and per-record stages make: later epochs and other trainers read "
             "it instead of making it again"},
    LEAT_ARGS_END,
};

int leat_plan_unknown_kind(const struct leat_spec *spec, const char *kind, uint32_t line,
                           uint32_t column, const char *what,
                           const struct leat_stage_ops *const *table, struct leat_error *err) {
    const char *names[LEAT_SPEC_MAX_STAGES];
    const char *nearest;
    size_t n = 0;

    for (; table[n]; n++)
        names[n] = table[n]->name;
    nearest = leat_nearest(kind, names, n);
    if (nearest)
        leat_error_set(err, -EINVAL, "unknown %s \"%.64s\"; did you mean \"%s\"?", what, kind,
                       nearest);
    else
        leat_error_set(err, -EINVAL, "unknown %s \"%.64s\"; `leatctl stages` lists all", what,
                       kind);
    leat_error_locate(err, spec->file, line, column);
    return -EINVAL;
}

int leat_plan_bind(const struct leat_spec *spec, const struct leat_stage_ops *ops,
                   const struct leat_value *args, uint32_t line, uint32_t column,
                   struct leat_config **ret_config, struct leat_error *err) {
    struct leat_config *config = calloc(1, ops->config_size);
    int r;

    if (!config)
        return leat_error_oom(err);
    config->ops = ops;
    *ret_config = config;
    r = leat_config_bind(config, ops->args, args, spec->file, line, column, err);
    if (r == 0 && ops->check)
        r = ops->check(config, err);
    return r;
}

struct leat_config *leat_plan_config_free(struct leat_config *config) {
    if (config) {
        if (config->ops->unload)
            config->ops->unload(config);
        leat_config_deinit(config);
        free(config);
    }
    return NULL;
}

static void prefix(const struct leat_plan *plan, size_t source, size_t position, const char *kind,
                   struct leat_error *err) {
    leat_error_prefix(err, "stages[%zu].%s", position, kind);
    if (source > 0)
        leat_plan_prefix_source(plan, source - 1, err);
}

void leat_plan_prefix_stage(const struct leat_plan *plan, const struct leat_plan_stage *stage,
                            struct leat_error *err) {
    prefix(plan, stage->source, stage->position, stage->ops->name, err);
}

/* A stage as the spec has it. */
struct written {
    const char *kind;
    const struct leat_value *args;
    uint32_t line, column;
    size_t position, source;
};

/* Random stages draw by kind_index, so the stages of one source do not change what others draw. */
static int bind_stage(struct leat_plan *plan, const struct written *written,
                      struct leat_error *err) {
    struct leat_plan_stage *stage = &plan->stages[plan->n_all_stages];
    const char *kind = written->kind ? written->kind : "";
    int r;

    *stage = (struct leat_plan_stage){
        .ops = leat_stage_find(kind),
        .index = plan->n_all_stages,
        .position = written->position,
        .source = written->source,
        .kind_index = (uint64_t)written->source << 32,
        .filter_column = -1,
    };
    plan->n_all_stages++;
    r = stage->ops ? leat_plan_bind(plan->spec, stage->ops, written->args, written->line,
                                    written->column, &stage->config, err)
                   : leat_plan_unknown_kind(plan->spec, kind, written->line, written->column,
                                            "stage", leat_stages, err);
    if (r == 0 && stage->source > 0 && stage->ops->kind != LEAT_STAGE_MAP)
        r = leat_config_error(stage->config, NULL, err,
                              "works on all rows of the stream: it must stand behind the sources, "
                              "in the stream's stages");
    if (r < 0) {
        prefix(plan, stage->source, stage->position, kind, err);
        return r;
    }
    for (size_t i = 0; i < stage->index; i++)
        stage->kind_index +=
            plan->stages[i].ops == stage->ops && plan->stages[i].source == stage->source;
    return 0;
}

static const struct leat_value no_args = {.kind = LEAT_VALUE_NULL};

/* A stage of a source is a name, or a map of a name to its arguments. */
static int read_stage(const struct leat_plan *plan, const struct leat_value *value,
                      struct written *ret_written, struct leat_error *err) {
    ret_written->line = value->line;
    ret_written->column = value->column;
    if (value->kind == LEAT_VALUE_SCALAR) {
        ret_written->kind = value->text;
        ret_written->args = &no_args;
        return 0;
    }
    if (value->kind == LEAT_VALUE_MAP && value->n_items == 1) {
        ret_written->kind = value->keys[0].name;
        ret_written->args = &value->items[0];
        return 0;
    }
    leat_error_set(err, -EINVAL,
                   "expected one stage with its arguments, such as `cast: {input: n}`");
    leat_error_locate(err, plan->spec->file, value->line, value->column);
    leat_error_prefix(err, "stages[%zu]", ret_written->position);
    leat_plan_prefix_source(plan, ret_written->source - 1, err);
    return -EINVAL;
}

static int bind_source_stages(struct leat_plan *plan, size_t source, struct leat_error *err) {
    struct written written = {.source = source + 1};

    for (size_t k = 0; k < 2; k++) {
        const struct leat_value *list = plan->sources[source].stages[k];

        for (size_t i = 0; list && i < list->n_items; i++, written.position++) {
            int r = read_stage(plan, &list->items[i], &written, err);

            if (r == 0)
                r = bind_stage(plan, &written, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static size_t count_stages(const struct leat_plan *plan) {
    size_t n = plan->spec->n_stages;

    for (size_t i = 0; i < plan->n_sources; i++)
        for (size_t k = 0; k < 2; k++)
            n += plan->sources[i].stages[k] ? plan->sources[i].stages[k]->n_items : 0;
    return n;
}

static int bind_stages(struct leat_plan *plan, struct leat_error *err) {
    const struct leat_spec *spec = plan->spec;
    size_t n = count_stages(plan);
    int r = 0;

    if (n > LEAT_SPEC_MAX_STAGES)
        return leat_error_set(err, -EINVAL,
                              "the stream and its sources have %zu stages: at most %d", n,
                              LEAT_SPEC_MAX_STAGES);
    plan->stages = calloc(n ? n : 1, sizeof(*plan->stages));
    if (!plan->stages)
        return leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < spec->n_stages; i++) {
        const struct leat_stage_spec *stage = &spec->stages[i];

        r = bind_stage(plan,
                       &(struct written){.kind = stage->kind,
                                         .args = &stage->args,
                                         .line = stage->line,
                                         .column = stage->column,
                                         .position = i},
                       err);
        plan->n_stages = plan->n_all_stages;
    }
    for (size_t i = 0; r == 0 && i < plan->n_sources; i++)
        r = bind_source_stages(plan, i, err);
    return r;
}

static int bind_options(struct leat_plan *plan, struct leat_error *err) {
    const struct leat_spec *spec = plan->spec;
    struct leat_config *config = &plan->options.base;
    int r = leat_config_bind(config, leat_stream_args, &spec->options, spec->file, spec->line,
                             spec->column, err);

    if (r < 0)
        return r;
    if (plan->options.on_error == LEAT_ON_ERROR_QUARANTINE && !plan->options.quarantine)
        return leat_config_error(config, "on_error", err,
                                 "quarantine needs a file: set `quarantine`");
    if (plan->options.on_error != LEAT_ON_ERROR_QUARANTINE && plan->options.quarantine)
        return leat_config_error(config, "quarantine", err,
                                 "has an effect only with `on_error: quarantine`");
    if (plan->options.on_error == LEAT_ON_ERROR_FAIL && plan->options.max_errors > 0)
        return leat_config_error(config, "max_errors", err,
                                 "has an effect only with `on_error: skip` or `quarantine`: with "
                                 "`fail` the first bad record ends the stream");
    if (plan->options.quarantine) {
        plan->quarantine_path = leat_config_path(config, plan->options.quarantine);
        if (!plan->quarantine_path)
            return leat_error_oom(err);
    }
    r = leat_skips_bind(&plan->skips, config, err);
    if (r < 0)
        return r;
    if (plan->options.cache.path) {
        plan->cache_path = leat_config_path(config, plan->options.cache.path);
        if (!plan->cache_path)
            return leat_error_oom(err);
    }
    if (strcmp(plan->options.index, "auto") != 0 && strcmp(plan->options.index, "off") != 0) {
        plan->index_path = leat_config_path(config, plan->options.index);
        if (!plan->index_path)
            return leat_error_oom(err);
    }
    return 0;
}

static void misplaced(const struct leat_plan_stage *stage, const char *behind,
                      struct leat_error *err) {
    if (strcmp(stage->ops->name, behind) == 0)
        leat_config_error(stage->config, NULL, err, "only one %s is possible in a stream", behind);
    else
        leat_config_error(stage->config, NULL, err, "must stand before %s", behind);
}

/* Everything stands in an order that makes sense: nothing but one prefetch behind one batch. */
static int check_order(const struct leat_plan *plan, struct leat_error *err) {
    const char *closing = NULL, *last = NULL;

    for (size_t i = 0; i < plan->n_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        if (closing && (stage->ops->kind != LEAT_STAGE_COLLATE || strcmp(closing, "batch") != 0 ||
                        strcmp(stage->ops->name, "batch") == 0)) {
            misplaced(stage, closing, err);
            leat_plan_prefix_stage(plan, stage, err);
            return -EINVAL;
        }
        if (last && stage->ops->kind == LEAT_STAGE_ORDER) {
            misplaced(stage, last, err);
            leat_plan_prefix_stage(plan, stage, err);
            return -EINVAL;
        }
        if (stage->ops->is_last)
            last = stage->ops->name;
        if (stage->ops->kind == LEAT_STAGE_COLLATE)
            closing = stage->ops->name;
    }
    return 0;
}

int leat_plan_bind_spec(struct leat_plan *plan, struct leat_error *err) {
    int r = leat_plan_bind_sources(plan, err);

    if (r == 0)
        r = bind_options(plan, err);
    if (r == 0)
        r = bind_stages(plan, err);
    return r < 0 ? r : check_order(plan, err);
}
