/* bind.c: values against a table of arguments. One function writes each type; one loop finds
 * unknown and missing keys. */
#include "pipeline/spec/bind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/io/files.h"
#include "proto/base/shown.h"

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

static void *member(struct leat_config *config, const struct leat_arg *arg) {
    return (char *)config + arg->offset;
}

static int expected(const struct leat_value *value, const char *what, struct leat_error *err) {
    if (value->kind == LEAT_VALUE_SCALAR)
        return leat_error_set(err, -EINVAL, "expected %s, got %s\"%.64s\"", what,
                              value->is_quoted ? "the text " : "", value->text);
    return leat_error_set(err, -EINVAL, "expected %s, got %s", what, value_form(value));
}

static int bind_bool(const struct leat_value *value, bool *target, struct leat_error *err) {
    if (value->kind != LEAT_VALUE_SCALAR || value->is_quoted ||
        leat_parse_bool(value->text, strlen(value->text), target) < 0)
        return expected(value, "true or false", err);
    return 0;
}

static int bind_int(const struct leat_arg *arg, const struct leat_value *value, int64_t *target,
                    struct leat_error *err) {
    int64_t number;
    int r;

    if (value->kind != LEAT_VALUE_SCALAR || value->is_quoted)
        return expected(value, "a whole number", err);
    r = leat_parse_int(value->text, strlen(value->text), &number);
    if (r == -EINVAL)
        return expected(value, "a whole number", err);
    if (r == -ERANGE && arg->min == 0 && arg->max == 0)
        return leat_error_set(err, -EINVAL, "%.32s does not fit 64 bits", value->text);
    if (r == -ERANGE || ((arg->min != 0 || arg->max != 0) &&
                         ((double)number < arg->min || (double)number > arg->max)))
        return leat_error_set(err, -EINVAL, "%.32s is outside %.0f..%.0f", value->text, arg->min,
                              arg->max);
    *target = number;
    return 0;
}

/* Numbers with a unit may be quoted: nobody means a text. */
static int bind_quantity(const struct leat_arg *arg, const struct leat_value *value,
                         int64_t *target, struct leat_error *err) {
    bool is_bytes = arg->type == LEAT_ARG_BYTES;
    char least[LEAT_SHOW_BYTES_MAX], most[LEAT_SHOW_BYTES_MAX];
    const char *what =
        is_bytes ? "a number of bytes, as 4096, 500MB or 4GiB" : "a time, as 90s, 45m, 12h or 30d";
    int64_t number = 0;
    int r = -EINVAL;

    if (value->kind == LEAT_VALUE_SCALAR)
        r = (is_bytes ? leat_parse_bytes : leat_parse_seconds)(value->text, strlen(value->text),
                                                               &number);
    if (r == -EINVAL)
        return expected(value, what, err);
    if (r == -ERANGE && arg->min == 0 && arg->max == 0)
        return leat_error_set(err, -EINVAL, "%.32s does not fit 64 bits", value->text);
    if (r == -ERANGE || ((arg->min != 0 || arg->max != 0) &&
                         ((double)number < arg->min || (double)number > arg->max)))
        return is_bytes ? leat_error_set(err, -EINVAL, "%.32s is outside %s..%s", value->text,
                                         leat_show_bytes((uint64_t)arg->min, least),
                                         leat_show_bytes((uint64_t)arg->max, most))
                        : leat_error_set(err, -EINVAL, "%.32s is outside %.0f..%.0f seconds",
                                         value->text, arg->min, arg->max);
    *target = number;
    return 0;
}

static int bind_float(const struct leat_arg *arg, const struct leat_value *value, double *target,
                      struct leat_error *err) {
    double number;

    if (value->kind != LEAT_VALUE_SCALAR || value->is_quoted ||
        leat_parse_float(value->text, strlen(value->text), &number) < 0)
        return expected(value, "a number", err);
    if ((arg->min != 0 || arg->max != 0) && !(number >= arg->min && number <= arg->max))
        return leat_error_set(err, -EINVAL, "%.32s is outside %g..%g", value->text, arg->min,
                              arg->max);
    *target = number;
    return 0;
}

static int bind_text(const struct leat_value *value, const char **target, struct leat_error *err);

static int bind_token(const struct leat_value *value, struct leat_token_value *target,
                      struct leat_error *err) {
    const char *name = NULL;
    int r;

    if (value->kind == LEAT_VALUE_SCALAR && !value->is_quoted &&
        leat_parse_float(value->text, strlen(value->text), &target->number) == 0)
        return 0;
    if (value->kind != LEAT_VALUE_SCALAR)
        return expected(value, "a number, or a token's name in quotes,", err);
    r = bind_text(value, &name, err);
    target->name = (char *)(uintptr_t)name;
    return r;
}

static int bind_text(const struct leat_value *value, const char **target, struct leat_error *err) {
    char *copy;

    if (value->kind != LEAT_VALUE_SCALAR)
        return expected(value, "a text", err);
    copy = strdup(value->text);
    if (!copy)
        return leat_error_oom(err);
    *target = copy;
    return 0;
}

static int check_path(const char *path, struct leat_error *err) {
    return path[0] ? 0 : leat_error_set(err, -EINVAL, "is empty: expected a path");
}

static int check_name(const char *name, struct leat_error *err) {
    size_t n = strlen(name);

    if (n == 0 || n > LEAT_NAME_MAX)
        return leat_error_set(err, -EINVAL, "a name of %zu bytes is outside 1..%d", n,
                              LEAT_NAME_MAX);
    return 0;
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
    return leat_error_set(err, -EINVAL, "\"%.64s\" is none of %s",
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

    if (value->kind != LEAT_VALUE_LIST && value->kind != LEAT_VALUE_SCALAR)
        return expected(value, "a list of texts", err);
    if ((arg->min != 0 || arg->max != 0) &&
        ((double)n_items < arg->min || (double)n_items > arg->max))
        return leat_error_set(err, -EINVAL, "a list of %zu is outside %.0f..%.0f", n_items,
                              arg->min, arg->max);
    target->items = calloc(n_items ? n_items : 1, sizeof(*target->items));
    if (!target->items)
        return leat_error_oom(err);
    for (size_t i = 0; i < n_items; i++) {
        const char *text = NULL;
        int r = bind_text(&items[i], &text, err);

        if (r == 0) {
            target->items[target->n_items++] = (char *)(uintptr_t)text;
            if (arg->type == LEAT_ARG_FIELDS)
                r = check_name(text, err);
            else if (arg->type == LEAT_ARG_PATHS)
                r = check_path(text, err);
        }
        if (r < 0) {
            leat_error_locate(err, NULL, items[i].line, items[i].column);
            leat_error_prefix(err, "[%zu]", i);
            return r;
        }
    }
    return 0;
}

static int bind_sources(const struct leat_arg *arg, const struct leat_value *value,
                        const struct leat_value **target, struct leat_error *err) {
    if (value->kind != LEAT_VALUE_LIST)
        return expected(value, "a list of sources", err);
    if ((double)value->n_items < arg->min || (double)value->n_items > arg->max)
        return leat_error_set(err, -EINVAL, "a list of %zu is outside %.0f..%.0f", value->n_items,
                              arg->min, arg->max);
    for (size_t i = 0; i < value->n_items; i++) {
        const struct leat_value *item = &value->items[i];

        if (item->kind == LEAT_VALUE_SCALAR || leat_value_source(item) >= 0)
            continue;
        expected(item,
                 "one source with its arguments, such as `csv: {paths: [..]}`, and at most "
                 "`stages: [..]` beside it",
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
        return expected(value, "a map", err);
    if ((arg->min != 0 || arg->max != 0) &&
        ((double)value->n_items < arg->min || (double)value->n_items > arg->max))
        return leat_error_set(err, -EINVAL, "a map of %zu is outside %.0f..%.0f", value->n_items,
                              arg->min, arg->max);
    target->keys = calloc(value->n_items ? value->n_items : 1, sizeof(*target->keys));
    target->values = calloc(value->n_items ? value->n_items : 1, sizeof(*target->values));
    if (!target->keys || !target->values)
        return leat_error_oom(err);
    for (size_t i = 0; i < value->n_items; i++) {
        const char *text = NULL;
        int r = bind_text(&value->items[i], &text, err);

        if (r < 0) {
            leat_error_locate(err, NULL, value->items[i].line, value->items[i].column);
            leat_error_prefix(err, "%s", value->keys[i].name);
            return r;
        }
        target->n_items = i + 1;
        target->values[i] = (char *)(uintptr_t)text;
        target->keys[i] = strdup(value->keys[i].name);
        if (!target->keys[i])
            return leat_error_oom(err);
    }
    return 0;
}

static int bind_name(const struct leat_value *value, const char **target, struct leat_error *err) {
    int r = bind_text(value, target, err);

    return r < 0 ? r : check_name(*target, err);
}

static int bind_path(const struct leat_value *value, const char **target, struct leat_error *err) {
    int r = bind_text(value, target, err);

    return r < 0 ? r : check_path(*target, err);
}

static int bind_group(const struct leat_config *config, const struct leat_arg *arg,
                      const struct leat_value *value, struct leat_config *target,
                      struct leat_error *err) {
    int r;

    if (value->kind != LEAT_VALUE_MAP)
        return expected(value, "a map", err);
    r = leat_config_bind(target, arg->group, value, config->file, value->line, value->column, err);
    target->group = arg->name;
    return r;
}

static int bind_arg(struct leat_config *config, const struct leat_arg *arg,
                    const struct leat_value *value, struct leat_error *err) {
    void *target = member(config, arg);

    switch (arg->type) {
    case LEAT_ARG_BOOL:
        return bind_bool(value, target, err);
    case LEAT_ARG_INT:
        return bind_int(arg, value, target, err);
    case LEAT_ARG_FLOAT:
        return bind_float(arg, value, target, err);
    case LEAT_ARG_TOKEN:
        return bind_token(value, target, err);
    case LEAT_ARG_FIELD:
        return bind_name(value, target, err);
    case LEAT_ARG_TEXT:
        return bind_text(value, target, err);
    case LEAT_ARG_PATH:
        return bind_path(value, target, err);
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
    case LEAT_ARG_BYTES:
    case LEAT_ARG_SECONDS:
        return bind_quantity(arg, value, target, err);
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
        leat_error_set(err, -EINVAL, "unknown key \"%.64s\"; none are known here", key->name);
    else
        leat_error_set(err, -EINVAL, "unknown key \"%.64s\"; the first known is \"%s\"", key->name,
                       names[0]);
    leat_error_locate(err, config->file, key->line, key->column);
    return -EINVAL;
}

static int bind_given(struct leat_config *config, struct leat_error *err) {
    const struct leat_value *values = config->values;

    if (values->kind == LEAT_VALUE_NULL)
        return 0;
    if (values->kind != LEAT_VALUE_MAP) {
        expected(values, "a map of arguments", err);
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
        void *target = member(config, arg);

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

int leat_config_error(const struct leat_config *config, const char *arg, struct leat_error *err,
                      const char *format, ...) {
    const struct leat_value *value =
        arg && config->values ? leat_value_get(config->values, arg) : NULL;
    va_list ap;

    va_start(ap, format);
    leat_error_setv(err, -EINVAL, format, ap);
    va_end(ap);
    if (arg)
        leat_error_prefix(err, "%s", arg);
    if (config->group)
        leat_error_prefix(err, "%s", config->group);
    if (value)
        leat_error_locate(err, config->file, value->line, value->column);
    else
        leat_error_locate(err, config->file, config->line, config->column);
    return -EINVAL;
}

char *leat_config_path(const struct leat_config *config, const char *path) {
    char *directory, *joined;

    if (!config->file)
        return strdup(path);
    directory = leat_files_directory(config->file);
    if (!directory)
        return NULL;
    joined = leat_files_join(directory, path);
    free(directory);
    return joined;
}
