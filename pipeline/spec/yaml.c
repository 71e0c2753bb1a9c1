/* yaml.c: libyaml's events to a tree of values. A hand-kept stack of open collections bounds depth.
 */
#include "pipeline/spec/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct builder {
    yaml_parser_t parser;
    const char *file;
    struct leat_error *err;
    size_t n_nodes;
};

static int fail_at(struct builder *builder, const yaml_mark_t *mark, const char *what) {
    leat_error_set(builder->err, -EINVAL, "%s", what);
    leat_error_locate(builder->err, builder->file, (uint32_t)mark->line + 1,
                      (uint32_t)mark->column + 1);
    return -EINVAL;
}

static int next_event(struct builder *builder, yaml_event_t *ret_event) {
    const yaml_parser_t *parser = &builder->parser;
    char text[256];

    if (yaml_parser_parse(&builder->parser, ret_event))
        return 0;
    if (parser->error == YAML_MEMORY_ERROR)
        return leat_error_oom(builder->err);
    (void)snprintf(text, sizeof(text), "%s%s%s", parser->problem ? parser->problem : "not YAML",
                   parser->context ? ", " : "", parser->context ? parser->context : "");
    return fail_at(builder, &parser->problem_mark, text);
}

static bool is_null(const yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value;

    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static bool has_extras(const yaml_event_t *event) {
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return true;
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor || event->data.scalar.tag;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor || event->data.sequence_start.tag;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor || event->data.mapping_start.tag;
    default:
        return false;
    }
}

static int build_value(struct builder *builder, const yaml_event_t *event, int depth,
                       struct leat_value *value);

static int build_scalar(struct builder *builder, const yaml_event_t *event,
                        struct leat_value *value) {
    const char *text = (const char *)event->data.scalar.value;

    if (strlen(text) != event->data.scalar.length)
        return fail_at(builder, &event->start_mark, "a text must not contain a NUL byte");
    if (is_null(event))
        return 0;
    if (leat_value_set_text(value, text, event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) < 0)
        return leat_error_oom(builder->err);
    return 0;
}

static int build_list(struct builder *builder, int depth, struct leat_value *value) {
    value->kind = LEAT_VALUE_LIST;
    for (;;) {
        struct leat_value *item;
        yaml_event_t event;
        int r = next_event(builder, &event);

        if (r < 0)
            return r;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return 0;
        }
        r = leat_value_append(value, &item) < 0 ? leat_error_oom(builder->err)
                                                : build_value(builder, &event, depth + 1, item);
        yaml_event_delete(&event);
        if (r < 0)
            return r;
    }
}

static int build_pair(struct builder *builder, const yaml_event_t *key, int depth,
                      struct leat_value *value) {
    struct leat_value *item;
    yaml_event_t event;
    int r;

    if (key->type != YAML_SCALAR_EVENT)
        return fail_at(builder, &key->start_mark, "a key must be a text, not a list or a map");
    if (has_extras(key))
        return fail_at(builder, &key->start_mark,
                       "anchors, aliases and tags are not allowed: write the value itself");
    if (strlen((const char *)key->data.scalar.value) != key->data.scalar.length)
        return fail_at(builder, &key->start_mark, "a key must not contain a NUL byte");
    r = leat_value_insert_at(value, (const char *)key->data.scalar.value,
                             (uint32_t)key->start_mark.line + 1,
                             (uint32_t)key->start_mark.column + 1, &item);
    if (r == -EEXIST)
        return fail_at(builder, &key->start_mark, "this key occurs twice");
    if (r < 0)
        return leat_error_oom(builder->err);
    r = next_event(builder, &event);
    if (r < 0)
        return r;
    r = build_value(builder, &event, depth + 1, item);
    yaml_event_delete(&event);
    return r;
}

static int build_map(struct builder *builder, int depth, struct leat_value *value) {
    value->kind = LEAT_VALUE_MAP;
    for (;;) {
        yaml_event_t event;
        int r = next_event(builder, &event);

        if (r < 0)
            return r;
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return 0;
        }
        r = build_pair(builder, &event, depth, value);
        yaml_event_delete(&event);
        if (r < 0)
            return r;
    }
}

static int build_value(struct builder *builder, const yaml_event_t *event, int depth,
                       struct leat_value *value) {
    *value = (struct leat_value){.line = (uint32_t)event->start_mark.line + 1,
                                 .column = (uint32_t)event->start_mark.column + 1};
    if (has_extras(event))
        return fail_at(builder, &event->start_mark,
                       "anchors, aliases and tags are not allowed: write the value itself");
    if (depth > LEAT_VALUE_MAX_DEPTH || ++builder->n_nodes > LEAT_VALUE_MAX_NODES)
        return fail_at(builder, &event->start_mark,
                       "the values are nested too deeply, or are too many");
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return build_scalar(builder, event, value);
    case YAML_SEQUENCE_START_EVENT:
        return build_list(builder, depth, value);
    case YAML_MAPPING_START_EVENT:
        return build_map(builder, depth, value);
    default:
        return fail_at(builder, &event->start_mark, "a value is missing");
    }
}

/* Stream start, document start, one value, document end, stream end. */
static int build_document(struct builder *builder, struct leat_value *value) {
    bool has_value = false;

    for (;;) {
        yaml_event_t event;
        int r = next_event(builder, &event);
        bool is_end = r == 0 && event.type == YAML_STREAM_END_EVENT;

        if (r < 0)
            return r;
        if (event.type == YAML_DOCUMENT_START_EVENT && has_value)
            r = fail_at(builder, &event.start_mark, "the file may contain only one YAML document");
        else if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_START_EVENT &&
                 event.type != YAML_DOCUMENT_END_EVENT && !is_end) {
            has_value = true;
            r = build_value(builder, &event, 0, value);
        }
        yaml_event_delete(&event);
        if (r < 0 || is_end)
            return r;
    }
}

int leat_yaml_parse(const char *text, size_t n_bytes, const char *file,
                    struct leat_value *ret_value, struct leat_error *err) {
    struct builder builder = {.file = file, .err = err};
    int r;

    *ret_value = (struct leat_value){.kind = LEAT_VALUE_NULL};
    if (n_bytes > LEAT_YAML_MAX_BYTES) {
        leat_error_set(err, -EFBIG, "the file has %zu bytes; at most %u are possible", n_bytes,
                       LEAT_YAML_MAX_BYTES);
        leat_error_locate(err, file, 0, 0);
        return -EFBIG;
    }
    if (!yaml_parser_initialize(&builder.parser))
        return leat_error_oom(err);
    yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, n_bytes);
    r = build_document(&builder, ret_value);
    yaml_parser_delete(&builder.parser);
    if (r < 0)
        leat_value_deinit(ret_value);
    return r;
}
