/* spec_message.c: specs to and from protobuf. Unpacking believes nothing: kinds, depth, node and
 * stage counts are checked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/leat.pb-c.h"
#include "proto/spec.h"

static int pack_value(const struct leat_value *value, Leat__Value **ret_message);

static int pack_items(const struct leat_value *value, Leat__Value *message) {
    message->items = calloc(value->n_items, sizeof(*message->items));
    if (!message->items)
        return -ENOMEM;
    for (size_t i = 0; i < value->n_items; i++) {
        int r = pack_value(&value->items[i], &message->items[i]);

        if (r < 0)
            return r;
        message->n_items = i + 1;
    }
    return 0;
}

static int pack_keys(const struct leat_value *value, Leat__Value *message) {
    message->keys = calloc(value->n_items, sizeof(*message->keys));
    if (!message->keys)
        return -ENOMEM;
    for (size_t i = 0; i < value->n_items; i++) {
        Leat__Key *key = malloc(sizeof(*key));

        if (!key)
            return -ENOMEM;
        leat__key__init(key);
        message->keys[i] = key;
        message->n_keys = i + 1;
        key->line = value->keys[i].line;
        key->column = value->keys[i].column;
        key->name = strdup(value->keys[i].name);
        if (!key->name)
            return -ENOMEM;
    }
    return 0;
}

static int pack_value(const struct leat_value *value, Leat__Value **ret_message) {
    Leat__Value *message = malloc(sizeof(*message));
    int r = 0;

    if (!message)
        return -ENOMEM;
    leat__value__init(message);
    message->kind = (uint32_t)value->kind;
    message->is_quoted = value->is_quoted;
    message->line = value->line;
    message->column = value->column;
    if (value->kind == LEAT_VALUE_SCALAR) {
        message->text = strdup(value->text);
        r = message->text ? 0 : -ENOMEM;
    }
    if (r == 0 && value->n_items > 0)
        r = pack_items(value, message);
    if (r == 0 && value->n_items > 0 && value->kind == LEAT_VALUE_MAP)
        r = pack_keys(value, message);
    if (r < 0) {
        leat__value__free_unpacked(message, NULL);
        return r;
    }
    *ret_message = message;
    return 0;
}

static int pack_stage(const struct leat_stage_spec *stage, Leat__StageSpec **ret_message) {
    Leat__StageSpec *message = malloc(sizeof(*message));
    int r;

    if (!message)
        return -ENOMEM;
    leat__stage_spec__init(message);
    message->line = stage->line;
    message->column = stage->column;
    message->kind = strdup(stage->kind ? stage->kind : "");
    r = message->kind ? pack_value(&stage->args, &message->args) : -ENOMEM;
    if (r < 0) {
        leat__stage_spec__free_unpacked(message, NULL);
        return r;
    }
    *ret_message = message;
    return 0;
}

static int pack_spec(const struct leat_spec *spec, Leat__StreamSpec *message) {
    int r;

    message->line = spec->line;
    message->column = spec->column;
    message->name = strdup(spec->name);
    message->file = strdup(spec->file ? spec->file : "");
    if (!message->name || !message->file)
        return -ENOMEM;
    r = pack_stage(&spec->source, &message->source);
    if (r == 0)
        r = pack_value(&spec->options, &message->options);
    if (r < 0 || spec->n_stages == 0)
        return r;
    message->stages = calloc(spec->n_stages, sizeof(*message->stages));
    if (!message->stages)
        return -ENOMEM;
    for (size_t i = 0; i < spec->n_stages; i++) {
        r = pack_stage(&spec->stages[i], &message->stages[i]);
        if (r < 0)
            return r;
        message->n_stages = i + 1;
    }
    return 0;
}

int leat_spec_pack(const struct leat_spec *spec, struct Leat__StreamSpec **ret_message) {
    Leat__StreamSpec *message = malloc(sizeof(*message));
    int r;

    if (!message)
        return -ENOMEM;
    leat__stream_spec__init(message);
    r = pack_spec(spec, message);
    if (r < 0) {
        leat__stream_spec__free_unpacked(message, NULL);
        return r;
    }
    *ret_message = message;
    return 0;
}

void leat_spec_message_free(struct Leat__StreamSpec *message) {
    if (message)
        leat__stream_spec__free_unpacked(message, NULL);
}

struct unpacker {
    size_t n_nodes;
    struct leat_error *err;
};

static int unpack_value(struct unpacker *unpacker, const Leat__Value *message, int depth,
                        struct leat_value *value);

static int unpack_map(struct unpacker *unpacker, const Leat__Value *message, int depth,
                      struct leat_value *value) {
    if (message->n_keys != message->n_items)
        return leat_error_set(unpacker->err, -EPROTO, "a map has %zu keys and %zu values",
                              message->n_keys, message->n_items);
    value->kind = LEAT_VALUE_MAP;
    for (size_t i = 0; i < message->n_items; i++) {
        struct leat_value *item;
        int r = leat_value_insert(value, message->keys[i]->name, &item);

        if (r == -EEXIST)
            return leat_error_set(unpacker->err, -EPROTO, "the key %.64s is there twice",
                                  message->keys[i]->name);
        if (r < 0)
            return leat_error_oom(unpacker->err);
        value->keys[i].line = message->keys[i]->line;
        value->keys[i].column = message->keys[i]->column;
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
        return leat_error_set(unpacker->err, -EPROTO, "a value of the unknown kind %u",
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
        if (r < 0)
            return leat_error_set(unpacker->err, r, "%zu stages are more than %d",
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
