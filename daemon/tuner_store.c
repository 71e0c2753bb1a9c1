/* tuner_store.c: see tuner_store.h. */
#include "daemon/tuner_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX          ".tuner"
#define HEX_OF_NAME     16 /* of each digest */
#define NAME_LENGTH     (2 * HEX_OF_NAME + 1 + sizeof(SUFFIX) - 1)
#define NAME_MAX_LENGTH (NAME_LENGTH + 16)
#define PATH_SIZE       (sizeof(((struct leat_tuner_store *)0)->directory) + 2 * NAME_LENGTH)
#define CPUINFO_LINE    512

/* ---- where ---- */

static void set_directory(const char *given, char *ret_path, size_t size) {
    const char *state = getenv("STATE_DIRECTORY"), *user = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int n = -1;

    if (given)
        n = snprintf(ret_path, size, "%s/tuner", given);
    else if (state && state[0] == '/')
        n = snprintf(ret_path, size, "%.*s/tuner", (int)strcspn(state, ":"), state);
    else if (user && user[0] == '/')
        n = snprintf(ret_path, size, "%s/leat/tuner", user);
    else if (home && home[0] == '/')
        n = snprintf(ret_path, size, "%s/.local/state/leat/tuner", home);
    if (n < 0 || (size_t)n >= size)
        ret_path[0] = '\0';
}

/* Those above it too. */
static int make_directories(const char *path) {
    char copy[PATH_SIZE];

    (void)snprintf(copy, sizeof(copy), "%s", path);
    for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            return -errno;
        *at = '/';
    }
    return mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* ---- of what ---- */

static void hash_cpu_model(struct leat_blake2b *state) {
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[CPUINFO_LINE];

    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "model name", 10) != 0 && strncmp(line, "CPU part", 8) != 0)
            continue;
        leat_blake2b_text(state, line);
        break;
    }
    if (file)
        (void)fclose(file);
}

static uint64_t n_cpus(void) {
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (uint64_t)CPU_COUNT(&cpus) : 0;
}

/* Limits of about the same size are one. */
static uint64_t size_class(uint64_t memory_limit) {
    uint64_t n = 0;

    for (; memory_limit > 0; memory_limit >>= 1)
        n++;
    return n;
}

void leat_tuner_store_init(struct leat_tuner_store *store, const char *directory,
                           uint32_t n_workers, uint64_t memory_limit) {
    struct leat_blake2b state;

    set_directory(directory, store->directory, sizeof(store->directory));
    leat_blake2b_init(&state);
    hash_cpu_model(&state);
    leat_blake2b_u64(&state, n_cpus());
    leat_blake2b_u64(&state, n_workers);
    leat_blake2b_u64(&state, size_class(memory_limit));
    leat_blake2b_final(&state, store->machine);
}

void leat_tuner_store_key(const struct leat_tuner_store *store,
                          const uint8_t spec_digest[LEAT_DIGEST_BYTES],
                          const bool is_pinned[LEAT_N_KNOBS], struct leat_tuner_key *ret_key) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_update(&state, spec_digest, LEAT_DIGEST_BYTES);
    for (int i = 0; i < LEAT_N_KNOBS; i++)
        leat_blake2b_u64(&state, is_pinned[i]);
    leat_blake2b_final(&state, ret_key->stream);
    memcpy(ret_key->machine, store->machine, LEAT_DIGEST_BYTES);
}

static void name_of(const struct leat_tuner_key *key, char ret_name[NAME_LENGTH + 1]) {
    char stream[LEAT_DIGEST_HEX_SIZE], machine[LEAT_DIGEST_HEX_SIZE];

    leat_digest_hex(key->stream, stream);
    leat_digest_hex(key->machine, machine);
    (void)snprintf(ret_name, NAME_LENGTH + 1, "%.*s-%.*s" SUFFIX, HEX_OF_NAME, stream, HEX_OF_NAME,
                   machine);
}

/* ---- reading ---- */

int leat_tuner_store_read(const struct leat_tuner_store *store, const struct leat_tuner_key *key,
                          struct leat_tuner_memory *ret_memory, struct leat_error *err) {
    char name[NAME_LENGTH + 1], path[PATH_SIZE], text[LEAT_TUNER_FILE_MAX];
    ssize_t n;
    int fd, r;

    if (!store->directory[0])
        return -ENOENT;
    name_of(key, name);
    (void)snprintf(path, sizeof(path), "%s/%s", store->directory, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    r = n < 0 ? leat_error_set(err, -errno, "cannot be read: %s", strerror(errno))
              : leat_tuner_file_parse(text, (size_t)n, key, ret_memory, err);
    if (fd >= 0)
        (void)close(fd);
    if (r < 0)
        leat_error_locate(err, path, 0, 0);
    return r == -ENOENT ? -EIO : r;
}

/* ---- writing ---- */

/* Also one that somebody who was killed did not rename. */
static bool is_ours(const char *name) {
    size_t n = 2 * HEX_OF_NAME + 1;

    name += name[0] == '.';
    return strlen(name) <= NAME_MAX_LENGTH && strspn(name, "0123456789abcdef-") == n &&
           strncmp(name + n, SUFFIX, sizeof(SUFFIX) - 1) == 0;
}

/* How many there are, and the oldest of them. */
static size_t look(DIR *directory, char ret_oldest[NAME_MAX_LENGTH + 2]) {
    struct timespec oldest = {.tv_sec = 0};
    struct dirent *entry;
    struct stat status;
    size_t n = 0;

    rewinddir(directory);
    while ((entry = readdir(directory))) {
        if (!is_ours(entry->d_name) ||
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (n++ > 0 &&
            (status.st_mtim.tv_sec > oldest.tv_sec ||
             (status.st_mtim.tv_sec == oldest.tv_sec && status.st_mtim.tv_nsec >= oldest.tv_nsec)))
            continue;
        oldest = status.st_mtim;
        memcpy(ret_oldest, entry->d_name, strlen(entry->d_name) + 1);
    }
    return n;
}

static void remove_oldest(const char *path) {
    DIR *directory = opendir(path);
    char oldest[NAME_MAX_LENGTH + 2];

    while (directory && look(directory, oldest) > LEAT_TUNER_STORE_FILES &&
           unlinkat(dirfd(directory), oldest, 0) == 0)
        ;
    if (directory)
        (void)closedir(directory);
}

static int write_new(const char *path, const char *text, size_t n_bytes) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), r = 0;

    if (fd < 0)
        return -errno;
    errno = EIO;
    if (write(fd, text, n_bytes) != (ssize_t)n_bytes)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    return r;
}

int leat_tuner_store_write(const struct leat_tuner_store *store, const struct leat_tuner_key *key,
                           const struct leat_tuner_memory *memory, struct leat_error *err) {
    char name[NAME_LENGTH + 1], path[PATH_SIZE], temporary[PATH_SIZE], text[LEAT_TUNER_FILE_MAX];
    size_t n = leat_tuner_file_print(key, memory, text);
    int r;

    if (!store->directory[0])
        return 0;
    name_of(key, name);
    (void)snprintf(path, sizeof(path), "%s/%s", store->directory, name);
    (void)snprintf(temporary, sizeof(temporary), "%s/.%s.%ld", store->directory, name,
                   (long)gettid());
    r = make_directories(store->directory);
    if (r == 0)
        r = write_new(temporary, text, n);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlink(temporary);
        return leat_error_set(err, r, "%s: cannot be written: %s", path, strerror(-r));
    }
    remove_oldest(store->directory);
    return 0;
}
