/* spec_text.c: see spec_text.h. Each argument is written by its value after binding, and so is its
 * default, by which it is told whether it counts. */
#include "pipeline/plan/spec_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 256 /* bytes of a key, with room for all names that tables have */

struct writer {
    struct leat_text text;
    bool hides_paths; /* of files whose contents count */
};

/* ---- values ---- */

static void add_text(struct leat_text *text, const char *value) {
    size_t n = value ? strlen(value) : 0;

    if (!value) {
        leat_text_add(text, "null");
        return;
    }
    if (leat_text_is_utf8((const uint8_t *)value, n)) {
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
    case LEAT_ARG_GROUP:   /* see write_config */
    case LEAT_ARG_SOURCES: /* they stand for themselves */
        break;
    }
}

/* The value that the argument has where it is not given. */
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

static void add_line(struct writer *writer, char mark, const char *key, const char *value) {
    leat_text_add(&writer->text, "%c%s\t%s\n", mark, key, value ? value : "");
}

static bool is_of_data(const struct leat_config *config, const struct leat_arg *arg) {
    const struct leat_stage_ops *ops = config->ops;

    return ops && ops->probe && !config->group &&
           (arg->offset == offsetof(struct leat_source_config, paths) ||
            arg->offset == offsetof(struct leat_source_config, suffixes));
}

static void write_arg(struct writer *writer, const struct leat_config *config,
                      const struct leat_arg *arg, const char *key) {
    struct leat_text value = {.data = NULL}, fallback = {.data = NULL};
    bool is_default,
        is_aside = arg->is_aside || (arg->type == LEAT_ARG_PATH && writer->hides_paths);

    add_value(&value, config, arg);
    add_fallback(&fallback, arg);
    is_default = value.data && fallback.data && strcmp(value.data, fallback.data) == 0;
    if (value.failed || fallback.failed)
        writer->text.failed = 1;
    else if (!is_default || arg->fallback || leat_config_given(config, arg->name))
        add_line(writer, is_aside ? '~' : is_default && arg->fallback ? '.' : '=', key, value.data);
    free(value.data);
    free(fallback.data);
}

static void write_config(struct writer *writer, const struct leat_config *config,
                         const char *prefix) {
    char key[KEY_MAX];

    for (const struct leat_arg *arg = config->args; arg && arg->name; arg++) {
        if (arg->type == LEAT_ARG_SOURCES || is_of_data(config, arg))
            continue;
        (void)snprintf(key, sizeof(key), "%s%s%s", prefix, prefix[0] ? "." : "", arg->name);
        if (arg->type != LEAT_ARG_GROUP) {
            write_arg(writer, config, arg, key);
        } else if (leat_config_given(config, arg->name) && !arg->is_aside) {
            add_line(writer, '=', key, "given");
            write_config(writer, (const void *)((const char *)config + arg->offset), key);
        }
    }
}

/* What files other than data say. */
static void write_contents(struct writer *writer, const struct leat_config *config,
                           const char *prefix) {
    char hex[LEAT_DIGEST_HEX_SIZE];
    uint8_t digest[LEAT_DIGEST_BYTES];
    struct leat_blake2b state;

    const struct leat_contents *contents;

    if (!config->ops->digest)
        return;
    leat_blake2b_init(&state);
    config->ops->digest(config, &state);
    leat_blake2b_final(&state, digest);
    leat_digest_hex(digest, hex);
    leat_text_add(&writer->text, "=%s " LEAT_SPEC_TEXT_CONTENTS "\t%s\n", prefix, hex);
    contents = config->ops->contents ? config->ops->contents(config) : NULL;
    for (size_t i = 0; contents && i < contents->n_files; i++) {
        leat_digest_hex(contents->files[i].digest, hex);
        leat_text_add(&writer->text, "~%s " LEAT_SPEC_TEXT_FILE " ", prefix);
        add_text(&writer->text, contents->files[i].name);
        leat_text_add(&writer->text, "\t%s\n", hex);
    }
}

static void write_revision(struct writer *writer, const struct leat_config *config,
                           const char *prefix) {
    unsigned revision = config->ops->revision ? config->ops->revision(config) : 0;

    if (revision > 0)
        leat_text_add(&writer->text, "=%s revision\t%u\n", prefix, revision);
}

/* ---- stages ---- */

static bool is_all_aside(const struct leat_stage_ops *ops) {
    const struct leat_arg *arg = ops->args;

    while (arg->name && arg->is_aside)
        arg++;
    return arg != ops->args && !arg->name;
}

static void write_stage(struct writer *writer, const struct leat_config *config,
                        const char *place) {
    char prefix[KEY_MAX];

    add_line(writer, is_all_aside(config->ops) ? '~' : '=', place, config->ops->name);
    (void)snprintf(prefix, sizeof(prefix), "%s.%s", place, config->ops->name);
    writer->hides_paths = config->ops->digest != NULL;
    write_config(writer, config, prefix);
    write_contents(writer, config, prefix);
    write_revision(writer, config, prefix);
}

/* Those that a source is composed of, as the planner has them: in one line. */
static void write_sources(struct writer *writer, const struct leat_plan *plan) {
    char place[KEY_MAX];

    write_stage(writer, &plan->source->base, "source");
    for (size_t i = 0; plan->source_ops->is_composite && i < plan->n_sources; i++) {
        (void)snprintf(place, sizeof(place), "source.%s.sources[%zu]", plan->source_ops->name, i);
        write_stage(writer, &plan->sources[i].config->base, place);
        if (plan->sources[i].lane > 0)
            leat_text_add(&writer->text, "=%s lane\t%" PRIu32 "\n", place, plan->sources[i].lane);
    }
    for (size_t i = plan->n_stages; i < plan->n_all_stages; i++) {
        const struct leat_plan_stage *stage = &plan->stages[i];

        (void)snprintf(place, sizeof(place), "source.%s.sources[%zu].stages[%zu]",
                       plan->source_ops->name, stage->source - 1, stage->position);
        write_stage(writer, stage->config, place);
    }
}

/* Whether bad records are also written somewhere is nothing to the batches. */
static void write_options(struct writer *writer, const struct leat_plan *plan) {
    struct leat_stream_options options = plan->options;

    if (options.on_error == LEAT_ON_ERROR_QUARANTINE)
        options.on_error = LEAT_ON_ERROR_SKIP;
    writer->hides_paths = true;
    write_config(writer, &options.base, "");
}

char *leat_spec_text(const struct leat_plan *plan) {
    struct writer writer = {.text = {.data = NULL}};
    char place[KEY_MAX];

    write_sources(&writer, plan);
    write_options(&writer, plan);
    for (size_t i = 0; i < plan->n_stages; i++) {
        (void)snprintf(place, sizeof(place), "stages[%zu]", i);
        write_stage(&writer, plan->stages[i].config, place);
    }
    if (!writer.text.failed)
        return writer.text.data;
    free(writer.text.data);
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
