/* roots.c: see roots.h and openat2(2). */
#include "daemon/config/roots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/base/elsewhere.h"

#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define STEP_FLAGS (O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC)

static int open_beneath(int root, const char *path, int flags) {
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(OPEN_FLAGS | flags),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd;

    /* EAGAIN: something was renamed on this machine meanwhile, and ".." could not be decided. It
     * may come again and again where others rename a lot; see openat2(2). */
    for (int i = 0; i < 16; i++) {
        fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd < 0 ? -errno : (int)fd;
}

/* ---- without openat2 ---- */

/* A walk from `root` opens one directory after the other, each by its bare name in the one before,
 * so that neither a link nor a rename leads out. */
struct walk {
    int root, fd;         /* fd: the directory that was reached; at first that of the root */
    char names[PATH_MAX]; /* of the directories from the root to it: "a\0b\0" */
    size_t n_names;       /* bytes */
};

static void move_to(struct walk *walk, int fd) {
    if (walk->fd != walk->root)
        (void)close(walk->fd);
    walk->fd = fd;
}

/* With O_DIRECTORY a link gives ENOTDIR, too. */
static int step_error(int directory, const char *name, int code) {
    struct stat status;

    if (code == ENOTDIR && fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(status.st_mode))
        return -ELOOP;
    return -code;
}

static int step(struct walk *walk, const char *name) {
    int fd = openat(walk->fd, name, STEP_FLAGS);

    if (fd < 0)
        return step_error(walk->fd, name, errno);
    move_to(walk, fd);
    return 0;
}

static int step_down(struct walk *walk, const char *name) {
    int r = step(walk, name);

    if (r < 0 || strcmp(name, ".") == 0)
        return r;
    walk->n_names +=
        (size_t)snprintf(walk->names + walk->n_names, PATH_MAX - walk->n_names, "%s", name) + 1;
    return 0;
}

/* Steps back to the directory that the walk came through. The kernel is not asked for "..", because
 * the directory may have been moved out of the root since. */
static int step_up(struct walk *walk) {
    int r = step(walk, "."); /* fails as ".." would where this directory may not be searched */

    if (r < 0)
        return r;
    if (walk->n_names == 0)
        return -EXDEV;
    do
        walk->n_names--;
    while (walk->n_names > 0 && walk->names[walk->n_names - 1]);
    move_to(walk, walk->root);
    for (size_t i = 0; r == 0 && i < walk->n_names; i += strlen(walk->names + i) + 1)
        r = step(walk, walk->names + i);
    return r;
}

/* `path` is shorter than PATH_MAX. */
static int walk_beneath(int root, const char *path, int flags) {
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    struct walk walk = {.root = root, .fd = root};
    char names[PATH_MAX], *place = NULL;
    int r = 0;

    if (strcmp(last, "..") == 0)
        last += 2;
    (void)snprintf(names, sizeof(names), "%.*s", (int)(last - path), path);
    for (char *name = strtok_r(names, "/", &place); r == 0 && name;
         name = strtok_r(NULL, "/", &place))
        r = strcmp(name, "..") == 0 ? step_up(&walk) : step_down(&walk, name);
    if (r == 0) {
        r = openat(walk.fd, last[0] ? last : ".", OPEN_FLAGS | flags);
        r = r < 0 ? -errno : r;
    }
    move_to(&walk, root);
    return r;
}

/* A filter of system calls answers ENOSYS (systemd's RestrictSUIDSGID=, which cannot see the
 * arguments of openat2) or EPERM (containers). The walk is as strict as openat2, and meets an EPERM
 * of the file itself again. */
static int open_without_detours(int root, const char *path, int flags) {
    int r = open_beneath(root, path, flags);

    return r == -ENOSYS || r == -EPERM || r == -EAGAIN ? walk_beneath(root, path, flags) : r;
}

/* The part of `path` below `root`: "" for the root itself, NULL if it is not below it. */
static const char *below(const char *root, const char *path) {
    size_t n = strlen(root);

    if (strncmp(root, path, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return NULL;
    while (path[n] == '/')
        n++;
    return path + n;
}

static int open_in_root(const struct leat_root *root, const char *path, int flags) {
    const char *rest = path;

    if (!root->real)
        return -EXDEV;
    if (path[0] == '/') {
        rest = below(root->path, path);
        if (!rest)
            rest = below(root->real, path);
        if (!rest)
            return -EXDEV;
    }
    return open_without_detours(root->fd, rest[0] ? rest : ".", flags);
}

/* The error of a root in which the path exists says more than that of one in which it does not. */
static int choose_error(int before, int r) {
    return before == -EXDEV || (before == -ENOENT && r != -EXDEV) ? r : before;
}

static int open_in_roots(const struct leat_roots *roots, const char *path, int flags) {
    int error = -EXDEV;

    for (size_t i = 0; i < roots->n_items; i++) {
        int r = open_in_root(&roots->items[i], path, flags);

        if (r >= 0)
            return r;
        error = choose_error(error, r);
    }
    return error;
}

static int refuse(struct leat_error *err, const char *path, int r) {
    if (r == -EXDEV)
        return leat_error_set(err, -EACCES,
                              "%s is outside the folders that trainers may read: ask the operator "
                              "to add it to `roots` in the daemon's settings",
                              path);
    if (r == -ELOOP)
        return leat_error_set(err, -EACCES,
                              "%s contains a symbolic link, which trainers may not use: give the "
                              "path without the link",
                              path);
    return leat_elsewhere_fail(path, r, err);
}

static int open_checked(const struct leat_opener *opener, const char *path, int flags,
                        mode_t wanted, const char *what, struct leat_error *err) {
    const struct leat_roots *roots = (const struct leat_roots *)(const void *)opener;
    struct stat status;
    int fd;

    if (!path[0] || strlen(path) >= PATH_MAX)
        return leat_error_set(err, -EINVAL, "a path has %zu bytes; it may have 1 to %d",
                              strlen(path), PATH_MAX - 1);
    fd = open_in_roots(roots, path, flags);
    if (fd < 0)
        return refuse(err, path, fd);
    if (fstat(fd, &status) < 0 || (status.st_mode & S_IFMT) != wanted) {
        (void)close(fd);
        return leat_error_set(err, -EACCES, "%s is not a %s", path, what);
    }
    return fd;
}

static int open_file(const struct leat_opener *opener, const char *path, struct leat_error *err) {
    return open_checked(opener, path, 0, S_IFREG, "regular file", err);
}

static int open_directory(const struct leat_opener *opener, const char *path,
                          struct leat_error *err) {
    return open_checked(opener, path, O_DIRECTORY, S_IFDIR, "directory", err);
}

/* True if a part of the URL may mean another place to a server than it says. */
static bool is_ambiguous(const char *url) {
    return strcasestr(url, "%2e") || strcasestr(url, "%2f") || strcasestr(url, "%5c") ||
           strstr(url, "/../") || strchr(url, '\\');
}

static int allow_object(const struct leat_opener *opener, const char *url, struct leat_error *err) {
    const struct leat_roots *roots = (const struct leat_roots *)(const void *)opener;

    for (size_t i = 0; i < roots->n_items; i++)
        if (!roots->items[i].real && below(roots->items[i].path, url) && !is_ambiguous(url))
            return 0;
    return leat_error_set(err, -EACCES,
                          "%s is outside the URLs that trainers may read: ask the operator to add "
                          "it to `roots` in the daemon's settings",
                          url);
}

static char *absolute(const char *path) {
    char *directory, *joined = NULL;
    size_t n;

    if (path[0] == '/' || leat_elsewhere_is_object(path)) {
        joined = strdup(path);
    } else {
        directory = getcwd(NULL, 0);
        if (directory && asprintf(&joined, "%s/%s", directory, path) < 0)
            joined = NULL;
        free(directory);
    }
    for (n = joined ? strlen(joined) : 0; n > 0 && joined[n - 1] == '/'; n--)
        joined[n - 1] = '\0';
    return joined;
}

static int open_root(struct leat_root *root, const char *path, struct leat_error *err) {
    root->path = absolute(path);
    if (root->path && leat_elsewhere_is_object(path))
        return 0;
    root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->fd < 0)
        return leat_error_set(err, -errno, "the daemon cannot open the folder %s of `roots`: %s",
                              path, strerror(errno));
    root->real = realpath(path, NULL);
    if (!root->path || !root->real)
        return leat_error_oom(err);
    if (strcmp(root->real, "/") == 0)
        root->real[0] = '\0';
    return 0;
}

int leat_roots_init(struct leat_roots *roots, const char *const *paths, size_t n_paths,
                    struct leat_error *err) {
    *roots = (struct leat_roots){.opener = {.open_file = open_file,
                                            .open_directory = open_directory,
                                            .allow_object = allow_object}};
    if (n_paths == 0)
        return 0;
    roots->items = calloc(n_paths, sizeof(*roots->items));
    if (!roots->items)
        return leat_error_oom(err);
    for (size_t i = 0; i < n_paths; i++) {
        int r;

        roots->items[i].fd = -1;
        roots->n_items = i + 1;
        r = open_root(&roots->items[i], paths[i], err);
        if (r < 0) {
            leat_roots_deinit(roots);
            return r;
        }
    }
    return 0;
}

void leat_roots_deinit(struct leat_roots *roots) {
    for (size_t i = 0; i < roots->n_items; i++) {
        if (roots->items[i].fd >= 0)
            (void)close(roots->items[i].fd);
        free(roots->items[i].path);
        free(roots->items[i].real);
    }
    free(roots->items);
    roots->items = NULL;
    roots->n_items = 0;
}

int leat_roots_new(const char *const *paths, size_t n_paths, struct leat_roots **ret_roots,
                   struct leat_error *err) {
    struct leat_roots *roots = malloc(sizeof(*roots));
    int r = roots ? leat_roots_init(roots, paths, n_paths, err) : leat_error_oom(err);

    if (r < 0) {
        free(roots);
        return r;
    }
    *ret_roots = leat_roots_ref(roots);
    return 0;
}

struct leat_roots *leat_roots_ref(struct leat_roots *roots) {
    if (roots)
        roots->n_refs++;
    return roots;
}

struct leat_roots *leat_roots_unref(struct leat_roots *roots) {
    if (!roots || --roots->n_refs > 0)
        return NULL;
    leat_roots_deinit(roots);
    free(roots);
    return NULL;
}
