/* bind.c: see bind.h. One function writes each type; one loop finds unknown and missing keys. */
#include "pipeline/spec/bind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/io/files.h"
#include "proto/base/text.h"

static const char *value_form(const struct leat_value *value) {
    switch (value->kind) {
    case LEAT_VALUE_LIST:
        return "a list";
    case LEAT_VALUE_MAP:
        return "a map";
    case LEAT_VALUE_SCALAR:
        return value->is_quoted ? "a quoted text" : "a scalar";
    default:
        return "nothing";
    }
}

int leat_config_default(const char **text, const char *fallback, struct leat_error *err) {
    if (*text)
        return 0;
    *text = strdup(fallback);
    return *text ? 0 : leat_error_oom(err);
}

static void *member_of(struct leat_config *config, const struct leat_arg *arg) {
    return (char *)config + arg->offset;
}

static int fail_expected(const struct leat_value *value, const char *what, struct leat_error *err) {
    if (value->kind == LEAT_VALUE_SCALAR)
        return leat_error_set(err, -EINVAL, "expected %s, got %s\"%.64s\"", what,
                              value->is_quoted ? "the text " : "", value->text);
    return leat_error_set(err, -EINVAL, "expected %s, got %s", what, value_form(value));
}

static int bind_bool(const struct leat_value *value, bool *target, struct leat_error *err) {
    if (value->kind != LEAT_VALUE_SCALAR || value->is_quoted ||
        leat_parse_bool(value->text, strlen(value->text), target) < 0)
        return fail_expected(value, "true or false", err);
    return 0;
}

static bool has_range(const struct leat_arg *arg) {
    return arg->min != 0 || arg->max != 0;
}

static bool is_outside(const struct leat_arg *arg, double number) {
    return has_range(arg) && !(number >= arg->min && number <= arg->max);
}

static int fail_outside(const struct leat_arg *arg, const char *text, struct leat_error *err) {
    char least[LEAT_SHOW_BYTES_MAX], most[LEAT_SHOW_BYTES_MAX];

    if (arg->type == LEAT_ARG_BYTES)
        return leat_error_set(err, -EINVAL, "%.32s is outside %s..%s", text,
                              leat_show_bytes((uint64_t)arg->min, least),
                              leat_show_bytes((uint64_t)arg->max, most));
    return leat_error_set(err, -EINVAL, "%.32s is outside %.0f..%.0f%s", text, arg->min, arg->max,
                          arg->type == LEAT_ARG_SECONDS ? " seconds" : "");
}

static int check_count(const struct leat_arg *arg, const char *what, size_t n,
                       struct leat_error *err) {
    return is_outside(arg, (double)n)
               ? leat_error_set(err, -EINVAL, "the %s has %zu items, which is outside %.0f..%.0f",
                                what, n, arg->min, arg->max)
               : 0;
}

/* Numbers with a unit may be quoted: nobody means a text by them. */
static int bind_number(const struct leat_arg *arg, const struct leat_value *value, int64_t *target,
                       struct leat_error *err) {
    static const struct {
        int (*parse)(const char *text, size_t n, int64_t *ret_value);
        const char *what;
    } numbers[] = {
        [LEAT_ARG_INT] = {leat_parse_int, "a whole number"},
        [LEAT_ARG_BYTES] = {leat_parse_bytes, "a number of bytes, such as 4096, 500MB or 4GiB"},
        [LEAT_ARG_SECONDS] = {leat_parse_seconds, "a time, such as 90s, 45m, 12h or 30d"},
    };
    int64_t number = 0;
    int r = -EINVAL;

    if (value->kind == LEAT_VALUE_SCALAR && !(value->is_quoted && arg->type == LEAT_ARG_INT))
        r = numbers[arg->type].parse(value->text, strlen(value->text), &number);
    if (r == -EINVAL)
        return fail_expected(value, numbers[arg->type].what, err);
    if (r == -ERANGE && !has_range(arg))
        return leat_error_set(err, -EINVAL, "%.32s does not fit into 64 bits", value->text);
    if (r == -ERANGE || is_outside(arg, (double)number))
        return fail_outside(arg, value->text, err);
    *target = number;
    return 0;
}

static int bind_float(const struct leat_arg *arg, const struct leat_value *value, double *target,
                      struct leat_error *err) {
    double number;

    if (value->kind != LEAT_VALUE_SCALAR || value->is_quoted ||
        leat_parse_float(value->text, strlen(value->text), &number) < 0)
        return fail_expected(value, "a number", err);
    if (is_outside(arg, number))
        return leat_error_set(err, -EINVAL, "%.32s is outside %g..%g", value->text, arg->min,
                              arg->max);
    *target = number;
    return 0;
}

static int check_text(enum leat_arg_type type, const char *text, struct leat_error *err) {
    bool is_name = type == LEAT_ARG_FIELD || type == LEAT_ARG_FIELDS;
    bool is_path = type == LEAT_ARG_PATH || type == LEAT_ARG_PATHS;
    size_t n = strlen(text);

    if (is_path && n == 0)
        return leat_error_set(err, -EINVAL, "is empty: expected a path");
    if (is_name && (n == 0 || n > LEAT_NAME_MAX))
        return leat_error_set(err, -EINVAL, "the name has %zu bytes; a name may have 1 to %d bytes",
                              n, LEAT_NAME_MAX);
    return 0;
}

static int bind_text(enum leat_arg_type type, const struct leat_value *value, char **target,
                     struct leat_error *err) {
    if (value->kind != LEAT_VALUE_SCALAR)
        return fail_expected(value, "a text", err);
    if (check_text(type, value->text, err) < 0)
        return -EINVAL;
    *target = strdup(value->text);
    return *target ? 0 : leat_error_oom(err);
}

static int bind_token(const struct leat_value *value, struct leat_token_value *target,
                      struct leat_error *err) {
    if (value->kind != LEAT_VALUE_SCALAR)
        return fail_expected(value, "a number, or a token's name in quotes,", err);
    if (!value->is_quoted &&
        leat_parse_float(value->text, strlen(value->text), &target->number) == 0)
        return 0;
    return bind_text(LEAT_ARG_TEXT, value, &target->name, err);
}

static int bind_choice(const struct leat_arg *arg, const struct leat_value *value, int *target,
                       struct leat_error *err) {
    char list[256] = "";
    size_t n = 0;

    for (int i = 0; arg->choices[i]; i++) {
        if (value->kind == LEAT_VALUE_SCALAR && strcmp(arg->choices[i], value->text) == 0) {
            *target = i;
            return 0;
        }
        n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", arg->choices[i]);
        if (n >= sizeof(list))
            n = sizeof(list) - 1;
    }
    return leat_error_set(err, -EINVAL, "\"%.64s\" is not one of %s",
                          value->kind == LEAT_VALUE_SCALAR ? value->text : value_form(value), list);
}

static int bind_dtype(const struct leat_arg *arg, const struct leat_value *value, int *target,
                      struct leat_error *err) {
    int choice, r = bind_choice(arg, value, &choice, err);

    if (r == 0)
        *target = (int)leat_dtype_parse(arg->choices[choice]);
    return r;
}

static int bind_texts(const struct leat_arg *arg, const struct leat_value *value,
                      struct leat_texts *target, struct leat_error *err) {
    const struct leat_value *items = value->kind == LEAT_VALUE_LIST ? value->items : value;
    size_t n_items = value->kind == LEAT_VALUE_LIST ? value->n_items : 1;
    int r;

    if (value->kind != LEAT_VALUE_LIST && value->kind != LEAT_VALUE_SCALAR)
        return fail_expected(value, "a list of texts", err);
    r = check_count(arg, "list", n_items, err);
    if (r < 0)
        return r;
    target->items = calloc(n_items ? n_items : 1, sizeof(*target->items));
    if (!target->items)
        return leat_error_oom(err);
    for (; target->n_items < n_items; target->n_items++) {
        const struct leat_value *item = &items[target->n_items];

        r = bind_text(arg->type, item, &target->items[target->n_items], err);
        if (r < 0) {
            leat_error_locate(err, NULL, item->line, item->column);
            leat_error_prefix(err, "[%zu]", target->n_items);
            return r;
        }
    }
    return 0;
}

static int bind_sources(const struct leat_arg *arg, const struct leat_value *value,
                        const struct leat_value **target, struct leat_error *err) {
    struct leat_named_args unused;

    if (value->kind != LEAT_VALUE_LIST)
        return fail_expected(value, "a list of sources", err);
    if (check_count(arg, "list", value->n_items, err) < 0)
        return -EINVAL;
    for (size_t i = 0; i < value->n_items; i++) {
        const struct leat_value *item = &value->items[i];

        if (leat_value_named_args(item, true, &unused))
            continue;
        fail_expected(item,
                      "one source with its arguments, such as `csv: {paths: [..]}`, and optionally "
                      "`stages: [..]`",
                      err);
        leat_error_locate(err, NULL, item->line, item->column);
        leat_error_prefix(err, "[%zu]", i);
        return -EINVAL;
    }
    *target = value;
    return 0;
}

static int bind_map(const struct leat_arg *arg, const struct leat_value *value,
                    struct leat_text_map *target, struct leat_error *err) {
    if (value->kind != LEAT_VALUE_MAP)
        return fail_expected(value, "a map", err);
    if (check_count(arg, "map", value->n_items, err) < 0)
        return -EINVAL;
    target->keys = calloc(value->n_items ? value->n_items : 1, sizeof(*target->keys));
    target->values = calloc(value->n_items ? value->n_items : 1, sizeof(*target->values));
    if (!target->keys || !target->values)
        return leat_error_oom(err);
    for (size_t i = 0; i < value->n_items; i++) {
        int r = bind_text(LEAT_ARG_TEXT, &value->items[i], &target->values[i], err);

        if (r < 0) {
            leat_error_locate(err, NULL, value->items[i].line, value->items[i].column);
            leat_error_prefix(err, "%s", value->keys[i].name);
            return r;
        }
        target->n_items = i + 1;
        target->keys[i] = strdup(value->keys[i].name);
        if (!target->keys[i])
            return leat_error_oom(err);
    }
    return 0;
}

static int bind_group(const struct leat_config *config, const struct leat_arg *arg,
                      const struct leat_value *value, struct leat_config *target,
                      struct leat_error *err) {
    int r;

    if (value->kind != LEAT_VALUE_MAP)
        return fail_expected(value, "a map", err);
    r = leat_config_bind(target, arg->group, value, config->file, value->line, value->column, err);
    target->group = arg->name;
    return r;
}

static int bind_arg(struct leat_config *config, const struct leat_arg *arg,
                    const struct leat_value *value, struct leat_error *err) {
    void *target = member_of(config, arg);

    switch (arg->type) {
    case LEAT_ARG_BOOL:
        return bind_bool(value, target, err);
    case LEAT_ARG_FLOAT:
        return bind_float(arg, value, target, err);
    case LEAT_ARG_TOKEN:
        return bind_token(value, target, err);
    case LEAT_ARG_FIELD:
    case LEAT_ARG_TEXT:
    case LEAT_ARG_PATH:
        return bind_text(arg->type, value, target, err);
    case LEAT_ARG_CHOICE:
        return bind_choice(arg, value, target, err);
    case LEAT_ARG_DTYPE:
        return bind_dtype(arg, value, target, err);
    case LEAT_ARG_TEXTS:
    case LEAT_ARG_FIELDS:
    case LEAT_ARG_PATHS:
        return bind_texts(arg, value, target, err);
    case LEAT_ARG_MAP:
        return bind_map(arg, value, target, err);
    case LEAT_ARG_INT:
    case LEAT_ARG_BYTES:
    case LEAT_ARG_SECONDS:
        return bind_number(arg, value, target, err);
    case LEAT_ARG_SOURCES:
        return bind_sources(arg, value, target, err);
    case LEAT_ARG_GROUP:
        return bind_group(config, arg, value, target, err);
    }
    return -EINVAL;
}

static const struct leat_arg *find_arg(const struct leat_arg *args, const char *name) {
    for (const struct leat_arg *arg = args; arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return arg;
    return NULL;
}

static int unknown_arg(const struct leat_config *config, const struct leat_value_key *key,
                       struct leat_error *err) {
    const char *names[LEAT_ARG_MAX];
    const char *nearest;
    size_t n = 0;

    for (const struct leat_arg *arg = config->args; arg->name && n < LEAT_ARG_MAX; arg++)
        names[n++] = arg->name;
    nearest = leat_nearest(key->name, names, n);
    if (nearest)
        leat_error_set(err, -EINVAL, "unknown key \"%.64s\"; did you mean \"%s\"?", key->name,
                       nearest);
    else if (n == 0)
        leat_error_set(err, -EINVAL, "unknown key \"%.64s\": no keys are possible here", key->name);
    else
        leat_error_set(err, -EINVAL, "unknown key \"%.64s\"; a possible key is \"%s\"", key->name,
                       names[0]);
    leat_error_locate(err, config->file, key->line, key->column);
    return -EINVAL;
}

static int bind_given(struct leat_config *config, struct leat_error *err) {
    const struct leat_value *values = config->values;

    if (values->kind == LEAT_VALUE_NULL)
        return 0;
    if (values->kind != LEAT_VALUE_MAP) {
        fail_expected(values, "a map of arguments", err);
        leat_error_locate(err, config->file, values->line, values->column);
        return -EINVAL;
    }
    for (size_t i = 0; i < values->n_items; i++) {
        const struct leat_arg *arg = find_arg(config->args, values->keys[i].name);
        int r;

        if (!arg)
            return unknown_arg(config, &values->keys[i], err);
        if (values->items[i].kind == LEAT_VALUE_NULL)
            continue; /* `key:` with nothing behind it stands for the default */
        r = bind_arg(config, arg, &values->items[i], err);
        if (r < 0) {
            leat_error_locate(err, config->file, values->items[i].line, values->items[i].column);
            leat_error_prefix(err, "%s", arg->name);
            return r;
        }
        config->given |= UINT64_C(1) << (arg - config->args);
    }
    return 0;
}

static int bind_fallback(struct leat_config *config, const struct leat_arg *arg,
                         struct leat_error *err) {
    struct leat_value value = {.kind = LEAT_VALUE_SCALAR, .text = (char *)(uintptr_t)arg->fallback};
    int r;

    if (!arg->fallback)
        return 0;
    r = bind_arg(config, arg, &value, err);
    if (r < 0)
        leat_error_prefix(err, "(default of %s)", arg->name);
    return r;
}

int leat_config_bind(struct leat_config *config, const struct leat_arg *args,
                     const struct leat_value *values, const char *file, uint32_t line,
                     uint32_t column, struct leat_error *err) {
    int r;

    config->args = args;
    config->values = values;
    config->file = file;
    config->line = line;
    config->column = column;
    r = bind_given(config, err);
    for (const struct leat_arg *arg = args; r == 0 && arg->name; arg++) {
        if (config->given & (UINT64_C(1) << (arg - args)))
            continue;
        if (arg->is_required)
            r = leat_config_error(config, NULL, err, "%s is missing: %s", arg->name, arg->help);
        else
            r = bind_fallback(config, arg, err);
    }
    return r;
}

static void free_texts(struct leat_texts *texts) {
    for (size_t i = 0; i < texts->n_items; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (struct leat_texts){.items = NULL};
}

static void free_map(struct leat_text_map *map) {
    for (size_t i = 0; i < map->n_items; i++) {
        free(map->keys[i]);
        free(map->values[i]);
    }
    free(map->keys);
    free(map->values);
    *map = (struct leat_text_map){.keys = NULL};
}

void leat_config_deinit(struct leat_config *config) {
    for (const struct leat_arg *arg = config->args; arg && arg->name; arg++) {
        void *target = member_of(config, arg);

        switch (arg->type) {
        case LEAT_ARG_FIELD:
        case LEAT_ARG_TEXT:
        case LEAT_ARG_PATH:
            free(*(char **)target);
            *(char **)target = NULL;
            break;
        case LEAT_ARG_TEXTS:
        case LEAT_ARG_FIELDS:
        case LEAT_ARG_PATHS:
            free_texts(target);
            break;
        case LEAT_ARG_MAP:
            free_map(target);
            break;
        case LEAT_ARG_TOKEN:
            free(((struct leat_token_value *)target)->name);
            ((struct leat_token_value *)target)->name = NULL;
            break;
        case LEAT_ARG_GROUP:
            leat_config_deinit(target);
            break;
        default:
            break;
        }
    }
}

bool leat_config_given(const struct leat_config *config, const char *name) {
    const struct leat_arg *arg = find_arg(config->args, name);

    return arg && (config->given & (UINT64_C(1) << (arg - config->args)));
}

void leat_config_place_error(const struct leat_config *config, const char *arg,
                             struct leat_error *err) {
    const struct leat_value *value =
        arg && config->values ? leat_value_get(config->values, arg) : NULL;

    if (arg)
        leat_error_prefix(err, "%s", arg);
    if (config->group)
        leat_error_prefix(err, "%s", config->group);
    if (value)
        leat_error_locate(err, config->file, value->line, value->column);
    else
        leat_error_locate(err, config->file, config->line, config->column);
}

int leat_config_error(const struct leat_config *config, const char *arg, struct leat_error *err,
                      const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    leat_error_setv(err, -EINVAL, format, ap);
    va_end(ap);
    leat_config_place_error(config, arg, err);
    return -EINVAL;
}

char *leat_config_path(const struct leat_config *config, const char *path) {
    return leat_files_beside(config->file, path);
}
