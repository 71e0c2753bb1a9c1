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

#include "daemon/config/fetch_settings.h"
#include "proto/base/array.h"
#include "proto/base/file.h"
#include "proto/base/xxh3.h"

#define SUFFIX      ".block"
#define NAME_SIZE   LEAT_BLOCK_NAME_SIZE
#define KEEP_TENTHS 9 /* of max_bytes are left when blocks are removed */
#define CHUNK_BYTES ((uint64_t)1 << 18)

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

/* True if this process writes to it now. */
static bool is_being_written(const struct leat_block_cache *cache, const char *name) {
    char prefix[NAME_SIZE];
    int n = snprintf(prefix, sizeof(prefix), ".%016llx-", (unsigned long long)cache->salt);

    return strncmp(name, prefix, (size_t)n) == 0;
}

/* All blocks of the folder, whoever put them there, but for those that this process writes. */
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
            is_being_written(cache, entry->d_name) ||
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
    if (n > 0 && cache->n_bytes + n_more > cache->max_bytes) {
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

int leat_block_cache_init(struct leat_block_cache *cache, const char *path, uint64_t max_bytes,
                          uint64_t block_bytes, struct leat_error *err) {
    char *folder = path ? strdup(path) : leat_fetch_default_path();
    int r = folder ? make_folder(folder) : -ENOENT;

    *cache =
        (struct leat_block_cache){.folder = -1, .max_bytes = max_bytes, .block_bytes = block_bytes};
    if (r == 0 && getrandom(&cache->salt, sizeof(cache->salt), 0) < 0)
        r = -errno;
    if (r == 0)
        cache->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r == 0 && cache->folder < 0)
        r = -errno;
    if (!folder)
        leat_error_set(err, r, "no folder is known: set HOME, or `path` of `fetch`");
    else if (r < 0)
        leat_error_set(err, r, "%s: %s", folder, strerror(-r));
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

/* ---- blocks that come ---- */

/* The bytes so far move to memory, and the rest follows there. */
static int move_to_memory(struct leat_block_writer *writer) {
    uint8_t *chunk = malloc(CHUNK_BYTES);
    int fd = memfd_create("leat-block", MFD_CLOEXEC), r = fd < 0 ? -errno : chunk ? 0 : -ENOMEM;

    for (uint64_t at = 0; r == 0 && at < writer->n_bytes;) {
        uint64_t left = writer->n_bytes - at;
        ssize_t n = leat_file_read(writer->fd, chunk, left < CHUNK_BYTES ? left : CHUNK_BYTES, at);

        r = n > 0 ? leat_file_write(fd, chunk, (size_t)n, at) : n < 0 ? (int)n : -EIO;
        at += n > 0 ? (uint64_t)n : 0;
    }
    free(chunk);
    if (r < 0) {
        leat_file_close(&fd);
        return r;
    }
    leat_file_close(&writer->fd);
    writer->fd = fd;
    writer->is_in_memory = true;
    return 0;
}

static void tell_failure(struct leat_block_cache *cache, int code) {
    if (!cache->is_failing)
        (void)fprintf(
            stderr, "leat-fetch: cannot write to its cache, and continues without its cache: %s\n",
            strerror(-code));
    cache->is_failing = true;
}

static void remove_temporary(struct leat_block_writer *writer) {
    if (writer->temporary[0])
        (void)unlinkat(writer->cache->folder, writer->temporary, 0);
    writer->temporary[0] = '\0';
}

static int give_up_disk(struct leat_block_writer *writer, int code) {
    int r;

    tell_failure(writer->cache, code);
    r = move_to_memory(writer);
    remove_temporary(writer);
    return r;
}

int leat_block_writer_begin(struct leat_block_writer *writer, struct leat_block_cache *cache,
                            const struct leat_fetch_object *object, struct leat_block_range range) {
    *writer = (struct leat_block_writer){.cache = cache, .fd = -1};
    writer->hash = XXH3_createState();
    writer->gathered = malloc(LEAT_BLOCK_GATHERED);
    if (!writer->hash || !writer->gathered) {
        leat_block_writer_drop(writer);
        return -ENOMEM;
    }
    (void)XXH3_64bits_reset(writer->hash);
    make_name(object, range, writer->name);
    if (cache->n_bytes + range.n_bytes > cache->max_bytes)
        make_room(cache, range.n_bytes);
    (void)snprintf(writer->temporary, sizeof(writer->temporary), ".%016llx-%llu" SUFFIX,
                   (unsigned long long)cache->salt, (unsigned long long)cache->n_written++);
    writer->fd = openat(cache->folder, writer->temporary,
                        O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (writer->fd >= 0)
        return 0;
    writer->temporary[0] = '\0';
    return give_up_disk(writer, -errno);
}

static int write_out(struct leat_block_writer *writer) {
    const uint8_t *data = writer->gathered;
    size_t n = writer->n_gathered;
    int r = leat_file_write(writer->fd, data, n, writer->n_bytes);

    if (r < 0 && !writer->is_in_memory) {
        r = give_up_disk(writer, r);
        if (r == 0)
            r = leat_file_write(writer->fd, data, n, writer->n_bytes);
    }
    if (r < 0)
        return r;
    (void)XXH3_64bits_update(writer->hash, data, n);
    writer->n_bytes += n;
    writer->n_gathered = 0;
    return 0;
}

int leat_block_writer_add(struct leat_block_writer *writer, const void *data, size_t n) {
    const uint8_t *bytes = data;
    int r = 0;

    while (r == 0 && n > 0) {
        size_t room = LEAT_BLOCK_GATHERED - writer->n_gathered, n_now = n < room ? n : room;

        memcpy(writer->gathered + writer->n_gathered, bytes, n_now);
        writer->n_gathered += n_now;
        bytes += n_now;
        n -= n_now;
        if (writer->n_gathered == LEAT_BLOCK_GATHERED)
            r = write_out(writer);
    }
    return r;
}

static int write_hash(struct leat_block_writer *writer) {
    XXH64_canonical_t hash;

    XXH64_canonicalFromHash(&hash, XXH3_64bits_digest(writer->hash));
    return leat_file_write(writer->fd, &hash, sizeof(hash), writer->n_bytes);
}

/* Gives the file its name. A descriptor of it that cannot write, or -errno. */
static int publish(struct leat_block_writer *writer) {
    struct leat_block_cache *cache = writer->cache;
    int fd = -1, r = write_hash(writer);

    if (r == 0)
        fd = openat(cache->folder, writer->temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (r == 0 &&
        (fd < 0 || renameat(cache->folder, writer->temporary, cache->folder, writer->name) < 0))
        r = -errno;
    if (r < 0) {
        leat_file_close(&fd);
        return r;
    }
    writer->temporary[0] = '\0';
    cache->n_bytes += writer->n_bytes + sizeof(XXH64_canonical_t);
    if (cache->n_bytes > cache->max_bytes) /* several began when there was room for one */
        make_room(cache, 0);
    cache->is_failing = false;
    return fd;
}

int leat_block_writer_finish(struct leat_block_writer *writer) {
    int r = write_out(writer), fd = r < 0 || writer->is_in_memory ? -EIO : publish(writer);

    if (r == 0 && fd < 0 && !writer->is_in_memory)
        r = give_up_disk(writer, fd);
    if (fd < 0 && r == 0) { /* Memory has no name: its descriptor is handed out. */
        fd = writer->fd;
        writer->fd = -1;
    }
    leat_block_writer_drop(writer);
    return r < 0 ? r : fd;
}

void leat_block_writer_drop(struct leat_block_writer *writer) {
    remove_temporary(writer);
    leat_file_close(&writer->fd);
    (void)XXH3_freeState(writer->hash);
    free(writer->gathered);
    writer->hash = NULL;
    writer->gathered = NULL;
}
