/* arg_json.c: see arg_json.h. */
#include "pipeline/spec/arg_json.h"

#include <string.h>

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

void leat_arg_json_text(struct leat_text *text, const char *name, const char *value) {
    leat_text_add(text, ", \"%s\": ", name);
    if (value)
        leat_text_add_json(text, value, strlen(value));
    else
        leat_text_add(text, "null");
}

static void add_arg_json(struct leat_text *text, const struct leat_arg *arg) {
    leat_text_add(text, "{\"name\": \"%s\", \"type\": \"%s\", \"required\": %s", arg->name,
                  leat_arg_type_name(arg->type), arg->is_required ? "true" : "false");
    if (arg->is_positional)
        leat_text_add(text, ", \"positional\": true");
    leat_arg_json_text(text, "default", arg->fallback);
    if (arg->min != 0 || arg->max != 0)
        leat_text_add(text, ", \"min\": %.17g, \"max\": %.17g", arg->min, arg->max);
    for (size_t i = 0; arg->choices && arg->choices[i]; i++)
        leat_text_add(text, "%s\"%s\"", i ? ", " : ", \"choices\": [", arg->choices[i]);
    leat_text_add(text, arg->choices ? "]" : "");
    leat_arg_json_text(text, "help", arg->help);
    if (arg->group) {
        leat_text_add(text, ", \"arguments\": ");
        leat_args_json(text, arg->group);
    }
    leat_text_add(text, "}");
}

void leat_args_json(struct leat_text *text, const struct leat_arg *args) {
    leat_text_add(text, "[");
    for (const struct leat_arg *arg = args; arg->name; arg++) {
        leat_text_add(text, arg == args ? "" : ", ");
        add_arg_json(text, arg);
    }
    leat_text_add(text, "]");
}
