/* cache/store.c: see cache/store.h; the list and what is removed by it: cache/store_list.c.
 *
 * A lock counts only if the name still leads to the file that was locked: it may have been removed,
 * or have become another, between open and flock. Then all begins again.
 */
#include "pipeline/cache/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "proto/base/xxh3.h"

#define TRIES_MAX    16
#define BOOT_ID      "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 36

enum { AGAIN = 1 }; /* another process was faster */

struct opening {
    int folder;
    const char *folder_name;
    const struct leat_cache_identity *identity;
    const char *description;
    bool may_build;
    char complete[LEAT_CACHE_NAME_MAX], partial[LEAT_CACHE_NAME_MAX];
    struct leat_cache_found *found;
    struct leat_error *err;
};

static void name_file(const struct leat_cache_identity *identity, const char *suffix,
                      char name[LEAT_CACHE_NAME_MAX]) {
    char hex[LEAT_DIGEST_HEX_SIZE];

    leat_digest_hex(identity->key, hex);
    if (identity->n_shards > 1)
        (void)snprintf(name, LEAT_CACHE_NAME_MAX, "%s-%u-of-%u%s", hex, identity->shard,
                       identity->n_shards, suffix);
    else
        (void)snprintf(name, LEAT_CACHE_NAME_MAX, "%s%s", hex, suffix);
}

void leat_cache_store_name(const struct leat_cache_identity *identity,
                           char ret_name[LEAT_CACHE_NAME_MAX]) {
    name_file(identity, ".leat", ret_name);
}

/* Locks of these hold among the processes of one host only. */
static bool has_local_locks(int folder) {
    struct statfs status;

    return fstatfs(folder, &status) == 0 &&
           (status.f_type == FUSE_SUPER_MAGIC || status.f_type == V9FS_MAGIC);
}

/* KEY.partial, or KEY.HOST.partial where two hosts would both have the lock of the first. HOST is
 * another number for each name of a host and each of its starts. */
static void name_partial(int folder, const struct leat_cache_identity *identity,
                         char name[LEAT_CACHE_NAME_MAX]) {
    char host[64 + BOOT_ID_SIZE + 1] = "", suffix[32] = ".partial";

    if (has_local_locks(folder)) {
        int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);

        (void)gethostname(host, 64);
        if (fd >= 0) {
            (void)!read(fd, host + strnlen(host, 64), BOOT_ID_SIZE);
            (void)close(fd);
        }
        (void)snprintf(suffix, sizeof(suffix), ".%016" PRIx64 ".partial",
                       (uint64_t)XXH3_64bits(host, strlen(host)));
    }
    name_file(identity, suffix, name);
}

static int fail_file(struct opening *opening, int code, const char *what) {
    return leat_error_set(opening->err, code, "%s: %s: %s", opening->folder_name, what,
                          strerror(-code));
}

static int open_folder(const char *folder, bool is_made, int *ret_fd, struct leat_error *err) {
    if (is_made && mkdir(folder, 0750) < 0 && errno != EEXIST)
        return leat_error_set(err, -errno, "%s: cannot make the folder of the cache: %s", folder,
                              strerror(errno));
    *ret_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_fd < 0)
        return leat_error_set(err, -errno, "%s: cannot open the folder of the cache: %s", folder,
                              strerror(errno));
    return 0;
}

/* True if that name leads to this file. */
static bool is_named(int folder, const char *name, int fd) {
    struct stat named, opened;

    return fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 &&
           named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

/* The descriptor, or -1 with *ret_r: -ENOENT, or why not. */
static int open_named(struct opening *opening, const char *name, int flags, int *ret_r) {
    int fd = openat(opening->folder, name, flags | O_CLOEXEC | O_NOFOLLOW, 0640);

    *ret_r = fd < 0 ? -errno : 0;
    if (fd < 0 && errno != ENOENT)
        *ret_r = fail_file(opening, -errno, name);
    return fd;
}

static void touch_file(int fd) {
    const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};

    (void)futimens(fd, times); /* one that we may only read keeps its time */
}

/* ---- complete caches ---- */

/* The index is damaged: what can be read of the file becomes one that is not complete. */
static int demote_file(struct opening *opening, int fd) {
    int r = 0;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return 0; /* a process that uses it has a good index in memory */
    if (is_named(opening->folder, opening->complete, fd) &&
        renameat(opening->folder, opening->complete, opening->folder, opening->partial) < 0)
        r = fail_file(opening, -errno, opening->complete);
    return r < 0 ? r : AGAIN;
}

static int open_complete(struct opening *opening) {
    struct leat_cache_file *file = NULL;
    int r, fd = open_named(opening, opening->complete, O_RDONLY, &r);
    int lock = fd < 0 ? -1 : dup(fd);

    if (fd < 0)
        return r;
    if (lock < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 ||
        !is_named(opening->folder, opening->complete, fd)) {
        (void)close(fd);
        (void)close(lock);
        return AGAIN;
    }
    r = leat_cache_file_open(fd, &file, opening->err);
    if (r == 0 && file->is_complete &&
        memcmp(&file->identity, opening->identity, sizeof(file->identity)) == 0) {
        touch_file(fd);
        opening->found->file = file;
    } else if (r == 0 || r == -EBADMSG) {
        *opening->err = LEAT_ERROR_INIT;
        leat_cache_file_unref(file);
        r = demote_file(opening, lock);
    }
    (void)close(lock);
    return r;
}

/* ---- caches that are being built ---- */

static int begin_file(struct opening *opening, int fd) {
    if (ftruncate(fd, 0) < 0) {
        int r = fail_file(opening, -errno, opening->partial);

        (void)close(fd);
        return r;
    }
    return leat_cache_file_new(fd, opening->identity, opening->description, &opening->found->file,
                               opening->err);
}

/* The lock is ours: goes on with what a killed builder left. */
static int go_on(struct opening *opening, int fd) {
    struct leat_cache_file *file = NULL;
    int kept = dup(fd), r;

    if (kept < 0) {
        (void)close(fd);
        return fail_file(opening, -errno, opening->partial);
    }
    r = leat_cache_file_open(fd, &file, LEAT_ERROR_IGNORED);
    if (r == 0 && memcmp(&file->identity, opening->identity, sizeof(file->identity)) == 0) {
        (void)close(kept);
        file->is_complete = false;
        r = leat_cache_file_trim(file, opening->err);
        opening->found->file = file;
    } else if (r == 0 || r == -EBADMSG) {
        leat_cache_file_unref(file);
        r = begin_file(opening, kept);
    } else {
        (void)close(kept);
        r = fail_file(opening, r, opening->partial);
    }
    opening->found->is_builder = r == 0;
    if (r < 0)
        opening->found->file = leat_cache_file_unref(opening->found->file);
    return r;
}

/* Another process builds it: reads what is there so far. */
static int look_on(struct opening *opening, int take_fd) {
    struct leat_cache_file *file = NULL;

    if (leat_cache_file_open(take_fd, &file, LEAT_ERROR_IGNORED) == 0 &&
        memcmp(&file->identity, opening->identity, sizeof(file->identity)) == 0) {
        file->is_complete = false;
        opening->found->file = file;
    } else {
        leat_cache_file_unref(file);
    }
    return 0;
}

static int open_partial(struct opening *opening) {
    int flags = opening->may_build ? O_RDWR | O_CREAT : O_RDONLY;
    int r, fd = open_named(opening, opening->partial, flags, &r);

    if (fd < 0)
        return r;
    if (!opening->may_build || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return look_on(opening, fd);
    if (!is_named(opening->folder, opening->partial, fd)) {
        (void)close(fd);
        return AGAIN;
    }
    if (faccessat(opening->folder, opening->complete, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        /* it was finished in the meantime; this file is new and empty, or was left behind */
        (void)unlinkat(opening->folder, opening->partial, 0);
        (void)close(fd);
        return AGAIN;
    }
    touch_file(fd);
    return go_on(opening, fd);
}

int leat_cache_store_open(const char *folder, const struct leat_cache_identity *identity,
                          const char *description, const struct leat_cache_limits *limits,
                          bool may_build, struct leat_cache_found *ret_found,
                          struct leat_error *err) {
    struct opening opening = {.folder_name = folder,
                              .identity = identity,
                              .description = description,
                              .may_build = may_build,
                              .found = ret_found,
                              .err = err};
    int r;

    *ret_found = (struct leat_cache_found){.file = NULL};
    name_file(identity, ".leat", opening.complete);
    r = open_folder(folder, may_build, &opening.folder, err);
    if (r < 0)
        return r;
    name_partial(opening.folder, identity, opening.partial);
    r = AGAIN;
    for (int i = 0; r == AGAIN && i < TRIES_MAX; i++) {
        r = open_complete(&opening);
        if (r == -ENOENT)
            r = open_partial(&opening);
    }
    (void)close(opening.folder);
    if (r == 0 && may_build) /* an open file is in use, and stays */
        (void)leat_cache_store_make_room(folder, limits, 0, LEAT_ERROR_IGNORED);
    return r == -ENOENT || r == AGAIN ? 0 : r;
}

int leat_cache_store_finish(const char *folder, const struct leat_cache_file *file,
                            struct leat_error *err) {
    char complete[LEAT_CACHE_NAME_MAX], partial[LEAT_CACHE_NAME_MAX];
    int fd = -1, r = leat_cache_file_finish(file, err);

    if (r == 0)
        r = open_folder(folder, false, &fd, err);
    if (r < 0)
        return r;
    name_file(&file->identity, ".leat", complete);
    name_partial(fd, &file->identity, partial);
    if (!is_named(fd, partial, file->fd))
        r = leat_error_set(err, -ESTALE, "%s/%s: the file was removed while leat built it", folder,
                           partial);
    else if (renameat(fd, partial, fd, complete) < 0)
        r = leat_error_set(err, -errno, "%s/%s: cannot rename the file: %s", folder, partial,
                           strerror(errno));
    else if (!file->is_cheap)
        (void)fsync(fd);
    (void)close(fd);
    if (r == 0)
        (void)flock(file->fd, LOCK_SH | LOCK_NB);
    return r;
}

void leat_cache_store_give_up(const struct leat_cache_file *file, uint64_t end) {
    if (ftruncate(file->fd, (off_t)end) == 0)
        (void)flock(file->fd, LOCK_UN);
}

void leat_cache_store_discard(const char *folder, const struct leat_cache_file *file) {
    char partial[LEAT_CACHE_NAME_MAX];
    int fd = -1;

    if (open_folder(folder, false, &fd, LEAT_ERROR_IGNORED) < 0)
        return;
    name_partial(fd, &file->identity, partial);
    if (is_named(fd, partial, file->fd))
        (void)unlinkat(fd, partial, 0);
    (void)close(fd);
}
