/* plan_digest.c: the digest of a bound spec: what is the same stream has the same digest, however
 * it was written.
 *
 * Hashed are the kind and every argument of source and stages by its value after binding (defaults
 * included), in the order of the tables, and the contents of vocabularies and tokenizers. Not
 * hashed: the data, names of streams, places in files, and options that change only speed
 * (block_bytes).
 */
#include "pipeline/plan_internal.h"

#include <string.h>

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

static void hash_arg(struct leat_blake2b *state, const struct leat_config *config,
                     const struct leat_arg *arg) {
    const void *value = (const char *)config + arg->offset;
    const char *text;
    uint64_t bits;

    leat_blake2b_text(state, arg->name);
    switch (arg->type) {
    case LEAT_ARG_BOOL:
        leat_blake2b_u64(state, *(const bool *)value);
        break;
    case LEAT_ARG_INT:
        leat_blake2b_u64(state, (uint64_t) * (const int64_t *)value);
        break;
    case LEAT_ARG_FLOAT:
        memcpy(&bits, value, sizeof(bits));
        leat_blake2b_u64(state, bits);
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
    }
}

static void hash_config(struct leat_blake2b *state, const struct leat_config *config) {
    for (const struct leat_arg *arg = config->args; arg->name; arg++) {
        if (!arg->fallback)
            leat_blake2b_u64(state, leat_config_given(config, arg->name));
        hash_arg(state, config, arg);
    }
}

void leat_plan_digest(struct leat_plan *plan) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_text(&state, "leat spec 1");
    leat_blake2b_text(&state, plan->source_ops->name);
    hash_config(&state, &plan->source->base);
    leat_blake2b_u64(&state, (uint64_t)plan->options.on_error != LEAT_ON_ERROR_FAIL);
    leat_blake2b_u64(&state, (uint64_t)plan->options.seed);
    leat_blake2b_u64(&state, (uint64_t)plan->options.max_record_bytes);
    leat_blake2b_u64(&state, (uint64_t)plan->options.max_fields);
    leat_blake2b_u64(&state, (uint64_t)plan->options.max_tokens);
    for (size_t i = 0; i < plan->n_stages; i++) {
        leat_blake2b_text(&state, plan->stages[i].ops->name);
        hash_config(&state, plan->stages[i].config);
        if (plan->stages[i].ops->digest)
            plan->stages[i].ops->digest(plan->stages[i].config, &state);
    }
    leat_blake2b_final(&state, plan->spec_digest);
}
