/* plan.c: makes a plan of a spec: binds every stage, loads what it needs, takes the schema through
 * the stages, arranges and lays out.
 *
 * One thread builds a plan, which may block; it is immutable afterwards.
 */
#include "pipeline/plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/plan/plan_internal.h"

#define PROBE_BYTES     (1U << 20)
#define PROBE_MAX_BYTES (64U << 20)
#define PROBE_WAITS     500 /* of 20 ms each, in a row, for a FIFO */

static int open_set(struct leat_plan *plan, const struct leat_opener *opener,
                    struct leat_error *err) {
    if (!plan->options.cache.prepared)
        return 0;
    return leat_set_open(plan->cache_path, plan->spec->file, opener, &plan->set, err);
}

/* A set of other stages has other columns. */
static int check_set(const struct leat_plan *plan, struct leat_error *err) {
    const char *file = plan->spec->file ? plan->spec->file : "FILE";

    if (!plan->set)
        return 0;
    if (memcmp(plan->set->spec, plan->record_digest, sizeof(plan->record_digest)) != 0)
        return leat_error_set(
            err, -ESTALE,
            "%.300s: the set was made with another source, per-record stage, tokenizer or version "
            "of leat: prepare a new set with `leatctl prepare %.200s --shard I/N -o DIR`",
            plan->set->folder, file);
    if (plan->set->is_full != (plan->options.verify == LEAT_VERIFY_FULL))
        return leat_error_set(err, -ESTALE,
                              "%.300s: the set was sealed with another value of `verify`: seal it "
                              "again with `leatctl prepare %.200s --seal -o %.300s`",
                              plan->set->folder, file, plan->set->folder);
    return 0;
}

static int load_files(struct leat_plan *plan, const struct leat_opener *opener,
                      struct leat_error *err) {
    int r = open_set(plan, opener, err);

    if (r == 0)
        r = leat_plan_load_sources(plan, opener, err);
    for (size_t i = 0; r == 0 && i < plan->n_all_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        r = stage->ops->load ? stage->ops->load(stage->config, opener, err) : 0;
        if (r < 0)
            leat_plan_prefix_stage(plan, stage, err);
    }
    return r;
}

static int waited_in_vain(const char *path, struct leat_error *err) {
    return leat_error_set(err, -ETIMEDOUT,
                          "%s: the FIFO sent too little data within %d s, so leat cannot find the "
                          "fields: start the writer first, or declare the fields",
                          path, PROBE_WAITS / 50);
}

/* Damage in the head is reported when it is reached, if there are bytes before it. */
static int peek_head(struct leat_input *input, size_t n_wanted, const uint8_t **head,
                     size_t *n_bytes, bool *is_whole, struct leat_error *err) {
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

static void set_record_bytes(struct leat_plan *plan, struct leat_plan_source *source,
                             uint64_t n_bytes) {
    source->record_bytes = n_bytes;
    if (n_bytes > plan->record_bytes)
        plan->record_bytes = n_bytes;
}

/* Measures the mean size of records. */
static void measure_records(struct leat_plan *plan, struct leat_plan_source *source,
                            const uint8_t *head, size_t n_bytes, bool is_whole) {
    struct leat_cutter cutter = {.max_record_bytes = 0};
    struct leat_cut cut = {0};

    source->ops->cutter(&source->config->base, &cutter);
    cutter.max_record_bytes = (uint32_t)plan->options.max_record_bytes;
    leat_cutter_cut(&cutter, head, n_bytes, is_whole, &cut);
    set_record_bytes(plan, source, cut.n_records > 0 ? cut.n_bytes / cut.n_records + 1 : n_bytes);
}

/* Lets the source declare its fields from the head of its first file; a header that is longer asks
 * for more. Of a FIFO no more is read than needed. */
static int probe_input(struct leat_plan *plan, struct leat_plan_source *source,
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
        waits = peek_head(input, n_wanted, &head, &n_bytes, &is_whole, err);
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
            return leat_error_set(err, -EINVAL,
                                  "%s: the first record is longer than %u bytes, so leat cannot "
                                  "find the fields: declare them in the source",
                                  path, PROBE_MAX_BYTES);
        n_wanted *= 4;
    }
    if (r == 0 && n_bytes > 0)
        measure_records(plan, source, head, n_bytes, is_whole);
    source->n_probed_bytes = n_bytes;
    return r;
}

int leat_plan_read_head(const struct leat_plan *plan, const struct leat_plan_source *source,
                        const struct leat_opener *opener, uint8_t **ret_bytes, size_t *ret_n_bytes,
                        struct leat_error *err) {
    const char *path = source->config->files.paths[0];
    struct leat_input *input = NULL;
    const uint8_t *head;
    size_t n_bytes = 0;
    bool is_whole = false;
    int r = leat_plan_open_input(plan, source, opener, path, &input, err);

    if (r == 0)
        r = peek_head(input, source->n_probed_bytes, &head, &n_bytes, &is_whole, err);
    if (r == 0 && n_bytes < source->n_probed_bytes)
        r = leat_error_set(err, -ESTALE, "%s: the file changed while leat read it", path);
    *ret_bytes = r == 0 ? malloc(n_bytes + 1) : NULL;
    if (*ret_bytes)
        memcpy(*ret_bytes, head, n_bytes);
    else if (r == 0)
        r = leat_error_oom(err);
    leat_input_close(input);
    *ret_n_bytes = n_bytes;
    return r == 0 ? source->ops->shorten_head(&source->config->base, *ret_bytes, ret_n_bytes,
                                              is_whole, err)
                  : r;
}

/* The same with what the set kept of the source. */
static int probe_set(struct leat_plan *plan, struct leat_plan_source *source,
                     struct leat_planner *planner, struct leat_error *err) {
    const struct leat_set_head *head = &plan->set->heads[source - plan->sources];
    int r = source->ops->probe(&source->config->base, head->bytes, head->n_bytes, true,
                               source->config->files.paths[0], planner, err);

    if (r == -EAGAIN)
        return leat_error_set(
            err, -EBADMSG,
            "%s: the set has too few records of %s to find the fields: prepare the set again",
            plan->set->folder, source->config->files.paths[0]);
    set_record_bytes(plan, source, head->record_bytes);
    return r;
}

int leat_plan_probe(struct leat_plan *plan, struct leat_plan_source *source,
                    struct leat_planner *planner, const struct leat_opener *opener,
                    struct leat_error *err) {
    const char *path = source->config->files.paths[0];
    struct leat_input *input = NULL;
    int r;

    if (plan->set)
        return probe_set(plan, source, planner, err);
    r = leat_plan_open_input(plan, source, opener, path, &input, err);

    if (r == 0) {
        plan->is_one_pass = leat_input_is_one_pass(input);
        if (plan->is_one_pass && plan->source_ops->is_composite)
            r = leat_error_set(
                err, -ESPIPE,
                "%s: a FIFO, which can be read only once, cannot be one of several sources", path);
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

static int copy_schema(const struct leat_planner *planner, char (**ret_names)[LEAT_NAME_MAX + 1],
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

static int plan_stage(struct leat_plan *plan, struct leat_plan_stage *stage,
                      struct leat_planner *planner, struct leat_error *err) {
    int r;

    planner->stage = (uint32_t)stage->index + 1;
    planner->kind_index = stage->kind_index;
    r = planner->is_packed && leat_stage_filters(stage->config)
            ? leat_config_error(stage->config, NULL, err,
                                "works on single records, but a row of `pack` contains several: "
                                "put this stage before `pack`")
            : 0;
    if (r == 0 && stage->ops->plan)
        r = stage->ops->plan(stage->config, planner, err);
    if (r == 0 && copy_schema(planner, &stage->names_after, &stage->columns_after,
                              &stage->n_fields_after) < 0)
        r = leat_error_oom(err);
    if (r < 0)
        leat_plan_prefix_stage(plan, stage, err);
    return r;
}

static int plan_stages(struct leat_plan *plan, struct leat_planner *planner,
                       struct leat_error *err) {
    int r = 0;

    if (copy_schema(planner, &plan->source_names, &plan->source_columns, &plan->n_source_fields) <
        0)
        return leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < plan->n_stages; i++)
        r = plan_stage(plan, &plan->stages[i], planner, err);
    return r;
}

int leat_plan_source_stages(struct leat_plan *plan, size_t source, struct leat_planner *planner,
                            struct leat_error *err) {
    int r = 0;

    for (size_t i = plan->n_stages; r == 0 && i < plan->n_all_stages; i++)
        if (plan->stages[i].source == source + 1)
            r = plan_stage(plan, &plan->stages[i], planner, err);
    planner->stage = 0; /* what is joined of it counts as a field of the source */
    return r;
}

/* A FIFO can be neither repeated nor cached. */
static int check_passes(const struct leat_plan *plan, struct leat_error *err) {
    const char *path = plan->source->files.paths[0];

    if (plan->is_one_pass && plan->has_repeat)
        return leat_config_error(&plan->source->base, "paths", err,
                                 "%s is a FIFO, which can be read only once: remove `repeat`",
                                 path);
    if (plan->is_one_pass && plan->cache_path)
        return leat_config_error(&plan->source->base, "paths", err,
                                 "%s is a FIFO, which can be read only once: remove `cache`", path);
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
                          "changes the order of records, but a cache keeps the order of the data: "
                          "remove `cache`");
        leat_error_prefix(err, "source.%s", plan->source_ops->name);
        return -EINVAL;
    }
    stage = plan->cache_path ? leat_plan_find_varying(plan) : NULL;
    if (stage) {
        leat_config_error(
            stage->config, NULL, err,
            "makes different values in each epoch, but a cache would repeat the values of the "
            "first epoch: remove `cache`, or turn off the randomness of this stage");
        leat_plan_prefix_stage(plan, stage, err);
        return -EINVAL;
    }
    return 0;
}

static int build_plan(struct leat_plan *plan, struct leat_planner *planner,
                      const struct leat_opener *opener, bool with_batches, struct leat_error *err) {
    int r = leat_plan_bind_spec(plan, err);

    if (r == 0)
        r = load_files(plan, opener, err);
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
    if (r == 0 && !(plan->left_out = leat_planner_tell_unread(planner)))
        r = leat_error_oom(err);
    if (r == 0)
        r = leat_plan_arrange(plan, planner, err);
    if (r == 0)
        r = leat_plan_arrange_sources(plan, err);
    if (r == 0)
        r = check_cache(plan, err);
    if (r == 0)
        r = check_passes(plan, err);
    if (r == 0)
        r = leat_plan_find_blocks(plan, err);
    if (r == 0 && with_batches)
        r = leat_plan_lay_out(plan, planner, err);
    if (r == 0)
        r = leat_plan_digest(plan, err);
    return r < 0 ? r : check_set(plan, err);
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

int leat_plan_new(const struct leat_spec *spec, const struct leat_opener *opener, bool with_batches,
                  struct leat_plan **ret_plan, struct leat_error *err) {
    struct leat_planner planner = {.fields = NULL};
    struct leat_plan *plan = NULL;
    int r = plan_alloc(spec, &plan, err);

    if (r < 0)
        return r;
    r = leat_error_agree(err, build_plan(plan, &planner, opener, with_batches, err));
    leat_planner_deinit(&planner);
    if (r < 0) {
        leat_error_prefix(err, "streams.%s", spec->name);
        leat_plan_unref(plan);
        return r;
    }
    *ret_plan = plan;
    return 0;
}

int leat_plan_check(const struct leat_spec *spec, struct leat_error *err) {
    struct leat_plan *plan = NULL;
    int r = plan_alloc(spec, &plan, err);

    if (r == 0)
        r = leat_error_agree(err, leat_plan_bind_spec(plan, err));
    if (r < 0)
        leat_error_prefix(err, "streams.%s", spec->name);
    leat_plan_unref(plan);
    return r;
}

/* ---- its data ---- */

void leat_plan_data_scope(const struct leat_plan *plan, bool is_full, bool must_read,
                          struct leat_data_scope *ret_scope) {
    *ret_scope = (struct leat_data_scope){.files = &plan->source->files,
                                          .n_sources = plan->n_sources,
                                          .is_full = is_full,
                                          .must_read = must_read};
    for (size_t i = 0; i < plan->n_sources; i++)
        ret_scope->first_files[i] = plan->sources[i].first_file;
}

int leat_plan_identify_data(struct leat_plan *plan, const struct leat_opener *opener,
                            const struct leat_data *known, struct leat_error *err) {
    struct leat_data_scope scope;
    struct leat_data *data;
    int r;

    if (plan->is_one_pass)
        return 0;
    leat_plan_data_scope(plan, plan->options.verify == LEAT_VERIFY_FULL, false, &scope);
    if (plan->set)
        r = (data = leat_set_data(plan->set, &scope)) ? 0 : leat_error_oom(err);
    else
        r = leat_data_new(&scope, opener, known, &data, err);
    if (r < 0)
        return r;
    leat_data_unref(plan->data);
    plan->data = data;
    plan->n_data_bytes = data->n_bytes;
    memcpy(plan->data_digest, data->digest, sizeof(plan->data_digest));
    return 0;
}

void leat_plan_measure_data(struct leat_plan *plan, const struct leat_opener *opener) {
    const struct leat_files *files = &plan->source->files;

    plan->n_data_bytes = 0;
    for (size_t i = 0; plan->set && i < plan->set->n_files; i++)
        plan->n_data_bytes += plan->set->files[i].n_bytes;
    for (size_t i = 0; !plan->is_one_pass && !plan->set && i < files->n_paths; i++) {
        struct leat_file_state state;

        if (leat_data_look(opener, files->paths[i], &state, LEAT_ERROR_IGNORED) == 0)
            plan->n_data_bytes += state.n_bytes;
    }
}

/* ---- life ---- */

struct leat_plan *leat_plan_ref(struct leat_plan *plan) {
    plan->n_refs++;
    return plan;
}

struct leat_plan *leat_plan_unref(struct leat_plan *plan) {
    if (!plan || --plan->n_refs > 0)
        return NULL;
    for (size_t i = 0; i < plan->n_all_stages; i++) {
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
    leat_set_free(plan->set);
    free(plan->spec_text);
    free(plan->left_out);
    leat_data_unref(plan->data);
    free(plan->index_path);
    leat_spec_free(plan->spec);
    free(plan);
    return NULL;
}
