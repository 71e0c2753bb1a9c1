/* cache/store_list.c: lists the folder of caches and removes what has to go. See cache/store.h.
 * Ages are taken from the clock of the machine, as times of files are; batches never depend on
 * them. */
#include "pipeline/cache/store.h"
#include "proto/base/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define DIGITS    "0123456789abcdef"

/* 64 digits and a known suffix; 16 digits of a host may stand before ".partial". */
static bool is_cache_name(const char *name, bool *ret_is_complete) {
    size_t n = strspn(name, DIGITS), n_host;

    *ret_is_complete = strcmp(name + n, ".leat") == 0;
    if (n != (size_t)2 * LEAT_DIGEST_BYTES || name[n] != '.')
        return false;
    n_host = strspn(name + n + 1, DIGITS);
    return *ret_is_complete || strcmp(name + n, ".partial") == 0 ||
           (n_host == 16 && strcmp(name + n + 1 + n_host, ".partial") == 0);
}

static int64_t time_ns(struct timespec time) {
    return (int64_t)time.tv_sec * SECOND_NS + time.tv_nsec;
}

static bool is_locked(int folder, const char *name) {
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool is_free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;

    if (fd >= 0)
        (void)close(fd);
    return !is_free;
}

static int add_entry(int folder, const char *name, bool is_complete, bool with_use,
                     struct leat_cache_entry **entries, size_t *n_entries, size_t *capacity) {
    struct leat_cache_entry *entry;
    struct stat info;

    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode))
        return 0;
    if (!leat_array_reserve(entries, *n_entries + 1, capacity))
        return -ENOMEM;
    entry = &(*entries)[(*n_entries)++];
    *entry = (struct leat_cache_entry){.is_complete = is_complete,
                                       .is_in_use = with_use && is_locked(folder, name),
                                       .n_bytes = (uint64_t)info.st_size,
                                       .used_ns = time_ns(info.st_atim),
                                       .made_ns = time_ns(info.st_mtim)};
    memcpy(entry->name, name, strlen(name) + 1);
    return 0;
}

static int by_use(const void *a, const void *b) {
    const struct leat_cache_entry *x = a, *y = b;

    return x->used_ns != y->used_ns ? (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns)
                                    : strcmp(x->name, y->name);
}

int leat_cache_store_list(const char *folder, bool with_use, struct leat_cache_entry **ret_entries,
                          size_t *ret_n_entries, struct leat_error *err) {
    DIR *directory = opendir(folder);
    const struct dirent *found;
    size_t capacity = 0;
    int r = 0;

    *ret_entries = NULL;
    *ret_n_entries = 0;
    if (!directory)
        return leat_error_set(err, -errno, "%s: %s", folder, strerror(errno));
    while (r == 0 && (errno = 0, found = readdir(directory))) {
        bool is_complete;

        if (is_cache_name(found->d_name, &is_complete))
            r = add_entry(dirfd(directory), found->d_name, is_complete, with_use, ret_entries,
                          ret_n_entries, &capacity);
    }
    if (r == 0 && errno)
        r = leat_error_set(err, -errno, "%s: %s", folder, strerror(errno));
    (void)closedir(directory);
    if (r < 0) {
        free(*ret_entries);
        *ret_entries = NULL;
        *ret_n_entries = 0;
        return leat_error_oom(err);
    }
    if (*ret_n_entries > 0)
        qsort(*ret_entries, *ret_n_entries, sizeof(**ret_entries), by_use);
    return 0;
}

static int open_in(const char *folder, const char *name, int *ret_folder, int *ret_fd,
                   struct leat_error *err) {
    bool is_complete;
    int r;

    if (!is_cache_name(name, &is_complete))
        return leat_error_set(err, -EINVAL, "\"%.80s\" is not the name of a cache", name);
    *ret_folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_folder < 0)
        return leat_error_set(err, -errno, "%s: %s", folder, strerror(errno));
    *ret_fd = openat(*ret_folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOATIME);
    if (*ret_fd < 0 && errno == EPERM)
        *ret_fd = openat(*ret_folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (*ret_fd >= 0)
        return 0;
    r = leat_error_set(err, -errno, "%s/%s: %s", folder, name, strerror(errno));
    (void)close(*ret_folder);
    return r;
}

int leat_cache_store_remove(const char *folder, const char *name, struct leat_error *err) {
    int directory, fd, r = open_in(folder, name, &directory, &fd, err);

    if (r < 0)
        return r;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        r = errno == EWOULDBLOCK
                ? leat_error_set(err, -EBUSY, "%s/%s: the cache is in use", folder, name)
                : leat_error_set(err, -errno, "%s/%s: %s", folder, name, strerror(errno));
    else if (unlinkat(directory, name, 0) < 0)
        r = leat_error_set(err, -errno, "%s/%s: %s", folder, name, strerror(errno));
    (void)close(fd);
    (void)close(directory);
    return r;
}

int leat_cache_store_peek(const char *folder, const char *name, struct leat_cache_file **ret_file,
                          struct leat_error *err) {
    int directory, fd, r = open_in(folder, name, &directory, &fd, err);

    if (r < 0)
        return r;
    (void)close(directory);
    return leat_cache_file_open(fd, ret_file, err);
}

int leat_cache_store_make_room(const char *folder, const struct leat_cache_limits *limits,
                               uint64_t n_more, struct leat_error *err) {
    int64_t oldest_ns =
        limits->max_age > 0 ? ((int64_t)time(NULL) - limits->max_age) * SECOND_NS : INT64_MIN;
    uint64_t n_bytes = n_more, max = limits->max_size > 0 ? (uint64_t)limits->max_size : UINT64_MAX;
    struct leat_cache_entry *entries;
    size_t n_entries, n_files;
    int r;

    if (limits->max_age == 0 && limits->max_size == 0 && limits->max_files == 0)
        return 0;
    r = leat_cache_store_list(folder, false, &entries, &n_entries, err);
    for (size_t i = 0; i < n_entries; i++)
        n_bytes += entries[i].n_bytes;
    n_files = n_entries;
    for (size_t i = 0; i < n_entries; i++) {
        bool is_too_much = n_bytes > max || (limits->max_files > 0 && n_files > limits->max_files);

        if (!is_too_much && entries[i].used_ns >= oldest_ns)
            break;
        if (leat_cache_store_remove(folder, entries[i].name, LEAT_ERROR_IGNORED) < 0)
            continue;
        n_bytes -= entries[i].n_bytes;
        n_files--;
    }
    free(entries);
    if (r == 0 && n_bytes > max)
        r = leat_error_set(
            err, -EDQUOT,
            "%s: the caches in use take %llu bytes, more than max_size (%lld): raise max_size",
            folder, (unsigned long long)n_bytes, (long long)limits->max_size);
    return r;
}
