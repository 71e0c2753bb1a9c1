#include "daemon/config/settings_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/io/opener.h"
#include "pipeline/spec/yaml.h"

#define STREAMS_KEY "streams"
#define SUFFIX      ".yaml"

/* ---- the folder ---- */

static int is_one(const struct dirent *entry) {
    size_t n = strlen(entry->d_name);

    return entry->d_name[0] != '.' && n > strlen(SUFFIX) &&
           strcmp(entry->d_name + n - strlen(SUFFIX), SUFFIX) == 0;
}

/* Compares bytes, independent of the locale. */
static int compare_entries(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

int leat_settings_read_text(const char *path, size_t max_bytes, char **ret_text,
                            size_t *ret_n_bytes, struct leat_error *err) {
    struct leat_error why = LEAT_ERROR_INIT;
    int r = leat_opener_read(&leat_opener_any, path, max_bytes, ret_text, ret_n_bytes, &why);
    size_t n = strlen(path);

    if (r < 0 && r != -ENOMEM) {
        leat_error_set(err, r, "%s", /* which names it, too */
                       strncmp(why.message, path, n) == 0 && why.message[n] == ':'
                           ? why.message + n + 2
                           : why.message);
        leat_error_locate(err, path, 0, 0);
    } else if (r < 0) {
        leat_error_oom(err);
    }
    if (r == 0 && strspn(*ret_text, " \t\r\n") == *ret_n_bytes) {
        free(*ret_text);
        r = leat_error_set(err, -EINVAL,
                           "the file is empty; for a file without streams, write `" STREAMS_KEY
                           ": {}` or a comment");
        leat_error_locate(err, path, 1, 1);
    }
    return r;
}

static int check_keys(const struct leat_settings_file *file, struct leat_error *err) {
    const struct leat_value *document = &file->document;

    if (document->kind == LEAT_VALUE_NULL)
        return 0;
    if (document->kind != LEAT_VALUE_MAP) {
        leat_error_set(err, -EINVAL, "this must be a map with the key `" STREAMS_KEY "`");
        leat_error_locate(err, file->path, document->line, document->column);
        return -EINVAL;
    }
    for (size_t i = 0; i < document->n_items; i++) {
        const struct leat_value_key *key = &document->keys[i];

        if (strcmp(key->name, STREAMS_KEY) == 0)
            continue;
        leat_error_set(err, -EINVAL,
                       "unknown key \"%.64s\": a file in this folder may contain only `" STREAMS_KEY
                       "`; move settings to the main file",
                       key->name);
        leat_error_locate(err, file->path, key->line, key->column);
        return -EINVAL;
    }
    return 0;
}

static int read_file(struct leat_settings_file *file, const char *folder, const char *name,
                     size_t *n_left, struct leat_error *err) {
    size_t n_bytes;
    char *text;
    int r;

    if (asprintf(&file->path, "%s/%s", folder, name) < 0) {
        file->path = NULL;
        return leat_error_oom(err);
    }
    r = leat_settings_read_text(file->path,
                                *n_left < LEAT_YAML_MAX_BYTES ? *n_left : LEAT_YAML_MAX_BYTES,
                                &text, &n_bytes, err);
    if (r < 0)
        return r;
    *n_left -= n_bytes;
    r = leat_yaml_parse(text, n_bytes, file->path, &file->document, err);
    free(text);
    return r == 0 ? check_keys(file, err) : r;
}

static int read_files(struct leat_settings_files *files, const char *folder,
                      struct dirent **entries, size_t n, struct leat_error *err) {
    size_t n_left = LEAT_SETTINGS_MAX_BYTES;
    int r = 0;

    if (n > LEAT_SETTINGS_MAX_FILES)
        return leat_error_set(err, -E2BIG,
                              "%s contains %zu files *" SUFFIX ", but leatd reads at most %d",
                              folder, n, LEAT_SETTINGS_MAX_FILES);
    files->items = calloc(n + 1, sizeof(*files->items));
    if (!files->items)
        return leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < n; i++) {
        files->n = i + 1;
        r = read_file(&files->items[i], folder, entries[i]->d_name, &n_left, err);
    }
    return r;
}

int leat_settings_files_read(struct leat_settings_files *files, const char *folder,
                             struct leat_error *err) {
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_one, compare_entries);
    int r;

    if (n < 0)
        return -errno;
    r = read_files(files, folder, entries, (size_t)n, err);
    while (n > 0)
        free(entries[--n]);
    free(entries);
    return r;
}

void leat_settings_files_deinit(struct leat_settings_files *files) {
    for (size_t i = 0; i < files->n; i++) {
        free(files->items[i].path);
        leat_value_deinit(&files->items[i].document);
    }
    free(files->items);
    *files = (struct leat_settings_files){.n = 0};
}

static bool has_stream(const struct leat_value *document, const char *name) {
    const struct leat_value *streams = leat_value_get(document, STREAMS_KEY);

    if (!streams || streams->kind != LEAT_VALUE_MAP)
        return false;
    for (size_t i = 0; i < streams->n_items; i++) {
        size_t n = strlen(streams->keys[i].name);

        if (strncmp(streams->keys[i].name, name, n) == 0 && name[n] == '.')
            return true;
    }
    return false;
}

struct leat_value *leat_settings_files_find(struct leat_settings_files *files,
                                            struct leat_value *document, const char *override) {
    const char *name = override + strlen(STREAMS_KEY ".");

    if (has_stream(document, name))
        return document;
    for (size_t i = 0; i < files->n; i++)
        if (has_stream(&files->items[i].document, name))
            return &files->items[i].document;
    return document;
}

/* ---- the streams ---- */

int leat_settings_streams_add(struct leat_settings_streams *streams,
                              const struct leat_value *document, const char *file,
                              struct leat_error *err) {
    struct leat_spec **specs = NULL, **all;
    size_t n = 0;
    int r = leat_yaml_streams(document, file, &specs, &n, err);

    if (r < 0 || n == 0) {
        free(specs);
        return r;
    }
    all = reallocarray(streams->specs, streams->n + n, sizeof(struct leat_spec *));
    if (!all) {
        while (n > 0)
            leat_spec_free(specs[--n]);
        free(specs);
        return leat_error_oom(err);
    }
    memcpy((void *)(all + streams->n), (const void *)specs, n * sizeof(*specs));
    streams->specs = all;
    streams->n += n;
    free(specs);
    return 0;
}

struct named {
    const struct leat_spec *spec;
    size_t index;
};

static int compare_names(const void *a, const void *b) {
    const struct named *first = a, *second = b;
    int order = strcmp(first->spec->name, second->spec->name);

    if (order != 0)
        return order;
    return (first->index > second->index) - (first->index < second->index);
}

/* Reports the first stream, in the order of the files, whose name was declared before. */
static int check_once(const struct named *names, size_t n, struct leat_error *err) {
    const struct named *second = NULL, *first = NULL;

    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i - 1].spec->name, names[i].spec->name) == 0 &&
            (!second || names[i].index < second->index)) {
            first = &names[i - 1];
            second = &names[i];
        }
    if (!second)
        return 0;
    leat_error_set(err, -EINVAL, "another stream has the same name, at %s:%u:%u", first->spec->file,
                   first->spec->line, first->spec->column);
    leat_error_locate(err, second->spec->file, second->spec->line, second->spec->column);
    leat_error_prefix(err, STREAMS_KEY ".%s", second->spec->name);
    return -EINVAL;
}

int leat_settings_streams_check(const struct leat_settings_streams *streams,
                                struct leat_error *err) {
    struct named *names;
    int r;

    if (streams->n > LEAT_SETTINGS_MAX_STREAMS) {
        const struct leat_spec *spec = streams->specs[LEAT_SETTINGS_MAX_STREAMS];

        leat_error_set(err, -E2BIG, "there are %zu streams, but leatd allows at most %d",
                       streams->n, LEAT_SETTINGS_MAX_STREAMS);
        leat_error_locate(err, spec->file, spec->line, spec->column);
        return -E2BIG;
    }
    names = calloc(streams->n + 1, sizeof(*names));
    if (!names)
        return leat_error_oom(err);
    for (size_t i = 0; i < streams->n; i++)
        names[i] = (struct named){streams->specs[i], i};
    qsort(names, streams->n, sizeof(*names), compare_names);
    r = check_once(names, streams->n, err);
    free(names);
    return r;
}
