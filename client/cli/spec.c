/* spec.c: `leatctl spec`: a stream of a file as JSON, for programs that read no YAML. Scalars have
 * the type of their argument: number, boolean or else text. The stream is checked, but its data is
 * not read. Values that may be secret are null unless --secrets is given.
 */
#include <stdio.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/output.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/plan/plan.h"
#include "proto/base/json_writer.h"

static bool is_number(const struct leat_arg *arg, const char *value) {
    size_t n = strlen(value);
    bool may_be_real = arg && (arg->type == LEAT_ARG_FLOAT || arg->type == LEAT_ARG_TOKEN);
    int64_t whole;
    double real;

    if (!may_be_real && (!arg || arg->type != LEAT_ARG_INT))
        return false;
    if (leat_parse_int(value, n, &whole) == 0)
        return true;
    return may_be_real && leat_parse_float(value, n, &real) == 0;
}

static void add_number(struct leat_text *json, const char *key, const char *value) {
    size_t n = strlen(value);
    char text[32];
    int64_t whole;
    double real = 0;

    if (leat_parse_int(value, n, &whole) == 0) {
        leat_json_add_int(json, key, whole);
        return;
    }
    (void)leat_parse_float(value, n, &real);
    if (real - real != 0) /* JSON has no such numbers; Python reads these */
        (void)snprintf(text, sizeof(text), "%s",
                       real != real ? "NaN"
                       : real > 0   ? "Infinity"
                                    : "-Infinity");
    else
        (void)snprintf(text, sizeof(text), "%.17g", real);
    leat_json_add_raw(json, key, text, strlen(text));
}

static void add_scalar(struct leat_text *json, const char *key, const struct leat_arg *arg,
                       const struct leat_value *value) {
    bool is_true;

    if (!value->is_quoted && is_number(arg, value->text))
        add_number(json, key, value->text);
    else if (!value->is_quoted && arg && arg->type == LEAT_ARG_BOOL &&
             leat_parse_bool(value->text, strlen(value->text), &is_true) == 0)
        leat_json_add_bool(json, key, is_true);
    else
        leat_json_add_text(json, key, value->text);
}

static const struct leat_arg *find_arg(const struct leat_arg *args, const char *name) {
    while (args && args->name && strcmp(args->name, name) != 0)
        args++;
    return args && args->name ? args : NULL;
}

/* Adds the value of an argument (arg NULL: an unknown one). leat_value bounds the depth. */
static void add_value(struct leat_text *json, const char *key, const struct leat_arg *arg,
                      const struct leat_value *value);

/* Adds a map of arguments; args NULL: unknown ones. */
static void add_args(struct leat_text *json, const char *key, const struct leat_arg *args,
                     const struct leat_value *value) {
    if (value->kind != LEAT_VALUE_MAP) {
        add_value(json, key, NULL, value);
        return;
    }
    leat_json_open(json, key, '{');
    for (size_t i = 0; i < value->n_items; i++)
        add_value(json, value->keys[i].name, find_arg(args, value->keys[i].name), &value->items[i]);
    leat_json_close(json, '}');
}

static const struct leat_arg *args_of(const struct leat_stage_ops *ops) {
    return ops ? ops->args : NULL;
}

/* Adds a source of a source: a map of its kind to its arguments, and its own stages. */
static void add_source(struct leat_text *json, const struct leat_value *value) {
    const struct leat_value *stages = leat_value_get(value, "stages");
    struct leat_named_args source;

    if (value->kind != LEAT_VALUE_MAP || !leat_value_named_args(value, true, &source)) {
        add_value(json, NULL, NULL, value);
        return;
    }
    leat_json_open(json, NULL, '{');
    add_args(json, source.name, args_of(leat_source_find(source.name)), source.args);
    if (stages) {
        leat_json_open(json, "stages", '[');
        for (size_t at = 0; at < stages->n_items; at++) {
            const struct leat_value *stage = &stages->items[at];
            bool is_kind = stage->kind == LEAT_VALUE_MAP && stage->n_items == 1;

            if (is_kind)
                leat_json_open(json, NULL, '{');
            if (is_kind)
                add_args(json, stage->keys[0].name, args_of(leat_stage_find(stage->keys[0].name)),
                         &stage->items[0]);
            else
                add_value(json, NULL, NULL, stage);
            if (is_kind)
                leat_json_close(json, '}');
        }
        leat_json_close(json, ']');
    }
    leat_json_close(json, '}');
}

static void add_value(struct leat_text *json, const char *key, const struct leat_arg *arg,
                      const struct leat_value *value) {
    if (value->kind == LEAT_VALUE_NULL) {
        leat_json_add_null(json, key);
    } else if (value->kind == LEAT_VALUE_SCALAR) {
        add_scalar(json, key, arg, value);
    } else if (value->kind == LEAT_VALUE_MAP) {
        add_args(json, key, arg ? arg->group : NULL, value);
    } else {
        leat_json_open(json, key, '[');
        for (size_t i = 0; i < value->n_items; i++)
            if (arg && arg->type == LEAT_ARG_SOURCES)
                add_source(json, &value->items[i]);
            else
                add_value(json, NULL, NULL, &value->items[i]);
        leat_json_close(json, ']');
    }
}

/* [kind, {arguments}] */
static void add_stage(struct leat_text *json, const char *key, const struct leat_stage_ops *ops,
                      const struct leat_stage_spec *stage) {
    leat_json_open(json, key, '[');
    leat_json_add_text(json, NULL, stage->kind);
    add_args(json, NULL, args_of(ops), &stage->args);
    leat_json_close(json, ']');
}

static void add_spec(struct leat_text *json, const struct leat_spec *spec) {
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", spec->name);
    leat_json_line(json);
    add_stage(json, "source", leat_source_find(spec->source.kind), &spec->source);
    leat_json_line(json);
    leat_json_open(json, "stages", '[');
    for (size_t i = 0; i < spec->n_stages; i++) {
        leat_json_line(json);
        add_stage(json, NULL, leat_stage_find(spec->stages[i].kind), &spec->stages[i]);
    }
    leat_json_close(json, ']');
    leat_json_line(json);
    add_args(json, "options", leat_stream_args, &spec->options);
    leat_json_close(json, '}');
    leat_text_add(json, "\n");
}

/* Makes the values of a program's environment null. name: the stage or argument of the value. */
static void hide_secrets(const char *name, struct leat_value *value) {
    struct leat_value *map =
        name && strcmp(name, "exec") == 0 ? leat_value_get(value, "environment") : NULL;

    for (size_t i = 0; map && map->kind == LEAT_VALUE_MAP && i < map->n_items; i++)
        leat_value_deinit(&map->items[i]);
    for (size_t i = 0; i < value->n_items; i++)
        hide_secrets(value->keys ? value->keys[i].name : NULL, &value->items[i]);
}

static int spec_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_spec *spec = leat_cli_spec_load(arguments->operand, arguments->stream, err);
    struct leat_text text = {.data = NULL};

    if (spec && leat_plan_check(spec, err) < 0)
        spec = leat_spec_free(spec);
    if (!spec)
        return leat_cli_error_status(err);
    if (!arguments->secrets) {
        hide_secrets(spec->source.kind, &spec->source.args);
        for (size_t i = 0; i < spec->n_stages; i++)
            hide_secrets(spec->stages[i].kind, &spec->stages[i].args);
    }
    add_spec(&text, spec);
    leat_spec_free(spec);
    leat_cli_print(&text);
    return LEAT_CLI_OK;
}

static const struct leat_cli_option spec_options[] = {
    LEAT_CLI_OPTION(FLAG, "secrets", secrets, "print the values of `environment` instead of null"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_spec_command = {
    .name = "spec",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "print a stream of a file as JSON",
    .description =
        "This command is for programs that do not read YAML. It prints the name, the source\n"
        "and the stages with their arguments, and the options. Each value has the type of its\n"
        "argument: number, boolean or text. Relative paths stay relative to the folder of\n"
        "FILE. For a program (`exec`), the command prints null for each value of\n"
        "`environment`, because these values may be secrets.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl spec titanic.yaml\n"
                "  leatctl spec --secrets titanic.yaml\n",
    .options = spec_options,
    .run = spec_main,
};
