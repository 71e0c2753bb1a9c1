/* spec_text.c: see spec_text.h. An argument is written by its value after binding, and so is its
 * default, to tell if it counts. */
#include "pipeline/plan/spec_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan_internal.h"
#include "proto/base/utf8.h"

#define KEY_MAX 256 /* bytes of a key, with room for all names that tables have */

/* ---- values ---- */

static void add_text(struct leat_text *text, const char *value) {
    size_t n = value ? strlen(value) : 0;

    if (!value) {
        leat_text_add(text, "null");
        return;
    }
    if (leat_utf8_is_valid(value, n)) {
        leat_text_add_json(text, value, n);
        return;
    }
    leat_text_add(text, "bytes ");
    for (size_t i = 0; i < n; i++)
        leat_text_add(text, "%02x", (unsigned char)value[i]);
}

static void add_texts(struct leat_text *text, const struct leat_texts *texts) {
    leat_text_add(text, "[");
    for (size_t i = 0; i < texts->n_items; i++) {
        leat_text_add(text, "%s", i ? ", " : "");
        add_text(text, texts->items[i]);
    }
    leat_text_add(text, "]");
}

static void add_map(struct leat_text *text, const struct leat_text_map *map) {
    leat_text_add(text, "{");
    for (size_t i = 0; i < map->n_items; i++) {
        leat_text_add(text, "%s", i ? ", " : "");
        add_text(text, map->keys[i]);
        leat_text_add(text, ": ");
        add_text(text, map->values[i]);
    }
    leat_text_add(text, "}");
}

static void add_value(struct leat_text *text, const struct leat_config *config,
                      const struct leat_arg *arg) {
    const void *value = (const char *)config + arg->offset;
    const struct leat_token_value *token = value;

    switch (arg->type) {
    case LEAT_ARG_BOOL:
        leat_text_add(text, "%s", *(const bool *)value ? "true" : "false");
        break;
    case LEAT_ARG_INT:
    case LEAT_ARG_BYTES:
    case LEAT_ARG_SECONDS:
        leat_text_add(text, "%" PRId64, *(const int64_t *)value);
        break;
    case LEAT_ARG_FLOAT:
        leat_text_add(text, "%.17g", *(const double *)value);
        break;
    case LEAT_ARG_TOKEN:
        if (token->name)
            add_text(text, token->name);
        else
            leat_text_add(text, "%.17g", token->number);
        break;
    case LEAT_ARG_CHOICE:
        leat_text_add(text, "%s", arg->choices[*(const int *)value]);
        break;
    case LEAT_ARG_DTYPE:
        leat_text_add(text, "%s", leat_dtype_name((enum leat_dtype) * (const int *)value));
        break;
    case LEAT_ARG_TEXT:
    case LEAT_ARG_FIELD:
    case LEAT_ARG_PATH:
        add_text(text, *(const char *const *)value);
        break;
    case LEAT_ARG_TEXTS:
    case LEAT_ARG_FIELDS:
    case LEAT_ARG_PATHS:
        add_texts(text, value);
        break;
    case LEAT_ARG_MAP:
        add_map(text, value);
        break;
    case LEAT_ARG_GROUP:   /* see add_config */
    case LEAT_ARG_SOURCES: /* they stand for themselves */
        break;
    }
}

/* Adds the value that the argument has where it is not given. */
static void add_fallback(struct leat_text *text, const struct leat_arg *arg) {
    static const struct leat_value nothing = {.kind = LEAT_VALUE_NULL};
    struct scratch {
        struct leat_config base;
        union {
            int64_t number;
            double real;
            struct leat_token_value token;
            struct leat_texts texts;
            struct leat_text_map map;
        } value;
    } scratch = {.base = {.ops = NULL}};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_arg table[2] = {*arg, LEAT_ARGS_END};

    table[0].offset = offsetof(struct scratch, value);
    table[0].is_required = false;
    if (leat_config_bind(&scratch.base, table, &nothing, NULL, 0, 0, &err) < 0)
        text->failed = 1;
    else
        add_value(text, &scratch.base, table);
    leat_config_deinit(&scratch.base);
}

/* ---- lines ---- */

static void add_line(struct leat_text *text, char mark, const char *key, const char *value) {
    leat_text_add(text, "%c%s\t%s\n", mark, key, value ? value : "");
}

static bool is_of_data(const struct leat_config *config, const struct leat_arg *arg) {
    const struct leat_stage_ops *ops = config->ops;

    return ops && ops->probe && !config->group &&
           (arg->offset == offsetof(struct leat_source_config, paths) ||
            arg->offset == offsetof(struct leat_source_config, suffixes));
}

static void add_arg(struct leat_text *text, const struct leat_config *config,
                    const struct leat_arg *arg, const char *key, bool hides_paths) {
    struct leat_text value = {.data = NULL}, fallback = {.data = NULL};
    bool is_aside = arg->is_aside || (arg->type == LEAT_ARG_PATH && hides_paths), is_default;

    add_value(&value, config, arg);
    add_fallback(&fallback, arg);
    is_default = value.data && fallback.data && strcmp(value.data, fallback.data) == 0;
    if (value.failed || fallback.failed)
        text->failed = 1;
    else if (!is_default || arg->fallback || leat_config_given(config, arg->name))
        add_line(text, is_aside ? '~' : is_default && arg->fallback ? '.' : '=', key, value.data);
    free(value.data);
    free(fallback.data);
}

/* hides_paths: the contents of files count in place of their names. */
static void add_config(struct leat_text *text, const struct leat_config *config, const char *prefix,
                       bool hides_paths) {
    char key[KEY_MAX];

    for (const struct leat_arg *arg = config->args; arg && arg->name; arg++) {
        if (arg->type == LEAT_ARG_SOURCES || is_of_data(config, arg))
            continue;
        (void)snprintf(key, sizeof(key), "%s%s%s", prefix, prefix[0] ? "." : "", arg->name);
        if (arg->type != LEAT_ARG_GROUP) {
            add_arg(text, config, arg, key, hides_paths);
        } else if (leat_config_given(config, arg->name) && !arg->is_aside) {
            add_line(text, '=', key, "given");
            add_config(text, (const void *)((const char *)config + arg->offset), key, hides_paths);
        }
    }
}

/* Adds digests of the contents of files other than data. */
static void add_contents(struct leat_text *text, const struct leat_config *config,
                         const char *prefix) {
    const struct leat_contents *contents;
    char hex[LEAT_DIGEST_HEX_SIZE];
    uint8_t digest[LEAT_DIGEST_BYTES];
    struct leat_blake2b state;

    if (!config->ops->digest)
        return;
    leat_blake2b_init(&state);
    config->ops->digest(config, &state);
    leat_blake2b_final(&state, digest);
    leat_digest_hex(digest, hex);
    leat_text_add(text, "=%s " LEAT_SPEC_TEXT_CONTENTS "\t%s\n", prefix, hex);
    contents = config->ops->contents ? config->ops->contents(config) : NULL;
    for (size_t i = 0; contents && i < contents->n_files; i++) {
        leat_digest_hex(contents->files[i].digest, hex);
        leat_text_add(text, "~%s " LEAT_SPEC_TEXT_FILE " ", prefix);
        add_text(text, contents->files[i].name);
        leat_text_add(text, "\t%s\n", hex);
    }
}

/* ---- stages ---- */

static bool is_all_aside(const struct leat_stage_ops *ops) {
    const struct leat_arg *arg = ops->args;

    while (arg->name && arg->is_aside)
        arg++;
    return arg != ops->args && !arg->name;
}

void leat_spec_text_add_stage(struct leat_text *text, const struct leat_config *config,
                              const char *place) {
    const struct leat_stage_ops *ops = config->ops;
    char prefix[KEY_MAX];

    add_line(text, is_all_aside(ops) ? '~' : '=', place, ops->name);
    (void)snprintf(prefix, sizeof(prefix), "%s.%s", place, ops->name);
    add_config(text, config, prefix, ops->digest != NULL);
    add_contents(text, config, prefix);
    if (ops->revision && ops->revision(config) > 0)
        leat_text_add(text, "=%s revision\t%u\n", prefix, ops->revision(config));
}

/* Adds the source, those that it is composed of, and their stages. */
static void add_sources(struct leat_text *text, const struct leat_plan *plan) {
    char place[KEY_MAX];

    leat_spec_text_add_stage(text, &plan->source->base, "source");
    for (size_t i = 0; plan->source_ops->is_composite && i < plan->n_sources; i++) {
        (void)snprintf(place, sizeof(place), "source.%s.sources[%zu]", plan->source_ops->name, i);
        leat_spec_text_add_stage(text, &plan->sources[i].config->base, place);
        if (plan->sources[i].lane > 0)
            leat_text_add(text, "=%s lane\t%" PRIu32 "\n", place, plan->sources[i].lane);
    }
    for (size_t i = plan->n_stages; i < plan->n_all_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        (void)snprintf(place, sizeof(place), "source.%s.sources[%zu].stages[%zu]",
                       plan->source_ops->name, stage->source - 1, stage->position);
        leat_spec_text_add_stage(text, stage->config, place);
    }
}

/* Batches do not depend on bad records being written to a file, too. */
static void add_options(struct leat_text *text, const struct leat_plan *plan) {
    struct leat_stream_options options = plan->options;

    if (options.on_error == LEAT_ON_ERROR_QUARANTINE)
        options.on_error = LEAT_ON_ERROR_SKIP;
    add_config(text, &options.base, "", true);
}

char *leat_spec_text(const struct leat_plan *plan) {
    struct leat_text text = {.data = NULL};
    char place[KEY_MAX];

    add_sources(&text, plan);
    add_options(&text, plan);
    for (size_t i = 0; i < plan->n_stages; i++) {
        (void)snprintf(place, sizeof(place), "stages[%zu]", i);
        leat_spec_text_add_stage(&text, plan->stages[i].config, place);
    }
    if (!text.failed)
        return text.data;
    free(text.data);
    return NULL;
}

void leat_spec_text_digest(const char *text, uint8_t ret_digest[LEAT_DIGEST_BYTES]) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_text(&state, "leat spec 2");
    while (*text) {
        size_t n = strcspn(text, "\n");

        n += text[n] == '\n';
        if (*text == '=')
            leat_blake2b_update(&state, text, n);
        text += n;
    }
    leat_blake2b_final(&state, ret_digest);
}

/* ---- digests ----
 *
 * The digest of what is done to each record covers less than that of the whole spec: stages that
 * only order rows or make batches do not count, nor do the seed and what bad records do. */

/* The options that decide what is a bad record. */
static void add_limits(struct leat_text *text, const struct leat_stream_options *options) {
    leat_text_add(text, "=limits\t%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                  options->max_record_bytes, options->max_fields, options->max_tokens,
                  options->max_window_bytes, options->max_expansion);
}

static void add_kept_columns(struct leat_text *text, const struct leat_plan *plan) {
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        const struct leat_field *field = &plan->fields[i];

        if (!plan->is_kept[i])
            continue;
        leat_text_add(text, "=column %" PRIu32 "\t%s%s ", i, leat_dtype_name(field->dtype),
                      field->is_list ? "[]" : "");
        leat_text_add_json(text, field->name, strlen(field->name));
        leat_text_add(text, "\n");
    }
}

/* All MAP stages count, also those that only name fields: they decide which field a later one
 * reads. Of the others, those count that do something to records. */
static int digest_records(struct leat_plan *plan) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "=records\t2 of " LEAT_VERSION "\n");
    for (size_t i = 0; i < plan->n_sources; i++) {
        leat_text_add(&text, "=first file\t%zu\n", plan->sources[i].first_file);
        leat_spec_text_add_stage(&text, &plan->sources[i].config->base, "source");
    }
    add_limits(&text, &plan->options);
    for (size_t i = 0; i < plan->n_all_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        if (stage->ops->kind != LEAT_STAGE_MAP && !leat_plan_runs_in_map(plan, stage))
            continue;
        leat_text_add(&text, "=stage\t%zu %d\n", stage->source, stage->filter_column >= 0);
        leat_spec_text_add_stage(&text, stage->config, "stage");
    }
    add_kept_columns(&text, plan);
    if (!text.failed)
        leat_spec_text_digest(text.data, plan->record_digest);
    free(text.data);
    return text.failed ? -ENOMEM : 0;
}

int leat_plan_digest(struct leat_plan *plan, struct leat_error *err) {
    plan->spec_text = leat_spec_text(plan);
    if (!plan->spec_text || digest_records(plan) < 0)
        return leat_error_oom(err);
    leat_spec_text_digest(plan->spec_text, plan->spec_digest);
    return 0;
}
