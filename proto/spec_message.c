/* spec_message.c: turns specs into protobuf and back. Unpacking checks kinds, depth, node and stage
 * counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/leat.pb-c.h"
#include "proto/spec.h"

/* ---- packing: NULL when memory is out ---- */

static Leat__Key *pack_key(const struct leat_value_key *key) {
    Leat__Key *message = malloc(sizeof(*message));

    if (!message)
        return NULL;
    leat__key__init(message);
    message->line = key->line;
    message->column = key->column;
    message->name = strdup(key->name);
    if (message->name)
        return message;
    free(message);
    return NULL;
}

static Leat__Value *pack_value(const struct leat_value *value);

static bool pack_items(const struct leat_value *value, Leat__Value *message) {
    bool is_map = value->kind == LEAT_VALUE_MAP, is_whole;

    message->items = calloc(value->n_items, sizeof(*message->items));
    message->n_items = message->items ? value->n_items : 0;
    message->keys = is_map ? calloc(value->n_items, sizeof(*message->keys)) : NULL;
    message->n_keys = message->keys ? value->n_items : 0;
    is_whole = message->items && (message->keys || !is_map);
    for (size_t i = 0; is_whole && i < value->n_items; i++) {
        message->items[i] = pack_value(&value->items[i]);
        if (is_map)
            message->keys[i] = pack_key(&value->keys[i]);
        is_whole = message->items[i] && (!is_map || message->keys[i]);
    }
    return is_whole;
}

static Leat__Value *pack_value(const struct leat_value *value) {
    Leat__Value *message = malloc(sizeof(*message));
    bool is_whole = true;

    if (!message)
        return NULL;
    leat__value__init(message);
    message->kind = (uint32_t)value->kind;
    message->is_quoted = value->is_quoted;
    message->line = value->line;
    message->column = value->column;
    if (value->kind == LEAT_VALUE_SCALAR)
        is_whole = (message->text = strdup(value->text)) != NULL;
    else if (value->n_items > 0)
        is_whole = pack_items(value, message);
    if (is_whole)
        return message;
    leat__value__free_unpacked(message, NULL);
    return NULL;
}

static Leat__StageSpec *pack_stage(const struct leat_stage_spec *stage) {
    Leat__StageSpec *message = malloc(sizeof(*message));

    if (!message)
        return NULL;
    leat__stage_spec__init(message);
    message->line = stage->line;
    message->column = stage->column;
    message->kind = strdup(stage->kind ? stage->kind : "");
    message->args = pack_value(&stage->args);
    if (message->kind && message->args)
        return message;
    leat__stage_spec__free_unpacked(message, NULL);
    return NULL;
}

int leat_spec_pack(const struct leat_spec *spec, struct Leat__StreamSpec **ret_message) {
    Leat__StreamSpec *message = malloc(sizeof(*message));
    bool is_whole;

    if (!message)
        return -ENOMEM;
    leat__stream_spec__init(message);
    message->line = spec->line;
    message->column = spec->column;
    message->name = strdup(spec->name);
    message->file = strdup(spec->file ? spec->file : "");
    message->source = pack_stage(&spec->source);
    message->options = pack_value(&spec->options);
    message->stages = calloc(spec->n_stages + 1, sizeof(*message->stages));
    message->n_stages = message->stages ? spec->n_stages : 0;
    is_whole =
        message->name && message->file && message->source && message->options && message->stages;
    for (size_t i = 0; is_whole && i < spec->n_stages; i++)
        is_whole = (message->stages[i] = pack_stage(&spec->stages[i])) != NULL;
    if (!is_whole) {
        leat__stream_spec__free_unpacked(message, NULL);
        return -ENOMEM;
    }
    *ret_message = message;
    return 0;
}

void leat_spec_message_free(struct Leat__StreamSpec *message) {
    if (message)
        leat__stream_spec__free_unpacked(message, NULL);
}

/* ---- unpacking ---- */

struct unpacker {
    size_t n_nodes;
    struct leat_error *err;
};

static int unpack_value(struct unpacker *unpacker, const Leat__Value *message, int depth,
                        struct leat_value *value);

static int unpack_map(struct unpacker *unpacker, const Leat__Value *message, int depth,
                      struct leat_value *value) {
    if (message->n_keys != message->n_items)
        return leat_error_set(unpacker->err, -EPROTO, "a map has %zu keys but %zu values",
                              message->n_keys, message->n_items);
    value->kind = LEAT_VALUE_MAP;
    for (size_t i = 0; i < message->n_items; i++) {
        struct leat_value *item;
        int r = leat_value_insert_at(value, message->keys[i]->name, message->keys[i]->line,
                                     message->keys[i]->column, &item);

        if (r == -EEXIST)
            return leat_error_set(unpacker->err, -EPROTO, "the key %.64s occurs twice",
                                  message->keys[i]->name);
        if (r < 0)
            return leat_error_oom(unpacker->err);
        r = unpack_value(unpacker, message->items[i], depth + 1, item);
        if (r < 0)
            return r;
    }
    return 0;
}

static int unpack_list(struct unpacker *unpacker, const Leat__Value *message, int depth,
                       struct leat_value *value) {
    value->kind = LEAT_VALUE_LIST;
    for (size_t i = 0; i < message->n_items; i++) {
        struct leat_value *item;
        int r = leat_value_append(value, &item);

        if (r < 0)
            return leat_error_oom(unpacker->err);
        r = unpack_value(unpacker, message->items[i], depth + 1, item);
        if (r < 0)
            return r;
    }
    return 0;
}

static int unpack_value(struct unpacker *unpacker, const Leat__Value *message, int depth,
                        struct leat_value *value) {
    *value = (struct leat_value){.kind = LEAT_VALUE_NULL};
    if (!message)
        return 0;
    if (depth > LEAT_VALUE_MAX_DEPTH || ++unpacker->n_nodes > LEAT_VALUE_MAX_NODES)
        return leat_error_set(unpacker->err, -EPROTO,
                              "arguments are nested deeper than %d or have more than %d values",
                              LEAT_VALUE_MAX_DEPTH, LEAT_VALUE_MAX_NODES);
    value->line = message->line;
    value->column = message->column;
    switch (message->kind) {
    case LEAT_VALUE_NULL:
        return 0;
    case LEAT_VALUE_SCALAR:
        if (leat_value_set_text(value, message->text, message->is_quoted) < 0)
            return leat_error_oom(unpacker->err);
        return 0;
    case LEAT_VALUE_LIST:
        return unpack_list(unpacker, message, depth, value);
    case LEAT_VALUE_MAP:
        return unpack_map(unpacker, message, depth, value);
    default:
        return leat_error_set(unpacker->err, -EPROTO, "a value has the unknown kind %u",
                              message->kind);
    }
}

static int unpack_stage(struct unpacker *unpacker, const Leat__StageSpec *message,
                        struct leat_stage_spec *stage) {
    if (!stage->kind) {
        stage->kind = strdup(message->kind);
        if (!stage->kind)
            return leat_error_oom(unpacker->err);
    }
    stage->line = message->line;
    stage->column = message->column;
    return unpack_value(unpacker, message->args, 1, &stage->args);
}

static int unpack_stages(struct unpacker *unpacker, const Leat__StreamSpec *message,
                         struct leat_spec *spec) {
    int r;

    if (!message->source)
        return leat_error_set(unpacker->err, -EPROTO, "a stream needs a source");
    r = unpack_stage(unpacker, message->source, &spec->source);
    if (r == 0)
        r = unpack_value(unpacker, message->options, 1, &spec->options);
    for (size_t i = 0; r == 0 && i < message->n_stages; i++) {
        struct leat_stage_spec *stage = NULL;

        r = leat_spec_add_stage(spec, message->stages[i]->kind, &stage);
        if (r == -ENOMEM)
            return leat_error_oom(unpacker->err);
        if (r < 0)
            return leat_error_set(unpacker->err, r,
                                  "the stream has %zu stages, but at most %d are allowed",
                                  message->n_stages, LEAT_SPEC_MAX_STAGES);
        r = unpack_stage(unpacker, message->stages[i], stage);
    }
    return r;
}

int leat_spec_unpack(const struct Leat__StreamSpec *message, struct leat_spec **ret_spec,
                     struct leat_error *err) {
    struct unpacker unpacker = {.err = err};
    struct leat_spec *spec = NULL;
    int r = leat_spec_new(message->name, message->file[0] ? message->file : NULL, &spec);

    if (r < 0)
        return leat_error_oom(err);
    spec->line = message->line;
    spec->column = message->column;
    r = unpack_stages(&unpacker, message, spec);
    if (r < 0) {
        leat_spec_free(spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}
