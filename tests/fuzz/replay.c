/* replay.c: runs a fuzz target without a fuzzer: over every file of its corpus, then over a bounded
 * number of random mutations of them.
 *
 *     fuzz_NAME [--mutations N] DIRECTORY...
 *
 * Linked to a target when the build is not for libFuzzer, so that the suite runs every target under
 * whatever sanitizer there is. Mutations are keyed by file and number: a failure comes back, and
 * the input is in fuzz_NAME.last beside the program.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/rng.h"

#define MAX_FILE_BYTES (1U << 20)
#define MAX_GROWTH     256U
#define MAX_CHANGES    8U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* A target may have these, as with libFuzzer. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                                     unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

struct replay {
    const char *last_path;
    uint64_t n_mutations; /* of each file */
    uint64_t n_runs;
};

/* The input stays on disk should the target end the process. It is copied to memory of its exact
 * size, so that a sanitizer sees a byte read too far. */
static void run(struct replay *replay, const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    int fd = open(replay->last_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || !copy || write(fd, data, size) != (ssize_t)size) {
        fprintf(stderr, "%s: %s\n", replay->last_path, strerror(errno));
        exit(1);
    }
    (void)close(fd);
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    replay->n_runs++;
}

/* One small change; returns the new size. data has room for size + MAX_GROWTH. */
static size_t change(struct leat_rng *rng, uint8_t *data, size_t size) {
    static const uint8_t telling[] = {0,   1,   0x7f, 0x80, 0xff, '"', ',',  '\n', '\r',
                                      '{', '}', '[',  ']',  ':',  '-', '\\', ' ',  '#'};
    size_t at = size ? leat_rng_below(rng, size) : 0;
    size_t n = leat_rng_below(rng, 16) + 1;

    switch (size ? leat_rng_below(rng, 6) : 0) {
    case 0: /* insert a byte */
        memmove(data + at + 1, data + at, size - at);
        data[at] = telling[leat_rng_below(rng, sizeof(telling))];
        return size + 1;
    case 1:
        data[at] ^= (uint8_t)(1U << leat_rng_below(rng, 8));
        return size;
    case 2:
        data[at] = telling[leat_rng_below(rng, sizeof(telling))];
        return size;
    case 3: /* cut a piece out */
        n = n < size - at ? n : size - at;
        memmove(data + at, data + at + n, size - at - n);
        return size - n;
    case 4: /* double a piece */
        n = n < size - at ? n : size - at;
        memmove(data + at + n, data + at, size - at);
        return size + n;
    default: /* end early */
        return at;
    }
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
    static struct leat_rng rng;

    return size + 16 <= max_size ? change(&rng, data, size) : size;
}

static void mutate(struct replay *replay, const char *name, const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + MAX_GROWTH);
    uint64_t key = 0;

    if (!copy)
        exit(1);
    for (const char *c = name; *c; c++)
        key = leat_rng_fold(key, (uint8_t)*c);
    for (uint64_t i = 0; i < replay->n_mutations; i++) {
        struct leat_rng rng = {leat_rng_fold(key, i)};
        uint64_t n_changes = 1 + leat_rng_below(&rng, MAX_CHANGES);
        size_t n = size;

        memcpy(copy, data, size);
        while (n_changes-- > 0)
            n = LLVMFuzzerCustomMutator && i % 2
                    ? LLVMFuzzerCustomMutator(copy, n, size + MAX_GROWTH, (unsigned)rng.state)
                    : change(&rng, copy, n);
        run(replay, copy, n);
    }
    free(copy);
}

static void replay_file(struct replay *replay, int directory, const char *name) {
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    uint8_t *data = malloc(MAX_FILE_BYTES);
    ssize_t n = fd < 0 || !data ? -1 : read(fd, data, MAX_FILE_BYTES);

    if (n < 0) {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
        exit(1);
    }
    (void)close(fd);
    run(replay, data, (size_t)n);
    mutate(replay, name, data, (size_t)n);
    free(data);
}

static void replay_directory(struct replay *replay, const char *path) {
    struct dirent **entries;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = fd < 0 ? -1 : scandir(path, &entries, NULL, alphasort);

    if (n < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.')
            replay_file(replay, fd, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    (void)close(fd);
}

int main(int argc, char **argv) {
    struct replay replay = {.n_mutations = 1000};
    char last_path[4096];
    int first = 1;

    (void)snprintf(last_path, sizeof(last_path), "%s.last", argv[0]);
    replay.last_path = last_path;
    if (LLVMFuzzerInitialize)
        (void)LLVMFuzzerInitialize(&argc, &argv);
    if (argc > 2 && strcmp(argv[1], "--mutations") == 0) {
        replay.n_mutations = strtoull(argv[2], NULL, 10);
        first = 3;
    }
    run(&replay, (const uint8_t *)"", 0);
    mutate(&replay, "", (const uint8_t *)"", 0);
    for (int i = first; i < argc; i++)
        replay_directory(&replay, argv[i]);
    (void)unlink(last_path);
    printf("%llu inputs\n", (unsigned long long)replay.n_runs);
    return 0;
}
