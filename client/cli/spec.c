/* spec.c: `leatctl spec`: a stream of a file as JSON, for programs that read no YAML. Scalars are
 * what their arguments take them for: a number, true or false, else text, byte for byte. What the
 * file says is checked; the data is not looked at. What may be a secret is null, unless it is asked
 * for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/error_json.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/plan/plan.h"

static void add_text(struct leat_text *text, const char *value) {
    leat_text_add_json(text, value, strlen(value));
}

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

static void add_number(struct leat_text *text, const char *value) {
    size_t n = strlen(value);
    int64_t whole;
    double real = 0;

    if (leat_parse_int(value, n, &whole) == 0) {
        leat_text_add(text, "%lld", (long long)whole);
        return;
    }
    (void)leat_parse_float(value, n, &real);
    if (real - real != 0) /* JSON has no such numbers; Python reads these */
        leat_text_add(text, "%s", real != real ? "NaN" : real > 0 ? "Infinity" : "-Infinity");
    else
        leat_text_add(text, "%.17g", real);
}

static void add_scalar(struct leat_text *text, const struct leat_arg *arg,
                       const struct leat_value *value) {
    bool is_true;

    if (!value->is_quoted && is_number(arg, value->text))
        add_number(text, value->text);
    else if (!value->is_quoted && arg && arg->type == LEAT_ARG_BOOL &&
             leat_parse_bool(value->text, strlen(value->text), &is_true) == 0)
        leat_text_add(text, "%s", is_true ? "true" : "false");
    else
        add_text(text, value->text);
}

static const struct leat_arg *find_arg(const struct leat_arg *args, const char *name) {
    while (args && args->name && strcmp(args->name, name) != 0)
        args++;
    return args && args->name ? args : NULL;
}

/* The value of an argument (arg NULL: of none that is known). Its depth is bounded by the value's.
 */
static void add_value(struct leat_text *text, const struct leat_arg *arg,
                      const struct leat_value *value);

static void add_map(struct leat_text *text, const struct leat_arg *args,
                    const struct leat_value *value) {
    leat_text_add(text, "{");
    for (size_t i = 0; i < value->n_items; i++) {
        leat_text_add(text, "%s", i ? ", " : "");
        add_text(text, value->keys[i].name);
        leat_text_add(text, ": ");
        add_value(text, find_arg(args, value->keys[i].name), &value->items[i]);
    }
    leat_text_add(text, "}");
}

/* A kind with its arguments: {"csv": {..}}. */
static void add_kind(struct leat_text *text, const struct leat_stage_ops *ops, const char *kind,
                     const struct leat_value *args) {
    add_text(text, kind);
    leat_text_add(text, ": ");
    if (args->kind == LEAT_VALUE_MAP)
        add_map(text, ops ? ops->args : NULL, args);
    else
        add_value(text, NULL, args);
}

static void add_own_stages(struct leat_text *text, const struct leat_value *stages) {
    leat_text_add(text, ", \"stages\": [");
    for (size_t i = 0; i < stages->n_items; i++) {
        const struct leat_value *stage = &stages->items[i];

        leat_text_add(text, "%s", i ? ", " : "");
        if (stage->kind != LEAT_VALUE_MAP || stage->n_items != 1) {
            add_value(text, NULL, stage);
            continue;
        }
        leat_text_add(text, "{");
        add_kind(text, leat_stage_find(stage->keys[0].name), stage->keys[0].name, &stage->items[0]);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]");
}

/* Sources of a source: maps of a kind to its arguments, and stages of its own beside it. */
static void add_source(struct leat_text *text, const struct leat_value *value) {
    const struct leat_value *stages = leat_value_get(value, "stages");
    int i = leat_value_source(value);

    if (i < 0) {
        add_value(text, NULL, value);
        return;
    }
    leat_text_add(text, "{");
    add_kind(text, leat_source_find(value->keys[i].name), value->keys[i].name, &value->items[i]);
    if (stages)
        add_own_stages(text, stages);
    leat_text_add(text, "}");
}

static void add_value(struct leat_text *text, const struct leat_arg *arg,
                      const struct leat_value *value) {
    if (value->kind == LEAT_VALUE_NULL) {
        leat_text_add(text, "null");
    } else if (value->kind == LEAT_VALUE_SCALAR) {
        add_scalar(text, arg, value);
    } else if (value->kind == LEAT_VALUE_MAP) {
        add_map(text, arg ? arg->group : NULL, value);
    } else {
        leat_text_add(text, "[");
        for (size_t i = 0; i < value->n_items; i++) {
            leat_text_add(text, "%s", i ? ", " : "");
            if (arg && arg->type == LEAT_ARG_SOURCES)
                add_source(text, &value->items[i]);
            else
                add_value(text, NULL, &value->items[i]);
        }
        leat_text_add(text, "]");
    }
}

static void add_args(struct leat_text *text, const struct leat_arg *args,
                     const struct leat_value *value) {
    if (value->kind == LEAT_VALUE_MAP)
        add_map(text, args, value);
    else
        add_value(text, NULL, value);
}

static void add_stage(struct leat_text *text, const struct leat_stage_ops *ops,
                      const struct leat_stage_spec *stage) {
    leat_text_add(text, "[");
    add_text(text, stage->kind);
    leat_text_add(text, ", ");
    add_args(text, ops ? ops->args : NULL, &stage->args);
    leat_text_add(text, "]");
}

static void add_spec(struct leat_text *text, const struct leat_spec *spec) {
    leat_text_add(text, "{\"name\": ");
    add_text(text, spec->name);
    leat_text_add(text, ",\n \"source\": ");
    add_stage(text, leat_source_find(spec->source.kind), &spec->source);
    leat_text_add(text, ",\n \"stages\": [");
    for (size_t i = 0; i < spec->n_stages; i++) {
        leat_text_add(text, "%s", i ? ",\n  " : "\n  ");
        add_stage(text, leat_stage_find(spec->stages[i].kind), &spec->stages[i]);
    }
    leat_text_add(text, "],\n \"options\": ");
    add_args(text, leat_stream_args, &spec->options);
    leat_text_add(text, "}\n");
}

/* The values of a program's environment become null. name: of what the value has the arguments. */
static void hide_secrets(const char *name, struct leat_value *value) {
    struct leat_value *map =
        name && strcmp(name, "exec") == 0 ? leat_value_get(value, "environment") : NULL;

    for (size_t i = 0; map && map->kind == LEAT_VALUE_MAP && i < map->n_items; i++)
        leat_value_deinit(&map->items[i]);
    for (size_t i = 0; i < value->n_items; i++)
        hide_secrets(value->keys ? value->keys[i].name : NULL, &value->items[i]);
}

static int spec_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    const struct leat_spec *spec = NULL;
    struct leat_spec *shown = NULL;
    struct leat_cli_streams streams;

    if (leat_cli_streams_load(arguments->operand, &streams, err) == 0)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    if (spec && leat_plan_check(spec, err) < 0)
        spec = NULL;
    if (spec && leat_spec_copy(spec, &shown) < 0) {
        leat_error_oom(err);
        spec = NULL;
    }
    if (shown && !arguments->secrets) {
        hide_secrets(shown->source.kind, &shown->source.args);
        for (size_t i = 0; i < shown->n_stages; i++)
            hide_secrets(shown->stages[i].kind, &shown->stages[i].args);
    }
    if (shown)
        add_spec(&text, shown);
    leat_spec_free(shown);
    leat_cli_streams_deinit(&streams);
    if (!spec)
        return leat_cli_error_status(err);
    if (text.data)
        (void)fwrite(text.data, 1, text.n_bytes, stdout);
    free(text.data);
    return LEAT_CLI_OK;
}

static const struct leat_cli_option spec_options[] = {
    {.name = "secrets",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(secrets),
     .help = "with the values of exec's environment, which are hidden else"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_spec_command = {
    .name = "spec",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "print a stream of a file as JSON",
    .description = "For programs that read no YAML: name, source and stages (each with its "
                   "arguments), options. Numbers and\ntruth values are such where the argument "
                   "is; all else is text. Paths are as they are written, against the\nfolder of "
                   "FILE. The values of exec's environment, which may be secrets, are null.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl spec titanic.yaml\n"
                "  leatctl spec --secrets titanic.yaml\n",
    .options = spec_options,
    .run = spec_main,
};
