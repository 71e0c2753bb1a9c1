/* tuner_store.h: the folder where tuners keep what they found: a file for each stream and machine.
 *
 * The key is made of two digests: of the spec with the pinned knobs, and of CPU model, usable CPUs,
 * workers and the size of memory_limit. The store does not change once it is open. Reading and
 * writing block; any thread.
 */
#pragma once

#include "pipeline/io/state_folder.h"
#include "pipeline/run/pipeline.h"
#include "proto/base/blake2b.h"
#include "proto/base/error.h"

/* A file keeps what a tuner found as text, for the next run of the same stream on the same
 * machine.
 *
 * The file has a line with the version, one line a value, and a checksum of all that. A file that
 * is damaged, foreign or of another version is ignored: the next run begins without it. Any
 * thread. */
#define LEAT_TUNER_FILE_MAX 1024 /* bytes */

/* The stream and machine that the file belongs to. */
struct leat_tuner_key {
    uint8_t stream[LEAT_DIGEST_BYTES], machine[LEAT_DIGEST_BYTES];
};

/* Returns the length of the text, which is terminated. */
size_t leat_tuner_file_print(const struct leat_tuner_key *key,
                             const struct leat_tuner_memory *memory,
                             char ret_text[LEAT_TUNER_FILE_MAX]);
/* 0, or -EINVAL and why the file is ignored. */
int leat_tuner_file_parse(const char *text, size_t n_bytes, const struct leat_tuner_key *key,
                          struct leat_tuner_memory *ret_memory, struct leat_error *err);

#define LEAT_TUNER_STORE_FILES 256

struct leat_tuner_store {
    struct leat_state_folder folder;
    uint8_t machine[LEAT_DIGEST_BYTES];
};

/* directory: where the folder `tuner` is; NULL: $STATE_DIRECTORY, $XDG_STATE_HOME/leat or
 * ~/.local/state/leat. memory_limit 0: none. */
void leat_tuner_store_init(struct leat_tuner_store *store, const char *directory,
                           uint32_t n_workers, uint64_t memory_limit);
void leat_tuner_store_key(const struct leat_tuner_store *store,
                          const uint8_t spec_digest[LEAT_DIGEST_BYTES],
                          const bool is_pinned[LEAT_N_KNOBS], struct leat_tuner_key *ret_key);
/* 0; -ENOENT: nothing was kept; another error: why it cannot be used. */
int leat_tuner_store_read(const struct leat_tuner_store *store, const struct leat_tuner_key *key,
                          struct leat_tuner_memory *ret_memory, struct leat_error *err);
int leat_tuner_store_write(const struct leat_tuner_store *store, const struct leat_tuner_key *key,
                           const struct leat_tuner_memory *memory, struct leat_error *err);
