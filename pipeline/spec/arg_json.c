#include "pipeline/spec/arg_json.h"

#include <stdio.h>

#include "proto/base/json_writer.h"

static const char *const type_names[] = {
    [LEAT_ARG_BOOL] = "bool",
    [LEAT_ARG_INT] = "int",
    [LEAT_ARG_FLOAT] = "float",
    [LEAT_ARG_TOKEN] = "number or token",
    [LEAT_ARG_TEXT] = "text",
    [LEAT_ARG_CHOICE] = "choice",
    [LEAT_ARG_DTYPE] = "dtype",
    [LEAT_ARG_FIELD] = "field",
    [LEAT_ARG_PATH] = "path",
    [LEAT_ARG_TEXTS] = "list of texts",
    [LEAT_ARG_FIELDS] = "list of fields",
    [LEAT_ARG_PATHS] = "list of paths",
    [LEAT_ARG_MAP] = "map",
    [LEAT_ARG_BYTES] = "bytes",
    [LEAT_ARG_SECONDS] = "seconds",
    [LEAT_ARG_SOURCES] = "list of sources",
    [LEAT_ARG_GROUP] = "map",
};

const char *leat_arg_type_name(enum leat_arg_type type) {
    return type_names[type];
}

static void add_number(struct leat_text *json, const char *key, double value) {
    char text[32];

    leat_json_add_raw(json, key, text, (size_t)snprintf(text, sizeof(text), "%.17g", value));
}

static void add_arg(struct leat_text *json, const struct leat_arg *arg) {
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", arg->name);
    leat_json_add_text(json, "type", leat_arg_type_name(arg->type));
    leat_json_add_bool(json, "required", arg->is_required);
    if (arg->is_positional)
        leat_json_add_bool(json, "positional", true);
    leat_json_add_text(json, "default", arg->fallback);
    if (arg->min != 0 || arg->max != 0) {
        add_number(json, "min", arg->min);
        add_number(json, "max", arg->max);
    }
    if (arg->choices)
        leat_json_add_texts(json, "choices", arg->choices);
    leat_json_add_text(json, "help", arg->help);
    if (arg->group)
        leat_args_json(json, "arguments", arg->group);
    leat_json_close(json, '}');
}

void leat_args_json(struct leat_text *json, const char *key, const struct leat_arg *args) {
    leat_json_open(json, key, '[');
    for (const struct leat_arg *arg = args; arg->name; arg++)
        add_arg(json, arg);
    leat_json_close(json, ']');
}
