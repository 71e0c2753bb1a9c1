/* files.c: entries to files. A glob is walked component by component: plain components are joined,
 * the others are matched against the sorted names of a directory, which is read through the opener,
 * so that nothing is listed that may not be.
 */
#include "pipeline/files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMPONENT_MAX 256

struct walk {
    struct leat_files *files;
    const struct leat_opener *opener;
    struct leat_error *err;
    size_t n_matches; /* of the entry */
};

char *leat_files_join(const char *base_directory, const char *path) {
    char *joined;

    if (path[0] == '/' || !base_directory || strcmp(base_directory, ".") == 0)
        return strdup(path);
    return asprintf(&joined, "%s%s%s", base_directory,
                    base_directory[strlen(base_directory) - 1] == '/' ? "" : "/", path) < 0
               ? NULL
               : joined;
}

char *leat_files_directory(const char *path) {
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

void leat_files_deinit(struct leat_files *files) {
    for (size_t i = 0; i < files->n_paths; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct leat_files){.paths = NULL};
}

static int add(struct walk *walk, const char *path) {
    struct leat_files *files = walk->files;
    char *copy;

    if (files->n_paths == LEAT_FILES_MAX)
        return leat_error_set(walk->err, -E2BIG, "more than %d files", LEAT_FILES_MAX);
    if ((files->n_paths & (files->n_paths - 1)) == 0) {
        char **larger =
            reallocarray(files->paths, files->n_paths ? files->n_paths * 2 : 1, sizeof(*larger));

        if (!larger)
            return leat_error_oom(walk->err);
        files->paths = larger;
    }
    copy = strdup(path);
    if (!copy)
        return leat_error_oom(walk->err);
    files->paths[files->n_paths++] = copy;
    walk->n_matches++;
    return 0;
}

static bool is_pattern(const char *text) {
    return strpbrk(text, "*?[") != NULL;
}

/* ---- directories ---- */

struct names {
    char **items;
    size_t n_items;
};

static void free_names(struct names *names) {
    for (size_t i = 0; i < names->n_items; i++)
        free(names->items[i]);
    free(names->items);
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct names *names, const char *name) {
    if ((names->n_items & (names->n_items - 1)) == 0) {
        char **larger =
            reallocarray(names->items, names->n_items ? names->n_items * 2 : 1, sizeof(*larger));

        if (!larger)
            return -ENOMEM;
        names->items = larger;
    }
    names->items[names->n_items] = strdup(name);
    return names->items[names->n_items++] ? 0 : -ENOMEM;
}

/* The names in the directory that match, sorted by bytes. */
static int list(struct walk *walk, const char *directory, const char *pattern,
                struct names *ret_names) {
    int r = 0, fd = walk->opener->open_directory(walk->opener, directory, walk->err);
    const struct dirent *entry;
    DIR *stream;

    if (fd < 0)
        return fd;
    stream = fdopendir(fd);
    if (!stream) {
        (void)close(fd);
        return leat_error_oom(walk->err);
    }
    while (r == 0 && (entry = readdir(stream))) {
        if (fnmatch(pattern, entry->d_name, FNM_PERIOD) != 0 || strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0)
            continue;
        if (ret_names->n_items == LEAT_FILES_MAX)
            r = leat_error_set(walk->err, -E2BIG, "%s: more than %d names match", directory,
                               LEAT_FILES_MAX);
        else if (add_name(ret_names, entry->d_name) < 0)
            r = leat_error_oom(walk->err);
    }
    (void)closedir(stream);
    if (ret_names->n_items > 0)
        qsort(ret_names->items, ret_names->n_items, sizeof(*ret_names->items), by_bytes);
    return r;
}

/* What a glob meets on its way and is no match: not there, or no directory. */
static int forgive(struct walk *walk, int r) {
    if (r != -ENOENT && r != -ENOTDIR)
        return r;
    *walk->err = LEAT_ERROR_INIT;
    return 0;
}

static int add_if_there(struct walk *walk, const char *path) {
    int fd = walk->opener->open_file(walk->opener, path, walk->err);

    if (fd < 0)
        return forgive(walk, fd);
    (void)close(fd);
    return add(walk, path);
}

static int descend(struct walk *walk, const char *done, const char *rest);

static int descend_names(struct walk *walk, const char *done, const char *pattern,
                         const char *rest) {
    struct names names = {.items = NULL};
    int r = forgive(walk, list(walk, done[0] ? done : ".", pattern, &names));

    for (size_t i = 0; r == 0 && i < names.n_items; i++) {
        char *path = leat_files_join(done[0] ? done : NULL, names.items[i]);

        r = path ? descend(walk, path, rest) : leat_error_oom(walk->err);
        free(path);
    }
    free_names(&names);
    return r;
}

static int descend_plain(struct walk *walk, const char *done, const char *component,
                         const char *rest) {
    char *path = leat_files_join(done[0] ? done : NULL, component);
    int r;

    if (!path)
        return leat_error_oom(walk->err);
    r = rest && rest[0] ? descend(walk, path, rest) : add_if_there(walk, path);
    free(path);
    return r;
}

/* `done` is a path without patterns; `rest` is what follows, without leading slashes; NULL or "":
 * nothing. */
static int descend(struct walk *walk, const char *done, const char *rest) {
    char component[COMPONENT_MAX];
    const char *slash;
    size_t n;

    if (!rest || !rest[0])
        return add(walk, done);
    slash = strchr(rest, '/');
    n = slash ? (size_t)(slash - rest) : strlen(rest);
    if (n >= sizeof(component))
        return leat_error_set(walk->err, -ENAMETOOLONG, "%.64s...: a name of more than %d bytes",
                              rest, COMPONENT_MAX - 1);
    memcpy(component, rest, n);
    component[n] = '\0';
    while (slash && *slash == '/')
        slash++;
    if (is_pattern(component))
        return descend_names(walk, done, component, slash);
    return descend_plain(walk, done, component, slash);
}

static int expand(struct walk *walk, const char *entry, const char *base_directory) {
    char *path = leat_files_join(base_directory, entry);
    const char *rest = path;
    int r;

    if (!path)
        return leat_error_oom(walk->err);
    walk->n_matches = 0;
    if (!is_pattern(path)) {
        r = entry[0] ? add(walk, path) : leat_error_set(walk->err, -EINVAL, "an empty path");
        free(path);
        return r;
    }
    while (*rest == '/')
        rest++;
    r = descend(walk, rest > path ? "/" : "", rest);
    if (r == 0 && walk->n_matches == 0)
        r = leat_error_set(walk->err, -ENOENT, "%s: no file matches", path);
    free(path);
    return r;
}

int leat_files_expand(struct leat_files *ret_files, const char *const *entries, size_t n_entries,
                      const char *base_directory, const struct leat_opener *opener,
                      struct leat_error *err) {
    struct leat_error unused = LEAT_ERROR_INIT;
    struct walk walk = {.files = ret_files, .opener = opener, .err = err ? err : &unused};
    int r = 0;

    *ret_files = (struct leat_files){.paths = NULL};
    for (size_t i = 0; r == 0 && i < n_entries; i++) {
        r = expand(&walk, entries[i], base_directory);
        if (r < 0)
            leat_error_prefix(walk.err, "paths[%zu]", i);
    }
    if (r < 0)
        leat_files_deinit(ret_files);
    return r;
}
