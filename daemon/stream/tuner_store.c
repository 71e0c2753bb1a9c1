#include "daemon/stream/tuner_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/calls.h"

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
    leat_blake2b_u64(&state, leat_n_cpus());
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

/* ---- the file ----
 *
 * Each memory has exactly one text: a file that does not print to the very bytes that were read is
 * refused. */

#define VERSION "leat tuner 1"

size_t leat_tuner_file_print(const struct leat_tuner_key *key,
                             const struct leat_tuner_memory *memory,
                             char ret_text[LEAT_TUNER_FILE_MAX]) {
    char stream[LEAT_DIGEST_HEX_SIZE], machine[LEAT_DIGEST_HEX_SIZE], sum[LEAT_DIGEST_HEX_SIZE];
    uint8_t digest[LEAT_DIGEST_BYTES];
    size_t size = LEAT_TUNER_FILE_MAX, n;

    leat_digest_hex(key->stream, stream);
    leat_digest_hex(key->machine, machine);
    n = (size_t)snprintf(ret_text, size, VERSION "\nstream %s\nmachine %s\n", stream, machine);
    for (int i = 0; i < LEAT_N_KNOBS; i++)
        n += (size_t)snprintf(ret_text + n, size - n, "%s %" PRIu64 "\n",
                              leat_knob_name((enum leat_knob)i), memory->knobs.of[i]);
    n += (size_t)snprintf(ret_text + n, size - n, "settled %d\nnext_move %u\nfailed %u\n",
                          memory->is_settled, memory->next_move, memory->n_failed);
    leat_blake2b(ret_text, n, digest);
    leat_digest_hex(digest, sum);
    n += (size_t)snprintf(ret_text + n, size - n, "checksum %s\n", sum);
    return n;
}

/* Reads a line `name number`. -1: the next line is another one. */
static int read_number(const char **at, const char *name, uint64_t max, uint64_t *ret_number) {
    size_t n = strlen(name);
    char *end;

    if (strncmp(*at, name, n) != 0 || (*at)[n] != ' ' || (*at)[n + 1] < '0' || (*at)[n + 1] > '9')
        return -1;
    errno = 0;
    *ret_number = strtoull(*at + n + 1, &end, 10);
    if (errno != 0 || *end != '\n' || *ret_number > max)
        return -1;
    *at = end + 1;
    return 0;
}

/* Reads what follows the first three lines. */
static int read_values(const char *at, struct leat_tuner_memory *memory) {
    uint64_t is_settled, next_move, n_failed;

    for (int i = 0; i < LEAT_N_KNOBS; i++) {
        enum leat_knob knob = (enum leat_knob)i;

        if (read_number(&at, leat_knob_name(knob), leat_knob_max(knob), &memory->knobs.of[i]) < 0 ||
            memory->knobs.of[i] < leat_knob_min(knob))
            return -1;
    }
    if (read_number(&at, "settled", 1, &is_settled) < 0 ||
        read_number(&at, "next_move", UINT32_MAX, &next_move) < 0 ||
        read_number(&at, "failed", UINT32_MAX, &n_failed) < 0)
        return -1;
    memory->is_settled = is_settled != 0;
    memory->next_move = (uint32_t)next_move;
    memory->n_failed = (uint32_t)n_failed;
    return 0;
}

int leat_tuner_file_parse(const char *text, size_t n_bytes, const struct leat_tuner_key *key,
                          struct leat_tuner_memory *ret_memory, struct leat_error *err) {
    char copy[LEAT_TUNER_FILE_MAX], again[LEAT_TUNER_FILE_MAX];
    struct leat_tuner_memory memory;
    const char *at = copy;

    if (n_bytes >= sizeof(copy))
        return leat_error_set(err, -EINVAL, "has more than %zu bytes", sizeof(copy) - 1);
    memcpy(copy, text, n_bytes);
    copy[n_bytes] = '\0';
    if (strncmp(copy, VERSION "\n", sizeof(VERSION)) != 0)
        return leat_error_set(
            err, -EINVAL, "is not a file of this version: it does not begin with \"" VERSION "\"");
    for (int i = 0; i < 3 && at; i++)
        at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
    if (!at || read_values(at, &memory) < 0)
        return leat_error_set(err, -EINVAL, "is damaged: a value is missing or out of range");
    if (leat_tuner_file_print(key, &memory, again) != n_bytes || memcmp(again, copy, n_bytes) != 0)
        return leat_error_set(
            err, -EINVAL,
            "is damaged, or belongs to another stream or machine: its checksum or digests differ");
    *ret_memory = memory;
    return 0;
}
