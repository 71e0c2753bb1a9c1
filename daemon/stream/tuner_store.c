#include "daemon/stream/tuner_store.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEX_OF_NAME  16 /* of each digest */
#define NAME_SIZE    (2 * HEX_OF_NAME + 2)
#define CPUINFO_LINE 512

/* ---- keys ---- */

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

/* Limits of the same power of two count as equal. */
static uint64_t size_class(uint64_t memory_limit) {
    uint64_t n = 0;

    for (; memory_limit > 0; memory_limit >>= 1)
        n++;
    return n;
}

void leat_tuner_store_init(struct leat_tuner_store *store, const char *directory,
                           uint32_t n_workers, uint64_t memory_limit) {
    struct leat_blake2b state;

    leat_state_folder_init(&store->folder, directory, "tuner", ".tuner", LEAT_TUNER_STORE_FILES,
                           (size_t)LEAT_TUNER_STORE_FILES * LEAT_TUNER_FILE_MAX);
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

static void name_of(const struct leat_tuner_key *key, char ret_name[NAME_SIZE]) {
    char stream[LEAT_DIGEST_HEX_SIZE], machine[LEAT_DIGEST_HEX_SIZE];

    leat_digest_hex(key->stream, stream);
    leat_digest_hex(key->machine, machine);
    (void)snprintf(ret_name, NAME_SIZE, "%.*s-%.*s", HEX_OF_NAME, stream, HEX_OF_NAME, machine);
}

int leat_tuner_store_read(const struct leat_tuner_store *store, const struct leat_tuner_key *key,
                          struct leat_tuner_memory *ret_memory, struct leat_error *err) {
    char name[NAME_SIZE], *text = NULL;
    size_t n_bytes;
    int r;

    name_of(key, name);
    r = leat_state_folder_read(&store->folder, name, LEAT_TUNER_FILE_MAX, &text, &n_bytes, err);
    if (r < 0)
        return r;
    r = leat_tuner_file_parse(text, n_bytes, key, ret_memory, err);
    free(text);
    if (r < 0)
        leat_state_folder_locate(&store->folder, name, err);
    return r;
}

int leat_tuner_store_write(const struct leat_tuner_store *store, const struct leat_tuner_key *key,
                           const struct leat_tuner_memory *memory, struct leat_error *err) {
    char name[NAME_SIZE], text[LEAT_TUNER_FILE_MAX];
    size_t n_bytes = leat_tuner_file_print(key, memory, text);

    name_of(key, name);
    return leat_state_folder_write(&store->folder, name, text, n_bytes, err);
}
