/* plan/sources.c: the source of records, or several of them (concat, mix) with the schema that they
 * have in common.
 *
 * A plan numbers the files of all its sources together, so that everything behind the scanner only
 * knows files. Each source parses into columns of its own. If there are several, the columns of
 * fields that all have with the same type move to common columns right behind the parser.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/plan/plan_internal.h"

/* ---- bind ---- */

/* The stages that are written beside a source; *ret_stages NULL: there are none. */
static int find_stages(const struct leat_plan *plan, const struct leat_value *value,
                       const struct leat_value **ret_stages, struct leat_error *err) {
    const struct leat_value *stages = leat_value_get(value, "stages");

    *ret_stages = stages && stages->kind == LEAT_VALUE_LIST ? stages : NULL;
    if (!stages || stages->kind == LEAT_VALUE_LIST || stages->kind == LEAT_VALUE_NULL)
        return 0;
    leat_error_set(err, -EINVAL, "expected a list of stages");
    leat_error_locate(err, plan->spec->file, stages->line, stages->column);
    leat_error_prefix(err, "stages");
    return -EINVAL;
}

static int add_source(struct leat_plan *plan, struct leat_config *config, uint32_t lane,
                      struct leat_error *err) {
    struct leat_plan_source *larger;

    if (plan->n_sources == LEAT_SOURCES_MAX)
        return leat_config_error(config, NULL, err, "more than %d sources are given",
                                 LEAT_SOURCES_MAX);
    larger = reallocarray(plan->sources, plan->n_sources + 1, sizeof(*larger));
    if (!larger)
        return leat_error_oom(err);
    plan->sources = larger;
    plan->sources[plan->n_sources++] = (struct leat_plan_source){
        .ops = config->ops, .config = (struct leat_source_config *)config, .lane = lane};
    return 0;
}

static int bind_list(struct leat_plan *plan, const struct leat_composite *list, uint32_t lane,
                     const struct leat_value *outer_stages, struct leat_error *err);

/* A source within another. Stages that are written beside a concat are those of each of its
 * sources. */
static int bind_child(struct leat_plan *plan, const struct leat_composite *list,
                      const struct leat_value *value, const struct leat_named_args *written,
                      uint32_t lane, const struct leat_value *outer_stages,
                      struct leat_error *err) {
    const struct leat_value *stages;
    const struct leat_stage_ops *ops = leat_source_find(written->name);
    struct leat_config *config = NULL;
    int r;

    if (!ops)
        return leat_plan_unknown_kind(plan->spec, written->name, written->line, written->column,
                                      "source", leat_sources, err);
    r = find_stages(plan, value, &stages, err);
    if (r == 0)
        r = leat_plan_bind(plan->spec, ops, written->args, written->line, written->column, &config,
                           err);
    if (r == 0 && ops->is_composite && (!list->is_mix || ((struct leat_composite *)config)->is_mix))
        r = leat_config_error(config, NULL, err,
                              "cannot be a source in %s: you can nest only a `concat` in a `mix`",
                              list->source.base.ops->name);
    if (r == 0 && ops->is_composite)
        r = bind_list(plan, (struct leat_composite *)config, lane, stages, err);
    else if (r == 0)
        r = add_source(plan, config, lane, err);
    if (r < 0 || ops->is_composite) {
        leat_plan_config_free(config);
        return r;
    }
    plan->sources[plan->n_sources - 1].stages[0] = stages;
    plan->sources[plan->n_sources - 1].stages[1] = outer_stages;
    return 0;
}

static int bind_list(struct leat_plan *plan, const struct leat_composite *list, uint32_t lane,
                     const struct leat_value *outer_stages, struct leat_error *err) {
    for (size_t i = 0; i < list->sources->n_items; i++) {
        const struct leat_value *value = &list->sources->items[i];
        struct leat_named_args written;
        int r;

        (void)leat_value_named_args(value, true,
                                    &written); /* its form was checked when it was bound */
        r = bind_child(plan, list, value, &written, list->is_mix ? (uint32_t)i : lane, outer_stages,
                       err);
        if (r < 0) {
            leat_error_prefix(err, "sources[%zu].%s", i, written.name);
            return r;
        }
    }
    return 0;
}

int leat_plan_bind_sources(struct leat_plan *plan, struct leat_error *err) {
    const struct leat_stage_spec *written = &plan->spec->source;
    const char *kind = written->kind ? written->kind : "";
    struct leat_config *config = NULL;
    int r;

    plan->source_ops = leat_source_find(kind);
    if (plan->source_ops)
        r = leat_plan_bind(plan->spec, plan->source_ops, &written->args, written->line,
                           written->column, &config, err);
    else
        r = leat_plan_unknown_kind(plan->spec, kind, written->line, written->column, "source",
                                   leat_sources, err);
    plan->source = (struct leat_source_config *)config;
    if (r == 0 && plan->source_ops->is_composite) {
        const struct leat_composite *list = (const struct leat_composite *)config;

        plan->mixing = list->is_mix ? &list->mixing : NULL;
        r = bind_list(plan, list, 0, NULL, err);
    } else if (r == 0) {
        r = add_source(plan, config, 0, err);
    }
    if (r < 0)
        leat_error_prefix(err, "source.%s", kind);
    return r;
}

/* ---- files ---- */

static int fail_at_hand(const struct leat_plan *plan, const char *path, struct leat_error *err) {
    return leat_error_set(err, -ESTALE,
                          "%.300s: the set was made from other data than %.300s: prepare a new set "
                          "from this data with `leatctl prepare %.200s --shard I/N -o DIR`",
                          plan->set->folder, path, plan->spec->file ? plan->spec->file : "FILE");
}

/* The source need not be there, but must not be another one. */
static int check_at_hand(const struct leat_plan *plan, const struct leat_plan_source *source,
                         size_t first, const struct leat_opener *opener, struct leat_error *err) {
    const struct leat_files *files = &source->config->files;

    if (!source->ops->load ||
        source->ops->load(&source->config->base, opener, LEAT_ERROR_IGNORED) < 0)
        return 0;
    if (files->n_paths != plan->set->heads[source - plan->sources].n_files)
        return fail_at_hand(plan, source->config->paths.items[0], err);
    for (size_t i = 0; i < files->n_paths; i++) {
        struct leat_file_state state;

        if (leat_data_look(opener, files->paths[i], &state, LEAT_ERROR_IGNORED) == 0 &&
            state.n_bytes != plan->set->files[first + i].n_bytes)
            return fail_at_hand(plan, files->paths[i], err);
    }
    return 0;
}

/* Names that follow each other in the set are the files of each source. If the source is at hand,
 * it must have the same files. */
static int take_files(const struct leat_plan *plan, const struct leat_plan_source *source,
                      const struct leat_opener *opener, struct leat_error *err) {
    size_t index = (size_t)(source - plan->sources), first = 0;
    struct leat_files *files = &source->config->files;
    const char *file = source->config->base.file;
    char *directory;
    int r = 0;

    if (plan->set->n_heads != plan->n_sources)
        return leat_error_set(
            err, -ESTALE, "%s: the set has %zu sources, but the stream has %zu: prepare a new set",
            plan->set->folder, plan->set->n_heads, plan->n_sources);
    for (size_t i = 0; i < index; i++)
        first += plan->set->heads[i].n_files;
    r = check_at_hand(plan, source, first, opener, err);
    leat_files_deinit(files);
    directory = file ? leat_files_directory(file) : NULL;
    if (r == 0 && file && !directory)
        r = leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < plan->set->heads[index].n_files; i++)
        r = leat_files_add(files, directory, plan->set->files[first + i].name, err);
    free(directory);
    return r;
}

static int load_one(const struct leat_plan *plan, const struct leat_plan_source *source,
                    const struct leat_opener *opener, struct leat_error *err) {
    int r = plan->set           ? take_files(plan, source, opener, err)
            : source->ops->load ? source->ops->load(&source->config->base, opener, err)
                                : 0;

    if (r < 0)
        leat_error_locate(err, plan->spec->file, source->config->base.line,
                          source->config->base.column);
    return r;
}

void leat_plan_prefix_source(const struct leat_plan *plan, size_t index, struct leat_error *err) {
    if (plan->source_ops->is_composite)
        leat_error_prefix(err, "sources[%zu].%s", index, plan->sources[index].ops->name);
    leat_error_prefix(err, "source.%s", plan->source_ops->name);
}

int leat_plan_load_sources(struct leat_plan *plan, const struct leat_opener *opener,
                           struct leat_error *err) {
    for (size_t i = 0; i < plan->n_sources; i++) {
        struct leat_plan_source *source = &plan->sources[i];
        int r = load_one(plan, source, opener, err);

        if (r == 0 && plan->source_ops->is_composite) {
            source->first_file = plan->source->files.n_paths;
            r = leat_files_append(&plan->source->files, &source->config->files, err);
        }
        if (r < 0) {
            leat_plan_prefix_source(plan, i, err);
            return r;
        }
    }
    return 0;
}

const struct leat_plan_source *leat_plan_source_of(const struct leat_plan *plan, size_t file) {
    const struct leat_plan_source *source = plan->sources;

    while (source + 1 < plan->sources + plan->n_sources && file >= source[1].first_file)
        source++;
    return source;
}

void leat_plan_lane_files(const struct leat_plan *plan, uint32_t lane, size_t *ret_first,
                          size_t *ret_end) {
    *ret_first = *ret_end = plan->source->files.n_paths;
    for (size_t i = plan->n_sources; i > 0; i--) {
        const struct leat_plan_source *source = &plan->sources[i - 1];

        if (source->lane > lane)
            *ret_end = source->first_file;
        if (source->lane == lane)
            *ret_first = source->first_file;
    }
}

int leat_plan_open_input(const struct leat_plan *plan, const struct leat_plan_source *source,
                         const struct leat_opener *opener, const char *path,
                         struct leat_input **ret_input, struct leat_error *err) {
    struct leat_input *file = NULL;
    int r = leat_input_open(opener, path, &plan->limits, &file, err);

    *ret_input = file;
    if (r < 0 || !source->ops->open_records)
        return r;
    *ret_input = NULL;
    return source->ops->open_records(&source->config->base, &plan->limits, file, ret_input, err);
}

/* ---- schema ---- */

struct schema {
    struct leat_planner_name *names;
    size_t n_names;
};

static const struct leat_planner_name *find_name(const struct schema *schema, const char *name) {
    for (size_t i = 0; i < schema->n_names; i++)
        if (strcmp(schema->names[i].name, name) == 0)
            return &schema->names[i];
    return NULL;
}

/* The fields of one source; the planner forgets their names. */
static int take_schema(struct leat_planner *planner, struct schema *schema) {
    size_t n = planner->n_names;

    schema->names = calloc(n ? n : 1, sizeof(*schema->names));
    if (!schema->names)
        return -ENOMEM;
    memcpy(schema->names, planner->names, n * sizeof(*schema->names));
    schema->n_names = n;
    planner->n_names = 0;
    return 0;
}

static const char *list_form(const struct leat_field *field) {
    return field->is_list && field->dtype != LEAT_DTYPE_TEXT ? " lists" : "";
}

/* True if all sources have the field with the same type; else `why` says why not. */
static bool is_common(const struct leat_planner *planner, const struct schema *schemas,
                      size_t n_schemas, const char *name, char *why, size_t size) {
    const struct leat_field *first = NULL;
    size_t first_at = 0;

    for (size_t i = 0; i < n_schemas; i++) {
        const struct leat_planner_name *entry = find_name(&schemas[i], name);
        const struct leat_field *field = entry ? &planner->fields[entry->column] : NULL;

        if (!field) {
            (void)snprintf(why, size, "sources[%zu] does not have this field", i);
            return false;
        }
        if (first && (first->dtype != field->dtype || first->is_list != field->is_list)) {
            (void)snprintf(why, size, "it has type %s%s in sources[%zu] but %s%s in sources[%zu]",
                           leat_dtype_name(first->dtype), list_form(first), first_at,
                           leat_dtype_name(field->dtype), list_form(field), i);
            return false;
        }
        if (!first) {
            first = field;
            first_at = i;
        }
    }
    return true;
}

/* Columns that are made with the batch cannot be joined. */
static int check_joinable(const struct leat_plan *plan, const struct leat_planner *planner,
                          size_t source, struct leat_error *err) {
    for (size_t i = 0; i < planner->n_names; i++) {
        const struct leat_field *field = &planner->fields[planner->names[i].column];

        if (!field->is_padded && field->made == LEAT_MADE_OF_RECORDS)
            continue;
        return leat_config_error(
            &plan->sources[source].config->base, NULL, err,
            "a stage of this source pads the field \"%s\": move `pad` to the stream's `stages`",
            planner->names[i].name);
    }
    return 0;
}

/* Only facts that hold in all sources are known of a common field. */
static void widen_field(struct leat_field *common, const struct leat_field *own) {
    if (own->max_length == 0 || common->max_length == 0)
        common->max_length = 0;
    else if (own->max_length > common->max_length)
        common->max_length = own->max_length;
    if (own->width != common->width)
        common->width = 0;
    if (!own->has_pad_value || own->pad_value != common->pad_value)
        common->has_pad_value = false;
    common->is_annotation &= own->is_annotation;
    common->is_labels &= own->is_labels;
}

/* True if a tokenizer would treat both texts alike, as it depends on these facts if it adds special
 * tokens. */
static bool has_same_tokens(const struct leat_field *a, const struct leat_field *b) {
    return a->has_special_tokens == b->has_special_tokens && !a->bos == !b->bos &&
           (!a->bos || strcmp(a->bos, b->bos) == 0);
}

static void add_move(struct leat_plan_source *source, uint32_t from, uint32_t to) {
    source->moves[source->n_moves].from = from;
    source->moves[source->n_moves++].to = to;
}

static int32_t loss_of(const struct leat_planner *planner, const struct schema *schema,
                       const char *name) {
    return planner->fields[find_name(schema, name)->column].loss_column;
}

static bool is_moved(const struct leat_plan_source *source, uint32_t from) {
    for (size_t i = 0; i < source->n_moves; i++)
        if (source->moves[i].from == from)
            return true;
    return false;
}

/* The column that says on what there may be loss is joined too, if all sources have one, and each
 * has it for this field alone. */
static int join_loss(struct leat_plan *plan, struct leat_planner *planner,
                     const struct schema *schemas, const char *name, uint32_t column,
                     struct leat_error *err) {
    const struct leat_field *first;
    uint32_t joined;
    int r;

    for (size_t i = 0; i < plan->n_sources; i++) {
        int32_t own = loss_of(planner, &schemas[i], name);

        if (own < 0 || is_moved(&plan->sources[i], (uint32_t)own))
            return 0;
    }
    first = &planner->fields[loss_of(planner, &schemas[0], name)];
    r = leat_planner_add_hidden(planner, &plan->source->base, "(loss)", first->dtype,
                                first->is_list, &joined, err);
    for (size_t i = 0; r == 0 && i < plan->n_sources; i++)
        add_move(&plan->sources[i], (uint32_t)loss_of(planner, &schemas[i], name), joined);
    if (r == 0)
        planner->fields[column].loss_column = (int32_t)joined;
    return r;
}

static int add_common(struct leat_plan *plan, struct leat_planner *planner,
                      const struct schema *schemas, const char *name, struct leat_error *err) {
    const struct leat_field first = planner->fields[find_name(&schemas[0], name)->column];
    struct leat_field *field;
    uint32_t column;
    int r;

    planner->stage = leat_planner_maker(planner, find_name(&schemas[0], name)->column);
    r = leat_planner_add(planner, &plan->source->base, NULL, name, first.dtype, first.is_list,
                         &column, &field, err);
    planner->stage = 0;
    if (r < 0)
        return r;
    field->max_length = first.max_length;
    field->width = first.width;
    field->has_pad_value = first.has_pad_value;
    field->pad_value = first.pad_value;
    field->is_annotation = first.is_annotation;
    field->is_labels = first.is_labels;
    field->has_special_tokens = first.has_special_tokens;
    field->bos = first.bos;
    for (size_t i = 0; i < plan->n_sources; i++) {
        uint32_t own = find_name(&schemas[i], name)->column;

        if (!has_same_tokens(&first, &planner->fields[own]))
            return leat_config_error(&plan->source->base, "sources", err,
                                     "the text \"%s\" has special tokens in some sources but not "
                                     "in others: `tokenize` it in the stages of each source",
                                     name);
        add_move(&plan->sources[i], own, column);
        widen_field(field, &planner->fields[own]);
    }
    return join_loss(plan, planner, schemas, name, column, err);
}

static int join_schemas(struct leat_plan *plan, struct leat_planner *planner,
                        const struct schema *schemas, struct leat_error *err) {
    for (size_t i = 0; i < plan->n_sources; i++) {
        plan->sources[i].moves = /* a column that says where there is loss goes with each */
            calloc(2 * schemas[0].n_names + 1, sizeof(*plan->sources[i].moves));
        if (!plan->sources[i].moves)
            return leat_error_oom(err);
    }
    for (size_t i = 0; i < plan->n_sources; i++)
        for (size_t k = 0; k < schemas[i].n_names; k++) {
            const char *name = schemas[i].names[k].name;
            char why[LEAT_PLANNER_WHY_MAX];
            bool is_new = leat_planner_lacks(planner, name) == NULL, is_ours;
            int r = 0;

            is_ours = is_common(planner, schemas, plan->n_sources, name, why, sizeof(why));
            if (is_ours && i == 0)
                r = add_common(plan, planner, schemas, name, err);
            else if (!is_ours && is_new && leat_planner_add_lack(planner, name, why) < 0)
                r = leat_error_oom(err);
            if (r < 0)
                return r;
        }
    if (planner->n_names == 0)
        return leat_config_error(&plan->source->base, "sources", err,
                                 "no field has the same name and type in all sources: rename or "
                                 "cast fields in the `stages` of each source");
    return 0;
}

int leat_plan_probe_sources(struct leat_plan *plan, struct leat_planner *planner,
                            const struct leat_opener *opener, struct leat_error *err) {
    struct schema *schemas = calloc(plan->n_sources, sizeof(*schemas));
    int r = schemas ? 0 : leat_error_oom(err);

    for (size_t i = 0; r == 0 && i < plan->n_sources; i++) {
        r = leat_plan_probe(plan, &plan->sources[i], planner, opener, err);
        if (r < 0)
            leat_plan_prefix_source(plan, i, err);
        else
            r = leat_plan_source_stages(plan, i, planner, err);
        if (r == 0 && plan->source_ops->is_composite && check_joinable(plan, planner, i, err) < 0) {
            leat_plan_prefix_source(plan, i, err);
            r = err->code;
        }
        if (r == 0 && plan->source_ops->is_composite && take_schema(planner, &schemas[i]) < 0)
            r = leat_error_oom(err);
    }
    if (r == 0 && plan->source_ops->is_composite) {
        r = join_schemas(plan, planner, schemas, err);
        if (r < 0)
            leat_error_prefix(err, "source.%s", plan->source_ops->name);
    }
    for (size_t i = 0; schemas && i < plan->n_sources; i++)
        free(schemas[i].names);
    free(schemas);
    return r;
}

/* ---- layout ---- */

void leat_plan_need_sources(struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_sources; i++)
        for (size_t k = 0; k < plan->sources[i].n_moves; k++)
            plan->is_needed[plan->sources[i].moves[k].from] |=
                plan->is_needed[plan->sources[i].moves[k].to];
}

int leat_plan_arrange_sources(struct leat_plan *plan, struct leat_error *err) {
    for (size_t i = 0; i < plan->n_sources; i++) {
        struct leat_plan_source *source = &plan->sources[i];

        source->ops->cutter(&source->config->base, &source->cutter);
        source->cutter.max_record_bytes = (uint32_t)plan->options.max_record_bytes;
        if (!source->moves)
            continue;
        source->is_kept = calloc(plan->n_columns, sizeof(*source->is_kept));
        if (!source->is_kept)
            return leat_error_oom(err);
        for (size_t k = 0; k < source->n_moves; k++)
            source->is_kept[source->moves[k].from] |= plan->is_kept[source->moves[k].to];
    }
    return 0;
}

void leat_plan_free_sources(struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_sources; i++) {
        struct leat_plan_source *source = &plan->sources[i];

        free(source->moves);
        free(source->is_kept);
        if (source->config != plan->source)
            leat_plan_config_free(&source->config->base);
    }
    free(plan->sources);
    if (plan->source)
        leat_plan_config_free(&plan->source->base);
}
