/* plan/digest.c: the digests of a bound spec. That of the whole spec is of its text (spec_text.h).
 *
 * The digest of what is done to each record is the same for less: stages that only order rows or
 * make batches do not count, nor does where the data lies, what bad records do, or the seed. Hashed
 * are the kind and every argument of the others by its value after binding (defaults included), in
 * the order of the tables, and the contents of vocabularies and tokenizers.
 */
#include "pipeline/plan/plan_internal.h"

#include <string.h>

#include "pipeline/plan/spec_text.h"

static void hash_texts(struct leat_blake2b *state, const struct leat_texts *texts) {
    leat_blake2b_u64(state, texts->n_items);
    for (size_t i = 0; i < texts->n_items; i++)
        leat_blake2b_text(state, texts->items[i]);
}

static void hash_map(struct leat_blake2b *state, const struct leat_text_map *map) {
    leat_blake2b_u64(state, map->n_items);
    for (size_t i = 0; i < map->n_items; i++) {
        leat_blake2b_text(state, map->keys[i]);
        leat_blake2b_text(state, map->values[i]);
    }
}

static void hash_config(struct leat_blake2b *state, const struct leat_config *config);

static void hash_arg(struct leat_blake2b *state, const struct leat_config *config,
                     const struct leat_arg *arg) {
    const void *value = (const char *)config + arg->offset;
    const char *text;
    const struct leat_token_value *token = value;
    uint64_t bits;

    leat_blake2b_text(state, arg->name);
    switch (arg->type) {
    case LEAT_ARG_BOOL:
        leat_blake2b_u64(state, *(const bool *)value);
        break;
    case LEAT_ARG_INT:
    case LEAT_ARG_BYTES:
    case LEAT_ARG_SECONDS:
        leat_blake2b_u64(state, (uint64_t) * (const int64_t *)value);
        break;
    case LEAT_ARG_FLOAT:
        memcpy(&bits, value, sizeof(bits));
        leat_blake2b_u64(state, bits);
        break;
    case LEAT_ARG_TOKEN:
        memcpy(&bits, &token->number, sizeof(bits));
        leat_blake2b_u64(state, bits);
        if (token->name)
            leat_blake2b_text(state, token->name);
        break;
    case LEAT_ARG_CHOICE:
    case LEAT_ARG_DTYPE:
        leat_blake2b_u64(state, (uint64_t) * (const int *)value);
        break;
    case LEAT_ARG_TEXT:
    case LEAT_ARG_FIELD:
    case LEAT_ARG_PATH:
        text = *(const char *const *)value;
        leat_blake2b_u64(state, text != NULL);
        leat_blake2b_text(state, text ? text : "");
        break;
    case LEAT_ARG_TEXTS:
    case LEAT_ARG_FIELDS:
    case LEAT_ARG_PATHS:
        hash_texts(state, value);
        break;
    case LEAT_ARG_MAP:
        hash_map(state, value);
        break;
    case LEAT_ARG_GROUP:
        hash_config(state, value);
        break;
    case LEAT_ARG_SOURCES: /* they stand for themselves */
        break;
    }
}

static void hash_config(struct leat_blake2b *state, const struct leat_config *config) {
    for (const struct leat_arg *arg = config->args; arg && arg->name; arg++) {
        if (!arg->fallback)
            leat_blake2b_u64(state, leat_config_given(config, arg->name));
        hash_arg(state, config, arg);
    }
}

/* What a file says counts by its contents, where the stage says so: not by its path. */
static void hash_stage_of_records(struct leat_blake2b *state, const struct leat_plan_stage *stage) {
    const struct leat_config *config = stage->config;

    leat_blake2b_text(state, stage->ops->name);
    if (stage->source > 0)
        leat_blake2b_u64(state, stage->source);
    leat_blake2b_u64(state, stage->filter_column >= 0);
    for (const struct leat_arg *arg = config->args; arg->name; arg++) {
        if (!arg->fallback)
            leat_blake2b_u64(state, leat_config_given(config, arg->name));
        if (arg->type != LEAT_ARG_PATH || !stage->ops->digest)
            hash_arg(state, config, arg);
    }
    if (stage->ops->digest)
        stage->ops->digest(config, state);
}

static void hash_source_of_records(struct leat_blake2b *state,
                                   const struct leat_plan_source *source) {
    const struct leat_config *config = &source->config->base;

    leat_blake2b_text(state, source->ops->name);
    leat_blake2b_u64(state, source->first_file);
    for (const struct leat_arg *arg = config->args; arg->name; arg++) {
        if (arg->offset == offsetof(struct leat_source_config, paths))
            continue;
        if (!arg->fallback)
            leat_blake2b_u64(state, leat_config_given(config, arg->name));
        hash_arg(state, config, arg);
    }
    if (source->ops->digest)
        source->ops->digest(config, state);
}

/* Those that decide what is a bad record. */
static void hash_options_of_records(struct leat_blake2b *state, const struct leat_plan *plan) {
    leat_blake2b_u64(state, (uint64_t)plan->options.max_record_bytes);
    leat_blake2b_u64(state, (uint64_t)plan->options.max_fields);
    leat_blake2b_u64(state, (uint64_t)plan->options.max_tokens);
    leat_blake2b_u64(state, (uint64_t)plan->options.max_window_bytes);
    leat_blake2b_u64(state, (uint64_t)plan->options.max_expansion);
}

static void hash_kept_columns(struct leat_blake2b *state, const struct leat_plan *plan) {
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        if (!plan->is_kept[i])
            continue;
        leat_blake2b_u64(state, i);
        leat_blake2b_text(state, plan->fields[i].name);
        leat_blake2b_u64(state, plan->fields[i].dtype);
        leat_blake2b_u64(state, plan->fields[i].is_list);
    }
}

/* Whether the stage is among those that the records go through. */
static bool runs_in_map(const struct leat_plan *plan, const struct leat_plan_stage *stage) {
    for (size_t i = 0; i < plan->n_map; i++)
        if (plan->map[i] == stage)
            return true;
    return false;
}

/* All MAP stages count, also those that do nothing but name fields: which field a later one reads
 * depends on them. Of the others those that have something to do with the records count. */
static void digest_records(struct leat_plan *plan) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_text(&state, "leat records 1 of " LEAT_VERSION);
    for (size_t i = 0; i < plan->n_sources; i++)
        hash_source_of_records(&state, &plan->sources[i]);
    hash_options_of_records(&state, plan);
    for (size_t i = 0; i < plan->n_all_stages; i++)
        if (plan->stages[i].ops->kind == LEAT_STAGE_MAP || runs_in_map(plan, &plan->stages[i]))
            hash_stage_of_records(&state, &plan->stages[i]);
    hash_kept_columns(&state, plan);
    leat_blake2b_final(&state, plan->record_digest);
}

int leat_plan_digest(struct leat_plan *plan, struct leat_error *err) {
    plan->spec_text = leat_spec_text(plan);
    if (!plan->spec_text)
        return leat_error_oom(err);
    leat_spec_text_digest(plan->spec_text, plan->spec_digest);
    digest_records(plan);
    return 0;
}
