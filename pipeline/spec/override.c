/* override.c: see override.h. First it finds the map that the value belongs to (the document, a
 * stream, the arguments of a stage); then the names that are left lead into that map. */
#include "pipeline/spec/override.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/spec/stream_options.h"
#include "pipeline/spec/yaml.h"

#define MAX_CANDIDATES 256
#define STREAMS        "streams"

struct override {
    const char *text; /* all of it, for errors */
    char *path;       /* a copy of what is before '=' */
    const char *rest; /* the part of the path that is not yet followed */
    struct leat_value *map;
    uint32_t line, column; /* place of what the map belongs to */
    struct leat_error *err;
};

__attribute__((format(printf, 2, 3))) static int fail_override(const struct override *override,
                                                               const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    leat_error_setv(override->err, -EINVAL, format, ap);
    va_end(ap);
    return -EINVAL;
}

static const char *name_of_stage(const struct leat_value *item) {
    struct leat_named_args named;

    (void)leat_value_named_args(item, false, &named);
    return named.name;
}

static int fail_unknown(const struct override *override, const char *what, const char *name,
                        size_t n, const char *const *names, size_t n_names) {
    const char *nearest;
    char word[LEAT_NAME_MAX + 1];

    (void)snprintf(word, sizeof(word), "%.*s", (int)(n < sizeof(word) ? n : sizeof(word) - 1),
                   name);
    nearest = leat_nearest(word, names, n_names);
    return fail_override(override, "\"%.200s\": there is no %s \"%s\"%s%s%s", override->path, what,
                         word,
                         nearest       ? "; did you mean \""
                         : n_names > 0 ? "; there is \""
                                       : "",
                         nearest       ? nearest
                         : n_names > 0 ? names[0]
                                       : "",
                         nearest       ? "\"?"
                         : n_names > 0 ? "\""
                                       : "");
}

/* ---- streams ---- */

/* Enters the stream whose name the rest begins with; the longest, since names may have dots. */
static int enter_stream(struct override *override, const struct leat_value *streams) {
    const char *names[MAX_CANDIDATES];
    size_t n_names = 0, n_longest = 0;

    if (!streams || streams->kind != LEAT_VALUE_MAP)
        return fail_override(override, "\"%.200s\": the file has no streams", override->path);
    for (size_t i = 0; i < streams->n_items; i++) {
        const char *name = streams->keys[i].name;
        size_t n = strlen(name);

        if (n_names < MAX_CANDIDATES)
            names[n_names++] = name;
        if (n < n_longest || strncmp(override->rest, name, n) != 0 || override->rest[n] != '.')
            continue;
        n_longest = n;
        override->map = &streams->items[i];
        override->line = streams->keys[i].line;
        override->column = streams->keys[i].column;
    }
    if (n_longest == 0)
        return fail_unknown(override, "stream", override->rest, strcspn(override->rest, "."), names,
                            n_names);
    override->rest += n_longest + 1;
    return 0;
}

/* ---- stages ---- */

/* Enters the arguments in {KIND: {args}} or KIND, which becomes a map then. */
static int enter_arguments(struct override *override, struct leat_value *item) {
    struct leat_value *args;
    char *kind;
    int r;

    override->line = item->line;
    override->column = item->column;
    if (item->kind == LEAT_VALUE_SCALAR) {
        kind = item->text;
        item->text = NULL;
        leat_value_deinit(item);
        item->line = override->line;
        item->column = override->column;
        r = leat_value_insert_at(item, kind, override->line, override->column, &args);
        free(kind);
        if (r < 0)
            return leat_error_oom(override->err);
    }
    if (item->kind != LEAT_VALUE_MAP || item->n_items != 1)
        return fail_override(override, "\"%.200s\": this stage or source has no arguments",
                             override->path);
    override->map = &item->items[0];
    return 0;
}

/* "batch." or "pad[2].": the stage's name, and which of that name (0: not said). 0: it is neither.
 */
static size_t split_stage(const char *rest, uint64_t *ret_ordinal, size_t *ret_n_all) {
    size_t n = strcspn(rest, ".[");
    char *end = NULL;

    *ret_ordinal = 0;
    *ret_n_all = n + 1;
    if (n == 0 || rest[n] == '\0')
        return 0;
    if (rest[n] == '.')
        return n;
    if (rest[n + 1] < '1' || rest[n + 1] > '9')
        return 0;
    *ret_ordinal = strtoull(rest + n + 1, &end, 10);
    *ret_n_all = (size_t)(end - rest) + 2;
    return end[0] == ']' && end[1] == '.' ? n : 0;
}

static int count_stages(const struct leat_value *stages, const char *name, size_t n,
                        uint64_t ordinal, struct leat_value **ret_found) {
    int n_found = 0;

    for (size_t i = 0; i < stages->n_items; i++) {
        const char *kind = name_of_stage(&stages->items[i]);

        if (strlen(kind) != n || memcmp(kind, name, n) != 0)
            continue;
        if ((uint64_t)++n_found == (ordinal ? ordinal : 1))
            *ret_found = &stages->items[i];
    }
    return n_found;
}

static int unknown_stage(const struct override *override, const struct leat_value *stages,
                         size_t n) {
    const char *names[MAX_CANDIDATES];
    size_t n_names = 0;

    for (size_t i = 0; i < stages->n_items && n_names < MAX_CANDIDATES; i++)
        names[n_names++] = name_of_stage(&stages->items[i]);
    return fail_unknown(override, "stage", override->rest, n, names, n_names);
}

static int enter_stage(struct override *override, struct leat_value *stages, size_t n,
                       uint64_t ordinal) {
    struct leat_value *found = NULL;
    int n_found = count_stages(stages, override->rest, n, ordinal, &found);

    if (n_found == 0)
        return unknown_stage(override, stages, n);
    if (!found)
        return fail_override(override, "\"%.200s\": the stream has only %d stage%s of that name",
                             override->path, n_found, n_found == 1 ? "" : "s");
    if (n_found > 1 && ordinal == 0)
        return fail_override(
            override, "\"%.200s\": %d stages have that name: write %.*s[1] to %.*s[%d]",
            override->path, n_found, (int)n, override->rest, (int)n, override->rest, n_found);
    return enter_arguments(override, found);
}

/* Enters the source, a stage, or an option of a stream. */
static int enter_part(struct override *override) {
    struct leat_value *stream = override->map, *part;
    uint64_t ordinal;
    size_t n_all, n = split_stage(override->rest, &ordinal, &n_all);
    int r;

    if (strncmp(override->rest, "stages", 6) == 0 || strcmp(override->rest, "source") == 0)
        return fail_override(override,
                             "\"%.200s\" is not the name of an argument: write source.ARG, "
                             "STAGE.ARG or STAGE[2].ARG",
                             override->path);
    if (n == 0) /* an option */
        return 0;
    if (n == strlen("source") && strncmp(override->rest, "source.", n + 1) == 0) {
        part = leat_value_get(stream, "source");
        r = part ? enter_arguments(override, part)
                 : fail_override(override, "\"%.200s\": the stream has no source", override->path);
    } else {
        struct leat_value none = {.kind = LEAT_VALUE_LIST};

        part = leat_value_get(stream, "stages");
        part = part && part->kind == LEAT_VALUE_LIST ? part : &none;
        if (ordinal == 0 && n < LEAT_NAME_MAX) { /* cache.path: an option that is a map */
            char name[LEAT_NAME_MAX + 1];

            (void)snprintf(name, sizeof(name), "%.*s", (int)n, override->rest);
            for (const struct leat_arg *arg = leat_stream_args; arg->name; arg++)
                if (strcmp(arg->name, name) == 0)
                    return 0;
        }
        r = enter_stage(override, part, n, ordinal);
    }
    override->rest += n_all;
    return r;
}

/* ---- the value ---- */

/* Gives the value that place, as it has none of its own in the file. */
static void place_value(struct leat_value *value, uint32_t line, uint32_t column) {
    value->line = line;
    value->column = column;
    for (size_t i = 0; i < value->n_items; i++) {
        if (value->kind == LEAT_VALUE_MAP) {
            value->keys[i].line = line;
            value->keys[i].column = column;
        }
        place_value(&value->items[i], line, column);
    }
}

static int put_value(struct override *override, struct leat_value *item,
                     struct leat_value *take_value) {
    if (item->line > 0) {
        override->line = item->line;
        override->column = item->column;
    }
    place_value(take_value, override->line, override->column);
    leat_value_deinit(item);
    *item = *take_value;
    *take_value = (struct leat_value){.kind = LEAT_VALUE_NULL};
    return 0;
}

/* The item of that name in the map that was entered last, made if it is not there. */
static int enter_name(struct override *override, const char *name, struct leat_value **ret_item) {
    struct leat_value *map = override->map;

    if (map->kind != LEAT_VALUE_MAP && map->kind != LEAT_VALUE_NULL)
        return fail_override(
            override,
            "\"%.200s\": \"%.64s\" must be a key of a map, but the value before it is not a map",
            override->path, name);
    *ret_item = leat_value_get(map, name);
    if (*ret_item)
        return 0;
    return leat_value_insert_at(map, name, override->line, override->column, ret_item) < 0
               ? leat_error_oom(override->err)
               : 0;
}

static int set_value(struct override *override, struct leat_value *take_value) {
    char *name = (char *)(uintptr_t) override->rest, *end;
    struct leat_value *item;

    for (int n_names = 1;; n_names++) {
        end = strchr(name, '.');
        if (end)
            *end = '\0';
        if (!name[0] || n_names > LEAT_OVERRIDE_MAX_NAMES)
            return fail_override(override, "\"%.200s\": %s", override->text,
                                 name[0] ? "the path has too many parts" : "the path lacks a name");
        if (enter_name(override, name, &item) < 0)
            return override->err->code;
        if (!end)
            return put_value(override, item, take_value);
        *end = '.';
        override->map = item;
        name = end + 1;
    }
}

static int apply_override(struct override *override, struct leat_value *document,
                          struct leat_value *take_value) {
    size_t n = strlen(STREAMS ".");
    int r = 0;

    override->map = document;
    override->rest = override->path;
    if (strcmp(override->path, STREAMS) == 0)
        return fail_override(
            override,
            "\"" STREAMS
            "\" cannot be replaced as a whole: set its parts, such as streams.NAME.seed=1");
    if (strncmp(override->path, STREAMS ".", n) == 0) {
        override->rest += n;
        r = enter_stream(override, leat_value_get(document, STREAMS));
        if (r == 0)
            r = enter_part(override);
    }
    return r == 0 ? set_value(override, take_value) : r;
}

static int split_text(struct override *override, struct leat_value *ret_value) {
    const char *equals = strchr(override->text, '=');
    size_t n = strlen(override->text);
    int r;

    if (n > LEAT_OVERRIDE_MAX_BYTES)
        return fail_override(override, "the text has %zu bytes; at most %d are possible", n,
                             LEAT_OVERRIDE_MAX_BYTES);
    if (!equals || equals == override->text)
        return fail_override(override,
                             "\"%.200s\" does not have the form PATH=VALUE, such as workers=4",
                             override->text);
    override->path = strndup(override->text, (size_t)(equals - override->text));
    if (!override->path)
        return leat_error_oom(override->err);
    r = leat_yaml_parse(equals + 1, n - (size_t)(equals + 1 - override->text), NULL, ret_value,
                        override->err);
    if (r == 0 && ret_value->kind == LEAT_VALUE_NULL)
        r = fail_override(override, "\"%.200s\": a value is missing after =", override->text);
    return r;
}

int leat_override_apply(struct leat_value *document, const char *text, struct leat_error *err) {
    struct leat_value value = {.kind = LEAT_VALUE_NULL};
    struct leat_error own = LEAT_ERROR_INIT;
    struct override override = {.text = text, .err = &own};
    int r = split_text(&override, &value);

    if (r == 0)
        r = apply_override(&override, document, &value);
    leat_value_deinit(&value);
    free(override.path);
    if (r == 0)
        return 0;
    leat_error_prefix(&own, "--set");
    if (!err->code)
        *err = own;
    return r;
}
