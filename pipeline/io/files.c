/* files.c: entries to files. A glob is walked component by component: plain components are joined,
 * the others are matched against the sorted names of a directory, which is read through the opener,
 * so that nothing is listed that may not be. What a directory holds is told by its entries' types
 * where the file system gives them, so that files are not opened twice.
 */
#include "pipeline/io/files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/io/object.h"
#include "proto/base/array.h"
#include "proto/base/elsewhere.h"
#include "proto/base/text.h"

#define COMPONENT_MAX 256
#define DEPTH_MAX     64 /* of directories in directories */
#define DIGITS_MAX    9  /* of a range */

struct walk {
    struct leat_files *files;
    const struct leat_texts *suffixes;
    const struct leat_opener *opener;
    struct leat_error *err;
    const char *base; /* of the entry; "": none */
    size_t n_matches; /* of the entry */
};

char *leat_files_join(const char *base_directory, const char *path) {
    char *joined;

    if (path[0] == '/' || leat_elsewhere_is_object(path) || !base_directory ||
        strcmp(base_directory, ".") == 0)
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

char *leat_files_beside(const char *file, const char *path) {
    char *directory = leat_files_directory(file ? file : ""), *joined;

    joined = directory ? leat_files_join(directory, path) : NULL;
    free(directory);
    return joined;
}

static bool reserve_paths(struct leat_files *files, size_t n) {
    size_t capacity = files->capacity;

    return leat_array_reserve(&files->names, n, &capacity) &&
           leat_array_reserve(&files->paths, n, &files->capacity);
}

int leat_files_add(struct leat_files *files, const char *base_directory, const char *name,
                   struct leat_error *err) {
    char *path = leat_files_join(base_directory, name);

    if (!path || !reserve_paths(files, files->n_paths + 1)) {
        free(path);
        return leat_error_oom(err);
    }
    files->names[files->n_paths] = path + strlen(path) - strlen(name);
    files->paths[files->n_paths++] = path;
    return 0;
}

int leat_files_append(struct leat_files *files, const struct leat_files *more,
                      struct leat_error *err) {
    if (!reserve_paths(files, files->n_paths + more->n_paths))
        return leat_error_oom(err);
    for (size_t i = 0; i < more->n_paths; i++) {
        char *path = strdup(more->paths[i]);

        if (!path)
            return leat_error_oom(err);
        files->names[files->n_paths] = path + (more->names[i] - more->paths[i]);
        files->paths[files->n_paths++] = path;
    }
    return 0;
}

void leat_files_deinit(struct leat_files *files) {
    for (size_t i = 0; i < files->n_paths; i++)
        free(files->paths[i]);
    free(files->paths);
    free(files->names);
    *files = (struct leat_files){.paths = NULL};
}

/* The path as the entry would have named it. */
static const char *name_in(const char *path, const char *base) {
    size_t n = strlen(base);

    if (n == 0 || strncmp(path, base, n) != 0)
        return path;
    while (path[n] == '/')
        n++;
    return path + n;
}

static int add_path(struct walk *walk, const char *path) {
    struct leat_files *files = walk->files;
    char *copy;

    if (files->n_paths == LEAT_FILES_MAX)
        return leat_error_set(walk->err, -E2BIG, "more than %d files match", LEAT_FILES_MAX);
    copy = strdup(path);
    if (!copy || !reserve_paths(files, files->n_paths + 1)) {
        free(copy);
        return leat_error_oom(walk->err);
    }
    files->paths[files->n_paths] = copy;
    files->names[files->n_paths++] = name_in(copy, walk->base);
    walk->n_matches++;
    return 0;
}

static bool is_pattern(const char *text) {
    return strpbrk(text, "*?[") != NULL;
}

/* ---- directories ---- */

struct name {
    char *text;
    unsigned char type; /* d_type */
};

struct names {
    struct name *items;
    size_t n_items, capacity;
};

static void free_names(struct names *names) {
    for (size_t i = 0; i < names->n_items; i++)
        free(names->items[i].text);
    free(names->items);
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static int add_name(struct names *names, const struct dirent *entry) {
    struct name name = {.text = strdup(entry->d_name), .type = entry->d_type};

    if (!name.text || !leat_array_reserve(&names->items, names->n_items + 1, &names->capacity)) {
        free(name.text);
        return -ENOMEM;
    }
    names->items[names->n_items++] = name;
    return 0;
}

/* The next name, 0 at the end, or why there is none. */
static int next_name(DIR *stream, const char *directory, const char *pattern,
                     const struct dirent **ret_entry, struct leat_error *err) {
    int r;

    do {
        errno = 0;
        *ret_entry = readdir(stream);
        if (!*ret_entry)
            return errno ? leat_error_set(err, -errno, "%s: %s", directory, strerror(errno)) : 0;
        r = strcmp((*ret_entry)->d_name, ".") == 0 || strcmp((*ret_entry)->d_name, "..") == 0
                ? FNM_NOMATCH
                : fnmatch(pattern, (*ret_entry)->d_name, FNM_PERIOD);
    } while (r == FNM_NOMATCH);
    return r == 0 ? 1 : leat_error_oom(err);
}

/* The names in the directory that match, sorted by bytes. */
static int list_names(struct walk *walk, const char *directory, const char *pattern,
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
    while (r == 0 && (r = next_name(stream, directory, pattern, &entry, walk->err)) > 0) {
        if (ret_names->n_items == LEAT_FILES_MAX)
            r = leat_error_set(walk->err, -E2BIG, "%s: more than %d names match", directory,
                               LEAT_FILES_MAX);
        else
            r = add_name(ret_names, entry) < 0 ? leat_error_oom(walk->err) : 0;
    }
    (void)closedir(stream);
    if (r == 0 && ret_names->n_items > 0)
        qsort(ret_names->items, ret_names->n_items, sizeof(*ret_names->items), by_bytes);
    return r;
}

static bool ends_with(const char *text, size_t n, const char *suffix) {
    size_t n_suffix = strlen(suffix);

    return n >= n_suffix && memcmp(text + n - n_suffix, suffix, n_suffix) == 0;
}

size_t leat_files_compressed_suffix(const char *name) {
    static const char *const suffixes[] = {".gz", ".zst", ".lz4", ".bz2", ".xz"};

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
        if (ends_with(name, strlen(name), suffixes[i]))
            return strlen(suffixes[i]);
    return 0;
}

static bool is_wanted(const struct leat_texts *suffixes, const char *name) {
    size_t n = strlen(name), n_compressed = leat_files_compressed_suffix(name);

    for (size_t i = 0; suffixes && i < suffixes->n_items; i++)
        if (ends_with(name, n, suffixes->items[i]) ||
            ends_with(name, n - n_compressed, suffixes->items[i]))
            return true;
    return !suffixes || suffixes->n_items == 0;
}

/* 1, 0, or why that is unknown: memory or descriptors ran out. */
static int try_open(int (*open_it)(const struct leat_opener *, const char *, struct leat_error *),
                    const struct walk *walk, const char *path) {
    struct leat_error why = LEAT_ERROR_INIT;
    int fd = open_it(walk->opener, path, &why);

    if (fd == -ENOMEM || fd == -EMFILE || fd == -ENFILE)
        return leat_error_set(walk->err, fd, "%s", why.message);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static int is_directory(const struct walk *walk, const char *path, unsigned char type) {
    return type == DT_UNKNOWN ? try_open(walk->opener->open_directory, walk, path) : type == DT_DIR;
}

static int is_file(const struct walk *walk, const char *path, unsigned char type) {
    return type == DT_LNK || type == DT_UNKNOWN ? try_open(walk->opener->open_file, walk, path)
                                                : type == DT_REG;
}

static int add_below(struct walk *walk, const char *directory, unsigned depth);

/* Adds a file, or the files below a directory, that was met below a directory. */
static int add_met(struct walk *walk, const char *path, const struct name *name, unsigned depth) {
    int r = is_directory(walk, path, name->type);

    if (r > 0)
        return add_below(walk, path, depth);
    if (r == 0 && is_wanted(walk->suffixes, name->text))
        r = is_file(walk, path, name->type);
    return r > 0 ? add_path(walk, path) : r;
}

/* Adds all files below the directory, in the order of names. */
static int add_below(struct walk *walk, const char *directory, unsigned depth) {
    struct names names = {.items = NULL};
    int r = list_names(walk, directory, "*", &names);

    if (r == 0 && depth > DEPTH_MAX)
        r = leat_error_set(walk->err, -ELOOP, "%s: directories are nested more than %d deep",
                           directory, DEPTH_MAX);
    for (size_t i = 0; r == 0 && i < names.n_items; i++) {
        char *path = leat_files_join(directory, names.items[i].text);

        r = path ? add_met(walk, path, &names.items[i], depth + 1) : leat_error_oom(walk->err);
        free(path);
    }
    free_names(&names);
    return r;
}

/* A glob passes over what is not there or is no directory. */
static int forgive_missing(struct walk *walk, int r) {
    if (r != -ENOENT && r != -ENOTDIR)
        return r;
    *walk->err = LEAT_ERROR_INIT;
    return 0;
}

static int add_if_there(struct walk *walk, const char *path) {
    int fd = walk->opener->open_file(walk->opener, path, walk->err);

    if (fd < 0)
        return forgive_missing(walk, fd);
    (void)close(fd);
    return add_path(walk, path);
}

static int descend_path(struct walk *walk, const char *done, const char *rest);

static int descend_names(struct walk *walk, const char *done, const char *pattern,
                         const char *rest) {
    struct names names = {.items = NULL};
    int r = forgive_missing(walk, list_names(walk, done[0] ? done : ".", pattern, &names));

    for (size_t i = 0; r == 0 && i < names.n_items; i++) {
        char *path = leat_files_join(done[0] ? done : NULL, names.items[i].text);

        if (!path)
            r = leat_error_oom(walk->err);
        else if (!(rest && rest[0]))
            r = is_directory(walk, path, names.items[i].type);
        if (r == 0)
            r = descend_path(walk, path, rest);
        else if (r > 0)
            r = add_below(walk, path, 1);
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
    r = rest && rest[0] ? descend_path(walk, path, rest) : add_if_there(walk, path);
    free(path);
    return r;
}

/* `done` is a path without patterns; `rest` is what follows, without leading slashes; NULL or "":
 * nothing. */
static int descend_path(struct walk *walk, const char *done, const char *rest) {
    char component[COMPONENT_MAX];
    const char *slash;
    size_t n;

    if (!rest || !rest[0])
        return add_path(walk, done);
    slash = strchr(rest, '/');
    n = slash ? (size_t)(slash - rest) : strlen(rest);
    if (n >= sizeof(component))
        return leat_error_set(walk->err, -ENAMETOOLONG,
                              "%.64s...: a file name is longer than %d bytes", rest,
                              COMPONENT_MAX - 1);
    memcpy(component, rest, n);
    component[n] = '\0';
    while (slash && *slash == '/')
        slash++;
    if (is_pattern(component))
        return descend_names(walk, done, component, slash);
    return descend_plain(walk, done, component, slash);
}

static int expand_glob(struct walk *walk, const char *entry) {
    bool is_absolute = entry[0] == '/';
    const char *rest = entry;
    int r;

    while (*rest == '/')
        rest++;
    r = descend_path(walk, is_absolute ? "/" : walk->base, rest);
    if (r == 0 && walk->n_matches == 0)
        r = leat_elsewhere_tell(entry, walk->err)
                ? -ENOENT
                : leat_error_set(walk->err, -ENOENT, "%s%s%s: no file matches this pattern",
                                 walk->base, walk->base[0] ? "/" : "", entry);
    return r;
}

/* 1: a directory; 0: anything else that exists; -ENOENT. */
static int look_at(const struct walk *walk, const char *path) {
    struct leat_error error = LEAT_ERROR_INIT;
    int fd = walk->opener->open_directory(walk->opener, path, &error);

    if (fd == -ENOENT)
        return leat_error_set(walk->err, fd, "%s", error.message);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static int expand_path(struct walk *walk, const char *entry) {
    char *path = leat_files_join(walk->base[0] ? walk->base : NULL, entry);
    int r;

    if (!path)
        return leat_error_oom(walk->err);
    r = strcmp(entry, "-") == 0 ? 0 : look_at(walk, path);
    if (r == 0) {
        r = add_path(walk, strcmp(entry, "-") == 0 ? entry : path);
    } else if (r > 0) {
        r = add_below(walk, path, 1);
        if (r == 0 && walk->n_matches == 0)
            r = leat_error_set(walk->err, -ENOENT, "%s: the directory has no file%s", path,
                               walk->suffixes && walk->suffixes->n_items ? " that matches `suffix`"
                                                                         : "");
    }
    free(path);
    return r;
}

/* ---- objects ---- */

/* As names sort in directories: what ends comes first. */
static int by_names(const void *a, const void *b) {
    const char *left = *(const char *const *)a, *right = *(const char *const *)b;
    int left_byte, right_byte;

    while (*left && *left == *right) {
        left++;
        right++;
    }
    left_byte = *left == '/' ? 1 : (unsigned char)*left;
    right_byte = *right == '/' ? 1 : (unsigned char)*right;
    return left_byte - right_byte;
}

/* True if the object is meant by an entry of which n_prefix bytes are no pattern. A key that ends
 * with a slash stands for a folder. */
static bool is_meant(const struct walk *walk, const char *entry, size_t n_prefix, const char *url) {
    const char *name = strrchr(url, '/') + 1;

    if (!name[0] || strncmp(url, entry, n_prefix) != 0)
        return false;
    if (is_pattern(entry))
        return fnmatch(entry, url, FNM_PATHNAME | FNM_PERIOD) == 0;
    return url[n_prefix] != '.' && !strstr(url + n_prefix, "/.") && is_wanted(walk->suffixes, name);
}

static int add_meant(struct walk *walk, const char *entry, size_t n_prefix, const char *urls,
                     size_t n) {
    const char **meant = NULL;
    size_t n_meant = 0, capacity = 0;
    int r = 0;

    for (size_t at = 0; r == 0 && at < n; at += strlen(urls + at) + 1) {
        if (!is_meant(walk, entry, n_prefix, urls + at))
            continue;
        if (leat_array_reserve(&meant, n_meant + 1, &capacity))
            meant[n_meant++] = urls + at;
        else
            r = leat_error_oom(walk->err);
    }
    if (n_meant > 0)
        qsort(meant, n_meant, sizeof(*meant), by_names);
    for (size_t i = 0; r == 0 && i < n_meant; i++)
        r = add_path(walk, meant[i]);
    free(meant);
    return r;
}

/* A glob, or a folder with all that is below. */
static int expand_objects(struct walk *walk, const char *entry) {
    size_t n_prefix = strcspn(entry, "*?["), n;
    char *urls = NULL, *prefix;
    int r;

    if (strncmp(entry, "s3://", 5) != 0)
        return leat_error_set(walk->err, -EINVAL,
                              "%s: leat cannot list the files of a web server, and a URL must not "
                              "have a query: name each file, or a range such as {000..127}",
                              entry);
    if (!memchr(entry + 5, '/', n_prefix - 5))
        return leat_error_set(walk->err, -EINVAL,
                              "%s: the URL needs a bucket and a slash, such as s3://bucket/data/",
                              entry);
    prefix = strndup(entry, n_prefix);
    r = prefix ? leat_object_list(walk->opener, prefix, &urls, &n, walk->err)
               : leat_error_oom(walk->err);
    if (r == 0)
        r = add_meant(walk, entry, n_prefix, urls, n);
    if (r == 0 && walk->n_matches == 0)
        r = leat_error_set(walk->err, -ENOENT, "%s: %s", entry,
                           is_pattern(entry) ? "no object matches this pattern"
                           : walk->suffixes && walk->suffixes->n_items
                               ? "no object with this prefix matches `suffix`"
                               : "no object with this prefix exists");
    free(urls);
    free(prefix);
    return r;
}

static int expand_object(struct walk *walk, const char *entry) {
    if (is_pattern(entry) || entry[strlen(entry) - 1] == '/')
        return expand_objects(walk, entry);
    return add_path(walk, entry);
}

/* Looks at those of the files that are objects. */
static int expect_objects(const struct walk *walk) {
    struct leat_text urls = {.data = NULL};
    int r = 0;

    for (size_t i = 0; i < walk->files->n_paths; i++)
        if (leat_elsewhere_is_object(walk->files->paths[i]))
            leat_text_add_bytes(&urls, walk->files->paths[i], strlen(walk->files->paths[i]) + 1);
    if (urls.failed)
        r = leat_error_oom(walk->err);
    else if (urls.n_bytes > 0)
        r = leat_object_expect(walk->opener, urls.data, urls.n_bytes, walk->err);
    free(urls.data);
    return r;
}

/* ---- ranges ---- */

struct range {
    size_t start, end; /* in the entry, with the braces */
    unsigned long from, to;
    int width;
};

static size_t read_number(const char *text, unsigned long *ret_number) {
    size_t n = strspn(text, "0123456789");

    *ret_number = n > 0 && n <= DIGITS_MAX ? strtoul(text, NULL, 10) : 0;
    return n <= DIGITS_MAX ? n : 0;
}

/* Reads {a..b} at that brace. */
static bool read_range(const char *entry, size_t start, struct range *ret_range) {
    const char *first = entry + start + 1, *second;
    size_t n = read_number(first, &ret_range->from), m;

    if (n == 0 || strncmp(first + n, "..", 2) != 0)
        return false;
    second = first + n + 2;
    m = read_number(second, &ret_range->to);
    if (m == 0 || second[m] != '}')
        return false;
    ret_range->start = start;
    ret_range->end = (size_t)(second + m + 1 - entry);
    ret_range->width = 0;
    if ((n > 1 && first[0] == '0') || (m > 1 && second[0] == '0'))
        ret_range->width = (int)(n > m ? n : m);
    return true;
}

static bool find_range(const char *entry, struct range *ret_range) {
    for (size_t i = 0; entry[i]; i++)
        if (entry[i] == '{' && read_range(entry, i, ret_range))
            return true;
    return false;
}

static int expand_entry(struct walk *walk, const char *entry) {
    struct range range;
    unsigned long n;
    int r = 0;

    walk->n_matches = 0;
    if (!entry[0])
        return leat_error_set(walk->err, -EINVAL,
                              "the path is empty: give a file, a directory or a pattern");
    if (!find_range(entry, &range) && leat_elsewhere_is_object(entry))
        return expand_object(walk, entry);
    if (!find_range(entry, &range))
        return is_pattern(entry) ? expand_glob(walk, entry) : expand_path(walk, entry);
    n = range.from < range.to ? range.to - range.from : range.from - range.to;
    if (n >= LEAT_FILES_MAX)
        return leat_error_set(walk->err, -E2BIG, "%s: the range names more than %d files", entry,
                              LEAT_FILES_MAX);
    for (unsigned long i = 0; r == 0 && i <= n; i++) {
        char *one;

        if (asprintf(&one, "%.*s%0*lu%s", (int)range.start, entry, range.width,
                     range.from < range.to ? range.from + i : range.from - i,
                     entry + range.end) < 0)
            return leat_error_oom(walk->err);
        r = expand_entry(walk, one);
        free(one);
    }
    return r;
}

int leat_files_expand(struct leat_files *ret_files, const char *const *entries, size_t n_entries,
                      const char *base_directory, const struct leat_texts *suffixes,
                      const struct leat_opener *opener, struct leat_error *err) {
    bool has_base = base_directory && strcmp(base_directory, ".") != 0;
    struct walk walk = {.files = ret_files, .suffixes = suffixes, .opener = opener, .err = err};
    int r = 0;

    *ret_files = (struct leat_files){.paths = NULL};
    for (size_t i = 0; r == 0 && i < n_entries; i++) {
        walk.base = has_base && entries[i][0] != '/' && !leat_elsewhere_is_object(entries[i])
                        ? base_directory
                        : "";
        r = expand_entry(&walk, entries[i]);
        if (r < 0)
            leat_error_prefix(walk.err, "paths[%zu]", i);
    }
    if (r == 0)
        r = expect_objects(&walk);
    if (r < 0)
        leat_files_deinit(ret_files);
    return r;
}
