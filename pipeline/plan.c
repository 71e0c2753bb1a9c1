/* plan.c: from a spec to a plan: bind every stage, load what it needs, walk the schema through,
 * arrange, lay out.
 *
 * Built by one thread (which may block), immutable afterwards.
 */
#include "pipeline/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/data_digest.h"
#include "pipeline/plan_internal.h"

#define PROBE_BYTES     (1U << 20)
#define PROBE_MAX_BYTES (64U << 20)
#define PROBE_WAITS     500 /* of 20 ms each, in a row, for a FIFO */

static const char *const on_error_choices[] = {"fail", "skip", "quarantine", NULL};
static const char *const verify_choices[] = {"sample", "full", NULL};
static const char *const uneven_choices[] = {"drop", "pad", "error", NULL};
static const char *const on_reload_choices[] = {"finish_epoch", "tell", NULL};
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

static void prefix_stage(struct leat_error *err, size_t index, const char *kind) {
    leat_error_prefix(err, "stages[%zu].%s", index, kind ? kind : "");
}

static int bind_stages(struct leat_plan *plan, struct leat_error *err) {
    const struct leat_spec *spec = plan->spec;

    plan->stages = calloc(spec->n_stages ? spec->n_stages : 1, sizeof(*plan->stages));
    if (!plan->stages)
        return leat_error_oom(err);
    for (size_t i = 0; i < spec->n_stages; i++) {
        struct leat_plan_stage *stage = &plan->stages[i];
        const struct leat_stage_spec *written = &spec->stages[i];
        int r;

        stage->ops = leat_stage_find(written->kind ? written->kind : "");
        stage->index = i;
        stage->filter_column = -1;
        plan->n_stages = i + 1;
        r = stage->ops
                ? leat_plan_bind(spec, stage->ops, &written->args, written->line, written->column,
                                 &stage->config, err)
                : leat_plan_unknown_kind(spec, written->kind ? written->kind : "", written->line,
                                         written->column, "stage", leat_stages, err);
        if (r < 0) {
            prefix_stage(err, i, written->kind);
            return r;
        }
        for (size_t k = 0; k < i; k++)
            stage->kind_index += plan->stages[k].ops == stage->ops;
    }
    return 0;
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
            prefix_stage(err, i, stage->ops->name);
            return -EINVAL;
        }
        if (last && stage->ops->kind == LEAT_STAGE_ORDER) {
            misplaced(stage, last, err);
            prefix_stage(err, i, stage->ops->name);
            return -EINVAL;
        }
        if (stage->ops->is_last)
            last = stage->ops->name;
        if (stage->ops->kind == LEAT_STAGE_COLLATE)
            closing = stage->ops->name;
    }
    return 0;
}

static int bind_spec(struct leat_plan *plan, struct leat_error *err) {
    int r = leat_plan_bind_sources(plan, err);

    if (r == 0)
        r = bind_options(plan, err);
    if (r == 0)
        r = bind_stages(plan, err);
    return r < 0 ? r : check_order(plan, err);
}

static int load(struct leat_plan *plan, const struct leat_opener *opener, struct leat_error *err) {
    int r = leat_plan_load_sources(plan, opener, err);

    for (size_t i = 0; r == 0 && i < plan->n_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        r = stage->ops->load ? stage->ops->load(stage->config, opener, err) : 0;
        if (r < 0)
            prefix_stage(err, i, stage->ops->name);
    }
    return r;
}

static int waited_in_vain(const char *path, struct leat_error *err) {
    return leat_error_set(err, -ETIMEDOUT,
                          "%s: not enough came through the FIFO in %d s to tell what fields there "
                          "are: start its writer first, or declare them",
                          path, PROBE_WAITS / 50);
}

/* Damage in the head is told when it is reached, if there is anything before it. */
static int peek(struct leat_input *input, size_t n_wanted, const uint8_t **head, size_t *n_bytes,
                bool *is_whole, struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    int r = leat_input_peek(input, n_wanted + 1, head, n_bytes, &fault);

    if (r < 0 && (r != -EBADMSG || *n_bytes == 0)) {
        *err = fault;
        return r;
    }
    *is_whole = r != LEAT_INPUT_WAITING && *n_bytes <= n_wanted;
    if (*n_bytes > n_wanted)
        *n_bytes = n_wanted;
    return r < 0 ? 0 : r;
}

/* How large its records are. */
static void measure_records(struct leat_plan *plan, const struct leat_plan_source *source,
                            const uint8_t *head, size_t n_bytes, bool is_whole) {
    struct leat_cutter cutter = {.max_record_bytes = 0};
    struct leat_cut cut = {0};
    uint64_t mean;

    source->ops->cutter(&source->config->base, &cutter);
    cutter.max_record_bytes = (uint32_t)plan->options.max_record_bytes;
    leat_cutter_cut(&cutter, head, n_bytes, is_whole, &cut);
    mean = cut.n_records > 0 ? cut.n_bytes / cut.n_records + 1 : n_bytes;
    if (mean > plan->record_bytes)
        plan->record_bytes = mean;
}

/* From the head of its first file; a header that is longer than the head asks for more. Of a FIFO
 * no more is read than is needed. */
static int probe_input(struct leat_plan *plan, const struct leat_plan_source *source,
                       struct leat_planner *planner, struct leat_input *input, const char *path,
                       struct leat_error *err) {
    const struct leat_stage_ops *ops = source->ops;
    struct leat_config *config = &source->config->base;
    const uint8_t *head = (const uint8_t *)"";
    size_t n_bytes = 0, n_wanted = PROBE_BYTES, n_before;
    unsigned n_waits = 0;
    bool is_whole = false;
    int r, waits = 0;

    r = plan->is_one_pass ? ops->probe(config, head, 0, false, path, planner, err) : -EAGAIN;
    while (r == -EAGAIN) {
        n_before = n_bytes;
        waits = peek(input, n_wanted, &head, &n_bytes, &is_whole, err);
        if (waits < 0)
            return waits;
        if (waits && n_bytes == n_before) {
            if (++n_waits >= PROBE_WAITS)
                return waited_in_vain(path, err);
            continue;
        }
        n_waits = 0;
        r = ops->probe(config, head, n_bytes, is_whole, path, planner, err);
        if (r != -EAGAIN || waits)
            continue;
        if (n_wanted >= PROBE_MAX_BYTES)
            return leat_error_set(err, -EINVAL, "%s: the first record is longer than %u bytes",
                                  path, PROBE_MAX_BYTES);
        n_wanted *= 4;
    }
    if (r == 0 && n_bytes > 0)
        measure_records(plan, source, head, n_bytes, is_whole);
    return r;
}

int leat_plan_probe(struct leat_plan *plan, const struct leat_plan_source *source,
                    struct leat_planner *planner, const struct leat_opener *opener,
                    struct leat_error *err) {
    const char *path = source->config->files.paths[0];
    struct leat_input *input = NULL;
    int r = leat_plan_open_input(plan, source, opener, path, &input, err);

    if (r == 0) {
        plan->is_one_pass = leat_input_is_one_pass(input);
        if (plan->is_one_pass && plan->source_ops->is_composite)
            r = leat_error_set(err, -ESPIPE,
                               "%s: comes through a FIFO, and so once: it cannot be one of "
                               "several sources",
                               path);
        else
            r = probe_input(plan, source, planner, input, path, err);
        if (leat_input_format(input)) {
            plan->is_compressed = true;
            plan->decoder_bytes += leat_input_memory(input);
        }
        if (r < 0)
            leat_error_locate(err, path, 0, 0);
    }
    if (r == 0 && plan->is_one_pass)
        plan->first_input = input;
    else
        leat_input_close(input);
    return r;
}

static int snapshot(const struct leat_planner *planner, char (**ret_names)[LEAT_NAME_MAX + 1],
                    uint32_t **ret_columns, size_t *ret_n) {
    size_t n = planner->n_names;

    *ret_names = calloc(n ? n : 1, sizeof(**ret_names));
    *ret_columns = calloc(n ? n : 1, sizeof(**ret_columns));
    if (!*ret_names || !*ret_columns)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        memcpy((*ret_names)[i], planner->names[i].name, sizeof((*ret_names)[i]));
        (*ret_columns)[i] = planner->names[i].column;
    }
    *ret_n = n;
    return 0;
}

static int plan_stages(struct leat_plan *plan, struct leat_planner *planner,
                       struct leat_error *err) {
    if (snapshot(planner, &plan->source_names, &plan->source_columns, &plan->n_source_fields) < 0)
        return leat_error_oom(err);
    for (size_t i = 0; i < plan->n_stages; i++) {
        struct leat_plan_stage *stage = &plan->stages[i];
        int r;

        planner->stage = (uint32_t)i + 1;
        planner->kind_index = stage->kind_index;
        r = planner->is_packed && stage->ops->is_filter
                ? leat_config_error(stage->config, NULL, err,
                                    "goes by records: it must stand before pack")
                : 0;
        if (r == 0 && stage->ops->plan)
            r = stage->ops->plan(stage->config, planner, err);
        if (r == 0 && snapshot(planner, &stage->names_after, &stage->columns_after,
                               &stage->n_fields_after) < 0)
            r = leat_error_oom(err);
        if (r < 0) {
            prefix_stage(err, i, stage->ops->name);
            return r;
        }
    }
    return 0;
}

/* What comes once is neither repeated nor cached. */
static int check_passes(const struct leat_plan *plan, struct leat_error *err) {
    const char *path = plan->source->files.paths[0];

    if (plan->is_one_pass && plan->has_repeat)
        return leat_config_error(&plan->source->base, "paths", err,
                                 "%s comes through a FIFO, and so once: there is nothing to "
                                 "`repeat`",
                                 path);
    if (plan->is_one_pass && plan->cache_path)
        return leat_config_error(
            &plan->source->base, "paths", err,
            "%s comes through a FIFO, and so once: there is nothing to `cache`", path);
    return 0;
}

const struct leat_plan_stage *leat_plan_find_varying(const struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_map; i++)
        if (plan->map[i]->ops->varies && plan->map[i]->ops->varies(plan->map[i]->config))
            return plan->map[i];
    return NULL;
}

/* A cache gives every epoch the same records, in the order of the data. */
static int check_cache(const struct leat_plan *plan, struct leat_error *err) {
    const struct leat_plan_stage *stage;

    if (plan->cache_path && plan->mixing) {
        leat_config_error(&plan->source->base, NULL, err,
                          "cannot be cached, as a cache has its records in one order: take `cache` "
                          "away");
        leat_error_prefix(err, "source.%s", plan->source_ops->name);
        return -EINVAL;
    }
    stage = plan->cache_path ? leat_plan_find_varying(plan) : NULL;
    if (stage) {
        leat_config_error(stage->config, NULL, err,
                          "gives other values in each epoch, which a cache would not: take "
                          "`cache` away, or the chance");
        prefix_stage(err, stage->index, stage->ops->name);
        return -EINVAL;
    }
    return 0;
}

static int build(struct leat_plan *plan, struct leat_planner *planner,
                 const struct leat_opener *opener, bool with_batches, struct leat_error *err) {
    int r = bind_spec(plan, err);

    if (r == 0)
        r = load(plan, opener, err);
    plan->limits = (struct leat_input_limits){
        .max_window_bytes = (uint64_t)plan->options.max_window_bytes,
        .max_expansion = (uint64_t)plan->options.max_expansion,
        .max_record_bytes = (uint64_t)plan->options.max_record_bytes,
    };
    if (r == 0 && leat_planner_init(planner) < 0)
        r = leat_error_oom(err);
    if (r == 0)
        r = leat_plan_probe_sources(plan, planner, opener, err);
    if (r == 0)
        r = plan_stages(plan, planner, err);
    if (r == 0)
        r = leat_plan_arrange(plan, planner, err);
    if (r == 0)
        r = leat_plan_arrange_sources(plan, err);
    if (r == 0)
        r = check_cache(plan, err);
    if (r == 0)
        r = check_passes(plan, err);
    if (r == 0)
        r = leat_skips_load(plan, opener, err);
    if (r == 0)
        r = leat_plan_find_blocks(plan, err);
    if (r == 0 && with_batches)
        r = leat_plan_lay_out(plan, planner, err);
    if (r < 0)
        return r;
    return leat_plan_digest(plan, err);
}

static int plan_alloc(const struct leat_spec *spec, struct leat_plan **ret_plan,
                      struct leat_error *err) {
    struct leat_plan *plan = calloc(1, sizeof(*plan));

    if (!plan)
        return leat_error_oom(err);
    plan->n_refs = 1;
    if (leat_spec_copy(spec, &plan->spec) < 0) {
        free(plan);
        return leat_error_oom(err);
    }
    *ret_plan = plan;
    return 0;
}

static int plan_new(const struct leat_spec *spec, const struct leat_opener *opener,
                    bool with_batches, struct leat_plan **ret_plan, struct leat_error *err) {
    struct leat_planner planner = {.fields = NULL};
    struct leat_plan *plan = NULL;
    int r = plan_alloc(spec, &plan, err);

    if (r < 0)
        return r;
    r = build(plan, &planner, opener, with_batches, err);
    leat_planner_deinit(&planner);
    if (r < 0) {
        leat_error_prefix(err, "streams.%s", spec->name);
        leat_plan_unref(plan);
        return r;
    }
    *ret_plan = plan;
    return 0;
}

int leat_plan_new(const struct leat_spec *spec, const struct leat_opener *opener,
                  struct leat_plan **ret_plan, struct leat_error *err) {
    return plan_new(spec, opener, true, ret_plan, err);
}

int leat_plan_new_of_rows(const struct leat_spec *spec, const struct leat_opener *opener,
                          struct leat_plan **ret_plan, struct leat_error *err) {
    return plan_new(spec, opener, false, ret_plan, err);
}

int leat_plan_check(const struct leat_spec *spec, struct leat_error *err) {
    struct leat_plan *plan = NULL;
    int r = plan_alloc(spec, &plan, err);

    if (r == 0)
        r = bind_spec(plan, err);
    if (r < 0)
        leat_error_prefix(err, "streams.%s", spec->name);
    leat_plan_unref(plan);
    return r;
}

struct leat_plan *leat_plan_ref(struct leat_plan *plan) {
    plan->n_refs++;
    return plan;
}

struct leat_plan *leat_plan_unref(struct leat_plan *plan) {
    if (!plan || --plan->n_refs > 0)
        return NULL;
    for (size_t i = 0; i < plan->n_stages; i++) {
        leat_plan_config_free(plan->stages[i].config);
        free(plan->stages[i].names_after);
        free(plan->stages[i].columns_after);
    }
    leat_plan_free_sources(plan);
    leat_skips_deinit(&plan->skips);
    leat_config_deinit(&plan->options.base);
    free(plan->source_names);
    free(plan->source_columns);
    free(plan->stages);
    free(plan->map);
    free(plan->order);
    free(plan->fields);
    free(plan->makes);
    free(plan->reads);
    free(plan->is_needed);
    free(plan->is_kept);
    free(plan->tensors);
    leat_input_close(plan->first_input);
    free(plan->quarantine_path);
    free(plan->cache_path);
    free(plan->spec_text);
    leat_data_unref(plan->data);
    free(plan->index_path);
    leat_spec_free(plan->spec);
    free(plan);
    return NULL;
}
