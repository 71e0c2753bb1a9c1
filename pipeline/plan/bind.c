/* plan/bind.c: the first step of a plan: binds what the spec says of source, stages and options to
 * their tables, and checks the order of stages. Reads no file. */
#include "pipeline/plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan_internal.h"
#include "proto/base/elsewhere.h"

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
        leat_error_set(err, -EINVAL, "unknown %s \"%.64s\"; run `leatctl stages` for a list", what,
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

static void prefix_place(const struct leat_plan *plan, size_t source, size_t position,
                         const char *kind, struct leat_error *err) {
    leat_error_prefix(err, "stages[%zu].%s", position, kind);
    if (source > 0)
        leat_plan_prefix_source(plan, source - 1, err);
}

void leat_plan_prefix_stage(const struct leat_plan *plan, const struct leat_plan_stage *stage,
                            struct leat_error *err) {
    prefix_place(plan, stage->source, stage->position, stage->ops->name, err);
}

/* Random stages draw by kind_index, so the stages of one source do not change what others draw. */
static int bind_stage(struct leat_plan *plan, const struct leat_named_args *written, size_t source,
                      size_t position, struct leat_error *err) {
    struct leat_plan_stage *stage = &plan->stages[plan->n_all_stages];
    const char *kind = written->name ? written->name : "";
    int r;

    *stage = (struct leat_plan_stage){
        .ops = leat_stage_find(kind),
        .index = plan->n_all_stages,
        .position = position,
        .source = source,
        .kind_index = (uint64_t)source << 32,
        .filter_column = -1,
    };
    plan->n_all_stages++;
    r = stage->ops ? leat_plan_bind(plan->spec, stage->ops, written->args, written->line,
                                    written->column, &stage->config, err)
                   : leat_plan_unknown_kind(plan->spec, kind, written->line, written->column,
                                            "stage", leat_stages, err);
    if (r == 0 && stage->source > 0 && stage->ops->kind != LEAT_STAGE_MAP)
        r = leat_config_error(stage->config, NULL, err,
                              "needs all rows of the stream: move it from the source's `stages` to "
                              "the stream's `stages`");
    if (r < 0) {
        prefix_place(plan, stage->source, stage->position, kind, err);
        return r;
    }
    for (size_t i = 0; i < stage->index; i++)
        stage->kind_index +=
            plan->stages[i].ops == stage->ops && plan->stages[i].source == stage->source;
    return 0;
}

static int bind_source_stages(struct leat_plan *plan, size_t source, struct leat_error *err) {
    size_t position = 0;

    for (size_t k = 0; k < 2; k++) {
        const struct leat_value *list = plan->sources[source].stages[k];

        for (size_t i = 0; list && i < list->n_items; i++, position++) {
            const struct leat_value *value = &list->items[i];
            struct leat_named_args written;
            int r;

            if (!leat_value_named_args(value, false, &written)) {
                leat_error_set(err, -EINVAL,
                               "expected one stage with its arguments, such as `cast: {input: n}`");
                leat_error_locate(err, plan->spec->file, value->line, value->column);
                leat_error_prefix(err, "stages[%zu]", position);
                leat_plan_prefix_source(plan, source, err);
                return -EINVAL;
            }
            written.line = value->line;
            written.column = value->column;
            r = bind_stage(plan, &written, source + 1, position, err);
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
                              "the stream and its sources have %zu stages; at most %d are possible",
                              n, LEAT_SPEC_MAX_STAGES);
    plan->stages = calloc(n ? n : 1, sizeof(*plan->stages));
    if (!plan->stages)
        return leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < spec->n_stages; i++) {
        const struct leat_stage_spec *stage = &spec->stages[i];

        r = bind_stage(
            plan, &(struct leat_named_args){stage->kind, &stage->args, stage->line, stage->column},
            0, i, err);
        plan->n_stages = plan->n_all_stages;
    }
    for (size_t i = 0; r == 0 && i < plan->n_sources; i++)
        r = bind_source_stages(plan, i, err);
    return r;
}

/* path: may be NULL. */
static int take_path(const struct leat_config *config, const char *path, char **ret_path,
                     struct leat_error *err) {
    if (path && !(*ret_path = leat_config_path(config, path)))
        return leat_error_oom(err);
    return 0;
}

static int take_cache(struct leat_plan *plan, struct leat_error *err) {
    const struct leat_cache_options *cache = &plan->options.cache;

    if (leat_config_given(&plan->options.base, "cache") && !cache->path == !cache->prepared)
        return leat_config_error(
            &plan->options.base, "cache", err,
            "the cache needs a folder: give `path` for a cache, or `prepared` for a prepared set");
    if (cache->path && leat_elsewhere_is_object(cache->path))
        return leat_config_error(&plan->options.base, "cache", err,
                                 "`path` must be a folder of this machine, since leat writes to "
                                 "this folder; for a set in a store, use `prepared`");
    if (cache->prepared && leat_elsewhere_is_object(cache->prepared)) {
        plan->cache_path = strdup(cache->prepared);
        return plan->cache_path ? 0 : leat_error_oom(err);
    }
    return take_path(&plan->options.base, cache->path ? cache->path : cache->prepared,
                     &plan->cache_path, err);
}

static int bind_options(struct leat_plan *plan, struct leat_error *err) {
    const struct leat_spec *spec = plan->spec;
    struct leat_config *config = &plan->options.base;
    int r = leat_config_bind(config, leat_stream_args, &spec->options, spec->file, spec->line,
                             spec->column, err);
    bool has_index_path;

    if (r < 0)
        return r;
    if (plan->options.on_error == LEAT_ON_ERROR_QUARANTINE && !plan->options.quarantine)
        return leat_config_error(
            config, "on_error", err,
            "`on_error: quarantine` needs a file: set `quarantine` to a path such as bad.jsonl");
    if (plan->options.on_error != LEAT_ON_ERROR_QUARANTINE && plan->options.quarantine)
        return leat_config_error(config, "quarantine", err,
                                 "works only with `on_error: quarantine`");
    if (plan->options.on_error == LEAT_ON_ERROR_FAIL && plan->options.max_errors > 0)
        return leat_config_error(config, "max_errors", err,
                                 "works only with `on_error: skip` or `quarantine`; with `fail`, "
                                 "the first bad record ends the stream");
    has_index_path =
        strcmp(plan->options.index, "auto") != 0 && strcmp(plan->options.index, "off") != 0;
    r = leat_skips_bind(&plan->skips, config, err);
    if (r == 0)
        r = take_path(config, plan->options.quarantine, &plan->quarantine_path, err);
    if (r == 0)
        r = take_cache(plan, err);
    if (r == 0 && has_index_path)
        r = take_path(config, plan->options.index, &plan->index_path, err);
    return r;
}

static int fail_misplaced(const struct leat_plan *plan, const struct leat_plan_stage *stage,
                          const char *behind, struct leat_error *err) {
    if (strcmp(stage->ops->name, behind) == 0)
        leat_config_error(stage->config, NULL, err, "a stream can have only one `%s`", behind);
    else
        leat_config_error(stage->config, NULL, err, "must come before `%s`", behind);
    leat_plan_prefix_stage(plan, stage, err);
    return -EINVAL;
}

/* Checks that nothing but one prefetch stands behind one batch. */
static int check_order(const struct leat_plan *plan, struct leat_error *err) {
    const char *closing = NULL, *last = NULL;

    for (size_t i = 0; i < plan->n_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        if (closing && (stage->ops->kind != LEAT_STAGE_COLLATE || strcmp(closing, "batch") != 0 ||
                        strcmp(stage->ops->name, "batch") == 0))
            return fail_misplaced(plan, stage, closing, err);
        if (last && stage->ops->kind == LEAT_STAGE_ORDER)
            return fail_misplaced(plan, stage, last, err);
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
