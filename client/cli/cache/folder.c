#include "client/cli/cache/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/base/output.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/spec/cache_options.h"

static int add_folder(struct leat_cli_caches *caches, char *take_folder, struct leat_error *err) {
    char **larger;

    if (!take_folder)
        return leat_error_oom(err);
    for (size_t i = 0; i < caches->n_folders; i++) {
        if (strcmp(caches->folders[i], take_folder) == 0) {
            free(take_folder);
            return 0;
        }
    }
    larger = reallocarray(caches->folders, caches->n_folders + 1, sizeof(*larger));
    if (!larger) {
        free(take_folder);
        return leat_error_oom(err);
    }
    caches->folders = larger;
    caches->folders[caches->n_folders++] = take_folder;
    return 0;
}

static int add_folder_of(struct leat_cli_caches *caches, const struct leat_spec *spec,
                         struct leat_error *err) {
    char *folder;
    int r = leat_cache_folder(spec, &folder, err);

    return r < 0 || !folder ? r : add_folder(caches, folder, err);
}

static int add_folders_of_file(struct leat_cli_caches *caches,
                               const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_cli_streams streams;
    int r = leat_cli_streams_load(arguments->operand, NULL, 0, &streams, err);

    if (r == 0 && arguments->stream &&
        !leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err))
        r = err->code;
    for (size_t i = 0; r == 0 && i < streams.n_specs; i++)
        if (!arguments->stream || strcmp(arguments->stream, streams.specs[i]->name) == 0)
            r = add_folder_of(caches, streams.specs[i], err);
    leat_cli_streams_deinit(&streams);
    if (r == 0 && caches->n_folders == 0)
        r = leat_error_set(err, -EINVAL,
                           "%s: no stream has a cache; to add one, give a stream the option "
                           "`cache: {path: FOLDER}`",
                           arguments->operand);
    return r;
}

static int add_caches(struct leat_cli_caches *caches, const char *folder, struct leat_error *err) {
    struct leat_cache_entry *entries;
    struct leat_cli_cache *larger;
    struct leat_error own = LEAT_ERROR_INIT;
    size_t n;
    int r = leat_cache_store_list(folder, true, &entries, &n, &own);

    if (r == -ENOENT)
        return 0; /* there is no cache yet */
    if (r < 0) {
        *err = own;
        return r;
    }
    larger = reallocarray(caches->items, caches->n_items + n + 1, sizeof(*larger));
    if (larger)
        caches->items = larger;
    for (size_t i = 0; larger && i < n; i++)
        caches->items[caches->n_items++] =
            (struct leat_cli_cache){.folder = folder, .entry = entries[i]};
    free(entries);
    return larger ? 0 : leat_error_oom(err);
}

/* Keeps the caches whose names begin with a given key. */
static int select_named(struct leat_cli_caches *caches, const struct leat_cli_arguments *arguments,
                        struct leat_error *err) {
    struct leat_cli_cache *items = calloc(arguments->keys.n_items, sizeof(*items));

    if (!items)
        return leat_error_oom(err);
    for (size_t k = 0; k < arguments->keys.n_items; k++) {
        const char *key = arguments->keys.items[k];
        size_t n_found = 0;

        for (size_t i = 0; i < caches->n_items; i++) {
            if (strncmp(caches->items[i].entry.name, key, strlen(key)) != 0)
                continue;
            items[k] = caches->items[i];
            n_found++;
        }
        if (n_found != 1 || !key[0]) {
            free(items);
            return leat_error_set(
                err, n_found ? -EINVAL : -ENOENT,
                n_found ? "--key: \"%.64s\" is the start of %zu keys; give more digits"
                        : "--key: there is no cache whose key starts with \"%.64s\"",
                key, n_found);
        }
    }
    free(caches->items);
    caches->items = items;
    caches->n_items = arguments->keys.n_items;
    return 0;
}

int leat_cli_caches_load(const struct leat_cli_arguments *arguments,
                         struct leat_cli_caches *ret_caches, struct leat_error *err) {
    struct stat info;
    int r;

    *ret_caches = (struct leat_cli_caches){.n_items = 0};
    if (stat(arguments->operand, &info) == 0 && S_ISDIR(info.st_mode) && arguments->stream)
        r = leat_error_set(
            err, -EINVAL,
            "%s is a folder of caches; leave out the name of a stream after the folder",
            arguments->operand);
    else if (stat(arguments->operand, &info) == 0 && S_ISDIR(info.st_mode))
        r = add_folder(ret_caches, strdup(arguments->operand), err);
    else
        r = add_folders_of_file(ret_caches, arguments, err);
    for (size_t i = 0; r == 0 && i < ret_caches->n_folders; i++)
        r = add_caches(ret_caches, ret_caches->folders[i], err);
    if (r == 0 && arguments->keys.n_items > 0)
        r = select_named(ret_caches, arguments, err);
    if (r == 0)
        return LEAT_CLI_OK;
    leat_cli_caches_deinit(ret_caches);
    return leat_cli_error_status(err);
}

void leat_cli_caches_deinit(struct leat_cli_caches *caches) {
    for (size_t i = 0; i < caches->n_folders; i++)
        free(caches->folders[i]);
    free(caches->folders);
    free(caches->items);
    *caches = (struct leat_cli_caches){.n_items = 0};
}
