/* builder.c: see leat.h. A builder is a spec and a stack of open values: arguments are added to the
 * innermost. Nothing is added to the others meanwhile, so pointers to their items stay valid. */
#include "client/builder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/leat.h"

struct leat_builder {
    struct leat_spec *spec;
    struct leat_error error; /* the first failure */
    size_t n_nodes;
    size_t depth; /* of `open`; 0: no source, stage or options was begun */
    struct leat_value
        *open[LEAT_VALUE_MAX_DEPTH]; /* open[0]: arguments of source, stage, options */
};

int leat_builder_new(const char *name, struct leat_builder **ret_builder) {
    struct leat_builder *builder = calloc(1, sizeof(*builder));

    if (!builder)
        return -ENOMEM;
    if (leat_spec_new(name ? name : "", NULL, &builder->spec) < 0) {
        free(builder);
        return -ENOMEM;
    }
    *ret_builder = builder;
    return 0;
}

struct leat_builder *leat_builder_free(struct leat_builder *builder) {
    if (!builder)
        return NULL;
    leat_spec_free(builder->spec);
    free(builder);
    return NULL;
}

const struct leat_error *leat_builder_error(const struct leat_builder *builder) {
    return &builder->error;
}

/* Records the failure of a function of proto/spec.h or proto/value.h. Returns its code. */
static int record_failure(struct leat_builder *builder, int code, const char *name) {
    if (code == -ENOMEM)
        return leat_error_oom(&builder->error);
    if (code == -EEXIST)
        return leat_error_set(&builder->error, -EINVAL,
                              "builder: you gave \"%.64s\" twice; give it once", name);
    return leat_error_set(&builder->error, code, "builder: a stream has at most %d stages",
                          LEAT_SPEC_MAX_STAGES);
}

/* Closes the former source, stage or options, since another one begins. */
static int begin_part(struct leat_builder *builder, const char *kind) {
    if (builder->error.code)
        return builder->error.code;
    if (builder->depth > 1)
        return leat_error_set(
            &builder->error, -EINVAL,
            "builder: a list or map is still open; call leat_builder_end() before \"%.64s\"", kind);
    builder->depth = 0;
    return 0;
}

static void open_value(struct leat_builder *builder, struct leat_value *value) {
    builder->open[builder->depth++] = value;
}

int leat_builder_source(struct leat_builder *builder, const char *kind) {
    int r = begin_part(builder, kind);

    if (r < 0)
        return r;
    if (builder->spec->source.kind)
        return leat_error_set(
            &builder->error, -EINVAL,
            "builder: the stream already has a source, so it cannot also have \"%.64s\"", kind);
    builder->spec->source.kind = strdup(kind);
    if (!builder->spec->source.kind)
        return leat_error_oom(&builder->error);
    open_value(builder, &builder->spec->source.args);
    return 0;
}

int leat_builder_stage(struct leat_builder *builder, const char *kind) {
    struct leat_stage_spec *stage;
    int r = begin_part(builder, kind);

    if (r < 0)
        return r;
    r = leat_spec_add_stage(builder->spec, kind, &stage);
    if (r < 0)
        return record_failure(builder, r, kind);
    open_value(builder, &stage->args);
    return 0;
}

int leat_builder_options(struct leat_builder *builder) {
    int r = begin_part(builder, "options");

    if (r < 0)
        return r;
    open_value(builder, &builder->spec->options);
    return 0;
}

/* Adds an item to the innermost open value: named in a map, without a name in a list. */
static int add_item(struct leat_builder *builder, const char *name, struct leat_value **ret_item) {
    struct leat_value *parent;
    int r;

    if (builder->error.code)
        return builder->error.code;
    if (builder->depth == 0)
        return leat_error_set(&builder->error, -EINVAL,
                              "builder: you gave \"%.64s\" too early; first call "
                              "leat_builder_source(), _stage() or _options()",
                              name ? name : "");
    if (++builder->n_nodes > LEAT_VALUE_MAX_NODES)
        return leat_error_set(&builder->error, -EINVAL, "builder: a stream has at most %d values",
                              LEAT_VALUE_MAX_NODES);
    parent = builder->open[builder->depth - 1];
    if (parent->kind == LEAT_VALUE_LIST ? name != NULL : name == NULL)
        return leat_error_set(
            &builder->error, -EINVAL,
            name ? "builder: the value \"%.64s\" is in a list; give NULL as its name"
                 : "builder: a value that is not in a list needs a name%s",
            name ? name : "");
    r = name ? leat_value_insert(parent, name, ret_item) : leat_value_append(parent, ret_item);
    return r < 0 ? record_failure(builder, r, name) : 0;
}

static int add_scalar(struct leat_builder *builder, const char *name, const char *text,
                      bool is_quoted) {
    struct leat_value *item;
    int r = add_item(builder, name, &item);

    if (r < 0)
        return r;
    return leat_value_set_text(item, text, is_quoted) < 0 ? leat_error_oom(&builder->error) : 0;
}

int leat_builder_text(struct leat_builder *builder, const char *name, const char *value) {
    return add_scalar(builder, name, value, true);
}

int leat_builder_int(struct leat_builder *builder, const char *name, int64_t value) {
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    return add_scalar(builder, name, text, false);
}

int leat_builder_float(struct leat_builder *builder, const char *name, double value) {
    char text[40];

    (void)snprintf(text, sizeof(text), "%.17g", value);
    return add_scalar(builder, name, text, false);
}

int leat_builder_bool(struct leat_builder *builder, const char *name, bool value) {
    return add_scalar(builder, name, value ? "true" : "false", false);
}

static int add_open(struct leat_builder *builder, const char *name, enum leat_value_kind kind) {
    struct leat_value *item;
    int r;

    if (!builder->error.code && builder->depth + 1 >= LEAT_VALUE_MAX_DEPTH)
        return leat_error_set(&builder->error, -EINVAL,
                              "builder: lists and maps can be nested at most %d deep",
                              LEAT_VALUE_MAX_DEPTH - 2); /* arguments lie around, scalars inside */
    r = add_item(builder, name, &item);
    if (r < 0)
        return r;
    item->kind = kind;
    open_value(builder, item);
    return 0;
}

int leat_builder_list(struct leat_builder *builder, const char *name) {
    return add_open(builder, name, LEAT_VALUE_LIST);
}

int leat_builder_map(struct leat_builder *builder, const char *name) {
    return add_open(builder, name, LEAT_VALUE_MAP);
}

int leat_builder_end(struct leat_builder *builder) {
    if (builder->error.code)
        return builder->error.code;
    if (builder->depth <= 1)
        return leat_error_set(&builder->error, -EINVAL,
                              "builder: no list or map is open; leave out this leat_builder_end()");
    builder->depth--;
    return 0;
}

int leat_builder_texts(struct leat_builder *builder, const char *name, const char *const *values,
                       size_t n_values) {
    int r = leat_builder_list(builder, name);

    for (size_t i = 0; r == 0 && i < n_values; i++)
        r = leat_builder_text(builder, NULL, values[i]);
    return r < 0 ? r : leat_builder_end(builder);
}

int leat_builder_spec(const struct leat_builder *builder, const struct leat_spec **ret_spec,
                      struct leat_error *err) {
    if (builder->error.code) {
        *err = builder->error;
        return err->code;
    }
    if (builder->depth > 1)
        return leat_error_set(err, -EINVAL,
                              "builder: a list or map is still open; call leat_builder_end()");
    if (!builder->spec->source.kind)
        return leat_error_set(err, -EINVAL,
                              "builder: the stream %.64s has no source; call leat_builder_source()",
                              builder->spec->name);
    *ret_spec = builder->spec;
    return 0;
}
