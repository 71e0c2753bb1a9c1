/* block_cache.c: see block_cache.h. */
#include "daemon/fetch/block_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "proto/base/array.h"
#include "proto/base/file.h"

#define SUFFIX      ".block"
#define NAME_SIZE   96
#define KEEP_TENTHS 9 /* of max_bytes are left when blocks are removed */

struct leat_block_range leat_block_number(const struct leat_block_cache *cache,
                                          const struct leat_fetch_object *object, uint64_t number) {
    uint64_t first = number * cache->block_bytes, left = object->n_bytes - first;

    return (struct leat_block_range){first, left < cache->block_bytes ? left : cache->block_bytes};
}

uint64_t leat_n_blocks(const struct leat_block_cache *cache,
                       const struct leat_fetch_object *object) {
    return (object->n_bytes + cache->block_bytes - 1) / cache->block_bytes;
}

static void make_name(const struct leat_fetch_object *object, struct leat_block_range range,
                      char name[NAME_SIZE]) {
    XXH128_hash_t of_url = XXH3_128bits(object->url, strlen(object->url));
    uint64_t numbers[] = {of_url.low64, of_url.high64, 0, 0, object->n_bytes, range.n_bytes};
    XXH128_hash_t hash;

    memcpy(numbers + 2, object->identity, sizeof(object->identity));
    hash = XXH3_128bits(numbers, sizeof(numbers));
    (void)snprintf(name, NAME_SIZE, "%016llx%016llx-%llu" SUFFIX, (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64, (unsigned long long)range.first);
}

/* ---- how much there is ---- */

struct kept {
    char name[NAME_SIZE];
    int64_t used_ns;
    uint64_t n_bytes;
};

static int by_use(const void *a, const void *b) {
    const struct kept *left = a, *right = b;

    return (left->used_ns > right->used_ns) - (left->used_ns < right->used_ns);
}

/* All blocks of the folder, whoever put them there. */
static size_t list_blocks(const struct leat_block_cache *cache, struct kept **ret_blocks) {
    int fd = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    size_t n = 0, capacity = 0;
    const struct dirent *entry;
    struct stat info;

    *ret_blocks = NULL;
    while (folder && (entry = readdir(folder))) {
        size_t n_name = strlen(entry->d_name);

        if (n_name >= NAME_SIZE || n_name < sizeof(SUFFIX) ||
            strcmp(entry->d_name + n_name - sizeof(SUFFIX) + 1, SUFFIX) != 0 ||
            fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
            !leat_array_reserve(ret_blocks, n + 1, &capacity))
            continue;
        memcpy((*ret_blocks)[n].name, entry->d_name, n_name + 1);
        (*ret_blocks)[n].used_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
        (*ret_blocks)[n++].n_bytes = (uint64_t)info.st_size;
    }
    if (folder)
        (void)closedir(folder);
    else if (fd >= 0)
        (void)close(fd);
    return n;
}

/* Counts what is there, and removes what was used longest ago until there is room for n_more. */
static void make_room(struct leat_block_cache *cache, uint64_t n_more) {
    uint64_t limit = cache->max_bytes / 10 * KEEP_TENTHS;
    struct kept *blocks;
    size_t n = list_blocks(cache, &blocks);

    cache->n_bytes = 0;
    for (size_t i = 0; i < n; i++)
        cache->n_bytes += blocks[i].n_bytes;
    if (cache->n_bytes + n_more > cache->max_bytes) {
        qsort(blocks, n, sizeof(*blocks), by_use);
        for (size_t i = 0; i < n && cache->n_bytes + n_more > limit; i++)
            if (unlinkat(cache->folder, blocks[i].name, 0) == 0)
                cache->n_bytes -= blocks[i].n_bytes;
    }
    free(blocks);
}

/* ---- life ---- */

/* Makes the folder, and those around it. */
static int make_folder(char *path) {
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static char *default_path(void) {
    const char *given = getenv("CACHE_DIRECTORY"), *below = getenv("XDG_CACHE_HOME"), *suffix = "";
    char *path = NULL;

    if (!given || !given[0]) {
        suffix = below && below[0] ? "/leat/fetch" : "/.cache/leat/fetch";
        given = below && below[0] ? below : getenv("HOME");
    }
    return given && asprintf(&path, "%s%s", given, suffix) >= 0 ? path : NULL;
}

int leat_block_cache_init(struct leat_block_cache *cache, const char *path, uint64_t max_bytes,
                          uint64_t block_bytes, struct leat_error *err) {
    char *folder = path ? strdup(path) : default_path();
    int r = folder ? make_folder(folder) : -ENOENT;

    *cache =
        (struct leat_block_cache){.folder = -1, .max_bytes = max_bytes, .block_bytes = block_bytes};
    if (r == 0 && getrandom(&cache->salt, sizeof(cache->salt), 0) < 0)
        r = -errno;
    if (r == 0)
        cache->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r == 0 && cache->folder < 0)
        r = -errno;
    if (r < 0)
        leat_error_set(err, r, "the cache %s: %s",
                       folder ? folder : "has no folder: no HOME is set", strerror(-r));
    else
        make_room(cache, 0);
    free(folder);
    return r;
}

void leat_block_cache_deinit(struct leat_block_cache *cache) {
    leat_file_close(&cache->folder);
}

/* ---- blocks ---- */

bool leat_block_cache_has(const struct leat_block_cache *cache,
                          const struct leat_fetch_object *object, struct leat_block_range range) {
    char name[NAME_SIZE];

    make_name(object, range, name);
    return faccessat(cache->folder, name, R_OK, 0) == 0;
}

int leat_block_cache_open(const struct leat_block_cache *cache,
                          const struct leat_fetch_object *object, struct leat_block_range range) {
    char name[NAME_SIZE];
    int fd;

    make_name(object, range, name);
    fd = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        (void)utimensat(cache->folder, name, NULL, AT_SYMLINK_NOFOLLOW); /* when it was used */
    return fd;
}

void leat_block_cache_remove(struct leat_block_cache *cache, const struct leat_fetch_object *object,
                             struct leat_block_range range) {
    char name[NAME_SIZE];

    make_name(object, range, name);
    (void)unlinkat(cache->folder, name, 0);
}

static int write_block(int fd, const void *data, size_t n) {
    XXH64_canonical_t hash;
    int r;

    XXH64_canonicalFromHash(&hash, XXH3_64bits(data, n));
    r = leat_file_write(fd, data, n, 0);
    return r < 0 ? r : leat_file_write(fd, &hash, sizeof(hash), n);
}

static int add_to_memory(const void *data, size_t n) {
    int fd = memfd_create("leat-block", MFD_CLOEXEC), r = fd < 0 ? -errno : 0;

    if (r == 0)
        r = write_block(fd, data, n);
    if (r == 0)
        return fd;
    leat_file_close(&fd);
    return r;
}

static int add_to_disk(struct leat_block_cache *cache, const char *name, const void *data,
                       size_t n) {
    char temporary[NAME_SIZE];
    int fd, r;

    (void)snprintf(temporary, sizeof(temporary), ".%016llx" SUFFIX,
                   (unsigned long long)cache->salt);
    fd =
        openat(cache->folder, temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = write_block(fd, data, n);
    leat_file_close(&fd);
    if (r == 0 && renameat(cache->folder, temporary, cache->folder, name) < 0)
        r = -errno;
    if (r < 0)
        (void)unlinkat(cache->folder, temporary, 0);
    if (r < 0)
        return r;
    fd = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int leat_block_cache_add(struct leat_block_cache *cache, const struct leat_fetch_object *object,
                         uint64_t first, const void *data, size_t n) {
    char name[NAME_SIZE];
    int fd;

    if (cache->n_bytes + n > cache->max_bytes)
        make_room(cache, n);
    make_name(object, (struct leat_block_range){first, n}, name);
    fd = add_to_disk(cache, name, data, n);
    if (fd < 0 && !cache->is_failing)
        (void)fprintf(stderr, "leat-fetch: goes on without its cache, which takes no block: %s\n",
                      strerror(-fd));
    cache->is_failing = fd < 0;
    if (fd < 0)
        return add_to_memory(data, n);
    cache->n_bytes += n + sizeof(XXH64_canonical_t);
    return fd;
}
