/* yaml_streams.c: reads the streams of a configuration and checks the shape of each, not yet its
 * meaning. Declared in yaml.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/spec/yaml.h"
#include "proto/slot.h"

struct reader {
    const char *file;
    struct leat_error *err;
};

__attribute__((format(printf, 4, 5))) static int fail_at(const struct reader *reader, uint32_t line,
                                                         uint32_t column, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    leat_error_setv(reader->err, -EINVAL, format, ap);
    va_end(ap);
    leat_error_locate(reader->err, reader->file, line, column);
    return -EINVAL;
}

static int read_stage(const struct reader *reader, const struct leat_value *value,
                      struct leat_named_args *ret_written) {
    return leat_value_named_args(value, false, ret_written)
               ? 0
               : fail_at(reader, value->line, value->column,
                         "expected one name with its arguments, such as `batch: {batch_size: 32}`");
}

static int fill_stage(const struct reader *reader, struct leat_stage_spec *stage,
                      const struct leat_named_args *written) {
    if (!stage->kind)
        stage->kind = strdup(written->name);
    stage->line = written->line;
    stage->column = written->column;
    if (!stage->kind || leat_value_copy(&stage->args, written->args) < 0)
        return leat_error_oom(reader->err);
    return 0;
}

static int read_source(const struct reader *reader, const struct leat_value *value,
                       struct leat_spec *spec) {
    struct leat_named_args written;
    int r = read_stage(reader, value, &written);

    if (r == 0)
        r = fill_stage(reader, &spec->source, &written);
    if (r < 0)
        leat_error_prefix(reader->err, "source");
    return r;
}

static int read_stages(const struct reader *reader, const struct leat_value *value,
                       struct leat_spec *spec) {
    if (value->kind == LEAT_VALUE_NULL)
        return 0;
    if (value->kind != LEAT_VALUE_LIST) {
        fail_at(reader, value->line, value->column, "expected a list of stages");
        leat_error_prefix(reader->err, "stages");
        return -EINVAL;
    }
    for (size_t i = 0; i < value->n_items; i++) {
        struct leat_stage_spec *stage = NULL;
        struct leat_named_args written;
        int r = read_stage(reader, &value->items[i], &written);

        if (r == 0)
            r = leat_spec_add_stage(spec, written.name, &stage);
        if (r == -ENOMEM)
            leat_error_oom(reader->err);
        if (r == -E2BIG)
            r = fail_at(reader, written.line, written.column, "a stream may have at most %d stages",
                        LEAT_SPEC_MAX_STAGES);
        if (r == 0)
            r = fill_stage(reader, stage, &written);
        if (r < 0) {
            leat_error_prefix(reader->err, "stages[%zu]", i);
            return r;
        }
    }
    return 0;
}

static int read_option(const struct reader *reader, const struct leat_value_key *key,
                       const struct leat_value *value, struct leat_spec *spec) {
    struct leat_value *option;

    if (leat_value_insert_at(&spec->options, key->name, key->line, key->column, &option) < 0 ||
        leat_value_copy(option, value) < 0)
        return leat_error_oom(reader->err);
    return 0;
}

static int read_stream(const struct reader *reader, const struct leat_value *value,
                       struct leat_spec *spec) {
    bool has_source = false;
    int r = 0;

    if (value->kind != LEAT_VALUE_MAP)
        return fail_at(reader, value->line, value->column,
                       "expected a map with `source` and `stages`");
    for (size_t i = 0; r == 0 && i < value->n_items; i++) {
        const struct leat_value_key *key = &value->keys[i];

        if (strcmp(key->name, "source") == 0) {
            has_source = true;
            r = read_source(reader, &value->items[i], spec);
        } else if (strcmp(key->name, "stages") == 0) {
            r = read_stages(reader, &value->items[i], spec);
        } else {
            r = read_option(reader, key, &value->items[i], spec);
        }
    }
    if (r == 0 && !has_source)
        r = fail_at(
            reader, spec->line, spec->column,
            "source is missing: say where the records come from, such as `csv: {paths: [..]}`");
    return r;
}

static int read_one(const struct reader *reader, const struct leat_value_key *key,
                    const struct leat_value *value, struct leat_spec **ret_spec) {
    struct leat_spec *spec = NULL;
    size_t n = strlen(key->name);
    int r;

    if (n == 0 || n > LEAT_NAME_MAX) {
        fail_at(reader, key->line, key->column,
                "the name of a stream may have 1 to %d bytes; this one has %zu", LEAT_NAME_MAX, n);
        leat_error_prefix(reader->err, "streams");
        return -EINVAL;
    }
    if (leat_spec_new(key->name, reader->file, &spec) < 0)
        return leat_error_oom(reader->err);
    spec->line = key->line;
    spec->column = key->column;
    r = read_stream(reader, value, spec);
    if (r < 0) {
        leat_error_prefix(reader->err, "streams.%s", key->name);
        leat_spec_free(spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}

int leat_yaml_streams(const struct leat_value *document, const char *file,
                      struct leat_spec ***ret_specs, size_t *ret_n_specs, struct leat_error *err) {
    const struct leat_value *streams = leat_value_get(document, "streams");
    struct reader reader = {.file = file, .err = err};
    struct leat_spec **specs;
    size_t n = 0;
    int r = 0;

    *ret_specs = NULL;
    *ret_n_specs = 0;
    if (!streams || streams->kind == LEAT_VALUE_NULL)
        return 0;
    if (streams->kind != LEAT_VALUE_MAP) {
        fail_at(&reader, streams->line, streams->column, "expected a map from names to streams");
        leat_error_prefix(err, "streams");
        return -EINVAL;
    }
    specs = calloc(streams->n_items, sizeof(*specs));
    if (!specs)
        return leat_error_oom(err);
    for (; r == 0 && n < streams->n_items; n += r == 0)
        r = read_one(&reader, &streams->keys[n], &streams->items[n], &specs[n]);
    if (r < 0) {
        while (n > 0)
            leat_spec_free(specs[--n]);
        free(specs);
        return r;
    }
    *ret_specs = specs;
    *ret_n_specs = n;
    return 0;
}
